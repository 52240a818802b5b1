//! Layer A: a few hundred centroids in front and, for each, the records nearest to it with their
//! signs, so that a large memory answers right after opening from a few of these lists.
//!
//! The writer learns the centroids from a sample (k-means) and gives each record its own, some at a
//! time. Readers use the saved form alone, until the rest is in memory.
//!
//! ```text
//! front: u32 dimensions | u32 documents | u32 even at | u32 cells
//!   | per cell i8 codes, f32 scale | per list u32 documents | per list u64 check
//!   | u32 sampled | per sampled u32 ordinal | per sampled i8 codes, f32 scale
//! per list: u64 words of signs, in groups of 8 documents as in a chunk | u32 ordinals | padding
//! ```
//! The last list is of the documents that have no cell yet; it is always read. The sample is what
//! the spread of a question's cosines is taken from, where its rows would be as many reads. Version
//! 1 has none.

use std::sync::{Arc, OnceLock};

use reprise_graph::key;
use xxhash_rust::xxh3::xxh3_64;

use super::kernels::{LANES, dot};
use super::query::QueryCodes;
use super::{CHUNK_DOCUMENTS, Vectors, quantise, signs};
use crate::codec::{Reader, put_u32};
use crate::error::{IndexError, Result};
use crate::growth::CELLS_DOCUMENTS;
use crate::pages::{self, LeftPart};

const CELLS: &str = "cells";
const VERSION: u8 = 2;
const VERSION_UNSAMPLED: u8 = 1;
/// Documents whose cosines tell how a question's spread over a large store: so many are in front,
/// for [`crate::IndexSnapshot::sample`].
pub const SPREAD: usize = 512;
/// Documents of one cell, as long as there are not too many cells,
const DOCUMENTS_MIN: usize = 128;
/// which are ranked one by one for each question.
const COUNT_MAX: usize = 1_024;
/// Sampled documents for one cell, and how often they are grouped anew.
const SAMPLE: usize = 12;
const ROUNDS: usize = 4;
/// Sampled documents that are grouped in the time of one insert into the graph.
const SAMPLED_A_STEP: usize = 32;
/// A question reads one document in so many, and no fewer than that.
const READ_ONE_IN: usize = 12;
const READ_MIN: usize = 4_096;
/// "No cell yet".
const NONE: u16 = u16::MAX;

/// Codes and scales: of centroids, or of documents.
#[derive(Debug, Clone)]
struct Rows {
    dimensions: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

impl Rows {
    fn len(&self) -> usize {
        self.scales.len()
    }

    fn each(&self) -> impl Iterator<Item = (&[i8], f32)> {
        let codes = self.codes.chunks_exact(self.dimensions.max(1));
        codes.zip(self.scales.iter().copied())
    }

    /// So many of them from a front.
    fn read(reader: &mut Reader<'_>, count: usize, dimensions: usize) -> Result<Self> {
        let mut rows = Self {
            dimensions,
            codes: Vec::with_capacity(count * dimensions),
            scales: Vec::with_capacity(count),
        };
        for _ in 0..count {
            let codes = reader.take(dimensions)?;
            rows.codes.extend_from_slice(bytemuck::cast_slice(codes));
            rows.scales.push(f32::from_bits(reader.u32()?));
        }
        Ok(rows)
    }

    /// The centroid nearest to a document's codes.
    fn nearest(&self, codes: &[i8]) -> u16 {
        let near = |(own, scale): (&[i8], f32)| dot(own, codes) as f32 * scale;
        let mut best = (f32::NEG_INFINITY, 0);
        for (number, near) in (0_u16..).zip(self.each().map(near)) {
            if near > best.0 {
                best = (near, number);
            }
        }
        best.1
    }

