//! Joins two exported logs of one user's memory into one: afterwards both sides have what either
//! had.
//!
//! A log is a set of facts. Facts of one side do not undo those of the other, except by these
//! rules, which give the same result in either order and however often they are applied:
//! - What is forgotten on either side is forgotten, with what corrects it on the other side and
//!   what has its external id there.
//! - Corrections of one record on both sides become versions of it, ordered by id: the later one is
//!   live, the earlier is in its history. The same applies to two records with one external id.
//! - Tags of one record changed on both sides: a tag added by either is kept, a tag removed by
//!   either is removed. Counts of repetitions add up.
//! - If a pair was linked and unlinked, the later event holds.
//! - Runs are those of both, by their times. What was fitted to the runs of one side is left out if
//!   the other has runs of its own, and is fitted anew.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{ContentHash, ExternalId, LearningEvent, MemoryRecord, RecordId};

use crate::copies::archive::{ErasedRecord, ExportEntry};
use crate::snapshot::annotation_index::is_retirement;
use crate::write::dedup_keys::hash_external_id;

/// The joined log.
#[derive(Debug, Default)]
pub struct JoinedLog {
    /// The entries, in an order that does not depend on which side came first.
    pub entries: Vec<ExportEntry>,
    /// What both sides had changed, and how that was resolved.
    pub conflicts: Vec<Conflict>,
}

/// Something that both sides had changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The record that is live, or that was forgotten.
    pub record: RecordId,
    pub kind: ConflictKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both sides had corrected it: the later correction is live.
    Corrected,
    /// Both sides had tagged it: it has the tags that either added, without those that either
    /// removed.
    Tagged,
    /// One side had forgotten what the other continued with: it is forgotten.
    Forgotten,
}

/// The facts of one log, by their subject.
#[derive(Default)]
struct LogFacts {
    records: BTreeMap<RecordId, Box<MemoryRecord>>,
    erased: BTreeMap<RecordId, ErasedRecord>,
    marks: BTreeMap<(RecordId, FactOrder), ExportEntry>,
    cursors: BTreeMap<String, u64>,
    learning: BTreeMap<FactOrder, LearningEvent>,
    fitted: Option<LearningEvent>,
}

/// The time of a fact and its content: one order for all facts.
type FactOrder = (DateTime<Utc>, u8, String);

impl LogFacts {
    fn from_entries(entries: Vec<ExportEntry>) -> Self {
        let mut side = Self::default();
        for entry in entries {
            side.add(entry);
        }
        side
    }

    fn add(&mut self, entry: ExportEntry) {
        match entry {
            ExportEntry::Kept(record) => match self.records.entry(record.id) {
                Entry::Vacant(free) => {
                    free.insert(record);
                }
                // A folder's log repeats a record once its versions were aligned.
                Entry::Occupied(mut existing) => {
                    if rank_of_record(&record) > rank_of_record(existing.get()) {
                        existing.insert(record);
                    }
                }
            },
            ExportEntry::Forgotten(erased) => add_erased_record(&mut self.erased, erased),
            ExportEntry::Cursor { stream, seq } => {
                self.cursors.insert(stream, seq);
            }
            ExportEntry::Learned(mut event) => {
                if time_of_event(&mut event).is_none() {
                    self.fitted = Some(*event);
                    return;
                }
                let rank = rank_of_event(&event);
                insert_in_order(&mut self.learning, *event, time_of_event, |at, json| {
                    (at, rank, json)
                });
            }
            mut mark => {
                if let Some((record, _)) = record_and_time(&mut mark) {
                    let key = |at, json| (record, (at, 0, json));
                    insert_in_order(
                        &mut self.marks,
                        mark,
                        |mark| Some(record_and_time(mark)?.1),
                        key,
                    );
                }
            }
        }
    }

    fn has_record(&self, id: RecordId) -> bool {
        self.records.contains_key(&id) || self.erased.contains_key(&id)
    }

    /// Returns the keys of external ids whose records must not come back.
    fn erased_keys(&self) -> BTreeMap<u128, &ErasedRecord> {
        let all = self.erased.values();
        all.flat_map(|erased| erased.keys.iter().map(move |key| (key.0, erased)))
            .collect()
    }

