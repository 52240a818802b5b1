//! Search: greedy descent through the upper layers, then a beam search on the target layer.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::graph::{Graph, M0};
use crate::rank::key;

/// Reusable buffers of a search.
#[derive(Debug, Default)]
pub struct GraphScratch {
    /// One bit per document.
    visited: Vec<u64>,
    frontier: BinaryHeap<u64>,
    found: BinaryHeap<Reverse<u64>>,
    /// Results of the last search as [`key`]s, best first.
    pub best: Vec<u64>,
}

impl Graph {
    /// Puts into `scratch.best` the `ef` most similar admitted nodes that a beam of width `ef`
    /// finds. Nodes that are not admitted are traversed, but not returned.
    pub fn search(
        &self,
        similarity: impl Fn(u32) -> f32,
        ef: usize,
        admit: impl Fn(u32) -> bool,
        scratch: &mut GraphScratch,
    ) {
        scratch.best.clear();
        if let Some((entry, top)) = self.entry {
            let start = (1..=top)
                .rev()
                .fold(entry, |at, layer| self.descend(&similarity, at, layer));
            self.beam(similarity, start, ef, 0, admit, scratch);
        }
    }

    /// Greedy search on `layer`: the node whose links all lead farther away.
    pub(crate) fn descend(&self, similarity: impl Fn(u32) -> f32, from: u32, layer: usize) -> u32 {
        let mut best = key(similarity(from), from);
        loop {
            let links = self.links(best as u32, layer);
            let next = links.iter().map(|id| key(similarity(*id), *id)).max();
            match next {
                Some(next) if next > best => best = next,
                _ => return best as u32,
            }
        }
    }

    pub(crate) fn beam(
        &self,
        similarity: impl Fn(u32) -> f32,
        start: u32,
        ef: usize,
        layer: usize,
        admit: impl Fn(u32) -> bool,
        scratch: &mut GraphScratch,
    ) {
        let GraphScratch {
            visited,
            frontier,
            found,
            best,
        } = scratch;
        visited.clear();
        visited.resize(self.high as usize / 64 + 1, 0);
        frontier.clear();
        found.clear();
        // The worst similarity in the beam; once `ef` are found, nothing below it is expanded.
        let mut bar = 0;
        let first = key(similarity(start), start);
        visit(visited, start);
        frontier.push(first);
        if admit(start) {
            found.push(Reverse(first));
        }
        while let Some(nearest) = frontier.pop() {
            if found.len() >= ef && nearest < bar {
                break;
            }
            // Collects unvisited links first and reads their codes after, so that the memory loads
            // overlap.
            let mut unseen = [0; M0];
            let mut count = 0;
            for id in self.links(nearest as u32, layer) {
                unseen[count] = *id;
                count += usize::from(visit(visited, *id));
                if count == M0 {
                    break;
                }
            }
            for id in &unseen[..count] {
                let next = key(similarity(*id), *id);
                if found.len() >= ef && next < bar {
                    continue;
                }
                frontier.push(next);
                if admit(*id) {
                    found.push(Reverse(next));
                    if found.len() > ef {
                        found.pop();
                    }
                    bar = found.peek().map_or(0, |worst| worst.0);
                }
            }
        }
        best.clear();
        best.extend(found.drain().map(|found| found.0));
        best.sort_unstable_by(|a, b| b.cmp(a));
    }
}

/// Marks a node; `true` the first time.
fn visit(visited: &mut [u64], node: u32) -> bool {
    let Some(word) = visited.get_mut(node as usize / 64) else {
        return false;
    };
    let bit = 1 << (node % 64);
    let first = *word & bit == 0;
    *word |= bit;
    first
}
