//! `ruvector-sona` with its defaults, as a baseline for the evaluation. Never part of an answer.

use ruvector_sona::SonaEngine;

/// The crate's engine with default settings, given the same runs as our learner.
pub struct Shipped(SonaEngine);

reprise_types::show_fields!(Shipped {});

impl Shipped {
    /// An engine for vectors of this length.
    pub fn new(dimensions: usize) -> Self {
        Self(SonaEngine::new(dimensions))
    }

    /// A finished run: its query, the mean of the records used, its quality. All must be finite:
    /// one NaN would corrupt it for good.
    pub fn learn(&self, query: &[f32], used: &[f32], quality: f32) {
        let mut run = self.0.begin_trajectory(query.to_vec());
        run.add_step(used.to_vec(), Vec::new(), quality);
        self.0.end_trajectory(run, quality);
    }

    /// Applies its pending updates, the most favourable moment for a query.
    pub fn settle(&self) {
        self.0.flush();
    }

    pub fn adjusted(&self, query: &[f32]) -> Vec<f32> {
        // It adds to its output buffer, which therefore starts as the query.
        let mut moved = query.to_vec();
        self.0.apply_micro_lora(query, &mut moved);
        moved
    }
}