    /// Finds the erasure that also applies to a record that only the other side has; `above` is the
    /// nearest version that it corrects which may be known here.
    fn find_erasure<'a>(
        &'a self,
        above: Option<RecordId>,
        names: &BTreeMap<u128, &'a ErasedRecord>,
        record: &MemoryRecord,
    ) -> Option<&'a ErasedRecord> {
        if let Some(erased) = above.and_then(|id| self.erased.get(&id)) {
            return Some(erased);
        }
        if above.is_some_and(|id| self.records.contains_key(&id)) {
            return None;
        }
        let mut own = record.external_ids.iter().map(hash_external_id);
        own.find_map(|key| names.get(&key).copied())
    }
}

/// Adds an erased record, with the keys of all logs that name it, in order.
fn add_erased_record(erased: &mut BTreeMap<RecordId, ErasedRecord>, one: ErasedRecord) {
    let record = one.record;
    let existing = erased.remove(&record).unwrap_or_else(|| one.clone());
    let keys: BTreeSet<ContentHash> = existing.keys.iter().chain(&one.keys).copied().collect();
    let keys = keys.into_iter().collect();
    let all = ErasedRecord {
        keys,
        ..existing.min(one)
    };
    erased.insert(record, all);
}

/// Inserts a fact after those of the same moment from the same log: a machine whose clock is late
/// assigns one moment until it has caught up, and then the order of the log counts. A fact that
/// follows in the order of the keys stays as it is.
fn insert_in_order<K: Ord, T: serde::Serialize>(
    facts: &mut BTreeMap<K, T>,
    mut fact: T,
    at_of: fn(&mut T) -> Option<&mut DateTime<Utc>>,
    key: impl Fn(DateTime<Utc>, String) -> K,
) {
    const STEP: TimeDelta = TimeDelta::microseconds(1);
    while let Some(at) = at_of(&mut fact).copied() {
        let own = key(at, to_json(&fact));
        if facts.contains_key(&own) {
            return;
        }
        let next = at.checked_add_signed(STEP);
        let end = next.and_then(|next| next.checked_add_signed(STEP));
        let is_last = end.is_none_or(|end| {
            let end = key(end, String::new());
            facts.range::<K, _>(&own..&end).next().is_none()
        });
        if is_last {
            facts.insert(own, fact);
            return;
        }
        if let (Some(at), Some(next)) = (at_of(&mut fact), next) {
            *at = next;
        }
    }
}

/// Joins two logs of one user's memory.
pub fn join_logs(own: Vec<ExportEntry>, theirs: Vec<ExportEntry>) -> JoinedLog {
    let (own, theirs) = (LogFacts::from_entries(own), LogFacts::from_entries(theirs));
    let mut conflicts = Vec::new();
    let mut erased = own.erased.clone();
    for other in theirs.erased.values() {
        add_erased_record(&mut erased, other.clone());
    }
    for (side, other) in [(&own, &theirs), (&theirs, &own)] {
        let names = side.erased_keys();
        let new_records = other
            .records
            .values()
            .filter(|record| !side.has_record(record.id));
        let mut above: BTreeMap<RecordId, RecordId> = BTreeMap::new();
        let mut erased_here: BTreeMap<RecordId, &ErasedRecord> = BTreeMap::new();
        for record in new_records {
            let corrected = record.supersedes;
            let known = corrected.map(|id| above.get(&id).copied().unwrap_or(id));
            above.extend(known.map(|known| (record.id, known)));
            let with_corrected = corrected.and_then(|id| erased_here.get(&id).copied());
            let why = with_corrected.or_else(|| side.find_erasure(known, &names, record));
            if let Some(why) = why {
                erased_here.insert(record.id, why);
                let keys: BTreeSet<u128> =
                    record.external_ids.iter().map(hash_external_id).collect();
                let left = ErasedRecord {
                    record: record.id,
                    content_hash: record.content_hash,
                    keys: keys.into_iter().map(ContentHash).collect(),
                    ..why.clone()
                };
                let record = record.id;
                erased.insert(record, left);
                let what = ConflictKind::Forgotten;
                conflicts.push(Conflict { record, kind: what });
            }
        }
    }
    let mut records = own.records.clone();
    for (id, record) in &theirs.records {
        let existing = records.entry(*id).or_insert_with(|| record.clone());
        if existing != record && rank_of_record(record) > rank_of_record(existing) {
            existing.clone_from(record);
        }
    }
    let mut replaced = Vec::new();
    records.retain(|id, record| {
        let is_erased = erased.contains_key(id);
        if is_erased {
            replaced.extend(ExportEntry::from_absent_correction(record));
        }
        !is_erased
    });
    conflicts.extend(align_versions(&mut records, &own, &theirs));
    let mut marks: BTreeMap<_, _> = own.marks.clone();
    marks.extend(theirs.marks.clone());
    let mut combined = combine_changes(&records, &own, &theirs, &mut conflicts);
    combined.extend(replaced);
    marks.extend(LogFacts::from_entries(combined).marks);
    conflicts.sort_by_key(|conflict| conflict.record);
    let entries = order_entries(records, erased, marks, own, theirs);
    JoinedLog { entries, conflicts }
}

