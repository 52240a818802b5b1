//! A vector in shared chunks: cloning costs a counter per chunk, a change copies one chunk.
//!
//! Must never live here: anything that knows what the elements mean.

use std::sync::Arc;

/// Elements per chunk; a power of two so that finding one costs a shift and a mask.
const CHUNK: usize = 1024;

#[derive(Debug)]
struct Chunk<T>(Vec<T>);

/// Append and replace on the writer's side, cheap clones for snapshots.
#[derive(Debug)]
pub(crate) struct CowVec<T> {
    chunks: Vec<Arc<Chunk<T>>>,
    len: usize,
}

impl<T> Default for CowVec<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            len: 0,
        }
    }
}

impl<T> Clone for CowVec<T> {
    fn clone(&self) -> Self {
        Self {
            chunks: self.chunks.clone(),
            len: self.len,
        }
    }
}

impl<T: Clone> CowVec<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.0.get(index % CHUNK)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(index / CHUNK)?;
        own(chunk).0.get_mut(index % CHUNK)
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Arc::new(Chunk(Vec::with_capacity(CHUNK))));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            own(chunk).0.push(value);
            self.len += 1;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.0.iter())
    }

    /// Bytes of heap that the elements take, shared or not.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<T>()
    }
}

impl<T: Clone> FromIterator<T> for CowVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        // Chunk by chunk: pushing one by one would ask for each whether its chunk is shared.
        let mut values = values.into_iter();
        let mut all = Self::default();
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            chunk.extend(values.by_ref().take(CHUNK));
            if chunk.is_empty() {
                return all;
            }
            all.len += chunk.len();
            all.chunks.push(Arc::new(Chunk(chunk)));
        }
    }
}

/// The chunk, unshared. A copy gets room for a whole chunk at once, so that the push that follows
/// does not move it a second time.
fn own<T: Clone>(chunk: &mut Arc<Chunk<T>>) -> &mut Chunk<T> {
    if Arc::get_mut(chunk).is_none() {
        let mut copy = Vec::with_capacity(CHUNK);
        copy.extend_from_slice(&chunk.0);
        *chunk = Arc::new(Chunk(copy));
    }
    Arc::make_mut(chunk)
}

impl<T: Clone> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_what_it_saw() {
        let mut live: CowVec<u32> = (0..2_500).collect();
        let before = live.clone();
        live.push(9);
        *live.get_mut(1_500).unwrap() = 7;
        assert_eq!(before.len(), 2_500);
        assert!(before.iter().copied().eq(0..2_500));
        assert_eq!(live.len(), 2_501);
        assert_eq!(live.get(1_500), Some(&7));
        assert_eq!(live.get(2_500), Some(&9));
        assert_eq!(live.get(2_501), None);
        assert_eq!(live.get_mut(2_501), None);
    }

    #[test]
    fn only_the_touched_chunk_is_copied() {
        let mut live: CowVec<u32> = (0..3_000).collect();
        let before = live.clone();
        *live.get_mut(1_500).unwrap() = 7;
        let shared = |i: usize| Arc::ptr_eq(&live.chunks[i], &before.chunks[i]);
        assert!(shared(0) && !shared(1) && shared(2));
    }
}
