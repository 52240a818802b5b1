//! A growing list that can be snapshotted in constant time: chunks behind `Arc`, copied on write,
//! and read out of their saved form when they are first asked for.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// Items per chunk: what one write copies at most while a snapshot is alive.
pub(crate) const CHUNK: usize = 256;

/// Reads a chunk: its number and its count of items. Items that cannot be decoded are replaced by a
/// placeholder, so that every other item keeps its index.
pub(crate) type ReadChunk<T> = Arc<dyn Fn(usize, usize) -> Vec<T> + Send + Sync>;

/// Cloning is two words; a write copies the chunk it touches if a clone still shows it.
#[derive(Debug)]
#[expect(
    clippy::rc_buffer,
    reason = "the vectors grow in place while nobody else holds them"
)]
pub struct Chunked<T> {
    chunks: Arc<Vec<Arc<Chunk<T>>>>,
    len: usize,
}

/// One chunk: its items, or how to read them.
struct Chunk<T> {
    items: OnceLock<Vec<T>>,
    saved: Option<Saved<T>>,
}

struct Saved<T> {
    read: ReadChunk<T>,
    number: usize,
    len: usize,
}

impl<T> fmt::Debug for Chunk<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").finish_non_exhaustive()
    }
}

impl<T: Clone> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        Self::of(self.items().clone())
    }
}

impl<T> Chunk<T> {
    fn of(items: Vec<T>) -> Self {
        Self {
            items: items.into(),
            saved: None,
        }
    }

    fn items(&self) -> &Vec<T> {
        self.items.get_or_init(|| {
            let saved = self.saved.as_ref();
            saved.map_or_else(Vec::new, |saved| (saved.read)(saved.number, saved.len))
        })
    }

    fn items_mut(&mut self) -> Option<&mut Vec<T>> {
        self.items();
        self.items.get_mut()
    }
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
    /// `len` items, read by `read` when first asked for.
    pub(crate) fn saved(len: usize, read: &ReadChunk<T>) -> Self {
        let chunk = |number: usize| {
            Arc::new(Chunk {
                items: OnceLock::new(),
                saved: Some(Saved {
                    read: Arc::clone(read),
                    number,
                    len: CHUNK.min(len - number * CHUNK),
                }),
            })
        };
        Self {
            chunks: Arc::new((0..len.div_ceil(CHUNK)).map(chunk).collect()),
            len,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        let chunk = self
            .chunks
            .get(index / CHUNK)
            .filter(|_| index < self.len)?;
        chunk.items().get(index % CHUNK)
    }

    /// The item for writing; its chunk is copied where a clone shares it.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(index / CHUNK)?;
        Arc::make_mut(chunk).items_mut()?.get_mut(index % CHUNK)
    }

    pub fn push(&mut self, item: T) {
        let chunks = Arc::make_mut(&mut self.chunks);
        let last = chunks
            .last_mut()
            .filter(|_| !self.len.is_multiple_of(CHUNK));
        if let Some(items) = last.and_then(|last| Arc::make_mut(last).items_mut()) {
            items.push(item);
        } else {
            let mut chunk = Vec::with_capacity(CHUNK);
            chunk.push(item);
            chunks.push(Arc::new(Chunk::of(chunk)));
        }
        self.len += 1;
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.items().iter())
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[T]> {
        self.chunks.iter().map(|chunk| chunk.items().as_slice())
    }
}

impl<T> FromIterator<T> for Chunked<T> {
    /// Chunk by chunk: pushing one by one would check for each item whether its chunk is shared.
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
            chunks.push(Arc::new(Chunk::of(chunk)));
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
    fn a_saved_list_is_read_chunk_by_chunk_once_and_grows() {
        use std::sync::Mutex;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let read: ReadChunk<usize> = Arc::new(move |number, len| {
            seen.lock().unwrap().push(number);
            (number * CHUNK..number * CHUNK + len).collect()
        });
        let mut list = Chunked::saved(600, &read);
        assert_eq!(
            (list.get(300), list.get(301), list.get(600)),
            (Some(&300), Some(&301), None)
        );
        assert_eq!(*asked.lock().unwrap(), [1]);
        let before = list.clone();
        list.push(600);
        *list.get_mut(0).unwrap() = 7;
        assert!(before.iter().copied().eq(0..600));
        assert!(list.iter().copied().eq(std::iter::once(7).chain(1..601)));
        assert_eq!(
            list.chunks().map(<[usize]>::len).collect::<Vec<_>>(),
            [256, 256, 89]
        );
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
