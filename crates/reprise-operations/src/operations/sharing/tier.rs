//! The global store as the users of this process reach it: the way of each user, kept.

use reprise_global::{GlobalTier, TextVectors};
use tokio::runtime::Handle;

use super::receipts::ReceiptLog;
use crate::prelude::*;

/// Users whose way to the global store is kept; beyond, all are found anew.
const TIERS_MAX: usize = 1_000;

/// How a user reaches the global store, given this process's model; the error is a sentence.
pub type TierOpener = dyn Fn(&UserId, TextVectors) -> Result<GlobalTier, String> + Send + Sync;

/// The global store as the users of this process reach it. Cheap to clone.
#[derive(Clone, Default)]
pub struct Sharing {
    reach: Option<Arc<TierOpener>>,
    pub(crate) scope: RecallScope,
    /// How long a hook waits for it; `None` where hooks do not ask.
    pub(crate) hooks: Option<Duration>,
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

    fn find_tier(&self, user: &UserId) -> Option<GlobalTier> {
        let tiers = lock(&self.tiers);
        tiers.get(user).cloned()
    }

    fn remember_tier(&self, user: &UserId, tier: GlobalTier) -> GlobalTier {
        let mut tiers = lock(&self.tiers);
        if tiers.len() >= TIERS_MAX {
            tiers.clear();
        }
        // The first of several concurrent callers has stored its tier already.
        tiers.entry(user.clone()).or_insert(tier).clone()
    }
}

impl Memories {
    /// Returns the model that this process's memories share, for callers on a thread of their own:
    /// a question that was embedded for one tier is not embedded again for the other.
    fn text_vectors(&self) -> TextVectors {
        let (service, runtime) = (self.service.clone(), Handle::current());
        Arc::new(move |text| {
            let made = runtime.block_on(service.query_vector(None, text))?;
            Some(made)
        })
    }
}

impl Memory {
    /// What a recall asks that does not say.
    pub(crate) fn default_recall_scope(&self) -> RecallScope {
        self.all.around.sharing.scope
    }

    /// Whether there is a global store at all.
    pub(crate) fn has_global_store(&self) -> bool {
        self.all.around.sharing.reach.is_some()
    }

    /// The global store as this user reaches it.
    pub(crate) async fn open_global_tier(&self) -> Result<GlobalTier, Problem> {
        let sharing = &self.all.around.sharing;
        if let Some(tier) = sharing.find_tier(&self.user) {
            return Ok(tier);
        }
        let Some(reach) = &sharing.reach else {
            return Err(Problem::not_found(
                "there is no store of published knowledge here; `reprise serve` has one",
            ));
        };
        let tier = reach(&self.user, self.all.text_vectors()).map_err(Problem::invalid)?;
        if self.exists() {
            for (id, version) in self
                .run_on_snapshot(|memory| ReceiptLog::read(memory).list_used())
                .await?
            {
                tier.remember_use(id, version);
            }
        }
        Ok(sharing.remember_tier(&self.user, tier))
    }
}
