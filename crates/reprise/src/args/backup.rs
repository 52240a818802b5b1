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
    /// Replace a file that is no earlier backup of this memory
    #[arg(long)]
    pub(crate) force: bool,
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
}
