//! Copy-on-write containers, so that publishing a learner is cheap.

use std::collections::BTreeMap;
use std::sync::Arc;

use reprise_types::{CowVec, RecordId};

/// Count of elements that are copied and dropped together.
const CHUNK: usize = 64;
/// Count of shards of a map; a change copies one of them.
const SHARDS: usize = 256;

/// A queue of elements, numbered from the first one ever pushed; the oldest can be dropped.
#[derive(Debug, Clone)]
pub(crate) struct CowQueue<T> {
    rows: CowVec<T, CHUNK, CHUNK>,
    /// Number of the oldest element; a multiple of the chunk size.
    first: u64,
}

impl<T> Default for CowQueue<T> {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl<T> CowQueue<T> {
    /// Creates an empty queue whose next element gets this number, rounded down to a whole chunk.
    pub(crate) fn starting_at(first: u64) -> Self {
        Self {
            rows: CowVec::default(),
            first: first - first % CHUNK as u64,
        }
    }

    /// Returns the number of the oldest element.
    pub(crate) fn first_number(&self) -> u64 {
        self.first
    }

    /// Returns the number that the next element gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.first + self.len() as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.rows.get(self.index_of(number)?)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter()
    }

    /// Iterates over the last `count` elements, oldest first.
    pub(crate) fn iter_last(&self, count: usize) -> impl Iterator<Item = &T> {
        let all = self.len().saturating_sub(count)..self.len();
        all.filter_map(|place| self.rows.get(place))
    }
}

impl<T: Clone> CowQueue<T> {
    pub(crate) fn push(&mut self, value: T) {
        self.rows.push(value);
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.rows.get_mut(self.index_of(number)?)
    }

    /// Drops the oldest chunks until at most `most` elements are left.
    pub(crate) fn shrink_to(&mut self, most: usize) {
        while self.len() > most {
            match self.rows.remove_oldest_chunk() {
                0 => return,
                dropped => self.first += dropped as u64,
            }
        }
    }
}

/// A map keyed by record id, in shards.
#[derive(Debug, Clone)]
pub(crate) struct CowMap<T> {
    shards: Vec<Arc<BTreeMap<RecordId, T>>>,
}

impl<T> Default for CowMap<T> {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Arc::default()).collect();
        Self { shards }
    }
}

/// Returns the shard of an id. Ids of one millisecond differ only in their low, random bits.
fn shard_of(id: RecordId) -> usize {
    let id = id.to_u128();
    (id ^ (id >> 64) ^ (id >> 80)) as usize % SHARDS
}

impl<T> CowMap<T> {
    pub(crate) fn get(&self, id: RecordId) -> Option<&T> {
        self.shards.get(shard_of(id))?.get(&id)
    }

    /// Iterates over the entries by shard and then by id, which is a deterministic order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RecordId, &T)> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }
}

impl<T: Clone> CowMap<T> {
    pub(crate) fn entry_or_default(&mut self, id: RecordId) -> &mut T
    where
        T: Default,
    {
        Arc::make_mut(&mut self.shards[shard_of(id)])
            .entry(id)
            .or_default()
    }

    pub(crate) fn insert(&mut self, id: RecordId, value: T) {
        Arc::make_mut(&mut self.shards[shard_of(id)]).insert(id, value);
    }

    pub(crate) fn remove(&mut self, id: RecordId) {
        let shard = &mut self.shards[shard_of(id)];
        if shard.contains_key(&id) {
            Arc::make_mut(shard).remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_numbers_on_when_its_oldest_go() {
        let mut row = CowQueue::default();
        for number in 0..200_u64 {
            row.push(number);
        }
        let before = row.clone();
        row.shrink_to(100);
        assert_eq!(
            (row.first_number(), row.len(), row.next_number()),
            (128, 72, 200)
        );
        assert_eq!(
            (row.get(127), row.get(128), row.get(199)),
            (None, Some(&128), Some(&199))
        );
        *row.get_mut(150).unwrap() = 7;
        assert_eq!((row.get(150), before.get(150)), (Some(&7), Some(&150)));
        assert_eq!(
            row.iter_last(3).copied().collect::<Vec<_>>(),
            [197, 198, 199]
        );
        assert_eq!(row.iter().count(), 72);
    }

    #[test]
    fn a_maps_clone_keeps_what_it_had() {
        let mut map = CowMap::default();
        for id in 0..1000 {
            map.insert(RecordId::from_u128(id), id);
        }
        let before = map.clone();
        map.remove(RecordId::from_u128(5));
        *map.entry_or_default(RecordId::from_u128(6)) = 0;
        assert_eq!(before.iter().count(), 1000);
        assert_eq!(before.get(RecordId::from_u128(5)), Some(&5));
        assert_eq!(map.iter().count(), 999);
    }
}
