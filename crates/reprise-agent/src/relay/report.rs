//! A worker's report: its summary, its findings and its learnings, each a record of its own.

use reprise_types::limits::{IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX};
use reprise_types::{Evidence, NewRecord};
use serde_json::Value;

use super::table::ReportRules;
use super::template::{fits, text_at, texts_at};

/// The summary and the parts that pass the gate, in the report's order, and how many did not pass.
pub(super) fn split(
    payload: &Value,
    summary: Option<NewRecord>,
    base: &NewRecord,
    rules: &ReportRules,
) -> (Vec<NewRecord>, u32) {
    let report = payload.get("report").unwrap_or(payload);
    let mut records: Vec<NewRecord> = summary.into_iter().collect();
    let mut gated = 0;
    let mut take = |name: &str, most: usize, make: Make| {
        let parts = report.get(name).and_then(Value::as_array);
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        let asked = parts.len();
        let parts = parts.iter().enumerate();
        let made = parts.filter_map(|(index, part)| make(part, index, base, rules));
        let kept: Vec<NewRecord> = made.take(most).collect();
        gated += (asked - kept.len()) as u32;
        records.extend(kept);
    };
    take("findings", rules.findings_max, finding);
    take("learnings", rules.learnings_max, learning);
    (records, gated)
}

/// How a part becomes a record, by its index in the report.
pub(super) type Make = fn(&Value, usize, &NewRecord, &ReportRules) -> Option<NewRecord>;

/// An event that is one such part, whose text stands under `name`.
pub(super) fn alone(
    part: &Value,
    (name, make): (&str, Make),
    base: &NewRecord,
    rules: &ReportRules,
) -> (Vec<NewRecord>, u32) {
    let record = make(part, 0, base, rules);
    let gated = u32::from(record.is_none() && text_at(part, name).is_some());
    (record.into_iter().collect(), gated)
}

pub(super) fn finding(
    part: &Value,
    index: usize,
    base: &NewRecord,
    rules: &ReportRules,
) -> Option<NewRecord> {
    let evidence: Vec<String> = texts_at(part, "evidence_refs")
        .into_iter()
        .filter(|text| fits(text))
        .take(LIST_ITEMS_MAX)
        .collect();
    if evidence.len() < rules.finding_evidence_min {
        return None;
    }
    let mut record = typed(part, ("claim", "finding_id", "f"), index, base, rules)?;
    record.evidence = Some(Evidence::Observed);
    record.provenance.source_refs = evidence;
    copy(part, "novel", &mut record);
    Some(record)
}

pub(super) fn learning(
    part: &Value,
    index: usize,
    base: &NewRecord,
    rules: &ReportRules,
) -> Option<NewRecord> {
    let mut record = typed(part, ("insight", "learning_id", "l"), index, base, rules)?;
    record.evidence = Some(Evidence::Inferred);
    record.kind = rules.learning_kind;
    copy(part, "supports", &mut record);
    copy(part, "changes_plan", &mut record);
    Some(record)
}

/// The record of a finding or learning; `None` where the text is missing or the confidence too low.
fn typed(
    part: &Value,
    (text, id, letter): (&str, &str, &str),
    index: usize,
    base: &NewRecord,
    rules: &ReportRules,
) -> Option<NewRecord> {
    let confidence = part.get("confidence")?.as_f64()? as f32;
    if !(rules.confidence_min..=1.0).contains(&confidence) {
        return None;
    }
    let mut record = base.clone();
    record.text = text_at(part, text)?;
    record.confidence = Some(confidence);
    let name = text_at(part, id).unwrap_or_else(|| format!("{letter}{index}"));
    record
        .metadata
        .insert(id.to_owned(), Value::String(name.clone()));
    for external in &mut record.external_ids {
        external.id = bounded(&external.id, &name);
    }
    Some(record)
}

/// `event#part`, within the limit for identifiers.
fn bounded(event_id: &str, name: &str) -> String {
    let mut id = format!("{event_id}#{name}");
    let end = id.floor_char_boundary(IDENTIFIER_BYTES_MAX);
    id.truncate(end);
    id
}

fn copy(part: &Value, name: &str, record: &mut NewRecord) {
    if let Some(value) = part.get(name) {
        record.metadata.insert(name.to_owned(), value.clone());
    }
}
