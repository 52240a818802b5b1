//! Who may come in over TCP: bearer tokens, of which only hashes are kept.
//!
//! Making, replacing, withdrawing and recognising tokens.

use std::fs::{File, Metadata, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use reprise_global::AuditLine;
use reprise_global::sha256_hex;
use reprise_types::{UserId, secret};
use serde::{Deserialize, Serialize};

/// Begins every token, so that scanners for leaked secrets know it.
const PREFIX: &str = "rpr_";
/// The log of grants and withdrawals beside the tokens.
const AUDIT_EXTENSION: &str = "audit.jsonl";
/// Most tokens of one file.
const TOKENS_MAX: usize = 1_000;
/// How long a change waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at the lock.
const LOOK: Duration = Duration::from_millis(1);

/// Whose memory a token opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// Every user's.
    #[serde(rename = "all")]
    All,
    /// One user's.
    #[serde(rename = "user")]
    User(UserId),
}

impl Scope {
    /// Whether it opens this user's memory.
    #[must_use]
    pub fn admits(&self, user: &UserId) -> bool {
        match self {
            Self::All => true,
            Self::User(own) => own == user,
        }
    }
}

/// What a token may do with a store of published knowledge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Whose member its user is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
    /// Whether the paid tier is open to him.
    #[serde(default)]
    pub paid: bool,
    /// Which operations.
    pub may: Vec<Right>,
}

/// A group of operations on published knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Ask, and read what was found.
    Read,
    /// Publish and take back, rate, report.
    Write,
    /// Make snapshots, read the audit log and metrics.
    Operate,
}

/// One token, without the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenEntry {
    /// What its maker calls it.
    pub name: String,
    pub scope: Scope,
    /// What it may do with published knowledge; nothing for a token of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    /// When it was made or replaced.
    pub created: DateTime<Utc>,
    sha256: String,
}

/// The token file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Not one of ours, or damaged.
    #[error(
        "`{path}` cannot be read as a token file ({message}); move it away and make new tokens"
    )]
    Unreadable {
        path: String,
        /// The parser's words.
        message: String,
    },
    #[error("there is a token `{name}` already; revoke it first, or choose another name")]
    Taken { name: String },
    /// No token has this name.
    #[error("there is no token `{name}`; `reprise token list` names them")]
    Unknown { name: String },
    /// A name nobody could type again.
    #[error("a token's name has 1 to 64 printable ASCII characters; choose another")]
    Name,
    #[error("there are {TOKENS_MAX} tokens already; revoke some")]
    TooMany,
    /// Another process does not let go of the lock.
    #[error("`{lock}` is held by another process for long; end it, or try again")]
    Busy { lock: String },
    /// No random bytes.
    #[error("the system gave no random bytes for a token ({0}); try again")]
    Random(std::io::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// What was read, kept open: so no later file can have its inode, and a changed path shows.
    _held: Option<File>,
    stamp: Option<Stamp>,
    entries: Vec<TokenEntry>,
}

/// Tells a file from its successor, and from itself edited in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([i64; 6]);

impl Stamp {
    fn of(file: &Metadata) -> Self {
        let ids = [file.dev(), file.ino(), file.size()].map(u64::cast_signed);
        let [device, inode, size] = ids;
        let (seconds, nanoseconds) = (file.mtime(), file.mtime_nsec());
        Self([device, inode, size, seconds, nanoseconds, file.ctime_nsec()])
    }
}

