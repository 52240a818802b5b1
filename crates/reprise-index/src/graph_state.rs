//! The graph and the cells that speed up vector search in a large memory: either still in their
//! saved parts, or in memory and growing a little at a time.

use std::sync::{Arc, Weak};

use reprise_hnsw::{GraphScratch, HnswGraph};
use reprise_types::{LazyValue, LoadJob, SavedSection, SectionPages, value_loader};

use crate::section_kinds::{SECTION_CELLS, SECTION_GRAPH};
use crate::vectors::{CellState, QuantisedVectors, SavedCells};

/// Store size from which a graph is grown, so that it is complete when it becomes faster than the
/// scan. For ten results that is a third later, as `benches/search` measures (ADR 0007).
pub const GRAPH_THRESHOLD: usize = 100_000;

/// Version of a saved graph.
const VERSION: u8 = 2;

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
    saved: Option<LazyValue<HnswGraph>>,
    /// Documents whose vector changed since the graph was lent, or before the saved one is in use.
    changed: Vec<u32>,
    /// Documents whose vector changed since graph and cells were saved.
    stale: Vec<u32>,
    /// Whether there are saved ones to which `stale` refers.
    is_saved: bool,
    /// How many of `stale` those know that are being encoded, if some are.
    encoding: Option<usize>,
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
            stale: Vec::new(),
            is_saved: false,
            encoding: None,
            lease: Weak::new(),
            threshold: GRAPH_THRESHOLD,
            cells: CellState::default(),
            graph_faster_from: None,
            scratch: GraphScratch::default(),
        }
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
        self.use_saved();
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

    /// Wraps a saved graph and cells of an index of so many documents; the vectors of `stale`
    /// changed after they were saved.
    pub(crate) fn from_saved(
        graph: Option<&SavedSection>,
        mut cells: Option<SavedCells>,
        stale: Vec<u32>,
        documents: u32,
    ) -> Self {
        // A damaged graph is discarded and grown again.
        let read = move |section: &_| read_graph(section, documents).unwrap_or_default();
        if let Some(cells) = &mut cells {
            cells.set_stale(&stale);
        }
        let measured = cells.as_ref().map(|cells| cells.graph_faster_from);
        let mut state = Self {
            is_saved: graph.is_some(),
            saved: graph.map(|section| section.read_later(read)),
            graph_faster_from: measured.filter(|documents| *documents > 0),
            cells: cells.map_or_else(CellState::default, CellState::from_saved),
            ..Self::default()
        };
        for ordinal in stale {
            state.mark_changed(ordinal);
        }
        state
    }

    pub(crate) fn mark_changed(&mut self, ordinal: u32) {
        if self.saved.is_some() || self.is_lent() {
            self.changed.push(ordinal);
        }
        if self.is_saved || self.encoding.is_some() {
            self.stale.push(ordinal);
        }
        self.graph.mark_stale(ordinal);
        self.cells.mark_changed(ordinal);
    }

    /// Whether saved graph and cells count, or those that are encoded for the next checkpoint.
    pub(crate) fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// Returns the documents whose vector changed since these were encoded.
    pub(crate) fn stale_documents(&self) -> Vec<u32> {
        let mut stale = self.stale.clone();
        stale.sort_unstable();
        stale.dedup();
        stale
    }

    /// Removes the documents for which `gone` returns true, while their codes still exist. A lent
    /// graph is no longer accepted back.
    pub(crate) fn remove(&mut self, vectors: &QuantisedVectors, gone: impl Fn(u32) -> bool) {
        self.lease = Weak::new();
        self.use_saved();
        self.graph.remove_nodes(vectors, |n| vectors.has(n), gone);
    }

    /// Lends the graph to a purge, with a token: the graph does not grow until it is dropped.
    pub(crate) fn lend(&mut self) -> (HnswGraph, Arc<()>) {
        self.use_saved();
        self.changed.clear();
        let token = Arc::new(());
        self.lease = Arc::downgrade(&token);
        (self.graph.clone(), token)
    }

    pub(crate) fn is_lent(&self) -> bool {
        self.lease.strong_count() > 0
    }

    /// Installs a graph that was lent under this token; `false` if the token is outdated.
    pub(crate) fn return_graph(&mut self, graph: HnswGraph, token: Option<&Arc<()>>) -> bool {
        let lease = self.lease.upgrade().zip(token);
        let is_own = lease.is_some_and(|(lease, token)| Arc::ptr_eq(&lease, token));
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

    /// Returns work for any thread that encodes graph and cells as of now; `None` if there is
    /// neither.
    pub(crate) fn begin_encoding(
        &mut self,
        vectors: &QuantisedVectors,
    ) -> Option<impl FnOnce() -> Vec<SectionPages> + Send + use<>> {
        self.use_saved();
        let (graph, mut cells, vectors) = (self.graph.clone(), self.cells.copy(), vectors.clone());
        let graph_faster_from = self.graph_faster_from.unwrap_or(0);
        let is_there = !graph.is_empty() || cells.has_centroids();
        self.encoding = is_there.then_some(self.stale.len());
        is_there.then_some(move || {
            let mut bytes = vec![VERSION];
            if !graph.is_empty() {
                graph.encode(&mut bytes);
            }
            // Both are written, a missing one as a byte that reads as none: else an older one would
            // stay in the file with the other.
            let cells = cells.encode(&vectors, graph_faster_from);
            let cells = cells.unwrap_or_else(|| vec![0]);
            vec![
                SectionPages::from_bytes((SECTION_CELLS, 0), &cells),
                SectionPages::from_bytes((SECTION_GRAPH, 0), &bytes),
            ]
        })
    }

    /// Notes that what is encoded by now is in the next checkpoint. Returns `false` if it must not
    /// be: nothing is saved since.
    pub(crate) fn finish_encoding(&mut self) -> bool {
        let known = self.encoding.take();
        if let Some(known) = known {
            self.stale.drain(..known);
            self.is_saved = true;
        }
        known.is_some()
    }

    /// Notes that nothing is saved.
    pub(crate) fn mark_unsaved(&mut self) {
        self.stale.clear();
        (self.is_saved, self.encoding) = (false, None);
    }

    /// Returns work for another thread that reads in advance what [`Self::use_all_saved`] needs.
    pub(crate) fn loaders(&self) -> impl Iterator<Item = LoadJob> {
        let graph = self.saved.as_ref().and_then(value_loader);
        let cells = self.cells.saved_cells();
        let cells = cells.and_then(|cells| value_loader(cells.cell_of()));
        graph.into_iter().chain(cells)
    }

    /// Starts using the saved graph and cells, if any.
    pub(crate) fn use_all_saved(&mut self) {
        self.use_saved();
        self.cells.use_saved();
    }

    /// Starts using the saved graph, if any.
    fn use_saved(&mut self) {
        if let Some(saved) = self.saved.take() {
            self.graph = (**saved).clone();
            for ordinal in std::mem::take(&mut self.changed) {
                self.graph.mark_stale(ordinal);
            }
        }
    }
}

fn read_graph(section: &SavedSection, documents: u32) -> Option<HnswGraph> {
    let bytes = section.read_all()?;
    let (version, graph) = bytes.split_first()?;
    let is_known = *version == VERSION && !graph.is_empty();
    is_known.then(|| HnswGraph::decode(graph, documents).ok())?
}

#[cfg(test)]
mod tests;
