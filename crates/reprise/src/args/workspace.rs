//! The arguments of `reprise workspace`.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, ValueEnum};
use reprise_types::UserId;
use reprise_workspace::{Actor, RepoPath};

#[derive(Debug, Args)]
pub(crate) struct WorkspaceArguments {
    /// Work as if started in this directory, as with git
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: WorkspaceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Make a workspace: the tree of ADR-008 in a git repository; twice is once
    Init {
        /// Where
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Begin in a repository that has no PRD: a workspace, a first PRD, a glossary, what comes next
    Start {
        /// Where
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// What the first PRD is about; the README's heading where left out
        #[arg(long)]
        title: Option<String>,
    },
    /// Write artifacts in one transaction: all of them or none
    Write(WriteArguments),
    /// Tie up what crashes left: finish what had happened, take back what had not
    Recover,
    /// Record that a person approves a branch or commit as it stands now
    Approve {
        /// Who
        #[arg(long, value_name = "NAME")]
        human: String,
        /// The branch or commit
        #[arg(value_name = "REF")]
        reference: String,
    },
    /// Record that a person declines a branch or commit as it stands now; an approval of it ends
    Decline {
        /// Who
        #[arg(long, value_name = "NAME")]
        human: String,
        /// The branch or commit
        #[arg(value_name = "REF")]
        reference: String,
        /// Why
        #[arg(long)]
        message: Option<String>,
    },
    /// Merge a branch into the one that is checked out, under the rules
    Merge {
        /// Who
        #[arg(long)]
        actor: Actor,
        /// The branch
        branch: String,
        /// Why
        #[arg(long)]
        message: Option<String>,
    },
    /// Take back what a commit did to core/, by a new commit
    Rollback {
        /// Who
        #[arg(long)]
        actor: Actor,
        /// The commit
        commit: String,
        /// Why
        #[arg(long)]
        message: Option<String>,
    },
    /// Save an agent's state
    Checkpoint {
        /// Whose
        #[arg(long)]
        actor: Actor,
        /// The state, a JSON object; `-` reads stdin
        #[arg(long)]
        file: PathBuf,
        /// Why
        #[arg(long)]
        message: Option<String>,
    },
    /// Keep the committed tree as an archive with a manifest of hashes
    Snapshot {
        /// Who
        #[arg(long, default_value = "orchestrator")]
        actor: Actor,
        /// Put a tag of git on its commit, too
        #[arg(long)]
        tag: bool,
    },
    /// Set the tree back to a snapshot by a new commit; logs keep what came since
    Restore {
        /// Who: the Governor, or human:NAME
        #[arg(long, default_value = "governor")]
        actor: Actor,
        /// The snapshot
        id: String,
    },
    /// Put old snapshots, events and scratch away; scratch that says "promote" is kept first
    Prune {
        /// Who
        #[arg(long, default_value = "orchestrator")]
        actor: Actor,
        /// Keep the newest so many snapshots, and all that have a tag
        #[arg(long, default_value_t = 10, value_name = "N")]
        snapshots: usize,
        /// Keep the newest so many events
        #[arg(long, default_value_t = 100_000, value_name = "N")]
        events: usize,
        /// Keep scratch that was written so many days ago or later
        #[arg(long, default_value_t = 30, value_name = "DAYS")]
        episodic_days: u32,
    },
    /// Write a user's records whose visibility is `workspace` into memory/long_term, each once
    Project {
        /// Whose memory
        #[arg(long)]
        user: UserId,
    },
    /// Write what the embedding spaces of a user's store hold to embeddings/index; vectors stay out
    Manifest {
        /// Whose memory
        #[arg(long)]
        user: UserId,
    },
    /// Work on agents' branches, each in a directory of its own
    #[command(subcommand)]
    Agent(AgentCommand),
    #[command(flatten)]
    Look(LookCommand),
    /// Bring two versions of a file together (started by git)
    #[command(hide = true)]
    MergeDriver {
        /// By which rule
        rule: DriverRule,
        /// The common ancestor's version
        base: PathBuf,
        /// Our version; the result goes here
        ours: PathBuf,
        /// Their version
        theirs: PathBuf,
        /// Which file it is
        path: String,
    },
}

/// The commands that change nothing.
#[derive(Debug, Subcommand)]
pub(crate) enum LookCommand {
    /// Say how the workspace is: branch, artifacts, people's uncommitted work, loose ends
    Status,
    /// List the commits of the branch, newest first, with the transaction of each
    Log {
        /// At most so many
        #[arg(long, default_value_t = 30)]
        limit: usize,
    },
    /// Show what changed, file by file: what people have not committed, or between two states
    Diff {
        /// A branch, a commit or a transaction; the newest commit where none is named
        from: Option<String>,
        /// The same; the working tree where none is named
        to: Option<String>,
        /// What this one commit or transaction did
        #[arg(long, value_name = "REF", conflicts_with_all = ["from", "to"])]
        of: Option<String>,
    },
    /// Tell who changed what, when, under which rule
    Audit(AuditArguments),
    /// Print the DAG of artifacts: what is made from what
    Graph,
    /// List the branches that a person has to approve, each with a person's last word on it
    Reviews,
    /// Print an agent's newest checkpoint
    State {
        /// The agent
        agent: String,
    },
    /// List the snapshots, oldest first
    Snapshots,
    /// Print what was announced, oldest first
    Events {
        /// Only what came after the event with this id
        #[arg(long, value_name = "ID")]
        after: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 1_000)]
        limit: usize,
        /// As records, for `reprise ingest --jsonl -`: workspace events become memories, once each
        #[arg(long)]
        records: bool,
    },
}

/// The rules that plain git is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriverRule {
    /// Each event once
    Lines,
    /// The newer one
    Checkpoint,
    /// Each artifact once
    Manifest,
}

#[derive(Debug, Args)]
pub(crate) struct WriteArguments {
    /// Who: an agent's name, or human:NAME
    #[arg(long)]
    pub(crate) actor: Actor,
    /// Where in the tree, and the file with its new content (`-` for stdin)
    #[arg(value_name = "PATH=FILE", required_unless_present_any = ["delete", "put"])]
    pub(crate) files: Vec<String>,
    /// The same in two words, for names with `=` (may be repeated)
    #[arg(long, num_args = 2, value_names = ["PATH", "FILE"])]
    pub(crate) put: Vec<String>,
    /// Take this file away (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub(crate) delete: Vec<RepoPath>,
    /// Why
    #[arg(long)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Only what this actor did
    #[arg(long)]
    pub(crate) actor: Option<String>,
    /// Only what touched this path or something below it
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// Only this kind: init, write, merge, rollback, approve, decline, violation, git, snapshot,
    /// prune, rewritten
    #[arg(long)]
    pub(crate) action: Option<String>,
    /// Only from this instant on
    #[arg(long, value_name = "TIME", value_parser = super::since)]
    pub(crate) since: Option<DateTime<Utc>>,
    /// At most so many, the newest
    #[arg(long)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Begin the branch agent/NAME, or open it again, and print its directory
    Propose {
        /// Its name
        name: String,
    },
    /// Say what merging a branch would bring
    Review {
        /// The branch
        branch: String,
    },
    /// Put the branch aside: its commits stay, its directory goes unless something is uncommitted
    Abandon {
        /// Its name
        name: String,
    },
}
