//! Exchange between machines through a folder that Syncthing or git copies: each machine appends
//! its entries to its own file and reads those of the others. No file has two writers.
//!
//! A file begins with a line that names the user; each further line is one entry of a log.
//! Forgotten records are removed from a machine's own file; `sensitive` records and the cursors of
//! a machine's logs are not written to it.

use reprise_engine::{ExportEntry, join_logs};
use reprise_files::OpenMode;
use reprise_knowledge::find_withheld_records;
use reprise_operations::is_sensitive;
use xxhash_rust::xxh3::xxh3_128;

use super::{LockedMemory, SyncReport};
use crate::args::SyncArguments;
use crate::cli::prelude::*;

/// Most files of machines in a folder.
const FILES_MAX: usize = 1_000;
const ENDING: &str = "jsonl";
/// File with the name of this machine, next to the daemon's own files.
const MACHINE: &str = "machine";
const MACHINE_BYTES_MAX: u64 = 64;
/// Most bad lines of a file that are printed.
const NAMED_MAX: usize = 5;
const TURN: Duration = Duration::from_secs(20);

/// First line of an exchange file.
#[derive(Debug, Serialize, Deserialize)]
struct ExchangeHeader {
    /// Version of the format.
    reprise_exchange: u32,
    user: UserId,
    machine: String,
}

const FORM: u32 = 1;

/// Contents of all files in a folder.
#[derive(Default)]
struct FolderContents {
    entries: Vec<ExportEntry>,
    /// Hashes of all lines in all files.
    lines: HashSet<u128>,
    /// Lines of this machine's own file.
    own: Vec<String>,
    machines: usize,
    refused: usize,
}

pub(super) fn run(
    context: &Context,
    arguments: &SyncArguments,
    dir: &Path,
) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    let machine = ensure_machine_name(context)?;
    let shared = Folder::open_or_create(dir)?;
    let folder = shared.open_or_create_folder(user.as_str())?;
    let own_name = format!("{machine}.{ENDING}");
    let _alone = project::own_folder(context)?.lock("sync.lock", TURN)?;
    let mut read = FolderContents::default();
    for entry in folder.list(FILES_MAX)? {
        let name = Path::new(&entry.name);
        if name.extension().is_some_and(|ending| ending == ENDING) {
            read.read_file(&folder, name, user, name == Path::new(&own_name))?;
        }
    }
    let is_there = store::exists(context, user)?;
    ensure!(
        is_there || !arguments.dry_run,
        "`{user}` has no memories here yet; leave out --dry-run to create it from the folder"
    );
    let held = if is_there {
        LockedMemory::open_user_memory(context, user)?
    } else {
        let file = context.places.memory_file_of(user);
        store::make_folder(&file)?;
        let space = context.of_user(user).space();
        let (engine, _) = store::open_file(space, &file, Access::Create, Verify::Tail)?;
        LockedMemory::new(file, engine)?
    };
    let joined = join_logs(held.entries.clone(), std::mem::take(&mut read.entries));
    let (entries, vectors) = (joined.entries.clone(), held.read_vectors());
    let mut done = SyncReport::new(joined);
    let file = held.file.clone();
    let out = find_new_lines(&entries, &read)?;
    let changed = if arguments.dry_run {
        held.entries != entries
    } else {
        let changed = held.replace_with(&entries, &vectors)?;
        write_own_file(&folder, &own_name, user, &machine, &read, &entries, &out)?;
        changed
    };
    done.changed.push((file, changed));
    let more = [
        ("machines", json!(read.machines)),
        ("written", json!(out.len())),
        ("refused", json!(read.refused)),
    ];
    done.print_report(context, &more)?;
    Ok(output::exit(read.refused == 0))
}

/// Returns this machine's name in exchange folders, which is created once.
fn ensure_machine_name(context: &Context) -> anyhow::Result<String> {
    let own = project::own_folder(context)?;
    if let Some(name) = own.read_text(MACHINE, MACHINE_BYTES_MAX)? {
        let name = name.trim().to_owned();
        let is_name = name.len() == 16 && name.chars().all(|c| c.is_ascii_hexdigit());
        ensure!(
            is_name,
            "`{}` is not the name of a machine; delete it",
            own.path_of(MACHINE).display()
        );
        return Ok(name);
    }
    let name = format!("{:016x}", store::random_bits()? >> 64);
    own.replace(MACHINE, name.as_bytes())?;
    Ok(name)
}

