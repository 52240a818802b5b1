//! Who may come in over TCP: bearer tokens, of which only hashes are kept.
//!
//! Making, replacing, withdrawing and recognising tokens.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_files::{FileError, Folder};
use reprise_global::{AuditLine, GlobalError, ProjectId};
use reprise_operations::Right;
use reprise_types::{Clock, SystemClock, UserId, generate_secret, lock, sha256_hex};
use serde::{Deserialize, Serialize};

mod changes;
mod members;
mod service;
mod signed;
mod uses;

pub use changes::{NewToken, generate_link_name};
pub use members::Member;
pub use service::{KnownToken, ServiceTokens};
pub(crate) use signed::Tokens;

/// Begins every token, so that scanners for leaked secrets know it.
const PREFIX: &str = "rpr_";
/// Extension of the log of grants and withdrawals next to the tokens.
const AUDIT_EXTENSION: &str = "audit.jsonl";
/// Most tokens of one file.
const TOKENS_MAX: usize = 1_000;
/// How long a change waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most bytes of a file, each token at its longest.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Most bytes of the log of grants and withdrawals.
const AUDIT_BYTES_MAX: u64 = 256 * 1024 * 1024;

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
    /// Of which of its projects the user is a member, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<ProjectId>,
    /// Whether the paid tier is open to him.
    #[serde(default)]
    pub paid: bool,
    /// Which operations.
    pub may: Vec<Right>,
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
    /// From when on it opens nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<DateTime<Utc>>,
    /// The token that this one replaced, for as long as that still opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<Earlier>,
    /// It opens nothing yet: who shows it first gets a token in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_invitation: bool,
    /// It signs a browser in to the page of operators, and ends after some hours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_sign_in: bool,
    sha256: String,
    /// How a program that signed in for it renews it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signed: Option<signed::Signed>,
}

/// A token that was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Earlier {
    sha256: String,
    until: DateTime<Utc>,
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
    #[error("there is no token `{name}`; `reprise serve token list` names them")]
    Unknown { name: String },
    /// A name nobody could type again.
    #[error("a token's name has 1 to 64 printable ASCII characters; choose another")]
    Name,
    #[error("there are {TOKENS_MAX} tokens already; revoke some")]
    TooMany,
    /// An invitation that was used, is over, or never was: which of these is not said.
    #[error("this invitation is not open; ask who sent it for another")]
    NotInvited,
    /// The database of the tokens did not do it.
    #[error(transparent)]
    Store(#[from] GlobalError),
    /// No random bytes.
    #[error("the system gave no random bytes for a token ({0}); try again")]
    Random(std::io::Error),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    known: Mutex<CachedTokens>,
    uses: uses::TokenUses,
}

