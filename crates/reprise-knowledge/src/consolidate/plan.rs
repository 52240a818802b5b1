//! What is to be done to a memory, from one snapshot of it; nothing is changed here. And how well a
//! memory stands by that, now and on the days behind it: nothing is kept for it.

use super::compare::{Pair, Pairs, agree};
use super::distil::{Distillate, Source};
use super::entry::Entry;
use crate::prelude::*;

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
    /// Such pairs that are not listed.
    pub contradictions_more: usize,
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
    pub(super) same: Vec<[RecordId; 2]>,
    pub(super) review: Pairs,
    pub(super) review_more: usize,
    pub(super) contradictions: Pairs,
    pub(super) contradictions_more: usize,
}

impl Plan {
    /// What follows from what was found, beside what had its time.
    pub(super) fn follow(&mut self, memory: &Snapshot, mut found: Found) {
        let over: BTreeSet<RecordId> = self.purged.iter().copied().collect();
        let stays = |pair: &[RecordId; 2]| !pair.iter().any(|id| over.contains(id));
        found.same.retain(stays);
        let ids: BTreeSet<RecordId> = found.same.iter().flatten().copied().collect();
        let entries = ids
            .iter()
            .filter_map(|id| Entry::unread(memory.get(*id)?.ok()?));
        let entries: Vec<Entry> = entries.collect();
        let mut groups = Groups::new(entries.len());
        let place = |id: &RecordId| entries.binary_search_by_key(id, |entry| entry.id).ok();
        for [one, other] in &found.same {
            let Some((a, b)) = place(one).zip(place(other)) else {
                continue;
            };
            if agree(memory, *one, *other) {
                groups.join(a, b);
            } else {
                let why = "their words agree and their meaning may not";
                let pair = Pair::of(&entries[a], &entries[b], why);
                found.review.insert(pair.pair, pair);
            }
        }
        self.merged = groups.merges(&entries);
        self.distilled = recurring(memory, &self.merged, &entries);
        found.hand_on(memory, &self.merged);
        self.contradictions = found.contradictions.into_values().collect();
        self.contradictions.retain(|pair| stays(&pair.pair));
        self.contradictions_more = found.contradictions_more;
        self.review = found.review.into_values().collect();
        self.review.retain(|pair| stays(&pair.pair));
        let more = self.review.len().saturating_sub(REVIEW_MAX);
        self.review_more = found.review_more + more;
        self.review.truncate(REVIEW_MAX);
    }
}

impl Found {
    /// What was found of a record that is to be put behind another one is said of that one.
    fn hand_on(&mut self, memory: &Snapshot, merged: &[Merge]) {
        let behind = merged
            .iter()
            .flat_map(|merge| merge.gone.iter().map(|gone| (*gone, merge.kept)));
        let behind: BTreeMap<RecordId, RecordId> = behind.collect();
        let is_gone = |pair: &[RecordId; 2]| pair.iter().any(|id| behind.contains_key(id));
        for pairs in [&mut self.contradictions, &mut self.review] {
            let gone = pairs.extract_if(.., |pair, _| is_gone(pair));
            for (pair, found) in gone.collect::<Vec<_>>() {
                let [one, other] = pair.map(|id| behind.get(&id).copied().unwrap_or(id));
                let is_older = (memory.told_at(one), one) <= (memory.told_at(other), other);
                let pair = if is_older { [one, other] } else { [other, one] };
                if one != other && !memory.are_apart(one, other) {
                    let newest = pair[1];
                    let found = Pair {
                        pair,
                        newest,
                        ..found
                    };
                    pairs.entry(pair).or_insert(found);
                }
            }
        }
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

/// Records of which one is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merge {
    /// Answers for all.
    pub kept: RecordId,
    pub gone: Vec<RecordId>,
}

/// Sets of places that say the same.
#[derive(Debug)]
pub(super) struct Groups(Vec<usize>);

impl Groups {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    pub(super) fn root(&self, mut place: usize) -> usize {
        while self.0[place] != place {
            place = self.0[place];
        }
        place
    }

    pub(super) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
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

/// Days of the past that are told.
const DAYS_MAX: usize = 60;

/// A day on which something was kept or put away.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Score {
    pub day: NaiveDate,
    /// Records that answered at its end.
    pub records: usize,
    /// Of these, those that say what another says, contradict one, or had their time.
    pub trouble: usize,
    /// The share of those that do none of it, 0..1.
    pub score: f64,
}

/// The days on which something changed, oldest first; the last is the present, with `more` trouble
/// that no plan knows.
pub fn scores(memory: &Snapshot, plan: &Plan, more: usize) -> Vec<Score> {
    // By instant: records that came, and trouble that came with them.
    let kept = memory
        .kept_micros()
        .filter_map(DateTime::from_timestamp_micros);
    let mut changes: Vec<(DateTime<Utc>, i64, i64)> = kept.map(|at| (at, 1, 0)).collect();
    for one in memory.retired() {
        let came = memory.version(one.gone).and_then(Result::ok);
        let went = DateTime::from_timestamp_micros(one.at_micros);
        if let (Some(record), Some(went)) = (came, went) {
            changes.extend([(record.known_at, 1, 1), (went, -1, -1)]);
        }
    }
    let kept_at = |id: &RecordId| Some(memory.get(*id)?.ok()?.known_at);
    let since = |ids: &[RecordId]| ids.iter().filter_map(kept_at).max();
    let duplicates = plan.merged.iter().flat_map(|merge| &merge.gone);
    let alone = duplicates.chain(&plan.purged).map(std::slice::from_ref);
    let pairs = plan.contradictions.iter().map(|pair| &pair.pair[..]);
    let troubles = alone.chain(pairs).filter_map(since);
    changes.extend(troubles.map(|at| (at, 0, 1)));
    changes.sort_unstable();
    let (mut records, mut trouble) = (0_i64, 0_i64);
    let mut days: BTreeMap<NaiveDate, (i64, i64)> = BTreeMap::new();
    for (at, came, troubled) in changes {
        (records, trouble) = (records + came, trouble + troubled);
        days.insert(at.date_naive(), (records, trouble));
    }
    if let Some(mut last) = days.last_entry() {
        last.get_mut().1 += i64::try_from(more).unwrap_or(i64::MAX);
    }
    let skipped = days.len().saturating_sub(DAYS_MAX);
    let told = days.into_iter().skip(skipped);
    let scores = told.map(|(day, (records, trouble))| {
        let (records, trouble) = (records.max(0), trouble.clamp(0, records.max(0)));
        let share = 1.0 - trouble as f64 / records.max(1) as f64;
        Score {
            day,
            records: records as usize,
            trouble: trouble as usize,
            score: (share * 1e3).round() / 1e3,
        }
    });
    scores.collect()
}
