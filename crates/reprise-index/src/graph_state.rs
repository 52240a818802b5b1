//! The graph and the cells that speed up vector search in a large memory: either still in their
//! saved parts, or in memory and growing a little at a time.

use std::sync::{Arc, OnceLock, Weak};

use reprise_hnsw::{GraphScratch, HnswGraph};

use crate::codec::{PartReader, begin_part, seal_part};
use crate::pages::LazyPart;
use crate::vectors::{CellState, QuantisedVectors, SavedCells};

/// Segment type of a graph over the newest documents.
pub const PART_NEWEST_GRAPH: u8 = 0x42;

/// Segment type of a graph over all documents.
pub const PART_GRAPH: u8 = 0x43;

/// Segment type of the cells.
pub const PART_CELLS: u8 = 0x4c;

/// Store size from which a graph is grown, so that it is complete when it becomes faster than the
/// scan. For ten results that is a third later, as `benches/search` measures (ADR 0007).
pub const GRAPH_THRESHOLD: usize = 100_000;

/// Version of a saved graph.
const VERSION: u8 = 1;
const GRAPH: &str = "graph";

/// Structures that a vector query may use in addition to the codes.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchLayers {
    pub(crate) graph: HnswGraph,
    /// Store size at which the graph finds ten results as fast as a scan does.
    pub(crate) graph_faster_from: usize,
    /// Store size from which a graph is grown, and the saved cells answer first.
    pub(crate) graph_threshold: usize,
    /// Saved cells, which are searched until the rest is read.
    pub(crate) cells: Option<SavedCells>,
}

/// The writer's graph and cells.
#[derive(Debug)]
pub(crate) struct GraphState {
    graph: HnswGraph,
    /// The saved graph, if it is not in use yet.
    saved: Option<Arc<SavedGraph>>,
    /// Documents whose vector changed since the graph was saved or lent.
    changed: Vec<u32>,
    /// Alive as long as a purge holds the graph.
    lease: Weak<()>,
    pub(crate) threshold: usize,
    pub(crate) cells: CellState,
    /// As in [`SearchLayers`], if it was measured.
    pub(crate) graph_faster_from: Option<u32>,
    scratch: GraphScratch,
}

impl Default for GraphState {
    fn default() -> Self {
        Self {
            graph: HnswGraph::default(),
            saved: None,
            changed: Vec::new(),
            lease: Weak::new(),
            threshold: GRAPH_THRESHOLD,
            cells: CellState::default(),
            graph_faster_from: None,
            scratch: GraphScratch::default(),
        }
    }
}

/// A graph in its saved part, which is read at first use.
#[derive(Debug)]
pub(crate) struct SavedGraph {
    part: LazyPart,
    graph: OnceLock<HnswGraph>,
}

impl SavedGraph {
    /// Returns the graph; an empty one if it is damaged, so that it is grown again.
    fn graph(&self, documents: u32) -> &HnswGraph {
        let read = || read_graph(&self.part, documents).unwrap_or_default();
        self.graph.get_or_init(read)
    }
}

impl GraphState {
    /// Grows the graph, then the cells, of `documents` documents by up to `budget` documents.
    /// Returns how many were missing before and after.
    pub(crate) fn advance(
        &mut self,
        vectors: &QuantisedVectors,
        documents: u32,
        budget: usize,
    ) -> (usize, usize) {
        self.load_saved(documents);
        if (documents as usize) < self.threshold || self.is_lent() {
            return (0, 0);
        }
        // Until each document got a cell, all documents count as missing once more: the cells are
        // saved, too, and a partial graph is saved before them.
        let of_cells = |cells: &CellState| {
            if cells.is_incomplete(vectors) {
                vectors.len()
            } else {
                0
            }
        };
        let before = self.graph.missing_count(documents) + of_cells(&self.cells);
        let has = |ordinal| vectors.has(ordinal);
        let scratch = &mut self.scratch;
        let left = self.graph.grow(vectors, has, documents, budget, scratch);
        let is_done = self.cells.advance(vectors, budget);
        let left = (left + of_cells(&self.cells)).max(usize::from(!is_done));
        (before, left)
    }

    /// Returns the number of documents that the graph finds; 0 if the saved one is not read yet.
    pub(crate) fn document_count(&self) -> usize {
        self.graph.searchable_count()
    }

    pub(crate) fn from_saved(part: Option<LazyPart>, cells: Option<SavedCells>) -> Self {
        let measured = cells.as_ref().map(|cells| cells.graph_faster_from);
        Self {
            saved: part.map(|part| {
                let graph = OnceLock::new();
                Arc::new(SavedGraph { part, graph })
            }),
            graph_faster_from: measured.filter(|documents| *documents > 0),
            cells: cells.map_or_else(CellState::default, CellState::from_saved),
            ..Self::default()
        }
    }

