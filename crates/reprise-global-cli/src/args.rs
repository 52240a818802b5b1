//! What may be typed after `reprise global`.

use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use reprise::plugin::env::{DATABASE_URL, USER};
use reprise::plugin::{CatalogueCommand, Common};
use reprise_global::{OrgId, ProjectId};
use reprise_types::{RecordId, UserId};

/// Run a server where a team shares memories.
#[derive(Debug, Parser)]
#[command(
    name = "reprise-global",
    bin_name = "reprise global",
    version,
    about,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct ServiceProgramArguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: GlobalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GlobalCommand {
    /// Serve published memories to other machines, until stopped.
    Serve(GlobalServeArguments),
    /// Create, list, replace and revoke tokens for the server; invite people.
    Token(GlobalTokenArguments),
    /// List the people who have tokens or invitations, with what they may do.
    Members(TokenStoreArguments),
    /// Print a one-time link that signs an operator in to the server's page.
    Open(GlobalOpenArguments),
    #[command(flatten)]
    Operate(OperateCommand),
    /// Approve or refuse what waits for a review before others find it; ask for reviews.
    #[command(subcommand)]
    Review(ReviewCommand),
    /// Show the audit log, newest first: who published or withdrew what, and who got or lost
    /// tokens.
    Audit {
        /// Maximum number of lines.
        #[arg(long, default_value_t = 100)]
        limit: usize,
        /// Your user name, for the audit log.
        #[arg(long, env = USER, default_value_t)]
        user: UserId,
        #[command(flatten)]
        which: WhichStore,
    },
    /// Publish many memories of one author at once, as operator.
    Import(GlobalImportArguments),
    // `reprise share` lists these.
    #[command(flatten)]
    Catalogue(CatalogueCommand),
    /// Write the manual, a page for each command, into a folder.
    Man {
        /// Target folder; it is created if it is missing.
        folder: PathBuf,
    },
}

