//! Embedding spaces, and the check that every vector passes before it is stored or compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{DIMENSIONS_MAX, UNIT_NORM_TOLERANCE};

/// The built-in model, to whose cosines the ranking was fitted.
pub const REFERENCE_MODEL: &str = "all-MiniLM-L6-v2";

/// The coordinate system of a vector. Vectors of different spaces are never compared.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct EmbeddingSpace {
    /// Model name, for example `all-MiniLM-L6-v2`.
    pub model: String,
    /// Version of the weights and their arithmetic, for example `int8-1`.
    pub version: String,
    /// Length of every vector.
    pub dimensions: u16,
}

/// The distribution of a model's cosines between unrelated texts, in ten-thousandths. It belongs to
/// the bytes of one model: it is measured once and stored with the model's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnrelatedCosines {
    mean: i32,
    deviation: i32,
}

impl UnrelatedCosines {
    pub fn new(mean: f32, deviation: f32) -> Self {
        let whole = |part: f32| (part * 1e4).round() as i32;
        Self {
            mean: whole(mean),
            deviation: whole(deviation),
        }
    }

    pub fn mean(self) -> f32 {
        self.mean as f32 / 1e4
    }

    pub fn deviation(self) -> f32 {
        self.deviation as f32 / 1e4
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    pub space: EmbeddingSpace,
    /// A unit vector of `space.dimensions` numbers.
    pub vector: Vec<f32>,
}

impl Embedding {
    pub fn new(space: EmbeddingSpace, vector: Vec<f32>) -> Self {
        Self { space, vector }
    }

    /// Returns the error of [`check_unit_vector`] for its vector, if it has one.
    pub fn validate(&self) -> Result<(), VectorError> {
        check_unit_vector(&self.vector, usize::from(self.space.dimensions))
    }

    pub fn space_and_vector(&self) -> (&EmbeddingSpace, &[f32]) {
        (&self.space, &self.vector)
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VectorError {
    #[error(
        "the vector has {got} numbers, its space has {expected}; embed the text with the right model"
    )]
    Dimensions { got: usize, expected: usize },
    #[error("the vector's number {index} is not finite; embed the text again")]
    NotFinite {
        /// The first such index.
        index: usize,
    },
    #[error("the vector's length is {norm}, not 1; normalise it before storing")]
    NotUnit { norm: f32 },
}

/// Accepts a finite vector of `expected` numbers and Euclidean length 1 within
/// [`UNIT_NORM_TOLERANCE`].
pub fn check_unit_vector(vector: &[f32], expected: usize) -> Result<(), VectorError> {
    if vector.len() != expected || expected == 0 || expected > DIMENSIONS_MAX {
        return Err(VectorError::Dimensions {
            got: vector.len(),
            expected,
        });
    }
    if let Some(index) = vector.iter().position(|x| !x.is_finite()) {
        return Err(VectorError::NotFinite { index });
    }
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if (norm - 1.0).abs() > UNIT_NORM_TOLERANCE {
        return Err(VectorError::NotUnit { norm });
    }
    Ok(())
}

/// Scales a vector to Euclidean length 1; a zero vector stays zero.
pub fn normalize(vector: &mut [f32]) {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        for x in vector {
            *x /= norm;
        }
    }
}

/// The scalar product of two vectors of one length.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Eight parallel sums: a fixed order that the compiler can vectorise.
    let mut sums = [0.0_f32; 8];
    let (left, right) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = left
        .remainder()
        .iter()
        .zip(right.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in left.zip(right) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_unit_vectors_of_the_right_length_pass() {
        assert_eq!(check_unit_vector(&[0.6, 0.8], 2), Ok(()));
        assert!(matches!(
            check_unit_vector(&[1.0], 2),
            Err(VectorError::Dimensions { .. })
        ));
        assert!(matches!(
            check_unit_vector(&[f32::NAN, 1.0], 2),
            Err(VectorError::NotFinite { index: 0 })
        ));
        assert!(matches!(
            check_unit_vector(&[1.0, 1.0], 2),
            Err(VectorError::NotUnit { .. })
        ));
        assert!(matches!(
            check_unit_vector(&[], 0),
            Err(VectorError::Dimensions { .. })
        ));
    }
}
