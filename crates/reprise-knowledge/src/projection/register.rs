//! Remembers what was written of a projection, in the folder of the memory and not in that of the
//! projection: hashes of names and contents, which reveal neither.

use std::fs::File;
use std::time::Duration;

use crate::prelude::*;

/// Folder below that of the memory.
const FOLDER: &str = ".projections";
const BYTES_MAX: u64 = 256 << 20;
/// Digits of a path's hash in the name of its register.
const DIGITS: usize = 32;
/// How long one rebuild waits for another of the same projection.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Key of the hash of the folder that the path led to; other keys are hashes of file names.
const TARGET: &str = "";

/// For the hash of each file name, the hashes of the contents that the file may have.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct WrittenHashes(BTreeMap<String, BTreeSet<String>>);

impl WrittenHashes {
    pub(crate) fn from_files(files: &BTreeMap<PathBuf, Vec<u8>>) -> Self {
        let files = files.iter();
        let hashed =
            files.map(|(name, content)| (name_hash(name), BTreeSet::from([sha256_hex(content)])));
        Self(hashed.collect())
    }

    /// Adds the hash of the folder that a path leads to now.
    pub(crate) fn with_target(mut self, chosen: &Path) -> Self {
        let way = BTreeSet::from([resolved_folder_hash(chosen)]);
        self.0.insert(TARGET.to_owned(), way);
        self
    }

    /// Whether a path leads where it led before: a repository may bring a link to elsewhere.
    pub(crate) fn leads_to_known_folder(&self, chosen: &Path) -> bool {
        let known = self.0.get(TARGET);
        known.is_none_or(|known| known.contains(&resolved_folder_hash(chosen)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.keys().all(|name| name == TARGET)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (name, contents) in other.0.iter().filter(|(name, _)| *name != TARGET) {
            let own = self.0.entry(name.clone()).or_default();
            own.extend(contents.iter().cloned());
        }
    }

    pub(crate) fn has_name(&self, name: &Path) -> bool {
        self.0.contains_key(&name_hash(name))
    }

    pub(crate) fn has_content_hash(&self, name: &Path, content: &str) -> bool {
        let contents = self.0.get(&name_hash(name));
        contents.is_some_and(|contents| contents.contains(content))
    }
}

/// Returns the hash of the folder that a path leads to, with links resolved.
fn resolved_folder_hash(chosen: &Path) -> String {
    let whole = std::path::absolute(chosen).unwrap_or_else(|_| chosen.to_owned());
    let resolved = whole.ancestors().find_map(|above| {
        let missing = whole.strip_prefix(above).ok()?;
        Some(fs_err::canonicalize(above).ok()?.join(missing))
    });
    let way: PathBuf = resolved.unwrap_or(whole).components().collect();
    sha256_hex(way.as_os_str().as_encoded_bytes())
}

fn name_hash(name: &Path) -> String {
    sha256_hex(name.as_os_str().as_encoded_bytes())
}

/// The register of one projection, locked by one rebuild.
pub(crate) struct Register {
    folder: Folder,
    file: String,
    /// Content of its file.
    stored: Option<Vec<u8>>,
    _alone: File,
}

impl Register {
    /// Locks the register of a projection, and returns it with what was written.
    pub(crate) fn lock(root: &Path, home: &Path) -> Result<(Self, WrittenHashes), ExportError> {
        let folder = Folder::open_or_create_no_follow(home)?.open_or_create_folder(FOLDER)?;
        let name = register_name(root);
        let alone = folder.lock(format!("{name}.lock"), LOCK_TIMEOUT)?;
        let file = format!("{name}.json");
        let (stored, written) = read_register(&folder, &file)?;
        let register = Self {
            folder,
            file,
            stored,
            _alone: alone,
        };
        Ok((register, written))
    }

    /// Reads what was written, without a lock.
    pub(crate) fn read_hashes(root: &Path, home: &Path) -> Result<WrittenHashes, ExportError> {
        let home = Folder::find_no_follow(home)?;
        let folder = home.map(|home| home.find_folder(FOLDER)).transpose()?;
        match folder.flatten() {
            Some(folder) => Ok(read_register(&folder, &format!("{}.json", register_name(root)))?.1),
            None => Ok(WrittenHashes::default()),
        }
    }

    pub(crate) fn write(&mut self, written: &WrittenHashes) -> Result<(), ExportError> {
        let stored = serde_json::to_vec(written).map_err(std::io::Error::from)?;
        if self.stored.as_ref() != Some(&stored) {
            self.folder.replace(&self.file, &stored)?;
            self.stored = Some(stored);
        }
        Ok(())
    }
}

fn read_register(
    folder: &Folder,
    file: &str,
) -> Result<(Option<Vec<u8>>, WrittenHashes), ExportError> {
    let stored = folder.read(file, BYTES_MAX)?;
    let Some(bytes) = &stored else {
        return Ok((None, WrittenHashes::default()));
    };
    let written = serde_json::from_slice(bytes).map_err(|error| {
        let why = format!("{error}; remove it, and run `reprise doctor rebuild --adopt`");
        ExportError::unwritable(folder.path_of(file).display(), why)
    })?;
    Ok((stored, written))
}

fn register_name(root: &Path) -> String {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let mut hash = sha256_hex(root.as_os_str().as_encoded_bytes());
    hash.truncate(DIGITS);
    hash
}
