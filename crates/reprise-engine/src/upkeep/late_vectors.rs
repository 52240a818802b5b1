//! Takes vectors that come after their records, and lists the records that wait for one.

use reprise_store::StoreEntry;
use reprise_types::{EmbeddingSpace, RecordId, check_unit_vector};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::write::prepare::format_space;

impl Engine {
    /// Inserts the vectors of waiting records, made by the model in use; if no model is configured,
    /// its space comes into use. Skips vectors of another space and records that have one already
    /// or are not stored; returns how many were inserted.
    pub fn insert_late_vectors(
        &mut self,
        vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)>,
    ) -> Result<usize, EngineError> {
        let mut entries = Vec::new();
        self.adopt_space(vectors.first().map(|(_, found, _)| found))?;
        let mut space = self.state.space.clone();
        for (id, found, vector) in vectors {
            let Some(ordinal) = self.state.index.find(id) else {
                continue;
            };
            let is_live = self.snapshot.live_doc(ordinal).is_some();
            let answers = is_live || self.state.other_spaces.has(ordinal);
            let waiting = answers && !self.snapshot.index.has_vector(ordinal);
            let fits = space.as_ref().is_none_or(|space| *space == found)
                && check_unit_vector(&vector, self.state.index.dimensions()).is_ok();
            if waiting && fits {
                space = Some(found.clone());
                entries.push(StoreEntry::Embedded {
                    ordinal,
                    space: found,
                    vector,
                });
            }
        }
        self.append_and_publish(&entries)?;
        Ok(entries.len())
    }

    /// Puts the model's space in use if none was configured; vectors of other spaces leave the
    /// index and wait for the model.
    fn adopt_space(&mut self, space: Option<&EmbeddingSpace>) -> Result<(), EngineError> {
        let held = self.state.space.as_ref();
        let Some(found) =
            space.filter(|found| self.state.configured_space.is_none() && held != Some(found))
        else {
            return Ok(());
        };
        if held.is_none() && usize::from(found.dimensions) == self.state.index.dimensions() {
            return Ok(());
        }
        let (held, found) = (held.map(format_space), format_space(found));
        tracing::warn!(
            ?held,
            ?found,
            "the model in use reads another space; vectors are made anew"
        );
        self.state.configured_space = space.cloned();
        self.rebuild()
    }

    /// Returns up to `limit` records that wait for a vector, oldest first, with their texts: live
    /// records without one, and all that have one of another space.
    pub fn unembedded_records(&self, limit: usize) -> Vec<(RecordId, String)> {
        let waiting = self.unembedded_records_from(0, limit);
        waiting
            .into_iter()
            .map(|(_, id, text)| (id, text))
            .collect()
    }

    /// Returns up to `limit` records from an ordinal on that wait for a vector, oldest first, each
    /// with its ordinal and its text.
    pub fn unembedded_records_from(
        &self,
        first: u32,
        limit: usize,
    ) -> Vec<(u32, RecordId, String)> {
        let (index, others) = (&self.snapshot.index, &self.state.other_spaces);
        let waits = |ordinal: &u32| others.has(*ordinal) || index.is_unembedded(*ordinal);
        let read = |ordinal| {
            let record = self.snapshot.reader.read_record(ordinal).ok()?;
            Some((ordinal, record.id, record.body.text))
        };
        let waiting = (first..index.len() as u32).filter(waits);
        waiting.filter_map(read).take(limit).collect()
    }
}
