//! Stores many records: through the daemon if one runs, otherwise in the file, embedded on every
//! core.

#[cfg(test)]
mod tests;

use std::thread;

use reprise_agent::{EmbedPool, EmbedderOpener, IntakeOptions, PoolError, PoolOptions};
use reprise_operations::operations::links::{
    LinkManyArguments as Links, LinkedMany, NamedLink, resolve_ends,
};
use reprise_operations::{WriteReport, to_ingest_line, update_projections};
use reprise_types::limits::TEXT_BYTES_MAX;

use super::host;
use super::runtime::Runtime;
use crate::args::IngestOptions;
use crate::cli::prelude::*;

/// Most records of one commit: `--ack` stays fast, and still many records share one sync.
pub(super) const GROUP: usize = 64;

/// Longest request to the daemon, which accepts twice as much.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest wait for another command that uses the memory.
pub(super) const PATIENCE: Duration = Duration::from_mins(10);

/// Message about a known record whose text differs.
pub(super) const DIFFERS: &str = "changed, but not replaced; use `reprise edit` or `--update`";

/// Returns the message about a text that was truncated.
pub(super) fn truncation_message(bytes: usize) -> String {
    format!("its text has {bytes} bytes; only the first {TEXT_BYTES_MAX} are stored")
}

/// How long an import holds a memory before other commands get a turn.
const HOLD: Duration = Duration::from_secs(2);

/// Writer of many records into one memory.
pub(super) struct RecordKeeper<'a> {
    context: &'a Context,
    user: &'a UserId,
    how: IngestOptions,
    /// Whether receipts of this memory are accepted.
    receipts: bool,
    /// Longest wait for another command that uses the memory.
    patience: Duration,
    daemon: Option<Box<DaemonConnection>>,
    /// Opened by the first record, so that a wrong file creates no memory and downloads no model.
    /// `None` while other commands have their turn.
    open: Option<Engine>,
    since: Instant,
    /// How long the memory is held before others get a turn; `None` for always.
    hold: Option<Duration>,
    was_open: bool,
    pool: Option<EmbedderThreads>,
}

/// Result of storing one record.
pub(super) struct KeepResult {
    pub(super) fate: RecordFate,
    /// The secrets that were removed from it.
    pub(super) redacted: Vec<Redaction>,
}

impl<'a> RecordKeeper<'a> {
    pub(super) fn new(
        context: &'a Context,
        user: &'a UserId,
        how: IngestOptions,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            context,
            user,
            how,
            receipts: false,
            patience,
            daemon: DaemonConnection::find_running(context)?.map(Box::new),
            open: None,
            since: Instant::now(),
            hold: Some(HOLD),
            was_open: false,
            pool: None,
        })
    }

    /// Writes into an open memory, which stays open to the end: records that were redacted before,
    /// with their receipts.
    pub(super) fn for_open_memory(
        context: &'a Context,
        user: &'a UserId,
        how: IngestOptions,
        engine: Engine,
    ) -> anyhow::Result<Self> {
        let mut keeper = Self::new(context, user, how, PATIENCE)?;
        (keeper.daemon, keeper.hold) = (None, None);
        (keeper.how.verbatim, keeper.receipts) = (true, true);
        keeper.hold_engine(engine)?;
        Ok(keeper)
    }

    /// Returns the memory, and opens it if needed.
    pub(super) fn engine(&mut self) -> anyhow::Result<&mut Engine> {
        let engine = match self.open.take() {
            Some(engine) => return Ok(self.open.insert(engine)),
            None => store::open_for_writing(self.context, self.user, self.patience)?,
        };
        self.hold_engine(engine)
    }

    fn hold_engine(&mut self, engine: Engine) -> anyhow::Result<&mut Engine> {
        if !std::mem::replace(&mut self.was_open, true) && !self.how.later {
            let factory = model::factory(&self.context.of_user(self.user));
            self.pool = factory.map(EmbedderThreads::start).transpose()?;
        }
        self.since = Instant::now();
        Ok(self.open.insert(engine))
    }

    /// Closes the memory for a moment if it was held for long, because another command may wait.
    fn release_for_a_moment(&mut self) -> anyhow::Result<()> {
        let is_due = self.hold.is_some_and(|hold| self.since.elapsed() >= hold);
        if let Some(engine) = self.open.take_if(|_| is_due) {
            engine.close()?;
            thread::sleep(2 * store::LOOK);
        }
        Ok(())
    }

    /// Stores a group; returns the result of each record with its name, in order.
    pub(super) fn keep<N>(
        &mut self,
        group: Vec<(N, NewRecord)>,
    ) -> anyhow::Result<Vec<(N, KeepResult)>> {
        if group.is_empty() {
            return Ok(Vec::new());
        }
        let rules = self.context.config.tag_rules();
        let intake = IntakeOptions {
            keeps_secrets: self.how.verbatim,
            allows_receipts: self.receipts,
        };
        let (mut good, mut taken) = (Vec::with_capacity(group.len()), Vec::new());
        for (name, mut record) in group {
            record.replaces_known_id = self.how.update;
            let resolve = |tags: &[String]| rules.resolve_tags(tags);
            let done = intake.prepare_record(&mut record, resolve);
            if done.is_ok() {
                good.push(record);
            }
            taken.push((name, done));
        }
        let mut fates = self.store_group(good)?.into_iter();
        let kept = taken.into_iter().map(|(name, done)| {
            let (fate, redacted) = match done {
                Err(why) => {
                    let why = why.to_string();
                    (RecordFate::Rejected { why }, Vec::new())
                }
                Ok(done) => {
                    let fate = fates.next();
                    let fate = fate.context("some memories may be missing; run this again")?;
                    (
                        fate.with_truncation(done.truncated_from_bytes),
                        done.redacted,
                    )
                }
            };
            Ok((name, KeepResult { fate, redacted }))
        });
        kept.collect()
    }

    fn store_group(&mut self, mut group: Vec<NewRecord>) -> anyhow::Result<Vec<RecordFate>> {
        if let Some(daemon) = &self.daemon {
            return self.send_to_daemon(daemon, &group);
        }
        // The first opening loads the model.
        self.engine()?;
        if let (Some(pool), Some(engine)) = (&self.pool, &self.open) {
            pool.embed_group(engine, &mut group)?;
        }
        let outcomes = self.engine()?.observe(group, None, SystemClock.now())?;
        self.release_for_a_moment()?;
        let fates = outcomes.into_iter().map(|fate| RecordFate::new(fate, None));
        Ok(fates.collect())
    }

    /// Sends a group to the daemon, in as many requests as needed.
    fn send_to_daemon(
        &self,
        daemon: &DaemonConnection,
        group: &[NewRecord],
    ) -> anyhow::Result<Vec<RecordFate>> {
        let IngestOptions {
            verbatim, update, ..
        } = self.how;
        let path = Call::path_of(self.user, &["records"]);
        let path = format!("{path}?verbatim={verbatim}&update={update}");
        let mut bodies = vec![String::new()];
        for record in group {
            let line = to_ingest_line(record) + "\n";
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

    /// Links stored records; returns how many links are new.
    pub(super) fn link_all(&mut self, links: Vec<NamedLink>) -> anyhow::Result<usize> {
        if let Some(daemon) = &self.daemon {
            let path = Call::path_of(self.user, &["links"]);
            let body = serde_json::to_value(Links { links })?;
            let done: LinkedMany = daemon.ask(&Call::post(path, &body))?;
            return Ok(done.linked);
        }
        let engine = self.engine()?;
        let ends = resolve_ends(&engine.snapshot(), links);
        let new = engine.link_all(&ends, SystemClock.now())?;
        Ok(new.into_iter().filter(|new| *new).count())
    }

    /// Embeds the waiting records and closes the file.
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
        for why in update_projections(&engine.snapshot(), &projections, &rules) {
            tell!("warning: {why}");
        }
        Ok(engine.close()?)
    }
}

