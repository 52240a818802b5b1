//! `reprise ingest`: stores the records of a JSONL file. Embedding runs on every core; each group
//! is one commit, acknowledged only when it is on disk. Refused lines are reported.

mod guess;

use reprise_operations::{RecordRedaction, read_records};

use super::progress::ProgressLine;
use super::record_keeper::{DIFFERS, GROUP, KeepResult, RecordKeeper, truncation_message};
use crate::args::IngestArguments;
use crate::cli::prelude::*;

/// Most refused lines that are printed one by one; if the first lines of a file are all refused up
/// to this number, it is another kind of file.
const SAID_MAX: u64 = 10;
/// Most unknown fields that are printed.
const UNKNOWN_MAX: usize = 10;
/// Most secrets whose places the summary lists.
const REDACTED_MAX: usize = 1_000;
/// Most characters that are printed of a reason.
const WHY_CHARS_MAX: usize = 200;

/// Number of a line, the name of its record, and the record.
type Numbered = ((u64, Option<String>), NewRecord);

pub(super) fn run(context: &Context, arguments: &IngestArguments) -> anyhow::Result<Exit> {
    let (file, is_yaml) = arguments.input.file_and_format();
    let text = BufReader::new(input::open(file)?);
    // Both forms become lines of JSON.
    let lines: Box<dyn Iterator<Item = _>> = if is_yaml {
        Box::new(input::read_yaml_documents(text))
    } else {
        Box::new(jsonl(text))
    };
    let mut counts = IngestCounts {
        file: file.to_owned(),
        ..IngestCounts::default()
    };
    let patience = Duration::from_secs(arguments.wait);
    let mut keeper = RecordKeeper::new(context, &arguments.whose.user, arguments.how, patience)?;
    let mut line_of_progress = ProgressLine::start();
    let mut group: Vec<Numbered> = Vec::with_capacity(GROUP);
    for line in lines {
        let (number, line) = line?;
        for record in counts.parse_line(number, line)? {
            let name = record.external_ids.first().map(|name| name.id.clone());
            group.push(((number, name), record));
        }
        if group.len() >= usize::from(arguments.group) {
            store_group(
                &mut keeper,
                std::mem::take(&mut group),
                arguments,
                &mut counts,
            )?;
            line_of_progress.draw(|_| format!("{} kept", counts.inserted));
        }
    }
    if !counts.is_wrong_file() {
        store_group(&mut keeper, group, arguments, &mut counts)?;
    }
    keeper.close()?;
    drop(line_of_progress);
    counts.print_report(context)
}

