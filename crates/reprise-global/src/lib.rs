//! Published knowledge: what one user gave to others, asked beside the user's own memory.
//!
//! The wall, the published record, the stores and what they all must do, the merge of two answers,
//! the coordination loop.
//!
//! # Examples
//!
//! ```
//! use chrono::DateTime;
//! use reprise_global::{Proposal, leave};
//! use reprise_types::{MemoryKind, MemorySource, RecordBody, RecordId};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "Pin protoc to 25\nWith 26 the build breaks.";
//! let body = RecordBody::new(text, MemorySource::UserInput, MemoryKind::Finding);
//! let record = body.kept(RecordId::from_u128(1), DateTime::UNIX_EPOCH);
//! // The exact bytes that others would find.
//! let leaving = leave(&"ada".parse()?, &record, record.id, &Proposal::default())?;
//! assert_eq!(leaving.publication.title, "Pin protoc to 25");
//! assert_eq!(leaving.publication.content, text);
//! # Ok(())
//! # }
//! ```

mod caller;
mod coordination;
mod embedded;
mod error;
mod merge;
mod postgres;
mod record;
mod rules;
mod store;
mod takedown;
mod tier;
mod two_tier;
mod wall;

pub use caller::{Caller, OrgId, OrgIdError, Shelf};
pub use coordination::{Coordination, CoordinationSettings};
pub use embedded::{EmbeddedOptions, EmbeddedStore, Hold, OpenEngine};
pub use error::{GlobalError, Result};
pub use merge::{Scores, Thresholds, merged};
pub use postgres::{KeptToken, Migration, PostgresOptions, PostgresStore};
pub use record::{
    AccessPolicy, GlobalContentType, GlobalRecord, PATTERN_AUTHORS_MIN, Publication,
    QualityMetrics, Version,
};
pub use store::{
    A_NAME, AUDIT_MAX, AuditLine, Branch, Fate, GlobalAnswer, GlobalHit, GlobalQuery, GlobalStore,
    ListPage, Merged, Overlap, Published, REPORTS_MAX, TextVectors, Unpublished, UsageReport,
    check_name, check_publication,
};
pub use takedown::{
    Erased, Listed, PersonLine, PutBack, Quota, Quotas, TakeDown, TakeDownDone, TakenDown,
};
pub use tier::{GlobalTier, TierOptions, voice_of};
pub use two_tier::TwoTierMemory;
pub use wall::{Leaving, Proposal, WallError, leave};
