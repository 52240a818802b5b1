//! Inspects a models directory and verifies each installed file by its hash.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::disk::{sha256_file, write_atomically};
use super::error::ProvisionError;
use super::request::PullRequest;
use crate::manifest::ModelManifest;
use crate::variant::Variant;

/// A complete installation: the tokeniser and at least one variant of the model, each with the
/// pinned hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledModel {
    pub(super) tokenizer: PathBuf,
    pub(super) models: BTreeMap<Variant, PathBuf>,
    library: Result<PathBuf, Option<String>>,
}

impl InstalledModel {
    pub fn tokenizer(&self) -> &Path {
        &self.tokenizer
    }

    /// Returns the file of a variant of the model, if it is installed.
    pub fn model(&self, variant: Variant) -> Option<&Path> {
        self.models.get(&variant).map(PathBuf::as_path)
    }

    /// Returns the path of ONNX Runtime, if it is installed here.
    pub fn library(&self) -> Option<&Path> {
        self.library.as_deref().ok()
    }

    /// Returns why ONNX Runtime is not installed here, in one sentence.
    pub fn library_missing_reason(&self) -> Option<&str> {
        self.library.as_ref().err()?.as_deref()
    }
}

/// One file that may be installed, for `reprise doctor models list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFile {
    /// Its name in the models directory.
    pub name: String,
    /// Role of the file: `tokenizer`, `library`, or a space version such as `int8-1`.
    pub role: String,
    /// Size it must have, in bytes.
    pub size_bytes: u64,
    /// Hash it must have.
    pub sha256: String,
    pub state: FileState,
}

/// Whether a file exists and is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// The file exists and has the pinned hash.
    Installed,
    Missing,
    /// The file exists and has another hash.
    Damaged,
}

/// Which files are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hashing {
    /// Files whose size or time differs from the stamp.
    WhereChanged,
    /// Every file.
    Always,
}

/// Inspects every known file of a models directory.
pub(super) fn inspect_folder(dir: &Path, manifest: &ModelManifest, hashing: Hashing) -> Inspection {
    let stamp = InstallStamp::read(dir);
    let tokenizer = &manifest.model.tokenizer;
    let mut wanted = vec![(
        "tokenizer",
        &tokenizer.file,
        tokenizer.size_bytes,
        &tokenizer.sha256,
    )];
    for variant in Variant::ALL {
        if let Some(pin) = manifest.variant_pin(variant) {
            wanted.push((variant.version(), &pin.file, pin.size_bytes, &pin.sha256));
        }
    }
    if let Some(pin) = manifest.library_for_this_machine() {
        wanted.push(("library", &pin.file, pin.size_bytes, &pin.sha256));
    }

    let mut stamped = true;
    let files = wanted
        .into_iter()
        .map(|(role, name, size_bytes, sha256)| {
            let path = dir.join(name);
            let known = stamp.known_hash(dir, name);
            let hash = match (known, hashing) {
                (Some(hash), Hashing::WhereChanged) => Some(hash.to_owned()),
                _ => sha256_file(&path).ok(),
            };
            let state = match hash {
                Some(hash) if hash == *sha256 => {
                    stamped &= known.is_some();
                    FileState::Installed
                }
                Some(_) => FileState::Damaged,
                None => FileState::Missing,
            };
            ModelFile {
                name: name.clone(),
                role: role.to_owned(),
                size_bytes,
                sha256: sha256.clone(),
                state,
            }
        })
        .collect();
    Inspection {
        dir: dir.to_owned(),
        files,
        stamped,
        library_missing: stamp.library_missing,
        library_published: manifest.library_for_this_machine().is_some(),
    }
}

/// Result of an inspection of a models directory.
#[derive(Debug)]
pub(super) struct Inspection {
    dir: PathBuf,
    pub(super) files: Vec<ModelFile>,
    /// Whether every whole file is in the stamp, which makes the next inspection cheap.
    pub(super) stamped: bool,
    pub(super) library_missing: Option<String>,
    library_published: bool,
}

impl Inspection {
    /// Whether the file with this role exists and is whole.
    pub(super) fn has_file(&self, role: &str) -> bool {
        self.path(role).is_some()
    }

    pub(super) fn whole_files(&self) -> impl Iterator<Item = &ModelFile> {
        let whole = |file: &&ModelFile| file.state == FileState::Installed;
        self.files.iter().filter(whole)
    }

