//! Chooses the engine once and opens its sessions: ONNX Runtime if it is available, else the
//! built-in engine, with the reason for `doctor`.
//!
//! This module has no threads and no queues; the agent has them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use reprise_types::{EmbedError, Embedder, EmbeddingSpace, check_unit_vector, lock};
use serde::{Serialize, Serializer};

use crate::embedding_model::EmbeddingModel;
use crate::engine::built_in::BuiltInModel;
use crate::engine::library::{self, LibraryError, LoadedLibrary};
use crate::engine::onnx::{OnnxModel, OnnxSession};
use crate::engine::{Inference, catch_panics};
use crate::env;
use crate::folder::Prompts;
use crate::graph_reading::GraphReading;
use crate::manifest::ModelManifest;
use crate::provision::{AddedModel, ModelStore};
use crate::tokenizer::TextTokenizer;
use crate::unrelated::{check_reference_cosines, measure_unrelated};
use crate::variant::Variant;

/// Which program runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// ONNX Runtime, a shared library.
    OnnxRuntime,
    /// The engine rten, which is part of this program.
    BuiltIn,
}

/// Where a libonnxruntime was found, in the order of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LibraryOrigin {
    /// The configuration names the file. No other place is tried then.
    Configured,
    /// The environment variable `ORT_DYLIB_PATH` names the file.
    Environment,
    /// The models directory, put there by `reprise doctor models pull`.
    Models,
    Executable,
    /// The system's own library path.
    System,
}

/// A library that was examined and not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedLibrary {
    pub origin: LibraryOrigin,
    /// Why it was not used; serialised as a sentence.
    #[serde(serialize_with = "serialize_as_sentence")]
    pub error: LibraryError,
}

fn serialize_as_sentence<S: Serializer>(
    error: &LibraryError,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

/// Report of the embedding engine for `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineReport {
    pub engine: EngineKind,
    /// The space of its vectors.
    pub space: EmbeddingSpace,
    /// Tokens of a text that the model sees.
    pub token_limit: usize,
    pub model: PathBuf,
    /// The ONNX Runtime in use.
    pub library: Option<PathBuf>,
    /// The library's description of its build.
    pub library_build: Option<String>,
    pub library_origin: Option<LibraryOrigin>,
    /// Libraries that were tried before, with the reasons against them.
    pub refused: Vec<RefusedLibrary>,
    /// Why ONNX Runtime does not run, in one sentence; `None` if it runs.
    pub why_not_onnx_runtime: Option<String>,
}

/// Opens embedders of one model on one engine; cheap to clone and to share.
#[derive(Debug, Clone)]
pub struct EmbedderFactory {
    state: Arc<FactoryState>,
}

struct FactoryState {
    opened: Arc<OpenedModel>,
    engine: Engine,
    report: EngineReport,
}

enum Engine {
    /// ONNX Runtime, with its test session for the first `open_embedder`.
    OnnxRuntime(OnnxModel, Mutex<Option<OnnxSession>>),
    BuiltIn(BuiltInModel),
}

reprise_types::show_fields!(FactoryState { report });

impl EmbedderFactory {
    /// Opens an installed model on the best engine of this machine. A `library` from the
    /// configuration is the only one tried. Without it the search order is `ORT_DYLIB_PATH`, the
    /// models directory, the folder of the executable, the system. If none works, the built-in
    /// engine runs, and [`Self::report`] returns the reason.
    pub fn from_store(
        store: &ModelStore,
        variant: Variant,
        library: Option<&Path>,
    ) -> Result<Self, EmbedError> {
        Self::from_model(store, &EmbeddingModel::BuiltIn(variant), library)
    }

    pub fn from_model(
        store: &ModelStore,
        model: &EmbeddingModel,
        library: Option<&Path>,
    ) -> Result<Self, EmbedError> {
        let added = match model {
            EmbeddingModel::BuiltIn(variant) => {
                return Self::from_opened(store, OpenedModel::new(store, *variant)?, library);
            }
            EmbeddingModel::Added(added) => added,
        };
        let files = store.verified_files(added);
        let (model, json) = files.map_err(|error| EmbedError::Unavailable {
            message: error.to_string(),
        })?;
        let factory = Self::from_opened(
            store,
            OpenedModel::from_added(added, model, &json)?,
            library,
        )?;
        if added.unrelated.is_none() {
            factory.measure_and_save(store, added)?;
        }
        Ok(factory)
    }

    /// Measures a model that an earlier version added without measuring it, and saves the result.
    fn measure_and_save(&self, store: &ModelStore, added: &AddedModel) -> Result<(), EmbedError> {
        let model = AddedModel {
            unrelated: Some(measure_unrelated(&mut *self.open_embedder()?)?),
            ..added.clone()
        };
        if let Err(error) = store.save_measured(&model) {
            tracing::warn!(%error, "what was measured of a model is not kept");
        }
        Ok(())
    }

