//! Models beside the one that is in use for all. Some users have one of their own. The others are
//! not in use any more, for questions about what they made: while a memory's vectors are made anew,
//! what waits is compared with the question in its own space.
//!
//! A pool of one thread for each, started when a memory first asks for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reprise_types::{EmbedError, Embedding, EmbeddingSpace, lock};

use crate::embedder::{EmbedPool, OpenEmbedder, PoolOptions};

/// How long a model that is not there is done without.
const RETRY: Duration = Duration::from_mins(1);

/// Knows how the model of a space is opened; `None` for one that it does not know.
type FindModel = dyn Fn(&EmbeddingSpace) -> Option<OpenEmbedder> + Send + Sync;

/// The models before the one in use. Cheap to clone.
#[derive(Clone)]
pub struct OtherModels(Arc<Inner>);

struct Inner {
    find: Box<FindModel>,
    pools: Mutex<Vec<(EmbeddingSpace, Option<EmbedPool>)>>,
    /// Of the models that some users have.
    users: Mutex<Vec<(EmbeddingSpace, EmbedPool)>>,
}

reprise_types::show_fields!(OtherModels {});

impl OtherModels {
    /// The models that `find` knows. None is opened yet, and none should be fetched for this.
    pub fn new(
        find: impl Fn(&EmbeddingSpace) -> Option<OpenEmbedder> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            find: Box::new(find),
            pools: Mutex::default(),
            users: Mutex::default(),
        }))
    }

    /// The vector of a question in a space; `None` where there is no model for it.
    pub(crate) async fn query(
        &self,
        space: &EmbeddingSpace,
        question: &str,
    ) -> Option<Arc<Embedding>> {
        let embedded = self.pool(space)?.query(question).await.ok()?;
        // A model that was replaced under its name makes vectors of another space.
        (embedded.space == *space).then_some(embedded)
    }

    /// The pool of a model that some users have; where it is not there, each text is told so.
    pub(crate) fn in_use(&self, space: &EmbeddingSpace, options: &PoolOptions) -> EmbedPool {
        let options = PoolOptions {
            opens_at_once: false,
            ..options.clone()
        };
        let mut users = lock(&self.0.users);
        if let Some((_, pool)) = users.iter().find(|(known, _)| known == space) {
            return pool.clone();
        }
        let open = (self.0.find)(space).unwrap_or_else(|| {
            let message = format!("the model `{}` is not here", space.model);
            Arc::new(move || {
                let message = message.clone();
                Err(EmbedError::Unavailable { message })
            })
        });
        let pool = EmbedPool::start(options, open);
        users.push((space.clone(), pool.clone()));
        pool
    }

    fn pool(&self, space: &EmbeddingSpace) -> Option<EmbedPool> {
        if let Some((_, pool)) = lock(&self.0.users).iter().find(|(known, _)| known == space) {
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

    /// Ends the threads; `false` where some did not end in time.
    pub(crate) async fn drain(&self, patience: Duration) -> bool {
        let pools: Vec<_> = {
            let mut pools = lock(&self.0.pools);
            let mut users = lock(&self.0.users);
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
