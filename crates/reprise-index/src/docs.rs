//! The columns that are kept of a document: id, kind, source, session, times. Text and vector are
//! not.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use reprise_types::{CowVec, MemoryKind, MemorySource, RecordId, impl_row_codec};
use xxhash_rust::xxh3::xxh3_64;

use crate::cues::Cues;

/// Instant of an end that has not happened.
pub(crate) const NEVER: i64 = i64::MAX;
/// When a document was forgotten that is a hole by now.
const ERASED: i64 = i64::MIN;
/// Session number of a document without a session.
pub(crate) const NO_SESSION: u32 = u32::MAX;

/// One document as the index keeps it. Instants are microseconds since the Unix epoch: a recall
/// reads hundreds of documents and the date of only a few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doc {
    pub id: RecordId,
    pub(crate) timestamp: i64,
    pub(crate) known_at: i64,
    pub(crate) forgotten_at: i64,
    pub(crate) superseded_at: i64,
    /// Number of analysed terms of the whole text.
    pub terms: u32,
    pub(crate) session: u32,
    /// Number of analysed terms of the head, at most [`crate::HEAD_TERMS`].
    pub(crate) head_terms: u8,
    pub kind: MemoryKind,
    pub source: MemorySource,
    pub(crate) cues: Cues,
    /// Hash of its speaker's first name; 0 for none.
    pub(crate) speaker: u32,
}

impl_row_codec! {
    Doc {
        id, timestamp, known_at, forgotten_at, superseded_at, terms, session, speaker, head_terms,
        kind, source, cues
    }
}

impl Doc {
    /// Creates the row of a record whose content is erased.
    pub(crate) fn new_hole(id: RecordId) -> Self {
        Self {
            id,
            timestamp: 0,
            known_at: 0,
            forgotten_at: ERASED,
            superseded_at: NEVER,
            terms: 0,
            session: NO_SESSION,
            head_terms: 0,
            kind: MemoryKind::Episode,
            source: MemorySource::UserInput,
            cues: Cues::default(),
            speaker: 0,
        }
    }

    /// Returns when it happened, truncated to microseconds.
    pub fn timestamp(&self) -> DateTime<Utc> {
        instant_from_micros(self.timestamp)
    }

    /// Returns when the store learned of it, truncated to microseconds.
    pub fn known_at(&self) -> DateTime<Utc> {
        instant_from_micros(self.known_at)
    }

    pub fn forgotten_at(&self) -> Option<DateTime<Utc>> {
        (self.forgotten_at != NEVER).then(|| instant_from_micros(self.forgotten_at))
    }

    pub fn superseded_at(&self) -> Option<DateTime<Utc>> {
        (self.superseded_at != NEVER).then(|| instant_from_micros(self.superseded_at))
    }

    /// Returns the number of its session; `None` without a session.
    pub fn session(&self) -> Option<u32> {
        (self.session != NO_SESSION).then_some(self.session)
    }

    /// Whether the record is forgotten and its words and vector are erased: no view shows it.
    pub fn is_hole(&self) -> bool {
        self.forgotten_at == ERASED
    }

    /// Whether it can be returned now: neither forgotten nor superseded.
    pub fn is_live(&self) -> bool {
        self.forgotten_at == NEVER && self.superseded_at == NEVER
    }

    /// Whether it could have been returned at `instant`.
    pub(crate) fn was_live_at(&self, instant: i64) -> bool {
        self.known_at <= instant && self.forgotten_at > instant && self.superseded_at > instant
    }
}

/// Properties of a document that the ranking uses in addition to its scores.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no columns"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocTraits {
    pub embedded: bool,
    /// It is the user's own words.
    pub by_user: bool,
    /// Its text mentions a time.
    pub dated: bool,
    /// Its text is a standing instruction or preference.
    pub instruction: bool,
    /// Every sentence is a question: it answers only if it says more than the query.
    pub only_asks: bool,
    /// It is a prompt that also states something, which may answer a query.
    pub informative_prompt: bool,
    /// It is a prompt that states nothing, which answers no query.
    pub bare_prompt: bool,
    /// Hash of its speaker's first name, as in [`crate::QueryTerm::hash`]; 0 for none.
    pub speaker: u32,
    pub session: Option<u32>,
    /// Number of analysed terms of its text.
    pub terms: u32,
    /// The live documents before and after it in its session.
    pub neighbours: (Option<u32>, Option<u32>),
    /// Whether each neighbour is a dialogue turn with it: the speakers differ and at least one of
    /// the two is a person.
    pub neighbours_in_dialogue: (bool, bool),
}

/// Converts microseconds to an instant. Out-of-range values, which only a forged file has, become
/// the nearest representable instant.
pub(crate) fn instant_from_micros(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros).unwrap_or(if micros < 0 {
        DateTime::<Utc>::MIN_UTC
    } else {
        DateTime::<Utc>::MAX_UTC
    })
}

pub(crate) fn micros_from_instant(instant: DateTime<Utc>) -> i64 {
    // The last value is reserved for `NEVER`; the range of chrono ends before it.
    instant.timestamp_micros().min(NEVER - 1)
}

