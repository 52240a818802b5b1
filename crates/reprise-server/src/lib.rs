//! The faces of memory: one daemon with one protocol, and the clients that speak it.
//!
//! Lives here: the wire forms, what may be asked (`Surface`), HTTP, MCP, the daemon's life, the
//! client. Must never live here: a rule about memory (the engine), an actor (the agent), a setting
//! read from the environment or a command line (the binary).

mod client;
mod daemon;
mod hooks;
mod http;
mod mcp;
mod place;
mod problem;
mod surface;
#[cfg(test)]
mod testing;
mod tokens;
mod wire;

pub use client::{Call, Client, Starter};
pub use daemon::{Daemon, DaemonError, DaemonOptions, Ended};

pub use hooks::{HookAnswer, HookEvent, HookProgram, HookReport, Moment};
pub use mcp::{McpFace, Profile};
pub use place::{Place, PlaceError};
pub use problem::{Problem, ProblemKind};
pub use surface::{Change, Kept, Lesson, Surface, TagRules, ToolAnswer, fork_stream, run_outcome};
pub use tokens::{Scope, TokenEntry, TokenError, TokenFile};
pub use wire::{
    Answer, Compacted, ExportLine, Fate, ForgetBody, Hit, LearningAction, ListBody, Listed,
    MergeReport, NotMerged, OutcomeLine, OutcomeReport, QueryLine, RecallBody, WriteReport,
    external_id_of, fresh_run_id, from_json, is_sensitive, record_of, record_of_value,
};
