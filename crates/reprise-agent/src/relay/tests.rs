//! The mapping of the whole fixture, every envelope form, and the limits of each rule.

use reprise_types::{ExternalId, MemoryKind, MemorySource};
use serde_json::{Value, json};

use super::{
    EventError, EventMapper, HostEvent, MapOutcome, RelayCounters, TopicTable, TopicTableError,
};

const EVENTS: &str = include_str!("../../../../tests/fixtures/choiros_events.jsonl");
const BUS_EVENTS: &str = include_str!("../../../../tests/fixtures/choiros_bus_events.jsonl");

fn new_mapper() -> EventMapper {
    EventMapper::new(TopicTable::load_builtin().unwrap())
}

fn decode_line(line: &str) -> HostEvent {
    HostEvent::decode(serde_json::from_str(line).unwrap()).unwrap()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "every caller makes the value in place"
)]
fn new_event(event_type: &str, payload: Value) -> HostEvent {
    HostEvent::decode(json!({
        "seq": 7, "event_id": "e-1", "timestamp": "2026-02-16 09:46:08", "actor_id": "worker-1",
        "event_type": event_type, "payload": payload, "user_id": "system",
    }))
    .unwrap()
}

fn map_records(event_type: &str, payload: Value) -> Vec<reprise_types::NewRecord> {
    match new_mapper().map_event(&new_event(event_type, payload)) {
        MapOutcome::Mapped(mapped) => mapped.records,
        other => panic!("{event_type}: {other:?}"),
    }
}

fn map_text(event_type: &str, payload: Value) -> String {
    map_records(event_type, payload).remove(0).body.text
}

#[test]
fn the_whole_fixture_maps_as_the_table_says() {
    let mut lines = Vec::new();
    let mut counters = RelayCounters::default();
    for line in EVENTS.lines() {
        let event = decode_line(line);
        let outcome = new_mapper().map_event(&event);
        counters.count_outcome(&outcome);
        let seq = event.seq.unwrap();
        match outcome {
            MapOutcome::Mapped(mapped) => {
                for record in mapped.records {
                    lines.push(format!(
                        "{seq:>2} {} -> {} | {} {} | {} | {} | {}",
                        mapped.topic,
                        mapped.documented,
                        record.source,
                        record.kind,
                        record.external_ids[0]
                            .id
                            .trim_start_matches("01JKF9XT4RE000000000000"),
                        record.session_id,
                        record.text.replace('\n', "\\n"),
                    ));
                }
            }
            other => lines.push(format!("{seq:>2} {other:?}")),
        }
    }
    insta::assert_snapshot!("fixture", lines.join("\n"));
    let total = counters.total();
    assert_eq!((total.mapped, total.records), (28, 30));
    assert_eq!((total.ignored, total.unknown, total.malformed), (3, 1, 0));
    let left_out: Vec<&str> = counters
        .topics()
        .filter(|(_, count)| count.ignored + count.unknown > 0)
        .map(|(topic, _)| topic)
        .collect();
    assert_eq!(
        left_out,
        [
            "conductor.progress",
            "conductor.task.progress",
            "llm.call.completed",
            "totally.unknown"
        ]
    );
}

#[test]
fn a_bus_event_gives_the_same_records_as_its_log_record() {
    for (bus, log) in BUS_EVENTS.lines().zip(EVENTS.lines()) {
        assert_eq!(decode_line(bus), decode_line(log), "{bus}");
    }
}

#[test]
fn every_envelope_form_is_one_event() {
    let wanted = decode_line(EVENTS.lines().nth(4).unwrap());
    let payload = wanted.payload.clone();
    let mut forms = vec![
        json!({"seq": 5, "event_id": wanted.event_id, "event_type": wanted.event_type, "topic": wanted.event_type,
               "timestamp": "2026-02-16T09:00:05Z", "actor_id": wanted.actor_id, "user_id": "system",
               "trace_id": "t", "correlation_id": null, "payload": payload}),
        json!({"type": "event", "seq": 5, "event_id": wanted.event_id, "timestamp": "2026-02-16T10:00:05+01:00",
               "event_type": wanted.event_type, "actor_id": wanted.actor_id, "user_id": "system", "payload": payload}),
    ];
    for id in ["eventId", "id"] {
        forms.push(json!({"seq": 5, id: wanted.event_id, "event_type": {"custom": wanted.event_type},
            "timestamp": "2026-02-16 09:00:05", "actor_id": wanted.actor_id, "user_id": "system", "payload": payload}));
    }
    for form in forms {
        assert_eq!(
            HostEvent::decode(form.clone()),
            Ok(wanted.clone()),
            "{form}"
        );
    }
}

