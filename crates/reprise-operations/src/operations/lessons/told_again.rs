//! A sentence that teaches something, and was learned before: in this project or another one,
//! before it was ended or corrected, or before it was forgotten.

use reprise_knowledge::hex_id;

use super::belonging::project_of_tags;
use crate::prelude::*;

/// What becomes of a sentence that teaches something.
#[derive(Debug)]
pub(super) enum ToldSentence {
    /// It is a new lesson.
    New(Box<NewRecord>),
    /// A lesson of the same project says it, and still holds or was ended later.
    Known(RecordId),
}

/// Finds which lesson a sentence of a record is: a new one, under a name of its own, if the lesson
/// with these words is of another project, or was ended or corrected before it was told again. What
/// is `over` has what ended it. `None` if somebody has forgotten it.
pub(super) fn place_sentence(
    memory: &Snapshot,
    over: &BTreeMap<RecordId, RecordId>,
    from: &MemoryRecord,
    mut new: NewRecord,
) -> Option<ToldSentence> {
    let first = new.external_ids.first()?.clone();
    let project = project_of_tags(&new.tags).map(str::to_owned);
    let mut time = 0_u32;
    loop {
        let name = name_of_telling(&first, project.as_deref(), time);
        time += 1;
        let Some(known) = memory.find_by_external_id(&name) else {
            if memory.text_forgotten_at(&new.text).is_some() {
                return None;
            }
            new.external_ids = vec![name];
            return Some(ToldSentence::New(Box::new(new)));
        };
        let current = memory.current_version(known).unwrap_or(known);
        let record = memory.get(current)?.ok()?;
        if project_of_tags(&record.tags) != project.as_deref() {
            continue;
        }
        let corrected = (record.text != new.text).then_some(record.known_at);
        let ended = || memory.get(*over.get(&current)?)?.ok();
        let over_at = corrected.or_else(|| ended().map(|newer| newer.timestamp));
        if over_at.is_none_or(|at| from.timestamp <= at) {
            return Some(ToldSentence::Known(current));
        }
    }
}

/// Returns the name of the lesson for a project, told for the `time`-th time.
fn name_of_telling(first: &ExternalId, project: Option<&str>, time: u32) -> ExternalId {
    if time == 0 {
        return first.clone();
    }
    let told = time.to_string();
    let parts = [first.id.as_str(), project.unwrap_or_default(), &told];
    ExternalId::new(ExternalId::SUNWELL, hex_id(&parts))
}
