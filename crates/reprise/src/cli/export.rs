//! `reprise export`: every live record, with all that the log says besides, or in another system's
//! form. What is tagged `sensitive` stays here unless it is asked for.

use std::io::BufWriter;

use reprise_knowledge::{
    Beside, Outgoing, ProjectionKind, SUCCESSES, Skill, Telling, may_be_committed, rebuild, skills,
    tell, write_out, write_skills,
};
use reprise_operations::{ExportLine, is_sensitive};

use super::copies::Form;
use crate::args::{ExportArguments, ExportFormat};
use crate::cli::prelude::*;
use crate::printer::{self, Printer};

/// A run of this quality went well.
const WELL: f32 = 0.7;

pub(super) fn run(context: &Context, arguments: &ExportArguments) -> anyhow::Result<Exit> {
    let engine = store::read(context, &arguments.whose.user)?;
    if arguments.format == ExportFormat::Skills {
        return propose(context, arguments, &engine);
    }
    // What is encrypted cannot be searched for what was forgotten: it is known as a backup is.
    let noted = if arguments.seal.seals() {
        Form::Backup
    } else {
        Form::Export
    };
    if arguments.seal.seals() && form_of(arguments.format).is_err() {
        bail!("only jsonl, json and yaml are encrypted; or encrypt a whole memory by `backup`");
    }
    if let Some(path) = &arguments.out {
        let user = &arguments.whose.user;
        copies::may_write(context, user, path, &noted, arguments.force)?;
        // Also of what is stopped something may be left.
        copies::note(context, user, path, noted.clone(), None);
        if may_be_committed(path) {
            tell!(
                "`{}` stands in a git repository that does not ignore it; put it into .gitignore \
                 if others read that",
                path.display()
            );
        }
    }
    let is_whole = |path: &Path, beside: &Path| {
        let user = &arguments.whose.user;
        copies::note(context, user, path, noted.clone(), Some(beside));
    };
    let stayed = match (&arguments.out, form_of(arguments.format)) {
        (None, Ok(form)) if arguments.seal.seals() => {
            let mut out = arguments.seal.over(printer::stdout_of_bytes())?;
            let stayed = lines(&engine, arguments, form, &mut out)?;
            out.finish()?.flush()?;
            stayed
        }
        (None, Ok(form)) => lines(&engine, arguments, form, printer::stdout())?,
        (None, Err(_)) => bail!("this form is no text for a terminal; name a place by --out PATH"),
        (Some(path), Ok(form)) => whole::place(path, |beside| {
            let file = whole::private(beside)?;
            let mut out = arguments.seal.over(&file)?;
            let stayed = lines(&engine, arguments, form, Printer::new(&mut out))?;
            out.finish()?;
            file.sync_all()?;
            is_whole(path, beside);
            Ok(stayed)
        })?,
        (Some(path), Err(kind)) => {
            let (told, stayed, has_past) = telling(&engine, arguments)?;
            let rules = context.config.tag_rules();
            let all = Outgoing {
                records: &told,
                aliases: rules.aliases(),
            };
            whole::place(path, |beside| {
                write_out(kind, beside, all)?;
                is_whole(path, beside);
                Ok(())
            })?;
            if has_past && kind.is_some() {
                note(
                    "this form has no place for earlier versions and for what runs taught; \
                     --format jsonl takes them along",
                );
            }
            if kind == Some(ProjectionKind::Markdown) && arguments.as_of.is_none() {
                remember(context, arguments, path, all);
            }
            stayed
        }
    };
    if stayed > 0 {
        tell!(
            "without {} tagged `sensitive`; --sensitive takes such along",
            counted(stayed, "record")
        );
    }
    Ok(Exit::Success)
}

/// Skills of what helped often enough: shown, and written where a person agrees.
fn propose(
    context: &Context,
    arguments: &ExportArguments,
    engine: &Engine,
) -> anyhow::Result<Exit> {
    let memory = engine.snapshot();
    let mut successes: HashMap<RecordId, usize> = HashMap::new();
    let runs = memory.standing_runs();
    for (_, used) in runs.filter(|(run, _)| run.quality >= WELL) {
        for record in used {
            *successes.entry(record).or_default() += 1;
        }
    }
    let records = memory.records().filter_map(Result::ok);
    let counted_ones = records.filter_map(|record| {
        let successes = *successes.get(&record.id)?;
        Some((record, successes))
    });
    let lessons: Vec<_> = counted_ones.collect();
    let proposed = skills(&lessons)?;
    for skill in proposed.iter().filter(|_| !context.json) {
        let Skill { name, content, .. } = skill;
        writeln!(printer::stdout(), "{name}/SKILL.md\n\n{content}")?;
    }
    let count = counted(proposed.len(), "skill");
    let Some(place) = arguments.out.as_ref().filter(|_| !proposed.is_empty()) else {
        tell!(
            "{count} proposed, of what helped {SUCCESSES} times or more; --out FOLDER writes them"
        );
        return Ok(Exit::Success);
    };
    let question = format!("write {count} below `{}`?", place.display());
    let refusal = "nobody is there to be asked; add --yes once the skills have been read";
    if !arguments.yes && !agreed(&question, refusal)? {
        bail!("nothing was written");
    }
    let home = context.places.home_of(&arguments.whose.user);
    let place: PathBuf = std::path::absolute(place)?.components().collect();
    let done = write_skills(&place, &home, &proposed)?;
    for path in &done.kept {
        tell!(
            "`{}` stays as it is: a person wrote or changed it",
            path.display()
        );
    }
    let names: Vec<&str> = proposed.iter().map(|one| one.name.as_str()).collect();
    let (written, unchanged) = (done.written, done.unchanged);
    let row = json!({ "written": written, "unchanged": unchanged, "kept": done.kept,
        "skills": names });
    let line = format!("{written} written, {unchanged} unchanged");
    output::line(context, &row, line)
}

