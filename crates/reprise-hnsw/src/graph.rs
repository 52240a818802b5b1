//! The nodes and their links.
//!
//! A graph covers the ordinals `low..high` and grows from the newest downward, so that the records
//! that are searched most come first; the caller scans those that it does not cover. Chunks are
//! shared with clones and copied when changed.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

/// Most links of a node on an upper layer, and most that an insert selects on every layer.
pub(crate) const M: usize = 16;
/// Most links of a node on layer 0.
pub(crate) const M0: usize = 32;
/// Nodes per shared chunk; changing one node copies its chunk.
const CHUNK: usize = 64;
/// The value of a node's `upper` if it has no upper layer.
pub(crate) const NO_UPPER: u32 = u32::MAX;

/// The similarities of documents, since the graph stores no vectors.
pub trait Metric {
    /// Returns the similarity of two documents: higher is more similar. It must be symmetric.
    fn similarity(&self, a: u32, b: u32) -> f32;
}

/// A node: its links on layer 0, and the index of its upper layers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GraphNode {
    links: NodeLinks<M0>,
    pub(crate) upper: u32,
}

/// Up to `N` ordinals, ascending, so that a decoded graph searches exactly as the encoded one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeLinks<const N: usize> {
    count: u32,
    ids: [u32; N],
}

impl<const N: usize> NodeLinks<N> {
    const NONE: Self = Self {
        count: 0,
        ids: [0; N],
    };

    fn from_ids(ids: &[u32]) -> Self {
        let mut links = Self::NONE;
        for (slot, id) in links.ids.iter_mut().zip(ids) {
            *slot = *id;
            links.count += 1;
        }
        links.ids[..links.count as usize].sort_unstable();
        links
    }

    fn as_slice(&self) -> &[u32] {
        self.ids.get(..self.count as usize).unwrap_or_default()
    }
}

pub(crate) type NodeChunk = [GraphNode; CHUNK];

/// The links of one node on its upper layers, from layer 1 up.
pub(crate) type UpperLayers = Vec<NodeLinks<M>>;

/// The graph. It is cheap to clone, and a clone does not change with the original.
#[expect(
    clippy::rc_buffer,
    reason = "the lists grow in place while no clone shares them"
)]
#[derive(Debug, Clone, Default)]
pub struct HnswGraph {
    pub(crate) chunks: Arc<Vec<Option<Arc<NodeChunk>>>>,
    pub(crate) uppers: Arc<Vec<Arc<UpperLayers>>>,
    /// The node at which a search begins, and its highest layer.
    pub(crate) entry_point: Option<(u32, usize)>,
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// Covered documents without usable links: their vector arrived or changed after their insert.
    pub(crate) stale: Arc<OrdinalSet>,
}

/// A set of ordinals, one bit each.
#[derive(Debug, Clone, Default)]
pub(crate) struct OrdinalSet {
    words: Vec<u64>,
    pub(crate) count: usize,
}

impl OrdinalSet {
    fn word(&self, number: usize) -> u64 {
        self.words.get(number).copied().unwrap_or(0)
    }

    fn contains(&self, ordinal: u32) -> bool {
        self.word(ordinal as usize / 64) >> (ordinal % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, ordinal: u32) {
        let number = ordinal as usize / 64;
        if self.words.len() <= number {
            self.words.resize(number + 1, 0);
        }
        self.count += usize::from(!self.contains(ordinal));
        self.words[number] |= 1 << (ordinal % 64);
    }

    pub(crate) fn remove(&mut self, ordinal: u32) {
        if self.contains(ordinal) {
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

impl HnswGraph {
    /// Whether the graph has no node.
    pub fn is_empty(&self) -> bool {
        self.entry_point.is_none()
    }

    /// The ordinals that the graph covers, whether each has a vector or not.
    pub fn covered_range(&self) -> Range<u32> {
        self.low..self.high
    }

    /// Number of documents that a search can find.
    pub fn searchable_count(&self) -> usize {
        self.covered_range().len() - self.stale.count
    }

    /// Returns which of the 64 documents from `64 * number` on a search can find, one bit each.
    pub fn searchable_bits(&self, number: usize) -> u64 {
        let first = (number * 64) as u64;
        let below = |end: u32| match u64::from(end).saturating_sub(first) {
            bits @ 0..64 => (1 << bits) - 1,
            _ => u64::MAX,
        };
        below(self.high) & !below(self.low) & !self.stale.word(number)
    }

    /// Whether a search can find the document.
    pub fn is_searchable(&self, ordinal: u32) -> bool {
        self.covered_range().contains(&ordinal) && !self.stale.contains(ordinal)
    }

    /// Marks a document whose vector changed, so that it is inserted again.
    pub fn mark_stale(&mut self, ordinal: u32) {
        if self.covered_range().contains(&ordinal) {
            Arc::make_mut(&mut self.stale).insert(ordinal);
        }
    }

    pub(crate) fn node(&self, ordinal: u32) -> Option<&GraphNode> {
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
            .map_or(&[], NodeLinks::as_slice)
    }

    /// Number of layers that a node is on.
    pub(crate) fn count_layers_of_node(&self, node: u32) -> usize {
        let upper = self.node(node).map(|node| node.upper);
        let upper = upper.and_then(|upper| self.uppers.get(upper as usize));
        1 + upper.map_or(0, |upper| upper.len())
    }

    pub(crate) fn set_links(&mut self, ordinal: u32, layer: usize, ids: &[u32]) {
        let index = ordinal as usize;
        let chunks = Arc::make_mut(&mut self.chunks);
        if chunks.len() <= index / CHUNK {
            chunks.resize(index / CHUNK + 1, None);
        }
        let empty = GraphNode {
            links: NodeLinks::NONE,
            upper: NO_UPPER,
        };
        let chunk = chunks[index / CHUNK].get_or_insert_with(|| Arc::new([empty; CHUNK]));
        let node = &mut Arc::make_mut(chunk)[index % CHUNK];
        if layer == 0 {
            node.links = NodeLinks::from_ids(ids);
            return;
        }
        if node.upper == NO_UPPER {
            node.upper = self.uppers.len() as u32;
            Arc::make_mut(&mut self.uppers).push(Arc::default());
        }
        let uppers = Arc::make_mut(&mut self.uppers);
        if let Some(upper) = uppers.get_mut(node.upper as usize) {
            let upper = Arc::make_mut(upper);
            if upper.len() < layer {
                upper.resize(layer, NodeLinks::NONE);
            }
            upper[layer - 1] = NodeLinks::from_ids(ids);
        }
    }

    /// Bytes of heap that the graph uses, shared or not.
    pub fn memory_bytes(&self) -> usize {
        let chunks = self.chunks.iter().flatten().count() * size_of::<NodeChunk>();
        chunks
            + self.stale.words.len() * 8
            + self.uppers.len() * (size_of::<NodeLinks<M>>() + size_of::<UpperLayers>())
    }
}
