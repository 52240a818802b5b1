//! The embedding model for a command: provisioned by itself on first use, with progress on a
//! terminal; without it the command goes on with words and says so.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use reprise_embed::{
    EmbedderFactory, Installed, ModelStore, Patience, Progress, PullRequest, Variant,
};

use super::Context;

/// The models directory of this run.
pub(super) fn models(context: &Context) -> ModelStore {
    ModelStore::new(context.places.models.clone())
}

/// Brings what `request` names, drawing progress on stderr.
pub(super) fn pull(context: &Context, request: &PullRequest) -> anyhow::Result<Installed> {
    let bar = ProgressBar::no_length();
    bar.set_style(ProgressStyle::with_template("{spinner} {msg}")?);
    let mut last = String::new();
    let installed = models(context).ensure_with(request, &mut |step: Progress| {
        bar.enable_steady_tick(Duration::from_millis(120));
        let text = step.to_string();
        // Without a terminal there is no bar: each kind of step is said once.
        let head = text.split(',').next().unwrap_or_default().to_owned();
        if bar.is_hidden() && head != last {
            super::note(&head);
        }
        last = head;
        bar.set_message(text);
    });
    bar.finish_and_clear();
    Ok(installed?)
}

/// The embedder of the model in use, or `None` with the reason said on stderr.
pub(super) fn factory(context: &Context) -> Option<EmbedderFactory> {
    factory_of(context, context.variant())
}

/// The same of another form of it.
pub(super) fn factory_of(context: &Context, variant: Variant) -> Option<EmbedderFactory> {
    if context.no_model {
        return None;
    }
    let request = PullRequest {
        patience: Patience::Short,
        variants: vec![variant],
        ..PullRequest::default()
    };
    let opened = pull(context, &request).and_then(|_| {
        Ok(EmbedderFactory::from_store(
            &models(context),
            variant,
            None,
        )?)
    });
    match opened {
        Ok(factory) => Some(factory),
        Err(error) => {
            super::note(&format!(
                "degraded: {error:#}; going on with words and time only"
            ));
            None
        }
    }
}

/// The same where it is installed: nothing is fetched for it, and nothing is said.
pub(super) fn installed(context: &Context, variant: Variant) -> Option<EmbedderFactory> {
    let found = EmbedderFactory::from_store(&models(context), variant, None);
    found
        .inspect_err(|error| tracing::info!(%error, "a model of before is done without"))
        .ok()
}
