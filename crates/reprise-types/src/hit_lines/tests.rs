//! The caption of a record, and one result in each style.

use chrono::TimeDelta;

use super::*;
use crate::calendar::Zone;
use crate::kind::{MemoryKind, MemorySource};
use crate::record::RecordBody;

#[test]
fn a_line_says_who_said_it_when_and_whether_it_stands() {
    let at = parse_timestamp("2026-02-02T09:00:00Z").unwrap();
    let calendar = Calendar {
        now: at + TimeDelta::days(3),
        zone: Zone::Utc,
    };
    let body = RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding);
    let mut record = body.into_record(RecordId::from_u128(7), at);
    record.session_id = "fri".to_owned();
    let said = |record: &MemoryRecord, newer| RecordCaption::of(record, newer).to_words(&calendar);
    assert_eq!(said(&record, None), "note in session fri, 3 days ago");
    record.metadata.insert("speaker".into(), "Ada".into());
    record.tags = vec!["project:shop".to_owned()];
    record.supersedes = Some(RecordId::from_u128(3));
    record.known_at += TimeDelta::days(1);
    let newer = RecordId::from_u128(9);
    let expected =
        format!("note by Ada in shop, 3 days ago; corrected on 2026-02-03; newer: {newer}");
    assert_eq!(said(&record, Some(newer)), expected);
    let mut line = serde_json::to_value(&record).unwrap();
    assert!(
        RecordCaption::from_answer_row(&line).is_none(),
        "it does not say what it is"
    );
    let about = serde_json::to_value(RecordByline::of(&record)).unwrap();
    for (name, value) in about.as_object().unwrap() {
        line[name] = value.clone();
    }
    line["newer"] = newer.to_string().into();
    let caption = RecordCaption::from_answer_row(&line).unwrap();
    assert_eq!(caption.to_words(&calendar), expected);
    let caption = caption.with_held_until(Some(at + TimeDelta::days(2)));
    let expected = expected.replace("; newer", "; held until 2026-02-04; newer");
    assert_eq!(caption.to_words(&calendar), expected);
}

#[test]
fn one_result_has_the_same_parts_for_whoever_reads_it() {
    let at = parse_timestamp("2026-02-02T09:30:00Z").unwrap();
    let id = RecordId::from_u128(7);
    let hit = HitView {
        mark: "Was: ",
        score: 0.5,
        published: "published by kim, version 2".to_owned(),
        confidence: ConfidenceLevel::ALL.first().copied(),
        reason: "same words: retry".to_owned(),
        warning: "does not apply here: tests".to_owned(),
        contexts: vec!["shop".to_owned(), "api".to_owned()],
        anti_contexts: vec!["tests".to_owned()],
        evidence: "three runs".to_owned(),
        title: "Retries".to_owned(),
        body: "with backoff".to_owned(),
        facts: vec!["3 days ago".to_owned(), id.to_string()],
        ..HitView::new(id, at, "lesson in shop".to_owned(), "Retry".to_owned())
    };
    let lines = |style| -> Vec<String> {
        let lines = render_hit(&hit, style).into_iter();
        lines.map(|line| line.label + &line.text).collect()
    };
    let level = ConfidenceLevel::ALL[0].name().replace('_', "-");
    let by = "published by kim, version 2";
    let head = format!("- 2026-02-02 0.50 {by} [{id}] (lesson in shop) [{level}] Retry");
    let [warning, holds, fails] = [
        "  WARNING: does not apply here: tests",
        "  holds for: shop; api",
        "  NOT for: tests",
    ];
    assert_eq!(
        lines(HitStyle::Prompt),
        [format!(
            "- 2026-02-02 09:30 [{id}; lesson in shop; {by}; same words: retry] Retry"
        )]
    );
    assert_eq!(
        lines(HitStyle::Hook),
        [format!("- [2026-02-02, {id}] (lesson in shop) Was: Retry")]
    );
    assert_eq!(lines(HitStyle::ToolLine), [head.as_str(), warning]);
    assert_eq!(
        lines(HitStyle::ToolWhole),
        [
            head.as_str(),
            warning,
            "  why: same words: retry",
            holds,
            fails,
            "  with backoff"
        ]
    );
    let name = id.to_string();
    let person = [
        "Retries",
        "Retry",
        "WARNING: does not apply here: tests",
        "Context: shop; api",
        "Not for: tests",
        "Source: three runs",
        "with backoff",
        "3 days ago",
        name.as_str(),
        "why: same words: retry",
    ];
    assert_eq!(lines(HitStyle::Terminal), person);
    assert_eq!(lines(HitStyle::TerminalLine), ["lesson in shop: Retry"]);
}
