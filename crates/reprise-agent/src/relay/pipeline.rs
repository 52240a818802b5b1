//! The pipeline of the relay: feed, decode, map, credit, write. Events arrive at least once and are
//! stored exactly once, in order.
//!
//! While one batch is written the next is embedded, so that the model never waits for the disk.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::arguments::MemoryEventRelayArguments;
use super::batch::Batch;
use super::feed::{FeedError, Reader};
use super::handle::CatchUp;
use super::resume::resume;
use super::write::{Writing, leave_missing};
use crate::ingest::{copies, submit};

/// Most events without a record by which the stored cursor may lag behind.
const CURSOR_LAG_MAX: u64 = 256;
/// Pause after a failed read of the log.
const READ_ON_AFTER: Duration = Duration::from_millis(500);

pub(super) struct Pipeline {
    arguments: MemoryEventRelayArguments,
    stopped: watch::Receiver<bool>,
    reader: Reader,
    writing: Writing,
    /// The batch being embedded, not yet written.
    ready: Batch,
    /// Events up to here may be stored already.
    copies_until: u64,
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
            writing: Writing::default(),
            ready: Batch::default(),
            copies_until: 0,
            behind: false,
        }
    }

    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<CatchUp>) {
        let resumed = resume(&self.arguments, &mut self.reader, &mut self.stopped);
        let Some(resumed) = resumed.await else {
            return;
        };
        let cursor = resumed.cursor;
        self.copies_until = resumed.copies_until;
        leave_missing(&self.arguments).await;
        self.reader.begin(cursor);
        self.writing.begin(cursor);
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
                events = self.reader.next() => match events {
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
        self.flush().await;
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
            self.flush().await;
        }
        if live.gap {
            self.read_on().await;
        }
    }

    /// Maps these events and starts embedding them; meanwhile the previous batch is written.
    async fn carry(&mut self, events: Vec<Value>) {
        let since = self.reader.seen();
        let mut next = Batch::of(events, &self.arguments);
        if let Some(seq) = next.cursor {
            self.reader.pass(seq);
        }
        let known = self.known(since, &next).await;
        next.vectors = submit(&self.arguments.pool, &next.records, &known).await;
        let before = std::mem::replace(&mut self.ready, next);
        self.write(before).await;
    }

    /// Which of a batch's records are stored already; checked only where the log is read again.
    async fn known(&self, since: u64, batch: &Batch) -> Vec<bool> {
        match copies(&batch.records).filter(|_| since < self.copies_until) {
            Some(copies) => {
                let known = self.arguments.with_engine(copies).await;
                known.unwrap_or_default()
            }
            None => Vec::new(),
        }
    }

    /// Writes the batch that is ready. The cursor of a batch without records is deferred, up to
    /// [`CURSOR_LAG_MAX`].
    async fn flush(&mut self) {
        let batch = std::mem::take(&mut self.ready);
        let lag = |seq: u64| seq.saturating_sub(self.writing.sent());
        if batch.is_cursor_only() && batch.cursor.map_or(0, lag) < CURSOR_LAG_MAX {
            return;
        }
        self.write(batch).await;
    }

    /// Writes the cursor at the end, so that the next start resumes here.
    async fn write_cursor(&mut self) {
        let mut batch = std::mem::take(&mut self.ready);
        batch.cursor = Some(self.reader.seen())
            .filter(|seq| *seq > self.writing.sent())
            .or(batch.cursor);
        self.write(batch).await;
    }

    async fn write(&mut self, batch: Batch) {
        let Self {
            arguments, stopped, ..
        } = self;
        self.writing.write(batch, arguments, stopped).await;
    }
}

#[cfg(test)]
mod tests;
