//! What a record is known by: its external ids, which belong to its newest version, and a bare text
//! that was learned. And its own id: strictly increasing within a file, made from the given time
//! and a given seed.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use reprise_types::limits::EXTERNAL_IDS_MAX;
use reprise_types::{ExternalId, MemoryRecord, NewRecord, RecordId, WriteOutcome, splitmix};

use crate::engine::Engine;
use crate::prepare;

/// What one call is about to keep.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) kept: Vec<MemoryRecord>,
    places: HashMap<RecordId, usize>,
    /// The newest of them by external id.
    named: HashMap<ExternalId, RecordId>,
}

impl Batch {
    pub(crate) fn get(&self, id: RecordId) -> Option<&MemoryRecord> {
        self.kept.get(*self.places.get(&id)?)
    }

    /// Its place among what is kept.
    pub(crate) fn place(&self, id: RecordId) -> Option<usize> {
        self.places.get(&id).copied()
    }

    /// The newest of them with this external id.
    pub(crate) fn named(&self, name: &ExternalId) -> Option<RecordId> {
        self.named.get(name).copied()
    }

    pub(crate) fn push(&mut self, record: MemoryRecord) {
        let names = record.external_ids.iter().cloned();
        self.named.extend(names.map(|name| (name, record.id)));
        self.places.insert(record.id, self.kept.len());
        self.kept.push(record);
    }
}

impl Engine {
    /// Whether a record needs no vector, because it is known and stays as it is.
    #[must_use]
    pub fn is_known(&self, new: &NewRecord) -> bool {
        self.known(new).is_some()
    }

    /// The record that it is known as.
    #[must_use]
    pub fn known(&self, new: &NewRecord) -> Option<RecordId> {
        let batch = Batch::default();
        let corrected = self.lineage(new.supersedes, &batch);
        let known = self.known_by(new, &corrected, &batch);
        known.filter(|of| !new.updates || self.says(*of, &new.text, &batch))
    }

    /// The live record that was learned with this text and nothing else to be known by, or the
    /// name under which it is to be learned: one that was forgotten or corrected keeps its own.
    pub fn learned(&self, text: &str) -> Result<RecordId, ExternalId> {
        let mut time = 0_u32;
        loop {
            let name = Self::learned_name(text, time);
            match self.duplicate_of(&name) {
                None => return Err(name),
                Some(held) if self.snapshot.is_live(held) => return Ok(held),
                Some(_) => time += 1,
            }
        }
    }

    /// The name under which a bare text is learned for the first time, the second, ...
    #[must_use]
    pub fn learned_name(text: &str, time: u32) -> ExternalId {
        let name = format!("text {:032x}/{time}", prepare::hash(text).0);
        ExternalId::new(ExternalId::REQUEST, name)
    }

    /// Gives a correction the external ids of what it corrects. Answers the record's outcome where
    /// one of them is another record's.
    pub(crate) fn name(&self, new: &mut NewRecord, batch: &Batch) -> Option<WriteOutcome> {
        let mut corrected = self.lineage(new.supersedes, batch);
        if let Some(of) = self.known_by(new, &corrected, batch) {
            let differs = !self.says(of, &new.text, batch);
            if !(differs && new.updates && new.supersedes.is_none()) {
                return Some(WriteOutcome::Duplicate { of, differs });
            }
            new.supersedes = Some(of);
            corrected = self.lineage(new.supersedes, batch);
            if let Some(of) = self.known_by(new, &corrected, batch) {
                return Some(WriteOutcome::Duplicate { of, differs });
            }
        }
        for name in handed_on(&corrected) {
            if new.external_ids.len() < EXTERNAL_IDS_MAX && !new.external_ids.contains(name) {
                new.external_ids.push(name.clone());
            }
        }
        None
    }

    /// The record, none of those that are `corrected`, that is known by one of the names of this
    /// one, or by one that is handed on to it.
    fn known_by(
        &self,
        new: &NewRecord,
        corrected: &[MemoryRecord],
        batch: &Batch,
    ) -> Option<RecordId> {
        if is_bare(new)
            && let Ok(of) = self.learned(&new.text)
        {
            return Some(of);
        }
        let mut names = new.external_ids.iter().chain(handed_on(corrected));
        names.find_map(|name| {
            let staged = batch.named(name);
            let known = staged.or_else(|| self.duplicate_of(name))?;
            let is_own = corrected.iter().any(|version| version.id == known);
            (!is_own || !name.is_handed_on()).then_some(known)
        })
    }

