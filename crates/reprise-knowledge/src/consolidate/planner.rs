//! Plans incrementally: remembers what was compared, so that only new records are compared with
//! the rest.
//!
//! The state is derived and kept by the caller; without it the next plan compares all records.

use reprise_engine::SimilarityScratch;

use super::compare::{
    PairMap, PairRelation, RelatedPair, compare_entries, find_pair_relations, find_similar_entries,
    have_similar_meaning,
};
use super::entry::{ComparisonEntry, find_alike_pairs, is_young, outlives_expiry};
use super::plan::{PairFindings, Plan, UnionFind};
use super::runs::{self, RUNS_MAX, SuccessfulRun};
use crate::prelude::*;

/// With more new records than this, and than one in [`BULK_SHARE`] of all, all records are read at
/// once instead of a search in the index for each.
const BULK_MIN: usize = 512;
const BULK_SHARE: usize = 16;
/// Records or pairs that are processed between two checks of the time limit.
const CHECK_INTERVAL: usize = 256;
/// Most doubtful pairs that are remembered, and most contradictions; the others are counted.
const PAIRS_MAX: usize = 20_000;

/// Plans the consolidation of a memory from scratch.
pub fn plan_consolidation(memory: &Snapshot, now: DateTime<Utc>) -> Plan {
    Planner::default().plan(memory, now, &|| true)
}

/// Plans consolidations of one memory, and remembers what it compared.
#[derive(Debug, Default)]
pub struct Planner {
    /// Positions below this one were read.
    read: u32,
    /// Positions below this one were compared by an earlier planner, whose findings are not known.
    since: u32,
    /// Last record that was read; if another is at its position, it is another file.
    last: Option<RecordId>,
    /// Whether new records are always compared one by one, so that a time limit loses no work.
    stepwise: bool,
    /// Instant up to which changes were collected, and the records that changed at that instant.
    changed: Option<(i64, BTreeSet<RecordId>)>,
    /// Records that must be compared again.
    again: BTreeSet<RecordId>,
    /// Expiry of each record that has one.
    ends: BTreeSet<(DateTime<Utc>, RecordId)>,
    /// The latest successful runs.
    well_done: VecDeque<SuccessfulRun>,
    same: BTreeSet<[RecordId; 2]>,
    doubts: PairStore,
    contrary: PairStore,
}

/// Pairs of one relation, up to a limit.
#[derive(Debug, Default)]
struct PairStore {
    pairs: PairMap,
    /// For each compared record, the number of pairs for which there was no room.
    more: BTreeMap<RecordId, usize>,
}

impl PairStore {
    fn insert(&mut self, compared: RecordId, pair: RelatedPair) {
        if self.pairs.len() < PAIRS_MAX || self.pairs.contains_key(&pair.pair) {
            self.pairs.insert(pair.pair, pair);
        } else {
            *self.more.entry(compared).or_default() += 1;
        }
    }

    /// Removes the pairs of these records, and adds the records of those pairs to `others`.
    fn remove_pairs_of(&mut self, ids: &BTreeSet<RecordId>, others: &mut BTreeSet<RecordId>) {
        for id in ids {
            self.more.remove(id);
        }
        let with = self.pairs.extract_if(.., |pair, _| has_any(pair, ids));
        others.extend(with.flat_map(|(pair, _)| pair));
    }

    /// Removes the pairs with a record that is no longer live, and adds the pairs of the records
    /// that these were merged into to `moved`.
    fn remove_outdated(&mut self, memory: &Snapshot, moved: &mut BTreeSet<[RecordId; 2]>) {
        self.more.retain(|id, _| memory.is_live(*id));
        let is_there = |pair: &[RecordId; 2]| pair.iter().all(|id| memory.is_live(*id));
        let outdated = self.pairs.extract_if(.., |pair, _| !is_there(pair));
        let ends = outdated.filter_map(|([one, other], _)| {
            let (one, other) = (memory.merged_into(one)?, memory.merged_into(other)?);
            (one != other).then(|| [one.min(other), one.max(other)])
        });
        moved.extend(ends);
        let is_apart = |[one, other]: &[RecordId; 2]| memory.are_distinct(*one, *other);
        self.pairs.retain(|pair, _| !is_apart(pair));
    }

