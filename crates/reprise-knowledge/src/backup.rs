//! Copies of other programs' files, kept beside the memory before they are replaced or moved in
//! (S40): a folder for each state that they had, named by what stood in it.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use reprise_files::{FileError, Folder};
use sha2::{Digest, Sha256};

/// The folder beside the memory.
pub(crate) const FOLDER: &str = "backups";

/// Keeps what `read` gives for each name below `home`; where it is, or `None` of no files. The same
/// files again make no second copy.
pub(crate) fn keep(
    home: &Path,
    what: &str,
    names: &[PathBuf],
    read: impl Fn(&Path) -> Result<Option<Vec<u8>>, FileError>,
) -> Result<Option<PathBuf>, FileError> {
    let (mut digest, mut is_any) = (Sha256::new(), false);
    for name in names {
        if let Some(content) = read(name)? {
            is_any = true;
            digest.update(name.as_os_str().as_encoded_bytes());
            digest.update([0]);
            digest.update((content.len() as u64).to_le_bytes());
            digest.update(&content);
        }
    }
    if !is_any {
        return Ok(None);
    }
    let digest = digest.finalize();
    let state = format!("{what}-{}", HEXLOWER.encode(&digest[..8]));
    let folder = Folder::make_own(home)?.make_folder(Path::new(FOLDER).join(state))?;
    for name in names {
        let Some(content) = read(name)? else { continue };
        if let Some(above) = name.parent().filter(|above| !above.as_os_str().is_empty()) {
            folder.make_folder(above)?;
        }
        folder.replace(name, &content)?;
    }
    Ok(Some(folder.path().to_owned()))
}
