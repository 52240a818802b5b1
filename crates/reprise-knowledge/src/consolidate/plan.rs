//! The plan of a consolidation, made from one snapshot without changing anything, and a health
//! score of the memory for each day, which is computed from the same data and not stored.

use super::compare::{PairMap, RelatedPair, have_similar_meaning};
use super::distil::{DistilSource, Distillate};
use super::entry::{ComparisonEntry, Decidable};
use crate::prelude::*;

/// Most doubtful pairs that are listed; the others are counted.
const REVIEW_MAX: usize = 1_000;

/// What a consolidation will do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    pub merged: Vec<Merge>,
    /// Pairs that a person has to decide.
    pub review: Vec<RelatedPair>,
    /// Number of doubtful pairs that are not listed.
    pub review_more: usize,
    /// Pairs that cannot both hold.
    pub contradictions: Vec<RelatedPair>,
    /// Number of contradictions that are not listed.
    pub contradictions_more: usize,
    pub purged: Vec<RecordId>,
    /// Expired records that stay, because they are important.
    pub promoted: Vec<RecordId>,
    /// Summaries of what recurs.
    pub distilled: Vec<Distillate>,
    /// Whether the time ran out before all records were compared.
    pub cut: bool,
}

/// Relations that were found between live records and that nobody has decided against.
#[derive(Debug, Default)]
pub(super) struct PairFindings {
    pub(super) same: Vec<[RecordId; 2]>,
    pub(super) review: PairMap,
    pub(super) review_more: usize,
    pub(super) contradictions: PairMap,
    pub(super) contradictions_more: usize,
}

