//! What became of the lines of a file, and when to give up on it.
//!
//! Counting, and what is said of refused lines.

use reprise_operations::{RecordRedaction, read_line};

use super::guess;
use crate::args::IngestInput;
use crate::cli::keep::{DIFFERS, cut_off};
use crate::cli::prelude::*;

/// Refused lines that are said one by one; where the first so many of a file are all refused, it is
/// another kind of file.
const SAID_MAX: u64 = 10;
/// Unknown fields that are named.
const UNKNOWN_MAX: usize = 10;
/// Secrets whose places the summary names.
const REDACTED_MAX: usize = 1_000;
/// Characters of a reason that are said.
const WHY_CHARS_MAX: usize = 200;

/// A record's name as it is kept, for a note.
fn called(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| {
        format!(" (`{:.64}`)", Redactor::new().name_of(name))
    })
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) inserted: u64,
    pub(super) duplicate: u64,
    rejected: u64,
    /// Records whose text was cut.
    truncated: u64,
    /// Secrets that were taken out, and where the first of them stood.
    secrets: u64,
    redacted: Vec<RecordRedaction>,
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
            file: input.form().1.to_owned(),
            ..Self::default()
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

    /// Secrets that were taken out of the record of a line.
    pub(super) fn take_out(&mut self, number: u64, redacted: Vec<Redaction>) {
        for redaction in redacted {
            self.secrets += 1;
            if self.redacted.len() < REDACTED_MAX {
                let record = number;
                self.redacted.push(RecordRedaction { redaction, record });
            }
        }
    }

    /// A line that is not kept.
    pub(super) fn refuse(&mut self, number: u64, why: &str) {
        self.rejected += 1;
        if self.rejected > SAID_MAX {
            return;
        }
        let why = Redactor::new().redact_text(why).text;
        let cut: String = why.chars().take(WHY_CHARS_MAX).collect();
        let dots = if cut.len() < why.len() { "..." } else { "" };
        tell!("line {number} was refused: {cut}{dots}");
    }

    /// A line whose text is too long to be kept whole.
    pub(super) fn truncate(&mut self, number: u64, name: Option<&str>, bytes: usize) {
        self.truncated += 1;
        if self.truncated <= SAID_MAX {
            tell!("line {number}{}: {}", called(name), cut_off(bytes));
        }
    }

    /// A line that says something else than the record of its name.
    pub(super) fn differ(&mut self, number: u64, name: Option<&str>) {
        self.differ += 1;
        if self.differ <= SAID_MAX {
            tell!("line {number}{}: {DIFFERS}", called(name));
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

    pub(super) fn report(&self, context: &Context) -> anyhow::Result<Exit> {
        let Self {
            inserted,
            duplicate,
            rejected,
            truncated,
            secrets,
            redacted,
            ..
        } = self;
        for RecordRedaction { redaction, record } in redacted.iter().take(SAID_MAX as usize) {
            let Redaction { field, rule, line } = redaction;
            tell!("line {record}: a secret was taken out of `{field}`, line {line} ({rule})");
        }
        if *secrets > 0 {
            tell!("{secrets} secrets were taken out; `--verbatim` keeps texts as they stand");
        }
        if !self.unknown.is_empty() {
            let names: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
            let shown = names
                .iter()
                .take(UNKNOWN_MAX)
                .map(|name| format!("`{:.64}`", Redactor::new().name_of(name)));
            let shown: Vec<String> = shown.collect();
            let dots = if names.len() > UNKNOWN_MAX {
                ", ..."
            } else {
                ""
            };
            tell!(
                "nobody reads the fields {}{dots}; they are kept in the metadata",
                shown.join(", ")
            );
        }
        if self.differ > SAID_MAX {
            tell!("and {} more lines have changed", self.differ - SAID_MAX);
        }
        if *rejected > SAID_MAX {
            tell!("and {} more lines", rejected - SAID_MAX);
        }
        if *truncated > SAID_MAX {
            tell!("and the texts of {} more", truncated - SAID_MAX);
        }
        if self.is_wrong_file() {
            note(&self.guess());
        }
        let mut report = json!({ "inserted": inserted, "duplicate": duplicate, "rejected": rejected,
            "truncated": truncated });
        if !redacted.is_empty() {
            report["redacted"] = json!(redacted);
        }
        let kept = counted(*inserted, "record");
        let line =
            format!("{kept} kept, {duplicate} known already, {rejected} refused, {truncated} cut");
        output::for_pipes(context, &report, line)?;
        Ok(output::exit(*rejected == 0))
    }
}
