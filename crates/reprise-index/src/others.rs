//! Vectors of another model than the index is for, while they wait to be made anew: searched by
//! themselves, with a question in their own space, and compared with nothing else.
//!
//! Never saved: the log has them.

use reprise_graph::Metric as _;

use crate::growth::Layers;
use crate::vectors::{QueryCodes, VectorScratch, Vectors};
use crate::view::View;

/// The vectors of one space, by the ordinals of the index beside which they stand. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OtherVectors {
    vectors: Vectors,
    held: u32,
}

impl OtherVectors {
    /// Nothing yet, for vectors of so many numbers.
    pub fn new(dimensions: usize) -> Self {
        Self {
            vectors: Vectors::new(dimensions),
            held: 0,
        }
    }

    /// Documents that have one.
    pub fn len(&self) -> u32 {
        self.held
    }

    /// Whether no document has one.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Takes in the vector of a document behind all that were taken in before; one that cannot be
    /// coded counts as none.
    pub fn push(&mut self, ordinal: u32, vector: &[f32]) {
        while self.vectors.len() < ordinal as usize {
            self.vectors.push(None);
        }
        if self.vectors.len() == ordinal as usize {
            self.vectors.push(Some(vector));
            self.held += u32::from(self.vectors.has(ordinal));
        }
    }

    /// Drops a document's vector: there is a newer one, or the document is forgotten. What nobody
    /// needs any more gives its memory back.
    pub fn remove(&mut self, ordinal: u32) {
        if !self.has(ordinal) {
            return;
        }
        self.held -= 1;
        if self.held == 0 {
            self.vectors = Vectors::new(self.vectors.dimensions());
        } else {
            self.vectors.set(ordinal, None);
        }
    }

    /// Whether the document has one.
    pub fn has(&self, ordinal: u32) -> bool {
        self.vectors.has(ordinal)
    }

    /// The documents that have one, ascending.
    pub fn ordinals(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.vectors.len() as u32).filter(|ordinal| self.has(*ordinal))
    }

    /// As [`crate::IndexSnapshot::encode`].
    pub fn encode(&self, query: &[f32]) -> Option<QueryCodes> {
        self.vectors.encode(query)
    }

    /// As [`crate::IndexSnapshot::candidates`], without a graph.
    pub fn candidates<'s>(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &View,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        let layers = Layers::default();
        self.vectors.candidates(query, k, view, &layers, scratch)
    }

    /// As [`crate::IndexSnapshot::cosine`].
    pub fn cosine(&self, query: &QueryCodes, ordinal: u32) -> Option<f32> {
        self.vectors.cosine(query, ordinal)
    }

    /// As [`crate::IndexSnapshot::likeness`].
    pub fn likeness(&self, one: u32, other: u32) -> f32 {
        self.vectors.similarity(one, other)
    }

    /// As [`crate::IndexSnapshot::sample`].
    pub fn sample(&self, query: &QueryCodes, n: usize, view: &View) -> Vec<(u32, f32)> {
        self.vectors.sample(query, n, view.world(), None)
    }

    /// Bytes of heap behind it.
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
        let mut others = OtherVectors::new(8);
        for ordinal in [3, 17, 25] {
            others.push(ordinal, &axis(ordinal as usize));
        }
        others.push(17, &axis(2));
        others.push(30, &[f32::NAN; 8]);
        assert_eq!(others.len(), 3);
        assert_eq!(others.ordinals().collect::<Vec<_>>(), [3, 17, 25]);
        let view = index.view(&MemoryFilter::default(), None);
        let query = others.encode(&axis(17)).unwrap();
        let mut scratch = VectorScratch::default();
        let best = |others: &OtherVectors, scratch: &mut VectorScratch| {
            others.candidates(&query, 3, &view, scratch)[0].0
        };
        // 17 and 25 are one direction; of two that are alike the newer comes first.
        assert_eq!(best(&others, &mut scratch), 25);
        assert!(others.likeness(17, 25) > 0.99 && others.likeness(3, 4) == 0.0);
        assert_eq!(others.sample(&query, 10, &view).len(), 3);
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
