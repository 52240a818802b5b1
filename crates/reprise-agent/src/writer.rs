//! One user's writer thread, which owns the engine.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reprise_engine::{
    Engine, EngineError, EngineOptions, EnginePorts, WriteBatch, WriteBatchReport,
};
use reprise_types::{MemoryError, RecordId, WriteOutcome, lock, system_entropy};
use tokio::sync::{mpsc, oneshot};

use crate::config::MemoryConfig;
use crate::handle::MemoryHandle;
use crate::job::{WriteJob, WriterJob, to_storage_error};

/// Most bytes of records in one group commit; a larger request is committed alone.
const GROUP_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Interval at which the writer checks whether a lent file is free again.
const LENT_FILE_POLL: Duration = Duration::from_millis(5);

/// Lock that the writer holds while its file is open. The value is the time until which the file is
/// lent to another program.
pub(crate) type FileGate = Mutex<Option<Instant>>;

/// Starts the thread. `gate` is held while the file is open, so that a successor in this process
/// waits for its predecessor instead of finding the file locked. Returns the receiver of the
/// thread's end; an error there means that it panicked.
pub(crate) fn spawn_writer(
    config: Arc<MemoryConfig>,
    handle: MemoryHandle,
    jobs: mpsc::Receiver<WriterJob>,
    gate: Arc<FileGate>,
) -> std::io::Result<oneshot::Receiver<()>> {
    let (ended, end) = oneshot::channel();
    let name = format!("reprise-writer-{}", handle.user());
    let spawn = Arc::clone(&config.spawn_thread);
    let work = move || {
        let mut gate = lock(&gate);
        let mut writer = Writer {
            config,
            handle,
            jobs,
            engine: None,
            lent_until: gate.take(),
        };
        writer.run_jobs();
        // The agent may have been killed, so that nothing waits for this.
        let _nobody_waits = ended.send(()).is_err();
    };
    spawn(name, Box::new(work))?;
    Ok(end)
}

struct Writer {
    config: Arc<MemoryConfig>,
    handle: MemoryHandle,
    jobs: mpsc::Receiver<WriterJob>,
    engine: Option<Engine>,
    lent_until: Option<Instant>,
}

impl Writer {
    fn run_jobs(&mut self) {
        if let Err(error) = self.open_engine() {
            // The callers get the error; it is logged for the daemon's owner too.
            tracing::warn!(user = %self.handle.user(), %error, "a memory could not be opened");
            self.handle.fail_opening(error);
            return;
        }
        self.handle.mark_open();
        let mut next = self.jobs.blocking_recv();
        while let Some(job) = next {
            self.record_receipts();
            next = match job {
                WriterJob::Run(work) => {
                    let answer = work(self.ensure_engine());
                    self.publish_snapshot();
                    // The reply follows the publishing, so that the caller's next read sees the
                    // change.
                    answer();
                    None
                }
                WriterJob::Write(write) => self.commit_group(write),
            };
            next = next.or_else(|| self.jobs.blocking_recv());
        }
        self.record_receipts();
        if let Some(engine) = self.engine.take()
            && let Err(error) = engine.close()
        {
            // Nothing is lost; only the next opening is slower.
            tracing::warn!(user = %self.handle.user(), %error, "the last checkpoint failed");
        }
    }

    /// Passes the receipts of recalls since the last job to the engine.
    fn record_receipts(&mut self) {
        if let Some(engine) = &mut self.engine {
            for receipt in self.handle.take_receipts() {
                engine.remember_recall(receipt);
            }
        }
    }

    fn open_engine(&mut self) -> Result<(), MemoryError> {
        let path = self.config.file_path(self.handle.user());
        if let Some(folder) = path.parent() {
            // The folder is private to its owner, because it holds what a person's agents did.
            let mut builder = std::fs::DirBuilder::new();
            let created = builder.recursive(true).mode(0o700).create(folder);
            created.map_err(|error| MemoryError::Storage {
                message: format!(
                    "the folder {} cannot be created ({error}); check the data directory",
                    folder.display()
                ),
            })?;
        }
        let now = self.config.clock.now();
        let options = EngineOptions {
            learn: self.config.learn,
            space: self.config.space_for(self.handle.user()),
            user: Some(self.handle.user().clone()),
            ports: EnginePorts {
                learning: self.config.learning.clone(),
                ..EnginePorts::default()
            },
            ..EngineOptions::new(self.config.dimensions, system_entropy(), now)
        };
        let (engine, report) = loop {
            match (self.config.open_engine)(&path, &options) {
                Ok(opened) => break opened,
                Err(error) if error.is_locked() && self.is_lent() => {
                    std::thread::sleep(LENT_FILE_POLL);
                }
                Err(error) => return Err(to_storage_error(&error)),
            }
        };
        tracing::debug!(user = %self.handle.user(), ?report, "a memory was opened");
        self.handle.publish(engine.snapshot());
        self.engine = Some(engine);
        Ok(())
    }

    /// Returns whether the file is lent to another program, so that the opening must wait.
    fn is_lent(&self) -> bool {
        let until = self.lent_until.filter(|until| Instant::now() < *until);
        until.is_some() && !self.handle.is_closed()
    }

    /// Returns the engine, reopened if its file was replaced by another.
    fn ensure_engine(&mut self) -> Result<&mut Engine, MemoryError> {
        if self.engine.is_none() {
            self.open_engine()?;
        }
        self.engine
            .as_mut()
            .ok_or_else(|| self.handle.unavailable_error())
    }