    fn set(&mut self, number: usize, mean: &[f32]) {
        let range = number * self.dimensions..(number + 1) * self.dimensions;
        if let Some(codes) = self.codes.get_mut(range) {
            // All point equally far, or a cell of long vectors would draw everything in.
            let length = mean.iter().map(|x| x * x).sum::<f32>().sqrt();
            let unit: Vec<f32> = mean
                .iter()
                .map(|x| x / length.max(f32::MIN_POSITIVE))
                .collect();
            self.scales[number] = quantise(&unit, codes);
        }
    }
}

/// K-means over a sample, some of it at a time.
#[derive(Debug)]
struct Training {
    sample: Vec<u32>,
    centroids: Rows,
    /// Of each centroid, the sum of what came to it in this round.
    sums: Vec<f32>,
    at: usize,
    round: usize,
}

impl Training {
    /// Begins with the first of the sample, which is evenly spaced, as centroids.
    fn begin(vectors: &Vectors) -> Self {
        let (len, held) = (vectors.len(), vectors.held() as usize);
        let count = (held / DOCUMENTS_MIN).min(COUNT_MAX);
        let places = spread(len, count * SAMPLE, held);
        let sample: Vec<u32> = places.filter(|ordinal| vectors.has(*ordinal)).collect();
        let dimensions = vectors.dimensions();
        let mut centroids = Rows {
            dimensions,
            codes: Vec::with_capacity(count * dimensions),
            scales: Vec::with_capacity(count),
        };
        for row in sample
            .iter()
            .take(count)
            .map(|ordinal| vectors.row(*ordinal))
        {
            let (codes, scale) = row.unwrap_or_default();
            centroids.codes.extend_from_slice(codes);
            centroids.scales.push(scale);
            centroids
                .codes
                .resize(centroids.scales.len() * dimensions, 0);
        }
        Self {
            sums: vec![0.0; centroids.len() * dimensions],
            sample,
            centroids,
            at: 0,
            round: 0,
        }
    }

    /// Goes on with up to `budget` of the sample; `true` once nothing is left to do.
    fn advance(&mut self, vectors: &Vectors, budget: usize) -> bool {
        let dimensions = self.centroids.dimensions;
        for _ in 0..budget {
            if self.round == ROUNDS {
                return true;
            }
            if let Some(ordinal) = self.sample.get(self.at) {
                self.at += 1;
                if let Some((codes, scale)) = vectors.row(*ordinal) {
                    let cell = usize::from(self.centroids.nearest(codes)) * dimensions;
                    let sums = self.sums.get_mut(cell..cell + dimensions);
                    for (sum, code) in sums.into_iter().flatten().zip(codes) {
                        *sum += f32::from(*code) * scale;
                    }
                }
                continue;
            }
            for (number, sum) in self.sums.chunks_exact(dimensions).enumerate() {
                // A cell that nothing came to stays where it was.
                if sum.iter().any(|x| *x != 0.0) {
                    self.centroids.set(number, sum);
                }
            }
            self.sums.fill(0.0);
            (self.at, self.round) = (0, self.round + 1);
        }
        self.round == ROUNDS
    }
}

/// The writer's side.
#[derive(Debug)]
pub(crate) struct CellState {
    /// Documents with a vector from which on there are cells.
    pub(crate) from: usize,
    centroids: Option<Arc<Rows>>,
    training: Option<Training>,
    /// The cell of each document.
    of: Vec<u16>,
    /// Documents before it have their cell, where they have a vector.
    next: usize,
    /// Whether every document had its cell once.
    is_whole: bool,
    /// A saved layer, not read yet, and the documents whose vectors changed since.
    saved: Option<SavedCells>,
    moved: Vec<u32>,
}

impl Default for CellState {
    fn default() -> Self {
        Self {
            from: CELLS_DOCUMENTS,
            centroids: None,
            training: None,
            of: Vec::new(),
            next: 0,
            is_whole: false,
            saved: None,
            moved: Vec::new(),
        }
    }
}

impl CellState {
    pub(crate) fn saved(cells: SavedCells) -> Self {
        Self {
            saved: Some(cells),
            is_whole: true,
            ..Self::default()
        }
    }

    /// The same as of now, to be saved by another thread.
    pub(crate) fn copy(&self) -> Self {
        Self {
            centroids: self.centroids.clone(),
            of: self.of.clone(),
            saved: self.saved.clone(),
            moved: self.moved.clone(),
            ..Self::default()
        }
    }

    /// For readers, as long as most is in the file.
    pub(crate) fn left(&self) -> Option<SavedCells> {
        self.saved.clone()
    }

