//! Installs the model under the directory's lock: fetches, verifies, converts, tests, renames and
//! stamps the files.
//!
//! Each file is written in the staging folder and renamed to its path; the stamp comes last. So a
//! process that ends at any moment leaves the old state or a state that the next pull completes.
//! The original files (90 MB of weights) are deleted; another variant of the model fetches them
//! again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use reprise_types::{Clock, SystemClock, sha256_hex};

use super::carrier::Carrier;
use super::disk::{LOCK_FILE, acquire_lock, rename_durably, sha256_file, write_atomically};
use super::error::ProvisionError;
use super::fetch::Fetcher;
use super::inspection::{
    FileState, Hashing, Inspection, InstallStamp, InstalledModel, STAMP_FILE, inspect_folder,
};
use super::request::{Patience, PullProgress, PullRequest};
use super::store::{ModelStore, load_manifest};
use crate::factory::OpenedModel;
use crate::manifest::{FilePin, ModelManifest};
use crate::variant::Variant;

/// Folder of unfinished downloads. It is kept after an interruption because pip reuses complete
/// wheels.
const STAGING_DIRECTORY: &str = "staging";

impl ModelStore {
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
        let inspection = inspect_folder(self.dir(), &manifest, Hashing::WhereChanged);
        if let Some(installed) = inspection.installation_for(request)
            && inspection.stamped
        {
            return Ok(installed);
        }
        let fetches = request.from.is_none();
        if let Some(ago) = time_since_failure(self.dir())
            && fetches
            && request.patience == Patience::Short
        {
            // The call can continue without the library but not without a model.
            return inspection.installation().ok_or(ProvisionError::Postponed {
                minutes: ago.as_secs() / 60 + 1,
            });
        }
        let pulled = pull_model(self.dir(), &manifest, request, progress);
        if fetches {
            record_failure(self.dir(), pulled.is_err());
        }
        pulled
    }

    /// Hashes every installed file, and compares the embeddings of known texts with the reference.
    pub fn verify_installed(&self) -> Result<InstalledModel, ProvisionError> {
        let manifest = load_manifest()?;
        let inspection = inspect_folder(self.dir(), &manifest, Hashing::Always);
        for file in &inspection.files {
            if file.state == FileState::Damaged {
                // Otherwise an unchanged size and time would let it pass as whole.
                let stamp = self.dir().join(STAMP_FILE);
                fs::remove_file(&stamp).map_err(ProvisionError::io("remove", &stamp))?;
                let path = self.dir().join(&file.name);
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
            self_test(*variant, model.clone(), &installed.tokenizer, limit)?;
        }
        Ok(installed)
    }
}

