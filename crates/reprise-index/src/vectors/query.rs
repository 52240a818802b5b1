//! Queries on the codes alone: the best candidates, single cosines, their spread.

use std::time::Duration;

use reprise_graph::{Graph, GraphScratch, key_parts};
use reprise_types::SearchTier;

use super::CHUNK_DOCUMENTS;
use super::cells::{SPREAD, SavedCells, evenly, spread};
use super::closest::Closest;
use super::kernels::{LANES, dot, within};
use super::signs::{GROUPS, Planes};
use super::{Vectors, quantise};
use crate::growth::Layers;
use crate::lexical::SignalSpread;
use crate::view::View;
use crate::world::World;

/// Documents whose codes are scored after the pass over the signs: one in so many,
const SIGN_SHARE: usize = 256;
/// one in so many until there are enough for 99.6 % of the exact best 128 of real texts (ADR 0007),
const SIGN_SHARE_OF_FEWER: usize = 96;
const SIGN_CANDIDATES_ENOUGH: usize = 1_024;
/// at least so many,
const SIGN_CANDIDATES_MIN: usize = 256;
/// and at least so many per result.
const SIGN_OVERSAMPLE: usize = 4;

/// Beam width of the graph: at least so many documents,
const BEAM_MIN: usize = 192;
/// and at least so many per result.
const BEAM_PER_RESULT: usize = 2;
/// Where fewer than one in so many documents may answer, the graph is not used: nearly all that it
/// visits would be filtered out.
const GRAPH_SHARE: usize = 4;

/// Questions by which the routes are compared, and the results asked for: what recall asks for.
const MEASURED: usize = 9;
const MEASURED_FOR: usize = 128;
/// The graph is measured once it lacks no more than one in so many.
const MEASURED_MISSING_ONE_IN: usize = 16;
/// A scan may take so many times as long as the graph: it finds .99 of the best 128, the graph .98.
const SCAN_WORTH: f64 = 2.0;
/// No clock tells less.
const EVEN_AT_MIN: f64 = 1_000.0;

/// A quantised query: one signed byte per number, and four bits per number.
#[derive(Debug)]
pub struct QueryCodes {
    pub(super) codes: Vec<i8>,
    scale: f32,
    pub(super) planes: Planes,
}

impl QueryCodes {
    /// The approximate cosine with a document.
    fn cosine(&self, (codes, scale): (&[i8], f32)) -> f32 {
        dot(&self.codes, codes) as f32 * (self.scale * scale)
    }
}

/// Reusable buffers of the vector queries.
#[derive(Debug, Default)]
pub struct VectorScratch {
    close: Closest,
    signs: Vec<u64>,
    graph: GraphScratch,
    best: Vec<(u32, f32)>,
    tier: SearchTier,
}

impl VectorScratch {
    /// The tier that found the last candidates.
    pub fn tier(&self) -> SearchTier {
        self.tier
    }
}

/// The distribution of a query's cosines over a store.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Their mean; 0 where there are none.
    pub mean: f32,
    /// Their population standard deviation; 0 where there are none.
    pub deviation: f32,
    pub count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// Scores every admitted document: for few of them.
    Each,
    /// The signs of all documents, then the codes of the best by signs.
    Signs,
    /// The graph for the documents it covers, the signs for the rest.
    Graph,
    /// The nearest cells of what is in the file, the signs for what is new.
    Cells,
}

/// What a route is chosen by: documents in all, those that may answer, those in the graph.
#[derive(Debug, Clone, Copy)]
struct Planned {
    all: usize,
    admitted: usize,
    found: usize,
}

impl Planned {
    /// The fastest route whose recall of the `k` best is 1 in practice.
    fn route(self, k: usize, even_at: usize) -> Route {
        let Self {
            all,
            admitted,
            found,
        } = self;
        if admitted <= wanted(all, k) {
            return Route::Each;
        }
        if admitted.saturating_mul(GRAPH_SHARE) < all {
            return Route::Signs;
        }
        // Both cost what they visit: where the narrowest beam takes as long as a scan of `even_at`
        // documents, a wider one takes as much longer, and one that finds few admitted ones.
        let widths = beam(k) as f64 / BEAM_MIN as f64 * all as f64 / admitted as f64;
        if widths * (even_at as f64) < found as f64 {
            Route::Graph
        } else {
            Route::Signs
        }
    }
}

