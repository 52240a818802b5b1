//! Vectors of other models than the one in use, of records that still wait for a new one: searched
//! next to the index, each space with the question's vector in that space, until they are replaced.
//!
//! A record's newest vector is in the index or in one of these, never in two.

use reprise_index::{IndexSnapshot, OtherModelVectors};
use reprise_store::LogReader;
use reprise_types::{EmbeddingSpace, VectorStore as _};

/// The vectors of one space other than the one in use.
#[derive(Debug, Clone)]
pub(crate) struct SpaceVectors {
    pub(crate) space: EmbeddingSpace,
    pub(crate) vectors: OtherModelVectors,
}

/// The vectors of every space other than the one in use. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct OtherSpaces(Vec<SpaceVectors>);

impl OtherSpaces {
    /// Reads from the log the vectors of records that have none in the index, are not forgotten,
    /// and have one in another space than `own`.
    pub(crate) fn from_log(
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
            if let Some(space) = reader.space_of(ordinal).filter(|space| *space != own) {
                vector.resize(usize::from(space.dimensions), 0.0);
                if reader.copy_vector(ordinal, &mut vector) {
                    others.ensure_space_vectors(space).push(ordinal, &vector);
                }
            }
        }
        others
    }

    /// Returns the vectors of a space, which it adds if it is new.
    fn ensure_space_vectors(&mut self, space: &EmbeddingSpace) -> &mut OtherModelVectors {
        let known = self.0.iter().position(|other| other.space == *space);
        let at = known.unwrap_or_else(|| {
            self.0.push(SpaceVectors {
                space: space.clone(),
                vectors: OtherModelVectors::new(usize::from(space.dimensions)),
            });
            self.0.len() - 1
        });
        &mut self.0[at].vectors
    }

    /// Removes the vector of a record that has a newer one or is forgotten.
    pub(crate) fn remove(&mut self, ordinal: u32) {
        for other in &mut self.0 {
            other.vectors.remove(ordinal);
        }
        self.0.retain(|other| !other.vectors.is_empty());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &SpaceVectors> {
        self.0.iter()
    }

    /// Returns the number of records with a vector in one of these spaces.
    pub(crate) fn len(&self) -> u32 {
        self.iter().map(|other| other.vectors.len()).sum()
    }

    pub(crate) fn has(&self, ordinal: u32) -> bool {
        self.iter().any(|other| other.vectors.has(ordinal))
    }

    /// Returns the cosine of two records; `None` if no space has both.
    pub(crate) fn cosine_of_ordinals(&self, one: u32, other: u32) -> Option<f32> {
        let both = |held: &&SpaceVectors| held.vectors.has(one) && held.vectors.has(other);
        let held = self.iter().find(both);
        held.map(|held| held.vectors.similarity(one, other))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.iter().map(|other| other.vectors.memory_bytes()).sum()
    }
}

/// Returns the space that most records of a log have their vector in; among equals, the one met
/// later. If the log has a single space, only its first record is looked at.
pub(crate) fn most_common_space(reader: &LogReader) -> Option<EmbeddingSpace> {
    let spaces = || (0..reader.record_count()).filter_map(|ordinal| reader.space_of(ordinal));
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

/// Returns the share done if so many are left, in whole percent; `None` if nothing is left.
pub(crate) fn percent_done(done: u32, left: u32) -> Option<u32> {
    let all = u64::from(done) + u64::from(left);
    (left > 0).then(|| (u64::from(done) * 100 / all) as u32)
}
