//! The models of a command. The embedding model is downloaded on first use, with progress on a
//! terminal; without it the command searches by words and says so. The cross-encoder that the
//! configuration names ranks the first results of a recall again, on its own thread and until a
//! deadline.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reprise_embed::{
    CrossEncoder, EmbedderFactory, EmbeddingModel, InstalledModel, ModelStore, Patience,
    ProvisionError, PullProgress, PullRequest,
};
use reprise_engine::CosinesOfModel;
use reprise_types::{HelperError, Reranker};

use super::endpoint::{self, Endpoint, EndpointSetting};
use super::progress::ProgressLine;
use crate::cli::prelude::*;

/// Returns the store of models of this run.
pub(super) fn models(context: &Context) -> ModelStore {
    ModelStore::new(context.places.models.clone())
}

/// Downloads and installs what `request` names, with progress on stderr.
pub(super) fn pull(context: &Context, request: &PullRequest) -> anyhow::Result<InstalledModel> {
    show_pull_progress(|progress| models(context).ensure_installed(request, progress))
}

/// Runs work on models and shows its progress on stderr.
pub(super) fn show_pull_progress<T>(
    work: impl FnOnce(&mut dyn FnMut(PullProgress)) -> Result<T, ProvisionError>,
) -> anyhow::Result<T> {
    let mut line = ProgressLine::start();
    let mut last = String::new();
    let done = work(&mut |step: PullProgress| {
        let text = step.to_string();
        // Without a terminal there is no line: each kind of step is printed once.
        let head = text.split(',').next().unwrap_or_default().to_owned();
        if line.is_hidden() && head != last {
            note(&head);
        }
        last = head;
        line.draw(|_| text);
    });
    Ok(done?)
}

/// Returns why the model that the configuration names is not in use.
pub(super) fn missing_model_message(context: &Context) -> String {
    let name = context.config.memory.model.name();
    format!(
        "the model `{name}` of the configuration is not installed; run `reprise doctor models add \
         {name}`, or \
         `reprise doctor models list` and `reprise doctor models use` for another"
    )
}

/// Source of embedders: a model of this machine, or one behind an endpoint.
#[derive(Debug, Clone)]
pub enum EmbedderSource {
    Local(EmbedderFactory),
    Remote(Endpoint),
}

impl EmbedderSource {
    pub fn open(&self) -> Result<Box<dyn Embedder>, EmbedError> {
        match self {
            Self::Local(factory) => factory.open_embedder(),
            Self::Remote(endpoint) => Ok(Box::new(endpoint.clone())),
        }
    }

    pub fn space(&self) -> EmbeddingSpace {
        match self {
            Self::Local(factory) => factory.report().space,
            Self::Remote(endpoint) => endpoint.space().clone(),
        }
    }
}

/// Opens the model behind an endpoint.
fn open_endpoint(context: &Context, named: &EndpointSetting) -> Result<EmbedderSource, String> {
    let card = endpoint::load_or_probe_card(context, named)?;
    Ok(EmbedderSource::Remote(endpoint::shared_client(
        named, &card,
    )))
}

/// Returns the source of embedders for the model in use; `None` after printing the reason.
pub fn factory(context: &Context) -> Option<EmbedderSource> {
    if context.no_model {
        return None;
    }
    let opened = match (context.config.endpoint(), context.model()) {
        (Some(named), _) => named.and_then(|named| open_endpoint(context, &named)),
        (None, Some(EmbeddingModel::BuiltIn(variant))) => {
            return pull_variant(context, variant).map(EmbedderSource::Local);
        }
        (None, Some(model)) => {
            let opened = EmbedderFactory::from_model(&models(context), &model, None);
            opened
                .map(EmbedderSource::Local)
                .map_err(|error| error.to_string())
        }
        (None, None) => Err(missing_model_message(context)),
    };
    opened.inspect_err(note_degraded).ok()
}

fn note_degraded(why: &impl std::fmt::Display) {
    tell!("note: {why}; searching by words and time only");
}

/// Finds an installed model or a configured endpoint for a space. Nothing is downloaded, and no
/// other endpoint is asked.
pub(super) fn find_for_space(context: &Context, space: &EmbeddingSpace) -> Option<EmbedderSource> {
    let named = context.config.endpoints().into_iter();
    let mut away = named.filter_map(|named| open_endpoint(context, &named).ok());
    if let Some(found) = away.find(|maker| maker.space() == *space) {
        return Some(found);
    }
    let built_in = Variant::from_space(space).map(EmbeddingModel::BuiltIn);
    let model = built_in.or_else(|| {
        let mut added = models(context)
            .list_added()
            .into_iter()
            .map(EmbeddingModel::Added);
        added.find(|model| model.space() == *space)
    })?;
    find_installed(context, &model).map(EmbedderSource::Local)
}