    pub(crate) fn from_opened(
        store: &ModelStore,
        opened: OpenedModel,
        library: Option<&Path>,
    ) -> Result<Self, EmbedError> {
        let installed = store.library_path();
        let (found, refused) = find_library(library, installed.as_deref().ok());
        let mut model_error = None;
        if let Some((origin, loaded)) = found {
            let environment = loaded.environment.clone();
            let model = OnnxModel::new(environment, opened.model.clone(), opened.reading.clone());
            match model.new_session() {
                Ok(session) => {
                    let engine = Engine::OnnxRuntime(model, Mutex::new(Some(session)));
                    return Ok(opened.into_factory(engine, Some((origin, loaded)), refused, None));
                }
                // The library works, so no other library can do better with this file.
                Err(error) => model_error = Some(error.to_string()),
            }
        }
        let reason = model_error
            .or_else(|| installed.err().flatten().filter(|_| library.is_none()))
            .or_else(|| refused.first().map(|refused| refused.error.to_string()))
            .unwrap_or_else(|| "no ONNX Runtime was found".to_owned());
        tracing::info!(reason, "embedding with the built-in engine");
        let engine = opened.load_built_in_engine()?;
        Ok(opened.into_factory(engine, None, refused, Some(reason)))
    }

    /// Opens an installed model on the built-in engine, even if ONNX Runtime is installed.
    pub fn with_built_in_engine(store: &ModelStore, variant: Variant) -> Result<Self, EmbedError> {
        OpenedModel::new(store, variant)?.into_built_in_factory()
    }

    /// Opens a new single-threaded session; all sessions share the model. Takes about 0.1 s on ONNX
    /// Runtime.
    pub fn open_embedder(&self) -> Result<Box<dyn Embedder>, EmbedError> {
        let opened = Arc::clone(&self.state.opened);
        Ok(match &self.state.engine {
            Engine::OnnxRuntime(model, first) => {
                let first = lock(first).take();
                let inference = first.map_or_else(|| model.new_session(), Ok)?;
                Box::new(ModelEmbedder {
                    inference,
                    model: opened,
                })
            }
            Engine::BuiltIn(model) => {
                let inference = model.new_session();
                Box::new(ModelEmbedder {
                    inference,
                    model: opened,
                })
            }
        })
    }

    /// Embeds known sentences on the chosen engine and compares them with the reference; for
    /// `doctor`.
    pub fn self_test(&self) -> Result<(), EmbedError> {
        let mut embedder = self.open_embedder()?;
        if self.state.opened.is_golden {
            return check_reference_cosines(&mut *embedder);
        }
        embedder.embed("").map(drop)
    }

    /// Returns the chosen engine, and the reason.
    pub fn report(&self) -> EngineReport {
        self.state.report.clone()
    }
}

/// An [`Embedder`] around either engine.
struct ModelEmbedder<I> {
    inference: I,
    model: Arc<OpenedModel>,
}

impl<I: Inference> ModelEmbedder<I> {
    /// Embeds a text with the prompt that its model expects before it.
    fn embed_with_prompt(&mut self, prompt: &str, text: &str) -> Result<Vec<f32>, EmbedError> {
        let text = if prompt.is_empty() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned([prompt, text].concat())
        };
        let width = usize::from(self.model.space.dimensions);
        let vector = catch_panics(|| {
            let ids = self.model.tokenizer.encode(&text)?;
            let numbers = self.inference.infer(&ids, &[])?;
            Ok(self
                .model
                .reading
                .pool_and_normalize(numbers, ids.len(), width))
        })
        .map_err(|message| EmbedError::Engine { message })??;
        check_unit_vector(&vector, width).map_err(|error| EmbedError::BadOutput {
            message: error.to_string(),
        })?;
        Ok(vector)
    }
}

impl<I: Inference> Embedder for ModelEmbedder<I> {
    fn space(&self) -> &EmbeddingSpace {
        &self.model.space
    }

    fn token_limit(&self) -> usize {
        self.model.tokenizer.token_limit()
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let opened = Arc::clone(&self.model);
        self.embed_with_prompt(&opened.prompts.passage, text)
    }

    fn embed_query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let opened = Arc::clone(&self.model);
        self.embed_with_prompt(&opened.prompts.query, text)
    }

    fn has_query_prompt(&self) -> bool {
        self.model.prompts.query != self.model.prompts.passage
    }
}

/// An installed model, with the parts that both engines need.
pub(crate) struct OpenedModel {
    pub(crate) space: EmbeddingSpace,
    pub(crate) prompts: Prompts,
    pub(crate) reading: GraphReading,
    /// Whether the reference cosines of the known sentences apply to it.
    is_golden: bool,
    model: PathBuf,
    pub(crate) tokenizer: TextTokenizer,
}

impl OpenedModel {
    fn new(store: &ModelStore, variant: Variant) -> Result<Self, EmbedError> {
        let unavailable = |message: String| EmbedError::Unavailable { message };
        let manifest = ModelManifest::load_built_in().map_err(unavailable)?;
        let installed = store.find_installed().ok_or_else(|| {
            unavailable(format!(
                "there is no whole model in {}",
                store.dir().display()
            ))
        })?;
        let model = installed
            .model(variant)
            .map(Path::to_owned)
            .ok_or_else(|| {
                unavailable(format!(
                    "the model's {} form is not in {}",
                    variant.version(),
                    store.dir().display()
                ))
            })?;
        let limit = manifest.model.token_limit;
        Self::from_variant(variant, model, installed.tokenizer(), limit)
    }

