//! Memories as people and agents read them: the text, then what else is said of it.

use chrono::SecondsFormat;
use reprise_types::SystemClock;

use super::GotRecords;
use crate::prelude::*;

/// Fields that a reader is told otherwise, or that only programs know.
const TOLD: [&str; 9] = [
    "id",
    "text",
    "title",
    "title_derived",
    "type",
    "by",
    "kind",
    "source",
    "scope",
];

/// Fields that only programs need; links are written one by one.
const FOR_PROGRAMS: [&str; 5] = [
    "external_ids",
    "known_at",
    "links",
    "provenance",
    "quality_score",
];
/// Fields of a record's details that only programs need: what a hook found for a prompt, and how
/// another system stores a lesson.
const DETAILS_FOR_PROGRAMS: [&str; 11] = [
    "block",
    "category",
    "created_at",
    "given",
    "metadata",
    "opening",
    "shortened",
    "source",
    "source_type",
    "type",
    "unanswered",
];

/// Writes memories as they are read; with `is_whole`, also what only programs need.
#[must_use]
pub fn render_records(got: &GotRecords, is_whole: bool) -> String {
    let mut memory = QuotedMemory::new(system_entropy());
    let calendar = Calendar::in_machine_zone(SystemClock.now());
    for record in &got.records {
        let part = |name: &str| record[name].as_str().unwrap_or_default();
        let by = match (part("scope"), part("author"), part("version")) {
            ("global", author, version) => format!("published by {author}, version {version} "),
            _ => String::new(),
        };
        let told = RecordCaption::from_answer_row(record)
            .map(|told| format!(" ({})", told.to_words(&calendar)));
        let first = format!("{by}[{}]{} ", part("id"), told.unwrap_or_default());
        for (number, line) in part("text").lines().enumerate() {
            memory.add_line(if number == 0 { &first } else { "  " }, line);
        }
        let title = part("title");
        if record["title_derived"] != true && !part("text").starts_with(title) {
            memory.add_line("  title: ", title);
        }
        if is_whole {
            quote_fields(record, &mut memory);
        } else {
            quote_fields(&leave_fields_for_people(record), &mut memory);
            quote_links(record, &mut memory);
        }
    }
    for name in &got.missing {
        memory.add_line("no memory with id ", name);
    }
    memory.into_text()
}

/// Leaves out the fields that only programs need.
fn leave_fields_for_people(record: &Value) -> Value {
    let mut left = record.as_object().cloned().unwrap_or_default();
    left.retain(|name, _| !FOR_PROGRAMS.contains(&name.as_str()));
    let details = left.get_mut("details").and_then(Value::as_object_mut);
    if let Some(details) = details {
        details.retain(|name, _| !DETAILS_FOR_PROGRAMS.contains(&name.as_str()));
    }
    Value::Object(left)
}

/// Writes each link of a record on a line.
fn quote_links(record: &Value, memory: &mut QuotedMemory) {
    for link in record["links"].as_array().into_iter().flatten() {
        let relation = link["relation"].as_str().unwrap_or_default();
        let head = if link["outgoing"] == true {
            format!("  {relation}: ")
        } else {
            format!("  {relation} this: ")
        };
        memory.add_line(&head, link["record"].as_str().unwrap_or_default());
    }
}

