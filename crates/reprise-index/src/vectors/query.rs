//! Queries on the codes alone: the best candidates, single cosines, and the spread of cosines.

use std::time::Duration;

use reprise_hnsw::{GraphScratch, HnswGraph, split_rank_key};
use reprise_types::SearchRoute;

use super::CHUNK_DOCUMENTS;
use super::cells::{SPREAD_SAMPLE, SavedCells};
use super::closest::ClosestDocs;
use super::kernels::{LANES, mark_within};
use super::query_codes::QueryCodes;
use super::sampling::{evenly_spaced, sample_ordinals};
use super::signs::{GROUPS, QueryPlanes};
use super::{QuantisedVectors, quantise};
use crate::graph_state::SearchLayers;
use crate::live_set::LiveSet;
use crate::view::IndexView;

/// One document in so many has its codes scored after the pass over the signs.
const SIGN_SHARE: usize = 256;
/// One document in so many is scored in smaller stores, up to [`SIGN_CANDIDATES_ENOUGH`].
const SIGN_SHARE_OF_FEWER: usize = 96;
/// So many scored documents find 99.6 % of the exact best 128 of real texts (ADR 0007).
const SIGN_CANDIDATES_ENOUGH: usize = 1_024;
/// Fewest documents that are scored after the pass over the signs.
const SIGN_CANDIDATES_MIN: usize = 256;
/// Fewest documents that are scored per result.
const SIGN_OVERSAMPLE: usize = 4;

/// Smallest beam width of the graph search, in documents.
const BEAM_MIN: usize = 192;
/// Smallest beam width per result: with half of it the graph misses one in fifty of the best 128,
/// which the scan finds (ADR 0007).
const BEAM_PER_RESULT: usize = 4;
/// The graph is not used if fewer than one document in so many is in the view: nearly all that it
/// visits would be filtered out.
const GRAPH_SHARE: usize = 4;

/// Number of queries with which the routes are compared.
const MEASURED_QUERIES: usize = 9;
const MEASURED_RESULTS: usize = 128;
/// The graph is measured once it lacks at most one document in so many.
const MEASURED_MISSING_ONE_IN: usize = 16;
/// Smallest crossover that a clock can resolve.
const CROSSOVER_MIN: f64 = 1_000.0;

/// Reusable buffers of the vector queries.
#[derive(Debug, Default)]
pub struct VectorScratch {
    closest: ClosestDocs,
    signs: Vec<u64>,
    graph: GraphScratch,
    best: Vec<(u32, f32)>,
    route: SearchRoute,
}

