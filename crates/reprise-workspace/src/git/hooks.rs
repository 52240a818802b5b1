//! Git hooks, which run if the repository's own configuration asks for them (`reprise.hooks`).
//!
//! A hook sees the tree that is to be committed as its index. What it refuses is refused.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use git2::{Index, Oid};

use super::Git;
use crate::error::{Result, WorkspaceError};
use crate::files;

/// The configuration key; hooks are a person's own and run for nobody who did not ask.
const KEY: &str = "reprise.hooks";
/// How long one may take: looks, and the pause between two.
const LOOKS_MAX: u32 = 6_000;
const PAUSE: Duration = Duration::from_millis(10);
/// How much of a hook's output is shown, in bytes.
const SAID_BYTES_MAX: usize = 2_000;

impl Git {
    /// Returns whether transactions run hooks.
    pub(crate) fn runs_hooks(&self) -> bool {
        self.config_flag(KEY).unwrap_or(false)
    }

    /// Returns the folder that git takes its hooks from.
    pub(crate) fn hooks_folder(&self) -> PathBuf {
        let configured = self
            .repo
            .config()
            .and_then(|all| all.get_path("core.hooksPath"));
        configured.map_or_else(
            |_| self.repo.commondir().join("hooks"),
            |path| self.root().join(path),
        )
    }

    /// Runs a hook, if there is one, and returns its output if it refused.
    pub(crate) fn run_hook(
        &self,
        name: &str,
        argument: Option<&Path>,
        index: Option<&Path>,
        stage: &Path,
    ) -> Result<Option<String>> {
        let program = self.hooks_folder().join(name);
        let is_program = |found: std::fs::Metadata| found.is_file() && found.mode() & 0o111 != 0;
        if !std::fs::metadata(&program).is_ok_and(is_program) {
            return Ok(None);
        }
        let failed = || WorkspaceError::io("cannot run the hook", &program);
        let output_file = stage.join("hook.said");
        files::remove(&output_file)?;
        let output = File::create_new(&output_file).map_err(failed())?;
        let errors = output.try_clone().map_err(failed())?;
        let mut command = Command::new(&program);
        command
            .args(argument)
            .current_dir(self.root())
            .env("GIT_DIR", self.repo.path())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        let mut child = command.spawn().map_err(failed())?;
        for _ in 0..LOOKS_MAX {
            if let Some(ended) = child.try_wait().map_err(failed())? {
                if ended.success() {
                    return Ok(None);
                }
                let bytes = files::read(&output_file)?.unwrap_or_default();
                let from = bytes.len().saturating_sub(SAID_BYTES_MAX);
                let text = reprise_types::to_one_line(&String::from_utf8_lossy(&bytes[from..]));
                return Ok(Some(format!("the hook ended with {ended}: {text}")));
            }
            std::thread::sleep(PAUSE);
        }
        child.kill().and_then(|()| child.wait()).map_err(failed())?;
        Ok(Some("the hook did not end within a minute".to_owned()))
    }

    /// Builds an index of a tree for a hook to read.
    pub(crate) fn index_of(&self, tree: Oid, stage: &Path) -> Result<PathBuf> {
        let failed = || WorkspaceError::git("make the hook's index");
        let file = stage.join("hook.index");
        files::remove(&file)?;
        let mut index = Index::open(&file).map_err(failed())?;
        index.read_tree(&self.tree(tree)?).map_err(failed())?;
        index.write().map_err(failed())?;
        Ok(file)
    }
}
