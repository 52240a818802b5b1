//! Keeping many records: by the daemon where one runs, else in the file, embedded on every core.
//!
//! The two ways of a group.

#[cfg(test)]
mod tests;

use std::thread;

use reprise_agent::{EmbedPool, Intake, OpenEmbedder, PoolError, PoolOptions};
use reprise_operations::operations::links::{
    LinkManyArguments as Links, LinkedMany, NamedLink, named_ends,
};
use reprise_operations::{WriteReport, bring_up_to_date, line_of};
use reprise_types::limits::TEXT_BYTES_MAX;

use super::host;
use super::runtime::Runtime;
use crate::args::TakenIn;
use crate::cli::prelude::*;

/// Most records of one commit: `--ack` answers soon, and yet a sync is shared.
pub(super) const GROUP: usize = 64;

/// Longest request to the daemon, which takes twice as much.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long another command may have a memory that is to be imported into.
pub(super) const PATIENCE: Duration = Duration::from_mins(10);

/// What is said of a record that is known and came with another text.
pub(super) const DIFFERS: &str = "changed, kept as it was; `edit` or `--update` replaces it";

/// What is said of a text that had so many bytes.
pub(super) fn cut_off(bytes: usize) -> String {
    format!("its text has {bytes} bytes; the first {TEXT_BYTES_MAX} are kept")
}

/// How long an import has a memory before whoever waits for it gets a turn.
const HOLD: Duration = Duration::from_secs(2);

/// Records on their way into one memory.
pub(super) struct Keeper<'a> {
    context: &'a Context,
    user: &'a UserId,
    how: TakenIn,
    /// Whether what is a receipt of this memory may be kept as one.
    receipts: bool,
    /// How long another command may have the memory.
    patience: Duration,
    daemon: Option<Box<Daemon>>,
    /// Opened by the first record that is to be kept, so that a wrong file makes no memory and
    /// fetches no model. Nothing while others have their turn.
    open: Option<Engine>,
    since: Instant,
    /// How long it is held, where others get a turn.
    hold: Option<Duration>,
    was_open: bool,
    pool: Option<Embedders>,
}

/// What became of a record.
pub(super) struct Kept {
    pub(super) fate: Fate,
    /// The secrets that were taken out of it.
    pub(super) redacted: Vec<Redaction>,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(
        context: &'a Context,
        user: &'a UserId,
        how: TakenIn,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            context,
            user,
            how,
            receipts: false,
            patience,
            daemon: Daemon::running(context)?.map(Box::new),
            open: None,
            since: Instant::now(),
            hold: Some(HOLD),
            was_open: false,
            pool: None,
        })
    }

    /// The same into a memory that is open, and stays so to the end: of what was redacted before,
    /// with the receipts that move with it.
    pub(super) fn over(
        context: &'a Context,
        user: &'a UserId,
        how: TakenIn,
        engine: Engine,
    ) -> anyhow::Result<Self> {
        let mut keeper = Self::new(context, user, how, PATIENCE)?;
        (keeper.daemon, keeper.hold) = (None, None);
        (keeper.how.verbatim, keeper.receipts) = (true, true);
        keeper.opened(engine)?;
        Ok(keeper)
    }

    /// The memory, opened where it is not.
    pub(super) fn engine(&mut self) -> anyhow::Result<&mut Engine> {
        let engine = match self.open.take() {
            Some(engine) => return Ok(self.open.insert(engine)),
            None => store::open_in_turn(self.context, self.user, self.patience)?,
        };
        self.opened(engine)
    }

    fn opened(&mut self, engine: Engine) -> anyhow::Result<&mut Engine> {
        if !std::mem::replace(&mut self.was_open, true) && !self.how.later {
            let factory = model::factory(&self.context.of_user(self.user));
            self.pool = factory.map(Embedders::start).transpose()?;
        }
        self.since = Instant::now();
        Ok(self.open.insert(engine))
    }

    /// Gives the memory back for a moment where it was held for long: another command may wait.
    fn lend(&mut self) -> anyhow::Result<()> {
        let is_due = self.hold.is_some_and(|hold| self.since.elapsed() >= hold);
        if let Some(engine) = self.open.take_if(|_| is_due) {
            engine.close()?;
            thread::sleep(2 * store::LOOK);
        }
        Ok(())
    }

    /// Keeps a group; answers what became of each, in order and by what its caller calls it.
    pub(super) fn keep<N>(&mut self, group: Vec<(N, NewRecord)>) -> anyhow::Result<Vec<(N, Kept)>> {
        if group.is_empty() {
            return Ok(Vec::new());
        }
        let rules = self.context.config.tag_rules();
        let intake = Intake {
            verbatim: self.how.verbatim,
            receipts: self.receipts,
        };
        let (mut good, mut taken) = (Vec::with_capacity(group.len()), Vec::new());
        for (name, mut record) in group {
            record.updates = self.how.update;
            let resolve = |tags: &[String]| rules.resolve(tags);
            let done = intake.take(&mut record, resolve);
            if done.is_ok() {
                good.push(record);
            }
            taken.push((name, done));
        }
        let mut fates = self.write(good)?.into_iter();
        let kept = taken.into_iter().map(|(name, done)| {
            let (fate, redacted) = match done {
                Err(why) => {
                    let why = why.to_string();
                    (Fate::Rejected { why }, Vec::new())
                }
                Ok(done) => {
                    let fate = fates.next();
                    let fate = fate.context("not every record has a fate; run this again")?;
                    (fate.truncated(done.truncated_from_bytes), done.redacted)
                }
            };
            Ok((name, Kept { fate, redacted }))
        });
        kept.collect()
    }

    fn write(&mut self, mut group: Vec<NewRecord>) -> anyhow::Result<Vec<Fate>> {
        if let Some(daemon) = &self.daemon {
            return self.send(daemon, &group);
        }
        // The first opening finds the model.
        self.engine()?;
        if let (Some(pool), Some(engine)) = (&self.pool, &self.open) {
            pool.embed(engine, &mut group)?;
        }
        let outcomes = self.engine()?.observe(group, None, SystemClock.now())?;
        self.lend()?;
        let fates = outcomes.into_iter().map(|fate| Fate::new(fate, None));
        Ok(fates.collect())
    }

    /// Hands a group to the daemon, in as many requests as it takes.
    fn send(&self, daemon: &Daemon, group: &[NewRecord]) -> anyhow::Result<Vec<Fate>> {
        let TakenIn {
            verbatim, update, ..
        } = self.how;
        let path = Call::path_of(self.user, &["records"]);
        let path = format!("{path}?verbatim={verbatim}&update={update}");
        let mut bodies = vec![String::new()];
        for record in group {
            let line = line_of(record) + "\n";
            match bodies.last_mut() {
                Some(body) if body.len() + line.len() <= BODY_BYTES_MAX => body.push_str(&line),
                _ => bodies.push(line),
            }
        }
        let mut kept = Vec::with_capacity(group.len());
        for body in bodies.into_iter().filter(|body| !body.is_empty()) {
            let report: WriteReport = daemon.ask(&Call::post_lines(path.clone(), body))?;
            kept.extend(report.outcomes);
        }
        Ok(kept)
    }

    /// Makes links between what was kept; answers how many are new.
    pub(super) fn link(&mut self, links: Vec<NamedLink>) -> anyhow::Result<usize> {
        if let Some(daemon) = &self.daemon {
            let path = Call::path_of(self.user, &["links"]);
            let body = serde_json::to_value(Links { links })?;
            let done: LinkedMany = daemon.ask(&Call::post(path, &body))?;
            return Ok(done.linked);
        }
        let engine = self.engine()?;
        let ends = named_ends(engine, links);
        let new = engine.link_all(&ends, SystemClock.now())?;
        Ok(new.into_iter().filter(|new| *new).count())
    }

    /// Gives vectors to what waits for them, and the file back.
    pub(super) fn close(mut self) -> anyhow::Result<()> {
        if !self.was_open {
            return Ok(());
        }
        self.engine()?;
        let Some(mut engine) = self.open.take() else {
            return Ok(());
        };
        if let Some(pool) = &self.pool {
            embed_waiting(&mut engine, pool)?;
        }
        let projections = self.context.config.projections(self.user);
        let rules = self.context.config.tag_rules();
        for why in bring_up_to_date(&engine.snapshot(), &projections, &rules) {
            tell!("warning: {why}");
        }
        Ok(engine.close()?)
    }
}

