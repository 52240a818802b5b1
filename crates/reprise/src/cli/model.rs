//! The models for a command: the embedding model, provisioned by itself on first use, with progress
//! on a terminal; without it the command goes on with words and says so. And the cross-encoder that
//! the configuration names: it judges the first results of a recall a second time, on a thread
//! beside, for as long as there is time.

use std::sync::TryLockError;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use indicatif::ProgressStyle;
use reprise_embed::{
    CrossEncoder, EmbedderFactory, Installed, Model, ModelStore, Patience, Progress,
    ProvisionError, PullRequest,
};
use reprise_types::{HelperError, Reranker};

use super::endpoint::{self, Endpoint, Named};
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
    Away(Endpoint),
}

impl Maker {
    pub(super) fn open(&self) -> Result<Box<dyn Embedder>, EmbedError> {
        match self {
            Self::Here(factory) => factory.open(),
            Self::Away(endpoint) => Ok(Box::new(endpoint.clone())),
        }
    }

    pub(super) fn space(&self) -> EmbeddingSpace {
        match self {
            Self::Here(factory) => factory.describe().space,
            Self::Away(endpoint) => endpoint.space().clone(),
        }
    }
}

/// The model behind the endpoint that the configuration names.
fn endpoint(context: &Context, named: &Named) -> Result<Maker, String> {
    let card = endpoint::known(context, named)?;
    Ok(Maker::Away(endpoint::client(named, &card)))
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

/// A judge that is opened when it is first needed. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Judge(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: ModelStore,
    folder: PathBuf,
    opened: Mutex<Option<Result<CrossEncoder, String>>>,
}

impl Judge {
    pub(super) fn new(store: ModelStore, folder: PathBuf) -> Self {
        Self(Arc::new(Shared {
            store,
            folder,
            opened: Mutex::default(),
        }))
    }

    /// The probability that each text answers the question. Where another question is being judged,
    /// or nobody waits any more, there is none.
    pub(super) fn judge(
        &self,
        question: &str,
        texts: &[String],
        is_left: &AtomicBool,
    ) -> Result<Vec<f32>, String> {
        let mut opened = match self.0.opened.try_lock() {
            Ok(opened) => opened,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err("it still reads for the question before".to_owned());
            }
        };
        let open = || {
            let opened = CrossEncoder::open(&self.0.store, &self.0.folder);
            opened.map_err(|error| error.to_string())
        };
        let judge = opened
            .get_or_insert_with(open)
            .as_mut()
            .map_err(|why| why.clone())?;
        let mut judgements = Vec::with_capacity(texts.len());
        for text in texts {
            if is_left.load(Ordering::Relaxed) {
                return Err("its time was over".to_owned());
            }
            let judged = judge.judge(question, text);
            judgements.push(judged.map_err(|error| error.to_string())?);
        }
        Ok(judgements)
    }

    /// Opens it; an error is why it cannot be used, in one sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut opened = lock(&self.0.opened);
        let fresh = CrossEncoder::open(&self.0.store, &self.0.folder);
        let fresh = opened.insert(fresh.map_err(|error| error.to_string()));
        fresh.as_ref().map(drop).map_err(Clone::clone)
    }
}

/// Says that nobody waits any more, once it is dropped.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Reranker for Judge {
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, HelperError> {
        let waiting = Waiting(Arc::default());
        let (judge, is_left) = (self.clone(), Arc::clone(&waiting.0));
        let (query, texts) = (query.to_owned(), texts.to_vec());
        let work = move || judge.judge(&query, &texts, &is_left);
        let judged = tokio::task::spawn_blocking(work).await;
        let judged = judged.unwrap_or_else(|error| Err(error.to_string()));
        judged.map_err(|message| HelperError { message })
    }
}
