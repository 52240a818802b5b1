//! Loads the ONNX Runtime library, at most one per process, for the life of the process.
//!
//! A missing, foreign or too old library is an error and never a panic: `ort` panics if it has to
//! find a library by itself, so it only gets a path that was checked first. The record of the
//! loaded library is global because the library is.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ort::LoadDynamicError;
use ort::environment::Environment;
use reprise_files::{OpenMode, open_path};

use reprise_types::lock;

use super::catch_panics;
use crate::env::{NO_TELEMETRY, is_without_telemetry};

/// Oldest minor version that works: ONNX Runtime 1.23, as the `api-23` feature of `ort` requires.
const MINOR_VERSION_MIN: u32 = ort::MINOR_VERSION;

/// Why a libonnxruntime was not used. The fallback engine runs instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    #[error("there is no file {}; run `reprise doctor models pull`", path.display())]
    Missing { path: PathBuf },
    #[error("{} is not a shared library of this system; run `reprise doctor models pull`", path.display())]
    NotALibrary { path: PathBuf },
    #[error("{} does not load ({message}); run `reprise doctor models pull`", path.display())]
    Load {
        path: PathBuf,
        /// The loader's message.
        message: String,
    },
    #[error("{} is not ONNX Runtime ({message}); run `reprise doctor models pull`", path.display())]
    NotOnnxRuntime { path: PathBuf, message: String },
    #[error(
        "{} is ONNX Runtime {got}, at least 1.{MINOR_VERSION_MIN} is needed; run `reprise doctor models \
        pull`",
        path.display()
    )]
    TooOld { path: PathBuf, got: String },
    /// The process has already loaded another library, and can load only one.
    #[error("this process already uses {}; restart it to use {}", loaded.display(), path.display())]
    OtherLoaded { path: PathBuf, loaded: PathBuf },
    #[error("{} does not start ({message}); run `reprise doctor models pull`, then \
        restart", path.display())]
    Start {
        path: PathBuf,
        /// The library's message.
        message: String,
    },
    /// The library would send telemetry.
    #[error("{} sends telemetry where a process does not begin with {NO_TELEMETRY}=1; set \
        it", path.display())]
    Telemetry { path: PathBuf },
}

#[derive(Debug, Clone)]
pub(crate) struct LoadedLibrary {
    pub(crate) environment: Environment,
    pub(crate) path: PathBuf,
    /// The library's own description of its build.
    pub(crate) build: String,
}

type LoadResult = Result<LoadedLibrary, LibraryError>;

/// The library of this process by its path: in use, or permanently loaded but unusable.
static LOADED: Mutex<Option<(PathBuf, LoadResult)>> = Mutex::new(None);

/// Loads the library at `path`, or returns the loaded one if it is the same. The system's loader
/// looks up a bare file name (without a directory).
pub(crate) fn load_library(path: &Path) -> LoadResult {
    let path = check_library_file(path)?;
    if !is_without_telemetry() {
        return Err(LibraryError::Telemetry { path });
    }
    // A panic with the lock held leaves the state unchanged, because it is set last.
    let mut held = lock(&LOADED);
    match &*held {
        Some((loaded, result)) if *loaded == path => return result.clone(),
        Some((loaded, _)) => {
            let loaded = loaded.clone();
            return Err(LibraryError::OtherLoaded { path, loaded });
        }
        None => {}
    }

    let builder = catch_panics(|| ort::init_from(&path))
        .map_err(|message| LibraryError::NotOnnxRuntime {
            path: path.clone(),
            message,
        })?
        .map_err(|error| explain_load_error(error, &path))?;
    let started = catch_panics(|| {
        let builder = builder.with_name("reprise").with_telemetry(false);
        let environment = builder.build().map_err(|error| error.to_string())?;
        Ok(LoadedLibrary {
            environment,
            path: path.clone(),
            build: ort::info().to_owned(),
        })
    });
    let started = started.and_then(|result| result);
    let result = started.map_err(|message| LibraryError::Start {
        path: path.clone(),
        message,
    });
    *held = Some((path, result.clone()));
    result
}

