//! A copy-on-write vector of shared chunks: a clone costs a counter per chunk, a change copies one
//! chunk. Saved chunks can stay in their file until one of their elements is read, and the vector
//! knows which of its pages changed since it was saved.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A function that fetches the elements of some pages (the last page may be shorter). It replaces
/// unreadable elements by a placeholder, so that every other one keeps its index.
pub type PageFetcher<T> = Arc<dyn Fn(Range<usize>) -> Vec<T> + Send + Sync>;

/// A [`CowVec`] with chunks of a quarter of the usual size, so that a write copies less, which is
/// fetched from its file a whole chunk at a time.
pub type SmallChunkVec<T> = CowVec<T, 256, 256>;

#[derive(Debug)]
enum Chunk<T, const PAGE: usize> {
    Owned(Vec<T>),
    Lazy(LazyChunk<T, PAGE>),
}

struct LazyChunk<T, const PAGE: usize> {
    /// Let go, with the file that it reads, once all elements are in memory.
    fetch: Mutex<Option<PageFetcher<T>>>,
    first_page: usize,
    len: usize,
    pages: Box<[OnceLock<Box<[T]>>]>,
    /// All elements, once [`CowVec::load`] has read them.
    whole: OnceLock<Box<[T]>>,
}

impl<T, const PAGE: usize> fmt::Debug for LazyChunk<T, PAGE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LazyChunk({} from page {})", self.len, self.first_page)
    }
}

impl<T, const PAGE: usize> Chunk<T, PAGE> {
    fn len(&self) -> usize {
        match self {
            Self::Owned(elements) => elements.len(),
            Self::Lazy(lazy) => lazy.len,
        }
    }

    fn get(&self, offset: usize) -> Option<&T> {
        match self {
            Self::Owned(elements) => elements.get(offset),
            Self::Lazy(lazy) => match lazy.whole.get() {
                Some(whole) => whole.get(offset),
                None => lazy.page(offset / PAGE)?.get(offset % PAGE),
            },
        }
    }
}

impl<T, const PAGE: usize> LazyChunk<T, PAGE> {
    fn page(&self, number: usize) -> Option<&[T]> {
        let page = self.pages.get(number)?;
        if let Some(known) = page.get() {
            return Some(known);
        }
        // Two threads may both fetch it; the first result is kept.
        if let Some(fetched) = self.fetch(number..number + 1) {
            return Some(page.get_or_init(|| fetched.into()));
        }
        let rest = self.whole.get()?.get(number * PAGE..)?;
        Some(rest.get(..PAGE).unwrap_or(rest))
    }

    /// Fetches pages; `None` once all of them are in memory.
    fn fetch(&self, pages: Range<usize>) -> Option<Vec<T>> {
        let fetch = self.fetcher().clone()?;
        let (start, end) = (pages.start, pages.end);
        Some(fetch(self.first_page + start..self.first_page + end))
    }

    fn fetcher(&self) -> MutexGuard<'_, Option<PageFetcher<T>>> {
        self.fetch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load(&self) {
        self.whole
            .get_or_init(|| self.fetch(0..self.pages.len()).unwrap_or_default().into());
        *self.fetcher() = None;
    }
}

/// A copy-on-write vector: the writer appends and replaces, and snapshots are cheap clones. `CHUNK`
/// elements are copied together, a power of two so that an index splits by shift and mask; `PAGE`
/// of them are fetched together from a chunk that is still in its file.
#[derive(Debug)]
pub struct CowVec<T, const CHUNK: usize = 1024, const PAGE: usize = 32> {
    chunks: Vec<Arc<Chunk<T, PAGE>>>,
    len: usize,
    /// Pages that changed since they were saved; a clone, which nobody saves, has none.
    unsaved: BTreeSet<u32>,
}

/// Bytes that are contiguous once they are in memory, and are read page by page before that.
pub type PagedBytes = CowVec<u8, { 1 << 48 }, SECTION_PAGE_BYTES>;

/// Bytes of a page of [`PagedBytes`].
pub const SECTION_PAGE_BYTES: usize = 4096;

