//! How cosines spread over many vectors, whatever the question: their mean and their second moments
//! say it of every vector at once, so that the sample may be large and a question pays the same.

use reprise_engine::Spread;
use reprise_types::dot;

/// The first two moments of a sample of vectors.
#[derive(Debug)]
pub(super) struct Moments {
    pub(super) count: u32,
    mean: Vec<f32>,
    /// The lower triangle of the mean of every vector's product with itself, row by row.
    second: Vec<f32>,
}

impl Moments {
    /// None of no vectors.
    pub(super) fn of(sample: &[Vec<f32>]) -> Option<Self> {
        let length = sample.first()?.len();
        let mut mean = vec![0.0_f32; length];
        let mut second = vec![0.0_f32; length * (length + 1) / 2];
        for vector in sample {
            let mut rest = second.as_mut_slice();
            for (at, one) in vector.iter().enumerate() {
                let (row, below) = rest.split_at_mut((at + 1).min(rest.len()));
                for (sum, other) in row.iter_mut().zip(vector) {
                    *sum += one * other;
                }
                rest = below;
            }
            for (sum, one) in mean.iter_mut().zip(vector) {
                *sum += one;
            }
        }
        let count = sample.len() as f32;
        for sum in mean.iter_mut().chain(&mut second) {
            *sum /= count;
        }
        Some(Self {
            count: u32::try_from(sample.len()).unwrap_or(u32::MAX),
            mean,
            second,
        })
    }

    /// The mean of the cosines with a unit vector, and that of their squares.
    pub(super) fn along(&self, vector: &[f32]) -> (f64, f64) {
        let mean = dot(&self.mean, vector);
        let mut rest = self.second.as_slice();
        let mut squares = 0.0_f64;
        for (at, one) in vector.iter().enumerate() {
            let (row, below) = rest.split_at((at + 1).min(rest.len()));
            let (diagonal, row) = row.split_last().unwrap_or((&0.0, &[]));
            let others = dot(row, vector.get(..at).unwrap_or_default());
            squares += f64::from(one * (2.0 * others + one * diagonal));
            rest = below;
        }
        (f64::from(mean), squares)
    }
}

/// The cosines of one question with the things of several shelves.
#[derive(Debug, Default)]
pub(super) struct Cosines {
    sum: f64,
    squares: f64,
    weight: f64,
    count: u32,
}

impl Cosines {
    /// Adds a shelf of so many things, known by a sample.
    pub(super) fn sampled(&mut self, moments: &Moments, vector: &[f32], things: u32) {
        let (mean, square) = moments.along(vector);
        self.add(mean, square, things);
        self.count = self.count.saturating_add(moments.count);
    }

    /// Adds a shelf all of whose vectors were compared.
    pub(super) fn of_all(&mut self, mean: f64, deviation: f64, things: u32) {
        self.add(mean, deviation * deviation + mean * mean, things);
        self.count = self.count.saturating_add(things);
    }

    fn add(&mut self, mean: f64, square: f64, things: u32) {
        let things = f64::from(things);
        self.sum += things * mean;
        self.squares += things * square;
        self.weight += things;
    }

    pub(super) fn spread(&self) -> Spread {
        if self.weight <= 0.0 {
            return Spread::default();
        }
        let mean = self.sum / self.weight;
        let variance = (self.squares / self.weight - mean * mean).max(0.0);
        Spread {
            mean: mean as f32,
            deviation: variance.sqrt() as f32,
            count: self.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_say_of_any_vector_what_its_cosines_say() {
        let part = |seed: u32| {
            let mixed = seed.wrapping_mul(2_654_435_761) ^ seed.rotate_left(13);
            (mixed >> 8) as f32 / (1 << 24) as f32 - 0.4
        };
        let vector = |number: u32| -> Vec<f32> {
            let mut vector: Vec<f32> = (0..9).map(|at| part(number * 97 + at + 1)).collect();
            reprise_types::normalize(&mut vector);
            vector
        };
        let sample: Vec<Vec<f32>> = (0..50).map(vector).collect();
        let moments = Moments::of(&sample).expect("there are some");
        assert_eq!(moments.count, 50);
        for asked in (100..110).map(vector) {
            let cosine = |other: &Vec<f32>| -> f64 {
                let cosine: f32 = asked.iter().zip(other).map(|(a, b)| a * b).sum();
                f64::from(cosine)
            };
            let mean = sample.iter().map(cosine).sum::<f64>() / 50.0;
            let squares = sample.iter().map(|one| cosine(one).powi(2)).sum::<f64>() / 50.0;
            let told = moments.along(&asked);
            assert!((told.0 - mean).abs() < 1e-5, "{told:?} {mean}");
            assert!((told.1 - squares).abs() < 1e-5, "{told:?} {squares}");
        }
        assert!(Moments::of(&[]).is_none());
    }
}
