//! What the records of a set are to each other.

use std::collections::{BTreeMap, BTreeSet};

/// What two records are to each other, by how they were made.
#[derive(Debug, Default)]
pub(super) struct Labels {
    pub(super) same: BTreeSet<(usize, usize)>,
    pub(super) contrary: BTreeSet<(usize, usize)>,
    /// What a pair turns on, where that is told.
    pub(super) kinds: BTreeMap<(usize, usize), String>,
}
