//! The ways in: each reads one system's form, an item at a time, and keeps nothing back.
//!
//! The kinds, the items, who reads what.

mod ai_lessons;
mod claude_mem;
mod git;
mod give;
mod json;
mod lines;
mod markdown;
mod mem0;
mod own;
mod recognise;
mod rvf;
mod sessions;
mod sqlite;
mod sunwell;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use crate::archive::Joint;
use crate::notes::{Place, Scope};
use crate::prelude::*;

pub(crate) use give::Giver;
pub(crate) use markdown::parts_of;
pub use markdown::{is_plain_text, plain_texts, state_of_notes};
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

/// Reads a source to its end and hands over each item as it is found, links last. Times that name
/// no zone are of `zone`; `take` answers whether to go on.
pub fn read(
    path: &Path,
    kind: ImportKind,
    zone: Zone,
    take: &mut dyn FnMut(Item) -> bool,
) -> Result<(), ImportError> {
    let mut giver = Giver::new(path, zone, take);
    let to = &mut giver;
    match kind {
        ImportKind::Reprise => own::read(path, to)?,
        ImportKind::Rvf => rvf::read(path, to)?,
        ImportKind::Sunwell => sunwell::read(path, to)?,
        ImportKind::Frames => lines::frames(path, to)?,
        ImportKind::AiLessons => ai_lessons::read(path, to)?,
        ImportKind::ServerMemory => lines::server_memory(path, to)?,
        ImportKind::Mem0 => mem0::read(path, to)?,
        ImportKind::ClaudeMem => claude_mem::read(path, to)?,
        ImportKind::Git => git::read(path, to)?,
        ImportKind::Instructions => markdown::read_instructions(path, to)?,
        ImportKind::Markdown => markdown::read(path, to)?,
        of_sessions => sessions::read(path, of_sessions, to)?,
    }
    giver.finish()
}

words! {
    /// What a source is. `recognise.rs` says how it is known.
    ImportKind, "kind", {
    /// An export of our own: JSON, a line each, YAML.
    Reprise = "reprise";
    /// A file of stock `rvf-runtime`.
    Rvf = "rvf";
    /// A `.sunwell` tree, of any of its eras.
    Sunwell = "sunwell";
    /// Frames of ralph's memory store, a JSON object a line.
    Frames = "frames";
    /// The `knowledge.db` of ai-lessons, schema 1 to 12.
    AiLessons = "ai-lessons";
    /// The graph of MCP's memory server, a JSON object a line.
    ServerMemory = "server-memory";
    /// What mem0's `get_all` answers, or its `history.db`.
    Mem0 = "mem0";
    /// claude-mem's database.
    ClaudeMem = "claude-mem";
    /// Transcripts of Claude Code.
    ClaudeCode = "claude-code";
    /// Rollouts of Codex, packed or not.
    Codex = "codex";
    /// Sessions of Gemini CLI.
    Gemini = "gemini";
    /// `opencode.db`.
    Opencode = "opencode";
    /// Cursor's `state.vscdb`.
    Cursor = "cursor";
    /// `conversations.json` of `ChatGPT`, or its ZIP.
    Chatgpt = "chatgpt";
    /// The same of claude.ai.
    ClaudeAi = "claude-ai";
    /// The commits of a repository.
    Git = "git";
    /// `CLAUDE.md`, `AGENTS.md`, `memory-bank` and their like, of a project.
    Instructions = "instructions";
    /// A Markdown note, or a folder of them: basic-memory, Obsidian, documentation.
    Markdown = "markdown";
}}

impl ImportKind {
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
