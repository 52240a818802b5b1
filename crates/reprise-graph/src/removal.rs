//! Removal of nodes whose codes go: whoever led to one leads past it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::graph::{Graph, Metric, OrdinalSet};
use crate::search::{key, level_of};

/// Where more than one in so many goes, a new graph is sooner there and better.
const SHARE_MAX: usize = 4;

impl Graph {
    /// Takes out the nodes that `gone` names; `has` names the documents that have a vector, these
    /// included. A node that none leads to any more is inserted again by the next growth.
    pub fn remove(
        &mut self,
        metric: &impl Metric,
        has: impl Fn(u32) -> bool,
        gone: impl Fn(u32) -> bool,
    ) {
        let leaving: Vec<u32> = self.covered().filter(|n| has(*n) && gone(*n)).collect();
        if leaving.is_empty() {
            return;
        }
        let stays = |node: &u32| has(*node) && !gone(*node);
        let within = self.covered().filter(|n| self.finds(*n) && stays(n));
        let highest = within.max_by_key(|n| level_of(*n));
        let Some(highest) = highest.filter(|_| leaving.len() * SHARE_MAX <= self.found()) else {
            *self = Self::default();
            return;
        };
        let mut changes = Vec::new();
        for node in self.covered().filter(stays) {
            for layer in 0..self.layers(node) {
                if self.links(node, layer).iter().any(|to| gone(*to)) {
                    changes.push((node, layer, self.past(metric, node, layer, &gone)));
                }
            }
        }
        for (node, layer, links) in changes {
            self.set_links(node, layer, &links);
        }
        let mut orphans = OrdinalSet::default();
        let led_to = leaving.iter().flat_map(|node| self.links(*node, 0));
        led_to
            .filter(|to| stays(to))
            .for_each(|to| orphans.insert(*to));
        for node in leaving {
            Arc::make_mut(&mut self.loose).remove(node);
            self.clear(node);
        }
        for to in self.covered().flat_map(|node| self.links(node, 0)) {
            orphans.remove(*to);
        }
        for node in orphans.iter() {
            self.moved(node);
        }
        if self.entry.is_some_and(|(entry, _)| gone(entry)) {
            self.entry = Some((highest, level_of(highest)));
        }
    }

    /// The links that a node keeps, and in the place of each that goes the nearest behind those.
    fn past(
        &self,
        metric: &impl Metric,
        node: u32,
        layer: usize,
        gone: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let links = self.links(node, layer);
        let (over, mut kept): (Vec<u32>, Vec<u32>) = links.iter().partition(|to| gone(**to));
        let behind = over.iter().flat_map(|to| self.links(*to, layer));
        let is_new = |to: &&u32| !gone(**to) && **to != node && !kept.contains(to);
        let mut reach: Vec<u64> = behind
            .filter(is_new)
            .map(|to| key(metric.similarity(node, *to), *to))
            .collect();
        reach.sort_unstable_by(|a, b| b.cmp(a));
        reach.dedup();
        kept.extend(reach.iter().take(over.len()).map(|key| *key as u32));
        kept
    }

    fn clear(&mut self, node: u32) {
        self.set_links(node, 0, &[]);
        for layer in 1..self.layers(node) {
            self.set_links(node, layer, &[]);
        }
    }
}
