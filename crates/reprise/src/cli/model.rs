//! The embedding model for a command: provisioned by itself on first use, with progress on a
//! terminal; without it the command goes on with words and says so.

use indicatif::ProgressStyle;
use reprise_embed::{
    EmbedderFactory, Installed, Model, ModelStore, Patience, Progress, ProvisionError, PullRequest,
};

use super::endpoint::{self, Endpoint, Named};
use super::reranker::Judge;
use crate::cli::prelude::*;

/// The models directory of this run.
pub(super) fn models(context: &Context) -> ModelStore {
    ModelStore::new(context.places.models.clone())
}

/// Brings what `request` names, drawing progress on stderr.
pub(super) fn pull(context: &Context, request: &PullRequest) -> anyhow::Result<Installed> {
    shown(|progress| models(context).ensure_with(request, progress))
}

/// Draws the progress of what works on models on stderr.
pub(super) fn shown<T>(
    work: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<T, ProvisionError>,
) -> anyhow::Result<T> {
    let bar = ProgressBar::no_length();
    bar.set_style(ProgressStyle::with_template("{spinner} {msg}")?);
    let mut last = String::new();
    let done = work(&mut |step: Progress| {
        bar.enable_steady_tick(Duration::from_millis(120));
        let text = step.to_string();
        // Without a terminal there is no bar: each kind of step is said once.
        let head = text.split(',').next().unwrap_or_default().to_owned();
        if bar.is_hidden() && head != last {
            note(&head);
        }
        last = head;
        bar.set_message(text);
    });
    bar.finish_and_clear();
    Ok(done?)
}

/// Why the model that the configuration names is not in use.
pub(super) fn unknown(context: &Context) -> String {
    let name = context.config.memory.model.name();
    format!(
        "the model `{name}` of the configuration is not here; run `reprise models add {name}`, or \
         `reprise models list` and `reprise models use` for another"
    )
}

/// What makes vectors: a model of this machine, or one behind an endpoint.
#[derive(Clone)]
pub(super) enum Maker {
    Here(EmbedderFactory),
    Away(Endpoint, EmbeddingSpace),
}

impl Maker {
    pub(super) fn open(&self) -> Result<Box<dyn Embedder>, EmbedError> {
        match self {
            Self::Here(factory) => factory.open(),
            Self::Away(endpoint, _) => endpoint.open(),
        }
    }

    pub(super) fn space(&self) -> EmbeddingSpace {
        match self {
            Self::Here(factory) => factory.describe().space,
            Self::Away(_, space) => space.clone(),
        }
    }
}

/// The model behind the endpoint that the configuration names.
fn endpoint(context: &Context, named: &Named) -> Result<Maker, String> {
    let card = endpoint::known(context, named)?;
    Ok(Maker::Away(endpoint::client(named, &card), card.space()))
}

/// What makes the vectors of the model in use, or `None` with the reason said on stderr.
pub(super) fn factory(context: &Context) -> Option<Maker> {
    if context.no_model {
        return None;
    }
    let opened = match (context.config.endpoint(), context.model()) {
        (Some(named), _) => named.and_then(|named| endpoint(context, &named)),
        (None, Some(Model::BuiltIn(variant))) => {
            return factory_of(context, variant).map(Maker::Here);
        }
        (None, Some(model)) => {
            let opened = EmbedderFactory::of_model(&models(context), &model, None);
            opened.map(Maker::Here).map_err(|error| error.to_string())
        }
        (None, None) => Err(unknown(context)),
    };
    opened.inspect_err(degraded).ok()
}

fn degraded(why: &impl std::fmt::Display) {
    tell!("degraded: {why}; going on with words and time only");
}

/// What makes the vectors of a space, where it is installed, or an endpoint that the configuration
/// names: nothing is fetched for it, and no other endpoint is asked.
pub(super) fn of_space(context: &Context, space: &EmbeddingSpace) -> Option<Maker> {
    let named = context.config.endpoints().into_iter();
    let mut away = named.filter_map(|named| endpoint(context, &named).ok());
    if let Some(found) = away.find(|maker| maker.space() == *space) {
        return Some(found);
    }
    let built_in = Variant::of(space).map(Model::BuiltIn);
    let model = built_in.or_else(|| {
        let mut added = models(context).added().into_iter().map(Model::Added);
        added.find(|model| model.space() == *space)
    })?;
    installed(context, &model).map(Maker::Here)
}

/// The cross-encoder that the configuration names.
pub(super) fn judge(context: &Context) -> Option<Judge> {
    let folder = context.config.recall.reranker.as_ref();
    let folder = folder.filter(|_| !context.no_model)?;
    Some(Judge::new(models(context), folder.clone()))
}

/// Every model that is installed.
pub(super) fn all_installed(context: &Context) -> Vec<Maker> {
    let added = models(context).added().into_iter().map(Model::Added);
    let all = Variant::ALL.into_iter().map(Model::BuiltIn).chain(added);
    all.filter_map(|model| installed(context, &model).map(Maker::Here))
        .collect()
}

/// Whether anything can make the vectors of a space.
pub(super) fn is_known(context: &Context, space: &EmbeddingSpace) -> bool {
    let endpoints = context.config.endpoints().into_iter();
    let away = endpoints.filter_map(|named| endpoint::known(context, &named).ok());
    Variant::of(space).is_some()
        || models(context)
            .added()
            .iter()
            .any(|model| model.space() == *space)
        || away.map(|card| card.space()).any(|known| known == *space)
}

/// The embedder of a form of the built-in model.
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
    let opened = opened.map_err(|error| format!("{error:#}"));
    opened.inspect_err(degraded).ok()
}

/// The same where it is installed: nothing is fetched for it, and nothing is said.
fn installed(context: &Context, model: &Model) -> Option<EmbedderFactory> {
    let found = EmbedderFactory::of_model(&models(context), model, None);
    found
        .inspect_err(|error| tracing::info!(%error, "a model of before is done without"))
        .ok()
}