    /// Marks a document whose vector arrived, changed or went.
    pub(crate) fn moved(&mut self, ordinal: u32) {
        if self.saved.is_some() {
            self.moved.push(ordinal);
        }
        if let Some(cell) = self.of.get_mut(ordinal as usize) {
            *cell = NONE;
            self.next = self.next.min(ordinal as usize);
        }
    }

    /// Whether a first pass over `vectors`, or its saving, is still to come.
    pub(crate) fn is_new(&self, vectors: &Vectors) -> bool {
        !self.is_whole && vectors.held() as usize >= self.from
    }

    /// Takes the saved lists into use: who is in which cell.
    fn settle(&mut self) {
        let Some(saved) = self.saved.take() else {
            return;
        };
        (self.of, self.next) = (saved.placed().to_vec(), 0);
        self.centroids = Some(saved.centroids);
        for ordinal in std::mem::take(&mut self.moved) {
            self.moved(ordinal);
        }
    }

    /// Learns the centroids where there are none, else gives up to `budget` documents their cell.
    /// Whether that was all.
    pub(crate) fn advance(&mut self, vectors: &Vectors, budget: usize) -> bool {
        self.settle();
        let Some(centroids) = &self.centroids else {
            if (vectors.held() as usize) < self.from {
                return true;
            }
            let training = self
                .training
                .get_or_insert_with(|| Training::begin(vectors));
            if training.advance(vectors, budget.saturating_mul(SAMPLED_A_STEP)) {
                let trained = self.training.take();
                self.centroids = trained.map(|trained| Arc::new(trained.centroids));
            }
            return false;
        };
        self.of.resize(vectors.len(), NONE);
        let mut left = budget;
        while let Some(cell) = self.of.get_mut(self.next) {
            let row = (*cell == NONE).then(|| vectors.row(self.next as u32));
            if let Some((codes, _)) = row.flatten().filter(|row| row.1 != 0.0) {
                if left == 0 {
                    return false;
                }
                left -= 1;
                *cell = centroids.nearest(codes);
            }
            self.next += 1;
        }
        self.is_whole = true;
        true
    }

    /// The part to save, with what else is to be known before the rest is read; none where there
    /// are no centroids.
    pub(crate) fn part(&mut self, vectors: &Vectors, even_at: u32) -> Option<Vec<u8>> {
        self.settle();
        let centroids = self.centroids.as_ref()?;
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); centroids.len() + 1];
        for ordinal in (0..vectors.len() as u32).filter(|ordinal| vectors.has(*ordinal)) {
            let cell = self.of.get(ordinal as usize).filter(|cell| **cell != NONE);
            let list = cell.map_or(centroids.len(), |cell| usize::from(*cell));
            lists.get_mut(list)?.push(ordinal);
        }
        let mut front = Vec::new();
        let [dimensions, documents] = [centroids.dimensions, vectors.len()].map(|n| n as u32);
        for number in [dimensions, documents, even_at, centroids.len() as u32] {
            put_u32(&mut front, number);
        }
        for row in centroids.each() {
            put_row(&mut front, row);
        }
        for list in &lists {
            put_u32(&mut front, list.len() as u32);
        }
        let mut paged = Vec::new();
        for list in &lists {
            let from = paged.len();
            put_list(&mut paged, list, vectors);
            let check = xxh3_64(paged.get(from..)?);
            front.extend_from_slice(&check.to_le_bytes());
        }
        let places = spread(vectors.len(), SPREAD, vectors.held() as usize);
        let row = |at| Some((at, vectors.row(at).filter(|row| row.1 != 0.0)?));
        let sampled: Vec<_> = places.filter_map(row).collect();
        put_u32(&mut front, sampled.len() as u32);
        for (ordinal, _) in &sampled {
            put_u32(&mut front, *ordinal);
        }
        for (_, row) in sampled {
            put_row(&mut front, row);
        }
        Some(pages::write(VERSION, &front, &[&paged]))
    }
}

/// Places `0..len` in an order of which every beginning is evenly spaced: multiples of the golden
/// ratio. Some come twice and some not at all.
pub(super) fn evenly(len: usize) -> impl Iterator<Item = usize> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = move |turn: u64| (u128::from(turn.wrapping_mul(GOLDEN)) * len as u128) >> 64;
    (0..).map(move |turn| place(turn) as usize)
}

