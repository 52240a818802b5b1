//! `reprise ingest`: a JSONL file becomes records. Embedding runs on every core; each group is one
//! commit, acknowledged only when it is on disk.

mod counts;
mod guess;

use super::keep::{GROUP, Keeper, Kept, Manner};
use crate::args::{IngestArguments, IngestForm, IngestInput};
use crate::cli::input::Documents;
use crate::cli::prelude::*;
use counts::Counts;

/// A line's number and what it holds.
type Numbered = (u64, NewRecord);

pub(super) fn run(context: &Context, arguments: &IngestArguments) -> anyhow::Result<Exit> {
    let lines = lines(&arguments.input)?;
    let mut counts = Counts::of(&arguments.input);
    let manner = Manner::of(arguments.how, Duration::from_secs(arguments.wait));
    let mut keeper = Keeper::new(context, &arguments.whose.user, manner)?;
    let bar = ProgressBar::new_spinner();
    let mut group: Vec<Numbered> = Vec::with_capacity(GROUP);
    for line in lines {
        let (number, line) = line?;
        if let Some(record) = counts.read(number, line)? {
            group.push((number, record));
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

type AllLines = Box<dyn Iterator<Item = io::Result<(u64, Result<String, String>)>>>;

/// The input as lines of JSON, whatever its form.
fn lines(input: &IngestInput) -> anyhow::Result<AllLines> {
    let (form, file) = input.form();
    let text = BufReader::new(input::open(file)?);
    Ok(match form {
        IngestForm::Yaml => Box::new(Documents::new(text)),
        IngestForm::Jsonl => Box::new(jsonl(text)),
    })
}

fn keep(
    keeper: &mut Keeper<'_>,
    group: Vec<Numbered>,
    arguments: &IngestArguments,
    counts: &mut Counts,
) -> anyhow::Result<()> {
    let (numbers, records): (Vec<u64>, Vec<NewRecord>) = group.into_iter().unzip();
    let names: Vec<Option<String>> = records
        .iter()
        .map(|record| {
            let external = record.external_ids.first();
            external.map(|external| external.id.clone())
        })
        .collect();
    let kept = keeper.keep(records)?;
    let mut out = crate::printer::stdout();
    for ((number, name), Kept { fate, redacted }) in numbers.into_iter().zip(names).zip(kept) {
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
