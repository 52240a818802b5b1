//! Insertion of one document at a time, with links both ways; links beyond the limit are pruned by
//! the select-neighbours heuristic.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::graph::{HnswGraph, M, M0, Metric};
use crate::search::{GraphScratch, level_of, rank_key, split_rank_key};

/// Candidates that an insert collects before it selects links.
const EF_CONSTRUCTION: usize = 200;

impl HnswGraph {
    /// Inserts up to `budget` of the `len` documents that have a vector (`has`): stale ones, then
    /// new ones, then older ones in descending order. Returns how many remain.
    pub fn grow(
        &mut self,
        metric: &impl Metric,
        has: impl Fn(u32) -> bool,
        len: u32,
        budget: usize,
        scratch: &mut GraphScratch,
    ) -> usize {
        if self.low == self.high {
            (self.low, self.high) = (len, len);
        }
        let mut inserted = 0;
        while inserted < budget {
            let next = if self.stale.count == 0 {
                let next = if self.high < len {
                    self.high += 1;
                    self.high - 1
                } else if self.low > 0 {
                    self.low -= 1;
                    self.low
                } else {
                    break;
                };
                Some(next)
            } else {
                Arc::make_mut(&mut self.stale).pop()
            };
            if let Some(next) = next.filter(|next| has(*next)) {
                self.insert_node(metric, next, scratch);
                inserted += 1;
            }
        }
        self.missing_count(len)
    }

    /// Number of the `len` documents that a search may miss.
    pub fn missing_count(&self, len: u32) -> usize {
        let covered = (self.high - self.low) as usize;
        (len as usize).saturating_sub(covered) + self.stale.count
    }

    fn insert_node(&mut self, metric: &impl Metric, node: u32, scratch: &mut GraphScratch) {
        let level = level_of(node);
        let similarity = |other| metric.similarity(node, other);
        let Some((mut at, top)) = self.entry_point else {
            self.set_links(node, 0, &[]);
            self.entry_point = Some((node, level));
            return;
        };
        for layer in (level + 1..=top).rev() {
            at = self.descend_layer(similarity, at, layer);
        }
        for layer in (0..=level.min(top)).rev() {
            self.beam_search(similarity, at, EF_CONSTRUCTION, layer, |_| true, scratch);
            // A stale node is in the graph already and would find itself.
            scratch.best.retain(|found| *found as u32 != node);
            at = scratch.best.first().map_or(at, |best| *best as u32);
            let chosen = select_neighbours(metric, &scratch.best, M);
            self.set_links(node, layer, &chosen);
            for neighbour in chosen {
                self.add_backlink(metric, neighbour, node, layer);
            }
        }
        if level > top {
            self.entry_point = Some((node, level));
        }
    }

    /// Adds `node` to the links of `neighbour`, which may prune another link.
    fn add_backlink(&mut self, metric: &impl Metric, neighbour: u32, node: u32, layer: usize) {
        let links = self.links(neighbour, layer);
        if links.contains(&node) {
            return;
        }
        let most = if layer == 0 { M0 } else { M };
        let mut ids: Vec<u32> = Vec::with_capacity(most + 1);
        ids.extend_from_slice(links);
        ids.push(node);
        if ids.len() > most {
            let score = |id: &u32| rank_key(metric.similarity(neighbour, *id), *id);
            let mut scored: Vec<u64> = ids.iter().map(score).collect();
            scored.sort_unstable_by(|a, b| b.cmp(a));
            ids = select_neighbours(metric, &scored, most);
        }
        self.set_links(neighbour, layer, &ids);
    }

    /// Whether a node has no upper layer.
    #[cfg(test)]
    pub(crate) fn has_no_upper_layer(&self, ordinal: u32) -> bool {
        self.node(ordinal)
            .is_none_or(|node| node.upper == crate::graph::NO_UPPER)
    }
}

/// Selects up to `most` of `scored` (best first): each that is nearer to the node than to any that
/// was selected before it, so that links lead in all directions (select-neighbours heuristic, alpha
/// 1.0).
pub(crate) fn select_neighbours(metric: &impl Metric, scored: &[u64], most: usize) -> Vec<u32> {
    let mut chosen: Vec<u32> = Vec::with_capacity(most);
    for (id, similarity) in scored.iter().map(|scored| split_rank_key(*scored)) {
        if chosen.len() == most {
            break;
        }
        let nearer = |other: &u32| metric.similarity(id, *other) > similarity;
        if !chosen.iter().any(nearer) {
            chosen.push(id);
        }
    }
    chosen
}
