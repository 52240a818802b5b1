//! A models directory: what is installed in it, proven by hash, and the way to complete it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use reprise_types::{Clock, SystemClock};

use super::disk::sha256_file;
use super::error::ProvisionError;
use super::inspection::STAMP_FILE;
use super::inspection::{FileState, Hashing, Installed, ModelFile, inspect};
use super::install;
use super::request::{Patience, Progress, PullRequest};
use crate::manifest::Manifest;

/// A directory that holds, or shall hold, the model and its library. Cheap: a path and no state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStore {
    dir: PathBuf,
}

impl ModelStore {
    /// Names a directory; nothing is read or created yet.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes sure that what `request` names is here, fetching what is missing. A warm call reads
    /// four file sizes and touches no network. Two processes at once do the work once. An
    /// interrupted call leaves what was installed before, and the next one finds the wheels that
    /// were complete.
    pub fn ensure_with(
        &self,
        request: &PullRequest,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Installed, ProvisionError> {
        let manifest = manifest()?;
        let inspection = inspect(&self.dir, &manifest, Hashing::WhereChanged);
        if let Some(installed) = inspection.satisfies(request)
            && inspection.stamped
        {
            return Ok(installed);
        }
        let fetches = request.from.is_none();
        if let Some(ago) = failed_recently(&self.dir)
            && fetches
            && request.patience == Patience::Short
        {
            // Without a model there is none to go on with; without the library there is.
            return inspection.installed().ok_or(ProvisionError::Postponed {
                minutes: ago.as_secs() / 60 + 1,
            });
        }
        let pulled = install::pull(&self.dir, &manifest, request, progress);
        if fetches {
            note_failure(&self.dir, pulled.is_err());
        }
        pulled
    }

    /// What is installed, if it is a whole model; hashes only what changed since it was installed.
    pub fn installed(&self) -> Option<Installed> {
        let manifest = manifest().ok()?;
        inspect(&self.dir, &manifest, Hashing::WhereChanged).installed()
    }

    /// ONNX Runtime, if it is installed here, else why not.
    pub(crate) fn library(&self) -> Result<PathBuf, Option<String>> {
        let manifest = manifest().map_err(|error| Some(error.to_string()))?;
        inspect(&self.dir, &manifest, Hashing::WhereChanged).library()
    }

    /// Hashes every installed file and lets the model embed known texts.
    pub fn verify(&self) -> Result<Installed, ProvisionError> {
        let manifest = manifest()?;
        let inspection = inspect(&self.dir, &manifest, Hashing::Always);
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
            .ok_or_else(|| inspection.incomplete())?;
        for (variant, model) in &installed.models {
            let limit = manifest.model.token_limit;
            install::self_test(*variant, model.clone(), &installed.tokenizer, limit)?;
        }
        Ok(installed)
    }

    /// Every file that may be installed here, and whether it is.
    pub fn list(&self) -> Vec<ModelFile> {
        manifest()
            .map(|manifest| inspect(&self.dir, &manifest, Hashing::WhereChanged).files)
            .unwrap_or_default()
    }
}

pub(super) fn manifest() -> Result<Manifest, ProvisionError> {
    Manifest::built_in().map_err(|message| ProvisionError::Manifest { message })
}

/// The file whose time is that of the failure.
const FAILED_FILE: &str = ".failed";
/// For so long nobody tries again unasked, so that not every command waits for the same failure.
const WAIT: Duration = Duration::from_mins(10);

/// How long ago the last failure was, where that is not long; `None` also where the file's time is
/// one to come: clocks are set.
fn failed_recently(directory: &Path) -> Option<Duration> {
    let failed = fs::metadata(directory.join(FAILED_FILE))
        .ok()?
        .modified()
        .ok()?;
    let ago = now().duration_since(failed).ok()?;
    (ago < WAIT).then_some(ago)
}

fn now() -> SystemTime {
    SystemClock.now().into()
}

/// Remembers how the last attempt went. Where that cannot be written the next one tries again.
fn note_failure(directory: &Path, failed: bool) {
    let file = directory.join(FAILED_FILE);
    // Made anew: an old file keeps its old time.
    let noted = fs::remove_file(&file).is_ok();
    let noted = noted | (failed && File::create(&file).is_ok());
    tracing::debug!(failed, noted, "the model was fetched for");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_remembered_for_a_while_and_a_success_forgets_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(failed_recently(folder.path()), None);
        note_failure(folder.path(), true);
        assert!(failed_recently(folder.path()).is_some());
        let set = |at: SystemTime| {
            let file = File::options()
                .write(true)
                .open(folder.path().join(FAILED_FILE));
            file.unwrap().set_modified(at).unwrap();
        };
        set(now() - WAIT);
        assert_eq!(failed_recently(folder.path()), None, "long ago");
        set(now() + WAIT);
        assert_eq!(failed_recently(folder.path()), None, "to come");
        note_failure(folder.path(), true);
        assert!(failed_recently(folder.path()).is_some());
        note_failure(folder.path(), false);
        assert_eq!(failed_recently(folder.path()), None);
    }
}
