//! Vectors of another model than the index's, until they are computed again with the index's model.
//! They are searched separately, with a query in their own space, and compared with nothing else.
//!
//! They are never saved: the log has them.

use reprise_hnsw::Metric as _;

use crate::graph_state::SearchLayers;
use crate::vectors::{QuantisedVectors, QueryCodes, VectorScratch};
use crate::view::IndexView;

/// The vectors of one other space, by the ordinals of the index. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OtherModelVectors {
    vectors: QuantisedVectors,
    count: u32,
}

impl OtherModelVectors {
    /// Creates an empty set for vectors of `dimensions` numbers.
    pub fn new(dimensions: usize) -> Self {
        Self {
            vectors: QuantisedVectors::new(dimensions),
            count: 0,
        }
    }

    /// Returns the number of documents that have a vector.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether no document has a vector.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds the vector of a document whose ordinal exceeds all added before. A vector that cannot
    /// be quantised counts as none.
    pub fn push(&mut self, ordinal: u32, vector: &[f32]) {
        while self.vectors.len() < ordinal as usize {
            self.vectors.push(None);
        }
        if self.vectors.len() == ordinal as usize {
            self.vectors.push(Some(vector));
            self.count += u32::from(self.vectors.has(ordinal));
        }
    }

    /// Removes a document's vector, because a newer one exists or the document is forgotten.
    /// Removing the last one frees the memory.
    pub fn remove(&mut self, ordinal: u32) {
        if !self.has(ordinal) {
            return;
        }
        self.count -= 1;
        if self.count == 0 {
            self.vectors = QuantisedVectors::new(self.vectors.dimensions());
        } else {
            self.vectors.set(ordinal, None);
        }
    }

    /// Whether the document has a vector.
    pub fn has(&self, ordinal: u32) -> bool {
        self.vectors.has(ordinal)
    }

    /// Returns the documents that have a vector, ascending.
    pub fn ordinals(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.vectors.len() as u32).filter(|ordinal| self.has(*ordinal))
    }

    /// Quantises a query, as [`crate::IndexSnapshot::encode_query`] does.
    pub fn encode_query(&self, query: &[f32]) -> Option<QueryCodes> {
        self.vectors.encode_query(query)
    }

    /// Searches as [`crate::IndexSnapshot::search_vectors`] does, without a graph.
    pub fn search_vectors<'s>(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &IndexView,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        let layers = SearchLayers::default();
        self.vectors.search(query, k, view, &layers, scratch)
    }

    /// Returns a cosine as [`crate::IndexSnapshot::cosine`] does.
    pub fn cosine(&self, query: &QueryCodes, ordinal: u32) -> Option<f32> {
        self.vectors.cosine(query, ordinal)
    }

    /// Returns a similarity as [`crate::IndexSnapshot::similarity`] does.
    pub fn similarity(&self, one: u32, other: u32) -> f32 {
        self.vectors.similarity(one, other)
    }

    /// Samples cosines as [`crate::IndexSnapshot::sample_cosines`] does.
    pub fn sample_cosines(
        &self,
        query: &QueryCodes,
        n: usize,
        view: &IndexView,
    ) -> Vec<(u32, f32)> {
        self.vectors.sample_cosines(query, n, view.live_set(), None)
    }

    /// Returns the heap bytes of the vectors.
    pub fn memory_bytes(&self) -> usize {
        self.vectors.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId};

    use super::*;
    use crate::writer::{IndexWriter, NewDoc};

    fn axis(axis: usize) -> Vec<f32> {
        let mut vector = vec![0.0; 8];
        vector[axis % 8] = 1.0;
        vector
    }

    #[test]
    fn other_vectors_are_found_by_their_own_questions_until_they_are_removed() {
        let mut writer = IndexWriter::new(8);
        for number in 0..40 {
            writer.push(&NewDoc {
                id: RecordId::from_u128(number + 1),
                timestamp: DateTime::<Utc>::UNIX_EPOCH,
                known_at: DateTime::<Utc>::UNIX_EPOCH,
                kind: MemoryKind::Episode,
                source: MemorySource::UserInput,
                session_id: "",
                speaker: "",
                text: "text",
                is_prompt: false,
                exact: &[],
                vector: None,
            });
        }
        let index = writer.publish();
        let mut others = OtherModelVectors::new(8);
        for ordinal in [3, 17, 25] {
            others.push(ordinal, &axis(ordinal as usize));
        }
        others.push(17, &axis(2));
        others.push(30, &[f32::NAN; 8]);
        assert_eq!(others.len(), 3);
        assert_eq!(others.ordinals().collect::<Vec<_>>(), [3, 17, 25]);
        let view = index.view(&MemoryFilter::default(), None);
        let query = others.encode_query(&axis(17)).unwrap();
        let mut scratch = VectorScratch::default();
        let best = |others: &OtherModelVectors, scratch: &mut VectorScratch| {
            others.search_vectors(&query, 3, &view, scratch)[0].0
        };
        // 17 and 25 have the same direction; of two equal ones the newer comes first.
        assert_eq!(best(&others, &mut scratch), 25);
        assert!(others.similarity(17, 25) > 0.99 && others.similarity(3, 4) == 0.0);
        assert_eq!(others.sample_cosines(&query, 10, &view).len(), 3);
        let before = others.clone();
        others.remove(25);
        others.remove(25);
        assert_eq!((others.len(), best(&others, &mut scratch)), (2, 17));
        assert_eq!(best(&before, &mut scratch), 25);
        others.remove(3);
        others.remove(17);
        assert!(others.is_empty() && others.memory_bytes() == 0);
        assert!(others.cosine(&query, 17).is_none());
    }
}
