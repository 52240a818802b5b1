//! The tokens of a service of published knowledge: in the file of its machine and, where its nodes
//! share a database, in that.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_global::{AuditLine, GlobalError, KeptToken, PostgresStore};
use reprise_types::{Clock, SystemClock, UserId, lock};

use super::changes::{self, NewToken};
use super::{BYTES_MAX, PREFIX, Scope, TokenEntry, TokenError, TokenFile, fresh, hash, unknown};

/// Begins every invitation.
const INVITATION: &str = "rpi_";
/// When each token was last used, beside their file.
const USED_EXTENSION: &str = "used.json";
/// That is written down once in so long.
const USED_EVERY: TimeDelta = TimeDelta::minutes(1);

/// Where a service finds its tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ServiceTokens {
    file: Arc<TokenFile>,
    database: Option<PostgresStore>,
    used: Arc<Mutex<Used>>,
}

#[derive(Debug, Default)]
struct Used {
    at: BTreeMap<String, DateTime<Utc>>,
    written: Option<DateTime<Utc>>,
}

/// A token with when it was last used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownToken {
    pub entry: TokenEntry,
    pub used: Option<DateTime<Utc>>,
    /// Every node of the service knows it.
    pub is_shared: bool,
}

impl ServiceTokens {
    /// New tokens are made in the database where there is one.
    pub fn new(file: Arc<TokenFile>, database: Option<PostgresStore>) -> Self {
        Self {
            file,
            database,
            used: Arc::default(),
        }
    }

    pub fn file(&self) -> &TokenFile {
        &self.file
    }

    /// What a token opens at this moment; `None` where it opens nothing.
    pub async fn recognise(&self, token: &str) -> Result<Option<TokenEntry>, GlobalError> {
        let now = SystemClock.now();
        if let Some(entry) = self.file.recognise(token) {
            self.note(&entry.name, now);
            return Ok(Some(entry));
        }
        let Some(database) = &self.database else {
            return Ok(None);
        };
        let hash = hash(token);
        let kept = database.token_of(&hash).await?;
        let entry = kept.and_then(|kept| read(&kept));
        Ok(entry.filter(|entry| changes::opens(entry, &hash, now)))
    }

    fn note(&self, name: &str, now: DateTime<Utc>) {
        let mut used = lock(&self.used);
        used.at.insert(name.to_owned(), now);
        if used.written.is_some_and(|at| now - at < USED_EVERY) {
            return;
        }
        used.written = Some(now);
        let (at, file) = (used.at.clone(), Arc::clone(&self.file));
        drop(used);
        // Nobody waits for it; what is lost is when a token was last used.
        std::thread::spawn(move || {
            let mut all = file.used();
            all.extend(at);
            if let Err(error) = file.write_used(&all) {
                tracing::warn!(%error, "when tokens were last used was not written down");
            }
        });
    }

    /// Every token, by name within each place.
    pub async fn list(&self) -> Result<Vec<KnownToken>, TokenError> {
        let used = self.file.used();
        let mut known: Vec<KnownToken> = self
            .file
            .list()?
            .into_iter()
            .map(|entry| KnownToken {
                used: used.get(&entry.name).copied(),
                entry,
                is_shared: false,
            })
            .collect();
        if let Some(database) = &self.database {
            let shared = database.tokens().await?;
            known.extend(shared.iter().filter_map(|kept| {
                Some(KnownToken {
                    entry: read(kept)?,
                    used: kept.used,
                    is_shared: true,
                })
            }));
        }
        Ok(known)
    }

    /// Makes a token and answers it: the only time that it is shown.
    pub async fn add(&self, new: NewToken, line: AuditLine) -> Result<String, TokenError> {
        let (token, now) = (fresh(PREFIX)?, line.at);
        let made = |entries: &mut Vec<TokenEntry>| changes::add(entries, new, &token, now);
        self.changed(self.database.as_ref(), line, made).await?;
        Ok(token)
    }

    /// Makes an invitation and answers its code.
    pub async fn invite(&self, new: NewToken, line: AuditLine) -> Result<String, TokenError> {
        let (code, now) = (fresh(INVITATION)?, line.at);
        let made = |entries: &mut Vec<TokenEntry>| changes::invite(entries, new, &code, now);
        self.changed(self.database.as_ref(), line, made).await?;
        Ok(code)
    }