#[test]
fn what_is_no_event_says_what_is_missing() {
    let refused = |value: Value| HostEvent::decode(value).unwrap_err();
    assert_eq!(refused(json!("text")), EventError::NotAnObject);
    assert_eq!(refused(json!({"event_id": "1"})), EventError::NoType);
    assert!(matches!(
        refused(json!({"event_type": "a.b"})),
        EventError::NoId { .. }
    ));
    assert!(matches!(
        refused(json!({"event_type": "a", "event_id": "1", "timestamp": "yesterday"})),
        EventError::Timestamp { .. }
    ));
    assert!(matches!(
        refused(json!({"event_type": "a", "event_id": "x".repeat(600)})),
        EventError::TooLong {
            field: "event_id",
            got: 600
        }
    ));
    assert_eq!(
        HostEvent::find_seq(&json!({"payload": {"committed_event": {"seq": 9}}, "seq": 1})),
        Some(9)
    );
    assert_eq!(HostEvent::find_seq(&json!({"seq": 3})), Some(3));
}

#[test]
fn what_happened_in_the_governed_workspace_is_kept_as_it_is_told() {
    let payload = json!({ "text": "prd written by prm: core/prd/PRD-001.json" });
    for topic in ["workspace.PRD_Written", "workspace.Artifact_Rolled_Back"] {
        let record = map_records(topic, payload.clone()).remove(0);
        assert_eq!(record.text, "prd written by prm: core/prd/PRD-001.json");
        assert_eq!(
            (record.source, record.kind),
            (MemorySource::WorkerResult, MemoryKind::Episode)
        );
    }
}

#[test]
fn each_documented_topic_keeps_its_source_and_kind() {
    let table = TopicTable::load_builtin().unwrap();
    assert_eq!(table.documented.len(), 11);
    let report = json!({"report": {"summary": "s"}});
    for (topic, payload, source, kind) in [
        (
            "chat.user_msg",
            json!("hello"),
            MemorySource::UserInput,
            MemoryKind::Episode,
        ),
        (
            "conductor.run.started",
            json!({"data": {"objective": "x"}}),
            MemorySource::ConductorPlan,
            MemoryKind::Strategy,
        ),
        (
            "conductor.assignment.dispatched",
            json!({"worker_objective": "x"}),
            MemorySource::ConductorPlan,
            MemoryKind::Strategy,
        ),
        (
            "conductor.run.completed",
            json!({}),
            MemorySource::ConductorPlan,
            MemoryKind::Strategy,
        ),
        (
            "conductor.run.failed",
            json!({}),
            MemorySource::ConductorPlan,
            MemoryKind::Strategy,
        ),
        (
            "worker.report.received",
            report,
            MemorySource::WorkerResult,
            MemoryKind::Finding,
        ),
        (
            "worker.task.progress",
            json!({"phase": "failed", "message": "m"}),
            MemorySource::WorkerResult,
            MemoryKind::Episode,
        ),
        (
            "worker.task.document_update",
            json!({"content_excerpt": "c"}),
            MemorySource::WriterRevision,
            MemoryKind::Finding,
        ),
        (
            "researcher.search.completed",
            json!({"output": "o"}),
            MemorySource::WorkerResult,
            MemoryKind::Finding,
        ),
        (
            "terminal.command.completed",
            json!({"output": "o"}),
            MemorySource::WorkerResult,
            MemoryKind::Episode,
        ),
        (
            "writer.revision.created",
            json!({"summary": "s"}),
            MemorySource::WriterRevision,
            MemoryKind::Finding,
        ),
    ] {
        let record = map_records(topic, payload).remove(0);
        assert_eq!((record.source, record.kind), (source, kind), "{topic}");
        assert_eq!(record.quality_score, None, "{topic}");
        assert_eq!(
            record.external_ids,
            [ExternalId::new("event", "e-1")],
            "{topic}"
        );
    }
}

