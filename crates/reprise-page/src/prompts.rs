//! What the page asks of prompts: what each was given, and what came of it.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_types::{Cursor, RecallId, RecordId, UserId, Verdict};

use crate::refusal::Refusal;

/// A prompt of a session, in short.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub id: RecordId,
    pub at: DateTime<Utc>,
    pub text: String,
    pub session: String,
    /// What memory gave to it; nothing where it was not asked, or that was not noted yet.
    pub given: Option<Given>,
    /// How the work went that it began and how that was expected, 0..1, where that is known.
    pub went: Option<(f32, f32)>,
}

/// One recall for a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    pub recall: RecallId,
    pub verdict: Verdict,
    /// Best first.
    pub found: Vec<Found>,
}

/// A record that came up.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub id: RecordId,
    /// 0..1.
    pub score: f32,
    /// Why it was not put into the prompt, as a word; nothing where it was.
    pub left_out: Option<String>,
    /// The line that names it; nothing where it was forgotten since, or is not looked up.
    pub title: Option<String>,
    /// Its id or its words stand in what followed.
    pub is_quoted: bool,
    /// The work's outcome gave credit to it.
    pub is_credited: bool,
}

/// A prompt with what its session kept before the next one: oldest first, each with the line that
/// names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    pub prompt: Prompt,
    pub followed: Vec<(RecordId, DateTime<Utc>, String)>,
}

/// The prompts of a user's sessions.
#[async_trait]
pub trait PagePrompts: Send + Sync {
    /// A page of them, newest first, and where the next one goes on.
    async fn prompts(
        &self,
        user: &UserId,
        session: Option<&str>,
        after: Option<Cursor>,
    ) -> Result<(Vec<Prompt>, Option<Cursor>), Refusal>;
    /// One of them once more.
    async fn replay(&self, user: &UserId, id: RecordId) -> Result<Replay, Refusal>;
}