/// Embeds the records that an earlier run stored without a vector.
fn embed_waiting(engine: &mut Engine, pool: &EmbedderThreads) -> anyhow::Result<()> {
    loop {
        let waiting = engine.unembedded_records(GROUP);
        let found = pool.embed_texts(waiting.iter().map(|(_, text)| text.as_str()))?;
        let found = waiting.iter().zip(found);
        let vectors = found.filter_map(|((id, _), found)| {
            let Embedding { space, vector } = found?;
            Some((*id, space, vector))
        });
        let vectors: Vec<_> = vectors.collect();
        if vectors.is_empty() || engine.insert_late_vectors(vectors)? == 0 {
            return Ok(());
        }
    }
}

/// Embedding threads on every core; they return vectors in the order of the texts.
struct EmbedderThreads {
    pool: EmbedPool,
    runtime: Runtime,
}

/// Longest wait at the end for threads that are still working.
const ENDING: Duration = Duration::from_secs(20);

impl Drop for EmbedderThreads {
    /// Waits for the threads: one that still opens its model would be inside ONNX Runtime while the
    /// process unloads it.
    fn drop(&mut self) {
        let _in_time = self.runtime.block_on(self.pool.drain(ENDING));
    }
}

impl EmbedderThreads {
    fn start(factory: model::EmbedderSource) -> anyhow::Result<Self> {
        Self::from_opener(host::open_embedder(Some(factory)))
    }

    fn from_opener(open: EmbedderOpener) -> anyhow::Result<Self> {
        Ok(Self {
            pool: EmbedPool::start(PoolOptions::default(), open),
            runtime: runtime::build_single_threaded()?,
        })
    }

    /// Embeds the new records of a group.
    fn embed_group(&self, engine: &Engine, group: &mut [NewRecord]) -> anyhow::Result<()> {
        let memory = engine.snapshot();
        let mut wanted: Vec<&mut NewRecord> = group
            .iter_mut()
            .filter(|record| record.embedding.is_none() && !record.text.trim().is_empty())
            .filter(|record| !memory.is_known(record))
            .collect();
        let vectors = self.embed_texts(wanted.iter().map(|record| record.text.as_str()))?;
        for (record, vector) in wanted.iter_mut().zip(vectors) {
            record.embedding = vector;
        }
        Ok(())
    }

    fn embed_texts<'a>(
        &self,
        texts: impl Iterator<Item = &'a str>,
    ) -> anyhow::Result<Vec<Option<Embedding>>> {
        let (mut vectors, mut missing) = (Vec::new(), None);
        self.runtime.block_on(async {
            let mut waiting = Vec::new();
            for text in texts {
                waiting.push(self.pool.queue_document(text).await);
            }
            for one in waiting {
                vectors.push(match one.wait().await {
                    Ok(vector) => Some(vector),
                    // The record is found by words until the model is installed.
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
            tell!("note: {message}; search uses words until it is installed");
        }
        Ok(vectors)
    }
}
