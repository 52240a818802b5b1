//! What became of a source, line by line where it could not be used.

use super::history::Counted;
use super::notes::GoneRow;
use crate::cli::keep::{DIFFERS, cut_off};
use crate::cli::prelude::*;

/// What became of a source.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) kind: &'static str,
    pub(super) inserted: u64,
    /// What was changed in its note, and is a new version now.
    pub(super) replaced: u64,
    pub(super) duplicate: u64,
    pub(super) rejected: u64,
    pub(super) truncated: u64,
    pub(super) links: u64,
    pub(super) dry_run: bool,
    /// Of a program's sessions: how many there are, and what they taught.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<Counted>,
    /// Where copies of the files are that moved in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backup: Option<PathBuf>,
    /// What was taken out, without the values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) redacted: Vec<TakenOut>,
    pub(super) lines: Vec<Line>,
    /// Records whose notes or sections are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<GoneRow>,
}

/// What cannot be used, not the whole of it, or not what is there.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub(super) r#where: String,
    pub(super) why: String,
}

/// A secret that was taken out.
#[derive(Debug, Serialize)]
pub(super) struct TakenOut {
    #[serde(rename = "where")]
    pub(super) place: String,
    #[serde(flatten)]
    pub(super) redaction: Redaction,
}

/// Secrets whose places are named.
const REDACTED_MAX: usize = 1_000;

impl Report {
    /// Secrets that were taken out of a record.
    pub(super) fn take_out(&mut self, place: &str, redacted: Vec<Redaction>) {
        for redaction in redacted {
            if self.redacted.len() < REDACTED_MAX {
                let place = place.to_owned();
                self.redacted.push(TakenOut { place, redaction });
            }
        }
    }

    pub(super) fn refuse(&mut self, place: String, why: String) {
        self.rejected += 1;
        self.say(place, why);
    }

    /// What a file says of itself may hold a secret, too.
    fn say(&mut self, place: String, why: String) {
        let [r#where, why] = [place, why].map(|said| Redactor::new().redact_text(&said).text);
        self.lines.push(Line { r#where, why });
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
