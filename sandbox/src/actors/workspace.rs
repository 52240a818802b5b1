//! The workers' directory; access outside it is refused.

use std::path::Component;

use crate::prelude::*;

/// Longest file that is written, in bytes.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// The directory in which workers read and write files. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkerDirectory {
    root: PathBuf,
}

/// Why a file or folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkerDirectoryError {
    #[error("`{path}` leads out of the workspace; name a relative path without `..`")]
    Outside { path: String },
    #[error("`{path}` would have {got} bytes; write at most {limit}")]
    TooLong {
        path: String,
        got: usize,
        limit: usize,
    },
    #[error("`{path}` cannot be used ({message}); check the workspace's permissions and disk")]
    Io { path: String, message: String },
}

impl WorkerDirectory {
    /// Opens the directory at `root`, which is created if it is missing.
    pub fn new(root: &Path) -> Result<Self, WorkerDirectoryError> {
        let failed = |error: std::io::Error| to_io_error(&root.display().to_string(), &error);
        std::fs::create_dir_all(root).map_err(failed)?;
        Ok(Self {
            root: root.canonicalize().map_err(failed)?,
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a folder in it, which is created if it is missing; the empty path is the directory
    /// itself.
    pub fn create_folder(&self, path: &str) -> Result<PathBuf, WorkerDirectoryError> {
        let folder = self.resolve_path(path)?;
        self.create_checked(&folder, path)?;
        Ok(folder)
    }

    /// Reads the text of a file; `None` if there is no file.
    pub fn read(&self, path: &str) -> Result<Option<String>, WorkerDirectoryError> {
        let file = self.resolve_path(path)?;
        self.ensure_inside(&file, path)?;
        match std::fs::read_to_string(file) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(to_io_error(path, &error)),
        }
    }

    /// Writes a whole file.
    pub fn write(&self, path: &str, text: &str) -> Result<(), WorkerDirectoryError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(WorkerDirectoryError::TooLong {
                path: path.to_owned(),
                got: text.len(),
                limit: FILE_BYTES_MAX,
            });
        }
        let file = self.resolve_path(path)?;
        if let Some(folder) = file.parent() {
            self.create_checked(folder, path)?;
        }
        self.ensure_inside(&file, path)?;
        std::fs::write(file, text).map_err(|error| to_io_error(path, &error))
    }

    fn resolve_path(&self, path: &str) -> Result<PathBuf, WorkerDirectoryError> {
        let is_plain =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.contains('\0') || !Path::new(path).components().all(is_plain) {
            return Err(WorkerDirectoryError::Outside {
                path: path.to_owned(),
            });
        }
        Ok(self.root.join(path))
    }

    /// Creates a folder, unless a link in its path leads out of the directory.
    fn create_checked(&self, folder: &Path, path: &str) -> Result<(), WorkerDirectoryError> {
        self.ensure_inside(folder, path)?;
        std::fs::create_dir_all(folder).map_err(|error| to_io_error(path, &error))
    }

    /// Checks that the existing part of the path to `target`, with links followed, is in the
    /// directory.
    fn ensure_inside(&self, target: &Path, path: &str) -> Result<(), WorkerDirectoryError> {
        let existing = target.ancestors().find_map(|part| part.canonicalize().ok());
        let is_dangling = target.is_symlink() && !target.exists();
        if is_dangling || !existing.is_some_and(|existing| existing.starts_with(&self.root)) {
            return Err(WorkerDirectoryError::Outside {
                path: path.to_owned(),
            });
        }
        Ok(())
    }
}

fn to_io_error(path: &str, error: &std::io::Error) -> WorkerDirectoryError {
    WorkerDirectoryError::Io {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_or_written_outside() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        let workspace = WorkerDirectory::new(&folder.path().join("work")).unwrap();
        workspace.write("a/b.txt", "text").unwrap();
        assert_eq!(workspace.read("a/b.txt").unwrap().as_deref(), Some("text"));
        assert_eq!(workspace.read("a/c.txt").unwrap(), None);
        let absolute = folder.path().join("secret").display().to_string();
        for path in ["../secret", "a/../../secret", absolute.as_str(), "a\0b"] {
            assert!(workspace.read(path).is_err(), "{path:?}");
            assert!(workspace.write(path, "x").is_err(), "{path:?}");
            assert!(workspace.create_folder(path).is_err(), "{path:?}");
        }
        assert!(
            workspace
                .write("long", &"x".repeat(FILE_BYTES_MAX + 1))
                .is_err()
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_does_not_lead_out() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = WorkerDirectory::new(&folder.path().join("work")).unwrap();
        let link = workspace.root().join("out");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(workspace.write("out/x", "x").is_err());
        assert!(workspace.create_folder("out/y").is_err());
        std::os::unix::fs::symlink(folder.path().join("new"), workspace.root().join("f")).unwrap();
        assert!(workspace.write("f", "x").is_err());
        assert!(!folder.path().join("new").exists());
    }
}