    /// Gives the token that an invitation stands for, once.
    pub async fn accept(&self, code: &str) -> Result<(String, TokenEntry), TokenError> {
        if !code.starts_with(INVITATION) {
            // Nothing is looked up for what cannot be one.
            return Err(TokenError::NotInvited);
        }
        let (token, now) = (fresh(PREFIX)?, SystemClock.now());
        let mut line = AuditLine::new(now, "", "join");
        // Whose it is says the entry: looked up first, and once more where it is changed.
        let wanted = hash(code);
        let invited = self.list().await?.into_iter().map(|known| known.entry);
        let mut invited = invited.filter(|entry| entry.is_invitation);
        let entry = invited.find(|entry| entry.sha256 == wanted);
        let entry = entry.ok_or(TokenError::NotInvited)?;
        if let Scope::User(user) = &entry.scope {
            user.as_str().clone_into(&mut line.who);
            line.about = Some(user.clone());
        }
        line.name = Some(entry.name);
        let made = |entries: &mut Vec<TokenEntry>| changes::accept(entries, code, &token, now);
        let entry = self.changed(self.database.as_ref(), line, made).await?;
        Ok((token, entry))
    }

    /// Replaces a token; the old one opens for as long as `grace`.
    pub async fn rotate(
        &self,
        name: &str,
        grace: TimeDelta,
        line: AuditLine,
    ) -> Result<String, TokenError> {
        let (token, now) = (fresh(PREFIX)?, line.at);
        let edit =
            |entries: &mut Vec<TokenEntry>| changes::rotate(entries, name, &token, now, grace);
        self.changed_where(name, line, edit).await?;
        Ok(token)
    }

    pub async fn revoke(&self, name: &str, line: AuditLine) -> Result<TokenEntry, TokenError> {
        self.changed_where(name, line, |entries| changes::revoke(entries, name))
            .await
    }

    /// Withdraws all tokens of a user in the file; the store has its own.
    pub fn revoke_user(&self, user: &UserId) -> Result<usize, TokenError> {
        let known = self.file.list()?.into_iter();
        let own = Scope::User(user.clone());
        if !known.map(|entry| entry.scope).any(|scope| scope == own) {
            return Ok(0);
        }
        self.file
            .change(|entries| Ok(changes::revoke_user(entries, user)))
    }

    /// The same where the token of this name is.
    async fn changed_where<T>(
        &self,
        name: &str,
        line: AuditLine,
        edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        let known = self.list().await?;
        let known = known.iter().find(|known| known.entry.name == name);
        let known = known.ok_or_else(|| unknown(name))?;
        let database = self.database.as_ref().filter(|_| known.is_shared);
        self.changed(database, line, edit).await
    }

    /// Changes the tokens of this database, or of the file.
    async fn changed<T>(
        &self,
        database: Option<&PostgresStore>,
        line: AuditLine,
        edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        if let Some(database) = database {
            return in_database(database, line, edit).await;
        }
        let done = self.file.change(edit)?;
        self.file.audit(&line)?;
        Ok(done)
    }
}

fn read(kept: &KeptToken) -> Option<TokenEntry> {
    let entry = serde_json::from_str(&kept.entry);
    entry
        .inspect_err(|error| tracing::error!(%error, "a token in the database is damaged"))
        .ok()
}

async fn in_database<T>(
    database: &PostgresStore,
    line: AuditLine,
    edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenError>,
) -> Result<T, TokenError> {
    let edited = |kept: &mut Vec<KeptToken>| {
        let mut entries: Vec<TokenEntry> = kept.iter().filter_map(read).collect();
        let done = edit(&mut entries)?;
        let used: BTreeMap<String, _> = kept
            .drain(..)
            .map(|token| (token.name, token.used))
            .collect();
        for entry in entries {
            let earlier = entry.earlier.as_ref().map(|earlier| earlier.sha256.clone());
            let text = serde_json::to_string(&entry).map_err(std::io::Error::other)?;
            kept.push(KeptToken {
                hashes: earlier.into_iter().chain([entry.sha256]).collect(),
                used: used.get(&entry.name).copied().flatten(),
                name: entry.name,
                entry: text,
            });
        }
        Ok::<_, TokenError>((done, line))
    };
    database.change_tokens(edited).await
}

impl TokenFile {
    /// When each token was last used, as far as that was written down.
    fn used(&self) -> BTreeMap<String, DateTime<Utc>> {
        let text = self.read(self.beside(USED_EXTENSION), BYTES_MAX);
        let text = text.ok().flatten().unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn write_used(&self, used: &BTreeMap<String, DateTime<Utc>>) -> Result<(), TokenError> {
        let text = serde_json::to_vec(used).map_err(std::io::Error::other)?;
        let name = self.beside(USED_EXTENSION);
        Ok(self
            .folder()?
            .replace(AsRef::<Path>::as_ref(&name), &text)?)
    }
}
