//! `reprise backup` and `restore`: a memory is one file, so a backup is a copy of it, taken while
//! the memory is in use and verified before it gets its name.

use std::fmt;
use std::io::Read;

use reprise_engine::{EngineError, Snapshot};
use reprise_server::CopyForm;
use reprise_store::{StoreError, move_to_free_path, replace_file};
use reprise_types::to_one_line;

use super::atomic_files::{append_ending, create_private};
use crate::args::{BackupArguments, RestoreArguments, SealArguments};
use crate::cli::prelude::*;

/// Ending of a copy until it is complete and verified.
const UNPROVEN: &str = "unproven";
/// Extension of the file with the readable part of a damaged memory.
const SALVAGED: &str = "salvaged.rvf";
/// Words that people type after `backup` for a command; as the name of a file one needs `./`.
const LIKE_COMMANDS: [&str; 12] = [
    "list", "ls", "create", "make", "new", "status", "verify", "check", "show", "delete", "rm",
    "prune",
];
/// Ending of the memory that a restore replaced.
const REPLACED: &str = ".before-restore";

pub(super) fn run(context: &Context, arguments: &BackupArguments) -> anyhow::Result<Exit> {
    let to = arguments.to.as_deref().context("name a file to write")?;
    if let Some(name) = to.to_str().filter(|name| LIKE_COMMANDS.contains(name)) {
        bail!(
            "`backup` has no command `{name}`, and nothing was written; for a file of that name \
             type `reprise backup ./{name}`"
        );
    }
    let user = &arguments.whose.user;
    if arguments.all {
        fs_err::create_dir_all(to)?;
        let ending = if arguments.seal.seals() { ".age" } else { "" };
        let named = |user: &UserId| to.join(format!("{user}.rvf{ending}"));
        let users = store::list_users(context)?.into_iter();
        return Ok(for_each_user(
            users.map(|user| (named(&user), user)),
            |user, to| back_up_or_salvage(context, user, to, arguments),
        ));
    }
    if to != Path::new("-") {
        return back_up_or_salvage(context, user, to, arguments);
    }
    let engine = open_for_backup(context, user)?;
    let mut out = arguments.seal.wrap(crate::printer::stdout_of_bytes())?;
    engine.snapshot().log_reader().copy_file_to(&mut out)?;
    out.finish()?.flush()?;
    Ok(Exit::Success)
}

/// Calls `one` for each user. An error is printed and does not stop the other users.
fn for_each_user(
    users: impl Iterator<Item = (PathBuf, UserId)>,
    one: impl Fn(&UserId, &Path) -> anyhow::Result<Exit>,
) -> Exit {
    let mut exit = Exit::Success;
    for (file, user) in users {
        let done = one(&user, &file).unwrap_or_else(|error| {
            tell!("{user}: {error:#}");
            Exit::Refused
        });
        if done != Exit::Success {
            exit = Exit::Refused;
        }
    }
    exit
}

/// Backs up one memory. A damaged one is salvaged into a second file; the last good backup stays.
fn back_up_or_salvage(
    context: &Context,
    user: &UserId,
    to: &Path,
    arguments: &BackupArguments,
) -> anyhow::Result<Exit> {
    let is_forced = arguments.force;
    copies::ensure_may_write(context, user, to, &CopyForm::Backup, is_forced)?;
    let memory = open_for_backup(context, user);
    if let (Ok(memory), false) = (&memory, is_forced) {
        refuse_to_lose_records(user, memory, to)?;
    }
    let is_replaced = to.exists();
    let made = memory.and_then(|memory| {
        if arguments.seal.seals() {
            write_encrypted_copy(context, user, &memory, to, &arguments.seal)
        } else {
            write_plain_copy(context, user, &memory, to)
        }
    });
    let error = match made {
        Ok(made) => {
            print_backup(context, user, &made, to, is_replaced)?;
            return Ok(Exit::Success);
        }
        Err(error) => error,
    };
    if arguments.seal.seals() {
        return Err(error.context("no encrypted backup was written"));
    }
    if let Some(EngineError::OtherUser { .. }) = error.downcast_ref() {
        return Err(error);
    }
    let rest = to.with_extension(SALVAGED);
    if let Err(taken) = copies::ensure_may_write(context, user, &rest, &CopyForm::Backup, is_forced)
    {
        return Err(error.context(taken));
    }
    let Ok(report) = salvage(context, user, &rest) else {
        return Err(error);
    };
    tell!(
        "{user}: {error:#}; what can be read of it is in {}",
        rest.display()
    );
    print_backup(context, user, &report, &rest, false)?;
    Ok(Exit::Refused)
}

