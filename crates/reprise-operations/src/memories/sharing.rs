//! The global store as the users of this process reach it, and what of a record would leave.
//!
//! The way of each user, kept.

use reprise_global::{GlobalTier, PreparedPublication, TextVectors};

use crate::prelude::*;

/// Users whose way to the global store is kept; beyond, all are found anew.
const TIERS_MAX: usize = 1_000;

/// How a user reaches the global store, given this process's model; the error is a sentence.
pub type TierOpener = dyn Fn(&UserId, TextVectors) -> Result<GlobalTier, String> + Send + Sync;

/// The global store as the users of this process reach it. Cheap to clone.
#[derive(Clone, Default)]
pub struct Sharing {
    pub(super) reach: Option<Arc<TierOpener>>,
    pub(super) scope: RecallScope,
    /// How long a hook waits for it; `None` where hooks do not ask.
    pub(super) hooks: Option<Duration>,
    tiers: Arc<Mutex<HashMap<UserId, GlobalTier>>>,
}

reprise_types::show_fields!(Sharing { scope });

impl Sharing {
    /// A store reached in this way; `scope` is what a recall asks that does not say.
    pub fn new(reach: Arc<TierOpener>, scope: RecallScope) -> Self {
        Self {
            reach: Some(reach),
            scope,
            hooks: None,
            tiers: Arc::default(),
        }
    }

    /// Lets hooks ask it too, which wait no longer than this.
    #[must_use]
    pub fn with_hook_deadline(mut self, deadline: Option<Duration>) -> Self {
        self.hooks = deadline;
        self
    }

    pub(super) fn find_tier(&self, user: &UserId) -> Option<GlobalTier> {
        let tiers = lock(&self.tiers);
        tiers.get(user).cloned()
    }

    pub(super) fn remember_tier(&self, user: &UserId, tier: GlobalTier) -> GlobalTier {
        let mut tiers = lock(&self.tiers);
        if tiers.len() >= TIERS_MAX {
            tiers.clear();
        }
        // The first of several concurrent callers has stored its tier already.
        tiers.entry(user.clone()).or_insert(tier).clone()
    }
}

/// A record about to leave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PublicationDraft {
    pub(crate) record: RecordId,
    /// The first published record of which this one is a later version, else itself.
    pub(crate) origin: RecordId,
    /// What was published of it before: its id and version.
    pub(crate) earlier: Option<(RecordId, String)>,
    pub(crate) leaving: PreparedPublication,
}

impl PublicationDraft {
    /// The exact bytes that would leave.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.leaving.publication.to_json_bytes()
    }
}