/// Returns what was measured of the models of this machine and of the configured endpoints. The
/// built-in ones are those that ranking was fitted to.
pub fn share_cosines(context: &Context) -> CosinesOfModel {
    let (context, known) = (context.clone(), Mutex::new(BTreeMap::new()));
    Arc::new(move |space| {
        if Variant::from_space(space).is_some() {
            return None;
        }
        if let Some(found) = lock(&known).get(space) {
            return Some(*found);
        }
        let named = context.config.endpoints().into_iter();
        let cards = named.filter_map(|named| endpoint::load_card(&context, &named));
        let cards = cards.map(|card| (card.space(), card.unrelated));
        let added = models(&context).list_added().into_iter();
        let added = added.map(|model| (model.space(), model.unrelated));
        let found = cards.chain(added).find(|(held, _)| held == space)?.1?;
        lock(&known).insert(space.clone(), found);
        Some(found)
    })
}

/// Returns the cross-encoder that the configuration names.
pub fn judge(context: &Context) -> Option<Judge> {
    let folder = context.config.recall.reranker.as_ref();
    let folder = folder.filter(|_| !context.no_model)?;
    Some(Judge::new(models(context), folder.clone()))
}

/// Returns every installed model.
pub fn list_installed_sources(context: &Context) -> Vec<EmbedderSource> {
    let added = models(context)
        .list_added()
        .into_iter()
        .map(EmbeddingModel::Added);
    let all = Variant::ALL
        .into_iter()
        .map(EmbeddingModel::BuiltIn)
        .chain(added);
    all.filter_map(|model| find_installed(context, &model).map(EmbedderSource::Local))
        .collect()
}

/// Returns whether a known model or endpoint can compute vectors of a space.
pub(super) fn can_embed_for(context: &Context, space: &EmbeddingSpace) -> bool {
    let endpoints = context.config.endpoints().into_iter();
    let away = endpoints.filter_map(|named| endpoint::load_or_probe_card(context, &named).ok());
    Variant::from_space(space).is_some()
        || models(context)
            .list_added()
            .iter()
            .any(|model| model.space() == *space)
        || away.map(|card| card.space()).any(|known| known == *space)
}

/// Installs a variant of the built-in model and returns its embedder.
pub(super) fn pull_variant(context: &Context, variant: Variant) -> Option<EmbedderFactory> {
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
    opened.inspect_err(note_degraded).ok()
}

/// Returns the embedder of an installed model; nothing is downloaded or printed.
fn find_installed(context: &Context, model: &EmbeddingModel) -> Option<EmbedderFactory> {
    let found = EmbedderFactory::from_model(&models(context), model, None);
    found
        .inspect_err(|error| tracing::info!(%error, "a model of before is done without"))
        .ok()
}

/// Cross-encoder that is opened on first use, cheap to clone.
#[derive(Debug, Clone)]
pub struct Judge(Arc<JudgeState>);

#[derive(Debug)]
struct JudgeState {
    store: ModelStore,
    folder: PathBuf,
    opened: Mutex<Option<Result<CrossEncoder, String>>>,
}

impl Judge {
    pub(super) fn new(store: ModelStore, folder: PathBuf) -> Self {
        Self(Arc::new(JudgeState {
            store,
            folder,
            opened: Mutex::default(),
        }))
    }

    /// Returns the probability that each text answers the question; waits for the text of another
    /// question that is being judged. It is an error if the caller no longer waits.
    pub fn judge(
        &self,
        question: &str,
        texts: &[String],
        is_left: &AtomicBool,
    ) -> Result<Vec<f32>, String> {
        let mut opened = lock(&self.0.opened);
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

    /// Opens the cross-encoder; the error says in one sentence why it cannot be used.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut opened = lock(&self.0.opened);
        let fresh = CrossEncoder::open(&self.0.store, &self.0.folder);
        let fresh = opened.insert(fresh.map_err(|error| error.to_string()));
        fresh.as_ref().map(drop).map_err(Clone::clone)
    }
}

/// Sets its flag when dropped, so that the work stops.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Reranker for Judge {
    async fn score_relevance(
        &self,
        query: &str,
        texts: &[String],
    ) -> Result<Vec<f32>, HelperError> {
        let waiting = CancelOnDrop(Arc::default());
        let (judge, is_left) = (self.clone(), Arc::clone(&waiting.0));
        let (query, texts) = (query.to_owned(), texts.to_vec());
        let work = move || judge.judge(&query, &texts, &is_left);
        let judged = tokio::task::spawn_blocking(work).await;
        let judged = judged.unwrap_or_else(|error| Err(error.to_string()));
        judged.map_err(|message| HelperError { message })
    }

    /// One: texts in a batch share the scale of their numbers, and take no less time.
    fn texts_per_call(&self) -> usize {
        1
    }
}
