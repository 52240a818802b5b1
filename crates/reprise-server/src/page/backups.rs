//! Backups in the daemon's own folder: saved on the page or by a schedule, uploaded, restored; and
//! the import of an uploaded file. The work on the files is done by our own program, as in a
//! terminal.

mod copy_entry;
mod schedule;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, NaiveDateTime, Utc};
use reprise_agent::run_blocking;
use reprise_files::{ChangeOutcome, FileError, Folder, OpenMode};
use reprise_operations::{Problem, ProblemKind};
use reprise_page::{
    BackupFile, BackupOrigin, BackupSchedule, RestorePreview, RestoredBackup, UploadFile,
    UploadedImport,
};
use reprise_types::UserId;
use serde_json::Value;

use crate::daemon::DaemonState;
use crate::place::{DaemonPaths, OWN_FOLDER};
use crate::program::PrintedReport;

pub use copy_entry::{CopyEntry, CopyForm, CopyStamp};
pub(crate) use schedule::run_scheduled_backups;
pub(super) use schedule::{find_schedule, save_schedule};

/// Folders below the daemon's own.
const BACKUPS: &str = "backups";
const UPLOADS: &str = "uploads";
/// Most files that are listed in one folder.
const FILES_MAX: usize = 10_000;
/// Beginning of the names of memories that a restore replaced.
const REPLACED: &str = "memory.rvf.before-restore";
/// Time in the name of a backup.
const STAMP: &str = "%Y%m%d-%H%M%S";
/// Most characters of the name of an upload: each takes up to four of the 255 bytes of a name.
const NAME_CHARS_MAX: usize = 60;

/// Beginnings of the names in the daemon's own folder.
const PREFIXES: [(BackupOrigin, &str); 3] = [
    (BackupOrigin::Page, "saved-"),
    (BackupOrigin::Schedule, "scheduled-"),
    (BackupOrigin::Upload, "uploaded-"),
];

/// Numbers the uploads of this process.
static UPLOAD_NUMBER: AtomicU64 = AtomicU64::new(0);

fn file_problem(error: &FileError) -> Problem {
    Problem::new(ProblemKind::Internal, error.to_string())
}

fn own_folder(place: &DaemonPaths) -> PathBuf {
    place.data().join(OWN_FOLDER)
}

/// Returns the folder of the backups that this daemon makes of a user's memory.
fn backup_folder(place: &DaemonPaths, user: &UserId) -> PathBuf {
    own_folder(place).join(BACKUPS).join(user.as_str())
}

fn create_backup_folder(place: &DaemonPaths, user: &UserId) -> Result<Folder, FileError> {
    let own = Folder::open_or_create_no_follow(&own_folder(place))?;
    own.open_or_create_folder(BACKUPS)?
        .open_or_create_folder(user.as_str())
}

/// Returns the name of a backup that is made now.
fn backup_name(origin: BackupOrigin, now: DateTime<Utc>) -> String {
    let prefix = PREFIXES.iter().find(|(own, _)| *own == origin);
    let prefix = prefix.map_or("", |(_, prefix)| *prefix);
    format!("{prefix}{}.rvf", now.format(STAMP))
}

/// Returns what wrote a file in the daemon's own folder, and when, by its name.
fn parse_backup_name(name: &str) -> Option<(BackupOrigin, DateTime<Utc>)> {
    let stem = name.strip_suffix(".rvf")?;
    PREFIXES.iter().find_map(|(origin, prefix)| {
        let stamp = stem.strip_prefix(prefix)?;
        let at = NaiveDateTime::parse_from_str(stamp, STAMP).ok()?;
        Some((*origin, at.and_utc()))
    })
}

fn list_names(folder: &Path) -> Vec<String> {
    let found = Folder::find_no_follow(folder).ok().flatten();
    let entries = found.and_then(|folder| folder.list(FILES_MAX).ok());
    let names = entries.unwrap_or_default().into_iter();
    names
        .filter_map(|one| one.name.into_string().ok())
        .collect()
}

