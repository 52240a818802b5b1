//! What is read: the kinds of sources, and the items that come out of them.

use std::fmt;
use std::str::FromStr;

use reprise_types::{ExternalId, NewRecord, Zone};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// Whose form is read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ImportKind { $($(#[$doc])* $variant,)* }

        impl ImportKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word for it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// A `.sunwell` tree, of any of its eras.
    Sunwell = "sunwell";
    /// Frames of ralph's memory store, a JSON object a line.
    Frames = "frames";
    /// The `knowledge.db` of ai-lessons, schema 1 to 12.
    AiLessons = "ai-lessons";
    /// The graph of MCP's memory server, a JSON object a line.
    ServerMemory = "server-memory";
}

impl ImportKind {
    /// All their words, for a sentence.
    #[must_use]
    pub fn known() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
        names.join(", ")
    }
}

impl fmt::Display for ImportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ImportKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = Self::ALL.iter().find(|kind| kind.name() == text);
        let kind = kind.copied();
        kind.ok_or_else(|| format!("`{text}` is no kind; use one of {}", Self::known()))
    }
}

/// How a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// The zone of times that name none.
    pub zone: Zone,
}

/// One thing that was found, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// A file within the source, with the line or row.
    pub place: String,
    /// What stands there.
    pub found: Found,
}

/// What stands at one place of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Something to keep.
    Record(Box<NewRecord>),
    /// A connection of two records, which come before it.
    Link(Joint),
    /// An earlier state of what comes later: nothing to keep.
    Repeated,
    /// What cannot be used, and why.
    Refused(String),
}

/// A connection of two records by the names they have in their source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joint {
    /// Where it begins.
    pub from: ExternalId,
    /// Where it leads.
    pub to: ExternalId,
    /// In one word.
    pub relation: String,
}
