//! What is known of a memory from one plan to the next: only what is new is compared with the rest.
//!
//! Derived, and kept by whoever plans again: without it the next plan looks through all records.

use reprise_engine::AlikeScratch;

use super::compare::{Pair, Pairs, Related, agree, compare, related};
use super::entry::{Entry, alike, is_young, speaks_for_itself};
use super::plan::{Found, Groups, Plan};
use super::runs::{self, RUNS_MAX, WellDone};
use crate::prelude::*;

/// Records with which a new one is compared: those whose words are most like its own.
const NEIGHBOURS: usize = 32;
/// From so many new records on, and this share of all, all are read at once instead of asking the
/// index for each.
const MANY: usize = 512;
const MANY_SHARE: usize = 16;
/// Records read, or pairs compared, between two looks at whether there is time left.
const AT_A_TIME: usize = 256;
/// Pairs in doubt that are kept in mind, and as many that contradict each other; more are counted.
const PAIRS_MAX: usize = 20_000;

/// What is to be done to a memory of which nothing is known yet.
pub fn plan(memory: &Snapshot, now: DateTime<Utc>) -> Plan {
    Planner::default().plan(memory, now, &|| true)
}

/// See the head comment.
#[derive(Debug, Default)]
pub struct Planner {
    /// Places below were read.
    read: u32,
    /// Places below were compared before this planner was made; what was found then is not known.
    since: u32,
    /// The record kept last of those that were read: another one there is another file.
    last: Option<RecordId>,
    /// Whether what is new is always looked up one by one, so that no look is lost to a budget.
    stepwise: bool,
    /// Until when changes were taken up, and what changed at that very instant.
    changed: Option<(i64, BTreeSet<RecordId>)>,
    /// Records that were compared, and are to be compared again.
    again: BTreeSet<RecordId>,
    /// When records have had their time.
    ends: BTreeSet<(DateTime<Utc>, RecordId)>,
    /// The latest runs that went well.
    well_done: VecDeque<WellDone>,
    same: BTreeSet<[RecordId; 2]>,
    doubts: Kept,
    contrary: Kept,
}

/// Pairs of one kind, as many as are kept in mind.
#[derive(Debug, Default)]
struct Kept {
    pairs: Pairs,
    /// By a record that was compared: the pairs for which there was no room.
    more: BTreeMap<RecordId, usize>,
}

impl Kept {
    fn keep(&mut self, compared: RecordId, pair: Pair) {
        if self.pairs.len() < PAIRS_MAX || self.pairs.contains_key(&pair.pair) {
            self.pairs.insert(pair.pair, pair);
        } else {
            *self.more.entry(compared).or_default() += 1;
        }
    }

    /// Takes out the pairs of these records; adds who stood in them.
    fn part_from(&mut self, ids: &BTreeSet<RecordId>, others: &mut BTreeSet<RecordId>) {
        for id in ids {
            self.more.remove(id);
        }
        let with = self.pairs.extract_if(.., |pair, _| is_of(pair, ids));
        others.extend(with.flat_map(|(pair, _)| pair));
    }

    /// Takes out the pairs of which one answers no more; adds who answers for the two.
    fn outdated(&mut self, memory: &Snapshot, moved: &mut BTreeSet<[RecordId; 2]>) {
        self.more.retain(|id, _| memory.is_live(*id));
        let is_there = |pair: &[RecordId; 2]| pair.iter().all(|id| memory.is_live(*id));
        let outdated = self.pairs.extract_if(.., |pair, _| !is_there(pair));
        let ends = outdated.filter_map(|([one, other], _)| {
            let (one, other) = (memory.stands_for(one)?, memory.stands_for(other)?);
            (one != other).then(|| [one.min(other), one.max(other)])
        });
        moved.extend(ends);
        let is_apart = |[one, other]: &[RecordId; 2]| memory.are_apart(*one, *other);
        self.pairs.retain(|pair, _| !is_apart(pair));
    }

    fn knows(&self, [one, other]: &[RecordId; 2]) -> bool {
        self.pairs.contains_key(&[*one, *other]) || self.pairs.contains_key(&[*other, *one])
    }

