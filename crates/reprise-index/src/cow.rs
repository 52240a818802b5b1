//! A copy-on-write vector of shared chunks: a clone costs a counter per chunk, a change copies one
//! chunk. Saved chunks can stay in their file until one of their elements is read.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// Elements per chunk; a power of two, so that an index splits by shift and mask.
const CHUNK: usize = 1024;
/// Elements fetched together of a chunk that is still in its file.
pub(crate) const PAGE: usize = 32;

/// Fetches one page of [`PAGE`] elements (the last may be shorter); unreadable elements are
/// replaced by a placeholder, so that every other one keeps its index.
pub(crate) type Fetch<T> = Arc<dyn Fn(usize) -> Vec<T> + Send + Sync>;

#[derive(Debug)]
enum Chunk<T> {
    Own(Vec<T>),
    Left(LeftChunk<T>),
}

struct LeftChunk<T> {
    fetch: Fetch<T>,
    first_page: usize,
    len: usize,
    pages: Box<[OnceLock<Box<[T]>>]>,
}

impl<T> fmt::Debug for LeftChunk<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeftChunk")
            .field("first_page", &self.first_page)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T> Chunk<T> {
    fn len(&self) -> usize {
        match self {
            Self::Own(elements) => elements.len(),
            Self::Left(left) => left.len,
        }
    }

    fn get(&self, place: usize) -> Option<&T> {
        match self {
            Self::Own(elements) => elements.get(place),
            Self::Left(left) => left.get(place),
        }
    }
}

impl<T> LeftChunk<T> {
    fn get(&self, place: usize) -> Option<&T> {
        let number = place / PAGE;
        let fetch = || (self.fetch)(self.first_page + number).into_boxed_slice();
        let page = self.pages.get(number)?.get_or_init(fetch);
        page.get(place % PAGE)
    }
}

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
    /// `len` elements that `fetch` reads on demand.
    pub(crate) fn left(len: usize, fetch: &Fetch<T>) -> Self {
        let chunk = |first: usize| {
            let len = CHUNK.min(len - first);
            Arc::new(Chunk::Left(LeftChunk {
                fetch: Arc::clone(fetch),
                first_page: first / PAGE,
                len,
                pages: (0..len.div_ceil(PAGE)).map(|_| OnceLock::new()).collect(),
            }))
        };
        Self {
            chunks: (0..len).step_by(CHUNK).map(chunk).collect(),
            len,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let chunk = self
            .chunks
            .get(index / CHUNK)
            .filter(|_| index < self.len)?;
        chunk.get(index % CHUNK)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(index / CHUNK)?;
        own(chunk).get_mut(index % CHUNK)
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks
                .push(Arc::new(Chunk::Own(Vec::with_capacity(CHUNK))));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            own(chunk).push(value);
            self.len += 1;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let elements = |chunk: &'_ Arc<Chunk<T>>| 0..chunk.len();
        self.chunks
            .iter()
            .flat_map(move |chunk| elements(chunk).filter_map(|place| chunk.get(place)))
    }

    /// Bytes of heap that the elements take, shared or not.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<T>()
    }
}

impl<T: Clone> FromIterator<T> for CowVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        // Chunk by chunk: pushing one by one would check for each element whether its chunk is
        // shared.
        let mut values = values.into_iter();
        let mut all = Self::default();
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            chunk.extend(values.by_ref().take(CHUNK));
            if chunk.is_empty() {
                return all;
            }
            all.len += chunk.len();
            all.chunks.push(Arc::new(Chunk::Own(chunk)));
        }
    }
}

/// The elements of a chunk, unshared. A copy gets the capacity of a whole chunk, so that the push
/// that follows does not reallocate.
fn own<T: Clone>(chunk: &mut Arc<Chunk<T>>) -> &mut Vec<T> {
    let is_own = Arc::get_mut(chunk).is_some_and(|chunk| matches!(chunk, Chunk::Own(_)));
    if !is_own {
        let mut copy = Vec::with_capacity(CHUNK);
        copy.extend((0..chunk.len()).filter_map(|place| chunk.get(place).cloned()));
        *chunk = Arc::new(Chunk::Own(copy));
    }
    match Arc::make_mut(chunk) {
        Chunk::Own(elements) => elements,
        Chunk::Left(_) => unreachable!("it was made our own just now"),
    }
}

impl<T: Clone> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        let elements = (0..self.len()).filter_map(|place| self.get(place).cloned());
        Self::Own(elements.collect())
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

    #[test]
    fn what_was_left_is_fetched_page_by_page_once() {
        use std::sync::Mutex;
        let fetched = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&fetched);
        let fetch: Fetch<u32> = Arc::new(move |page| {
            asked.lock().unwrap().push(page);
            let first = (page * PAGE) as u32;
            (first..2_500.min(first + PAGE as u32)).collect()
        });
        let mut live = CowVec::left(2_500, &fetch);
        assert_eq!((live.len(), live.get(2_500)), (2_500, None));
        for at in [40, 41, 1_030, 2_499] {
            assert_eq!(live.get(at), Some(&(at as u32)));
        }
        assert_eq!(*fetched.lock().unwrap(), [1, 32, 78]);
        let before = live.clone();
        live.push(2_500);
        *live.get_mut(3).unwrap() = 9;
        assert!(before.iter().copied().eq(0..2_500));
        assert_eq!(
            live.iter().copied().sum::<u32>(),
            (0..=2_500).sum::<u32>() + 6
        );
    }
}
