//! The deduplication keys: from the hash of (namespace, external id) to the ordinal of the record
//! that has it.
//!
//! A hit is a hint: the caller compares the ids themselves, because the hash is not a security
//! boundary.

use std::collections::{BTreeMap, HashMap};

use reprise_types::{
    ByteReader, ExternalId, PagedBytes, SavedPart, SavedSections, encode_row, open_runs, run_parts,
};
use xxhash_rust::xxh3::xxh3_128;

/// Kind of the sections that hold keys.
const KEYS: u8 = 43;
/// Bytes of a row: key u128, ordinal u32.
const ROW_BYTES: usize = 20;

/// Runs of rows in the order of their keys, each at least as long as the next, and the keys
/// inserted since. Cheap to clone once the newest keys are in a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct DedupKeys {
    runs: Vec<PagedBytes>,
    recent: BTreeMap<u128, u32>,
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
    /// Opens saved keys, which stay in their file until one is looked up; `None` for other bytes.
    pub(crate) fn open(sections: &SavedSections) -> Option<Self> {
        let runs = open_runs(KEYS, sections)?;
        let are_rows = |run: &PagedBytes| run.len().is_multiple_of(ROW_BYTES);
        runs.iter().all(are_rows).then(|| Self {
            runs,
            recent: BTreeMap::new(),
        })
    }

    /// Returns the newest record with this key; of a corrected record, its newest version.
    pub(crate) fn get(&self, key: u128) -> Option<u32> {
        let found = self.runs.iter().filter_map(|run| find_row(run, key));
        found.chain(self.recent.get(&key).copied()).max()
    }

    /// Inserts a key; the newest record keeps it.
    pub(crate) fn insert(&mut self, key: u128, ordinal: u32) {
        let newest = self.recent.entry(key).or_insert(ordinal);
        *newest = ordinal.max(*newest);
    }

    /// Copies the keys as of now for readers; nothing large is copied. A run is merged with those
    /// that are no longer, so there are few, and a key is moved once for each doubling of its run.
    pub(crate) fn publish(&mut self) -> Self {
        if !self.recent.is_empty() {
            let mut newest = std::mem::take(&mut self.recent);
            while let Some(last) = self.runs.pop_if(|last| row_count(last) <= newest.len()) {
                for (key, ordinal) in rows(&last) {
                    let known = newest.entry(key).or_insert(ordinal);
                    *known = ordinal.max(*known);
                }
            }
            let mut bytes = Vec::with_capacity(newest.len() * ROW_BYTES);
            for row in newest {
                encode_row(&row, &mut bytes);
            }
            self.runs.push(PagedBytes::from_chunk(bytes));
        }
        self.clone()
    }

    /// Lists the runs as what is saved.
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = Box<dyn SavedPart + '_>> {
        run_parts(KEYS, self.runs.iter_mut())
    }

    /// Counts the keys.
    pub(crate) fn len(&self) -> usize {
        self.all().len()
    }

    /// Returns the keys of every record, in key order, in one pass over all of them.
    pub(crate) fn group_by_ordinal(&self) -> HashMap<u32, Vec<u128>> {
        let mut all: HashMap<u32, Vec<u128>> = HashMap::new();
        for (key, ordinal) in self.all() {
            all.entry(ordinal).or_default().push(key);
        }
        all
    }

    /// Returns every key with its newest record.
    pub(crate) fn all(&self) -> BTreeMap<u128, u32> {
        let mut all = self.recent.clone();
        for (key, ordinal) in self.runs.iter().flat_map(rows) {
            let known = all.entry(key).or_insert(ordinal);
            *known = ordinal.max(*known);
        }
        all
    }
}

fn row_count(run: &PagedBytes) -> usize {
    run.len() / ROW_BYTES
}

/// Returns a row, from its place; zeros if it is damaged.
fn row_at(run: &PagedBytes, at: usize) -> (u128, u32) {
    let row = run.bytes(at * ROW_BYTES..(at + 1) * ROW_BYTES);
    let read = ByteReader::with_fixed_layout(&row).read_value();
    read.unwrap_or_default()
}

fn rows(run: &PagedBytes) -> impl Iterator<Item = (u128, u32)> {
    (0..row_count(run)).map(|at| row_at(run, at))
}

fn find_row(run: &PagedBytes, key: u128) -> Option<u32> {
    let (mut low, mut high) = (0, row_count(run));
    while low < high {
        let middle = low.midpoint(high);
        if row_at(run, middle).0 < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let found = (low < row_count(run)).then(|| row_at(run, low));
    found.filter(|row| row.0 == key).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use reprise_types::{SavedSection, SectionPages};

    use super::*;

    fn key(id: &str) -> u128 {
        hash_external_id(&ExternalId::new("batch", id))
    }

    fn take_all(keys: &mut DedupKeys) -> Vec<SectionPages> {
        keys.publish();
        let take = |mut part: Box<dyn SavedPart + '_>| part.take_unsaved(&mut usize::MAX.clone());
        keys.parts().map(take).collect()
    }

    fn reopen(keys: &mut DedupKeys) -> DedupKeys {
        keys.parts().for_each(|mut part| part.mark_unsaved());
        let lend = |section: &SectionPages| (section.key, SavedSection::from(section));
        DedupKeys::open(&take_all(keys).iter().map(lend).collect()).unwrap()
    }

    #[test]
    fn the_newest_record_keeps_its_key_through_the_file() {
        let mut keys = DedupKeys::default();
        for (ordinal, id) in ["a", "b", "a"].iter().enumerate() {
            keys.insert(key(id), u32::try_from(ordinal).unwrap());
        }
        let mut read = reopen(&mut keys);
        for keys in [&keys, &read] {
            let found = ["a", "b", "c"].map(|id| keys.get(key(id)));
            assert_eq!((found, keys.len()), ([Some(2), Some(1), None], 2));
        }
        for (id, ordinal) in [("a", 9), ("c", 10), ("b", 0)] {
            read.insert(key(id), ordinal);
        }
        for keys in [&read.clone(), &reopen(&mut read)] {
            let found = ["a", "b", "c"].map(|id| keys.get(key(id)));
            assert_eq!(
                found,
                [Some(9), Some(1), Some(10)],
                "an older record takes no key"
            );
            assert_eq!(keys.len(), 3, "a key that is known is no new one");
        }
    }

    #[test]
    fn runs_are_few_and_only_new_ones_are_saved() {
        let mut keys = DedupKeys::default();
        let mut saved_bytes = 0;
        for number in 0..3_000_u32 {
            keys.insert(key(&number.to_string()), number);
            let copy = keys.publish();
            assert_eq!(copy.get(key(&number.to_string())), Some(number));
            if number % 100 == 99 {
                let sections = take_all(&mut keys);
                let pages = sections.iter().flat_map(|section| &section.pages);
                saved_bytes += pages.map(|(_, bytes)| bytes.len()).sum::<usize>();
            }
        }
        assert!(keys.runs.len() <= 12, "{}", keys.runs.len());
        assert!(saved_bytes < 3_000 * ROW_BYTES * 12, "{saved_bytes}");
        let mut read = reopen(&mut keys);
        assert!(read.parts().any(|part| part.loader().is_some()));
        assert!((0..3_000).all(|number| read.get(key(&number.to_string())) == Some(number)));
        assert_eq!(read.get(key("3000")), None);
        read.parts()
            .filter_map(|part| part.loader())
            .for_each(|load| load());
        assert!(read.parts().all(|part| part.loader().is_none()));
        assert_eq!(read.all(), keys.all());
    }
}
