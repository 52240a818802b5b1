//! The pipeline of the relay: feed, decode, map, forward. Events arrive at least once and are
//! stored exactly once, in order; a batch is forwarded once the one before it is on disk.
//!
//! It continues from the stored cursor. A log that lost its end meanwhile (power cut, restored
//! copy) has unread events below the cursor. External ids identify stored events, so reading too
//! much costs only time.

use std::sync::Arc;
use std::time::Duration;

use reprise_engine::{Engine, RunWrite, WriteBatch, WriteBatchReport};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{Clock, MemoryError, NewRecord, WriteOutcome};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::decode::HostEvent;
use super::feed::{FeedError, FeedReader, FeedSource, SourceBinding};
use super::handle::{CatchUpRequest, RelayHandle};
use super::map::{EventMapper, MapOutcome};
use super::runs;
use crate::protocol::MemoryAgentMsg;
use crate::supervisor::AgentDirectory;
use crate::threads::run_blocking;

/// Most events without a record by which the stored cursor may lag behind.
const CURSOR_LAG_MAX: u64 = 256;
/// Pause before a failed read of the log is repeated.
const READ_ON_AFTER: Duration = Duration::from_millis(500);
/// First and longest pause before a failed step is retried.
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_LONGEST: Duration = Duration::from_secs(2);
/// Number of events before the cursor that are checked to be those that were read.
const CHECKED_EVENTS: u64 = 64;

/// What a relay is started with.
#[derive(Clone)]
pub(crate) struct MemoryEventRelayArguments {
    pub(crate) binding: SourceBinding,
    pub(crate) mapper: Arc<EventMapper>,
    pub(crate) feed: FeedSource,
    pub(crate) batch: usize,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) directory: Arc<AgentDirectory>,
    pub(crate) handle: RelayHandle,
}

reprise_types::show_fields!(MemoryEventRelayArguments { binding });

impl MemoryEventRelayArguments {
    /// Forwards a batch to the agent, which embeds and writes it.
    pub(super) async fn write(&self, batch: WriteBatch) -> Result<WriteBatchReport, MemoryError> {
        let write = |reply| MemoryAgentMsg::Write {
            batch,
            permit: None,
            reply,
        };
        self.directory.send_request(&self.binding.user, write).await
    }
}

pub(super) struct Pipeline {
    arguments: MemoryEventRelayArguments,
    stopped: watch::Receiver<bool>,
    reader: FeedReader,
    /// The last position whose cursor was written.
    written_seq: u64,
    /// Whether a batch was given up because the relay was stopped. Nothing after it may be written,
    /// because the cursor would pass it.
    has_given_up: bool,
    /// Whether the log must be read again, because a read failed.
    is_read_due: bool,
}

impl Pipeline {
    pub(super) fn new(
        arguments: MemoryEventRelayArguments,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        Self {
            reader: FeedReader::new(&arguments.feed),
            arguments,
            stopped,
            written_seq: 0,
            has_given_up: false,
            is_read_due: false,
        }
    }

    pub(super) async fn run_until_stopped(mut self, mut requests: mpsc::Receiver<CatchUpRequest>) {
        let Some(cursor) = self.find_resume_position().await else {
            return;
        };
        self.reader.last_read = cursor;
        self.written_seq = cursor;
        self.arguments
            .handle
            .update_progress(|progress| progress.durable_seq = cursor);
        self.try_catch_up().await;
        while !self.is_stopped() {
            tokio::select! {
                _ = self.stopped.changed() => {}
                request = requests.recv() => match request {
                    Some(CatchUpRequest(reply)) => {
                        let caught_up = self.catch_up().await;
                        let answer = caught_up.map(|()| self.arguments.handle.progress());
                        let _caller_gone = reply.send(answer).is_err();
                    }
                    None => break,
                },
                events = self.reader.feed.next() => match events {
                    Some(events) if events.is_empty() => self.try_catch_up().await,
                    Some(events) => self.process_live(events).await,
                    None => break,
                },
                () = tokio::time::sleep(READ_ON_AFTER), if self.is_read_due => self.try_catch_up().await,
            }
        }
        let last_read = self.reader.last_read;
        if last_read > self.written_seq {
            // The cursor is written, so that the next start resumes here.
            self.forward_until_stored(WriteBatch::default(), Some(last_read))
                .await;
        }
    }

    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Reads the log from the current position to its end, and writes the records.
    async fn catch_up(&mut self) -> Result<(), FeedError> {
        self.is_read_due = true;
        let batch = self.arguments.batch.max(1);
        while !self.is_stopped()
            && let Some(page) = self.reader.read_page().await?
        {
            let mut rest = page.into_iter().peekable();
            while rest.peek().is_some() && !self.is_stopped() {
                let events: Vec<Value> = rest.by_ref().take(batch).collect();
                self.process_events(events).await;
            }
        }
        self.is_read_due = false;
        Ok(())
    }

