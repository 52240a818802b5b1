//! Which documents a query may return: those live (now or at an instant) that the filter admits.
//!
//! Statistics are over all live documents except bare prompts, whatever the filter.

use std::sync::Arc;

use crate::bits::iter_set_bits;
use crate::live_set::{LiveSet, linked_document};

/// The documents that one query may return. Cheap to create without a filter.
#[derive(Debug, Clone)]
pub struct IndexView {
    live_set: Arc<LiveSet>,
    /// One bit per document; `None` if every live document may be returned.
    admitted: Option<Box<[u64]>>,
    considered: u32,
}

impl IndexView {
    pub(crate) fn unfiltered(live_set: Arc<LiveSet>) -> Self {
        Self {
            considered: live_set.live,
            admitted: None,
            live_set,
        }
    }

    /// Creates a view of the documents in `admitted`, one bit each; all of them must be live.
    pub(crate) fn from_bits(live_set: Arc<LiveSet>, admitted: Vec<u64>) -> Self {
        Self {
            considered: admitted.iter().map(|word| word.count_ones()).sum(),
            admitted: Some(admitted.into_boxed_slice()),
            live_set,
        }
    }

    /// Restricts the view to `ordinals`, in any order.
    #[must_use]
    pub fn restrict_to(self, ordinals: impl IntoIterator<Item = u32>) -> Self {
        let mut admitted = vec![0_u64; self.live_set.len().div_ceil(64)];
        for ordinal in ordinals {
            if self.contains(ordinal)
                && let Some(word) = admitted.get_mut(ordinal as usize / 64)
            {
                *word |= 1 << (ordinal % 64);
            }
        }
        Self::from_bits(self.live_set, admitted)
    }

    /// Restricts the view to the documents of another view of the same snapshot and instant.
    #[must_use]
    pub fn intersect(self, other: &Self) -> Self {
        let both = self.bits().iter().zip(other.bits());
        let admitted = both.map(|(one, other)| one & other).collect();
        Self::from_bits(self.live_set, admitted)
    }

    /// Removes `ordinals`, in any order, from the view.
    #[must_use]
    pub fn exclude(mut self, ordinals: impl IntoIterator<Item = u32>) -> Self {
        for ordinal in ordinals {
            if !self.contains(ordinal) {
                continue;
            }
            let bits = self
                .admitted
                .get_or_insert_with(|| self.live_set.live_bits.as_slice().into());
            if let Some(word) = bits.get_mut(ordinal as usize / 64) {
                *word &= !(1 << (ordinal % 64));
                self.considered -= 1;
            }
        }
        self
    }

    pub(crate) fn live_set(&self) -> &LiveSet {
        &self.live_set
    }

    pub(crate) fn bits(&self) -> &[u64] {
        match &self.admitted {
            None => &self.live_set.live_bits,
            Some(bits) => bits,
        }
    }

    pub fn contains(&self, ordinal: u32) -> bool {
        match &self.admitted {
            None => self.live_set.is_live(ordinal),
            Some(bits) => bits
                .get(ordinal as usize / 64)
                .is_some_and(|word| word >> (ordinal % 64) & 1 == 1),
        }
    }

    /// Whether the document is live at the view's instant, even if the filter excludes it.
    pub fn is_live(&self, ordinal: u32) -> bool {
        self.live_set.is_live(ordinal)
    }

    /// Whether some live documents are the user's own words and some are not.
    pub fn has_mixed_authors(&self) -> bool {
        self.live_set.has_mixed_authors()
    }

    pub fn considered_count(&self) -> u32 {
        self.considered
    }

    /// Returns the number of documents that are live at the view's instant.
    pub fn live_count(&self) -> u32 {
        self.live_set.live
    }

    /// Returns the number of live documents that count in statistics: all except bare prompts.
    pub fn statistics_documents(&self) -> u32 {
        self.live_set.statistics_documents
    }

    /// Returns the live documents before and after this one in its session, even if the filter
    /// excludes them; `None` for a document without a session.
    pub fn neighbours(&self, ordinal: u32) -> (Option<u32>, Option<u32>) {
        let (previous, next) = self.live_set.neighbours(ordinal);
        (linked_document(previous), linked_document(next))
    }

    /// Returns the ordinals in the view, ascending.
    pub fn ordinals(&self) -> impl Iterator<Item = u32> {
        iter_set_bits(self.bits())
    }
}
