//! The items that the readers of sources pass on.

use crate::archive::ExternalLink;
use crate::prelude::*;

/// One item of a source, with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportItem {
    /// A file within the source, with the line or row.
    pub place: String,
    pub content: ItemContent,
}

/// Content of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemContent {
    Record(Box<NewRecord>),
    /// A link between two records, which come before it.
    Link(ExternalLink),
    /// An earlier state of a later item, which is not kept.
    Repeated,
    /// Something that cannot be used, and why.
    Refused(String),
    /// Files whose notes are all read: other pieces of them in memory no longer exist.
    Scope(NoteScope),
    /// A note that was read; its pieces are items of their own.
    Note(NotePath),
}

/// The files that an import of notes covers, by their paths relative to `base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteScope {
    /// The project, or the folder if it belongs to none.
    pub root: String,
    pub base: PathBuf,
    /// The imported folder or note, relative to `base`.
    pub prefix: PathBuf,
}

/// Path of a note below its root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotePath {
    pub root: String,
    pub path: String,
}

impl NotePath {
    /// Returns the note of a piece; `None` for any other record, and for notes without a project
    /// that were imported before roots were recorded.
    pub(crate) fn of(details: Option<&Value>, tags: &[String]) -> Option<Self> {
        let details = details?;
        details["type"]
            .as_str()
            .filter(|kind| kind.starts_with("note_"))?;
        let project = || tags.iter().find(|tag| tag.starts_with("project:"));
        let root = details["root"].as_str().or_else(|| Some(project()?))?;
        Some(Self {
            root: root.to_owned(),
            path: details["path"].as_str()?.to_owned(),
        })
    }
}
