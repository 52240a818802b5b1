//! The graph of the links between records: shortest paths, links among records, clusters, and
//! bridges between two sets of records.

use std::cmp::Reverse;

use crate::prelude::*;

/// Rounds after which clusters no longer change noticeably.
const ROUNDS_MAX: usize = 30;
/// Most records from which paths are followed; of more, an even sample is taken.
const SOURCES_MAX: usize = 256;

/// The links of a memory at one instant, in both directions.
#[derive(Debug, Default)]
pub struct Graph {
    ids: Vec<RecordId>,
    places: HashMap<RecordId, usize>,
    relations: Vec<String>,
    /// For each position, the links of its record in the order in which they were made.
    edges: Vec<Vec<Edge>>,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    to: u32,
    relation: u32,
    outgoing: bool,
}

impl Edge {
    /// Position that it leads to.
    fn to(&self) -> usize {
        self.to as usize
    }
}

/// One link on the path from a record to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphStep {
    /// The record that it leads to on this path.
    pub record: RecordId,
    pub relation: String,
    /// Whether the link has the direction of the path.
    pub outgoing: bool,
}

/// Records that are linked with each other more than with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCluster {
    /// The member with the most links inside the cluster.
    pub centre: RecordId,
    /// All members, those with the most links inside the cluster first.
    pub members: Vec<RecordId>,
}

impl Graph {
    /// Builds the graph of a memory.
    pub fn of(memory: &Snapshot) -> Self {
        Self::from_links(memory.all_links())
    }

