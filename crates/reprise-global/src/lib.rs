//! Published knowledge: what one user gave to others, searched together with the user's own memory.
//!
//! The wall, the published record, the stores and what they all must do, the merge of two answers,
//! the coordination loop. The store in PostgreSQL is `reprise-postgres`.
//!
//! # Examples
//!
//! ```
//! use chrono::DateTime;
//! use reprise_global::{Proposal, prepare_publication};
//! use reprise_types::{MemoryKind, MemorySource, RecordBody, RecordId};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "Pin protoc to 25\nWith 26 the build breaks.";
//! let body = RecordBody::new(text, MemorySource::UserInput, MemoryKind::Finding);
//! let record = body.into_record(RecordId::from_u128(1), DateTime::UNIX_EPOCH);
//! // The exact bytes that others would find.
//! let prepared = prepare_publication(&"ada".parse()?, &record, record.id, &Proposal::default())?;
//! assert_eq!(prepared.publication.title, "Pin protoc to 25");
//! assert_eq!(prepared.publication.content, text);
//! # Ok(())
//! # }
//! ```

mod audit;
pub mod backend;
mod caller;
mod coordination;
mod embedded;
mod error;
mod lent;
mod merge;
mod org;
mod prepared_publication;
mod published;
mod quota;
mod record;
mod review;
mod rules;
mod store;
mod takedown;
mod tier;
mod tokens;
mod two_tier;

pub use audit::{AUDIT_MAX, AuditFilter, AuditLine};
pub use caller::{Caller, Shelf};
pub use coordination::{Coordination, CoordinationSettings};
pub use embedded::{EmbeddedOptions, EmbeddedStore, Hold, OpenEngine};
pub use error::{GlobalError, GlobalResult};
pub use merge::{Scores, Thresholds, merge_answers};
pub use org::{OrgId, OrgIdError, OrgProject, ProjectId, ProjectIdError};
pub use prepared_publication::{PreparedPublication, Proposal, WallError, prepare_publication};
pub use published::{Overlap, Published};
pub use quota::{HolderQuota, Quota, QuotaChange, Quotas};
pub use record::{
    AccessPolicy, GlobalContentType, GlobalRecord, PATTERN_AUTHORS_MIN, Publication,
    QualityMetrics, Version,
};
pub use review::{
    DecisionReport, OrganisationSettings, OwnSubmission, Submission, SubmissionVerdict,
};
pub use store::{
    A_NAME, AwaitedHandle, Branch, Fate, GlobalAnswer, GlobalHit, GlobalQuery, GlobalStore,
    ListPage, Merged, REPORTS_MAX, StoreMetric, TextVectors, Unpublished, UsageReport, check_name,
    check_publication, read_limit,
};
pub use takedown::{Erased, Listed, PersonLine, TakeDown, TakeDownDone, TakenDown};
pub use tier::{GlobalTier, TierOptions, score_run};
pub use tokens::{KeptToken, SharedTokens, TokenEdit};
pub use two_tier::TwoTierMemory;
