//! Vectors that other models than the one in use made of records that still wait for it: searched
//! beside the index, each space with a question of its own, until they are made anew.
//!
//! A record's newest vector stands in the index or in one of these, never in two.

use reprise_index::{IndexSnapshot, OtherVectors};
use reprise_store::LogReader;
use reprise_types::{EmbeddingSpace, VectorStore as _};

#[derive(Debug, Clone)]
pub(crate) struct Other {
    pub(crate) space: EmbeddingSpace,
    pub(crate) vectors: OtherVectors,
}

/// Those of every other space that a record still has its vector in. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Others(Vec<Other>);

impl Others {
    /// Reads them from the log: what has no vector in the index, is not forgotten, and has one in
    /// another space than `own`.
    pub(crate) fn read(
        index: &IndexSnapshot,
        reader: &LogReader,
        own: Option<&EmbeddingSpace>,
    ) -> Self {
        let mut others = Self::default();
        let Some(own) = own.filter(|own| reader.has_other_spaces(own)) else {
            return others;
        };
        let mut vector = Vec::new();
        for ordinal in 0..index.len() as u32 {
            if index.has_vector(ordinal) {
                continue;
            }
            if let Some(space) = reader.space(ordinal).filter(|space| *space != own) {
                vector.resize(usize::from(space.dimensions), 0.0);
                if reader.vector(ordinal, &mut vector) {
                    others.of(space).push(ordinal, &vector);
                }
            }
        }
        others
    }

    fn of(&mut self, space: &EmbeddingSpace) -> &mut OtherVectors {
        let known = self.0.iter().position(|other| other.space == *space);
        let at = known.unwrap_or_else(|| {
            self.0.push(Other {
                space: space.clone(),
                vectors: OtherVectors::new(usize::from(space.dimensions)),
            });
            self.0.len() - 1
        });
        &mut self.0[at].vectors
    }

    /// The record has a newer vector, or is forgotten.
    pub(crate) fn remove(&mut self, ordinal: u32) {
        for other in &mut self.0 {
            other.vectors.remove(ordinal);
        }
        self.0.retain(|other| !other.vectors.is_empty());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Other> {
        self.0.iter()
    }

    /// Records whose vector is in one of them.
    pub(crate) fn len(&self) -> u32 {
        self.iter().map(|other| other.vectors.len()).sum()
    }

    pub(crate) fn has(&self, ordinal: u32) -> bool {
        self.iter().any(|other| other.vectors.has(ordinal))
    }

    /// The cosine of two records; `None` where no space has both.
    pub(crate) fn likeness(&self, one: u32, other: u32) -> Option<f32> {
        let both = |held: &&Other| held.vectors.has(one) && held.vectors.has(other);
        let held = self.iter().find(both);
        held.map(|held| held.vectors.likeness(one, other))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.iter().map(|other| other.vectors.memory_bytes()).sum()
    }
}

/// The space that most records of a log have their vector in; of two as many, the one met later.
/// Where the log knows no other than the first one met, no more records are looked at.
pub(crate) fn space_of_most(reader: &LogReader) -> Option<EmbeddingSpace> {
    let spaces = || (0..reader.records()).filter_map(|ordinal| reader.space(ordinal));
    let first = spaces().next()?;
    if !reader.has_other_spaces(first) {
        return Some(first.clone());
    }
    let mut counts: Vec<(&EmbeddingSpace, u32)> = Vec::new();
    for space in spaces() {
        match counts.iter_mut().find(|(known, _)| *known == space) {
            Some((_, count)) => *count += 1,
            None => counts.push((space, 1)),
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(space, _)| space.clone())
}

/// What share is done where so many are left, in whole percent; `None` where nothing is.
pub(crate) fn percent(done: u32, left: u32) -> Option<u32> {
    let all = u64::from(done) + u64::from(left);
    (left > 0).then(|| (u64::from(done) * 100 / all) as u32)
}
