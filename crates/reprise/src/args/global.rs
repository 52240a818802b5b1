//! What may be typed to share knowledge, and to take it back.

use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use reprise_global::OrgId;
use reprise_operations::operations::shared;
use reprise_types::{RecordId, UserId};

use super::WhoseArguments;

#[derive(Debug, Args)]
pub(crate) struct PublishArguments {
    #[command(flatten)]
    pub(crate) asked: shared::PublishPreviewArguments,
    /// Whose they are
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
    /// Publish on this branch of the catalogue, where you alone find it until the branch is merged
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
    /// Print exactly what would leave, and let nothing leave
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask: it has been read
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnpublishArguments {
    /// The id that `publish` printed, or the record: its id or external id
    pub(crate) id: String,
    /// Whose it is
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct RateArguments {
    /// The published thing, as a recall names it
    pub(crate) id: RecordId,
    /// From 0 (of no use, or wrong) to 1 (what was needed)
    pub(crate) rating: f32,
    /// Who gives it
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShareCommand {
    /// Let others find records of yours: shows the exact bytes, and asks
    Publish(PublishArguments),
    /// Take back what was published, from every answer at once
    Unpublish(UnpublishArguments),
    /// List what a user has published
    List(WhoseArguments),
    /// Say how good something is that others published
    Rate(RateArguments),
    /// Write records into `.reprise/shared` of a repository, for others to review and pull
    Repository(ShareRepositoryArguments),
    /// Let the lessons of a repository (`.reprise/shared`) answer, too
    Trust(TrustArguments),
    #[command(flatten)]
    Global(GlobalCommand),
}

#[derive(Debug, Args)]
pub(crate) struct ShareRepositoryArguments {
    /// The records, by id or external id
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
    /// A folder of the repository
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Whose they are
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// A folder of the repository
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Whose recalls they answer
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
    /// Let them answer no more
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GlobalCommand {
    /// Serve a store of published knowledge to other machines, until told to end
    Serve(GlobalServeArguments),
    /// Make, list, replace and withdraw tokens for that service, and invitations to it
    Token(GlobalTokenArguments),
    /// Take an invitation to a service up: prints what to write into the configuration
    Join {
        /// The link that was sent
        link: String,
    },
    #[command(flatten)]
    Operate(OperateCommand),
    /// Name this moment of the store, so that a question can be asked of it later
    Snapshot {
        /// What to call it
        name: String,
        /// Who names it
        #[arg(long, env = crate::env::USER, default_value_t)]
        user: UserId,
    },
    /// Try out what others are not to see yet: branches of the catalogue
    #[command(subcommand)]
    Branch(GlobalBranchCommand),
    /// Say who published, took back and named what, and who got and lost tokens, newest first
    Audit {
        /// Most lines
        #[arg(long, default_value_t = 100)]
        limit: usize,
        /// Who asks
        #[arg(long, env = crate::env::USER, default_value_t)]
        user: UserId,
        #[command(flatten)]
        which: WhichStore,
    },
    /// Publish many things of one author at once, for the operator of a store
    Import(GlobalImportArguments),
}

/// Who operates a store.
#[derive(Debug, Args)]
pub(crate) struct OperatorArguments {
    /// Who does it
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
    /// The organisation whose shelf is meant too; a service goes by the token
    #[arg(long)]
    pub(crate) org: Option<OrgId>,
    #[command(flatten)]
    pub(crate) which: WhichStore,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OperateCommand {
    /// List what stands on the shelves, newest first
    Catalogue {
        /// Most things
        #[arg(long, default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// Take a thing down, whoever published it: its author is told why
    Takedown {
        /// Which
        id: RecordId,
        /// Why: its author reads it, and it stays in the audit log
        #[arg(long)]
        reason: String,
        /// It holds what nobody may read again: keep nothing of it
        #[arg(long)]
        leaked: bool,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// Take a take-down back
    Putback {
        /// What was taken down
        id: RecordId,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// Everything of one person in a store
    #[command(subcommand)]
    Person(PersonCommand),
    /// Bring the tables of a database to this version
    Migrate {
        /// Print what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        which: WhichStore,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PersonCommand {
    /// Print it, a line of JSON each
    Export {
        /// Who
        #[arg(long)]
        user: UserId,
        #[command(flatten)]
        which: WhichStore,
    },
    /// Delete it, with the proof that nothing is left
    Erase {
        /// Who
        #[arg(long)]
        user: UserId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        which: WhichStore,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GlobalBranchCommand {
    /// Open a branch; `publish --branch NAME` publishes on it
    Add(BranchArguments),
    /// List your branches, with how many things stand on each
    List {
        /// Whose
        #[arg(long, env = crate::env::USER, default_value_t)]
        user: UserId,
    },
    /// Ask the store as it would be after the merge
    Ask {
        #[command(flatten)]
        which: BranchArguments,
        /// The question
        #[arg(required = true)]
        text: Vec<String>,
        /// Most results
        #[arg(long, default_value_t = 10)]
        limit: usize,
    },
    /// Let others find everything that stands on a branch, all of it or nothing
    Merge(BranchArguments),
    /// Take back everything that stands on a branch, and the branch
    Drop(BranchArguments),
}

#[derive(Debug, Args)]
pub(crate) struct BranchArguments {
    /// What it is called
    pub(crate) name: String,
    /// Whose it is
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalImportArguments {
    /// A publication a line, as `publish --dry-run` prints them; `-` reads stdin
    pub(crate) file: PathBuf,
    /// Whose they are
    #[arg(long)]
    pub(crate) user: UserId,
    /// Whose member that user is
    #[arg(long)]
    pub(crate) org: Option<OrgId>,
    /// Make the store where there is none at --store yet
    #[arg(long, requires = "store")]
    pub(crate) create: bool,
    #[command(flatten)]
    pub(crate) which: WhichStore,
}

/// A store beside its service.
#[derive(Debug, Args)]
pub(crate) struct WhichStore {
    /// The folder of an embedded store [default: that of the data directory]
    #[arg(long, value_name = "PATH", conflicts_with = "database_url")]
    pub(crate) store: Option<PathBuf>,
    /// A PostgreSQL with pgvector: any number of services may share it
    #[arg(long, value_name = "URL", env = crate::env::DATABASE_URL, hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    /// The PEM file of the authority that signed the database's certificate
    #[arg(long, value_name = "FILE", requires = "database_url")]
    pub(crate) database_authority: Option<PathBuf>,
    /// Serve as the role that owns the tables, which can switch their policies off
    #[arg(long, requires = "database_url")]
    pub(crate) database_as_owner: bool,
    /// Connections to the database
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) connections: NonZeroU16,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalServeArguments {
    /// Where it listens; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: SocketAddr,
    #[command(flatten)]
    pub(crate) which: WhichStore,
    /// Requests a second that one token may make
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) requests_per_second: NonZeroU32,
    /// Requests answered at once; one more is refused
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) requests_max: NonZeroU16,
    #[command(flatten)]
    pub(crate) quotas: QuotaArguments,
    /// Append a line of JSON for each request: who, which route, how it ended; no text
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
}

/// How much one user, and one organisation, may have and ask; without a number there is no limit.
#[derive(Debug, Args)]
pub(crate) struct QuotaArguments {
    /// Things that one user may have published
    #[arg(long, value_name = "N")]
    pub(crate) user_things: Option<u64>,
    /// Bytes of all their versions
    #[arg(long, value_name = "N")]
    pub(crate) user_bytes: Option<u64>,
    /// Requests a minute of one user, over all of his tokens
    #[arg(long, value_name = "N")]
    pub(crate) user_requests_a_minute: Option<NonZeroU32>,
    /// Things that may stand on one organisation's shelf
    #[arg(long, value_name = "N")]
    pub(crate) org_things: Option<u64>,
    /// Bytes of all their versions
    #[arg(long, value_name = "N")]
    pub(crate) org_bytes: Option<u64>,
    /// Requests a minute of one organisation
    #[arg(long, value_name = "N")]
    pub(crate) org_requests_a_minute: Option<NonZeroU32>,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalTokenArguments {
    #[command(subcommand)]
    pub(crate) command: GlobalTokenCommand,
    /// Make them in the PostgreSQL of the service: every node of it knows them
    #[arg(long, global = true, value_name = "URL", env = crate::env::DATABASE_URL, hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    /// The PEM file of the authority that signed the database's certificate
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) database_authority: Option<PathBuf>,
    /// Ask it as the role that owns the tables
    #[arg(long, global = true)]
    pub(crate) database_as_owner: bool,
}

/// What a token opens.
#[derive(Debug, Args)]
pub(crate) struct Granted {
    /// Who asks and publishes with it
    #[arg(long)]
    pub(crate) user: UserId,
    /// Whose member that user is
    #[arg(long)]
    pub(crate) org: Option<OrgId>,
    /// The paid tier is open to that user
    #[arg(long)]
    pub(crate) paid: bool,
    /// What it may do
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["read", "write"])]
    pub(crate) may: Vec<May>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GlobalTokenCommand {
    /// Make a token of a user and print it: the only time that it is shown
    Add {
        /// What to call it
        name: String,
        #[command(flatten)]
        granted: Granted,
        /// It opens nothing any more after so many days
        #[arg(long, value_name = "N")]
        expires_days: Option<u16>,
    },
    /// Make a link that gives such a token to the first who takes it up
    Invite {
        /// What to call the token
        name: String,
        #[command(flatten)]
        granted: Granted,
        /// The link is over after so many hours
        #[arg(long, value_name = "N", default_value = "48")]
        expires_hours: NonZeroU16,
        /// Where the service is reached
        #[arg(long)]
        url: String,
    },
    /// List the tokens by name, with when each was last used
    List,
    /// Replace a token and print the new one
    Rotate {
        /// Which
        name: String,
        /// The old one still opens for so many hours
        #[arg(long, value_name = "N", default_value_t = 24)]
        grace_hours: u16,
    },
    /// Withdraw a token
    Revoke {
        /// Which
        name: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum May {
    /// Ask, and read what was found
    Read,
    /// Publish and take back, rate, report
    Write,
    /// Make snapshots, read the audit log and metrics
    Operate,
}
