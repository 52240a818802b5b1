//! Reads the log by ordinal, and finds records whose text is similar to another: what tending needs
//! of a memory.

use chrono::{DateTime, Utc};
use reprise_index::LexicalScratch;
use reprise_store::StoreError;
use reprise_types::{MemoryFilter, MemoryRecord, RecordId};

use crate::snapshot::Snapshot;

/// Buffers for [`Snapshot::find_similar`], reused between calls.
#[derive(Debug, Default)]
pub struct SimilarityScratch(LexicalScratch);

impl Snapshot {
    /// Returns the number of ordinals that were ever assigned: one more than the highest.
    pub fn ordinal_count(&self) -> u32 {
        self.index.len() as u32
    }

    /// Returns the id of the record at an ordinal, live or not.
    pub fn id_at(&self, place: u32) -> Option<RecordId> {
        Some(self.index.doc(place)?.id)
    }

    /// Returns the live record at an ordinal.
    pub fn live_record_at(&self, place: u32) -> Option<Result<MemoryRecord, StoreError>> {
        self.live_doc(place).map(|_| self.record(place, None))
    }

    /// Returns when the record at an ordinal became known, in microseconds since the Unix epoch.
    pub fn known_at_micros_of(&self, place: u32) -> Option<i64> {
        Some(self.index.doc(place)?.known_at().timestamp_micros())
    }

    /// Returns when what a record tells of happened.
    pub fn timestamp_of(&self, id: RecordId) -> Option<DateTime<Utc>> {
        Some(self.index.doc(self.index.find(id)?)?.timestamp())
    }

    /// Returns the records that were restored, got other tags or are no longer marked as different
    /// from another one since an instant, which is included, in microseconds since the Unix epoch:
    /// the last such instant of each and its ordinal, ascending.
    pub fn changes_since(&self, at: i64) -> Vec<(i64, u32)> {
        let changes = self.marks.changes_since(at).into_iter();
        let mut changes: Vec<(i64, u32)> = changes.map(|(place, at)| (at, place)).collect();
        changes.sort_unstable();
        changes
    }

    /// Whether there is a live record with this id.
    pub fn is_live(&self, id: RecordId) -> bool {
        self.live_ordinal(id).is_some()
    }

    /// Finds the live records whose words are most similar to a text, at most `most`, best first:
    /// their ordinals and scores.
    pub fn find_similar<'s>(
        &self,
        text: &str,
        most: usize,
        scratch: &'s mut SimilarityScratch,
    ) -> &'s [(u32, f32)] {
        let query = self.index.analyse_query(text);
        let view = self.index.view(&MemoryFilter::default(), None);
        let SimilarityScratch(lexical) = scratch;
        self.index.score_lexical(&query, &view, most, lexical).best
    }

    /// Finds a live record with this text among those with the most similar words: an exact match,
    /// or one that differs only in capitals, spaces and closing marks.
    pub fn find_same_text(&self, text: &str) -> Option<MemoryRecord> {
        const LOOKED_AT: usize = 8;
        // A longer text is not a sentence that somebody says again in other spelling.
        const HEARD_MAX: usize = 4_096;
        let mut scratch = SimilarityScratch::default();
        let like = self.find_similar(text, LOOKED_AT, &mut scratch).iter();
        let found = like.filter_map(|(place, _)| self.live_record_at(*place)?.ok());
        let folded = (text.len() <= HEARD_MAX).then(|| fold_spelling(text));
        let is_same_folded = |other: &str| {
            folded
                .as_ref()
                .is_some_and(|folded| fold_spelling(other) == *folded)
        };
        let has_text = |record: &MemoryRecord| record.text == text || is_same_folded(&record.text);
        found
            .filter(has_text)
            .min_by_key(|record| record.text != text)
    }

    /// Returns the cosine of two live records, within about 0.005; `None` if no space has both
    /// vectors.
    pub fn cosine_between(&self, one: RecordId, other: RecordId) -> Option<f32> {
        self.cosine_of_ordinals(self.live_ordinal(one)?, self.live_ordinal(other)?)
    }
}

/// Returns a text without the capitals that begin words, the width of its spaces and its closing
/// marks. A question stays one, and a word with inner capitals, such as a constant, stays as it is.
fn fold_spelling(text: &str) -> String {
    let closes = |c: char| c.is_whitespace() || matches!(c, '.' | '!' | ',' | ';' | '\u{2026}');
    let words = text.trim_end_matches(closes).split_whitespace();
    let words = words.map(|word| {
        let mut rest = word.chars();
        match rest.next() {
            Some(first) if !rest.as_str().contains(char::is_uppercase) => {
                first.to_lowercase().chain(rest).collect()
            }
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<String>>().join(" ")
}