/// Who operates a store.
#[derive(Debug, Args)]
pub(crate) struct OperatorArguments {
    /// Your user name, for the audit log.
    #[arg(long, env = USER, default_value_t)]
    pub(crate) user: UserId,
    /// Also include this organisation's entries; on a server, the token decides.
    #[arg(long)]
    pub(crate) org: Option<OrgId>,
    /// Also include the entries of these projects of the organisation, separated by commas.
    #[arg(
        long = "project",
        value_name = "NAME",
        value_delimiter = ',',
        requires = "org"
    )]
    pub(crate) projects: Vec<ProjectId>,
    #[command(flatten)]
    pub(crate) which: WhichStore,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OperateCommand {
    /// List the published memories, newest first.
    Catalogue {
        /// Maximum number.
        #[arg(long, default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// Take a published memory down; its author is told the reason.
    Takedown {
        /// Id of the published memory.
        id: RecordId,
        /// Reason; the author is told it, and the audit log keeps it.
        #[arg(long)]
        reason: String,
        /// Delete its text for good, because it must not be readable again.
        #[arg(long)]
        leaked: bool,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// Publish a memory again that was taken down.
    Putback {
        /// Id of the memory that was taken down.
        id: RecordId,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// List and change how much the people of your organisation may have published.
    #[command(subcommand)]
    Quota(QuotaCommand),
    /// Export or delete everything that the server stores about a person.
    #[command(subcommand)]
    Person(PersonCommand),
    /// Update a database to this version.
    Migrate {
        /// Show what would be done; change nothing.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        which: WhichStore,
    },
}

/// Reviews of what is published.
#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// List what waits for a review, oldest first, with its text.
    List(OperatorArguments),
    /// Approve a publication; those it is for find it from then on.
    Approve {
        /// Id of the publication.
        id: RecordId,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// Refuse a publication; its author is told the reason.
    Refuse {
        /// Id of the publication.
        id: RecordId,
        /// Reason; the author is told it, and the audit log keeps it.
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// Ask for a review of everything that is published for the organisation from now on.
    On(OperatorArguments),
    /// Publish without a review again; what waits still waits.
    Off(OperatorArguments),
}

/// Quotas that an operator sets; those of `global serve` apply as well.
#[derive(Debug, Subcommand)]
pub(crate) enum QuotaCommand {
    /// List what your organisation and its people have published, and how much they may have.
    List(OperatorArguments),
    /// Set the quota of a user or of your organisation; it replaces the one that was set before.
    #[command(group = ArgGroup::new("limits").required(true).multiple(true))]
    Set {
        /// `user:NAME`, or `org:NAME` of your own organisation.
        holder: String,
        /// Maximum number of published memories.
        #[arg(long, value_name = "N", group = "limits")]
        things: Option<u64>,
        /// Maximum size in bytes, with all versions.
        #[arg(long, value_name = "N", group = "limits")]
        bytes: Option<u64>,
        #[command(flatten)]
        who: OperatorArguments,
    },
    /// Remove the quota of a user or of your organisation.
    Remove {
        /// `user:NAME`, or `org:NAME` of your own organisation.
        holder: String,
        #[command(flatten)]
        who: OperatorArguments,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PersonCommand {
    /// Print everything of a person as JSON lines.
    Export {
        /// Name of the person.
        #[arg(long)]
        user: UserId,
        #[command(flatten)]
        which: WhichStore,
    },
    /// Delete everything of a person, and prove that nothing is left.
    Erase {
        /// Name of the person.
        #[arg(long)]
        user: UserId,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        which: WhichStore,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GlobalImportArguments {
    /// File with one publication per line, as `share publish --dry-run` prints it; `-` reads stdin.
    pub(crate) file: PathBuf,
    /// User who owns them.
    #[arg(long)]
    pub(crate) user: UserId,
    /// Organisation of the user.
    #[arg(long)]
    pub(crate) org: Option<OrgId>,
    /// Projects of the organisation whose member the user is, separated by commas.
    #[arg(
        long = "project",
        value_name = "NAME",
        value_delimiter = ',',
        requires = "org"
    )]
    pub(crate) projects: Vec<ProjectId>,
    /// Create the store at --store if it does not exist.
    #[arg(long, requires = "store")]
    pub(crate) create: bool,
    #[command(flatten)]
    pub(crate) which: WhichStore,
}

/// Which store is meant.
#[derive(Debug, Args)]
pub(crate) struct WhichStore {
    /// Folder of the store [default: the one in the data directory].
    #[arg(long, value_name = "PATH", conflicts_with = "database_url")]
    pub(crate) store: Option<PathBuf>,
    /// URL of a PostgreSQL database with pgvector, which several servers may share.
    #[arg(long, value_name = "URL", env = DATABASE_URL, hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    /// PEM file of the authority that signed the database's certificate.
    #[arg(long, value_name = "FILE", requires = "database_url")]
    pub(crate) database_authority: Option<PathBuf>,
    /// Connect as the owner of the tables, whom the row policies do not bind.
    #[arg(long, requires = "database_url")]
    pub(crate) database_as_owner: bool,
    /// Number of connections to the database.
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) connections: NonZeroU16,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalServeArguments {
    /// Address to listen on; port 0 chooses a free port.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: SocketAddr,
    #[command(flatten)]
    pub(crate) which: WhichStore,
    /// Maximum number of requests per second for one token.
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) requests_per_second: NonZeroU32,
    /// Maximum number of requests at the same time [default: 4 per processor, at least 8].
    #[arg(long, value_name = "N")]
    pub(crate) requests_max: Option<NonZeroU16>,
    #[command(flatten)]
    pub(crate) quotas: QuotaArguments,
    /// Append a JSON line per request to this file: user, route and status, but no text.
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
}

/// How much one user, and one organisation, may have and ask; without a number there is no limit.
/// What they have is counted in a database alone.
#[derive(Debug, Args)]
pub(crate) struct QuotaArguments {
    /// Maximum number of published memories per user.
    #[arg(long, value_name = "N", requires = "database_url")]
    pub(crate) user_things: Option<u64>,
    /// Maximum size in bytes, with all versions.
    #[arg(long, value_name = "N", requires = "database_url")]
    pub(crate) user_bytes: Option<u64>,
    /// Maximum number of requests per minute for one user, over all of their tokens.
    #[arg(long, value_name = "N")]
    pub(crate) user_requests_a_minute: Option<NonZeroU32>,
    /// Maximum number of memories that an organisation may have published for its members.
    #[arg(long, value_name = "N", requires = "database_url")]
    pub(crate) org_things: Option<u64>,
    /// Maximum size in bytes, with all versions.
    #[arg(long, value_name = "N", requires = "database_url")]
    pub(crate) org_bytes: Option<u64>,
    /// Maximum number of requests per minute for one organisation.
    #[arg(long, value_name = "N")]
    pub(crate) org_requests_a_minute: Option<NonZeroU32>,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalTokenArguments {
    #[command(subcommand)]
    pub(crate) command: GlobalTokenCommand,
    #[command(flatten)]
    pub(crate) place: TokenStoreArguments,
}

/// Where the tokens are.
#[derive(Debug, Args)]
pub(crate) struct TokenStoreArguments {
    /// Keep the tokens in the server's PostgreSQL database, where every node reads them.
    #[arg(
        id = "database_url",
        long = "database-url",
        global = true,
        value_name = "URL",
        env = DATABASE_URL,
        hide_env_values = true
    )]
    pub(crate) url: Option<String>,
    /// PEM file of the authority that signed the database's certificate.
    #[arg(
        id = "database_authority",
        long = "database-authority",
        global = true,
        value_name = "FILE"
    )]
    pub(crate) authority: Option<PathBuf>,
    /// Connect as the owner of the tables.
    #[arg(id = "database_as_owner", long = "database-as-owner", global = true)]
    pub(crate) as_owner: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GlobalOpenArguments {
    /// User who signs in.
    #[arg(long, env = USER, default_value_t)]
    pub(crate) user: UserId,
    /// Organisation that the user operates; without it, those who are in none.
    #[arg(long)]
    pub(crate) org: Option<OrgId>,
    /// Projects of the organisation, separated by commas.
    #[arg(
        long = "project",
        value_name = "NAME",
        value_delimiter = ',',
        requires = "org"
    )]
    pub(crate) projects: Vec<ProjectId>,
    /// Address of the server.
    #[arg(long)]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) place: TokenStoreArguments,
}

/// What a token opens.
#[derive(Debug, Clone, Args)]
pub(crate) struct Granted {
    /// Organisation of the user.
    #[arg(long)]
    pub(crate) org: Option<OrgId>,
    /// Projects of the organisation, separated by commas; their members alone find what is
    /// published for them.
    #[arg(
        long = "project",
        value_name = "NAME",
        value_delimiter = ',',
        requires = "org"
    )]
    pub(crate) projects: Vec<ProjectId>,
    /// The user may read paid memories; Reprise bills nobody.
    #[arg(long)]
    pub(crate) paid: bool,
    /// What the token may do.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["read", "write"])]
    pub(crate) may: Vec<May>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GlobalTokenCommand {
    /// Create a token for a user and print it; it is shown only once.
    Add {
        /// Name of the token.
        name: String,
        /// User who asks and publishes with the token.
        #[arg(long)]
        user: UserId,
        #[command(flatten)]
        granted: Granted,
        /// Number of days after which the token expires, at least 1.
        #[arg(long, value_name = "N")]
        expires_days: Option<NonZeroU16>,
    },
    /// Create invitations: links that each give a token to the first person who accepts it.
    Invite {
        /// Name of the token.
        #[arg(required_unless_present = "from", conflicts_with = "from")]
        name: Option<String>,
        /// User who asks and publishes with the token.
        #[arg(long, required_unless_present = "from", conflicts_with = "from")]
        user: Option<UserId>,
        /// File with one person per line: a user name and, after a space, the organisation if it
        /// is not --org; `-` reads stdin. A line that begins with `#` is a comment.
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        #[command(flatten)]
        granted: Granted,
        /// Number of hours after which the link expires.
        #[arg(long, value_name = "N", default_value = "48")]
        expires_hours: NonZeroU16,
        /// Address of the server.
        #[arg(long)]
        url: String,
    },
    /// List the tokens by name, and when each was last used.
    List,
    /// Replace a token and print the new one.
    Rotate {
        /// Name of the token.
        name: String,
        /// Number of hours for which the old token still works.
        #[arg(long, value_name = "N", default_value_t = 24)]
        grace_hours: u16,
    },
    /// Revoke a token.
    Revoke {
        /// Name of the token.
        name: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum May {
    /// Ask questions and read the results.
    Read,
    /// Publish, withdraw, rate and report.
    Write,
    /// Approve or refuse what other members publish for the organisation.
    Review,
    /// Create snapshots; read the audit log and the metrics.
    Operate,
}
