//! The pipeline of the relay: feed, decode, map, forward. Events arrive at least once and are
//! stored exactly once, in order: the next batch is forwarded once the one before is on disk.
//!
//! It goes on from the stored cursor. A log that lost its end meanwhile (power cut, restored copy)
//! holds unread events below that. External ids identify what is stored, so reading too much costs
//! only time.

use std::time::Duration;

use reprise_engine::{Engine, RunWrite, WriteBatch, Written};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{MemoryError, NewRecord, WriteOutcome};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::actor::MemoryEventRelayArguments;
use super::decode::Event;
use super::feed::{FeedError, Reader};
use super::handle::CatchUp;
use super::map::MapOutcome;
use super::runs;

/// Most events without a record by which the stored cursor may lag behind.
const CURSOR_LAG_MAX: u64 = 256;
/// Pause after a failed read of the log.
const READ_ON_AFTER: Duration = Duration::from_millis(500);
/// First and longest pause before a failed step is retried.
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_LONGEST: Duration = Duration::from_secs(2);
/// Events before the cursor that are checked to be those that were read.
const CHECKED: u64 = 64;

pub(super) struct Pipeline {
    arguments: MemoryEventRelayArguments,
    stopped: watch::Receiver<bool>,
    reader: Reader,
    /// The last position whose cursor was written.
    sent: u64,
    /// A batch was given up because the relay was stopped: nothing after it may be written, or the
    /// cursor would pass it.
    given_up: bool,
    /// A read of the log failed and must be repeated.
    behind: bool,
}

