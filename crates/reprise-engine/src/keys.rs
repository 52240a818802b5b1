//! The deduplication keys: hash of (namespace, external id) to the ordinal that has it.
//!
//! A derived part of the file (tag 0x47). A hit is a hint: the caller compares the ids themselves,
//! because the hash is not a security boundary.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use reprise_index::LeftPart;
use reprise_types::{ByteReader, ByteWriter, EmbeddingSpace, ExternalId, put_all};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Tag of the part in the file.
pub(crate) const KEYS_TAG: u8 = 0x47;
const VERSION: u8 = 3;
const ROW_BYTES: usize = 20;
/// Version, length of the head, XXH3-64 of the head and of the rows.
const FIXED: usize = 1 + 4 + 8 + 8;
/// No head is longer.
const HEAD_MAX: usize = 1 << 18;
/// So many keys in one map at most: a copy of all of them copies the last map alone.
const RECENT_MAX: usize = 65_536;

/// What a checkpoint says of the store as a whole, in front of its keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// `None` where nothing was written yet, or by a version that did not say.
    pub(crate) known_at: Option<DateTime<Utc>>,
    /// The space that was asked for, where one was.
    pub(crate) space: Option<EmbeddingSpace>,
}

impl Head {
    /// `micros i64, i64::MIN for none | dimensions u16, 0 for none | model u16 | version u16 |
    /// model's bytes | version's bytes`, little-endian.
    fn bytes(&self) -> Vec<u8> {
        let out = &mut ByteWriter::fixed(Vec::new());
        let micros = self.known_at.map_or(i64::MIN, |at| at.timestamp_micros());
        let (dimensions, model, version) = match &self.space {
            Some(space) => (space.dimensions, &*space.model, &*space.version),
            None => (0, "", ""),
        };
        let lengths = [model.len() as u16, version.len() as u16];
        put_all!(out, micros, dimensions, lengths);
        out.raw(&model.as_bytes()[..usize::from(lengths[0])]);
        out.raw(&version.as_bytes()[..usize::from(lengths[1])]);
        std::mem::take(&mut out.bytes)
    }

    /// The inverse of [`Self::bytes`]; `None` for any other bytes.
    fn take(bytes: &[u8]) -> Option<Self> {
        let r = &mut ByteReader::fixed(bytes);
        let (micros, dimensions, [model, version]): (i64, u16, [u16; 2]) =
            (r.get()?, r.get()?, r.get()?);
        let mut text = |length| String::from_utf8(r.take(usize::from(length))?.to_vec()).ok();
        let (model, version) = (text(model)?, text(version)?);
        let space = EmbeddingSpace {
            model,
            version,
            dimensions,
        };
        r.is_empty().then_some(Self {
            known_at: DateTime::from_timestamp_micros(micros).filter(|_| micros != i64::MIN),
            space: (dimensions > 0).then_some(space),
        })
    }
}

/// Keys that came after those of the last checkpoint.
type Recent = HashMap<u128, u32>;

/// Sorted rows of the last checkpoint, left in the file until a key is asked for, and what has come
/// since. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    base: Arc<Base>,
    /// Maps that do not change any more,
    sealed: Vec<Arc<Recent>>,
    /// and the one that takes what comes.
    recent: Recent,
}

/// The rows of a part that [`Keys::to_part`] wrote, and what they were made of: the rows
/// before, and so many sealed maps.
#[derive(Debug)]
pub(crate) struct SavedKeys {
    base: Arc<Base>,
    before: Arc<Base>,
    sealed: usize,
}

#[derive(Debug)]
struct Base {
    part: LeftPart,
    rows_from: u64,
    len: usize,
    check: u64,
    /// `None` where they are damaged.
    rows: OnceLock<Option<Vec<u8>>>,
}

impl Default for Base {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl Base {
    /// Rows in memory.
    fn of(rows: Vec<u8>) -> Self {
        Self {
            part: LeftPart::from(Vec::new()),
            rows_from: 0,
            len: rows.len() / ROW_BYTES,
            check: 0,
            rows: OnceLock::from(Some(rows)),
        }
    }