/// Refuses to replace a sound copy that has records which the memory lacks: a truncated file opens
/// as a shorter memory and grows again, so the copy may be the only place of the lost records.
fn refuse_to_lose_records(user: &UserId, memory: &Engine, to: &Path) -> anyhow::Result<()> {
    let Ok((copy, _)) = store::open_quietly(None, to, Access::Read, Verify::Tail) else {
        return Ok(());
    };
    let (here, there) = (memory.stats(), copy.stats());
    let (memory, copy) = (memory.snapshot(), copy.snapshot());
    // A compaction since the copy removed the ids of forgotten records.
    let taken = if there.compacted_to == here.compacted_to {
        0
    } else {
        here.forgotten.saturating_sub(there.forgotten) as usize
    };
    let has_more = there.commits > here.commits
        || copy.log_reader().record_count() > memory.log_reader().record_count()
        || memory.diff(&copy).added.len() > taken;
    ensure!(
        !has_more || verify_copy(to).is_err(),
        "`{}` is a sound copy with what the memory of `{user}` does not have ({} commits there, \
         {} \
         here; this happens after an older backup was restored); name another file to keep it, or \
         replace it with --force",
        to.display(),
        there.commits,
        here.commits
    );
    Ok(())
}

fn salvage(context: &Context, user: &UserId, to: &Path) -> anyhow::Result<VerifiedCopy> {
    let log = store::open_log(&context.places.memory_file_of(user))?;
    atomic_files::write_then_rename(to, |temporary| {
        log.salvage_to(temporary)?;
        let bytes = fs_err::metadata(temporary)?.len();
        let records = verify_copy(temporary)?;
        copies::record_copy(context, user, to, CopyForm::Backup, Some(temporary));
        Ok(VerifiedCopy { records, bytes })
    })
}

/// Counts of a file whose every record was read and verified.
struct VerifiedCopy {
    records: u64,
    bytes: u64,
}

/// Opens the memory for a backup, and prints which bytes of its file the copy will not contain.
fn open_for_backup(context: &Context, user: &UserId) -> anyhow::Result<Engine> {
    let (engine, report) = store::open(context, user, Access::Read, Verify::Tail)?;
    let torn = report.recovery.torn_bytes;
    if torn > 0 {
        tell!(
            "{user}: the last {torn} bytes of the memory are an incomplete commit and are not in \
             the copy; if memories are missing, use an earlier backup"
        );
    }
    Ok(engine)
}

fn write_plain_copy(
    context: &Context,
    user: &UserId,
    memory: &Engine,
    to: &Path,
) -> anyhow::Result<VerifiedCopy> {
    atomic_files::write_then_rename(to, |temporary| {
        let mut file = create_copy_file(to, temporary)?;
        let bytes = memory.snapshot().log_reader().copy_file_to(&mut file)?;
        file.sync_all()?;
        let records = verify_copy(temporary)?;
        copies::record_copy(context, user, to, CopyForm::Backup, Some(temporary));
        Ok(VerifiedCopy { records, bytes })
    })
}