#[test]
fn a_report_gives_its_summary_and_what_passes_the_gate() {
    let finding = |id: &str, confidence: f64, refs: Value| json!({"finding_id": id, "claim": format!("claim {id}"), "confidence": confidence, "evidence_refs": refs});
    let payload = json!({"report": {
        "summary": "done",
        "findings": [
            finding("low", 0.54, json!(["doc://a"])),
            finding("bare", 0.9, json!([])),
            finding("one", 0.55, json!(["doc://a"])),
            finding("two", 1.0, json!(["doc://b", "doc://c"])),
            finding("three", 0.9, json!(["doc://d"])),
            {"claim": "no confidence", "evidence_refs": ["x"]},
        ],
        "learnings": [
            {"learning_id": "l-1", "insight": "first", "confidence": 0.8, "supports": ["one"]},
            {"learning_id": "l-2", "insight": "second", "confidence": 0.9},
        ],
    }});
    let MapOutcome::Mapped(mapped) =
        new_mapper().map_event(&new_event("worker.report.received", payload))
    else {
        panic!("not mapped");
    };
    let records: Vec<(&str, &str)> = mapped
        .records
        .iter()
        .map(|r| (r.external_ids[0].id.as_str(), r.text.as_str()))
        .collect();
    assert_eq!(
        records,
        [
            ("e-1", "done"),
            ("e-1#one", "claim one"),
            ("e-1#two", "claim two"),
            ("e-1#l-1", "first")
        ]
    );
    assert_eq!(mapped.gated, 5);
    assert_eq!(
        mapped.records[2].provenance.source_refs,
        ["doc://b", "doc://c"]
    );
    assert_eq!(mapped.records[3].kind, MemoryKind::Pattern);
    assert_eq!(mapped.records[1].confidence, Some(0.55));
}

#[test]
fn rules_look_at_what_the_event_says() {
    assert_eq!(
        map_text(
            "conductor.worker.call",
            json!({"worker_objective": "Contract\nObjective:\nwrite it down"})
        ),
        "write it down"
    );
    assert_eq!(
        map_text(
            "worker.tool.result",
            json!({"tool_name": "bash", "success": false, "error": "no such file"})
        ),
        "Command failed: no such file"
    );
    assert_eq!(
        map_text(
            "conductor.task.failed",
            json!({"error_code": "RUN_BLOCKED", "error_message": "no capability"})
        ),
        "Run blocked: no capability"
    );
    assert_eq!(
        map_text(
            "terminal.command.completed",
            json!({"command": "ls", "output": "a b", "exit_code": 0})
        ),
        "$ ls\na b"
    );
    assert_eq!(
        map_text(
            "writer.run.patch",
            json!({"ops": [{"op": "insert", "text": "one "}, {"op": "delete", "len": 2}, {"op": "replace", "text": "two"}]})
        ),
        "one two"
    );
    let failed = map_records(
        "conductor.task.failed",
        json!({"failure_kind": "timeout", "error_message": "slow", "run_id": "r"}),
    )
    .remove(0);
    assert_eq!(failed.text, "Run failed (timeout): slow");
    assert_eq!(failed.metadata["failure_kind"], json!("timeout"));
    assert_eq!(failed.quality_score, None);
    let finding = json!({"finding": {"finding_id": "f", "claim": "c", "confidence": 0.9, "evidence_refs": ["r"]}});
    assert_eq!(
        map_records("research.finding.created", finding)[0].external_ids[0].id,
        "e-1#f"
    );
}

#[test]
fn what_is_left_out_is_named() {
    let outcome = |topic: &str, payload: Value| new_mapper().map_event(&new_event(topic, payload));
    let ignored =
        |topic: &str, payload: Value| matches!(outcome(topic, payload), MapOutcome::Ignored { .. });
    assert!(ignored(
        "worker.task.progress",
        json!({"phase": "thinking", "message": "m"})
    ));
    assert!(ignored(
        "worker.tool.result",
        json!({"tool_name": "file_read", "output": "o"})
    ));
    assert!(ignored(
        "worker.tool.result",
        json!({"tool_name": "web_search", "role": "terminal", "output": "o"})
    ));
    assert!(ignored(
        "writer.run.patch",
        json!({"ops": [{"op": "delete", "len": 2}]})
    ));
    assert!(ignored("user.login", json!({"text": "t"})));
    assert!(ignored("llm.call.started", json!({"text": "t"})));
    assert!(ignored(
        "worker.finding.created",
        json!({"finding": {"claim": "c", "confidence": 0.1, "evidence_refs": ["r"]}})
    ));
    assert!(
        matches!(outcome("nobody.knows", json!({})), MapOutcome::Unknown { topic } if topic == "nobody.knows")
    );
    let MapOutcome::Malformed { why, .. } = outcome("chat.user_msg", json!({"text": "  "})) else {
        panic!("blank text was kept");
    };
    assert!(
        why.contains("e-1") && why.contains("chat.user_msg"),
        "{why}"
    );
}

