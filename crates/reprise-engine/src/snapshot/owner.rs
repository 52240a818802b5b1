//! The name of its user in the file of a memory, by which another user's file in its place is
//! noticed. It is the name of a stream among the cursors, so that every version reads the file.

use reprise_store::{Log, StoreEntry};
use reprise_types::UserId;

use crate::engine::Engine;
use crate::error::EngineError;

/// Beginning of the stream that names a user.
const PREFIX: &str = "reprise-user:";
/// What separates the name of a branch from that of its memory's user.
const BRANCH: char = '+';

/// Returns whether a stream is the name of a user, which stays in its file: in an export or in the
/// memory of another user it would be wrong.
pub(crate) fn is_user_name(stream: &str) -> bool {
    stream.starts_with(PREFIX)
}

/// Fails if a log names users, and this one is not among them.
pub(crate) fn check_user(log: &Log, user: &UserId) -> Result<(), EngineError> {
    let named = log.streams().filter_map(|name| name.strip_prefix(PREFIX));
    let named: Vec<&str> = named.collect();
    match named.first() {
        Some(other) if !named.contains(&person_of(user)) => Err(EngineError::OtherUser {
            path: log.path().to_owned(),
            named: (*other).to_owned(),
            user: user.clone(),
        }),
        _ => Ok(()),
    }
}

/// Returns the entry that names this user; `None` if the log names one already.
pub(crate) fn user_entry(log: &Log, user: &UserId) -> Option<StoreEntry> {
    let is_named = log.streams().any(is_user_name);
    (!is_named).then(|| entry_for(user))
}

fn entry_for(user: &UserId) -> StoreEntry {
    StoreEntry::Cursor {
        stream: [PREFIX, person_of(user)].concat(),
        seq: 1,
    }
}

/// Returns the name of the user whose branch this is, or whose memory.
fn person_of(user: &UserId) -> &str {
    let name = user.as_str();
    name.split_once(BRANCH).map_or(name, |(person, _)| person)
}

impl Engine {
    /// Fails if the file names users, and this one is not among them.
    pub fn check_user(&self, user: &UserId) -> Result<(), EngineError> {
        check_user(&self.log, user)
    }

    /// Gives the file of another user to this one as well, as after a restore under another name.
    pub fn add_user(&mut self, user: &UserId) -> Result<(), EngineError> {
        match self.check_user(user) {
            Err(EngineError::OtherUser { .. }) => self.append_and_publish(&[entry_for(user)]),
            checked => checked,
        }
    }
}
