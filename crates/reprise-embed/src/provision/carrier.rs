//! What a file can travel in: a wheel (a zip archive) or a plain folder. Every byte that leaves
//! here has the pinned hash; reads are bounded by the pinned size.

use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use reprise_files::{Access, open_named, open_path};
use reprise_types::sha256_hex;
use zip::ZipArchive;
use zip::result::ZipError;

use super::error::ProvisionError;
use crate::manifest::{FilePin, Notice};

/// Longest licence text that is copied, in bytes.
const NOTICE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Something that may hold the files we need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Carrier {
    Wheel(PathBuf),
    /// Files by their plain names.
    Folder(PathBuf),
}

impl Carrier {
    /// What a path that a user gave holds: a wheel is itself, a folder is its wheels and itself.
    pub(super) fn at(path: &Path) -> Result<Vec<Self>, ProvisionError> {
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

    /// The bytes of one pinned file; `None` where this carrier does not hold it.
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

    /// A licence text, if this carrier brings it.
    pub(super) fn read_notice(&self, notice: &Notice) -> Option<Vec<u8>> {
        self.read_bounded(&notice.member, &notice.file, NOTICE_BYTES_MAX)
            .ok()
            .flatten()
    }

    /// Reads at most one byte more than `size_max`, so that a longer file shows by its hash.
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
                match open_named(&path) {
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
                let opened = open_path(path, Access::Read);
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

/// The bytes of one pinned file from the first carrier that has it right. Where none has, the first
/// carrier's complaint; `None` where none even tried.
pub(super) fn find(carriers: &[Carrier], pin: &FilePin) -> Result<Option<Vec<u8>>, ProvisionError> {
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
