//! What was done and said, a line each, appended and synced: the audit log of the store, and what
//! the coordination loop is folded from.
//!
//! Who published is named; who reported how a run went is a hash that only this store can make.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_files::Folder;
use reprise_types::{RecordId, UserId};
use serde::{Deserialize, Serialize};

use crate::audit::AuditLine;
use crate::caller::{Caller, Shelf};
use crate::coordination::{Coordination, CoordinationSettings, Reputations, contributor_id};
use crate::error::GlobalResult;
use crate::record::Version;
use crate::store::no_branch_error;

const LEDGER_NAME: &str = "ledger.jsonl";
/// What makes the hashes of this store its own.
const SALT_NAME: &str = "salt";
/// Most bytes of a ledger: some millions of lines.
const LEDGER_BYTES_MAX: u64 = 1 << 30;
const SALT_BYTES_MAX: u64 = 4_096;
/// Voices fade by days: so long standings need not be looked at again.
const FRESH: TimeDelta = TimeDelta::minutes(10);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(super) enum LedgerEntry {
    Published {
        at: DateTime<Utc>,
        who: UserId,
        id: RecordId,
        version: Version,
        shelf: String,
    },
    Unpublished {
        at: DateTime<Utc>,
        who: UserId,
        id: RecordId,
        versions: u32,
    },
    Rated {
        at: DateTime<Utc>,
        by: String,
        id: RecordId,
        rating: f32,
    },
    Reported {
        at: DateTime<Utc>,
        by: String,
        id: RecordId,
        score: f32,
        count: u32,
    },
    /// Answers to a reader had this thing.
    Retrieved {
        at: DateTime<Utc>,
        by: String,
        id: RecordId,
        count: u32,
    },
    Snapshot(NamedEntry),
    Branched(NamedEntry),
    Merged(NamedEntry),
    Dropped(NamedEntry),
    /// What an older version wrote of operators, who have no store in a folder any more.
    #[serde(other)]
    OfOperators,
}

/// What was done with a snapshot or a branch of this name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct NamedEntry {
    pub(super) at: DateTime<Utc>,
    pub(super) who: UserId,
    pub(super) name: String,
}

impl NamedEntry {
    pub(super) fn new(at: DateTime<Utc>, caller: &Caller, name: &str) -> Self {
        Self {
            at,
            who: caller.user.clone(),
            name: name.to_owned(),
        }
    }
}

impl LedgerEntry {
    pub(super) fn new_published(
        at: DateTime<Utc>,
        caller: &Caller,
        (id, version): (RecordId, Version),
        shelf: &Shelf,
    ) -> Self {
        Self::Published {
            at,
            who: caller.user.clone(),
            id,
            version,
            shelf: shelf.to_string(),
        }
    }

    /// Converts into a line of the audit log; what readers said has none.
    fn into_audit_line(self) -> Option<AuditLine> {
        let line = |at, who: UserId, what: &str, id, version, name| {
            Some(AuditLine {
                id,
                version,
                name,
                ..AuditLine::new(at, who.as_str(), what)
            })
        };
        let named =
            |done: NamedEntry, what| line(done.at, done.who, what, None, None, Some(done.name));
        match self {
            Self::Published {
                at,
                who,
                id,
                version,
                shelf,
            } => line(at, who, "publish", Some(id), Some(version.0), Some(shelf)),
            Self::Unpublished {
                at,
                who,
                id,
                versions,
            } => line(at, who, "unpublish", Some(id), Some(versions), None),
            Self::Snapshot(done) => named(done, "snapshot"),
            Self::Branched(done) => named(done, "branch"),
            Self::Merged(done) => named(done, "merge"),
            Self::Dropped(done) => named(done, "drop"),
            Self::Rated { .. }
            | Self::Reported { .. }
            | Self::Retrieved { .. }
            | Self::OfOperators => None,
        }
    }
}

