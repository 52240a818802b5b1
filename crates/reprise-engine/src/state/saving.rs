//! What of the state is saved: how far the newest checkpoint reaches, and the parts that are saved
//! as a whole.

use std::ops::{Deref, DerefMut};

use reprise_store::CommitSeq;
use reprise_types::SectionPages;

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
    kind: u8,
    encode: fn(&T) -> Vec<u8>,
    /// Whether it is as the file has it, or what is encoded for the next checkpoint.
    is_saved: bool,
    /// Whether it is as what is being encoded.
    is_encoding: bool,
    /// Whether something changed that may be lost with the process.
    has_unsaved_edits: bool,
}

impl<T: Clone + Send + 'static> WholePart<T> {
    /// Takes a value that no checkpoint has, the kind of its section, and how it is encoded.
    pub(crate) fn new(value: T, kind: u8, encode: fn(&T) -> Vec<u8>) -> Self {
        Self {
            value,
            kind,
            encode,
            is_saved: false,
            is_encoding: false,
            has_unsaved_edits: false,
        }
    }

    /// Notes that it was read from the newest checkpoint.
    pub(crate) fn mark_saved(&mut self) {
        self.is_saved = true;
    }

    /// Gives access to what may be lost with the process, and is saved with the next checkpoint
    /// that is begun.
    pub(crate) fn edit_unsaved(&mut self) -> &mut T {
        self.has_unsaved_edits = true;
        &mut self.value
    }

    /// Returns work for any thread that encodes it as it is now, if what is saved or encoded is not
    /// that.
    pub(crate) fn begin_encoding(
        &mut self,
    ) -> Option<impl FnOnce() -> SectionPages + Send + use<T>> {
        let has_unsaved_edits = std::mem::take(&mut self.has_unsaved_edits);
        (has_unsaved_edits || !self.is_saved).then(|| {
            (self.is_saved, self.is_encoding) = (false, true);
            let (value, kind, encode) = (self.value.clone(), self.kind, self.encode);
            move || SectionPages::from_bytes((kind, 0), &encode(&value))
        })
    }

    /// Notes that what is encoded by now is in the next checkpoint. Returns `false` if it must not
    /// be: something changed since.
    pub(crate) fn finish_encoding(&mut self) -> bool {
        let is_current = std::mem::take(&mut self.is_encoding);
        self.is_saved |= is_current;
        is_current
    }

    pub(crate) fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// Encodes it for the last step of a checkpoint, unless what is saved or encoded is as it is
    /// now. It counts as saved from now on.
    pub(crate) fn take_unsaved(&mut self) -> Option<SectionPages> {
        let is_saved = std::mem::replace(&mut self.is_saved, true);
        self.is_encoding = false;
        (!is_saved).then(|| SectionPages::from_bytes((self.kind, 0), &(self.encode)(&self.value)))
    }

    /// Notes that nothing of it is saved.
    pub(crate) fn mark_unsaved(&mut self) {
        (self.is_saved, self.is_encoding) = (false, false);
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
        (self.is_saved, self.is_encoding) = (false, false);
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(value: &[u8]) -> WholePart<Vec<u8>> {
        WholePart::new(value.to_vec(), 41, Clone::clone)
    }

    fn make_saved_part(value: &[u8]) -> WholePart<Vec<u8>> {
        let mut part = part(value);
        part.mark_saved();
        part
    }

    /// Encodes it on another thread, and returns how many bytes it has.
    fn encode(part: &mut WholePart<Vec<u8>>) -> Option<usize> {
        part.begin_encoding().map(|encode| encode().length)
    }

    /// Takes a last step, and returns the bytes that it encodes.
    fn last_step(part: &mut WholePart<Vec<u8>>) -> Option<usize> {
        part.take_unsaved().map(|pages| pages.length)
    }

    #[test]
    fn what_did_not_change_is_not_encoded_by_the_writer() {
        let mut part = part(&[1; 10_000]);
        assert_eq!(encode(&mut part), Some(10_000));
        assert!(part.finish_encoding());
        assert_eq!(last_step(&mut part), None);
        assert_eq!(encode(&mut part), None, "it is saved");
        let mut reopened = make_saved_part(&[1; 10]);
        assert_eq!(last_step(&mut reopened), None);
    }

    #[test]
    fn what_changes_until_the_last_step_is_encoded_there() {
        let mut part = part(&[1; 10_000]);
        for is_late in [false, true] {
            assert!(encode(&mut part).is_some());
            assert!(is_late || part.finish_encoding());
            part.push(2);
            assert!(!part.finish_encoding(), "what was encoded is not as it is");
            assert_eq!(last_step(&mut part), Some(part.len()));
            assert_eq!(last_step(&mut part), None);
            part.mark_unsaved();
        }
        assert_eq!(last_step(&mut part), Some(10_002), "after a failure");
    }

    #[test]
    fn what_may_be_lost_is_saved_with_the_next_checkpoint_that_is_begun() {
        let mut part = make_saved_part(&[1]);
        part.edit_unsaved().push(2);
        assert_eq!(last_step(&mut part), None);
        assert_eq!(encode(&mut part), Some(2));
        part.edit_unsaved().push(3);
        assert!(part.finish_encoding());
        assert_eq!(last_step(&mut part), None);
        assert_eq!(encode(&mut part), Some(3));
        assert_eq!(last_step(&mut part), Some(3), "what nobody has encoded yet");
    }
}
