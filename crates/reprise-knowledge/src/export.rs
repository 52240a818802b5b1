//! Exports a whole memory in another system's format, which our importer of that format reads back.

use std::io::Write;

use crate::prelude::*;
use crate::projection::ProjectionKind;

pub(crate) mod ai_lessons;
mod input;
pub(crate) mod lines;
pub(crate) mod notes;
mod skills;
pub(crate) mod stock;

pub(crate) use input::first_version;
pub use input::{ExportInput, OutgoingRecord};
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

#[cfg(test)]
mod tests;