/// Evenly spaced ordinals below `len`, about `n` of which are among the `held`.
pub(super) fn spread(len: usize, n: usize, held: usize) -> impl Iterator<Item = u32> {
    let probes = (n.saturating_mul(len) / held.max(1)).min(len);
    evenly(len).take(probes).map(|place| place as u32)
}

fn put_row(out: &mut Vec<u8>, (codes, scale): (&[i8], f32)) {
    out.extend_from_slice(bytemuck::cast_slice(codes));
    out.extend_from_slice(&scale.to_le_bytes());
}

/// Words of signs, and of all, of a list of so many documents.
fn list_words(documents: usize, dimensions: usize) -> (usize, usize) {
    let signs = documents.next_multiple_of(LANES) * signs::words_of(dimensions);
    (signs, signs + documents.div_ceil(2))
}

fn put_list(out: &mut Vec<u8>, ordinals: &[u32], vectors: &Vectors) {
    let words = signs::words_of(vectors.dimensions());
    let (of_signs, all) = list_words(ordinals.len(), vectors.dimensions());
    let mut list = vec![0_u64; all];
    let mut spare = Vec::new();
    for (place, ordinal) in ordinals.iter().enumerate() {
        let (number, own) = (
            *ordinal as usize / CHUNK_DOCUMENTS,
            *ordinal as usize % CHUNK_DOCUMENTS,
        );
        let chunk = vectors.chunks.get(number);
        let chunk = chunk.and_then(|chunk| chunk.signs(number, &mut spare));
        let at = |place: usize, word| (place / LANES * words + word) * LANES + place % LANES;
        for word in 0..words {
            let signs = chunk.and_then(|chunk| chunk.get(at(own, word)));
            list[at(place, word)] = signs.copied().unwrap_or_default();
        }
        list[of_signs + place / 2] |= u64::from(*ordinal) << (place % 2 * 32);
    }
    out.extend(list.iter().flat_map(|word| word.to_le_bytes()));
}

/// The saved layer: the front in memory, the lists in the file.
#[derive(Debug, Clone)]
pub(crate) struct SavedCells {
    centroids: Arc<Rows>,
    /// Documents when it was saved.
    documents: usize,
    /// What [`CellState::part`] was given.
    pub(crate) even_at: u32,
    lists: Arc<[Place]>,
    /// Rows of evenly spaced documents; none in a part of version 1.
    sampled: Arc<(Vec<u32>, Rows)>,
    part: LeftPart,
    /// The cell of each document, once somebody has read all lists.
    placed: Arc<OnceLock<Box<[u16]>>>,
}

/// Where a list stands in the part.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: u64,
    documents: usize,
    check: u64,
}

/// A list in memory.
struct List<'a> {
    documents: usize,
    signs: &'a [u64],
    ordinals: &'a [u64],
}

impl List<'_> {
    fn ordinals(&self) -> impl Iterator<Item = u32> {
        let halves = self
            .ordinals
            .iter()
            .flat_map(|two| [*two as u32, (two >> 32) as u32]);
        halves.take(self.documents)
    }
}