/// Checks a file before the system's loader reads it, and returns its absolute path.
fn check_library_file(path: &Path) -> Result<PathBuf, LibraryError> {
    let is_bare_name = path
        .parent()
        .is_none_or(|parent| parent.as_os_str().is_empty());
    if is_bare_name {
        return Ok(path.to_owned());
    }
    let missing = || LibraryError::Missing {
        path: path.to_owned(),
    };
    let absolute = path.canonicalize().map_err(|_| missing())?;
    let is_whole = if cfg!(target_os = "macos") {
        file_starts_with(
            &absolute,
            &[&[0xcf, 0xfa, 0xed, 0xfe], &[0xca, 0xfe, 0xba, 0xbe]],
        )
    } else {
        is_whole_elf(&absolute)
    };
    is_whole
        .ok()
        .filter(|is_whole| *is_whole)
        .ok_or_else(|| LibraryError::NotALibrary {
            path: path.to_owned(),
        })?;
    Ok(absolute)
}

/// Whether a file begins with one of these byte strings.
fn file_starts_with(path: &Path, magics: &[&[u8]]) -> std::io::Result<bool> {
    let mut start = [0; 4];
    open_path(path, OpenMode::Read)?.read_exact(&mut start)?;
    Ok(magics.iter().any(|magic| start.starts_with(magic)))
}

fn explain_load_error(error: LoadDynamicError, path: &Path) -> LibraryError {
    let path = path.to_owned();
    match error {
        LoadDynamicError::Dlopen { error, .. } => LibraryError::Load {
            path,
            message: error.to_string(),
        },
        LoadDynamicError::MissingApi { .. } => LibraryError::NotOnnxRuntime {
            path,
            message: "it does not export OrtGetApiBase".to_owned(),
        },
        LoadDynamicError::InvalidVersionString => LibraryError::NotOnnxRuntime {
            path,
            message: "it does not tell its version".to_owned(),
        },
        LoadDynamicError::BadVersion { version_str, .. } => LibraryError::TooOld {
            path,
            got: version_str,
        },
    }
}

/// Length of the 64-bit header, in bytes.
const HEADER_BYTES: usize = 64;
/// `e_ident`: the magic, then 64 bit, then little endian: all that ONNX Runtime is published for.
const IDENTITY: &[u8; 6] = b"\x7fELF\x02\x01";
/// `p_type` of a segment that is mapped.
const MAPPED: u64 = 1;

/// Whether an ELF file is all there. The loader maps segments without looking at the file's length,
/// and a process that then touches a missing page is killed by the system, which no guard catches.
/// So this reads the program headers and compares the mapped segments' ends with the file's length.
fn is_whole_elf(path: &Path) -> std::io::Result<bool> {
    let mut file = open_path(path, OpenMode::Read)?;
    let file_bytes = file.metadata()?.len();
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    if !header.starts_with(IDENTITY) {
        return Ok(false);
    }
    // e_phoff, e_phentsize, e_phnum.
    let table_start = read_number(&header, 32, 8);
    let entry_bytes = read_number(&header, 54, 2);
    let entries = read_number(&header, 56, 2);
    // 16-bit factors: the product cannot overflow.
    let table_bytes = entry_bytes * entries;
    let table_end = table_start.checked_add(table_bytes);
    if entries == 0 || entry_bytes < 56 || table_end.is_none_or(|end| end > file_bytes) {
        return Ok(false);
    }
    let mut table = vec![0; table_bytes as usize];
    file.seek(SeekFrom::Start(table_start))?;
    file.read_exact(&mut table)?;
    // p_type, p_offset, p_filesz.
    let is_inside = |entry: &[u8]| {
        read_number(entry, 0, 4) != MAPPED
            || read_number(entry, 8, 8)
                .checked_add(read_number(entry, 32, 8))
                .is_some_and(|end| end <= file_bytes)
    };
    Ok(table.chunks_exact(entry_bytes as usize).all(is_inside))
}

/// Reads a little-endian number of `size` bytes; missing bytes count as zero.
fn read_number(bytes: &[u8], start: usize, size: usize) -> u64 {
    let digits = bytes.iter().skip(start).take(size);
    digits
        .rev()
        .fold(0, |number, digit| number << 8 | u64::from(*digit))
}

#[cfg(test)]
mod tests;
