//! Recalling, exporting, counting.

use std::time::Instant;

use reprise_engine::{Engine, EngineStats, Snapshot};
use reprise_types::{ContextBlock, MemoryProvider, UserId};
use tokio::sync::mpsc;

use super::Surface;
use crate::problem::Problem;
use crate::wire::{Answer, Compacted, ExportLine, LearningAction, RecallBody};

/// Lines of an export that wait for their reader.
const EXPORT_LINES_WAITING: usize = 64;

impl Surface {
    /// Answers a question with records, scores and reasons.
    pub async fn recall(&self, user: &UserId, body: &RecallBody) -> Result<Answer, Problem> {
        let request = body.request().map_err(Problem::invalid)?;
        let began = Instant::now();
        let recall = self.service.provider(user).recall_request(request).await?;
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(Answer::new(None, recall, elapsed_ms))
    }

    /// Answers a question with one text for a prompt.
    pub async fn context(
        &self,
        user: &UserId,
        query: &str,
        budget: usize,
    ) -> Result<ContextBlock, Problem> {
        let provider = self.service.provider(user);
        Ok(provider.context_block(query, budget).await?)
    }

    /// A memory in numbers.
    pub async fn stats(&self, user: &UserId) -> Result<EngineStats, Problem> {
        self.with_engine(user, |engine| engine.stats()).await
    }

    /// Rewrites the file without what was forgotten.
    pub async fn compact(&self, user: &UserId) -> Result<Compacted, Problem> {
        let done = self.with_engine(user, Engine::compact);
        let report = done.await??;
        Ok(Compacted {
            bytes_before: report.bytes_before,
            bytes_after: report.bytes_after,
            records: report.records,
            forgotten: report.forgotten,
        })
    }

    /// Switches learning, or throws away what was learned.
    pub async fn govern_learning(
        &self,
        user: &UserId,
        action: LearningAction,
    ) -> Result<(), Problem> {
        let now = self.clock.now();
        let done = self.with_engine(user, move |engine| match action {
            LearningAction::On => engine.switch_learning(true, now),
            LearningAction::Off => engine.switch_learning(false, now),
            LearningAction::Reset => engine.reset_learning(now),
        });
        Ok(done.await??)
    }

    /// Writes the derived parts now, so that the file can be copied and opens quickly.
    pub async fn checkpoint(&self, user: &UserId) -> Result<(), Problem> {
        let done = self.with_engine(user, Engine::checkpoint);
        done.await??;
        Ok(())
    }

    /// Every live record as a JSON line, read from the disk as fast as the lines are taken.
    pub async fn export(
        &self,
        user: &UserId,
    ) -> Result<mpsc::Receiver<Result<String, std::io::Error>>, Problem> {
        let snapshot = self.snapshot(user).await?;
        let (sender, lines) = mpsc::channel(EXPORT_LINES_WAITING);
        tokio::task::spawn_blocking(move || write_lines(&snapshot, &sender));
        Ok(lines)
    }
}

fn write_lines(snapshot: &Snapshot, lines: &mpsc::Sender<Result<String, std::io::Error>>) {
    for record in snapshot.records() {
        let line = match record {
            Ok(record) => serde_json::to_string(&ExportLine::new(&record))
                .map(|line| line + "\n")
                .map_err(std::io::Error::other),
            Err(error) => {
                tracing::warn!(%error, "a record was left out of an export");
                continue;
            }
        };
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}
