//! What is read: the kinds of sources, and the items that come out of them.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use reprise_types::{NewRecord, Zone};

use super::give::Giver;
use super::{
    ai_lessons, claude_mem, frames, git, markdown, mem0, own, rvf, server_memory, sessions, sunwell,
};
use crate::error::ImportError;
use crate::joint::Joint;
use crate::notes::{Place, Scope};

type Reader = fn(&Path, ImportKind, &mut Giver<'_>) -> Result<(), ImportError>;

/// A kind is a row: its word, and what reads it. `recognise.rs` says how it is known.
macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $read:expr;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ImportKind { $($(#[$doc])* $variant,)* }

        impl ImportKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            const READERS: &'static [(Self, Reader)] = &[$((Self::$variant, $read),)*];
        }
    };
}

kinds! {
    /// An export of our own: JSON, a line each, YAML.
    Reprise = "reprise", |path, _, giver| own::read(path, giver);
    /// A file of stock `rvf-runtime`.
    Rvf = "rvf", |path, _, giver| rvf::read(path, giver);
    /// A `.sunwell` tree, of any of its eras.
    Sunwell = "sunwell", |path, _, giver| sunwell::read(path, giver);
    /// Frames of ralph's memory store, a JSON object a line.
    Frames = "frames", |path, _, giver| frames::read(path, giver);
    /// The `knowledge.db` of ai-lessons, schema 1 to 12.
    AiLessons = "ai-lessons", |path, _, giver| ai_lessons::read(path, giver);
    /// The graph of MCP's memory server, a JSON object a line.
    ServerMemory = "server-memory", |path, _, giver| server_memory::read(path, giver);
    /// What mem0's `get_all` answers, or its `history.db`.
    Mem0 = "mem0", |path, _, giver| mem0::read(path, giver);
    /// claude-mem's database.
    ClaudeMem = "claude-mem", |path, _, giver| claude_mem::read(path, giver);
    /// Transcripts of Claude Code.
    ClaudeCode = "claude-code", sessions::read;
    /// Rollouts of Codex, packed or not.
    Codex = "codex", sessions::read;
    /// Sessions of Gemini CLI.
    Gemini = "gemini", sessions::read;
    /// `opencode.db`.
    Opencode = "opencode", sessions::read;
    /// Cursor's `state.vscdb`.
    Cursor = "cursor", sessions::read;
    /// `conversations.json` of `ChatGPT`, or its ZIP.
    Chatgpt = "chatgpt", sessions::read;
    /// The same of claude.ai.
    ClaudeAi = "claude-ai", sessions::read;
    /// The commits of a repository.
    Git = "git", |path, _, giver| git::read(path, giver);
    /// `CLAUDE.md`, `AGENTS.md`, `memory-bank` and their like, of a project.
    Instructions = "instructions", |path, _, giver| markdown::read_instructions(path, giver);
    /// A Markdown note, or a folder of them: basic-memory, Obsidian, documentation.
    Markdown = "markdown", |path, _, giver| markdown::read(path, giver);
}

impl ImportKind {
    /// Reads a source of this kind to its end.
    pub(super) fn read(self, path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
        let mut readers = Self::READERS.iter();
        let reader = readers.find(|(kind, _)| *kind == self);
        reader.map_or(Ok(()), |(_, read)| read(path, self, giver))
    }

    /// Whether its records are turns of sessions.
    pub fn is_of_sessions(self) -> bool {
        use ImportKind::{Chatgpt, ClaudeAi, ClaudeCode, Codex, Cursor, Gemini, Opencode};
        matches!(
            self,
            ClaudeCode | Codex | Gemini | Opencode | Cursor | Chatgpt | ClaudeAi
        )
    }

    /// Whether its records are pieces of notes, which stand for what a file says now.
    pub fn is_of_notes(self) -> bool {
        matches!(self, Self::Instructions | Self::Markdown)
    }

    /// All their words, for a sentence.
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
    pub found: Found,
}

/// What stands at one place of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    Record(Box<NewRecord>),
    /// A connection of two records, which come before it.
    Link(Joint),
    /// An earlier state of what comes later: nothing to keep.
    Repeated,
    /// What cannot be used, and why.
    Refused(String),
    /// Files whose notes are told whole: what memory has of them and is not told is gone.
    Scope(Scope),
    /// A note that was read; its pieces are told besides.
    Note(Place),
}
