//! The stored form, idempotence, and every filter of a query.

use std::os::unix::fs::PermissionsExt;

use reprise_types::parse_timestamp;
use serde_json::json;

use super::log::EventLog;
use super::{AppendOutcome, EventQuery};
use crate::event::NewEvent;

fn new_event(id: &str, event_type: &str, payload: serde_json::Value) -> NewEvent {
    NewEvent {
        event_id: id.to_owned(),
        timestamp: parse_timestamp("2026-02-16T09:46:08Z").unwrap(),
        event_type: event_type.to_owned(),
        payload,
        actor_id: "actor-1".to_owned(),
        user_id: "system".to_owned(),
    }
}

fn open_log_with(events: &[NewEvent]) -> (tempfile::TempDir, EventLog) {
    let folder = tempfile::tempdir().unwrap();
    let mut log = EventLog::open(&folder.path().join("events.db")).unwrap();
    log.append(events).unwrap();
    (folder, log)
}

#[test]
fn nobody_else_reads_the_log_or_its_journal() {
    let (folder, _log) = open_log_with(&[new_event("e-1", "chat.user_msg", json!({}))]);
    for name in ["events.db", "events.db-wal"] {
        let file = std::fs::metadata(folder.path().join(name)).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn an_event_comes_back_as_it_was_and_its_export_has_the_documented_fields() {
    let payload = json!({"text": "caf\u{e9}", "scope": {"session_id": "s1", "thread_id": "t1"}});
    let (_folder, log) = open_log_with(&[new_event("e-1", "chat.user_msg", payload.clone())]);
    let stored = log.query(&EventQuery::default()).unwrap().remove(0);
    assert_eq!(stored.session_id.as_deref(), Some("s1"));
    assert_eq!(stored.thread_id.as_deref(), Some("t1"));
    assert_eq!(
        serde_json::to_value(&stored).unwrap(),
        json!({"seq": 1, "event_id": "e-1", "timestamp": "2026-02-16T09:46:08Z", "actor_id": "actor-1",
               "event_type": "chat.user_msg", "payload": payload, "user_id": "system"})
    );
}

#[test]
fn a_known_id_is_a_duplicate_and_uses_up_no_position() {
    let (_folder, mut log) = open_log_with(&[new_event("e-1", "a", json!(1))]);
    let again = [
        new_event("e-1", "b", json!(2)),
        new_event("e-2", "b", json!("bare")),
        new_event("e-2", "c", json!(null)),
    ];
    assert_eq!(
        log.append(&again).unwrap(),
        [
            AppendOutcome::Duplicate { seq: 1 },
            AppendOutcome::Inserted { seq: 2 },
            AppendOutcome::Duplicate { seq: 2 }
        ]
    );
    assert_eq!(log.latest_seq().unwrap(), 2);
    let events = log.query(&EventQuery::default()).unwrap();
    assert_eq!(events[0].event_type, "a");
    assert_eq!(events[1].payload, json!("bare"));
}

#[test]
fn the_log_survives_its_process() {
    let (folder, log) = open_log_with(&[new_event("e-1", "a", json!({}))]);
    drop(log);
    let log = EventLog::open(&folder.path().join("events.db")).unwrap();
    assert_eq!(log.latest_seq().unwrap(), 1);
}

#[test]
fn every_part_of_a_query_narrows_on_its_own() {
    let mut other = new_event("e-3", "a.c", json!({"data": {"run_id": "r1"}}));
    other.actor_id = "actor-2".to_owned();
    other.user_id = "ada".to_owned();
    let (_folder, log) = open_log_with(&[
        new_event("e-1", "a.b", json!({"run_id": "r1"})),
        new_event("e-2", "ax.b", json!("a bare text")),
        other,
    ]);
    let seqs = |query: EventQuery| -> Vec<u64> {
        log.query(&query)
            .unwrap()
            .iter()
            .map(|event| event.seq)
            .collect()
    };
    let all = EventQuery::default();
    assert_eq!(seqs(all.clone()), [1, 2, 3]);
    assert_eq!(
        seqs(EventQuery {
            since_seq: 1,
            ..all.clone()
        }),
        [2, 3]
    );
    assert_eq!(
        seqs(EventQuery {
            since_seq: u64::MAX,
            ..all.clone()
        }),
        [0_u64; 0]
    );
    assert_eq!(
        seqs(EventQuery {
            limit: 2,
            ..all.clone()
        }),
        [1, 2]
    );
    assert_eq!(
        seqs(EventQuery {
            event_type_prefix: Some("a.".into()),
            ..all.clone()
        }),
        [1, 3]
    );
    assert_eq!(
        seqs(EventQuery {
            event_type_prefix: Some("%".into()),
            ..all.clone()
        }),
        [0_u64; 0]
    );
    assert_eq!(
        seqs(EventQuery {
            actor_id: Some("actor-2".into()),
            ..all.clone()
        }),
        [3]
    );
    assert_eq!(
        seqs(EventQuery {
            user_id: Some("ada".into()),
            ..all.clone()
        }),
        [3]
    );
    assert_eq!(
        seqs(EventQuery {
            run_id: Some("r1".into()),
            ..all
        }),
        [1, 3]
    );
}

#[test]
fn a_page_holds_two_hundred_events_unless_asked_and_a_thousand_at_most() {
    let events: Vec<NewEvent> = (0..1_500)
        .map(|n| new_event(&format!("e-{n}"), "a", json!({})))
        .collect();
    let (_folder, log) = open_log_with(&events);
    let page = |limit| {
        log.query(&EventQuery {
            limit,
            ..EventQuery::default()
        })
        .unwrap()
        .len()
    };
    assert_eq!((page(0), page(7), page(5_000)), (200, 7, 1_000));
}
