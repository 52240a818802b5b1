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

use crate::prelude::*;

pub(crate) use give::Giver;
pub(crate) use markdown::parts_of;
pub use markdown::{is_plain_text, plain_texts, state_of_notes};

pub use item::{Found, ImportKind, Item, Reading};
pub use own::read_archive;
pub use recognise::{recognise, recognise_all};
pub(crate) use sessions::below;
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
    kind.read(path, &mut giver)?;
    giver.finish()
}