    /// Returns the installation, if the tokeniser and at least one model are installed.
    pub(super) fn installation(&self) -> Option<InstalledModel> {
        let models: BTreeMap<_, _> = Variant::ALL
            .into_iter()
            .filter_map(|variant| Some((variant, self.path(variant.version())?)))
            .collect();
        let tokenizer = self.path("tokenizer")?;
        (!models.is_empty()).then_some(InstalledModel {
            tokenizer,
            models,
            library: self.library_path(),
        })
    }

    /// Returns the path of ONNX Runtime, or the reason why it is not installed.
    pub(super) fn library_path(&self) -> Result<PathBuf, Option<String>> {
        self.path("library")
            .ok_or_else(|| self.library_missing.clone())
    }

    /// Returns the installation, if it has everything that is requested.
    pub(super) fn installation_for(&self, request: &PullRequest) -> Option<InstalledModel> {
        let library_settled = self.has_file("library")
            || !self.library_published
            || (self.library_missing.is_some() && !request.retry_library);
        let installed = self.installation()?;
        let has_all = request
            .variants
            .iter()
            .all(|variant| installed.models.contains_key(variant));
        (has_all && library_settled).then_some(installed)
    }

    /// Builds the error that names the missing files.
    pub(super) fn incomplete_error(&self) -> ProvisionError {
        let missing: Vec<&str> = self
            .files
            .iter()
            .filter(|file| file.state != FileState::Installed)
            .map(|file| &*file.name)
            .collect();
        ProvisionError::Incomplete {
            path: self.dir.clone(),
            message: format!("missing: {}", missing.join(", ")),
        }
    }

    fn path(&self, role: &str) -> Option<PathBuf> {
        self.whole_files()
            .find(|file| file.role == role)
            .map(|file| self.dir.join(&file.name))
    }
}

/// Name of the stamp file in the models directory.
pub(super) const STAMP_FILE: &str = "installed.json";

const BYTES_MAX: u64 = 1024 * 1024;

/// Size, time and hash of every file when it was last hashed, so that a warm start only compares
/// size and time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InstallStamp {
    pub(super) files: Vec<FileStamp>,
    /// Why no ONNX Runtime is installed, if none is.
    pub(super) library_missing: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStamp {
    pub(super) name: String,
    pub(super) size_bytes: u64,
    /// Modification time, nanoseconds since 1970.
    pub(super) modified_ns: u64,
    pub(super) sha256: String,
}

impl InstallStamp {
    /// Reads the stamp; returns an empty one if it is missing or unreadable.
    pub(super) fn read(directory: &Path) -> Self {
        reprise_files::read_if_exists(&directory.join(STAMP_FILE), BYTES_MAX)
            .ok()
            .flatten()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Writes the stamp atomically.
    pub(super) fn write(&self, directory: &Path) -> Result<(), ProvisionError> {
        let text =
            serde_json::to_string_pretty(self).map_err(|error| ProvisionError::ModelManifest {
                message: error.to_string(),
            })?;
        write_atomically(&directory.join(STAMP_FILE), text.as_bytes())
    }

    /// Returns the stamped hash of a file, if its size and time are unchanged.
    pub(super) fn known_hash(&self, directory: &Path, name: &str) -> Option<&str> {
        let stamped = self.files.iter().find(|file| file.name == name)?;
        let (size_bytes, modified_ns) = read_size_and_time(&directory.join(name))?;
        (stamped.size_bytes == size_bytes && stamped.modified_ns == modified_ns)
            .then_some(&*stamped.sha256)
    }

    /// Adds a file whose hash is known.
    pub(super) fn add_file(&mut self, directory: &Path, name: &str, sha256: &str) {
        if let Some((size_bytes, modified_ns)) = read_size_and_time(&directory.join(name)) {
            self.files.push(FileStamp {
                name: name.to_owned(),
                size_bytes,
                modified_ns,
                sha256: sha256.to_owned(),
            });
        }
    }
}

/// Reads size and modification time of a file; returns `None` if it does not exist.
fn read_size_and_time(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    let modified = metadata.modified().ok()?;
    let since_epoch = modified.duration_since(UNIX_EPOCH).ok()?;
    let modified_ns = u64::try_from(since_epoch.as_nanos()).ok()?;
    Some((metadata.len(), modified_ns))
}