fn store_group(
    keeper: &mut RecordKeeper<'_>,
    group: Vec<Numbered>,
    arguments: &IngestArguments,
    counts: &mut IngestCounts,
) -> anyhow::Result<()> {
    let mut out = crate::printer::stdout();
    for ((number, name), KeepResult { fate, redacted }) in keeper.keep(group)? {
        counts.add_redactions(number, redacted);
        match fate {
            RecordFate::Inserted {
                truncated_from_bytes,
                ..
            } => {
                counts.inserted += 1;
                if let Some(bytes) = truncated_from_bytes {
                    counts.add_truncated(number, name.as_deref(), bytes);
                }
            }
            RecordFate::Duplicate { differs, .. } => {
                counts.duplicate += 1;
                if differs {
                    counts.add_differing(number, name.as_deref());
                }
            }
            RecordFate::Rejected { why } => {
                counts.add_refused(number, &why);
                continue;
            }
        }
        if let Some(name) = name.filter(|_| arguments.ack) {
            writeln!(out, "{name}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Counts of the lines of a file by their result.
#[derive(Debug, Default)]
struct IngestCounts {
    inserted: u64,
    duplicate: u64,
    rejected: u64,
    /// Records whose text was cut.
    truncated: u64,
    /// Number of removed secrets; `redacted` lists the first places.
    secrets: u64,
    redacted: Vec<RecordRedaction>,
    /// Known records whose text differs.
    differ: u64,
    /// Names of unknown fields.
    unknown: BTreeSet<String>,
    records: u64,
    file: PathBuf,
    /// The first lines without a record.
    strange: Vec<String>,
}

impl IngestCounts {
    /// Parses the records of a line, mostly one. None for a refused line, which is reported; an
    /// error if this is not a file of records.
    fn parse_line(
        &mut self,
        number: u64,
        line: Result<String, String>,
    ) -> anyhow::Result<Vec<NewRecord>> {
        let (line, read) = match line {
            Ok(line) => {
                let read = read_records(&line, Zone::Machine);
                (line, read)
            }
            Err(why) => (String::new(), vec![Err(why)]),
        };
        let mut records = Vec::with_capacity(read.len());
        for one in read {
            match one {
                Ok((record, unknown)) => {
                    self.records += 1;
                    self.unknown.extend(unknown);
                    records.push(record);
                }
                Err(why) => self.add_refused(number, &why),
            }
        }
        if self.records == 0 {
            self.strange.push(line);
            if self.strange.len() as u64 == SAID_MAX {
                bail!("{}; nothing was kept", self.wrong_file_message());
            }
        }
        Ok(records)
    }

    /// Adds the secrets that were removed from the record of a line.
    fn add_redactions(&mut self, number: u64, redacted: Vec<Redaction>) {
        for redaction in redacted {
            self.secrets += 1;
            if self.redacted.len() < REDACTED_MAX {
                let record = number;
                self.redacted.push(RecordRedaction { redaction, record });
            }
        }
    }

    /// Counts and reports a refused line.
    fn add_refused(&mut self, number: u64, why: &str) {
        self.rejected += 1;
        if self.rejected > SAID_MAX {
            return;
        }
        let why = Redactor::new().redact_text(why).text;
        let cut: String = why.chars().take(WHY_CHARS_MAX).collect();
        let dots = if cut.len() < why.len() { "..." } else { "" };
        tell!("refused line {number}: {cut}{dots}");
    }

    /// Counts and reports a line whose text was truncated.
    fn add_truncated(&mut self, number: u64, name: Option<&str>, bytes: usize) {
        self.truncated += 1;
        if self.truncated <= SAID_MAX {
            tell!(
                "line {number}{}: {}",
                format_name_in_parentheses(name),
                truncation_message(bytes)
            );
        }
    }

    /// Counts and reports a line whose text differs from the known record.
    fn add_differing(&mut self, number: u64, name: Option<&str>) {
        self.differ += 1;
        if self.differ <= SAID_MAX {
            tell!(
                "line {number}{}: {DIFFERS}",
                format_name_in_parentheses(name)
            );
        }
    }

    /// Returns whether no line was a record.
    fn is_wrong_file(&self) -> bool {
        self.records == 0 && self.rejected > 0
    }

    fn wrong_file_message(&self) -> String {
        format!(
            "`{}` seems to be {}",
            self.file.display(),
            guess::guess_file_kind(&self.file, &self.strange)
        )
    }

    fn print_report(&self, context: &Context) -> anyhow::Result<Exit> {
        for RecordRedaction { redaction, record } in self.redacted.iter().take(SAID_MAX as usize) {
            let (Redaction { field, line, .. }, kind) = (redaction, redaction.kind());
            tell!("line {record}: removed a secret from `{field}`, line {line} ({kind})");
        }
        if self.secrets > 0 {
            let were = if self.secrets == 1 { "was" } else { "were" };
            let secrets = format_count(self.secrets, "secret");
            tell!("{secrets} {were} removed; `--verbatim` keeps texts unchanged");
        }
        if !self.unknown.is_empty() {
            let names: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
            let shown = names
                .iter()
                .take(UNKNOWN_MAX)
                .map(|name| format!("`{:.64}`", Redactor::new().redacted_name(name)));
            let shown: Vec<String> = shown.collect();
            let dots = if names.len() > UNKNOWN_MAX {
                ", ..."
            } else {
                ""
            };
            tell!(
                "unknown fields {}{dots}; they are stored in the metadata",
                shown.join(", ")
            );
        }
        if self.differ > SAID_MAX {
            tell!("and {} more lines have changed", self.differ - SAID_MAX);
        }
        if self.rejected > SAID_MAX {
            tell!("and {} more lines", self.rejected - SAID_MAX);
        }
        if self.truncated > SAID_MAX {
            tell!("and the texts of {} more", self.truncated - SAID_MAX);
        }
        if self.is_wrong_file() {
            note(&self.wrong_file_message());
        }
        let (duplicate, rejected, truncated) = (self.duplicate, self.rejected, self.truncated);
        let mut report = json!({ "inserted": self.inserted, "duplicate": duplicate,
            "rejected": rejected, "truncated": truncated });
        if !self.redacted.is_empty() {
            report["redacted"] = json!(self.redacted);
        }
        let kept = format_count(self.inserted, "memory");
        let mut line = format!("{kept} added, {duplicate} already known, {rejected} refused");
        if truncated > 0 {
            line = format!("{line}, {truncated} cut because they are too long");
        }
        output::line(context, &report, line)?;
        Ok(output::exit(rejected == 0))
    }
}

/// Formats a record's redacted name for a message.
fn format_name_in_parentheses(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| {
        format!(" (`{:.64}`)", Redactor::new().redacted_name(name))
    })
}
