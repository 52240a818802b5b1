//! What is read: the kinds of sources, and the items that come out of them.

use super::{
    ai_lessons, claude_mem, frames, git, markdown, mem0, own, rvf, server_memory, sessions, sunwell,
};
use crate::archive::Joint;
use crate::notes::{Place, Scope};
use crate::prelude::*;

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
    /// Reads a source of this kind to its end.
    pub(super) fn read(self, path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
        match self {
            Self::Reprise => own::read(path, giver),
            Self::Rvf => rvf::read(path, giver),
            Self::Sunwell => sunwell::read(path, giver),
            Self::Frames => frames::read(path, giver),
            Self::AiLessons => ai_lessons::read(path, giver),
            Self::ServerMemory => server_memory::read(path, giver),
            Self::Mem0 => mem0::read(path, giver),
            Self::ClaudeMem => claude_mem::read(path, giver),
            Self::Git => git::read(path, giver),
            Self::Instructions => markdown::read_instructions(path, giver),
            Self::Markdown => markdown::read(path, giver),
            _ => sessions::read(path, self, giver),
        }
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
