//! The ways in: each reads one system's form, an item at a time, and keeps nothing back.
//!
//! Lives here: the kinds, the items, who reads what. Must never live here: writing to memory.

mod ai_lessons;
mod frames;
mod give;
mod item;
mod recognise;
mod server_memory;
mod sqlite;
mod sunwell;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::error::ImportError;
use give::Giver;

pub use item::{Found, ImportKind, Item, Joint, Reading};
pub use recognise::recognise;

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
    }
    giver.finish()
}
