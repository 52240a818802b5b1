//! The kinds of the index's sections, and how one is opened.

use reprise_types::{SavedSection, SavedSections, SectionKey};

use crate::error::{IndexError, IndexResult};

/// Kinds of sections. Numbers below 16 belong to the log, those from 40 on to the engine.
pub(crate) const TOTALS: u8 = 16;
pub(crate) const DOCUMENTS: u8 = 17;
pub(crate) const LEXICAL: u8 = 18;
pub(crate) const SESSIONS: u8 = 19;
pub(crate) const NAMES: u8 = 20;
pub(crate) const LIVE: u8 = 22;
pub(crate) const PRESENT: u8 = 23;
/// One bit for each number of these.
pub const SIGNS: u8 = 24;
/// The quantised vectors.
pub const CODES: u8 = 25;
pub(crate) const WORDS: u8 = 26;
/// The graph over the documents; the first of its bytes is the version.
pub const SECTION_GRAPH: u8 = 27;
/// The cells.
pub const SECTION_CELLS: u8 = 28;
/// Documents whose vector changed after graph and cells were saved.
pub(crate) const STALE: u8 = 29;

/// Whether a section of the index follows from the log alone: graph and cells depend on when they
/// were grown.
pub fn is_of_log(key: SectionKey) -> bool {
    ![SECTION_GRAPH, SECTION_CELLS, STALE].contains(&key.0)
}

pub(crate) fn damage_error(part: &'static str) -> IndexError {
    let what = "a page's check does not match, or its length is none that it can have";
    IndexError::Damaged { part, what }
}

/// Opens a part of the index from its section.
pub(crate) fn open_part<T>(
    sections: &SavedSections,
    kind: u8,
    part: &'static str,
    open: impl FnOnce(&SavedSection) -> Option<T>,
) -> IndexResult<T> {
    let section = sections.get(&(kind, 0));
    let section = section.ok_or(IndexError::Missing { part })?;
    open(section).ok_or(damage_error(part))
}
