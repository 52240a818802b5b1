//! Makes the tree of ADR-008, its `.gitignore`, and what plain git is told of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{Repository, RepositoryInitOptions};
use reprise_types::Clock;
use reprise_workspace_types::{Actor, AuditAction, Receipt, RepoPath, TRAIL};
use serde::Serialize;

use super::{Workspace, is_initialized};
use crate::error::{Result, WorkspaceError, edited_error};
use crate::event::EVENTS;
use crate::files;
use crate::git::reference::{LockFile, make_token};
use crate::git::{Git, Head, MAIN_KEY};
use crate::layout::{CONFLICTS, FOLDERS, SDLC};
use crate::stage::{Changes, StagingFolder};
use crate::transaction::Draft;
use crate::wal::WAL;

/// The name of that branch in a new repository.
const MAIN: &str = "main";

const IGNORE: &str = ".gitignore";
/// What git does not keep. The order matters: the later lines take the trail out again.
const IGNORED: [&str; 8] = [
    "/.sdlc_ide/logs/*",
    "!/.sdlc_ide/logs/audit_trail.jsonl",
    "!/.sdlc_ide/logs/audit/",
    "/.sdlc_ide/tmp/",
    "/.sdlc_ide/snapshots/",
    "/cache/",
    "/memory/episodic/",
    "/embeddings/vectors/",
];

/// Merge drivers for plain git: `(name, what it says, lines of attributes)`.
const DRIVERS: [(&str, &str, &[&str]); 3] = [
    (
        "lines",
        "logs: each event once",
        &[
            "/memory/**/*.jsonl",
            "/.sdlc_ide/logs/audit_trail.jsonl",
            "/.sdlc_ide/logs/audit/**/*.jsonl",
        ],
    ),
    (
        "checkpoint",
        "checkpoints: the newer one",
        &[
            "/memory/agent_state/**/*.json",
            "/memory/agent_state/**/*.checkpoint",
        ],
    ),
    (
        "manifest",
        "manifests of embeddings: each artifact once",
        &["/embeddings/index/*.json"],
    ),
];

/// What `init` did.
#[derive(Debug, Clone, Serialize)]
pub struct InitReport {
    /// The workspace's root.
    pub root: PathBuf,
    /// The branch that is shared.
    pub branch: String,
    /// What was committed; nothing where all was there.
    pub receipt: Option<Receipt>,
}

impl Workspace {
    /// Makes the tree in `dir`, and a repository if there is none. A second call changes nothing.
    /// A refused call leaves nothing behind. Plain git finds the merge drivers' program by `PATH`.
    pub fn init(dir: &Path, clock: Arc<dyn Clock>) -> Result<(Self, InitReport)> {
        Self::init_with_program(dir, clock, Path::new("reprise"))
    }

    /// Makes the tree as [`Self::init`] does; plain git starts `program` for its merges.
    pub fn init_with_program(
        dir: &Path,
        clock: Arc<dyn Clock>,
        program: &Path,
    ) -> Result<(Self, InitReport)> {
        let mut new: Vec<PathBuf> = missing_folders(dir).collect();
        files::make_folder(dir)?;
        let root = fs::canonicalize(dir).map_err(WorkspaceError::io("cannot find", dir))?;
        let whole = [".git", SDLC].map(|below| root.join(below));
        let whole: Vec<PathBuf> = whole.into_iter().filter(|path| !path.exists()).collect();
        new.extend(
            FOLDERS
                .iter()
                .flat_map(|folder| missing_folders(&root.join(folder)).collect::<Vec<_>>()),
        );
        let made = Self::create_tree(&root, clock, program);
        if made.is_err() && !is_in_use(&root) {
            for path in whole {
                drop(fs::remove_dir_all(path));
            }
            // The deepest first; what holds anything stays.
            new.sort_unstable_by(|one, other| other.cmp(one));
            for folder in new {
                drop(fs::remove_dir(folder));
            }
        }
        made
    }

