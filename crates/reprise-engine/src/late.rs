//! Vectors that come after their records.

use reprise_store::Entry;
use reprise_types::{EmbeddingSpace, RecordId, check_unit_vector};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::prepare::name_of;

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
            let doc = self.snapshot.index.doc(ordinal);
            let answers = doc.is_some_and(|doc| doc.is_live()) || self.state.others.has(ordinal);
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
        if entries.is_empty() {
            return Ok(0);
        }
        self.commit(&entries)?;
        self.publish();
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
