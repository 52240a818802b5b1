//! How a signal spreads over the documents of a store.

/// Mean and standard deviation of a signal over some documents.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// The mean, 0 for no documents.
    pub mean: f32,
    /// The population standard deviation, 0 for no documents.
    pub deviation: f32,
    /// Number of documents.
    pub count: u32,
}

impl Spread {
    /// Computes the spread of some values.
    pub fn from_values(values: impl Iterator<Item = f32>) -> Self {
        let (mut sum, mut squares, mut count) = (0.0_f64, 0.0_f64, 0_u32);
        for value in values.map(f64::from) {
            sum += value;
            squares += value * value;
            count += 1;
        }
        Self::from_sums(sum, squares, count)
    }

    /// Computes the spread of `count` values from their sum and that of their squares.
    pub(crate) fn from_sums(sum: f64, squares: f64, count: u32) -> Self {
        let documents = f64::from(count.max(1));
        let mean = sum / documents;
        let variance = (squares / documents - mean * mean).max(0.0);
        Self {
            mean: mean as f32,
            deviation: variance.sqrt() as f32,
            count,
        }
    }
}
