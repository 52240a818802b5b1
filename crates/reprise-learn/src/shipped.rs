//! `ruvector-sona` as it ships, for the proof to compare with. Never part of an answer.

use ruvector_sona::SonaEngine;

/// The engine of the crate with its default settings, fed with what our learner is fed with.
pub struct Shipped(SonaEngine);

impl std::fmt::Debug for Shipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shipped").finish_non_exhaustive()
    }
}

impl Shipped {
    /// An engine for vectors of this length.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self(SonaEngine::new(dimensions))
    }

    /// A finished run: its question, the mean of what it used, how it went. All must be finite: one
    /// NaN would poison it for good.
    pub fn learn(&self, query: &[f32], used: &[f32], quality: f32) {
        let mut run = self.0.begin_trajectory(query.to_vec());
        run.add_step(used.to_vec(), Vec::new(), quality);
        self.0.end_trajectory(run, quality);
    }

    /// Applies what it has gathered: the most favourable moment to ask it.
    pub fn settle(&self) {
        self.0.flush();
    }

    /// The question as it would have it searched.
    #[must_use]
    pub fn adjusted(&self, query: &[f32]) -> Vec<f32> {
        // It adds to what is there: the output begins as the question.
        let mut moved = query.to_vec();
        self.0.apply_micro_lora(query, &mut moved);
        moved
    }
}
