//! What the page asks of published knowledge: what would leave, what left, what others gave.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_types::{RecordId, UserId};

use crate::refusal::Refusal;

/// How a record is to be published; what is not said stays as it is published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// Its title; empty for its first line.
    pub title: Option<String>,
    /// Who may use it: `public`, `org`, `paid`.
    pub policy: Option<String>,
    /// As SPDX names it; may be empty.
    pub licence: Option<String>,
}

/// What would leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The exact bytes.
    pub exact: String,
    pub bytes: usize,
    /// Their hash, which says yes to them.
    pub sha256: String,
    /// Secrets that were taken out.
    pub redacted: u32,
    pub title: String,
    pub policy: String,
    pub licence: String,
    /// The version that it would replace.
    pub version: Option<String>,
}

/// A published thing, whole or in short.
#[derive(Debug, Clone, PartialEq)]
pub struct Thing {
    pub id: RecordId,
    pub title: String,
    pub author: String,
    pub version: String,
    pub policy: String,
    pub at: DateTime<Utc>,
    /// Bytes that left.
    pub bytes: usize,
    /// How runs went that used it, 0..1, and how many there were.
    pub quality: f32,
    pub uses: u64,
    pub licence: String,
    /// Empty in a list.
    pub summary: String,
    /// Empty in a list.
    pub content: String,
}

/// A line of the user's own log on what left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The record that says so.
    pub id: RecordId,
    /// `published`, `unpublished`, `used`, or on which branch it stands.
    pub act: String,
    pub global: RecordId,
    /// Which record left.
    pub of: Option<RecordId>,
    pub version: Option<String>,
    pub policy: Option<String>,
    pub bytes: Option<usize>,
}

/// What was taken back: how many versions, and whether the store was asked for it afterwards and
/// had nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenBack {
    pub versions: u32,
    pub is_verified: bool,
}

/// What stands of a record with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abroad {
    /// Its id there.
    pub id: RecordId,
    pub version: String,
    /// It says what the record said before it was corrected.
    pub is_former: bool,
}

/// Published knowledge as a user reaches it.
#[async_trait]
pub trait PageGlobal: Send + Sync {
    async fn published(&self, user: &UserId) -> Result<Vec<Thing>, Refusal>;
    async fn receipts(&self, user: &UserId) -> Result<Vec<Receipt>, Refusal>;
    async fn thing(&self, user: &UserId, id: RecordId) -> Result<Thing, Refusal>;
    /// What of a record others can find.
    async fn published_of(
        &self,
        user: &UserId,
        record: RecordId,
    ) -> Result<Option<Abroad>, Refusal>;
    /// Shows what would leave; a refusal says why it may not.
    async fn leaving(
        &self,
        user: &UserId,
        record: RecordId,
        terms: &Terms,
    ) -> Result<Leaving, Refusal>;
    /// Publishes the bytes with this hash; answers the id there.
    async fn publish(
        &self,
        user: &UserId,
        record: RecordId,
        terms: &Terms,
        agreed: &str,
    ) -> Result<RecordId, Refusal>;
    async fn unpublish(&self, user: &UserId, id: RecordId) -> Result<TakenBack, Refusal>;
}
