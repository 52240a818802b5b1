//! The journal of changes that people and programs made: what was changed, when and from where.
//! What a change did is in the memory itself; the journal adds where it came from, and holds ids
//! alone. It is a file in the user's folder, which the terminal and the daemon append to.

use std::path::PathBuf;

use reprise_knowledge::{append_change, read_changes};

use crate::prelude::*;

/// Changes of one user that the journal holds; a new one replaces the oldest.
const HELD_MAX: usize = 200;
/// Most memories that are named for one change.
const NAMED_MAX: usize = 50;

/// What was done to memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A new version took the place of the one before.
    Corrected,
    /// Tags were replaced.
    Tagged,
    Linked,
    Unlinked,
    Forgotten,
    /// A pair was decided, or a question of several.
    Decided,
    /// Duplicates were merged, and what expired was put away.
    Merged,
}

/// Where a change came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOrigin {
    /// A person at the page.
    Page,
    /// A command on this machine, or another program that uses the daemon's socket.
    Command,
    /// A tool that an agent called.
    Agent,
    /// A program with the token of this name.
    Token(String),
    /// Reprise itself, while nobody asked.
    Upkeep,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub at: DateTime<Utc>,
    pub kind: ChangeKind,
    pub origin: ChangeOrigin,
    /// The agent that made it, as its program names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The memories that were changed, at most fifty; of a correction its new version.
    pub ids: Vec<RecordId>,
    /// How many there were.
    pub count: usize,
}

/// The journal of a user, in the user's folder; without one nothing is noted.
#[derive(Debug)]
struct Journal(Option<PathBuf>);

impl Journal {
    fn of_user(data: Option<&PathBuf>, user: &UserId) -> Self {
        Self(data.map(|data| data.join(user.as_str())))
    }

    /// Lists the entries that are held, the oldest first; a line that is none stays out.
    fn list(&self) -> Vec<JournalEntry> {
        let lines = self.0.as_deref().map(read_changes).unwrap_or_default();
        let newest = &lines[lines.len().saturating_sub(HELD_MAX)..];
        let entries = newest.iter().map(|line| serde_json::from_str(line));
        entries.filter_map(Result::ok).collect()
    }

    /// Adds an entry. A journal that cannot be written loses where a change came from, and nothing
    /// else: the change itself is made.
    fn add(&self, entry: &JournalEntry) {
        let Some(folder) = &self.0 else { return };
        let line = serde_json::to_string(entry).map_err(|error| error.to_string());
        let added = line.and_then(|line| {
            append_change(folder, &line, HELD_MAX).map_err(|error| error.to_string())
        });
        if let Err(error) = added {
            tracing::warn!(error, "the journal of changes could not be written");
        }
    }
}

impl Memory {
    fn journal(&self) -> Journal {
        Journal::of_user(self.pause_store().data_dir(), &self.user)
    }

    /// Returns where a change by this caller comes from.
    fn change_origin(&self) -> ChangeOrigin {
        let asker = self.asker.as_deref();
        match asker.and_then(|asker| asker.strip_prefix("token ")) {
            _ if self.is_agent => ChangeOrigin::Agent,
            Some(name) => ChangeOrigin::Token(name.to_owned()),
            None if asker.is_some() => ChangeOrigin::Page,
            None if self.is_on_machine => ChangeOrigin::Command,
            None => ChangeOrigin::Upkeep,
        }
    }

    /// Notes a change, after it is on disk.
    pub(crate) fn note_change(&self, kind: ChangeKind, ids: &[RecordId]) {
        let entry = JournalEntry {
            at: self.now(),
            kind,
            origin: self.change_origin(),
            agent: self.agent.clone().filter(|_| self.is_agent),
            ids: ids.iter().take(NAMED_MAX).copied().collect(),
            count: ids.len(),
        };
        self.journal().add(&entry);
    }

    /// Lists the changes that the journal holds, the newest first.
    pub fn list_changes(&self) -> Vec<JournalEntry> {
        let mut entries = self.journal().list();
        entries.reverse();
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_changes_are_held_and_each_user_has_own_ones() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_owned();
        let [ada, bob] = ["ada", "bob"].map(|name| {
            let user = name.parse::<UserId>().unwrap();
            Journal::of_user(Some(&data), &user)
        });
        let entry = |number: u64| JournalEntry {
            at: DateTime::UNIX_EPOCH,
            kind: ChangeKind::Corrected,
            origin: ChangeOrigin::Token("laptop".to_owned()),
            agent: None,
            ids: vec![RecordId::from_parts(number, 0)],
            count: 1,
        };
        let count = HELD_MAX as u64 + 1;
        for number in 0..count {
            ada.add(&entry(number));
        }
        bob.add(&entry(7));
        let held = ada.list();
        assert_eq!(held.len(), HELD_MAX);
        assert_eq!(held.first(), Some(&entry(1)), "the oldest made room");
        assert_eq!(bob.list(), [entry(7)]);
        Journal(None).add(&entry(0));
        assert!(Journal(None).list().is_empty());
    }

    #[test]
    fn programs_that_change_a_memory_at_once_lose_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_owned();
        let user = "ada".parse::<UserId>().unwrap();
        let entry = |number: u64| JournalEntry {
            at: DateTime::UNIX_EPOCH,
            kind: ChangeKind::Tagged,
            origin: ChangeOrigin::Command,
            agent: None,
            ids: vec![RecordId::from_parts(number, 0)],
            count: 1,
        };
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let journal = Journal::of_user(Some(&data), &user);
                let entry = &entry;
                scope.spawn(move || (0..20).for_each(|n| journal.add(&entry(writer * 20 + n))));
            }
        });
        let journal = Journal::of_user(Some(&data), &user);
        assert_eq!(journal.list().len(), 80);
    }
}
