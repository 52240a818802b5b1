//! The last stage: writes a batch's records, credits and position in one job of the writer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_engine::Engine;
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{MemoryError, RecordId, WriteOutcome};
use tokio::sync::{oneshot, watch};

use super::arguments::MemoryEventRelayArguments;
use super::batch::Batch;
use super::credit::{Credits, OwnRuns};
use crate::ingest::collect;
use crate::job::{Beside, Job, Observe};

/// First and longest pause before a failed step is retried.
pub(super) const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_LONGEST: Duration = Duration::from_secs(2);

/// Texts of outcome records.
type Left = Vec<(RecordId, String)>;

#[derive(Debug, Default)]
pub(super) struct Writing {
    /// The last position whose cursor was written.
    sent: u64,
    /// A batch was given up because the relay was stopped: nothing after it may be written, or the
    /// cursor would pass it.
    given_up: bool,
    own_runs: Arc<Mutex<OwnRuns>>,
}

impl Writing {
    pub(super) fn begin(&mut self, sent: u64) {
        self.sent = sent;
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Writes a batch, retrying until it is on disk or the relay is stopped.
    pub(super) async fn write(
        &mut self,
        mut batch: Batch,
        arguments: &MemoryEventRelayArguments,
        stopped: &mut watch::Receiver<bool>,
    ) {
        let nothing = batch.records.is_empty() && batch.cursor.is_none();
        if nothing || self.given_up {
            return;
        }
        let vectors = std::mem::take(&mut batch.vectors);
        let missing = collect(vectors, &mut batch.records).await;
        arguments
            .handle
            .change(|progress| progress.unembedded += missing);
        let (signals, now) = (std::mem::take(&mut batch.signals), arguments.clock.now());
        let own = &self.own_runs;
        let credits = Credits::of(signals, &batch.records, &arguments.pool, own, now).await;
        let mut wait = RETRY_FIRST;
        loop {
            let error = match visit(&batch, &credits, arguments).await {
                Ok((outcomes, left)) => {
                    self.sent = batch.cursor.unwrap_or(self.sent);
                    embed_left(left, arguments).await;
                    return count(arguments, &outcomes, &batch);
                }
                Err(error) => error,
            };
            arguments.handle.change(|progress| progress.retries += 1);
            if pause(stopped, &error, &mut wait).await.is_none() {
                self.given_up = true;
                return;
            }
        }
    }
}

/// Credits go first: after a crash in between they are repeated, and refused as duplicates. The
/// outcome records of finished runs tell of the batch's own records and go last: after a crash in
/// between, [`leave_missing`] stores them.
async fn visit(
    batch: &Batch,
    credits: &Credits,
    arguments: &MemoryEventRelayArguments,
) -> Result<(Vec<WriteOutcome>, Left), MemoryError> {
    let binding = &arguments.binding;
    let (reply, answer) = oneshot::channel();
    let due = credits.are_due().then(|| credits.clone());
    let (runs, now) = (credits.judged(), arguments.clock.now());
    let (leaves, left) = oneshot::channel();
    let after: Beside = Box::new(move |engine: &mut Engine| {
        // The asker may be gone; the records are stored all the same.
        let _alone = leaves.send(leave(engine, &runs, now)).is_err();
    });
    let observe = Observe {
        cursor: batch.cursor.map(|seq| (binding.stream.clone(), seq)),
        before: due.map(|credits| Box::new(move |engine: &mut Engine| credits.apply(engine)) as _),
        after: Some(after),
        ..Observe::new(batch.records.clone(), reply.into())
    };
    let directory = &arguments.directory;
    directory.work(&binding.user, Job::Observe(observe)).await;
    let unavailable = || MemoryError::Unavailable {
        user: binding.user.to_string(),
    };
    let outcomes = answer.await.unwrap_or_else(|_| Err(unavailable()))?;
    // A group that was kept in part has neither the cursor nor these: all is told again.
    let left = left.await.map_err(|_| unavailable())?;
    Ok((outcomes, left))
}

/// Stores the outcome records of runs that ended right before a crash.
pub(super) async fn leave_missing(arguments: &MemoryEventRelayArguments) {
    let now = arguments.clock.now();
    let left = arguments.with_engine(move |engine| {
        let runs = engine.runs_without_outcome();
        leave(engine, &runs, now)
    });
    embed_left(left.await.unwrap_or_default(), arguments).await;
}

/// Stores the outcome records of finished runs; returns their texts, which have no vectors yet.
fn leave(engine: &mut Engine, runs: &[String], now: DateTime<Utc>) -> Left {
    let mut ids = Vec::new();
    for run in runs {
        match engine.leave_outcome(run, None, now) {
            Ok(id) => ids.extend(id),
            Err(error) => {
                tracing::warn!(%run, %error, "the outcome record of a run was not stored");
            }
        }
    }
    let memory = engine.snapshot();
    let texts = ids.into_iter().filter_map(|id| {
        let record = memory.get(id)?.ok()?;
        Some((id, record.body.text))
    });
    texts.collect()
}

/// Stores the vectors of outcome records, where there is a model. They do not wait for the next
/// late embedding: a digest taken in between would differ from the one after it.
async fn embed_left(left: Left, arguments: &MemoryEventRelayArguments) {
    let mut vectors = Vec::with_capacity(left.len());
    for (id, text) in left {
        if let Ok(embedded) = arguments.pool.document(&text).await.vector().await {
            vectors.push((id, embedded.space, embedded.vector));
        }
    }
    if vectors.is_empty() {
        return;
    }
    let kept = arguments.with_engine(move |engine| engine.embed_late(vectors));
    if let Ok(Err(error)) = kept.await {
        tracing::warn!(%error, "the vector of an outcome record was not stored");
    }
}

/// Waits before a retry; `None` where the relay was stopped meanwhile.
pub(super) async fn pause(
    stopped: &mut watch::Receiver<bool>,
    error: &MemoryError,
    wait: &mut Duration,
) -> Option<()> {
    tracing::warn!(%error, ?wait, "the relay tries again");
    let over = tokio::time::timeout(*wait, stopped.wait_for(|stop| *stop))
        .await
        .is_ok();
    *wait = (*wait * 2).min(RETRY_LONGEST);
    (!over).then_some(())
}

fn count(arguments: &MemoryEventRelayArguments, outcomes: &[WriteOutcome], batch: &Batch) {
    arguments.handle.change(|progress| {
        for (outcome, record) in outcomes.iter().zip(&batch.records) {
            match outcome {
                WriteOutcome::Inserted { .. } => {
                    progress.inserted += 1;
                    progress.truncated += u64::from(record.text.len() > TEXT_BYTES_MAX);
                }
                WriteOutcome::Duplicate { .. } => progress.duplicates += 1,
                WriteOutcome::Rejected { why } => {
                    tracing::warn!(%why, "a record was refused");
                    progress.rejected += 1;
                }
            }
        }
        progress.durable_seq = progress.durable_seq.max(batch.cursor.unwrap_or_default());
    });
}
