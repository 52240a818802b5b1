//! Which documents may answer a query: those live (now or at an instant) that the filter admits.
//!
//! Statistics are over all live documents but leads, whatever the filter.

use std::sync::Arc;

use crate::snapshot::set_bits;
use crate::world::{World, known};

/// The documents that may answer one query. Cheap to make without a filter.
#[derive(Debug, Clone)]
pub struct View {
    world: Arc<World>,
    /// One bit per document; `None` where every live document may answer.
    admitted: Option<Box<[u64]>>,
    considered: u32,
}

impl View {
    pub(crate) fn all(world: Arc<World>) -> Self {
        Self {
            considered: world.live,
            admitted: None,
            world,
        }
    }

    /// Of the documents in `admitted`, a bit each, all of which are live.
    pub(crate) fn of(world: Arc<World>, admitted: Vec<u64>) -> Self {
        Self {
            considered: admitted.iter().map(|word| word.count_ones()).sum(),
            admitted: Some(admitted.into_boxed_slice()),
            world,
        }
    }

    /// Restricts the view to `ordinals`, in any order.
    #[must_use]
    pub fn among(self, ordinals: impl IntoIterator<Item = u32>) -> Self {
        let mut admitted = vec![0_u64; self.world.len().div_ceil(64)];
        for ordinal in ordinals {
            if self.admits(ordinal)
                && let Some(word) = admitted.get_mut(ordinal as usize / 64)
            {
                *word |= 1 << (ordinal % 64);
            }
        }
        Self::of(self.world, admitted)
    }

    /// Restricts the view to what another of the same moment admits.
    #[must_use]
    pub fn within(self, other: &Self) -> Self {
        let both = self.bits().iter().zip(other.bits());
        let admitted = both.map(|(one, other)| one & other).collect();
        Self::of(self.world, admitted)
    }

    /// Takes `ordinals` out of the view, in any order.
    #[must_use]
    pub fn without(mut self, ordinals: impl IntoIterator<Item = u32>) -> Self {
        for ordinal in ordinals {
            if !self.admits(ordinal) {
                continue;
            }
            let bits = self
                .admitted
                .get_or_insert_with(|| self.world.live_words.as_slice().into());
            if let Some(word) = bits.get_mut(ordinal as usize / 64) {
                *word &= !(1 << (ordinal % 64));
                self.considered -= 1;
            }
        }
        self
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn bits(&self) -> &[u64] {
        match &self.admitted {
            None => &self.world.live_words,
            Some(bits) => bits,
        }
    }

    pub fn admits(&self, ordinal: u32) -> bool {
        match &self.admitted {
            None => self.world.is_live(ordinal),
            Some(bits) => bits
                .get(ordinal as usize / 64)
                .is_some_and(|word| word >> (ordinal % 64) & 1 == 1),
        }
    }

    /// Whether the document is live at the view's instant, admitted or not.
    pub fn is_live(&self, ordinal: u32) -> bool {
        self.world.is_live(ordinal)
    }

    /// Whether some living documents are the user's own words and some are not.
    pub fn is_mixed(&self) -> bool {
        self.world.is_mixed()
    }

    pub fn considered(&self) -> u32 {
        self.considered
    }

    /// Documents live at the view's instant.
    pub fn live(&self) -> u32 {
        self.world.live
    }

    /// Those of them that count in statistics: all but leads.
    pub fn counted(&self) -> u32 {
        self.world.counted
    }

    /// The live documents before and after this one in its session, admitted or not. None for a
    /// document without a session.
    pub fn neighbours(&self, ordinal: u32) -> (Option<u32>, Option<u32>) {
        let (previous, next) = self.world.neighbours(ordinal);
        (known(previous), known(next))
    }

    /// The ordinals that may answer, ascending.
    pub fn ordinals(&self) -> impl Iterator<Item = u32> {
        set_bits(self.bits())
    }
}