    fn has_pair(&self, [one, other]: &[RecordId; 2]) -> bool {
        self.pairs.contains_key(&[*one, *other]) || self.pairs.contains_key(&[*other, *one])
    }

    /// Returns the records whose uncounted pairs fit by now.
    fn records_with_room(&self) -> Vec<RecordId> {
        let mut room = PAIRS_MAX - self.pairs.len().min(PAIRS_MAX);
        if room < PAIRS_MAX / 2 {
            return Vec::new();
        }
        let fits = self.more.iter().take_while(|(_, more)| {
            let fits = **more <= room;
            room = room.saturating_sub(**more);
            fits
        });
        fits.map(|(id, _)| *id).collect()
    }
}

fn has_any(pair: &[RecordId; 2], ids: &BTreeSet<RecordId>) -> bool {
    pair.iter().any(|id| ids.contains(id))
}

impl Planner {
    /// Returns a planner that resumes where another stopped, at [`Self::compared_through`], and
    /// loses no work to a time limit.
    pub fn resume_from(place: u64) -> Self {
        Self {
            since: u32::try_from(place).unwrap_or(u32::MAX),
            stepwise: true,
            ..Self::default()
        }
    }

    /// Returns the position in the log up to which all records are compared with those before them.
    pub fn compared_through(&self) -> u64 {
        self.read.max(self.since).into()
    }

    /// Plans for as long as `go_on` allows; the next call continues with the rest.
    pub fn plan(
        &mut self,
        memory: &Snapshot,
        now: DateTime<Utc>,
        go_on: &dyn Fn() -> bool,
    ) -> Plan {
        let is_same_file = self.last.is_none_or(|last| {
            let at = self.read.checked_sub(1).and_then(|at| memory.id_at(at));
            at == Some(last)
        });
        if !is_same_file || self.since > memory.ordinal_count() {
            *self = Self {
                stepwise: self.stepwise,
                ..Self::default()
            };
        }
        let first = self.read.max(self.since);
        self.collect_changes(memory, first);
        let all = memory.ordinal_count() as usize;
        let new = memory.ordinal_count().abs_diff(first) as usize + self.again.len();
        let done = if !self.stepwise && new > BULK_MIN.max(all / BULK_SHARE) {
            self.compare_all(memory, first, go_on)
        } else {
            self.compare_changed(memory, go_on)
                .and_then(|()| self.compare_new_records(memory, go_on))
        };
        let mut plan = Plan {
            cut: done.is_none(),
            ..Plan::default()
        };
        self.plan_expired(memory, now, &mut plan);
        let found = self.collect_findings(memory);
        plan.add_findings(memory, found);
        self.well_done.retain(|run| memory.is_live(run.id));
        let runs = self.well_done.iter().cloned().collect();
        plan.distilled
            .extend(runs::distil_successful_runs(memory, runs));
        plan
    }

    /// Collects the compared records that have changed since: they are live again, or have other
    /// tags. A planner that resumes collects the changes since the last compared record was kept.
    fn collect_changes(&mut self, memory: &Snapshot, first: u32) {
        let before = first
            .checked_sub(1)
            .and_then(|at| memory.known_at_micros_of(at));
        let known = self.changed.take();
        let (since, mut known) = known.unwrap_or((before.unwrap_or(i64::MIN), BTreeSet::new()));
        let mut newest = since;
        for (at, place) in memory.changes_since(since) {
            let Some(id) = memory.id_at(place) else {
                continue;
            };
            if at > newest {
                newest = at;
                known.clear();
            }
            let is_new = at < newest || known.insert(id);
            if is_new && place < first {
                self.again.insert(id);
            }
        }
        self.changed = Some((newest, known));
        self.again.extend(self.doubts.records_with_room());
        self.again.extend(self.contrary.records_with_room());
        self.again.retain(|id| memory.is_live(*id));
    }

    /// Compares the changed records again, with their former pairs and with similar records.
    fn compare_changed(&mut self, memory: &Snapshot, go_on: &dyn Fn() -> bool) -> Option<()> {
        let mut scratch = SimilarityScratch::default();
        while let Some(id) = self.again.first().copied() {
            if !go_on() {
                return None;
            }
            let others = self.remove_pairs_of(&BTreeSet::from([id]));
            if let Some(Ok(record)) = memory.get(id) {
                self.note_record(&record);
                let pairs = others.iter().map(|other| [id, *other]);
                for (pair, found) in find_pair_relations(memory, pairs.collect()) {
                    self.insert_relation(id, pair, Some(found));
                }
                self.compare_with_similar(memory, record, &others, &mut scratch);
            }
            self.again.pop_first();
        }
        Some(())
    }

