//! The arguments of `reprise backup`, `restore` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use reprise_types::UserId;

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
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// A file that `backup` wrote (`-` for stdin)
    pub(crate) from: PathBuf,
    /// Whose memory it becomes
    #[arg(long)]
    pub(crate) user: UserId,
    /// Put the memory that is there aside, as memory.rvf.before-restore
    #[arg(long)]
    pub(crate) replace: bool,
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
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
    /// The form; `ingest` takes jsonl and yaml back
    #[arg(long, value_enum, default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// Records tagged `sensitive` too
    #[arg(long)]
    pub(crate) sensitive: bool,
}