    /// A version and all that it corrected, newest first, as far as they are still there.
    fn lineage(&self, newest: Option<RecordId>, batch: &Batch) -> Vec<MemoryRecord> {
        let version = |id: RecordId| {
            let stored = || self.snapshot.version(id)?.ok();
            batch.get(id).cloned().or_else(stored)
        };
        let newest = newest.and_then(version);
        std::iter::successors(newest, |newer| version(newer.supersedes?)).collect()
    }

    /// Whether a record said this in any of its versions. One that is forgotten is not asked: it
    /// stays so.
    fn says(&self, id: RecordId, text: &str, batch: &Batch) -> bool {
        let versions = self.lineage(Some(id), batch);
        versions.is_empty() || versions.iter().any(|version| version.text == text)
    }
}

fn handed_on(versions: &[MemoryRecord]) -> impl Iterator<Item = &ExternalId> {
    let names = versions.iter().flat_map(|version| &version.external_ids);
    names.filter(|name| name.is_handed_on())
}

/// Whether a record is nothing but a text, which a request may have named.
fn is_bare(new: &NewRecord) -> bool {
    let of_request = |name: &ExternalId| {
        name.namespace == ExternalId::REQUEST && !name.id.starts_with(ExternalId::LESSON)
    };
    new.external_ids.iter().all(of_request)
        && (new.supersedes, new.timestamp, &new.details) == (None, None, &None)
        && new.session_id.is_empty()
}

/// Makes ids; remembers the last one so that two records of one millisecond keep their order.
#[derive(Debug)]
pub(crate) struct IdSource {
    state: u64,
    last: u128,
}

impl IdSource {
    /// `seed` decides the random bits; `last` is the highest id of the file.
    pub(crate) fn new(seed: u64, last: Option<RecordId>) -> Self {
        Self {
            state: seed,
            last: last.map_or(0, RecordId::to_u128),
        }
    }

    /// Goes on from an id that came into the file otherwise.
    pub(crate) fn go_on_from(&mut self, last: RecordId) {
        self.last = self.last.max(last.to_u128());
    }

    /// The next id, greater than every one before it even if `now` went backwards.
    pub(crate) fn next(&mut self, now: DateTime<Utc>) -> RecordId {
        let unix_ms = u64::try_from(now.timestamp_millis()).unwrap_or(0);
        let mut random = || u128::from(splitmix(&mut self.state));
        let random = (random() << 64) | random();
        let fresh = RecordId::from_parts(unix_ms, random & ((1 << 80) - 1)).to_u128();
        // Not the very next one: a clone of this file goes on from the same last id.
        let step = 1 + (random & ((1 << 40) - 1));
        self.last = fresh.max(self.last.saturating_add(step));
        RecordId::from_u128(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reprise_types::parse_timestamp;

    #[test]
    fn ids_increase_even_when_the_clock_goes_backwards() {
        let later = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let earlier = parse_timestamp("2026-02-16T08:00:00Z").unwrap();
        let mut ids = IdSource::new(7, None);
        let made = [later, later, earlier, later].map(|now| ids.next(now));
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]), "{made:?}");
    }

    #[test]
    fn two_that_go_on_from_one_id_do_not_meet() {
        let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let last = IdSource::new(7, None).next(now);
        let earlier = parse_timestamp("2026-02-16T08:00:00Z").unwrap();
        let [one, other] = [1, 2].map(|seed| IdSource::new(seed, Some(last)).next(earlier));
        assert!(one != other && one > last && other > last);
    }

    #[test]
    fn one_seed_gives_one_sequence() {
        let now = parse_timestamp("2026-02-16T09:00:00Z").unwrap();
        let run = |seed| {
            let mut ids = IdSource::new(seed, None);
            (0..3).map(|_| ids.next(now)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