    fn create_tree(
        root: &Path,
        clock: Arc<dyn Clock>,
        program: &Path,
    ) -> Result<(Self, InitReport)> {
        let workspace = Self::with_root(root.to_owned(), clock);
        let is_there = is_repository(root)?;
        for folder in FOLDERS {
            files::refuse_detours_to(root, folder, folder)?;
        }
        for file in [WAL, CONFLICTS, EVENTS, TRAIL, IGNORE] {
            files::refuse_detours(root, &RepoPath::trusted(file))?;
        }
        if is_there {
            refuse_uncommitted(root)?;
        } else if files::find_metadata(&root.join(IGNORE))?.is_some() {
            let what = "a file that git does not track is there";
            return Err(edited_error(root, RepoPath::trusted(IGNORE), what));
        } else {
            make_repository(root, &workspace.new_id())?;
        }
        let git = Git::open(root)?;
        let head = git.head()?;
        workspace.make_folders()?;
        // What an `init` that died has left.
        workspace.recover()?;
        for log in [WAL, CONFLICTS, EVENTS] {
            files::append_lines(root, log, b"")?.sync()?;
        }
        // Each time: what a crash left out is made up for.
        workspace.configure_git(&git, head.branch(), program)?;
        install_attributes(&git)?;
        let (wanted, is_due) = plan_ignore_file(&git, &head)?;
        let receipt = is_due.then(|| {
            let changes = Changes::from([(RepoPath::trusted(IGNORE), Some(wanted))]);
            let actor = Actor::orchestrator();
            workspace.transact_alone(&actor, &mut |_| {
                Ok(Draft {
                    changes: changes.clone(),
                    title: "Make a workspace (ADR-008)".to_owned(),
                    topic: Some("Workspace_Created"),
                    ..Draft::new(&actor, AuditAction::Init)
                })
            })
        });
        let receipt = receipt.transpose()?;
        let made = InitReport {
            root: root.to_owned(),
            branch: head.branch().to_owned(),
            receipt,
        };
        Ok((workspace, made))
    }
}

/// Returns a folder and those above it, as far as they are missing.
fn missing_folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let absent = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
    folder.ancestors().take_while(absent).map(Path::to_owned)
}

/// Returns whether what an `init` made before it failed is in use: the branch has moved.
fn is_in_use(root: &Path) -> bool {
    Git::open(root).is_ok_and(|git| is_initialized(&git).unwrap_or(true))
}

/// Returns whether there is a repository of its own at `root`. Inside another's working tree none
/// is made.
fn is_repository(root: &Path) -> Result<bool> {
    let Ok(found) = Repository::discover(root) else {
        return Ok(false);
    };
    if found.is_bare() {
        return Err(WorkspaceError::bare());
    }
    let top = found.workdir().and_then(|top| fs::canonicalize(top).ok());
    if top.as_deref() == Some(root) {
        return Ok(true);
    }
    let top = top.unwrap_or_default();
    Err(WorkspaceError::repository(format!(
        "`{}` lies inside the repository `{}`; make the workspace there, or elsewhere",
        root.display(),
        top.display()
    )))
}

/// Makes a repository in a folder of its own and moves it into the tree: no half of one is ever
/// there, and what libgit2 tries out stays apart.
fn make_repository(root: &Path, id: &str) -> Result<()> {
    let mut stage = StagingFolder::new(root, id)?;
    let apart = stage.folder().join("repository");
    files::make_folder(&apart)?;
    let mut options = RepositoryInitOptions::new();
    options.initial_head(MAIN).no_reinit(true);
    Repository::init_opts(&apart, &options).map_err(WorkspaceError::git("make a repository"))?;
    let made = apart.join(".git");
    for name in ["HEAD", "config"] {
        stage.unsynced.add(made.join(name));
    }
    stage.unsynced.sync()?;
    let to = root.join(".git");
    fs::rename(&made, &to).map_err(WorkspaceError::io("cannot make the repository", &to))?;
    stage.unsynced.add(root);
    stage.unsynced.sync()
}

/// Refuses uncommitted edits of the files that `init` changes, so that a person's work stays.
fn refuse_uncommitted(root: &Path) -> Result<()> {
    let git = Git::open(root)?;
    git.refuse_unfinished()?;
    let head = git.head()?;
    if !plan_ignore_file(&git, &head)?.1 {
        return Ok(());
    }
    let index = git.read_index()?;
    for path in [IGNORE, TRAIL].map(RepoPath::trusted) {
        let committed = git.blob_at(head.tree, &path)?;
        if committed.is_some() || files::find_metadata(&root.join(path.as_str()))?.is_some() {
            git.refuse_edited(&index, committed, &path)?;
        }
    }
    Ok(())
}

