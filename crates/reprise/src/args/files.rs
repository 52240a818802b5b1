//! What may be typed about files: copies, branches, projections, and the folder of a demo.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use reprise_knowledge::ProjectionKind;
use reprise_types::UserId;

use super::WhoseArguments;

/// For whom a file is encrypted.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SealArguments {
    /// Encrypt it for the owner of this age key (`age1...`); several may read it
    #[arg(long, value_name = "KEY")]
    pub(crate) recipient: Vec<String>,
    /// Encrypt it with the passphrase on the first line of this file
    #[arg(long, value_name = "FILE", conflicts_with = "recipient")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

/// What opens an encrypted file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KeyArguments {
    /// The file of the age key that it was encrypted for
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// The file with the passphrase that it was encrypted with
    #[arg(long, value_name = "FILE", conflicts_with = "identity")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The file to write (`-` for stdout); with --all a folder, one file for each user in it
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Every user's memory, branches too, whatever --user says
    #[arg(long)]
    pub(crate) all: bool,
    /// Replace a file that is no earlier backup of this memory
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) seal: SealArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// A file that `backup` wrote (`-` for stdin); with --all the folder
    pub(crate) from: PathBuf,
    /// Whose memory it becomes
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
    /// The memory of every user of whom the folder has a backup, whatever --user says
    #[arg(long)]
    pub(crate) all: bool,
    /// Put the memory that is there aside, as memory.rvf.before-restore, or -2, -3 and so on
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) key: KeyArguments,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A JSON object per line
    Jsonl,
    /// One JSON list
    Json,
    /// A YAML document per record
    Yaml,
    /// A folder with a note for each record: a bundle of the Open Knowledge Format
    Markdown,
    /// A `SKILL.md` for each subject of what helped three times, shown and asked about first
    Skills,
    /// A file of stock rvf-runtime, vectors included
    Rvf,
    /// A folder with `.sunwell/memory` in it
    Sunwell,
    /// A `knowledge.db` of ai-lessons
    AiLessons,
    /// ralph's frames, a JSON object per line
    Frames,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// The form; `import` takes each of them back but `skills`
    #[arg(long, value_enum, default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// Where to; jsonl, json and yaml go to stdout without it. It is there when it is whole
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Replace a file that is no earlier export of this memory
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Of skills: do not ask, they have been read
    #[arg(long)]
    pub(crate) yes: bool,
    /// Records tagged `sensitive` too
    #[arg(long)]
    pub(crate) sensitive: bool,
    /// As memory stood at this time: what was put away or corrected since, and nothing of later
    #[arg(long, value_name = "TIME", value_parser = super::until)]
    pub(crate) as_of: Option<DateTime<Utc>>,
    #[command(flatten)]
    pub(crate) seal: SealArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BranchCommand {
    /// Make a memory of its own that begins with the user's; use it as `--user USER+NAME`
    Fork {
        #[command(flatten)]
        target: BranchTarget,
        /// Begin with what was known at this instant
        #[arg(long, value_name = "TIME", value_parser = super::until)]
        as_of: Option<DateTime<Utc>>,
    },
    /// List a user's branches
    List(WhoseArguments),
    /// Show what only one of the two has
    Diff(BranchTarget),
    /// Bring what only the branch has into the user's memory; twice is once
    Merge(BranchTarget),
    /// Delete a branch and everything in it
    Drop(BranchTarget),
}

#[derive(Debug, Args)]
pub(crate) struct BranchTarget {
    /// The branch
    pub(crate) name: String,
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct RebuildArguments {
    /// Which of them [default: those that are configured or there; all where none is]
    #[arg(value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Vec<ProjectionKind>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Where one of them goes [default: as configured, or beside the memory]
    #[arg(long, value_name = "PATH")]
    pub(crate) to: Option<PathBuf>,
    /// Only records of this project
    #[arg(long, value_name = "NAME", requires = "to")]
    pub(crate) project: Option<String>,
    /// Take over files that another program wrote: import them first
    #[arg(long)]
    pub(crate) adopt: bool,
}

fn kinds() -> impl TypedValueParser<Value = ProjectionKind> {
    let names = ProjectionKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<ProjectionKind>())
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DemoArguments {
    #[command(subcommand)]
    pub(crate) what: Option<DemoCommand>,
    /// The request that memory is asked about
    #[arg(default_value = "fix the bug in the auth module")]
    pub(crate) request: String,
    /// Keep the store in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Replay the days before the break, then wait to be killed (the demo starts itself so)
    #[arg(long, hide = true)]
    pub(crate) first_days: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    /// Work through three weeks with a host that remembers: what each week learns helps the next
    Week(KeptDemo),
    /// Go through ADR-008's checklist: agents and a person in one governed workspace
    Workspace(KeptDemo),
}

#[derive(Debug, Args)]
pub(crate) struct KeptDemo {
    /// Keep what it makes in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SyncArguments {
    /// Two files of one user, or the folders that hold them: what either has both have afterwards
    #[arg(num_args = 2, value_names = ["A", "B"], required_unless_present_any = ["folder", "unsent"])]
    pub(crate) files: Vec<PathBuf>,
    /// Exchange through this folder, which Syncthing or git carries between machines
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "unsent"])]
    pub(crate) folder: Option<PathBuf>,
    /// Send what hooks could not tell the daemon of another machine
    #[arg(long, conflicts_with = "files")]
    pub(crate) unsent: bool,
    /// Say what would be done, and do nothing
    #[arg(long, conflicts_with = "unsent")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}
