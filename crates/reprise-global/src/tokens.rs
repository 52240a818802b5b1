//! Tokens of a service of published knowledge, as its nodes share them.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::audit::AuditLine;
use crate::error::GlobalResult;

/// A token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptToken {
    pub name: String,
    /// SHA-256 in hex of what opens it.
    pub hashes: Vec<String>,
    /// The service's own entry for it, as JSON.
    pub entry: String,
    /// When it was last used, to the minute.
    pub used: Option<DateTime<Utc>>,
}

/// A change of the tokens, with the line for the audit log; `None` leaves all as they are.
pub type TokenEdit<'a> = Box<dyn FnOnce(&mut Vec<KeptToken>) -> Option<AuditLine> + Send + 'a>;

/// Where the nodes of one service find and change their tokens.
#[async_trait]
pub trait SharedTokens: std::fmt::Debug + Send + Sync {
    /// Lists every token, by name.
    async fn list_tokens(&self) -> GlobalResult<Vec<KeptToken>>;

    /// Finds the token that a hash opens, and notes once a minute that it was used.
    async fn find_token_and_note_use(&self, hash: &str) -> GlobalResult<Option<KeptToken>>;

    /// Changes the tokens as one step among all nodes, and writes down who did what.
    async fn change_tokens(&self, edit: TokenEdit<'_>) -> GlobalResult<()>;
}
