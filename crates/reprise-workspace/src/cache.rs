//! Keeps what takes long to make, so that the same is not made twice.

use std::collections::BTreeMap;
use std::sync::Mutex;

use reprise_types::lock;

use crate::error::Result;

/// Returns the cached value of a key, or makes and caches it, because reading a rule takes longer
/// than all the rest of a decision. At most `cache_max` values are kept.
pub(crate) fn get_or_make<K: Ord, V: Clone>(
    cache: &Mutex<BTreeMap<K, V>>,
    cache_max: usize,
    key: K,
    make: impl FnOnce(&K) -> Result<V>,
) -> Result<V> {
    if let Some(made) = lock(cache).get(&key) {
        return Ok(made.clone());
    }
    let made = make(&key)?;
    let mut cache = lock(cache);
    if cache.len() >= cache_max {
        cache.clear();
    }
    cache.insert(key, made.clone());
    Ok(made)
}