    /// Reads the new records and compares each with similar ones.
    fn compare_new_records(&mut self, memory: &Snapshot, go_on: &dyn Fn() -> bool) -> Option<()> {
        let mut scratch = SimilarityScratch::default();
        for place in self.read..memory.ordinal_count() {
            if (place >= self.since || place.is_multiple_of(CHECK_INTERVAL as u32)) && !go_on() {
                return None;
            }
            if let Some(Ok(record)) = memory.live_record_at(place) {
                self.note_record(&record);
                if place >= self.since {
                    self.compare_with_similar(memory, record, &BTreeSet::new(), &mut scratch);
                }
            }
            self.read = place + 1;
            self.last = memory.id_at(place);
        }
        Some(())
    }

    /// Compares a record with similar ones, except those in `compared`.
    fn compare_with_similar(
        &mut self,
        memory: &Snapshot,
        record: MemoryRecord,
        compared: &BTreeSet<RecordId>,
        scratch: &mut SimilarityScratch,
    ) {
        let Some(entry) = ComparisonEntry::of(record) else {
            return;
        };
        let alike = find_similar_entries(memory, &entry, scratch).into_iter();
        for other in alike.filter(|other| !compared.contains(&other.id)) {
            let found = compare_entries(memory, &entry, &other);
            self.insert_relation(entry.id, [entry.id, other.id], found);
        }
    }

    /// Reads all records, and compares the similar pairs with a record at position `first` or
    /// later, or one that must be compared again.
    fn compare_all(
        &mut self,
        memory: &Snapshot,
        first: u32,
        go_on: &dyn Fn() -> bool,
    ) -> Option<()> {
        let mut entries: Vec<(u32, ComparisonEntry)> = Vec::new();
        let places = memory.ordinal_count();
        for place in 0..places {
            if (place as usize).is_multiple_of(CHECK_INTERVAL) && !go_on() {
                return None;
            }
            if let Some(Ok(record)) = memory.live_record_at(place) {
                self.note_record(&record);
                entries.extend(ComparisonEntry::of(record).map(|entry| (place, entry)));
            }
        }
        let mut groups = UnionFind::new(entries.len());
        self.join_copies(memory, &entries, &mut groups);
        let roots = (0..entries.len()).filter(|place| groups.find_root(*place) == *place);
        let roots: Vec<usize> = roots.collect();
        let compared = roots.iter().map(|root| &entries[*root].1);
        let pairs = find_alike_pairs(&compared.collect::<Vec<_>>(), go_on)?;
        let again = self.again.clone();
        self.remove_pairs_of(&again);
        for (number, (one, other)) in pairs.into_iter().enumerate() {
            if number.is_multiple_of(CHECK_INTERVAL) && !go_on() {
                return None;
            }
            let (a, b) = (roots[one as usize], roots[other as usize]);
            let ((place, one), (other_place, other)) = (&entries[a], &entries[b]);
            let is_new = *place.max(other_place) >= first
                || [one, other].iter().any(|entry| again.contains(&entry.id));
            if is_new
                && groups.find_root(a) != groups.find_root(b)
                && let Some(related) = compare_entries(memory, one, other)
            {
                if related == PairRelation::Same && have_similar_meaning(memory, one.id, other.id) {
                    groups.union(a, b);
                }
                self.insert_relation(other.id, [one.id, other.id], Some(related));
            }
        }
        self.again.clear();
        self.read = places;
        self.last = places.checked_sub(1).and_then(|at| memory.id_at(at));
        Some(())
    }

