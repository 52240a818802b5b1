//! The graph compared with an exact search, encoded and decoded, and decoded from forged bytes.

use alloc::vec;
use alloc::vec::Vec;

use crate::insert::select_neighbours;
use crate::search::level_of;
use crate::*;

/// The generator `SplitMix64`: it is seeded and never changes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn unit(&mut self, dimensions: usize) -> Vec<f32> {
        let uniform = |r: &mut Self| (r.next() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0;
        let mut vector: Vec<f32> = (0..dimensions).map(|_| uniform(self)).collect();
        normalize(&mut vector);
        vector
    }
}

fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    for x in vector {
        *x /= length;
    }
}

fn encode(graph: &HnswGraph) -> Vec<u8> {
    let mut bytes = Vec::new();
    graph.encode(&mut bytes);
    bytes
}

struct Points(Vec<Vec<f32>>);

impl Points {
    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// Returns `count` points around few centres, like the topics of one user's memory.
    fn clustered(random: &mut Random, count: usize) -> Self {
        let centres: Vec<Vec<f32>> = (0..20).map(|_| random.unit(32)).collect();
        let near = |random: &mut Random| {
            let centre = &centres[random.next() as usize % 20];
            let noise = random.unit(32);
            let mut point: Vec<f32> = centre.iter().zip(noise).map(|(c, n)| c + 0.8 * n).collect();
            normalize(&mut point);
            point
        };
        Self((0..count).map(|_| near(random)).collect())
    }

    fn grow(&self, budget: usize) -> HnswGraph {
        let mut graph = HnswGraph::default();
        let mut scratch = GraphScratch::default();
        let len = self.0.len() as u32;
        while graph.grow(self, |_| true, len, budget, &mut scratch) > 0 {}
        graph
    }

    /// Returns the share of the exact ten nearest admitted points that a beam of 128 finds.
    fn recall(&self, graph: &HnswGraph, queries: &[Vec<f32>], admit: impl Fn(u32) -> bool) -> f64 {
        let mut scratch = GraphScratch::default();
        let mut hits = 0;
        for query in queries {
            let score = |id: u32| Self::dot(query, &self.0[id as usize]);
            let mut exact: Vec<u64> = (0..self.0.len() as u32)
                .filter(|id| admit(*id))
                .map(|id| rank_key(score(id), id))
                .collect();
            exact.sort_unstable_by(|a, b| b.cmp(a));
            graph.search(score, 128, &admit, &mut scratch);
            hits += exact[..10]
                .iter()
                .filter(|e| scratch.best.contains(e))
                .count();
        }
        hits as f64 / (10 * queries.len()) as f64
    }
}

impl Metric for Points {
    fn similarity(&self, a: u32, b: u32) -> f32 {
        Self::dot(&self.0[a as usize], &self.0[b as usize])
    }
}

fn find_nearest(points: &Points, graph: &HnswGraph, query: &[f32]) -> Vec<u64> {
    let mut scratch = GraphScratch::default();
    let score = |id: u32| Points::dot(query, &points.0[id as usize]);
    graph.search(score, 20, |_| true, &mut scratch);
    scratch.best
}

#[test]
fn links_are_chosen_in_all_directions() {
    // The first is the node. Of two neighbours on one side the second is nearer to the first of
    // them than to the node (alpha 1.0), so the farther one on the other side comes before it.
    let points = [0.0_f32, 10.0, 21.0, -40.0]
        .map(f32::to_radians)
        .map(|angle| vec![angle.cos(), angle.sin()]);
    let points = Points(points.to_vec());
    let scored = [1, 2, 3].map(|id| rank_key(points.similarity(0, id), id));
    assert_eq!(select_neighbours(&points, &scored[..1], 2), [1]);
    assert_eq!(select_neighbours(&points, &scored, 2), [1, 3]);
    // Nearer to the node than to the one before it, it stays.
    let points = [0.0_f32, 10.0, -10.5, -40.0].map(f32::to_radians);
    let points = Points(points.map(|angle| vec![angle.cos(), angle.sin()]).to_vec());
    let scored = [1, 2, 3].map(|id| rank_key(points.similarity(0, id), id));
    assert_eq!(select_neighbours(&points, &scored, 2), [1, 2]);
}

#[test]
fn it_finds_the_nearest_on_clusters_whoever_may_answer() {
    let mut random = Random(21);
    let points = Points::clustered(&mut random, 4_000);
    let queries = Points::clustered(&mut Random(22), 50).0;
    let graph = points.grow(64);
    assert_eq!(graph.covered_range(), 0..4_000);
    let all = points.recall(&graph, &queries, |_| true);
    let half = points.recall(&graph, &queries, |id| id % 2 == 0);
    assert!(all >= 0.99 && half >= 0.99, "{all} {half}");
}

