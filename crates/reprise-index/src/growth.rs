//! What stands above the codes of a large memory: the graph and the cells, still in their saved
//! parts, or in memory and growing a little at a time.

use std::sync::{Arc, OnceLock, Weak};

use reprise_graph::{Graph, GraphScratch};

use crate::codec::{Reader, open, seal};
use crate::error::Result;
use crate::pages::LeftPart;
use crate::vectors::{CellState, SavedCells, Vectors};
use crate::writer::IndexWriter;

/// Segment type of a graph over the newest documents (Layer B).
pub const PART_HOT_GRAPH: u8 = 0x42;

/// Segment type of a graph over all documents (Layer C).
pub const PART_GRAPH: u8 = 0x43;

/// Segment type of the cells (Layer A).
pub const PART_CELLS: u8 = 0x4c;

/// Store size from which a graph is grown, so that it is whole when it becomes faster than the
/// scan: for ten results a third later, as `benches/search` measures (ADR 0007).
pub const GRAPH_DOCUMENTS: usize = 100_000;

/// Documents with a vector from which on there are cells, once the store is large enough for a
/// graph: fewer are scanned in less than a millisecond.
pub const CELLS_DOCUMENTS: usize = 4_096;

/// Version of a saved graph.
const VERSION: u8 = 1;
const GRAPH: &str = "graph";

/// What a query may use beside the codes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layers {
    pub(crate) graph: Graph,
    /// Size of a store whose graph finds ten results as soon as a scan does.
    pub(crate) even_at: usize,
    /// Answers until the rest was read.
    pub(crate) cells: Option<SavedCells>,
}

/// The writer's graph and cells.
#[derive(Debug)]
pub(crate) struct GraphState {
    graph: Graph,
    /// The saved one, where it is not in use yet.
    saved: Option<Arc<SavedGraph>>,
    /// Documents that got a vector since it was saved, or lent.
    moved: Vec<u32>,
    /// There as long as a purge has it.
    lent: Weak<()>,
    from: usize,
    cells: CellState,
    /// As in [`Layers`], where it was measured.
    even_at: Option<u32>,
    scratch: GraphScratch,
}

impl Default for GraphState {
    fn default() -> Self {
        Self {
            graph: Graph::default(),
            saved: None,
            moved: Vec::new(),
            lent: Weak::new(),
            from: GRAPH_DOCUMENTS,
            cells: CellState::default(),
            even_at: None,
            scratch: GraphScratch::default(),
        }
    }
}

/// A graph in its part, which is read when it is first asked for.
#[derive(Debug)]
pub(crate) struct SavedGraph {
    part: LeftPart,
    graph: OnceLock<Graph>,
}

impl SavedGraph {
    /// The graph; none where it is damaged, and it is grown again.
    fn graph(&self, documents: u32) -> &Graph {
        let read = || read(&self.part, documents).unwrap_or_default();
        self.graph.get_or_init(read)
    }
}

impl GraphState {
    pub(crate) fn saved(part: Option<LeftPart>, cells: Option<SavedCells>) -> Self {
        let measured = cells.as_ref().map(|cells| cells.even_at);
        Self {
            saved: part.map(|part| {
                let graph = OnceLock::new();
                Arc::new(SavedGraph { part, graph })
            }),
            even_at: measured.filter(|documents| *documents > 0),
            cells: cells.map_or_else(CellState::default, CellState::saved),
            ..Self::default()
        }
    }

    pub(crate) fn moved(&mut self, ordinal: u32) {
        if self.saved.is_some() || self.is_lent() {
            self.moved.push(ordinal);
        }
        self.graph.moved(ordinal);
        self.cells.moved(ordinal);
    }

    /// Takes out what `gone` names, while its codes are still there. What is lent comes back to
    /// another graph.
    pub(crate) fn remove(&mut self, vectors: &Vectors, gone: impl Fn(u32) -> bool) {
        self.lent = Weak::new();
        self.settle(vectors.len() as u32);
        self.graph.remove(vectors, |n| vectors.has(n), gone);
    }

    /// The graph for a purge, and a token: until that is dropped the graph does not grow.
    pub(crate) fn lend(&mut self, documents: u32) -> (Graph, Arc<()>) {
        self.settle(documents);
        self.moved.clear();
        let token = Arc::new(());
        self.lent = Arc::downgrade(&token);
        (self.graph.clone(), token)
    }

    pub(crate) fn is_lent(&self) -> bool {
        self.lent.strong_count() > 0
    }

