//! Lifts the newer of two contradictory records that are both among the best to just above the
//! older. Neither is hidden: the reader decides which of them holds.

use crate::fuse::scored::{Lift, ScoredCandidate, select_best};

/// Number of the best results that are looked at, or as many as are asked for: the newer record
/// changes places with the older and pushes nothing out of the first ten.
const AMONG: usize = 10;
/// Distance of the newer above the older, as a logit.
const STEP: f32 = 0.01;

/// The contradictory pairs among the best candidates, each with the older record first, in the
/// order in which the newer ones happened.
#[derive(Debug, Default)]
pub struct Contradictions {
    pairs: Vec<(u32, u32)>,
    /// The pairs of which only the older is among the best: it says that it is over, and nothing
    /// else changes.
    not_found: Vec<(u32, u32)>,
}

impl Contradictions {
    /// Returns the best of the candidates, among which pairs count.
    pub fn select_best_among(ranked: &mut [ScoredCandidate], top_k: usize) -> Vec<u32> {
        let best = select_best(ranked, top_k.max(AMONG));
        best.iter().map(|scored| scored.ordinal).collect()
    }

    /// Creates them from pairs in the order in which the newer ones happened; `best` are those of
    /// [`Self::select_best_among`].
    pub fn from_pairs(pairs: Vec<(u32, u32)>, best: &[u32]) -> Self {
        let (pairs, not_found) = pairs
            .into_iter()
            .partition(|(_, newer)| best.contains(newer));
        Self { pairs, not_found }
    }

    /// Lifts each newer record above the older.
    pub fn lift_newer(&self, ranked: &mut [ScoredCandidate]) {
        for (older, newer) in &self.pairs {
            let logit = |ordinal: u32| {
                let found = ranked.iter().find(|scored| scored.ordinal == ordinal);
                found.map_or(f32::NEG_INFINITY, |scored| scored.logit)
            };
            let lift = logit(*older) + STEP - logit(*newer);
            if lift <= 0.0 {
                continue;
            }
            if let Some(scored) = ranked.iter_mut().find(|scored| scored.ordinal == *newer) {
                scored.lift(Lift::Newer, lift);
            }
        }
    }

    /// Returns the newest record that contradicts this one.
    pub fn find_newest_contradicting(&self, ordinal: u32) -> Option<u32> {
        let pairs = self.pairs.iter().rev();
        let mut pairs = pairs.chain(self.not_found.iter().rev());
        let own = pairs.find(|(older, _)| *older == ordinal);
        own.map(|(_, newer)| *newer)
    }

    pub(super) fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }
}