/// Session names, numbered in order of first appearance: the names of a saved section, end to end,
/// then newer ones. A session whose documents are all erased keeps its number and has no name.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionNames {
    saved: Arc<str>,
    /// The end of each saved name.
    ends: Arc<[u32]>,
    /// Hashes and numbers of the saved names, ascending; built at the first lookup.
    numbers: Arc<OnceLock<Vec<(u64, u32)>>>,
    recent: CowVec<Arc<str>>,
}

impl SessionNames {
    /// Wraps saved names and their ends; `None` if these do not fit.
    pub(crate) fn from_saved((saved, ends): (Arc<str>, Arc<[u32]>)) -> Option<Self> {
        let last = ends.last().map_or(0, |end| *end as usize);
        (ends.is_sorted() && last == saved.len()).then(|| Self {
            saved,
            ends,
            ..Self::default()
        })
    }

    /// Returns the names end to end, and the end of each.
    pub(crate) fn to_saved(&self) -> (Arc<str>, Arc<[u32]>) {
        join_names(self.iter())
    }

    fn find_saved(&self, name: &str) -> Option<u32> {
        let numbers = self.numbers.get_or_init(|| {
            let hash = |number: u32| xxh3_64(self.name(number).unwrap_or_default().as_bytes());
            let mut numbers: Vec<_> = (0..self.ends.len() as u32).map(|n| (hash(n), n)).collect();
            numbers.sort_unstable();
            numbers
        });
        let hash = xxh3_64(name.as_bytes());
        let from = numbers.partition_point(|known| known.0 < hash);
        let same = numbers
            .iter()
            .skip(from)
            .take_while(|known| known.0 == hash);
        let mut same = same.map(|known| known.1);
        same.find(|number| self.name(*number) == Some(name))
    }

    /// Returns how many sessions have a name.
    pub(crate) fn named_count(&self) -> usize {
        self.iter().filter(|name| !name.is_empty()).count()
    }

    /// Removes the names of some sessions, ascending; their numbers stay.
    pub(crate) fn remove_names(&mut self, sessions: &[u32]) {
        let count = self.ends.len() as u32;
        let (of_saved, of_recent) =
            sessions.split_at(sessions.partition_point(|number| *number < count));
        if !of_saved.is_empty() {
            let kept = (0..count).map(|number| {
                let name = self
                    .name(number)
                    .filter(|_| of_saved.binary_search(&number).is_err());
                name.unwrap_or_default()
            });
            (self.saved, self.ends) = join_names(kept);
            self.numbers = Arc::default();
        }
        for number in of_recent {
            if let Some(name) = self.recent.get_mut((number - count) as usize) {
                *name = Arc::from("");
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len() + self.recent.len()
    }

    pub(crate) fn name(&self, session: u32) -> Option<&str> {
        let number = session as usize;
        if let Some(end) = self.ends.get(number) {
            let before = number
                .checked_sub(1)
                .and_then(|before| self.ends.get(before));
            let start = before.map_or(0, |start| *start as usize);
            return Some(self.saved.get(start..*end as usize).unwrap_or_default());
        }
        self.recent
            .get(number - self.ends.len())
            .map(|name| &**name)
    }

    /// Finds the number of a session: `NO_SESSION` for the empty name, `None` for an unknown one.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        if name.is_empty() {
            return Some(NO_SESSION);
        }
        self.find_saved(name).or_else(|| {
            let recent = self.recent.iter().position(|known| **known == *name)?;
            Some((self.ends.len() + recent) as u32)
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).filter_map(|number| self.name(number))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.saved.len()
            + size_of_val(&*self.ends)
            + self.recent.memory_bytes()
            + self
                .recent
                .iter()
                .map(|name| name.len() + 16)
                .sum::<usize>()
    }
}

/// Joins names end to end, and returns the end of each.
fn join_names<'n>(names: impl Iterator<Item = &'n str>) -> (Arc<str>, Arc<[u32]>) {
    let mut joined = String::new();
    let mut ends = Vec::new();
    for name in names {
        joined.push_str(name);
        ends.push(joined.len() as u32);
    }
    (joined.into(), ends.into())
}

/// The writer's map from session name to number, built at the first lookup. Never iterated.
#[derive(Debug, Default)]
pub(crate) struct SessionInterner {
    numbers: Option<HashMap<Arc<str>, u32>>,
}

impl SessionInterner {
    /// Returns the number of `name`; a new name gets the next number.
    pub(crate) fn intern(&mut self, sessions: &mut SessionNames, name: &str) -> u32 {
        if name.is_empty() {
            return NO_SESSION;
        }
        let numbers = self
            .numbers
            .get_or_insert_with(|| sessions.iter().map(Arc::from).zip(0..).collect());
        if let Some(&number) = numbers.get(name) {
            return number;
        }
        let number = sessions.len() as u32;
        let name: Arc<str> = Arc::from(name);
        sessions.recent.push(Arc::clone(&name));
        numbers.insert(name, number);
        number
    }

    /// Removes a name, so that the next document with it starts a new session number.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(numbers) = &mut self.numbers {
            numbers.remove(name);
        }
    }
}

/// Finds the first row with this id by binary search: ids never descend, and a hole repeats the id
/// before it.
pub(crate) fn find_row(rows: &CowVec<Doc>, id: RecordId) -> Option<u32> {
    let (mut low, mut high) = (0, rows.len());
    while low < high {
        let middle = low.midpoint(high);
        if rows.get(middle)?.id < id {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (rows.get(low)?.id == id).then_some(low as u32)
}
