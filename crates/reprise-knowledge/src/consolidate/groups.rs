//! Sets of records of which one is enough, and which of them it is.

use std::collections::BTreeMap;

use reprise_types::RecordId;
use serde::Serialize;

use super::entry::Entry;

/// Records of which one is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merge {
    /// Answers for all.
    pub kept: RecordId,
    pub gone: Vec<RecordId>,
}

/// Sets of places that say the same.
#[derive(Debug)]
pub(super) struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    pub(super) fn new(count: usize) -> Self {
        Self {
            parents: (0..count).collect(),
        }
    }

    pub(super) fn root(&self, mut place: usize) -> usize {
        while let Some(&parent) = self.parents.get(place)
            && parent != place
        {
            place = parent;
        }
        place
    }

    pub(super) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (low, high) = (one.min(other), one.max(other));
        if let Some(parent) = self.parents.get_mut(high) {
            *parent = low;
        }
    }

    pub(super) fn merges(&self, entries: &[Entry]) -> Vec<Merge> {
        let mut sets: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            sets.entry(self.root(place)).or_default().push(entry);
        }
        let merges = sets
            .into_values()
            .filter(|set| set.len() > 1)
            .filter_map(|mut set| {
                // What is pinned stays; else what has most beside its text, else the newest.
                set.sort_by_key(|entry| {
                    let tags = entry.tags.len();
                    (entry.pinned, tags, entry.weight, entry.at, entry.id)
                });
                let kept = set.pop()?;
                // Of tags that are not its own nothing may be lost.
                let gone = set
                    .iter()
                    .filter(|entry| !entry.pinned && entry.tags.is_subset(&kept.tags));
                let gone: Vec<RecordId> = gone.map(|entry| entry.id).collect();
                (!gone.is_empty()).then_some(Merge {
                    kept: kept.id,
                    gone,
                })
            });
        merges.collect()
    }
}