impl TokenFile {
    /// The file at this path, which need not exist yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            known: Mutex::default(),
        }
    }

    /// Every token, without the tokens.
    pub fn list(&self) -> Result<Vec<TokenEntry>, TokenError> {
        match fs_err::File::open(&self.path) {
            Ok(file) => read(&mut file.into_parts().0, &self.path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes down who was given or lost a token of published knowledge; it is on disk afterwards.
    pub fn audit(&self, line: &AuditLine) -> Result<(), TokenError> {
        let mut options = fs_err::OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let mut file = options.open(self.path.with_extension(AUDIT_EXTENSION))?;
        let text = serde_json::to_string(line).map_err(std::io::Error::other)?;
        file.write_all(format!("{text}\n").as_bytes())?;
        Ok(file.sync_data()?)
    }

    /// What a store tells and what was written down here, newest first, at most `limit` lines.
    pub fn audited(
        &self,
        mut told: Vec<AuditLine>,
        limit: usize,
    ) -> Result<Vec<AuditLine>, TokenError> {
        let path = self.path.with_extension(AUDIT_EXTENSION);
        let text = match fs_err::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let lines = text.rsplit(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<AuditLine>(line).ok());
        told.extend(lines.take(limit));
        told.sort_by_key(|line| std::cmp::Reverse(line.at));
        told.truncate(limit);
        Ok(told)
    }

    /// Makes a token and answers it: the only time that it is shown.
    pub fn add(&self, name: &str, scope: Scope, now: DateTime<Utc>) -> Result<String, TokenError> {
        self.add_with(name, scope, None, now)
    }

    /// The same for the service of published knowledge.
    pub fn add_with(
        &self,
        name: &str,
        scope: Scope,
        grant: Option<Grant>,
        now: DateTime<Utc>,
    ) -> Result<String, TokenError> {
        if name.is_empty() || name.len() > 64 || !name.chars().all(|c| c.is_ascii_graphic()) {
            return Err(TokenError::Name);
        }
        let token = format!("{PREFIX}{}", secret().map_err(TokenError::Random)?);
        self.change(|entries| {
            if entries.iter().any(|entry| entry.name == name) {
                return Err(TokenError::Taken {
                    name: name.to_owned(),
                });
            }
            if entries.len() >= TOKENS_MAX {
                return Err(TokenError::TooMany);
            }
            entries.push(TokenEntry {
                name: name.to_owned(),
                scope,
                grant,
                created: now,
                sha256: hash(&token),
            });
            Ok(())
        })?;
        Ok(token)
    }

    /// Replaces a token by a new one of the same scope; the old one opens nothing any more.
    pub fn rotate(&self, name: &str, now: DateTime<Utc>) -> Result<String, TokenError> {
        let token = format!("{PREFIX}{}", secret().map_err(TokenError::Random)?);
        self.change(|entries| {
            let entry = entries.iter_mut().find(|entry| entry.name == name);
            let entry = entry.ok_or_else(|| unknown(name))?;
            entry.sha256 = hash(&token);
            entry.created = now;
            Ok(())
        })?;
        Ok(token)
    }

    pub fn revoke(&self, name: &str) -> Result<(), TokenError> {
        self.change(|entries| {
            let place = entries.iter().position(|entry| entry.name == name);
            entries.remove(place.ok_or_else(|| unknown(name))?);
            Ok(())
        })
    }

    /// The entry of a token; `None` for one that is not known. Sees a changed file at once.
    pub fn recognise(&self, token: &str) -> Option<TokenEntry> {
        // Hashes are compared: how long that takes says nothing of the token.
        let wanted = hash(token);
        self.find(|entry| entry.sha256 == wanted)
    }

    /// Whether this very entry stands: neither replaced nor withdrawn since it was recognised.
    pub(crate) fn stands(&self, entry: &TokenEntry) -> bool {
        self.find(|other| other == entry).is_some()
    }

    fn find(&self, wanted: impl Fn(&TokenEntry) -> bool) -> Option<TokenEntry> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = fs_err::metadata(&self.path).map(|file| Stamp::of(&file));
        if known.stamp != found.ok() {
            *known = self.look();
        }
        known.entries.iter().find(|entry| wanted(entry)).cloned()
    }

    /// What stands in the file; nothing where it cannot be read.
    fn look(&self) -> Known {
        let opened = fs_err::File::open(&self.path).map(|file| file.into_parts().0);
        let Ok(mut file) = opened else {
            return Known::default();
        };
        let stamp = file.metadata().map(|file| Stamp::of(&file)).ok();
        let entries = read(&mut file, &self.path).unwrap_or_else(|error| {
            tracing::error!(%error, "no token is accepted");
            Vec::new()
        });
        Known {
            _held: Some(file),
            stamp,
            entries,
        }
    }

    /// Reads, edits and writes the file as one step among all processes.
    fn change(
        &self,
        edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<(), TokenError>,
    ) -> Result<(), TokenError> {
        let _alone = self.alone()?;
        let mut entries = self.list()?;
        edit(&mut entries)?;
        self.write(&entries)
    }

    /// The lock of all who change the file; it goes with its descriptor. The file itself cannot be
    /// it: each change puts another one in its place.
    fn alone(&self) -> Result<File, TokenError> {
        let path = self.path.with_extension("lock");
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(&path)?;
        let since = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) if since.elapsed() > PATIENCE => {
                    let lock = path.display().to_string();
                    return Err(TokenError::Busy { lock });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
            }
        }
    }

    fn write(&self, entries: &[TokenEntry]) -> Result<(), TokenError> {
        let text = serde_json::to_string_pretty(entries).map_err(std::io::Error::other)?;
        let beside = self.path.with_extension("new");
        // A file left by a crash may have any mode: the new one is made, not opened.
        if beside.exists() {
            fs_err::remove_file(&beside)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs_err::rename(&beside, &self.path)?;
        if let Some(folder) = self.path.parent() {
            fs_err::File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

fn read(file: &mut File, path: &Path) -> Result<Vec<TokenEntry>, TokenError> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(|error| TokenError::Unreadable {
        path: path.display().to_string(),
        message: error.to_string(),
    })
}

fn unknown(name: &str) -> TokenError {
    TokenError::Unknown {
        name: name.chars().take(64).collect(),
    }
}

fn hash(token: &str) -> String {
    sha256_hex(token.as_bytes())
}

#[cfg(test)]
mod tests;
