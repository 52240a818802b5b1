//! What records are called, by whom: found by an id, by a name in their own systems, by the
//! beginning of either; and told by such a name, with as much of their text as a line has room for.

use std::cmp::Reverse;

use reprise_knowledge::LessonDetails;

use crate::prelude::*;
use crate::wire::external_id_of;

/// Characters of a text that a reviewer is shown.
const SHOWN_CHARS: usize = 400;
/// Characters of a text in a list.
const TOLD_CHARS: usize = 100;

impl Memory {
    /// The live record with this id or external id: where it has been corrected since, its present
    /// version.
    pub(crate) async fn get_record(&self, name: &str) -> Result<MemoryRecord, Problem> {
        let wanted = name.to_owned();
        let find = move |memory: &Snapshot| {
            let id = wanted.trim().parse().ok();
            if let Some(found) = id.and_then(|id| memory.get(id)) {
                return Ok(found);
            }
            let found = memory.get(get_live_record_id(memory, &wanted)?);
            found.ok_or_else(|| no_such_memory_problem(&wanted))
        };
        let found = self.run_on_snapshot(find).await??;
        found.map_err(|error| Problem::from_failure(ProblemKind::Internal, &error))
    }

    /// Reads the record of this name as it was at an instant, even if it was corrected or retired
    /// since.
    pub(crate) async fn get_record_at(
        &self,
        name: &str,
        at: DateTime<Utc>,
    ) -> Result<MemoryRecord, Problem> {
        let wanted = name.to_owned();
        let find = move |memory: &Snapshot| {
            let id = wanted.trim().parse().ok();
            match id.and_then(|id| memory.version_at(id, at)) {
                Some(found) => Ok::<_, Problem>(Some(found)),
                None => Ok(memory.version_at(get_named_record_id(memory, &wanted)?, at)),
            }
        };
        let found = match self.run_on_snapshot(find).await? {
            Err(problem) if problem.kind != ProblemKind::NotFound => return Err(problem),
            found => found.ok().flatten(),
        };
        let found = found.ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            let at = format_instant(at);
            Problem::not_found(format!(
                "no memory with id `{name}` at {at}; choose a later time, or none"
            ))
        })?;
        found.map_err(|error| Problem::from_failure(ProblemKind::Internal, &error))
    }
}

/// The record with this external id or id, without the blanks around it if no external id has them;
/// a name with a secret is kept without it.
pub(crate) fn find_record_id(memory: &Snapshot, name: &str) -> Option<RecordId> {
    let external = |name: &str| {
        let mut named = ExternalId::CALLER_NAMESPACES.iter();
        named.find_map(|namespace| memory.find_by_external_id(&ExternalId::new(*namespace, name)))
    };
    let as_kept = || external(&Redactor::new().redacted_name(name));
    let plain = name.trim();
    external(name)
        .or_else(|| external(plain))
        .or_else(|| plain.parse().ok())
        .or_else(as_kept)
}

/// The record with this external id or id, or the only live one with a name that begins so.
pub(crate) fn get_named_record_id(memory: &Snapshot, name: &str) -> Result<RecordId, Problem> {
    if let Some(id) = find_record_id(memory, name) {
        return Ok(id);
    }
    match find_by_beginning(memory, name.trim()).as_slice() {
        [id] => Ok(*id),
        [] => Err(no_such_memory_problem(name)),
        many => Err(Problem::invalid(format!(
            "{} memories have names that begin with `{name}`; write more of the name",
            many.len()
        ))),
    }
}

/// Every live record with this tag, the newest first.
pub(crate) fn list_tagged(memory: &Snapshot, tag: &str) -> Vec<MemoryRecord> {
    let mut found = memory.list_matching_records(&MemoryFilter {
        tags: Some(vec![tag.to_owned()]),
        ..MemoryFilter::default()
    });
    found.sort_by_key(|record| Reverse(Cursor::of(record)));
    found
}

/// The live record with this id or name, or the only one with a name that begins so.
pub(crate) fn get_live_record_id(memory: &Snapshot, name: &str) -> Result<RecordId, Problem> {
    let current = memory.current_version(get_named_record_id(memory, name)?);
    current.ok_or_else(|| no_such_memory_problem(name))
}

/// Finds the live records whose external id, or else whose own id, begins so.
fn find_by_beginning(snapshot: &Snapshot, beginning: &str) -> Vec<RecordId> {
    let named = snapshot.find_by_external_hash_prefix(beginning);
    if named.is_empty() {
        return snapshot.find_by_id_prefix(beginning);
    }
    named
}

/// Says that there is no such memory, or which one's id begins so: what is to be forgotten is named
/// whole.
pub(crate) fn no_whole_name_problem(memory: &Snapshot, name: &str) -> Problem {
    match find_by_beginning(memory, name).as_slice() {
        [id] => Problem::invalid(format!(
            "`{name}` is the beginning of a name; to forget that memory, write its whole id, `{id}`"
        )),
        _ => no_such_memory_problem(name),
    }
}

pub(crate) fn no_such_memory_problem(name: &str) -> Problem {
    let name: String = name.chars().take(64).collect();
    Problem::not_found(format!(
        "no memory with id `{name}`; `reprise recall` and `reprise list` show ids"
    ))
}

/// What an agent is told in the place of a text that is sensitive and that it has not asked for.
const SENSITIVE: &str = "sensitive, left out; `reprise show` with its id shows it";

/// What is told of a record.
pub(crate) fn hide_sensitive(for_agent: bool, record: &MemoryRecord, told: String) -> String {
    if for_agent && record.is_sensitive() {
        return SENSITIVE.to_owned();
    }
    told
}

/// Records by their names.
pub(crate) struct RecordNames<'a> {
    pub(crate) memory: &'a Snapshot,
    /// Whether an agent reads what they say.
    pub(crate) for_agent: bool,
}

impl RecordNames<'_> {
    pub(crate) fn record_name(&self, id: RecordId) -> String {
        let record = self.memory.get_stored(id).and_then(Result::ok);
        let name = record.and_then(|record| external_id_of(&record));
        name.unwrap_or_else(|| id.to_string())
    }

    pub(crate) fn record_names<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i RecordId>,
    ) -> Vec<String> {
        ids.into_iter().map(|id| self.record_name(*id)).collect()
    }

    /// As much of a text as a list needs.
    pub(crate) fn text_beginning(&self, id: RecordId) -> String {
        short_beginning(&self.record_text(id))
    }

    pub(crate) fn record_text(&self, id: RecordId) -> String {
        let record = self.memory.get_stored(id).and_then(Result::ok);
        record
            .map(|record| self.readable_text(&record))
            .unwrap_or_default()
    }

    pub(crate) fn readable_text(&self, record: &MemoryRecord) -> String {
        // Where a lesson applies is told apart from what it says.
        let told =
            LessonDetails::of(record).map(|_| LessonDetails::without_added_lines(&record.text));
        let text = told.as_deref().unwrap_or(&record.text);
        hide_sensitive(self.for_agent, record, one_line_beginning(text))
    }
}

/// As much of a text as a list needs.
pub(crate) fn short_beginning(text: &str) -> String {
    one_line_beginning(text).chars().take(TOLD_CHARS).collect()
}

/// The beginning of a text, on one line.
fn one_line_beginning(text: &str) -> String {
    to_one_line(text).chars().take(SHOWN_CHARS).collect()
}
