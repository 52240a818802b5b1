//! A whole memory read part by part: an export, a backup.

use reprise_agent::spawn_blocking_on;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::prelude::*;
use crate::wire::is_sensitive;

/// Lines of an export that wait for their reader.
const EXPORT_LINES_WAITING: usize = 64;
/// Parts of a backup that wait for their reader, a megabyte each.
const BACKUP_PARTS_WAITING: usize = 4;

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
