//! Purging turns forgotten documents into holes. Words and graph are rebuilt on another thread; the
//! writer installs them and does the rest some documents at a time. A purge costs what is
//! forgotten, not what is kept.

use std::sync::Arc;

use reprise_hnsw::HnswGraph;

use crate::docs::{Doc, NO_SESSION};
use crate::facets::BLOCK_DOCUMENTS;
use crate::lexicon::purge_segment;
use crate::purge_set::PurgeSet;
use crate::segment::Segment;
use crate::writer::IndexWriter;

/// What a purge removes, and what was rebuilt without it; the writer applies it.
#[derive(Debug)]
pub struct PurgeResult {
    gone: PurgeSet,
    /// Segments of words and what replaces each, until the writer installs them.
    segments: Vec<(Segment, Segment)>,
    /// The graph that was lent, until the writer takes it back.
    graph: Option<HnswGraph>,
    /// The token under which it was, until nothing is left to purge: before that the graph would
    /// take in forgotten documents again.
    lease: Option<Arc<()>>,
    /// Number of documents that are already holes.
    purged_count: usize,
}

impl IndexWriter {
    /// Turns forgotten documents into holes: later snapshots and [`Self::to_sections`] contain none
    /// of their words, codes or session names.
    pub fn purge(&mut self) {
        if let Some(job) = self.start_purge() {
            self.apply_purge(&mut job(), usize::MAX);
        }
    }

    /// Starts a purge in steps: returns the rebuilding as work for any thread; `None` if there is
    /// nothing to purge. The graph does not grow until the result is applied whole or dropped.
    pub fn start_purge(&mut self) -> Option<impl FnOnce() -> PurgeResult + Send + use<>> {
        self.move_pending_to_segment();
        let rows = &self.rows;
        let has_content = |ordinal: &u32| {
            rows.get(*ordinal as usize)
                .is_some_and(|row| !row.is_hole())
        };
        self.forgotten.retain(has_content);
        self.forgotten.sort_unstable();
        if self.forgotten.is_empty() {
            return None;
        }
        let gone = PurgeSet::from_ascending(self.forgotten.clone());
        let (mut graph, lease) = self.graph.lend();
        let (all, vectors) = (self.lexicon.segments().to_vec(), self.vectors.clone());
        Some(move || {
            let touched = all.into_iter();
            let touched = touched.filter(|old| gone.has_any_in(old.first..old.end));
            let segments = touched.map(|old| {
                let new = purge_segment(&old, &gone);
                (old, new)
            });
            let segments = segments.collect();
            let has_vector = |node| vectors.has(node);
            graph.remove_nodes(&vectors, has_vector, |node| gone.contains(node));
            PurgeResult {
                gone,
                segments,
                graph: Some(graph),
                lease: Some(lease),
                purged_count: 0,
            }
        })
    }

    /// Installs what was rebuilt and turns up to `most` documents into holes; `true` once all of
    /// them are. Readers see the result after [`Self::publish`].
    pub fn apply_purge(&mut self, purged: &mut PurgeResult, most: usize) -> bool {
        let gone = &purged.gone;
        // What was encoded since the last step has what this one removes.
        self.graph.mark_unsaved();
        if let Some(graph) = purged.graph.take() {
            let segments = std::mem::take(&mut purged.segments);
            self.lexicon.replace_purged(segments, gone);
            if !self.graph.return_graph(graph, purged.lease.as_ref()) {
                self.graph
                    .remove(&self.vectors, |ordinal| gone.contains(ordinal));
            }
        }
        let left = gone.ordinals.get(purged.purged_count..).unwrap_or_default();
        let next = left.get(..most).unwrap_or(left);
        let mut vacated = Vec::new();
        let block = |ordinal: &u32| *ordinal as usize / BLOCK_DOCUMENTS;
        for together in next.chunk_by(|one, other| block(one) == block(other)) {
            let sessions = together
                .iter()
                .filter_map(|ordinal| self.turn_into_hole(*ordinal));
            vacated.extend(sessions);
            if let Some(first) = together.first() {
                self.facets.rebuild_block(&self.rows, *first);
            }
        }
        purged.purged_count += next.len();
        let is_done = next.len() == left.len();
        if is_done {
            purged.lease = None;
        }
        // Each step removes unused names, because the next step may never come.
        self.remove_unused_names(vacated);
        is_done
    }

    /// Whether a purge currently holds the graph.
    pub fn is_purging(&self) -> bool {
        self.graph.is_lent()
    }

    /// Turns a document into a hole; returns the session that it was in.
    fn turn_into_hole(&mut self, ordinal: u32) -> Option<u32> {
        let row = self.rows.get_mut(ordinal as usize)?;
        let hole = Doc::new_hole(row.id);
        let session = std::mem::replace(row, hole).session;
        if self.vectors.has(ordinal) {
            self.vectors.set(ordinal, None);
        }
        self.live_set.erase(ordinal, &hole);
        (session != NO_SESSION).then_some(session)
    }

    /// Removes the names of those sessions that contain no document any more.
    fn remove_unused_names(&mut self, mut sessions: Vec<u32>) {
        sessions.sort_unstable();
        sessions.dedup();
        let retain_unused_sessions = self.live_set.retain_unused_sessions(sessions);
        for session in &retain_unused_sessions {
            self.interner
                .remove(self.sessions.name(*session).unwrap_or_default());
        }
        self.sessions.remove_names(&retain_unused_sessions);
    }
}

#[cfg(test)]
mod tests;
