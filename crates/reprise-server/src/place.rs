//! The paths of a daemon: its data directory, socket, locks and token file.
//!
//! Every data directory has its own socket, named by a hash of the directory's path. Where the path
//! of the socket would be too long for the system, it lies in a short folder elsewhere.

use std::fs::TryLockError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use reprise_files::{FileError, Folder, OpenMode};
use reprise_types::sha256_hex;
use rustix::process::getuid;

/// The longest path of a socket that every Unix takes, in bytes.
const SOCKET_PATH_MAX: usize = 100;
/// Where the folder of a user's sockets lies whose usual path is too long.
const SHORT_FOLDER: &str = "/tmp";
/// Digits of the data directory's hash in the socket's name: 64 bits.
const HASH_DIGITS: usize = 16;
/// Lock file that the daemon holds for as long as it runs.
pub(crate) const DAEMON_LOCK: &str = "daemon.lock";
/// Lock file that a client holds while it starts a daemon.
pub(crate) const START_LOCK: &str = "start.lock";
/// Log file of a daemon that was started on demand.
pub(crate) const LOG: &str = "daemon.log";
/// Longest text of the daemon's lock file, in bytes.
const LOCK_BYTES_MAX: u64 = 4_096;
/// Folder of the daemon's own files in the data directory; no user id begins with a dot.
pub(crate) const OWN_FOLDER: &str = ".reprise";
/// File in that folder which lists the backups and exports that were written elsewhere.
pub const BACKUP_LIST_FILE: &str = "backups.jsonl";

/// Paths of the daemon of one data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonPaths {
    data: PathBuf,
    socket_folder: PathBuf,
    name: String,
}

/// The daemon's paths cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DaemonPathsError {
    /// Another user made the folder.
    #[error(
        "`{path}` belongs to another user; set XDG_RUNTIME_DIR, or choose a shorter --data-dir"
    )]
    Foreign { path: String },
    /// Other users could put a socket into the folder.
    #[error("`{path}` is open to other users (mode {mode:o}); run `chmod 700 {path}`")]
    Open { path: String, mode: u32 },
    #[error(transparent)]
    File(#[from] FileError),
}

impl DaemonPaths {
    /// Returns the paths for the directory `data`; `runtime` is `$XDG_RUNTIME_DIR`, if it is set.
    /// Creates no file.
    pub fn new(data: &Path, runtime: Option<&Path>) -> Self {
        let data = resolve_links(data);
        let hash = sha256_hex(data.as_os_str().as_encoded_bytes());
        let socket_folder = match runtime {
            Some(runtime) => runtime.join("reprise"),
            None => data.join(OWN_FOLDER),
        };
        let mut paths = Self {
            name: hash.chars().take(HASH_DIGITS).collect(),
            data,
            socket_folder,
        };
        if paths.socket().as_os_str().len() > SOCKET_PATH_MAX {
            let uid = getuid().as_raw();
            paths.socket_folder = Path::new(SHORT_FOLDER).join(format!("reprise-{uid}"));
        }
        paths
    }

