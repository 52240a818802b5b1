//! One user's writer thread: it owns the engine.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reprise_engine::{Engine, EngineError, EngineOptions, Parts, WriteBatch, Written};
use reprise_types::{MemoryError, RecordId, WriteOutcome, lock, system_entropy};
use tokio::sync::{mpsc, oneshot};

use crate::config::MemoryConfig;
use crate::handle::AgentHandle;
use crate::job::{Job, Write, storage};

/// Most bytes of records in one group commit; a larger request is committed alone.
const GROUP_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Interval of checks whether a lent file is free again.
const LOOK: Duration = Duration::from_millis(5);

/// Held by the writer while its file is open. The value: until when the file is lent to another
/// program.
pub(crate) type Gate = Mutex<Option<Instant>>;

/// Starts the thread. `gate` is held while the file is open, so that a successor in this process
/// waits for its predecessor instead of finding the file locked. Returns what tells of the thread's
/// end; without a message it panicked.
pub(crate) fn spawn(
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    jobs: mpsc::Receiver<Job>,
    gate: Arc<Gate>,
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
        writer.run();
        // The agent may have been killed and not wait for this.
        let _alone = ended.send(()).is_err();
    };
    spawn(name, Box::new(work))?;
    Ok(end)
}

struct Writer {
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    jobs: mpsc::Receiver<Job>,
    engine: Option<Engine>,
    lent_until: Option<Instant>,
}

impl Writer {
    fn run(&mut self) {
        if let Err(error) = self.open() {
            // Callers get the error; a daemon logs it too.
            tracing::warn!(user = %self.handle.user(), %error, "a memory could not be opened");
            self.handle.fail(error);
            return;
        }
        self.handle.set_open();
        let mut next = self.jobs.blocking_recv();
        while let Some(job) = next {
            self.take_receipts();
            next = match job {
                Job::Run(work) => {
                    let answer = work(self.engine());
                    self.show();
                    // After publishing, so that the caller's next read sees the change.
                    answer();
                    None
                }
                Job::Write(write) => self.commit_group(write),
            };
            next = next.or_else(|| self.jobs.blocking_recv());
        }
        self.take_receipts();
        if let Some(engine) = self.engine.take()
            && let Err(error) = engine.close()
        {
            // Nothing is lost: only the next opening is slower.
            tracing::warn!(user = %self.handle.user(), %error, "the last checkpoint failed");
        }
    }

    /// Tells the engine what was recalled meanwhile.
    fn take_receipts(&mut self) {
        if let Some(engine) = &mut self.engine {
            for receipt in self.handle.take_receipts() {
                engine.remember_recall(receipt);
            }
        }
    }

    fn open(&mut self) -> Result<(), MemoryError> {
        let path = self.config.file_of(self.handle.user());
        if let Some(folder) = path.parent() {
            // Private to its owner: it holds what a person's agents did.
            let mut builder = std::fs::DirBuilder::new();
            let made = builder.recursive(true).mode(0o700).create(folder);
            made.map_err(|error| MemoryError::Storage {
                message: format!(
                    "the folder {} cannot be made ({error}); check the data directory",
                    folder.display()
                ),
            })?;
        }
        let now = self.config.clock.now();
        let options = EngineOptions {
            learn: self.config.learn,
            space: self.config.space_for(self.handle.user()),
            parts: Parts {
                learning: self.config.learning.clone(),
                ..Parts::default()
            },
            ..EngineOptions::new(self.config.dimensions, system_entropy(), now)
        };
        let (engine, report) = loop {
            match (self.config.open_engine)(&path, &options) {
                Ok(opened) => break opened,
                Err(error) if error.is_locked() && self.is_lent() => std::thread::sleep(LOOK),
                Err(error) => return Err(storage(&error)),
            }
        };
        tracing::debug!(user = %self.handle.user(), ?report, "a memory was opened");
        self.handle.publish(engine.snapshot());
        self.engine = Some(engine);
        Ok(())
    }

    /// Whether the file is lent and must be waited for.
    fn is_lent(&self) -> bool {
        let until = self.lent_until.filter(|until| Instant::now() < *until);
        until.is_some() && !self.handle.is_closed()
    }

    /// The engine; reopened where its file was replaced by another.
    fn engine(&mut self) -> Result<&mut Engine, MemoryError> {
        if self.engine.is_none() {
            self.open()?;
        }
        self.engine
            .as_mut()
            .ok_or_else(|| self.handle.unavailable())
    }

