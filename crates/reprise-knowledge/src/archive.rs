//! Exports a whole memory as lines, and reads it back: each live record in the form that every
//! face prints, with a field `archive` for the other events of the log, so that nothing is lost.

use reprise_engine::{Engine, EngineError, ExportEntry};
use reprise_types::limits::EXTERNAL_IDS_MAX;
use reprise_types::{ContentHash, Visibility};

use crate::prelude::*;

/// Field of a line that holds the events of the log which the line itself does not show.
const ARCHIVE: &str = "archive";

/// Events of the log that a line holds next to its record, under `archive`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveSection {
    /// Events that the log has before the record was kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<ExportEntry>,
    /// The record as it was kept, if the line differs from it: its tags may be others now.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Box<MemoryRecord>>,
    /// Events after the record; only on the last line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<ExportEntry>,
    /// Number of lines, on the last line only, so that a cut export is recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
}

impl ArchiveSection {
    /// Returns the section of the last line of an export of `lines` lines.
    #[cfg(test)]
    pub(crate) fn for_last_line(lines: u64) -> Self {
        Self {
            lines: Some(lines),
            ..Self::default()
        }
    }

    /// Whether it holds earlier versions or learned scores, for which no other format has a place.
    pub fn has_history(&self) -> bool {
        let mut events = self.before.iter().chain(&self.after);
        events.any(|event| matches!(event, ExportEntry::Kept(_) | ExportEntry::Learned(_)))
    }

    /// Whether it holds nothing, so that the line needs no such section.
    pub fn is_empty(&self) -> bool {
        let has_no_events = self.before.is_empty() && self.after.is_empty();
        has_no_events && self.kept.is_none() && self.lines.is_none()
    }
}

/// Passes every live record of a memory to `give`, in the order of the log, with the other events
/// of the log. `visible` returns the printed line of a record. Records for which `stays` is true
/// are left out with every event about them. Returns how many records were left out.
pub fn export_archive<E: From<EngineError>>(
    engine: &Engine,
    visible: &dyn Fn(&MemoryRecord) -> Value,
    stays: &dyn Fn(&MemoryRecord) -> bool,
    give: &mut dyn FnMut(&MemoryRecord, &ArchiveSection) -> Result<(), E>,
) -> Result<u64, E> {
    let memory = engine.snapshot();
    let mut events = Vec::new();
    engine.export_log(&mut |event| events.push(event))?;
    let held_back = find_withheld_records(&events, stays);
    let (mut before, mut last, mut lines) = (Vec::new(), None::<(MemoryRecord, ArchiveSection)>, 0);
    for event in events {
        if mentioned_records(&event)
            .iter()
            .any(|id| held_back.contains(id))
        {
            if let ExportEntry::Kept(record) = &event
                && let Some(replaced) = record.supersedes
                && !held_back.contains(&replaced)
                && memory.get_stored(replaced).is_some()
            {
                before.extend(ExportEntry::from_absent_correction(record));
            }
            continue;
        }
        let present = match &event {
            ExportEntry::Kept(record) => memory.get(record.id).and_then(Result::ok),
            _ => None,
        };
        let (ExportEntry::Kept(kept), Some(present)) = (&event, present) else {
            before.push(event);
            continue;
        };
        if let Some((record, section)) = last.take() {
            give(&record, &section)?;
        }
        let is_shown = parse_record(&visible(&present)).is_ok_and(|read| read == **kept);
        let section = ArchiveSection {
            before: std::mem::take(&mut before),
            kept: (!is_shown).then(|| kept.clone()),
            ..ArchiveSection::default()
        };
        lines += 1;
        last = Some((present, section));
    }
    if let Some((record, mut section)) = last {
        (section.after, section.lines) = (before, Some(lines));
        give(&record, &section)?;
    }
    Ok(held_back.len() as u64)
}

/// Returns the records for which `stays` was true at any time, with any tags that they had.
pub fn find_withheld_records(
    events: &[ExportEntry],
    stays: &dyn Fn(&MemoryRecord) -> bool,
) -> BTreeSet<RecordId> {
    let mut known: BTreeMap<RecordId, &MemoryRecord> = BTreeMap::new();
    let mut withheld = BTreeSet::new();
    for event in events {
        let record = match event {
            ExportEntry::Kept(record) => {
                known.insert(record.id, record);
                MemoryRecord::clone(record)
            }
            ExportEntry::Tagged { record, tags, .. } => match known.get(record) {
                Some(kept) => {
                    let mut tagged = MemoryRecord::clone(kept);
                    tagged.tags.clone_from(tags);
                    tagged
                }
                None => continue,
            },
            _ => continue,
        };
        if stays(&record) {
            withheld.insert(record.id);
        }
    }
    withheld
}

/// Returns the records that an event mentions.
fn mentioned_records(event: &ExportEntry) -> Vec<RecordId> {
    match event {
        ExportEntry::Kept(record) => vec![record.id],
        ExportEntry::Tagged { record, .. }
        | ExportEntry::Seen { record, .. }
        | ExportEntry::Replaced { record, .. } => vec![*record],
        ExportEntry::Forgotten(forgotten) => vec![forgotten.record],
        ExportEntry::Linked { record, to, .. } | ExportEntry::Unlinked { record, to, .. } => {
            vec![*record, *to]
        }
        _ => Vec::new(),
    }
}

