//! Cells: a few hundred centroids in the front and, for each, a list of the nearest records with
//! their signs, so that a large memory is searched right after opening by reading a few lists.
//!
//! The writer learns the centroids from a sample (k-means) and assigns each record to one, some at
//! a time. Readers use only the saved form, until the rest is in memory.
//!
//! ```text
//! u32 bytes of the front | front: u8 version | u32 dimensions | u32 documents | u32 even at
//!   | u32 cells | per cell i8 codes, f32 scale | per list u32 documents
//!   | u32 sampled | per sampled u32 ordinal | per sampled i8 codes, f32 scale
//! per list: u64 words of signs, in groups of 8 documents as in a chunk | u32 ordinals | padding
//! ```
//! The last list has the documents without a cell; it is always read. The spread of a query's
//! cosines is computed from the sample, because reading those rows would take as many reads.

use std::sync::Arc;

use reprise_hnsw::rank_key;
use reprise_types::{
    BinaryCodec as _, ByteReader, ByteWriter, LazyValue, SavedSection, encode_all,
};

use super::kernels::{LANES, dot};
use super::query_codes::QueryCodes;
use super::sampling::sample_ordinals;
use super::{CHUNK_DOCUMENTS, QuantisedVectors, quantise, signs};

/// Number of documents with a vector from which cells are learned, once the store is large enough
/// for a graph: fewer are scanned in less than a millisecond.
pub const CELLS_THRESHOLD: usize = 4_096;
const VERSION: u8 = 3;
/// Number of documents from which the spread of a query's cosines over a large store is estimated.
/// The front contains so many, for [`crate::IndexSnapshot::sample_cosines`].
pub const SPREAD_SAMPLE: usize = 512;
/// Documents per cell, as long as there are no more than [`CELLS_MAX`] cells.
const CELL_DOCUMENTS_MIN: usize = 128;
/// Most cells: every query ranks all of them.
const CELLS_MAX: usize = 1_024;
/// Sampled documents per cell.
const SAMPLED_PER_CELL: usize = 12;
const TRAINING_ROUNDS: usize = 4;
/// Sampled documents that are assigned in the time of one insert into the graph.
const SAMPLED_PER_STEP: usize = 32;
/// A query reads the lists of one document in so many, and of at least [`READ_MIN`] documents.
const READ_ONE_IN: usize = 12;
const READ_MIN: usize = 4_096;
/// Cell number of a document without a cell.
const NO_CELL: u16 = u16::MAX;

/// Codes and scales of centroids or documents.
#[derive(Debug, Clone)]
struct CodeRows {
    dimensions: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

impl CodeRows {
    fn len(&self) -> usize {
        self.scales.len()
    }

    fn iter(&self) -> impl Iterator<Item = (&[i8], f32)> {
        let codes = self.codes.chunks_exact(self.dimensions.max(1));
        codes.zip(self.scales.iter().copied())
    }

    /// Decodes `count` rows of a front.
    fn decode(r: &mut ByteReader<'_>, count: usize, dimensions: usize) -> Option<Self> {
        let mut rows = Self {
            dimensions,
            codes: Vec::new(),
            scales: Vec::new(),
        };
        for _ in 0..count {
            rows.codes
                .extend_from_slice(bytemuck::cast_slice(r.read_raw(dimensions)?));
            rows.scales.push(r.read_f32()?);
        }
        Some(rows)
    }

    /// Finds the centroid nearest to a document's codes.
    fn find_nearest(&self, codes: &[i8]) -> u16 {
        let near = |(own, scale): (&[i8], f32)| dot(own, codes) as f32 * scale;
        let mut best = (f32::NEG_INFINITY, 0);
        for (number, near) in (0_u16..).zip(self.iter().map(near)) {
            if near > best.0 {
                best = (near, number);
            }
        }
        best.1
    }

