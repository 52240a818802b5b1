//! The ways out: a whole memory in another system's form, which the reader of that form takes back.

use crate::prelude::*;

pub(crate) mod ai_lessons;
pub(crate) mod lines;
pub(crate) mod notes;
mod skills;
pub(crate) mod stock;

#[cfg(test)]
mod tests;

pub use notes::first_of;
pub use skills::{Proposed, SUCCESSES, Skill, skills, write_skills};

/// Whose form is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportKind {
    /// A folder with a Markdown note for each record.
    Markdown,
    /// A file of stock `rvf-runtime`: vectors, with each record's line in its metadata.
    Rvf,
    /// A folder with `.sunwell/memory` in it.
    Sunwell,
    /// A `knowledge.db` of schema 12.
    AiLessons,
    /// ralph's frames, one JSON object a line.
    Frames,
}

/// Writes everything to a path where nothing is yet.
pub fn write_out(kind: ExportKind, path: &Path, all: Outgoing<'_>) -> Result<(), ExportError> {
    let told = all.records;
    match kind {
        ExportKind::Markdown => notes::write(path, told),
        ExportKind::Rvf => stock::write(path, told),
        ExportKind::Sunwell => lines::sunwell(path, told),
        ExportKind::AiLessons => ai_lessons::write(path, all),
        ExportKind::Frames => lines::frames(path, told),
    }
}

/// Everything that a form is written from.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    pub records: &'a [Telling],
    /// From a spelling to the tag that is kept.
    pub aliases: &'a BTreeMap<String, String>,
}

/// Records alone.
impl<'a> From<&'a [Telling]> for Outgoing<'a> {
    fn from(records: &'a [Telling]) -> Self {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        let aliases = &NONE;
        Self { records, aliases }
    }
}

/// A record on its way out.
#[derive(Debug, Clone)]
pub struct Telling {
    pub record: MemoryRecord,
    /// Its line of an export of our own, `archive` included.
    pub line: Value,
    /// Where its links lead to, with their relations.
    pub links: Vec<(RecordId, String)>,
    /// The first of its versions, where it has several.
    pub first: Option<MemoryRecord>,
    /// Its unit vector, where it has one.
    pub vector: Option<Vec<f32>>,
}

impl Telling {
    /// The name that the record has in a system, else its id.
    fn name(&self, namespace: &str) -> String {
        let own = self.record.external_id(namespace);
        own.map_or_else(|| self.record.id.to_string(), str::to_owned)
    }
}
