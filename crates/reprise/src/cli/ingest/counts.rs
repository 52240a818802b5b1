//! What became of the lines of a file, and when to give up on it.
//!
//! Counting, and what is said of refused lines.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use reprise_operations::read_line;
use reprise_types::{NewRecord, Zone};
use serde_json::json;

use super::guess;
use crate::args::IngestInput;
use crate::cli::keep::{DIFFERS, cut_off};
use crate::cli::note;
use crate::exit::Exit;

/// Refused lines that are said one by one; where the first so many of a file are all refused, it is
/// another kind of file.
const SAID_MAX: u64 = 10;
/// Unknown fields that are named.
const UNKNOWN_MAX: usize = 10;
/// Characters of a reason that are said.
const WHY_CHARS_MAX: usize = 200;

#[derive(Debug)]
pub(super) struct Counts {
    pub(super) inserted: u64,
    pub(super) duplicate: u64,
    rejected: u64,
    /// Records whose text was cut.
    truncated: u64,
    /// Secrets that were taken out.
    pub(super) redacted: u64,
    /// Known records that came with another text.
    differ: u64,
    /// Fields that nobody reads.
    unknown: BTreeSet<String>,
    records: u64,
    file: PathBuf,
    /// The first lines that were none.
    strange: Vec<String>,
}

impl Counts {
    pub(super) fn of(input: &IngestInput) -> Self {
        Self {
            inserted: 0,
            duplicate: 0,
            rejected: 0,
            truncated: 0,
            redacted: 0,
            differ: 0,
            unknown: BTreeSet::new(),
            records: 0,
            file: input.form().1.to_owned(),
            strange: Vec::new(),
        }
    }

    /// The record of a line. `None` where it has none, which is said; an error where
    /// this is no file of records at all.
    pub(super) fn read(
        &mut self,
        number: u64,
        line: Result<String, String>,
    ) -> anyhow::Result<Option<NewRecord>> {
        let (line, read) = match line {
            Ok(line) => {
                let read = read_line(&line, Zone::Machine);
                (line, read)
            }
            Err(why) => (String::new(), Err(why)),
        };
        let why = match read {
            Ok((record, unknown)) => {
                self.records += 1;
                self.unknown.extend(unknown);
                return Ok(Some(record));
            }
            Err(why) => why,
        };
        self.refuse(number, &why);
        if self.records == 0 {
            self.strange.push(line);
            if self.strange.len() as u64 == SAID_MAX {
                bail!("{}; nothing was kept", self.guess());
            }
        }
        Ok(None)
    }

    /// A line that is not kept.
    pub(super) fn refuse(&mut self, number: u64, why: &str) {
        self.rejected += 1;
        if self.rejected > SAID_MAX {
            return;
        }
        let cut: String = why.chars().take(WHY_CHARS_MAX).collect();
        let dots = if cut.len() < why.len() { "..." } else { "" };
        note(&format!("line {number} was refused: {cut}{dots}"));
    }

    /// A line whose text is too long to be kept whole.
    pub(super) fn truncate(&mut self, number: u64, name: Option<&str>, bytes: usize) {
        self.truncated += 1;
        if self.truncated <= SAID_MAX {
            let name = name.map_or(String::new(), |name| format!(" (`{name:.64}`)"));
            note(&format!("line {number}{name}: {}", cut_off(bytes)));
        }
    }

    /// A line that says something else than the record of its name.
    pub(super) fn differ(&mut self, number: u64, name: Option<&str>) {
        self.differ += 1;
        if self.differ <= SAID_MAX {
            let name = name.map_or(String::new(), |name| format!(" (`{name:.64}`)"));
            note(&format!("line {number}{name}: {DIFFERS}"));
        }
    }

    /// Whether not one line was a record.
    pub(super) fn is_wrong_file(&self) -> bool {
        self.records == 0 && self.rejected > 0
    }

    fn guess(&self) -> String {
        format!(
            "`{}` seems to be {}",
            self.file.display(),
            guess::kind(&self.file, &self.strange)
        )
    }

    pub(super) fn report(&self) -> anyhow::Result<Exit> {
        let Self {
            inserted,
            duplicate,
            rejected,
            truncated,
            redacted,
            ..
        } = self;
        if *redacted > 0 {
            note(&format!(
                "{redacted} secrets were taken out; `--verbatim` keeps texts as they stand"
            ));
        }
        if !self.unknown.is_empty() {
            let names: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
            let shown = names
                .iter()
                .take(UNKNOWN_MAX)
                .map(|name| format!("`{name:.64}`"));
            let shown: Vec<String> = shown.collect();
            let dots = if names.len() > UNKNOWN_MAX {
                ", ..."
            } else {
                ""
            };
            note(&format!(
                "nobody reads the fields {}{dots}; they are kept in the metadata",
                shown.join(", ")
            ));
        }
        if self.differ > SAID_MAX {
            note(&format!(
                "and {} more lines have changed",
                self.differ - SAID_MAX
            ));
        }
        if *rejected > SAID_MAX {
            note(&format!("and {} more lines", rejected - SAID_MAX));
        }
        if *truncated > SAID_MAX {
            note(&format!("and the texts of {} more", truncated - SAID_MAX));
        }
        if self.is_wrong_file() {
            note(&self.guess());
        }
        let report = json!({ "inserted": inserted, "duplicate": duplicate, "rejected": rejected,
            "truncated": truncated });
        writeln!(std::io::stdout().lock(), "{report}")?;
        Ok(if *rejected == 0 {
            Exit::Success
        } else {
            Exit::Refused
        })
    }
}