/// What else a record says, a field a line.
fn quote_fields(record: &Value, memory: &mut QuotedMemory) {
    let text = record["text"].as_str().unwrap_or_default();
    let is_told = |value: &Value| {
        let in_text = value.as_str().is_some_and(|part| text.ends_with(part));
        let mut own = ["title", "type"].iter();
        in_text || own.any(|own| record[own] == *value)
    };
    let once = record["seen_count"] == 1;
    for (name, value) in record.as_object().into_iter().flatten() {
        let said = match value {
            _ if TOLD.contains(&name.as_str()) => continue,
            _ if once && ["seen_count", "last_seen"].contains(&name.as_str()) => continue,
            Value::String(text) => match text.parse::<DateTime<Utc>>() {
                Ok(time) => time.to_rfc3339_opts(SecondsFormat::Secs, true),
                Err(_) => text.clone(),
            },
            Value::Object(fields) => {
                let new = fields
                    .iter()
                    .filter(|(_, value)| !is_empty(value) && !is_told(value));
                let new: Map<String, Value> = new.map(|(n, v)| (n.clone(), v.clone())).collect();
                if new.is_empty() {
                    continue;
                }
                Value::Object(new).to_string()
            }
            // In the words in which it is said and searched.
            Value::Number(sure) if name == "confidence" => {
                let sure = sure.as_f64().unwrap_or_default();
                ConfidenceLevel::from_confidence(sure as f32)
                    .name()
                    .to_owned()
            }
            other => other.to_string(),
        };
        if !is_empty(value) {
            memory.add_line(&format!("  {name}: "), &said);
        }
    }
}

/// Whether a field says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::records::Get;

    #[test]
    fn a_reader_is_told_what_is_for_people_and_all_of_it_where_that_is_asked_for() {
        let record = json!({
            "id": "A", "text": "Round once", "title": "Round once", "type": "lesson",
            "timestamp": "2026-02-02T09:00:00Z", "known_at": "2026-02-03T09:00:00Z",
            "session_id": "s1", "tags": ["project:shop"], "external_id": "3e210e9cd9736920",
            "external_ids": [{"id": "3e210e9cd9736920", "namespace": "sunwell"}],
            "provenance": {"source_refs": ["s1"]}, "metadata": {"ticket": "7"},
            "details": {"category": "fix", "created_at": "2026-02-02T09:00:00Z",
                "metadata": {"extracted_from": "B"}, "source": "s1", "source_type": "session",
                "type": "learning", "source_notes": "the issue",
                "opening": {"nonce": "7f"}, "shortened": "2026-02-02T08:00:00Z"},
            "links": [{"outgoing": true, "record": "B", "relation": "distilled from"},
                {"outgoing": false, "record": "C", "relation": "contradicts"}],
        });
        let got = GotRecords {
            records: vec![record],
            missing: Vec::new(),
        };
        let (said, all) = (Get::render_text(&got), render_records(&got, true));
        for part in [
            "Round once",
            "session_id: s1",
            "project:shop",
            "ticket",
            "the issue",
            "external_id: 3e210e9cd9736920",
            "\n  distilled from: B",
            "\n  contradicts this: C",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let programs = [
            "sunwell",
            "provenance",
            "known_at",
            "source_type",
            "category",
            "outgoing",
            "nonce",
            "shortened",
        ];
        for part in programs {
            assert!(!said.contains(part), "{part}: {said}");
            assert!(all.contains(part), "{part}: {all}");
        }
    }

    #[test]
    fn a_reader_is_told_who_published_what_is_not_the_users_own() {
        let own = json!({
            "id": "A", "text": "Mine\nto the end", "title": "Mine", "type": "prompt",
            "timestamp": "2026-02-02T09:00:00.123456789Z", "source": "user_input",
            "tags": ["a", "b"], "session_id": "", "metadata": {"speaker": "Ann"}, "links": [],
            "details": {"content": "Mine\nto the end", "title": "Mine"}, "seen_count": 1,
        });
        let theirs = json!({
            "id": "B", "text": "Lunch is at noon", "scope": "global", "author": "kim", "version": "2",
        });
        let records = vec![own, theirs];
        let text = Get::render_text(&GotRecords {
            records,
            missing: Vec::new(),
        })
        .into_owned();
        assert!(text.contains("\n[A] (prompt, "), "{text}");
        for part in [
            "ago) Mine\n  to the end\n",
            "  tags: [\"a\",\"b\"]",
            "speaker",
            "timestamp: 2026-02-02T09:00:00Z",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in [
            "user_input",
            "session_id",
            "links",
            "title:",
            "details",
            "seen",
        ] {
            assert!(!text.contains(part), "{part}: {text}");
        }
        let said = "published by kim, version 2 [B] Lunch is at noon";
        assert!(text.contains(said), "{text}");
    }
}