    /// Calls [`Self::catch_up`] without a waiting caller; a failed read is repeated later.
    async fn try_catch_up(&mut self) {
        if let Err(error) = self.catch_up().await {
            tracing::warn!(%error, "the relay will retry reading the log");
        }
    }

    async fn process_live(&mut self, events: Vec<Value>) {
        let live = self.reader.classify_live(events);
        self.arguments.handle.update_progress(|progress| {
            progress.repeated += live.repeated;
            progress.gaps += u64::from(live.has_gap);
        });
        if !live.fresh.is_empty() {
            self.process_events(live.fresh).await;
        }
        if live.has_gap {
            self.try_catch_up().await;
        }
    }

    /// Maps events and forwards their records and run writes. The cursor of events without any may
    /// lag, up to [`CURSOR_LAG_MAX`].
    async fn process_events(&mut self, events: Vec<Value>) {
        let (batch, last) = self.build_batch(events);
        self.reader.last_read = last.unwrap_or(self.reader.last_read);
        let lag = last.map_or(0, |seq| seq.saturating_sub(self.written_seq));
        let has_content = !(batch.records.is_empty() && batch.learning.is_empty());
        if has_content || lag >= CURSOR_LAG_MAX {
            self.forward_until_stored(batch, last).await;
        }
    }

    /// Forwards a batch, and retries until it is on disk or the relay is stopped. The cursor moves
    /// in the same commit.
    async fn forward_until_stored(&mut self, mut batch: WriteBatch, last: Option<u64>) {
        let stream = &self.arguments.binding.stream;
        batch.cursor = last.map(|seq| (stream.clone(), seq));
        let mut wait = RETRY_FIRST;
        while !self.has_given_up {
            match self.arguments.write(batch.clone()).await {
                Ok(written) => {
                    self.written_seq = last.unwrap_or(self.written_seq);
                    return self.count_outcomes(&written, &batch);
                }
                Err(error) => {
                    self.has_given_up = self.wait_before_retry(&error, &mut wait).await.is_none();
                }
            }
        }
    }

    fn count_outcomes(&self, written: &WriteBatchReport, batch: &WriteBatch) {
        for refused in written
            .learning
            .iter()
            .filter_map(|said| said.as_ref().err())
        {
            tracing::debug!(%refused, "an event of a run was refused");
        }
        self.arguments.handle.update_progress(|progress| {
            for (outcome, record) in written.outcomes.iter().zip(&batch.records) {
                match outcome {
                    WriteOutcome::Inserted { id } => {
                        progress.inserted += 1;
                        progress.truncated += u64::from(record.text.len() > TEXT_BYTES_MAX);
                        progress.unembedded += u64::from(written.unembedded.contains(id));
                    }
                    WriteOutcome::Duplicate { .. } => progress.duplicates += 1,
                    WriteOutcome::Rejected { why } => {
                        tracing::warn!(%why, "a record was refused");
                        progress.rejected += 1;
                    }
                }
            }
            progress.durable_seq = progress.durable_seq.max(self.written_seq);
        });
    }

    /// Counts a failed step and waits before it is retried; `None` if the relay was stopped
    /// meanwhile.
    async fn wait_before_retry(&mut self, error: &MemoryError, wait: &mut Duration) -> Option<()> {
        let handle = &self.arguments.handle;
        handle.update_progress(|progress| progress.retries += 1);
        tracing::warn!(%error, ?wait, "the relay will retry");
        let stop = self.stopped.wait_for(|stop| *stop);
        let is_stopped = tokio::time::timeout(*wait, stop).await.is_ok();
        *wait = (*wait * 2).min(RETRY_LONGEST);
        (!is_stopped).then_some(())
    }