/// Returns the `.gitignore` that is wanted, and whether a transaction is due to make it so.
fn plan_ignore_file(git: &Git, head: &Head) -> Result<(Vec<u8>, bool)> {
    let present = git.content_at(head.tree, &RepoPath::trusted(IGNORE))?;
    let is_made = git.blob_at(head.tree, &RepoPath::trusted(TRAIL))?.is_some();
    let wanted = add_ignore_lines(present.as_deref().unwrap_or_default());
    let is_due = !is_made || present.as_deref() != Some(wanted.as_slice());
    Ok((wanted, is_due))
}

/// Returns a `.gitignore` with our lines after the present ones.
fn add_ignore_lines(present: &[u8]) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(present).into_owned();
    let missing: Vec<&str> = IGNORED
        .into_iter()
        .filter(|line| !text.lines().any(|there| there.trim() == *line))
        .collect();
    if !missing.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str("# What the workspace does not keep in git (ADR-008)\n");
        for line in missing {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.into_bytes()
}

impl Workspace {
    /// Tells plain git how our files merge, and which branch is shared, in the repository's own
    /// configuration: by git's lock, which a crash leaves for ours to be known.
    fn configure_git(&self, git: &Git, branch: &str, program: &Path) -> Result<()> {
        let config = git.repo.config();
        let config = config.map_err(WorkspaceError::git("read the configuration"))?;
        let mut added = Vec::new();
        if config.get_string(MAIN_KEY).is_err() {
            let (section, key) = MAIN_KEY.split_once('.').unwrap_or_default();
            added.push(format!(
                "[{section}]\n\t{key} = {}\n",
                quote_for_config(branch)
            ));
        }
        for (name, says, _) in DRIVERS {
            let program = quote_for_shell(&program.to_string_lossy());
            let command = format!("{program} workspace merge-driver {name} %O %A %B %P");
            let section = format!("merge.reprise-{name}");
            let is = |key: &str, value: &str| {
                config
                    .get_string(&format!("{section}.{key}"))
                    .is_ok_and(|there| there == value)
            };
            if !is("name", says) || !is("driver", &command) {
                let (says, command) = (quote_for_config(says), quote_for_config(&command));
                added.push(format!(
                    "[merge \"reprise-{name}\"]\n\tname = {says}\n\tdriver = {command}\n"
                ));
            }
        }
        if added.is_empty() {
            return Ok(());
        }
        // Under it alone is a lock of git's known for one of the dead.
        let _guard = self.lock()?;
        let stage = StagingFolder::new(self.root(), &self.new_id())?;
        let (token, file) = (
            stage.folder().join("config.token"),
            git.repo.commondir().join("config"),
        );
        make_token(&token, b"")?;
        let lock = LockFile::acquire(&git.config_lock_path(), token.clone())?;
        // The lock and the token are one file.
        let present = files::read(&file)?.unwrap_or_default();
        files::append_to_own(&token, &present)?;
        files::append_to_own(&token, added.concat().as_bytes())?;
        files::sync(&token)?;
        lock.replace_file(&file)
    }
}

/// Quotes a word for the shell that git starts drivers with.
fn quote_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Quotes a value for git's configuration.
fn quote_for_config(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Tells plain git which files those drivers are for.
fn install_attributes(git: &Git) -> Result<()> {
    let mut wanted = Vec::new();
    for (name, _, patterns) in DRIVERS {
        for pattern in patterns {
            wanted.push(format!("{pattern} merge=reprise-{name}"));
        }
    }
    let path = git.repo.commondir().join("info/attributes");
    let present = files::read(&path)?.unwrap_or_default();
    let present = String::from_utf8_lossy(&present).into_owned();
    wanted.retain(|line| !present.lines().any(|there| there == line));
    if !wanted.is_empty() {
        if let Some(folder) = path.parent() {
            files::make_folder(folder)?;
        }
        files::append_to_own(&path, format!("{}\n", wanted.join("\n")).as_bytes())?;
        files::sync(&path)?;
    }
    Ok(())
}
