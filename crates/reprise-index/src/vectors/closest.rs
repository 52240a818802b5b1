//! The lowest of a stream of integer distances, by counting: the threshold falls as documents are
//! added.

/// Collects documents, in ascending order of ordinals, whose distance is among the lowest.
#[derive(Debug, Default)]
pub(super) struct Closest {
    /// Documents and their distances; after [`Self::finish`] at most as many as wanted.
    pub(super) found: Vec<(u32, u32)>,
    /// Threshold: a greater distance cannot be among the lowest.
    pub(super) bar: u32,
    /// Documents at each distance.
    counts: Vec<u32>,
    /// Documents at or below the threshold.
    within: usize,
    wanted: usize,
}

impl Closest {
    /// Resets it for the `wanted` (at least 1) lowest of distances up to `farthest`.
    pub(super) fn start(&mut self, wanted: usize, farthest: u32) {
        self.found.clear();
        self.counts.clear();
        self.counts.resize(farthest as usize + 1, 0);
        self.bar = farthest;
        self.within = 0;
        self.wanted = wanted.max(1);
    }

    pub(super) fn offer(&mut self, ordinal: u32, distance: u32) {
        if distance > self.bar {
            return;
        }
        self.found.push((ordinal, distance));
        self.counts[distance as usize] += 1;
        self.within += 1;
        // The threshold stays where lowering it would leave too few.
        while self.within - self.counts[self.bar as usize] as usize >= self.wanted {
            self.within -= self.counts[self.bar as usize] as usize;
            self.bar -= 1;
        }
    }

    /// Drops documents above the threshold, and the oldest surplus at it.
    pub(super) fn finish(&mut self) {
        let mut surplus = self.within.saturating_sub(self.wanted);
        let bar = self.bar;
        self.found.retain(|(_, distance)| {
            let extra = *distance == bar && surplus > 0;
            surplus -= usize::from(extra);
            *distance <= bar && !extra
        });
    }
}
