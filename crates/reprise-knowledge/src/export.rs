//! Exports a whole memory in another system's format, which our importer of that format reads back.

use std::io::Write;

use crate::prelude::*;
use crate::projection::ProjectionKind;

pub(crate) mod ai_lessons;
pub(crate) mod lines;
pub(crate) mod notes;
mod skills;
pub(crate) mod stock;

pub use skills::{SUCCESSES_MIN, Skill, propose_skills, write_skills};

/// Writes an export to a path that does not exist yet, in the format of a projection, or without a
/// kind as a file of stock `rvf-runtime`: vectors, with each record's line in its metadata.
pub fn write_export(
    kind: Option<ProjectionKind>,
    path: &Path,
    all: ExportInput<'_>,
) -> Result<(), ExportError> {
    let Some(kind) = kind else {
        return stock::write_stock_file(path, all.records);
    };
    let records: Vec<&OutgoingRecord> = all.records.iter().collect();
    match kind {
        ProjectionKind::Markdown => {
            fs_err::create_dir(path)?;
            for (name, content) in notes::render_notes(all.records.iter())? {
                fs_err::write(path.join(name), content)?;
            }
        }
        ProjectionKind::Sunwell => {
            let folder = kind.files_folder(path);
            fs_err::create_dir_all(&folder)?;
            for (name, content) in lines::encode_sunwell_files(&records, true)? {
                create_file(&folder.join(name), &content)?;
            }
        }
        ProjectionKind::AiLessons => {
            create_file(
                path,
                &ai_lessons::build_database(&records, all.aliases, true)?,
            )?;
        }
        ProjectionKind::Frames => create_file(path, &lines::encode_frames(&records, true)?)?,
    }
    Ok(())
}

fn create_file(file: &Path, content: &[u8]) -> Result<(), ExportError> {
    let mut out = fs_err::File::create_new(file)?;
    out.write_all(content)?;
    Ok(out.sync_all()?)
}

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
            first: notes::first_version(memory, &record),
            vector: memory.vector(record.id),
            record,
        }
    }

    /// Returns the id that the record has in a system, or our own id.
    fn id_in_system(&self, namespace: &str) -> String {
        let own = self.record.find_external_id(namespace);
        own.map_or_else(|| self.record.id.to_string(), str::to_owned)
    }
}

#[cfg(test)]
mod tests;
