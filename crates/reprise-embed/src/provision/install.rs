//! The pull itself, under the directory's lock: fetch, prove, convert, place, test, stamp.
//!
//! Each file is written beside its place and renamed into it; the stamp comes last. So a process
//! that dies anywhere leaves the old state or a state that the next pull completes. The originals
//! (90 MB of weights) are deleted: another form of the model fetches them again.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use reprise_types::{EmbedError, sha256_hex};

use super::carrier::{Carrier, find};
use super::disk::{lock, rename, write_atomic};
use super::error::ProvisionError;
use super::fetch::Fetcher;
use super::inspection::{Hashing, Inspection, Installed, Stamp, inspect};
use super::request::{Progress, PullRequest, PullSource};
use crate::engine::built_in::BuiltInModel;
use crate::engine::{ModelEmbedder, Reading};
use crate::folder::Prompts;
use crate::manifest::{FilePin, Manifest};
use crate::tokenizer::TextTokenizer;
use crate::unrelated::golden;
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

    let after = inspect(dir, manifest, Hashing::WhereChanged);
    let mut stamp = Stamp {
        library_missing: library_missing.filter(|_| !after.has("library")),
        ..Stamp::default()
    };
    for file in after.whole_files() {
        stamp.add(dir, &file.name, &file.sha256);
    }
    stamp.write(dir)?;
    let done = inspect(dir, manifest, Hashing::WhereChanged);
    let has_all = request
        .variants
        .iter()
        .all(|variant| done.has(variant.version()));
    done.installed()
        .filter(|_| has_all)
        .ok_or_else(|| done.incomplete(dir))
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
    let originals = match &request.source {
        PullSource::Network => {
            Originals::Network(Fetcher::new(manifest, &staging, request.patience))
        }
        PullSource::Local(path) => Originals::Local {
            carriers: Carrier::at(path)?,
            path,
        },
    };
    let variants: Vec<Variant> = request
        .variants
        .iter()
        .copied()
        .filter(|variant| !before.has(variant.version()))
        .collect();
    if !variants.is_empty() || !before.has("tokenizer") {
        let carriers = originals.model(progress)?;
        place_model(
            dir, &staging, manifest, &variants, &originals, &carriers, progress,
        )?;
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
                library_missing = place_library(dir, manifest, pin, &originals, progress)?;
            }
        }
        Some(_) => {}
    }
    fs::remove_dir_all(&staging).map_err(ProvisionError::io("remove", &staging))?;
    Ok(library_missing)
}

/// Where the originals of this pull come from.
enum Originals<'a> {
    Network(Fetcher<'a>),
    Local {
        carriers: Vec<Carrier>,
        path: &'a Path,
    },
}

impl Originals<'_> {
    fn model(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Carrier>, ProvisionError> {
        match self {
            Self::Network(fetcher) => fetcher.model(progress),
            Self::Local { carriers, .. } => Ok(carriers.clone()),
        }
    }

    fn library(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Carrier>, String> {
        match self {
            Self::Network(fetcher) => fetcher.library(progress),
            Self::Local { carriers, .. } => Ok(carriers.clone()),
        }
    }

    /// The error for a file that no carrier holds.
    fn lacks(&self, file: &str) -> ProvisionError {
        let path = match self {
            Self::Network(_) => Path::new("the download"),
            Self::Local { path, .. } => path,
        };
        ProvisionError::NotFound {
            path: path.to_owned(),
            file: file.to_owned(),
        }
    }
}

/// Proves, converts and tests in the staging directory; only then renames into place.
fn place_model(
    dir: &Path,
    staging: &Path,
    manifest: &Manifest,
    variants: &[Variant],
    originals: &Originals<'_>,
    carriers: &[Carrier],
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ProvisionError> {
    let mut proven = |pin: &FilePin| {
        progress(Progress::Verifying {
            file: pin.file.clone(),
        });
        find(carriers, pin)?.ok_or_else(|| originals.lacks(&pin.file))
    };
    let tokenizer_pin = &manifest.model.tokenizer;
    let tokenizer = staging.join(&tokenizer_pin.file);
    write_atomic(&tokenizer, &proven(tokenizer_pin)?)?;
    let mut placed = vec![&tokenizer_pin.file];

    if !variants.is_empty() {
        let weights = proven(&manifest.model.weights)?;
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
            self_test(&path, &tokenizer, manifest.model.token_limit, *variant)?;
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
    manifest: &Manifest,
    pin: &FilePin,
    originals: &Originals<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<String>, ProvisionError> {
    let carriers = match originals.library(progress) {
        Ok(carriers) => carriers,
        Err(message) => return Ok(Some(message)),
    };
    progress(Progress::Verifying {
        file: pin.file.clone(),
    });
    match find(&carriers, pin) {
        Ok(Some(bytes)) => write_atomic(&dir.join(&pin.file), &bytes)?,
        Ok(None) => return Ok(Some(originals.lacks(&pin.file).to_string())),
        Err(error) => return Ok(Some(error.to_string())),
    }
    place_notices(dir, manifest, &carriers)?;
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
    model: &Path,
    tokenizer: &Path,
    token_limit: usize,
    variant: Variant,
) -> Result<(), ProvisionError> {
    let json = fs::read(tokenizer).map_err(ProvisionError::io("read", tokenizer))?;
    let failed = |error: EmbedError| ProvisionError::SelfTest {
        message: error.to_string(),
    };
    let tokenizer = TextTokenizer::from_bytes(&json, token_limit).map_err(failed)?;
    let session = BuiltInModel::load(model, &Reading::default())
        .map_err(failed)?
        .session();
    let mut embedder = ModelEmbedder::new(
        session,
        Arc::new(tokenizer),
        variant.space(),
        Prompts::default(),
        Reading::default(),
    );
    golden(&mut embedder).map_err(failed)
}