    /// Publishes the new snapshot. If another file has replaced ours, it is opened at once, so that
    /// readers see it too; if that fails, the next request tries again.
    fn publish_snapshot(&mut self) {
        let Some(engine) = &self.engine else { return };
        self.handle.publish(engine.snapshot());
        if engine.is_displaced() {
            self.engine = None;
            if let Err(error) = self.open_engine() {
                let user = self.handle.user();
                tracing::warn!(%user, %error, "what replaced a memory cannot be opened");
            }
        }
    }

    /// Commits `first` together with queued writes that fit. Returns the first job that did not
    /// fit.
    fn commit_group(&mut self, first: WriteJob) -> Option<WriterJob> {
        let records_max = self.config.limits.group_records_max;
        let mut not_joined = None;
        let (mut bytes, mut batch) = (first.bytes, first.batch);
        let mut members = vec![GroupMember::new(&batch, first.reply)];
        while batch.records.len() < records_max && bytes < GROUP_BYTES_MAX {
            match self.jobs.try_recv() {
                Ok(WriterJob::Write(more))
                    if bytes + more.bytes <= GROUP_BYTES_MAX
                        && can_share_commit(&batch, &more.batch) =>
                {
                    bytes += more.bytes;
                    members.push(GroupMember::new(&more.batch, more.reply));
                    batch.append(more.batch);
                }
                Ok(other) => {
                    not_joined = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        let now = self.config.clock.now();
        let (written, failed) = match self.ensure_engine().map(|engine| engine.write(batch, now)) {
            Ok(Ok(written)) => (written, None),
            Ok(Err(error)) => split_partial_error(error),
            Err(closed) => (WriteBatchReport::default(), Some(closed)),
        };
        self.publish_snapshot();
        if let Some(error) = &failed {
            tracing::error!(user = %self.handle.user(), %error, "a write failed");
        }
        reply_to_members(written, failed.as_ref(), members);
        not_joined
    }
}

/// Splits the error of a partial write into what was written and the cause.
fn split_partial_error(error: EngineError) -> (WriteBatchReport, Option<MemoryError>) {
    match error {
        EngineError::Partly {
            outcomes, cause, ..
        } => {
            let written = WriteBatchReport {
                outcomes,
                ..WriteBatchReport::default()
            };
            (written, Some(to_storage_error(&cause)))
        }
        error => (WriteBatchReport::default(), Some(to_storage_error(&error))),
    }
}

/// One request of a group commit, with the numbers of records and run events that belong to it.
struct GroupMember {
    records: usize,
    run_events: usize,
    reply: oneshot::Sender<Result<WriteBatchReport, MemoryError>>,
}

impl GroupMember {
    fn new(
        batch: &WriteBatch,
        reply: oneshot::Sender<Result<WriteBatchReport, MemoryError>>,
    ) -> Self {
        Self {
            records: batch.records.len(),
            run_events: batch.learning.len(),
            reply,
        }
    }
}

/// Returns whether two writes can share a commit, which holds the cursor of one stream only.
fn can_share_commit(held: &WriteBatch, more: &WriteBatch) -> bool {
    match (&held.cursor, &more.cursor) {
        (Some((one, _)), Some((two, _))) => one == two,
        _ => true,
    }
}

/// Replies to each request of a group with the results of its own records, whatever happened to the
/// others. Outcome records that runs produced go to the first request with run events.
fn reply_to_members(
    written: WriteBatchReport,
    failure: Option<&MemoryError>,
    members: Vec<GroupMember>,
) {
    let mut outcomes = written.outcomes.into_iter();
    let (mut learning, mut waiting) = (written.learning.into_iter(), written.unembedded);
    let new_ids = |outcomes: &[WriteOutcome]| -> BTreeSet<RecordId> {
        outcomes
            .iter()
            .filter_map(WriteOutcome::inserted_id)
            .collect()
    };
    let all = new_ids(outcomes.as_slice());
    let from_runs = waiting.extract_if(.., |id| !all.contains(id));
    let mut from_runs: Vec<RecordId> = from_runs.collect();
    for member in members {
        let own: Vec<_> = outcomes.by_ref().take(member.records).collect();
        let answer = match failure {
            Some(error) if member.records == 0 || own.len() < member.records => {
                Err(partial_write_error(own.len(), member.records, error))
            }
            _ => {
                let ids = new_ids(&own);
                let mut own_waiting: Vec<_> =
                    waiting.extract_if(.., |id| ids.contains(id)).collect();
                if member.run_events > 0 {
                    own_waiting.append(&mut from_runs);
                }
                Ok(WriteBatchReport {
                    outcomes: own,
                    learning: learning.by_ref().take(member.run_events).collect(),
                    unembedded: own_waiting,
                })
            }
        };
        // The caller may be gone; the records are stored nevertheless.
        let _caller_gone = member.reply.send(answer).is_err();
    }
}

/// Builds the error of a request of which only the first records were stored.
fn partial_write_error(stored: usize, count: usize, error: &MemoryError) -> MemoryError {
    match error {
        MemoryError::Storage { message } if stored > 0 => MemoryError::Storage {
            message: format!(
                "{stored} of {count} records were kept, then: {message}; send the others again"
            ),
        },
        error => error.clone(),
    }
}

#[cfg(test)]
mod tests;
