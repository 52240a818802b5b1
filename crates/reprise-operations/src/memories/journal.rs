//! The journal of changes that people and programs made: what was changed, when and from where.
//! What a change did is in the memory itself; the journal adds where it came from, and holds ids
//! alone. It is a file of the data directory, so that the terminal and the daemon share it.

use std::path::{Path, PathBuf};

use reprise_knowledge::{read_changes, save_changes};

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
    /// The memories that were changed, at most fifty; of a correction its new version.
    pub ids: Vec<RecordId>,
    /// How many there were.
    pub count: usize,
}

type EntriesByUser = BTreeMap<String, Vec<JournalEntry>>;

/// One writer at a time in this process.
static WRITING: Mutex<()> = Mutex::new(());

/// The journal of all users.
#[derive(Debug)]
struct Journal<'a>(Option<&'a Path>);

impl Journal<'_> {
    fn read(&self) -> EntriesByUser {
        let text = self.0.and_then(read_changes);
        let entries = text.and_then(|text| serde_json::from_str(&text).ok());
        entries.unwrap_or_default()
    }

    /// Adds an entry. A journal that cannot be written loses where a change came from, and nothing
    /// else: the change itself is made.
    fn add(&self, user: &UserId, entry: JournalEntry) {
        let Some(data) = self.0 else { return };
        let _alone = lock(&WRITING);
        let mut all = self.read();
        let own = all.entry(user.to_string()).or_default();
        own.push(entry);
        let over = own.len().saturating_sub(HELD_MAX);
        own.drain(..over);
        let text = serde_json::to_string(&all).map_err(|error| error.to_string());
        let saved =
            text.and_then(|text| save_changes(data, &text).map_err(|error| error.to_string()));
        if let Err(error) = saved {
            tracing::warn!(error, "the journal of changes could not be written");
        }
    }
}

impl Memory {
    fn journal(&self) -> Journal<'_> {
        Journal(self.pause_store().data_dir().map(PathBuf::as_path))
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
            ids: ids.iter().take(NAMED_MAX).copied().collect(),
            count: ids.len(),
        };
        self.journal().add(&self.user, entry);
    }

    /// Lists the changes that the journal holds, the newest first.
    pub fn list_changes(&self) -> Vec<JournalEntry> {
        let own = self.journal().read().remove(self.user.as_str());
        let mut entries = own.unwrap_or_default();
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
        let journal = Journal(Some(folder.path()));
        let [ada, bob] = ["ada", "bob"].map(|name| name.parse::<UserId>().unwrap());
        let entry = |number: u64| JournalEntry {
            at: DateTime::UNIX_EPOCH,
            kind: ChangeKind::Corrected,
            origin: ChangeOrigin::Token("laptop".to_owned()),
            ids: vec![RecordId::from_parts(number, 0)],
            count: 1,
        };
        for number in 0..=HELD_MAX as u64 {
            journal.add(&ada, entry(number));
        }
        journal.add(&bob, entry(7));
        let all = journal.read();
        assert_eq!(all["ada"].len(), HELD_MAX);
        assert_eq!(all["ada"][0], entry(1), "the oldest made room");
        assert_eq!(all["bob"], [entry(7)]);
        Journal(None).add(&ada, entry(0));
        assert!(Journal(None).read().is_empty());
    }
}
