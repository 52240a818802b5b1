//! Opening a user's file from the command line: directly, under its lock, without actors.

use std::io::Read;
use std::os::unix::fs::DirBuilderExt;

use reprise_engine::{EngineError, EngineOptions, OpenReport};
use reprise_store::{Log, OpenOptions, StoreError};

use crate::cli::prelude::*;

/// Length of the vectors of the built-in model.
pub(super) const DIMENSIONS: u16 = 384;

/// Between two looks at whether the memory is free.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A wait that is not worth a word.
const SOON: Duration = Duration::from_secs(1);

/// How long a command waits for others, each of which is done soon.
pub(super) const TURN: Duration = Duration::from_secs(20);

/// How long a daemon that is asked for a memory again and again may keep it.
const TAKE_OVER: Duration = Duration::from_secs(10);

/// How a command wants the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// No lock: works beside a running writer.
    Read,
    /// The lock; the file must exist.
    Write,
    /// The lock; a missing file is made.
    Create,
}

/// Opens the user's store; for writing when it is its turn.
pub(super) fn open(
    context: &Context,
    user: &UserId,
    access: Access,
    verify: Verify,
) -> anyhow::Result<(Engine, OpenReport)> {
    in_turn(context, user, TURN, holder_of, || {
        open_now(context, user, access, verify)
    })
}

/// Opens the user's store to look into it as it is now.
pub(super) fn read(context: &Context, user: &UserId) -> anyhow::Result<Engine> {
    Ok(open(context, user, Access::Read, Verify::Tail)?.0)
}

fn open_now(
    context: &Context,
    user: &UserId,
    access: Access,
    verify: Verify,
) -> anyhow::Result<(Engine, OpenReport)> {
    context.must_be_here()?;
    let path = context.places.file_of(user);
    if access == Access::Create {
        make_folder(&path)?;
    } else if !exists(context, user)? {
        bail!(
            "user `{user}` has no memory at `{}` yet; `reprise ingest --user {user}` makes one",
            path.display()
        );
    }
    let (engine, report) = open_quietly(context.of_user(user).space(), &path, access, verify)?;
    let advice = format!("; `reprise check --user {user}` says what was lost");
    warn(&path, &report, &advice);
    Ok((engine, report))
}

/// Whether a user has a memory; a folder that may not be looked into is not taken for an empty one.
/// What a daemon elsewhere has, it says itself.
pub(super) fn exists(context: &Context, user: &UserId) -> anyhow::Result<bool> {
    if context.remote.is_some() {
        return Ok(true);
    }
    let path = context.places.file_of(user);
    path.try_exists().with_context(|| {
        let path = path.display();
        format!("`{path}` cannot be looked at; check its owner and permissions")
    })
}

/// Opens the user's store for writing, made where missing. While another command has it, this one
/// waits for its turn, for as long as `patience`.
pub(super) fn open_in_turn(
    context: &Context,
    user: &UserId,
    patience: Duration,
) -> anyhow::Result<Engine> {
    let open = || open_now(context, user, Access::Create, Verify::Tail);
    Ok(in_turn(context, user, patience, holder_of, open)?.0)
}

