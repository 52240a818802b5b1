//! Recalling, and reading a whole memory part by part.

use reprise_agent::spawn_blocking_on;
use reprise_engine::RecallCall;
use reprise_types::{MemoryProvider, RecallResponse};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::{note_records_in_span, operation_span};
use crate::prelude::*;
use crate::wire::is_sensitive;

/// Lines of an export that wait for their reader.
const EXPORT_LINES_WAITING: usize = 64;
/// Parts of a backup that wait for their reader, a megabyte each.
const BACKUP_PARTS_WAITING: usize = 4;

impl Memory {
    /// What a recall of this memory alone finds; `vector` is the question's where the caller has
    /// it.
    pub(super) async fn recall_alone(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
    ) -> Result<RecallResponse, Problem> {
        let found = async {
            let Some(vector) = vector else {
                let provider = self.all.service.patient_provider(&self.user);
                return Ok(provider.execute_recall(request).await?);
            };
            let id = self.new_recall_id();
            self.run_on_snapshot(move |memory| {
                let call = RecallCall::new(&request, id, memory.learning_engine());
                memory.recall(&call.with_vectors(&[vector.space_and_vector()]))
            })
            .await
        };
        self.recall_in_span(found).await
    }

    /// Recalls within a time box, in which a model that is late is done without.
    pub(super) async fn recall_within(
        &self,
        request: RecallRequest,
        budget: Duration,
    ) -> Result<RecallResponse, Problem> {
        let provider = self
            .all
            .service
            .provider(&self.user)
            .with_recall_budget(budget);
        let found = async { Ok(provider.execute_recall(request).await?) };
        self.recall_in_span(found).await
    }

    /// Recalls within a tracing span; finds nothing if the user has no memory.
    async fn recall_in_span(
        &self,
        found: impl Future<Output = Result<RecallResponse, Problem>>,
    ) -> Result<RecallResponse, Problem> {
        if !self.exists() {
            return Ok(RecallResponse::empty(self.new_recall_id()));
        }
        let span = operation_span("search_memory", &self.user);
        let recall = found.instrument(span.clone()).await?;
        let first = recall.results.first().map(|result| result.record.id);
        note_records_in_span(&span, recall.results.len(), first);
        Ok(recall)
    }

    pub(super) fn new_recall_id(&self) -> RecallId {
        RecallId::from_parts(self.unix_ms(), system_entropy() >> 48)
    }
}

impl Memories {
    /// Every live record as a JSON line, read from the disk as fast as the lines are taken; those
    /// tagged as sensitive only where they are asked for.
    pub async fn stream_export(
        &self,
        user: &UserId,
        sensitive: bool,
    ) -> Result<BodyParts<String>, Problem> {
        let snapshot = self.user_memory(user).snapshot().await?;
        let lines = move |to: &PartSender<String>| send_export_lines(&snapshot, sensitive, to);
        stream_parts(EXPORT_LINES_WAITING, lines)
    }

    /// The user's file as of now, read from the disk as fast as it is taken. Writes go on
    /// meanwhile.
    pub async fn stream_backup(&self, user: &UserId) -> Result<BodyParts<Vec<u8>>, Problem> {
        let snapshot = self.user_memory(user).snapshot().await?;
        stream_parts(BACKUP_PARTS_WAITING, move |to| {
            let copied = snapshot.log_reader().copy_file_to(&mut PartWriter(to));
            if let Err(error) = copied {
                let told = to.blocking_send(Err(std::io::Error::other(error)));
                tracing::warn!(heard = told.is_ok(), "a backup broke off");
            }
        })
    }
}

/// A body in parts, made while it is taken.
pub type BodyParts<T> = mpsc::Receiver<Result<T, std::io::Error>>;

type PartSender<T> = mpsc::Sender<Result<T, std::io::Error>>;

/// What `make` hands on from a thread that may wait for its reader.
fn stream_parts<T: Send + 'static>(
    waiting: usize,
    make: impl FnOnce(&PartSender<T>) + Send + 'static,
) -> Result<BodyParts<T>, Problem> {
    let (sender, parts) = mpsc::channel(waiting);
    let begun = spawn_blocking_on(&Handle::current(), move || make(&sender)).is_some();
    let refused = || {
        let said = "the system gives no thread to read with; try again";
        Problem::new(ProblemKind::Unavailable, said)
    };
    begun.then_some(parts).ok_or_else(refused)
}

/// Hands on whatever is written, part by part.
struct PartWriter<'a>(&'a PartSender<Vec<u8>>);

impl std::io::Write for PartWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let sent = self.0.blocking_send(Ok(bytes.to_vec()));
        sent.map_err(|_| std::io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn send_export_lines(snapshot: &Snapshot, sensitive: bool, lines: &PartSender<String>) {
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