    /// Joins texts that are equal byte by byte, whatever their length.
    fn join_copies(
        &mut self,
        memory: &Snapshot,
        entries: &[(u32, ComparisonEntry)],
        groups: &mut UnionFind,
    ) {
        let mut by_hash: BTreeMap<(u128, &str, &str), Vec<usize>> = BTreeMap::new();
        for (place, (_, entry)) in entries.iter().enumerate() {
            let key = (
                entry.hash,
                entry.scope.as_str(),
                entry.knowledge_type.as_str(),
            );
            by_hash.entry(key).or_default().push(place);
        }
        for places in by_hash.values() {
            let (first, one) = (places[0], &entries[places[0]].1);
            for place in &places[1..] {
                let other = &entries[*place].1;
                let copy = one.is_copy_of(other) && one.is_tagged_like(other);
                let is_said_again = one.is_prompt() && other.is_prompt();
                if copy && !is_said_again && !memory.are_distinct(one.id, other.id) {
                    groups.union(first, *place);
                    self.insert_relation(other.id, [one.id, other.id], Some(PairRelation::Same));
                }
            }
        }
    }

    /// Notes the expiry of a record, and whether it is a successful run.
    fn note_record(&mut self, record: &MemoryRecord) {
        let end = record.expiry();
        self.ends.extend(end.map(|end| (end, record.id)));
        let known = self.well_done.iter().any(|run| run.id == record.id);
        if let Some(run) = SuccessfulRun::of(record).filter(|_| !known) {
            if self.well_done.len() >= RUNS_MAX {
                self.well_done.pop_front();
            }
            self.well_done.push_back(run);
        }
    }

    fn insert_relation(
        &mut self,
        compared: RecordId,
        [one, other]: [RecordId; 2],
        found: Option<PairRelation>,
    ) {
        match found {
            None => {}
            Some(PairRelation::Same) => {
                self.same.insert([one.min(other), one.max(other)]);
            }
            Some(PairRelation::Contradiction(pair)) => self.contrary.insert(compared, pair),
            Some(PairRelation::Doubt(pair)) => self.doubts.insert(compared, pair),
        }
    }

    /// Removes the findings about these records, and returns the other records of those pairs.
    fn remove_pairs_of(&mut self, ids: &BTreeSet<RecordId>) -> BTreeSet<RecordId> {
        let same = self.same.extract_if(.., |pair| has_any(pair, ids));
        let mut others: BTreeSet<RecordId> = same.flatten().collect();
        self.doubts.remove_pairs_of(ids, &mut others);
        self.contrary.remove_pairs_of(ids, &mut others);
        others.retain(|id| !ids.contains(id));
        others
    }

    /// Adds the expired records to the plan: to be retired, or kept because they are important.
    fn plan_expired(&mut self, memory: &Snapshot, now: DateTime<Utc>, plan: &mut Plan) {
        self.ends.retain(|(_, id)| memory.is_live(*id));
        let over = self.ends.iter().take_while(|(end, _)| *end <= now);
        let over = over.filter(|(_, id)| !memory.are_distinct(*id, *id));
        let over: Vec<MemoryRecord> = over.filter_map(|(_, id)| memory.get(*id)?.ok()).collect();
        let mut active: BTreeSet<NaiveDate> = BTreeSet::new();
        if !over.is_empty() {
            let times = memory
                .known_at_micros()
                .map(DateTime::from_timestamp_micros);
            active.extend(times.flatten().map(|at| at.date_naive()));
        }
        for record in over.iter().filter(|record| !is_young(record, &active)) {
            if outlives_expiry(memory, record) {
                plan.promoted.push(record.id);
            } else {
                plan.purged.push(record.id);
            }
        }
        plan.promoted.sort_unstable();
        plan.purged.sort_unstable();
    }

    /// Returns the findings that still hold. If a record was merged into another one, that one is
    /// compared instead.
    fn collect_findings(&mut self, memory: &Snapshot) -> PairFindings {
        let mut moved = BTreeSet::new();
        self.doubts.remove_outdated(memory, &mut moved);
        self.contrary.remove_outdated(memory, &mut moved);
        moved.retain(|pair| !self.doubts.has_pair(pair) && !self.contrary.has_pair(pair));
        for (pair, found) in find_pair_relations(memory, moved) {
            self.insert_relation(pair[1], pair, Some(found));
        }
        self.same.retain(|[one, other]| {
            memory.is_live(*one) && memory.is_live(*other) && !memory.are_distinct(*one, *other)
        });
        PairFindings {
            same: self.same.iter().copied().collect(),
            review: self.doubts.pairs.clone(),
            review_more: self.doubts.more.values().sum(),
            contradictions: self.contrary.pairs.clone(),
            contradictions_more: self.contrary.more.values().sum(),
        }
    }
}
