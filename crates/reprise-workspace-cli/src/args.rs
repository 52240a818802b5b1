//! The arguments of `reprise workspace`.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand, ValueEnum};
use reprise::plugin::{self, Common};
use reprise_types::UserId;
use reprise_workspace::{Actor, RepoPath};

/// Let agents change files in git under rules and human approval.
#[derive(Debug, Parser)]
#[command(
    name = "reprise-workspace",
    bin_name = "reprise workspace",
    version,
    about,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct WorkspaceArguments {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Work as if started in this directory, as with git.
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true, help_heading = None)]
    pub(crate) directory: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: WorkspaceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Answer the requests of the daemon, which starts this program.
    #[command(hide = true)]
    Serve,
    /// Write the manual, a page for each command, into a folder.
    Man {
        /// Target folder; it is created if it is missing.
        folder: PathBuf,
    },
    /// Create a workspace in a git repository; safe to run again.
    Init {
        /// Folder of the repository.
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Create a workspace with a first requirements document (PRD) and a glossary.
    Start {
        /// Folder of the repository.
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Title of the first PRD [default: the README's heading].
        #[arg(long)]
        title: Option<String>,
    },
    /// Write files in one transaction: all of them or none.
    Write(WriteArguments),
    /// Repair after a crash: finish or undo interrupted changes.
    Recover,
    /// Approve a branch or commit, as it is now, in a person's name.
    Approve {
        /// Name of the person.
        #[arg(long, value_name = "NAME")]
        human: String,
        /// Branch or commit.
        #[arg(value_name = "REF")]
        reference: String,
    },
    /// Decline a branch or commit, as it is now, in a person's name; this ends an approval.
    Decline {
        /// Name of the person.
        #[arg(long, value_name = "NAME")]
        human: String,
        /// Branch or commit.
        #[arg(value_name = "REF")]
        reference: String,
        /// Reason.
        #[arg(long)]
        message: Option<String>,
    },
    /// Merge a branch into the current one, if the rules allow it.
    Merge {
        /// Who does it: an agent's name, or human:NAME.
        #[arg(long)]
        actor: Actor,
        /// Name of the branch.
        branch: String,
        /// Reason.
        #[arg(long)]
        message: Option<String>,
    },
    /// Undo what a commit changed in core/, with a new commit.
    Rollback {
        /// Who does it: an agent's name, or human:NAME.
        #[arg(long)]
        actor: Actor,
        /// Commit to undo.
        commit: String,
        /// Reason.
        #[arg(long)]
        message: Option<String>,
    },
    /// Save an agent's state as a checkpoint.
    Checkpoint {
        /// Agent whose state it is.
        #[arg(long)]
        actor: Actor,
        /// File with the state, a JSON object; `-` reads stdin.
        #[arg(long)]
        file: PathBuf,
        /// Reason.
        #[arg(long)]
        message: Option<String>,
    },
    /// Save the committed files as an archive with a manifest of hashes.
    Snapshot {
        /// Who does it: an agent's name, or human:NAME.
        #[arg(long, default_value = "orchestrator")]
        actor: Actor,
        /// Also set a git tag on its commit.
        #[arg(long)]
        tag: bool,
    },
    /// Restore a snapshot with a new commit; the logs keep what came later.
    Restore {
        /// Who does it: `governor` or human:NAME.
        #[arg(long, default_value = "governor")]
        actor: Actor,
        /// Id of the snapshot.
        id: String,
    },
    /// Delete old snapshots, events and scratch files; files marked `promote` are saved first.
    Prune {
        /// Who does it: an agent's name, or human:NAME.
        #[arg(long, default_value = "orchestrator")]
        actor: Actor,
        /// Number of newest snapshots to keep; those with a tag are always kept.
        #[arg(long, default_value_t = 10, value_name = "N")]
        snapshots: usize,
        /// Number of newest events to keep.
        #[arg(long, default_value_t = 100_000, value_name = "N")]
        events: usize,
        /// Keep scratch files that are at most this many days old.
        #[arg(long, default_value_t = 30, value_name = "DAYS")]
        episodic_days: u32,
    },
    /// Write a user's memories with visibility `workspace` to files in `memory/long_term`.
    Project {
        /// User whose memory is used.
        #[arg(long)]
        user: UserId,
    },
    /// List a user's embeddings in embeddings/index, without the vectors.
    Manifest {
        /// User whose memory is used.
        #[arg(long)]
        user: UserId,
    },
    /// Create, review and abandon agents' branches, each in its own directory.
    #[command(subcommand)]
    Agent(AgentCommand),
    #[command(flatten)]
    Look(LookCommand),
    /// Merge two versions of a file (git runs this).
    #[command(hide = true)]
    MergeDriver {
        /// Rule of the merge.
        rule: DriverRule,
        /// The common ancestor's version.
        base: PathBuf,
        /// Our version; the result goes here.
        ours: PathBuf,
        /// Their version.
        theirs: PathBuf,
        /// Path of the file in the repository.
        path: String,
    },
}

/// The commands that change nothing.
#[derive(Debug, Subcommand)]
pub(crate) enum LookCommand {
    /// Show the state of the workspace: branch, files, uncommitted work, interrupted changes.
    Status,
    /// List the commits of the branch with their transactions, newest first.
    Log {
        /// Maximum number.
        #[arg(long, default_value_t = 30)]
        limit: usize,
    },
    /// Show what changed in each file: uncommitted work, or between two states.
    Diff {
        /// First state: a branch, commit or transaction [default: the newest commit].
        from: Option<String>,
        /// Second state [default: the working tree].
        to: Option<String>,
        /// Show what this commit or transaction changed.
        #[arg(long, value_name = "REF", conflicts_with_all = ["from", "to"])]
        of: Option<String>,
    },
    /// Show who changed what, when and under which rule.
    Audit(AuditArguments),
    /// Show which file is made from which.
    Graph,
    /// List the branches that need a person's approval, with the last decision on each.
    Reviews,
    /// Show an agent's newest checkpoint.
    State {
        /// Name of the agent.
        agent: String,
    },
    /// List the snapshots, oldest first.
    Snapshots,
    /// List the events of the workspace, oldest first.
    Events {
        /// Only events after the one with this id.
        #[arg(long, value_name = "ID")]
        after: Option<String>,
        /// Maximum number.
        #[arg(long, default_value_t = 1_000)]
        limit: usize,
        /// Print the events as memories for `reprise ingest --jsonl -`.
        #[arg(long)]
        records: bool,
    },
}

/// The rules that plain git is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriverRule {
    /// Keep each event once.
    Lines,
    /// Keep the newer checkpoint.
    Checkpoint,
    /// Keep each file once.
    Manifest,
}

