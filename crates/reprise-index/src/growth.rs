//! The graph on the writer's side: still in the part it was saved in, or in memory and growing.
//!
//! Must never live here: what a graph looks like.

use crate::error::IndexError;
use crate::graph::{Graph, GraphScratch};
use crate::pages::LeftPart;
use crate::parts::{PART_GRAPH, PART_HOT_GRAPH};
use crate::writer::IndexWriter;

/// Documents from which on a graph is grown: some time before it becomes the quicker way, which for
/// ten results is at 134K (see the constants in `vectors/query`).
pub const GRAPH_DOCUMENTS: usize = 100_000;

/// What the writer knows of its graph.
#[derive(Debug)]
pub(crate) struct GraphState {
    graph: Graph,
    /// As it was saved, not yet read.
    saved: Option<LeftPart>,
    /// Documents that got a vector since it was saved.
    moved: Vec<u32>,
    /// Documents from which on it is grown.
    from: usize,
    scratch: GraphScratch,
}

impl Default for GraphState {
    fn default() -> Self {
        Self {
            graph: Graph::default(),
            saved: None,
            moved: Vec::new(),
            from: GRAPH_DOCUMENTS,
            scratch: GraphScratch::default(),
        }
    }
}

impl GraphState {
    pub(crate) fn saved(part: LeftPart) -> Self {
        Self {
            saved: Some(part),
            ..Self::default()
        }
    }

    pub(crate) fn moved(&mut self, ordinal: u32) {
        if self.saved.is_some() {
            self.moved.push(ordinal);
        }
        self.graph.moved(ordinal);
    }

    /// Begins anew.
    pub(crate) fn drop_graph(&mut self) {
        *self = Self {
            from: self.from,
            ..Self::default()
        };
    }

    /// For a snapshot.
    pub(crate) fn published(&self) -> Graph {
        self.graph.clone()
    }

    /// Reads the saved graph, where there is one. A damaged one is left out and grown anew.
    fn settle(&mut self, documents: u32) {
        if let Some(part) = self.saved.take() {
            let graph = |bytes| Graph::from_part(&bytes, documents).ok();
            self.graph = part.all().and_then(graph).unwrap_or_default();
            for ordinal in std::mem::take(&mut self.moved) {
                self.graph.moved(ordinal);
            }
        }
    }

    /// The part to save, and its tag; none where there is no graph.
    pub(crate) fn part(&mut self, documents: u32) -> Option<(u8, Vec<u8>)> {
        self.settle(documents);
        let whole = self.graph.covered().start == 0;
        let tag = if whole { PART_GRAPH } else { PART_HOT_GRAPH };
        (!self.graph.is_empty()).then(|| (tag, self.graph.to_part()))
    }
}

impl IndexWriter {
    /// Grows the graph by up to `budget` documents (about half a millisecond each), the newest
    /// first; the first call after a load reads the saved one. Answers how many documents were
    /// still to come before and are now; none where the store is too small for a graph. Readers see
    /// it after [`Self::publish`]. Loads the codes, which may be found damaged.
    pub fn advance_graph(&mut self, budget: usize) -> Result<(usize, usize), IndexError> {
        self.load()?;
        let documents = self.rows.len() as u32;
        let state = &mut self.graph;
        state.settle(documents);
        if (documents as usize) < state.from {
            return Ok((0, 0));
        }
        let vectors = &self.vectors;
        let has = |ordinal| vectors.has(ordinal);
        let before = state.graph.missing(documents);
        let scratch = &mut state.scratch;
        let left = state
            .graph
            .advance(vectors, has, documents, budget, scratch);
        Ok((before, left))
    }

    /// Grows a graph from so many documents on, instead of [`crate::GRAPH_DOCUMENTS`].
    pub fn set_graph_from(&mut self, documents: usize) {
        self.graph.from = documents;
    }

    /// Documents from which on a graph is grown.
    #[must_use]
    pub fn graph_from(&self) -> usize {
        self.graph.from
    }
}

#[cfg(test)]
mod tests;
