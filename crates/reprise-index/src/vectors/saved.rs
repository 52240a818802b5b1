//! The saved codes: a front that is read at once, then signs (a page per chunk) and rows, which are
//! read on demand.
//!
//! ```text
//! front: u32 dimensions | u32 documents | per chunk 4 u64: which documents have a vector
//!   | checks of the signs' pages | checks of the rows' pages
//! u64 words of signs, chunk by chunk
//! rows: i8 codes, f32 scale
//! ```
//! The caller that opens the file passes a function that reads it.

use std::sync::{Arc, OnceLock};

use super::{CHUNK_DOCUMENTS, Chunk, ChunkContent, QuantisedVectors, signs};
use crate::codec::append_u32;
use crate::error::{IndexError, IndexResult};
use crate::pages::{self, DamageFlag, LazyPart, PartPages};

const CODES: &str = "codes";
/// Rows per page.
const PAGE_ROWS: usize = 4;
/// Bytes of a row after its codes.
const SCALE_BYTES: usize = 4;
/// Words of a chunk's bit set of documents with a vector.
const PRESENT: usize = CHUNK_DOCUMENTS / 64;

pub(crate) fn encode_vectors(vectors: &QuantisedVectors, version: u8) -> Vec<u8> {
    let (dimensions, documents) = (vectors.dimensions, vectors.len());
    let stride = dimensions + SCALE_BYTES;
    let mut rows = Vec::with_capacity(documents * stride);
    for ordinal in 0..documents as u32 {
        match vectors.row(ordinal) {
            Some((codes, scale)) => {
                rows.extend_from_slice(bytemuck::cast_slice(codes));
                rows.extend_from_slice(&scale.to_le_bytes());
            }
            None => rows.resize(rows.len() + stride, 0),
        }
    }
    let words_per_chunk = signs::words_per_chunk(dimensions);
    let mut signs = Vec::with_capacity(vectors.chunks.len() * words_per_chunk * 8);
    let mut spare = Vec::new();
    for (number, chunk) in vectors.chunks.iter().enumerate() {
        match chunk.signs(number, &mut spare) {
            Some(words) => signs.extend(words.iter().flat_map(|word| word.to_le_bytes())),
            None => signs.resize(signs.len() + words_per_chunk * 8, 0),
        }
    }
    let mut front = Vec::new();
    append_u32(&mut front, dimensions as u32);
    append_u32(&mut front, documents as u32);
    let present = vectors.chunks.iter().flat_map(|chunk| chunk.present);
    front.extend(present.flat_map(u64::to_le_bytes));
    pages::append_checksums(&mut front, &signs, words_per_chunk * 8);
    pages::append_checksums(&mut front, &rows, PAGE_ROWS * stride);
    pages::encode_part(version, &front, &[&signs, &rows])
}

/// Inverse of [`encode_vectors`]: reads the front and leaves the rest in the file.
pub(crate) fn open_vectors(
    part: &LazyPart,
    version: u8,
    dimensions: usize,
    documents: usize,
    damage: &DamageFlag,
) -> IndexResult<QuantisedVectors> {
    let front = part.read_front(CODES, version)?;
    let mut reader = pages::open_front(CODES, &front, version)?;
    let (got, held) = (reader.read_u32()? as usize, reader.read_u32()? as usize);
    if got != dimensions {
        let expected = dimensions;
        return Err(IndexError::Dimensions { got, expected });
    }
    if held != documents {
        return Err(reader.damage_error("it has another number of documents"));
    }
    let count = documents.div_ceil(CHUNK_DOCUMENTS);
    let present: &[[u8; 8]] = reader.read_arrays(count * PRESENT)?;
    let (page, stride) = (
        signs::words_per_chunk(dimensions) * 8,
        dimensions + SCALE_BYTES,
    );
    let too_large = || reader.damage_error("a count is too large");
    let signs_bytes = count.checked_mul(page).ok_or_else(too_large)?;
    let rows_bytes = documents.checked_mul(stride).ok_or_else(too_large)?;
    let start = front.len() as u64;
    let checks = reader.read_shared(count * 8)?;
    let signs = PartPages::new(part, (start, signs_bytes), page, checks, damage);
    let checks = reader.read_shared(documents.div_ceil(PAGE_ROWS) * 8)?;
    let at = (start + signs_bytes as u64, rows_bytes);
    let rows = PartPages::new(part, at, PAGE_ROWS * stride, checks, damage);
    reader.expect_end()?;
    let (Some(signs), Some(rows)) = (signs, rows) else {
        return Err(reader.damage_error("its length does not fit its counts"));
    };
    if at.0 + rows_bytes as u64 != part.size {
        return Err(reader.damage_error("its length does not fit its counts"));
    }
    let saved = Arc::new(SavedCodes {
        documents,
        dimensions,
        rows,
        signs,
        loaded_signs: OnceLock::new(),
    });
    let (present, _) = present.as_chunks::<PRESENT>();
    let chunks = present.iter().map(|words| {
        Arc::new(Chunk {
            content: ChunkContent::InFile(Arc::clone(&saved)),
            present: words.map(u64::from_le_bytes),
        })
    });
    Ok(QuantisedVectors {
        dimensions,
        documents,
        chunks: chunks.collect(),
        saved: Some(saved),
    })
}

/// The saved part, read page by page; all in memory once loaded.
#[derive(Debug)]
pub(super) struct SavedCodes {
    documents: usize,
    dimensions: usize,
    rows: PartPages,
    signs: PartPages,
    loaded_signs: OnceLock<Vec<u64>>,
}

impl SavedCodes {
    /// Returns codes and scale of a document; `None` if they are damaged.
    pub(super) fn row(&self, ordinal: u32) -> Option<(&[i8], f32)> {
        let stride = self.dimensions + SCALE_BYTES;
        let from = ordinal as usize * stride;
        let row = self.rows.bytes_in_page(from, from + stride)?;
        let (codes, scale) = row.split_last_chunk()?;
        let scale = f32::from_le_bytes(*scale);
        (scale.is_finite() && scale >= 0.0).then_some((bytemuck::cast_slice(codes), scale))
    }

    /// Returns the signs of a chunk, from memory or read into `spare`; `None` if they are damaged.
    pub(super) fn signs<'a>(&'a self, chunk: usize, spare: &'a mut Vec<u64>) -> Option<&'a [u64]> {
        let words = signs::words_per_chunk(self.dimensions);
        if let Some(loaded) = self.loaded_signs.get() {
            return loaded.get(chunk * words..(chunk + 1) * words);
        }
        spare.clear();
        spare.resize(words, 0);
        let whole = self
            .signs
            .read_page_into(chunk, bytemuck::cast_slice_mut(spare));
        for word in spare.iter_mut() {
            *word = u64::from_le(*word);
        }
        whole.then_some(spare)
    }

    pub(super) fn len(&self) -> u32 {
        self.documents as u32
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.rows.is_loaded() && self.loaded_signs.get().is_some()
    }

    pub(super) fn load(&self) -> IndexResult<()> {
        if self.is_loaded() {
            return Ok(());
        }
        let mut words = vec![0_u64; self.signs.len() / 8];
        if !self.rows.load()
            || !self
                .signs
                .read_all_into(bytemuck::cast_slice_mut(&mut words))
        {
            let (part, what) = (CODES, "a page's check does not match");
            return Err(IndexError::Damaged { part, what });
        }
        for word in &mut words {
            *word = u64::from_le(*word);
        }
        self.loaded_signs.get_or_init(|| words);
        Ok(())
    }
}
