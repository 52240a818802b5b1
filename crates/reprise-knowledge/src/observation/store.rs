//! Asking for observations as ralph's knowledge store does: by type, importance, time, tags and
//! words, related ones both ways.

use super::{Observation, ObservationType};
use crate::prelude::*;

/// Observations of a memory, the newest first.
#[derive(Debug, Default)]
pub struct Observations(Vec<MemoryRecord>);

/// Which observations are asked for; every part that is given must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObservationQuery<'a> {
    pub types: &'a [ObservationType],
    /// From this instant on.
    pub since: Option<DateTime<Utc>>,
    /// Up to this instant, which belongs to it (R19).
    pub until: Option<DateTime<Utc>>,
    /// Type times confidence, cut to a whole number, is at least this.
    pub min_importance: u8,
    pub session: Option<&'a str>,
    pub tags: &'a [String],
    /// All of the tags, not any of them.
    pub match_all_tags: bool,
}

/// Whether a record came as a frame or was kept as an observation.
pub fn is_frame(record: &MemoryRecord) -> bool {
    typed(record, "observation").is_some()
}

/// What its frame is called: an observation's type, else the frame's own.
pub fn frame_type(record: &MemoryRecord) -> &str {
    let part = |pointer: &str| record.details.as_ref()?.pointer(pointer)?.as_str();
    let own = part("/observation_type").or_else(|| part("/frame/frame_type"));
    own.unwrap_or("general")
}

/// When it was first kept: for what came as a frame the time that its own store gave it, which may
/// be before this memory was; for all else, and for a correction, when it was kept here.
fn known_since(record: &MemoryRecord) -> DateTime<Utc> {
    let details = record.details.as_ref();
    let came_as_frame = details.is_some_and(|details| details.get("frame").is_some());
    if came_as_frame && record.supersedes.is_none() {
        record.timestamp
    } else {
        record.known_at
    }
}

impl Observations {
    /// The observations among some records.
    pub fn of(records: impl IntoIterator<Item = MemoryRecord>) -> Self {
        let mut own: Vec<MemoryRecord> = records.into_iter().filter(is_frame).collect();
        own.sort_by_key(|record| std::cmp::Reverse((record.timestamp, record.id)));
        Self(own)
    }

    /// Those that were known at an instant, which belongs to it (R10), among records that nothing
    /// had replaced then.
    pub fn known(unreplaced: impl IntoIterator<Item = MemoryRecord>, at: DateTime<Utc>) -> Self {
        let unreplaced = unreplaced.into_iter();
        Self::of(unreplaced.filter(|record| known_since(record) <= at))
    }

    pub fn records(&self) -> &[MemoryRecord] {
        &self.0
    }

    /// Those that are asked for, the newest first.
    pub fn query<'a>(
        &'a self,
        query: ObservationQuery<'a>,
    ) -> impl Iterator<Item = &'a MemoryRecord> {
        self.0.iter().filter(move |record| admits(record, &query))
    }

    /// Those that belong with one, whichever of the two says so, the newest first (R14); `linked`
    /// are those that a link connects with it.
    pub fn related(&self, to: &MemoryRecord, linked: &[RecordId]) -> Vec<&MemoryRecord> {
        let (own, named) = (names(to), related_ids(to));
        let belongs = |other: &&MemoryRecord| {
            other.id != to.id
                && (linked.contains(&other.id)
                    || !named.is_disjoint(&names(other))
                    || !own.is_disjoint(&related_ids(other)))
        };
        self.0.iter().filter(belongs).collect()
    }

    /// How many there are of each type.
    pub fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for record in &self.0 {
            *counts.entry(frame_type(record)).or_default() += 1;
        }
        counts
    }
}

fn admits(record: &MemoryRecord, query: &ObservationQuery<'_>) -> bool {
    let observation = Observation::of(record);
    let kind = observation.as_ref().map(|own| own.observation_type);
    let importance = observation.as_ref().map_or(0, Observation::importance);
    let tagged = |tag: &String| record.tags.iter().any(|own| own.eq_ignore_ascii_case(tag));
    (query.types.is_empty() || kind.is_some_and(|kind| query.types.contains(&kind)))
        && importance >= query.min_importance
        && query.since.is_none_or(|since| record.timestamp >= since)
        && query.until.is_none_or(|until| record.timestamp <= until)
        && query
            .session
            .is_none_or(|session| record.session_id == session)
        && (query.tags.is_empty()
            || if query.match_all_tags {
                query.tags.iter().all(tagged)
            } else {
                query.tags.iter().any(tagged)
            })
}

fn names(record: &MemoryRecord) -> BTreeSet<String> {
    let frames = record.external_ids.iter();
    let frames = frames.filter(|name| name.namespace == ExternalId::FRAMES);
    let own = std::iter::once(record.id.to_string());
    own.chain(frames.map(|name| name.id.clone())).collect()
}

fn related_ids(record: &MemoryRecord) -> BTreeSet<String> {
    let details = record.details.as_ref();
    let ids = details.and_then(|details| details.get("related_ids"));
    texts(ids).map(str::to_owned).collect()
}