impl FolderContents {
    fn read_file(
        &mut self,
        folder: &Folder,
        name: &Path,
        user: &UserId,
        is_own: bool,
    ) -> anyhow::Result<()> {
        let shown = folder.path_of(name);
        let shown = shown.display();
        let mut lines = jsonl(BufReader::new(folder.open_file(name, OpenMode::Read)?));
        let head = lines.next().transpose()?.and_then(|(_, line)| line.ok());
        let head = head.and_then(|line| serde_json::from_str::<ExchangeHeader>(&line).ok());
        let why = match head {
            None => Some("is not an exchange file of a memory".to_owned()),
            Some(head) if head.reprise_exchange != FORM => {
                Some("was written by a newer version; update this one".to_owned())
            }
            Some(head) if head.user != *user => {
                let other = head.user;
                Some(format!(
                    "has the memories of `{other}`, and these are those of `{user}`"
                ))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            ensure!(
                !is_own,
                "`{shown}` {why}; it was not changed: move it away, and a new one is written"
            );
            self.refused += 1;
            tell!("skipped `{shown}`: it {why}");
            return Ok(());
        }
        self.machines += usize::from(!is_own);
        let mut bad = Vec::new();
        for line in lines {
            let (number, line) = line?;
            let read = line.and_then(|line| {
                let line = line.trim_end().to_owned();
                let entry = serde_json::from_str::<ExportEntry>(&line);
                Ok((entry.map_err(|error| error.to_string())?, line))
            });
            match read {
                Ok((entry, line)) => {
                    self.lines.insert(xxh3_128(line.as_bytes()));
                    if is_own {
                        self.own.push(line);
                    }
                    self.entries.push(entry);
                }
                Err(why) => bad.push((number, why)),
            }
        }
        // The last line may be incomplete.
        for (number, why) in bad.iter().take(NAMED_MAX) {
            tell!("skipped line {number} of `{shown}`: {why}");
        }
        Ok(())
    }
}

/// Returns the lines for entries that no file contains yet.
fn find_new_lines(entries: &[ExportEntry], read: &FolderContents) -> anyhow::Result<Vec<String>> {
    let stay = find_withheld_records(entries, &is_sensitive);
    let stays = |entry: &ExportEntry| match entry {
        ExportEntry::Kept(record) => stay.contains(&record.id),
        ExportEntry::Tagged { record, .. } | ExportEntry::Seen { record, .. } => {
            stay.contains(record)
        }
        ExportEntry::Linked { record, to, .. } | ExportEntry::Unlinked { record, to, .. } => {
            stay.contains(record) || stay.contains(to)
        }
        ExportEntry::Cursor { .. } => true,
        _ => false,
    };
    let mut out = Vec::new();
    for entry in entries.iter().filter(|entry| !stays(entry)) {
        let line = serde_json::to_string(entry)?;
        if !read.lines.contains(&xxh3_128(line.as_bytes())) {
            out.push(line);
        }
    }
    Ok(out)
}

/// Appends new lines; if the file still contains forgotten records, rewrites it without them.
fn write_own_file(
    folder: &Folder,
    name: &str,
    user: &UserId,
    machine: &str,
    read: &FolderContents,
    entries: &[ExportEntry],
    out: &[String],
) -> anyhow::Result<()> {
    let gone: BTreeSet<RecordId> = entries
        .iter()
        .filter_map(|entry| match entry {
            ExportEntry::Forgotten(gone) => Some(gone.record),
            _ => None,
        })
        .collect();
    let is_gone = |line: &String| match serde_json::from_str(line) {
        Ok(ExportEntry::Kept(record)) => gone.contains(&record.id),
        Ok(ExportEntry::Tagged { record, .. }) => gone.contains(&record),
        _ => false,
    };
    let before = read.own.len();
    let own: Vec<&String> = read.own.iter().filter(|line| !is_gone(line)).collect();
    if folder.find_status(name)?.is_some() && own.len() == before {
        if !out.is_empty() {
            folder.append_line(name, out.join("\n").as_bytes())?;
        }
        return Ok(());
    }
    let head = ExchangeHeader {
        reprise_exchange: FORM,
        user: user.clone(),
        machine: machine.to_owned(),
    };
    let mut text = serde_json::to_string(&head).context("the head cannot be written")?;
    for line in own.into_iter().chain(out) {
        text.push('\n');
        text.push_str(line);
    }
    text.push('\n');
    Ok(folder.replace(name, text.as_bytes())?)
}
