//! Queries observations as ralph's knowledge store does: by type, importance, time and tags, and
//! related ones in both directions.

use super::{Observation, ObservationType};
use crate::prelude::*;

/// Observations of a memory, the newest first.
#[derive(Debug, Default)]
pub struct Observations(Vec<MemoryRecord>);

/// A query for observations; all given conditions must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObservationQuery<'a> {
    pub types: &'a [ObservationType],
    /// Earliest instant, inclusive.
    pub since: Option<DateTime<Utc>>,
    /// Latest instant, inclusive.
    pub until: Option<DateTime<Utc>>,
    /// Least importance: that of the type times the confidence, truncated.
    pub min_importance: u8,
    pub session: Option<&'a str>,
    pub tags: &'a [String],
    /// Whether all tags must match, instead of any.
    pub match_all_tags: bool,
}

/// Whether a record is an observation, imported as a frame or not.
pub fn is_observation(record: &MemoryRecord) -> bool {
    details_of_type(record, "observation").is_some()
}

/// Returns the type of its frame: that of the observation, or else the frame's own.
pub fn frame_type(record: &MemoryRecord) -> &str {
    let part = |pointer: &str| record.details.as_ref()?.pointer(pointer)?.as_str();
    let own = part("/observation_type").or_else(|| part("/frame/frame_type"));
    own.unwrap_or("general")
}

/// Returns when it was first known: for an imported frame the time of its own store, which may be
/// before this memory began; for any other record, and for a correction, when it was kept here.
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
    /// Selects the observations among some records.
    pub fn select_from(records: impl IntoIterator<Item = MemoryRecord>) -> Self {
        let mut own: Vec<MemoryRecord> = records.into_iter().filter(is_observation).collect();
        own.sort_by_key(|record| std::cmp::Reverse((record.timestamp, record.id)));
        Self(own)
    }

    /// Selects the observations that were known at an instant, inclusive, among records that
    /// nothing had replaced then.
    pub fn select_known_at(
        unreplaced: impl IntoIterator<Item = MemoryRecord>,
        at: DateTime<Utc>,
    ) -> Self {
        let unreplaced = unreplaced.into_iter();
        Self::select_from(unreplaced.filter(|record| known_since(record) <= at))
    }

    pub fn records(&self) -> &[MemoryRecord] {
        &self.0
    }

    /// Returns the observations that match a query, the newest first.
    pub fn find_matching<'a>(
        &'a self,
        query: ObservationQuery<'a>,
    ) -> impl Iterator<Item = &'a MemoryRecord> {
        self.0
            .iter()
            .filter(move |record| matches_query(record, &query))
    }

    /// Returns the observations that are related to one, in either direction, the newest first;
    /// `linked` are those that a link connects with it.
    pub fn find_related(&self, to: &MemoryRecord, linked: &[RecordId]) -> Vec<&MemoryRecord> {
        let (own, named) = (frame_names(to), related_ids(to));
        let belongs = |other: &&MemoryRecord| {
            other.id != to.id
                && (linked.contains(&other.id)
                    || !named.is_disjoint(&frame_names(other))
                    || !own.is_disjoint(&related_ids(other)))
        };
        self.0.iter().filter(belongs).collect()
    }

    /// Counts the observations of each type.
    pub fn count_by_type(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for record in &self.0 {
            *counts.entry(frame_type(record)).or_default() += 1;
        }
        counts
    }
}

fn matches_query(record: &MemoryRecord, query: &ObservationQuery<'_>) -> bool {
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

fn frame_names(record: &MemoryRecord) -> BTreeSet<String> {
    let frames = record.external_ids.iter();
    let frames = frames.filter(|name| name.namespace == ExternalId::FRAMES);
    let own = std::iter::once(record.id.to_string());
    own.chain(frames.map(|name| name.id.clone())).collect()
}

fn related_ids(record: &MemoryRecord) -> BTreeSet<String> {
    let details = record.details.as_ref();
    let ids = details.and_then(|details| details.get("related_ids"));
    list_texts(ids).map(str::to_owned).collect()
}
