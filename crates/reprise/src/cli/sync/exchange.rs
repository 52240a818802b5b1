//! Machines over a folder that Syncthing or git carries: each appends what it knows to a file of
//! its own, and reads those of the others. No file has two writers, and none is a memory.
//!
//! A file begins with a line that says whose memory it is of; each line after it is one thing that
//! a log says. What was forgotten since is taken out of a machine's own file; `sensitive` records,
//! and how far a machine has read its logs, do not get into it.

use reprise_engine::{Said, join};
use reprise_files::Access;
use reprise_knowledge::held_back;
use reprise_operations::is_sensitive;
use xxhash_rust::xxh3::xxh3_128;

use super::{Done, Held};
use crate::args::SyncArguments;
use crate::cli::prelude::*;

/// Machines of a folder, at most.
const FILES_MAX: usize = 1_000;
const ENDING: &str = "jsonl";
/// The name of this machine for its file, beside the daemon's own files.
const MACHINE: &str = "machine";
const MACHINE_BYTES_MAX: u64 = 64;
/// Bad lines of a file that are named.
const NAMED_MAX: usize = 5;
const TURN: Duration = Duration::from_secs(20);

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// The version of the form.
    reprise_exchange: u32,
    user: UserId,
    machine: String,
}

const FORM: u32 = 1;

/// What the files of a folder say.
#[derive(Default)]
struct Read {
    told: Vec<Said>,
    /// Every line that stands somewhere.
    lines: HashSet<u128>,
    /// This machine's own, as they stand.
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
    let machine = machine(context)?;
    let shared = Folder::make(dir)?;
    let folder = shared.make_folder(user.as_str())?;
    let own_name = format!("{machine}.{ENDING}");
    let _alone = project::own_folder(context)?.lock("sync.lock", TURN)?;
    let mut read = Read::default();
    for entry in folder.list(FILES_MAX)? {
        let name = Path::new(&entry.name);
        if name.extension().is_some_and(|ending| ending == ENDING) {
            read.file(&folder, name, user, name == Path::new(&own_name))?;
        }
    }
    let is_there = store::exists(context, user)?;
    ensure!(
        is_there || !arguments.dry_run,
        "`{user}` has no memory here yet; without --dry-run one is made of what the folder has"
    );
    let held = if is_there {
        Held::of_user(context, user)?
    } else {
        let file = context.places.file_of(user);
        store::make_folder(&file)?;
        let space = context.of_user(user).space();
        let (engine, _) = store::open_file(space, &file, store::Access::Create, Verify::Tail)?;
        Held::new(file, engine)?
    };
    let joined = join(held.told.clone(), std::mem::take(&mut read.told));
    let (told, vectors) = (joined.told.clone(), held.vectors());
    let mut done = Done::new(joined);
    let file = held.file.clone();
    let out = outgoing(&told, &read)?;
    let changed = if arguments.dry_run {
        held.told != told
    } else {
        let changed = held.become_of(&told, &vectors)?;
        write(&folder, &own_name, user, &machine, &read, &told, &out)?;
        changed
    };
    done.changed.push((file, changed));
    let more = [
        ("machines", json!(read.machines)),
        ("written", json!(out.len())),
        ("refused", json!(read.refused)),
    ];
    done.say(context, &more)?;
    Ok(output::exit(read.refused == 0))
}

/// This machine's name in folders: made once.
fn machine(context: &Context) -> anyhow::Result<String> {
    let own = project::own_folder(context)?;
    if let Some(name) = own.read_text(MACHINE, MACHINE_BYTES_MAX)? {
        let name = name.trim().to_owned();
        let is_name = name.len() == 16 && name.chars().all(|c| c.is_ascii_hexdigit());
        ensure!(
            is_name,
            "`{}` is no name of a machine; remove it",
            own.path_of(MACHINE).display()
        );
        return Ok(name);
    }
    let name = format!("{:016x}", store::entropy()? >> 64);
    own.replace(MACHINE, name.as_bytes())?;
    Ok(name)
}

