//! What the daemon offers to its page in addition to memories: settings, users, backups, tokens.

pub(crate) mod backups;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_agent::run_blocking;
use reprise_operations::{Memories, Problem, ProblemKind, format_count};
use reprise_page::{
    AgentProgram, BackupFile, BackupOrigin, BackupSchedule, ByteStream, PageHost, RestorePreview,
    RestoredBackup, Setting, Token, UploadFile, UploadedImport, UserFile,
};
use reprise_types::{Clock, UserId, lock};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;

use crate::daemon::{CallerId, DaemonState, NewListener, bind_loopback};
use crate::http::stream_with_slot;
use crate::tokens::{NewToken, Scope, TokenError, TokenFile};

/// The daemon as the host of its page.
pub(crate) struct DaemonPageHost {
    pub(crate) memories: Memories,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) daemon: Arc<DaemonState>,
    pub(crate) tokens: Arc<TokenFile>,
    pub(crate) listeners: mpsc::Sender<NewListener>,
}

const STREAMS_FULL: &str =
    "as many exports and backups as may be are under way; try again in a moment";
/// Port that is tried first for HTTP that is turned on at the page.
const HTTP_PORT: u16 = 7341;
/// The setting with the path of the configuration file.
const CONFIGURATION_SETTING: &str = "configuration";
/// The setting with the address of HTTP.
const HTTP_SETTING: &str = "serve.http";

reprise_types::show_fields!(DaemonPageHost {});

fn token_problem(error: &TokenError) -> Problem {
    let kind = match error {
        TokenError::Taken { .. } => ProblemKind::Conflict,
        TokenError::Unknown { .. } => ProblemKind::NotFound,
        TokenError::Name => ProblemKind::Invalid,
        _ => ProblemKind::Internal,
    };
    Problem::new(kind, error.to_string())
}

