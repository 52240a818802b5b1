//! `reprise backup` and `restore`: a memory is one file, so a backup is a copy of it, taken while
//! it is in use and proven before anybody relies on it.

use std::fmt;
use std::io::Read;

use reprise_engine::EngineError;
use reprise_store::{StoreError, place_file, replace_file};

use super::copies::Form;
use super::whole::{private, with_ending};
use crate::args::{BackupArguments, RestoreArguments, SealArguments};
use crate::cli::prelude::*;

/// Ending of a copy until it is whole and proven.
const UNPROVEN: &str = "unproven";
/// Extension of what could be read of a damaged memory.
const SALVAGED: &str = "salvaged.rvf";
/// Ending of the memory that a restore replaced.
const REPLACED: &str = ".before-restore";

pub(super) fn run(context: &Context, arguments: &BackupArguments) -> anyhow::Result<Exit> {
    let (to, user) = (&arguments.to, &arguments.whose.user);
    if arguments.all {
        fs_err::create_dir_all(to)?;
        let ending = if arguments.seal.seals() { ".age" } else { "" };
        let named = |user: &UserId| to.join(format!("{user}.rvf{ending}"));
        let users = store::users(context)?.into_iter();
        return Ok(each(users.map(|user| (named(&user), user)), |user, to| {
            one_or_rest(context, user, to, arguments)
        }));
    }
    if to != Path::new("-") {
        return one_or_rest(context, user, to, arguments);
    }
    let engine = opened(context, user)?;
    let mut out = arguments.seal.over(crate::printer::stdout_of_bytes())?;
    engine.snapshot().log().copy_to(&mut out)?;
    out.finish()?.flush()?;
    Ok(Exit::Success)
}