#[test]
fn layers_follow_the_formula() {
    let count = |layer| (0..65_536_u32).filter(|o| level_of(*o) >= layer).count();
    // Each layer holds 1/16 of the one below: 4,096 and 256 expected, with a deviation of 62 and
    // 16.
    assert!((3_850..4_350).contains(&count(1)), "{}", count(1));
    assert!((190..320).contains(&count(2)), "{}", count(2));
}

#[test]
fn links_stay_within_bounds_and_lead_both_ways_at_first() {
    let mut random = Random(23);
    let points = Points::clustered(&mut random, 1_500);
    let graph = points.grow(7);
    for id in 0..1_500 {
        let links = graph.links(id, 0);
        assert!(!links.is_empty() && links.len() <= 32 && links.is_sorted());
        assert!(!links.contains(&id));
        assert_eq!(graph.has_no_upper_layer(id), graph.links(id, 1).is_empty());
    }
    let two = Points(points.0[..2].to_vec()).grow(1);
    assert_eq!((two.links(0, 0), two.links(1, 0)), (&[1][..], &[0][..]));
}

/// A metric with one node in the middle that is nearest to all others, which are equally far from
/// each other: every node selects the middle first, and each of the others is another direction.
struct Star {
    middle: u32,
}

impl Metric for Star {
    fn similarity(&self, a: u32, b: u32) -> f32 {
        let is_near = a == self.middle || b == self.middle;
        if is_near { 0.9 } else { 0.8 }
    }
}

fn grow_whole(metric: &impl Metric, len: u32, scratch: &mut GraphScratch) -> HnswGraph {
    let mut graph = HnswGraph::default();
    while graph.grow(metric, |_| true, len, 64, scratch) > 0 {}
    graph
}

#[test]
fn a_node_has_32_links_on_layer_0_and_16_above_and_chooses_16_of_200() {
    let mut scratch = GraphScratch::default();
    // The newest is inserted first, and all that come later lead to it.
    let middle = (1_500..3_000).find(|id| level_of(*id) > 0).unwrap();
    let graph = grow_whole(&Star { middle }, middle + 1, &mut scratch);
    let links = [0, 1].map(|layer| graph.links(middle, layer).len());
    assert_eq!(links, [32, 16]);
    // The oldest is inserted last, so all others are its candidates.
    let graph = grow_whole(&Star { middle: 0 }, 1_500, &mut scratch);
    assert_eq!(graph.links(0, 0).len(), 16);
    let points = Points::clustered(&mut Random(30), 1_500);
    grow_whole(&points, 1_500, &mut scratch);
    assert_eq!(scratch.best.len(), 200, "what the last insert chose from");
}

#[test]
fn the_newest_come_first_and_what_moves_is_found_again() {
    let mut random = Random(24);
    let mut points = Points::clustered(&mut random, 600);
    let mut graph = HnswGraph::default();
    let mut scratch = GraphScratch::default();
    assert_eq!(graph.grow(&points, |_| true, 500, 100, &mut scratch), 400);
    assert_eq!(graph.covered_range(), 400..500);
    let before = graph.clone();
    // New documents are inserted before old ones; one without a vector costs nothing.
    assert_eq!(
        graph.grow(&points, |id| id != 510, 600, 99, &mut scratch),
        400
    );
    assert_eq!(graph.covered_range(), 400..600);
    assert_eq!(before.covered_range(), 400..500);
    assert!(graph.links(510, 0).is_empty());
    // A vector moves to the opposite side, and a missing one arrives.
    points.0[450] = points.0[450].iter().map(|x| -x).collect();
    for ordinal in [450, 510, 450, 3] {
        graph.mark_stale(ordinal);
    }
    assert!(graph.stale.iter().eq([450, 510]));
    assert_eq!(graph.grow(&points, |_| true, 600, 2, &mut scratch), 400);
    for id in [450, 510] {
        let found = find_nearest(&points, &graph, &points.0[id as usize]);
        assert_eq!(split_rank_key(found[0]).0, id);
    }
}

