//! The deduplication keys: hash of (namespace, external id) to the ordinal that has it.
//!
//! A derived part of the file (tag 0x47). A hit is a hint: the caller compares the ids themselves,
//! because the hash is not a security boundary.

use std::collections::HashMap;

use reprise_types::ExternalId;
use xxhash_rust::xxh3::xxh3_128;

use crate::head::Head;

/// Tag of the part in the file.
pub(crate) const KEYS_TAG: u8 = 0x47;
const VERSION: u8 = 2;
/// The version without a head.
const VERSION_1: u8 = 1;
const ROW_BYTES: usize = 20;

/// Sorted rows of the last checkpoint, searched where they were read, and what has come since.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// The whole part; empty before the first checkpoint.
    base: Vec<u8>,
    /// Where its rows begin.
    rows_from: usize,
    recent: HashMap<u128, u32>,
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
    /// The first record that had this key.
    pub(crate) fn get(&self, key: u128) -> Option<u32> {
        if let Some(ordinal) = self.recent.get(&key) {
            return Some(*ordinal);
        }
        let rows = self.rows();
        let at = rows.binary_search_by_key(&key, |row| row_of(row).0).ok()?;
        rows.get(at).map(|row| row_of(row).1)
    }

    fn rows(&self) -> &[[u8; ROW_BYTES]] {
        self.base
            .get(self.rows_from..)
            .unwrap_or_default()
            .as_chunks()
            .0
    }

    /// Remembers a key; the first record keeps it.
    pub(crate) fn insert(&mut self, key: u128, ordinal: u32) {
        if self.get(key).is_none() {
            self.recent.insert(key, ordinal);
        }
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.rows().len() + self.recent.len()
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
        rows.extend(self.recent.iter().map(|(key, ordinal)| (*key, *ordinal)));
        rows.sort_unstable();
        rows
    }

    /// The bytes of the part: version, head, then 20-byte rows in key order.
    pub(crate) fn to_part(&self, head: &Head) -> Vec<u8> {
        let rows = self.sorted();
        let mut bytes = Vec::with_capacity(256 + rows.len() * ROW_BYTES);
        bytes.push(VERSION);
        head.put(&mut bytes);
        for (key, ordinal) in rows {
            bytes.extend_from_slice(&key.to_le_bytes());
            bytes.extend_from_slice(&ordinal.to_le_bytes());
        }
        bytes
    }

    /// Takes a part over; `None` for any other bytes, and the caller rebuilds.
    pub(crate) fn from_part(bytes: Vec<u8>) -> Option<(Self, Head)> {
        let (version, rest) = bytes.split_first()?;
        let (head, length) = match *version {
            VERSION => Head::take(rest)?,
            VERSION_1 => (Head::default(), 0),
            _ => return None,
        };
        let rows_from = 1 + length;
        let is_part = (bytes.len() - rows_from).is_multiple_of(ROW_BYTES);
        let keys = Self {
            base: bytes,
            rows_from,
            recent: HashMap::new(),
        };
        is_part.then_some((keys, head))
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
    fn the_first_record_keeps_its_key_through_the_part() {
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
        let (read, found) = Keys::from_part(keys.to_part(&head)).unwrap();
        assert_eq!(found, head);
        for keys in [&keys, &read] {
            assert_eq!(keys.get(key_of(&ExternalId::new("batch", "a"))), Some(0));
            assert_eq!(keys.get(key_of(&ExternalId::new("batch", "b"))), Some(1));
            assert_eq!(keys.get(key_of(&ExternalId::new("event", "a"))), None);
            assert_eq!(keys.len(), 2);
        }
    }

    #[test]
    fn other_bytes_are_no_part() {
        let mut part = Keys::default().to_part(&Head::default());
        let (_, head) = Keys::from_part(part.clone()).unwrap();
        assert_eq!(head, Head::default());
        part.push(0);
        for end in 0..=part.len() {
            let whole = end + 1 == part.len();
            assert_eq!(Keys::from_part(part[..end].to_vec()).is_some(), whole);
        }
        let old = [&[1][..], &[7; 2 * ROW_BYTES]].concat();
        assert_eq!(Keys::from_part(old).unwrap().0.len(), 2);
        assert!(Keys::from_part(vec![9]).is_none());
        assert!(Keys::from_part(Vec::new()).is_none());
    }
}
