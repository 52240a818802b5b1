//! What was done and said, a line each, appended and synced: the audit log of the store, and what
//! the coordination loop is folded from.
//!
//! Who published is named; who reported how a run went is a hash that only this store can make.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_files::{FileError, Folder};
use reprise_types::{RecordId, UserId};
use serde::{Deserialize, Serialize};

use crate::coordination::{Coordination, CoordinationSettings, Standings};
use crate::error::{GlobalError, Result};
use crate::record::{Version, sha256_hex};
use crate::store::AuditLine;

const LEDGER_NAME: &str = "ledger.jsonl";
/// What makes the hashes of this store its own.
const SALT_NAME: &str = "salt";
/// Most bytes of a ledger: some millions of lines.
const LEDGER_BYTES_MAX: u64 = 1 << 30;
const SALT_BYTES_MAX: u64 = 4_096;
/// Digits of a contributor's hash.
const CONTRIBUTOR_DIGITS: usize = 32;
/// Voices fade by days: so long standings need not be looked at again.
const FRESH: TimeDelta = TimeDelta::minutes(10);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(super) enum Line {
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
    Snapshot {
        at: DateTime<Utc>,
        who: UserId,
        name: String,
    },
    Branched {
        at: DateTime<Utc>,
        who: UserId,
        name: String,
    },
    Merged {
        at: DateTime<Utc>,
        who: UserId,
        name: String,
    },
    Dropped {
        at: DateTime<Utc>,
        who: UserId,
        name: String,
    },
}

impl Line {
    /// The line for a reader of the audit log; none of what readers said.
    fn told(self) -> Option<AuditLine> {
        let line = |at, who: UserId, what: &str, id, version, name| {
            Some(AuditLine {
                at,
                who: who.to_string(),
                what: what.to_owned(),
                id,
                version,
                name,
                about: None,
            })
        };
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
            Self::Snapshot { at, who, name } => line(at, who, "snapshot", None, None, Some(name)),
            Self::Branched { at, who, name } => line(at, who, "branch", None, None, Some(name)),
            Self::Merged { at, who, name } => line(at, who, "merge", None, None, Some(name)),
            Self::Dropped { at, who, name } => line(at, who, "drop", None, None, Some(name)),
            Self::Rated { .. } | Self::Reported { .. } | Self::Retrieved { .. } => None,
        }
    }
}

/// What stands in a snapshot's name.
pub(super) type Snapshots = Arc<BTreeMap<String, DateTime<Utc>>>;

/// The branches that are open, by author and name, with the moment of their opening.
pub(super) type Branches = Arc<BTreeMap<(UserId, String), DateTime<Utc>>>;

#[derive(Debug, Default)]
pub(super) struct Ledger {
    folder: PathBuf,
    coordination: Coordination,
    snapshots: Snapshots,
    branches: Branches,
    standings: Standings,
    /// When the standings were made; `None` where something was said since.
    made: Option<DateTime<Utc>>,
    /// Bytes of the file that are folded.
    folded: u64,
}

impl Ledger {
    pub(super) fn new(folder: &Path, settings: CoordinationSettings) -> Self {
        Self {
            folder: folder.to_owned(),
            coordination: Coordination::new(settings),
            ..Self::default()
        }
    }

