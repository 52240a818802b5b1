//! What links make of records: the way from one to another, what stands around one, what belongs
//! together, and what holds two domains together (A8).

mod bridges;

use crate::prelude::*;

/// Rounds after which what belongs together is settled, or as good as.
const ROUNDS_MAX: usize = 30;

/// The links of a memory as of one instant, walked either way.
#[derive(Debug, Default)]
pub struct Graph {
    ids: Vec<RecordId>,
    places: HashMap<RecordId, u32>,
    relations: Vec<String>,
    /// By place: the links of each record, in the order in which they were made.
    edges: Vec<Vec<Edge>>,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    to: u32,
    relation: u32,
    outgoing: bool,
}

/// One link on the way from a record to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The record that it leads to on this way.
    pub record: RecordId,
    pub relation: String,
    /// Whether the link itself leads there, and not from there.
    pub outgoing: bool,
}

/// Records that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The one with the most links inside.
    pub centre: RecordId,
    /// All of them, those with the most links inside first.
    pub members: Vec<RecordId>,
}

impl Graph {
    /// The links of a memory.
    pub fn of(memory: &Snapshot) -> Self {
        Self::from_links(memory.all_links())
    }

    fn from_links<'a>(links: impl IntoIterator<Item = (RecordId, RecordId, &'a str)>) -> Self {
        let mut graph = Self::default();
        let mut words: HashMap<&str, u32> = HashMap::new();
        for (from, to, word) in links {
            let (from, to) = (graph.place(from), graph.place(to));
            let relation = *words.entry(word).or_insert_with(|| {
                graph.relations.push(word.to_owned());
                graph.relations.len() as u32 - 1
            });
            for (at, to, outgoing) in [(from, to, true), (to, from, false)] {
                if let Some(edges) = graph.edges.get_mut(at as usize) {
                    edges.push(Edge {
                        to,
                        relation,
                        outgoing,
                    });
                }
            }
        }
        graph
    }

    fn place(&mut self, id: RecordId) -> u32 {
        let (ids, edges) = (&mut self.ids, &mut self.edges);
        *self.places.entry(id).or_insert_with(|| {
            ids.push(id);
            edges.push(Vec::new());
            ids.len() as u32 - 1
        })
    }

    fn edges(&self, at: u32) -> &[Edge] {
        self.edges.get(at as usize).map_or(&[], Vec::as_slice)
    }

    fn id(&self, at: u32) -> Option<RecordId> {
        self.ids.get(at as usize).copied()
    }

    fn step(&self, edge: Edge) -> Option<Step> {
        Some(Step {
            record: self.id(edge.to)?,
            relation: self.relations.get(edge.relation as usize)?.clone(),
            outgoing: edge.outgoing,
        })
    }

    /// A shortest way from one record to another, links taken either way; `None` where there is
    /// none.
    pub fn path(&self, from: RecordId, to: RecordId) -> Option<Vec<Step>> {
        let (start, end) = (*self.places.get(&from)?, *self.places.get(&to)?);
        let mut came: HashMap<u32, (u32, Edge)> = HashMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(at) = next.pop_front() {
            if at == end {
                break;
            }
            for edge in self.edges(at) {
                if edge.to != start && !came.contains_key(&edge.to) {
                    came.insert(edge.to, (at, *edge));
                    next.push_back(edge.to);
                }
            }
        }
        let (mut at, mut steps) = (end, Vec::new());
        while at != start {
            let (before, edge) = came.get(&at)?;
            steps.push(self.step(*edge)?);
            at = *before;
        }
        steps.reverse();
        Some(steps)
    }

    /// The links among some records, each once.
    pub fn among(&self, records: &[RecordId]) -> Vec<(RecordId, Step)> {
        let places = records.iter().filter_map(|id| self.places.get(id).copied());
        let places: Vec<u32> = places.collect();
        let inside: HashSet<u32> = places.iter().copied().collect();
        let links = places.iter().flat_map(|at| {
            let own = self.edges(*at).iter();
            own.filter(|edge| edge.outgoing && inside.contains(&edge.to))
                .filter_map(|edge| Some((self.id(*at)?, self.step(*edge)?)))
        });
        links.collect()
    }

    /// Records that belong together, by who their links are shared with; the largest first.
    pub fn clusters(&self) -> Vec<Cluster> {
        let mut labels: Vec<u32> = (0..self.ids.len() as u32).collect();
        for _ in 0..ROUNDS_MAX {
            let mut changed = false;
            for at in 0..self.ids.len() {
                let label = self.label_around(at as u32, &labels);
                if let Some(own) = labels.get_mut(at)
                    && *own != label
                {
                    (*own, changed) = (label, true);
                }
            }
            if !changed {
                break;
            }
        }
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (at, label) in (0..).zip(&labels) {
            groups.entry(*label).or_default().push(at);
        }
        let mut clusters: Vec<Cluster> = groups
            .into_values()
            .filter_map(|group| self.cluster(&group, &labels))
            .collect();
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.members.len()));
        clusters
    }

    /// The label that most neighbours have; the smallest of several, its own before those.
    fn label_around(&self, at: u32, labels: &[u32]) -> u32 {
        let own = labels.get(at as usize).copied().unwrap_or(at);
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for edge in self.edges(at) {
            if let Some(label) = labels.get(edge.to as usize) {
                *counts.entry(*label).or_default() += 1;
            }
        }
        let most = counts.values().copied().max().unwrap_or_default();
        if counts.get(&own) == Some(&most) {
            return own;
        }
        let mut best = counts.into_iter().filter(|(_, count)| *count == most);
        best.next().map_or(own, |(label, _)| label)
    }

    fn cluster(&self, group: &[u32], labels: &[u32]) -> Option<Cluster> {
        let label = |at: u32| labels.get(at as usize);
        let inside = |at: &u32| {
            let own = self.edges(*at).iter();
            own.filter(|edge| label(edge.to) == label(*at)).count()
        };
        let mut members = group.to_vec();
        members.sort_by_cached_key(|at| (std::cmp::Reverse(inside(at)), *at));
        let members: Vec<RecordId> = members.into_iter().filter_map(|at| self.id(at)).collect();
        Some(Cluster {
            centre: *members.first()?,
            members,
        })
    }
}

#[cfg(test)]
mod tests;