    /// Publishes the new snapshot. A file that was put in the place of ours is opened at once, so
    /// that readers see it too; where it cannot be, the next request tries again.
    fn show(&mut self) {
        let Some(engine) = &self.engine else { return };
        self.handle.publish(engine.snapshot());
        if engine.is_displaced() {
            self.engine = None;
            if let Err(error) = self.open() {
                let user = self.handle.user();
                tracing::warn!(%user, %error, "what replaced a memory cannot be opened");
            }
        }
    }

    /// Commits `first` together with queued writes that fit. Returns the first job that did not.
    fn commit_group(&mut self, first: Write) -> Option<Job> {
        let most = self.config.limits.group_records_max;
        let mut left_over = None;
        let (mut bytes, mut batch) = (first.bytes, first.batch);
        let mut asked = vec![Asked::of(&batch, first.reply)];
        while batch.records.len() < most && bytes < GROUP_BYTES_MAX {
            match self.jobs.try_recv() {
                Ok(Job::Write(more))
                    if bytes + more.bytes <= GROUP_BYTES_MAX && joins(&batch, &more.batch) =>
                {
                    bytes += more.bytes;
                    asked.push(Asked::of(&more.batch, more.reply));
                    batch.join(more.batch);
                }
                Ok(other) => {
                    left_over = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        let now = self.config.clock.now();
        let (written, failed) = match self.engine().map(|engine| engine.write(batch, now)) {
            Ok(Ok(written)) => (written, None),
            Ok(Err(error)) => part_of(error),
            Err(closed) => (Written::default(), Some(closed)),
        };
        self.show();
        if let Some(error) = &failed {
            tracing::error!(user = %self.handle.user(), %error, "a write failed");
        }
        answer(written, failed.as_ref(), asked);
        left_over
    }
}

/// What was written before an error ended it.
fn part_of(error: EngineError) -> (Written, Option<MemoryError>) {
    match error {
        EngineError::Partly {
            outcomes, cause, ..
        } => {
            let written = Written {
                outcomes,
                ..Written::default()
            };
            (written, Some(storage(&cause)))
        }
        error => (Written::default(), Some(storage(&error))),
    }
}

/// A request of a group: how much of it is its own.
struct Asked {
    records: usize,
    said: usize,
    reply: oneshot::Sender<Result<Written, MemoryError>>,
}

impl Asked {
    fn of(batch: &WriteBatch, reply: oneshot::Sender<Result<Written, MemoryError>>) -> Self {
        Self {
            records: batch.records.len(),
            said: batch.learning.len(),
            reply,
        }
    }
}

/// Whether two writes can share a commit, which holds the cursor of one stream.
fn joins(held: &WriteBatch, more: &WriteBatch) -> bool {
    match (&held.cursor, &more.cursor) {
        (Some((one, _)), Some((two, _))) => one == two,
        _ => true,
    }
}

/// Answers each request with what became of its own, whatever happened to the others of the group.
/// What runs left goes to the first that told of any.
fn answer(written: Written, failed: Option<&MemoryError>, asked: Vec<Asked>) {
    let mut outcomes = written.outcomes.into_iter();
    let (mut learning, mut waiting) = (written.learning.into_iter(), written.waiting);
    let new_of = |outcomes: &[WriteOutcome]| -> BTreeSet<RecordId> {
        outcomes.iter().filter_map(WriteOutcome::new_id).collect()
    };
    let all = new_of(outcomes.as_slice());
    let left = waiting.extract_if(.., |id| !all.contains(id));
    let mut left: Vec<RecordId> = left.collect();
    for request in asked {
        let own: Vec<_> = outcomes.by_ref().take(request.records).collect();
        let answer = match failed {
            Some(error) if request.records == 0 || own.len() < request.records => {
                Err(partly(own.len(), request.records, error))
            }
            _ => {
                let ids = new_of(&own);
                let mut own_waiting: Vec<_> =
                    waiting.extract_if(.., |id| ids.contains(id)).collect();
                if request.said > 0 {
                    own_waiting.append(&mut left);
                }
                Ok(Written {
                    outcomes: own,
                    learning: learning.by_ref().take(request.said).collect(),
                    waiting: own_waiting,
                })
            }
        };
        // The caller may have gone; the records are stored all the same.
        let _left = request.reply.send(answer).is_err();
    }
}

/// The error of a request of which only the first records were stored.
fn partly(kept: usize, count: usize, error: &MemoryError) -> MemoryError {
    match error {
        MemoryError::Storage { message } if kept > 0 => MemoryError::Storage {
            message: format!(
                "{kept} of {count} records were kept, then: {message}; send the others again"
            ),
        },
        error => error.clone(),
    }
}

#[cfg(test)]
mod tests;
