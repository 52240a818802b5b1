//! Search: greedy descent through the upper layers, then a beam search on the target layer. Defines
//! the order of results and the layer of a node, too.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::graph::{HnswGraph, M0};

/// Reusable buffers of a search.
#[derive(Debug, Default)]
pub struct GraphScratch {
    /// One bit per document.
    visited: Vec<u64>,
    frontier: BinaryHeap<u64>,
    found: BinaryHeap<Reverse<u64>>,
    /// Results of the last search as [`rank_key`]s, best first.
    pub best: Vec<u64>,
}

impl HnswGraph {
    /// Writes to `scratch.best` the `ef` most similar admitted nodes that a beam of width `ef`
    /// finds. Nodes that are not admitted are traversed, but not returned.
    pub fn search(
        &self,
        similarity: impl Fn(u32) -> f32,
        ef: usize,
        admit: impl Fn(u32) -> bool,
        scratch: &mut GraphScratch,
    ) {
        scratch.best.clear();
        if let Some((entry, top)) = self.entry_point {
            let start = (1..=top).rev().fold(entry, |at, layer| {
                self.descend_layer(&similarity, at, layer)
            });
            self.beam_search(similarity, start, ef, 0, admit, scratch);
        }
    }

    /// Searches `layer` greedily and returns the node whose links all lead farther away.
    pub(crate) fn descend_layer(
        &self,
        similarity: impl Fn(u32) -> f32,
        from: u32,
        layer: usize,
    ) -> u32 {
        let mut best = rank_key(similarity(from), from);
        loop {
            let links = self.links(best as u32, layer);
            let next = links.iter().map(|id| rank_key(similarity(*id), *id)).max();
            match next {
                Some(next) if next > best => best = next,
                _ => return best as u32,
            }
        }
    }

    pub(crate) fn beam_search(
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
        // The worst rank in the beam; once `ef` nodes are found, nothing below it is expanded.
        let mut bar = 0;
        let first = rank_key(similarity(start), start);
        mark_visited(visited, start);
        frontier.push(first);
        if admit(start) {
            found.push(Reverse(first));
        }
        while let Some(nearest) = frontier.pop() {
            if found.len() >= ef && nearest < bar {
                break;
            }
            // Collects unvisited links first, then all their similarities, and decides after: a
            // branch on each would have the processor wait for one memory load after the other.
            let mut unseen = [0; M0];
            let mut count = 0;
            for id in self.links(nearest as u32, layer) {
                unseen[count] = *id;
                count += usize::from(mark_visited(visited, *id));
                if count == M0 {
                    break;
                }
            }
            let mut keys = [0; M0];
            for (key_of, id) in keys.iter_mut().zip(&unseen[..count]) {
                *key_of = rank_key(similarity(*id), *id);
            }
            for &next in &keys[..count] {
                if found.len() >= ef && next < bar {
                    continue;
                }
                frontier.push(next);
                if admit(next as u32) {
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

/// Marks a node as visited; returns `true` the first time.
fn mark_visited(visited: &mut [u64], node: u32) -> bool {
    let Some(word) = visited.get_mut(node as usize / 64) else {
        return false;
    };
    let bit = 1 << (node % 64);
    let first = *word & bit == 0;
    *word |= bit;
    first
}

/// Packs a similarity and an ordinal into one number that sorts by rank: higher similarity, then
/// newer.
pub fn rank_key(similarity: f32, ordinal: u32) -> u64 {
    let bits = similarity.to_bits();
    let sign = 1_u32 << 31;
    let ordered = if bits & sign == 0 { bits | sign } else { !bits };
    u64::from(ordered) << 32 | u64::from(ordinal)
}

/// Returns the ordinal and the similarity of a [`rank_key`].
pub fn split_rank_key(key: u64) -> (u32, f32) {
    let ordered = (key >> 32) as u32;
    let sign = 1_u32 << 31;
    let bits = if ordered & sign == 0 {
        !ordered
    } else {
        ordered & !sign
    };
    (key as u32, f32::from_bits(bits))
}

/// Returns the highest layer of a document: `floor(-ln(r) / ln(M))` for `r = hash / 2^64`, which
/// with M = 16 is a quarter of the hash's leading zeros. The hash (`SplitMix64`) depends on the
/// ordinal alone.
pub(crate) fn level_of(ordinal: u32) -> usize {
    let state = u64::from(ordinal).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).leading_zeros() as usize / 4
}
