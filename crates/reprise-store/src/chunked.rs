//! A growing list that can be snapshotted in constant time: chunks behind `Arc`, copied on write.
//!
//! Lives here: the container. Never here: what it contains.

use std::sync::Arc;

/// Items per chunk: what one write copies at most while a snapshot is alive.
const CHUNK: usize = 256;

/// Cloning is two words; a write copies the chunk it touches if a clone still shows it.
#[derive(Debug)]
#[expect(
    clippy::rc_buffer,
    reason = "the vectors grow in place while nobody else holds them"
)]
pub struct Chunked<T> {
    chunks: Arc<Vec<Arc<Vec<T>>>>,
    len: usize,
}

impl<T> Clone for Chunked<T> {
    fn clone(&self) -> Self {
        Self {
            chunks: Arc::clone(&self.chunks),
            len: self.len,
        }
    }
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self {
            chunks: Arc::new(Vec::new()),
            len: 0,
        }
    }
}

impl<T: Clone> Chunked<T> {
    /// Items in it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The item at a place.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    /// The item at a place, to be changed; its chunk is copied where a clone shows it.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(index / CHUNK)?;
        Arc::make_mut(chunk).get_mut(index % CHUNK)
    }

    /// Puts an item at the end.
    pub fn push(&mut self, item: T) {
        let chunks = Arc::make_mut(&mut self.chunks);
        if let Some(last) = chunks.last_mut().filter(|last| last.len() < CHUNK) {
            Arc::make_mut(last).push(item);
        } else {
            let mut chunk = Vec::with_capacity(CHUNK);
            chunk.push(item);
            chunks.push(Arc::new(chunk));
        }
        self.len += 1;
    }

    /// The items, from the first on.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

impl<T> FromIterator<T> for Chunked<T> {
    /// Chunk by chunk: pushing one by one would ask for each whether its chunk is shared.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        let mut chunks = Vec::new();
        let mut len = 0;
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            chunk.extend(items.by_ref().take(CHUNK));
            if chunk.is_empty() {
                return Self {
                    chunks: Arc::new(chunks),
                    len,
                };
            }
            len += chunk.len();
            chunks.push(Arc::new(chunk));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_made_at_once_grows_like_one_pushed() {
        for count in [0, 1, 255, 256, 257, 1000] {
            let mut at_once: Chunked<u32> = (0..count).collect();
            let mut pushed = Chunked::default();
            for item in 0..count {
                pushed.push(item);
            }
            for list in [&mut at_once, &mut pushed] {
                list.push(count);
            }
            assert_eq!(at_once.len(), pushed.len());
            assert!(at_once.iter().eq(pushed.iter()));
            assert_eq!(at_once.get(count as usize), Some(&count));
        }
    }

    #[test]
    fn a_snapshot_does_not_see_later_writes() {
        let mut list = Chunked::default();
        for i in 0..1000 {
            list.push(i);
        }
        let before = list.clone();
        list.push(1000);
        *list.get_mut(3).unwrap() = -3;
        assert_eq!((before.len(), list.len()), (1000, 1001));
        assert_eq!((before.get(3), list.get(3)), (Some(&3), Some(&-3)));
        assert_eq!((before.get(1000), list.get(1001)), (None, None));
        assert_eq!(
            before.iter().copied().collect::<Vec<_>>(),
            (0..1000).collect::<Vec<_>>()
        );
        assert!(list.get_mut(1001).is_none());
    }
}