impl<T, const CHUNK: usize, const PAGE: usize> Default for CowVec<T, CHUNK, PAGE> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            len: 0,
            unsaved: BTreeSet::new(),
        }
    }
}

impl<T, const CHUNK: usize, const PAGE: usize> Clone for CowVec<T, CHUNK, PAGE> {
    fn clone(&self) -> Self {
        Self {
            chunks: self.chunks.clone(),
            len: self.len,
            unsaved: BTreeSet::new(),
        }
    }
}

impl<T, const CHUNK: usize, const PAGE: usize> CowVec<T, CHUNK, PAGE> {
    /// Builds a vector of `len` elements that `fetch` reads on demand.
    pub fn from_fetcher(len: usize, fetch: &PageFetcher<T>) -> Self {
        let chunk = |first: usize| {
            let len = CHUNK.min(len - first);
            Arc::new(Chunk::Lazy(LazyChunk {
                fetch: Mutex::new(Some(Arc::clone(fetch))),
                first_page: first / PAGE,
                len,
                pages: (0..len.div_ceil(PAGE)).map(|_| OnceLock::new()).collect(),
                whole: OnceLock::new(),
            }))
        };
        Self {
            chunks: (0..len).step_by(CHUNK).map(chunk).collect(),
            len,
            unsaved: BTreeSet::new(),
        }
    }

    /// Builds a vector of one chunk, at most `CHUNK` elements, without moving them.
    pub fn from_chunk(elements: Vec<T>) -> Self {
        let len = elements.len();
        debug_assert!(len <= CHUNK, "{len} elements are more than one chunk");
        let mut all = Self {
            chunks: vec![Arc::new(Chunk::Owned(elements))],
            len,
            unsaved: BTreeSet::new(),
        };
        all.mark_unsaved();
        all
    }

    /// Takes the numbers of pages that are not saved, ascending, until a budget of bytes is used
    /// up. What is left of it is 0 where some remain. They count as saved from now on.
    pub fn take_unsaved(&mut self, page_bytes: usize, budget: &mut usize) -> Vec<usize> {
        let mut taken = Vec::new();
        while *budget > 0
            && let Some(page) = self.unsaved.pop_first()
        {
            *budget = budget.saturating_sub(page_bytes);
            taken.push(page as usize);
        }
        taken
    }

    /// Returns how many pages are not saved.
    pub fn unsaved_count(&self) -> usize {
        self.unsaved.len()
    }

    /// Notes that no page is saved.
    pub fn mark_unsaved(&mut self) {
        self.unsaved = (0..self.len.div_ceil(PAGE) as u32).collect();
    }

    /// Takes over the unsaved pages of a column that is saved in the same section.
    pub fn join_unsaved<U, const OTHER: usize>(&mut self, other: &mut CowVec<U, OTHER, PAGE>) {
        self.unsaved.append(&mut other.unsaved);
    }

    /// Returns the elements of one page; none beyond the last.
    pub fn page(&self, number: usize) -> &[T] {
        let elements = self.contiguous_from(number * PAGE);
        elements.get(..PAGE).unwrap_or(elements)
    }

    /// Whether all elements are in memory.
    pub fn is_loaded(&self) -> bool {
        self.chunks.iter().all(|chunk| match &**chunk {
            Chunk::Owned(_) => true,
            Chunk::Lazy(lazy) => lazy.whole.get().is_some(),
        })
    }

    /// Whether the chunk of an element was read as a whole or written.
    pub fn is_loaded_at(&self, index: usize) -> bool {
        let chunk = self.chunks.get(index / CHUNK);
        chunk.is_some_and(|chunk| match &**chunk {
            Chunk::Owned(_) => true,
            Chunk::Lazy(lazy) => lazy.whole.get().is_some(),
        })
    }

    /// Fetches all elements that are still in the file, for every clone, so that reading one takes
    /// two steps and not five.
    pub fn load(&self) {
        for chunk in &self.chunks {
            if let Chunk::Lazy(lazy) = &**chunk {
                lazy.load();
            }
        }
    }

