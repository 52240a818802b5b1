//! Vectors quantised to 16-bit integers, and the kernel for the similarity of two queries.
//!
//! Integer arithmetic makes every similarity identical on every machine.

use std::sync::Arc;

/// Integer of a vector's largest number. A dot product stays below `4096 * 511^2 < 2^31`.
const STEPS_MAX: f32 = 511.0;
/// Scale of a query of another space; the scales of vectors are never below zero.
const FOREIGN_SCALE: f32 = -1.0;
/// Cosine below which two queries are unrelated.
const KERNEL_FLOOR: f32 = 0.3;

/// A vector as integers with one scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuantizedVector {
    scale: f32,
    numbers: Arc<[i16]>,
}

reprise_types::impl_binary_codec! {
    QuantizedVector { scale, numbers }
}

impl QuantizedVector {
    /// Quantises a finite vector.
    pub(crate) fn from_vector(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        if largest == 0.0 {
            let numbers = vec![0; vector.len()].into();
            return Self {
                scale: 0.0,
                numbers,
            };
        }
        let steps = STEPS_MAX / largest;
        Self {
            scale: largest / STEPS_MAX,
            numbers: vector.iter().map(|x| (x * steps).round() as i16).collect(),
        }
    }

    /// Creates the vector of a query of another space, which is similar to no other vector.
    pub(crate) fn new_foreign(dimensions: usize) -> Self {
        Self {
            scale: FOREIGN_SCALE,
            numbers: vec![0; dimensions].into(),
        }
    }

    /// Whether the query is of another space, as [`Self::new_foreign`] creates it.
    pub(crate) fn is_foreign(&self) -> bool {
        self.scale < 0.0
    }

    pub(crate) fn scale(&self) -> f32 {
        self.scale
    }

    pub(crate) fn numbers(&self) -> &[i16] {
        &self.numbers
    }

    /// Returns the dot product, which for unit vectors is the cosine to about 0.002.
    pub(crate) fn dot(&self, other: &Self) -> f32 {
        // No overflow is possible (see `STEPS_MAX`), and wrapping sums can be vectorised.
        let pairs = self.numbers.iter().zip(other.numbers.iter());
        let sum = pairs.fold(0_i32, |sum, (a, b)| {
            sum.wrapping_add(i32::from(*a).wrapping_mul(i32::from(*b)))
        });
        sum as f32 * self.scale * other.scale
    }

    /// Returns the dequantised vector.
    pub(crate) fn to_vector(&self) -> Vec<f32> {
        let numbers = self.numbers.iter();
        numbers.map(|x| f32::from(*x) * self.scale).collect()
    }
}

/// Computes `max(0, (cos - 0.3) / 0.7)^2`: 1 for the same query, 0 for unrelated ones.
pub(crate) fn similarity_kernel(cosine: f32) -> f32 {
    let above = ((cosine - KERNEL_FLOOR) / (1.0 - KERNEL_FLOOR)).max(0.0);
    above * above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_keeps_the_cosine() {
        let (a, b) = (
            QuantizedVector::from_vector(&[0.6, 0.8, 0.0]),
            QuantizedVector::from_vector(&[0.8, 0.6, 0.0]),
        );
        assert!((a.dot(&b) - 0.96).abs() < 2e-3);
        assert!((a.dot(&a) - 1.0).abs() < 2e-3);
        let back = a.to_vector();
        assert!((back[0] - 0.6).abs() < 1e-3);
        assert!(
            QuantizedVector::from_vector(&[0.0, 0.0])
                .dot(&QuantizedVector::from_vector(&[1.0, 0.0]))
                .abs()
                < f32::EPSILON
        );
    }

    #[test]
    fn the_kernel_is_one_for_the_same_and_nothing_for_strangers() {
        assert!((similarity_kernel(1.0) - 1.0).abs() < 1e-6);
        assert_eq!(similarity_kernel(0.3).to_bits(), 0.0_f32.to_bits());
        assert_eq!(similarity_kernel(-1.0).to_bits(), 0.0_f32.to_bits());
    }
}