/// What the ledger says at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct LedgerState {
    pub(super) standings: Reputations,
    /// The moment that each snapshot names.
    pub(super) snapshots: Arc<BTreeMap<String, DateTime<Utc>>>,
    /// The branches that are open, by author and name, with the moment of their opening.
    pub(super) branches: Arc<BTreeMap<(UserId, String), DateTime<Utc>>>,
}

impl LedgerState {
    /// Returns when the caller opened a branch.
    pub(super) fn find_branch_opening(
        &self,
        caller: &Caller,
        name: &str,
    ) -> GlobalResult<DateTime<Utc>> {
        let at = self.branches.get(&(caller.user.clone(), name.to_owned()));
        at.copied().ok_or_else(|| no_branch_error(name))
    }

    /// The open branches of an author, each with the moment of its opening.
    pub(super) fn list_open_branches(
        &self,
        author: &UserId,
    ) -> impl Iterator<Item = (&str, DateTime<Utc>)> {
        let own = self.branches.iter();
        let own = own.filter(move |((who, _), _)| who == author);
        own.map(|((_, name), at)| (name.as_str(), *at))
    }
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    folder: PathBuf,
    settings: CoordinationSettings,
    /// Which file is folded: a restored backup puts another one in its place.
    file: Option<u64>,
    coordination: Coordination,
    pub(super) state: LedgerState,
    /// When the standings were made; `None` where something was said since.
    made: Option<DateTime<Utc>>,
    /// Bytes of the file that are folded.
    folded: u64,
}

impl Ledger {
    pub(super) fn new(folder: &Path, settings: CoordinationSettings) -> Self {
        Self {
            folder: folder.to_owned(),
            settings,
            coordination: Coordination::new(settings),
            ..Self::default()
        }
    }

    /// Folds what was appended since, by whomever. A last line without its end is being written, or
    /// never was.
    pub(super) fn fold_appended(&mut self, now: DateTime<Utc>) -> GlobalResult<()> {
        if let Some(bytes) = self.read_appended()? {
            let whole = bytes.iter().rposition(|byte| *byte == b'\n');
            let lines = bytes.get(..whole.map_or(0, |end| end + 1));
            for line in lines.unwrap_or_default().split(|byte| *byte == b'\n') {
                self.folded += line.len() as u64 + 1;
                match serde_json::from_slice(line) {
                    Ok(line) => self.apply_entry(line),
                    Err(_) if line.is_empty() => {}
                    Err(error) => tracing::warn!(%error, "a line of the ledger is damaged"),
                }
            }
            // The split gives one more, empty, after the last line.
            self.folded -= 1;
        }
        if self
            .made
            .is_none_or(|made| now - made > FRESH || now < made)
        {
            self.state.standings = Arc::new(self.coordination.compute_reputations(now));
            self.made = Some(now);
        }
        Ok(())
    }

    /// Returns a writer for the one who has the turn, with the ledger's state of now.
    pub(super) fn ledger_writer(&self) -> LedgerWriter {
        LedgerWriter {
            folder: self.folder.clone(),
            state: self.state.clone(),
        }
    }

    /// What was appended since it was last folded; `None` where nothing was ever written.
    fn read_appended(&mut self) -> GlobalResult<Option<Vec<u8>>> {
        let Some(own) = Folder::find_no_follow(&self.folder)? else {
            return Ok(None);
        };
        let file = own.find_file(LEDGER_NAME)?;
        let file = file.and_then(|file| file.metadata().ok());
        let file = file.map(|file| file.ino());
        if file != self.file {
            let folder = self.folder.clone();
            *self = Self::new(&folder, self.settings);
            self.file = file;
        }
        Ok(own.read_from_offset(LEDGER_NAME, self.folded, LEDGER_BYTES_MAX)?)
    }