#[derive(Debug, Default)]
struct CachedTokens {
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
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            known: Mutex::default(),
            uses: uses::TokenUses::default(),
        }
    }

    /// Every token, without the tokens.
    pub fn list(&self) -> Result<Vec<TokenEntry>, TokenError> {
        let text = self.read(self.name(), BYTES_MAX)?;
        text.map_or(Ok(Vec::new()), |text| parse(&text, &self.path))
    }

    /// Writes down who was given or lost a token of published knowledge; it is on disk afterwards.
    pub fn audit(&self, line: &AuditLine) -> Result<(), TokenError> {
        let text = serde_json::to_vec(line).map_err(std::io::Error::other)?;
        Ok(self
            .folder()?
            .append_line(self.sibling_name(AUDIT_EXTENSION), &text)?)
    }

    /// What a store tells and what was written down here, newest first, at most `limit` lines.
    pub fn merge_audit(
        &self,
        mut told: Vec<AuditLine>,
        limit: usize,
    ) -> Result<Vec<AuditLine>, TokenError> {
        let text = self.read(self.sibling_name(AUDIT_EXTENSION), AUDIT_BYTES_MAX)?;
        let text = text.unwrap_or_default();
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

    /// Makes a token for the service of published knowledge and returns it.
    pub fn add_with(
        &self,
        name: &str,
        scope: Scope,
        grant: Option<Grant>,
        now: DateTime<Utc>,
    ) -> Result<String, TokenError> {
        let new = NewToken {
            name: name.to_owned(),
            scope,
            grant,
            expires: None,
        };
        self.add_new(new, now)
    }

    /// Makes a token that may end by itself, and returns it.
    pub(crate) fn add_new(&self, new: NewToken, now: DateTime<Utc>) -> Result<String, TokenError> {
        let token = generate_token(PREFIX)?;
        self.change(|entries| changes::add(entries, new, &token, now))?;
        Ok(token)
    }

    /// Replaces a token by a new one of the same scope; the old one opens nothing any more.
    pub fn rotate(&self, name: &str, now: DateTime<Utc>) -> Result<String, TokenError> {
        let token = generate_token(PREFIX)?;
        self.change(|entries| changes::rotate(entries, name, &token, now, TimeDelta::zero()))?;
        Ok(token)
    }

    pub fn revoke(&self, name: &str) -> Result<(), TokenError> {
        self.change(|entries| changes::revoke(entries, name))
            .map(drop)
    }

    /// The entry of a token; `None` for one that is not known. Sees a changed file at once.
    pub fn recognise(&self, token: &str) -> Option<TokenEntry> {
        // Hashes are compared: how long that takes says nothing of the token.
        let (wanted, now) = (hash(token), SystemClock.now());
        self.find(|entry| changes::opens(entry, &wanted, now))
    }

    /// Returns whether this very entry is valid: neither replaced nor withdrawn since it was
    /// recognised.
    pub(crate) fn is_valid(&self, entry: &TokenEntry) -> bool {
        self.find(|other| other == entry).is_some()
    }

    fn find(&self, wanted: impl Fn(&TokenEntry) -> bool) -> Option<TokenEntry> {
        let mut known = lock(&self.known);
        let found = self.open();
        let stamp = found.as_ref().and_then(|file| file.metadata().ok());
        let stamp = stamp.map(|file| Stamp::of(&file));
        if known.stamp != stamp {
            *known = found.map(|file| self.load_tokens(file)).unwrap_or_default();
        }
        known.entries.iter().find(|entry| wanted(entry)).cloned()
    }

    fn open(&self) -> Option<File> {
        let folder = Folder::find_no_follow(self.parent()).ok()??;
        folder.find_file(self.name()).ok()?
    }

    /// Loads the entries of the file; none if it cannot be read.
    fn load_tokens(&self, mut file: File) -> CachedTokens {
        let stamp = file.metadata().ok().map(|file| Stamp::of(&file));
        let mut text = Vec::new();
        let read = Read::by_ref(&mut file)
            .take(BYTES_MAX)
            .read_to_end(&mut text);
        let entries = read.map_err(TokenError::from);
        let entries = entries.and_then(|_| parse(&text, &self.path));
        CachedTokens {
            entries: entries.unwrap_or_else(|error| {
                tracing::error!(%error, "no token is accepted");
                Vec::new()
            }),
            _held: Some(file),
            stamp,
        }
    }

    /// Reads, edits and writes the file as one step among all processes.
    fn change<T>(
        &self,
        edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        let folder = self.folder()?;
        // The file itself cannot be the lock: each change puts another one in its place.
        let _alone = folder.lock(self.sibling_name("lock"), PATIENCE)?;
        let before = self.list()?;
        let mut entries = before.clone();
        let done = edit(&mut entries)?;
        // A guess at a token makes nothing be written.
        if entries != before {
            let text = serde_json::to_vec_pretty(&entries).map_err(std::io::Error::other)?;
            folder.replace(self.name(), &text)?;
        }
        Ok(done)
    }

    fn folder(&self) -> Result<Folder, FileError> {
        Folder::open_no_follow(self.parent())
    }

    fn read(&self, name: impl AsRef<Path>, bytes_max: u64) -> Result<Option<Vec<u8>>, FileError> {
        match Folder::find_no_follow(self.parent())? {
            Some(folder) => folder.read(name, bytes_max),
            None => Ok(None),
        }
    }

    fn parent(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    fn name(&self) -> &Path {
        Path::new(self.path.file_name().unwrap_or_default())
    }

    /// Returns the name of a file next to the token file.
    fn sibling_name(&self, extension: &str) -> PathBuf {
        self.name().with_extension(extension)
    }
}

fn parse(text: &[u8], path: &Path) -> Result<Vec<TokenEntry>, TokenError> {
    serde_json::from_slice(text).map_err(|error| TokenError::Unreadable {
        path: path.display().to_string(),
        message: error.to_string(),
    })
}

fn unknown_error(name: &str) -> TokenError {
    TokenError::Unknown {
        name: name.chars().take(64).collect(),
    }
}

/// A token that nobody has seen.
fn generate_token(prefix: &str) -> Result<String, TokenError> {
    Ok(format!(
        "{prefix}{}",
        generate_secret().map_err(TokenError::Random)?
    ))
}

fn hash(token: &str) -> String {
    sha256_hex(token.as_bytes())
}

#[cfg(test)]
mod tests;
