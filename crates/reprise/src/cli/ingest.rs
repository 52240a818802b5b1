//! `reprise ingest`: a JSONL file becomes records. Embedding runs on every core; each group is one
//! commit, acknowledged only when it is on disk.

mod counts;
mod guess;

use std::io::{BufReader, Write};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use indicatif::ProgressBar;
use reprise_embed::EmbedderFactory;
use reprise_engine::Engine;
use reprise_operations::{Fate, WriteReport};
use reprise_server::Call;
use reprise_types::{Clock, ExternalId, NewRecord, SystemClock, WriteOutcome};

use super::daemon::Daemon;
use super::store;
use super::{Context, model, recall};
use crate::args::{IngestArguments, IngestForm, IngestInput};
use crate::exit::Exit;
use crate::lines::{Documents, Lines};
use counts::Counts;

/// Most records of one commit: `--ack` answers soon, and yet a sync is shared.
const GROUP: usize = 64;

/// A line's number and what it holds.
type Numbered = (u64, NewRecord);

pub(super) fn run(context: &Context, arguments: &IngestArguments) -> anyhow::Result<Exit> {
    let lines = lines(&arguments.input)?;
    let mut counts = Counts::of(&arguments.input);
    if let Some(daemon) = Daemon::running(context)? {
        return by_daemon(&daemon, arguments, lines, counts);
    }
    let tag_rules = context.config.tag_rules();
    let mut target = Target {
        context,
        arguments,
        open: None,
    };
    let bar = ProgressBar::new_spinner();
    let mut group: Vec<Numbered> = Vec::with_capacity(GROUP);
    for line in lines {
        let (number, line) = line?;
        if let Some((mut record, _)) = counts.read(number, line)? {
            counts.redact(&mut record, arguments);
            record.tags = tag_rules.resolve(&record.tags);
            group.push((number, record));
        }
        if group.len() >= usize::from(arguments.group) {
            let full = std::mem::replace(&mut group, Vec::with_capacity(GROUP));
            keep(target.open()?, full, arguments, &mut counts)?;
            bar.set_message(format!("{} kept", counts.inserted));
            bar.tick();
        }
    }
    if !counts.is_wrong_file() {
        keep(target.open()?, group, arguments, &mut counts)?;
    }
    target.close()?;
    bar.finish_and_clear();
    counts.report()
}

/// Where the records go: opened by the first that is to be kept, so that a wrong file makes no
/// memory and fetches no model.
struct Target<'a> {
    context: &'a Context,
    arguments: &'a IngestArguments,
    open: Option<Open>,
}

struct Open {
    engine: Engine,
    pool: Option<Embedders>,
}

impl Target<'_> {
    fn open(&mut self) -> anyhow::Result<&mut Open> {
        let open = if let Some(open) = self.open.take() {
            open
        } else {
            let user = &self.arguments.user;
            let patience = Duration::from_secs(self.arguments.wait);
            let engine = store::open_in_turn(self.context, user, patience)?;
            let factory = if self.arguments.later {
                None
            } else {
                model::factory(self.context)
            };
            let pool = factory.as_ref().map(Embedders::start).transpose()?;
            Open { engine, pool }
        };
        Ok(self.open.insert(open))
    }

    fn close(self) -> anyhow::Result<()> {
        let Some(Open { mut engine, pool }) = self.open else {
            return Ok(());
        };
        if let Some(pool) = &pool {
            embed_waiting(&mut engine, pool)?;
        }
        Ok(engine.close()?)
    }
}

type AllLines = Box<dyn Iterator<Item = std::io::Result<(u64, Result<String, String>)>>>;

/// The input as lines of JSON, whatever its form.
fn lines(input: &IngestInput) -> anyhow::Result<AllLines> {
    let (form, file) = input.form();
    let text = BufReader::new(recall::open(file)?);
    Ok(match form {
        IngestForm::Yaml => Box::new(Documents::new(text)),
        IngestForm::Jsonl => Box::new(Lines::new(text)),
    })
}

/// Hands the lines to the daemon, a group at a time; it redacts them, unless they are to be kept as
/// they stand.
fn by_daemon(
    daemon: &Daemon,
    arguments: &IngestArguments,
    lines: AllLines,
    mut counts: Counts,
) -> anyhow::Result<Exit> {
    let mut group: Vec<(Numbered, String)> = Vec::new();
    for line in lines {
        let (number, line) = line?;
        if let Some((mut record, line)) = counts.read(number, line)? {
            counts.redact(&mut record, arguments);
            group.push(((number, record), line));
        }
        if group.len() >= usize::from(arguments.group) {
            hand_over(daemon, std::mem::take(&mut group), arguments, &mut counts)?;
        }
    }
    hand_over(daemon, group, arguments, &mut counts)?;
    counts.report()
}

