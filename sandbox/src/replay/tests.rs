//! A real export, replayed twice, and a file full of errors.

use ractor::ActorRef;
use tempfile::TempDir;

use super::{LINE_BYTES_MAX, ReplayCounts, ReplayError, replay_jsonl};
use crate::actors::testing::{read_events, spawn_event_store};
use crate::event_store::EventStoreMsg;

const EXPORT: &str = include_str!("../../../tests/fixtures/choiros_events.jsonl");

const BUS_EXPORT: &str = include_str!("../../../tests/fixtures/choiros_bus_events.jsonl");

async fn start_store() -> (TempDir, ActorRef<EventStoreMsg>) {
    let folder = tempfile::tempdir().unwrap();
    let store = spawn_event_store(&folder).await;
    (folder, store)
}

async fn replay_bytes(
    folder: &TempDir,
    store: &ActorRef<EventStoreMsg>,
    bytes: &[u8],
) -> ReplayCounts {
    let path = folder.path().join("export.jsonl");
    std::fs::write(&path, bytes).unwrap();
    replay_jsonl(&path, store).await.unwrap()
}

#[tokio::test]
async fn an_export_comes_in_whole_and_a_second_time_not_at_all() {
    let (folder, store) = start_store().await;
    let first = replay_bytes(&folder, &store, EXPORT.as_bytes()).await;
    assert_eq!(
        first,
        ReplayCounts {
            lines: 32,
            inserted: 31,
            duplicates: 1,
            ..ReplayCounts::default()
        }
    );
    let second = replay_bytes(&folder, &store, EXPORT.as_bytes()).await;
    assert_eq!((second.inserted, second.duplicates, second.bad), (0, 32, 0));
    let stored = read_events(&store).await;
    let exported: Vec<serde_json::Value> = EXPORT
        .lines()
        .take(31)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        serde_json::to_value(&stored).unwrap(),
        serde_json::Value::Array(exported)
    );
}

#[tokio::test]
async fn a_bad_line_is_named_and_the_rest_goes_on() {
    let good = |id: &str| {
        format!(
            r#"{{"event_id":"{id}","event_type":"a.b","timestamp":"2026-02-16 09:00:00","payload":1}}"#
        )
    };
    let mut bytes = Vec::new();
    let long = format!("\"{}\"", "x".repeat(LINE_BYTES_MAX));
    for line in [
        good("e-1").as_bytes(),
        b"not json",
        b"   ",
        b"{\"event_id\":\"\xff\xfe\"}",
        br#"{"event_type":"a.b","timestamp":"2026-02-16"}"#,
        br#"{"event_id":"e-2","event_type":"a.b","timestamp":"yesterday"}"#,
        br#"{"event_id":"","event_type":"a.b","timestamp":"2026-02-16"}"#,
        long.as_bytes(),
        good("e-3").as_bytes(),
    ] {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(good("e-4").as_bytes());
    let (folder, store) = start_store().await;
    let counts = replay_bytes(&folder, &store, &bytes).await;
    assert_eq!((counts.lines, counts.inserted, counts.bad), (9, 3, 6));
    let bad_lines: Vec<(u64, &str)> = counts
        .bad_lines
        .iter()
        .map(|bad| (bad.number, bad.why.as_str()))
        .collect();
    for ((number, why), (line, words)) in bad_lines.iter().zip([
        (2, "not JSON"),
        (4, "not UTF-8 from byte 14 on"),
        (5, "`event_id` is missing or empty"),
        (6, "`yesterday` is not a timestamp"),
        (7, "`event_id` is missing or empty"),
        (8, "more than"),
    ]) {
        assert_eq!(*number, line, "{why}");
        assert!(why.contains(words), "{why}");
    }
}

#[tokio::test]
async fn relayed_bus_events_are_the_same_events() {
    let (folder, store) = start_store().await;
    replay_bytes(&folder, &store, EXPORT.as_bytes()).await;
    let again = replay_bytes(&folder, &store, BUS_EXPORT.as_bytes()).await;
    assert_eq!((again.inserted, again.duplicates, again.bad), (0, 8, 0));
    let (folder, store) = start_store().await;
    assert_eq!(
        replay_bytes(&folder, &store, BUS_EXPORT.as_bytes())
            .await
            .inserted,
        8
    );
    let stored = read_events(&store).await;
    let exported: serde_json::Value = serde_json::from_str(EXPORT.lines().next().unwrap()).unwrap();
    assert_eq!(serde_json::to_value(&stored[0]).unwrap(), exported);
}

#[tokio::test]
async fn a_missing_file_is_one_sentence() {
    let (folder, store) = start_store().await;
    let error = replay_jsonl(&folder.path().join("nowhere.jsonl"), &store)
        .await
        .unwrap_err();
    assert!(matches!(error, ReplayError::Read { .. }));
    assert!(error.to_string().contains("nowhere.jsonl"), "{error}");
}
