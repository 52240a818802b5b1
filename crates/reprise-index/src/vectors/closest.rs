//! Selects the lowest of a stream of integer distances by counting: the threshold falls as
//! documents are added.

/// Collects the documents with the lowest distances; documents come in ascending order of ordinals.
#[derive(Debug, Default)]
pub(super) struct ClosestDocs {
    /// Documents and their distances; after [`Self::trim`] at most `limit`.
    pub(super) documents: Vec<(u32, u32)>,
    /// Threshold: a greater distance cannot be among the lowest.
    pub(super) threshold: u32,
    /// Documents at each distance.
    counts: Vec<u32>,
    /// Documents at or below the threshold.
    within_count: usize,
    limit: usize,
}

impl ClosestDocs {
    /// Empties the collection and prepares it for the `limit` (at least 1) lowest of distances up
    /// to `distance_max`.
    pub(super) fn reset(&mut self, limit: usize, distance_max: u32) {
        self.documents.clear();
        self.counts.clear();
        self.counts.resize(distance_max as usize + 1, 0);
        self.threshold = distance_max;
        self.within_count = 0;
        self.limit = limit.max(1);
    }

    pub(super) fn insert(&mut self, ordinal: u32, distance: u32) {
        if distance > self.threshold {
            return;
        }
        self.documents.push((ordinal, distance));
        self.counts[distance as usize] += 1;
        self.within_count += 1;
        // The threshold stays where lowering it would leave too few.
        while self.within_count - self.counts[self.threshold as usize] as usize >= self.limit {
            self.within_count -= self.counts[self.threshold as usize] as usize;
            self.threshold -= 1;
        }
    }

    /// Removes documents above the threshold, and the oldest surplus ones at the threshold.
    pub(super) fn trim(&mut self) {
        let mut surplus = self.within_count.saturating_sub(self.limit);
        let threshold = self.threshold;
        self.documents.retain(|(_, distance)| {
            let extra = *distance == threshold && surplus > 0;
            surplus -= usize::from(extra);
            *distance <= threshold && !extra
        });
    }
}
