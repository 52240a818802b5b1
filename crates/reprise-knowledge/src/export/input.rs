//! What an export is written from.

use crate::prelude::*;

/// Everything that an export is written from.
#[derive(Debug, Clone, Copy)]
pub struct ExportInput<'a> {
    pub records: &'a [OutgoingRecord],
    /// Tag aliases: from a spelling to the tag that is kept.
    pub aliases: &'a BTreeMap<String, String>,
}

/// Builds the input from records without aliases.
#[cfg(test)]
impl<'a> From<&'a [OutgoingRecord]> for ExportInput<'a> {
    fn from(records: &'a [OutgoingRecord]) -> Self {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        let aliases = &NONE;
        Self { records, aliases }
    }
}

/// A record to be exported.
#[derive(Debug, Clone)]
pub struct OutgoingRecord {
    pub record: MemoryRecord,
    /// Its line of an export of our own, `archive` included.
    pub line: Value,
    /// Targets of its links, with their relations.
    pub links: Vec<(RecordId, String)>,
    /// Its first version, if it has several.
    pub first: Option<MemoryRecord>,
    /// Its unit vector, if it has one.
    pub vector: Option<Vec<f32>>,
}

impl OutgoingRecord {
    /// Collects what is exported of a record; `line` is its line of an export of our own.
    pub fn new(memory: &Snapshot, record: MemoryRecord, line: Value) -> Self {
        let links = memory.links(record.id).into_iter();
        let links = links.filter(|link| link.outgoing);
        Self {
            line,
            links: links.map(|link| (link.record, link.relation)).collect(),
            first: first_version(memory, &record),
            vector: memory.vector(record.id),
            record,
        }
    }

    /// Returns the id that the record has in a system, or our own id.
    pub(super) fn id_in_system(&self, namespace: &str) -> String {
        let own = self.record.find_external_id(namespace);
        own.map_or_else(|| self.record.id.to_string(), str::to_owned)
    }
}

/// Returns the first version of a record that is still stored; `None` if it has only one.
pub(crate) fn first_version(memory: &Snapshot, record: &MemoryRecord) -> Option<MemoryRecord> {
    record.supersedes?;
    memory.version_history(record.id).pop()
}