    pub(crate) fn mark_changed(&mut self, ordinal: u32) {
        if self.saved.is_some() || self.is_lent() {
            self.changed.push(ordinal);
        }
        self.graph.mark_stale(ordinal);
        self.cells.mark_changed(ordinal);
    }

    /// Removes the documents for which `gone` returns true, while their codes still exist. A lent
    /// graph is no longer accepted back.
    pub(crate) fn remove(&mut self, vectors: &QuantisedVectors, gone: impl Fn(u32) -> bool) {
        self.lease = Weak::new();
        self.load_saved(vectors.len() as u32);
        self.graph.remove_nodes(vectors, |n| vectors.has(n), gone);
    }

    /// Lends the graph to a purge, with a token: the graph does not grow until it is dropped.
    pub(crate) fn lend(&mut self, documents: u32) -> (HnswGraph, Arc<()>) {
        self.load_saved(documents);
        self.changed.clear();
        let token = Arc::new(());
        self.lease = Arc::downgrade(&token);
        (self.graph.clone(), token)
    }

    pub(crate) fn is_lent(&self) -> bool {
        self.lease.strong_count() > 0
    }

    /// Installs a graph that was lent under this token; `false` if the token is outdated.
    pub(crate) fn return_graph(&mut self, graph: HnswGraph, token: &Arc<()>) -> bool {
        let lease = std::mem::take(&mut self.lease).upgrade();
        let is_own = lease.is_some_and(|lease| Arc::ptr_eq(&lease, token));
        if is_own {
            self.graph = graph;
            for ordinal in std::mem::take(&mut self.changed) {
                self.graph.mark_stale(ordinal);
            }
        }
        is_own
    }

    pub(crate) fn search_layers(&self) -> SearchLayers {
        SearchLayers {
            graph: self.graph.clone(),
            graph_faster_from: self
                .graph_faster_from
                .map_or(self.threshold + self.threshold / 3, |measured| {
                    measured as usize
                }),
            graph_threshold: self.threshold,
            cells: self.cells.saved_cells(),
        }
    }

    /// Copies the state as of now, to be saved by another thread.
    pub(crate) fn copy(&self) -> Self {
        Self {
            graph: self.graph.clone(),
            saved: self.saved.clone(),
            changed: self.changed.clone(),
            cells: self.cells.copy(),
            graph_faster_from: self.graph_faster_from,
            ..Self::default()
        }
    }

    /// Returns a job for another thread that reads in advance what [`Self::load_saved`] needs;
    /// `None` if everything is in memory.
    pub(crate) fn preload_job(&self, documents: u32) -> Option<impl FnOnce() + Send + use<>> {
        let graph = self.saved.clone().filter(|one| one.graph.get().is_none());
        let cells = self
            .cells
            .saved_cells()
            .filter(|cells| !cells.has_assignments());
        (graph.is_some() || cells.is_some()).then_some(move || {
            if let Some(saved) = graph {
                saved.graph(documents);
            }
            if let Some(cells) = cells {
                cells.cell_assignments();
            }
        })
    }

    /// Starts using the saved graph, if any. A damaged one is discarded and grown again.
    fn load_saved(&mut self, documents: u32) {
        if let Some(saved) = self.saved.take() {
            self.graph = saved.graph(documents).clone();
            for ordinal in std::mem::take(&mut self.changed) {
                self.graph.mark_stale(ordinal);
            }
        }
    }

    /// Encodes the parts to save, with their tags.
    pub(crate) fn encode_parts(&mut self, vectors: &QuantisedVectors) -> Vec<(u8, Vec<u8>)> {
        self.load_saved(vectors.len() as u32);
        let cells = self
            .cells
            .encode_part(vectors, self.graph_faster_from.unwrap_or(0));
        let mut parts: Vec<_> = cells.map(|bytes| (PART_CELLS, bytes)).into_iter().collect();
        if !self.graph.is_empty() {
            let whole = self.graph.covered_range().start == 0;
            let tag = if whole { PART_GRAPH } else { PART_NEWEST_GRAPH };
            let mut bytes = begin_part(VERSION, 64);
            self.graph.encode(&mut bytes);
            parts.push((tag, seal_part(bytes)));
        }
        parts
    }
}

fn read_graph(part: &LazyPart, documents: u32) -> Option<HnswGraph> {
    let bytes = part.read_all()?;
    let mut reader = PartReader::new(GRAPH, &bytes, VERSION).ok()?;
    let content = reader.read_bytes(reader.remaining()).ok()?;
    HnswGraph::decode(content, documents).ok()
}

#[cfg(test)]
mod tests;