    fn set_mean(&mut self, number: usize, mean: &[f32]) {
        let range = number * self.dimensions..(number + 1) * self.dimensions;
        if let Some(codes) = self.codes.get_mut(range) {
            // Centroids have unit length, or a cell of long vectors would attract everything.
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
struct CentroidTraining {
    sample: Vec<u32>,
    centroids: CodeRows,
    /// The sum of the vectors assigned to each centroid in this round.
    sums: Vec<f32>,
    at: usize,
    round: usize,
}

impl CentroidTraining {
    /// Starts with the first documents of the sample, which is evenly spaced, as centroids.
    fn new(vectors: &QuantisedVectors) -> Self {
        let (len, held) = (vectors.len(), vectors.vector_count() as usize);
        let count = (held / CELL_DOCUMENTS_MIN).min(CELLS_MAX);
        let places = sample_ordinals(len, count * SAMPLED_PER_CELL, held);
        let sample: Vec<u32> = places.filter(|ordinal| vectors.has(*ordinal)).collect();
        let dimensions = vectors.dimensions();
        let mut centroids = CodeRows {
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

    /// Processes up to `budget` more documents of the sample; `true` once the training is complete.
    fn advance(&mut self, vectors: &QuantisedVectors, budget: usize) -> bool {
        let dimensions = self.centroids.dimensions;
        for _ in 0..budget {
            if self.round == TRAINING_ROUNDS {
                return true;
            }
            if let Some(ordinal) = self.sample.get(self.at) {
                self.at += 1;
                if let Some((codes, scale)) = vectors.row(*ordinal) {
                    let cell = usize::from(self.centroids.find_nearest(codes)) * dimensions;
                    let sums = self.sums.get_mut(cell..cell + dimensions);
                    for (sum, code) in sums.into_iter().flatten().zip(codes) {
                        *sum += f32::from(*code) * scale;
                    }
                }
                continue;
            }
            for (number, sum) in self.sums.chunks_exact(dimensions).enumerate() {
                // A cell without documents stays where it was.
                if sum.iter().any(|x| *x != 0.0) {
                    self.centroids.set_mean(number, sum);
                }
            }
            self.sums.fill(0.0);
            (self.at, self.round) = (0, self.round + 1);
        }
        self.round == TRAINING_ROUNDS
    }
}

/// The writer's state of the cells.
#[derive(Debug)]
pub(crate) struct CellState {
    /// Number of documents with a vector from which cells are learned.
    pub(crate) threshold: usize,
    centroids: Option<Arc<CodeRows>>,
    training: Option<CentroidTraining>,
    /// The cell of each document.
    cell_of: Vec<u16>,
    /// All documents before it that have a vector have a cell.
    next: usize,
    /// Whether a first pass has given every document a cell.
    is_whole: bool,
    /// A saved layer that is not read yet; `changed` has the documents whose vectors changed since.
    saved: Option<SavedCells>,
    changed: Vec<u32>,
}

impl Default for CellState {
    fn default() -> Self {
        Self {
            threshold: CELLS_THRESHOLD,
            centroids: None,
            training: None,
            cell_of: Vec::new(),
            next: 0,
            is_whole: false,
            saved: None,
            changed: Vec::new(),
        }
    }
}

impl CellState {
    pub(crate) fn from_saved(cells: SavedCells) -> Self {
        Self {
            saved: Some(cells),
            is_whole: true,
            ..Self::default()
        }
    }

    /// Copies the state as of now, to be saved by another thread.
    pub(crate) fn copy(&self) -> Self {
        Self {
            centroids: self.centroids.clone(),
            cell_of: self.cell_of.clone(),
            saved: self.saved.clone(),
            changed: self.changed.clone(),
            ..Self::default()
        }
    }

    /// Whether there is something to save.
    pub(crate) fn has_centroids(&self) -> bool {
        self.centroids.is_some() || self.saved.is_some()
    }

    /// Returns the saved cells for readers, as long as they are not loaded.
    pub(crate) fn saved_cells(&self) -> Option<SavedCells> {
        self.saved.clone()
    }

    /// Marks a document whose vector was added, changed or removed.
    pub(crate) fn mark_changed(&mut self, ordinal: u32) {
        if self.saved.is_some() {
            self.changed.push(ordinal);
        }
        if let Some(cell) = self.cell_of.get_mut(ordinal as usize) {
            *cell = NO_CELL;
            self.next = self.next.min(ordinal as usize);
        }
    }

    /// Whether the first pass over `vectors` is not complete yet.
    pub(crate) fn is_incomplete(&self, vectors: &QuantisedVectors) -> bool {
        !self.is_whole && vectors.vector_count() as usize >= self.threshold
    }

    /// Starts using the saved cells, if any.
    pub(crate) fn use_saved(&mut self) {
        let Some(saved) = self.saved.take() else {
            return;
        };
        (self.cell_of, self.next) = (saved.cell_of.to_vec(), 0);
        self.centroids = Some(saved.centroids);
        for ordinal in std::mem::take(&mut self.changed) {
            self.mark_changed(ordinal);
        }
    }

    /// Learns the centroids if there are none, else assigns up to `budget` documents to their cell.
    /// Returns whether nothing is left to do.
    pub(crate) fn advance(&mut self, vectors: &QuantisedVectors, budget: usize) -> bool {
        self.use_saved();
        let Some(centroids) = &self.centroids else {
            if (vectors.vector_count() as usize) < self.threshold {
                return true;
            }
            let training = self
                .training
                .get_or_insert_with(|| CentroidTraining::new(vectors));
            if training.advance(vectors, budget.saturating_mul(SAMPLED_PER_STEP)) {
                let trained = self.training.take();
                self.centroids = trained.map(|trained| Arc::new(trained.centroids));
            }
            return false;
        };
        self.cell_of.resize(vectors.len(), NO_CELL);
        let mut left = budget;
        while let Some(cell) = self.cell_of.get_mut(self.next) {
            let row = (*cell == NO_CELL).then(|| vectors.row(self.next as u32));
            if let Some((codes, _)) = row.flatten().filter(|row| row.1 != 0.0) {
                if left == 0 {
                    return false;
                }
                left -= 1;
                *cell = centroids.find_nearest(codes);
            }
            self.next += 1;
        }
        self.is_whole = true;
        true
    }

    /// Encodes the section to save, with the crossover that must be known before the rest is read;
    /// `None` without centroids.
    pub(crate) fn encode(
        &mut self,
        vectors: &QuantisedVectors,
        graph_faster_from: u32,
    ) -> Option<Vec<u8>> {
        self.use_saved();
        let centroids = self.centroids.as_ref()?;
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); centroids.len() + 1];
        for ordinal in (0..vectors.len() as u32).filter(|ordinal| vectors.has(*ordinal)) {
            let cell = self
                .cell_of
                .get(ordinal as usize)
                .filter(|cell| **cell != NO_CELL);
            let list = cell.map_or(centroids.len(), |cell| usize::from(*cell));
            lists.get_mut(list)?.push(ordinal);
        }
        let front = &mut ByteWriter::with_fixed_layout(vec![0; FRONT_SIZE_BYTES]);
        let [dimensions, documents] = [centroids.dimensions, vectors.len()].map(|n| n as u32);
        encode_all!(front, VERSION, dimensions, documents, graph_faster_from);
        (centroids.len() as u32).encode(front);
        centroids.iter().for_each(|row| encode_code_row(front, row));
        front.write_items(
            lists
                .iter()
                .map(|list| list.len() as u32)
                .collect::<Vec<_>>()
                .iter(),
        );
        let places = sample_ordinals(
            vectors.len(),
            SPREAD_SAMPLE,
            vectors.vector_count() as usize,
        );
        let row = |at| Some((at, vectors.row(at).filter(|row| row.1 != 0.0)?));
        let sampled: Vec<(u32, _)> = places.filter_map(row).collect();
        (sampled.len() as u32).encode(front);
        front.write_items(sampled.iter().map(|one| &one.0));
        for (_, row) in &sampled {
            encode_code_row(front, *row);
        }
        let mut bytes = std::mem::take(&mut front.bytes);
        let size = (bytes.len() as u32).to_le_bytes();
        bytes[..FRONT_SIZE_BYTES].copy_from_slice(&size);
        for list in &lists {
            append_list(&mut bytes, list, vectors);
        }
        Some(bytes)
    }
}

/// Bytes of the number that a saved layer begins with.
const FRONT_SIZE_BYTES: usize = 4;

fn encode_code_row(out: &mut ByteWriter, (codes, scale): (&[i8], f32)) {
    out.write_raw(bytemuck::cast_slice(codes));
    scale.encode(out);
}

/// Returns the number of words of the signs, and of the whole list, for so many documents.
fn list_word_counts(documents: usize, dimensions: usize) -> (usize, usize) {
    let signs = documents.next_multiple_of(LANES) * signs::words_per_vector(dimensions);
    (signs, signs + documents.div_ceil(2))
}

fn append_list(out: &mut Vec<u8>, ordinals: &[u32], vectors: &QuantisedVectors) {
    let words = signs::words_per_vector(vectors.dimensions());
    let (of_signs, all) = list_word_counts(ordinals.len(), vectors.dimensions());
    let mut list = vec![0_u64; all];
    for (place, ordinal) in ordinals.iter().enumerate() {
        let (number, own) = (
            *ordinal as usize / CHUNK_DOCUMENTS,
            *ordinal as usize % CHUNK_DOCUMENTS,
        );
        let chunk = vectors.signs(number);
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
    centroids: Arc<CodeRows>,
    /// Documents when it was saved.
    documents: usize,
    /// Store size from which the graph is faster, as passed to [`CellState::to_bytes`].
    pub(crate) graph_faster_from: u32,
    lists: Arc<[ListPosition]>,
    /// Ordinals and rows of evenly spaced documents.
    sampled: Arc<(Vec<u32>, CodeRows)>,
    section: SavedSection,
    /// The cell of each document, read from the lists. Documents of a damaged list have none and
    /// are assigned again.
    cell_of: LazyValue<Box<[u16]>>,
    /// The bits of documents whose vectors changed between then and the opening: no list has them
    /// as they are now.
    stale: Arc<[u64]>,
}

/// Offset and size of a list in the section.
#[derive(Debug, Clone, Copy)]
struct ListPosition {
    at: usize,
    documents: usize,
    dimensions: usize,
}

impl ListPosition {
    /// Reads the list into `buffer`; `None` if it is damaged.
    fn read<'b>(&self, section: &SavedSection, buffer: &'b mut Vec<u64>) -> Option<CellList<'b>> {
        let (of_signs, all) = list_word_counts(self.documents, self.dimensions);
        let bytes = section.read_bytes(self.at..self.at + 8 * all)?;
        let words = bytes.as_chunks().0.iter();
        buffer.clear();
        buffer.extend(words.map(|word| u64::from_le_bytes(*word)));
        let (signs, ordinals) = buffer.split_at(of_signs);
        Some(CellList {
            documents: self.documents,
            signs,
            ordinals,
        })
    }
}

/// Returns the cell of each of so many documents, read from the lists of all cells.
fn read_cell_of(section: &SavedSection, documents: usize, lists: &[ListPosition]) -> Box<[u16]> {
    let mut cell_of = vec![NO_CELL; documents];
    let mut buffer = Vec::new();
    for (number, place) in (0..).zip(lists) {
        let list = place.read(section, &mut buffer);
        for ordinal in list.iter().flat_map(CellList::ordinals) {
            if let Some(cell) = cell_of.get_mut(ordinal as usize) {
                *cell = number;
            }
        }
    }
    cell_of.into()
}

/// A list in memory.
struct CellList<'a> {
    documents: usize,
    signs: &'a [u64],
    ordinals: &'a [u64],
}

impl CellList<'_> {
    fn ordinals(&self) -> impl Iterator<Item = u32> {
        let halves = self
            .ordinals
            .iter()
            .flat_map(|two| [*two as u32, (two >> 32) as u32]);
        halves.take(self.documents)
    }
}

impl SavedCells {
    /// Reads the front; the lists stay in the file. `None` if it is damaged.
    pub(crate) fn read(
        section: &SavedSection,
        dimensions: usize,
        documents: usize,
    ) -> Option<Self> {
        let size = section.read_bytes(0..FRONT_SIZE_BYTES)?;
        let size = u32::from_le_bytes(*size.first_chunk()?) as usize;
        let front = section.read_bytes(FRONT_SIZE_BYTES..size)?;
        let r = &mut ByteReader::with_fixed_layout(&front);
        if r.read_u8()? != VERSION {
            return None;
        }
        let [got, held] = [r.read_u32()?, r.read_u32()?].map(|number| number as usize);
        let [graph_faster_from, count] = [r.read_u32()?, r.read_u32()?];
        let count = count as usize;
        if got != dimensions || held > documents || count > CELLS_MAX {
            return None;
        }
        let centroids = CodeRows::decode(r, count, dimensions)?;
        let mut at = size;
        let mut lists = Vec::with_capacity(count + 1);
        for _ in 0..=count {
            let documents = r.read_u32()? as usize;
            lists.push(ListPosition {
                at,
                documents,
                dimensions,
            });
            at += 8 * list_word_counts(documents, dimensions).1;
        }
        let sampled = r.read_u32().filter(|sampled| *sampled as usize <= held)? as usize;
        let ordinals: Option<Vec<u32>> = (0..sampled).map(|_| r.read_u32()).collect();
        let sampled = (ordinals?, CodeRows::decode(r, sampled, dimensions)?);
        let lists: Arc<[ListPosition]> = lists.into();
        let places = Arc::clone(&lists);
        let cell_of = move |section: &_| {
            let places = places.get(..count).unwrap_or_default();
            read_cell_of(section, held, places)
        };
        (at == section.length && r.is_empty()).then(|| Self {
            centroids: Arc::new(centroids),
            documents: held,
            graph_faster_from,
            lists,
            sampled: Arc::new(sampled),
            cell_of: section.read_later(cell_of),
            section: section.clone(),
            stale: Arc::default(),
        })
    }