impl Plan {
    /// Adds what follows from the findings. The expired records must be in the plan already.
    pub(super) fn add_findings(&mut self, memory: &Snapshot, mut found: PairFindings) {
        let over: BTreeSet<RecordId> = self.purged.iter().copied().collect();
        let stays = |pair: &[RecordId; 2]| !pair.iter().any(|id| over.contains(id));
        found.same.retain(stays);
        let ids: BTreeSet<RecordId> = found.same.iter().flatten().copied().collect();
        let entries = ids
            .iter()
            .filter_map(|id| ComparisonEntry::without_facts(memory.get(*id)?.ok()?));
        let entries: Vec<ComparisonEntry> = entries.collect();
        let mut groups = UnionFind::new(entries.len());
        let place = |id: &RecordId| entries.binary_search_by_key(id, |entry| entry.id).ok();
        for [one, other] in &found.same {
            let Some((a, b)) = place(one).zip(place(other)) else {
                continue;
            };
            if have_similar_meaning(memory, *one, *other) {
                groups.union(a, b);
            } else {
                let why = "their words agree and their meaning may not";
                let pair = RelatedPair::of(&entries[a], &entries[b], why);
                found.review.insert(pair.pair, pair);
            }
        }
        self.merged = groups.collect_merges(&entries);
        self.distilled = distil_repetitions(memory, &self.merged, &entries);
        found.redirect_merged(memory, &self.merged);
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

impl PairFindings {
    /// Moves the findings about a record that will be merged to the record that is kept.
    fn redirect_merged(&mut self, memory: &Snapshot, merged: &[Merge]) {
        let merged_into = merged
            .iter()
            .flat_map(|merge| merge.gone.iter().map(|gone| (*gone, merge.kept)));
        let merged_into: BTreeMap<RecordId, RecordId> = merged_into.collect();
        let is_gone = |pair: &[RecordId; 2]| pair.iter().any(|id| merged_into.contains_key(id));
        for pairs in [&mut self.contradictions, &mut self.review] {
            let gone = pairs.extract_if(.., |pair, _| is_gone(pair));
            for (pair, found) in gone.collect::<Vec<_>>() {
                let [one, other] = pair.map(|id| merged_into.get(&id).copied().unwrap_or(id));
                let is_older =
                    (memory.timestamp_of(one), one) <= (memory.timestamp_of(other), other);
                let pair = if is_older { [one, other] } else { [other, one] };
                if one != other && !memory.are_distinct(one, other) {
                    let newest = pair[1];
                    let found = RelatedPair {
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

/// Builds a summary for each merge whose records, with those merged into them before, come from
/// several sessions.
fn distil_repetitions(
    memory: &Snapshot,
    merged: &[Merge],
    entries: &[ComparisonEntry],
) -> Vec<Distillate> {
    let places = entries.iter().map(|entry| (entry.id, entry));
    let places: BTreeMap<RecordId, &ComparisonEntry> = places.collect();
    let mut merged_before: BTreeMap<RecordId, Vec<RecordId>> = BTreeMap::new();
    for one in memory.retirements() {
        if let Some(kept) = one.merged_into {
            merged_before.entry(kept).or_default().push(one.retired);
        }
    }
    let distilled = merged.iter().filter_map(|merge| {
        let kept = places.get(&merge.kept)?;
        // What is asked for again and again is no lesson.
        if kept.decidable == Decidable::Nothing {
            return None;
        }
        let mut repetitions: Vec<DistilSource> = Vec::new();
        for id in merge.gone.iter().chain([&merge.kept]) {
            let entry = places.get(id)?;
            if entry.kind != MemoryKind::Episode {
                return None;
            }
            repetitions.push(DistilSource {
                id: entry.id,
                session: entry.session.clone(),
                at: entry.at,
            });
            for before in merged_before.get(id).into_iter().flatten() {
                let record = memory.get_stored(*before)?.ok()?;
                repetitions.push(DistilSource {
                    id: record.id,
                    session: record.body.session_id,
                    at: record.timestamp,
                });
            }
        }
        Distillate::from_repetitions(&kept.text, &kept.tags, &repetitions)
    });
    distilled.collect()
}

/// Duplicates, of which one is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merge {
    /// The record that is kept.
    pub kept: RecordId,
    pub gone: Vec<RecordId>,
}

/// Disjoint sets of positions, each a set of duplicates.
#[derive(Debug)]
pub(super) struct UnionFind(Vec<usize>);

impl UnionFind {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    pub(super) fn find_root(&self, mut place: usize) -> usize {
        while self.0[place] != place {
            place = self.0[place];
        }
        place
    }

    pub(super) fn union(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find_root(one), self.find_root(other));
        self.0[one.max(other)] = one.min(other);
    }

    pub(super) fn collect_merges(&self, entries: &[ComparisonEntry]) -> Vec<Merge> {
        let mut sets: BTreeMap<usize, Vec<&ComparisonEntry>> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            sets.entry(self.find_root(place)).or_default().push(entry);
        }
        let merges = sets
            .into_values()
            .filter(|set| set.len() > 1)
            .filter_map(|mut set| {
                // A pinned record is kept, else the one with the most tags and fields, else the
                // newest.
                set.sort_by_key(|entry| {
                    let tags = entry.tags.len();
                    (entry.pinned, tags, entry.weight, entry.at, entry.id)
                });
                let kept = set.pop()?;
                // No tag may be lost: only records whose tags the kept one has are merged into it.
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

/// Most days that are returned.
const DAYS_MAX: usize = 60;

/// Health of a memory at the end of a day on which something changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DayScore {
    pub day: NaiveDate,
    /// Live records at its end.
    pub records: usize,
    /// Those of them that are duplicates, contradict another record, or have expired.
    pub trouble: usize,
    /// Share of records without trouble, 0..1.
    pub score: f64,
}

/// Computes the health of each day on which something changed, the oldest first. `more` is added to
/// the trouble of the last day, which is the present.
pub fn compute_day_scores(memory: &Snapshot, plan: &Plan, more: usize) -> Vec<DayScore> {
    // Instant, change of the number of records, change of the trouble.
    let added = memory
        .known_at_micros()
        .filter_map(DateTime::from_timestamp_micros);
    let mut changes: Vec<(DateTime<Utc>, i64, i64)> = added.map(|at| (at, 1, 0)).collect();
    for one in memory.retirements() {
        let came = memory.get_stored(one.retired).and_then(Result::ok);
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
    let shown_days = days.into_iter().skip(skipped);
    let scores = shown_days.map(|(day, (records, trouble))| {
        let (records, trouble) = (records.max(0), trouble.clamp(0, records.max(0)));
        let share = 1.0 - trouble as f64 / records.max(1) as f64;
        DayScore {
            day,
            records: records as usize,
            trouble: trouble as usize,
            score: (share * 1e3).round() / 1e3,
        }
    });
    scores.collect()
}
