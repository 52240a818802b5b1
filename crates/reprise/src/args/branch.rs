//! The arguments of `reprise branch`.

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use reprise_types::UserId;

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
    List {
        /// Whose memory
        #[arg(long, env = crate::env::USER, default_value = "default")]
        user: UserId,
    },
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
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
}