/// Writes an encrypted copy. The unencrypted file exists only next to the memory, and only while
/// it is verified.
fn write_encrypted_copy(
    context: &Context,
    user: &UserId,
    memory: &Engine,
    to: &Path,
    seal: &SealArguments,
) -> anyhow::Result<VerifiedCopy> {
    let plain = append_ending(&context.places.memory_file_of(user), UNPROVEN);
    let result = || -> anyhow::Result<VerifiedCopy> {
        let mut file = create_private(&plain)?;
        let bytes = memory.snapshot().log_reader().copy_file_to(&mut file)?;
        file.sync_all()?;
        let records = verify_copy(&plain)?;
        atomic_files::write_then_rename(to, |temporary| {
            let mut out = seal.wrap(create_copy_file(to, temporary)?)?;
            io::copy(&mut fs_err::File::open(&plain)?, &mut out)?;
            out.finish()?.sync_all()?;
            copies::record_copy(context, user, to, CopyForm::Backup, Some(temporary));
            Ok(())
        })?;
        Ok(VerifiedCopy { records, bytes })
    };
    let result = result();
    if plain.exists() {
        fs_err::remove_file(&plain)?;
    }
    result
}

/// Creates the temporary file of a copy; errors name the copy's final path.
fn create_copy_file(to: &Path, temporary: &Path) -> anyhow::Result<fs_err::File> {
    let shown = to.display();
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let folder = folder.display();
        bail!("cannot write `{shown}`: the folder `{folder}` does not exist; create it first");
    }
    create_private(temporary).map_err(|error| {
        let why = error.root_cause();
        anyhow!("`{shown}` cannot be written: {why}; name another place")
    })
}

