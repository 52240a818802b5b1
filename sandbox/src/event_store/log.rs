//! The host's event log in SQLite: append-only, with choiros's schema.

use std::os::unix::fs::OpenOptionsExt;

use chrono::{DateTime, Utc};
use reprise_types::parse_timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::event::StoredEvent;
use crate::prelude::*;

/// Number of events per page by default.
const LIMIT_DEFAULT: u32 = 200;
const LIMIT_MAX: u32 = 1_000;
/// Format of the stored column, with a fraction of a second only if there is one.
const TIMESTAMP_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f";

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        event_id TEXT NOT NULL UNIQUE,
        timestamp TEXT NOT NULL DEFAULT (datetime('now')),
        event_type TEXT NOT NULL,
        payload TEXT NOT NULL,
        actor_id TEXT NOT NULL,
        user_id TEXT NOT NULL DEFAULT 'system',
        session_id TEXT,
        thread_id TEXT
    );
    CREATE INDEX IF NOT EXISTS events_by_type ON events (event_type, seq);
";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventStoreError {
    #[error("the event log refused ({message}); check the disk and the file's permissions")]
    Sqlite { message: String },
    /// A row has a form that this program does not write.
    #[error("event {seq} of the log is damaged ({message}); restore the file from a backup")]
    Damaged { seq: u64, message: String },
    /// The blocking task panicked or was cancelled, or the actor did not reply.
    #[error("the event log's worker failed ({message}); restart the host")]
    Worker { message: String },
}

impl From<rusqlite::Error> for EventStoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite {
            message: error.to_string(),
        }
    }
}

/// The outcome of appending one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The event was stored at this position.
    Inserted { seq: u64 },
    /// An event with this id was stored before, at this position; nothing changed.
    Duplicate { seq: u64 },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Only events after this position.
    pub since_seq: u64,
    /// Page size, 1 to 1,000; 0 means 200.
    pub limit: u32,
    pub event_type_prefix: Option<String>,
    pub actor_id: Option<String>,
    pub user_id: Option<String>,
    /// Only events of this run (`payload.run_id` or `payload.data.run_id`).
    pub run_id: Option<String>,
}

/// Creates the log's file with access for its owner only, because it holds what users wrote. SQLite
/// gives its journals the same mode.
fn create_private_file(path: &Path) -> Result<(), EventStoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options
        .open(path)
        .map(drop)
        .map_err(|error| EventStoreError::Sqlite {
            message: error.to_string(),
        })
}

#[derive(Debug)]
pub(super) struct EventLog {
    connection: Connection,
}

impl EventLog {
    pub(super) fn open(path: &Path) -> Result<Self, EventStoreError> {
        create_private_file(path)?;
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // An acknowledged append must be on disk, because memory's cursor has passed it. If a power
        // cut lost it, another event would get its position and never be read.
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection })
    }

    pub(super) fn append(
        &mut self,
        events: &[NewEvent],
    ) -> Result<Vec<AppendOutcome>, EventStoreError> {
        let transaction = self.connection.transaction()?;
        let mut appended = Vec::with_capacity(events.len());
        {
            // The id is checked before inserting, because a failed insert would use up a position
            // of the sequence.
            let mut find_seq = transaction.prepare("SELECT seq FROM events WHERE event_id = ?1")?;
            let mut insert = transaction.prepare(
                "INSERT INTO events
                 (event_id, timestamp, event_type, payload, actor_id, user_id, session_id, thread_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING seq",
            )?;
            for event in events {
                let existing = find_seq.query_row([&event.event_id], read_seq).optional()?;
                if let Some(seq) = existing {
                    appended.push(AppendOutcome::Duplicate { seq });
                    continue;
                }
                let scope = |name| event.payload.get("scope")?.get(name)?.as_str();
                let row = params![
                    event.event_id,
                    event.timestamp.format(TIMESTAMP_FORMAT).to_string(),
                    event.event_type,
                    event.payload.to_string(),
                    event.actor_id,
                    event.user_id,
                    scope("session_id"),
                    scope("thread_id"),
                ];
                let seq = insert.query_row(row, read_seq)?;
                appended.push(AppendOutcome::Inserted { seq });
            }
        }
        transaction.commit()?;
        Ok(appended)
    }

    pub(super) fn query(&self, query: &EventQuery) -> Result<Vec<StoredEvent>, EventStoreError> {
        let mut statement = self.connection.prepare(
            "SELECT seq, event_id, timestamp, event_type, payload, actor_id, user_id, session_id, thread_id
             FROM events
             WHERE seq > ?1
               AND (?2 IS NULL OR substr(event_type, 1, length(?2)) = ?2)
               AND (?3 IS NULL OR actor_id = ?3)
               AND (?4 IS NULL OR user_id = ?4)
               AND (?5 IS NULL OR payload ->> '$.run_id' = ?5 OR payload ->> '$.data.run_id' = ?5)
             ORDER BY seq LIMIT ?6",
        )?;
        let limit = match query.limit {
            0 => LIMIT_DEFAULT,
            asked => asked.min(LIMIT_MAX),
        };
        let mut rows = statement.query(params![
            i64::try_from(query.since_seq).unwrap_or(i64::MAX),
            query.event_type_prefix,
            query.actor_id,
            query.user_id,
            query.run_id,
            limit,
        ])?;
        let mut events = Vec::new();
        while let Some(row) = rows.next()? {
            events.push(read_event(row)?);
        }
        Ok(events)
    }

    pub(super) fn latest_seq(&self) -> Result<u64, EventStoreError> {
        let newest = "SELECT coalesce(max(seq), 0) FROM events";
        Ok(self.connection.query_row(newest, [], read_seq)?)
    }
}

/// Reads the position in the first column, which is never negative.
fn read_seq(row: &Row<'_>) -> rusqlite::Result<u64> {
    row.get::<_, i64>(0).map(i64::unsigned_abs)
}

fn read_event(row: &Row<'_>) -> Result<StoredEvent, EventStoreError> {
    let seq = read_seq(row)?;
    let damaged = |message: String| EventStoreError::Damaged { seq, message };
    let timestamp: String = row.get(2)?;
    let timestamp: DateTime<Utc> =
        parse_timestamp(&timestamp).map_err(|error| damaged(error.to_string()))?;
    let payload: String = row.get(4)?;
    let payload: Value =
        serde_json::from_str(&payload).map_err(|error| damaged(error.to_string()))?;
    Ok(StoredEvent {
        seq,
        event_id: row.get(1)?,
        timestamp,
        event_type: row.get(3)?,
        payload,
        actor_id: row.get(5)?,
        user_id: row.get(6)?,
        session_id: row.get(7)?,
        thread_id: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answered_append_is_on_the_disk() {
        const FULL: i64 = 2;
        let folder = tempfile::tempdir().unwrap();
        let log = EventLog::open(&folder.path().join("events.db")).unwrap();
        let pragma = |name| {
            log.connection
                .pragma_query_value(None, name, |row| row.get(0))
        };
        assert_eq!(pragma("synchronous"), Ok(FULL));
    }
}
