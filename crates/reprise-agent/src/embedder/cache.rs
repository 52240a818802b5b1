//! The vectors of recent questions: people and agents ask the same thing several times.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use reprise_types::EmbeddingSpace;

use super::types::Embedded;

/// Least recently used goes first.
#[derive(Debug)]
pub(super) struct QueryCache {
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    tick: u64,
    entries: HashMap<String, (u64, Arc<Embedded>)>,
}

impl QueryCache {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            inner: Mutex::new(Inner::default()),
        }
    }

    pub(super) fn get(&self, text: &str) -> Option<Arc<Embedded>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.tick += 1;
        let tick = inner.tick;
        let (used, embedded) = inner.entries.get_mut(text)?;
        *used = tick;
        Some(Arc::clone(embedded))
    }

    pub(super) fn put(&self, text: &str, embedded: &Arc<Embedded>) {
        if self.most == 0 {
            return;
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.keep_only(&embedded.space);
        if inner.entries.len() >= self.most && !inner.entries.contains_key(text) {
            let oldest = inner.entries.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(text, _)| text.clone()) {
                inner.entries.remove(&oldest);
            }
        }
        inner.tick += 1;
        let tick = inner.tick;
        inner
            .entries
            .insert(text.to_owned(), (tick, Arc::clone(embedded)));
    }

    /// Forgets everything where it is of another space: another model has been opened.
    pub(super) fn keep_only(&self, space: &EmbeddingSpace) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.keep_only(space);
    }
}

impl Inner {
    /// Vectors of two spaces are never compared, so those of an older model are of no use.
    fn keep_only(&mut self, space: &EmbeddingSpace) {
        let mut held = self.entries.values();
        if held.next().is_some_and(|(_, held)| held.space != *space) {
            self.entries.clear();
        }
    }
}