    pub(crate) fn from_variant(
        variant: Variant,
        model: PathBuf,
        json: &Path,
        token_limit: usize,
    ) -> Result<Self, EmbedError> {
        Ok(Self {
            space: variant.space(),
            prompts: Prompts::default(),
            reading: GraphReading::default(),
            is_golden: true,
            model,
            tokenizer: read_tokenizer(json, token_limit)?,
        })
    }

    pub(crate) fn from_added(
        added: &AddedModel,
        model: PathBuf,
        json: &Path,
    ) -> Result<Self, EmbedError> {
        Ok(Self {
            space: added.space(),
            prompts: added.prompts.clone(),
            reading: added.reading.clone(),
            is_golden: false,
            model,
            tokenizer: read_tokenizer(json, added.token_limit)?,
        })
    }

    fn load_built_in_engine(&self) -> Result<Engine, EmbedError> {
        BuiltInModel::load(&self.model, &self.reading).map(Engine::BuiltIn)
    }

    /// Creates a factory on the built-in engine, even if ONNX Runtime is installed.
    pub(crate) fn into_built_in_factory(self) -> Result<EmbedderFactory, EmbedError> {
        let reason = "the built-in engine was asked for".to_owned();
        let engine = self.load_built_in_engine()?;
        Ok(self.into_factory(engine, None, Vec::new(), Some(reason)))
    }

    fn into_factory(
        self,
        engine: Engine,
        library: Option<(LibraryOrigin, LoadedLibrary)>,
        refused: Vec<RefusedLibrary>,
        why_not_onnx_runtime: Option<String>,
    ) -> EmbedderFactory {
        let (library_origin, library) = library.unzip();
        let report = EngineReport {
            engine: match &engine {
                Engine::OnnxRuntime(..) => EngineKind::OnnxRuntime,
                Engine::BuiltIn(_) => EngineKind::BuiltIn,
            },
            space: self.space.clone(),
            token_limit: self.tokenizer.token_limit(),
            model: self.model.clone(),
            library_build: library.as_ref().map(|loaded| loaded.build.clone()),
            library: library.map(|loaded| loaded.path),
            library_origin,
            refused,
            why_not_onnx_runtime,
        };
        let shared = FactoryState {
            opened: Arc::new(self),
            engine,
            report,
        };
        EmbedderFactory {
            state: Arc::new(shared),
        }
    }
}

/// Opens a session of a graph on the best engine of this machine.
pub(crate) fn open_graph_session(
    store: &ModelStore,
    graph: &Path,
    reading: &GraphReading,
) -> Result<Box<dyn Inference>, EmbedError> {
    let installed = store.library_path();
    if let (Some((_, loaded)), _) = find_library(None, installed.as_deref().ok()) {
        let model = OnnxModel::new(loaded.environment, graph.to_owned(), reading.clone());
        return Ok(Box::new(model.new_session()?));
    }
    let model = BuiltInModel::load(graph, reading)?;
    Ok(Box::new(model.new_session()))
}

/// Finds the first ONNX Runtime that loads, and returns it with the refused ones before it.
fn find_library(
    configured: Option<&Path>,
    installed: Option<&Path>,
) -> (Option<(LibraryOrigin, LoadedLibrary)>, Vec<RefusedLibrary>) {
    let mut refused = Vec::new();
    for (origin, path) in library_candidates(configured, env::ort_dylib_path(), installed) {
        match library::load_library(&path) {
            Ok(loaded) => return (Some((origin, loaded)), refused),
            Err(error) => {
                tracing::debug!(%error, ?origin, "an ONNX Runtime was not used");
                refused.push(RefusedLibrary { origin, error });
            }
        }
    }
    (None, refused)
}

fn read_tokenizer(path: &Path, token_limit: usize) -> Result<TextTokenizer, EmbedError> {
    let json = std::fs::read(path).map_err(|error| EmbedError::Unavailable {
        message: format!("{} cannot be read ({error})", path.display()),
    })?;
    TextTokenizer::from_bytes(&json, token_limit)
}

/// Lists the paths of a libonnxruntime, best one first.
fn library_candidates(
    configured: Option<&Path>,
    environment: Option<PathBuf>,
    installed: Option<&Path>,
) -> Vec<(LibraryOrigin, PathBuf)> {
    if let Some(path) = configured {
        return vec![(LibraryOrigin::Configured, path.to_owned())];
    }
    let name = format!(
        "{}onnxruntime{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let beside = std::env::current_exe()
        .ok()
        .and_then(|executable| Some(executable.parent()?.join(&name)))
        .filter(|path| path.exists());
    let mut places = Vec::new();
    places.extend(environment.map(|path| (LibraryOrigin::Environment, path)));
    places.extend(installed.map(|path| (LibraryOrigin::Models, path.to_owned())));
    places.extend(beside.map(|path| (LibraryOrigin::Executable, path)));
    places.push((LibraryOrigin::System, PathBuf::from(name)));
    places
}

#[cfg(test)]
mod tests;
