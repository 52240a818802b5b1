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
//! let memories = Memories::new(service, Arc::new(SystemClock));
//! let memory = memories.user_memory(&"ada".parse::<UserId>()?);
//! let learn = Catalogue::default().find_operation("learn").cloned().ok_or("it is there")?;
//! let lesson = serde_json::from_value(json!({ "content": "Pin protoc to 25" }))?;
//! let answer: Value = serde_json::from_slice(&(learn.call)(memory, lesson).await?)?;
//! assert_eq!(answer["outcome"], "inserted");
//! # Ok(())
//! # }
//! ```

mod bounds;
mod catalogue;
pub mod declaring;
mod memories;
pub mod operations;
mod prelude;
mod problem;
mod schema_rules;
#[cfg(test)]
mod testing;
mod wire;

pub use bounds::{Bounds, Room, add_missing_bounds};
pub use catalogue::{
    AddedProfile, Callers, Catalogue, CatalogueEntry, Effect, Enter, Method, Operation,
    OperationContext, OperationRoute, Profile, Right, Spec, Tool, ToolAnswer, decode_answer,
    describe_redactions, encode_answer, parse_query_pairs, run,
};
pub use memories::{
    ChangeKind, ChangeNotice, ChangeOrigin, JournalEntry, Memories, Memory, MemoryChange,
    MemorySettings, PastRecall, describe_empty_memory,
};
pub use operations::care::{
    BodyParts, ConfiguredProjection, compare_with_memory, update_projections,
};
pub use operations::lessons::{
    Extracted, Lesson, Repositories, read_redacted_lessons, redact_and_list_rules,
};
pub use operations::maintenance::{DoubtfulPair, MergedSet, maintenance_factory};
pub use operations::outcomes::build_run_outcome;
pub use operations::records::KnownRecord;
pub use operations::sessions::pausing::{PauseMode, PauseRule, PauseStore};
pub use operations::sessions::{
    FollowingRecord, HOOK_DEADLINE_MS, HookAnswer, HookEvent, HookReport, InjectedBlock,
    InjectedLine, InjectedPart, LeftOutReason, NotedRecord, Prompt, PromptOutcome, PromptPreview,
    PromptRecall, PromptReplay, ReceivedText, ReplayedRecord, TextExcerpt, UnansweredReason,
    UnaskedReason,
};
pub use operations::sharing::{PublicationAct, PublishedCopy, ReceiptLine, Sharing, TierOpener};
pub use operations::tags::TagRules;
pub use problem::{Problem, ProblemBody, ProblemKind};
pub use reprise_knowledge::find_test_verdict;
pub use wire::{
    ExportLine, Filter, Hit, IngestLine, LessonCard, NoArguments, NothingAddedReason, OutcomeLine,
    OutcomeReport, PageArguments, PromptResult, QueryLine, RELATED, RUNS_TO_COMPARE_MIN,
    RecallAnswer, RecordFate, RecordRedaction, UNLIKELY, WEAK, WriteReport, add_hint,
    describe_signal, external_id_of, find_meant_name, format_count, format_size, fresh_run_id,
    is_sensitive, parse_lenient_json, parse_record, read_line, read_records, to_ingest_line,
};
