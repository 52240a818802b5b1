//! What of the state is saved: how far the newest checkpoint reaches, and the parts that are saved
//! as a whole.

use std::ops::{Deref, DerefMut};

use reprise_store::CommitSeq;
use reprise_types::{SectionKey, SectionPages, take_pages};

/// A checkpoint is due once one entry in so many is new in the log.
const TAIL_ONE_IN: u64 = 64;
/// So many new entries make a checkpoint due: the next opening would have to fold them.
const TAIL_MAX: u64 = 2_048;
/// The graph is saved as a whole, so it is due once one record in so many is new in it.
const GRAPH_ONE_IN: u64 = 16;

/// How far the newest checkpoint reaches, and what is new since.
#[derive(Debug, Default)]
pub(crate) struct StateCheckpoint {
    /// The last commit that it covers.
    covers: CommitSeq,
    /// Log entries applied since.
    entries: u64,
    /// Records added to the graph since it was saved, and how many of these are in what was encoded
    /// of it for the next checkpoint.
    graph: u64,
    graph_encoded: u64,
}

impl StateCheckpoint {
    /// Starts from a checkpoint in the file.
    pub(crate) fn new(covers: CommitSeq) -> Self {
        Self {
            covers,
            ..Self::default()
        }
    }

    pub(crate) fn note_entry(&mut self) {
        self.entries += 1;
    }

    pub(crate) fn note_graph_records(&mut self, records: usize) {
        self.graph += records as u64;
    }

    /// Returns the number of entries after it, which the next opening has to fold.
    pub(crate) fn entries_behind(&self) -> u64 {
        self.entries
    }

    /// Whether as much of the graph is new as makes it worth saving.
    pub(crate) fn is_graph_due(&self, records: u64) -> bool {
        self.graph > 0 && self.graph.saturating_mul(GRAPH_ONE_IN) >= records
    }

    /// Whether as many entries are new as make it worth saving them.
    pub(crate) fn is_tail_due(&self, records: u64) -> bool {
        let new = self.entries;
        new > 0 && (new >= TAIL_MAX || new.saturating_mul(TAIL_ONE_IN) >= records)
    }

    /// Whether anything is new since it.
    pub(crate) fn is_behind(&self, last: CommitSeq) -> bool {
        last > self.covers || self.graph > 0
    }

    /// Notes that the graph is encoded as of now.
    pub(crate) fn begin_graph(&mut self) {
        self.graph_encoded = self.graph;
    }

    pub(crate) fn complete(&mut self, covers: CommitSeq) {
        (self.covers, self.entries) = (covers, 0);
        self.graph -= std::mem::take(&mut self.graph_encoded).min(self.graph);
    }
}

/// A part of the state that is saved as a whole. It is encoded on another thread; only if it
/// changes until the checkpoint is completed, it is encoded once more there. Each mutable access
/// counts as a change.
#[derive(Debug)]
pub(crate) struct WholePart<T> {
    value: T,
    changes: u64,
    /// The count of changes that the encoded pages have, or the file once they are written.
    encoded: Option<u64>,
    /// The count of changes at which an encoding began.
    begun: u64,
    /// Encoded pages that are not written yet.
    pending: Option<SectionPages>,
    /// Whether something changed that may be lost with the process.
    has_unsaved_edits: bool,
}

impl<T> WholePart<T> {
    /// Takes a value that no checkpoint has.
    pub(crate) fn new(value: T) -> Self {
        Self {
            value,
            changes: 0,
            encoded: None,
            begun: 0,
            pending: None,
            has_unsaved_edits: false,
        }
    }

    /// Notes that it was read from the newest checkpoint.
    pub(crate) fn into_saved(self) -> Self {
        Self {
            encoded: Some(self.changes),
            ..self
        }
    }

    /// Gives access to what may be lost with the process, and is saved with the next checkpoint
    /// that is begun.
    pub(crate) fn edit_unsaved(&mut self) -> &mut T {
        self.has_unsaved_edits = true;
        &mut self.value
    }

    /// Returns what is to be encoded, if the encoded or saved bytes are not those of now.
    pub(crate) fn begin_encoding(&mut self) -> Option<T>
    where
        T: Clone,
    {
        self.begun = self.changes;
        let is_new = self.encoded != Some(self.changes);
        let has_unsaved_edits = std::mem::take(&mut self.has_unsaved_edits);
        (is_new || has_unsaved_edits).then(|| self.value.clone())
    }

