//! Where a daemon and its clients meet: the names of its socket, locks and token file.
//!
//! The rule that gives every data directory its own socket.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};

use reprise_files::{Access, FileError, Folder};
use reprise_types::sha256_hex;

/// The longest path of a socket that every Unix takes, in bytes.
const SOCKET_PATH_MAX: usize = 100;
/// Digits of the data directory's hash in the socket's name: 64 bits.
const HASH_DIGITS: usize = 16;
/// Held by the daemon for as long as it lives.
pub(crate) const LIFE_LOCK: &str = "daemon.lock";
/// Held by the client that is starting a daemon.
pub(crate) const START_LOCK: &str = "start.lock";
/// What a daemon that was started on demand says.
pub(crate) const LOG: &str = "daemon.log";
/// Longest file that says where a daemon is.
const LIFE_BYTES_MAX: u64 = 4_096;
/// Folder of the daemon's own files in the data directory. No user id begins with a dot.
pub(crate) const OWN_FOLDER: &str = ".reprise";
/// The list in it of what was written of memories elsewhere, from the time when it had backups
/// alone.
pub const COPIES: &str = "backups.jsonl";
/// Longest such list that is read, in bytes.
pub const COPIES_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The meeting place of one data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    data: PathBuf,
    run: PathBuf,
    name: String,
}

/// A meeting place that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Longer than the system takes.
    #[error(
        "the socket's path `{path}` has {got} bytes and may have {SOCKET_PATH_MAX}; set \
         XDG_RUNTIME_DIR, or choose a shorter --data-dir"
    )]
    TooLong { path: String, got: usize },
    /// Others could put a socket there.
    #[error("`{path}` is open to other users (mode {mode:o}); run `chmod 700 {path}`")]
    Open { path: String, mode: u32 },
    #[error(transparent)]
    File(#[from] FileError),
}

impl Place {
    /// The place of `data`; `runtime` is `$XDG_RUNTIME_DIR` where the session has one. Touches no
    /// file.
    pub fn new(data: &Path, runtime: Option<&Path>) -> Self {
        let data = settled(data);
        let hash = sha256_hex(data.as_os_str().as_encoded_bytes());
        let run = match runtime {
            Some(runtime) => runtime.join("reprise"),
            None => data.join(OWN_FOLDER),
        };
        Self {
            name: hash.chars().take(HASH_DIGITS).collect(),
            data,
            run,
        }
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    pub fn socket(&self) -> PathBuf {
        self.run.join(format!("{}.sock", self.name))
    }

    /// Every socket at which this data directory's daemon may answer: the one of this session, and
    /// the one that the running daemon has written down. An agent's program may start us without
    /// the session's runtime directory, and must still find the same daemon.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let mut sockets = vec![self.socket()];
        let written = self.written().unwrap_or_default();
        let written = written.lines().nth(1).map(PathBuf::from);
        sockets.extend(written.filter(|written| *written != self.socket()));
        sockets
    }

    /// The process that the daemon has written down.
    pub fn process(&self) -> Option<String> {
        self.written()?.lines().next().map(str::to_owned)
    }

    fn written(&self) -> Option<String> {
        self.folder()
            .ok()?
            .read_text(LIFE_LOCK, LIFE_BYTES_MAX)
            .ok()?
    }

    /// Held by the daemon for as long as it lives, in the data directory itself: its lines are the
    /// daemon's process and socket.
    pub fn life_lock(&self) -> PathBuf {
        self.own().join(LIFE_LOCK)
    }

    /// Whether a daemon lives, serving or about to end.
    pub(crate) fn is_held(&self) -> bool {
        let lock = self
            .folder()
            .and_then(|own| own.file(LIFE_LOCK, Access::Read));
        lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// What a daemon that was started on demand says goes here.
    pub fn log(&self) -> PathBuf {
        self.own().join(LOG)
    }

    /// The hashes of the tokens.
    pub fn tokens(&self) -> PathBuf {
        self.own().join("tokens.json")
    }

    /// The folder of the daemon's own files.
    pub(crate) fn folder(&self) -> Result<Folder, FileError> {
        Folder::own(&self.own())
    }

    fn own(&self) -> PathBuf {
        self.data.join(OWN_FOLDER)
    }

    /// Makes the folders, closed to everybody else, and refuses those that are not.
    pub fn prepare(&self) -> Result<(), PlaceError> {
        let socket = self.socket();
        let got = socket.as_os_str().len();
        if got > SOCKET_PATH_MAX {
            let path = socket.display().to_string();
            return Err(PlaceError::TooLong { path, got });
        }
        Folder::make(&self.data)?;
        for folder in [&self.run, &self.own()] {
            let mode = Folder::make_own(folder)?.mode()? & 0o777;
            if mode & 0o077 != 0 {
                let path = folder.display().to_string();
                return Err(PlaceError::Open { path, mode });
            }
        }
        Ok(())
    }
}

/// The path without links, also where its end does not exist yet: the first client and the daemon
/// that it starts have to agree.
fn settled(path: &Path) -> PathBuf {
    match (fs_err::canonicalize(path), path.parent(), path.file_name()) {
        (Ok(settled), _, _) => settled,
        (Err(_), Some(parent), Some(name)) => settled(parent).join(name),
        (Err(_), _, _) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn each_data_directory_has_its_own_socket_whatever_way_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs_err::create_dir_all(&data).unwrap();
        let runtime = folder.path().join("run");
        let place = Place::new(&data, Some(&runtime));
        let other_way = Place::new(&folder.path().join("data/../data"), Some(&runtime));
        assert_eq!(place, other_way);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let (new, linked) = (folder.path().join("new"), link.join("new"));
        let before = Place::new(&linked, Some(&runtime));
        fs_err::create_dir_all(&new).unwrap();
        assert_eq!(before.socket(), Place::new(&new, Some(&runtime)).socket());
        assert_ne!(
            place.socket(),
            Place::new(folder.path(), Some(&runtime)).socket()
        );
        assert!(Place::new(&data, None).socket().starts_with(&data));
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(&folder.path().join("data"), Some(folder.path()));
        place.prepare().unwrap();
        let open = std::fs::Permissions::from_mode(0o777);
        fs_err::set_permissions(folder.path().join("reprise"), open).unwrap();
        let error = place.prepare().unwrap_err().to_string();
        assert!(error.contains("chmod 700"), "{error}");
        let data = folder.path().join("other");
        fs_err::create_dir_all(&data).unwrap();
        std::os::unix::fs::symlink(folder.path(), data.join(OWN_FOLDER)).unwrap();
        let error = Place::new(&data, None).prepare().unwrap_err();
        assert!(matches!(error, PlaceError::File(FileError::Link { .. })));
        let long = folder.path().join("x".repeat(120));
        assert!(matches!(
            Place::new(&long, None).prepare(),
            Err(PlaceError::TooLong { .. })
        ));
    }
}
