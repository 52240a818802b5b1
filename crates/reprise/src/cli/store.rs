//! Opens a user's file directly for a command: under its lock, without the memory service.

pub(super) mod torn_tails;

use std::io::Read;
use std::os::unix::fs::DirBuilderExt;

use reprise_engine::{CosinesOfModel, EngineError, EngineOptions, OpenReport};
use reprise_rvf::RvfVectors;
use reprise_store::{Log, OpenOptions, StoreError};
use reprise_types::VectorStore;

use crate::cli::prelude::*;
use crate::config::VectorsChoice;

/// Length of the vectors of the built-in model.
pub const DIMENSIONS: u16 = 384;

/// Interval between two attempts to open a locked memory.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Wait after which a message is printed.
const SOON: Duration = Duration::from_secs(1);

/// How long a command waits for other commands.
pub(super) const TURN: Duration = Duration::from_secs(20);

/// Longest wait for a daemon that is asked to release a memory.
const TAKE_OVER: Duration = Duration::from_secs(10);

/// Access with which a command opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// No lock; works next to a running writer.
    Read,
    /// The lock; the file must exist.
    Write,
    /// The lock; a missing file is created.
    Create,
}

/// Opens the user's store, waiting for its turn if it is locked.
pub(super) fn open(
    context: &Context,
    user: &UserId,
    access: Access,
    verify: Verify,
) -> anyhow::Result<(Engine, OpenReport)> {
    retry_while_locked(context, user, TURN, lock_holder_in, || {
        try_open(context, user, access, verify)
    })
}

/// Opens the user's store for reading.
pub fn open_for_reading(context: &Context, user: &UserId) -> anyhow::Result<Engine> {
    Ok(open(context, user, Access::Read, Verify::Tail)?.0)
}

fn try_open(
    context: &Context,
    user: &UserId,
    access: Access,
    verify: Verify,
) -> anyhow::Result<(Engine, OpenReport)> {
    context.ensure_memory_is_local()?;
    let path = context.places.memory_file_of(user);
    if access == Access::Create {
        make_folder(&path)?;
    } else if !exists(context, user)? {
        bail!(describe_empty_memory(user));
    }
    let (space, chosen) = (context.of_user(user).space(), context.config.memory.vectors);
    // A command that repairs or replaces the file has to open whatever is there.
    let owner = (access != Access::Write).then_some(user);
    let cosines = Some(model::share_cosines(context));
    let found = open_new_or_known(space, chosen, &path, (access, verify), owner, cosines);
    let (engine, report) = found?;
    let advice = format!("; `reprise doctor check --user {user}` says what was lost");
    print_damage(&path, &report, &advice);
    if access == Access::Read {
        torn_tails::tell_of_unread_tail(user, &path, &report);
    }
    Ok((engine, report))
}

/// Returns whether a user has a memory; an unreadable folder is an error. With a remote daemon it
/// is always true, because that daemon reports a missing memory itself.
pub(super) fn exists(context: &Context, user: &UserId) -> anyhow::Result<bool> {
    if context.remote.is_some() {
        return Ok(true);
    }
    let path = context.places.memory_file_of(user);
    path.try_exists().with_context(|| {
        let path = path.display();
        format!("cannot read `{path}`; check its owner and permissions")
    })
}

/// Opens the user's store for writing, and creates it if it is missing. While another command has
/// it, this one waits up to `patience`.
pub(super) fn open_for_writing(
    context: &Context,
    user: &UserId,
    patience: Duration,
) -> anyhow::Result<Engine> {
    let open = || try_open(context, user, Access::Create, Verify::Tail);
    Ok(retry_while_locked(context, user, patience, lock_holder_in, open)?.0)
}

