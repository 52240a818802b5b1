//! Codes that stay in the file until they are read.

use std::sync::OnceLock;

use super::CHUNK_DOCUMENTS;
use super::signs;
use crate::error::{IndexError, Result};
use crate::pages::Pages;

pub(super) const CODES: &str = "codes";

/// Rows per page.
pub(super) const PAGE_ROWS: usize = 4;

/// Bytes of a row behind its codes.
pub(super) const SCALE_BYTES: usize = 4;

/// Words of a chunk's bit set of documents with a vector.
pub(super) const PRESENT: usize = CHUNK_DOCUMENTS / 64;

/// The saved part, read page by page; all in memory once loaded.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) documents: usize,
    pub(super) dimensions: usize,
    pub(super) rows: Pages,
    pub(super) signs: Pages,
    pub(super) loaded_signs: OnceLock<Vec<u64>>,
}

impl Left {
    /// Codes and scale of a document; `None` where they are damaged.
    pub(super) fn row(&self, ordinal: u32) -> Option<(&[i8], f32)> {
        let stride = self.dimensions + SCALE_BYTES;
        let from = ordinal as usize * stride;
        let row = self.rows.within(from, from + stride)?;
        let (codes, scale) = row.split_last_chunk()?;
        let scale = f32::from_le_bytes(*scale);
        (scale.is_finite() && scale >= 0.0).then_some((bytemuck::cast_slice(codes), scale))
    }

    /// The signs of a chunk, in memory or read into `spare`; `None` where they are damaged.
    pub(super) fn signs<'a>(&'a self, chunk: usize, spare: &'a mut Vec<u64>) -> Option<&'a [u64]> {
        let words = signs::chunk_words(self.dimensions);
        if let Some(loaded) = self.loaded_signs.get() {
            return loaded.get(chunk * words..(chunk + 1) * words);
        }
        spare.clear();
        spare.resize(words, 0);
        let whole = self.signs.fill(chunk, bytemuck::cast_slice_mut(spare));
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

    pub(super) fn load(&self) -> Result<()> {
        if self.is_loaded() {
            return Ok(());
        }
        let mut words = vec![0_u64; self.signs.len() / 8];
        if !self.rows.load() || !self.signs.read_all(bytemuck::cast_slice_mut(&mut words)) {
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
