//! Two tellings of one user's memory as one: what either says, both say afterwards.
//!
//! A telling is a set of facts, and facts do not take each other back but by these rules, which
//! give the same whichever side is asked and however often:
//! - What is forgotten on either side is forgotten, with what corrects it on the other side and
//!   what is known there by the same name.
//! - Corrections of one record on both sides are versions of it, by their ids: the later stands,
//!   the earlier is in its history. So are two records of one name.
//! - Tags of one record changed on both sides: what either put on it is on it, what either took off
//!   is off. Sayings again add up.
//! - Of a pair that was linked and unlinked the later holds.
//! - Runs are those of both, by their times; what was fitted to the runs of one side is left out
//!   where the other has runs of its own, and is fitted anew.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{ContentHash, ExternalId, LearningEvent, MemoryRecord, RecordId};

use crate::archive::{Gone, Said};
use crate::keys::key_of;

/// What both say.
#[derive(Debug, Default)]
pub struct Joined {
    /// In one order, whichever side was first.
    pub told: Vec<Said>,
    /// What both sides had changed, and what became of it.
    pub conflicts: Vec<Conflict>,
}

/// Something that both sides had changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The record that stands, or that was forgotten.
    pub record: RecordId,
    pub what: ConflictKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both sides had corrected it: the later correction stands.
    Corrected,
    /// Both sides had tagged it: it has what either gave it, without what either took.
    Tagged,
    /// One side had forgotten what the other went on with: it is forgotten.
    Forgotten,
}

/// A telling by what its facts are about.
#[derive(Default)]
struct Side {
    kept: BTreeMap<RecordId, Box<MemoryRecord>>,
    gone: BTreeMap<RecordId, Gone>,
    marks: BTreeMap<(RecordId, Order), Said>,
    cursors: BTreeMap<String, u64>,
    learned: BTreeMap<Order, LearningEvent>,
    fitted: Option<LearningEvent>,
}

/// When a fact was told, and what it says: one order for all facts.
type Order = (DateTime<Utc>, u8, String);

impl Side {
    fn of(told: Vec<Said>) -> Self {
        let mut side = Self::default();
        for said in told {
            side.take(said);
        }
        side
    }

    fn take(&mut self, said: Said) {
        match said {
            Said::Kept(record) => match self.kept.entry(record.id) {
                Entry::Vacant(free) => {
                    free.insert(record);
                }
                // A folder has a record again where its line of versions was put together.
                Entry::Occupied(mut held) => {
                    if order(&record) > order(held.get()) {
                        held.insert(record);
                    }
                }
            },
            Said::Forgotten(gone) => leave(&mut self.gone, gone),
            Said::Cursor { stream, seq } => {
                self.cursors.insert(stream, seq);
            }
            Said::Learned(mut event) => {
                if at_of(&mut event).is_none() {
                    self.fitted = Some(*event);
                    return;
                }
                let rank = rank_of(&event);
                put(&mut self.learned, *event, at_of, |at, json| {
                    (at, rank, json)
                });
            }
            mut mark => {
                if let Some((record, _)) = marked(&mut mark) {
                    let key = |at, json| (record, (at, 0, json));
                    put(&mut self.marks, mark, |mark| Some(marked(mark)?.1), key);
                }
            }
        }
    }

    fn knows(&self, id: RecordId) -> bool {
        self.kept.contains_key(&id) || self.gone.contains_key(&id)
    }

    /// The names under which records are not to come back.
    fn dead_names(&self) -> BTreeMap<u128, &Gone> {
        let all = self.gone.values();
        all.flat_map(|gone| gone.keys.iter().map(move |key| (key.0, gone)))
            .collect()
    }

    /// Why a record that the other side alone has is forgotten all the same; `above` is the nearest
    /// of those that it corrects which may be known here.
    fn forgets<'a>(
        &'a self,
        above: Option<RecordId>,
        names: &BTreeMap<u128, &'a Gone>,
        record: &MemoryRecord,
    ) -> Option<&'a Gone> {
        if let Some(gone) = above.and_then(|id| self.gone.get(&id)) {
            return Some(gone);
        }
        if above.is_some_and(|id| self.kept.contains_key(&id)) {
            return None;
        }
        let mut own = record.external_ids.iter().map(key_of);
        own.find_map(|key| names.get(&key).copied())
    }
}

