//! The pull itself, under the directory's lock: fetch, prove, convert, place, test, stamp.
//!
//! Each file is written beside its place and renamed into it; the stamp comes last. So a process
//! that dies anywhere leaves the old state or a state that the next pull completes. The originals
//! (90 MB of weights) are deleted: another form of the model fetches them again.

use std::fs;
use std::path::{Path, PathBuf};

use reprise_types::sha256_hex;

use super::carrier::Carrier;
use super::disk::{lock, rename, write_atomic};
use super::error::ProvisionError;
use super::fetch::Fetcher;
use super::inspection::{Hashing, Inspection, Installed, Stamp, inspect};
use super::request::{Progress, PullRequest};
use crate::factory::Opened;
use crate::manifest::{FilePin, Manifest};
use crate::variant::Variant;

pub(super) const LOCK_FILE: &str = ".lock";
/// Downloads under way. Kept when a pull is interrupted: pip takes up complete wheels.
const STAGING_DIRECTORY: &str = "staging";

/// Brings the directory to what `request` names.
pub(super) fn pull(
    dir: &Path,
    manifest: &Manifest,
    request: &PullRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<Installed, ProvisionError> {
    fs::create_dir_all(dir).map_err(ProvisionError::io("create", dir))?;
    let _lock = lock(&dir.join(LOCK_FILE), || progress(Progress::Waiting))?;

    // Whoever held the lock before may have done it all.
    let before = inspect(dir, manifest, Hashing::WhereChanged);
    let mut library_missing = before.library_missing.clone();
    if before.satisfies(request).is_none() {
        library_missing = complete(dir, manifest, request, &before, progress)?;
    }

    let mut done = inspect(dir, manifest, Hashing::WhereChanged);
    done.library_missing = library_missing.filter(|_| !done.has("library"));
    let mut stamp = Stamp {
        library_missing: done.library_missing.clone(),
        ..Stamp::default()
    };
    for file in done.whole_files() {
        stamp.add(dir, &file.name, &file.sha256);
    }
    stamp.write(dir)?;
    let has_all = request
        .variants
        .iter()
        .all(|variant| done.has(variant.version()));
    done.installed()
        .filter(|_| has_all)
        .ok_or_else(|| done.incomplete())
}

/// Fetches and places what is missing; gives the reason if ONNX Runtime stays missing.
fn complete(
    dir: &Path,
    manifest: &Manifest,
    request: &PullRequest,
    before: &Inspection,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<String>, ProvisionError> {
    let staging = dir.join(STAGING_DIRECTORY);
    fs::create_dir_all(&staging).map_err(ProvisionError::io("create", &staging))?;
    let from = request.from.as_deref();
    let originals = Fetcher::new(manifest, &staging, request.patience, from)?;
    let variants: Vec<Variant> = request
        .variants
        .iter()
        .copied()
        .filter(|variant| !before.has(variant.version()))
        .collect();
    if !variants.is_empty() || !before.has("tokenizer") {
        let carriers = originals.model(progress)?;
        place_model(dir, &variants, &originals, &carriers, progress)?;
        place_notices(dir, manifest, &carriers)?;
    }

    let mut library_missing = before.library_missing.clone();
    match manifest.library_here() {
        None => {
            let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
            library_missing = Some(format!(
                "no ONNX Runtime {} is published for {os} on {arch}",
                manifest.library.version
            ));
        }
        Some(pin) if !before.has("library") => {
            if library_missing.is_none() || request.retry_library {
                library_missing = place_library(dir, pin, &originals, progress)?;
            }
        }
        Some(_) => {}
    }
    fs::remove_dir_all(&staging).map_err(ProvisionError::io("remove", &staging))?;
    Ok(library_missing)
}

/// Proves, converts and tests in the staging directory; only then renames into place.
fn place_model(
    dir: &Path,
    variants: &[Variant],
    originals: &Fetcher<'_>,
    carriers: &[Carrier],
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ProvisionError> {
    let Fetcher {
        manifest, staging, ..
    } = originals;
    let pins = &manifest.model;
    let tokenizer = staging.join(&pins.tokenizer.file);
    let bytes = originals.proven(carriers, &pins.tokenizer, progress)?;
    write_atomic(&tokenizer, &bytes)?;
    let mut placed = vec![&pins.tokenizer.file];

    if !variants.is_empty() {
        let weights = originals.proven(carriers, &pins.weights, progress)?;
        for variant in variants {
            let version = variant.version();
            progress(Progress::Converting { version });
            let pin = manifest
                .variant(*variant)
                .ok_or_else(|| originals.lacks(version))?;
            let model = crate::onnx::convert(&weights, *variant)?;
            let got = sha256_hex(&model);
            if got != pin.sha256 {
                return Err(ProvisionError::Hash {
                    file: pin.file.clone(),
                    got,
                    expected: pin.sha256.clone(),
                });
            }
            let path = staging.join(&pin.file);
            write_atomic(&path, &model)?;
            progress(Progress::Testing);
            self_test(*variant, path, &tokenizer, pins.token_limit)?;
            placed.push(&pin.file);
        }
    }
    for file in placed {
        rename(&staging.join(file), &dir.join(file))?;
    }
    Ok(())
}

/// Installs ONNX Runtime, or gives the reason why it could not: the built-in engine runs then.
/// Bytes of a wrong hash are refused like any other.
fn place_library(
    dir: &Path,
    pin: &FilePin,
    originals: &Fetcher<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<String>, ProvisionError> {
    let carriers = match originals.library(progress) {
        Ok(carriers) => carriers,
        Err(message) => return Ok(Some(message)),
    };
    match originals.proven(&carriers, pin, progress) {
        Ok(bytes) => write_atomic(&dir.join(&pin.file), &bytes)?,
        Err(error) => return Ok(Some(error.to_string())),
    }
    place_notices(dir, originals.manifest, &carriers)?;
    Ok(None)
}

/// Copies the licence texts that the carriers bring.
fn place_notices(
    dir: &Path,
    manifest: &Manifest,
    carriers: &[Carrier],
) -> Result<(), ProvisionError> {
    for notice in &manifest.notices {
        if let Some(text) = carriers
            .iter()
            .find_map(|carrier| carrier.read_notice(notice))
        {
            write_atomic(&dir.join(&notice.file), &text)?;
        }
    }
    Ok(())
}

/// Lets a model file embed the golden sentences. Runs on the built-in engine, so that no shared
/// library is loaded as a side effect.
pub(super) fn self_test(
    variant: Variant,
    model: PathBuf,
    tokenizer: &Path,
    token_limit: usize,
) -> Result<(), ProvisionError> {
    let tested = Opened::of_variant(variant, model, tokenizer, token_limit)
        .and_then(Opened::on_built_in)
        .and_then(|factory| factory.self_test());
    tested.map_err(|error| ProvisionError::SelfTest {
        message: error.to_string(),
    })
}