    /// Reads the stored cursor and checks it against the log; `None` if the relay was stopped
    /// first.
    async fn find_resume_position(&mut self) -> Option<u64> {
        let mut wait = RETRY_FIRST;
        loop {
            let stream = self.arguments.binding.stream.clone();
            let cursor = move |engine: &mut Engine| engine.stream_cursor(&stream);
            let (directory, user) = (&self.arguments.directory, &self.arguments.binding.user);
            match directory.run_on_engine(user, (), cursor).await {
                Ok(left) => {
                    return Some(self.position_to_resume_from(left.unwrap_or_default()).await);
                }
                Err(error) => self.wait_before_retry(&error, &mut wait).await?,
            }
        }
    }

    /// Returns the position to resume from, given the stored cursor.
    async fn position_to_resume_from(&mut self, left: u64) -> u64 {
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
            _ => self
                .find_position_before_rewrite(left)
                .await
                .unwrap_or(left),
        }
    }

    /// Checks whether the records of the last events up to `cursor` are stored. If one is not,
    /// returns the position before it, or 0 if none before it is stored either; `None` if all are.
    async fn find_position_before_rewrite(&mut self, cursor: u64) -> Option<u64> {
        let since = cursor.saturating_sub(CHECKED_EVENTS);
        let page = self
            .reader
            .feed
            .history(since, CHECKED_EVENTS as u32)
            .await
            .ok()?;
        let ids = page.into_iter().filter_map(|value| {
            let seq = HostEvent::find_seq(&value).filter(|seq| *seq <= cursor)?;
            let event = HostEvent::decode(value).ok()?;
            let MapOutcome::Mapped(mapped) = self.arguments.mapper.map_event(&event) else {
                return None;
            };
            let ids = mapped
                .records
                .into_iter()
                .map(|record| record.body.external_ids);
            Some((seq, ids.collect::<Vec<_>>()))
        });
        let ids: Vec<_> = ids.filter(|(_, ids)| !ids.is_empty()).collect();
        let (directory, user) = (&self.arguments.directory, &self.arguments.binding.user);
        let memory = directory.open_agent(user).await.ok()?;
        let snapshot = memory.snapshot().ok()?;
        let stored = run_blocking(move || {
            let is_stored = |ids: &Vec<_>| {
                ids.iter()
                    .any(|id| snapshot.find_by_external_id(id).is_some())
            };
            let stored = ids
                .into_iter()
                .map(|(seq, ids)| (seq, ids.iter().all(is_stored)));
            stored.collect::<Vec<_>>()
        });
        let stored = stored.await.ok()?;
        let (lost, _) = stored.iter().find(|(_, is_stored)| !is_stored)?;
        let has_earlier = stored
            .iter()
            .any(|(seq, is_stored)| *is_stored && seq < lost);
        let back = if has_earlier { lost - 1 } else { 0 };
        tracing::warn!(
            cursor,
            back,
            "the host's log holds other events than were read; reading from there"
        );
        Some(back)
    }

    /// Builds the batch of a list of events; returns it with the position of the last event.
    fn build_batch(&self, events: Vec<Value>) -> (WriteBatch, Option<u64>) {
        let (mut batch, mut last) = (WriteBatch::default(), None);
        for value in events {
            last = HostEvent::find_seq(&value).or(last);
            let (records, said) = self.map_event(value, batch.records.len());
            batch.records.extend(records);
            batch.learning.extend(said);
        }
        (batch, last)
    }

    /// Maps one event, whose first record gets this position in the batch, and counts the outcome.
    fn map_event(&self, value: Value, position: usize) -> (Vec<NewRecord>, Option<RunWrite>) {
        let (handle, mapper) = (&self.arguments.handle, &self.arguments.mapper);
        handle.update_progress(|progress| progress.events += 1);
        let event = match HostEvent::decode(value) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "an event cannot be read");
                handle.update_progress(|progress| progress.topics.count_unreadable());
                return Default::default();
            }
        };
        let now = || self.arguments.clock.now();
        let at = event.timestamp.unwrap_or_else(now);
        let outcome = mapper.map_event(&event);
        handle.update_progress(|progress| progress.topics.count_outcome(&outcome));
        match outcome {
            MapOutcome::Mapped(mapped) => {
                let run_write = runs::build_run_write(&event, &mapped, position, at);
                (mapped.records, run_write)
            }
            MapOutcome::Malformed { why, .. } => {
                tracing::warn!(why, "an event holds nothing to remember");
                Default::default()
            }
            MapOutcome::Ignored { .. } | MapOutcome::Unknown { .. } => {
                let approved = mapper.find_approved_run(&event);
                let run_write = approved.map(|run_id| runs::build_approval(&run_id, at));
                (Vec::new(), run_write)
            }
        }
    }
}

#[cfg(test)]
mod tests;