    /// Notes the documents whose vectors changed after it was saved.
    pub(crate) fn set_stale(&mut self, stale: &[u32]) {
        let words = stale.iter().max().map_or(0, |last| *last as usize / 64 + 1);
        let mut bits = vec![0_u64; words];
        for ordinal in stale {
            bits[*ordinal as usize / 64] |= 1 << (ordinal % 64);
        }
        self.stale = bits.into();
    }

    /// Returns the bits of 64 documents that no list has as they are now, by the number of their
    /// word: those whose vectors changed, and those that came since.
    pub(super) fn unlisted_word(&self, word: usize) -> u64 {
        let listed = self.documents.saturating_sub(word * 64).min(64) as u32;
        let newer = u64::MAX.checked_shl(listed).unwrap_or(0);
        self.stale.get(word).copied().unwrap_or(0) | newer
    }

    /// Returns ordinals and rows of the sample, as they were when it was saved.
    pub(super) fn sample_rows(&self) -> impl Iterator<Item = (u32, (&[i8], f32))> {
        let (ordinals, rows) = &*self.sampled;
        ordinals.iter().copied().zip(rows.iter())
    }

    pub(crate) fn cell_of(&self) -> &LazyValue<Box<[u16]>> {
        &self.cell_of
    }

    /// Calls `emit` with each document of the nearest lists and its distance by signs, until enough
    /// documents are read.
    pub(super) fn search_nearest(
        &self,
        query: &QueryCodes,
        buffer: &mut Vec<u64>,
        mut emit: impl FnMut(u32, u32),
    ) {
        let near = |(codes, scale): (&[i8], f32)| dot(codes, &query.codes) as f32 * scale;
        let mut nearest: Vec<u64> = (0..)
            .zip(self.centroids.iter().map(near))
            .map(|(number, near)| rank_key(near, number))
            .collect();
        nearest.sort_unstable_by(|a, b| b.cmp(a));
        let without_cell = self.centroids.len();
        let order = nearest.iter().map(|nearest| *nearest as u32 as usize);
        let mut enough = (self.documents / READ_ONE_IN).max(READ_MIN);
        let mut distances = Vec::new();
        for number in std::iter::once(without_cell).chain(order) {
            let place = self.lists.get(number);
            let Some(list) = place.and_then(|place| place.read(&self.section, buffer)) else {
                continue;
            };
            distances.clear();
            distances.resize(list.documents.div_ceil(LANES), [0; LANES]);
            query.planes.compute_distances(list.signs, &mut distances);
            for (ordinal, distance) in list.ordinals().zip(distances.as_flattened()) {
                if self.unlisted_word(ordinal as usize / 64) >> (ordinal % 64) & 1 == 0 {
                    emit(ordinal, *distance);
                }
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