#[test]
fn run_and_session_follow_the_order_of_the_contract() {
    let place = |payload: Value, actor: &str| {
        let mut event = new_event("chat.user_msg", payload);
        actor.clone_into(&mut event.actor_id);
        let MapOutcome::Mapped(mut mapped) = new_mapper().map_event(&event) else {
            panic!("not mapped");
        };
        let record = mapped.records.remove(0);
        (
            record.body.provenance.run_id.unwrap_or_default(),
            record.body.session_id,
        )
    };
    let all = json!({"text": "t", "run_id": "r1", "data": {"run_id": "r2"}, "record": {"run_id": "r3", "session_id": "s3"},
        "scope": {"session_id": "s1"}, "session_id": "s2", "desktop_id": "d"});
    assert_eq!(place(all, "conductor:r4"), ("r1".into(), "s1".into()));
    assert_eq!(
        place(
            json!({"text": "t", "session_id": "s2", "desktop_id": "d"}),
            "conductor:r4"
        ),
        ("r4".into(), "s2".into())
    );
    assert_eq!(
        place(
            json!({"text": "t", "record": {"run_id": "r3", "session_id": "s3"}, "desktop_id": "d"}),
            "x"
        ),
        ("r3".into(), "s3".into())
    );
    assert_eq!(
        place(json!({"text": "t", "desktop_id": "d"}), "writer:"),
        (String::new(), "d".into())
    );
    assert_eq!(
        place(json!({"text": "t"}), "writer:r5"),
        ("r5".into(), "run:r5".into())
    );
    assert_eq!(place(json!("t"), "chat-1"), (String::new(), String::new()));
}

#[test]
fn long_text_keeps_its_beginning_and_its_end_on_character_boundaries() {
    let output = format!("start{}end", "\u{65e5}\u{672c}".repeat(2_000));
    let record = map_records("terminal.command.completed", json!({"output": output})).remove(0);
    assert!(record.text.starts_with("start") && record.text.ends_with("end"));
    assert!(record.text.len() <= 4_000, "{}", record.text.len());
    assert_eq!(record.metadata["shortened_from_bytes"], json!(output.len()));
}

#[test]
fn secrets_do_not_reach_a_record() {
    let record = map_records(
        "terminal.command.completed",
        json!({"command": "curl -H 'Authorization: Bearer abc123def456' x", "output": "{\"api_key\": \"k-1\"}"}),
    )
    .remove(0);
    assert_eq!(
        record.text,
        "$ curl -H 'Authorization: Bearer [redacted:authorization]' x\n{\"api_key\": \"[redacted:assigned]\"}"
    );
    assert!(
        !record.metadata["command"]
            .to_string()
            .contains("abc123def456")
    );
}

#[test]
fn a_table_that_contradicts_itself_is_refused() {
    let builtin = include_str!("topics.toml");
    let broken = builtin.replace(
        "as = \"writer.revision.created\"",
        "as = \"writer.nothing\"",
    );
    assert!(matches!(
        TopicTable::parse(&broken),
        Err(TopicTableError::Undocumented { .. })
    ));
    let newer = builtin.replace("version = 1", "version = 2");
    assert!(matches!(
        TopicTable::parse(&newer),
        Err(TopicTableError::Version { got: 2 })
    ));
    let typo = builtin.replace("optional = true", "optionnal = true");
    assert!(matches!(
        TopicTable::parse(&typo),
        Err(TopicTableError::Parse { .. })
    ));
    let open = builtin.replace("\"{objective}\",", "\"{objective\",");
    assert!(matches!(
        TopicTable::parse(&open),
        Err(TopicTableError::Parse { .. })
    ));
}

#[test]
fn invented_topics_cannot_fill_the_memory() {
    let mut counters = RelayCounters::default();
    for n in 0..5_000 {
        counters.count_outcome(&MapOutcome::Unknown {
            topic: format!("t.{n}"),
        });
    }
    assert!(counters.topics().count() <= 1_001);
    assert_eq!(counters.total().unknown, 5_000);
}
