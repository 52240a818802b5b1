//! What may be typed to share knowledge, and to take it back.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use reprise_operations::operations::sharing;
use reprise_types::{RecordId, UserId};

use super::WhoseArguments;

#[derive(Debug, Args)]
pub(crate) struct PublishArguments {
    #[command(flatten)]
    pub(crate) asked: sharing::PublishPreviewArguments,
    /// User who owns them.
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
    /// Publish on this branch (see `share branch`); only you find it until you merge the branch.
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
    /// Show the exact text that would be published; publish nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Publish without asking.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnpublishArguments {
    /// Id that `share publish` printed, or the id or external id of the memory.
    pub(crate) id: String,
    /// User who owns it.
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct RateArguments {
    /// Id of the published memory; `reprise recall --scope global` shows it.
    pub(crate) id: RecordId,
    /// How useful it was, from 0 (useless or wrong) to 1 (exactly what was needed).
    pub(crate) rating: f32,
    /// User who rates.
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShareCommand {
    /// Publish memories; shows the exact text first and asks.
    Publish(PublishArguments),
    /// Unpublish a memory, so that nobody finds it anymore.
    Unpublish(UnpublishArguments),
    /// List what a user has published.
    List(WhoseArguments),
    /// Rate a memory that somebody else published.
    Rate(RateArguments),
    /// Write memories to `.reprise/shared` in a repository, for others to review and pull.
    Repository(ShareRepositoryArguments),
    /// Include the lessons of a repository (`.reprise/shared`) in answers.
    Trust(TrustArguments),
    #[command(flatten)]
    Catalogue(CatalogueCommand),
}

#[derive(Debug, Args)]
pub(crate) struct ShareRepositoryArguments {
    /// Memories to share, by id or external id.
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
    /// Folder of the repository.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// User who owns them.
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// Folder of the repository.
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// User whose answers include them.
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
    /// Stop including them.
    #[arg(long)]
    pub(crate) remove: bool,
}

/// What an author and a member do with a service or a store of published knowledge.
#[derive(Debug, Subcommand)]
pub enum CatalogueCommand {
    /// Accept an invitation to a server, and save it in the configuration.
    Join {
        /// Link of the invitation.
        link: String,
        /// Write the configuration without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Save today's published state under a name; HTTP (`/v1/query`) can search it.
    Snapshot {
        /// Name of the snapshot.
        name: String,
        /// User who creates it.
        #[arg(long, env = crate::env::USER, default_value_t)]
        user: UserId,
    },
    /// List the projects of your organisation for which you may publish.
    Projects {
        /// User who asks.
        #[arg(long, env = crate::env::USER, default_value_t)]
        user: UserId,
    },
    /// List your publications that wait for a review, or were refused.
    Submissions {
        /// User who published them.
        #[arg(long, env = crate::env::USER, default_value_t)]
        user: UserId,
    },
    /// Try publications on a branch, where only you see them.
    #[command(subcommand)]
    Branch(GlobalBranchCommand),
}

/// Branches of the catalogue.
#[derive(Debug, Subcommand)]
pub enum GlobalBranchCommand {
    /// Create a branch; `share publish --branch NAME` publishes on it.
    Add(BranchArguments),
    /// List your branches, and the number of memories on each.
    List {
        /// User who owns the branches.
        #[arg(long, env = crate::env::USER, default_value_t)]
        user: UserId,
    },
    /// Ask a question as if the branch were merged.
    Ask {
        #[command(flatten)]
        which: BranchArguments,
        /// Your question.
        #[arg(required = true)]
        text: Vec<String>,
        /// Maximum number of results.
        #[arg(long, default_value_t = 10)]
        limit: usize,
    },
    /// Publish everything on a branch, all of it or nothing.
    Merge(BranchArguments),
    /// Delete a branch with everything on it.
    Drop(BranchArguments),
}

/// A branch of a memory or of the catalogue.
#[derive(Debug, Args)]
pub struct BranchArguments {
    /// Name of the branch.
    pub(crate) name: String,
    /// User who owns it.
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}
