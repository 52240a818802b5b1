//! What is to be done to a memory, from one snapshot of it; nothing is changed here.

use std::collections::{BTreeMap, BTreeSet};

use reprise_engine::Snapshot;
use reprise_types::{MemoryKind, RecordId};
use serde::Serialize;

use super::compare::Pair;
use super::distil::{Distillate, Source};
use super::entry::Entry;
use super::groups::{Groups, Merge};

/// Pairs in doubt that are listed; more are counted.
const REVIEW_MAX: usize = 1_000;

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    pub merged: Vec<Merge>,
    /// Pairs that a person has to look at.
    pub review: Vec<Pair>,
    /// Pairs in doubt that are not listed.
    pub review_more: usize,
    /// Pairs that cannot both hold.
    pub contradictions: Vec<Pair>,
    pub purged: Vec<RecordId>,
    /// What had its time, and stays because something speaks for it (C2).
    pub promoted: Vec<RecordId>,
    /// What recurs, to be told once.
    pub distilled: Vec<Distillate>,
    /// Whether there was no time left to compare all.
    pub cut: bool,
}

/// What was found between pairs of live records, as far as nobody decided otherwise.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) same: Vec<(RecordId, RecordId)>,
    pub(super) review: Vec<Pair>,
    pub(super) review_more: usize,
    pub(super) contradictions: Vec<Pair>,
}

impl Plan {
    /// What follows from what was found, beside what had its time.
    pub(super) fn follow(&mut self, memory: &Snapshot, found: Found) {
        let over: BTreeSet<RecordId> = self.purged.iter().copied().collect();
        let stays = |one: &RecordId, other: &RecordId| !over.contains(one) && !over.contains(other);
        let same = found.same.iter().filter(|(one, other)| stays(one, other));
        let same: Vec<(RecordId, RecordId)> = same.copied().collect();
        let ids: BTreeSet<RecordId> = same.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let entries = ids
            .iter()
            .filter_map(|id| Entry::unread(memory.get(*id)?.ok()?));
        let entries: Vec<Entry> = entries.collect();
        let mut groups = Groups::new(entries.len());
        let place = |id: &RecordId| entries.binary_search_by_key(id, |entry| entry.id).ok();
        for (one, other) in &same {
            if let Some((one, other)) = place(one).zip(place(other)) {
                groups.join(one, other);
            }
        }
        self.merged = groups.merges(&entries);
        self.distilled = recurring(memory, &self.merged, &entries);
        let gone: BTreeSet<RecordId> = self
            .merged
            .iter()
            .flat_map(|merge| merge.gone.clone())
            .collect();
        let holds = |pair: &Pair| {
            let [one, other] = &pair.pair;
            stays(one, other) && !gone.contains(one) && !gone.contains(other)
        };
        self.contradictions = found.contradictions;
        self.contradictions.retain(holds);
        self.review = found.review;
        self.review.retain(holds);
        let more = self.review.len().saturating_sub(REVIEW_MAX);
        self.review_more = found.review_more + more;
        self.review.truncate(REVIEW_MAX);
    }
}

/// What the records of a merge say, with those that were put behind them before, where they said it
/// in several sessions.
fn recurring(memory: &Snapshot, merged: &[Merge], entries: &[Entry]) -> Vec<Distillate> {
    let places = entries.iter().map(|entry| (entry.id, entry));
    let places: BTreeMap<RecordId, &Entry> = places.collect();
    let mut behind: BTreeMap<RecordId, Vec<RecordId>> = BTreeMap::new();
    for one in memory.retired() {
        if let Some(kept) = one.kept {
            behind.entry(kept).or_default().push(one.gone);
        }
    }
    let distilled = merged.iter().filter_map(|merge| {
        let kept = places.get(&merge.kept)?;
        let mut said: Vec<Source> = Vec::new();
        for id in merge.gone.iter().chain([&merge.kept]) {
            let entry = places.get(id)?;
            if entry.kind != MemoryKind::Episode {
                return None;
            }
            said.push(Source {
                id: entry.id,
                session: entry.session.clone(),
                at: entry.at,
            });
            for before in behind.get(id).into_iter().flatten() {
                let record = memory.version(*before)?.ok()?;
                said.push(Source {
                    id: record.id,
                    session: record.body.session_id,
                    at: record.timestamp,
                });
            }
        }
        Distillate::of_same(&kept.text, &kept.tags, &said)
    });
    distilled.collect()
}