    pub(crate) fn put_encoded(&mut self, pages: SectionPages) {
        (self.encoded, self.pending) = (Some(self.begun), Some(pages));
    }

    /// Collects encoded pages, as many as the budget allows; in the last step those of now.
    pub(crate) fn collect_pages(
        &self,
        key: SectionKey,
        encode: impl FnOnce(&T) -> Vec<u8>,
        budget: &mut usize,
        out: &mut Vec<SectionPages>,
    ) {
        let is_current = self.encoded == Some(self.changes);
        if let Some(pending) = self.pending.as_ref().filter(|_| is_current) {
            let taken = take_pages(0..pending.pages.len(), pending.page_bytes, budget).len();
            out.push(SectionPages {
                pages: pending.pages[..taken].to_vec(),
                ..*pending
            });
        }
        if *budget > 0 && !is_current {
            out.push(SectionPages::from_bytes(key, &encode(&self.value)));
        }
    }

    /// Notes that pages are written, the last ones if the checkpoint `is_complete`.
    pub(crate) fn mark_saved(&mut self, saved: &SectionPages, is_complete: bool) {
        if is_complete {
            (self.encoded, self.pending) = (Some(self.changes), None);
        } else if let Some(pending) = &mut self.pending {
            let written = saved.pages.len().min(pending.pages.len());
            pending.pages.drain(..written);
        }
    }

    /// Notes that nothing of it is saved.
    pub(crate) fn mark_unsaved(&mut self) {
        (self.encoded, self.pending) = (None, None);
    }
}

impl<T> Deref for WholePart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for WholePart<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changes += 1;
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: SectionKey = (41, 0);

    /// Takes a step with this budget, and returns how many bytes it has, and whether it encoded.
    fn step(part: &WholePart<Vec<u8>>, mut budget: usize) -> (Vec<SectionPages>, bool) {
        let (mut pages, mut has_encoded) = (Vec::new(), false);
        let encode = |value: &Vec<u8>| {
            has_encoded = true;
            value.clone()
        };
        part.collect_pages(KEY, encode, &mut budget, &mut pages);
        (pages, has_encoded)
    }

    fn encode_beside(part: &mut WholePart<Vec<u8>>) -> bool {
        let begun = part.begin_encoding();
        if let Some(value) = &begun {
            part.put_encoded(SectionPages::from_bytes(KEY, value));
        }
        begun.is_some()
    }

    #[test]
    fn what_did_not_change_is_not_encoded_by_the_writer() {
        let mut part = WholePart::new(vec![1; 10_000]);
        assert!(encode_beside(&mut part));
        let mut written = 0;
        for (budget, is_complete) in [(4_096, false), (100_000, true)] {
            let (pages, has_encoded) = step(&part, budget);
            assert!(!has_encoded);
            for section in &pages {
                written += section.size();
                part.mark_saved(section, is_complete);
            }
        }
        assert_eq!(written, 10_000);
        assert!(!encode_beside(&mut part), "it is saved");
        assert_eq!(step(&part, 100_000), (Vec::new(), false));
        let reopened = WholePart::new(vec![1; 10]).into_saved();
        assert_eq!(step(&reopened, 100_000), (Vec::new(), false));
    }

    #[test]
    fn what_changes_until_the_last_step_is_encoded_there() {
        let mut part = WholePart::new(vec![1; 10_000]);
        encode_beside(&mut part);
        part.push(2);
        assert!(!step(&part, 0).1, "not before the last step");
        let (pages, has_encoded) = step(&part, 100_000);
        assert!(has_encoded);
        let last = pages.last().unwrap();
        assert_eq!(last.length, 10_001);
        part.mark_saved(last, true);
        assert_eq!(step(&part, 100_000), (Vec::new(), false));
        part.mark_unsaved();
        assert!(step(&part, 100_000).1, "after a failure it is not saved");
    }

    #[test]
    fn what_may_be_lost_is_saved_with_the_next_checkpoint_that_is_begun() {
        let mut part = WholePart::new(vec![1]).into_saved();
        part.edit_unsaved().push(2);
        assert_eq!(step(&part, 100), (Vec::new(), false));
        assert!(encode_beside(&mut part));
        assert_eq!(step(&part, 100).0[0].length, 2);
    }
}