/// Adds what is left of a record, with the names of all tellings of it in their order.
fn leave(gone: &mut BTreeMap<RecordId, Gone>, one: Gone) {
    let record = one.record;
    let held = gone.remove(&record).unwrap_or_else(|| one.clone());
    let keys: BTreeSet<ContentHash> = held.keys.iter().chain(&one.keys).copied().collect();
    let keys = keys.into_iter().collect();
    let all = Gone {
        keys,
        ..held.min(one)
    };
    gone.insert(record, all);
}

/// Puts a fact behind what its telling said of the same moment before: the clock of a machine that
/// is behind gives out one moment until it has caught up, and there the order of the log counts.
/// What comes in the order of the keys stays as it is.
fn put<K: Ord, T: serde::Serialize>(
    facts: &mut BTreeMap<K, T>,
    mut fact: T,
    at_of: fn(&mut T) -> Option<&mut DateTime<Utc>>,
    key: impl Fn(DateTime<Utc>, String) -> K,
) {
    const STEP: TimeDelta = TimeDelta::microseconds(1);
    while let Some(at) = at_of(&mut fact).copied() {
        let own = key(at, json(&fact));
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

/// One telling of two. Both are of one user's memory.
pub fn join(own: Vec<Said>, theirs: Vec<Said>) -> Joined {
    let (own, theirs) = (Side::of(own), Side::of(theirs));
    let mut conflicts = Vec::new();
    let mut gone = own.gone.clone();
    for other in theirs.gone.values() {
        leave(&mut gone, other.clone());
    }
    for (side, other) in [(&own, &theirs), (&theirs, &own)] {
        let names = side.dead_names();
        let news = other.kept.values().filter(|record| !side.knows(record.id));
        let mut above: BTreeMap<RecordId, RecordId> = BTreeMap::new();
        for record in news {
            let corrected = record.supersedes;
            let known = corrected.map(|id| above.get(&id).copied().unwrap_or(id));
            above.extend(known.map(|known| (record.id, known)));
            if let Some(why) = side.forgets(known, &names, record) {
                let keys: BTreeSet<u128> = record.external_ids.iter().map(key_of).collect();
                let left = Gone {
                    record: record.id,
                    content_hash: record.content_hash,
                    keys: keys.into_iter().map(ContentHash).collect(),
                    ..why.clone()
                };
                let record = record.id;
                gone.insert(record, left);
                let what = ConflictKind::Forgotten;
                conflicts.push(Conflict { record, what });
            }
        }
    }
    let mut kept = own.kept.clone();
    for (id, record) in &theirs.kept {
        let held = kept.entry(*id).or_insert_with(|| record.clone());
        if held != record && order(record) > order(held) {
            held.clone_from(record);
        }
    }
    kept.retain(|id, _| !gone.contains_key(id));
    conflicts.extend(line_up(&mut kept, &own, &theirs));
    let mut marks: BTreeMap<_, _> = own.marks.clone();
    marks.extend(theirs.marks.clone());
    let agreed = agreed(&kept, &own, &theirs, &mut conflicts);
    marks.extend(Side::of(agreed).marks);
    conflicts.sort_by_key(|conflict| conflict.record);
    let told = in_order(kept, gone, marks, own, theirs);
    Joined { told, conflicts }
}

/// Everything in one order: records by their ids, then what was said of them, by its time.
fn in_order(
    mut kept: BTreeMap<RecordId, Box<MemoryRecord>>,
    mut gone: BTreeMap<RecordId, Gone>,
    marks: BTreeMap<(RecordId, Order), Said>,
    own: Side,
    theirs: Side,
) -> Vec<Said> {
    let live: BTreeSet<RecordId> = kept.keys().copied().collect();
    let ids: BTreeSet<RecordId> = live.iter().chain(gone.keys()).copied().collect();
    let mut told = Vec::new();
    for id in ids {
        if let Some(record) = kept.remove(&id) {
            told.push(Said::Kept(record));
        } else if let Some(left) = gone.remove(&id) {
            told.push(Said::Forgotten(left));
        }
    }
    let stands = |said: &Said| match said {
        Said::Linked { record, to, .. } | Said::Unlinked { record, to, .. } => {
            live.contains(record) && live.contains(to)
        }
        Said::Tagged { record, .. } | Said::Seen { record, .. } => live.contains(record),
        _ => true,
    };
    let marks: BTreeMap<Order, Said> = marks.into_iter().map(|((_, at), s)| (at, s)).collect();
    told.extend(marks.into_values().filter(stands));
    let fitted = match (has_more(&own, &theirs), has_more(&theirs, &own)) {
        (true, true) => None,
        (false, true) => theirs.fitted,
        (true, false) => own.fitted,
        // The same runs: what was fitted to them says the same, or is fitted anew.
        (false, false) => own.fitted.into_iter().chain(theirs.fitted).max_by_key(json),
    };
    let mut learned = own.learned;
    learned.extend(theirs.learned);
    let learned = learned.into_values().chain(fitted);
    told.extend(learned.map(|event| Said::Learned(Box::new(event))));
    let mut cursors = own.cursors;
    for (stream, seq) in theirs.cursors {
        // To read again what was read changes nothing; to pass over what was not would.
        let held = cursors.entry(stream).or_insert(seq);
        *held = seq.min(*held);
    }
    let cursors = cursors.into_iter();
    told.extend(cursors.map(|(stream, seq)| Said::Cursor { stream, seq }));
    told
}

/// Which of two tellings of a record holds: the one in the longer line of versions.
fn order(record: &MemoryRecord) -> (Option<RecordId>, String) {
    (record.supersedes, json(record))
}

/// Which record something stands on, and since when.
fn marked(mark: &mut Said) -> Option<(RecordId, &mut DateTime<Utc>)> {
    match mark {
        Said::Tagged { record, at, .. }
        | Said::Linked { record, at, .. }
        | Said::Unlinked { record, at, .. }
        | Said::Seen { record, at, .. } => Some((*record, at)),
        _ => None,
    }
}

fn has_more(one: &Side, other: &Side) -> bool {
    one.learned
        .keys()
        .any(|key| !other.learned.contains_key(key))
}

/// Makes one line of versions where both sides have versions of their own.
fn line_up(
    kept: &mut BTreeMap<RecordId, Box<MemoryRecord>>,
    own: &Side,
    theirs: &Side,
) -> Vec<Conflict> {
    let mut groups = Groups::default();
    let mut named: BTreeMap<u128, RecordId> = BTreeMap::new();
    for record in kept.values() {
        if let Some(above) = record.supersedes.filter(|above| kept.contains_key(above)) {
            groups.unite(record.id, above);
        }
        for name in record.external_ids.iter().filter(|name| is_of_thing(name)) {
            let first = *named.entry(key_of(name)).or_insert(record.id);
            groups.unite(record.id, first);
        }
    }
    let mut conflicts = Vec::new();
    for versions in groups.all().values() {
        let only = |side: &Side, other: &Side| {
            let mut versions = versions.iter();
            versions.any(|id| side.kept.contains_key(id) && !other.knows(*id))
        };
        if !only(own, theirs) || !only(theirs, own) {
            continue;
        }
        for pair in versions.windows(2) {
            if let [before, after] = pair
                && let Some(record) = kept.get_mut(after)
            {
                record.supersedes = Some(*before);
            }
        }
        conflicts.extend(versions.last().map(|last| Conflict {
            record: *last,
            what: ConflictKind::Corrected,
        }));
    }
    conflicts
}

/// Whether a name says what a record is about, and not by which request it came.
fn is_of_thing(name: &ExternalId) -> bool {
    ![ExternalId::REQUEST, ExternalId::MERGED].contains(&name.namespace.as_str())
}

/// Records that belong together, each by the first of its group.
#[derive(Default)]
struct Groups(BTreeMap<RecordId, RecordId>);

impl Groups {
    fn first(&mut self, id: RecordId) -> RecordId {
        let mut at = id;
        while let Some(above) = self.0.get(&at).copied().filter(|above| *above != at) {
            // Halves the way for the next one.
            let next = self.0.get(&above).copied().unwrap_or(above);
            self.0.insert(at, next);
            at = next;
        }
        at
    }

    fn unite(&mut self, one: RecordId, other: RecordId) {
        let (one, other) = (self.first(one), self.first(other));
        let first = one.min(other);
        for id in [one, other] {
            self.0.insert(id, first);
        }
    }

    fn all(mut self) -> BTreeMap<RecordId, Vec<RecordId>> {
        let ids: Vec<RecordId> = self.0.keys().copied().collect();
        let mut all: BTreeMap<RecordId, Vec<RecordId>> = BTreeMap::new();
        for id in ids {
            all.entry(self.first(id)).or_default().push(id);
        }
        all
    }
}

/// What is said of records that both sides have said something of: of both together.
fn agreed(
    kept: &BTreeMap<RecordId, Box<MemoryRecord>>,
    own: &Side,
    theirs: &Side,
    conflicts: &mut Vec<Conflict>,
) -> Vec<Said> {
    let mut said = Vec::new();
    for record in kept.values() {
        let news = |side: &Side, other: &Side, what: fn(&Said) -> bool| -> Option<Said> {
            let of = of_record(side, record.id);
            let own = of.filter(|(key, said)| what(said) && !other.marks.contains_key(key));
            own.last().map(|(_, said)| said.clone())
        };
        let base = |what: fn(&Said) -> bool| -> Option<Said> {
            let of = of_record(own, record.id);
            let both = of.filter(|(key, said)| what(said) && theirs.marks.contains_key(key));
            both.last().map(|(_, said)| said.clone())
        };
        let tagged = |said: &Said| matches!(said, Said::Tagged { .. });
        if let (
            Some(Said::Tagged { at, tags: ours, .. }),
            Some(Said::Tagged { at: then, tags, .. }),
        ) = (news(own, theirs, tagged), news(theirs, own, tagged))
        {
            let base = match base(tagged) {
                Some(Said::Tagged { tags, .. }) => tags,
                _ => record.tags.clone(),
            };
            let set = |tags: Vec<String>| tags.into_iter().collect::<BTreeSet<_>>();
            let (base, ours, tags) = (set(base), set(ours), set(tags));
            let off =
                |tag: &String| base.contains(tag) && !(ours.contains(tag) && tags.contains(tag));
            let all: Vec<String> = ours.union(&tags).filter(|tag| !off(tag)).cloned().collect();
            let what = ConflictKind::Tagged;
            let record = record.id;
            conflicts.push(Conflict { record, what });
            let (at, tags) = (after(at, then), all);
            said.push(Said::Tagged { record, at, tags });
        }
        let seen = |said: &Said| matches!(said, Said::Seen { .. });
        if let (
            Some(Said::Seen {
                at, count: ours, ..
            }),
            Some(Said::Seen {
                at: then, count, ..
            }),
        ) = (news(own, theirs, seen), news(theirs, own, seen))
        {
            let base = match base(seen) {
                Some(Said::Seen { count, .. }) => count,
                _ => 1,
            };
            let (record, at) = (record.id, after(at, then));
            let count = ours.saturating_add(count).saturating_sub(base);
            said.push(Said::Seen { record, at, count });
        }
    }
    said
}

fn of_record(side: &Side, id: RecordId) -> impl Iterator<Item = (&(RecordId, Order), &Said)> {
    let from = (id, (DateTime::<Utc>::MIN_UTC, 0, String::new()));
    side.marks
        .range(from..)
        .take_while(move |((of, _), _)| *of == id)
}

/// A moment that follows both.
fn after(one: DateTime<Utc>, other: DateTime<Utc>) -> DateTime<Utc> {
    let last = one.max(other);
    let after = last.checked_add_signed(TimeDelta::milliseconds(1));
    after.unwrap_or(last)
}

/// What comes first of one moment that both sides tell of.
fn rank_of(event: &LearningEvent) -> u8 {
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

/// When something was learned; `None` for what is derived.
fn at_of(event: &mut LearningEvent) -> Option<&mut DateTime<Utc>> {
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

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
