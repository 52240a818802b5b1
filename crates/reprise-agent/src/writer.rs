//! One user's writer thread: it owns the engine.
//!
//! Lives here: opening, group commits, reopening after a failed write, the orderly end. Must never
//! live here: async, embedding, a reader.

use std::os::unix::fs::DirBuilderExt;
use std::sync::{Arc, Mutex, PoisonError};

use reprise_engine::{Engine, EngineError, EngineOptions};
use reprise_types::{MemoryError, NewRecord, WriteOutcome, system_entropy};
use tokio::sync::{mpsc, oneshot};

use crate::config::MemoryConfig;
use crate::handle::{AgentHandle, Job, Observe, Readiness, Work, storage};

/// How a writer thread came to its end. No message at all means that it panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterEnd {
    /// Everything queued is on disk and the file is closed.
    Closed,
    /// The file could not be opened; the handle says why.
    NotOpened,
}

/// Starts the thread. `gate` is held for as long as the file is open, so that a successor in this
/// process waits for its predecessor instead of finding the file locked.
pub(crate) fn spawn(
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    jobs: mpsc::Receiver<Job>,
    gate: Arc<Mutex<()>>,
) -> std::io::Result<oneshot::Receiver<WriterEnd>> {
    let (ended, end) = oneshot::channel();
    let name = format!("reprise-writer-{}", handle.user());
    let spawn = Arc::clone(&config.spawn_thread);
    let work = move || {
        let _gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let mut writer = Writer {
            config,
            handle,
            jobs,
            engine: None,
        };
        let how = writer.run();
        // The agent may have been killed; then nobody waits for this.
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
}

impl Writer {
    fn run(&mut self) -> WriterEnd {
        if let Err(error) = self.open() {
            // Whoever asks is told; the log of a daemon says it too.
            tracing::warn!(user = %self.handle.user(), %error, "a memory could not be opened");
            self.handle.set_ready(Readiness::Failed(error));
            self.handle.close();
            return WriterEnd::NotOpened;
        }
        self.handle.set_ready(Readiness::Open);
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
            // Every acknowledged record is in the log; only the next opening is slower.
            tracing::warn!(user = %self.handle.user(), %error, "the last checkpoint failed");
        }
        WriterEnd::Closed
    }

    fn open(&mut self) -> Result<(), MemoryError> {
        let path = self.config.file_of(self.handle.user());
        if let Some(folder) = path.parent() {
            // What a person's agents did is that person's: nobody else may read it.
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
            ..EngineOptions::new(self.config.dimensions, system_entropy(), now)
        };
        let (engine, report) =
            (self.config.open_engine)(&path, &options).map_err(|error| storage(&error))?;
        tracing::debug!(user = %self.handle.user(), ?report, "a memory was opened");
        self.handle.publish(engine.snapshot());
        self.engine = Some(engine);
        Ok(())
    }

    /// The engine; opened anew where a failed write has made the last one untrustworthy.
    fn engine(&mut self) -> Result<&mut Engine, MemoryError> {
        if self.engine.is_none() {
            self.open()?;
        }
        self.engine
            .as_mut()
            .ok_or_else(|| self.handle.unavailable())
    }

    fn run_work(&mut self, work: Work) {
        // Where the engine cannot be had the work is dropped, and its asker told by that.
        if let Ok(engine) = self.engine() {
            let answer = work(engine);
            let snapshot = engine.snapshot();
            self.handle.publish(snapshot);
            // Whoever hears that it is done, and then reads, sees it done.
            answer();
        }
    }

    /// Commits `first` with all that waits behind it and fits. Answers the job that did not.
    fn commit_group(&mut self, first: Observe) -> Option<Job> {
        let most = self.config.limits.group_records_max;
        let mut left_over = None;
        let mut count = first.records.len();
        let mut cursor = first.cursor;
        let mut records = first.records;
        let mut replies = vec![(count, first.reply)];
        while count < most {
            match self.jobs.try_recv() {
                Ok(Job::Observe(more)) if joins(cursor.as_ref(), more.cursor.as_ref()) => {
                    count += more.records.len();
                    cursor = later(cursor, more.cursor);
                    replies.push((more.records.len(), more.reply));
                    records.extend(more.records);
                }
                Ok(other) => {
                    left_over = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        answer(self.observe(records, cursor), replies);
        left_over
    }

    fn observe(
        &mut self,
        records: Vec<NewRecord>,
        cursor: Option<(String, u64)>,
    ) -> Result<Vec<WriteOutcome>, MemoryError> {
        let now = self.config.clock.now();
        let kept = self.engine()?.observe(records, cursor, now);
        match kept {
            Ok(outcomes) => {
                let snapshot = self.engine()?.snapshot();
                self.handle.publish(snapshot);
                Ok(outcomes)
            }
            Err(error) => Err(self.distrust(&error)),
        }
    }

    /// After a failed write only what is on disk is known: the engine is given up, and the next job
    /// opens it anew. Readers go on with the last snapshot.
    fn distrust(&mut self, error: &EngineError) -> MemoryError {
        tracing::error!(user = %self.handle.user(), %error, "a write failed; the file is reopened");
        self.engine = None;
        storage(error)
    }
}

/// Whether two writes can share a commit: it has room for one stream's cursor.
fn joins(held: Option<&(String, u64)>, more: Option<&(String, u64)>) -> bool {
    match (held, more) {
        (Some((one, _)), Some((two, _))) => one == two,
        _ => true,
    }
}

/// Of two places in one stream the later.
fn later(one: Option<(String, u64)>, two: Option<(String, u64)>) -> Option<(String, u64)> {
    match (one, two) {
        (Some(one), Some(two)) => Some(if two.1 > one.1 { two } else { one }),
        (one, two) => one.or(two),
    }
}

type Reply = oneshot::Sender<Result<Vec<WriteOutcome>, MemoryError>>;

fn answer(result: Result<Vec<WriteOutcome>, MemoryError>, replies: Vec<(usize, Reply)>) {
    match result {
        Ok(outcomes) => {
            let mut outcomes = outcomes.into_iter();
            for (count, reply) in replies {
                let own = outcomes.by_ref().take(count).collect();
                // Whoever left will find the records when asking again.
                let _left = reply.send(Ok(own)).is_err();
            }
        }
        Err(error) => {
            for (_, reply) in replies {
                let _left = reply.send(Err(error.clone())).is_err();
            }
        }
    }
}
