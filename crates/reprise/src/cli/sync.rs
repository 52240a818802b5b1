//! `reprise branch sync`: merges two files of one user, or those of several machines through a
//! folder.
//!
//! `reprise-engine`'s `join.rs` decides conflicts. This file handles the files: each is written to
//! a temporary file, verified, and then renamed. `sync/exchange.rs` handles the folder.

mod exchange;

use reprise_engine::{Conflict, ConflictKind, ExportEntry, JoinedLog, join_logs};
use reprise_types::sha256_hex;

use super::backup::verify_copy;
use crate::args::{LateEvent, SyncArguments};
use crate::cli::prelude::*;
use crate::env::MEMORY;

/// Longest time to send the waiting events.
const SENDING: Duration = Duration::from_mins(10);
/// Vectors that are inserted at once.
const VECTORS: usize = 1024;
/// Most conflicts that are printed.
const SHOWN: usize = 20;

pub(super) fn run(context: &Context, arguments: &SyncArguments) -> anyhow::Result<Exit> {
    if arguments.unsent {
        return send_waiting_hook_events(context, arguments);
    }
    context.ensure_memory_is_local()?;
    match (&arguments.folder, arguments.files.as_slice()) {
        (Some(folder), _) => exchange::run(context, arguments, folder),
        (None, [own, theirs]) => merge_files(context, arguments, own, theirs),
        _ => bail!("name two files of one user, or a folder with --folder"),
    }
}

/// Memory that is locked while it is merged with another.
struct LockedMemory {
    file: PathBuf,
    engine: Engine,
    entries: Vec<ExportEntry>,
}

/// Vector of a record with its space.
type Vector = (RecordId, EmbeddingSpace, Vec<f32>);

impl LockedMemory {
    fn new(file: PathBuf, engine: Engine) -> anyhow::Result<Self> {
        let mut entries = Vec::new();
        engine.export_log(&mut |entry| entries.push(entry))?;
        Ok(Self {
            file,
            engine,
            entries,
        })
    }

    /// Opens a user's memory; a daemon that has it open releases it.
    fn open_user_memory(context: &Context, user: &UserId) -> anyhow::Result<Self> {
        Self::new(
            context.places.memory_file_of(user),
            store::open_from_daemon(context, user)?,
        )
    }

    /// Opens the memory in a file or in a folder.
    fn open_path(context: &Context, named: &Path) -> anyhow::Result<Self> {
        let file = if named.is_dir() {
            named.join(MEMORY)
        } else {
            named.to_owned()
        };
        let shown = named.display();
        ensure!(
            file.exists(),
            "`{shown}` is no memory file; name the file of a memory, or its folder"
        );
        let file = fs_err::canonicalize(&file)?;
        if let Some(user) = user_of_memory_file(&file)
            && fs_err::canonicalize(context.places.memory_file_of(&user))
                .is_ok_and(|own| own == file)
        {
            return Self::open_user_memory(context, &user);
        }
        let (engine, _) = store::open_file(None, &file, Access::Write, Verify::Everything)?;
        Self::new(file, engine)
    }

    fn read_vectors(&self) -> Vec<Vector> {
        let memory = self.engine.snapshot();
        let Some(space) = memory.space() else {
            return Vec::new();
        };
        let kept = self.entries.iter().filter_map(|entry| match entry {
            ExportEntry::Kept(record) => Some(record.id),
            _ => None,
        });
        kept.filter_map(|id| Some((id, space.clone(), memory.vector(id)?)))
            .collect()
    }

    /// Replaces the memory by the merged entries. Returns whether that changed anything.
    fn replace_with(self, entries: &[ExportEntry], vectors: &[Vector]) -> anyhow::Result<bool> {
        if self.entries == entries {
            return Ok(false);
        }
        let space = self.engine.snapshot().space().cloned();
        atomic_files::write_then_rename(&self.file, |temporary| {
            let (mut made, _) = store::open_file(space, temporary, Access::Create, Verify::Tail)?;
            made.import_log(entries.to_vec())?;
            for part in vectors.chunks(VECTORS) {
                made.insert_late_vectors(part.to_vec())?;
            }
            made.close()?;
            verify_copy(temporary).map(drop)
        })?;
        // The old file is closed with its lock after the new one got its name.
        drop(self.engine);
        Ok(true)
    }
}

/// Returns the user of a memory file from its folder.
fn user_of_memory_file(file: &Path) -> Option<UserId> {
    let is_memory = file.file_name().is_some_and(|name| name == MEMORY);
    let folder = file.parent().filter(|_| is_memory)?;
    folder.file_name()?.to_str()?.parse().ok()
}

/// Result of a merge of memories.
struct SyncReport {
    records: usize,
    forgotten: usize,
    changed: Vec<(PathBuf, bool)>,
    conflicts: Vec<Conflict>,
    digest: String,
}

impl SyncReport {
    fn new(joined: JoinedLog) -> Self {
        let count = |what: fn(&ExportEntry) -> bool| {
            joined.entries.iter().filter(|entry| what(entry)).count()
        };
        Self {
            records: count(|entry| matches!(entry, ExportEntry::Kept(_))),
            forgotten: count(|entry| matches!(entry, ExportEntry::Forgotten(_))),
            digest: hash_entries(&joined.entries),
            conflicts: joined.conflicts,
            changed: Vec::new(),
        }
    }

