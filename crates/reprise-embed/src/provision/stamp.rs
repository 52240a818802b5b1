//! `installed.json`: size, time and hash of every installed file, so that a warm start looks at
//! three numbers a file and hashes nothing.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::disk::write_atomic;
use super::error::ProvisionError;

/// Name of the stamp file in the models directory.
pub(super) const STAMP_FILE: &str = "installed.json";

const BYTES_MAX: u64 = 1024 * 1024;

/// What was true of every file when its hash was last computed.
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
