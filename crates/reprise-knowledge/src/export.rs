//! The ways out: a whole memory in another system's form, which the reader of that form takes back.

use std::io::Write;

use crate::prelude::*;
use crate::projection::ProjectionKind;

pub(crate) mod ai_lessons;
pub(crate) mod lines;
pub(crate) mod notes;
mod skills;
pub(crate) mod stock;

pub use skills::{Proposed, SUCCESSES, Skill, skills, write_skills};

/// Writes everything to a path where nothing is yet, in the form of a projection, or else as a file
/// of stock `rvf-runtime`: vectors, with each record's line in its metadata.
pub fn write_out(
    kind: Option<ProjectionKind>,
    path: &Path,
    all: Outgoing<'_>,
) -> Result<(), ExportError> {
    let Some(kind) = kind else {
        return stock::write(path, all.records);
    };
    let told: Vec<&Telling> = all.records.iter().collect();
    match kind {
        ProjectionKind::Markdown => {
            fs_err::create_dir(path)?;
            for (name, content) in notes::files(all.records.iter())? {
                fs_err::write(path.join(name), content)?;
            }
        }
        ProjectionKind::Sunwell => {
            let folder = kind.root(path);
            fs_err::create_dir_all(&folder)?;
            for (name, content) in lines::sunwell_files(&told, true)? {
                write(&folder.join(name), &content)?;
            }
        }
        ProjectionKind::AiLessons => {
            write(path, &ai_lessons::database(&told, all.aliases, true)?)?;
        }
        ProjectionKind::Frames => write(path, &lines::frames_file(&told, true)?)?,
    }
    Ok(())
}

fn write(file: &Path, content: &[u8]) -> Result<(), ExportError> {
    let mut out = fs_err::File::create_new(file)?;
    out.write_all(content)?;
    Ok(out.sync_all()?)
}

/// Everything that a form is written from.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    pub records: &'a [Telling],
    /// From a spelling to the tag that is kept.
    pub aliases: &'a BTreeMap<String, String>,
}

/// Records alone.
#[cfg(test)]
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
    /// Of a record of a memory, with its line.
    pub fn of(memory: &Snapshot, record: MemoryRecord, line: Value) -> Self {
        let links = memory.links(record.id).into_iter();
        let links = links.filter(|link| link.outgoing);
        Self {
            line,
            links: links.map(|link| (link.record, link.relation)).collect(),
            first: notes::first_of(memory, &record),
            vector: memory.vector(record.id),
            record,
        }
    }

    /// The name that the record has in a system, else its id.
    fn name(&self, namespace: &str) -> String {
        let own = self.record.external_id(namespace);
        own.map_or_else(|| self.record.id.to_string(), str::to_owned)
    }
}

#[cfg(test)]
mod tests;
