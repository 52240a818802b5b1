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
use serde_json::Value;

use crate::caller::{Caller, Shelf};
use crate::coordination::{Coordination, CoordinationSettings, Standings, contributor};
use crate::error::{GlobalError, Result};
use crate::record::Version;
use crate::store::{AuditLine, no_branch};
use crate::takedown::{PersonLine, TakenDown, nobody};

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
    Snapshot(Named),
    Branched(Named),
    Merged(Named),
    Dropped(Named),
    /// By an operator.
    TakenDown {
        who: UserId,
        was: TakenDown,
    },
    PutBack {
        at: DateTime<Utc>,
        who: UserId,
        was: TakenDown,
    },
    Erased {
        at: DateTime<Utc>,
        who: UserId,
    },
}

/// What was done with a snapshot or a branch of this name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Named {
    pub(super) at: DateTime<Utc>,
    pub(super) who: UserId,
    pub(super) name: String,
}

impl Named {
    pub(super) fn new(at: DateTime<Utc>, caller: &Caller, name: &str) -> Self {
        Self {
            at,
            who: caller.user.clone(),
            name: name.to_owned(),
        }
    }
}

impl Line {
    pub(super) fn published(
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

    /// The line for a reader of the audit log; none of what readers said.
    fn told(self) -> Option<AuditLine> {
        let line = |at, who: UserId, what: &str, id, version, name| {
            Some(AuditLine {
                id,
                version,
                name,
                ..AuditLine::new(at, who.as_str(), what)
            })
        };
        let named = |done: Named, what| line(done.at, done.who, what, None, None, Some(done.name));
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
            Self::TakenDown { who, was } => Some(was.line(was.at, &who, "take_down")),
            Self::PutBack { at, who, was } => Some(was.line(at, &who, "put_back")),
            Self::Erased { at, who } => line(at, who, "erase", None, None, None),
            Self::Rated { .. } | Self::Reported { .. } | Self::Retrieved { .. } => None,
        }
    }
}

/// What the ledger says, at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) standings: Standings,
    /// What stands in a snapshot's name.
    pub(super) snapshots: Arc<BTreeMap<String, DateTime<Utc>>>,
    /// The branches that are open, by author and name, with the moment of their opening.
    pub(super) branches: Arc<BTreeMap<(UserId, String), DateTime<Utc>>>,
    /// What operators took down, by id.
    pub(super) taken: Arc<BTreeMap<RecordId, TakenDown>>,
}

impl Said {
    /// When the caller opened a branch.
    pub(super) fn opened(&self, caller: &Caller, name: &str) -> Result<DateTime<Utc>> {
        let at = self.branches.get(&(caller.user.clone(), name.to_owned()));
        at.copied().ok_or_else(|| no_branch(name))
    }

    /// The open branches of an author, each with the moment of its opening.
    pub(super) fn branches_of(
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
    /// Which file is folded: an erasure puts another one in its place.
    file: Option<u64>,
    coordination: Coordination,
    pub(super) said: Said,
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
            self.said.standings = Arc::new(self.coordination.standings(now));
            self.made = Some(now);
        }
        Ok(())
    }

    /// The ledger for whoever has the turn to write, as it stands now.
    pub(super) fn pen(&self) -> Pen {
        Pen {
            folder: self.folder.clone(),
            said: self.said.clone(),
        }
    }

    /// What was appended since it was last folded; `None` where nothing was ever written.
    fn appended(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(own) = Folder::find_own(&self.folder)? else {
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
        Ok(own.read_from(LEDGER_NAME, self.folded, LEDGER_BYTES_MAX)?)
    }

    fn fold(&mut self, line: Line) {
        self.made = None;
        match line {
            Line::Published { .. } | Line::Erased { .. } => {}
            Line::TakenDown { was, .. } => {
                self.coordination.forget(was.id);
                Arc::make_mut(&mut self.said.taken).insert(was.id, was);
            }
            Line::PutBack { was, .. } => {
                Arc::make_mut(&mut self.said.taken).remove(&was.id);
            }
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
            Line::Snapshot(Named { at, name, .. }) => {
                Arc::make_mut(&mut self.said.snapshots).insert(name, at);
            }
            Line::Branched(Named { at, who, name }) => {
                Arc::make_mut(&mut self.said.branches).insert((who, name), at);
            }
            Line::Merged(Named { who, name, .. }) | Line::Dropped(Named { who, name, .. }) => {
                Arc::make_mut(&mut self.said.branches).remove(&(who, name));
            }
        }
    }

    /// Whether one more retrieval by this contributor counts.
    pub(super) fn is_counted(&self, id: RecordId, by: &str) -> bool {
        number(by).is_some_and(|by| self.coordination.is_counted(id, by))
    }
}

/// What a writer adds to the ledger, without keeping those waiting who read it: they fold what was
/// appended when they look next.
#[derive(Debug)]
pub(super) struct Pen {
    folder: PathBuf,
    pub(super) said: Said,
}

