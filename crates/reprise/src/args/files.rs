//! Arguments of the commands that write files: backups, exports, branches, projections, the demo.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use reprise_knowledge::ProjectionKind;
use reprise_types::UserId;

use super::WhoseArguments;
use super::global::BranchArguments;

/// For whom a file is encrypted.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SealArguments {
    /// Encrypt the file for this age key (`age1...`); may be repeated.
    #[arg(long, value_name = "KEY")]
    pub(crate) recipient: Vec<String>,
    /// Encrypt the file with the passphrase on the first line of this file.
    #[arg(long, value_name = "FILE", conflicts_with = "recipient")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

/// What opens an encrypted file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KeyArguments {
    /// File with the age key that decrypts the backup.
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// File with the passphrase that decrypts the backup.
    #[arg(long, value_name = "FILE", conflicts_with = "identity")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BackupArguments {
    #[command(subcommand)]
    pub(crate) command: Option<BackupCommand>,
    /// File to write (`-` for stdout); with --all, a folder that gets one file per user.
    #[arg(required = true)]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Back up the memories and branches of every user; --user is ignored.
    #[arg(long)]
    pub(crate) all: bool,
    /// Overwrite a file that is not an earlier backup of this user.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) seal: SealArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// Restore memories from a backup.
    Restore(RestoreArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// File that `backup` wrote (`-` for stdin); with --all, the folder.
    pub(crate) from: PathBuf,
    /// User whose memories are restored.
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
    /// Restore every user that the folder has a backup of; --user is ignored.
    #[arg(long)]
    pub(crate) all: bool,
    /// Keep an existing memory file as memory.rvf.before-restore (then -2, -3, ...).
    #[arg(long)]
    pub(crate) replace: bool,
    /// Verify the file and show what a restore would replace; nothing is restored.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) key: KeyArguments,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object per line.
    Jsonl,
    /// One JSON list.
    Json,
    /// One YAML document per memory.
    Yaml,
    /// A folder with one note per memory, in the Open Knowledge Format.
    Markdown,
    /// A `SKILL.md` for each subject that helped three times; shows it and asks first.
    Skills,
    /// A file for the rvf-runtime library, with vectors.
    Rvf,
    /// A folder with `.sunwell/memory`, for Sunwell.
    Sunwell,
    /// A `knowledge.db` for ai-lessons, a lessons database.
    AiLessons,
    /// Frames for ralph, an agent loop: one JSON object per line.
    Frames,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Format; `import` reads all of them except `skills`.
    #[arg(long, value_enum, default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// File or folder to write; without it, jsonl, json and yaml go to stdout.
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite a file that is not an earlier export of this user.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// For skills: do not ask for confirmation.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Include memories tagged `sensitive`.
    #[arg(long)]
    pub(crate) sensitive: bool,
    /// Export the memories as they were at this time.
    #[arg(long, value_name = "TIME", value_parser = super::until)]
    pub(crate) as_of: Option<DateTime<Utc>>,
    #[command(flatten)]
    pub(crate) seal: SealArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BranchCommand {
    /// Copy a user's memories into a branch; use it as `--user USER+NAME`.
    Fork {
        #[command(flatten)]
        target: BranchArguments,
        /// Copy the memories as they were at this time.
        #[arg(long, value_name = "TIME", value_parser = super::until)]
        as_of: Option<DateTime<Utc>>,
    },
    /// List a user's branches.
    List(WhoseArguments),
    /// Show how a branch and the user's memories differ.
    Diff(BranchArguments),
    /// Add what is only in the branch to the user's memories.
    Merge(BranchArguments),
    /// Delete a branch and everything in it.
    Drop(BranchArguments),
    /// Merge two memory files of one user, or those of several machines through a folder.
    Sync(SyncArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RebuildArguments {
    /// Files to rewrite [default: those that are configured or exist; otherwise all].
    #[arg(value_name = "KIND", value_parser = projection_kind_parser())]
    pub(crate) kind: Vec<ProjectionKind>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Target of one kind of file [default: as configured, or next to the memory file].
    #[arg(long, value_name = "PATH")]
    pub(crate) to: Option<PathBuf>,
    /// Write only memories of this project.
    #[arg(long, value_name = "NAME", requires = "to")]
    pub(crate) project: Option<String>,
    /// Import files that another program wrote before replacing them.
    #[arg(long)]
    pub(crate) adopt: bool,
}

fn projection_kind_parser() -> impl TypedValueParser<Value = ProjectionKind> {
    let values = ProjectionKind::ALL
        .iter()
        .map(|kind| PossibleValue::new(kind.name()).help(explain_projection_kind(*kind)));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<ProjectionKind>())
}

/// Returns what the help says of a kind of file for another program.
fn explain_projection_kind(kind: ProjectionKind) -> &'static str {
    match kind {
        ProjectionKind::Sunwell => "A folder `.sunwell/memory`, for Sunwell",
        ProjectionKind::AiLessons => "A `knowledge.db`, for ai-lessons",
        ProjectionKind::Frames => "A `frames.jsonl`, for ralph, an agent loop",
        ProjectionKind::Markdown => "A folder of Markdown notes",
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DemoArguments {
    #[command(subcommand)]
    pub(crate) what: Option<DemoCommand>,
    /// Question to ask.
    #[arg(default_value = "fix the bug in the auth module")]
    pub(crate) request: String,
    /// Keep the demo's files in this directory, not in a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Replay the days before the kill, then wait for it (the demo starts itself this way).
    #[arg(long, hide = true)]
    pub(crate) first_days: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    /// Play three weeks of agent runs, and see earlier runs help later ones.
    Week(KeptDemo),
}

#[derive(Debug, Args)]
pub(crate) struct KeptDemo {
    /// Keep the files in this directory, not in a temporary one.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

/// What becomes of an event that a hook had no time to save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LateEvent {
    /// It is saved, and sent with all that waits.
    Send,
    /// It is only saved: its daemon does not answer.
    Keep,
}

impl LateEvent {
    /// A daemon that is near takes it soon.
    pub(crate) const fn if_near(is_near: bool) -> Self {
        if is_near { Self::Send } else { Self::Keep }
    }

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Keep => "keep",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SyncArguments {
    /// Two memory files of one user, or their folders; afterwards both have everything.
    #[arg(num_args = 2, value_names = ["A", "B"], required_unless_present_any = ["folder", "unsent"])]
    pub(crate) files: Vec<PathBuf>,
    /// Exchange through this folder, which Syncthing or git copies between machines.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "unsent"])]
    pub(crate) folder: Option<PathBuf>,
    /// Send what hooks could not send to the daemon on another machine.
    #[arg(long, conflicts_with = "files")]
    pub(crate) unsent: bool,
    /// First read one more event from stdin, which a hook had no time to save.
    #[arg(long, hide = true, requires = "unsent")]
    pub(crate) late: Option<LateEvent>,
    /// Show what would be done; change nothing.
    #[arg(long, conflicts_with = "unsent")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}