/// Does it for one user after another; what goes wrong with one is told and keeps no other from it.
fn each(
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

/// Backs one memory up; of a damaged one what can still be read, beside the last whole backup.
fn one_or_rest(
    context: &Context,
    user: &UserId,
    to: &Path,
    arguments: &BackupArguments,
) -> anyhow::Result<Exit> {
    let is_forced = arguments.force;
    copies::may_write(context, user, to, &Form::Backup, is_forced)?;
    let memory = opened(context, user);
    if let (Ok(memory), false) = (&memory, is_forced) {
        keep_the_fuller(user, memory, to)?;
    }
    let made = memory.and_then(|memory| {
        if arguments.seal.seals() {
            sealed(context, user, &memory, to, &arguments.seal)
        } else {
            one(context, user, &memory, to)
        }
    });
    let error = match made {
        Ok(made) => {
            say(context, user, &made, to)?;
            return Ok(Exit::Success);
        }
        Err(error) => error,
    };
    if arguments.seal.seals() {
        let said = "nothing was written; a backup without encryption saves what can be read";
        return Err(error.context(said));
    }
    let rest = to.with_extension(SALVAGED);
    if let Err(taken) = copies::may_write(context, user, &rest, &Form::Backup, is_forced) {
        return Err(error.context(taken));
    }
    let Ok(report) = salvage(context, user, &rest) else {
        return Err(error);
    };
    tell!(
        "{user}: {error:#}; what can be read of it is in {}",
        rest.display()
    );
    say(context, user, &report, &rest)?;
    Ok(Exit::Refused)
}

/// Refuses to replace a sound copy that has what the memory has not: a file that was cut short
/// opens as a shorter memory and grows again, and the copy may have the only rest of it.
fn keep_the_fuller(user: &UserId, memory: &Engine, to: &Path) -> anyhow::Result<()> {
    let Ok((copy, _)) = store::open_quietly(None, to, Access::Read, Verify::Tail) else {
        return Ok(());
    };
    let (here, there) = (memory.stats(), copy.stats());
    let (memory, copy) = (memory.snapshot(), copy.snapshot());
    // A compaction since the copy took ids of the forgotten away.
    let taken = if there.compacted_to == here.compacted_to {
        0
    } else {
        here.forgotten.saturating_sub(there.forgotten) as usize
    };
    let has_more = there.commits > here.commits
        || copy.log().records() > memory.log().records()
        || memory.diff(&copy).added.len() > taken;
    ensure!(
        !has_more || proven(to).is_err(),
        "`{}` is a sound copy with what the memory of `{user}` does not have ({} commits there, {} \
         here; so it is after an older backup was restored); name another file to keep it, or \
         replace it with --force",
        to.display(),
        there.commits,
        here.commits
    );
    Ok(())
}

fn salvage(context: &Context, user: &UserId, to: &Path) -> anyhow::Result<Proven> {
    let log = store::open_log(&context.places.file_of(user))?;
    whole::place(to, |beside| {
        log.salvage_to(beside)?;
        let bytes = fs_err::metadata(beside)?.len();
        let records = proven(beside)?;
        copies::note(context, user, to, Form::Backup, Some(beside));
        Ok(Proven { records, bytes })
    })
}

/// What stands in a file that was read wholly.
struct Proven {
    records: u64,
    bytes: u64,
}

/// The memory as a backup reads it; tells which bytes of its file no copy has.
fn opened(context: &Context, user: &UserId) -> anyhow::Result<Engine> {
    let (engine, report) = store::open(context, user, Access::Read, Verify::Tail)?;
    let torn = report.recovery.torn_bytes;
    if torn > 0 {
        tell!(
            "{user}: the last {torn} bytes of the memory were no whole commit and are not in the \
             copy; if records are missing, an earlier backup has them"
        );
    }
    Ok(engine)
}

fn one(context: &Context, user: &UserId, memory: &Engine, to: &Path) -> anyhow::Result<Proven> {
    whole::place(to, |beside| {
        let mut file = new_file(to, beside)?;
        let bytes = memory.snapshot().log().copy_to(&mut file)?;
        file.sync_all()?;
        let records = proven(beside)?;
        copies::note(context, user, to, Form::Backup, Some(beside));
        Ok(Proven { records, bytes })
    })
}

/// The same, encrypted. What is not encrypted stands beside the memory while it is proven, and
/// nowhere else.
fn sealed(
    context: &Context,
    user: &UserId,
    memory: &Engine,
    to: &Path,
    seal: &SealArguments,
) -> anyhow::Result<Proven> {
    let plain = with_ending(&context.places.file_of(user), UNPROVEN);
    let written = || -> anyhow::Result<Proven> {
        let mut file = private(&plain)?;
        let bytes = memory.snapshot().log().copy_to(&mut file)?;
        file.sync_all()?;
        let records = proven(&plain)?;
        whole::place(to, |beside| {
            let mut out = seal.over(new_file(to, beside)?)?;
            io::copy(&mut fs_err::File::open(&plain)?, &mut out)?;
            out.finish()?.sync_all()?;
            copies::note(context, user, to, Form::Backup, Some(beside));
            Ok(())
        })?;
        Ok(Proven { records, bytes })
    };
    let written = written();
    if plain.exists() {
        fs_err::remove_file(&plain)?;
    }
    written
}

/// The file beside the place of a copy; what goes wrong is told of that place.
fn new_file(to: &Path, beside: &Path) -> anyhow::Result<fs_err::File> {
    let shown = to.display();
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let folder = folder.display();
        bail!("`{shown}` cannot be written: there is no folder `{folder}`; make it first");
    }
    private(beside).map_err(|error| {
        let why = error.root_cause();
        anyhow!("`{shown}` cannot be written: {why}; name another place")
    })
}