/// Installs everything that `request` names.
fn pull_model(
    dir: &Path,
    manifest: &ModelManifest,
    request: &PullRequest,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<InstalledModel, ProvisionError> {
    fs::create_dir_all(dir).map_err(ProvisionError::io("create", dir))?;
    let _lock = acquire_lock(&dir.join(LOCK_FILE), || progress(PullProgress::Waiting))?;

    // Another process may have installed everything before it released the lock.
    let before = inspect_folder(dir, manifest, Hashing::WhereChanged);
    let mut library_missing = before.library_missing.clone();
    if before.installation_for(request).is_none() {
        library_missing = fetch_missing(dir, manifest, request, &before, progress)?;
    }

    let mut done = inspect_folder(dir, manifest, Hashing::WhereChanged);
    done.library_missing = library_missing.filter(|_| !done.has_file("library"));
    let mut stamp = InstallStamp {
        library_missing: done.library_missing.clone(),
        ..InstallStamp::default()
    };
    for file in done.whole_files() {
        stamp.add_file(dir, &file.name, &file.sha256);
    }
    stamp.write(dir)?;
    let has_all = request
        .variants
        .iter()
        .all(|variant| done.has_file(variant.version()));
    done.installation()
        .filter(|_| has_all)
        .ok_or_else(|| done.incomplete_error())
}

/// Fetches and installs the missing files; returns the reason if ONNX Runtime is still missing.
fn fetch_missing(
    dir: &Path,
    manifest: &ModelManifest,
    request: &PullRequest,
    before: &Inspection,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<Option<String>, ProvisionError> {
    let staging = dir.join(STAGING_DIRECTORY);
    fs::create_dir_all(&staging).map_err(ProvisionError::io("create", &staging))?;
    let from = request.from.as_deref();
    let originals = Fetcher::new(manifest, &staging, request.patience, from)?;
    let variants: Vec<Variant> = request
        .variants
        .iter()
        .copied()
        .filter(|variant| !before.has_file(variant.version()))
        .collect();
    if !variants.is_empty() || !before.has_file("tokenizer") {
        let carriers = originals.fetch_model(progress)?;
        install_model(dir, &variants, &originals, &carriers, progress)?;
        copy_notices(dir, manifest, &carriers)?;
    }

    let mut library_missing = before.library_missing.clone();
    match manifest.library_for_this_machine() {
        None => {
            let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
            library_missing = Some(format!(
                "no ONNX Runtime {} is published for {os} on {arch}",
                manifest.library.version
            ));
        }
        Some(pin) if !before.has_file("library") => {
            if library_missing.is_none() || request.retry_library {
                library_missing = install_library(dir, pin, &originals, progress)?;
            }
        }
        Some(_) => {}
    }
    fs::remove_dir_all(&staging).map_err(ProvisionError::io("remove", &staging))?;
    Ok(library_missing)
}

/// Verifies, converts and tests the files in the staging folder, then renames them to their paths.
fn install_model(
    dir: &Path,
    variants: &[Variant],
    originals: &Fetcher<'_>,
    carriers: &[Carrier],
    progress: &mut dyn FnMut(PullProgress),
) -> Result<(), ProvisionError> {
    let Fetcher {
        manifest, staging, ..
    } = originals;
    let pins = &manifest.model;
    let tokenizer = staging.join(&pins.tokenizer.file);
    let bytes = originals.read_verified(carriers, &pins.tokenizer, progress)?;
    write_atomically(&tokenizer, &bytes)?;
    let mut placed = vec![&pins.tokenizer.file];

    if !variants.is_empty() {
        let weights = originals.read_verified(carriers, &pins.weights, progress)?;
        for variant in variants {
            let version = variant.version();
            progress(PullProgress::Converting { version });
            let pin = manifest
                .variant_pin(*variant)
                .ok_or_else(|| originals.not_found_error(version))?;
            let model = crate::onnx::convert_to_onnx(&weights, *variant)?;
            let got = sha256_hex(&model);
            if got != pin.sha256 {
                return Err(ProvisionError::Hash {
                    file: pin.file.clone(),
                    got,
                    expected: pin.sha256.clone(),
                });
            }
            let path = staging.join(&pin.file);
            write_atomically(&path, &model)?;
            progress(PullProgress::Testing);
            self_test(*variant, path, &tokenizer, pins.token_limit)?;
            placed.push(&pin.file);
        }
    }
    for file in placed {
        rename_durably(&staging.join(file), &dir.join(file))?;
    }
    Ok(())
}

/// Installs ONNX Runtime, or returns the reason why it could not, and the built-in engine runs
/// then. A file with a wrong hash is refused like any other.
fn install_library(
    dir: &Path,
    pin: &FilePin,
    originals: &Fetcher<'_>,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<Option<String>, ProvisionError> {
    let carriers = match originals.fetch_library(progress) {
        Ok(carriers) => carriers,
        Err(message) => return Ok(Some(message)),
    };
    match originals.read_verified(&carriers, pin, progress) {
        Ok(bytes) => write_atomically(&dir.join(&pin.file), &bytes)?,
        Err(error) => return Ok(Some(error.to_string())),
    }
    copy_notices(dir, originals.manifest, &carriers)?;
    Ok(None)
}

/// Copies the licence texts of the carriers.
fn copy_notices(
    dir: &Path,
    manifest: &ModelManifest,
    carriers: &[Carrier],
) -> Result<(), ProvisionError> {
    for notice in &manifest.notices {
        if let Some(text) = carriers
            .iter()
            .find_map(|carrier| carrier.read_notice(notice))
        {
            write_atomically(&dir.join(&notice.file), &text)?;
        }
    }
    Ok(())
}

/// Embeds the golden sentences with a model file. Runs on the built-in engine, so that no shared
/// library is loaded as a side effect.
fn self_test(
    variant: Variant,
    model: PathBuf,
    tokenizer: &Path,
    token_limit: usize,
) -> Result<(), ProvisionError> {
    let tested = OpenedModel::from_variant(variant, model, tokenizer, token_limit)
        .and_then(OpenedModel::into_built_in_factory)
        .and_then(|factory| factory.self_test());
    tested.map_err(|error| ProvisionError::SelfTest {
        message: error.to_string(),
    })
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
