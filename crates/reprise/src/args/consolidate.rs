//! The arguments of `reprise consolidate`, `review`, `undo` and `audit`.

use clap::{Args, ValueEnum};
use reprise_types::UserId;

#[derive(Debug, Args)]
pub(crate) struct TendArguments {
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct ConsolidateArguments {
    #[command(flatten)]
    pub(crate) tend: TendArguments,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What a person says of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReviewAnswer {
    /// They say the same: the newer answers for both
    #[value(alias = "s")]
    Same,
    /// Both stay, and are not asked about again
    #[value(alias = "d")]
    Different,
    /// The newer holds, the older no more
    #[value(alias = "n")]
    Newer,
    /// The older holds
    #[value(alias = "o")]
    Older,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// The two records of a pair; without them every pair is listed
    #[arg(num_args = 2, value_names = ["A", "B"], requires = "answer")]
    pub(crate) pair: Vec<String>,
    /// What they are to each other; one letter will do
    #[arg(long, value_enum, requires = "pair")]
    pub(crate) answer: Option<ReviewAnswer>,
    #[command(flatten)]
    pub(crate) tend: TendArguments,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// The action, or a record that it put away
    pub(crate) action: String,
    #[command(flatten)]
    pub(crate) tend: TendArguments,
}

#[derive(Debug, Args)]
pub(crate) struct HowArguments {
    /// The task
    pub(crate) query: String,
    /// Runs at most
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) tend: TendArguments,
}
