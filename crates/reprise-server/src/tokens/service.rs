//! The tokens of a service of published knowledge: in the file of its machine and, where its nodes
//! share a database, in that.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_agent::run_blocking;
use reprise_files::Folder;
use reprise_global::backend::{NamedIn, replace_name};
use reprise_global::{AuditLine, AwaitedHandle, GlobalError, KeptToken, SharedTokens};
use reprise_types::{Clock, SystemClock, UserId, generate_secret, lock};

use super::changes::{self, InvitationKind, NewToken};
use super::{
    AUDIT_BYTES_MAX, AUDIT_EXTENSION, BYTES_MAX, PATIENCE, PREFIX, Scope, TokenEntry, TokenError,
    TokenFile, generate_token, hash, unknown_error,
};

/// Begins every invitation.
const INVITATION: &str = "rpi_";
/// Extension of the file next to the tokens that says when each was last used.
const USED_EXTENSION: &str = "used.json";
/// That is written down once in so long.
const USED_EVERY: TimeDelta = TimeDelta::minutes(1);

/// Where a service finds its tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ServiceTokens {
    file: Arc<TokenFile>,
    database: Option<AwaitedHandle<dyn SharedTokens>>,
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
    pub fn new(file: Arc<TokenFile>, database: Option<AwaitedHandle<dyn SharedTokens>>) -> Self {
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
        let (file, shown) = (Arc::clone(&self.file), token.to_owned());
        let known = run_blocking(move || file.recognise(&shown)).await;
        if let Some(entry) = known.ok().flatten() {
            self.note_use(&entry.name, now);
            return Ok(Some(entry));
        }
        let Some(database) = &self.database else {
            return Ok(None);
        };
        let hash = hash(token);
        let kept = database.get()?.find_token_and_note_use(&hash).await?;
        let entry = kept.and_then(|kept| decode_stored(&kept));
        Ok(entry.filter(|entry| changes::opens(entry, &hash, now)))
    }

    fn note_use(&self, name: &str, now: DateTime<Utc>) {
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
            let mut all = file.read_used();
            all.extend(at);
            if let Err(error) = file.write_used(&all) {
                tracing::warn!(%error, "when tokens were last used was not written down");
            }
        });
    }

    /// Every token, by name within each place.
    pub async fn list(&self) -> Result<Vec<KnownToken>, TokenError> {
        let used = self.file.read_used();
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
            let shared = database.get()?.list_tokens().await?;
            known.extend(shared.iter().filter_map(|kept| {
                Some(KnownToken {
                    entry: decode_stored(kept)?,
                    used: kept.used,
                    is_shared: true,
                })
            }));
        }
        Ok(known)
    }

    /// Makes a token and answers it: the only time that it is shown.
    pub async fn add(&self, new: NewToken, line: AuditLine) -> Result<String, TokenError> {
        let (token, now) = (generate_token(PREFIX)?, line.at);
        let made = |entries: &mut Vec<TokenEntry>| changes::add(entries, new, &token, now);
        self.change_in(self.database.as_ref(), line, made).await?;
        Ok(token)
    }

    /// Makes an invitation and answers its code.
    pub async fn invite(&self, new: NewToken, line: AuditLine) -> Result<String, TokenError> {
        self.create_invitation((InvitationKind::Token, new), line)
            .await
    }

    /// Makes a link that signs a browser in to the page of operators, and answers its code.
    pub async fn create_sign_in(
        &self,
        new: NewToken,
        line: AuditLine,
    ) -> Result<String, TokenError> {
        self.create_invitation((InvitationKind::SignIn, new), line)
            .await
    }

    async fn create_invitation(
        &self,
        new: (InvitationKind, NewToken),
        line: AuditLine,
    ) -> Result<String, TokenError> {
        let (code, now) = (generate_token(INVITATION)?, line.at);
        let made = |entries: &mut Vec<TokenEntry>| changes::invite(entries, new, &code, now);
        self.change_in(self.database.as_ref(), line, made).await?;
        Ok(code)
    }

    /// Gives the token of an invitation, once.
    pub async fn accept(&self, code: &str) -> Result<(String, TokenEntry), TokenError> {
        self.accept_as(InvitationKind::Token, code, "join").await
    }

    /// Gives the token of a sign-in link, once.
    pub async fn accept_sign_in(&self, code: &str) -> Result<String, TokenError> {
        let accepted = self.accept_as(InvitationKind::SignIn, code, "sign_in");
        accepted.await.map(|(token, _)| token)
    }

    /// Ends the sign-in of a browser by a link; another token stays.
    pub async fn end_sign_in(&self, token: &str) -> Result<(), TokenError> {
        let entry = self.recognise(token).await?;
        let Some(entry) = entry.filter(|entry| entry.is_sign_in) else {
            return Ok(());
        };
        let (name, now) = (entry.name, SystemClock.now());
        let mut line = AuditLine::new(now, "", "sign_out");
        if let Scope::User(user) = &entry.scope {
            user.as_str().clone_into(&mut line.who);
        }
        line.name = Some(name.clone());
        self.change_where_named(&name, line, |entries| changes::end_sign_in(entries, &name))
            .await
    }

    async fn accept_as(
        &self,
        kind: InvitationKind,
        code: &str,
        what: &str,
    ) -> Result<(String, TokenEntry), TokenError> {
        if !code.starts_with(INVITATION) {
            // Nothing is looked up for what cannot be one.
            return Err(TokenError::NotInvited);
        }
        let (token, now) = (generate_token(PREFIX)?, SystemClock.now());
        let mut line = AuditLine::new(now, "", what);
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
        let made =
            |entries: &mut Vec<TokenEntry>| changes::accept(entries, (kind, code), &token, now);
        let entry = self.change_in(self.database.as_ref(), line, made).await?;
        Ok((token, entry))
    }

    /// Replaces a token; the old one opens for as long as `grace`.
    pub async fn rotate(
        &self,
        name: &str,
        grace: TimeDelta,
        line: AuditLine,
    ) -> Result<String, TokenError> {
        let (token, now) = (generate_token(PREFIX)?, line.at);
        let edit =
            |entries: &mut Vec<TokenEntry>| changes::rotate(entries, name, &token, now, grace);
        self.change_where_named(name, line, edit).await?;
        Ok(token)
    }

    pub async fn revoke(&self, name: &str, line: AuditLine) -> Result<TokenEntry, TokenError> {
        self.change_where_named(name, line, |entries| changes::revoke(entries, name))
            .await
    }

    /// Withdraws all tokens of a user in the file, and erases the name from what is written next to
    /// them; the store has its own.
    pub fn revoke_user(&self, user: &UserId) -> Result<usize, TokenError> {
        self.file.erase_name(user)?;
        let known = self.file.list()?.into_iter();
        let own = Scope::User(user.clone());
        if !known.map(|entry| entry.scope).any(|scope| scope == own) {
            return Ok(0);
        }
        self.file
            .change(|entries| Ok(changes::revoke_user(entries, user)))
    }

    /// Changes the tokens of the file or of the database, wherever the token of this name is.
    async fn change_where_named<T: Send>(
        &self,
        name: &str,
        line: AuditLine,
        edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenError> + Send,
    ) -> Result<T, TokenError> {
        let known = self.list().await?;
        let known = known.iter().find(|known| known.entry.name == name);
        let known = known.ok_or_else(|| unknown_error(name))?;
        let database = self.database.as_ref().filter(|_| known.is_shared);
        self.change_in(database, line, edit).await
    }

    /// Changes the tokens of this database, or of the file.
    async fn change_in<T: Send>(
        &self,
        database: Option<&AwaitedHandle<dyn SharedTokens>>,
        line: AuditLine,
        edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenError> + Send,
    ) -> Result<T, TokenError> {
        if let Some(database) = database {
            return change_in_database(database.get()?, line, edit).await;
        }
        let done = self.file.change(edit)?;
        self.file.audit(&line)?;
        Ok(done)
    }
}

