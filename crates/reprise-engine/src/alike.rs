//! What stands at a place of the log, and which records say something like a text: what tending
//! asks of a memory.

use chrono::{DateTime, Utc};
use reprise_index::LexicalScratch;
use reprise_store::StoreError;
use reprise_types::{MemoryFilter, MemoryRecord, RecordId};

use crate::snapshot::Snapshot;

/// Buffers for [`Snapshot::alike`], lent again and again.
#[derive(Debug, Default)]
pub struct AlikeScratch(LexicalScratch);

impl Snapshot {
    /// Places that were ever taken: one more than the highest.
    pub fn places(&self) -> u32 {
        self.index.len() as u32
    }

    /// The record that was kept at a place, whether it still answers or not.
    pub fn id_at(&self, place: u32) -> Option<RecordId> {
        Some(self.index.doc(place)?.id)
    }

    pub fn at(&self, place: u32) -> Option<Result<MemoryRecord, StoreError>> {
        self.live(place).map(|_| self.record(place, None))
    }

    /// When the record at a place was kept, in microseconds since the Unix epoch.
    pub fn kept_at(&self, place: u32) -> Option<i64> {
        Some(self.index.doc(place)?.known_at().timestamp_micros())
    }

    /// When what a record tells happened.
    pub fn told_at(&self, id: RecordId) -> Option<DateTime<Utc>> {
        Some(self.index.doc(self.index.find(id)?)?.timestamp())
    }

    /// The places of the records that answer again, or have other tags, since an instant (which
    /// counts) in microseconds since the Unix epoch; with the last instant of each, ascending.
    pub fn changes_since(&self, at: i64) -> Vec<(i64, u32)> {
        let changes = self.marks.changes_since(at).into_iter();
        let mut changes: Vec<(i64, u32)> = changes.map(|(place, at)| (at, place)).collect();
        changes.sort_unstable();
        changes
    }

    pub fn is_live(&self, id: RecordId) -> bool {
        self.ordinal(id).is_some()
    }

    /// The places of the live records whose words are most like a text's, at most `most`, best
    /// first, each with how much they are.
    pub fn alike<'s>(
        &self,
        text: &str,
        most: usize,
        scratch: &'s mut AlikeScratch,
    ) -> &'s [(u32, f32)] {
        let query = self.index.analyse_query(text);
        let view = self.index.view(&MemoryFilter::default(), None);
        let AlikeScratch(lexical) = scratch;
        self.index.lexical(&query, &view, most, lexical).best
    }

    /// A live record with this text, among those whose words are most like it: exactly this one,
    /// else one that differs in nothing that is heard.
    pub fn saying(&self, text: &str) -> Option<MemoryRecord> {
        const LOOKED_AT: usize = 8;
        // Longer ones are no sentence that somebody says again in other letters.
        const HEARD_MAX: usize = 4_096;
        let mut scratch = AlikeScratch::default();
        let like = self.alike(text, LOOKED_AT, &mut scratch).iter();
        let found = like.filter_map(|(place, _)| self.at(*place)?.ok());
        let heard = (text.len() <= HEARD_MAX).then(|| as_heard(text));
        let is_heard = |told: &str| heard.as_ref().is_some_and(|heard| as_heard(told) == *heard);
        let says_it = |record: &MemoryRecord| record.text == text || is_heard(&record.text);
        found
            .filter(says_it)
            .min_by_key(|record| record.text != text)
    }

    /// The cosine of two live records, within about 0.005; `None` where no space has both.
    pub fn cosine_of(&self, one: RecordId, other: RecordId) -> Option<f32> {
        self.likeness(self.ordinal(one)?, self.ordinal(other)?)
    }
}

/// A text without the capitals that begin words, the width of its spaces and its closing marks. A
/// question stays one, and a word with capitals within, as a constant has them, stays as it is.
fn as_heard(text: &str) -> String {
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
