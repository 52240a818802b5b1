//! Backups that the daemon makes by itself: the schedule of each user, and when one is due.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_agent::run_blocking;
use reprise_files::Folder;
use reprise_operations::{Problem, ProblemKind};
use reprise_page::{BackupOrigin, BackupSchedule, SCHEDULED_KEPT_MAX};
use reprise_types::{Clock, UserId, lock};

use super::{backup_folder, file_problem, list_names, own_folder, parse_backup_name};
use crate::daemon::DaemonState;
use crate::place::DaemonPaths;

/// File with the schedule of each user.
pub(super) const SCHEDULES: &str = "backup-schedules.json";
const SCHEDULES_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Time between two looks whether a backup is due.
const SCHEDULE_POLL: Duration = Duration::from_mins(5);

/// Schedules are changed one at a time.
static SCHEDULE_TURN: Mutex<()> = Mutex::new(());

type SchedulesByUser = BTreeMap<String, BackupSchedule>;

/// Reads the schedules of all users. A file that cannot be read is an error, so that nobody's
/// schedule is lost by the next change.
fn read_schedules(place: &DaemonPaths) -> Result<SchedulesByUser, Problem> {
    let own = Folder::find_no_follow(&own_folder(place)).map_err(|error| file_problem(&error))?;
    let Some(own) = own else {
        return Ok(SchedulesByUser::new());
    };
    let text = own.read_text(SCHEDULES, SCHEDULES_BYTES_MAX);
    let Some(text) = text.map_err(|error| file_problem(&error))? else {
        return Ok(SchedulesByUser::new());
    };
    serde_json::from_str(&text).map_err(|error| {
        let path = own.path().join(SCHEDULES);
        let detail = format!(
            "the backup schedules in `{}` cannot be read ({error}); repair or remove that file",
            path.display()
        );
        Problem::new(ProblemKind::Internal, detail)
    })
}

pub(in crate::page) fn find_schedule(place: &DaemonPaths, user: &UserId) -> Option<BackupSchedule> {
    let schedules = read_schedules(place);
    schedules.ok()?.remove(user.as_str())
}

/// Stores a user's schedule, or removes it.
pub(in crate::page) fn save_schedule(
    place: &DaemonPaths,
    user: &UserId,
    schedule: Option<BackupSchedule>,
) -> Result<(), Problem> {
    if schedule.is_some_and(|one| !(1..=SCHEDULED_KEPT_MAX).contains(&one.kept)) {
        let detail = format!("between 1 and {SCHEDULED_KEPT_MAX} backups can be kept");
        return Err(Problem::invalid(detail));
    }
    let _turn = lock(&SCHEDULE_TURN);
    let mut all = read_schedules(place)?;
    match schedule {
        Some(schedule) => all.insert(user.to_string(), schedule),
        None => all.remove(user.as_str()),
    };
    let text = serde_json::to_vec(&all).map_err(Problem::invalid)?;
    let own = Folder::open_or_create_no_follow(&own_folder(place));
    let saved = own.and_then(|own| own.replace(SCHEDULES, &text));
    saved.map_err(|error| file_problem(&error))
}

/// Returns whether a backup is due: the memory changed since the last one, and that is old enough.
pub(super) fn is_due(
    schedule: BackupSchedule,
    last: Option<DateTime<Utc>>,
    changed: DateTime<Utc>,
    now: DateTime<Utc>,
) -> bool {
    last.is_none_or(|last| changed > last && now - last >= schedule.every.duration())
}

/// Returns when the last scheduled backup of a user was made.
pub(super) fn find_last_scheduled(place: &DaemonPaths, user: &UserId) -> Option<DateTime<Utc>> {
    let names = list_names(&backup_folder(place, user)).into_iter();
    let scheduled = names.filter_map(|name| match parse_backup_name(&name) {
        Some((BackupOrigin::Schedule, at)) => Some(at),
        _ => None,
    });
    scheduled.max()
}

/// Lists the users whose memories are to be backed up now.
fn list_due_backups(
    place: &DaemonPaths,
    now: DateTime<Utc>,
) -> Result<Vec<(UserId, BackupSchedule)>, Problem> {
    let schedules = read_schedules(place)?.into_iter();
    let due = schedules.filter_map(|(user, schedule)| {
        let user: UserId = user.parse().ok()?;
        let memory = place.data().join(user.as_str()).join("memory.rvf");
        let changed = std::fs::metadata(memory).and_then(|found| found.modified());
        let last = find_last_scheduled(place, &user);
        is_due(schedule, last, changed.ok()?.into(), now).then_some((user, schedule))
    });
    Ok(due.collect())
}

/// Saves the backups that are due, for as long as the daemon runs. Each is made by a process of its
/// own that only reads the file: no request waits for it.
pub(crate) async fn run_scheduled_backups(daemon: Arc<DaemonState>, clock: Arc<dyn Clock>) {
    loop {
        let (place, now) = (daemon.place.clone(), clock.now());
        let due = run_blocking(move || list_due_backups(&place, now)).await;
        let due = due
            .map_err(Problem::from)
            .flatten()
            .unwrap_or_else(|problem| {
                tracing::warn!(%problem, "no backup is scheduled");
                Vec::new()
            });
        for (user, schedule) in due {
            let saved = daemon.save_scheduled_backup(&user, schedule, clock.now());
            if let Err(problem) = saved.await {
                tracing::warn!(%user, %problem, "a scheduled backup was not saved");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(SCHEDULE_POLL) => {}
            () = daemon.schedule_change.notified() => {}
        }
    }
}
