//! `ruvector-sona` with its defaults, as a baseline for the evaluation. It never affects a recall.

use ruvector_sona::SonaEngine;

/// The engine of `ruvector-sona` with default settings, which gets the same runs as our learner.
pub(super) struct SonaBaseline(SonaEngine);

reprise_types::show_fields!(SonaBaseline {});

impl SonaBaseline {
    /// Creates an engine for vectors of this length.
    pub(super) fn new(dimensions: usize) -> Self {
        Self(SonaEngine::new(dimensions))
    }

    /// Adds a finished run: its query, the mean of the records used, its quality. All numbers must
    /// be finite, because one NaN would corrupt the engine permanently.
    pub(super) fn add_run(&self, query: &[f32], used: &[f32], quality: f32) {
        let mut run = self.0.begin_trajectory(query.to_vec());
        run.add_step(used.to_vec(), Vec::new(), quality);
        self.0.end_trajectory(run, quality);
    }

    /// Applies the pending updates, after which its corrections are at their best.
    pub(super) fn flush(&self) {
        self.0.flush();
    }

    pub(super) fn correct_query(&self, query: &[f32]) -> Vec<f32> {
        // It adds to its output buffer, which therefore starts as the query.
        let mut moved = query.to_vec();
        self.0.apply_micro_lora(query, &mut moved);
        moved
    }
}