    /// The records with pairs for which there is room by now.
    fn fitting(&self) -> Vec<RecordId> {
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

fn is_of(pair: &[RecordId; 2], ids: &BTreeSet<RecordId>) -> bool {
    pair.iter().any(|id| ids.contains(id))
}

impl Planner {
    /// One that goes on where another stopped, as [`Self::through`] said, and keeps what it has
    /// found however short the time it is given.
    pub fn since(place: u64) -> Self {
        Self {
            since: u32::try_from(place).unwrap_or(u32::MAX),
            stepwise: true,
            ..Self::default()
        }
    }

    /// Up to which place of the log all records are compared with those before them.
    pub fn through(&self) -> u64 {
        self.read.max(self.since).into()
    }

    /// What is to be done, for as long as there is time; what was not looked at is looked at next.
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
        if !is_same_file || self.since > memory.places() {
            *self = Self {
                stepwise: self.stepwise,
                ..Self::default()
            };
        }
        let first = self.read.max(self.since);
        self.take_up(memory, first);
        let all = memory.places() as usize;
        let new = memory.places().abs_diff(first) as usize + self.again.len();
        let done = if !self.stepwise && new > MANY.max(all / MANY_SHARE) {
            self.read_all(memory, first, go_on)
        } else {
            self.look_again(memory, go_on)
                .and_then(|()| self.read_new(memory, go_on))
        };
        let mut plan = Plan {
            cut: done.is_none(),
            ..Plan::default()
        };
        self.end(memory, now, &mut plan);
        let found = self.found(memory);
        plan.follow(memory, found);
        self.well_done.retain(|run| memory.is_live(run.id));
        let runs = self.well_done.iter().cloned().collect();
        plan.distilled.extend(runs::recurring(memory, runs));
        plan
    }

    /// Takes up which of the records that were compared have changed since: they answer again, or
    /// their tags are others. Whoever goes on where another stopped takes up what has changed since
    /// the last record that was compared was kept.
    fn take_up(&mut self, memory: &Snapshot, first: u32) {
        let before = first.checked_sub(1).and_then(|at| memory.kept_at(at));
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
        self.again.extend(self.doubts.fitting());
        self.again.extend(self.contrary.fitting());
        self.again.retain(|id| memory.is_live(*id));
    }

    /// Compares records anew, with what each was paired with and with what its words lead to.
    fn look_again(&mut self, memory: &Snapshot, go_on: &dyn Fn() -> bool) -> Option<()> {
        let mut scratch = AlikeScratch::default();
        while let Some(id) = self.again.first().copied() {
            if !go_on() {
                return None;
            }
            let others = self.part_from(&BTreeSet::from([id]));
            if let Some(Ok(record)) = memory.get(id) {
                self.note(&record);
                let pairs = others.iter().map(|other| [id, *other]);
                for (pair, found) in related(memory, pairs.collect()) {
                    self.keep(id, pair, Some(found));
                }
                self.compare_new(memory, record, &others, &mut scratch);
            }
            self.again.pop_first();
        }
        Some(())
    }

    /// Reads what is new, and compares each record with those that its words lead to.
    fn read_new(&mut self, memory: &Snapshot, go_on: &dyn Fn() -> bool) -> Option<()> {
        let mut scratch = AlikeScratch::default();
        for place in self.read..memory.places() {
            if (place >= self.since || place.is_multiple_of(AT_A_TIME as u32)) && !go_on() {
                return None;
            }
            if let Some(Ok(record)) = memory.at(place) {
                self.note(&record);
                if place >= self.since {
                    self.compare_new(memory, record, &BTreeSet::new(), &mut scratch);
                }
            }
            self.read = place + 1;
            self.last = memory.id_at(place);
        }
        Some(())
    }

    /// Compares one record with those that its words lead to, but for those that it was compared
    /// with.
    fn compare_new(
        &mut self,
        memory: &Snapshot,
        record: MemoryRecord,
        compared: &BTreeSet<RecordId>,
        scratch: &mut AlikeScratch,
    ) {
        let Some(entry) = Entry::of(record) else {
            return;
        };
        let alike = alike_to(memory, &entry, scratch).into_iter();
        for other in alike.filter(|other| !compared.contains(&other.id)) {
            let found = compare(memory, &entry, &other);
            self.keep(entry.id, [entry.id, other.id], found);
        }
    }

    /// Reads all records, and compares those that are alike where one is kept at `first` or later,
    /// or is to be compared again.
    fn read_all(&mut self, memory: &Snapshot, first: u32, go_on: &dyn Fn() -> bool) -> Option<()> {
        let mut entries: Vec<(u32, Entry)> = Vec::new();
        let places = memory.places();
        for place in 0..places {
            if (place as usize).is_multiple_of(AT_A_TIME) && !go_on() {
                return None;
            }
            if let Some(Ok(record)) = memory.at(place) {
                self.note(&record);
                entries.extend(Entry::of(record).map(|entry| (place, entry)));
            }
        }
        let mut groups = Groups::new(entries.len());
        self.join_copies(memory, &entries, &mut groups);
        let roots = (0..entries.len()).filter(|place| groups.root(*place) == *place);
        let roots: Vec<usize> = roots.collect();
        let compared = roots.iter().map(|root| &entries[*root].1);
        let pairs = alike(&compared.collect::<Vec<_>>(), go_on)?;
        let again = self.again.clone();
        self.part_from(&again);
        for (number, (one, other)) in pairs.into_iter().enumerate() {
            if number.is_multiple_of(AT_A_TIME) && !go_on() {
                return None;
            }
            let (a, b) = (roots[one as usize], roots[other as usize]);
            let ((place, one), (beside, other)) = (&entries[a], &entries[b]);
            let is_new = *place.max(beside) >= first
                || [one, other].iter().any(|entry| again.contains(&entry.id));
            if is_new
                && groups.root(a) != groups.root(b)
                && let Some(related) = compare(memory, one, other)
            {
                if related == Related::Same && agree(memory, one.id, other.id) {
                    groups.join(a, b);
                }
                self.keep(other.id, [one.id, other.id], Some(related));
            }
        }
        self.again.clear();
        self.read = places;
        self.last = places.checked_sub(1).and_then(|at| memory.id_at(at));
        Some(())
    }

    /// Texts that are the same to the last byte, whatever their length.
    fn join_copies(&mut self, memory: &Snapshot, entries: &[(u32, Entry)], groups: &mut Groups) {
        let mut by_hash: BTreeMap<(u128, &str, &str), Vec<usize>> = BTreeMap::new();
        for (place, (_, entry)) in entries.iter().enumerate() {
            let key = (entry.hash, entry.scope.as_str(), entry.form.as_str());
            by_hash.entry(key).or_default().push(place);
        }
        for places in by_hash.values() {
            let (first, one) = (places[0], &entries[places[0]].1);
            for place in &places[1..] {
                let other = &entries[*place].1;
                let copy = one.is_copy_of(other) && one.is_tagged_like(other);
                if copy && !memory.are_apart(one.id, other.id) {
                    groups.join(first, *place);
                    self.keep(other.id, [one.id, other.id], Some(Related::Same));
                }
            }
        }
    }

    /// Keeps what is known of a record by itself.
    fn note(&mut self, record: &MemoryRecord) {
        let end = record.ends_at();
        self.ends.extend(end.map(|end| (end, record.id)));
        let known = self.well_done.iter().any(|run| run.id == record.id);
        if let Some(run) = WellDone::of(record).filter(|_| !known) {
            if self.well_done.len() >= RUNS_MAX {
                self.well_done.pop_front();
            }
            self.well_done.push_back(run);
        }
    }

    fn keep(&mut self, compared: RecordId, [one, other]: [RecordId; 2], found: Option<Related>) {
        match found {
            None => {}
            Some(Related::Same) => {
                self.same.insert([one.min(other), one.max(other)]);
            }
            Some(Related::Contrary(pair)) => self.contrary.keep(compared, pair),
            Some(Related::Doubt(pair)) => self.doubts.keep(compared, pair),
        }
    }

    /// Takes out what was found of these records; answers what others they were paired with.
    fn part_from(&mut self, ids: &BTreeSet<RecordId>) -> BTreeSet<RecordId> {
        let same = self.same.extract_if(.., |pair| is_of(pair, ids));
        let mut others: BTreeSet<RecordId> = same.flatten().collect();
        self.doubts.part_from(ids, &mut others);
        self.contrary.part_from(ids, &mut others);
        others.retain(|id| !ids.contains(id));
        others
    }

    /// What had its time: to be put away, or kept for what speaks for it.
    fn end(&mut self, memory: &Snapshot, now: DateTime<Utc>, plan: &mut Plan) {
        self.ends.retain(|(_, id)| memory.is_live(*id));
        let over = self.ends.iter().take_while(|(end, _)| *end <= now);
        let over = over.filter(|(_, id)| !memory.are_apart(*id, *id));
        let over: Vec<MemoryRecord> = over.filter_map(|(_, id)| memory.get(*id)?.ok()).collect();
        let mut active: BTreeSet<NaiveDate> = BTreeSet::new();
        if !over.is_empty() {
            let times = memory.kept_micros().map(DateTime::from_timestamp_micros);
            active.extend(times.flatten().map(|at| at.date_naive()));
        }
        for record in over.iter().filter(|record| !is_young(record, &active)) {
            if speaks_for_itself(memory, record) {
                plan.promoted.push(record.id);
            } else {
                plan.purged.push(record.id);
            }
        }
        plan.promoted.sort_unstable();
        plan.purged.sort_unstable();
    }

    /// What was found and still holds. Where a record was put behind another one, that one is
    /// compared in its place.
    fn found(&mut self, memory: &Snapshot) -> Found {
        let mut moved = BTreeSet::new();
        self.doubts.outdated(memory, &mut moved);
        self.contrary.outdated(memory, &mut moved);
        moved.retain(|pair| !self.doubts.knows(pair) && !self.contrary.knows(pair));
        for (pair, found) in related(memory, moved) {
            self.keep(pair[1], pair, Some(found));
        }
        self.same.retain(|[one, other]| {
            memory.is_live(*one) && memory.is_live(*other) && !memory.are_apart(*one, *other)
        });
        Found {
            same: self.same.iter().copied().collect(),
            review: self.doubts.pairs.clone(),
            review_more: self.doubts.more.values().sum(),
            contradictions: self.contrary.pairs.clone(),
            contradictions_more: self.contrary.more.values().sum(),
        }
    }
}

/// The records that a text's words lead to, best first.
pub(super) fn alike_to(memory: &Snapshot, entry: &Entry, scratch: &mut AlikeScratch) -> Vec<Entry> {
    let found = memory.alike(&entry.text, NEIGHBOURS, scratch);
    let others = found.iter().filter_map(|(place, _)| {
        let record = memory.at(*place)?.ok()?;
        Entry::of(record).filter(|other| other.id != entry.id)
    });
    others.collect()
}
