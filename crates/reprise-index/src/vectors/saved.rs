//! The saved codes: a front that is read at once, and one row of codes per document that may stay
//! in the file until somebody asks for it.
//!
//! ```text
//! version u8 | XXH3-64 of the rest of the front | u32 dimensions | u32 documents
//!   | f32 scale per document | u32 check per document | u64 words of signs, chunk by chunk
//! i8 codes, row by row
//! ```
//! A row's check is the low half of its XXH3-64; no row is used whose check was not compared.
//! Must never live here: files; whoever opens one lends a function that reads it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use super::{CHUNK_DOCUMENTS, Chunk, Codes, Vectors, signs};
use crate::codec::{Reader, SharedBytes, open, put_u32, seal};
use crate::cow::CowVec;
use crate::error::IndexError;

const CODES: &str = "codes";
/// Version, checksum, dimensions, documents.
const HEAD_BYTES: usize = 17;
/// Bytes read at a time when all rows are wanted.
const PIECE_ROWS: usize = 512;

/// Fills the buffer from a place in a part; `false` where it cannot. Called from any thread.
pub type ReadPart = Arc<dyn Fn(u64, &mut [u8]) -> bool + Send + Sync>;

/// A part that was left where it is.
#[derive(Clone)]
pub struct LeftPart {
    /// Its length in bytes.
    pub size: u64,
    /// Reads it.
    pub read: ReadPart,
}

impl fmt::Debug for LeftPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeftPart")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// The rows of a part that was left in its file; all of them in memory once somebody loaded them.
#[derive(Debug)]
pub(super) struct Rows {
    part: LeftPart,
    /// Where the first row stands.
    start: u64,
    dimensions: usize,
    checks: Vec<u32>,
    loaded: OnceLock<SharedBytes>,
}

impl Rows {
    /// The codes of a document, in memory or read into `spare`; `None` where they are damaged.
    pub(super) fn get<'a>(&'a self, ordinal: u32, spare: &'a mut Vec<i8>) -> Option<&'a [i8]> {
        let row = ordinal as usize;
        if let Some(rows) = self.loaded.get() {
            let from = row * self.dimensions;
            return rows
                .get(from..from + self.dimensions)
                .map(bytemuck::cast_slice);
        }
        spare.clear();
        spare.resize(self.dimensions, 0);
        let at = self.start + row as u64 * self.dimensions as u64;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(spare);
        let whole = (self.part.read)(at, bytes) && self.checks.get(row) == Some(&check(bytes));
        whole.then_some(&**spare)
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        self.checks.len() as u32
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.loaded.get().is_some()
    }

    /// Reads and checks every row.
    pub(super) fn load(&self) -> Result<(), IndexError> {
        if self.is_loaded() {
            return Ok(());
        }
        let damaged = |what| IndexError::Damaged { part: CODES, what };
        let mut bytes = vec![0; self.checks.len() * self.dimensions];
        let mut checks = self.checks.iter();
        let mut at = self.start;
        for piece in bytes.chunks_mut(PIECE_ROWS * self.dimensions.max(1)) {
            if !(self.part.read)(at, piece) {
                return Err(damaged("it cannot be read"));
            }
            at += piece.len() as u64;
            let mut rows = piece.chunks_exact(self.dimensions.max(1)).zip(&mut checks);
            if !rows.all(|(row, expected)| check(row) == *expected) {
                return Err(damaged("a row's check does not match"));
            }
        }
        // Somebody else may have been quicker, with the same bytes.
        self.loaded.get_or_init(|| bytes.into());
        Ok(())
    }
}

fn check(row: &[u8]) -> u32 {
    xxh3_64(row) as u32
}

fn front_bytes(dimensions: usize, documents: usize) -> Option<usize> {
    let chunks = documents.div_ceil(CHUNK_DOCUMENTS);
    let signs = signs::chunk_words(dimensions)
        .checked_mul(8)?
        .checked_mul(chunks)?;
    signs
        .checked_add(documents.checked_mul(8)?)?
        .checked_add(HEAD_BYTES)
}