    fn print_report(&self, context: &Context, more: &[(&str, Value)]) -> anyhow::Result<Exit> {
        let (records, forgotten) = (self.records, self.forgotten);
        let files = self.changed.iter();
        let files = files.map(|(file, changed)| json!({ "file": file, "changed": changed }));
        let conflicts = self
            .conflicts
            .iter()
            .map(|Conflict { record, kind: what }| {
                let [what, rule] = describe_conflict(*what);
                json!({ "record": record, "what": what, "rule": rule })
            });
        let mut row = json!({
            "records": records,
            "forgotten": forgotten,
            "files": files.collect::<Vec<_>>(),
            "conflicts": conflicts.collect::<Vec<_>>(),
            "digest": self.digest,
        });
        for (name, value) in more {
            row[*name] = value.clone();
        }
        output::print(context, &row, |out| {
            for (file, changed) in &self.changed {
                let file = file.display();
                let what = if *changed { "changed" } else { "as it was" };
                writeln!(out, "{file} {what}")?;
            }
            for conflict in self.conflicts.iter().take(SHOWN) {
                let [_, rule] = describe_conflict(conflict.kind);
                writeln!(out, "{}  {rule}", conflict.record)?;
            }
            if let more @ 1.. = self.conflicts.len().saturating_sub(SHOWN) {
                writeln!(out, "and {more} more conflicts; --json names all")?;
            }
            let (records, digest) = (format_count(records, "memory"), &self.digest[..16]);
            Ok(writeln!(
                out,
                "{records} with their earlier versions, {forgotten} forgotten, digest {digest}"
            )?)
        })
    }
}

/// Returns the name of a conflict, and the rule that decides it.
const fn describe_conflict(what: ConflictKind) -> [&'static str; 2] {
    match what {
        ConflictKind::Corrected => [
            "corrected",
            "corrected on both sides: this version is current, the others are its history",
        ],
        ConflictKind::Tagged => ["tagged", "tagged on both sides: has the tags of both"],
        ConflictKind::Forgotten => [
            "forgotten",
            "forgotten on one side, changed on the other: forgotten",
        ],
    }
}

/// Returns a hash of all entries except the cursors of this machine's logs.
fn hash_entries(entries: &[ExportEntry]) -> String {
    let mut text = String::new();
    for entry in entries
        .iter()
        .filter(|entry| !matches!(entry, ExportEntry::Cursor { .. }))
    {
        text.push_str(&serde_json::to_string(entry).unwrap_or_default());
        text.push('\n');
    }
    sha256_hex(text.as_bytes())
}

fn merge_files(
    context: &Context,
    arguments: &SyncArguments,
    own: &Path,
    theirs: &Path,
) -> anyhow::Result<Exit> {
    let is_same = [own, theirs].iter().all(|one| one.exists())
        && own.canonicalize()? == theirs.canonicalize()?;
    ensure!(!is_same, "both are the same file; name two");
    let (own, theirs) = (
        LockedMemory::open_path(context, own)?,
        LockedMemory::open_path(context, theirs)?,
    );
    ensure!(own.file != theirs.file, "both are the same file; name two");
    if let (Some(user), Some(other)) = (
        user_of_memory_file(&own.file),
        user_of_memory_file(&theirs.file),
    ) {
        // A branch of a memory is named USER+NAME.
        let base = |user: &UserId| user.as_str().split('+').next().map(str::to_owned);
        ensure!(
            base(&user) == base(&other),
            "one is the memory of `{user}` and the other of `{other}`; only files of one user can \
             be merged; use `reprise import` for another user's memories"
        );
    }
    let joined = join_logs(own.entries.clone(), theirs.entries.clone());
    let mut vectors = own.read_vectors();
    vectors.extend(theirs.read_vectors());
    let mut changes = Vec::new();
    for held in [own, theirs] {
        let file = held.file.clone();
        let changed = if arguments.dry_run {
            held.entries != joined.entries
        } else {
            held.replace_with(&joined.entries, &vectors)?
        };
        changes.push((file, changed));
    }
    let mut done = SyncReport::new(joined);
    done.changed = changes;
    done.print_report(context, &[])
}

/// Sends the events that hooks could not send to the daemon in time.
fn send_waiting_hook_events(context: &Context, arguments: &SyncArguments) -> anyhow::Result<Exit> {
    let unsent = Unsent::for_daemon(context);
    if let Some(late) = arguments.late {
        // Nobody waits for this process.
        let name = |folder: &Path| Ok(project::name_folder_within(context, folder, usize::MAX)?);
        unsent.push_from(&mut io::stdin().lock(), name)?;
        if late == LateEvent::Keep {
            return Ok(Exit::Success);
        }
    }
    let client = super::daemon::restarting_client(context)?;
    let before = unsent.count_waiting();
    let sending = unsent.send(&client, Instant::now() + SENDING);
    runtime::build_single_threaded()?.block_on(sending)?;
    let waiting = unsent.count_waiting();
    let sent = before.saturating_sub(waiting);
    let row = json!({ "sent": sent, "waiting": waiting });
    output::line(context, &row, format!("{sent} sent, {waiting} wait"))?;
    Ok(output::exit(waiting == 0))
}
