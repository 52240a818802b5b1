//! Models other than the one that all users share: the models of single users, and earlier models.
//!
//! While a memory's vectors are made anew, records that still have vectors of an earlier model are
//! compared with the query in that model's space. Each earlier model gets a pool of one thread,
//! which starts when a memory first needs it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reprise_types::{EmbedError, Embedding, EmbeddingSpace, lock};

use crate::embedder::{EmbedPool, EmbedderOpener, PoolOptions};

/// Pause before a model that could not be opened is tried again.
const RETRY: Duration = Duration::from_mins(1);

/// Returns the opener of the model of a space; `None` for a model that it does not know.
type FindModel = dyn Fn(&EmbeddingSpace) -> Option<EmbedderOpener> + Send + Sync;

/// The models other than the shared one. Cheap to clone.
#[derive(Clone)]
pub struct OtherModels(Arc<Inner>);

struct Inner {
    find: Box<FindModel>,
    pools: Mutex<Vec<(EmbeddingSpace, Option<EmbedPool>)>>,
    /// Pools of the models that single users have.
    user_pools: Mutex<Vec<(EmbeddingSpace, EmbedPool)>>,
}

reprise_types::show_fields!(OtherModels {});

impl OtherModels {
    /// Creates a set of the models that `find` knows. None is opened yet, and `find` should
    /// download none.
    pub fn new(
        find: impl Fn(&EmbeddingSpace) -> Option<EmbedderOpener> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            find: Box::new(find),
            pools: Mutex::default(),
            user_pools: Mutex::default(),
        }))
    }

    /// Returns the vector of a query in a space; `None` if there is no model for it.
    pub(crate) async fn embed_query(
        &self,
        space: &EmbeddingSpace,
        question: &str,
    ) -> Option<Arc<Embedding>> {
        let embedded = self
            .find_space_pool(space)?
            .embed_query(question)
            .await
            .ok()?;
        // A model that was replaced under the same name makes vectors of another space.
        (embedded.space == *space).then_some(embedded)
    }

    /// Returns the pool of a model that single users have, and starts it if needed; if the model is
    /// missing, each text gets that error.
    pub(crate) fn ensure_user_pool(
        &self,
        space: &EmbeddingSpace,
        options: &PoolOptions,
    ) -> EmbedPool {
        let options = PoolOptions {
            opens_at_once: false,
            ..options.clone()
        };
        let mut users = lock(&self.0.user_pools);
        if let Some((_, pool)) = users.iter().find(|(known, _)| known == space) {
            return pool.clone();
        }
        let open = (self.0.find)(space).unwrap_or_else(|| {
            let message = format!("the model `{}` is not on this machine", space.model);
            Arc::new(move || {
                let message = message.clone();
                Err(EmbedError::Unavailable { message })
            })
        });
        let pool = EmbedPool::start(options, open);
        users.push((space.clone(), pool.clone()));
        pool
    }

    fn find_space_pool(&self, space: &EmbeddingSpace) -> Option<EmbedPool> {
        if let Some((_, pool)) = lock(&self.0.user_pools)
            .iter()
            .find(|(known, _)| known == space)
        {
            return Some(pool.clone());
        }
        let mut pools = lock(&self.0.pools);
        if let Some((_, pool)) = pools.iter().find(|(known, _)| known == space) {
            return pool.clone();
        }
        let options = PoolOptions {
            threads: 1,
            retry: RETRY,
            ..PoolOptions::default()
        };
        let pool = (self.0.find)(space).map(|open| EmbedPool::start(options, open));
        pools.push((space.clone(), pool.clone()));
        pool
    }

    /// Ends the threads of all pools; returns whether all ended in time.
    pub(crate) async fn drain(&self, patience: Duration) -> bool {
        let pools: Vec<_> = {
            let mut pools = lock(&self.0.pools);
            let mut users = lock(&self.0.user_pools);
            let users = users.drain(..).map(|(_, pool)| pool);
            let pools = pools.drain(..).filter_map(|(_, pool)| pool);
            pools.chain(users).collect()
        };
        let mut in_time = true;
        for pool in pools {
            in_time &= pool.drain(patience).await;
        }
        in_time
    }
}
