//! `reprise sync`: memories of one user brought together, two files or machines over a folder.
//!
//! What becomes of what both have changed is decided in `reprise-engine`'s `join.rs`. Here are the
//! files: each is written anew beside its place, proven, and then takes it. What a folder carries
//! is in `sync/exchange.rs`.

mod exchange;

use reprise_engine::{Conflict, ConflictKind, Joined, Said, join};
use reprise_types::sha256_hex;

use super::backup::proven;
use crate::args::SyncArguments;
use crate::cli::prelude::*;
use crate::env::MEMORY;

/// How long what waits is sent.
const SENDING: Duration = Duration::from_mins(10);
/// Vectors that are handed over at once.
const VECTORS: usize = 1024;
/// Conflicts that a person is shown.
const SHOWN: usize = 20;

pub(super) fn run(context: &Context, arguments: &SyncArguments) -> anyhow::Result<Exit> {
    if arguments.unsent {
        return send(context);
    }
    context.must_be_here()?;
    match (&arguments.folder, arguments.files.as_slice()) {
        (Some(folder), _) => exchange::run(context, arguments, folder),
        (None, [own, theirs]) => files(context, arguments, own, theirs),
        _ => bail!("name two files of one user, or a folder with --folder"),
    }
}

/// A memory that is held while it is brought together with another.
struct Held {
    file: PathBuf,
    engine: Engine,
    told: Vec<Said>,
}

/// A vector with the space that it is of.
type Vector = (RecordId, EmbeddingSpace, Vec<f32>);

impl Held {
    fn new(file: PathBuf, engine: Engine) -> anyhow::Result<Self> {
        let mut told = Vec::new();
        engine.tell(&mut |said| told.push(said))?;
        Ok(Self { file, engine, told })
    }

    /// The memory of a user here, taken from the daemon.
    fn of_user(context: &Context, user: &UserId) -> anyhow::Result<Self> {
        Self::new(
            context.places.file_of(user),
            store::take_over(context, user)?,
        )
    }

    /// The memory in a file or its folder.
    fn find(context: &Context, named: &Path) -> anyhow::Result<Self> {
        let file = if named.is_dir() {
            named.join(MEMORY)
        } else {
            named.to_owned()
        };
        let file = fs_err::canonicalize(&file)
            .with_context(|| format!("there is no memory `{}`; name its file", named.display()))?;
        if let Some(user) = user_of(&file)
            && fs_err::canonicalize(context.places.file_of(&user)).is_ok_and(|own| own == file)
        {
            return Self::of_user(context, &user);
        }
        let (engine, _) = store::open_file(None, &file, Access::Write, Verify::Everything)?;
        Self::new(file, engine)
    }

    fn vectors(&self) -> Vec<Vector> {
        let memory = self.engine.snapshot();
        let Some(space) = memory.space() else {
            return Vec::new();
        };
        let kept = self.told.iter().filter_map(|said| match said {
            Said::Kept(record) => Some(record.id),
            _ => None,
        });
        kept.filter_map(|id| Some((id, space.clone(), memory.vector(id)?)))
            .collect()
    }

    /// Writes what both say in the place of what this one said. Answers whether that was a change.
    fn become_of(self, told: &[Said], vectors: &[Vector]) -> anyhow::Result<bool> {
        if self.told == told {
            return Ok(false);
        }
        let space = self.engine.snapshot().space().cloned();
        whole::place(&self.file, |beside| {
            let (mut made, _) = store::open_file(space, beside, Access::Create, Verify::Tail)?;
            made.retell(told.to_vec())?;
            for part in vectors.chunks(VECTORS) {
                made.embed_late(part.to_vec())?;
            }
            made.close()?;
            proven(beside).map(drop)
        })?;
        // It goes with its lock, once its name leads to the other one.
        drop(self.engine);
        Ok(true)
    }
}

/// Whose memory a file is by its folder.
fn user_of(file: &Path) -> Option<UserId> {
    let is_memory = file.file_name().is_some_and(|name| name == MEMORY);
    let folder = file.parent().filter(|_| is_memory)?;
    folder.file_name()?.to_str()?.parse().ok()
}

/// What was done, for whoever reads it.
struct Done {
    records: usize,
    forgotten: usize,
    changed: Vec<(PathBuf, bool)>,
    conflicts: Vec<Conflict>,
    digest: String,
}

