//! A query, quantised as documents are.

use super::kernels::dot;
use super::signs::QueryPlanes;

/// A quantised query: one signed byte per number, and four bits per number.
#[derive(Debug)]
pub struct QueryCodes {
    pub(super) codes: Vec<i8>,
    pub(super) scale: f32,
    pub(super) planes: QueryPlanes,
}

impl QueryCodes {
    /// Returns the approximate cosine with a document.
    pub(super) fn cosine(&self, (codes, scale): (&[i8], f32)) -> f32 {
        dot(&self.codes, codes) as f32 * (self.scale * scale)
    }
}
