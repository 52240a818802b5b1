//! Chooses the engine once and makes sessions of it: ONNX Runtime where it can be had, else the
//! built-in one, with the reason kept for `doctor`.
//!
//! No threads and no queues live here; those are the agent's.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use reprise_types::{EmbedError, Embedder, EmbeddingSpace, Unrelated, lock};
use serde::{Serialize, Serializer};

use crate::engine::built_in::BuiltInModel;
use crate::engine::library::{self, LibraryError, LoadedLibrary};
use crate::engine::onnx::{OnnxModel, OnnxSession};
use crate::engine::{Inference, ModelEmbedder, Reading};
use crate::env;
use crate::folder::Prompts;
use crate::manifest::Manifest;
use crate::provision::{AddedModel, ModelStore};
use crate::tokenizer::TextTokenizer;
use crate::unrelated::{golden, unrelated};
use crate::variant::{Model, Variant};

/// Which program runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// ONNX Runtime, a shared library.
    OnnxRuntime,
    /// rten, part of this program.
    BuiltIn,
}

/// Where a libonnxruntime was looked for, in the order of looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LibraryOrigin {
    /// The configuration names it. Then no other place is tried.
    Configured,
    /// `ORT_DYLIB_PATH` names it.
    Environment,
    /// The models directory, put there by `reprise models pull`.
    Models,
    Executable,
    /// The system's own library path.
    System,
}

/// A library that was looked at and not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedLibrary {
    pub origin: LibraryOrigin,
    /// Why not; as its sentence where it is serialised.
    #[serde(serialize_with = "as_sentence")]
    pub error: LibraryError,
}

fn as_sentence<S: Serializer>(error: &LibraryError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

/// What `doctor` shows of the embedding engine.
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
    /// What it says of its build.
    pub library_build: Option<String>,
    pub library_origin: Option<LibraryOrigin>,
    /// Libraries tried before, and why not.
    pub refused: Vec<RefusedLibrary>,
    /// Why ONNX Runtime does not run, in one sentence; none while it does.
    pub why_not_onnx_runtime: Option<String>,
}

/// Makes embedders of one model on one engine; cheap to clone and to share.
#[derive(Debug, Clone)]
pub struct EmbedderFactory {
    shared: Arc<Shared>,
}

struct Shared {
    opened: Arc<Opened>,
    engine: Engine,
    report: EngineReport,
}

enum Engine {
    /// With the session that proved it, for the first `open`.
    OnnxRuntime(OnnxModel, Mutex<Option<OnnxSession>>),
    BuiltIn(BuiltInModel),
}

reprise_types::show_fields!(Shared { report });

impl EmbedderFactory {
    /// Opens an installed model on the best engine of this machine. A `library` from the
    /// configuration is the only one tried; without it the look-up order is `ORT_DYLIB_PATH`, the
    /// models directory, beside the executable, the system. Where none works the built-in engine
    /// runs, and [`Self::describe`] says why.
    pub fn from_store(
        store: &ModelStore,
        variant: Variant,
        library: Option<&Path>,
    ) -> Result<Self, EmbedError> {
        Self::of_model(store, &Model::BuiltIn(variant), library)
    }

    pub fn of_model(
        store: &ModelStore,
        model: &Model,
        library: Option<&Path>,
    ) -> Result<Self, EmbedError> {
        let added = match model {
            Model::BuiltIn(variant) => {
                return Self::of_opened(store, Opened::new(store, *variant)?, library);
            }
            Model::Added(added) => added,
        };
        let files = store.files_of(added);
        let (model, json) = files.map_err(|error| EmbedError::Unavailable {
            message: error.to_string(),
        })?;
        let factory = Self::of_opened(store, Opened::of_added(added, model, &json)?, library)?;
        let known = added
            .unrelated
            .map_or_else(|| factory.measured(store, added), Ok)?;
        added.space().measured(known);
        Ok(factory)
    }

    /// Measures a model that was added before that was done, and keeps it.
    fn measured(&self, store: &ModelStore, added: &AddedModel) -> Result<Unrelated, EmbedError> {
        let known = unrelated(&mut *self.open()?)?;
        let model = AddedModel {
            unrelated: Some(known),
            ..added.clone()
        };
        if let Err(error) = store.keep_measured(&model) {
            tracing::warn!(%error, "what was measured of a model is not kept");
        }
        Ok(known)
    }

    pub(crate) fn of_opened(
        store: &ModelStore,
        opened: Opened,
        library: Option<&Path>,
    ) -> Result<Self, EmbedError> {
        let installed = store.library();
        let (found, refused) = find_library(library, installed.as_deref().ok());
        let mut model_error = None;
        if let Some((origin, loaded)) = found {
            let environment = loaded.environment.clone();
            let model = OnnxModel::new(environment, opened.model.clone(), opened.reading.clone());
            match model.session() {
                Ok(session) => {
                    let engine = Engine::OnnxRuntime(model, Mutex::new(Some(session)));
                    return Ok(opened.on(engine, Some((origin, loaded)), refused, None));
                }
                // The library is good, so no other library can do better with this file.
                Err(error) => model_error = Some(error.to_string()),
            }
        }
        let reason = model_error
            .or_else(|| installed.err().flatten().filter(|_| library.is_none()))
            .or_else(|| refused.first().map(|refused| refused.error.to_string()))
            .unwrap_or_else(|| "no ONNX Runtime was found".to_owned());
        tracing::info!(reason, "embedding with the built-in engine");
        let engine = opened.built_in()?;
        Ok(opened.on(engine, None, refused, Some(reason)))
    }

