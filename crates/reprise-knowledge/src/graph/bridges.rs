//! Records that hold others together: how many shortest ways lead through each (Brandes, 2001).

use super::Graph;
use crate::prelude::*;

/// Records from which ways are followed; of more these are taken evenly.
const SOURCES_MAX: usize = 256;

impl Graph {
    /// The records through which most shortest ways from `from` to `to` lead, with the share of
    /// those ways, the most first. An empty list stands for every record. Ends of a way are no
    /// bridge.
    pub fn bridges(&self, from: &[RecordId], to: &[RecordId]) -> Vec<(RecordId, f64)> {
        let places = |ids: &[RecordId]| -> Vec<u32> {
            if ids.is_empty() {
                return (0..self.ids.len() as u32).collect();
            }
            ids.iter()
                .filter_map(|id| self.places.get(id).copied())
                .collect()
        };
        let mut sources = places(from);
        if sources.len() > SOURCES_MAX {
            let every = sources.len().div_ceil(SOURCES_MAX);
            sources = sources.into_iter().step_by(every).collect();
        }
        let targets: HashSet<u32> = places(to).into_iter().collect();
        let mut through = vec![0.0; self.ids.len()];
        let mut ways = 0.0;
        for source in sources {
            ways += self.follow(source, &targets, &mut through);
        }
        let share = |(at, sum): (usize, f64)| Some((self.id(at as u32)?, sum / ways));
        let mut bridges: Vec<(RecordId, f64)> = through
            .into_iter()
            .enumerate()
            .filter(|(_, sum)| *sum > 0.0)
            .filter_map(share)
            .collect();
        bridges.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        bridges
    }

    /// Adds to each record its share of the shortest ways from one record to the targets; answers
    /// how many targets there are ways to.
    fn follow(&self, source: u32, targets: &HashSet<u32>, through: &mut [f64]) -> f64 {
        let size = self.ids.len();
        let (mut count, mut depth) = (vec![0.0_f64; size], vec![u32::MAX; size]);
        let mut order = Vec::new();
        let mut next = VecDeque::from([source]);
        set(&mut count, source, 1.0);
        set(&mut depth, source, 0);
        while let Some(at) = next.pop_front() {
            order.push(at);
            let (steps, ways) = (get(&depth, at), get(&count, at));
            for edge in self.edges(at) {
                if get(&depth, edge.to) == u32::MAX {
                    set(&mut depth, edge.to, steps + 1);
                    next.push_back(edge.to);
                }
                if get(&depth, edge.to) == steps + 1 {
                    let more = get(&count, edge.to) + ways;
                    set(&mut count, edge.to, more);
                }
            }
        }
        let mut leads = vec![0.0_f64; size];
        for at in order.iter().rev().copied() {
            let own = if targets.contains(&at) { 1.0 } else { 0.0 };
            for edge in self.edges(at) {
                if get(&depth, edge.to) + 1 == get(&depth, at) {
                    let share = get(&count, edge.to) / get(&count, at) * (own + get(&leads, at));
                    let more = get(&leads, edge.to) + share;
                    set(&mut leads, edge.to, more);
                }
            }
            if at != source
                && let Some(sum) = through.get_mut(at as usize)
            {
                *sum += get(&leads, at);
            }
        }
        let reached = order
            .iter()
            .filter(|at| **at != source && targets.contains(at));
        reached.count() as f64
    }
}

fn get<T: Copy + Default>(list: &[T], at: u32) -> T {
    list.get(at as usize).copied().unwrap_or_default()
}

fn set<T>(list: &mut [T], at: u32, value: T) {
    if let Some(place) = list.get_mut(at as usize) {
        *place = value;
    }
}