impl SavedCells {
    /// Reads the front and leaves the rest in the file.
    pub(crate) fn read(part: &LeftPart, dimensions: usize, documents: usize) -> Result<Self> {
        let (front, version) = match part.front(CELLS, VERSION) {
            Err(IndexError::Version {
                got: VERSION_UNSAMPLED,
                ..
            }) => (part.front(CELLS, VERSION_UNSAMPLED)?, VERSION_UNSAMPLED),
            front => (front?, VERSION),
        };
        let mut reader = pages::front_reader(CELLS, &front, version)?;
        let [got, held] = [reader.u32()?, reader.u32()?].map(|number| number as usize);
        let [even_at, count] = [reader.u32()?, reader.u32()?];
        let count = count as usize;
        if got != dimensions || held > documents || count > COUNT_MAX {
            return Err(reader.damaged("a count does not fit"));
        }
        let centroids = Rows::read(&mut reader, count, dimensions)?;
        let sizes: &[[u8; 4]] = reader.column(count + 1)?;
        let checks: &[[u8; 8]] = reader.column(count + 1)?;
        let sampled = match version {
            VERSION_UNSAMPLED => 0,
            _ => reader.u32()? as usize,
        };
        if sampled > held {
            return Err(reader.damaged("a count does not fit"));
        }
        let ordinals: &[[u8; 4]] = reader.column(sampled)?;
        let ordinals = ordinals.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let sampled = (
            ordinals.collect(),
            Rows::read(&mut reader, sampled, dimensions)?,
        );
        reader.end()?;
        let mut at = front.len() as u64;
        let mut lists = Vec::with_capacity(count + 1);
        for (size, check) in sizes.iter().zip(checks) {
            let documents = u32::from_le_bytes(*size) as usize;
            let check = u64::from_le_bytes(*check);
            lists.push(Place {
                at,
                documents,
                check,
            });
            at += 8 * list_words(documents, dimensions).1 as u64;
        }
        if at != part.size {
            return Err(reader.damaged("its length does not fit its counts"));
        }
        Ok(Self {
            centroids: Arc::new(centroids),
            documents: held,
            even_at,
            lists: lists.into(),
            sampled: Arc::new(sampled),
            part: part.clone(),
            placed: Arc::default(),
        })
    }

    /// Ordinals and rows of the sample, as they were when it was saved.
    pub(super) fn sampled(&self) -> impl Iterator<Item = (u32, (&[i8], f32))> {
        let (ordinals, rows) = &*self.sampled;
        ordinals.iter().copied().zip(rows.each())
    }

    pub(crate) fn is_placed(&self) -> bool {
        self.placed.get().is_some()
    }

    /// The cell of each document, from the lists. Those of a damaged one find theirs anew.
    pub(crate) fn placed(&self) -> &[u16] {
        self.placed.get_or_init(|| {
            let mut of = vec![NONE; self.documents];
            let mut buffer = Vec::new();
            for number in 0..self.centroids.len() {
                let Some(list) = self.list(number, &mut buffer) else {
                    continue;
                };
                for ordinal in list.ordinals() {
                    if let Some(cell) = of.get_mut(ordinal as usize) {
                        *cell = number as u16;
                    }
                }
            }
            of.into()
        })
    }

    /// A list, read into `buffer`; `None` where it is damaged.
    fn list<'b>(&self, number: usize, buffer: &'b mut Vec<u64>) -> Option<List<'b>> {
        let place = self.lists.get(number)?;
        let (of_signs, all) = list_words(place.documents, self.centroids.dimensions);
        buffer.clear();
        buffer.resize(all, 0);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(buffer);
        if !(self.part.read)(place.at, bytes) || xxh3_64(bytes) != place.check {
            return None;
        }
        for word in buffer.iter_mut() {
            *word = u64::from_le(*word);
        }
        let (signs, ordinals) = buffer.split_at(of_signs);
        Some(List {
            documents: place.documents,
            signs,
            ordinals,
        })
    }

    /// Calls `offer` with each document of the nearest lists and its distance by signs, until
    /// enough of the memory was read.
    pub(super) fn near(
        &self,
        query: &QueryCodes,
        buffer: &mut Vec<u64>,
        mut offer: impl FnMut(u32, u32),
    ) {
        let near = |(codes, scale): (&[i8], f32)| dot(codes, &query.codes) as f32 * scale;
        let mut nearest: Vec<u64> = (0..)
            .zip(self.centroids.each().map(near))
            .map(|(number, near)| key(near, number))
            .collect();
        nearest.sort_unstable_by(|a, b| b.cmp(a));
        let without_cell = self.centroids.len();
        let order = nearest.iter().map(|nearest| *nearest as u32 as usize);
        let mut enough = (self.documents / READ_ONE_IN).max(READ_MIN);
        let mut distances = Vec::new();
        for number in std::iter::once(without_cell).chain(order) {
            let Some(list) = self.list(number, buffer) else {
                continue;
            };
            distances.clear();
            distances.resize(list.documents.div_ceil(LANES), [0; LANES]);
            query.planes.distances(list.signs, &mut distances);
            for (ordinal, distance) in list.ordinals().zip(distances.as_flattened()) {
                offer(ordinal, *distance);
            }
            if number != without_cell {
                enough = enough.saturating_sub(list.documents);
            }
            if enough == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests;
