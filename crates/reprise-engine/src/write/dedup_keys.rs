//! The deduplication keys: from the hash of (namespace, external id) to the ordinal of the record
//! that has it.
//!
//! A derived part of the file (tag 0x47). A hit is a hint: the caller compares the ids themselves,
//! because the hash is not a security boundary.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use reprise_index::LazyPart;
use reprise_types::{ByteReader, ByteWriter, EmbeddingSpace, ExternalId, encode_all};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Tag of the part in the file.
pub(crate) const KEYS_TAG: u8 = 0x47;
const VERSION: u8 = 3;
const ROW_BYTES: usize = 20;
/// Bytes of the fixed fields: version, length of the header, XXH3-64 of the header and of the rows.
const FIXED_BYTES: usize = 1 + 4 + 8 + 8;
/// Longest header in bytes.
const HEAD_MAX: usize = 1 << 18;
/// Number of keys from which on a map is not merged with later ones.
const RECENT_MAX: usize = 65_536;

/// What a checkpoint stores about the memory as a whole, before its keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct KeysHeader {
    /// The last `known_at`; `None` if nothing was written yet, or by a version without this field.
    pub(crate) known_at: Option<DateTime<Utc>>,
    /// The configured space, if one was.
    pub(crate) space: Option<EmbeddingSpace>,
}

impl KeysHeader {
    /// Encodes the header as `micros i64, i64::MIN for none | dimensions u16, 0 for none | model
    /// u16 | version u16 | model's bytes | version's bytes`, little-endian.
    fn encode(&self) -> Vec<u8> {
        let out = &mut ByteWriter::with_fixed_layout(Vec::new());
        let micros = self.known_at.map_or(i64::MIN, |at| at.timestamp_micros());
        let (dimensions, model, version) = match &self.space {
            Some(space) => (space.dimensions, &*space.model, &*space.version),
            None => (0, "", ""),
        };
        let lengths = [model.len() as u16, version.len() as u16];
        encode_all!(out, micros, dimensions, lengths);
        out.write_raw(&model.as_bytes()[..usize::from(lengths[0])]);
        out.write_raw(&version.as_bytes()[..usize::from(lengths[1])]);
        std::mem::take(&mut out.bytes)
    }

