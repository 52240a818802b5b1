//! The graph of a large memory: still in its saved part, or in memory and growing a little at a
//! time.

use reprise_graph::{Graph, GraphScratch};

use crate::codec::{Reader, open, seal};
use crate::error::Result;
use crate::pages::LeftPart;
use crate::vectors::Vectors;
use crate::writer::IndexWriter;

/// Segment type of a graph over the newest documents (Layer B).
pub const PART_HOT_GRAPH: u8 = 0x42;

/// Segment type of a graph over all documents (Layer C).
pub const PART_GRAPH: u8 = 0x43;

/// Store size from which a graph is grown, so that it is whole when it becomes faster than the
/// scan: for ten results a third later, as `benches/search` measures (ADR 0007).
pub const GRAPH_DOCUMENTS: usize = 100_000;

/// Version of a saved graph.
const VERSION: u8 = 1;
const GRAPH: &str = "graph";

/// What a query may use beside the codes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layers {
    pub(crate) graph: Graph,
    /// Size of a store whose graph finds ten results as soon as a scan does.
    pub(crate) even_at: usize,
}

/// The writer's graph.
#[derive(Debug)]
pub(crate) struct GraphState {
    graph: Graph,
    /// The saved part, not yet read.
    saved: Option<LeftPart>,
    /// Documents that got a vector since it was saved.
    moved: Vec<u32>,
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

    /// Takes out what `gone` names, while its codes are still there.
    pub(crate) fn remove(&mut self, vectors: &Vectors, gone: impl Fn(u32) -> bool) {
        self.settle(vectors.len() as u32);
        self.graph.remove(vectors, |n| vectors.has(n), gone);
    }

    pub(crate) fn published(&self) -> Layers {
        Layers {
            graph: self.graph.clone(),
            even_at: self.from + self.from / 3,
        }
    }

    /// Reads the saved graph, if any. A damaged one is discarded and grown again.
    fn settle(&mut self, documents: u32) {
        if let Some(part) = self.saved.take() {
            self.graph = read(&part, documents).unwrap_or_default();
            for ordinal in std::mem::take(&mut self.moved) {
                self.graph.moved(ordinal);
            }
        }
    }

    /// The part to save, and its tag; none where there is no graph.
    pub(crate) fn part(&mut self, documents: u32) -> Option<(u8, Vec<u8>)> {
        self.settle(documents);
        if self.graph.is_empty() {
            return None;
        }
        let whole = self.graph.covered().start == 0;
        let tag = if whole { PART_GRAPH } else { PART_HOT_GRAPH };
        let mut bytes = open(VERSION, 64);
        self.graph.save(&mut bytes);
        Some((tag, seal(bytes)))
    }
}

fn read(part: &LeftPart, documents: u32) -> Option<Graph> {
    let bytes = part.all()?;
    let mut reader = Reader::new(GRAPH, &bytes, VERSION).ok()?;
    let content = reader.take(reader.left()).ok()?;
    Graph::read(content, documents).ok()
}

impl IndexWriter {
    /// Grows the graph by up to `budget` documents (about half a millisecond each), newest first;
    /// the first call after a load reads the saved graph. Returns how many documents were missing
    /// before and after; zero where the store is too small for a graph. Readers see the result
    /// after [`Self::publish`]. Loads the codes; fails where they are damaged.
    pub fn advance_graph(&mut self, budget: usize) -> Result<(usize, usize)> {
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

    /// Documents that the graph finds; none where the saved one is not read yet.
    pub fn in_graph(&self) -> usize {
        self.graph.graph.found()
    }

    /// Sets the store size from which a graph is grown (default [`crate::GRAPH_DOCUMENTS`]).
    pub fn set_graph_from(&mut self, documents: usize) {
        self.graph.from = documents;
    }

    /// Store size from which a graph is grown.
    pub fn graph_from(&self) -> usize {
        self.graph.from
    }
}

#[cfg(test)]
mod tests;