impl Pipeline {
    pub(super) fn new(
        arguments: MemoryEventRelayArguments,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        Self {
            reader: Reader::new(&arguments.feed),
            arguments,
            stopped,
            sent: 0,
            given_up: false,
            behind: false,
        }
    }

    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<CatchUp>) {
        let Some(cursor) = self.resume().await else {
            return;
        };
        self.reader.seen = cursor;
        self.sent = cursor;
        self.arguments
            .handle
            .change(|progress| progress.durable_seq = cursor);
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
                events = self.reader.feed.next() => match events {
                    Some(events) if events.is_empty() => self.read_on().await,
                    Some(events) => self.take_live(events).await,
                    None => break,
                },
                () = tokio::time::sleep(READ_ON_AFTER), if self.behind => self.read_on().await,
            }
        }
        let seen = self.reader.seen;
        if seen > self.sent {
            // So that the next start resumes here.
            self.forward(WriteBatch::default(), Some(seen)).await;
        }
    }

    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Reads the log from the current position to its end, and writes the records.
    async fn catch_up(&mut self) -> Result<(), FeedError> {
        self.behind = true;
        let batch = self.arguments.batch.max(1);
        while !self.is_stopped()
            && let Some(page) = self.reader.page().await?
        {
            let mut rest = page.into_iter().peekable();
            while rest.peek().is_some() && !self.is_stopped() {
                let events: Vec<Value> = rest.by_ref().take(batch).collect();
                self.carry(events).await;
            }
        }
        self.behind = false;
        Ok(())
    }

    /// As [`Self::catch_up`] without a waiting caller: a failed read is repeated later.
    async fn read_on(&mut self) {
        if let Err(error) = self.catch_up().await {
            tracing::warn!(%error, "the relay will retry reading the log");
        }
    }

    async fn take_live(&mut self, events: Vec<Value>) {
        let live = self.reader.sort(events);
        self.arguments.handle.change(|progress| {
            progress.repeated += live.repeated;
            progress.gaps += u64::from(live.gap);
        });
        if !live.fresh.is_empty() {
            self.carry(live.fresh).await;
        }
        if live.gap {
            self.read_on().await;
        }
    }

    /// Maps these events and forwards what they say. The cursor of those that say nothing waits, up
    /// to [`CURSOR_LAG_MAX`].
    async fn carry(&mut self, events: Vec<Value>) {
        let (batch, last) = self.batch_of(events);
        self.reader.seen = last.unwrap_or(self.reader.seen);
        let lag = last.map_or(0, |seq| seq.saturating_sub(self.sent));
        let says = !(batch.records.is_empty() && batch.learning.is_empty());
        if says || lag >= CURSOR_LAG_MAX {
            self.forward(batch, last).await;
        }
    }

    /// Forwards a batch, again until it is on disk or the relay is stopped. In the same commit the
    /// cursor moves.
    async fn forward(&mut self, mut batch: WriteBatch, last: Option<u64>) {
        let stream = &self.arguments.binding.stream;
        batch.cursor = last.map(|seq| (stream.clone(), seq));
        let mut wait = RETRY_FIRST;
        while !self.given_up {
            match self.arguments.write(batch.clone()).await {
                Ok(written) => {
                    self.sent = last.unwrap_or(self.sent);
                    return self.count(&written, &batch);
                }
                Err(error) => self.given_up = self.pause(&error, &mut wait).await.is_none(),
            }
        }
    }

    fn count(&self, written: &Written, batch: &WriteBatch) {
        for refused in written
            .learning
            .iter()
            .filter_map(|said| said.as_ref().err())
        {
            tracing::debug!(%refused, "an event of a run was refused");
        }
        self.arguments.handle.change(|progress| {
            for (outcome, record) in written.outcomes.iter().zip(&batch.records) {
                match outcome {
                    WriteOutcome::Inserted { id } => {
                        progress.inserted += 1;
                        progress.truncated += u64::from(record.text.len() > TEXT_BYTES_MAX);
                        progress.unembedded += u64::from(written.waiting.contains(id));
                    }
                    WriteOutcome::Duplicate { .. } => progress.duplicates += 1,
                    WriteOutcome::Rejected { why } => {
                        tracing::warn!(%why, "a record was refused");
                        progress.rejected += 1;
                    }
                }
            }
            progress.durable_seq = progress.durable_seq.max(self.sent);
        });
    }

    /// Counts a failed step and waits before it is tried again; `None` where the relay was stopped
    /// meanwhile.
    async fn pause(&mut self, error: &MemoryError, wait: &mut Duration) -> Option<()> {
        let handle = &self.arguments.handle;
        handle.change(|progress| progress.retries += 1);
        tracing::warn!(%error, ?wait, "the relay tries again");
        let stop = self.stopped.wait_for(|stop| *stop);
        let over = tokio::time::timeout(*wait, stop).await.is_ok();
        *wait = (*wait * 2).min(RETRY_LONGEST);
        (!over).then_some(())
    }

    /// The stored cursor, checked against the log; `None` where the relay was stopped first.
    async fn resume(&mut self) -> Option<u64> {
        let mut wait = RETRY_FIRST;
        loop {
            let stream = self.arguments.binding.stream.clone();
            let cursor = move |engine: &mut Engine| engine.cursor(&stream);
            match self.arguments.with_engine(cursor).await {
                Ok(left) => return Some(self.checked(left.unwrap_or_default()).await),
                Err(error) => self.pause(&error, &mut wait).await?,
            }
        }
    }

    /// The position to resume from, given the stored cursor.
    async fn checked(&mut self, left: u64) -> u64 {
        let latest = self.reader.feed.latest_seq().await.ok();
        match latest {
            _ if left == 0 => 0,
            Some(latest) if latest < left => {
                tracing::warn!(
                    left,
                    latest,
                    "the host's log is shorter than it was; reading anew"
                );
                0
            }
            _ => self.rewritten(left).await.unwrap_or(left),
        }
    }

    /// The position before the first of the last events up to `cursor` whose record is not stored;
    /// 0 where none of them is. `None` where all are.
    async fn rewritten(&mut self, cursor: u64) -> Option<u64> {
        let since = cursor.saturating_sub(CHECKED);
        let page = self.reader.feed.history(since, CHECKED as u32).await.ok()?;
        let ids = page.into_iter().filter_map(|value| {
            let seq = Event::seq_of(&value).filter(|seq| *seq <= cursor)?;
            let event = Event::read(value).ok()?;
            let MapOutcome::Mapped(mapped) = self.arguments.mapper.map(&event) else {
                return None;
            };
            let ids = mapped
                .records
                .into_iter()
                .map(|record| record.body.external_ids);
            Some((seq, ids.collect::<Vec<_>>()))
        });
        let ids: Vec<_> = ids.filter(|(_, ids)| !ids.is_empty()).collect();
        let known = self.arguments.with_engine(move |engine| {
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

    /// What a batch of events says, with the position of the last of them.
    fn batch_of(&self, events: Vec<Value>) -> (WriteBatch, Option<u64>) {
        let (mut batch, mut last) = (WriteBatch::default(), None);
        for value in events {
            last = Event::seq_of(&value).or(last);
            let (records, said) = self.mapped(value, batch.records.len());
            batch.records.extend(records);
            batch.learning.extend(said);
        }
        (batch, last)
    }

    /// Maps one event, whose first record gets this place, and counts the outcome.
    fn mapped(&self, value: Value, place: usize) -> (Vec<NewRecord>, Option<RunWrite>) {
        let (handle, mapper) = (&self.arguments.handle, &self.arguments.mapper);
        handle.change(|progress| progress.events += 1);
        let event = match Event::read(value) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "an event cannot be read");
                handle.change(|progress| progress.topics.count_unreadable());
                return Default::default();
            }
        };
        let now = || self.arguments.clock.now();
        let at = event.timestamp.unwrap_or_else(now);
        let outcome = mapper.map(&event);
        handle.change(|progress| progress.topics.count(&outcome));
        match outcome {
            MapOutcome::Mapped(mapped) => {
                let said = runs::said(&event, &mapped, place, at);
                (mapped.records, said)
            }
            MapOutcome::Malformed { why, .. } => {
                tracing::warn!(why, "an event holds nothing to remember");
                Default::default()
            }
            MapOutcome::Ignored { .. } | MapOutcome::Unknown { .. } => {
                let approved = mapper.approved_run(&event);
                let said = approved.map(|run_id| runs::approval(&run_id, at));
                (Vec::new(), said)
            }
        }
    }
}

#[cfg(test)]
mod tests;
