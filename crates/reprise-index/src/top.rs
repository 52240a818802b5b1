//! The best k of a stream of scores, in reusable buffers.

use std::cmp::Ordering;

/// The highest scores offered since [`Self::clear`], ties by newer.
#[derive(Debug, Default)]
pub(crate) struct Top {
    k: usize,
    kept: Vec<(u32, f32)>,
    bar: f32,
}

impl Top {
    /// Clears it and sets `k`.
    pub(crate) fn clear(&mut self, k: usize) {
        self.k = k;
        self.kept.clear();
        self.bar = f32::NEG_INFINITY;
    }

    /// Whether a score could still be among the best.
    pub(crate) fn wants(&self, score: f32) -> bool {
        score >= self.bar && self.k > 0
    }

    /// Adds a score that [`Self::wants`] accepted.
    pub(crate) fn offer(&mut self, ordinal: u32, score: f32) {
        self.kept.push((ordinal, score));
        // Buffers up to `2 k` scores before cutting back to the best `k`, which raises the
        // threshold.
        if self.kept.len() >= 2 * self.k {
            self.thin_out();
        }
    }

    /// The best, best first.
    pub(crate) fn sorted(&mut self) -> &[(u32, f32)] {
        self.thin_out();
        self.kept.sort_unstable_by(|a, b| compare(*a, *b));
        &self.kept
    }

    fn thin_out(&mut self) {
        if self.kept.len() > self.k && self.k > 0 {
            let (_, worst, _) = self
                .kept
                .select_nth_unstable_by(self.k - 1, |a, b| compare(*a, *b));
            self.bar = worst.1;
            self.kept.truncate(self.k);
        }
    }
}

/// Best first, ties by newer.
type Offer = (u32, f32);

fn compare(a: Offer, b: Offer) -> Ordering {
    b.1.total_cmp(&a.1).then(b.0.cmp(&a.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_order_and_newer_wins_a_tie() {
        let mut top = Top::default();
        for (k, expected) in [(0, vec![]), (2, vec![7, 3]), (9, vec![7, 3, 6, 0, 5])] {
            top.clear(k);
            for (ordinal, score) in [(0, 0.1), (3, 0.9), (5, 0.0), (6, 0.5), (7, 0.9)] {
                if top.wants(score) {
                    top.offer(ordinal, score);
                }
            }
            let found: Vec<u32> = top.sorted().iter().map(|best| best.0).collect();
            assert_eq!(found, expected, "k = {k}");
        }
    }

    #[test]
    fn a_long_stream_gives_what_sorting_gives() {
        let scores: Vec<(u32, f32)> = (0..1000_u32)
            .map(|n| (n, (n * 7919 % 101) as f32))
            .collect();
        let mut top = Top::default();
        top.clear(10);
        for &(ordinal, score) in &scores {
            if top.wants(score) {
                top.offer(ordinal, score);
            }
        }
        let mut sorted = scores;
        sorted.sort_unstable_by(|a, b| compare(*a, *b));
        assert_eq!(top.sorted(), &sorted[..10]);
    }
}