    /// Reads the elements that are still in the file from another vector from now on, which has the
    /// same elements in their place.
    pub fn move_unread_to(&mut self, same: &Self) {
        for (number, own) in self.chunks.iter_mut().enumerate() {
            let Chunk::Lazy(lazy) = &**own else {
                continue;
            };
            if lazy.whole.get().is_some() {
                continue;
            }
            match same.chunks.get(number) {
                Some(other) if other.len() == lazy.len => *own = Arc::clone(other),
                _ => lazy.load(),
            }
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let chunk = self.chunks.get(index / CHUNK);
        chunk.filter(|_| index < self.len)?.get(index % CHUNK)
    }

    /// Returns the elements from `index` on that are contiguous in memory; at least one if `index`
    /// is within the vector.
    pub fn contiguous_from(&self, index: usize) -> &[T] {
        let chunk = self.chunks.get(index / CHUNK);
        let (elements, at) = match chunk.map(|chunk| &**chunk) {
            Some(Chunk::Owned(elements)) => (elements.as_slice(), index % CHUNK),
            Some(Chunk::Lazy(lazy)) => {
                if let Some(whole) = lazy.whole.get() {
                    (&**whole, index % CHUNK)
                } else {
                    let page = lazy.page(index % CHUNK / PAGE);
                    (page.unwrap_or_default(), index % PAGE)
                }
            }
            None => (&[][..], 0),
        };
        elements.get(at..).unwrap_or_default()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let elements = |chunk: &'_ Arc<Chunk<T, PAGE>>| 0..chunk.len();
        self.chunks
            .iter()
            .flat_map(move |chunk| elements(chunk).filter_map(|offset| chunk.get(offset)))
    }

    /// Removes the oldest chunk, unless it is the only one. Returns how many elements it had.
    pub fn remove_oldest_chunk(&mut self) -> usize {
        let removed = match self.chunks.len() {
            0 | 1 => 0,
            _ => self.chunks.remove(0).len(),
        };
        self.len -= removed;
        removed
    }

    /// Bytes of heap that the elements use, shared or not.
    pub fn memory_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T: Clone, const CHUNK: usize, const PAGE: usize> CowVec<T, CHUNK, PAGE> {
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(index / CHUNK)?;
        let element = make_owned(chunk, CHUNK).get_mut(index % CHUNK)?;
        self.unsaved.insert((index / PAGE) as u32);
        Some(element)
    }

    pub fn push(&mut self, value: T) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks
                .push(Arc::new(Chunk::Owned(Vec::with_capacity(CHUNK))));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            make_owned(chunk, CHUNK).push(value);
            self.unsaved.insert((self.len / PAGE) as u32);
            self.len += 1;
        }
    }
}

impl<T, const CHUNK: usize, const PAGE: usize> FromIterator<T> for CowVec<T, CHUNK, PAGE> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        // Chunk by chunk: pushing one by one would check for each element whether its chunk is
        // shared.
        let mut values = values.into_iter();
        let mut all = Self::default();
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            chunk.extend(values.by_ref().take(CHUNK));
            if chunk.is_empty() {
                all.mark_unsaved();
                return all;
            }
            all.len += chunk.len();
            all.chunks.push(Arc::new(Chunk::Owned(chunk)));
        }
    }
}

impl PagedBytes {
    /// Returns the bytes of a range, from the file if they are in several pages there; empty if the
    /// range ends beyond the last.
    pub fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        if range.is_empty() || range.end > self.len {
            return Cow::Borrowed(&[]);
        }
        if let Some(Chunk::Lazy(lazy)) = self.chunks.first().map(|chunk| &**chunk)
            && lazy.whole.get().is_none()
        {
            let first = range.start / SECTION_PAGE_BYTES;
            let last = (range.end - 1) / SECTION_PAGE_BYTES;
            let from = range.start - first * SECTION_PAGE_BYTES;
            if first == last {
                let page = lazy.page(first).unwrap_or_default();
                return Cow::Borrowed(page.get(from..from + range.len()).unwrap_or_default());
            }
            if let Some(mut bytes) = lazy.fetch(first..last + 1) {
                bytes.truncate(from + range.len());
                bytes.drain(..from);
                return Cow::Owned(bytes);
            }
        }
        let bytes = self.contiguous_from(range.start);
        Cow::Borrowed(bytes.get(..range.len()).unwrap_or_default())
    }
}

