//! The arguments of `reprise backup`, `restore` and `export`.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use reprise_types::UserId;

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
    /// Whose memory
    #[arg(long, required_unless_present = "all")]
    pub(crate) user: Option<UserId>,
    /// Every user's memory, branches too
    #[arg(long, conflicts_with = "user")]
    pub(crate) all: bool,
    /// Replace a file that is no earlier backup of this memory
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) seal: SealArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// A file that `backup` wrote (`-` for stdin)
    pub(crate) from: PathBuf,
    /// Whose memory it becomes
    #[arg(long)]
    pub(crate) user: UserId,
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
    /// A folder with a note for each record
    Markdown,
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
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
    /// The form; `import` takes each of them back
    #[arg(long, value_enum, default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// Where to; jsonl, json and yaml go to stdout without it. It is there when it is whole
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Replace a file that is no earlier export of this memory
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Records tagged `sensitive` too
    #[arg(long)]
    pub(crate) sensitive: bool,
    /// As memory stood at this time: what was put away or corrected since, and nothing of later
    #[arg(long, value_name = "TIME", value_parser = super::until)]
    pub(crate) as_of: Option<DateTime<Utc>>,
    #[command(flatten)]
    pub(crate) seal: SealArguments,
}
