//! Who may come in over TCP: bearer tokens, of which only hashes are kept.
//!
//! Lives here: making, replacing, withdrawing and recognising tokens. Must never live here: a token
//! itself, in a log, an error or a file: it is shown once, to whoever asked for it.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use reprise_types::UserId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Begins every token, so that scanners for leaked secrets know it.
const PREFIX: &str = "rpr_";
/// Most tokens of one file.
const TOKENS_MAX: usize = 1_000;

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

/// One token, without the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenEntry {
    /// What its maker calls it.
    pub name: String,
    /// Whose memory it opens.
    pub scope: Scope,
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
        /// The file.
        path: String,
        /// The parser's words.
        message: String,
    },
    /// The name is taken.
    #[error("there is a token `{name}` already; rotate it, or choose another name")]
    Taken {
        /// The name.
        name: String,
    },
    /// No token has this name.
    #[error("there is no token `{name}`; `reprise token list` names them")]
    Unknown {
        /// The name.
        name: String,
    },
    /// A name nobody could type again.
    #[error("a token's name has 1 to 64 printable ASCII characters; choose another")]
    Name,
    /// Too many.
    #[error("there are {TOKENS_MAX} tokens already; revoke some")]
    TooMany,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The file of hashes.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    modified: Option<SystemTime>,
    entries: Vec<TokenEntry>,
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
        read(&self.path)
    }

    /// Makes a token and answers it: the only time that it is shown. `random` are 256 bits.
    pub fn add(
        &self,
        name: &str,
        scope: Scope,
        now: DateTime<Utc>,
        random: [u128; 2],
    ) -> Result<String, TokenError> {
        if name.is_empty() || name.len() > 64 || !name.chars().all(|c| c.is_ascii_graphic()) {
            return Err(TokenError::Name);
        }
        let mut entries = self.list()?;
        if entries.iter().any(|entry| entry.name == name) {
            return Err(TokenError::Taken {
                name: name.to_owned(),
            });
        }
        if entries.len() >= TOKENS_MAX {
            return Err(TokenError::TooMany);
        }
        let token = token_of(random);
        entries.push(TokenEntry {
            name: name.to_owned(),
            scope,
            created: now,
            sha256: hash(&token),
        });
        self.write(&entries)?;
        Ok(token)
    }

    /// Replaces a token by a new one of the same scope; the old one opens nothing any more.
    pub fn rotate(
        &self,
        name: &str,
        now: DateTime<Utc>,
        random: [u128; 2],
    ) -> Result<String, TokenError> {
        let mut entries = self.list()?;
        let token = token_of(random);
        let entry = entries.iter_mut().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| unknown(name))?;
        entry.sha256 = hash(&token);
        entry.created = now;
        self.write(&entries)?;
        Ok(token)
    }

    /// Withdraws a token.
    pub fn revoke(&self, name: &str) -> Result<(), TokenError> {
        let mut entries = self.list()?;
        let before = entries.len();
        entries.retain(|entry| entry.name != name);
        if entries.len() == before {
            return Err(unknown(name));
        }
        self.write(&entries)
    }

    /// The entry of a token; `None` for one that is not known. Sees a changed file at once.
    pub fn recognise(&self, token: &str) -> Option<TokenEntry> {
        let modified = fs_err::metadata(&self.path).and_then(|file| file.modified());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.modified != modified.as_ref().ok().copied() {
            known.entries = read(&self.path).unwrap_or_else(|error| {
                tracing::error!(%error, "no token is accepted");
                Vec::new()
            });
            known.modified = modified.ok();
        }
        // Hashes are compared: how long that takes says nothing of the token.
        let wanted = hash(token);
        let mut entries = known.entries.iter();
        let found = entries.find(|entry| entry.sha256 == wanted);
        found.cloned()
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
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<TokenEntry>, TokenError> {
    match fs_err::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| TokenError::Unreadable {
            path: path.display().to_string(),
            message: error.to_string(),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn unknown(name: &str) -> TokenError {
    TokenError::Unknown {
        name: name.chars().take(64).collect(),
    }
}

fn token_of(random: [u128; 2]) -> String {
    format!("{PREFIX}{:032x}{:032x}", random[0], random[1])
}

fn hash(token: &str) -> String {
    sha256_hex(token.as_bytes())
}

/// SHA-256 in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let (high, low) = digest.split_at(16);
    let number = |half: &[u8]| {
        half.iter()
            .fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte))
    };
    format!("{:032x}{:032x}", number(high), number(low))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_opens_until_it_is_replaced_and_stands_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let daemon = TokenFile::new(path.clone());
        let now = reprise_types::parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let opens = |file: &TokenFile, token: &str| file.recognise(token).map(|entry| entry.scope);
        assert_eq!(opens(&daemon, "rpr_0"), None);
        // Another process writes the file while the daemon holds what it read.
        let command = TokenFile::new(path.clone());
        let ada = Scope::User("ada".parse().unwrap());
        let first = command.add("laptop", ada.clone(), now, [1, 2]).unwrap();
        assert_eq!(opens(&daemon, &first), Some(ada.clone()));
        assert!(!ada.admits(&"bob".parse().unwrap()));
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(!text.contains(&first) && text.contains("sha256"));
        let mode = fs_err::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert!(matches!(
            command.add("laptop", Scope::All, now, [3, 4]),
            Err(TokenError::Taken { .. })
        ));
        let second = command.rotate("laptop", now, [5, 6]).unwrap();
        let fresh = TokenFile::new(path);
        assert_eq!(opens(&fresh, &first), None);
        assert_eq!(opens(&fresh, &second), Some(ada));
        fresh.revoke("laptop").unwrap();
        assert!(fresh.list().unwrap().is_empty());
        assert!(matches!(
            fresh.revoke("laptop"),
            Err(TokenError::Unknown { .. })
        ));
    }
}