/// Of so many documents, those whose codes are scored after the pass over the signs.
fn wanted(all: usize, k: usize) -> usize {
    (all / SIGN_SHARE)
        .max((all / SIGN_SHARE_OF_FEWER).min(SIGN_CANDIDATES_ENOUGH))
        .max(SIGN_CANDIDATES_MIN)
        .max(k.saturating_mul(SIGN_OVERSAMPLE))
}

fn beam(k: usize) -> usize {
    BEAM_MIN.max(k.saturating_mul(BEAM_PER_RESULT))
}

impl Vectors {
    pub(crate) fn encode(&self, query: &[f32]) -> Option<QueryCodes> {
        if !self.is_usable(query) {
            return None;
        }
        let mut codes = vec![0; self.dimensions];
        let scale = quantise(query, &mut codes);
        let planes = Planes::of(&codes);
        (scale > 0.0).then_some(QueryCodes {
            codes,
            scale,
            planes,
        })
    }

    pub(crate) fn candidates<'s>(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &View,
        layers: &Layers,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        let route = self.route(k, view, layers);
        self.take(route, query, k, view, layers, scratch)
    }

    fn route(&self, k: usize, view: &View, layers: &Layers) -> Route {
        let plan = Planned {
            all: self.len(),
            admitted: view.considered() as usize,
            found: layers.graph.found(),
        };
        let route = plan.route(k, layers.even_at);
        // What the graph will be asked for once it is read is asked of the cells before.
        let whole = Planned {
            found: plan.all,
            ..plan
        };
        let soon = layers.cells.is_some() && self.is_left();
        if soon && route == Route::Signs && whole.route(k, layers.even_at) == Route::Graph {
            return Route::Cells;
        }
        route
    }

    /// As [`crate::IndexSnapshot::crossover`].
    pub(crate) fn crossover(
        &self,
        view: &View,
        layers: &Layers,
        clock: &dyn Fn() -> Duration,
    ) -> Option<u32> {
        let found = layers.graph.found();
        if self.is_left() || found < self.len() - self.len() / MEASURED_MISSING_ONE_IN {
            return None;
        }
        let mut scratch = VectorScratch::default();
        let mut took = [const { Vec::new() }; 2];
        let places = evenly(self.len()).take(self.len());
        let held = places
            .map(|place| place as u32)
            .filter(|place| self.has(*place));
        let held: Vec<u32> = held.take(2 * MEASURED).collect();
        for two in held.chunks_exact(2) {
            // Each is asked once, as people do: a second time all that the graph visits would be in
            // the caches.
            let query = self.between(two[0], two[1])?;
            for (took, route) in took.iter_mut().zip([Route::Signs, Route::Graph]) {
                let begin = clock();
                self.take(route, &query, MEASURED_FOR, view, layers, &mut scratch);
                took.push(clock().saturating_sub(begin));
            }
        }
        let [scan, graph] = took.map(|mut took| {
            took.sort_unstable();
            took.get(took.len() / 2).map_or(0.0, Duration::as_secs_f64)
        });
        let widths = beam(MEASURED_FOR) as f64 / BEAM_MIN as f64;
        let even = SCAN_WORTH * graph / scan.max(f64::MIN_POSITIVE) * found as f64 / widths;
        Some(even.clamp(EVEN_AT_MIN, f64::from(u32::MAX)) as u32)
    }

    /// A question that lies between two records, as far from every one as people's are: what is
    /// near a record itself is found sooner by the graph.
    fn between(&self, one: u32, other: u32) -> Option<QueryCodes> {
        let [(one, one_scale), (other, other_scale)] = [self.row(one)?, self.row(other)?];
        let sum = one
            .iter()
            .zip(other)
            .map(|(one, other)| f32::from(*one) * one_scale + f32::from(*other) * other_scale);
        self.encode(&sum.collect::<Vec<_>>())
    }

    fn take<'s>(
        &self,
        route: Route,
        query: &QueryCodes,
        k: usize,
        view: &View,
        layers: &Layers,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        scratch.best.clear();
        scratch.tier = SearchTier::Scan;
        let k = k.min(self.len());
        if k == 0 {
            return &scratch.best;
        }
        let wanted = wanted(self.len(), k);
        match route {
            Route::Each => {
                let all = view.ordinals().filter_map(|o| self.scored(query, o));
                scratch.best.extend(all);
            }
            Route::Signs => self.ask_signs(query, wanted, view, |_| u64::MAX, scratch),
            Route::Cells => self.ask_cells(query, k, view, layers, scratch),
            Route::Graph => {
                let graph = &layers.graph;
                self.ask_graph(query, beam(k), view, graph, scratch);
                if graph.found() < self.len() {
                    let others = |number| !graph.found_word(number);
                    self.ask_signs(query, wanted, view, others, scratch);
                }
            }
        }
        let best = &mut scratch.best;
        let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
        if best.len() > k {
            best.select_nth_unstable_by(k - 1, order);
            best.truncate(k);
        }
        best.sort_unstable_by(order);
        best
    }

    /// Adds the graph's results among the documents that it finds.
    fn ask_graph(
        &self,
        query: &QueryCodes,
        beam: usize,
        view: &View,
        graph: &Graph,
        scratch: &mut VectorScratch,
    ) {
        let similarity = |ordinal| self.cosine(query, ordinal).unwrap_or(0.0);
        let admit = |o: u32| view.admits(o) && self.has(o) && graph.finds(o);
        graph.search(similarity, beam, admit, &mut scratch.graph);
        let found = scratch.graph.best.iter().map(|found| key_parts(*found));
        scratch.best.extend(found);
        scratch.tier = if graph.covered().start == 0 {
            SearchTier::LayerC
        } else {
            SearchTier::LayerB
        };
    }

    /// Adds the documents whose signs agree best, of those that `among` names by their words.
    fn ask_signs(
        &self,
        query: &QueryCodes,
        wanted: usize,
        view: &View,
        among: impl Fn(usize) -> u64,
        scratch: &mut VectorScratch,
    ) {
        let VectorScratch { close, signs, .. } = scratch;
        close.start(wanted, query.planes.farthest());
        self.close_by_signs(query, view, among, close, signs);
        self.score_closest(query, scratch);
    }

    /// Adds the best of the cells nearest to the query, and of the documents that are not in the
    /// file as they are here.
    fn ask_cells(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &View,
        layers: &Layers,
        scratch: &mut VectorScratch,
    ) {
        scratch.tier = SearchTier::LayerA;
        let VectorScratch { close, signs, .. } = scratch;
        // Each is a read of the file: fewer than of a scan, which has them in memory.
        let wanted = SIGN_CANDIDATES_MIN.max(k.saturating_mul(SIGN_OVERSAMPLE));
        close.start(wanted, query.planes.farthest());
        let among = |word: usize| {
            if self.is_left_at((word * 64) as u32) {
                0
            } else {
                u64::MAX
            }
        };
        self.close_by_signs(query, view, among, close, signs);
        if let Some(cells) = &layers.cells {
            cells.near(query, signs, |ordinal, distance| {
                if view.admits(ordinal) && self.has(ordinal) && self.is_left_at(ordinal) {
                    close.offer(ordinal, distance);
                }
            });
        }
        self.score_closest(query, scratch);
    }

    /// Adds the documents that are closest by their signs, scored by their codes.
    fn score_closest(&self, query: &QueryCodes, scratch: &mut VectorScratch) {
        let VectorScratch { close, best, .. } = scratch;
        close.finish();
        let ordinals = close.found.iter().map(|(ordinal, _)| *ordinal);
        best.extend(ordinals.filter_map(|o| self.scored(query, o)));
    }

    fn scored(&self, query: &QueryCodes, ordinal: u32) -> Option<(u32, f32)> {
        Some((ordinal, self.cosine(query, ordinal)?))
    }

    /// Offers the admitted documents of `among` with their distance by signs, ordinals ascending.
    fn close_by_signs(
        &self,
        query: &QueryCodes,
        view: &View,
        among: impl Fn(usize) -> u64,
        close: &mut Closest,
        spare: &mut Vec<u64>,
    ) {
        let mut distances = [[0; LANES]; GROUPS];
        let mut near = [0; CHUNK_DOCUMENTS / 64];
        let admitted = view.bits();
        for (number, chunk) in self.chunks.iter().enumerate() {
            const WORDS: usize = CHUNK_DOCUMENTS / 64;
            let first = (number * CHUNK_DOCUMENTS) as u32;
            let asked: [u64; WORDS] = std::array::from_fn(|part| {
                let word = number * WORDS + part;
                let admitted = admitted.get(word).copied().unwrap_or(0);
                chunk.present[part] & admitted & among(word)
            });
            if asked == [0; WORDS] {
                continue;
            }
            let Some(signs) = chunk.signs(number, spare) else {
                continue;
            };
            query.planes.distances(signs, &mut distances);
            let distances = distances.as_flattened();
            within(distances, close.bar, &mut near);
            for (part, near) in near.iter().enumerate() {
                let mut found = near & asked[part];
                while found != 0 {
                    let place = part * 64 + found.trailing_zeros() as usize;
                    found &= found - 1;
                    close.offer(first + place as u32, distances[place]);
                }
            }
        }
    }

    pub(crate) fn cosine(&self, query: &QueryCodes, ordinal: u32) -> Option<f32> {
        let row = self.row(ordinal).filter(|(_, scale)| *scale != 0.0)?;
        Some(query.cosine(row))
    }

    /// Samples evenly spaced documents; where too few of them have a vector, walks over all. As
    /// long as the rows are in the file, those of the cells' sample are not read from there.
    pub(crate) fn sample(
        &self,
        query: &QueryCodes,
        n: usize,
        world: &World,
        cells: Option<&SavedCells>,
    ) -> Vec<(u32, f32)> {
        let len = self.len() as u32;
        let live = world.counted.min(self.held()) as usize;
        let has = |at: &u32| world.counts(*at) && self.has(*at);
        let scored = |at| self.scored(query, at);
        let is_saved = n == SPREAD && n < live && self.is_left();
        if let Some(cells) = cells.filter(|_| is_saved) {
            let saved = cells.sampled().filter(|(at, _)| has(at));
            let sample: Vec<_> = saved
                .filter_map(|(at, row)| {
                    if self.is_left_at(at) {
                        Some((at, query.cosine(row)))
                    } else {
                        scored(at)
                    }
                })
                .collect();
            if sample.len() >= n / 2 {
                return sample;
            }
        }
        if n.saturating_mul(len as usize) / live.max(1) < len as usize {
            // A plain stride could hit only one side of every dialogue.
            let probed = spread(len as usize, n, live);
            let sample: Vec<_> = probed.filter(has).filter_map(scored).collect();
            if sample.len() >= n / 2 {
                return sample;
            }
        }
        let known = (0..len).filter(has).count();
        let stride = known.div_ceil(n.max(1)).max(1);
        let even = (0..len).filter(has).step_by(stride);
        even.filter_map(scored).collect()
    }
}

impl Sample {
    /// That of these cosines.
    pub fn of(cosines: impl Iterator<Item = f32>) -> Self {
        let (mut sum, mut squares, mut count) = (0.0_f64, 0.0_f64, 0_u32);
        for cosine in cosines.map(f64::from) {
            sum += cosine;
            squares += cosine * cosine;
            count += 1;
        }
        let SignalSpread { mean, deviation } = SignalSpread::of(sum, squares, count);
        Self {
            mean,
            deviation,
            count,
        }
    }
}

#[cfg(test)]
mod tests;