/// Lists the backups, exports and derived files of a user, the newest first.
pub(super) fn list_backups(place: &DaemonPaths, user: &UserId) -> Vec<BackupFile> {
    let own = Folder::find_no_follow(&own_folder(place)).ok().flatten();
    let listed = own.and_then(|own| CopyEntry::read_list(&own).ok());
    let listed = listed.unwrap_or_default().into_iter();
    let (own, home) = (backup_folder(place, user), place.data().join(user.as_str()));
    let listed = listed.filter(|one| one.user == *user && !one.file.starts_with(&own));
    let listed = listed.map(|one| {
        (
            one.file,
            one.form == CopyForm::Backup,
            BackupOrigin::Command,
        )
    });
    let saved = list_names(&own).into_iter().filter_map(|name| {
        let (origin, _) = parse_backup_name(&name)?;
        Some((own.join(name), true, origin))
    });
    let replaced = list_names(&home).into_iter();
    let replaced = replaced.filter(|name| name.starts_with(REPLACED));
    let replaced = replaced.map(|name| (home.join(name), true, BackupOrigin::Restore));
    let files: BTreeSet<_> = listed.chain(saved).chain(replaced).collect();
    let files = files
        .into_iter()
        .map(|(file, is_backup, origin)| BackupFile {
            there: std::fs::metadata(&file).ok().and_then(|found| {
                let written = found.modified().ok()?;
                let bytes = if found.is_file() { found.len() } else { 0 };
                Some((DateTime::<Utc>::from(written), bytes))
            }),
            is_backup,
            origin,
            file: file.display().to_string(),
        });
    let mut files: Vec<BackupFile> = files.collect();
    files.sort_by_key(|one| std::cmp::Reverse(one.there));
    files
}

/// Removes the oldest scheduled backups beyond those that are kept.
fn remove_old_backups(place: &DaemonPaths, user: &UserId, kept: u16) -> Result<(), FileError> {
    let folder = create_backup_folder(place, user)?;
    let names = list_names(&backup_folder(place, user)).into_iter();
    let scheduled = names.filter(|name| {
        let parsed = parse_backup_name(name);
        parsed.is_some_and(|(origin, _)| origin == BackupOrigin::Schedule)
    });
    // Their names are in the order of their times.
    let scheduled: Vec<String> = scheduled.collect();
    let old = scheduled.len().saturating_sub(kept.into());
    for name in scheduled.iter().take(old) {
        folder.remove_file(name)?;
    }
    Ok(())
}

/// Removes what an earlier daemon left of uploads.
pub(crate) fn remove_left_uploads(place: &DaemonPaths) {
    drop(std::fs::remove_dir_all(own_folder(place).join(UPLOADS)));
}

impl DaemonState {
    /// Saves a verified backup of a user's memory in the daemon's own folder.
    pub(super) async fn save_backup(
        &self,
        user: &UserId,
        origin: BackupOrigin,
        now: DateTime<Utc>,
    ) -> Result<(), Problem> {
        let (place, owner) = (self.place.clone(), user.clone());
        let folder = run_blocking(move || create_backup_folder(&place, &owner)).await?;
        let folder = folder.map_err(|error| file_problem(&error))?;
        let path = folder.path_of(backup_name(origin, now));
        let words: [&OsStr; 4] = [
            "backup".as_ref(),
            path.as_os_str(),
            "--user".as_ref(),
            user.as_str().as_ref(),
        ];
        self.program_command.run(folder.path(), &words).await?;
        Ok(())
    }

    /// Saves a backup by a schedule, and removes the oldest beyond those that are kept.
    async fn save_scheduled_backup(
        &self,
        user: &UserId,
        schedule: BackupSchedule,
        now: DateTime<Utc>,
    ) -> Result<(), Problem> {
        self.save_backup(user, BackupOrigin::Schedule, now).await?;
        let (place, user) = (self.place.clone(), user.clone());
        let removed =
            run_blocking(move || remove_old_backups(&place, &user, schedule.kept)).await?;
        removed.map_err(|error| file_problem(&error))
    }

