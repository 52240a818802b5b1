//! What can be asked of a memory: one catalogue of operations, a file each, over the memories of
//! this process. Every face is derived from it or calls it.
//!
//! No protocol lives here: HTTP, MCP and the command line read the catalogue from outside.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//!
//! # use reprise_agent::{MemoryConfig, MemoryService};
//! # use reprise_engine::Engine;
//! use reprise_operations::{Catalogue, Memories};
//! # use reprise_store::RealDisk;
//! # use reprise_types::EmbedError;
//! use reprise_types::{SystemClock, UserId};
//! use serde_json::{Value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let open = Arc::new(|path: &_, options: &_| Engine::open(Arc::new(RealDisk), path, options));
//! # let model = Arc::new(|| Err(EmbedError::Unavailable { message: "none here".to_owned() }));
//! # let config = MemoryConfig::new(folder.path().to_owned(), 384, open, model);
//! # let service = MemoryService::start(config, None).await?;
//! let memory = Memories::new(service, Arc::new(SystemClock)).of(&"ada".parse::<UserId>()?);
//! let learn = Catalogue::default().operation("learn").cloned().ok_or("it is there")?;
//! let lesson = serde_json::from_value(json!({ "content": "Pin protoc to 25" }))?;
//! let answer: Value = serde_json::from_slice(&learn.call(memory, lesson).await?)?;
//! assert_eq!(answer["outcome"], "inserted");
//! # Ok(())
//! # }
//! ```

mod asks;
mod bounds;
mod catalogue;
mod hook;
mod memories;
pub mod operations;
mod prelude;
mod problem;
#[cfg(test)]
mod testing;
mod wire;

pub use bounds::{Bounds, Room, bound};
pub use catalogue::{
    Callers, Catalogue, Effect, Entry, Method, Operation, Profile, Ran, Route, Spec, Tool,
    ToolAnswer, from_pairs, run, taken_out,
};
pub use hook::{HookAnswer, HookEvent, HookReport};
pub use memories::{
    Around, Change, Credited, Deed, Doubted, Extracted, Followed, Given, Known, LeftOut, Lesson,
    Memories, Memory, Merged, Noted, Parts, PastRecall, Projection, Prompt, Quoted, Reach,
    ReceiptLine, Registered, Replayed, Repositories, Sharing, Standing, TagRules, Told, Workspaces,
    bring_up_to_date, counted, differences, run_outcome, shared_by, size, tend, without_secrets,
};
pub use problem::{Problem, ProblemBody, ProblemKind};
pub use wire::{
    Answer, ExportLine, Fate, Filter, Hit, IngestLine, LessonCard, NoArguments, OutcomeLine,
    OutcomeReport, PageAsked, QueryLine, RecordRedaction, WriteReport, external_id_of,
    fresh_run_id, from_json, hinted, is_sensitive, line_of, read_line, record_of_value,
};