fn hand_over(
    daemon: &Daemon,
    group: Vec<(Numbered, String)>,
    arguments: &IngestArguments,
    counts: &mut Counts,
) -> anyhow::Result<()> {
    if group.is_empty() {
        return Ok(());
    }
    let mut lines = String::new();
    for (_, line) in &group {
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    let mut path = Call::path_of(&arguments.user, &["records"]);
    if arguments.verbatim {
        path.push_str("?verbatim=true");
    }
    let kept: WriteReport = daemon.ask(&Call::post_lines(path, lines))?;
    let mut out = std::io::stdout().lock();
    for (((number, record), _), fate) in group.into_iter().zip(kept.outcomes) {
        match fate {
            Fate::Inserted { .. } => counts.inserted += 1,
            Fate::Duplicate { .. } => counts.duplicate += 1,
            Fate::Rejected { why } => {
                counts.refuse(number, &why);
                continue;
            }
        }
        let external = record.external_ids.first();
        if let Some(external) = external.filter(|_| arguments.ack) {
            writeln!(out, "{}", external.id)?;
        }
    }
    out.flush()?;
    Ok(())
}

fn keep(
    Open { engine, pool }: &mut Open,
    mut group: Vec<Numbered>,
    arguments: &IngestArguments,
    counts: &mut Counts,
) -> anyhow::Result<()> {
    if group.is_empty() {
        return Ok(());
    }
    if let Some(pool) = pool {
        pool.embed(engine, &mut group)?;
    }
    let (numbers, records): (Vec<u64>, Vec<NewRecord>) = group.into_iter().unzip();
    let names: Vec<Option<String>> = records
        .iter()
        .map(|record| {
            record
                .external_ids
                .first()
                .map(|external| external.id.clone())
        })
        .collect();
    let outcomes = engine.observe(records, None, SystemClock.now())?;
    let mut out = std::io::stdout().lock();
    for ((number, name), outcome) in numbers.into_iter().zip(names).zip(outcomes) {
        match outcome {
            WriteOutcome::Inserted { .. } => counts.inserted += 1,
            WriteOutcome::Duplicate { .. } => counts.duplicate += 1,
            WriteOutcome::Rejected { why } => {
                counts.refuse(number, &why.to_string());
                continue;
            }
        }
        if let Some(name) = name.filter(|_| arguments.ack) {
            writeln!(out, "{name}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Records that an earlier run kept without a vector get theirs now.
fn embed_waiting(engine: &mut Engine, pool: &Embedders) -> anyhow::Result<()> {
    loop {
        let waiting = engine.unembedded(GROUP);
        let mut vectors = Vec::with_capacity(waiting.len());
        let texts = waiting.iter().map(|(_, text)| text.clone()).collect();
        for ((id, _), vector) in waiting.iter().zip(pool.vectors(texts)?) {
            vectors.push((*id, pool.space.clone(), vector));
        }
        if vectors.is_empty() || engine.embed_late(vectors)? == 0 {
            return Ok(());
        }
    }
}

/// One embedding thread per core; results come back in the order of the texts.
struct Embedders {
    space: reprise_types::EmbeddingSpace,
    work: Sender<(usize, String)>,
    done: Receiver<(usize, Result<Vec<f32>, reprise_types::EmbedError>)>,
}

impl Embedders {
    fn start(factory: &EmbedderFactory) -> anyhow::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (work, jobs) = bounded::<(usize, String)>(GROUP);
        let (results, done) = bounded(GROUP);
        let space = factory.describe().space;
        for _ in 0..threads {
            let (jobs, results) = (jobs.clone(), results.clone());
            let mut embedder = factory.open()?;
            thread::spawn(move || {
                for (place, text) in jobs {
                    if results.send((place, embedder.embed(&text))).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { space, work, done })
    }

    /// Gives every record of the group that is new its vector. At most [`GROUP`] of them.
    fn embed(&self, engine: &Engine, group: &mut [Numbered]) -> anyhow::Result<()> {
        let known = |external: &ExternalId| engine.duplicate_of(external).is_some();
        let mut wanted: Vec<&mut NewRecord> = group
            .iter_mut()
            .map(|(_, record)| record)
            .filter(|record| record.embedding.is_none() && !record.text.trim().is_empty())
            .filter(|record| !record.external_ids.iter().any(known))
            .collect();
        let texts = wanted.iter().map(|record| record.text.clone()).collect();
        for (record, vector) in wanted.iter_mut().zip(self.vectors(texts)?) {
            record.embedding = Some((self.space.clone(), vector));
        }
        Ok(())
    }

    fn vectors(&self, texts: Vec<String>) -> anyhow::Result<Vec<Vec<f32>>> {
        let mut vectors = vec![Vec::new(); texts.len()];
        let count = texts.len();
        for job in texts.into_iter().enumerate() {
            self.work.send(job)?;
        }
        for _ in 0..count {
            let (place, vector) = self.done.recv()?;
            if let Some(slot) = vectors.get_mut(place) {
                *slot = vector?;
            }
        }
        Ok(vectors)
    }
}
