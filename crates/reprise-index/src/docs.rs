//! The columns that are kept of a document: id, kind, source, session, times. Text and vector are
//! not.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use reprise_types::{CowVec, MemoryKind, MemorySource, RecordId, impl_binary_codec};
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

impl_binary_codec! {
    Doc {
        id, timestamp, known_at, forgotten_at, superseded_at, terms, session, speaker, head_terms,
        kind, source, cues
    }
}

impl Doc {
    /// Bytes of the saved columns.
    pub(crate) const BYTES: usize = 16 + 4 * 8 + 3 * 4 + 4;

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

/// Session names, numbered in order of first appearance: the names of a saved part, read in place,
/// then newer ones. A session whose documents are all erased keeps its number and has no name.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionNames {
    saved: Option<SavedNames>,
    recent: CowVec<Arc<str>>,
}

/// Names stored end to end, and the end offset of each (u32).
#[derive(Debug, Clone)]
struct SavedNames {
    ends: Arc<[u8]>,
    names: Arc<[u8]>,
    /// Hashes and numbers of the names, ascending; built at the first lookup.
    numbers: Arc<OnceLock<Vec<(u64, u32)>>>,
}

impl SavedNames {
    fn len(&self) -> usize {
        self.ends.len() / 4
    }

    fn get(&self, number: usize) -> Option<&str> {
        let end = |at: usize| {
            let four = self.ends.get(at * 4..)?.first_chunk()?;
            Some(u32::from_le_bytes(*four) as usize)
        };
        let start = match number {
            0 => 0,
            _ => end(number - 1)?,
        };
        std::str::from_utf8(self.names.get(start..end(number)?)?).ok()
    }

    fn find(&self, name: &str) -> Option<u32> {
        let numbers = self.numbers.get_or_init(|| {
            let hash =
                |number: u32| xxh3_64(self.get(number as usize).unwrap_or_default().as_bytes());
            let mut numbers: Vec<_> = (0..self.len() as u32).map(|n| (hash(n), n)).collect();
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
        same.find(|number| self.get(*number as usize) == Some(name))
    }
}

impl SessionNames {
    /// Wraps saved names; `None` if they are none.
    pub(crate) fn from_saved(ends: Vec<u8>, names: Vec<u8>) -> Option<Self> {
        let (numbers, rest) = ends.as_chunks::<4>();
        let numbers = || numbers.iter().map(|end| u32::from_le_bytes(*end) as usize);
        let is_sound = rest.is_empty()
            && numbers().is_sorted()
            && numbers().next_back().unwrap_or(0) == names.len()
            && std::str::from_utf8(&names).is_ok();
        is_sound.then(|| Self {
            saved: Some(SavedNames {
                ends: ends.into(),
                names: names.into(),
                numbers: Arc::default(),
            }),
            recent: CowVec::default(),
        })
    }

    /// Returns the end of each name (u32), and the names end to end.
    pub(crate) fn to_bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut ends, mut names) = (Vec::new(), Vec::new());
        for name in self.iter() {
            names.extend_from_slice(name.as_bytes());
            ends.extend_from_slice(&(names.len() as u32).to_le_bytes());
        }
        (ends, names)
    }

    /// Returns how many sessions have a name.
    pub(crate) fn named_count(&self) -> usize {
        self.iter().filter(|name| !name.is_empty()).count()
    }

    /// Removes the names of some sessions, ascending; their numbers stay.
    pub(crate) fn remove_names(&mut self, sessions: &[u32]) {
        let count = self.saved_len() as u32;
        let (of_saved, of_recent) =
            sessions.split_at(sessions.partition_point(|number| *number < count));
        if let Some(saved) = self.saved.as_ref().filter(|_| !of_saved.is_empty()) {
            let mut ends = Vec::with_capacity(saved.ends.len());
            let mut names = Vec::with_capacity(saved.names.len());
            for number in 0..count {
                if of_saved.binary_search(&number).is_err() {
                    let name = saved.get(number as usize).unwrap_or_default();
                    names.extend_from_slice(name.as_bytes());
                }
                ends.extend_from_slice(&(names.len() as u32).to_le_bytes());
            }
            self.saved = Some(SavedNames {
                ends: ends.into(),
                names: names.into(),
                numbers: Arc::default(),
            });
        }
        for number in of_recent {
            if let Some(name) = self.recent.get_mut((number - count) as usize) {
                *name = Arc::from("");
            }
        }
    }

    fn saved_len(&self) -> usize {
        self.saved.as_ref().map_or(0, SavedNames::len)
    }

    pub(crate) fn len(&self) -> usize {
        self.saved_len() + self.recent.len()
    }

    pub(crate) fn name(&self, session: u32) -> Option<&str> {
        let number = session as usize;
        match &self.saved {
            Some(saved) if number < saved.len() => Some(saved.get(number).unwrap_or_default()),
            _ => self
                .recent
                .get(number - self.saved_len())
                .map(|name| &**name),
        }
    }

    /// Finds the number of a session: `NO_SESSION` for the empty name, `None` for an unknown one.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        if name.is_empty() {
            return Some(NO_SESSION);
        }
        let saved = self.saved.as_ref().and_then(|saved| saved.find(name));
        saved.or_else(|| {
            let recent = self.recent.iter().position(|known| **known == *name)?;
            Some((self.saved_len() + recent) as u32)
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).filter_map(|number| self.name(number))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let saved = self.saved.as_ref();
        saved.map_or(0, |saved| saved.ends.len() + saved.names.len())
            + self.recent.memory_bytes()
            + self
                .recent
                .iter()
                .map(|name| name.len() + 16)
                .sum::<usize>()
    }
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