    /// Creates a private file for an upload, alone in its folder.
    pub(super) fn create_upload(&self, name: &str) -> Result<UploadFile, Problem> {
        let number = UPLOAD_NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = clean_name(name);
        let create = || -> Result<UploadFile, FileError> {
            let own = Folder::open_or_create_no_follow(&own_folder(&self.place))?;
            let uploads = own.open_or_create_folder(UPLOADS)?;
            let folder = uploads.open_or_create_folder(number.to_string())?;
            let file = folder.open_file(&name, OpenMode::CreateNew)?;
            Ok(UploadFile::new(
                folder.path().to_owned(),
                name.clone(),
                file,
            ))
        };
        create().map_err(|error| file_problem(&error))
    }

    /// Verifies an uploaded backup and keeps it among the others. Returns its path.
    pub(super) async fn keep_uploaded_backup(
        &self,
        user: &UserId,
        upload: &UploadFile,
        now: DateTime<Utc>,
    ) -> Result<String, Problem> {
        let file = upload.folder().join(upload.name());
        self.restore(user, &file, "--dry-run").await?;
        let path = backup_folder(&self.place, user).join(backup_name(BackupOrigin::Upload, now));
        let entry = CopyEntry {
            user: user.clone(),
            file: path.clone(),
            form: CopyForm::Backup,
            stamp: None,
        };
        let (place, owner, kept) = (self.place.clone(), user.clone(), path.clone());
        let keep = move || -> Result<ChangeOutcome, FileError> {
            create_backup_folder(&place, &owner)?;
            let own = Folder::open_or_create_no_follow(&own_folder(&place))?;
            // It is listed first, so that no copy is unknown when something is forgotten.
            entry.append_to_list(&own)?;
            let below = |path: &Path| path.strip_prefix(own.path()).map(Path::to_owned);
            match (below(&file), below(&kept)) {
                (Ok(from), Ok(to)) => own.move_if_unchanged(from, to, None),
                _ => Err(FileError::Name { path: kept }),
            }
        };
        let kept = run_blocking(keep).await?;
        if kept.map_err(|error| file_problem(&error))? == ChangeOutcome::Conflict {
            let detail = "another backup was uploaded in this second; upload this one again";
            return Err(Problem::new(ProblemKind::Conflict, detail));
        }
        Ok(path.display().to_string())
    }

    /// Returns the path of a backup that is listed for a user: no other file is ever read.
    async fn find_backup(&self, user: &UserId, file: &str) -> Result<PathBuf, Problem> {
        let (place, user) = (self.place.clone(), user.clone());
        let listed = run_blocking(move || list_backups(&place, &user)).await?;
        let mut listed = listed.into_iter();
        let found = listed.find(|one| one.is_backup && one.file == file && one.there.is_some());
        let found = found.ok_or_else(|| {
            let detail = "this backup is not there any more; choose another";
            Problem::new(ProblemKind::NotFound, detail)
        });
        found.map(|one| one.file.into())
    }

    /// Deletes the file of a backup that is listed for a user, and no other file.
    pub(super) async fn delete_backup(&self, user: &UserId, file: &str) -> Result<(), Problem> {
        let file = self.find_backup(user, file).await?;
        let delete = move || -> Result<(), FileError> {
            let (folder, name) = Folder::open_parent(&file)?;
            folder.remove_file(name).map(drop)
        };
        let deleted = run_blocking(delete).await?;
        deleted.map_err(|error| file_problem(&error))
    }

    pub(super) async fn preview_restore(
        &self,
        user: &UserId,
        file: &str,
    ) -> Result<RestorePreview, Problem> {
        let file = self.find_backup(user, file).await?;
        let ran = self.restore(user, &file, "--dry-run").await?;
        serde_json::from_value(ran.report).map_err(|error| {
            let detail = format!("what the backup holds cannot be read ({error}); try again");
            Problem::new(ProblemKind::Internal, detail)
        })
    }