fn print_backup(
    context: &Context,
    user: &UserId,
    made: &VerifiedCopy,
    to: &Path,
    is_replaced: bool,
) -> anyhow::Result<()> {
    let VerifiedCopy { records, bytes } = made;
    let path = to.display().to_string();
    let row = json!({ "user": user, "records": records, "bytes": bytes, "file": path });
    let (size, records) = (format_size(*bytes), format_count(records, "memory"));
    let mut line = format!("backed up {user} to {path}: {records}, {size}, every hash verified");
    if is_replaced {
        line.push_str("; the backup that was there is replaced");
    }
    match output::line(context, &row, line) {
        // The copy exists even if nobody reads this line.
        Err(error) if !terminal::is_broken_pipe(&error) => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn restore(context: &Context, arguments: &RestoreArguments) -> anyhow::Result<Exit> {
    if !arguments.all {
        return restore_one(context, &arguments.user, &arguments.from, arguments);
    }
    let folder = arguments.from.display();
    let backups = find_backups(&arguments.from)?;
    ensure!(
        !backups.is_empty(),
        "`{folder}` has no backups; name the folder that `reprise backup --all` wrote"
    );
    let backups = backups.into_iter().map(|(user, file)| (file, user));
    Ok(for_each_user(backups, |user, from| {
        restore_one(context, user, from, arguments)
    }))
}

/// Returns the backups in a folder by the user that each file name contains.
fn find_backups(folder: &Path) -> anyhow::Result<BTreeMap<UserId, PathBuf>> {
    let mut backups = BTreeMap::new();
    for entry in fs_err::read_dir(folder)? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let whole = name.strip_suffix(".age").unwrap_or(&name);
        let user = whole.strip_suffix(".rvf");
        if let Some(user) = user.filter(|user| !user.ends_with(".salvaged"))
            && let Ok(user) = user.parse::<UserId>()
            && let Some(other) = backups.insert(user, file.clone())
        {
            let (one, other) = (file.display(), other.display());
            bail!("`{one}` and `{other}` are backups of the same user; remove one of them");
        }
    }
    Ok(backups)
}

fn restore_one(
    context: &Context,
    user: &UserId,
    from: &Path,
    arguments: &RestoreArguments,
) -> anyhow::Result<Exit> {
    let shown = from.display();
    if from != Path::new("-") && fs_err::symlink_metadata(from).is_err() {
        bail!("`{shown}` does not exist; name the file that `reprise backup` wrote");
    }
    let target = context.places.memory_file_of(user);
    if target.exists() && !arguments.replace && !arguments.dry_run {
        bail!(
            "user `{user}` has a memory already; add --replace to rename it, or choose another \
             --user"
        );
    }
    let mut bytes = arguments.key.open(from)?;
    let is_new = target.parent().is_some_and(|folder| !folder.exists());
    store::make_folder(&target)?;
    let temporary = append_ending(&target, UNPROVEN);
    let mut file = create_private(&temporary)?;
    io::copy(&mut bytes as &mut dyn Read, &mut file)?;
    file.sync_all()?;
    let taken = verify_copy(&temporary).and_then(|records| {
        if arguments.dry_run {
            return preview_restore(context, user, from, &temporary).map(|()| None);
        }
        give_to_user(&temporary, user)?;
        let (aside, back) = replace_memory(context, user, &temporary, &target)?;
        Ok(Some(RestoredMemory {
            records,
            aside,
            back,
        }))
    });
    if !matches!(taken, Ok(Some(_))) {
        fs_err::remove_file(&temporary)?;
        if let Some(folder) = target.parent().filter(|_| is_new) {
            fs_err::remove_dir(folder)?;
        }
    }
    let done = taken.map_err(|error| match error.downcast_ref() {
        Some(EngineError::Store(StoreError::NotAStore { why, .. })) => anyhow!(
            "nothing was restored: `{shown}` is not a backup of a memory ({why}); to add memories \
             from a file, use `reprise ingest`"
        ),
        _ if error.is::<DamagedCopyError>() => {
            anyhow!("nothing was restored from `{shown}`: {error}; restore an earlier backup")
        }
        _ => error.context(format!("nothing was restored from `{shown}`")),
    })?;
    if let Some(done) = &done {
        print_restored(context, user, from, done)?;
    }
    Ok(Exit::Success)
}

/// What a restore did.
struct RestoredMemory {
    records: u64,
    /// The memory that was there before.
    aside: Option<PathBuf>,
    /// The forgotten memories that the backup brought back.
    back: Vec<RecordId>,
}

fn print_restored(
    context: &Context,
    user: &UserId,
    from: &Path,
    done: &RestoredMemory,
) -> anyhow::Result<()> {
    let RestoredMemory {
        records,
        aside,
        back,
    } = done;
    let row = json!({ "user": user, "records": records, "aside": aside, "came_back": back });
    let (records, shown) = (format_count(records, "memory"), from.display());
    let line = format!("restored {user} from {shown}: {records}, every hash verified");
    output::line(context, &row, line)?;
    if let Some(aside) = aside {
        tell!("the earlier memory file is {}", aside.display());
    }
    if !back.is_empty() {
        let texts = format_count(back.len(), "forgotten text");
        tell!(
            "{texts} came back with the backup: forget them again if they should stay \
            forgotten"
        );
    }
    Ok(())
}

/// Most memories that a preview names of each sort, and most characters of each.
const NAMED: usize = 12;
const NAME_CHARS: usize = 120;

/// Lists how the first of some memories begin.
fn list_beginnings(memory: &Snapshot, ids: &[RecordId]) -> Vec<String> {
    let records = ids.iter().filter_map(|id| memory.get(*id)?.ok());
    let texts = records.map(|record| to_one_line(&record.text).chars().take(NAME_CHARS).collect());
    texts.take(NAMED).collect()
}

/// Prints what a restore of this verified copy would replace.
fn preview_restore(
    context: &Context,
    user: &UserId,
    from: &Path,
    copy: &Path,
) -> anyhow::Result<()> {
    let (copy, _) = store::open_quietly(None, copy, Access::Read, Verify::Tail)?;
    let here = store::exists(context, user)?
        .then(|| store::open_for_reading(context, user))
        .transpose()?;
    let (there, now) = (copy.stats(), here.as_ref().map(Engine::stats));
    let copy = copy.snapshot();
    let compared = here.as_ref().map(|here| {
        let here = here.snapshot();
        let (lost, changed) = here.list_absent_from(&copy);
        let (gained, _) = copy.list_absent_from(&here);
        let back = here.forgotten_ids_still_in(&copy).len();
        let texts = [
            list_beginnings(&here, &lost),
            list_beginnings(&here, &changed),
            list_beginnings(&copy, &gained),
        ];
        ([lost.len(), changed.len(), gained.len(), back], texts)
    });
    let ([lost, changed, gained, back], [lost_texts, changed_texts, gained_texts]) =
        compared.unwrap_or_default();
    let row = json!({
        "user": user, "dry_run": true, "memories": there.live, "sessions": there.sessions,
        "last_saved": there.last_ingest, "memories_now": now.as_ref().map_or(0, |now| now.live),
        "only_now": lost, "other_version": changed, "only_then": gained, "would_come_back": back,
        "only_now_texts": lost_texts, "other_version_texts": changed_texts,
        "only_then_texts": gained_texts,
        "may_hold_forgotten": there.forgotten > 0 && there.reclaimable_bytes > 0,
    });
    let count = |count: u64| format_count(count, "memory");
    let line = format!(
        "{} holds {}; {user} has {} now, and the backup does not have {} of them and has another \
         version of {}; {} would come back",
        from.display(),
        count(there.live.into()),
        count(now.map_or(0, |now| now.live.into())),
        lost,
        changed,
        format_count(back, "forgotten text"),
    );
    output::line(context, &row, line)?;
    Ok(())
}

/// Lets the copy of another user's memory name this user as well.
fn give_to_user(copy: &Path, user: &UserId) -> anyhow::Result<()> {
    let (engine, _) = store::open_quietly(None, copy, Access::Read, Verify::Tail)?;
    if engine.check_user(user).is_err() {
        let (mut engine, _) = store::open_quietly(None, copy, Access::Write, Verify::Tail)?;
        engine.add_user(user)?;
    }
    Ok(())
}

/// Renames the file into the place of the user's memory; an existing memory is renamed under its
/// lock. Returns the path of the old memory, and the forgotten records that the backup brings back.
fn replace_memory(
    context: &Context,
    user: &UserId,
    file: &Path,
    target: &Path,
) -> anyhow::Result<(Option<PathBuf>, Vec<RecordId>)> {
    if target.exists() {
        let held = store::open_from_daemon(context, user)?;
        let (copy, _) = store::open_quietly(None, file, Access::Read, Verify::Tail)?;
        let back = held.snapshot().forgotten_ids_still_in(&copy.snapshot());
        drop(copy);
        let aside = replace_file(&RealDisk, file, target, REPLACED)?;
        drop(held);
        return Ok((Some(aside), back));
    }
    // A memory that another process created in the meantime is kept.
    move_to_free_path(&RealDisk, file, target)?;
    Ok((None, Vec::new()))
}

/// Verifies a whole file; returns the number of its records, or what is damaged.
pub(super) fn verify_copy(path: &Path) -> anyhow::Result<u64> {
    let (mut engine, opened) = store::open_file(None, path, Access::Read, Verify::Everything)?;
    let report = engine.check()?;
    let missing = opened.recovery.missing_records.iter();
    let lost: u32 = missing.map(|(first, last)| last - first + 1).sum();
    let torn = opened.recovery.torn_bytes;
    let why = match report.findings.first() {
        Some(finding) => format!("{}: {}", finding.what, finding.detail),
        None if lost > 0 => format!("{} lost", format_count(lost, "memory")),
        None if torn > 0 => format!(
            "its last {torn} bytes are an incomplete commit: the file was \
            cut short"
        ),
        None => return Ok(u64::from(report.records_read)),
    };
    Err(DamagedCopyError(why).into())
}

/// Damage that was found in a copy.
#[derive(Debug)]
struct DamagedCopyError(String);

impl std::error::Error for DamagedCopyError {}

impl fmt::Display for DamagedCopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the copy is damaged ({})", self.0)
    }
}