/// Returns the elements of a chunk, which is copied first if it is shared or still in its file. A
/// copy gets the capacity of a whole chunk, so that a following push does not reallocate.
fn make_owned<T: Clone, const PAGE: usize>(
    chunk: &mut Arc<Chunk<T, PAGE>>,
    capacity: usize,
) -> &mut Vec<T> {
    let is_owned = Arc::get_mut(chunk).is_some_and(|chunk| matches!(chunk, Chunk::Owned(_)));
    if !is_owned {
        let mut copy = Vec::with_capacity(capacity);
        copy.extend((0..chunk.len()).filter_map(|offset| chunk.get(offset).cloned()));
        *chunk = Arc::new(Chunk::Owned(copy));
    }
    match Arc::get_mut(chunk) {
        Some(Chunk::Owned(elements)) => elements,
        _ => unreachable!("the chunk was replaced by an owned one just now"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_what_it_saw_and_shares_what_was_not_touched() {
        let mut live: CowVec<u32> = (0..2_500).collect();
        let before = live.clone();
        live.push(9);
        *live.get_mut(1_500).unwrap() = 7;
        assert_eq!((before.len(), live.len()), (2_500, 2_501));
        assert!(before.iter().copied().eq(0..2_500));
        let first = |at: usize| before.contiguous_from(at).first().copied();
        assert_eq!([0, 1_030, 2_500].map(first), [Some(0), Some(1_030), None]);
        assert_eq!(before.contiguous_from(1_030).len(), 1_018);
        assert_eq!(
            [1_500, 2_500, 2_501].map(|at| live.get(at).copied()),
            [Some(7), Some(9), None]
        );
        assert_eq!(live.get_mut(2_501), None);
        let shared = |i: usize| Arc::ptr_eq(&live.chunks[i], &before.chunks[i]);
        assert!(shared(0) && !shared(1) && !shared(2));
        assert_eq!((live.remove_oldest_chunk(), live.len()), (1_024, 1_477));
        assert_eq!(live.get(476), Some(&7));
    }

    #[test]
    fn what_was_left_is_fetched_page_by_page_once() {
        let fetched = Arc::new(Mutex::new(Vec::new()));
        let fetch_log = Arc::clone(&fetched);
        let fetch: PageFetcher<u32> = Arc::new(move |pages| {
            fetch_log.lock().unwrap().push(pages.start);
            (pages.start as u32 * 32..2_500.min(pages.end as u32 * 32)).collect()
        });
        let mut live: CowVec<u32> = CowVec::from_fetcher(2_500, &fetch);
        assert_eq!((live.len(), live.get(2_500)), (2_500, None));
        for at in [40, 41, 1_030, 2_499] {
            assert_eq!(live.get(at), Some(&(at as u32)));
        }
        assert_eq!(*fetched.lock().unwrap(), [1, 32, 78]);
        let before = live.clone();
        live.load();
        let so_far = fetched.lock().unwrap().len();
        before.load();
        assert!(
            (0..79)
                .flat_map(|page| before.page(page))
                .copied()
                .eq(0..2_500)
        );
        assert_eq!(fetched.lock().unwrap().len(), so_far);
        assert_eq!(live.unsaved_count(), 0, "reading changes nothing");
        live.push(2_500);
        *live.get_mut(3).unwrap() = 9;
        assert_eq!(live.take_unsaved(128, &mut 1), [0]);
        assert_eq!(live.take_unsaved(128, &mut 0), [0; 0]);
        assert_eq!(live.take_unsaved(128, &mut 999), [78]);
        assert_eq!(live.unsaved_count(), 0, "what was taken counts as saved");
        live.mark_unsaved();
        assert_eq!(live.unsaved_count(), 79);
        assert!(before.iter().copied().eq(0..2_500));
        assert!(
            (0..79)
                .flat_map(|page| before.page(page))
                .copied()
                .eq(0..2_500)
        );
        assert_eq!(
            live.iter().copied().sum::<u32>(),
            (0..=2_500).sum::<u32>() + 6
        );
    }
}
