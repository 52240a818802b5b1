//! The adapter: a rank-2 correction of the query vector, fitted to outcomes, held in
//! `ruvector-sona`'s `MicroLoRA`.
//!
//! Its estimate for a record m is `lora(q) . m`, with lora applied to zeros, so that it also covers
//! records that no run has used.

pub(crate) mod fit;

use reprise_types::{AdapterWeights, RecordId, dot, normalize};
use ruvector_sona::MicroLoRA;

use crate::cow::CowMap;

/// Rank of the correction: one row for what helps with every query, one for what depends on the
/// query.
pub(crate) const RANK: usize = 2;
/// Length of the step of an adjusted query, relative to the query's length.
const QUERY_STEP: f32 = 0.5;

/// The weights in force, and each record's projection on them.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    lora: std::sync::Arc<MicroLoRA>,
    weights: std::sync::Arc<AdapterWeights>,
    /// `up_r . m` of each record, so that an estimate costs two products.
    places: CowMap<[f32; RANK]>,
}

impl Adapter {
    /// An adapter without weights.
    pub(crate) fn empty(dimensions: usize) -> Self {
        Self::new(dimensions, AdapterWeights::default())
    }

    /// An adapter with these weights and no record projected yet. Weights of another shape, or not
    /// finite, count as none.
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
        Self {
            lora: lora.into(),
            weights: if taken {
                weights
            } else {
                AdapterWeights::default()
            }
            .into(),
            places: CowMap::default(),
        }
    }

    pub(crate) fn weights(&self) -> &AdapterWeights {
        &self.weights
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.weights.up.is_empty()
    }

    /// Computes and stores a record's projection.
    pub(crate) fn place(&mut self, record: RecordId, vector: &[f32]) {
        if self.is_empty() || vector.len() * RANK != self.weights.up.len() {
            return;
        }
        let rows = self.weights.up.chunks_exact(vector.len());
        let mut place = [0.0; RANK];
        for (place, row) in place.iter_mut().zip(rows) {
            *place = dot(row, vector);
        }
        self.places.insert(record, place);
    }

    /// Stores a projection computed before.
    pub(crate) fn set_place(&mut self, record: RecordId, place: [f32; RANK]) {
        self.places.insert(record, place);
    }

    pub(crate) fn forget(&mut self, record: RecordId) {
        self.places.remove(record);
    }

    pub(crate) fn places(&self) -> &CowMap<[f32; RANK]> {
        &self.places
    }

    /// The down projection of a query.
    pub(crate) fn aim(&self, query: &[f32]) -> [f32; RANK] {
        let mut aim = [0.0; RANK];
        if query.len() * RANK == self.weights.down.len() {
            for (aim, row) in aim
                .iter_mut()
                .zip(self.weights.down.chunks_exact(query.len()))
            {
                *aim = dot(row, query);
            }
        }
        aim
    }

    /// The estimated advantage of a run with this query that uses `record`; exactly 0 for a record
    /// without a vector or an adapter without weights.
    pub(crate) fn worth(&self, aim: [f32; RANK], record: RecordId) -> f32 {
        let place = self.places.get(record);
        place.map_or(0.0, |place| aim.iter().zip(place).map(|(a, p)| a * p).sum())
    }

    /// The query moved towards what has helped, of length 1.
    pub(crate) fn adjusted(&self, query: &[f32]) -> Option<Vec<f32>> {
        if query.len() * RANK != self.weights.down.len() {
            return None;
        }
        let mut delta = vec![0.0; query.len()];
        self.lora.forward(query, &mut delta);
        normalize(&mut delta);
        let mut moved: Vec<f32> = query
            .iter()
            .zip(&delta)
            .map(|(q, d)| q + QUERY_STEP * d)
            .collect();
        normalize(&mut moved);
        moved.iter().all(|x| x.is_finite()).then_some(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_records_worth_is_what_the_container_computes() {
        let weights = AdapterWeights {
            runs: 1,
            down: vec![1.0, 0.0, 0.5, 0.0, 2.0, 0.0],
            up: vec![0.0, 1.0, 0.0, 0.3, 0.0, -1.0],
            fisher: vec![0.0; 6],
        };
        let mut adapter = Adapter::new(3, weights);
        let (query, record) = ([0.6, 0.8, 0.0], [0.0, 0.8, 0.6]);
        let id = RecordId::from_u128(1);
        adapter.place(id, &record);
        let mut delta = [0.0; 3];
        adapter.lora.forward(&query, &mut delta);
        let worth = adapter.worth(adapter.aim(&query), id);
        assert!((worth - dot(&delta, &record)).abs() < 1e-6);
        assert!(worth.abs() > 0.1);
        let moved = adapter.adjusted(&query).unwrap();
        assert!((dot(&moved, &moved) - 1.0).abs() < 1e-5);
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
        adapter.place(RecordId::from_u128(1), &[1.0, 0.0, 0.0]);
        let aim = adapter.aim(&[1.0, 0.0, 0.0]);
        assert_eq!(adapter.worth(aim, RecordId::from_u128(1)).to_bits(), 0);
        assert_eq!(adapter.adjusted(&[1.0, 0.0, 0.0]), None);
    }
}