    /// Returns whether the socket lies in a short folder, because its usual path is too long.
    pub fn has_short_socket(&self) -> bool {
        self.socket_folder.parent() == Some(Path::new(SHORT_FOLDER))
            && !self.socket_folder.starts_with(&self.data)
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    pub fn socket(&self) -> PathBuf {
        self.socket_folder.join(format!("{}.sock", self.name))
    }

    /// Returns every socket at which this data directory's daemon may listen: the one of this
    /// session, and the one that the running daemon wrote into its lock file. An agent's program
    /// may start us without the session's runtime directory, and must still find the same daemon.
    pub fn candidate_sockets(&self) -> Vec<PathBuf> {
        let mut sockets = vec![self.socket()];
        let lock_text = self.read_lock_text().unwrap_or_default();
        let lock_text = lock_text.lines().nth(1).map(PathBuf::from);
        sockets.extend(lock_text.filter(|lock_text| *lock_text != self.socket()));
        sockets
    }

    /// Returns the process id that the daemon wrote into its lock file.
    pub fn recorded_process(&self) -> Option<String> {
        self.read_lock_text()?.lines().next().map(str::to_owned)
    }

    fn read_lock_text(&self) -> Option<String> {
        self.open_own_folder()
            .ok()?
            .read_text(DAEMON_LOCK, LOCK_BYTES_MAX)
            .ok()?
    }

    /// Returns the path of the lock that the daemon holds while it runs; the file's lines are its
    /// process id and its socket.
    pub fn lock_path(&self) -> PathBuf {
        self.own_path().join(DAEMON_LOCK)
    }

    /// Returns whether a daemon runs, even one that is about to end.
    pub(crate) fn is_daemon_alive(&self) -> bool {
        let lock = self
            .open_own_folder()
            .and_then(|own| own.open_file(DAEMON_LOCK, OpenMode::Read));
        lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Returns the path of the log of a daemon that was started on demand.
    pub fn log(&self) -> PathBuf {
        self.own_path().join(LOG)
    }

    /// Returns the path of the file with the hashes of the tokens.
    pub fn tokens(&self) -> PathBuf {
        self.own_path().join("tokens.json")
    }

    /// Opens the folder of the daemon's own files.
    pub(crate) fn open_own_folder(&self) -> Result<Folder, FileError> {
        Folder::open_no_follow(&self.own_path())
    }

    fn own_path(&self) -> PathBuf {
        self.data.join(OWN_FOLDER)
    }

    /// Creates the folders, closed to other users; fails if one is open to them.
    pub fn create_folders(&self) -> Result<(), DaemonPathsError> {
        Folder::open_or_create(&self.data)?;
        for folder in [&self.socket_folder, &self.own_path()] {
            let mode = Folder::open_or_create_no_follow(folder)?.permission_bits()? & 0o777;
            if mode & 0o077 != 0 {
                let path = folder.display().to_string();
                return Err(DaemonPathsError::Open { path, mode });
            }
            if folder.starts_with(SHORT_FOLDER) && !is_own(folder) {
                let path = folder.display().to_string();
                return Err(DaemonPathsError::Foreign { path });
            }
        }
        Ok(())
    }
}

/// Returns whether this user made a folder.
fn is_own(folder: &Path) -> bool {
    let found = fs_err::symlink_metadata(folder);
    found.is_ok_and(|found| found.uid() == getuid().as_raw())
}

/// Resolves the links of a path even if its end does not exist yet: the first client and the daemon
/// that it starts must compute the same path.
fn resolve_links(path: &Path) -> PathBuf {
    match (fs_err::canonicalize(path), path.parent(), path.file_name()) {
        (Ok(resolved), _, _) => resolved,
        (Err(_), Some(parent), Some(name)) => resolve_links(parent).join(name),
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
        let place = DaemonPaths::new(&data, Some(&runtime));
        let other_way = DaemonPaths::new(&folder.path().join("data/../data"), Some(&runtime));
        assert_eq!(place, other_way);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let (new, linked) = (folder.path().join("new"), link.join("new"));
        let before = DaemonPaths::new(&linked, Some(&runtime));
        fs_err::create_dir_all(&new).unwrap();
        assert_eq!(
            before.socket(),
            DaemonPaths::new(&new, Some(&runtime)).socket()
        );
        assert_ne!(
            place.socket(),
            DaemonPaths::new(folder.path(), Some(&runtime)).socket()
        );
        assert!(DaemonPaths::new(&data, None).socket().starts_with(&data));
    }

    #[test]
    fn a_socket_whose_path_is_too_long_lies_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("x".repeat(120));
        for runtime in [None, Some(long.as_path())] {
            let place = DaemonPaths::new(&long, runtime);
            place.create_folders().unwrap();
            let socket = place.socket();
            assert!(socket.as_os_str().len() <= SOCKET_PATH_MAX, "{socket:?}");
            assert!(std::os::unix::net::UnixListener::bind(&socket).is_ok());
            fs_err::remove_file(&socket).unwrap();
        }
        let other = DaemonPaths::new(&folder.path().join("y".repeat(120)), None);
        assert_ne!(other.socket(), DaemonPaths::new(&long, None).socket());
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = DaemonPaths::new(&folder.path().join("data"), Some(folder.path()));
        place.create_folders().unwrap();
        let open = std::fs::Permissions::from_mode(0o777);
        fs_err::set_permissions(folder.path().join("reprise"), open).unwrap();
        let error = place.create_folders().unwrap_err().to_string();
        assert!(error.contains("chmod 700"), "{error}");
        let data = folder.path().join("other");
        fs_err::create_dir_all(&data).unwrap();
        std::os::unix::fs::symlink(folder.path(), data.join(OWN_FOLDER)).unwrap();
        let error = DaemonPaths::new(&data, None).create_folders().unwrap_err();
        assert!(matches!(
            error,
            DaemonPathsError::File(FileError::Link { .. })
        ));
    }
}
