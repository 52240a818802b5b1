//! The graph compared with the exact answer, saved and loaded, and given forged bytes.

use alloc::vec;
use alloc::vec::Vec;

use crate::insert::choose;
use crate::search::level_of;
use crate::*;

/// `SplitMix64`: seeded, and the same for ever.
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

fn saved(graph: &Graph) -> Vec<u8> {
    let mut bytes = Vec::new();
    graph.save(&mut bytes);
    bytes
}

struct Points(Vec<Vec<f32>>);

impl Points {
    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// `count` points around few centres, as the topics of one user's memory are.
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

    fn grow(&self, budget: usize) -> Graph {
        let mut graph = Graph::default();
        let mut scratch = GraphScratch::default();
        let len = self.0.len() as u32;
        while graph.advance(self, |_| true, len, budget, &mut scratch) > 0 {}
        graph
    }

    /// Share of the exact ten, among the admitted, that a beam of 128 finds.
    fn recall(&self, graph: &Graph, queries: &[Vec<f32>], admit: impl Fn(u32) -> bool) -> f64 {
        let mut scratch = GraphScratch::default();
        let mut hits = 0;
        for query in queries {
            let score = |id: u32| Self::dot(query, &self.0[id as usize]);
            let mut exact: Vec<u64> = (0..self.0.len() as u32)
                .filter(|id| admit(*id))
                .map(|id| key(score(id), id))
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

fn near(points: &Points, graph: &Graph, query: &[f32]) -> Vec<u64> {
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
    let scored = [1, 2, 3].map(|id| key(points.similarity(0, id), id));
    assert_eq!(choose(&points, &scored[..1], 2), [1]);
    assert_eq!(choose(&points, &scored, 2), [1, 3]);
    // Nearer to the node than to the one before it, it stays.
    let points = [0.0_f32, 10.0, -10.5, -40.0].map(f32::to_radians);
    let points = Points(points.map(|angle| vec![angle.cos(), angle.sin()]).to_vec());
    let scored = [1, 2, 3].map(|id| key(points.similarity(0, id), id));
    assert_eq!(choose(&points, &scored, 2), [1, 2]);
}

#[test]
fn it_finds_the_nearest_on_clusters_whoever_may_answer() {
    let mut random = Random(21);
    let points = Points::clustered(&mut random, 4_000);
    let queries = Points::clustered(&mut Random(22), 50).0;
    let graph = points.grow(64);
    assert_eq!(graph.covered(), 0..4_000);
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
        assert_eq!(graph.is_flat(id), graph.links(id, 1).is_empty());
    }
    let two = Points(points.0[..2].to_vec()).grow(1);
    assert_eq!((two.links(0, 0), two.links(1, 0)), (&[1][..], &[0][..]));
}

/// One in the middle is near to all, and no two of the others are as near: it is nobody's second
/// choice, and of the others each is a direction of its own.
struct Star {
    middle: u32,
}

impl Metric for Star {
    fn similarity(&self, a: u32, b: u32) -> f32 {
        let is_near = a == self.middle || b == self.middle;
        if is_near { 0.9 } else { 0.8 }
    }
}

fn grown(metric: &impl Metric, len: u32, scratch: &mut GraphScratch) -> Graph {
    let mut graph = Graph::default();
    while graph.advance(metric, |_| true, len, 64, scratch) > 0 {}
    graph
}

#[test]
fn a_node_has_32_links_on_layer_0_and_16_above_and_chooses_16_of_200() {
    let mut scratch = GraphScratch::default();
    // The newest is inserted first, and all that come later lead to it.
    let middle = (1_500..3_000).find(|id| level_of(*id) > 0).unwrap();
    let graph = grown(&Star { middle }, middle + 1, &mut scratch);
    let links = [0, 1].map(|layer| graph.links(middle, layer).len());
    assert_eq!(links, [32, 16]);
    // The oldest is inserted last, and all are its to choose from.
    let graph = grown(&Star { middle: 0 }, 1_500, &mut scratch);
    assert_eq!(graph.links(0, 0).len(), 16);
    let points = Points::clustered(&mut Random(30), 1_500);
    grown(&points, 1_500, &mut scratch);
    assert_eq!(scratch.best.len(), 200, "what the last insert chose from");
}

#[test]
fn the_newest_come_first_and_what_moves_is_found_again() {
    let mut random = Random(24);
    let mut points = Points::clustered(&mut random, 600);
    let mut graph = Graph::default();
    let mut scratch = GraphScratch::default();
    assert_eq!(
        graph.advance(&points, |_| true, 500, 100, &mut scratch),
        400
    );
    assert_eq!(graph.covered(), 400..500);
    let before = graph.clone();
    // New documents are taken before old ones; one without a vector costs nothing.
    assert_eq!(
        graph.advance(&points, |id| id != 510, 600, 99, &mut scratch),
        400
    );
    assert_eq!(graph.covered(), 400..600);
    assert_eq!(before.covered(), 400..500);
    assert!(graph.links(510, 0).is_empty());
    // A vector moves to the opposite side, and a missing one arrives.
    points.0[450] = points.0[450].iter().map(|x| -x).collect();
    for ordinal in [450, 510, 450, 3] {
        graph.moved(ordinal);
    }
    assert!(graph.loose.iter().eq([450, 510]));
    assert_eq!(graph.advance(&points, |_| true, 600, 2, &mut scratch), 400);
    for id in [450, 510] {
        let found = near(&points, &graph, &points.0[id as usize]);
        assert_eq!(key_parts(found[0]).0, id);
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
    // One in seven, and whole stretches: what one session told in a row. The entry goes, too.
    let entry = graph.entry.unwrap().0;
    let gone = |id: u32| id.is_multiple_of(7) || (2_000..2_100).contains(&id) || id == entry;
    graph.remove(&points, |_| true, gone);
    assert_eq!(graph.covered(), 0..4_000);
    for id in 0..4_000 {
        let links = (0..3).flat_map(|layer| graph.links(id, layer));
        assert!(links.clone().all(|to| !gone(*to) && *to != id), "{id}");
        assert!(!gone(id) || links.count() == 0);
    }
    let stays = |id: u32| !gone(id) && graph.finds(id);
    let found = points.recall(&graph, &queries, stays);
    assert!(found >= 0.99, "{found}");
    // What nothing leads to is inserted again, and that is little.
    let left = graph.missing(4_000);
    assert!(left < 40, "{left}");
    while graph.advance(&points, |id| !gone(id), 4_000, 9, &mut scratch) > 0 {}
    let found = points.recall(&graph, &queries, |id| !gone(id));
    assert!(found >= 0.99, "{found}");
    // A published graph is as it was, a second time changes nothing, and of most of it nothing is
    // worth keeping.
    assert_eq!(before.entry.unwrap().0, entry);
    let bytes = saved(&graph);
    graph.remove(&points, |id| !gone(id), gone);
    assert_eq!(saved(&graph), bytes);
    graph.remove(&points, |id| !gone(id), |id| id > 900);
    assert!(graph.is_empty());
}

#[test]
fn a_graph_comes_back_as_it_was() {
    let mut random = Random(25);
    let points = Points::clustered(&mut random, 1_000);
    let mut graph = Graph::default();
    let mut scratch = GraphScratch::default();
    graph.advance(&points, |id| id % 9 != 0, 1_000, 500, &mut scratch);
    graph.moved(999);
    let bytes = saved(&graph);
    let mut back = Graph::read(&bytes, 1_000).unwrap();
    assert_eq!(saved(&back), bytes);
    assert_eq!(back.covered(), graph.covered());
    assert!(back.loose.iter().eq(graph.loose.iter()));
    for query in Points::clustered(&mut Random(26), 20).0 {
        assert_eq!(near(&points, &back, &query), near(&points, &graph, &query));
    }
    // It goes on growing as the other does.
    for graph in [&mut back, &mut graph] {
        graph.advance(&points, |_| true, 1_000, 200, &mut scratch);
    }
    assert_eq!(saved(&back), saved(&graph));
    assert!(Graph::read(&bytes, 999).is_err());
    let empty = saved(&Graph::default());
    assert!(Graph::read(&empty, 0).unwrap().is_empty());
}

#[test]
fn saved_links_are_differences_in_leb128_with_a_restart_every_64_nodes() {
    let mut graph = Graph {
        entry: Some((11, 1)),
        low: 10,
        high: 311,
        ..Graph::default()
    };
    graph.set_links(10, 0, &[300, 11, 15]);
    graph.set_links(11, 0, &[10]);
    graph.set_links(11, 1, &[12]);
    graph.set_links(12, 0, &[10]);
    graph.moved(12);
    // Range, entry and its layer; what is loose; where each 64th node begins.
    let numbers = [10_u32, 311, 11, 1, 1, 12, 5, 0, 136, 264, 392, 520];
    let mut golden: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    // One layer, three links: 1 further, then 3 and 284 (0x9c 0x02) between them.
    golden.extend([1, 3, 2, 3, 0x9c, 2]);
    // Two layers of one link: 1 back, 1 further.
    golden.extend([2, 1, 1, 1, 2]);
    golden.extend([1, 1, 3]);
    golden.extend([1_u8, 0].repeat(298));
    assert_eq!(saved(&graph), golden);
    assert_eq!(saved(&Graph::read(&golden, 311).unwrap()), golden);
    // A restart that leads elsewhere is refused.
    golden[32] += 1;
    assert!(Graph::read(&golden, 311).is_err());
}

#[test]
fn other_bytes_are_no_graph_and_never_panic() {
    let mut random = Random(27);
    let bytes = saved(&Points::clustered(&mut random, 200).grow(200));
    let read = |bytes: &[u8]| Graph::read(bytes, 200);
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
    let keys: Vec<u64> = ascending.iter().map(|s| key(*s, 7)).collect();
    assert!(keys.is_sorted_by(|a, b| a < b));
    assert!(key(0.5, 8) > key(0.5, 7));
    assert_eq!(key_parts(key(-0.25, 9)), (9, -0.25));
}
