//! Purging: forgotten documents become holes. Words and graph are made anew beside the writer,
//! which takes them over and does the rest some documents at a time: it costs what is forgotten,
//! not what is kept.

use std::ops::Range;
use std::sync::Arc;

use reprise_graph::Graph;

use crate::docs::{NO_SESSION, Row};
use crate::facets::BLOCK;
use crate::lexicon::purged;
use crate::segment::Segment;
use crate::vectors::Vectors;
use crate::writer::IndexWriter;

/// Documents that are to become holes.
#[derive(Debug)]
pub(crate) struct Gone {
    /// Ascending.
    ordinals: Vec<u32>,
    /// One bit for each document up to the last of them.
    words: Vec<u64>,
}

impl Gone {
    /// Of ordinals that ascend.
    fn of(ordinals: Vec<u32>) -> Self {
        let last = ordinals.last().map_or(0, |last| *last as usize);
        let mut words = vec![0_u64; last / 64 + 1];
        for ordinal in &ordinals {
            words[*ordinal as usize / 64] |= 1 << (ordinal % 64);
        }
        Self { ordinals, words }
    }

    pub(crate) fn has(&self, ordinal: u32) -> bool {
        let word = self.words.get(ordinal as usize / 64);
        word.is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    pub(crate) fn any_in(&self, range: Range<u32>) -> bool {
        let from = self.ordinals.partition_point(|gone| *gone < range.start);
        self.ordinals
            .get(from)
            .is_some_and(|gone| *gone < range.end)
    }
}

/// What is made anew beside the writer, on any thread.
#[derive(Debug)]
pub struct PurgeJob {
    gone: Gone,
    segments: Vec<Arc<Segment>>,
    graph: Graph,
    vectors: Vectors,
    lent: Arc<()>,
}

impl PurgeJob {
    pub fn run(self) -> Purged {
        let Self {
            gone,
            segments,
            mut graph,
            vectors,
            lent,
        } = self;
        let touched = segments.into_iter();
        let touched = touched.filter(|old| gone.any_in(old.first..old.end));
        let segments = touched.map(|old| {
            let new = Arc::new(purged(&old, &gone));
            (old, new)
        });
        let segments = segments.collect();
        graph.remove(&vectors, |node| vectors.has(node), |node| gone.has(node));
        Purged {
            gone,
            made: Some(Made {
                segments,
                graph,
                lent,
            }),
            done: 0,
        }
    }
}

/// What the writer takes over.
#[derive(Debug)]
pub struct Purged {
    gone: Gone,
    /// Until it is taken over.
    made: Option<Made>,
    /// Documents that are holes by now.
    done: usize,
}

#[derive(Debug)]
struct Made {
    segments: Vec<(Arc<Segment>, Arc<Segment>)>,
    graph: Graph,
    lent: Arc<()>,
}

impl IndexWriter {
    /// Turns forgotten documents into holes: none of their words, codes or session names is left in
    /// later snapshots or in [`Self::to_parts`].
    pub fn purge(&mut self) {
        if let Some(job) = self.start_purge() {
            self.finish_purge(&mut job.run(), usize::MAX);
        }
    }

    /// The same in steps; `None` where nothing is to be purged. Until the job's result is taken
    /// over, or dropped, the graph does not grow.
    pub fn start_purge(&mut self) -> Option<PurgeJob> {
        self.seal();
        let rows = &self.rows;
        let is_left = |ordinal: &u32| rows.get(*ordinal as usize).is_some_and(|row| !row.hole);
        self.forgotten.retain(is_left);
        self.forgotten.sort_unstable();
        if self.forgotten.is_empty() {
            return None;
        }
        let (graph, lent) = self.graph.lend(self.rows.len() as u32);
        Some(PurgeJob {
            gone: Gone::of(self.forgotten.clone()),
            segments: self.lexicon.segments().to_vec(),
            graph,
            vectors: self.vectors.clone(),
            lent,
        })
    }

    /// Takes over what a job made and turns up to `most` documents into holes; `true` once all of
    /// them are. Readers see the result after [`Self::publish`].
    pub fn finish_purge(&mut self, purged: &mut Purged, most: usize) -> bool {
        let gone = &purged.gone;
        if let Some(Made {
            segments,
            graph,
            lent,
        }) = purged.made.take()
        {
            self.lexicon.replace(&segments, gone);
            if !self.graph.take_back(graph, &lent) {
                self.graph
                    .remove(&self.vectors, |ordinal| gone.has(ordinal));
            }
        }
        let left = gone.ordinals.get(purged.done..).unwrap_or_default();
        let next = left.get(..most).unwrap_or(left);
        let mut vacated = Vec::new();
        let block = |ordinal: &u32| *ordinal as usize / BLOCK;
        for together in next.chunk_by(|one, other| block(one) == block(other)) {
            let sessions = together.iter().filter_map(|ordinal| self.hole(*ordinal));
            vacated.extend(sessions);
            if let Some(first) = together.first() {
                self.facets.renew(&self.rows, *first);
            }
        }
        purged.done += next.len();
        let is_done = next.len() == left.len();
        // Each step leaves no name behind: the next one may never come.
        self.take_names(vacated);
        is_done
    }

    /// Whether a purge has the graph.
    pub fn is_purging(&self) -> bool {
        self.graph.is_lent()
    }

    /// Turns a document into a hole; returns the session that it was in.
    fn hole(&mut self, ordinal: u32) -> Option<u32> {
        let row = self.rows.get_mut(ordinal as usize)?;
        let hole = Row::hole(row.id);
        let session = std::mem::replace(row, hole).session;
        if self.vectors.has(ordinal) {
            self.vectors.set(ordinal, None);
        }
        self.world.bury(ordinal, &hole);
        (session != NO_SESSION).then_some(session)
    }

    /// Takes the names of those sessions away that no document is in any more.
    fn take_names(&mut self, mut sessions: Vec<u32>) {
        sessions.sort_unstable();
        sessions.dedup();
        let deserted = self.world.deserted(sessions);
        for session in &deserted {
            self.interner
                .remove(self.sessions.name(*session).unwrap_or_default());
        }
        self.sessions.take_names(&deserted);
    }
}

#[cfg(test)]
mod tests;
