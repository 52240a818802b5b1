//! What became of a source, line by line where it could not be used.

use reprise_operations::Fate;
use serde::Serialize;

/// What became of a source.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) kind: &'static str,
    pub(super) inserted: u64,
    pub(super) duplicate: u64,
    pub(super) rejected: u64,
    pub(super) links: u64,
    pub(super) dry_run: bool,
    pub(super) lines: Vec<Refused>,
}

#[derive(Debug, Serialize)]
pub(super) struct Refused {
    pub(super) r#where: String,
    pub(super) why: String,
}

impl Report {
    pub(super) fn refuse(&mut self, place: String, why: String) {
        self.rejected += 1;
        self.lines.push(Refused {
            r#where: place,
            why,
        });
    }

    pub(super) fn count(&mut self, place: String, fate: Fate) {
        match fate {
            Fate::Inserted { .. } => self.inserted += 1,
            Fate::Duplicate { .. } => self.duplicate += 1,
            Fate::Rejected { why } => self.refuse(place, why),
        }
    }
}
