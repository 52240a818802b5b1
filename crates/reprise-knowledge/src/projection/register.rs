//! What was written of a projection, remembered beside the memory and not where it was written:
//! hashes of names and of contents, which tell nobody what stood there.

use std::fs::File;
use std::time::Duration;

use crate::prelude::*;

/// The folder beside the memory.
const FOLDER: &str = ".projections";
const BYTES_MAX: u64 = 256 << 20;
/// Digits of a place's hash in the name of its file.
const DIGITS: usize = 32;
/// How long one rebuild waits for another of the same place.
const PATIENCE: Duration = Duration::from_secs(10);

/// In the place of a file's name: where the folder was that its path led to.
const WAY: &str = "";

/// By the hash of a file's name the hashes of what may stand in it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Written(BTreeMap<String, BTreeSet<String>>);

impl Written {
    pub(crate) fn of(files: &BTreeMap<PathBuf, Vec<u8>>) -> Self {
        let files = files.iter();
        let hashed =
            files.map(|(name, content)| (key(name), BTreeSet::from([sha256_hex(content)])));
        Self(hashed.collect())
    }

    /// The same of the folder that a path leads to now.
    pub(crate) fn at(mut self, chosen: &Path) -> Self {
        let way = BTreeSet::from([way_of(chosen)]);
        self.0.insert(WAY.to_owned(), way);
        self
    }

    /// Whether a path leads where it led: what a repository brings may be a link to elsewhere.
    pub(crate) fn is_at(&self, chosen: &Path) -> bool {
        let known = self.0.get(WAY);
        known.is_none_or(|known| known.contains(&way_of(chosen)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.keys().all(|name| name == WAY)
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for (name, contents) in other.0.iter().filter(|(name, _)| *name != WAY) {
            let own = self.0.entry(name.clone()).or_default();
            own.extend(contents.iter().cloned());
        }
    }

    pub(crate) fn names(&self, name: &Path) -> bool {
        self.0.contains_key(&key(name))
    }

    pub(crate) fn holds(&self, name: &Path, content: &str) -> bool {
        let contents = self.0.get(&key(name));
        contents.is_some_and(|contents| contents.contains(content))
    }
}

/// Where a folder is or would be made, links resolved.
fn way_of(chosen: &Path) -> String {
    let whole = std::path::absolute(chosen).unwrap_or_else(|_| chosen.to_owned());
    let resolved = whole.ancestors().find_map(|above| {
        let missing = whole.strip_prefix(above).ok()?;
        Some(fs_err::canonicalize(above).ok()?.join(missing))
    });
    let way: PathBuf = resolved.unwrap_or(whole).components().collect();
    sha256_hex(way.as_os_str().as_encoded_bytes())
}

fn key(name: &Path) -> String {
    sha256_hex(name.as_os_str().as_encoded_bytes())
}

/// The register of one place, held by one rebuild.
pub(crate) struct Register {
    folder: Folder,
    file: String,
    /// What stands in it.
    stored: Option<Vec<u8>>,
    _alone: File,
}

impl Register {
    /// With what was written.
    pub(crate) fn alone(root: &Path, home: &Path) -> Result<(Self, Written), ExportError> {
        let folder = Folder::make_own(home)?.make_folder(FOLDER)?;
        let name = name_of(root);
        let alone = folder.lock(format!("{name}.lock"), PATIENCE)?;
        let file = format!("{name}.json");
        let (stored, written) = read(&folder, &file)?;
        let register = Self {
            folder,
            file,
            stored,
            _alone: alone,
        };
        Ok((register, written))
    }

    /// What was written, for whoever only compares.
    pub(crate) fn read_of(root: &Path, home: &Path) -> Result<Written, ExportError> {
        let home = Folder::find_own(home)?;
        let folder = home.map(|home| home.find_folder(FOLDER)).transpose()?;
        match folder.flatten() {
            Some(folder) => Ok(read(&folder, &format!("{}.json", name_of(root)))?.1),
            None => Ok(Written::default()),
        }
    }

    pub(crate) fn write(&mut self, written: &Written) -> Result<(), ExportError> {
        let stored = serde_json::to_vec(written).map_err(std::io::Error::from)?;
        if self.stored.as_ref() != Some(&stored) {
            self.folder.replace(&self.file, &stored)?;
            self.stored = Some(stored);
        }
        Ok(())
    }
}

fn read(folder: &Folder, file: &str) -> Result<(Option<Vec<u8>>, Written), ExportError> {
    let stored = folder.read(file, BYTES_MAX)?;
    let Some(bytes) = &stored else {
        return Ok((None, Written::default()));
    };
    let written = serde_json::from_slice(bytes).map_err(|error| {
        let why = format!("{error}; remove it, and run `reprise rebuild --adopt`");
        ExportError::unwritable(folder.path_of(file).display(), why)
    })?;
    Ok((stored, written))
}

fn name_of(root: &Path) -> String {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let mut hash = sha256_hex(root.as_os_str().as_encoded_bytes());
    hash.truncate(DIGITS);
    hash
}
