//! The nodes and their links.
//!
//! A graph covers the ordinals `low..high`, grown from the newest downward, so that the records
//! most asked for come first; what it does not cover is the caller's to scan. Chunks are shared
//! with clones and copied when changed.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

/// Links of a node on an upper layer, and those that an insert chooses on every layer.
pub(crate) const M: usize = 16;
/// Links of a node on layer 0.
pub(crate) const M0: usize = 32;
/// Nodes per shared chunk; changing one node copies its chunk.
const CHUNK: usize = 64;
/// "No upper layer" in a node.
pub(crate) const FLAT: u32 = u32::MAX;

/// Similarities of documents; the graph stores no vectors.
pub trait Metric {
    /// The higher the more alike; symmetric.
    fn similarity(&self, a: u32, b: u32) -> f32;
}

/// A node on layer 0: its links, ascending, and where its upper layers stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    links: Links<M0>,
    pub(crate) upper: u32,
}

/// Up to `N` ordinals, ascending, so that a loaded graph answers exactly as the saved one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links<const N: usize> {
    count: u32,
    ids: [u32; N],
}

impl<const N: usize> Links<N> {
    const NONE: Self = Self {
        count: 0,
        ids: [0; N],
    };

    fn of(ids: &[u32]) -> Self {
        let mut links = Self::NONE;
        for (place, id) in links.ids.iter_mut().zip(ids) {
            *place = *id;
            links.count += 1;
        }
        links.ids[..links.count as usize].sort_unstable();
        links
    }

    fn as_slice(&self) -> &[u32] {
        self.ids.get(..self.count as usize).unwrap_or_default()
    }
}

pub(crate) type Chunk = [Node; CHUNK];

/// The upper layers of one node, from layer 1 up.
pub(crate) type Upper = Vec<Links<M>>;

/// Cheap to clone; a clone never changes.
#[expect(
    clippy::rc_buffer,
    reason = "the lists grow in place while no clone shares them"
)]
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub(crate) chunks: Arc<Vec<Option<Arc<Chunk>>>>,
    pub(crate) uppers: Arc<Vec<Arc<Upper>>>,
    /// Entry point of a search and the highest layer.
    pub(crate) entry: Option<(u32, usize)>,
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// Covered documents whose vector arrived or changed after their insert, so their links are
    /// stale.
    pub(crate) loose: Arc<OrdinalSet>,
}

/// One bit for each ordinal.
#[derive(Debug, Clone, Default)]
pub(crate) struct OrdinalSet {
    words: Vec<u64>,
    pub(crate) count: usize,
}

impl OrdinalSet {
    fn word(&self, number: usize) -> u64 {
        self.words.get(number).copied().unwrap_or(0)
    }

    fn holds(&self, ordinal: u32) -> bool {
        self.word(ordinal as usize / 64) >> (ordinal % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, ordinal: u32) {
        let number = ordinal as usize / 64;
        if self.words.len() <= number {
            self.words.resize(number + 1, 0);
        }
        self.count += usize::from(!self.holds(ordinal));
        self.words[number] |= 1 << (ordinal % 64);
    }

    pub(crate) fn remove(&mut self, ordinal: u32) {
        if self.holds(ordinal) {
            self.count -= 1;
            self.words[ordinal as usize / 64] &= !(1 << (ordinal % 64));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).zip(&self.words).flat_map(|(number, word)| {
            let set = move |bit: &u32| word >> bit & 1 == 1;
            (0..64).filter(set).map(move |bit| number * 64 + bit)
        })
    }

    pub(crate) fn pop(&mut self) -> Option<u32> {
        let number = self.words.iter().rposition(|word| *word != 0)?;
        let last = number as u32 * 64 + self.words[number].ilog2();
        self.words.truncate(number + 1);
        self.remove(last);
        Some(last)
    }
}

impl Graph {
    /// Whether it holds no node.
    pub fn is_empty(&self) -> bool {
        self.entry.is_none()
    }

    /// The ordinals that it covers, whether each has a vector or not.
    pub fn covered(&self) -> Range<u32> {
        self.low..self.high
    }

    /// Documents that a search finds.
    pub fn found(&self) -> usize {
        self.covered().len() - self.loose.count
    }

    /// Which of the documents from `64 * number` on a search finds, one bit each.
    pub fn found_word(&self, number: usize) -> u64 {
        let first = (number * 64) as u64;
        let below = |end: u32| match u64::from(end).saturating_sub(first) {
            bits @ 0..64 => (1 << bits) - 1,
            _ => u64::MAX,
        };
        below(self.high) & !below(self.low) & !self.loose.word(number)
    }

    /// Whether a search finds the document.
    pub fn finds(&self, ordinal: u32) -> bool {
        self.covered().contains(&ordinal) && !self.loose.holds(ordinal)
    }

    /// Marks a document whose vector changed.
    pub fn moved(&mut self, ordinal: u32) {
        if self.covered().contains(&ordinal) {
            Arc::make_mut(&mut self.loose).insert(ordinal);
        }
    }

    pub(crate) fn node(&self, ordinal: u32) -> Option<&Node> {
        let chunk = self.chunks.get(ordinal as usize / CHUNK)?.as_ref()?;
        chunk.get(ordinal as usize % CHUNK)
    }

    pub(crate) fn links(&self, ordinal: u32, layer: usize) -> &[u32] {
        let Some(node) = self.node(ordinal) else {
            return &[];
        };
        if layer == 0 {
            return node.links.as_slice();
        }
        let upper = self.uppers.get(node.upper as usize);
        upper
            .and_then(|upper| upper.get(layer - 1))
            .map_or(&[], Links::as_slice)
    }

    /// How many layers a node is on.
    pub(crate) fn layers(&self, node: u32) -> usize {
        let upper = self.node(node).map(|node| node.upper);
        let upper = upper.and_then(|upper| self.uppers.get(upper as usize));
        1 + upper.map_or(0, |upper| upper.len())
    }

    pub(crate) fn set_links(&mut self, ordinal: u32, layer: usize, ids: &[u32]) {
        let place = ordinal as usize;
        let chunks = Arc::make_mut(&mut self.chunks);
        if chunks.len() <= place / CHUNK {
            chunks.resize(place / CHUNK + 1, None);
        }
        let empty = Node {
            links: Links::NONE,
            upper: FLAT,
        };
        let chunk = chunks[place / CHUNK].get_or_insert_with(|| Arc::new([empty; CHUNK]));
        let node = &mut Arc::make_mut(chunk)[place % CHUNK];
        if layer == 0 {
            node.links = Links::of(ids);
            return;
        }
        if node.upper == FLAT {
            node.upper = self.uppers.len() as u32;
            Arc::make_mut(&mut self.uppers).push(Arc::default());
        }
        let uppers = Arc::make_mut(&mut self.uppers);
        if let Some(upper) = uppers.get_mut(node.upper as usize) {
            let upper = Arc::make_mut(upper);
            if upper.len() < layer {
                upper.resize(layer, Links::NONE);
            }
            upper[layer - 1] = Links::of(ids);
        }
    }

    /// Bytes of heap behind it.
    pub fn memory_bytes(&self) -> usize {
        let chunks = self.chunks.iter().flatten().count() * size_of::<Chunk>();
        chunks
            + self.loose.words.len() * 8
            + self.uppers.len() * (size_of::<Links<M>>() + size_of::<Upper>())
    }
}