impl Done {
    fn new(joined: Joined) -> Self {
        let count = |what: fn(&Said) -> bool| joined.told.iter().filter(|said| what(said)).count();
        Self {
            records: count(|said| matches!(said, Said::Kept(_))),
            forgotten: count(|said| matches!(said, Said::Forgotten(_))),
            digest: digest(&joined.told),
            conflicts: joined.conflicts,
            changed: Vec::new(),
        }
    }

    fn say(&self, context: &Context, more: &[(&str, Value)]) -> anyhow::Result<Exit> {
        let (records, forgotten) = (self.records, self.forgotten);
        let files = self.changed.iter();
        let files = files.map(|(file, changed)| json!({ "file": file, "changed": changed }));
        let conflicts = self.conflicts.iter().map(|Conflict { record, what }| {
            let [what, rule] = told(*what);
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
                let [_, rule] = told(conflict.what);
                writeln!(out, "{}  {rule}", conflict.record)?;
            }
            if let more @ 1.. = self.conflicts.len().saturating_sub(SHOWN) {
                writeln!(out, "and {more} more conflicts; --json names all")?;
            }
            let (records, digest) = (counted(records, "record"), &self.digest[..16]);
            Ok(writeln!(
                out,
                "{records} with their earlier versions, {forgotten} forgotten, digest {digest}"
            )?)
        })
    }
}

/// What a conflict is called, and which rule decides it.
const fn told(what: ConflictKind) -> [&'static str; 2] {
    match what {
        ConflictKind::Corrected => [
            "corrected",
            "corrected on both sides: it stands, the others are its history",
        ],
        ConflictKind::Tagged => ["tagged", "tagged on both sides: it has the tags of both"],
        ConflictKind::Forgotten => [
            "forgotten",
            "forgotten on one side, gone on with on the other: forgotten",
        ],
    }
}

/// One number for all that is said, but for how far logs of a machine were read.
fn digest(told: &[Said]) -> String {
    let mut text = String::new();
    for said in told
        .iter()
        .filter(|said| !matches!(said, Said::Cursor { .. }))
    {
        text.push_str(&serde_json::to_string(said).unwrap_or_default());
        text.push('\n');
    }
    sha256_hex(text.as_bytes())
}

fn files(
    context: &Context,
    arguments: &SyncArguments,
    own: &Path,
    theirs: &Path,
) -> anyhow::Result<Exit> {
    let (own, theirs) = (Held::find(context, own)?, Held::find(context, theirs)?);
    ensure!(own.file != theirs.file, "both are the same file; name two");
    if let (Some(user), Some(other)) = (user_of(&own.file), user_of(&theirs.file)) {
        // A branch of a memory is named USER+NAME.
        let base = |user: &UserId| user.as_str().split('+').next().map(str::to_owned);
        ensure!(
            base(&user) == base(&other),
            "one is the memory of `{user}` and the other of `{other}`; only files of one user are \
             brought together, and `reprise import` takes another's records over"
        );
    }
    let joined = join(own.told.clone(), theirs.told.clone());
    let mut vectors = own.vectors();
    vectors.extend(theirs.vectors());
    let mut changes = Vec::new();
    for held in [own, theirs] {
        let file = held.file.clone();
        let changed = if arguments.dry_run {
            held.told != joined.told
        } else {
            held.become_of(&joined.told, &vectors)?
        };
        changes.push((file, changed));
    }
    let mut done = Done::new(joined);
    done.changed = changes;
    done.say(context, &[])
}

/// Tells the daemon elsewhere what hooks could not.
fn send(context: &Context) -> anyhow::Result<Exit> {
    let away = context.away()?.zip(Unsent::of(context));
    let (client, unsent) = away.context(
        "memory is on this machine, where nothing waits to be sent; set REPRISE_URL for another",
    )?;
    let before = unsent.waiting();
    let sending = unsent.send(&client, Instant::now() + SENDING);
    runtime::asking()?.block_on(sending)?;
    let waiting = unsent.waiting();
    let sent = before.saturating_sub(waiting);
    let row = json!({ "sent": sent, "waiting": waiting });
    output::line(context, &row, format!("{sent} sent, {waiting} wait"))?;
    Ok(output::exit(waiting == 0))
}