    /// Takes back what was lent under this token; `false` where that is not the graph any more.
    pub(crate) fn take_back(&mut self, graph: Graph, token: &Arc<()>) -> bool {
        let lent = std::mem::take(&mut self.lent).upgrade();
        let is_own = lent.is_some_and(|lent| Arc::ptr_eq(&lent, token));
        if is_own {
            self.graph = graph;
            for ordinal in std::mem::take(&mut self.moved) {
                self.graph.moved(ordinal);
            }
        }
        is_own
    }

    pub(crate) fn published(&self) -> Layers {
        Layers {
            graph: self.graph.clone(),
            even_at: self
                .even_at
                .map_or(self.from + self.from / 3, |measured| measured as usize),
            cells: self.cells.left(),
        }
    }

    /// The same as of now, to be saved by another thread.
    pub(crate) fn copy(&self) -> Self {
        Self {
            graph: self.graph.clone(),
            saved: self.saved.clone(),
            moved: self.moved.clone(),
            cells: self.cells.copy(),
            even_at: self.even_at,
            ..Self::default()
        }
    }

    /// Work for another thread that reads beforehand what [`Self::settle`] needs; `None` where
    /// nothing is left in the file.
    pub(crate) fn loading(&self, documents: u32) -> Option<impl FnOnce() + Send + use<>> {
        let graph = self.saved.clone().filter(|one| one.graph.get().is_none());
        let cells = self.cells.left().filter(|cells| !cells.is_placed());
        (graph.is_some() || cells.is_some()).then_some(move || {
            if let Some(saved) = graph {
                saved.graph(documents);
            }
            if let Some(cells) = cells {
                cells.placed();
            }
        })
    }

    /// Takes the saved graph into use, if any. A damaged one is discarded and grown again.
    fn settle(&mut self, documents: u32) {
        if let Some(saved) = self.saved.take() {
            self.graph = saved.graph(documents).clone();
            for ordinal in std::mem::take(&mut self.moved) {
                self.graph.moved(ordinal);
            }
        }
    }

    /// The parts to save, with their tags.
    pub(crate) fn parts(&mut self, vectors: &Vectors) -> Vec<(u8, Vec<u8>)> {
        self.settle(vectors.len() as u32);
        let cells = self.cells.part(vectors, self.even_at.unwrap_or(0));
        let mut parts: Vec<_> = cells.map(|bytes| (PART_CELLS, bytes)).into_iter().collect();
        if !self.graph.is_empty() {
            let whole = self.graph.covered().start == 0;
            let tag = if whole { PART_GRAPH } else { PART_HOT_GRAPH };
            let mut bytes = open(VERSION, 64);
            self.graph.save(&mut bytes);
            parts.push((tag, seal(bytes)));
        }
        parts
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
    /// before and after; zero where the store is too small for a graph, and while a purge has it
    /// ([`Self::is_purging`]). Readers see the result after [`Self::publish`]. Loads the codes;
    /// fails where they are damaged.
    pub fn advance_graph(&mut self, budget: usize) -> Result<(usize, usize)> {
        self.load()?;
        let documents = self.rows.len() as u32;
        let state = &mut self.graph;
        state.settle(documents);
        if (documents as usize) < state.from || state.is_lent() {
            return Ok((0, 0));
        }
        let vectors = &self.vectors;
        // Until each document had its cell all count as missing once more: the cells are saved,
        // too, and half a graph before them.
        let of_cells = |cells: &CellState| {
            if cells.is_new(vectors) {
                vectors.len()
            } else {
                0
            }
        };
        let before = state.graph.missing(documents) + of_cells(&state.cells);
        let has = |ordinal| vectors.has(ordinal);
        let scratch = &mut state.scratch;
        let left = state
            .graph
            .advance(vectors, has, documents, budget, scratch);
        let is_done = state.cells.advance(vectors, budget);
        let left = (left + of_cells(&state.cells)).max(usize::from(!is_done));
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

    /// Sets the number of documents with a vector from which on there are cells (default
    /// [`crate::CELLS_DOCUMENTS`]).
    pub fn set_cells_from(&mut self, documents: usize) {
        self.graph.cells.from = documents;
    }

    /// Sets what [`crate::IndexSnapshot::crossover`] measured, for the planner and for the file.
    pub fn set_even_at(&mut self, documents: u32) {
        self.graph.even_at = Some(documents);
    }

    /// Store size from which a graph is grown.
    pub fn graph_from(&self) -> usize {
        self.graph.from
    }

    /// Documents with a vector from which on there are cells.
    pub fn cells_from(&self) -> usize {
        self.graph.cells.from
    }
}

#[cfg(test)]
mod tests;
