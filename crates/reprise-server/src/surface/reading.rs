//! Recalling, exporting, counting.

use std::time::Instant;

use reprise_engine::{
    Engine, EngineStats, Snapshot, TokenCounter, context_block, context_candidates,
};
use reprise_types::{ContextBlock, MemoryProvider, Recall, RecallId, UserId};
use tokio::sync::mpsc;
use tracing::Instrument;

use super::{Surface, spans};
use crate::problem::Problem;
use crate::wire::{Answer, Compacted, ExportLine, LearningAction, RecallBody, is_sensitive};

/// Lines of an export that wait for their reader.
const EXPORT_LINES_WAITING: usize = 64;
/// Parts of a backup that wait for their reader, a megabyte each.
const BACKUP_PARTS_WAITING: usize = 4;

impl Surface {
    /// Answers a question with records, scores and reasons.
    pub async fn recall(&self, user: &UserId, body: &RecallBody) -> Result<Answer, Problem> {
        let began = Instant::now();
        let recall = self.found(user, body, body.top_k).await?;
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(Answer::new(None, recall, elapsed_ms))
    }

    /// Answers a question with one text for a prompt, at most `budget` tokens long. The embedder's
    /// tokenisers are busy embedding, so four bytes count as a token here.
    pub async fn context(
        &self,
        user: &UserId,
        body: &RecallBody,
        budget: usize,
    ) -> Result<ContextBlock, Problem> {
        let candidates = Some(context_candidates(budget));
        let recall = self.found(user, body, candidates).await?;
        let nonce = Self::random();
        Ok(context_block(
            &recall,
            budget,
            TokenCounter::BytesOverFour,
            nonce,
        ))
    }

    /// What a recall finds, with whole records.
    pub(super) async fn found(
        &self,
        user: &UserId,
        body: &RecallBody,
        top_k: Option<usize>,
    ) -> Result<Recall, Problem> {
        let body = RecallBody {
            top_k,
            tags: self.tag_rules.resolve(&body.tags),
            ..body.clone()
        };
        let request = body.request(&self.calendar()).map_err(Problem::invalid)?;
        if !self.service.has_memory(user) {
            return Ok(self.nothing());
        }
        let span = spans::memory("search_memory", user);
        let provider = self.service.provider(user);
        let recall = provider.recall_request(request).instrument(span.clone());
        let recall = recall.await?;
        span.record("gen_ai.memory.result.count", recall.results.len());
        Ok(recall)
    }

    /// What a user who has no memory yet remembers.
    fn nothing(&self) -> Recall {
        Recall::nothing(RecallId::from_parts(self.unix_ms(), Self::random() >> 48))
    }

    /// A memory in numbers.
    pub async fn stats(&self, user: &UserId) -> Result<EngineStats, Problem> {
        self.with_engine(user, |engine| engine.stats()).await
    }

    /// Rewrites the file without what was forgotten.
    pub async fn compact(&self, user: &UserId) -> Result<Compacted, Problem> {
        self.refuse_unknown(user)?;
        let report = self.service.compact(user).await??;
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

    /// Every live record as a JSON line, read from the disk as fast as the lines are taken; those
    /// tagged as sensitive only where they are asked for.
    pub async fn export(&self, user: &UserId, sensitive: bool) -> Result<Parts<String>, Problem> {
        let snapshot = self.snapshot(user).await?;
        let (sender, lines) = mpsc::channel(EXPORT_LINES_WAITING);
        tokio::task::spawn_blocking(move || write_lines(&snapshot, sensitive, &sender));
        Ok(lines)
    }

    /// The user's file as of now, read from the disk as fast as it is taken. Writes go on
    /// meanwhile.
    pub async fn backup(&self, user: &UserId) -> Result<Parts<Vec<u8>>, Problem> {
        let snapshot = self.snapshot(user).await?;
        let (sender, parts) = mpsc::channel(BACKUP_PARTS_WAITING);
        tokio::task::spawn_blocking(move || {
            let copied = snapshot.log().copy_to(&mut Sending(&sender));
            if let Err(error) = copied {
                let told = sender.blocking_send(Err(std::io::Error::other(error)));
                tracing::warn!(heard = told.is_ok(), "a backup broke off");
            }
        });
        Ok(parts)
    }
}

/// A body in parts, made while it is taken.
pub(crate) type Parts<T> = mpsc::Receiver<Result<T, std::io::Error>>;

/// Hands on whatever is written, part by part.
struct Sending<'a>(&'a mpsc::Sender<Result<Vec<u8>, std::io::Error>>);

impl std::io::Write for Sending<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let sent = self.0.blocking_send(Ok(bytes.to_vec()));
        sent.map_err(|_| std::io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn write_lines(
    snapshot: &Snapshot,
    sensitive: bool,
    lines: &mpsc::Sender<Result<String, std::io::Error>>,
) {
    for record in snapshot.records() {
        let line = match record {
            Ok(record) if !sensitive && is_sensitive(&record) => continue,
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