    fn from_links<'a>(links: impl IntoIterator<Item = (RecordId, RecordId, &'a str)>) -> Self {
        let mut graph = Self::default();
        let mut words: HashMap<&str, u32> = HashMap::new();
        for (from, to, word) in links {
            let (from, to) = (graph.ensure_node(from), graph.ensure_node(to));
            let relation = *words.entry(word).or_insert_with(|| {
                graph.relations.push(word.to_owned());
                graph.relations.len() as u32 - 1
            });
            for (at, to, outgoing) in [(from, to, true), (to, from, false)] {
                graph.edges[at].push(Edge {
                    to: to as u32,
                    relation,
                    outgoing,
                });
            }
        }
        graph
    }

    fn ensure_node(&mut self, id: RecordId) -> usize {
        let (ids, edges) = (&mut self.ids, &mut self.edges);
        *self.places.entry(id).or_insert_with(|| {
            ids.push(id);
            edges.push(Vec::new());
            ids.len() - 1
        })
    }

    fn step_along(&self, edge: Edge) -> GraphStep {
        GraphStep {
            record: self.ids[edge.to()],
            relation: self.relations[edge.relation as usize].clone(),
            outgoing: edge.outgoing,
        }
    }

    /// Finds a shortest path between two records, following links in both directions; `None` if
    /// there is none.
    pub fn find_shortest_path(&self, from: RecordId, to: RecordId) -> Option<Vec<GraphStep>> {
        let (start, end) = (*self.places.get(&from)?, *self.places.get(&to)?);
        let mut came: HashMap<usize, (usize, Edge)> = HashMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(at) = next.pop_front() {
            if at == end {
                break;
            }
            for edge in &self.edges[at] {
                let to = edge.to();
                if to != start && !came.contains_key(&to) {
                    came.insert(to, (at, *edge));
                    next.push_back(to);
                }
            }
        }
        let (mut at, mut steps) = (end, Vec::new());
        while at != start {
            let (before, edge) = came.get(&at)?;
            steps.push(self.step_along(*edge));
            at = *before;
        }
        steps.reverse();
        Some(steps)
    }

    /// Returns the links among some records, each once.
    pub fn list_links_among(&self, records: &[RecordId]) -> Vec<(RecordId, GraphStep)> {
        let places = records.iter().filter_map(|id| self.places.get(id).copied());
        let places: Vec<usize> = places.collect();
        let inside: HashSet<usize> = places.iter().copied().collect();
        let links = places.iter().flat_map(|at| {
            let own = self.edges[*at].iter();
            own.filter(|edge| edge.outgoing && inside.contains(&edge.to()))
                .map(|edge| (self.ids[*at], self.step_along(*edge)))
        });
        links.collect()
    }

    /// Finds clusters by label propagation, the largest first.
    pub fn find_clusters(&self) -> Vec<RecordCluster> {
        let mut labels: Vec<usize> = (0..self.ids.len()).collect();
        for _ in 0..ROUNDS_MAX {
            let mut changed = false;
            for at in 0..self.ids.len() {
                let label = self.majority_label(at, &labels);
                changed |= labels[at] != label;
                labels[at] = label;
            }
            if !changed {
                break;
            }
        }
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, label) in labels.iter().enumerate() {
            groups.entry(*label).or_default().push(at);
        }
        let clusters = groups.into_values();
        let clusters = clusters.map(|group| self.build_cluster(group, &labels));
        let mut clusters: Vec<RecordCluster> = clusters.collect();
        clusters.sort_by_key(|cluster| Reverse(cluster.members.len()));
        clusters
    }

    /// Returns the label that most neighbours have: on a tie its own, or else the smallest.
    fn majority_label(&self, at: usize, labels: &[usize]) -> usize {
        let own = labels[at];
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for edge in &self.edges[at] {
            *counts.entry(labels[edge.to()]).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or_default();
        if counts.get(&own) == Some(&most) {
            return own;
        }
        let mut best = counts.into_iter().filter(|(_, count)| *count == most);
        best.next().map_or(own, |(label, _)| label)
    }

    /// Builds the cluster of a label from its positions, of which there is at least one.
    fn build_cluster(&self, mut places: Vec<usize>, labels: &[usize]) -> RecordCluster {
        let inside = |at: usize| {
            let own = self.edges[at].iter();
            own.filter(|edge| labels[edge.to()] == labels[at]).count()
        };
        places.sort_by_cached_key(|at| (Reverse(inside(*at)), *at));
        let members: Vec<RecordId> = places.into_iter().map(|at| self.ids[at]).collect();
        RecordCluster {
            centre: members[0],
            members,
        }
    }

    /// Finds the records through which most shortest paths from `from` to `to` lead (Brandes,
    /// 2001), with the share of those paths, the largest first. An empty list means every record.
    /// The ends of a path are no bridges.
    pub fn find_bridges(&self, from: &[RecordId], to: &[RecordId]) -> Vec<(RecordId, f64)> {
        let places = |ids: &[RecordId]| -> Vec<usize> {
            if ids.is_empty() {
                return (0..self.ids.len()).collect();
            }
            let known = ids.iter().filter_map(|id| self.places.get(id).copied());
            known.collect()
        };
        let sources = places(from);
        let every = sources.len().div_ceil(SOURCES_MAX).max(1);
        let targets: HashSet<usize> = places(to).into_iter().collect();
        let (mut through, mut ways) = (vec![0.0; self.ids.len()], 0.0);
        for source in sources.into_iter().step_by(every) {
            ways += self.add_path_shares(source, &targets, &mut through);
        }
        let passed = self.ids.iter().zip(through).filter(|(_, sum)| *sum > 0.0);
        let shares = passed.map(|(id, sum)| (*id, sum / ways));
        let mut bridges: Vec<(RecordId, f64)> = shares.collect();
        bridges.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        bridges
    }

    /// Adds to each record its share of the shortest paths from one record to the targets; returns
    /// the number of reachable targets.
    fn add_path_shares(&self, source: usize, targets: &HashSet<usize>, through: &mut [f64]) -> f64 {
        let size = self.ids.len();
        let (mut count, mut depth) = (vec![0.0_f64; size], vec![u32::MAX; size]);
        let mut order = Vec::new();
        let mut next = VecDeque::from([source]);
        (count[source], depth[source]) = (1.0, 0);
        while let Some(at) = next.pop_front() {
            order.push(at);
            for to in self.edges[at].iter().map(Edge::to) {
                if depth[to] == u32::MAX {
                    depth[to] = depth[at] + 1;
                    next.push_back(to);
                }
                if depth[to] == depth[at] + 1 {
                    count[to] += count[at];
                }
            }
        }
        let mut leads = vec![0.0_f64; size];
        for at in order.iter().rev().copied() {
            let own = if targets.contains(&at) { 1.0 } else { 0.0 };
            for to in self.edges[at].iter().map(Edge::to) {
                if depth[to] + 1 == depth[at] {
                    leads[to] += count[to] / count[at] * (own + leads[at]);
                }
            }
            if at != source {
                through[at] += leads[at];
            }
        }
        let reached = order
            .iter()
            .filter(|at| **at != source && targets.contains(at));
        reached.count() as f64
    }
}

#[cfg(test)]
mod tests;
