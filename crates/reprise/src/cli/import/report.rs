//! What became of a source, line by line where it could not be used.

use reprise_operations::Fate;
use serde::Serialize;

use crate::cli::keep::{DIFFERS, cut_off};

/// What became of a source.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) kind: &'static str,
    pub(super) inserted: u64,
    pub(super) duplicate: u64,
    pub(super) rejected: u64,
    pub(super) truncated: u64,
    pub(super) links: u64,
    pub(super) dry_run: bool,
    pub(super) lines: Vec<Line>,
}

/// What cannot be used, not the whole of it, or not what is there.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub(super) r#where: String,
    pub(super) why: String,
}

impl Report {
    pub(super) fn refuse(&mut self, place: String, why: String) {
        self.rejected += 1;
        self.say(place, why);
    }

    fn say(&mut self, place: String, why: String) {
        self.lines.push(Line {
            r#where: place,
            why,
        });
    }

    /// A text that is longer than a record keeps.
    pub(super) fn truncate(&mut self, place: String, bytes: usize) {
        self.truncated += 1;
        self.say(place, cut_off(bytes));
    }

    pub(super) fn count(&mut self, place: String, fate: Fate) {
        match fate {
            Fate::Inserted {
                truncated_from_bytes,
                ..
            } => {
                self.inserted += 1;
                if let Some(bytes) = truncated_from_bytes {
                    self.truncate(place, bytes);
                }
            }
            Fate::Duplicate { differs, .. } => {
                self.duplicate += 1;
                if differs {
                    self.say(place, DIFFERS.to_owned());
                }
            }
            Fate::Rejected { why } => self.refuse(place, why),
        }
    }
}
