//! Removal of nodes: the nodes that linked to a removed one link to its neighbours instead.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::graph::{HnswGraph, Metric, OrdinalSet};
use crate::search::{level_of, rank_key};

/// If more than one node in this many is removed, a new graph is faster to build and better.
const SHARE_MAX: usize = 4;

impl HnswGraph {
    /// Removes the nodes for which `is_removed` is true; `has` is true for the documents with a
    /// vector, these included. A node to which no link leads any more is inserted again by the next
    /// growth.
    pub fn remove_nodes(
        &mut self,
        metric: &impl Metric,
        has: impl Fn(u32) -> bool,
        is_removed: impl Fn(u32) -> bool,
    ) {
        let removed: Vec<u32> = self
            .covered_range()
            .filter(|n| has(*n) && is_removed(*n))
            .collect();
        if removed.is_empty() {
            return;
        }
        let stays = |node: &u32| has(*node) && !is_removed(*node);
        let remaining = self
            .covered_range()
            .filter(|n| self.is_searchable(*n) && stays(n));
        let highest = remaining.max_by_key(|n| level_of(*n));
        let Some(highest) =
            highest.filter(|_| removed.len() * SHARE_MAX <= self.searchable_count())
        else {
            *self = Self::default();
            return;
        };
        let mut changes = Vec::new();
        for node in self.covered_range().filter(stays) {
            for layer in 0..self.count_layers_of_node(node) {
                if self.links(node, layer).iter().any(|to| is_removed(*to)) {
                    changes.push((
                        node,
                        layer,
                        self.bridged_links(metric, node, layer, &is_removed),
                    ));
                }
            }
        }
        for (node, layer, links) in changes {
            self.set_links(node, layer, &links);
        }
        let mut orphans = OrdinalSet::default();
        let neighbours = removed.iter().flat_map(|node| self.links(*node, 0));
        neighbours
            .filter(|to| stays(to))
            .for_each(|to| orphans.insert(*to));
        for node in removed {
            Arc::make_mut(&mut self.stale).remove(node);
            self.clear_links(node);
        }
        for to in self.covered_range().flat_map(|node| self.links(node, 0)) {
            orphans.remove(*to);
        }
        for node in orphans.iter() {
            self.mark_stale(node);
        }
        if self.entry_point.is_some_and(|(entry, _)| is_removed(entry)) {
            self.entry_point = Some((highest, level_of(highest)));
        }
    }

    /// Returns the remaining links of a node, and for each removed one the nearest neighbour of the
    /// removed nodes.
    fn bridged_links(
        &self,
        metric: &impl Metric,
        node: u32,
        layer: usize,
        is_removed: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let links = self.links(node, layer);
        let (lost, mut kept): (Vec<u32>, Vec<u32>) = links.iter().partition(|to| is_removed(**to));
        let candidates = lost.iter().flat_map(|to| self.links(*to, layer));
        let is_new = |to: &&u32| !is_removed(**to) && **to != node && !kept.contains(to);
        let mut reachable: Vec<u64> = candidates
            .filter(is_new)
            .map(|to| rank_key(metric.similarity(node, *to), *to))
            .collect();
        reachable.sort_unstable_by(|a, b| b.cmp(a));
        reachable.dedup();
        kept.extend(reachable.iter().take(lost.len()).map(|key| *key as u32));
        kept
    }

    fn clear_links(&mut self, node: u32) {
        self.set_links(node, 0, &[]);
        for layer in 1..self.count_layers_of_node(node) {
            self.set_links(node, layer, &[]);
        }
    }
}