#[test]
fn what_goes_leaves_the_way_to_the_rest() {
    let mut random = Random(28);
    let points = Points::clustered(&mut random, 4_000);
    let queries = Points::clustered(&mut Random(29), 50).0;
    let mut graph = points.grow(64);
    let before = graph.clone();
    let mut scratch = GraphScratch::default();
    // One in seven is removed, a stretch like that of one session, and the entry point.
    let entry = graph.entry_point.unwrap().0;
    let is_removed = |id: u32| id.is_multiple_of(7) || (2_000..2_100).contains(&id) || id == entry;
    graph.remove_nodes(&points, |_| true, is_removed);
    assert_eq!(graph.covered_range(), 0..4_000);
    for id in 0..4_000 {
        let links = (0..3).flat_map(|layer| graph.links(id, layer));
        assert!(
            links.clone().all(|to| !is_removed(*to) && *to != id),
            "{id}"
        );
        assert!(!is_removed(id) || links.count() == 0);
    }
    let stays = |id: u32| !is_removed(id) && graph.is_searchable(id);
    let found = points.recall(&graph, &queries, stays);
    assert!(found >= 0.99, "{found}");
    // Few nodes have no links to them any more; those are inserted again.
    let left = graph.missing_count(4_000);
    assert!(left < 40, "{left}");
    while graph.grow(&points, |id| !is_removed(id), 4_000, 9, &mut scratch) > 0 {}
    let found = points.recall(&graph, &queries, |id| !is_removed(id));
    assert!(found >= 0.99, "{found}");
    // A published clone does not change, a second removal changes nothing, and the removal of most
    // nodes empties the graph.
    assert_eq!(before.entry_point.unwrap().0, entry);
    let bytes = encode(&graph);
    graph.remove_nodes(&points, |id| !is_removed(id), is_removed);
    assert_eq!(encode(&graph), bytes);
    graph.remove_nodes(&points, |id| !is_removed(id), |id| id > 900);
    assert!(graph.is_empty());
}

#[test]
fn a_graph_comes_back_as_it_was() {
    let mut random = Random(25);
    let points = Points::clustered(&mut random, 1_000);
    let mut graph = HnswGraph::default();
    let mut scratch = GraphScratch::default();
    graph.grow(&points, |id| id % 9 != 0, 1_000, 500, &mut scratch);
    graph.mark_stale(999);
    let bytes = encode(&graph);
    let mut back = HnswGraph::decode(&bytes, 1_000).unwrap();
    assert_eq!(encode(&back), bytes);
    assert_eq!(back.covered_range(), graph.covered_range());
    assert!(back.stale.iter().eq(graph.stale.iter()));
    for query in Points::clustered(&mut Random(26), 20).0 {
        assert_eq!(
            find_nearest(&points, &back, &query),
            find_nearest(&points, &graph, &query)
        );
    }
    // It grows like the other one.
    for graph in [&mut back, &mut graph] {
        graph.grow(&points, |_| true, 1_000, 200, &mut scratch);
    }
    assert_eq!(encode(&back), encode(&graph));
    assert!(HnswGraph::decode(&bytes, 999).is_err());
    let empty = encode(&HnswGraph::default());
    assert!(HnswGraph::decode(&empty, 0).unwrap().is_empty());
}

#[test]
fn saved_links_are_differences_in_leb128_with_a_restart_every_64_nodes() {
    let mut graph = HnswGraph {
        entry_point: Some((11, 1)),
        low: 10,
        high: 311,
        ..HnswGraph::default()
    };
    graph.set_links(10, 0, &[300, 11, 15]);
    graph.set_links(11, 0, &[10]);
    graph.set_links(11, 1, &[12]);
    graph.set_links(12, 0, &[10]);
    graph.mark_stale(12);
    // Range, entry point and its layer; stale ordinals; the offset of each 64th node.
    let numbers = [10_u32, 311, 11, 1, 1, 12, 5, 0, 136, 264, 392, 520];
    let mut golden: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    // One layer, three links: 1 further, then 3 and 284 (0x9c 0x02) between them.
    golden.extend([1, 3, 2, 3, 0x9c, 2]);
    // Two layers of one link: 1 back, 1 further.
    golden.extend([2, 1, 1, 1, 2]);
    golden.extend([1, 1, 3]);
    golden.extend([1_u8, 0].repeat(298));
    assert_eq!(encode(&graph), golden);
    assert_eq!(encode(&HnswGraph::decode(&golden, 311).unwrap()), golden);
    // A restart that leads elsewhere is refused.
    golden[32] += 1;
    assert!(HnswGraph::decode(&golden, 311).is_err());
}

#[test]
fn other_bytes_are_no_graph_and_never_panic() {
    let mut random = Random(27);
    let bytes = encode(&Points::clustered(&mut random, 200).grow(200));
    let read = |bytes: &[u8]| HnswGraph::decode(bytes, 200);
    for cut in (0..bytes.len()).step_by(37) {
        assert!(read(&bytes[..cut]).is_err());
    }
    for at in 0..bytes.len() {
        let mut forged = bytes.clone();
        forged[at] ^= 1 << (random.next() % 8);
        if let Ok(graph) = read(&forged) {
            assert!((0..200).all(|id| graph.links(id, 0).iter().all(|id| *id < 200)));
        }
    }
}

#[test]
fn keys_rank_by_similarity_then_newer() {
    let ascending = [-1.0, -0.5, -0.0, 0.0, 1e-9, 0.7];
    let keys: Vec<u64> = ascending.iter().map(|s| rank_key(*s, 7)).collect();
    assert!(keys.is_sorted_by(|a, b| a < b));
    assert!(rank_key(0.5, 8) > rank_key(0.5, 7));
    assert_eq!(split_rank_key(rank_key(-0.25, 9)), (9, -0.25));
}