/// Orders all facts: records by their ids, then annotations by their times, then learning and
/// cursors.
fn order_entries(
    mut records: BTreeMap<RecordId, Box<MemoryRecord>>,
    mut erased: BTreeMap<RecordId, ErasedRecord>,
    marks: BTreeMap<(RecordId, FactOrder), ExportEntry>,
    own: LogFacts,
    theirs: LogFacts,
) -> Vec<ExportEntry> {
    let live: BTreeSet<RecordId> = records.keys().copied().collect();
    let ids: BTreeSet<RecordId> = live.iter().chain(erased.keys()).copied().collect();
    let mut entries = Vec::new();
    for id in ids {
        if let Some(record) = records.remove(&id) {
            entries.push(ExportEntry::Kept(record));
        } else if let Some(left) = erased.remove(&id) {
            entries.push(ExportEntry::Forgotten(left));
        }
    }
    let is_live = |entry: &ExportEntry| match entry {
        ExportEntry::Linked { record, to, .. } | ExportEntry::Unlinked { record, to, .. } => {
            live.contains(record) && live.contains(to)
        }
        ExportEntry::Tagged { record, .. }
        | ExportEntry::Seen { record, .. }
        | ExportEntry::Replaced { record, .. } => live.contains(record),
        _ => true,
    };
    let marks: BTreeMap<FactOrder, ExportEntry> =
        marks.into_iter().map(|((_, at), s)| (at, s)).collect();
    let mut retirements = OpenRetirements::default();
    let marks = marks.into_values().filter(is_live);
    entries.extend(marks.filter(|mark| retirements.accepts(mark)));
    let fitted = match (
        has_other_learning(&own, &theirs),
        has_other_learning(&theirs, &own),
    ) {
        (true, true) => None,
        (false, true) => theirs.fitted,
        (true, false) => own.fitted,
        // The runs are the same, so both fits are equally good.
        (false, false) => own
            .fitted
            .into_iter()
            .chain(theirs.fitted)
            .max_by_key(to_json),
    };
    let mut learned = own.learning;
    learned.extend(theirs.learning);
    let learned = learned.into_values().chain(fitted);
    entries.extend(learned.map(|event| ExportEntry::Learned(Box::new(event))));
    let mut cursors = own.cursors;
    for (stream, seq) in theirs.cursors {
        // Reading again changes nothing; skipping unread events would.
        let existing = cursors.entry(stream).or_insert(seq);
        *existing = seq.min(*existing);
    }
    let cursors = cursors.into_iter();
    entries.extend(cursors.map(|(stream, seq)| ExportEntry::Cursor { stream, seq }));
    entries
}

/// Which record is retired into which, while marks are put in order. Two sides may each have
/// retired one of two records into the other. The first link holds, as in a fold; the other is left
/// out, because it would hold as soon as a compaction has dropped the first.
#[derive(Default)]
struct OpenRetirements(BTreeMap<RecordId, Vec<RecordId>>);

impl OpenRetirements {
    /// Follows a mark; returns `false` for a link that closes a circle.
    fn accepts(&mut self, mark: &ExportEntry) -> bool {
        match mark {
            ExportEntry::Linked {
                record,
                to,
                relation,
                ..
            } if is_retirement(relation) => {
                let next = |at: &RecordId| self.0.get(at)?.first().copied();
                let mut passed = BTreeSet::new();
                let way = std::iter::successors(Some(*to), next);
                let mut way = way.take_while(|at| passed.insert(*at));
                if record != to && way.any(|at| at == *record) {
                    return false;
                }
                let open = self.0.entry(*record).or_default();
                if !open.contains(to) {
                    open.push(*to);
                }
            }
            ExportEntry::Unlinked {
                record,
                to,
                relation,
                ..
            } if is_retirement(relation) => {
                let open = self.0.entry(*record).or_default();
                open.retain(|known| known != to);
            }
            _ => {}
        }
        true
    }
}

