//! `reprise ingest`: a JSONL file becomes records. Embedding runs on every core; each group is one
//! commit, acknowledged only when it is on disk. What is said of refused lines, and when a file is
//! given up.

mod guess;

use reprise_operations::{RecordRedaction, read_line};

use super::keep::{DIFFERS, GROUP, Keeper, Kept, cut_off};
use crate::args::IngestArguments;
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

/// A line's number, the name of its record, and that.
type Numbered = ((u64, Option<String>), NewRecord);

pub(super) fn run(context: &Context, arguments: &IngestArguments) -> anyhow::Result<Exit> {
    let (file, is_yaml) = arguments.input.form();
    let text = BufReader::new(input::open(file)?);
    // Lines of JSON, whatever the form.
    let lines: Box<dyn Iterator<Item = _>> = if is_yaml {
        Box::new(input::documents(text))
    } else {
        Box::new(jsonl(text))
    };
    let mut counts = Counts {
        file: file.to_owned(),
        ..Counts::default()
    };
    let patience = Duration::from_secs(arguments.wait);
    let mut keeper = Keeper::new(context, &arguments.whose.user, arguments.how, patience)?;
    let bar = ProgressBar::new_spinner();
    let mut group: Vec<Numbered> = Vec::with_capacity(GROUP);
    for line in lines {
        let (number, line) = line?;
        if let Some(record) = counts.read(number, line)? {
            let name = record.external_ids.first().map(|name| name.id.clone());
            group.push(((number, name), record));
        }
        if group.len() >= usize::from(arguments.group) {
            keep(
                &mut keeper,
                std::mem::take(&mut group),
                arguments,
                &mut counts,
            )?;
            bar.set_message(format!("{} kept", counts.inserted));
            bar.tick();
        }
    }
    if !counts.is_wrong_file() {
        keep(&mut keeper, group, arguments, &mut counts)?;
    }
    keeper.close()?;
    bar.finish_and_clear();
    counts.report(context)
}

fn keep(
    keeper: &mut Keeper<'_>,
    group: Vec<Numbered>,
    arguments: &IngestArguments,
    counts: &mut Counts,
) -> anyhow::Result<()> {
    let mut out = crate::printer::stdout();
    for ((number, name), Kept { fate, redacted }) in keeper.keep(group)? {
        counts.take_out(number, redacted);
        match fate {
            Fate::Inserted {
                truncated_from_bytes,
                ..
            } => {
                counts.inserted += 1;
                if let Some(bytes) = truncated_from_bytes {
                    counts.truncate(number, name.as_deref(), bytes);
                }
            }
            Fate::Duplicate { differs, .. } => {
                counts.duplicate += 1;
                if differs {
                    counts.differ(number, name.as_deref());
                }
            }
            Fate::Rejected { why } => {
                counts.refuse(number, &why);
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

/// What became of the lines of a file.
#[derive(Debug, Default)]
struct Counts {
    inserted: u64,
    duplicate: u64,
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
    /// The record of a line. `None` where it has none, which is said; an error where
    /// this is no file of records at all.
    fn read(
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
    fn take_out(&mut self, number: u64, redacted: Vec<Redaction>) {
        for redaction in redacted {
            self.secrets += 1;
            if self.redacted.len() < REDACTED_MAX {
                let record = number;
                self.redacted.push(RecordRedaction { redaction, record });
            }
        }
    }

    /// A line that is not kept.
    fn refuse(&mut self, number: u64, why: &str) {
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
    fn truncate(&mut self, number: u64, name: Option<&str>, bytes: usize) {
        self.truncated += 1;
        if self.truncated <= SAID_MAX {
            tell!("line {number}{}: {}", called(name), cut_off(bytes));
        }
    }

    /// A line that says something else than the record of its name.
    fn differ(&mut self, number: u64, name: Option<&str>) {
        self.differ += 1;
        if self.differ <= SAID_MAX {
            tell!("line {number}{}: {DIFFERS}", called(name));
        }
    }

    /// Whether not one line was a record.
    fn is_wrong_file(&self) -> bool {
        self.records == 0 && self.rejected > 0
    }

    fn guess(&self) -> String {
        format!(
            "`{}` seems to be {}",
            self.file.display(),
            guess::kind(&self.file, &self.strange)
        )
    }

    fn report(&self, context: &Context) -> anyhow::Result<Exit> {
        for RecordRedaction { redaction, record } in self.redacted.iter().take(SAID_MAX as usize) {
            let Redaction { field, rule, line } = redaction;
            tell!("line {record}: a secret was taken out of `{field}`, line {line} ({rule})");
        }
        if self.secrets > 0 {
            let were = if self.secrets == 1 { "was" } else { "were" };
            let secrets = counted(self.secrets, "secret");
            tell!("{secrets} {were} taken out; `--verbatim` keeps texts as they stand");
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
        if self.rejected > SAID_MAX {
            tell!("and {} more lines", self.rejected - SAID_MAX);
        }
        if self.truncated > SAID_MAX {
            tell!("and the texts of {} more", self.truncated - SAID_MAX);
        }
        if self.is_wrong_file() {
            note(&self.guess());
        }
        let (duplicate, rejected, truncated) = (self.duplicate, self.rejected, self.truncated);
        let mut report = json!({ "inserted": self.inserted, "duplicate": duplicate,
            "rejected": rejected, "truncated": truncated });
        if !self.redacted.is_empty() {
            report["redacted"] = json!(self.redacted);
        }
        let kept = counted(self.inserted, "record");
        let line =
            format!("{kept} kept, {duplicate} known already, {rejected} refused, {truncated} cut");
        output::for_pipes(context, &report, line)?;
        Ok(output::exit(rejected == 0))
    }
}

/// A record's name as it is kept, for a note.
fn called(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| {
        format!(" (`{:.64}`)", Redactor::new().name_of(name))
    })
}
