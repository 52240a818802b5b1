//! The adapter: a rank-2 correction of the query vector, fitted to outcomes, held in
//! `ruvector-sona`'s `MicroLoRA`.
//!
//! Its estimate for a record m is `lora(q) . m`, with lora applied to zeros, so that it also covers
//! records that no run has used. A fit (`fit.rs`) reads the runs held; a step is taken at the end
//! of every run.

pub(crate) mod fit;

use std::sync::Arc;

use reprise_types::{AdapterWeights, dot};
use ruvector_sona::MicroLoRA;

/// Rank of the correction: one row for what helps with every query, one for what depends on the
/// query.
pub(crate) const RANK: usize = 2;
/// Share of what a run's end surprised the adapter with that its step takes in.
const STEP: f32 = 0.1;
/// Below this square of what the records have along the rows a step is damped.
const STEP_RIDGE: f32 = 0.02;

/// The weights in force.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    lora: Arc<MicroLoRA>,
    weights: Arc<AdapterWeights>,
}

impl Adapter {
    /// An adapter with these weights. Weights of another shape, or not finite, count as none.
    pub(crate) fn new(dimensions: usize, weights: AdapterWeights) -> Self {
        let size = RANK * dimensions;
        let fits = [&weights.down, &weights.up, &weights.fisher]
            .iter()
            .all(|part| part.len() == size && part.iter().all(|x| x.is_finite()));
        let mut lora = MicroLoRA::new(dimensions.max(1), RANK);
        // Our weights include their scale, so the container's own scale is 1.
        lora.set_scale(1.0);
        let taken = fits
            && lora
                .set_weights(weights.down.clone(), weights.up.clone())
                .is_ok();
        let weights = if taken {
            weights
        } else {
            AdapterWeights::default()
        };
        Self {
            lora: lora.into(),
            weights: weights.into(),
        }
    }

    pub(crate) fn weights(&self) -> &AdapterWeights {
        &self.weights
    }

    /// How far a vector lies along each row.
    pub(crate) fn along(&self, vector: &[f32]) -> [f32; RANK] {
        products(&self.weights.up, vector)
    }

    /// The estimated advantage of a run with this query whose records lie `along` the rows; exactly
    /// 0 without weights.
    pub(crate) fn worth(&self, query: &[f32], along: [f32; RANK]) -> f32 {
        let aims = products(&self.weights.down, query);
        aims.iter().zip(along).map(|(aim, along)| aim * along).sum()
    }

    /// What is added to the query; `None` without weights.
    pub(crate) fn correction(&self, query: &[f32]) -> Option<Vec<f32>> {
        if query.len() * RANK != self.weights.down.len() {
            return None;
        }
        let mut delta = vec![0.0; query.len()];
        self.lora.forward(query, &mut delta);
        delta.iter().all(|x| x.is_finite()).then_some(delta)
    }

    /// The step at a run's end: turns each row's aim towards the query by a share of `error`, the
    /// part of the run's quality that was not expected. Returns by how much, where it did.
    pub(crate) fn step(
        &mut self,
        query: &[f32],
        along: [f32; RANK],
        error: f32,
    ) -> Option<[f32; RANK]> {
        let size: f32 = along.iter().map(|x| x * x).sum();
        if size <= 0.0 || query.len() * RANK != self.weights.down.len() {
            return None;
        }
        let by = along.map(|along| STEP * error * along / (size + STEP_RIDGE));
        self.turn(query, by);
        Some(by)
    }

    /// Turns each row's aim towards the query by so much.
    pub(crate) fn turn(&mut self, query: &[f32], by: [f32; RANK]) {
        let dimensions = query.len();
        if dimensions * RANK != self.weights.down.len() {
            return;
        }
        let mut weights = AdapterWeights::clone(&self.weights);
        for (row, by) in weights.down.chunks_exact_mut(dimensions).zip(by) {
            fit::add(row, by, query);
        }
        *self = Self::new(dimensions, weights);
    }
}

/// The product of each row with the vector; zeros where the shapes differ.
fn products(rows: &[f32], vector: &[f32]) -> [f32; RANK] {
    let mut products = [0.0; RANK];
    if vector.len() * RANK == rows.len() && !vector.is_empty() {
        for (product, row) in products.iter_mut().zip(rows.chunks_exact(vector.len())) {
            *product = dot(row, vector);
        }
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter() -> Adapter {
        let weights = AdapterWeights {
            runs: 1,
            down: vec![1.0, 0.0, 0.5, 0.0, 2.0, 0.0],
            up: vec![0.0, 1.0, 0.0, 0.3, 0.0, -1.0],
            fisher: vec![0.0; 6],
        };
        Adapter::new(3, weights)
    }

    #[test]
    fn a_records_worth_is_what_the_container_computes() {
        let adapter = adapter();
        let (query, record) = ([0.6, 0.8, 0.0], [0.0, 0.8, 0.6]);
        let delta = adapter.correction(&query).unwrap();
        let worth = adapter.worth(&query, adapter.along(&record));
        assert!((worth - dot(&delta, &record)).abs() < 1e-6);
        assert!(worth.abs() > 0.1);
    }

    #[test]
    fn a_step_moves_the_estimate_towards_what_came_and_never_past_it() {
        let (query, record) = ([0.6, 0.8, 0.0], [0.0, 0.8, 0.6]);
        for came in [-0.9, 0.9_f32] {
            let mut adapter = adapter();
            let along = adapter.along(&record);
            let before = adapter.worth(&query, along);
            adapter.step(&query, along, came - before);
            let after = adapter.worth(&query, along);
            let (toward, left) = ((after - before) / (came - before), (came - after).abs());
            assert!(
                toward > 0.05 && left < (came - before).abs(),
                "{before} {after} {came}"
            );
        }
    }

    #[test]
    fn weights_that_are_not_weights_correct_nothing() {
        let bad = AdapterWeights {
            runs: 1,
            down: vec![f32::NAN; 6],
            up: vec![1.0; 6],
            fisher: vec![0.0; 6],
        };
        let mut adapter = Adapter::new(3, bad);
        let (query, along) = ([1.0, 0.0, 0.0], adapter.along(&[1.0, 0.0, 0.0]));
        adapter.step(&query, [1.0, 1.0], 1.0);
        assert_eq!(adapter.worth(&query, along).to_bits(), 0);
        assert_eq!(adapter.correction(&query), None);
    }
}