pub(crate) fn write(vectors: &Vectors, version: u8) -> Vec<u8> {
    let (dimensions, documents) = (vectors.dimensions, vectors.len());
    let mut rows = Vec::with_capacity(documents * dimensions);
    let mut spare = Vec::new();
    for ordinal in 0..documents as u32 {
        match vectors.codes(ordinal, &mut spare) {
            Some(codes) => rows.extend(codes.iter().map(|code| code.cast_unsigned())),
            None => rows.resize(rows.len() + dimensions, 0),
        }
    }
    let front = front_bytes(dimensions, documents).unwrap_or_default();
    let mut bytes = open(version, front + rows.len());
    put_u32(&mut bytes, dimensions as u32);
    put_u32(&mut bytes, documents as u32);
    bytes.extend(vectors.scales().flat_map(f32::to_le_bytes));
    for row in rows.chunks_exact(dimensions.max(1)) {
        put_u32(&mut bytes, check(row));
    }
    for chunk in &vectors.chunks {
        bytes.extend(chunk.signs.iter().flat_map(|word| word.to_le_bytes()));
    }
    let mut bytes = seal(bytes);
    bytes.extend_from_slice(&rows);
    bytes
}

/// The inverse of [`write`]: reads the front, and leaves the rows where they are.
pub(crate) fn read(
    part: &LeftPart,
    version: u8,
    dimensions: usize,
    documents: usize,
) -> Result<Vectors, IndexError> {
    let damaged = |what| IndexError::Damaged { part: CODES, what };
    let mut head = [0; HEAD_BYTES];
    if part.size < head.len() as u64 || !(part.read)(0, &mut head) {
        return Err(damaged("too short"));
    }
    if head[0] != version {
        let (part, got, expected) = (CODES, head[0], version);
        return Err(IndexError::Version {
            part,
            got,
            expected,
        });
    }
    let number = |at: usize| head.get(at..).and_then(|rest| rest.first_chunk());
    let number = |at| number(at).map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
    let (got, held) = (number(9), number(13));
    if got != dimensions {
        let expected = dimensions;
        return Err(IndexError::Dimensions { got, expected });
    }
    if held != documents {
        return Err(damaged("it has another number of documents"));
    }
    let front = front_bytes(dimensions, documents).ok_or(damaged("a count is too large"))?;
    let rows = documents as u64 * dimensions as u64;
    if (front as u64).checked_add(rows) != Some(part.size) {
        return Err(damaged("its length does not fit its counts"));
    }
    let mut bytes = vec![0; front];
    if !(part.read)(0, &mut bytes) {
        return Err(damaged("it cannot be read"));
    }
    let bytes = SharedBytes::from(bytes);
    let mut reader = Reader::new(CODES, &bytes, version)?;
    reader.take(8)?;
    let scales: &[[u8; 4]] = reader.column(documents)?;
    let scales: CowVec<f32> = scales.iter().map(|b| f32::from_le_bytes(*b)).collect();
    if !scales.iter().all(|s| s.is_finite() && *s >= 0.0) {
        return Err(damaged("a scale is not a number"));
    }
    let checks: &[[u8; 4]] = reader.column(documents)?;
    let rows = Arc::new(Rows {
        part: part.clone(),
        start: front as u64,
        dimensions,
        checks: checks.iter().map(|b| u32::from_le_bytes(*b)).collect(),
        loaded: OnceLock::new(),
    });
    let mut chunks = Vec::with_capacity(documents.div_ceil(CHUNK_DOCUMENTS));
    let mut has = scales.iter().map(|scale| *scale != 0.0);
    for _ in 0..documents.div_ceil(CHUNK_DOCUMENTS) {
        let words: &[[u8; 8]] = reader.column(signs::chunk_words(dimensions))?;
        let mut present = [0; CHUNK_DOCUMENTS / 64];
        for (place, has) in has.by_ref().take(CHUNK_DOCUMENTS).enumerate() {
            present[place / 64] |= u64::from(has) << (place % 64);
        }
        chunks.push(Arc::new(Chunk {
            codes: Codes::Left(Arc::clone(&rows)),
            signs: words.iter().map(|b| u64::from_le_bytes(*b)).collect(),
            present,
        }));
    }
    drop(has);
    reader.end()?;
    Ok(Vectors {
        dimensions,
        chunks,
        scales,
        left: Some(rows),
    })
}

impl From<SharedBytes> for LeftPart {
    fn from(bytes: SharedBytes) -> Self {
        Self {
            size: bytes.len() as u64,
            read: Arc::new(move |at, out| {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let found = bytes.get(from..).and_then(|rest| rest.get(..out.len()));
                found.is_some_and(|found| {
                    out.copy_from_slice(found);
                    true
                })
            }),
        }
    }
}