fn decode_stored(kept: &KeptToken) -> Option<TokenEntry> {
    let entry = serde_json::from_str(&kept.entry);
    entry
        .inspect_err(|error| tracing::error!(%error, "a token in the database is damaged"))
        .ok()
}

async fn change_in_database<T: Send>(
    database: &dyn SharedTokens,
    line: AuditLine,
    edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenError> + Send,
) -> Result<T, TokenError> {
    let mut done = Err(TokenError::Io(std::io::Error::other("nothing was edited")));
    let edit_stored = |kept: &mut Vec<KeptToken>| {
        done = edit_entries(kept, edit);
        done.is_ok().then_some(line)
    };
    database.change_tokens(Box::new(edit_stored)).await?;
    done
}

/// Edits what the stored tokens say.
fn edit_entries<T>(
    kept: &mut Vec<KeptToken>,
    edit: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T, TokenError>,
) -> Result<T, TokenError> {
    let mut entries: Vec<TokenEntry> = kept.iter().filter_map(decode_stored).collect();
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
    Ok(done)
}

impl TokenFile {
    /// When each token was last used, as far as that was written down.
    fn read_used(&self) -> BTreeMap<String, DateTime<Utc>> {
        let text = self.read(self.sibling_name(USED_EXTENSION), BYTES_MAX);
        let text = text.ok().flatten().unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Replaces a user's name in the log of grants and withdrawals.
    fn erase_name(&self, user: &UserId) -> Result<(), TokenError> {
        let Some(folder) = Folder::find_no_follow(self.parent())? else {
            return Ok(());
        };
        let _alone = folder.lock(self.sibling_name("lock"), PATIENCE)?;
        let log = self.sibling_name(AUDIT_EXTENSION);
        let Some(text) = folder.read(&log, AUDIT_BYTES_MAX)? else {
            return Ok(());
        };
        let secret = generate_secret().map_err(TokenError::Random)?;
        let erased_name = format!("erased-{}", secret.get(..16).unwrap_or_default());
        let erased_user: Option<UserId> = erased_name.parse().ok();
        let replaced = |text: &String, named_in| {
            let replaced = replace_name(text, user.as_str(), &erased_name, named_in);
            replaced.unwrap_or_else(|| text.clone())
        };
        let mut kept = Vec::with_capacity(text.len());
        for line in text.split(|byte| *byte == b'\n') {
            // A line that is damaged may hold anything.
            let Ok(mut line) = serde_json::from_slice::<AuditLine>(line) else {
                continue;
            };
            line.who = replaced(&line.who, NamedIn::Text);
            let (name, reason) = (line.name.as_ref(), line.reason.as_ref());
            line.name = name.map(|name| replaced(name, NamedIn::Label));
            line.reason = reason.map(|reason| replaced(reason, NamedIn::Text));
            if line.about.as_ref() == Some(user) {
                line.about.clone_from(&erased_user);
            }
            serde_json::to_writer(&mut kept, &line).map_err(std::io::Error::other)?;
            kept.push(b'\n');
        }
        Ok(folder.replace(AsRef::<Path>::as_ref(&log), &kept)?)
    }

    fn write_used(&self, used: &BTreeMap<String, DateTime<Utc>>) -> Result<(), TokenError> {
        let text = serde_json::to_vec(used).map_err(std::io::Error::other)?;
        let name = self.sibling_name(USED_EXTENSION);
        Ok(self
            .folder()?
            .replace(AsRef::<Path>::as_ref(&name), &text)?)
    }
}
