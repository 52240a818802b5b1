//! Events to records to disk, in order, at least once in and exactly once kept.
//!
//! Lives here: order, gaps, batches, retries, the cursor. While one batch is being written the next
//! is being embedded, so that the model never waits for the disk. Must never live here: an event's
//! meaning.

use std::time::Duration;

use reprise_types::{MemoryError, NewRecord, WriteOutcome};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::actor::MemoryEventRelayArguments;
use super::counters::RelayCounters;
use super::envelope::Event;
use super::feed::{CatchUp, EventFeed, FeedError};
use super::mapping::MapOutcome;
use super::runs::{self, RunSignal, RunTurn};
use super::told::{OwnRuns, Said, question};
use crate::ingest::{Vectors, collect, submit};

/// Events read from the log at a time.
const PAGE: u32 = 512;
/// Events that may lie between the cursor on disk and the last one looked at, where none of them
/// made a record.
const CURSOR_LAG_MAX: u64 = 256;
/// First and longest wait before a failed step is tried again.
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_LONGEST: Duration = Duration::from_secs(2);

/// Events before the cursor that are asked whether they are still those that were read.
const CHECKED: u64 = 64;

/// How long a log that could not be read is left alone.
const READ_ON_AFTER: Duration = Duration::from_millis(500);

/// What a relay has done since it was first started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RelayProgress {
    /// The position up to which everything is on disk.
    pub durable_seq: u64,
    /// Events looked at.
    pub events: u64,
    /// Events delivered again and recognised by their position.
    pub repeated: u64,
    /// Gaps in the live events, closed from the log.
    pub gaps: u64,
    /// Records kept.
    pub inserted: u64,
    /// Records recognised by their external id.
    pub duplicates: u64,
    /// Records that the store refused.
    pub rejected: u64,
    /// Records kept without a vector for the time being.
    pub unembedded: u64,
    /// Steps that failed and were tried again.
    pub retries: u64,
    /// By topic.
    pub topics: RelayCounters,
}

/// Records on their way, with the position they bring the store to.
#[derive(Debug, Default)]
struct Parcel {
    records: Vec<NewRecord>,
    vectors: Vectors,
    cursor: Option<u64>,
    /// What its events say of runs, each with the place of the record that holds the question.
    signals: Vec<(RunSignal, usize)>,
}

pub(super) struct Carrier {
    arguments: MemoryEventRelayArguments,
    feed: Box<dyn EventFeed>,
    stopped: watch::Receiver<bool>,
    /// The last position looked at.
    seen: u64,
    /// The last position whose cursor was handed to the store.
    sent: u64,
    /// Being embedded and not yet written.
    ready: Parcel,
    /// The log holds something that this relay could not read yet.
    behind: bool,
    /// A batch was given up because the relay was stopped: nothing after it may be written, or the
    /// cursor would pass it.
    given_up: bool,
    own_runs: OwnRuns,
}

