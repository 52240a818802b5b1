//! What is read of a line, and what is said of one that cannot be.

use super::*;

fn record_of(line: &str) -> Result<NewRecord, String> {
    read_line(line, Zone::Utc).map(|(record, _)| record)
}

#[test]
fn nothing_that_was_sent_is_dropped() {
    let line = r#"{"external_id":7,"text":"a","speaker":"Ada","metadata":{"k":1}}"#;
    let record = record_of(line).unwrap();
    assert_eq!(record.external_ids[0].id, "7");
    assert_eq!(record.metadata["speaker"], "Ada");
    assert_eq!(record.metadata["k"], 1);
    let line = r#"{"text":"a","confidence":"high","evidence":"gut feeling"}"#;
    let record = record_of(line).unwrap();
    assert_eq!(record.confidence, Some(0.7));
    assert_eq!(record.metadata["evidence"], "gut feeling");
    assert!(!record.metadata.contains_key("confidence"));
    let line = r#"{"text":"a","visibility":"workspace"}"#;
    let record = record_of(line).unwrap();
    assert_eq!(record.visibility, Visibility::Workspace);
    assert!(record.metadata.is_empty());
    assert_eq!(
        record_of(&to_ingest_line(&record)).unwrap().visibility,
        Visibility::Workspace
    );
    let record = record_of(r#"{"text":"a","retention":{"scratch":{"ttl_seconds":5.0}}}"#);
    let kept = Retention::Scratch { ttl_seconds: 5 };
    assert_eq!(record.unwrap().retention, kept);
    let record = record_of(r#"{"text":"a","visibility":"published"}"#).unwrap();
    assert_eq!(record.visibility, Visibility::Private);
    assert_eq!(record.metadata["visibility"], "published");
}

#[test]
fn a_kind_of_the_senders_own_is_a_tag_and_the_core_keeps_to_its_four() {
    for (word, kind, tags) in [
        ("finding", MemoryKind::Finding, &[][..]),
        ("Strategy", MemoryKind::Strategy, &[]),
        ("decision", MemoryKind::Strategy, &["x", "type:decision"]),
        ("fix", MemoryKind::Finding, &["x", "type:fix"]),
        ("preference", MemoryKind::Pattern, &["x", "type:preference"]),
        ("hypothesis", MemoryKind::Episode, &["x", "type:hypothesis"]),
    ] {
        let own = tags.first().map_or(json!([]), |_| json!(["x"]));
        let line = json!({ "text": "a", "kind": word, "tags": own }).to_string();
        let record = record_of(&line).unwrap();
        assert_eq!(
            (record.kind, &record.tags[..]),
            (
                kind,
                &tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>()[..]
            ),
            "{word}"
        );
    }
}

#[test]
fn an_ingest_line_says_what_is_wrong_with_it() {
    for (word, is) in [
        ("UserInput", MemorySource::UserInput),
        ("user", MemorySource::UserInput),
        ("assistant", MemorySource::WorkerResult),
        ("agent", MemorySource::WorkerResult),
    ] {
        let record = record_of(&json!({"text": "a", "source": word}).to_string());
        assert_eq!(record.unwrap().source, is, "{word}");
    }
    let deep = format!(
        r#"{{"text":"a","details":{}{}}}"#,
        "[".repeat(65),
        "]".repeat(65)
    );
    for (line, expected) in [
        ("{", "cut"),
        (r#"{"external_id":"x"}"#, "text"),
        (r#"{"text":"a","source":"gossip"}"#, "memory source"),
        (r#"{"text":"a","timestamp":"soon"}"#, "RFC 3339"),
        (r#"{"text":"a","embedding":[1.0]}"#, "embedding_space"),
        (
            r#"{"text":"a","sesion_id":"s"}"#,
            "did you mean `session_id`?",
        ),
        (
            r#"{"text":"a","externalId":"s"}"#,
            "did you mean `external_id`?",
        ),
        (deep.as_str(), "nested 65 deep"),
    ] {
        let error = record_of(line).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

/// A line of an array is refused once, as the line of an array; two records whose line end was lost
/// are both read.
#[test]
fn a_row_of_an_array_is_no_record() {
    let count = |line: &str| {
        let read = read_records(line, Zone::Machine);
        (read.iter().filter(|one| one.is_ok()).count(), read.len())
    };
    assert_eq!(count(r#"  {"text": "x"},"#), (0, 1));
    assert_eq!(count(r#"{"text": "x"}{"text": "y"}"#), (2, 2));
}