    /// Opens an installed model on the built-in engine, whatever else is there.
    pub fn built_in(store: &ModelStore, variant: Variant) -> Result<Self, EmbedError> {
        Opened::new(store, variant)?.on_built_in()
    }

    /// A new single-threaded session; all of them share the model. Takes about 0.1 s on ONNX
    /// Runtime.
    pub fn open(&self) -> Result<Box<dyn Embedder>, EmbedError> {
        let opened = Arc::clone(&self.shared.opened);
        Ok(match &self.shared.engine {
            Engine::OnnxRuntime(model, first) => {
                let first = lock(first).take();
                let inference = first.map_or_else(|| model.session(), Ok)?;
                Box::new(ModelEmbedder { inference, opened })
            }
            Engine::BuiltIn(model) => {
                let inference = model.session();
                Box::new(ModelEmbedder { inference, opened })
            }
        })
    }

    /// Embeds known sentences on the chosen engine and compares with the reference; for `doctor`.
    pub fn self_test(&self) -> Result<(), EmbedError> {
        let mut embedder = self.open()?;
        if self.shared.opened.is_golden {
            return golden(&mut *embedder);
        }
        embedder.embed("").map(drop)
    }

    /// The choice that was made, and why.
    pub fn describe(&self) -> EngineReport {
        self.shared.report.clone()
    }
}

/// An installed model, read as far as both engines need it.
pub(crate) struct Opened {
    pub(crate) space: EmbeddingSpace,
    pub(crate) prompts: Prompts,
    pub(crate) reading: Reading,
    /// Whether the reference's sentences are known to it.
    is_golden: bool,
    model: PathBuf,
    pub(crate) tokenizer: TextTokenizer,
}

impl Opened {
    fn new(store: &ModelStore, variant: Variant) -> Result<Self, EmbedError> {
        let unavailable = |message: String| EmbedError::Unavailable { message };
        let manifest = Manifest::built_in().map_err(unavailable)?;
        let installed = store.installed().ok_or_else(|| {
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
        Self::of_variant(variant, model, installed.tokenizer(), limit)
    }

    pub(crate) fn of_variant(
        variant: Variant,
        model: PathBuf,
        json: &Path,
        token_limit: usize,
    ) -> Result<Self, EmbedError> {
        Ok(Self {
            space: variant.space(),
            prompts: Prompts::default(),
            reading: Reading::default(),
            is_golden: true,
            model,
            tokenizer: tokenizer(json, token_limit)?,
        })
    }

    pub(crate) fn of_added(
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
            tokenizer: tokenizer(json, added.token_limit)?,
        })
    }

    fn built_in(&self) -> Result<Engine, EmbedError> {
        BuiltInModel::load(&self.model, &self.reading).map(Engine::BuiltIn)
    }

    /// On the built-in engine, whatever else is there.
    pub(crate) fn on_built_in(self) -> Result<EmbedderFactory, EmbedError> {
        let reason = "the built-in engine was asked for".to_owned();
        let engine = self.built_in()?;
        Ok(self.on(engine, None, Vec::new(), Some(reason)))
    }

    fn on(
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
        let shared = Shared {
            opened: Arc::new(self),
            engine,
            report,
        };
        EmbedderFactory {
            shared: Arc::new(shared),
        }
    }
}

/// A session of a graph on the best engine of this machine.
pub(crate) fn open_graph(
    store: &ModelStore,
    graph: &Path,
    reading: &Reading,
) -> Result<Box<dyn Inference>, EmbedError> {
    let installed = store.library();
    if let (Some((_, loaded)), _) = find_library(None, installed.as_deref().ok()) {
        let model = OnnxModel::new(loaded.environment, graph.to_owned(), reading.clone());
        return Ok(Box::new(model.session()?));
    }
    let model = BuiltInModel::load(graph, reading)?;
    Ok(Box::new(model.session()))
}

/// The first ONNX Runtime that loads, and those before it that do not.
fn find_library(
    configured: Option<&Path>,
    installed: Option<&Path>,
) -> (Option<(LibraryOrigin, LoadedLibrary)>, Vec<RefusedLibrary>) {
    let mut refused = Vec::new();
    for (origin, path) in candidates(configured, env::ort_dylib_path(), installed) {
        match library::load(&path) {
            Ok(loaded) => return (Some((origin, loaded)), refused),
            Err(error) => {
                tracing::debug!(%error, ?origin, "an ONNX Runtime was not used");
                refused.push(RefusedLibrary { origin, error });
            }
        }
    }
    (None, refused)
}

fn tokenizer(path: &Path, token_limit: usize) -> Result<TextTokenizer, EmbedError> {
    let json = std::fs::read(path).map_err(|error| EmbedError::Unavailable {
        message: format!("{} cannot be read ({error})", path.display()),
    })?;
    TextTokenizer::from_bytes(&json, token_limit)
}

/// Where to look for a libonnxruntime, best place first.
fn candidates(
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