/// Retries to open a file while its error says that another command has it.
pub(super) fn retry_while_locked<T, E>(
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

/// Opens the user's store for writing for a command that replaces its file: a daemon that has it
/// open releases it.
pub(super) fn open_from_daemon(context: &Context, user: &UserId) -> anyhow::Result<Engine> {
    context.ensure_memory_is_local()?;
    let daemon = DaemonConnection::find_without_restart(context)?;
    let since = Instant::now();
    loop {
        if let Some(daemon) = &daemon {
            let path = Call::path_of(user, &["release"]);
            let _released: Value = daemon.ask(&Call::post(path, &json!({})))?;
        }
        match open(context, user, Access::Write, Verify::Tail) {
            Ok((engine, _)) => return Ok(engine),
            // A request made the daemon open it again in the meantime.
            Err(error) if daemon.is_some() && lock_holder_in(&error).is_some() => {
                if since.elapsed() > TAKE_OVER {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns every user of the data directory, with branches, by name.
pub(super) fn list_users(context: &Context) -> anyhow::Result<Vec<UserId>> {
    let mut users = Vec::new();
    let entries = match fs_err::read_dir(&context.places.data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(users),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let user: Option<UserId> = name.parse().ok();
        let user = user.filter(|user| !user.is_repository_memory());
        users.extend(user.filter(|user| context.places.memory_file_of(user).exists()));
    }
    users.sort();
    Ok(users)
}

/// Removes the folder of a memory under its lock, so that nobody writes there.
pub(super) fn remove(context: &Context, user: &UserId) -> anyhow::Result<()> {
    let memory = open_from_daemon(context, user)?;
    fs_err::remove_dir_all(context.places.home_of(user))?;
    drop(memory);
    Ok(())
}

/// Returns who holds the lock, if that is why a memory could not be opened.
pub(super) fn lock_holder(error: &EngineError) -> Option<&str> {
    match error {
        EngineError::Store(StoreError::Locked { holder, .. }) => Some(holder),
        _ => None,
    }
}

fn lock_holder_in(error: &anyhow::Error) -> Option<&str> {
    lock_holder(error.downcast_ref()?)
}

/// Returns whether the holder of a lock is the daemon, which keeps it as long as it runs.
fn is_daemon(context: &Context, holder: &str) -> bool {
    let process = context.places.daemon_place().recorded_process();
    process.is_some_and(|process| holder.rsplit(' ').next() == Some(&*process))
}

/// Creates the folder of a user's file, which only its owner can read.
pub fn make_folder(file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().context("the data directory has no parent")?;
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("the folder `{}` cannot be made", folder.display()))
}

/// Opens a file by its path and prints its damage; a new file uses this space.
pub(super) fn open_file(
    space: Option<EmbeddingSpace>,
    path: &Path,
    access: Access,
    verify: Verify,
) -> anyhow::Result<(Engine, OpenReport)> {
    let (engine, report) = open_quietly(space, path, access, verify)?;
    print_damage(path, &report, "");
    Ok((engine, report))
}

/// Prints the damage that was found on opening.
fn print_damage(path: &Path, report: &OpenReport, advice: &str) {
    let path = path.display();
    for damage in &report.recovery.damage {
        tell!("warning: `{path}`: {damage}{advice}");
    }
}

/// Opens a file without printing its damage; a new one has its vectors in itself.
pub(super) fn open_quietly(
    space: Option<EmbeddingSpace>,
    path: &Path,
    access: Access,
    verify: Verify,
) -> anyhow::Result<(Engine, OpenReport)> {
    open_new_or_known(
        space,
        VectorsChoice::Log,
        path,
        (access, verify),
        None,
        None,
    )
}

fn open_new_or_known(
    space: Option<EmbeddingSpace>,
    chosen: VectorsChoice,
    path: &Path,
    (access, verify): (Access, Verify),
    owner: Option<&UserId>,
    cosines: Option<CosinesOfModel>,
) -> anyhow::Result<(Engine, OpenReport)> {
    let dimensions = space.as_ref().map_or(DIMENSIONS, |space| space.dimensions);
    let mut options = EngineOptions::new(dimensions, random_bits()?, SystemClock.now());
    options.create = access == Access::Create;
    options.read_only = access == Access::Read;
    options.space = space;
    options.verify = verify;
    options.user = owner.cloned();
    options.ports.cosines = cosines;
    Ok(open_engine(chosen, path, &options)?)
}

/// Opens a memory with the stores of vectors that this program has; `chosen` is for a new one.
pub(super) fn open_engine(
    chosen: VectorsChoice,
    path: &Path,
    options: &EngineOptions,
) -> Result<(Engine, OpenReport), EngineError> {
    let open_vectors = |path: &Path, dimensions: u16, is_read_only: bool| {
        let store = RvfVectors::open(path, dimensions, is_read_only)?;
        Ok(Arc::new(store) as Arc<dyn VectorStore>)
    };
    let mut options = options.clone();
    options.ports.vectors = Some(Arc::new(open_vectors));
    options.ports.vectors_for_new = chosen == VectorsChoice::RvfRuntime;
    Engine::open(Arc::new(RealDisk), path, &options)
}

/// Opens the log of a file without index and lock.
pub(super) fn open_log(path: &Path) -> anyhow::Result<Log> {
    let options = OpenOptions {
        dimensions: 0,
        file_id: 0,
        created_at: SystemClock.now(),
        create: false,
        read_only: true,
        verify: Verify::Tail,
    };
    Ok(Log::open(Arc::new(RealDisk), path, &options)?.log)
}

/// Returns 128 random bits of the operating system.
pub(super) fn random_bits() -> anyhow::Result<u128> {
    let mut bytes = [0; 16];
    fs_err::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}

/// Returns the record with this external id or id.
pub(super) fn find_record(memory: &Snapshot, name: &str) -> anyhow::Result<RecordId> {
    let external = ExternalId::CALLER_NAMESPACES
        .iter()
        .find_map(|namespace| memory.find_by_external_id(&ExternalId::new(*namespace, name)));
    let called = external.or_else(|| name.parse().ok());
    called
        .or_else(|| match memory.find_by_id_prefix(name)[..] {
            [id] => Some(id),
            _ => None,
        })
        .with_context(|| {
            format!("no memory with id `{name}`; `reprise recall` and `reprise list` show ids")
        })
}