/// Records that an earlier run kept without a vector get theirs now.
fn embed_waiting(engine: &mut Engine, pool: &Embedders) -> anyhow::Result<()> {
    loop {
        let waiting = engine.unembedded(GROUP);
        let found = pool.vectors(waiting.iter().map(|(_, text)| text.as_str()))?;
        let found = waiting.iter().zip(found);
        let vectors = found.filter_map(|((id, _), found)| {
            let Embedding { space, vector } = found?;
            Some((*id, space, vector))
        });
        let vectors: Vec<_> = vectors.collect();
        if vectors.is_empty() || engine.embed_late(vectors)? == 0 {
            return Ok(());
        }
    }
}

/// The model on every core; vectors come back in the order of the texts.
struct Embedders {
    pool: EmbedPool,
    runtime: Runtime,
}

/// How long an end waits for threads that are at their work.
const ENDING: Duration = Duration::from_secs(20);

impl Drop for Embedders {
    /// A thread that still opens its model would be within ONNX Runtime while the end of the
    /// process takes that down.
    fn drop(&mut self) {
        let _in_time = self.runtime.block_on(self.pool.drain(ENDING));
    }
}

impl Embedders {
    fn start(factory: model::Maker) -> anyhow::Result<Self> {
        Self::over(host::open_embedder(Some(factory)))
    }

    fn over(open: OpenEmbedder) -> anyhow::Result<Self> {
        Ok(Self {
            pool: EmbedPool::start(PoolOptions::default(), open),
            runtime: runtime::asking()?,
        })
    }

    /// Gives every record of the group that is new its vector.
    fn embed(&self, engine: &Engine, group: &mut [NewRecord]) -> anyhow::Result<()> {
        let mut wanted: Vec<&mut NewRecord> = group
            .iter_mut()
            .filter(|record| record.embedding.is_none() && !record.text.trim().is_empty())
            .filter(|record| !engine.is_known(record))
            .collect();
        let vectors = self.vectors(wanted.iter().map(|record| record.text.as_str()))?;
        for (record, vector) in wanted.iter_mut().zip(vectors) {
            record.embedding = vector;
        }
        Ok(())
    }

    fn vectors<'a>(
        &self,
        texts: impl Iterator<Item = &'a str>,
    ) -> anyhow::Result<Vec<Option<Embedding>>> {
        let (mut vectors, mut missing) = (Vec::new(), None);
        self.runtime.block_on(async {
            let mut waiting = Vec::new();
            for text in texts {
                waiting.push(self.pool.document(text).await);
            }
            for one in waiting {
                vectors.push(match one.vector().await {
                    Ok(vector) => Some(vector),
                    // It is found by words, and gets its vector once the model is there.
                    Err(PoolError::Unavailable(EmbedError::Unavailable { message })) => {
                        missing = Some(message);
                        None
                    }
                    Err(error) => return Err(error),
                });
            }
            Ok(())
        })?;
        if let Some(message) = missing {
            tell!("degraded: {message}; found by words until it is there");
        }
        Ok(vectors)
    }
}