/// Ranks two copies of a record: the one in the longer line of versions wins.
fn rank_of_record(record: &MemoryRecord) -> (Option<RecordId>, String) {
    (record.supersedes, to_json(record))
}

/// Returns the record that an annotation belongs to, and its time.
fn record_and_time(mark: &mut ExportEntry) -> Option<(RecordId, &mut DateTime<Utc>)> {
    match mark {
        ExportEntry::Tagged { record, at, .. }
        | ExportEntry::Linked { record, at, .. }
        | ExportEntry::Unlinked { record, at, .. }
        | ExportEntry::Seen { record, at, .. }
        | ExportEntry::Replaced { record, at } => Some((*record, at)),
        _ => None,
    }
}

/// Whether `one` has learning events that `other` lacks.
fn has_other_learning(one: &LogFacts, other: &LogFacts) -> bool {
    one.learning
        .keys()
        .any(|key| !other.learning.contains_key(key))
}

/// Makes one line of versions if both sides have versions of their own.
fn align_versions(
    records: &mut BTreeMap<RecordId, Box<MemoryRecord>>,
    own: &LogFacts,
    theirs: &LogFacts,
) -> Vec<Conflict> {
    let mut groups = RecordGroups::default();
    let mut named: BTreeMap<u128, RecordId> = BTreeMap::new();
    for record in records.values() {
        if let Some(above) = record
            .supersedes
            .filter(|above| records.contains_key(above))
        {
            groups.unite_groups(record.id, above);
        }
        for name in record
            .external_ids
            .iter()
            .filter(|name| is_subject_id(name))
        {
            let first = *named.entry(hash_external_id(name)).or_insert(record.id);
            groups.unite_groups(record.id, first);
        }
    }
    let mut conflicts = Vec::new();
    for versions in groups.into_groups().values() {
        let only = |side: &LogFacts, other: &LogFacts| {
            let mut versions = versions.iter();
            versions.any(|id| side.records.contains_key(id) && !other.has_record(*id))
        };
        if !only(own, theirs) || !only(theirs, own) {
            continue;
        }
        for pair in versions.windows(2) {
            if let [before, after] = pair
                && let Some(record) = records.get_mut(after)
            {
                record.supersedes = Some(*before);
            }
        }
        conflicts.extend(versions.last().map(|last| Conflict {
            record: *last,
            kind: ConflictKind::Corrected,
        }));
    }
    conflicts
}

/// Whether an external id names what a record is about, and not the request by which it came.
fn is_subject_id(name: &ExternalId) -> bool {
    ![ExternalId::REQUEST, ExternalId::MERGED].contains(&name.namespace.as_str())
}

/// Groups of records that belong together, each represented by its first record.
#[derive(Default)]
struct RecordGroups(BTreeMap<RecordId, RecordId>);

impl RecordGroups {
    fn find_first_of_group(&mut self, id: RecordId) -> RecordId {
        let mut at = id;
        while let Some(above) = self.0.get(&at).copied().filter(|above| *above != at) {
            // This halves the path for the next lookup.
            let next = self.0.get(&above).copied().unwrap_or(above);
            self.0.insert(at, next);
            at = next;
        }
        at
    }

    fn unite_groups(&mut self, one: RecordId, other: RecordId) {
        let (one, other) = (
            self.find_first_of_group(one),
            self.find_first_of_group(other),
        );
        let first = one.min(other);
        for id in [one, other] {
            self.0.insert(id, first);
        }
    }

    fn into_groups(mut self) -> BTreeMap<RecordId, Vec<RecordId>> {
        let ids: Vec<RecordId> = self.0.keys().copied().collect();
        let mut all: BTreeMap<RecordId, Vec<RecordId>> = BTreeMap::new();
        for id in ids {
            all.entry(self.find_first_of_group(id))
                .or_default()
                .push(id);
        }
        all
    }
}