    /// Replaces a user's memory by a backup; the memory that was there is kept as a file.
    pub(super) async fn restore_backup(
        &self,
        user: &UserId,
        file: &str,
    ) -> Result<RestoredBackup, Problem> {
        let file = self.find_backup(user, file).await?;
        let PrintedReport { report, .. } = self.restore(user, &file, "--replace").await?;
        let came_back = report["came_back"].as_array().map_or(0, Vec::len);
        Ok(RestoredBackup {
            memories: report["records"].as_u64().unwrap_or_default(),
            earlier: report["aside"].as_str().map(str::to_owned),
            came_back: came_back as u64,
        })
    }

    /// Runs `backup restore`, one at a time.
    async fn restore(
        &self,
        user: &UserId,
        file: &Path,
        how: &str,
    ) -> Result<PrintedReport, Problem> {
        let _turn = self.file_turn.lock().await;
        let words: [&OsStr; 6] = [
            "backup".as_ref(),
            "restore".as_ref(),
            file.as_os_str(),
            "--user".as_ref(),
            user.as_str().as_ref(),
            how.as_ref(),
        ];
        self.program_command.run(self.place.data(), &words).await
    }

    /// Imports an uploaded file, as `reprise import` does.
    pub(super) async fn import_upload(
        &self,
        user: &UserId,
        upload: &UploadFile,
    ) -> Result<UploadedImport, Problem> {
        let _turn = self.file_turn.lock().await;
        let mut words: Vec<&OsStr> = vec![
            "import".as_ref(),
            upload.name().as_ref(),
            "--user".as_ref(),
            user.as_str().as_ref(),
        ];
        let ending = Path::new(upload.name()).extension();
        if ending.is_some_and(|ending| ending.eq_ignore_ascii_case("txt")) {
            words.extend(["--from".as_ref() as &OsStr, "markdown".as_ref()]);
        }
        let ran = self.program_command.run(upload.folder(), &words).await?;
        Ok(read_import_report(&ran))
    }
}

fn read_import_report(ran: &PrintedReport) -> UploadedImport {
    let PrintedReport { report, messages } = ran;
    let count = |name: &str| report[name].as_u64().unwrap_or_default();
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let problems = match report["lines"].as_array() {
        Some(lines) => {
            let lines = lines.iter();
            lines
                .map(|line| format!("{}: {}", text(line, "where"), text(line, "why")))
                .collect()
        }
        None => messages.clone(),
    };
    UploadedImport {
        kind: report["kind"].as_str().map(str::to_owned),
        inserted: count("inserted"),
        replaced: count("replaced"),
        known: count("duplicate"),
        refused: count("rejected"),
        truncated: count("truncated"),
        secrets: report["redacted"].as_array().map_or(0, Vec::len) as u64,
        problems,
    }
}

