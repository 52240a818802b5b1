//! The ways in: each reads one system's form, an item at a time, and keeps nothing back.
//!
//! The kinds, the items, who reads what.

mod ai_lessons;
mod claude_mem;
mod frames;
mod git;
mod give;
mod item;
mod json;
mod markdown;
mod mem0;
mod own;
mod recognise;
mod rvf;
mod server_memory;
mod sessions;
mod sqlite;
mod sunwell;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::error::ImportError;
use give::Giver;

pub(crate) use markdown::parts_of;
pub use markdown::state_of_notes;

pub use item::{Found, ImportKind, Item, Reading};
pub use own::read_archive;
pub use recognise::{recognise, recognise_all};
pub use sessions::session_places;

/// Keeps copies of the files that move in, below the folder of the memory that they move into
/// (S40): of Sunwell's, whose own programs may go on and write there. Every text passes `clean` on
/// its way. Where they are, if there are any.
pub fn back_up(
    path: &Path,
    kind: ImportKind,
    home: &Path,
    clean: &dyn Fn(String) -> String,
) -> Result<Option<PathBuf>, ImportError> {
    match kind {
        ImportKind::Sunwell => sunwell::back_up(path, home, clean),
        _ => Ok(None),
    }
}

/// Reads a source to its end and hands over each item as it is found, links last. `take` answers
/// whether to go on.
pub fn read(
    path: &Path,
    kind: ImportKind,
    reading: &Reading,
    take: &mut dyn FnMut(Item) -> bool,
) -> Result<(), ImportError> {
    let mut giver = Giver::new(path, *reading, take);
    match kind {
        ImportKind::Sunwell => sunwell::read(path, &mut giver)?,
        ImportKind::Frames => frames::read(path, &mut giver)?,
        ImportKind::AiLessons => ai_lessons::read(path, &mut giver)?,
        ImportKind::ServerMemory => server_memory::read(path, &mut giver)?,
        ImportKind::Reprise => own::read(path, &mut giver)?,
        ImportKind::Rvf => rvf::read(path, &mut giver)?,
        ImportKind::Mem0 => mem0::read(path, &mut giver)?,
        ImportKind::ClaudeMem => claude_mem::read(path, &mut giver)?,
        ImportKind::Git => git::read(path, &mut giver)?,
        ImportKind::Instructions => markdown::read_instructions(path, &mut giver)?,
        ImportKind::Markdown => markdown::read(path, &mut giver)?,
        ImportKind::ClaudeCode
        | ImportKind::Codex
        | ImportKind::Gemini
        | ImportKind::Opencode
        | ImportKind::Cursor
        | ImportKind::Chatgpt
        | ImportKind::ClaudeAi => sessions::read(path, kind, &mut giver)?,
    }
    giver.finish()
}
