//! What is installed in a models directory, each file proven by its hash.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::disk::{sha256_file, write_atomic};
use super::error::ProvisionError;
use super::request::PullRequest;
use crate::manifest::Manifest;
use crate::variant::Variant;

/// A complete installation: the tokeniser and at least one form of the model, each of the pinned
/// hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub(super) tokenizer: PathBuf,
    pub(super) models: BTreeMap<Variant, PathBuf>,
    library: Result<PathBuf, Option<String>>,
}

impl Installed {
    pub fn tokenizer(&self) -> &Path {
        &self.tokenizer
    }

    /// The file of one form of the model, if it is installed.
    pub fn model(&self, variant: Variant) -> Option<&Path> {
        self.models.get(&variant).map(PathBuf::as_path)
    }

    /// ONNX Runtime, if it is installed here.
    pub fn library(&self) -> Option<&Path> {
        self.library.as_deref().ok()
    }

    /// Why ONNX Runtime is not installed here, in one sentence.
    pub fn library_missing(&self) -> Option<&str> {
        self.library.as_ref().err()?.as_deref()
    }
}

/// One file that may be installed, for `reprise models list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFile {
    /// Its name in the models directory.
    pub name: String,
    /// What it is: `tokenizer`, `library`, or a space version such as `int8-1`.
    pub role: String,
    /// Size it must have, in bytes.
    pub size_bytes: u64,
    /// Hash it must have.
    pub sha256: String,
    pub state: FileState,
}

/// Whether a file is there and whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// There, and of the pinned hash.
    Installed,
    Missing,
    /// There, and of another hash.
    Damaged,
}

/// When a file's hash is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hashing {
    /// Where its size or time is not the stamped one.
    WhereChanged,
    /// For every file.
    Always,
}

/// Looks at every known file.
pub(super) fn inspect(dir: &Path, manifest: &Manifest, hashing: Hashing) -> Inspection {
    let stamp = Stamp::read(dir);
    let tokenizer = &manifest.model.tokenizer;
    let mut wanted = vec![(
        "tokenizer",
        &tokenizer.file,
        tokenizer.size_bytes,
        &tokenizer.sha256,
    )];
    for variant in Variant::ALL {
        if let Some(pin) = manifest.variant(variant) {
            wanted.push((variant.version(), &pin.file, pin.size_bytes, &pin.sha256));
        }
    }
    if let Some(pin) = manifest.library_here() {
        wanted.push(("library", &pin.file, pin.size_bytes, &pin.sha256));
    }

    let mut stamped = true;
    let files = wanted
        .into_iter()
        .map(|(role, name, size_bytes, sha256)| {
            let path = dir.join(name);
            let known = stamp.hash_of(dir, name);
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
        library_published: manifest.library_here().is_some(),
    }
}

/// What a look at the directory found.
#[derive(Debug)]
pub(super) struct Inspection {
    dir: PathBuf,
    pub(super) files: Vec<ModelFile>,
    /// Every whole file is in the stamp, so that the next look is cheap.
    pub(super) stamped: bool,
    pub(super) library_missing: Option<String>,
    library_published: bool,
}

impl Inspection {
    /// Whether the file of this role is there and whole.
    pub(super) fn has(&self, role: &str) -> bool {
        self.path(role).is_some()
    }

    pub(super) fn whole_files(&self) -> impl Iterator<Item = &ModelFile> {
        let whole = |file: &&ModelFile| file.state == FileState::Installed;
        self.files.iter().filter(whole)
    }

    /// The installation, if tokeniser and at least one model are there.
    pub(super) fn installed(&self) -> Option<Installed> {
        let models: BTreeMap<_, _> = Variant::ALL
            .into_iter()
            .filter_map(|variant| Some((variant, self.path(variant.version())?)))
            .collect();
        let tokenizer = self.path("tokenizer")?;
        (!models.is_empty()).then_some(Installed {
            tokenizer,
            models,
            library: self.library(),
        })
    }

    /// ONNX Runtime, else why it is not here.
    pub(super) fn library(&self) -> Result<PathBuf, Option<String>> {
        self.path("library")
            .ok_or_else(|| self.library_missing.clone())
    }

    /// The installation, if it has all that is asked for.
    pub(super) fn satisfies(&self, request: &PullRequest) -> Option<Installed> {
        let library_settled = self.has("library")
            || !self.library_published
            || (self.library_missing.is_some() && !request.retry_library);
        let installed = self.installed()?;
        let has_all = request
            .variants
            .iter()
            .all(|variant| installed.models.contains_key(variant));
        (has_all && library_settled).then_some(installed)
    }

    /// The error that says what is not there.
    pub(super) fn incomplete(&self) -> ProvisionError {
        let missing: Vec<&str> = self
            .files
            .iter()
            .filter(|file| file.state != FileState::Installed)
            .map(|file| &*file.name)
            .collect();
        ProvisionError::Incomplete {
            path: self.dir.clone(),
            message: format!("not there: {}", missing.join(", ")),
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

/// What was true of every file when its hash was last computed, so that a warm start looks at
/// three numbers a file and hashes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
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

impl Stamp {
    /// Reads the stamp; one that is missing or unreadable stamps nothing.
    pub(super) fn read(directory: &Path) -> Self {
        reprise_files::read_named(&directory.join(STAMP_FILE), BYTES_MAX)
            .ok()
            .flatten()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Writes the stamp, whole or not at all.
    pub(super) fn write(&self, directory: &Path) -> Result<(), ProvisionError> {
        let text =
            serde_json::to_string_pretty(self).map_err(|error| ProvisionError::Manifest {
                message: error.to_string(),
            })?;
        write_atomic(&directory.join(STAMP_FILE), text.as_bytes())
    }

    /// The hash that a file had when it looked as it looks now.
    pub(super) fn hash_of(&self, directory: &Path, name: &str) -> Option<&str> {
        let stamped = self.files.iter().find(|file| file.name == name)?;
        let (size_bytes, modified_ns) = looks(&directory.join(name))?;
        (stamped.size_bytes == size_bytes && stamped.modified_ns == modified_ns)
            .then_some(&*stamped.sha256)
    }

    /// Notes a file whose hash is known.
    pub(super) fn add(&mut self, directory: &Path, name: &str, sha256: &str) {
        if let Some((size_bytes, modified_ns)) = looks(&directory.join(name)) {
            self.files.push(FileStamp {
                name: name.to_owned(),
                size_bytes,
                modified_ns,
                sha256: sha256.to_owned(),
            });
        }
    }
}

/// Size and modification time of a file; none if it is not there.
fn looks(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    let modified = metadata.modified().ok()?;
    let since_epoch = modified.duration_since(UNIX_EPOCH).ok()?;
    let modified_ns = u64::try_from(since_epoch.as_nanos()).ok()?;
    Some((metadata.len(), modified_ns))
}
