//! What the page asks of tending: pairs in doubt, what consolidation did, how well memory stands.

use async_trait::async_trait;
use reprise_types::UserId;

use crate::refusal::Refusal;

/// Two records that may say the same, or cannot both hold: the older first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// By id, or as their own system names them.
    pub names: [String; 2],
    pub texts: [String; 2],
    pub why: String,
}

/// The pairs that wait for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InDoubt {
    pub contradictions: Vec<Pair>,
    pub alike: Vec<Pair>,
    /// Those that are alike and not listed.
    pub more: usize,
}

/// What tending did at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tended {
    pub action: String,
    /// When, as RFC 3339.
    pub at: String,
    /// The record that answers for others, and those.
    pub merged: Vec<(String, Vec<String>)>,
    pub purged: Vec<String>,
    pub distilled: Vec<String>,
    /// The older and the newer of two that contradict each other.
    pub contradictions: Vec<[String; 2]>,
    pub is_undone: bool,
}

/// What a consolidation did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consolidation {
    /// What undoes it; nothing where nothing was done.
    pub action: Option<String>,
    pub merged: usize,
    pub purged: usize,
    pub distilled: usize,
}

/// How well a memory stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Audit {
    /// The share of records without trouble, 0..1.
    pub score: f64,
    /// The day, how many records there were, and the score at its end; oldest first.
    pub history: Vec<(String, usize, f64)>,
    pub records: usize,
    pub duplicates: usize,
    pub in_doubt: usize,
    pub contradictions: usize,
    pub stale: Vec<String>,
    pub never_used: usize,
    pub orphans: Vec<String>,
    pub unembedded: u32,
    pub possible_secrets: Vec<String>,
}

/// Tending of a user's memory.
#[async_trait]
pub trait PageTending: Send + Sync {
    async fn in_doubt(&self, user: &UserId) -> Result<InDoubt, Refusal>;
    /// Says what a pair is to each other: `same`, `different`, `newer` or `older` (the one that
    /// holds); answers what undoes it.
    async fn answer(
        &self,
        user: &UserId,
        pair: [String; 2],
        answer: &str,
    ) -> Result<Option<String>, Refusal>;
    async fn consolidate(&self, user: &UserId, dry_run: bool) -> Result<Consolidation, Refusal>;
    /// The latest first.
    async fn diary(&self, user: &UserId) -> Result<Vec<Tended>, Refusal>;
    /// Takes an action back; answers how many records answer again.
    async fn undo_tending(&self, user: &UserId, action: &str) -> Result<usize, Refusal>;
    async fn audit(&self, user: &UserId) -> Result<Option<Audit>, Refusal>;
}
