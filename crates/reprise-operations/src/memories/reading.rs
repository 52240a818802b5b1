//! Recalling, and reading a whole memory part by part.

use reprise_agent::lend;
use reprise_types::{MemoryProvider, Recall};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::{span, span_records};
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
    ) -> Result<Recall, Problem> {
        let found = async {
            let Some(vector) = vector else {
                let provider = self.all.service.provider(&self.user);
                return Ok(provider.recall_request(request).await?);
            };
            let id = self.recall_id();
            self.read(move |memory| {
                memory.recall(&request, Some(vector.parts()), id, memory.learning())
            })
            .await
        };
        self.spanned(found).await
    }

    /// The same within a time box, in which a model that is late is done without.
    pub(super) async fn recall_within(
        &self,
        request: RecallRequest,
        budget: Duration,
    ) -> Result<Recall, Problem> {
        let provider = self.all.service.provider(&self.user).within(budget);
        let found = async { Ok(provider.recall_request(request).await?) };
        self.spanned(found).await
    }

    /// What a recall of this memory finds; nothing where there is none.
    async fn spanned(
        &self,
        found: impl Future<Output = Result<Recall, Problem>>,
    ) -> Result<Recall, Problem> {
        if !self.exists() {
            return Ok(Recall::nothing(self.recall_id()));
        }
        let span = span("search_memory", &self.user);
        let recall = found.instrument(span.clone()).await?;
        let first = recall.results.first().map(|result| result.record.id);
        span_records(&span, recall.results.len(), first);
        Ok(recall)
    }

    pub(super) fn recall_id(&self) -> RecallId {
        RecallId::from_parts(self.unix_ms(), system_entropy() >> 48)
    }
}

impl Memories {
    /// Every live record as a JSON line, read from the disk as fast as the lines are taken; those
    /// tagged as sensitive only where they are asked for.
    pub async fn export(&self, user: &UserId, sensitive: bool) -> Result<Parts<String>, Problem> {
        let snapshot = self.of(user).snapshot().await?;
        let lines = move |to: &Sender<String>| write_lines(&snapshot, sensitive, to);
        parts(EXPORT_LINES_WAITING, lines)
    }

    /// The user's file as of now, read from the disk as fast as it is taken. Writes go on
    /// meanwhile.
    pub async fn backup(&self, user: &UserId) -> Result<Parts<Vec<u8>>, Problem> {
        let snapshot = self.of(user).snapshot().await?;
        parts(BACKUP_PARTS_WAITING, move |to| {
            let copied = snapshot.log().copy_to(&mut Sending(to));
            if let Err(error) = copied {
                let told = to.blocking_send(Err(std::io::Error::other(error)));
                tracing::warn!(heard = told.is_ok(), "a backup broke off");
            }
        })
    }
}

/// A body in parts, made while it is taken.
pub type Parts<T> = mpsc::Receiver<Result<T, std::io::Error>>;

type Sender<T> = mpsc::Sender<Result<T, std::io::Error>>;

/// What `make` hands on from a thread that may wait for its reader.
fn parts<T: Send + 'static>(
    waiting: usize,
    make: impl FnOnce(&Sender<T>) + Send + 'static,
) -> Result<Parts<T>, Problem> {
    let (sender, parts) = mpsc::channel(waiting);
    let begun = lend(&Handle::current(), move || make(&sender)).is_some();
    let refused = || {
        let said = "the system gives no thread to read with; try again";
        Problem::new(ProblemKind::Unavailable, said)
    };
    begun.then_some(parts).ok_or_else(refused)
}

/// Hands on whatever is written, part by part.
struct Sending<'a>(&'a Sender<Vec<u8>>);

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

fn write_lines(snapshot: &Snapshot, sensitive: bool, lines: &Sender<String>) {
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