/// What was erased of the ledger.
#[derive(Debug, Default)]
pub(super) struct Unsaid {
    pub(super) ratings: u64,
    pub(super) reports: u64,
    pub(super) retrieved: u64,
    /// Lines that name a hash now.
    pub(super) lines: u64,
    /// Lines that name the person still.
    pub(super) left: u64,
}

impl Pen {
    /// Puts a ledger in the place of this one in which a person has no name and has said nothing.
    /// Whoever writes is alone.
    pub(super) fn erase(&self, user: &UserId, at: DateTime<Utc>) -> Result<Unsaid> {
        let own = Folder::own(&self.folder)?;
        let text = own.read(LEDGER_NAME, LEDGER_BYTES_MAX)?;
        let (text, by) = (text.unwrap_or_default(), self.contributor(user)?);
        let nobody = nobody(&salt(&self.folder)?, user);
        let mut unsaid = Unsaid::default();
        let mut kept = Vec::with_capacity(text.len());
        for line in text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let Ok(mut value) = serde_json::from_slice::<Value>(line) else {
                continue;
            };
            match value["what"].as_str() {
                Some("rated") if value["by"] == by.as_str() => unsaid.ratings += 1,
                Some("reported") if value["by"] == by.as_str() => unsaid.reports += 1,
                Some("retrieved") if value["by"] == by.as_str() => unsaid.retrieved += 1,
                _ => {
                    if value["was"]["author"] == user.as_str() {
                        // Nothing of it is held any more, and nothing bars its author.
                        value["was"]["origin"] = String::new().into();
                        value["was"]["is_held"] = false.into();
                    }
                    unsaid.lines += u64::from(renamed(&mut value, user, &nobody));
                    kept.extend_from_slice(value.to_string().as_bytes());
                    kept.push(b'\n');
                }
            }
        }
        let who = nobody
            .parse()
            .map_err(|error| GlobalError::storage(&error))?;
        let line = serde_json::to_string(&Line::Erased { at, who })?;
        kept.extend_from_slice(line.as_bytes());
        kept.push(b'\n');
        own.replace(LEDGER_NAME, &kept)?;
        let lines = kept.split(|byte| *byte == b'\n');
        let values = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let named = values.filter(|value| renamed(&mut value.clone(), user, &nobody));
        unsaid.left = named.count() as u64;
        Ok(unsaid)
    }

    /// Appends lines; they are on disk afterwards. Whoever writes is alone.
    pub(super) fn write(&self, lines: &[Line]) -> Result<()> {
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
        Ok(Folder::own(&self.folder)?.append_line(LEDGER_NAME, &text)?)
    }

    /// A user as a contributor.
    pub(super) fn contributor(&self, user: &UserId) -> Result<String> {
        Ok(digits(&salt(&self.folder)?, user))
    }
}

/// A contributor as the ledger writes him.
fn digits(salt: &str, user: &UserId) -> String {
    format!("{:032x}", contributor(salt, user))
}

/// Puts another name in the place of a person's; whether it stood there.
fn renamed(value: &mut Value, user: &UserId, nobody: &str) -> bool {
    let mut found = false;
    for path in ["/who", "/was/author", "/was/operator"] {
        if let Some(name) = value.pointer_mut(path)
            && *name == user.as_str()
        {
            *name = nobody.into();
            found = true;
        }
    }
    found
}

/// What a person said and did, as the ledger has it.
pub(super) fn of_person(folder: &Path, user: &UserId) -> Result<Vec<PersonLine>> {
    let Some(own) = Folder::find_own(folder)? else {
        return Ok(Vec::new());
    };
    let text = own.read(LEDGER_NAME, LEDGER_BYTES_MAX)?;
    let salt = own.read_text(SALT_NAME, SALT_BYTES_MAX)?;
    let own_voice = salt.map(|salt| digits(&salt, user));
    let is_own = |by: &str| own_voice.as_deref() == Some(by);
    let text = text.unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    let told = lines.filter_map(|line| match line {
        Line::Rated { by, id, rating, .. } if is_own(&by) => Some(PersonLine::Rated { id, rating }),
        Line::Reported {
            by,
            id,
            score,
            count,
            ..
        } if is_own(&by) => Some(PersonLine::Reported { id, score, count }),
        Line::Retrieved { by, id, count, .. } if is_own(&by) => {
            Some(PersonLine::Retrieved { id, count })
        }
        line => {
            let did = line.told().filter(|did| did.who == user.as_str());
            did.map(PersonLine::Did)
        }
    });
    Ok(told.collect())
}

/// What authors did, newest first, at most `limit` lines.
pub(super) fn audit(folder: &Path, limit: usize) -> Result<Vec<AuditLine>> {
    let text = match Folder::find_own(folder)? {
        Some(own) => own.read(LEDGER_NAME, LEDGER_BYTES_MAX)?,
        None => None,
    };
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
    let own = Folder::own(folder)?;
    let kept = own.read_text(SALT_NAME, SALT_BYTES_MAX)?;
    if let Some(salt) = kept.filter(|salt| !salt.is_empty()) {
        return Ok(salt);
    }
    let salt = reprise_types::secret()?;
    own.replace(SALT_NAME, salt.as_bytes())?;
    Ok(salt)
}