impl Read {
    fn file(
        &mut self,
        folder: &Folder,
        name: &Path,
        user: &UserId,
        is_own: bool,
    ) -> anyhow::Result<()> {
        let shown = folder.path_of(name);
        let shown = shown.display();
        let mut lines = jsonl(BufReader::new(folder.file(name, Access::Read)?));
        let head = lines.next().transpose()?.and_then(|(_, line)| line.ok());
        let head = head.and_then(|line| serde_json::from_str::<Head>(&line).ok());
        let why = match head {
            None => Some("is no exchange file of a memory".to_owned()),
            Some(head) if head.reprise_exchange != FORM => {
                Some("was written by a newer version; update this one".to_owned())
            }
            Some(head) if head.user != *user => {
                let other = head.user;
                Some(format!(
                    "is of the memory of `{other}`, and this is that of `{user}`"
                ))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            ensure!(
                !is_own,
                "`{shown}` {why}; nothing is written to it: move it away, and it is made anew"
            );
            self.refused += 1;
            tell!("`{shown}` {why}; it is left out");
            return Ok(());
        }
        self.machines += usize::from(!is_own);
        let mut bad = Vec::new();
        for line in lines {
            let (number, line) = line?;
            let read = line.and_then(|line| {
                let line = line.trim_end().to_owned();
                let said = serde_json::from_str::<Said>(&line);
                Ok((said.map_err(|error| error.to_string())?, line))
            });
            match read {
                Ok((said, line)) => {
                    self.lines.insert(xxh3_128(line.as_bytes()));
                    if is_own {
                        self.own.push(line);
                    }
                    self.told.push(said);
                }
                Err(why) => bad.push((number, why)),
            }
        }
        // A last line may be on its way.
        for (number, why) in bad.iter().take(NAMED_MAX) {
            tell!("line {number} of `{shown}` is left out: {why}");
        }
        Ok(())
    }
}

/// What stands in no file yet, each as its line.
fn outgoing(told: &[Said], read: &Read) -> anyhow::Result<Vec<String>> {
    let stay = held_back(told, &is_sensitive);
    let stays = |said: &Said| match said {
        Said::Kept(record) => stay.contains(&record.id),
        Said::Tagged { record, .. } | Said::Seen { record, .. } => stay.contains(record),
        Said::Linked { record, to, .. } | Said::Unlinked { record, to, .. } => {
            stay.contains(record) || stay.contains(to)
        }
        Said::Cursor { .. } => true,
        _ => false,
    };
    let mut out = Vec::new();
    for said in told.iter().filter(|said| !stays(said)) {
        let line = serde_json::to_string(said)?;
        if !read.lines.contains(&xxh3_128(line.as_bytes())) {
            out.push(line);
        }
    }
    Ok(out)
}

/// Appends what is new; where the file still has what was forgotten, writes it without.
fn write(
    folder: &Folder,
    name: &str,
    user: &UserId,
    machine: &str,
    read: &Read,
    told: &[Said],
    out: &[String],
) -> anyhow::Result<()> {
    let gone: BTreeSet<RecordId> = told
        .iter()
        .filter_map(|said| match said {
            Said::Forgotten(gone) => Some(gone.record),
            _ => None,
        })
        .collect();
    let is_gone = |line: &String| match serde_json::from_str(line) {
        Ok(Said::Kept(record)) => gone.contains(&record.id),
        Ok(Said::Tagged { record, .. }) => gone.contains(&record),
        _ => false,
    };
    let before = read.own.len();
    let own: Vec<&String> = read.own.iter().filter(|line| !is_gone(line)).collect();
    if folder.look(name)?.is_some() && own.len() == before {
        if !out.is_empty() {
            folder.append_line(name, out.join("\n").as_bytes())?;
        }
        return Ok(());
    }
    let head = Head {
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
