//! What the page asks of the process that serves it, and no operation is: the machine around the
//! memories.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_operations::Problem;
use reprise_types::UserId;
use tokio_stream::Stream;

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

/// The process that serves the page.
#[async_trait]
pub trait Host: fmt::Debug + Send + Sync {
    fn settings(&self) -> Vec<Setting>;
    async fn users(&self) -> Result<Vec<Neighbour>, Problem>;
    async fn backups(&self, user: &UserId) -> Result<Vec<Backup>, Problem>;
    /// The user's file as it is now.
    async fn backup(&self, user: &UserId) -> Result<Bytes, Problem>;
    /// Tokens that open this user's memory.
    async fn tokens(&self, user: &UserId) -> Result<Vec<Token>, Problem>;
    /// Makes one that opens no other's; answers it, this once.
    async fn add_token(&self, user: &UserId, name: &str) -> Result<String, Problem>;
    /// Withdraws one that opens this user's memory alone.
    async fn revoke_token(&self, user: &UserId, name: &str) -> Result<(), Problem>;
    /// Waits until the process is told to end: no tab holds it up.
    async fn ending(&self);
}
