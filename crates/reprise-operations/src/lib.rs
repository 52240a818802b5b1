//! What can be asked of a memory: one catalogue of operations, a file each, over the memories of
//! this process. Every face is derived from it or calls it.
//!
//! No protocol lives here: HTTP, MCP and the command line read the catalogue from outside.

mod asks;
mod bounds;
mod catalogue;
mod excerpt;
mod hook;
mod memories;
pub mod operations;
mod problem;
#[cfg(test)]
mod testing;
mod wire;

pub use bounds::{Bounds, Room, bound};
pub use catalogue::{
    Callers, Catalogue, Effect, Entry, Method, Operation, Profile, Ran, Route, Spec, Tool,
    ToolAnswer, delete, from_pairs, get, patch, post, run, taken_out,
};
pub use hook::{HookAnswer, HookEvent, HookReport};
pub use memories::{
    Change, Credited, Deed, Doubted, Extracted, Followed, Given, Known, LeftOut, Lesson, Memories,
    Memory, Merged, Noted, Parts, PastRecall, Projection, Prompt, Quoted, Reach, ReceiptLine,
    Registered, Replayed, Repositories, Sharing, Standing, TagRules, Told, Workspaces,
    bring_up_to_date, counted, differences, run_outcome, shared_by, tend, without_secrets,
};
pub use problem::{Problem, ProblemBody, ProblemKind};
pub use wire::{
    Answer, ExportLine, Fate, Filter, Hit, IngestLine, LessonCard, NoArguments, OutcomeLine,
    OutcomeReport, PageAsked, QueryLine, RecordRedaction, WriteReport, external_id_of,
    fresh_run_id, from_json, hinted, is_sensitive, line_of, read_line, record_of_value,
};
