//! Published knowledge: what one user gave to others, asked beside the user's own memory.
//!
//! The wall, the published record, the stores and what they all must do, the merge of two answers,
//! the coordination loop.

mod caller;
mod coordination;
mod embedded;
mod error;
mod hit;
mod merge;
mod org;
mod postgres;
mod record;
mod rules;
mod store;
mod takedown;
mod tier;
mod two_tier;
mod wall;

pub use caller::{Caller, Shelf};
pub use coordination::{Coordination, CoordinationSettings};
pub use embedded::{EmbeddedOptions, EmbeddedStore, Hold, OpenEngine};
pub use error::{GlobalError, Result};
pub use merge::{Scores, Thresholds, merged};
pub use org::{OrgId, OrgIdError};
pub use postgres::{KeptToken, Migration, PostgresOptions, PostgresStore};
pub use record::{
    AccessPolicy, GlobalContentType, GlobalRecord, PATTERN_AUTHORS_MIN, Publication,
    QualityMetrics, Version, sha256_hex,
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
