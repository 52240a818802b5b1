//! What was done and said, a line each, appended and synced: the audit log of the store, and what
//! the coordination loop is folded from.
//!
//! Who published is named; who reported how a run went is a hash that only this store can make.

use fs_err::os::unix::fs::OpenOptionsExt;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{RecordId, UserId};
use serde::{Deserialize, Serialize};

use crate::coordination::{Coordination, CoordinationSettings, Standings};
use crate::error::GlobalError;
use crate::record::{Version, sha256_hex};
use crate::store::AuditLine;

const LEDGER_NAME: &str = "ledger.jsonl";
/// What makes the hashes of this store its own.
const SALT_NAME: &str = "salt";
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
            Self::Rated { .. } | Self::Reported { .. } => None,
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
    salt: Option<String>,
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
    pub(super) fn refresh(&mut self, now: DateTime<Utc>) -> Result<(), GlobalError> {
        let io = |error: std::io::Error| GlobalError::storage(&error);
        match fs_err::File::open(self.folder.join(LEDGER_NAME)) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(self.folded)).map_err(io)?;
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(io)?;
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
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io(error)),
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

    /// Appends lines; they are on disk afterwards. Whoever writes is alone.
    pub(super) fn write(&mut self, lines: &[Line]) -> Result<(), GlobalError> {
        let io = |error: std::io::Error| GlobalError::storage(&error);
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line).map_err(|error| GlobalError::storage(&error))?;
            text.push(b'\n');
        }
        let mut options = fs_err::OpenOptions::new();
        options.create(true).append(true).read(true).mode(0o600);
        let mut file = options.open(self.folder.join(LEDGER_NAME)).map_err(io)?;
        let end = file.seek(SeekFrom::End(0)).map_err(io)?;
        if end > 0 {
            let mut last = [0];
            file.seek(SeekFrom::Start(end - 1)).map_err(io)?;
            file.read_exact(&mut last).map_err(io)?;
            if last != *b"\n" {
                // A line that was never finished: it goes on no further.
                text.insert(0, b'\n');
            }
        }
        file.write_all(&text).map_err(io)?;
        file.sync_data().map_err(io)?;
        self.made = None;
        Ok(())
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

    /// What authors did, newest first, at most `limit` lines.
    pub(super) fn audit(&self, limit: usize) -> Result<Vec<AuditLine>, GlobalError> {
        let path = self.folder.join(LEDGER_NAME);
        let text = match fs_err::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(GlobalError::storage(&error)),
        };
        let lines = text.rsplit(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        Ok(lines.filter_map(Line::told).take(limit).collect())
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

    /// The name of a user as a contributor: one voice, and nobody's name.
    pub(super) fn contributor(&mut self, user: &UserId) -> Result<String, GlobalError> {
        let salt = match &self.salt {
            Some(salt) => salt,
            None => self.salt.insert(salt(&self.folder)?),
        };
        let mut hash = sha256_hex(format!("{salt}/{user}").as_bytes());
        hash.truncate(CONTRIBUTOR_DIGITS);
        Ok(hash)
    }
}

fn number(contributor: &str) -> Option<u128> {
    u128::from_str_radix(contributor, 16).ok()
}

/// Random digits that stay with the store; whoever asks holds the writer's lock.
fn salt(folder: &Path) -> Result<String, GlobalError> {
    let io = |error: std::io::Error| GlobalError::storage(&error);
    let path = folder.join(SALT_NAME);
    match fs_err::read_to_string(&path) {
        Ok(salt) if !salt.is_empty() => return Ok(salt),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    let salt = reprise_types::secret().map_err(io)?;
    let mut options = fs_err::OpenOptions::new();
    options.create(true).write(true).truncate(true).mode(0o600);
    let mut file = options.open(&path).map_err(io)?;
    file.write_all(salt.as_bytes()).map_err(io)?;
    file.sync_all().map_err(io)?;
    Ok(salt)
}