    /// Decodes what [`Self::encode`] wrote; `None` for any other bytes.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let r = &mut ByteReader::with_fixed_layout(bytes);
        let (micros, dimensions, [model, version]): (i64, u16, [u16; 2]) =
            (r.read_value()?, r.read_value()?, r.read_value()?);
        let mut text = |length| String::from_utf8(r.read_raw(usize::from(length))?.to_vec()).ok();
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

/// Keys that were inserted after the last checkpoint.
type RecentKeys = HashMap<u128, u32>;

/// Sorted rows of the last checkpoint, left in the file until a key is looked up, and the keys
/// inserted since. Cheap to clone once the newest keys are sealed.
#[derive(Debug, Clone, Default)]
pub(crate) struct DedupKeys {
    base: Arc<SavedRows>,
    /// Maps that no longer change, in order of age, and mostly of size.
    sealed: Vec<Arc<RecentKeys>>,
    /// Number of maps at the front that a checkpoint is made of; they are not merged.
    saving: usize,
    /// The map that receives new keys.
    recent: RecentKeys,
}

/// The rows of a part that [`DedupKeys::to_part`] wrote, with the rows and the number of sealed
/// maps that they were made of.
#[derive(Debug)]
pub(crate) struct SavedKeys {
    base: Arc<SavedRows>,
    before: Arc<SavedRows>,
    sealed: usize,
}

#[derive(Debug)]
struct SavedRows {
    part: LazyPart,
    rows_from: u64,
    len: usize,
    check: u64,
    /// The rows once they were read; `None` in it if they are damaged.
    rows: OnceLock<Option<Vec<u8>>>,
}

impl Default for SavedRows {
    fn default() -> Self {
        Self::from_rows(Vec::new())
    }
}

impl SavedRows {
    /// Wraps rows that are in memory.
    fn from_rows(rows: Vec<u8>) -> Self {
        Self {
            part: LazyPart::from(Vec::new()),
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

/// Returns the 128-bit key of an external id.
pub(crate) fn hash_external_id(id: &ExternalId) -> u128 {
    let mut bytes = Vec::with_capacity(id.namespace.len() + id.id.len() + 1);
    bytes.extend_from_slice(id.namespace.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(id.id.as_bytes());
    xxh3_128(&bytes)
}

impl DedupKeys {
    /// Returns the newest record with this key; of a corrected record, its newest version. Finds
    /// nothing in damaged rows: a caller that is about to write checks [`Self::is_sound`] first.
    pub(crate) fn get(&self, key: u128) -> Option<u32> {
        let rows = self.rows();
        let at = rows
            .binary_search_by_key(&key, |row| decode_row(row).0)
            .ok();
        let saved = at.and_then(|at| rows.get(at)).map(|row| decode_row(row).1);
        let later = self
            .recent_maps()
            .filter_map(|recent| recent.get(&key).copied());
        saved.max(later.max())
    }

    /// Returns the maps of keys inserted since the last checkpoint.
    fn recent_maps(&self) -> impl Iterator<Item = &RecentKeys> {
        let sealed = self.sealed.iter().map(|sealed| &**sealed);
        sealed.chain([&self.recent])
    }

    /// Whether the rows in the file are whole. Reads them the first time.
    pub(crate) fn is_sound(&self) -> bool {
        self.base.rows().is_some()
    }

    /// Returns work for another thread that reads the rows ahead; `None` if they were read.
    pub(crate) fn loader(&self) -> Option<impl FnOnce() + Send + use<>> {
        let base = Arc::clone(&self.base);
        let is_left = base.rows.get().is_none();
        is_left.then_some(move || {
            base.rows();
        })
    }

    fn rows(&self) -> &[[u8; ROW_BYTES]] {
        self.base.rows().unwrap_or_default()
    }

    /// Inserts a key; the newest record keeps it.
    pub(crate) fn insert(&mut self, key: u128, ordinal: u32) {
        let newest = self.recent.entry(key).or_insert(ordinal);
        *newest = ordinal.max(*newest);
        if self.recent.len() == RECENT_MAX {
            self.seal_recent();
        }
    }

    /// Seals the newest keys, with the maps before them that are no larger: so there are few maps,
    /// and a key is moved once for each doubling of its map.
    fn seal_recent(&mut self) {
        if self.recent.is_empty() {
            return;
        }
        let mut newest = std::mem::take(&mut self.recent);
        while let Some(before) = self.sealed.last()
            && self.sealed.len() > self.saving
            && before.len() <= newest.len().min(RECENT_MAX)
        {
            for (key, ordinal) in before.iter() {
                newest.entry(*key).or_insert(*ordinal);
            }
            self.sealed.pop();
        }
        self.sealed.push(Arc::new(newest));
    }

    /// Copies the keys as of now for readers; nothing large is copied.
    pub(crate) fn publish(&mut self) -> Self {
        self.seal_recent();
        self.clone()
    }

    /// Copies the keys as of now for a checkpoint.
    pub(crate) fn copy(&mut self) -> Self {
        let copy = self.publish();
        self.saving = self.sealed.len();
        copy
    }

    /// Counts the keys; reads those in the file only if others were inserted since.
    pub(crate) fn len(&self) -> usize {
        let is_saved = |key: &u128| {
            let found = self
                .rows()
                .binary_search_by_key(key, |row| decode_row(row).0);
            found.is_ok()
        };
        let later = self.recent_maps().enumerate().map(|(at, recent)| {
            let is_known = |key: &u128| {
                let mut before = self.recent_maps().take(at);
                before.any(|recent| recent.contains_key(key)) || is_saved(key)
            };
            recent.keys().filter(|key| !is_known(key)).count()
        });
        self.base.len + later.sum::<usize>()
    }

    /// Returns the keys of every record, in key order, in one pass over all of them.
    pub(crate) fn group_by_ordinal(&self) -> HashMap<u32, Vec<u128>> {
        let mut all: HashMap<u32, Vec<u128>> = HashMap::new();
        for (key, ordinal) in self.sorted_rows() {
            all.entry(ordinal).or_default().push(key);
        }
        all
    }

    fn sorted_rows(&self) -> Vec<(u128, u32)> {
        let mut rows: Vec<(u128, u32)> = self.rows().iter().map(decode_row).collect();
        let later = self.recent_maps().flatten();
        rows.extend(later.map(|(key, ordinal)| (*key, *ordinal)));
        // Of two rows of one key the newer comes first, and stays.
        rows.sort_unstable_by_key(|(key, ordinal)| (*key, Reverse(*ordinal)));
        rows.dedup_by_key(|row| row.0);
        rows
    }

    /// Encodes the part: fixed fields, header, then 20-byte rows in key order.
    pub(crate) fn to_part(&self, head: &KeysHeader) -> Vec<u8> {
        let (of_head, rows) = (
            head.encode(),
            &mut ByteWriter::with_fixed_layout(Vec::new()),
        );
        for (key, ordinal) in self.sorted_rows() {
            encode_all!(rows, key, ordinal);
        }
        let (head_check, check) = (xxh3_64(&of_head), xxh3_64(&rows.bytes));
        let out =
            &mut ByteWriter::with_fixed_layout(Vec::with_capacity(FIXED_BYTES + rows.bytes.len()));
        encode_all!(out, VERSION, of_head.len() as u32, head_check, check);
        out.write_raw(&of_head);
        out.write_raw(&rows.bytes);
        std::mem::take(&mut out.bytes)
    }

    /// Encodes the part, and returns with it what [`Self::adopt_saved`] needs.
    pub(crate) fn into_part(self, head: &KeysHeader) -> (Vec<u8>, SavedKeys) {
        let part = self.to_part(head);
        let rows = part
            .get(FIXED_BYTES + head.encode().len()..)
            .unwrap_or_default();
        let base = Arc::new(SavedRows::from_rows(rows.to_vec()));
        let saved = SavedKeys {
            base,
            before: self.base,
            sealed: self.sealed.len(),
        };
        (part, saved)
    }

    /// Replaces the maps by the rows that were written of a copy, unless the rows were replaced
    /// meanwhile.
    pub(crate) fn adopt_saved(&mut self, saved: SavedKeys) {
        // Nothing was written of damaged rows: the next caller rebuilds.
        if Arc::ptr_eq(&self.base, &saved.before) && self.is_sound() {
            self.base = saved.base;
            self.sealed.drain(..saved.sealed);
            self.saving = 0;
        }
    }

    /// Opens a part and leaves its rows in the file; `None` for any other bytes, and the caller
    /// rebuilds.
    pub(crate) fn from_part(part: LazyPart) -> Option<(Self, KeysHeader)> {
        let mut fixed = [0; FIXED_BYTES];
        if part.size < FIXED_BYTES as u64 || !(part.read)(0, &mut fixed) || fixed[0] != VERSION {
            return None;
        }
        let r = &mut ByteReader::with_fixed_layout(&fixed[1..]);
        let (length, head_check, check) = (r.read_u32()? as usize, r.read_u64()?, r.read_u64()?);
        let rows_from = (FIXED_BYTES + length) as u64;
        let rows = part.size.checked_sub(rows_from)?;
        if length > HEAD_MAX || !rows.is_multiple_of(ROW_BYTES as u64) {
            return None;
        }
        let mut bytes = vec![0; length];
        if !(part.read)(FIXED_BYTES as u64, &mut bytes) || xxh3_64(&bytes) != head_check {
            return None;
        }
        let head = KeysHeader::decode(&bytes)?;
        let base = SavedRows {
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

/// Decodes a row: key and ordinal, little-endian.
fn decode_row(row: &[u8; ROW_BYTES]) -> (u128, u32) {
    let key = row.first_chunk().map_or(0, |key| u128::from_le_bytes(*key));
    let ordinal = row.last_chunk().map_or(0, |last| u32::from_le_bytes(*last));
    (key, ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_record_keeps_its_key_through_the_part() {
        let mut keys = DedupKeys::default();
        for (ordinal, id) in ["a", "b", "a"].iter().enumerate() {
            keys.insert(
                hash_external_id(&ExternalId::new("batch", *id)),
                u32::try_from(ordinal).unwrap(),
            );
        }
        let head = KeysHeader {
            known_at: reprise_types::parse_timestamp("2026-02-16T09:00:00.123456Z").ok(),
            space: Some(crate::tests::space()),
        };
        let (read, found) = DedupKeys::from_part(keys.to_part(&head).into()).unwrap();
        assert_eq!(found, head);
        for keys in [&keys, &read] {
            assert_eq!(
                keys.get(hash_external_id(&ExternalId::new("batch", "a"))),
                Some(2)
            );
            assert_eq!(
                keys.get(hash_external_id(&ExternalId::new("batch", "b"))),
                Some(1)
            );
            assert_eq!(
                keys.get(hash_external_id(&ExternalId::new("event", "a"))),
                None
            );
            assert_eq!(keys.len(), 2);
        }
        let mut grown = read;
        for (id, ordinal) in [("a", 9), ("c", 10)] {
            grown.insert(hash_external_id(&ExternalId::new("batch", id)), ordinal);
        }
        assert_eq!(grown.len(), 3, "a key that is known is no new one");
        let ordinal_of =
            |keys: &DedupKeys, id| keys.get(hash_external_id(&ExternalId::new("batch", id)));
        assert_eq!(ordinal_of(&grown, "a"), Some(9));
        grown.insert(hash_external_id(&ExternalId::new("batch", "b")), 0);
        assert_eq!(
            ordinal_of(&grown, "b"),
            Some(1),
            "an older record takes no key"
        );
        let (read, _) = DedupKeys::from_part(grown.to_part(&head).into()).unwrap();
        assert_eq!(
            (ordinal_of(&read, "a"), ordinal_of(&read, "b")),
            (Some(9), Some(1))
        );
    }

    #[test]
    fn what_comes_while_a_part_is_written_stays_and_the_rest_is_looked_up_in_its_rows() {
        let mut keys = DedupKeys::default();
        keys.insert(7, 3);
        let copy = keys.copy();
        keys.insert(8, 4);
        keys.insert(7, 5);
        let (part, saved) = copy.into_part(&KeysHeader::default());
        let (read, _) = DedupKeys::from_part(part.into()).unwrap();
        assert_eq!((read.len(), read.get(7), read.get(8)), (1, Some(3), None));
        keys.adopt_saved(saved);
        assert!(keys.sealed.is_empty() && keys.base.len == 1);
        assert_eq!(
            (keys.len(), keys.get(7), keys.get(8)),
            (2, Some(5), Some(4))
        );
        let mut other = DedupKeys::default();
        other.insert(1, 1);
        other.adopt_saved(keys.copy().into_part(&KeysHeader::default()).1);
        assert_eq!(
            (other.len(), other.get(1), other.get(7)),
            (1, Some(1), None)
        );
    }

    #[test]
    fn other_bytes_are_no_part() {
        let mut part = DedupKeys::default().to_part(&KeysHeader::default());
        let (_, head) = DedupKeys::from_part(part.clone().into()).unwrap();
        assert_eq!(head, KeysHeader::default());
        part.push(0);
        for end in 0..=part.len() {
            let whole = end + 1 == part.len();
            assert_eq!(
                DedupKeys::from_part(part[..end].to_vec().into()).is_some(),
                whole
            );
        }
        assert!(DedupKeys::from_part(vec![9].into()).is_none());
        assert!(DedupKeys::from_part(Vec::new().into()).is_none());
    }

    #[test]
    fn damaged_rows_are_noticed_and_not_believed() {
        let mut keys = DedupKeys::default();
        keys.insert(7, 3);
        let mut part = keys.to_part(&KeysHeader::default());
        let last = part.len() - 1;
        part[last] ^= 1;
        let (damaged, _) = DedupKeys::from_part(part.into()).unwrap();
        assert!(keys.is_sound() && !damaged.is_sound());
        assert_eq!((keys.get(7), damaged.get(7)), (Some(3), None));
    }
}