impl Carrier {
    pub(super) fn new(
        arguments: MemoryEventRelayArguments,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        let feed = (arguments.feed.0)();
        let ready = Parcel::default();
        Self {
            arguments,
            feed,
            stopped,
            seen: 0,
            sent: 0,
            ready,
            behind: false,
            given_up: false,
            own_runs: OwnRuns::default(),
        }
    }

    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<CatchUp>) {
        if self.find_cursor().await.is_none() {
            return;
        }
        self.read_on().await;
        while !self.is_stopped() {
            tokio::select! {
                _ = self.stopped.changed() => {}
                request = requests.recv() => match request {
                    Some(CatchUp(reply)) => {
                        let caught_up = self.catch_up().await;
                        let answer = caught_up.map(|()| self.arguments.handle.progress());
                        let _left = reply.send(answer).is_err();
                    }
                    None => break,
                },
                events = self.feed.next() => match events {
                    Some(events) if events.is_empty() => self.read_on().await,
                    Some(events) => self.take_live(events).await,
                    None => break,
                },
                () = tokio::time::sleep(READ_ON_AFTER), if self.behind => self.read_on().await,
            }
        }
        self.write_cursor().await;
    }

    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Where the store says that this stream was left; `None` where the relay was stopped first.
    async fn find_cursor(&mut self) -> Option<()> {
        let stream = self.arguments.binding.stream.clone();
        let mut wait = RETRY_FIRST;
        loop {
            let stream = stream.clone();
            let directory = &self.arguments.directory;
            let user = &self.arguments.binding.user;
            let found = directory.with_engine(user, move |engine| engine.cursor(&stream));
            let found = found.await;
            match found {
                Ok(cursor) => {
                    let cursor = self.checked(cursor.unwrap_or_default()).await;
                    (self.seen, self.sent) = (cursor, cursor);
                    self.arguments
                        .handle
                        .change(|progress| progress.durable_seq = cursor);
                    return Some(());
                }
                Err(error) => self.pause(&error, &mut wait).await?,
            }
        }
    }

    /// Where to read on from. A log that ends before the cursor, or that holds something else
    /// before it, has lost its end since (a power cut, an older copy put back): what stands there
    /// now was never read. External ids tell what is known, so reading too much costs only time.
    async fn checked(&mut self, cursor: u64) -> u64 {
        if cursor == 0 {
            return 0;
        }
        match self.feed.latest_seq().await {
            Ok(latest) if latest < cursor => {
                tracing::warn!(
                    cursor,
                    latest,
                    "the host's log is shorter than it was; reading anew"
                );
                0
            }
            _ => self.rewritten(cursor).await.unwrap_or(cursor),
        }
    }

    /// The position before the first of the last events up to `cursor` whose record this memory has
    /// never seen; 0 where none of them is known. `None` where there is no such event.
    async fn rewritten(&mut self, cursor: u64) -> Option<u64> {
        let since = cursor.saturating_sub(CHECKED);
        let page = self.feed.history(since, CHECKED as u32).await.ok()?;
        let ids = page.into_iter().filter_map(|value| {
            let seq = Event::seq_of(&value).filter(|seq| *seq <= cursor)?;
            let event = Event::read(value).ok()?;
            let MapOutcome::Mapped(mapped) = self.arguments.mapper.map(&event) else {
                return None;
            };
            let ids = mapped.records.into_iter().map(|record| record.external_ids);
            Some((seq, ids.collect::<Vec<_>>()))
        });
        let ids: Vec<_> = ids.filter(|(_, ids)| !ids.is_empty()).collect();
        let user = &self.arguments.binding.user;
        let known = self.arguments.directory.with_engine(user, move |engine| {
            let held = |ids: &Vec<_>| ids.iter().any(|id| engine.duplicate_of(id).is_some());
            let known = ids
                .into_iter()
                .map(|(seq, ids)| (seq, ids.iter().all(held)));
            known.collect::<Vec<_>>()
        });
        let known = known.await.ok()?;
        let (lost, _) = known.iter().find(|(_, known)| !known)?;
        let some = known.iter().any(|(seq, known)| *known && seq < lost);
        let back = if some { lost - 1 } else { 0 };
        tracing::warn!(
            cursor,
            back,
            "the host's log holds other events than were read; reading from there"
        );
        Some(back)
    }

    /// Reads the log from where this relay is to its end, and writes what it finds.
    async fn catch_up(&mut self) -> Result<(), FeedError> {
        self.behind = true;
        while !self.is_stopped() {
            let page = self.feed.history(self.seen, PAGE).await?;
            let Some(last) = page.iter().filter_map(Event::seq_of).max() else {
                break;
            };
            if last <= self.seen {
                break;
            }
            let batch = self.arguments.batch.max(1);
            let mut rest = page.into_iter().peekable();
            while rest.peek().is_some() && !self.is_stopped() {
                let events: Vec<Value> = rest.by_ref().take(batch).collect();
                self.carry(events).await;
            }
        }
        self.behind = false;
        self.flush().await;
        Ok(())
    }

    /// As [`Self::catch_up`] where nobody waits for the answer: what cannot be read now is read
    /// later.
    async fn read_on(&mut self) {
        if let Err(error) = self.catch_up().await {
            tracing::warn!(%error, "the relay reads on in a moment");
        }
    }

    async fn take_live(&mut self, events: Vec<Value>) {
        let mut fresh = Vec::with_capacity(events.len());
        let mut expected = self.seen + 1;
        let mut gap = false;
        for event in events {
            match Event::seq_of(&event) {
                Some(seq) if seq < expected => {
                    self.arguments
                        .handle
                        .change(|progress| progress.repeated += 1);
                }
                Some(seq) if seq == expected => {
                    expected += 1;
                    fresh.push(event);
                }
                Some(_) => {
                    gap = true;
                    break;
                }
                // Published without being logged: no position, its id alone tells a repetition.
                None => fresh.push(event),
            }
        }
        if !fresh.is_empty() {
            self.carry(fresh).await;
            self.flush().await;
        }
        if gap {
            self.arguments.handle.change(|progress| progress.gaps += 1);
            self.read_on().await;
        }
    }

    /// Maps these events and has them embedded; meanwhile the ones before them are written.
    async fn carry(&mut self, events: Vec<Value>) {
        let mut next = Parcel::default();
        for value in events {
            let seq = Event::seq_of(&value);
            let place = next.records.len();
            let (records, signal) = self.map(value);
            next.records.extend(records);
            next.signals.extend(signal.map(|signal| (signal, place)));
            next.cursor = seq.or(next.cursor);
        }
        if let Some(seq) = next.cursor {
            self.seen = seq;
        }
        let memory = (&*self.arguments.directory, &self.arguments.binding.user);
        next.vectors = submit(&self.arguments.pool, memory, &next.records).await;
        let before = std::mem::replace(&mut self.ready, next);
        self.write(before).await;
    }

    fn map(&self, value: Value) -> (Vec<NewRecord>, Option<RunSignal>) {
        let handle = &self.arguments.handle;
        handle.change(|progress| progress.events += 1);
        let event = match Event::read(value) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "an event cannot be read");
                handle.change(|progress| progress.topics.count_unreadable());
                return Default::default();
            }
        };
        let outcome = self.arguments.mapper.map(&event);
        handle.change(|progress| progress.topics.count(&outcome));
        match outcome {
            MapOutcome::Mapped(mapped) => {
                let signal = runs::signal(&event, &mapped);
                (mapped.records, signal)
            }
            MapOutcome::Malformed { why, .. } => {
                tracing::warn!(why, "an event holds nothing to remember");
                Default::default()
            }
            MapOutcome::Ignored { .. } | MapOutcome::Unknown { .. } => {
                let approved = self.arguments.mapper.approved_run(&event);
                let signal = approved.map(|run_id| runs::approval(run_id, &event));
                (Vec::new(), signal)
            }
        }
    }

    /// Writes what is ready. A batch without records leaves its cursor for later, but not for long.
    async fn flush(&mut self) {
        let parcel = std::mem::take(&mut self.ready);
        let lag = parcel.cursor.map_or(0, |seq| seq.saturating_sub(self.sent));
        let says_something = !(parcel.records.is_empty() && parcel.signals.is_empty());
        if !says_something && lag < CURSOR_LAG_MAX {
            return;
        }
        self.write(parcel).await;
    }

    /// The last act: the next start begins where this one ended.
    async fn write_cursor(&mut self) {
        let mut parcel = std::mem::take(&mut self.ready);
        parcel.cursor = Some(self.seen)
            .filter(|seq| *seq > self.sent)
            .or(parcel.cursor);
        self.write(parcel).await;
    }

    async fn write(&mut self, mut parcel: Parcel) {
        let nothing = parcel.records.is_empty() && parcel.cursor.is_none();
        if nothing || self.given_up {
            return;
        }
        let vectors = std::mem::take(&mut parcel.vectors);
        let missing = collect(vectors, &mut parcel.records).await;
        self.arguments
            .handle
            .change(|progress| progress.unembedded += missing);
        // Before the cursor moves: after a crash in between they are said again, and refused.
        self.tell(&parcel).await;
        match write(&self.arguments, &mut self.stopped, &parcel).await {
            Some(()) => self.sent = parcel.cursor.unwrap_or(self.sent),
            None => self.given_up = true,
        }
    }

    /// Hands on what a parcel's events say of runs. Whatever is refused was said before, or makes
    /// no sense: a record is never held up by it.
    async fn tell(&mut self, parcel: &Parcel) {
        if parcel.signals.is_empty() {
            return;
        }
        let now = self.arguments.clock.now();
        let mut said = Vec::with_capacity(parcel.signals.len());
        for (signal, place) in &parcel.signals {
            let asked = match (&signal.what, parcel.records.get(*place)) {
                (RunTurn::Began, Some(record)) => question(&self.arguments.pool, record).await,
                _ => None,
            };
            said.push(Said {
                signal: signal.clone(),
                question: asked,
                now,
            });
        }
        let (directory, user) = (&self.arguments.directory, &self.arguments.binding.user);
        let mut own = std::mem::take(&mut self.own_runs);
        let told = directory.with_engine(user, move |engine| {
            for said in said {
                if let Err(error) = said.tell(engine, &mut own) {
                    tracing::debug!(%error, "something said of a run was refused");
                }
            }
            // A log may hold runs that nobody ended.
            (engine.sweep_runs(), own)
        });
        match told.await {
            Ok((swept, own)) => {
                self.own_runs = own;
                if let Err(error) = swept {
                    tracing::warn!(%error, "stale runs could not be given up");
                }
            }
            Err(error) => tracing::warn!(%error, "what was said of runs is lost"),
        }
    }

    /// Waits before trying again; `None` where the relay was stopped meanwhile.
    async fn pause(&mut self, error: &MemoryError, wait: &mut Duration) -> Option<()> {
        self.arguments
            .handle
            .change(|progress| progress.retries += 1);
        pause(&mut self.stopped, error, wait).await
    }
}

async fn pause(
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

/// Writes a parcel, again and again until it is on disk; `None` where the relay was stopped first.
async fn write(
    arguments: &MemoryEventRelayArguments,
    stopped: &mut watch::Receiver<bool>,
    parcel: &Parcel,
) -> Option<()> {
    let mut wait = RETRY_FIRST;
    loop {
        let stream = arguments.binding.stream.clone();
        let cursor = parcel.cursor.map(|seq| (stream, seq));
        let user = &arguments.binding.user;
        let written = arguments
            .directory
            .observe(user, parcel.records.clone(), cursor);
        let written = written.await;
        let error = match written {
            Ok(outcomes) => {
                count(arguments, &outcomes, parcel.cursor);
                return Some(());
            }
            Err(error) => error,
        };
        arguments.handle.change(|progress| progress.retries += 1);
        pause(stopped, &error, &mut wait).await?;
    }
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

#[cfg(test)]
mod tests;
