//! Imports from other systems: each reader passes on one item at a time.
//!
//! This module has the kinds of sources, the items, and the choice of the reader.

mod ai_lessons;
mod claude_mem;
mod git;
mod item;
mod item_sink;
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

use crate::prelude::*;

pub use item::{ImportItem, ItemContent, NotePath, NoteScope};
pub(crate) use item_sink::ItemSink;
pub(crate) use markdown::split_front_matter;
pub use markdown::{find_plain_texts, is_plain_text, read_notes_state};
pub use own::read_archive;
pub use recognise::{recognise, recognise_all};
pub(crate) use sessions::visit_files;
pub use sessions::{SessionTurn, default_session_locations};

/// Copies the files of a Sunwell import below the folder of the memory, because Sunwell's own
/// programs may go on writing to them. Every text passes `clean`. Returns the folder of the copies,
/// or `None` if there are none.
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

/// Reads a source to its end and passes each item to `take`, links last; `take` returns whether to
/// go on. Times without a zone are read as those of `zone`.
pub fn read_source(
    path: &Path,
    kind: ImportKind,
    zone: Zone,
    take: &mut dyn FnMut(ImportItem) -> bool,
) -> Result<(), ImportError> {
    let mut sink = ItemSink::new(path, zone, take);
    let to = &mut sink;
    match kind {
        ImportKind::Reprise => own::read(path, to)?,
        ImportKind::Rvf => rvf::read(path, to)?,
        ImportKind::Sunwell => sunwell::read(path, to)?,
        ImportKind::Frames => lines::read_frames(path, to)?,
        ImportKind::AiLessons => ai_lessons::read(path, to)?,
        ImportKind::ServerMemory => lines::read_server_memory(path, to)?,
        ImportKind::Mem0 => mem0::read(path, to)?,
        ImportKind::ClaudeMem => claude_mem::read(path, to)?,
        ImportKind::Git => git::read(path, to)?,
        ImportKind::Instructions => markdown::read_instructions(path, to)?,
        ImportKind::Markdown => markdown::read(path, to)?,
        of_sessions => sessions::read(path, of_sessions, to)?,
    }
    sink.emit_links()
}

words! {
    /// Kind of a source; `recognise.rs` has the rules by which it is recognised.
    ImportKind, "kind", {
    /// An export of our own: JSON, JSON lines or YAML.
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
    /// The result of mem0's `get_all`, or its `history.db`.
    Mem0 = "mem0";
    /// The database of claude-mem.
    ClaudeMem = "claude-mem";
    /// Transcripts of Claude Code.
    ClaudeCode = "claude-code";
    /// Rollouts of Codex, compressed or not.
    Codex = "codex";
    /// Sessions of Gemini CLI.
    Gemini = "gemini";
    /// `opencode.db`.
    Opencode = "opencode";
    /// Cursor's `state.vscdb`, or its transcripts of agents.
    Cursor = "cursor";
    /// Sessions of Copilot CLI.
    Copilot = "copilot";
    /// `conversations.json` of `ChatGPT`, or its ZIP.
    Chatgpt = "chatgpt";
    /// `conversations.json` of claude.ai, or its ZIP.
    ClaudeAi = "claude-ai";
    /// Sessions in the Agent Trajectory Interchange Format, or in Trajectory v1 of Letta.
    Trajectory = "trajectory";
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
        use ImportKind::{
            Chatgpt, ClaudeAi, ClaudeCode, Codex, Copilot, Cursor, Gemini, Opencode, Trajectory,
        };
        matches!(
            self,
            ClaudeCode
                | Codex
                | Gemini
                | Opencode
                | Cursor
                | Copilot
                | Chatgpt
                | ClaudeAi
                | Trajectory
        )
    }

    /// Whether its sessions are those of agents that work, and no chats.
    pub fn is_of_agents(self) -> bool {
        self.is_of_sessions() && !matches!(self, Self::Chatgpt | Self::ClaudeAi)
    }

    /// Whether its records are pieces of notes, which follow the present content of a file.
    pub fn is_of_notes(self) -> bool {
        matches!(self, Self::Instructions | Self::Markdown)
    }
}
