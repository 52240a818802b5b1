//! What the page asks of the machine around a memory: backups, tokens, users, settings.

use std::pin::Pin;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_types::UserId;
use tokio_stream::Stream;

use crate::refusal::Refusal;

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: String,
    /// Where it comes from: `flag`, `environment`, `file`, `default`, or nothing for a fact.
    pub from: String,
}

/// A token that opens the user's memory over TCP, without the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub name: String,
    pub made: DateTime<Utc>,
    /// It opens every user's memory; whoever owns the machine withdraws it.
    pub is_for_all: bool,
}

/// A copy of the user's file that was made from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub file: String,
    /// When it was written and how long it is; nothing where it is there no more.
    pub there: Option<(DateTime<Utc>, u64)>,
}

/// Somebody who has a memory here, and the bytes of his file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    pub user: String,
    pub bytes: u64,
}

/// A whole file, part by part.
pub type Bytes = Pin<Box<dyn Stream<Item = std::io::Result<Vec<u8>>> + Send>>;

/// The machine around a memory.
#[async_trait]
pub trait PageCare: Send + Sync {
    fn settings(&self) -> Vec<Setting>;
    async fn users(&self) -> Result<Vec<Neighbour>, Refusal>;
    async fn backups(&self, user: &UserId) -> Result<Vec<Backup>, Refusal>;
    /// The user's file as it is now.
    async fn backup(&self, user: &UserId) -> Result<Bytes, Refusal>;
    /// Tokens that open this user's memory.
    async fn tokens(&self, user: &UserId) -> Result<Vec<Token>, Refusal>;
    /// Makes one that opens no other's; answers it, this once.
    async fn add_token(&self, user: &UserId, name: &str) -> Result<String, Refusal>;
    /// Withdraws one that opens this user's memory alone.
    async fn revoke_token(&self, user: &UserId, name: &str) -> Result<(), Refusal>;
}
