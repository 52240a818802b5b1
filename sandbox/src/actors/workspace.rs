//! The workers' directory; access outside it is refused.

use std::path::Component;

use crate::prelude::*;

/// Longest file that is written, in bytes.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// The workers' directory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
}

/// Why a file or folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
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

impl Workspace {
    /// The workspace at `root`, created if missing.
    pub fn new(root: &Path) -> Result<Self, WorkspaceError> {
        let failed = |error: std::io::Error| failed(&root.display().to_string(), &error);
        std::fs::create_dir_all(root).map_err(failed)?;
        Ok(Self {
            root: root.canonicalize().map_err(failed)?,
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A folder in it, created if missing; the empty path is the workspace itself.
    pub fn folder(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let folder = self.inside(path)?;
        self.make(&folder, path)?;
        Ok(folder)
    }

    /// The text of a file; `None` where there is none.
    pub fn read(&self, path: &str) -> Result<Option<String>, WorkspaceError> {
        let file = self.inside(path)?;
        self.no_way_out(&file, path)?;
        match std::fs::read_to_string(file) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// Writes a whole file.
    pub fn write(&self, path: &str, text: &str) -> Result<(), WorkspaceError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(WorkspaceError::TooLong {
                path: path.to_owned(),
                got: text.len(),
                limit: FILE_BYTES_MAX,
            });
        }
        let file = self.inside(path)?;
        if let Some(folder) = file.parent() {
            self.make(folder, path)?;
        }
        self.no_way_out(&file, path)?;
        std::fs::write(file, text).map_err(|error| failed(path, &error))
    }

    fn inside(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.contains('\0') || !Path::new(path).components().all(plain) {
            return Err(WorkspaceError::Outside {
                path: path.to_owned(),
            });
        }
        Ok(self.root.join(path))
    }

    /// Creates a folder, unless a link in its path leads out of the workspace.
    fn make(&self, folder: &Path, path: &str) -> Result<(), WorkspaceError> {
        self.no_way_out(folder, path)?;
        std::fs::create_dir_all(folder).map_err(|error| failed(path, &error))
    }

    /// Checks that the existing part of the path to `target`, links followed, is in the workspace.
    fn no_way_out(&self, target: &Path, path: &str) -> Result<(), WorkspaceError> {
        let there = target.ancestors().find_map(|part| part.canonicalize().ok());
        let dangling = target.is_symlink() && !target.exists();
        if dangling || !there.is_some_and(|there| there.starts_with(&self.root)) {
            return Err(WorkspaceError::Outside {
                path: path.to_owned(),
            });
        }
        Ok(())
    }
}

fn failed(path: &str, error: &std::io::Error) -> WorkspaceError {
    WorkspaceError::Io {
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
        let workspace = Workspace::new(&folder.path().join("work")).unwrap();
        workspace.write("a/b.txt", "text").unwrap();
        assert_eq!(workspace.read("a/b.txt").unwrap().as_deref(), Some("text"));
        assert_eq!(workspace.read("a/c.txt").unwrap(), None);
        let absolute = folder.path().join("secret").display().to_string();
        for path in ["../secret", "a/../../secret", absolute.as_str(), "a\0b"] {
            assert!(workspace.read(path).is_err(), "{path:?}");
            assert!(workspace.write(path, "x").is_err(), "{path:?}");
            assert!(workspace.folder(path).is_err(), "{path:?}");
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
        let workspace = Workspace::new(&folder.path().join("work")).unwrap();
        let link = workspace.root().join("out");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(workspace.write("out/x", "x").is_err());
        assert!(workspace.folder("out/y").is_err());
        std::os::unix::fs::symlink(folder.path().join("new"), workspace.root().join("f")).unwrap();
        assert!(workspace.write("f", "x").is_err());
        assert!(!folder.path().join("new").exists());
    }
}
