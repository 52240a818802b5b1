//! The last stage: writes a batch's records, credits and position in one job of the writer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reprise_engine::Engine;
use reprise_types::{MemoryError, WriteOutcome};
use tokio::sync::{oneshot, watch};

use super::arguments::MemoryEventRelayArguments;
use super::batch::Batch;
use super::credit::{Credits, OwnRuns};
use crate::ingest::collect;
use crate::job::{Job, Observe};

/// First and longest pause before a failed step is retried.
pub(super) const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_LONGEST: Duration = Duration::from_secs(2);

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
                Ok(outcomes) => {
                    self.sent = batch.cursor.unwrap_or(self.sent);
                    leave_outcomes(credits.judged(), arguments).await;
                    return count(arguments, &outcomes, batch.cursor);
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

/// Credits go first: after a crash in between they are repeated, and refused as duplicates.
async fn visit(
    batch: &Batch,
    credits: &Credits,
    arguments: &MemoryEventRelayArguments,
) -> Result<Vec<WriteOutcome>, MemoryError> {
    let binding = &arguments.binding;
    let (reply, answer) = oneshot::channel();
    let due = credits.are_due().then(|| credits.clone());
    let observe = Observe {
        cursor: batch.cursor.map(|seq| (binding.stream.clone(), seq)),
        before: due.map(|credits| Box::new(move |engine: &mut Engine| credits.apply(engine)) as _),
        ..Observe::new(batch.records.clone(), reply.into())
    };
    let directory = &arguments.directory;
    directory.work(&binding.user, Job::Observe(observe)).await;
    answer.await.unwrap_or_else(|_| {
        Err(MemoryError::Unavailable {
            user: binding.user.to_string(),
        })
    })
}

/// Stores the outcome records of finished runs, now that their records are there, with vectors
/// where there is a model: late embedding would write to the file again.
async fn leave_outcomes(runs: Vec<String>, arguments: &MemoryEventRelayArguments) {
    if runs.is_empty() {
        return;
    }
    let (now, user) = (arguments.clock.now(), &arguments.binding.user);
    let (job, left) = Job::run(move |engine: &mut Engine| {
        let mut ids = Vec::new();
        for run in runs {
            match engine.leave_outcome(&run, None, now) {
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
        texts.collect::<Vec<_>>()
    });
    arguments.directory.work(user, job).await;
    let Ok(Ok(texts)) = left.await else {
        return;
    };
    let mut vectors = Vec::with_capacity(texts.len());
    for (id, text) in texts {
        if let Ok(embedded) = arguments.pool.document(&text).await.vector().await {
            vectors.push((id, embedded.space, embedded.vector));
        }
    }
    let (job, kept) = Job::run(move |engine: &mut Engine| engine.embed_late(vectors));
    arguments.directory.work(user, job).await;
    if let Ok(Ok(Err(error))) = kept.await {
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

fn count(arguments: &MemoryEventRelayArguments, outcomes: &[WriteOutcome], cursor: Option<u64>) {
    arguments.handle.change(|progress| {
        for outcome in outcomes {
            match outcome {
                WriteOutcome::Inserted { .. } => progress.inserted += 1,
                WriteOutcome::Duplicate { .. } => progress.duplicates += 1,
                WriteOutcome::Rejected { why } => {
                    tracing::warn!(%why, "a record was refused");
                    progress.rejected += 1;
                }
            }
        }
        progress.durable_seq = progress.durable_seq.max(cursor.unwrap_or_default());
    });
}
