//! What may be typed to share knowledge, and to take it back.

use clap::{Args, ValueEnum};
use reprise_global::{AccessPolicy, GlobalContentType};
use reprise_types::{RecordId, UserId};

#[derive(Debug, Args)]
pub(crate) struct PublishArguments {
    /// The records: ids or external ids
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
    /// Whose they are
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
    /// What they are
    #[arg(long = "type", value_enum, default_value = "document")]
    pub(crate) content_type: ContentType,
    /// The title [default: the first line]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// What a reader sees first [default: the beginning]
    #[arg(long)]
    pub(crate) summary: Option<String>,
    /// Who may use them: everybody, your organisation, the paid tier
    #[arg(long, value_enum, default_value = "public")]
    pub(crate) policy: Policy,
    /// Under which terms, as SPDX names them
    #[arg(long, default_value = "")]
    pub(crate) licence: String,
    /// Print exactly what would leave, and let nothing leave
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask: it has been read
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContentType {
    Document,
    Agent,
    App,
    Pattern,
}

impl From<ContentType> for GlobalContentType {
    fn from(content_type: ContentType) -> Self {
        match content_type {
            ContentType::Document => Self::Document,
            ContentType::Agent => Self::Agent,
            ContentType::App => Self::App,
            ContentType::Pattern => Self::Pattern,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    Public,
    Org,
    Paid,
}

impl From<Policy> for AccessPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Public => Self::Public,
            Policy::Org => Self::Org,
            Policy::Paid => Self::Paid,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct UnpublishArguments {
    /// The id that `publish` printed
    pub(crate) id: RecordId,
    /// Whose it is
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct PublishedArguments {
    /// Whose
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
}
