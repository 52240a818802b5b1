//! A whole memory as lines: each live record in the form that every face prints, and under
//! `archive` what the log says besides, so that nothing is lost on the way back.

use reprise_engine::{Engine, EngineError, Said};
use reprise_types::limits::EXTERNAL_IDS_MAX;
use reprise_types::{ContentHash, Visibility};

use crate::prelude::*;

/// The field of a line that holds what the log says besides.
const ARCHIVE: &str = "archive";

/// What a line says beside its record, under `archive`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Beside {
    /// What the log said before the record was kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<Said>,
    /// The record as it was kept, where the line does not give it: its tags may be others now.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Box<MemoryRecord>>,
    /// On the last line: what the log said after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<Said>,
    /// On the last line: how many lines there are, so that a cut export is known for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
}

impl Beside {
    /// What the last of so many lines says.
    #[cfg(test)]
    pub(crate) fn end(lines: u64) -> Self {
        Self {
            lines: Some(lines),
            ..Self::default()
        }
    }

    /// Whether it tells what no form but our own has a place for: earlier versions, and what runs
    /// taught.
    pub fn is_past(&self) -> bool {
        let mut said = self.before.iter().chain(&self.after);
        said.any(|said| matches!(said, Said::Kept(_) | Said::Learned(_)))
    }

    /// Whether the line needs none.
    pub fn is_empty(&self) -> bool {
        let said = self.before.is_empty() && self.after.is_empty();
        said && self.kept.is_none() && self.lines.is_none()
    }
}

/// Hands over every live record of a memory, in the order of its log, with what the log says
/// besides. `visible` gives the line of a record as it is printed; what `stays` is left out with
/// all that was said of it. Answers how many records stayed.
pub fn tell<E: From<EngineError>>(
    engine: &Engine,
    visible: &dyn Fn(&MemoryRecord) -> Value,
    stays: &dyn Fn(&MemoryRecord) -> bool,
    give: &mut dyn FnMut(&MemoryRecord, &Beside) -> Result<(), E>,
) -> Result<u64, E> {
    let memory = engine.snapshot();
    let mut told = Vec::new();
    engine.tell(&mut |said| told.push(said))?;
    let held_back = held_back(&told, stays);
    let (mut before, mut last, mut lines) = (Vec::new(), None::<(MemoryRecord, Beside)>, 0);
    for said in told {
        if about(&said).iter().any(|id| held_back.contains(id)) {
            continue;
        }
        let present = match &said {
            Said::Kept(record) => memory.get(record.id).and_then(Result::ok),
            _ => None,
        };
        let (Said::Kept(kept), Some(present)) = (&said, present) else {
            before.push(said);
            continue;
        };
        if let Some((record, beside)) = last.take() {
            give(&record, &beside)?;
        }
        let is_said = record_of(&visible(&present)).is_ok_and(|read| read == **kept);
        let beside = Beside {
            before: std::mem::take(&mut before),
            kept: (!is_said).then(|| kept.clone()),
            ..Beside::default()
        };
        lines += 1;
        last = Some((present, beside));
    }
    if let Some((record, mut beside)) = last {
        (beside.after, beside.lines) = (before, Some(lines));
        give(&record, &beside)?;
    }
    Ok(held_back.len() as u64)
}

