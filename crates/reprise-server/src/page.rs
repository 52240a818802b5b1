//! What the daemon lends to its page beside the memories: settings, users, copies, tokens.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_files::Folder;
use reprise_operations::{Memories, Problem, ProblemKind};
use reprise_page::{Backup, Bytes, Host, Neighbour, Setting, Token};
use reprise_types::{Clock, UserId};
use serde::Deserialize;

use crate::daemon::{Asker, Life};
use crate::http::sharing;
use crate::place::{COPIES, COPIES_BYTES_MAX, OWN_FOLDER};
use crate::tokens::{Scope, TokenError, TokenFile};

#[derive(Deserialize)]
struct Made {
    user: String,
    file: PathBuf,
}

/// The daemon around its page.
pub(crate) struct Paged {
    pub(crate) memories: Memories,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) life: Arc<Life>,
    pub(crate) tokens: Arc<TokenFile>,
}

reprise_types::show_fields!(Paged {});

fn refused_token(error: &TokenError) -> Problem {
    let kind = match error {
        TokenError::Taken { .. } => ProblemKind::Conflict,
        TokenError::Unknown { .. } => ProblemKind::NotFound,
        TokenError::Name => ProblemKind::Invalid,
        _ => ProblemKind::Internal,
    };
    Problem::new(kind, error.to_string())
}

#[async_trait]
impl Host for Paged {
    fn settings(&self) -> Vec<Setting> {
        let minutes = self.life.started.elapsed().as_secs() / 60;
        let place = &self.life.place;
        let facts = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("process", std::process::id().to_string()),
            ("running for", format!("{minutes} minutes")),
            ("socket", place.socket().display().to_string()),
        ];
        let facts = facts.map(|(name, value)| Setting {
            name: name.to_owned(),
            value,
            from: String::new(),
        });
        let set = self.life.settings.iter().cloned();
        facts.into_iter().chain(set).collect()
    }

    async fn users(&self) -> Result<Vec<Neighbour>, Problem> {
        let data = self.life.place.data().to_owned();
        blocking(move || {
            let folders = std::fs::read_dir(data).into_iter().flatten().flatten();
            let mut users: Vec<Neighbour> = folders
                .filter_map(|folder| {
                    let user: UserId = folder.file_name().to_str()?.parse().ok()?;
                    if user.is_of_repository() {
                        return None;
                    }
                    let file = std::fs::metadata(folder.path().join("memory.rvf"));
                    Some(Neighbour {
                        user: user.to_string(),
                        bytes: file.ok()?.len(),
                    })
                })
                .collect();
            users.sort_by(|a, b| a.user.cmp(&b.user));
            users
        })
        .await
    }

    async fn backups(&self, user: &UserId) -> Result<Vec<Backup>, Problem> {
        let (list, user) = (self.life.place.data().join(OWN_FOLDER), user.to_string());
        blocking(move || {
            let own = Folder::find_own(&list).ok().flatten();
            let made = own.and_then(|own| own.read_text(COPIES, COPIES_BYTES_MAX).ok()?);
            let made = made.unwrap_or_default();
            let made = made.lines();
            let made = made.filter_map(|line| serde_json::from_str::<Made>(line).ok());
            let own: BTreeSet<PathBuf> = made
                .filter(|made| made.user == user)
                .map(|made| made.file)
                .collect();
            let backups = own.into_iter().map(|file| Backup {
                there: std::fs::metadata(&file).ok().and_then(|found| {
                    let written = found.modified().ok()?;
                    Some((DateTime::<Utc>::from(written), found.len()))
                }),
                file: file.display().to_string(),
            });
            let mut backups: Vec<Backup> = backups.collect();
            backups.sort_by_key(|one| std::cmp::Reverse(one.there));
            backups
        })
        .await
    }

    async fn backup(&self, user: &UserId) -> Result<Bytes, Problem> {
        let full = "as many exports and backups as may be are under way; try again in a moment";
        let share = self.life.streams.place(&Asker::Machine, full)?;
        let parts = self.memories.backup(user).await?;
        Ok(Box::pin(sharing(parts, share)))
    }

    async fn tokens(&self, user: &UserId) -> Result<Vec<Token>, Problem> {
        let (file, user) = (self.tokens.clone(), user.clone());
        let entries = blocking(move || file.list()).await?;
        let entries = entries.map_err(|error| refused_token(&error))?.into_iter();
        let own = entries.filter(|entry| entry.scope.admits(&user) && entry.grant.is_none());
        let tokens = own.map(|entry| Token {
            name: entry.name,
            made: entry.created,
            is_for_all: entry.scope == Scope::All,
        });
        Ok(tokens.collect())
    }

    async fn add_token(&self, user: &UserId, name: &str) -> Result<String, Problem> {
        let (file, name) = (self.tokens.clone(), name.to_owned());
        let (scope, now) = (Scope::User(user.clone()), self.clock.now());
        let added = blocking(move || file.add(&name, scope, now)).await?;
        added.map_err(|error| refused_token(&error))
    }

    async fn revoke_token(&self, user: &UserId, name: &str) -> Result<(), Problem> {
        let own = self.tokens(user).await?.into_iter();
        let mut own = own.filter(|token| !token.is_for_all);
        if !own.any(|token| token.name == name) {
            let name = name.to_owned();
            return Err(refused_token(&TokenError::Unknown { name }));
        }
        let (file, name) = (self.tokens.clone(), name.to_owned());
        let revoked = blocking(move || file.revoke(&name)).await?;
        revoked.map_err(|error| refused_token(&error))
    }

    async fn ending(&self) {
        self.life.until_told().await;
    }
}

/// Work that waits for the disk.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| {
        let said = format!("the disk could not be read ({error}); try again");
        Problem::new(ProblemKind::Internal, said)
    })
}