/// Parses the record of a line from its visible part; the error is a sentence.
pub(crate) fn parse_record(line: &Value) -> Result<MemoryRecord, String> {
    let mut fields = line
        .as_object()
        .cloned()
        .ok_or("the line is not an object")?;
    fields.remove(ARCHIVE);
    let mut names: Vec<ExternalId> = match fields.remove("external_ids") {
        Some(names) => serde_json::from_value(names).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    if let Some(Value::String(name)) = fields.remove("external_id")
        && names.iter().all(|other| other.id != name)
    {
        names.insert(0, ExternalId::new(ExternalId::BATCH, name));
    }
    fields.insert("external_ids".to_owned(), json!(names));
    for (name, value) in [
        ("visibility", json!(Visibility::Private)),
        ("retention", json!(reprise_types::Retention::default())),
        ("provenance", json!({})),
        ("content_hash", json!(ContentHash(0))),
    ] {
        fields.entry(name).or_insert(value);
    }
    let text = fields
        .get("text")
        .and_then(Value::as_str)
        .unwrap_or_default();
    fields["content_hash"] = json!(ContentHash::of_text(text));
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

/// Whether an object is a line of an export of a whole memory.
pub(crate) fn is_archive_line(object: &Map<String, Value>) -> bool {
    ["id", "text", "kind", "known_at", "source"]
        .iter()
        .all(|name| object.contains_key(*name))
}

/// Link between two records, by the ids that they have in their source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalLink {
    pub from: ExternalId,
    pub to: ExternalId,
    pub relation: String,
}

/// A whole memory that was read from lines.
#[derive(Debug, Default)]
pub struct Archive {
    /// All events of its log.
    pub log: Vec<ExportEntry>,
    /// Its live records in their present version.
    pub live_records: Vec<MemoryRecord>,
}

impl Archive {
    /// Builds an archive from its lines; the error is a sentence about the whole export.
    pub fn from_lines(lines: impl IntoIterator<Item = Value>) -> Result<Self, String> {
        let (mut archive, mut count, mut end) = (Self::default(), 0_u64, None);
        for mut line in lines {
            if end.is_some() {
                return Err(format!(
                    "it goes on after line {count}, which says to be its last"
                ));
            }
            count += 1;
            let wrong = |why: String| format!("line {count} is not from an export: {why}");
            let section: ArchiveSection =
                match line.as_object_mut().and_then(|line| line.remove(ARCHIVE)) {
                    Some(section) => {
                        serde_json::from_value(section).map_err(|error| wrong(error.to_string()))?
                    }
                    None => ArchiveSection::default(),
                };
            let present = parse_record(&line).map_err(wrong)?;
            archive.log.extend(section.before);
            let kept = section.kept.unwrap_or_else(|| Box::new(present.clone()));
            archive.log.push(ExportEntry::Kept(kept));
            archive.log.extend(section.after);
            archive.live_records.push(present);
            end = section.lines;
        }
        match end {
            Some(lines) if lines == count => Ok(archive),
            Some(lines) => Err(format!("it says to have {lines} lines and has {count}")),
            None => Err(format!("it is cut: it has {count} lines and no last one")),
        }
    }

    /// Returns the links between its live records, the oldest first.
    pub fn list_live_links(&self) -> Vec<ExternalLink> {
        let live: BTreeSet<RecordId> = self.live_records.iter().map(|record| record.id).collect();
        // The value is the position of the event in the log.
        let mut links: BTreeMap<(RecordId, RecordId, &str), usize> = BTreeMap::new();
        for (position, event) in self.log.iter().enumerate() {
            match event {
                ExportEntry::Linked {
                    record,
                    to,
                    relation,
                    ..
                } => {
                    links.entry((*record, *to, relation)).or_insert(position);
                }
                ExportEntry::Unlinked {
                    record,
                    to,
                    relation,
                    ..
                } => {
                    links.remove(&(*record, *to, relation.as_str()));
                }
                _ => {}
            }
        }
        // The links of consolidation have names that no caller can write.
        links.retain(|(from, to, relation), _| {
            let is_from_caller = normalize_tag(relation).is_some_and(|tag| tag == *relation);
            is_from_caller && live.contains(from) && live.contains(to)
        });
        let mut links: Vec<_> = links.into_iter().collect();
        links.sort_by_key(|(_, position)| *position);
        let links = links
            .into_iter()
            .map(|((from, to, relation), _)| ExternalLink {
                from: reprise_external_id(from),
                to: reprise_external_id(to),
                relation: relation.to_owned(),
            });
        links.collect()
    }

    /// Returns the version that each of its records corrected.
    pub fn collect_corrections(&self) -> BTreeMap<RecordId, RecordId> {
        let corrections = self.log.iter().filter_map(|event| match event {
            ExportEntry::Kept(record) => Some((record.id, record.supersedes?)),
            _ => None,
        });
        corrections.collect()
    }
}

/// Converts a record of another memory into a new one, with the ids that it and the versions which
/// it corrected had there.
pub fn to_imported_record(
    record: MemoryRecord,
    corrections: &BTreeMap<RecordId, RecordId>,
) -> NewRecord {
    let (id, mut corrected) = (record.id, record.supersedes);
    let mut new = record.into_new_record();
    // The corrected version is not in this memory.
    new.supersedes = None;
    new.external_ids.push(reprise_external_id(id));
    while let Some(id) = corrected
        && new.external_ids.len() < EXTERNAL_IDS_MAX
        && !new.external_ids.contains(&reprise_external_id(id))
    {
        new.external_ids.push(reprise_external_id(id));
        corrected = corrections.get(&id).copied();
    }
    new
}

/// Returns the external id of a record of another memory.
pub(crate) fn reprise_external_id(id: RecordId) -> ExternalId {
    ExternalId::new(ExternalId::REPRISE, id.to_string())
}

#[cfg(test)]
mod tests;