    /// Folds what was appended since, by whomever. A last line without its end is being written, or
    /// never was.
    pub(super) fn refresh(&mut self, now: DateTime<Utc>) -> Result<()> {
        if let Some(bytes) = self.appended()? {
            let whole = bytes.iter().rposition(|byte| *byte == b'\n');
            let lines = bytes.get(..whole.map_or(0, |end| end + 1));
            for line in lines.unwrap_or_default().split(|byte| *byte == b'\n') {
                self.folded += line.len() as u64 + 1;
                match serde_json::from_slice(line) {
                    Ok(line) => self.fold(line),
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
            self.standings = Arc::new(self.coordination.standings(now));
            self.made = Some(now);
        }
        Ok(())
    }

    /// The ledger for whoever has the turn to write, as it stands now.
    pub(super) fn pen(&self) -> Pen {
        Pen {
            folder: self.folder.clone(),
            snapshots: self.snapshots(),
            branches: self.branches(),
        }
    }

    /// What was appended since it was last folded; `None` where nothing was ever written.
    fn appended(&self) -> Result<Option<Vec<u8>>> {
        let found = || -> Result<Option<Vec<u8>>, FileError> {
            let Some(own) = Folder::find_own(&self.folder)? else {
                return Ok(None);
            };
            own.read_from(LEDGER_NAME, self.folded, LEDGER_BYTES_MAX)
        };
        found().map_err(|error| GlobalError::storage(&error))
    }

    fn fold(&mut self, line: Line) {
        self.made = None;
        match line {
            Line::Published { .. } => {}
            Line::Unpublished { id, .. } => {
                self.coordination.forget(id);
            }
            Line::Rated { by, id, rating, .. } => {
                if let Some(by) = number(&by) {
                    self.coordination.rate(id, by, rating);
                }
            }
            Line::Reported {
                at,
                by,
                id,
                score,
                count,
            } => {
                if let Some(by) = number(&by) {
                    self.coordination.report(id, by, score, count, at);
                }
            }
            Line::Retrieved { by, id, count, .. } => {
                if let Some(by) = number(&by) {
                    self.coordination.retrieve(id, by, count);
                }
            }
            Line::Snapshot { at, name, .. } => {
                Arc::make_mut(&mut self.snapshots).insert(name, at);
            }
            Line::Branched { at, who, name } => {
                Arc::make_mut(&mut self.branches).insert((who, name), at);
            }
            Line::Merged { who, name, .. } | Line::Dropped { who, name, .. } => {
                Arc::make_mut(&mut self.branches).remove(&(who, name));
            }
        }
    }

    /// Whether one more retrieval by this contributor counts.
    pub(super) fn is_counted(&self, id: RecordId, by: &str) -> bool {
        number(by).is_some_and(|by| self.coordination.is_counted(id, by))
    }

    pub(super) fn standings(&self) -> Standings {
        Arc::clone(&self.standings)
    }

    pub(super) fn snapshots(&self) -> Snapshots {
        Arc::clone(&self.snapshots)
    }

    pub(super) fn branches(&self) -> Branches {
        Arc::clone(&self.branches)
    }
}

/// What a writer adds to the ledger, without keeping those waiting who read it: they fold what was
/// appended when they look next.
#[derive(Debug)]
pub(super) struct Pen {
    folder: PathBuf,
    pub(super) snapshots: Snapshots,
    pub(super) branches: Branches,
}

impl Pen {
    /// Appends lines; they are on disk afterwards. Whoever writes is alone.
    pub(super) fn write(&self, lines: &[Line]) -> Result<()> {
        let mut text = Vec::new();
        for line in lines {
            if !text.is_empty() {
                text.push(b'\n');
            }
            serde_json::to_writer(&mut text, line).map_err(|error| GlobalError::storage(&error))?;
        }
        if text.is_empty() {
            return Ok(());
        }
        let own = Folder::own(&self.folder);
        let written = own.and_then(|own| own.append_line(LEDGER_NAME, &text));
        written.map_err(|error| GlobalError::storage(&error))
    }

    /// The name of a user as a contributor: one voice, and nobody's name.
    pub(super) fn contributor(&self, user: &UserId) -> Result<String> {
        let salt = salt(&self.folder)?;
        let mut hash = sha256_hex(format!("{salt}/{user}").as_bytes());
        hash.truncate(CONTRIBUTOR_DIGITS);
        Ok(hash)
    }
}

/// What authors did, newest first, at most `limit` lines.
pub(super) fn audit(folder: &Path, limit: usize) -> Result<Vec<AuditLine>> {
    let own = Folder::find_own(folder);
    let text = own.and_then(|own| match own {
        Some(own) => own.read(LEDGER_NAME, LEDGER_BYTES_MAX),
        None => Ok(None),
    });
    let text = text.map_err(|error| GlobalError::storage(&error))?;
    let text = text.unwrap_or_default();
    let lines = text.rsplit(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    Ok(lines.filter_map(Line::told).take(limit).collect())
}

fn number(contributor: &str) -> Option<u128> {
    u128::from_str_radix(contributor, 16).ok()
}

/// Random digits that stay with the store; whoever asks holds the writer's lock.
fn salt(folder: &Path) -> Result<String> {
    let io = |error: std::io::Error| GlobalError::storage(&error);
    let own = Folder::own(folder).map_err(|error| io(error.into()))?;
    let kept = own.read_text(SALT_NAME, SALT_BYTES_MAX);
    let kept = kept.map_err(|error| io(error.into()))?;
    if let Some(salt) = kept.filter(|salt| !salt.is_empty()) {
        return Ok(salt);
    }
    let salt = reprise_types::secret().map_err(io)?;
    let kept = own.replace(SALT_NAME, salt.as_bytes());
    kept.map_err(|error| io(error.into()))?;
    Ok(salt)
}
