//! The ways out: a whole memory in another system's form, which the reader of that form takes back.

pub(crate) mod ai_lessons;
pub(crate) mod lines;
pub(crate) mod notes;
mod skills;
pub(crate) mod stock;
mod telling;

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::error::ExportError;

pub use notes::first_of;
pub use skills::{Proposed, SUCCESSES, Skill, skills, write_skills};
pub use telling::{Outgoing, Telling};

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