fn say(context: &Context, user: &UserId, made: &Proven, to: &Path) -> anyhow::Result<()> {
    let Proven { records, bytes } = made;
    let path = to.display().to_string();
    let row = json!({ "user": user, "records": records, "bytes": bytes, "file": path });
    let (size, records) = (size(*bytes), counted(records, "record"));
    let line = format!("{user}: {records}, {size}, every hash verified: {path}");
    match output::line(context, &row, line) {
        // The copy is made, whether anybody reads of it or not.
        Err(error) if !terminal::is_broken_pipe(&error) => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn restore(context: &Context, arguments: &RestoreArguments) -> anyhow::Result<Exit> {
    if !arguments.all {
        return restore_one(context, &arguments.user, &arguments.from, arguments);
    }
    let folder = arguments.from.display();
    let backups = backups(&arguments.from)?;
    ensure!(
        !backups.is_empty(),
        "`{folder}` has no backup of a user; name the folder that `reprise backup --all` wrote"
    );
    let backups = backups.into_iter().map(|(user, file)| (file, user));
    Ok(each(backups, |user, from| {
        restore_one(context, user, from, arguments)
    }))
}

/// The backups of a folder, by the user's name that each has.
fn backups(folder: &Path) -> anyhow::Result<BTreeMap<UserId, PathBuf>> {
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
            bail!("`{one}` and `{other}` are backups of the same user; take one of them away");
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
    let target = context.places.file_of(user);
    if target.exists() && !arguments.replace {
        bail!(
            "user `{user}` has a memory already; pass --replace to put it aside, or another --user"
        );
    }
    let shown = from.display();
    if from != Path::new("-") && fs_err::symlink_metadata(from).is_err() {
        bail!("there is no backup `{shown}`; name the file that `reprise backup` wrote");
    }
    let mut bytes = arguments.key.open(from)?;
    let is_new = target.parent().is_some_and(|folder| !folder.exists());
    store::make_folder(&target)?;
    let beside = with_ending(&target, UNPROVEN);
    let mut file = private(&beside)?;
    io::copy(&mut bytes as &mut dyn Read, &mut file)?;
    file.sync_all()?;
    let taken = proven(&beside).and_then(|records| {
        let (aside, back) = take(context, user, &beside, &target)?;
        Ok((records, aside, back))
    });
    let (records, aside, back) = match taken {
        Ok(taken) => taken,
        Err(error) => {
            fs_err::remove_file(&beside)?;
            if let Some(folder) = target.parent().filter(|_| is_new) {
                fs_err::remove_dir(folder)?;
            }
            return Err(match error.downcast_ref() {
                Some(EngineError::Store(StoreError::NotAStore { why, .. })) => anyhow!(
                    "nothing was restored: `{shown}` is no backup of a memory ({why}); records are \
                     read by `reprise ingest`"
                ),
                _ if error.is::<Damaged>() => anyhow!(
                    "nothing was restored from `{shown}`: {error}; restore an earlier backup"
                ),
                _ => error.context(format!("nothing was restored from `{shown}`")),
            });
        }
    };
    let row = json!({ "user": user, "records": records, "aside": aside, "came_back": back });
    let records = counted(records, "record");
    let line = format!("{user}: {records}, every hash verified");
    output::line(context, &row, line)?;
    if let Some(aside) = aside {
        tell!("what was there before is {}", aside.display());
    }
    if !back.is_empty() {
        let texts = counted(back.len(), "forgotten text");
        tell!("{texts} came back with it: forget again what is to stay away");
    }
    Ok(Exit::Success)
}

/// The file becomes the user's memory in one step; the one that was there is put aside, under its
/// lock. Answers where that is now, and what was forgotten there and comes back.
fn take(
    context: &Context,
    user: &UserId,
    file: &Path,
    target: &Path,
) -> anyhow::Result<(Option<PathBuf>, Vec<RecordId>)> {
    if target.exists() {
        let held = store::take_over(context, user)?;
        let (copy, _) = store::open_quietly(None, file, Access::Read, Verify::Tail)?;
        let back = held.snapshot().forgotten_of(&copy.snapshot());
        drop(copy);
        let aside = replace_file(&RealDisk, file, target, REPLACED)?;
        drop(held);
        return Ok((Some(aside), back));
    }
    // Whoever made a memory meanwhile keeps it.
    place_file(&RealDisk, file, target)?;
    Ok((None, Vec::new()))
}

/// Reads a file wholly; answers its records, or what is wrong with it.
pub(super) fn proven(path: &Path) -> anyhow::Result<u64> {
    let (mut engine, opened) = store::open_file(None, path, Access::Read, Verify::Everything)?;
    let report = engine.check()?;
    let missing = opened.recovery.missing_records.iter();
    let lost: u32 = missing.map(|(first, last)| last - first + 1).sum();
    let torn = opened.recovery.torn_bytes;
    let why = match report.findings.first() {
        Some(finding) => format!("{}: {}", finding.what, finding.detail),
        None if lost > 0 => format!("{} lost", counted(lost, "record")),
        None if torn > 0 => format!("its last {torn} bytes are no whole commit: it was cut short"),
        None => return Ok(u64::from(report.records_read)),
    };
    Err(Damaged(why).into())
}

/// What is wrong with a copy.
#[derive(Debug)]
struct Damaged(String);

impl std::error::Error for Damaged {}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the copy is damaged ({})", self.0)
    }
}
