//! The position from which a relay resumes after a start.
//!
//! A log that lost its end meanwhile (power cut, restored copy) holds unread events below the
//! cursor. External ids identify what is stored, so reading too much costs only time.

use std::time::Duration;

use tokio::sync::watch;

use super::actor::MemoryEventRelayArguments;
use super::decode::Event;
use super::feed::Reader;
use super::map::MapOutcome;
use super::pipeline::{RETRY_FIRST, pause};

/// Events before the cursor that are checked to be those that were read.
const CHECKED: u64 = 64;

/// The stored cursor, checked against the log; `None` where the relay was stopped first.
pub(super) async fn resume(
    arguments: &MemoryEventRelayArguments,
    reader: &mut Reader,
    stopped: &mut watch::Receiver<bool>,
) -> Option<u64> {
    let mut wait: Duration = RETRY_FIRST;
    loop {
        let stream = arguments.binding.stream.clone();
        let found = arguments.with_engine(move |engine| engine.cursor(&stream));
        match found.await {
            Ok(left) => return Some(checked(arguments, reader, left.unwrap_or_default()).await),
            Err(error) => {
                arguments.handle.change(|progress| progress.retries += 1);
                pause(stopped, &error, &mut wait).await?;
            }
        }
    }
}

/// The position to resume from, given the stored cursor.
async fn checked(arguments: &MemoryEventRelayArguments, reader: &mut Reader, left: u64) -> u64 {
    match reader.latest().await.ok() {
        _ if left == 0 => 0,
        Some(latest) if latest < left => {
            tracing::warn!(
                left,
                latest,
                "the host's log is shorter than it was; reading anew"
            );
            0
        }
        _ => rewritten(arguments, reader, left).await.unwrap_or(left),
    }
}

/// The position before the first of the last events up to `cursor` whose record is not stored; 0
/// where none of them is. `None` where all are.
async fn rewritten(
    arguments: &MemoryEventRelayArguments,
    reader: &mut Reader,
    cursor: u64,
) -> Option<u64> {
    let since = cursor.saturating_sub(CHECKED);
    let page = reader.logged(since, CHECKED as u32).await.ok()?;
    let ids = page.into_iter().filter_map(|value| {
        let seq = Event::seq_of(&value).filter(|seq| *seq <= cursor)?;
        let event = Event::read(value).ok()?;
        let MapOutcome::Mapped(mapped) = arguments.mapper.map(&event) else {
            return None;
        };
        let ids = mapped
            .records
            .into_iter()
            .map(|record| record.body.external_ids);
        Some((seq, ids.collect::<Vec<_>>()))
    });
    let ids: Vec<_> = ids.filter(|(_, ids)| !ids.is_empty()).collect();
    let known = arguments.with_engine(move |engine| {
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