#[async_trait]
impl PageHost for DaemonPageHost {
    fn settings(&self) -> Vec<Setting> {
        let minutes = self.daemon.started.elapsed().as_secs() / 60;
        let place = &self.daemon.place;
        let facts = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("process", std::process::id().to_string()),
            ("running for", format_count(minutes, "minute")),
            ("socket", place.socket().display().to_string()),
        ];
        let facts = facts.map(|(name, value)| Setting {
            name: name.to_owned(),
            value,
            from: String::new(),
        });
        let mut set = self.daemon.settings.clone();
        let http = set.iter_mut().find(|one| one.name == HTTP_SETTING);
        if let (Some(setting), Some(address)) = (http, self.daemon.http.get())
            && !setting.value.contains(':')
        {
            setting.value = format!("{address}, until the daemon stops");
            "the page".clone_into(&mut setting.from);
        }
        facts.into_iter().chain(set).collect()
    }

    async fn users(&self) -> Result<Vec<UserFile>, Problem> {
        let data = self.daemon.place.data().to_owned();
        let users = run_blocking(move || {
            let folders = std::fs::read_dir(data).into_iter().flatten().flatten();
            let mut users: Vec<UserFile> = folders
                .filter_map(|folder| {
                    let user: UserId = folder.file_name().to_str()?.parse().ok()?;
                    if user.is_repository_memory() {
                        return None;
                    }
                    let file = std::fs::metadata(folder.path().join("memory.rvf"));
                    Some(UserFile {
                        user: user.to_string(),
                        bytes: file.ok()?.len(),
                    })
                })
                .collect();
            users.sort_by(|a, b| a.user.cmp(&b.user));
            users
        });
        Ok(users.await?)
    }

    async fn backups(&self, user: &UserId) -> Result<Vec<BackupFile>, Problem> {
        let (place, user) = (self.daemon.place.clone(), user.clone());
        let listed = run_blocking(move || backups::list_backups(&place, &user));
        Ok(listed.await?)
    }

    async fn save_backup(&self, user: &UserId) -> Result<(), Problem> {
        let now = self.clock.now();
        self.daemon.save_backup(user, BackupOrigin::Page, now).await
    }

    fn backup_schedule(&self, user: &UserId) -> Option<BackupSchedule> {
        backups::find_schedule(&self.daemon.place, user)
    }

    async fn set_backup_schedule(
        &self,
        user: &UserId,
        schedule: Option<BackupSchedule>,
    ) -> Result<(), Problem> {
        let (place, user) = (self.daemon.place.clone(), user.clone());
        run_blocking(move || backups::save_schedule(&place, &user, schedule)).await??;
        self.daemon.schedule_change.notify_one();
        Ok(())
    }

    fn create_upload(&self, name: &str) -> Result<UploadFile, Problem> {
        self.daemon.create_upload(name)
    }

    async fn keep_uploaded_backup(
        &self,
        user: &UserId,
        upload: &UploadFile,
    ) -> Result<String, Problem> {
        let now = self.clock.now();
        self.daemon.keep_uploaded_backup(user, upload, now).await
    }

    async fn preview_restore(&self, user: &UserId, file: &str) -> Result<RestorePreview, Problem> {
        self.daemon.preview_restore(user, file).await
    }

    async fn restore_backup(&self, user: &UserId, file: &str) -> Result<RestoredBackup, Problem> {
        self.daemon.restore_backup(user, file).await
    }

    async fn import_upload(
        &self,
        user: &UserId,
        upload: &UploadFile,
    ) -> Result<UploadedImport, Problem> {
        self.daemon.import_upload(user, upload).await
    }

    async fn backup(&self, user: &UserId) -> Result<ByteStream, Problem> {
        let slot = self
            .daemon
            .stream_slots
            .acquire(&CallerId::Machine, STREAMS_FULL)?;
        let parts = self.memories.stream_backup(user).await?;
        Ok(Box::pin(stream_with_slot(parts, slot)))
    }

    async fn export(&self, user: &UserId) -> Result<ByteStream, Problem> {
        let slot = self
            .daemon
            .stream_slots
            .acquire(&CallerId::Machine, STREAMS_FULL)?;
        let lines = self.memories.stream_export(user, true).await?;
        let lines = stream_with_slot(lines, slot).map(|line| line.map(String::into_bytes));
        Ok(Box::pin(lines))
    }

    async fn tokens(&self, user: &UserId) -> Result<Vec<Token>, Problem> {
        let (file, user) = (self.tokens.clone(), user.clone());
        let listed = run_blocking(move || -> Result<Vec<Token>, TokenError> {
            let entries = file.list()?.into_iter();
            let own = entries.filter(|entry| entry.scope.admits(&user) && entry.grant.is_none());
            let tokens = own.map(|entry| Token {
                used: file.last_use(&entry),
                name: entry.name,
                made: entry.created,
                expires: entry.expires,
                is_for_all: entry.scope == Scope::All,
            });
            Ok(tokens.collect())
        });
        listed.await?.map_err(|error| token_problem(&error))
    }

    async fn add_token(
        &self,
        user: &UserId,
        name: &str,
        expires: Option<DateTime<Utc>>,
    ) -> Result<String, Problem> {
        let (file, now) = (self.tokens.clone(), self.clock.now());
        let new = NewToken {
            name: name.to_owned(),
            scope: Scope::User(user.clone()),
            grant: None,
            expires,
        };
        let added = run_blocking(move || file.add_new(new, now)).await?;
        added.map_err(|error| token_problem(&error))
    }

    async fn revoke_token(&self, user: &UserId, name: &str) -> Result<(), Problem> {
        let own = self.tokens(user).await?.into_iter();
        let mut own = own.filter(|token| !token.is_for_all);
        if !own.any(|token| token.name == name) {
            let name = name.to_owned();
            return Err(token_problem(&TokenError::Unknown { name }));
        }
        let (file, name) = (self.tokens.clone(), name.to_owned());
        let revoked = run_blocking(move || file.revoke(&name)).await?;
        revoked.map_err(|error| token_problem(&error))
    }

    async fn agent_programs(&self) -> Result<Vec<AgentProgram>, Problem> {
        Ok(run_blocking(self.daemon.agent_programs).await?)
    }

    async fn turn_http_on(&self) -> Result<(), Problem> {
        if self.daemon.http.get().is_some() {
            return Ok(());
        }
        let unavailable = |error: std::io::Error| {
            let detail =
                format!("no address of this machine can be listened on ({error}); see `ss -lt`");
            Problem::new(ProblemKind::Unavailable, detail)
        };
        let listener = bind_loopback(HTTP_PORT).await.map_err(unavailable)?;
        let address = listener.local_addr().map_err(unavailable)?;
        let sent = self.listeners.send(NewListener(listener, None)).await;
        sent.map_err(|_| Problem::new(ProblemKind::Unavailable, "the daemon is ending"))?;
        self.daemon.http.get_or_init(|| address);
        Ok(())
    }

    async fn save_setting(&self, name: &str, value: &str) -> Result<(), Problem> {
        let settings = self.daemon.settings.iter();
        let mut settings = settings.filter(|one| one.name == CONFIGURATION_SETTING);
        let file = settings.next().map(|one| PathBuf::from(&one.value));
        let file = file.ok_or_else(|| {
            let detail = "this daemon has no configuration file; start it with --config";
            Problem::new(ProblemKind::Conflict, detail)
        })?;
        let save = self.daemon.save_setting;
        let (name, value) = (name.to_owned(), value.trim().to_owned());
        let saved = {
            let (name, value) = (name.clone(), value.clone());
            run_blocking(move || save(&file, &name, &value)).await?
        };
        saved.map_err(|detail| Problem::new(ProblemKind::Invalid, detail))?;
        lock(&self.daemon.saved_settings).insert(name, value);
        Ok(())
    }

    fn saved_settings(&self) -> BTreeMap<String, String> {
        lock(&self.daemon.saved_settings).clone()
    }

    async fn delete_backup(&self, user: &UserId, file: &str) -> Result<(), Problem> {
        self.daemon.delete_backup(user, file).await
    }

    async fn wait_for_end(&self) {
        self.daemon.wait_for_shutdown().await;
    }
}
