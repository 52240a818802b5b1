//! A cache of query vectors: people and agents repeat queries.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use reprise_types::{Embedding, EmbeddingSpace};

/// Least recently used is evicted first; with capacity 0 it caches nothing.
#[derive(Debug)]
pub(super) struct QueryCache(Option<Mutex<LruCache<String, Arc<Embedding>>>>);

impl QueryCache {
    pub(super) fn new(most: usize) -> Self {
        Self(NonZeroUsize::new(most).map(|most| Mutex::new(LruCache::new(most))))
    }

    pub(super) fn get(&self, text: &str) -> Option<Arc<Embedding>> {
        self.with(|held| held.get(text).cloned()).flatten()
    }

    pub(super) fn put(&self, text: &str, embedding: &Arc<Embedding>) {
        self.keep_only(&embedding.space);
        self.with(|held| held.put(text.to_owned(), Arc::clone(embedding)));
    }

    /// Clears the cache where it is of another space: another model was opened, and vectors of two
    /// spaces are never compared.
    pub(super) fn keep_only(&self, space: &EmbeddingSpace) {
        self.with(|held| {
            if held
                .iter()
                .next()
                .is_some_and(|(_, one)| one.space != *space)
            {
                held.clear();
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut LruCache<String, Arc<Embedding>>) -> T) -> Option<T> {
        let held = self.0.as_ref()?;
        Some(work(
            &mut held.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}
