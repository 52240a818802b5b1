//! The records of a worker's report: its summary, its findings and its learnings become one record
//! each.

use reprise_types::limits::{IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX};
use reprise_types::{Evidence, NewRecord};
use serde_json::Value;

use super::table::ReportRules;
use super::template::{is_identifier, text_at, texts_at};

/// Builds the records of a report: the summary and the parts that pass the gate, in the report's
/// order. Returns them with the number of parts that did not pass.
pub(super) fn build_report_records(
    payload: &Value,
    summary: Option<NewRecord>,
    base: &NewRecord,
    rules: &ReportRules,
) -> (Vec<NewRecord>, u32) {
    let report = payload.get("report").unwrap_or(payload);
    let mut records: Vec<NewRecord> = summary.into_iter().collect();
    let mut gated = 0;
    let mut add_parts = |name: &str, most: usize, make: PartBuilder| {
        let parts = report.get(name).and_then(Value::as_array);
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        let given = parts.len();
        let parts = parts.iter().enumerate();
        let built = parts.filter_map(|(index, part)| make(part, index, base, rules));
        let accepted: Vec<NewRecord> = built.take(most).collect();
        gated += (given - accepted.len()) as u32;
        records.extend(accepted);
    };
    add_parts("findings", rules.findings_max, build_finding);
    add_parts("learnings", rules.learnings_max, build_learning);
    (records, gated)
}

/// Builds the record of a part of a report, given the part's index.
pub(super) type PartBuilder = fn(&Value, usize, &NewRecord, &ReportRules) -> Option<NewRecord>;

/// Builds the record of an event that is a single part, whose text is in the field `name`. Returns
/// it with the number of parts that did not pass the gate.
pub(super) fn build_single(
    part: &Value,
    (name, make): (&str, PartBuilder),
    base: &NewRecord,
    rules: &ReportRules,
) -> (Vec<NewRecord>, u32) {
    let record = make(part, 0, base, rules);
    let gated = u32::from(record.is_none() && text_at(part, name).is_some());
    (record.into_iter().collect(), gated)
}

pub(super) fn build_finding(
    part: &Value,
    index: usize,
    base: &NewRecord,
    rules: &ReportRules,
) -> Option<NewRecord> {
    let evidence: Vec<String> = texts_at(part, "evidence_refs")
        .into_iter()
        .filter(|text| is_identifier(text))
        .take(LIST_ITEMS_MAX)
        .collect();
    if evidence.len() < rules.finding_evidence_min {
        return None;
    }
    let mut record = build_part(part, ("claim", "finding_id", "f"), index, base, rules)?;
    record.evidence = Some(Evidence::Observed);
    record.provenance.source_refs = evidence;
    copy_field(part, "novel", &mut record);
    Some(record)
}

pub(super) fn build_learning(
    part: &Value,
    index: usize,
    base: &NewRecord,
    rules: &ReportRules,
) -> Option<NewRecord> {
    let mut record = build_part(part, ("insight", "learning_id", "l"), index, base, rules)?;
    record.evidence = Some(Evidence::Inferred);
    record.kind = rules.learning_kind;
    copy_field(part, "supports", &mut record);
    copy_field(part, "changes_plan", &mut record);
    Some(record)
}

/// Builds the record of a finding or learning; `None` if the text is missing or the confidence too
/// low.
fn build_part(
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
        external.id = build_part_id(&external.id, &name);
    }
    Some(record)
}

/// Builds the external id `event#part` of a part's record, cut to the limit for identifiers.
fn build_part_id(event_id: &str, name: &str) -> String {
    let mut id = format!("{event_id}#{name}");
    let end = id.floor_char_boundary(IDENTIFIER_BYTES_MAX);
    id.truncate(end);
    id
}

fn copy_field(part: &Value, name: &str, record: &mut NewRecord) {
    if let Some(value) = part.get(name) {
        record.metadata.insert(name.to_owned(), value.clone());
    }
}