/// The records that are not to be told, by anything that they or their tags ever were.
pub fn held_back(told: &[Said], stays: &dyn Fn(&MemoryRecord) -> bool) -> BTreeSet<RecordId> {
    let mut held: BTreeMap<RecordId, &MemoryRecord> = BTreeMap::new();
    let mut back = BTreeSet::new();
    for said in told {
        let record = match said {
            Said::Kept(record) => {
                held.insert(record.id, record);
                MemoryRecord::clone(record)
            }
            Said::Tagged { record, tags, .. } => match held.get(record) {
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
            back.insert(record.id);
        }
    }
    back
}

/// The records that cannot be left out of what is said.
fn about(said: &Said) -> Vec<RecordId> {
    match said {
        Said::Kept(record) => vec![record.id],
        Said::Tagged { record, .. } | Said::Seen { record, .. } => vec![*record],
        Said::Forgotten(gone) => vec![gone.record],
        Said::Linked { record, to, .. } | Said::Unlinked { record, to, .. } => vec![*record, *to],
        _ => Vec::new(),
    }
}

/// The record of a line, as far as its visible part says; the error is a sentence.
pub(crate) fn record_of(line: &Value) -> Result<MemoryRecord, String> {
    let mut fields = line.as_object().cloned().ok_or("the line is no object")?;
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
    fields["content_hash"] = json!(Engine::hash(text));
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

/// Whether an object is a line of an export.
pub(crate) fn is_line(object: &Map<String, Value>) -> bool {
    ["id", "text", "kind", "known_at", "source"]
        .iter()
        .all(|name| object.contains_key(*name))
}

/// A connection of two records by the names they have in their source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joint {
    pub from: ExternalId,
    pub to: ExternalId,
    pub relation: String,
}

/// A whole memory that was read from lines.
#[derive(Debug, Default)]
pub struct Archive {
    /// Everything that its log said.
    pub told: Vec<Said>,
    /// Its live records as they are now.
    pub present: Vec<MemoryRecord>,
}

impl Archive {
    /// Takes the lines; the error is a sentence about the whole.
    pub fn of(lines: impl IntoIterator<Item = Value>) -> Result<Self, String> {
        let (mut archive, mut count, mut end) = (Self::default(), 0_u64, None);
        for mut line in lines {
            if end.is_some() {
                return Err(format!(
                    "it goes on after line {count}, which says to be its last"
                ));
            }
            count += 1;
            let wrong = |why: String| format!("line {count} is none of an export: {why}");
            let beside: Beside = match line.as_object_mut().and_then(|line| line.remove(ARCHIVE)) {
                Some(beside) => {
                    serde_json::from_value(beside).map_err(|error| wrong(error.to_string()))?
                }
                None => Beside::default(),
            };
            let present = record_of(&line).map_err(wrong)?;
            archive.told.extend(beside.before);
            let kept = beside.kept.unwrap_or_else(|| Box::new(present.clone()));
            archive.told.push(Said::Kept(kept));
            archive.told.extend(beside.after);
            archive.present.push(present);
            end = beside.lines;
        }
        match end {
            Some(lines) if lines == count => Ok(archive),
            Some(lines) => Err(format!("it says to have {lines} lines and has {count}")),
            None => Err(format!("it is cut: it has {count} lines and no last one")),
        }
    }

    /// The links between its live records.
    pub fn joints(&self) -> Vec<Joint> {
        let live: BTreeSet<RecordId> = self.present.iter().map(|record| record.id).collect();
        // By when it was made.
        let mut joints: BTreeMap<(RecordId, RecordId, &str), usize> = BTreeMap::new();
        for (place, said) in self.told.iter().enumerate() {
            match said {
                Said::Linked {
                    record,
                    to,
                    relation,
                    ..
                } => {
                    joints.entry((*record, *to, relation)).or_insert(place);
                }
                Said::Unlinked {
                    record,
                    to,
                    relation,
                    ..
                } => {
                    joints.remove(&(*record, *to, relation.as_str()));
                }
                _ => {}
            }
        }
        // What consolidation says of a pair is spelled as no caller can.
        joints.retain(|(from, to, relation), _| {
            let is_spoken = normal_tag(relation).is_some_and(|spoken| spoken == *relation);
            is_spoken && live.contains(from) && live.contains(to)
        });
        let mut joints: Vec<_> = joints.into_iter().collect();
        joints.sort_by_key(|(_, place)| *place);
        let joints = joints.into_iter().map(|((from, to, relation), _)| Joint {
            from: named(from),
            to: named(to),
            relation: relation.to_owned(),
        });
        joints.collect()
    }

    /// Which version each of its records corrected.
    pub fn corrections(&self) -> BTreeMap<RecordId, RecordId> {
        let corrections = self.told.iter().filter_map(|said| match said {
            Said::Kept(record) => Some((record.id, record.supersedes?)),
            _ => None,
        });
        corrections.collect()
    }
}

/// A record of another memory as one to be kept in this one: known by the ids that it, and what it
/// corrected, had there.
pub fn moved(record: MemoryRecord, corrections: &BTreeMap<RecordId, RecordId>) -> NewRecord {
    let (id, mut corrected) = (record.id, record.supersedes);
    let mut new = record.into_new();
    // What it corrected is there, or was never here.
    new.supersedes = None;
    new.external_ids.push(named(id));
    while let Some(id) = corrected
        && new.external_ids.len() < EXTERNAL_IDS_MAX
        && !new.external_ids.contains(&named(id))
    {
        new.external_ids.push(named(id));
        corrected = corrections.get(&id).copied();
    }
    new
}

/// The name that a record of another memory has in this one.
pub(crate) fn named(id: RecordId) -> ExternalId {
    ExternalId::new(ExternalId::REPRISE, id.to_string())
}

#[cfg(test)]
mod tests;