    fn apply_entry(&mut self, line: LedgerEntry) {
        self.made = None;
        match line {
            LedgerEntry::Published { .. } | LedgerEntry::OfOperators => {}
            LedgerEntry::Unpublished { id, .. } => {
                self.coordination.forget_thing(id);
            }
            LedgerEntry::Rated { by, id, rating, .. } => {
                if let Some(by) = parse_contributor(&by) {
                    self.coordination.set_rating(id, by, rating);
                }
            }
            LedgerEntry::Reported {
                at,
                by,
                id,
                score,
                count,
            } => {
                if let Some(by) = parse_contributor(&by) {
                    self.coordination.add_report(id, by, score, count, at);
                }
            }
            LedgerEntry::Retrieved { by, id, count, .. } => {
                if let Some(by) = parse_contributor(&by) {
                    self.coordination.add_retrieved(id, by, count);
                }
            }
            LedgerEntry::Snapshot(NamedEntry { at, name, .. }) => {
                Arc::make_mut(&mut self.state.snapshots).insert(name, at);
            }
            LedgerEntry::Branched(NamedEntry { at, who, name }) => {
                Arc::make_mut(&mut self.state.branches).insert((who, name), at);
            }
            LedgerEntry::Merged(NamedEntry { who, name, .. })
            | LedgerEntry::Dropped(NamedEntry { who, name, .. }) => {
                Arc::make_mut(&mut self.state.branches).remove(&(who, name));
            }
        }
    }

    /// Whether one more retrieval by this contributor counts.
    pub(super) fn would_count_retrieval(&self, id: RecordId, by: &str) -> bool {
        parse_contributor(by).is_some_and(|by| self.coordination.would_count_retrieval(id, by))
    }
}

/// Appends to the ledger without blocking its readers, who fold what was appended when they look
/// next.
#[derive(Debug)]
pub(super) struct LedgerWriter {
    folder: PathBuf,
    pub(super) state: LedgerState,
}

impl LedgerWriter {
    /// Appends lines; they are on disk afterwards. Only the one who has the turn may call it.
    pub(super) fn append_entries(&self, lines: &[LedgerEntry]) -> GlobalResult<()> {
        let mut text = Vec::new();
        for line in lines {
            if !text.is_empty() {
                text.push(b'\n');
            }
            serde_json::to_writer(&mut text, line)?;
        }
        if text.is_empty() {
            return Ok(());
        }
        Ok(Folder::open_no_follow(&self.folder)?.append_line(LEDGER_NAME, &text)?)
    }

    /// Returns the user's contributor id, which only this store can compute.
    pub(super) fn contributor_id(&self, user: &UserId) -> GlobalResult<String> {
        let salt = ensure_salt(&self.folder)?;
        Ok(format!("{:032x}", contributor_id(&salt, user)))
    }
}

/// Reads what authors did, newest first, at most `limit` lines for which `is_wanted` is true.
pub(super) fn read_audit(
    folder: &Path,
    limit: usize,
    is_wanted: impl Fn(&AuditLine) -> bool,
) -> GlobalResult<Vec<AuditLine>> {
    let text = match Folder::find_no_follow(folder)? {
        Some(own) => own.read(LEDGER_NAME, LEDGER_BYTES_MAX)?,
        None => None,
    };
    let text = text.unwrap_or_default();
    let lines = text.rsplit(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<LedgerEntry>(line).ok());
    Ok(lines
        .filter_map(LedgerEntry::into_audit_line)
        .filter(is_wanted)
        .take(limit)
        .collect())
}

fn parse_contributor(contributor: &str) -> Option<u128> {
    u128::from_str_radix(contributor, 16).ok()
}

/// Returns the store's random digits, and makes them the first time. The caller holds the writer's
/// lock.
fn ensure_salt(folder: &Path) -> GlobalResult<String> {
    let own = Folder::open_no_follow(folder)?;
    let kept = own.read_text(SALT_NAME, SALT_BYTES_MAX)?;
    if let Some(salt) = kept.filter(|salt| !salt.is_empty()) {
        return Ok(salt);
    }
    let salt = reprise_types::generate_secret()?;
    own.replace(SALT_NAME, salt.as_bytes())?;
    Ok(salt)
}
