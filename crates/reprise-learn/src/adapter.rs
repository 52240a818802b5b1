//! The adapter: a rank-2 correction of the query vector, fitted to outcomes, with the weights of
//! `ruvector-sona`'s `MicroLoRA`, which tests compare it with.
//!
//! Its estimate for a record m is `lora(q) . m`, with lora applied to zeros, so that it also covers
//! records that no run has used. A fit (`fit.rs`) reads the runs in the journal; the end of every
//! run causes a step.

pub(crate) mod fit;

use std::sync::Arc;

use reprise_types::{AdapterWeights, dot};

/// Rank of the correction: one row for the effect that all queries share, one for the effect that
/// depends on the query.
pub(crate) const RANK: usize = 2;
/// Share of a run's prediction error that its step corrects.
const STEP: f32 = 0.1;
/// Squared length of the records' projections below which a step is damped.
const STEP_RIDGE: f32 = 0.02;

/// The adapter with its current weights.
#[derive(Debug, Clone)]
pub(crate) struct Adapter(Arc<AdapterWeights>);

impl Adapter {
    /// Creates an adapter with these weights; weights that have another shape or are not finite are
    /// dropped.
    pub(crate) fn new(dimensions: usize, weights: AdapterWeights) -> Self {
        let size = RANK * dimensions;
        let fits = [&weights.down, &weights.up, &weights.fisher]
            .iter()
            .all(|part| part.len() == size && part.iter().all(|x| x.is_finite()));
        let weights = if fits {
            weights
        } else {
            AdapterWeights::default()
        };
        Self(Arc::new(weights))
    }

    pub(crate) fn weights(&self) -> &AdapterWeights {
        &self.0
    }

    /// Returns the projection of a vector onto each row.
    pub(crate) fn project_onto_rows(&self, vector: &[f32]) -> [f32; RANK] {
        row_products(&self.0.up, vector)
    }

    /// Returns the estimated advantage of a run with this query whose records have the projections
    /// `along`; exactly 0 without weights.
    pub(crate) fn estimate(&self, query: &[f32], along: [f32; RANK]) -> f32 {
        let aims = row_products(&self.0.down, query);
        aims.iter().zip(along).map(|(aim, along)| aim * along).sum()
    }

    /// Returns the vector to add to the query; `None` without weights.
    pub(crate) fn query_correction(&self, query: &[f32]) -> Option<Vec<f32>> {
        if query.is_empty() || query.len() * RANK != self.0.down.len() {
            return None;
        }
        let mut delta = vec![0.0; query.len()];
        let aims = row_products(&self.0.down, query);
        for (row, aim) in self.0.up.chunks_exact(query.len()).zip(aims) {
            fit::add_scaled(&mut delta, aim, row);
        }
        delta.iter().all(|x| x.is_finite()).then_some(delta)
    }

    /// Takes the step at a run's end: shifts each row towards the query in proportion to `error`,
    /// the part of the run's quality that was not predicted. Returns the shift per row, if there
    /// was one.
    pub(crate) fn apply_step(
        &mut self,
        query: &[f32],
        along: [f32; RANK],
        error: f32,
    ) -> Option<[f32; RANK]> {
        let size: f32 = along.iter().map(|x| x * x).sum();
        if size <= 0.0 || query.len() * RANK != self.0.down.len() {
            return None;
        }
        let by = along.map(|along| STEP * error * along / (size + STEP_RIDGE));
        self.shift_rows(query, by);
        Some(by)
    }

    /// Shifts each row towards the query by these factors.
    pub(crate) fn shift_rows(&mut self, query: &[f32], by: [f32; RANK]) {
        let dimensions = query.len();
        if dimensions * RANK != self.0.down.len() {
            return;
        }
        let mut weights = AdapterWeights::clone(&self.0);
        for (row, by) in weights.down.chunks_exact_mut(dimensions).zip(by) {
            fit::add_scaled(row, by, query);
        }
        *self = Self::new(dimensions, weights);
    }
}

/// Returns the product of each row with the vector; zeros if the shapes differ.
fn row_products(rows: &[f32], vector: &[f32]) -> [f32; RANK] {
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
    use ruvector_sona::MicroLoRA;

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
        let delta = adapter.query_correction(&query).unwrap();
        let weights = adapter.weights();
        let mut container = MicroLoRA::new(3, RANK);
        // Our weights include their scale.
        container.set_scale(1.0);
        let taken = container.set_weights(weights.down.clone(), weights.up.clone());
        assert_eq!(taken, Ok(()));
        let mut theirs = vec![0.0; 3];
        container.forward(&query, &mut theirs);
        let differences = delta
            .iter()
            .zip(&theirs)
            .map(|(ours, theirs)| ours - theirs);
        assert!(
            differences.into_iter().all(|off| off.abs() < 1e-6),
            "{delta:?} {theirs:?}"
        );
        let worth = adapter.estimate(&query, adapter.project_onto_rows(&record));
        assert!((worth - dot(&delta, &record)).abs() < 1e-6);
        assert!(worth.abs() > 0.1);
    }

    #[test]
    fn a_step_moves_the_estimate_towards_what_came_and_never_past_it() {
        let (query, record) = ([0.6, 0.8, 0.0], [0.0, 0.8, 0.6]);
        for came in [-0.9, 0.9_f32] {
            let mut adapter = adapter();
            let along = adapter.project_onto_rows(&record);
            let before = adapter.estimate(&query, along);
            adapter.apply_step(&query, along, came - before);
            let after = adapter.estimate(&query, along);
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
        let (query, along) = ([1.0, 0.0, 0.0], adapter.project_onto_rows(&[1.0, 0.0, 0.0]));
        adapter.apply_step(&query, [1.0, 1.0], 1.0);
        assert_eq!(adapter.estimate(&query, along).to_bits(), 0);
        assert_eq!(adapter.query_correction(&query), None);
    }
}