/// Combines the tags and counts of records that both sides changed.
fn combine_changes(
    records: &BTreeMap<RecordId, Box<MemoryRecord>>,
    own: &LogFacts,
    theirs: &LogFacts,
    conflicts: &mut Vec<Conflict>,
) -> Vec<ExportEntry> {
    let mut changes = Vec::new();
    for record in records.values() {
        let last_own_change = |side: &LogFacts,
                               other: &LogFacts,
                               what: fn(&ExportEntry) -> bool|
         -> Option<ExportEntry> {
            let of = facts_of_record(side, record.id);
            let own = of.filter(|(key, entry)| what(entry) && !other.marks.contains_key(key));
            own.last().map(|(_, entry)| entry.clone())
        };
        let base = |what: fn(&ExportEntry) -> bool| -> Option<ExportEntry> {
            let of = facts_of_record(own, record.id);
            let both = of.filter(|(key, entry)| what(entry) && theirs.marks.contains_key(key));
            both.last().map(|(_, entry)| entry.clone())
        };
        let tagged = |entry: &ExportEntry| matches!(entry, ExportEntry::Tagged { .. });
        if let (
            Some(ExportEntry::Tagged { at, tags: ours, .. }),
            Some(ExportEntry::Tagged { at: then, tags, .. }),
        ) = (
            last_own_change(own, theirs, tagged),
            last_own_change(theirs, own, tagged),
        ) {
            let base = match base(tagged) {
                Some(ExportEntry::Tagged { tags, .. }) => tags,
                _ => record.tags.clone(),
            };
            let set = |tags: Vec<String>| tags.into_iter().collect::<BTreeSet<_>>();
            let (base, ours, tags) = (set(base), set(ours), set(tags));
            let off =
                |tag: &String| base.contains(tag) && !(ours.contains(tag) && tags.contains(tag));
            let all: Vec<String> = ours.union(&tags).filter(|tag| !off(tag)).cloned().collect();
            let what = ConflictKind::Tagged;
            let record = record.id;
            conflicts.push(Conflict { record, kind: what });
            let (at, tags) = (later_than_both(at, then), all);
            changes.push(ExportEntry::Tagged { record, at, tags });
        }
        let seen = |entry: &ExportEntry| matches!(entry, ExportEntry::Seen { .. });
        if let (
            Some(ExportEntry::Seen {
                at, count: ours, ..
            }),
            Some(ExportEntry::Seen {
                at: then, count, ..
            }),
        ) = (
            last_own_change(own, theirs, seen),
            last_own_change(theirs, own, seen),
        ) {
            let base = match base(seen) {
                Some(ExportEntry::Seen { count, .. }) => count,
                _ => 1,
            };
            let (record, at) = (record.id, later_than_both(at, then));
            let count = ours.saturating_add(count).saturating_sub(base);
            changes.push(ExportEntry::Seen { record, at, count });
        }
    }
    changes
}

/// Returns the annotations of a record, in order.
fn facts_of_record(
    side: &LogFacts,
    id: RecordId,
) -> impl Iterator<Item = (&(RecordId, FactOrder), &ExportEntry)> {
    let from = (id, (DateTime::<Utc>::MIN_UTC, 0, String::new()));
    side.marks
        .range(from..)
        .take_while(move |((of, _), _)| *of == id)
}

/// Returns a moment after both.
fn later_than_both(one: DateTime<Utc>, other: DateTime<Utc>) -> DateTime<Utc> {
    let last = one.max(other);
    let after = last.checked_add_signed(TimeDelta::milliseconds(1));
    after.unwrap_or(last)
}

/// Ranks learning events of one moment, so that both sides order them alike.
fn rank_of_event(event: &LearningEvent) -> u8 {
    match event {
        LearningEvent::Switched { .. } => 0,
        LearningEvent::Recalled(_) => 1,
        LearningEvent::Begun { .. } => 2,
        LearningEvent::Stepped { .. } => 3,
        LearningEvent::Ended(_) => 4,
        LearningEvent::Revised { .. } => 5,
        LearningEvent::Abandoned { .. } => 6,
        _ => 7,
    }
}

/// Returns the time of a learning event; `None` if it is derived.
fn time_of_event(event: &mut LearningEvent) -> Option<&mut DateTime<Utc>> {
    match event {
        LearningEvent::Recalled(receipt) => Some(&mut receipt.at),
        LearningEvent::Ended(run) => Some(&mut run.at),
        LearningEvent::Switched { at, .. }
        | LearningEvent::Begun { at, .. }
        | LearningEvent::Stepped { at, .. }
        | LearningEvent::Revised { at, .. }
        | LearningEvent::Withdrawn { at, .. }
        | LearningEvent::Abandoned { at, .. }
        | LearningEvent::Reset { at } => Some(at),
        _ => None,
    }
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