/// Opens a file again and again while another command has it, as its error says.
pub(super) fn in_turn<T, E>(
    context: &Context,
    user: &UserId,
    patience: Duration,
    who: fn(&E) -> Option<&str>,
    open: impl Fn() -> Result<T, E>,
) -> Result<T, E> {
    let since = Instant::now();
    let mut said = false;
    loop {
        let error = match open() {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let waits = |holder: &&str| since.elapsed() < patience && !is_daemon(context, holder);
        let Some(holder) = who(&error).filter(waits) else {
            return Err(error);
        };
        if !said && since.elapsed() >= SOON {
            let seconds = patience.as_secs();
            tell!("`{user}` is in use by {holder}; waiting for it to end, at most {seconds} s");
            said = true;
        }
        std::thread::sleep(LOOK);
    }
}

/// Opens the user's store for writing, for a command that puts another file in its place: a daemon
/// that has it lets go of it.
pub(super) fn take_over(context: &Context, user: &UserId) -> anyhow::Result<Engine> {
    context.must_be_here()?;
    let daemon = Daemon::seen(context)?;
    let since = Instant::now();
    loop {
        if let Some(daemon) = &daemon {
            let path = Call::path_of(user, &["release"]);
            let _released: Value = daemon.ask(&Call::post(path, &json!({})))?;
        }
        match open(context, user, Access::Write, Verify::Tail) {
            Ok((engine, _)) => return Ok(engine),
            // Somebody asked the daemon for it at this moment.
            Err(error) if daemon.is_some() && holder_of(&error).is_some() => {
                if since.elapsed() > TAKE_OVER {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Every user of the data directory, branches too, by name.
pub(super) fn users(context: &Context) -> anyhow::Result<Vec<UserId>> {
    let mut users = Vec::new();
    for entry in fs_err::read_dir(&context.places.data)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let user: Option<UserId> = name.parse().ok();
        let user = user.filter(|user| !user.is_of_repository());
        users.extend(user.filter(|user| context.places.file_of(user).exists()));
    }
    users.sort();
    Ok(users)
}

/// Removes the folder of a memory under its lock: nobody is writing there.
pub(super) fn remove(context: &Context, user: &UserId) -> anyhow::Result<()> {
    let memory = take_over(context, user)?;
    fs_err::remove_dir_all(context.places.home_of(user))?;
    drop(memory);
    Ok(())
}

/// Who has a memory that could not be opened, where it is that.
pub(super) fn holder(error: &EngineError) -> Option<&str> {
    match error {
        EngineError::Store(StoreError::Locked { holder, .. }) => Some(holder),
        _ => None,
    }
}

fn holder_of(error: &anyhow::Error) -> Option<&str> {
    holder(error.downcast_ref()?)
}

/// Whether that is the daemon, which has the memory for as long as it likes.
fn is_daemon(context: &Context, holder: &str) -> bool {
    let process = context.places.meeting().process();
    process.is_some_and(|process| holder.rsplit(' ').next() == Some(&*process))
}

/// The folder of a user's file, closed to everybody else.
pub(super) fn make_folder(file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().context("the data directory has no parent")?;
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("the folder `{}` cannot be made", folder.display()))
}

/// Opens a file by its path, with the vectors that it uses; a new one has those of this space.
pub(super) fn open_file(
    space: Option<EmbeddingSpace>,
    path: &Path,
    access: Access,
    verify: Verify,
) -> anyhow::Result<(Engine, OpenReport)> {
    let (engine, report) = open_quietly(space, path, access, verify)?;
    warn(path, &report, "");
    Ok((engine, report))
}

/// Tells of the damage that opening found.
fn warn(path: &Path, report: &OpenReport, advice: &str) {
    let path = path.display();
    for damage in &report.recovery.damage {
        tell!("warning: `{path}`: {damage}{advice}");
    }
}

/// Opens a file, and leaves it to the caller to tell of its damage.
pub(super) fn open_quietly(
    space: Option<EmbeddingSpace>,
    path: &Path,
    access: Access,
    verify: Verify,
) -> anyhow::Result<(Engine, OpenReport)> {
    let dimensions = space.as_ref().map_or(DIMENSIONS, |space| space.dimensions);
    let mut options = EngineOptions::new(dimensions, entropy()?, SystemClock.now());
    options.create = access == Access::Create;
    options.read_only = access == Access::Read;
    options.space = space;
    options.verify = verify;
    Ok(Engine::open(Arc::new(RealDisk), path, &options)?)
}

/// Opens the log of a file as it is now, without index and lock.
pub(super) fn open_log(path: &Path) -> anyhow::Result<Log> {
    let options = OpenOptions {
        dimensions: 0,
        file_id: 0,
        created_at: SystemClock.now(),
        create: false,
        read_only: true,
        verify: Verify::Tail,
        leave: &[],
    };
    Ok(Log::open(Arc::new(RealDisk), path, &options)?.log)
}

/// 128 bits from the operating system.
pub(super) fn entropy() -> anyhow::Result<u128> {
    let mut bytes = [0; 16];
    fs_err::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}

/// The record with this external id or id.
pub(super) fn record_named(engine: &Engine, name: &str) -> anyhow::Result<RecordId> {
    let external = ExternalId::NAMED
        .iter()
        .find_map(|namespace| engine.duplicate_of(&ExternalId::new(*namespace, name)));
    external
        .or_else(|| name.parse().ok())
        .with_context(|| format!("there is no record `{name}` in this memory"))
}
