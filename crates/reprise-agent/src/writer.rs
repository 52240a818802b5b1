//! One user's writer thread: it owns the engine.
//!
//! It opens the file, groups commits, and reopens a file that was replaced.

use std::os::unix::fs::DirBuilderExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reprise_engine::{Engine, EngineError, EngineOptions};
use reprise_types::{MemoryError, NewRecord, WriteOutcome, system_entropy};
use tokio::sync::{mpsc, oneshot};

use crate::config::MemoryConfig;
use crate::handle::AgentHandle;
use crate::job::{Beside, Job, Observe, Reply, Work, storage};

/// Most bytes of records in one group commit; a larger request is committed alone.
const GROUP_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Interval of checks whether a lent file is free again.
const LOOK: Duration = Duration::from_millis(5);

/// Held by the writer while its file is open. The value: until when the file is lent to another
/// program.
pub(crate) type Gate = Mutex<Option<Instant>>;

/// How a writer thread ended. No message at all means that it panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterEnd {
    /// Everything queued is on disk and the file is closed.
    Closed,
    /// The file could not be opened; the handle says why.
    NotOpened,
}

/// Starts the thread. `gate` is held while the file is open, so that a successor in this process
/// waits for its predecessor instead of finding the file locked.
pub(crate) fn spawn(
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    jobs: mpsc::Receiver<Job>,
    gate: Arc<Gate>,
) -> std::io::Result<oneshot::Receiver<WriterEnd>> {
    let (ended, end) = oneshot::channel();
    let name = format!("reprise-writer-{}", handle.user());
    let spawn = Arc::clone(&config.spawn_thread);
    let work = move || {
        let mut gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let mut writer = Writer {
            config,
            handle,
            jobs,
            engine: None,
            lent_until: gate.take(),
        };
        let how = writer.run();
        // The agent may have been killed and not wait for this.
        let _alone = ended.send(how).is_err();
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
    fn run(&mut self) -> WriterEnd {
        if let Err(error) = self.open() {
            // Callers get the error; a daemon logs it too.
            tracing::warn!(user = %self.handle.user(), %error, "a memory could not be opened");
            self.handle.fail(error);
            return WriterEnd::NotOpened;
        }
        self.handle.set_open();
        let mut next = self.jobs.blocking_recv();
        while let Some(job) = next {
            next = match job {
                Job::Run(work) => {
                    self.run_work(work);
                    None
                }
                Job::Observe(observe) => self.commit_group(observe),
            };
            next = next.or_else(|| self.jobs.blocking_recv());
        }
        if let Some(engine) = self.engine.take()
            && let Err(error) = engine.close()
        {
            // Nothing is lost: only the next opening is slower.
            tracing::warn!(user = %self.handle.user(), %error, "the last checkpoint failed");
        }
        WriterEnd::Closed
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
            space: self.config.space.clone(),
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

    fn run_work(&mut self, work: Work) {
        let answer = work(self.engine());
        self.show();
        // Answered after publishing, so that the caller's next read sees the change.
        answer();
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
    fn commit_group(&mut self, first: Observe) -> Option<Job> {
        let most = self.config.limits.group_records_max;
        let mut left_over = None;
        let mut count = first.records.len();
        let mut bytes = first.bytes;
        let mut cursor = first.cursor;
        let mut records = first.records;
        let mut before: Vec<_> = first.before.into_iter().collect();
        let mut after: Vec<_> = first.after.into_iter().collect();
        let mut replies = vec![(count, first.reply)];
        while count < most && bytes < GROUP_BYTES_MAX {
            match self.jobs.try_recv() {
                Ok(Job::Observe(more))
                    if bytes + more.bytes <= GROUP_BYTES_MAX
                        && joins(cursor.as_ref(), more.cursor.as_ref()) =>
                {
                    count += more.records.len();
                    bytes += more.bytes;
                    cursor = later(cursor, more.cursor);
                    replies.push((more.records.len(), more.reply));
                    records.extend(more.records);
                    before.extend(more.before);
                    after.extend(more.after);
                }
                Ok(other) => {
                    left_over = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        if let Ok(engine) = self.engine() {
            for first in before {
                first(engine);
            }
        }
        let observed = self.observe(records, cursor, after);
        answer(observed, replies);
        left_over
    }

    fn observe(
        &mut self,
        records: Vec<NewRecord>,
        cursor: Option<(String, u64)>,
        after: Vec<Beside>,
    ) -> Observed {
        let now = self.config.clock.now();
        let kept = match self.engine() {
            Ok(engine) => {
                let kept = engine.observe(records, cursor, now);
                if kept.is_ok() {
                    for then in after {
                        then(engine);
                    }
                }
                kept
            }
            Err(error) => return Observed::failed(Vec::new(), error),
        };
        self.show();
        let error = match kept {
            Ok(outcomes) => {
                let failed = None;
                return Observed { outcomes, failed };
            }
            Err(error) => error,
        };
        tracing::error!(user = %self.handle.user(), %error, "a write failed");
        match error {
            EngineError::Partly {
                outcomes, cause, ..
            } => Observed::failed(outcomes, storage(&cause)),
            error => Observed::failed(Vec::new(), storage(&error)),
        }
    }
}

/// The outcomes of a group commit, which may cover only its first records.
struct Observed {
    outcomes: Vec<WriteOutcome>,
    /// The error that ended it early.
    failed: Option<MemoryError>,
}

impl Observed {
    fn failed(outcomes: Vec<WriteOutcome>, error: MemoryError) -> Self {
        let failed = Some(error);
        Self { outcomes, failed }
    }
}

/// Whether two writes can share a commit, which holds the cursor of one stream.
fn joins(held: Option<&(String, u64)>, more: Option<&(String, u64)>) -> bool {
    match (held, more) {
        (Some((one, _)), Some((two, _))) => one == two,
        _ => true,
    }
}

/// The later of two positions in one stream.
fn later(one: Option<(String, u64)>, two: Option<(String, u64)>) -> Option<(String, u64)> {
    match (one, two) {
        (Some(one), Some(two)) => Some(if two.1 > one.1 { two } else { one }),
        (one, two) => one.or(two),
    }
}

/// Answers each request with the outcomes of its own records, whatever happened to the others of
/// the group.
fn answer(observed: Observed, replies: Vec<(usize, Reply<Vec<WriteOutcome>>)>) {
    let Observed { outcomes, failed } = observed;
    let mut outcomes = outcomes.into_iter();
    for (count, reply) in replies {
        let own: Vec<_> = outcomes.by_ref().take(count).collect();
        let answer = match &failed {
            Some(error) if count == 0 || own.len() < count => Err(partly(own.len(), count, error)),
            _ => Ok(own),
        };
        // The caller may have gone; the records are stored all the same.
        let _left = reply.send(answer).is_err();
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