/// Returns a plain name for an uploaded file, with the ending by which its kind is recognised.
fn clean_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = name.chars().map(|one| match one {
        '.' | '_' => one,
        _ if one.is_alphanumeric() => one,
        _ => '-',
    });
    let kept: Vec<char> = kept.collect();
    // The ending is at the end of a long name.
    let kept = kept[kept.len().saturating_sub(NAME_CHARS_MAX)..].iter();
    let name: String = kept.collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "upload" } else { name }.to_owned()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use reprise_page::BackupInterval;
    use serde_json::json;

    use super::schedule::{SCHEDULES, find_last_scheduled, is_due};
    use super::*;

    #[test]
    fn a_backup_is_due_once_its_time_is_over_and_the_memory_has_changed() {
        let now = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::weeks(3);
        let ago = |hours: i64| now - TimeDelta::hours(hours);
        let of = |every| BackupSchedule { every, kept: 7 };
        let day = of(BackupInterval::Day);
        assert!(is_due(day, None, ago(900), now), "there is none yet");
        assert!(is_due(day, Some(ago(24)), ago(1), now));
        assert!(!is_due(day, Some(ago(23)), ago(1), now), "too early");
        assert!(!is_due(day, Some(ago(48)), ago(50), now), "nothing is new");
        assert!(!is_due(
            of(BackupInterval::Week),
            Some(ago(48)),
            ago(1),
            now
        ));
    }

    #[test]
    fn the_oldest_scheduled_backups_go_and_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let (place, user) = (DaemonPaths::new(folder.path(), None), UserId::default());
        let kept = create_backup_folder(&place, &user).unwrap();
        let day = |day: i64| DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(day);
        let names = (0..4).map(|at| backup_name(BackupOrigin::Schedule, day(at)));
        let mut names: Vec<String> = names.collect();
        names.push(backup_name(BackupOrigin::Page, day(0)));
        names.push("of-a-person.rvf".to_owned());
        for name in &names {
            kept.open_file(name, OpenMode::CreateNew).unwrap();
        }
        remove_old_backups(&place, &user, 2).unwrap();
        let left = list_names(&backup_folder(&place, &user));
        assert_eq!(left.len(), names.len() - 2);
        assert!(
            names[2..].iter().all(|name| left.contains(name)),
            "{left:?}"
        );
        assert_eq!(find_last_scheduled(&place, &user), Some(day(3)));
        let origins: Vec<BackupOrigin> = list_backups(&place, &user)
            .iter()
            .map(|one| one.origin)
            .collect();
        assert_eq!(
            origins.len(),
            3,
            "a file of another name is no backup: {origins:?}"
        );
    }

    #[test]
    fn a_schedule_is_kept_by_user_and_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let (place, user) = (DaemonPaths::new(folder.path(), None), UserId::default());
        let schedule = |kept| {
            let every = BackupInterval::Week;
            Some(BackupSchedule { every, kept })
        };
        assert!(save_schedule(&place, &user, schedule(0)).is_err());
        save_schedule(&place, &user, schedule(3)).unwrap();
        assert_eq!(find_schedule(&place, &user), schedule(3));
        assert_eq!(find_schedule(&place, &"eve".parse().unwrap()), None);
        save_schedule(&place, &user, None).unwrap();
        assert_eq!(find_schedule(&place, &user), None);
        // What cannot be read is not replaced, with the schedules of others in it.
        let file = own_folder(&place).join(SCHEDULES);
        std::fs::write(&file, "{\"eve\": ").unwrap();
        assert!(save_schedule(&place, &user, schedule(3)).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"eve\": ");
    }

    #[test]
    fn an_uploaded_name_keeps_its_ending_and_leads_nowhere() {
        for (given, name) in [
            ("../../etc/passwd", "passwd"),
            ("C:\\notes\\Week 3.md", "Week-3.md"),
            ("--from", "from"),
            (".reprise", "reprise"),
            ("\u{8bb0}\u{5fc6}.md", "\u{8bb0}\u{5fc6}.md"),
            ("", "upload"),
        ] {
            assert_eq!(clean_name(given), name, "{given}");
        }
        let long = clean_name(&("x".repeat(500) + ".jsonl"));
        assert_eq!(long.len(), NAME_CHARS_MAX);
        assert_eq!(long.rsplit_once('.').unwrap().1, "jsonl");
    }

    #[test]
    fn a_report_says_by_line_what_was_refused() {
        let report = json!({
            "kind": "markdown", "inserted": 2, "rejected": 1,
            "lines": [{ "where": "notes.md", "why": "it is empty" }],
        });
        let read = |report, messages: &[&str]| {
            let messages = messages.iter().map(|one| (*one).to_owned()).collect();
            read_import_report(&PrintedReport { report, messages })
        };
        let own = read(report, &["not this"]);
        assert_eq!((own.inserted, own.refused), (2, 1));
        assert_eq!(own.problems, ["notes.md: it is empty"]);
        let lines = read(json!({ "inserted": 1 }), &["refused line 2: no"]);
        assert_eq!(lines.problems, ["refused line 2: no"]);
    }
}
