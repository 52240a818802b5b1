//! Published knowledge: what one user gave to others, asked beside the user's own memory.
//!
//! Lives here: the wall, the published record, the stores and what they all must do, the merge of
//! two answers, the coordination loop. Must never live here: a user's memory, a face, a model (the
//! vectors are lent), a setting read from the environment.

mod caller;
#[cfg(feature = "testing")]
pub mod conformance;
mod coordination;
mod embedded;
mod error;
mod merge;
mod record;
mod store;
mod two_tier;
mod wall;

pub use caller::{Caller, OrgId, OrgIdError, Shelf};
pub use coordination::{Coordination, CoordinationSettings};
pub use embedded::{EmbeddedOptions, EmbeddedStore, Hold, OpenEngine};
pub use error::GlobalError;
pub use merge::{Scores, Thresholds, merged};
pub use record::{
    AccessPolicy, GlobalContentType, GlobalRecord, Publication, QualityMetrics, Version,
};
pub use store::{
    Fate, GlobalAnswer, GlobalHit, GlobalQuery, GlobalStore, Overlap, Published, TextVectors,
    Unpublished, UsageReport,
};
pub use two_tier::{TwoTierMemory, TwoTierOptions};
pub use wall::{Leaving, Proposal, WallError, leave};