    fn rows(&self) -> Option<&[[u8; ROW_BYTES]]> {
        let read = || {
            let mut rows = vec![0; self.len * ROW_BYTES];
            let whole = (self.part.read)(self.rows_from, &mut rows);
            (whole && xxh3_64(&rows) == self.check).then_some(rows)
        };
        Some(self.rows.get_or_init(read).as_ref()?.as_chunks().0)
    }
}

/// The 128-bit key of an external id.
pub(crate) fn key_of(id: &ExternalId) -> u128 {
    let mut bytes = Vec::with_capacity(id.namespace.len() + id.id.len() + 1);
    bytes.extend_from_slice(id.namespace.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(id.id.as_bytes());
    xxh3_128(&bytes)
}

impl Keys {
    /// The newest record that has this key: of a record that was corrected its newest version.
    /// Where the rows are damaged it is not known; whoever is about to write asks
    /// [`Self::is_sound`] first.
    pub(crate) fn get(&self, key: u128) -> Option<u32> {
        let rows = self.rows();
        let at = rows.binary_search_by_key(&key, |row| row_of(row).0).ok();
        let saved = at.and_then(|at| rows.get(at)).map(|row| row_of(row).1);
        let later = self.later().filter_map(|recent| recent.get(&key).copied());
        saved.max(later.max())
    }

    /// What came since the last checkpoint.
    fn later(&self) -> impl Iterator<Item = &Recent> {
        let sealed = self.sealed.iter().map(|sealed| &**sealed);
        sealed.chain([&self.recent])
    }

    /// Whether the rows in the file are whole. Reads them the first time.
    pub(crate) fn is_sound(&self) -> bool {
        self.base.rows().is_some()
    }

    /// Work for another thread that reads them beforehand; `None` where they were read.
    pub(crate) fn loading(&self) -> Option<impl FnOnce() + Send + use<>> {
        let base = Arc::clone(&self.base);
        let is_left = base.rows.get().is_none();
        is_left.then_some(move || {
            base.rows();
        })
    }

    fn rows(&self) -> &[[u8; ROW_BYTES]] {
        self.base.rows().unwrap_or_default()
    }

    /// Remembers a key; the newest record keeps it.
    pub(crate) fn insert(&mut self, key: u128, ordinal: u32) {
        let newest = self.recent.entry(key).or_insert(ordinal);
        *newest = ordinal.max(*newest);
        if self.recent.len() == RECENT_MAX {
            self.seal();
        }
    }

    fn seal(&mut self) {
        if !self.recent.is_empty() {
            self.sealed.push(Arc::new(std::mem::take(&mut self.recent)));
        }
    }

    /// The keys as of now, for another thread: nothing is copied.
    pub(crate) fn copy(&mut self) -> Self {
        self.seal();
        self.clone()
    }

    /// How many there are; reads those in the file only where others have come since.
    pub(crate) fn len(&self) -> usize {
        let is_saved = |key: &u128| {
            let found = self.rows().binary_search_by_key(key, |row| row_of(row).0);
            found.is_ok()
        };
        let later = self.later().enumerate().map(|(at, recent)| {
            let is_known = |key: &u128| {
                let mut before = self.later().take(at);
                before.any(|recent| recent.contains_key(key)) || is_saved(key)
            };
            recent.keys().filter(|key| !is_known(key)).count()
        });
        self.base.len + later.sum::<usize>()
    }

    /// The keys of every record, in key order: one pass over all of them.
    pub(crate) fn by_ordinal(&self) -> HashMap<u32, Vec<u128>> {
        let mut all: HashMap<u32, Vec<u128>> = HashMap::new();
        for (key, ordinal) in self.sorted() {
            all.entry(ordinal).or_default().push(key);
        }
        all
    }

    fn sorted(&self) -> Vec<(u128, u32)> {
        let mut rows: Vec<(u128, u32)> = self.rows().iter().map(row_of).collect();
        let later = self.later().flatten();
        rows.extend(later.map(|(key, ordinal)| (*key, *ordinal)));
        // Of two rows of one key the newer comes first, and stays.
        rows.sort_unstable_by_key(|(key, ordinal)| (*key, Reverse(*ordinal)));
        rows.dedup_by_key(|row| row.0);
        rows
    }

    /// The bytes of the part: fixed fields, head, then 20-byte rows in key order.
    pub(crate) fn to_part(&self, head: &Head) -> Vec<u8> {
        let (of_head, rows) = (head.bytes(), &mut ByteWriter::fixed(Vec::new()));
        for (key, ordinal) in self.sorted() {
            put_all!(rows, key, ordinal);
        }
        let (head_check, check) = (xxh3_64(&of_head), xxh3_64(&rows.bytes));
        let out = &mut ByteWriter::fixed(Vec::with_capacity(FIXED + rows.bytes.len()));
        put_all!(out, VERSION, of_head.len() as u32, head_check, check);
        out.raw(&of_head);
        out.raw(&rows.bytes);
        std::mem::take(&mut out.bytes)
    }

    /// The part, and what it says for [`Self::take_saved`].
    pub(crate) fn saved(self, head: &Head) -> (Vec<u8>, SavedKeys) {
        let part = self.to_part(head);
        let rows = part.get(FIXED + head.bytes().len()..).unwrap_or_default();
        let base = Arc::new(Base::of(rows.to_vec()));
        let saved = SavedKeys {
            base,
            before: self.base,
            sealed: self.sealed.len(),
        };
        (part, saved)
    }

    /// Looks keys up in the rows that were written of a copy, where no others have come meanwhile:
    /// until then maps are only added.
    pub(crate) fn take_saved(&mut self, saved: SavedKeys) {
        // Of damaged rows nothing was written: whoever asks next rebuilds.
        if Arc::ptr_eq(&self.base, &saved.before) && self.is_sound() {
            self.base = saved.base;
            self.sealed.drain(..saved.sealed);
        }
    }

    /// Takes a part over, its rows where they lie; `None` for any other bytes, and the caller
    /// rebuilds.
    pub(crate) fn from_part(part: LeftPart) -> Option<(Self, Head)> {
        let mut fixed = [0; FIXED];
        if part.size < FIXED as u64 || !(part.read)(0, &mut fixed) || fixed[0] != VERSION {
            return None;
        }
        let r = &mut ByteReader::fixed(&fixed[1..]);
        let (length, head_check, check) = (r.u32()? as usize, r.u64()?, r.u64()?);
        let rows_from = (FIXED + length) as u64;
        let rows = part.size.checked_sub(rows_from)?;
        if length > HEAD_MAX || !rows.is_multiple_of(ROW_BYTES as u64) {
            return None;
        }
        let mut bytes = vec![0; length];
        if !(part.read)(FIXED as u64, &mut bytes) || xxh3_64(&bytes) != head_check {
            return None;
        }
        let head = Head::take(&bytes)?;
        let base = Base {
            len: (rows / ROW_BYTES as u64) as usize,
            part,
            rows_from,
            check,
            rows: OnceLock::new(),
        };
        let keys = Self {
            base: Arc::new(base),
            ..Self::default()
        };
        Some((keys, head))
    }
}

/// Key and ordinal, little-endian.
fn row_of(row: &[u8; ROW_BYTES]) -> (u128, u32) {
    let key = row.first_chunk().map_or(0, |key| u128::from_le_bytes(*key));
    let ordinal = row.last_chunk().map_or(0, |last| u32::from_le_bytes(*last));
    (key, ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_record_keeps_its_key_through_the_part() {
        let mut keys = Keys::default();
        for (ordinal, id) in ["a", "b", "a"].iter().enumerate() {
            keys.insert(
                key_of(&ExternalId::new("batch", *id)),
                u32::try_from(ordinal).unwrap(),
            );
        }
        let head = Head {
            known_at: reprise_types::parse_timestamp("2026-02-16T09:00:00.123456Z").ok(),
            space: Some(crate::tests::space()),
        };
        let (read, found) = Keys::from_part(keys.to_part(&head).into()).unwrap();
        assert_eq!(found, head);
        for keys in [&keys, &read] {
            assert_eq!(keys.get(key_of(&ExternalId::new("batch", "a"))), Some(2));
            assert_eq!(keys.get(key_of(&ExternalId::new("batch", "b"))), Some(1));
            assert_eq!(keys.get(key_of(&ExternalId::new("event", "a"))), None);
            assert_eq!(keys.len(), 2);
        }
        let mut grown = read;
        for (id, ordinal) in [("a", 9), ("c", 10)] {
            grown.insert(key_of(&ExternalId::new("batch", id)), ordinal);
        }
        assert_eq!(grown.len(), 3, "a key that is known is no new one");
        let held = |keys: &Keys, id| keys.get(key_of(&ExternalId::new("batch", id)));
        assert_eq!(held(&grown, "a"), Some(9));
        grown.insert(key_of(&ExternalId::new("batch", "b")), 0);
        assert_eq!(held(&grown, "b"), Some(1), "an older record takes no key");
        let (read, _) = Keys::from_part(grown.to_part(&head).into()).unwrap();
        assert_eq!((held(&read, "a"), held(&read, "b")), (Some(9), Some(1)));
    }

    #[test]
    fn what_comes_while_a_part_is_written_stays_and_the_rest_is_looked_up_in_its_rows() {
        let mut keys = Keys::default();
        keys.insert(7, 3);
        let copy = keys.copy();
        keys.insert(8, 4);
        keys.insert(7, 5);
        let (part, saved) = copy.saved(&Head::default());
        let (read, _) = Keys::from_part(part.into()).unwrap();
        assert_eq!((read.len(), read.get(7), read.get(8)), (1, Some(3), None));
        keys.take_saved(saved);
        assert!(keys.sealed.is_empty() && keys.base.len == 1);
        assert_eq!(
            (keys.len(), keys.get(7), keys.get(8)),
            (2, Some(5), Some(4))
        );
        let mut other = Keys::default();
        other.insert(1, 1);
        other.take_saved(keys.copy().saved(&Head::default()).1);
        assert_eq!(
            (other.len(), other.get(1), other.get(7)),
            (1, Some(1), None)
        );
    }

    #[test]
    fn other_bytes_are_no_part() {
        let mut part = Keys::default().to_part(&Head::default());
        let (_, head) = Keys::from_part(part.clone().into()).unwrap();
        assert_eq!(head, Head::default());
        part.push(0);
        for end in 0..=part.len() {
            let whole = end + 1 == part.len();
            assert_eq!(
                Keys::from_part(part[..end].to_vec().into()).is_some(),
                whole
            );
        }
        assert!(Keys::from_part(vec![9].into()).is_none());
        assert!(Keys::from_part(Vec::new().into()).is_none());
    }

    #[test]
    fn damaged_rows_are_noticed_and_not_believed() {
        let mut keys = Keys::default();
        keys.insert(7, 3);
        let mut part = keys.to_part(&Head::default());
        let last = part.len() - 1;
        part[last] ^= 1;
        let (damaged, _) = Keys::from_part(part.into()).unwrap();
        assert!(keys.is_sound() && !damaged.is_sound());
        assert_eq!((keys.get(7), damaged.get(7)), (Some(3), None));
    }
}