impl VectorScratch {
    /// Returns the route that found the last candidates.
    pub fn route(&self) -> SearchRoute {
        self.route
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlannedRoute {
    /// Scores every document of the view; for small views.
    EachDocument,
    /// Scans the signs of all documents, then scores the codes of the best.
    Signs,
    /// Searches the graph for the documents that it covers, and the signs for the rest.
    Graph,
    /// Searches the nearest cells for what is in the file, and the signs for what is new.
    Cells,
}

/// What a route is chosen by: the number of all documents, of those in the view, and of those that
/// the graph finds.
#[derive(Debug, Clone, Copy)]
struct RoutePlan {
    all: usize,
    admitted: usize,
    found: usize,
}

impl RoutePlan {
    /// Chooses the fastest route whose recall of the `k` best is 1 in practice.
    fn choose_route(self, k: usize, graph_faster_from: usize) -> PlannedRoute {
        let Self {
            all,
            admitted,
            found,
        } = self;
        if admitted <= rescored_count(all, k) {
            return PlannedRoute::EachDocument;
        }
        if admitted.saturating_mul(GRAPH_SHARE) < all {
            return PlannedRoute::Signs;
        }
        // Both cost what they visit. The narrowest beam takes as long as a scan of
        // `graph_faster_from` documents; a wider beam or a narrower view costs proportionally more.
        let widths = beam_width(k) as f64 / BEAM_MIN as f64 * all as f64 / admitted as f64;
        if widths * (graph_faster_from as f64) < found as f64 {
            PlannedRoute::Graph
        } else {
            PlannedRoute::Signs
        }
    }

    /// Whether a query that is asked before the rest is read goes to the cells: the view is wide,
    /// and the memory is one for a graph, or the graph will take the query once it is read.
    fn is_for_cells(self, k: usize, layers: &SearchLayers) -> bool {
        let is_wide = self.admitted.saturating_mul(GRAPH_SHARE) >= self.all;
        let found = self.all;
        let whole = Self { found, ..self };
        is_wide
            && (self.all >= layers.graph_threshold
                || whole.choose_route(k, layers.graph_faster_from) == PlannedRoute::Graph)
    }
}

/// Returns how many of `all` documents have their codes scored after the pass over the signs.
fn rescored_count(all: usize, k: usize) -> usize {
    (all / SIGN_SHARE)
        .max((all / SIGN_SHARE_OF_FEWER).min(SIGN_CANDIDATES_ENOUGH))
        .max(SIGN_CANDIDATES_MIN)
        .max(k.saturating_mul(SIGN_OVERSAMPLE))
}

fn beam_width(k: usize) -> usize {
    BEAM_MIN.max(k.saturating_mul(BEAM_PER_RESULT))
}

impl QuantisedVectors {
    pub(crate) fn encode_query(&self, query: &[f32]) -> Option<QueryCodes> {
        if !self.is_usable(query) {
            return None;
        }
        let mut codes = vec![0; self.dimensions];
        let scale = quantise(query, &mut codes);
        let planes = QueryPlanes::from_codes(&codes);
        (scale > 0.0).then_some(QueryCodes {
            codes,
            scale,
            planes,
        })
    }

    pub(crate) fn search<'s>(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &IndexView,
        layers: &SearchLayers,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        let route = self.choose_route(k, view, layers);
        self.search_by_route(route, query, k, view, layers, scratch)
    }

    fn choose_route(&self, k: usize, view: &IndexView, layers: &SearchLayers) -> PlannedRoute {
        let plan = RoutePlan {
            all: self.len(),
            admitted: view.considered_count() as usize,
            found: layers.graph.searchable_count(),
        };
        let route = plan.choose_route(k, layers.graph_faster_from);
        let is_unread = layers.cells.is_some() && self.has_unread();
        if is_unread && route == PlannedRoute::Signs && plan.is_for_cells(k, layers) {
            return PlannedRoute::Cells;
        }
        route
    }

    /// Measures the crossover, see [`crate::IndexSnapshot::measure_crossover`].
    pub(crate) fn measure_crossover(
        &self,
        view: &IndexView,
        layers: &SearchLayers,
        clock: &dyn Fn() -> Duration,
    ) -> Option<u32> {
        let found = layers.graph.searchable_count();
        if self.has_unread() || found < self.len() - self.len() / MEASURED_MISSING_ONE_IN {
            return None;
        }
        let mut scratch = VectorScratch::default();
        let mut took = [const { Vec::new() }; 2];
        let places = evenly_spaced(self.len()).take(self.len());
        let held = places
            .map(|place| place as u32)
            .filter(|place| self.has(*place));
        let held: Vec<u32> = held.take(2 * MEASURED_QUERIES).collect();
        for two in held.chunks_exact(2) {
            // Each query runs once, as in use: a second time all that the graph visits would be in
            // the caches.
            let query = self.midpoint_query(two[0], two[1])?;
            for (took, route) in took
                .iter_mut()
                .zip([PlannedRoute::Signs, PlannedRoute::Graph])
            {
                let begin = clock();
                self.search_by_route(route, &query, MEASURED_RESULTS, view, layers, &mut scratch);
                took.push(clock().saturating_sub(begin));
            }
        }
        let [scan, graph] = took.map(|mut took| {
            took.sort_unstable();
            took.get(took.len() / 2).map_or(0.0, Duration::as_secs_f64)
        });
        let widths = beam_width(MEASURED_RESULTS) as f64 / BEAM_MIN as f64;
        let even = graph / scan.max(f64::MIN_POSITIVE) * found as f64 / widths;
        Some(even.clamp(CROSSOVER_MIN, f64::from(u32::MAX)) as u32)
    }

    /// Returns a query halfway between two records, which is as far from every record as real
    /// queries are: the graph finds the neighbours of a record itself sooner.
    fn midpoint_query(&self, one: u32, other: u32) -> Option<QueryCodes> {
        let [(one, one_scale), (other, other_scale)] = [self.row(one)?, self.row(other)?];
        let sum = one
            .iter()
            .zip(other)
            .map(|(one, other)| f32::from(*one) * one_scale + f32::from(*other) * other_scale);
        self.encode_query(&sum.collect::<Vec<_>>())
    }

    fn search_by_route<'s>(
        &self,
        route: PlannedRoute,
        query: &QueryCodes,
        k: usize,
        view: &IndexView,
        layers: &SearchLayers,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        scratch.best.clear();
        scratch.route = SearchRoute::Scan;
        let k = k.min(self.len());
        if k == 0 {
            return &scratch.best;
        }
        let wanted = rescored_count(self.len(), k);
        match route {
            PlannedRoute::EachDocument => {
                let all = view
                    .ordinals()
                    .filter_map(|o| self.score_document(query, o));
                scratch.best.extend(all);
            }
            PlannedRoute::Signs => self.search_signs(query, wanted, view, |_| u64::MAX, scratch),
            PlannedRoute::Cells => self.search_cells(query, k, view, layers, scratch),
            PlannedRoute::Graph => {
                let graph = &layers.graph;
                self.search_graph(query, beam_width(k), view, graph, scratch);
                if graph.searchable_count() < self.len() {
                    let others = |number| !graph.searchable_bits(number);
                    self.search_signs(query, wanted, view, others, scratch);
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

    /// Adds the results of a graph search.
    fn search_graph(
        &self,
        query: &QueryCodes,
        beam: usize,
        view: &IndexView,
        graph: &HnswGraph,
        scratch: &mut VectorScratch,
    ) {
        let similarity = |ordinal| self.cosine(query, ordinal).unwrap_or(0.0);
        let admit = |o: u32| view.contains(o) && self.has(o) && graph.is_searchable(o);
        graph.search(similarity, beam, admit, &mut scratch.graph);
        let found = scratch
            .graph
            .best
            .iter()
            .map(|found| split_rank_key(*found));
        scratch.best.extend(found);
        scratch.route = if graph.covered_range().start == 0 {
            SearchRoute::Graph
        } else {
            SearchRoute::NewestGraph
        };
    }

    /// Adds the documents whose signs agree best; `among` returns the bitmap word of documents to
    /// scan, by the word's number.
    fn search_signs(
        &self,
        query: &QueryCodes,
        wanted: usize,
        view: &IndexView,
        among: impl Fn(usize) -> u64,
        scratch: &mut VectorScratch,
    ) {
        let closest = &mut scratch.closest;
        closest.reset(wanted, query.planes.distance_max());
        self.scan_signs(query, view, among, closest);
        self.score_closest(query, scratch);
    }

    /// Adds the best documents of the cells nearest to the query, of those that came since the
    /// cells were saved, and of the documents whose codes are not in the file.
    fn search_cells(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &IndexView,
        layers: &SearchLayers,
        scratch: &mut VectorScratch,
    ) {
        scratch.route = SearchRoute::Cells;
        let VectorScratch { closest, signs, .. } = scratch;
        // Each candidate is a read of the file: take fewer than a scan, which has them in memory.
        let wanted = SIGN_CANDIDATES_MIN.max(k.saturating_mul(SIGN_OVERSAMPLE));
        closest.reset(wanted, query.planes.distance_max());
        let among = |word: usize| {
            if self.is_unread_at((word * 64) as u32) {
                let cells = layers.cells.as_ref();
                cells.map_or(0, |cells| cells.unlisted_word(word))
            } else {
                u64::MAX
            }
        };
        self.scan_signs(query, view, among, closest);
        if let Some(cells) = &layers.cells {
            cells.search_nearest(query, signs, |ordinal, distance| {
                if view.contains(ordinal) && self.has(ordinal) && self.is_unread_at(ordinal) {
                    closest.insert(ordinal, distance);
                }
            });
        }
        self.score_closest(query, scratch);
    }

    /// Scores the documents that are closest by their signs by their codes, and adds them.
    fn score_closest(&self, query: &QueryCodes, scratch: &mut VectorScratch) {
        let VectorScratch { closest, best, .. } = scratch;
        closest.trim();
        let ordinals = closest.documents.iter().map(|(ordinal, _)| *ordinal);
        best.extend(ordinals.filter_map(|o| self.score_document(query, o)));
    }

    fn score_document(&self, query: &QueryCodes, ordinal: u32) -> Option<(u32, f32)> {
        Some((ordinal, self.cosine(query, ordinal)?))
    }

    /// Inserts the documents of the view and `among` with their distance by signs, ordinals
    /// ascending.
    fn scan_signs(
        &self,
        query: &QueryCodes,
        view: &IndexView,
        among: impl Fn(usize) -> u64,
        closest: &mut ClosestDocs,
    ) {
        let mut distances = [[0; LANES]; GROUPS];
        let mut close_bits = [0; CHUNK_DOCUMENTS / 64];
        let admitted = view.bits();
        for number in 0..self.signs.len() {
            const WORDS: usize = CHUNK_DOCUMENTS / 64;
            let first = (number * CHUNK_DOCUMENTS) as u32;
            let scanned: [u64; WORDS] = std::array::from_fn(|part| {
                let word = number * WORDS + part;
                let admitted = admitted.get(word).copied().unwrap_or(0);
                self.present_word(word) & admitted & among(word)
            });
            if scanned == [0; WORDS] {
                continue;
            }
            let Some(signs) = self.signs(number) else {
                continue;
            };
            query.planes.compute_distances(signs, &mut distances);
            let distances = distances.as_flattened();
            mark_within(distances, closest.threshold, &mut close_bits);
            for (part, close_bits) in close_bits.iter().enumerate() {
                let mut found = close_bits & scanned[part];
                while found != 0 {
                    let place = part * 64 + found.trailing_zeros() as usize;
                    found &= found - 1;
                    closest.insert(first + place as u32, distances[place]);
                }
            }
        }
    }

    pub(crate) fn cosine(&self, query: &QueryCodes, ordinal: u32) -> Option<f32> {
        let row = self.row(ordinal).filter(|(_, scale)| *scale != 0.0)?;
        Some(query.cosine(row))
    }

    /// Samples evenly spaced documents; if too few of them have a vector, walks over all. As long
    /// as the rows are in the file, rows of the cells' sample are not read from it.
    pub(crate) fn sample_cosines(
        &self,
        query: &QueryCodes,
        n: usize,
        live_set: &LiveSet,
        cells: Option<&SavedCells>,
    ) -> Vec<(u32, f32)> {
        let len = self.len() as u32;
        let live = live_set.statistics_documents.min(self.vector_count()) as usize;
        let has = |at: &u32| live_set.is_in_statistics(*at) && self.has(*at);
        let scored = |at| self.score_document(query, at);
        let is_saved = n == SPREAD_SAMPLE && n < live && self.has_unread();
        if let Some(cells) = cells.filter(|_| is_saved) {
            let saved = cells.sample_rows().filter(|(at, _)| has(at));
            let sample: Vec<_> = saved
                .filter_map(|(at, row)| {
                    if self.is_unread_at(at) {
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
            // A plain stride could sample only one side of every dialogue.
            let probed = sample_ordinals(len as usize, n, live);
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

#[cfg(test)]
mod tests;
