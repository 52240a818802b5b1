//! What is known of the sessions under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use chrono::{DateTime, Utc};
use reprise_types::{RecallId, RecordId, UserId, lock};

/// Sessions that are remembered between their events; the one idle for longest goes first.
pub(super) const SESSIONS_MAX: usize = 1_000;

/// Memories that a session is known to have seen, and files that it is known to have edited.
pub(super) const SEEN_MAX: usize = 400;

/// Bytes of what was said and done after a prompt that are held.
pub(super) const SAID_BYTES_MAX: usize = 32 * 1024;

/// What is known of the sessions under way; lost with the daemon, and then taught by nothing.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<(UserId, String), Session>>);

#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    /// The last prompt's recall.
    pub(super) recalled: Option<Asked>,
    /// What was said and done since: an answer, commands, files.
    pub(super) said: String,
    /// The run of its last answer, and when that was finished, where no test judged it: what comes
    /// next tells how it was taken.
    pub(super) unjudged: Option<(String, DateTime<Utc>)>,
    /// How the last test since then went.
    pub(super) judged: Option<bool>,
    /// What was put into its prompts: it stands there already.
    pub(super) seen: BTreeSet<RecordId>,
    /// Files edited since its agent last answered.
    pub(super) edited: BTreeSet<String>,
    /// Counts the touches of all sessions.
    pub(super) touched: u64,
}

/// A prompt that was answered with memory.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) recall_id: RecallId,
    pub(super) prompt: String,
    /// What was put into it.
    pub(super) put_in: Vec<RecordId>,
}

impl Session {
    /// Notes what was said or done after a prompt.
    pub(super) fn say(&mut self, text: &str) {
        let room = SAID_BYTES_MAX.saturating_sub(self.said.len());
        if self.recalled.is_some() && room > 0 {
            self.said.push('\n');
            self.said.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    /// Notes what stands in its prompts now; of too many the oldest records go first.
    pub(super) fn see(&mut self, records: &[RecordId]) {
        self.seen.extend(records);
        while self.seen.len() > SEEN_MAX {
            self.seen.pop_first();
        }
    }
}

impl Sessions {
    pub(super) fn change<T>(
        &self,
        key: (UserId, String),
        change: impl FnOnce(&mut Session) -> T,
    ) -> T {
        let mut sessions = lock(&self.0);
        let latest = sessions.values().map(|s| s.touched).max().unwrap_or(0);
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(&key) {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.touched);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                sessions.remove(&oldest);
            }
        }
        let session = sessions.entry(key).or_default();
        session.touched = latest + 1;
        change(session)
    }
}
