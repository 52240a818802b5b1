//! Vectors that other models than the one in use made of records that still wait for it: searched
//! beside the index, each space with a question of its own, until they are made anew.
//!
//! A record's newest vector stands in the index or in one of these, never in two. Vectors that come
//! after their records are taken here.

use reprise_index::{IndexSnapshot, OtherVectors};
use reprise_store::{Entry, LogReader};
use reprise_types::{EmbeddingSpace, RecordId, VectorStore as _, check_unit_vector};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::prepare::name_of;

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

impl Engine {
    /// Gives waiting records their vectors, which come from the model in use: where nobody said
    /// which that is, its space becomes the store's. Those of another space, already embedded or
    /// gone are passed over; answers how many were taken.
    pub fn embed_late(
        &mut self,
        vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)>,
    ) -> Result<usize, EngineError> {
        let mut entries = Vec::new();
        self.adopt(vectors.first().map(|(_, found, _)| found))?;
        let mut space = self.state.space.clone();
        for (id, found, vector) in vectors {
            let Some(ordinal) = self.state.index.find(id) else {
                continue;
            };
            let is_live = self.snapshot.live(ordinal).is_some();
            let answers = is_live || self.state.others.has(ordinal);
            let waiting = answers && !self.snapshot.index.has_vector(ordinal);
            let fits = space.as_ref().is_none_or(|space| *space == found)
                && check_unit_vector(&vector, self.state.index.dimensions()).is_ok();
            if waiting && fits {
                space = Some(found.clone());
                entries.push(Entry::Embedded {
                    ordinal,
                    space: found,
                    vector,
                });
            }
        }
        self.keep(&entries)?;
        Ok(entries.len())
    }

    /// Puts the model's space in force where none was configured; what the store holds of others is
    /// left out from now on, and waits for the model.
    fn adopt(&mut self, space: Option<&EmbeddingSpace>) -> Result<(), EngineError> {
        let held = self.state.space.as_ref();
        let Some(found) =
            space.filter(|found| self.state.configured.is_none() && held != Some(found))
        else {
            return Ok(());
        };
        if held.is_none() && usize::from(found.dimensions) == self.state.index.dimensions() {
            return Ok(());
        }
        let (held, found) = (held.map(name_of), name_of(found));
        tracing::warn!(
            ?held,
            ?found,
            "the model in use reads another space; vectors are made anew"
        );
        self.state.configured = space.cloned();
        self.rebuild()
    }

    /// Up to `limit` records that wait for a vector, oldest first, with their texts: live ones
    /// without, and all that have one of another space.
    pub fn unembedded(&self, limit: usize) -> Vec<(RecordId, String)> {
        let waiting = self.unembedded_from(0, limit);
        waiting
            .into_iter()
            .map(|(_, id, text)| (id, text))
            .collect()
    }

    /// The same from a place in the log on, with the place of each.
    pub fn unembedded_from(&self, first: u32, limit: usize) -> Vec<(u32, RecordId, String)> {
        let (index, others) = (&self.snapshot.index, &self.state.others);
        let waits = |ordinal: &u32| others.has(*ordinal) || index.is_unembedded(*ordinal);
        let read = |ordinal| {
            let record = self.snapshot.reader.record(ordinal).ok()?;
            Some((ordinal, record.id, record.body.text))
        };
        let waiting = (first..index.len() as u32).filter(waits);
        waiting.filter_map(read).take(limit).collect()
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
