//! The tree of ADR-008 (W2 to W4, C29): its folders, its `.gitignore`, and making it.

use std::fs;
use std::path::Path;

use git2::{Repository, RepositoryInitOptions};
use serde::Serialize;

use crate::actor::Actor;
use crate::audit::{self, AUDIT};
use crate::error::{Result, WorkspaceError};
use crate::event::EVENTS;
use crate::files;
use crate::git::Git;
use crate::main_branch::MAIN_KEY;
use crate::path::RepoPath;
use crate::stage::Stage;
use crate::transaction::{Changes, Draft, Receipt};
use crate::wal::WAL;
use crate::workspace::Workspace;

/// Where conflicts of merges are kept.
pub(crate) const CONFLICTS: &str = ".sdlc_ide/logs/merge_conflicts.jsonl";
/// The name of that branch in a new repository.
const MAIN: &str = "main";

const FOLDERS: [&str; 15] = [
    ".sdlc_ide/snapshots",
    ".sdlc_ide/tmp",
    ".sdlc_ide/logs",
    "core/prd",
    "core/tsd",
    "core/adr",
    "core/kb",
    "extensions",
    "memory/long_term",
    "memory/episodic",
    "memory/agent_state",
    "embeddings/index",
    "embeddings/vectors",
    "cache",
    "extensions/policy",
];

/// What git does not keep (C29). The order matters: the later line takes the trail out again.
const IGNORED: [&str; 7] = [
    "/.sdlc_ide/logs/*",
    "!/.sdlc_ide/logs/audit_trail.jsonl",
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
        &["/memory/**/*.jsonl", "/.sdlc_ide/logs/audit_trail.jsonl"],
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
pub struct Made {
    /// The workspace's root.
    pub root: std::path::PathBuf,
    /// The branch that is shared.
    pub branch: String,
    /// What was committed; nothing where all was there.
    pub receipt: Option<Receipt>,
}

impl Workspace {
    /// Makes the tree in `dir`, and a repository where there is none. Twice is once.
    pub fn init(
        dir: &Path,
        clock: std::sync::Arc<dyn reprise_types::Clock>,
    ) -> Result<(Self, Made)> {
        files::make_folder(dir)?;
        let root = fs::canonicalize(dir).map_err(WorkspaceError::io("cannot find", dir))?;
        open_or_make(&root)?;
        let git = Git::open(&root)?;
        git.refuse_unfinished()?;
        let head = git.head()?;
        let workspace = Self::at(root.clone(), clock);
        workspace.make_folders()?;
        install_drivers(&git)?;
        let mut config = git
            .repo
            .config()
            .map_err(WorkspaceError::git("read the configuration"))?;
        if config.get_string(MAIN_KEY).is_err() {
            config
                .set_str(MAIN_KEY, head.branch())
                .map_err(WorkspaceError::git("write the configuration"))?;
        }
        let ignore = RepoPath::known(".gitignore");
        let present = git.content_at(head.tree, &ignore)?;
        let is_made = git.blob_at(head.tree, &RepoPath::known(AUDIT))?.is_some();
        let wanted = ignoring(present.as_deref().unwrap_or_default());
        let receipt = if is_made && present.as_deref() == Some(wanted.as_slice()) {
            None
        } else {
            adopt_untracked(&root, &git, &ignore, present.is_none())?;
            let tx = workspace.new_id();
            let mut stage = Stage::new(&root, &tx)?;
            let changes = Changes::from([(ignore, Some(wanted))]);
            let receipt = workspace.transact(&mut stage, &tx, &mut |_| {
                Ok(Draft {
                    changes: changes.clone(),
                    title: "Make a workspace (ADR-008)".to_owned(),
                    topic: Some("Workspace_Created"),
                    ..Draft::new(&Actor::orchestrator(), audit::Action::Init)
                })
            })?;
            Some(receipt)
        };
        for log in [WAL, CONFLICTS, EVENTS] {
            files::append(&root.join(log), b"")?;
        }
        let made = Made {
            root,
            branch: head.branch().to_owned(),
            receipt,
        };
        Ok((workspace, made))
    }

    /// Makes the folders that are not there: git keeps no empty ones.
    pub(crate) fn make_folders(&self) -> Result<()> {
        for folder in FOLDERS {
            files::refuse_detours(self.root(), &RepoPath::known(format!("{folder}/x")))?;
            files::make_folder(&self.root().join(folder))?;
        }
        Ok(())
    }
}

/// A repository of its own at `root`. Inside another's working tree none is made.
fn open_or_make(root: &Path) -> Result<()> {
    if let Ok(found) = Repository::discover(root) {
        if found.is_bare() {
            return Err(WorkspaceError::repository(
                "it is bare; work in a clone that has a working tree",
            ));
        }
        let top = found.workdir().and_then(|top| fs::canonicalize(top).ok());
        if top.as_deref() == Some(root) {
            return Ok(());
        }
        let top = top.unwrap_or_default();
        return Err(WorkspaceError::repository(format!(
            "`{}` lies inside the repository `{}`; make the workspace there, or elsewhere",
            root.display(),
            top.display()
        )));
    }
    let mut options = RepositoryInitOptions::new();
    options.initial_head(MAIN).no_reinit(true);
    Repository::init_opts(root, &options)
        .map(drop)
        .map_err(WorkspaceError::git("make a repository"))
}

/// A `.gitignore` that nobody has committed is a person's: it stays where it is.
fn adopt_untracked(root: &Path, git: &Git, ignore: &RepoPath, is_new: bool) -> Result<()> {
    let file = root.join(ignore.as_str());
    if is_new && files::look(&file)?.is_some() {
        let index = git.read_index()?;
        git.refuse_edited(&index, None, ignore)?;
    }
    Ok(())
}

/// A `.gitignore` with our lines, after those that are there.
fn ignoring(present: &[u8]) -> Vec<u8> {
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

/// Tells plain git how our files merge, in the repository's own configuration and attributes.
fn install_drivers(git: &Git) -> Result<()> {
    let mut config = git
        .repo
        .config()
        .map_err(WorkspaceError::git("read the configuration"))?;
    let mut wanted = Vec::new();
    for (name, says, patterns) in DRIVERS {
        let key = format!("merge.reprise-{name}");
        let command = format!("reprise workspace merge-driver {name} %O %A %B %P");
        for (key, value) in [
            (format!("{key}.name"), says),
            (format!("{key}.driver"), &command),
        ] {
            if config.get_string(&key).ok().as_deref() != Some(value) {
                config
                    .set_str(&key, value)
                    .map_err(WorkspaceError::git("write the configuration"))?;
            }
        }
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
        let gap = if present.is_empty() || present.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let added = format!("{gap}{}\n", wanted.join("\n"));
        files::append(&path, added.as_bytes())?;
    }
    Ok(())
}