/// Remembers which notes memory wrote, so that `import --sync` brings them up to date and tells
/// which are gone.
fn remember(context: &Context, arguments: &ExportArguments, path: &Path, all: Outgoing<'_>) {
    let home = context.places.home_of(&arguments.whose.user);
    let place: PathBuf = path.components().collect();
    if let Err(error) = rebuild(ProjectionKind::Markdown, &place, &home, all, false) {
        tell!("warning: {error}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineForm {
    Jsonl,
    Json,
    Yaml,
}

/// Our own forms, and those of other systems; `Err(None)` is a file of vectors.
fn form_of(format: ExportFormat) -> Result<LineForm, Option<ProjectionKind>> {
    Err(Some(match format {
        ExportFormat::Jsonl => return Ok(LineForm::Jsonl),
        ExportFormat::Json => return Ok(LineForm::Json),
        ExportFormat::Yaml => return Ok(LineForm::Yaml),
        ExportFormat::Rvf => return Err(None),
        // Skills are proposed, and no form of a memory.
        ExportFormat::Markdown | ExportFormat::Skills => ProjectionKind::Markdown,
        ExportFormat::Sunwell => ProjectionKind::Sunwell,
        ExportFormat::AiLessons => ProjectionKind::AiLessons,
        ExportFormat::Frames => ProjectionKind::Frames,
    }))
}

/// Every record on its way out, how many stayed, and whether there is a past to tell.
fn telling(
    engine: &Engine,
    arguments: &ExportArguments,
) -> anyhow::Result<(Vec<Telling>, u64, bool)> {
    let memory = engine.snapshot();
    let (mut told, mut has_past) = (Vec::new(), false);
    let stayed = each(engine, arguments, &mut |record, beside| {
        let mut line = visible(record);
        has_past |= beside.is_past();
        if !beside.is_empty() {
            line["archive"] = serde_json::to_value(beside)?;
        }
        told.push(Telling::of(&memory, record.clone(), line));
        Ok(())
    })?;
    Ok((told, stayed, has_past))
}

/// Hands over each record that is to be told, with what the log says besides; of a time before now
/// the records alone, as they stood. Answers how many stayed.
fn each(
    engine: &Engine,
    arguments: &ExportArguments,
    give: &mut dyn FnMut(&MemoryRecord, &Beside) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let stays = |record: &MemoryRecord| !arguments.sensitive && is_sensitive(record);
    let Some(at) = arguments.as_of else {
        return tell::<anyhow::Error>(engine, &visible, &stays, give);
    };
    let mut stayed = 0;
    for record in engine.snapshot().records_at(at).filter_map(Result::ok) {
        // A mark that was set later holds for what stood before it.
        let marked = engine.snapshot().version(record.id).and_then(Result::ok);
        if stays(&record) || marked.is_some_and(|now| stays(&now)) {
            stayed += 1;
        } else {
            give(&record, &Beside::default())?;
        }
    }
    Ok(stayed)
}

/// A record as every face prints it, its numbers as short as they were written.
fn visible(record: &MemoryRecord) -> Value {
    let text = serde_json::to_string(&ExportLine::new(record));
    let value = text.ok().and_then(|text| serde_json::from_str(&text).ok());
    value.unwrap_or_default()
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    record: ExportLine<'a>,
    #[serde(skip_serializing_if = "Beside::is_empty")]
    archive: &'a Beside,
}

fn lines(
    engine: &Engine,
    arguments: &ExportArguments,
    form: LineForm,
    out: impl Write,
) -> anyhow::Result<u64> {
    let (mut out, mut written) = (BufWriter::new(out), 0_u64);
    let stayed = each(engine, arguments, &mut |record, archive| {
        let record = ExportLine::new(record);
        write(&mut out, form, written, &Line { record, archive })?;
        written += 1;
        Ok(())
    })?;
    match form {
        LineForm::Json if written == 0 => out.write_all(b"[]\n")?,
        LineForm::Json => out.write_all(b"\n]\n")?,
        LineForm::Jsonl | LineForm::Yaml => {}
    }
    out.flush()?;
    Ok(stayed)
}

fn write(out: &mut impl Write, form: LineForm, place: u64, line: &Line<'_>) -> anyhow::Result<()> {
    match form {
        LineForm::Jsonl => {
            serde_json::to_writer(&mut *out, line)?;
            out.write_all(b"\n")?;
        }
        LineForm::Json => {
            out.write_all(if place == 0 { b"[\n" } else { b",\n" })?;
            serde_json::to_writer(&mut *out, line)?;
        }
        LineForm::Yaml => {
            let mut text = serde_saphyr::to_string(line)?;
            if text.chars().any(reprise_types::acts) {
                // JSON is YAML too, and has an escape for every character.
                text = serde_json::to_string(line)?;
            }
            let end = if text.ends_with('\n') { "" } else { "\n" };
            write!(out, "---\n{text}{end}")?;
        }
    }
    Ok(())
}