#[derive(Debug, Args)]
pub(crate) struct WriteArguments {
    /// Who does it: an agent's name, or human:NAME.
    #[arg(long)]
    pub(crate) actor: Actor,
    /// Path in the workspace, and the file with its new content (`-` for stdin).
    #[arg(value_name = "PATH=FILE", required_unless_present_any = ["delete", "put"])]
    pub(crate) files: Vec<String>,
    /// Path and file as two words, for names with `=`; may be repeated.
    #[arg(long, num_args = 2, value_names = ["PATH", "FILE"])]
    pub(crate) put: Vec<String>,
    /// Delete this file; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) delete: Vec<RepoPath>,
    /// Reason.
    #[arg(long)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Only changes of this agent or person.
    #[arg(long)]
    pub(crate) actor: Option<String>,
    /// Only changes of this file, or of files in this folder.
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// Only this kind: init, write, merge, rollback, approve, decline, violation, git, snapshot,
    /// prune, rewritten.
    #[arg(long)]
    pub(crate) action: Option<String>,
    /// Only since this day or time.
    #[arg(long, value_name = "TIME", value_parser = plugin::since)]
    pub(crate) since: Option<DateTime<Utc>>,
    /// Maximum number; the newest are listed.
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    /// Write the lines, oldest first, as the one file that the trail was at first; `-` is stdout
    /// [without FILE: `audit_trail.jsonl`].
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "audit_trail.jsonl")]
    pub(crate) export: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Create or reopen the branch agent/NAME, and print its directory.
    Propose {
        /// Name of the agent.
        name: String,
    },
    /// Show what merging a branch would change.
    Review {
        /// Name of the branch.
        branch: String,
    },
    /// Stop working on a branch: delete its directory if everything is committed; its commits stay.
    Abandon {
        /// Name of the agent.
        name: String,
    },
}
