//! `reprise export`: writes every live record with its history, or in the form of another system.
//! Records tagged `sensitive` are left out unless `--sensitive` is given.

use std::io::BufWriter;

use reprise_knowledge::{
    ArchiveSection, ExportInput, OutgoingRecord, ProjectionKind, SUCCESSES_MIN, Skill,
    export_archive, may_be_committed, propose_skills, update_projection, write_export,
    write_skills,
};
use reprise_operations::{ExportLine, is_sensitive};
use reprise_server::CopyForm;
use reprise_types::format_minute_utc;

use crate::args::{ExportArguments, ExportFormat};
use crate::cli::prelude::*;
use crate::printer::{self, Printer};

/// Lowest quality of a run that went well.
const WELL: f32 = 0.7;

pub(super) fn run(context: &Context, arguments: &ExportArguments) -> anyhow::Result<Exit> {
    let engine = store::open_for_reading(context, &arguments.whose.user)?;
    if arguments.format == ExportFormat::Skills {
        return propose_and_write_skills(context, arguments, &engine);
    }
    // An encrypted file cannot be searched for forgotten texts, so it is recorded as a backup.
    let noted = if arguments.seal.seals() {
        CopyForm::Backup
    } else {
        CopyForm::Export
    };
    if arguments.seal.seals() && line_form_or_kind(arguments.format).is_err() {
        bail!(
            "only jsonl, json and yaml can be encrypted; or encrypt the whole memory with \
            `reprise backup`"
        );
    }
    if let Some(path) = &arguments.out {
        prepare_file(context, arguments, path, &noted)?;
    }
    let is_whole = |path: &Path, beside: &Path| {
        let user = &arguments.whose.user;
        copies::record_copy(context, user, path, noted.clone(), Some(beside));
    };
    let (written, stayed) = match (&arguments.out, line_form_or_kind(arguments.format)) {
        (None, Ok(form)) if arguments.seal.seals() => {
            let mut out = arguments.seal.wrap(printer::stdout_of_bytes())?;
            let counts = write_lines(&engine, arguments, form, &mut out)?;
            out.finish()?.flush()?;
            counts
        }
        (None, Ok(form)) => write_lines(&engine, arguments, form, printer::stdout())?,
        (None, Err(_)) => bail!("this format needs a file; add --out PATH"),
        (Some(path), Ok(form)) => atomic_files::write_then_rename(path, |beside| {
            let file = atomic_files::create_private(beside)?;
            let mut out = arguments.seal.wrap(&file)?;
            let counts = write_lines(&engine, arguments, form, Printer::new(&mut out))?;
            out.finish()?;
            file.sync_all()?;
            is_whole(path, beside);
            Ok(counts)
        })?,
        (Some(path), Err(kind)) => {
            let (told, stayed, has_past) = collect_records(&engine, arguments)?;
            let rules = context.config.tag_rules();
            let all = ExportInput {
                records: &told,
                aliases: rules.aliases(),
            };
            atomic_files::write_then_rename(path, |beside| {
                write_export(kind, beside, all)?;
                is_whole(path, beside);
                Ok(())
            })?;
            if has_past && kind.is_some() {
                note(
                    "this format leaves out earlier versions and learned scores; --format jsonl \
                     includes them",
                );
            }
            if kind == Some(ProjectionKind::Markdown) && arguments.as_of.is_none() {
                remember_written_notes(context, arguments, path, all);
            }
            (told.len() as u64, stayed)
        }
    };
    tell_counts(arguments, written, stayed);
    Ok(Exit::Success)
}

/// Says how many memories were written, and how many were left out.
fn tell_counts(arguments: &ExportArguments, written: u64, stayed: u64) {
    if let Some(path) = &arguments.out {
        let written = format_count(written, "memory");
        tell!("wrote {written} to {}", path.display());
    }
    if stayed > 0 {
        tell!(
            "without {} tagged `sensitive`; --sensitive includes them",
            format_count(stayed, "memory")
        );
    } else if written == 0 {
        match arguments.as_of {
            Some(at) => tell!("memory knew nothing yet at {}", format_minute_utc(at)),
            None => tell!("memory is empty"),
        }
    }
}

/// Refuses a file that may not be written, and records that it may soon hold memories.
fn prepare_file(
    context: &Context,
    arguments: &ExportArguments,
    path: &Path,
    noted: &CopyForm,
) -> anyhow::Result<()> {
    let user = &arguments.whose.user;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        let shown = folder.display();
        ensure!(
            folder.is_dir(),
            "the folder `{shown}` does not exist; create it first"
        );
    }
    copies::ensure_may_write(context, user, path, noted, arguments.force)?;
    // An interrupted export may leave a file too.
    copies::record_copy(context, user, path, noted.clone(), None);
    if may_be_committed(path) {
        tell!(
            "`{}` is in a git repository that does not ignore it; add it to .gitignore if \
             others can read the repository",
            path.display()
        );
    }
    Ok(())
}

/// Proposes skills from what helped often enough, and writes them if a person agrees.
fn propose_and_write_skills(
    context: &Context,
    arguments: &ExportArguments,
    engine: &Engine,
) -> anyhow::Result<Exit> {
    let memory = engine.snapshot();
    let mut successes: HashMap<RecordId, usize> = HashMap::new();
    let runs = memory.valid_runs();
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
    let proposed = propose_skills(&lessons)?;
    for skill in proposed.iter().filter(|_| !context.json) {
        let Skill { name, content, .. } = skill;
        writeln!(printer::stdout(), "{name}/SKILL.md\n\n{content}")?;
    }
    let count = format_count(proposed.len(), "skill");
    let Some(place) = arguments.out.as_ref().filter(|_| !proposed.is_empty()) else {
        tell!(
            "{count} proposed, of what helped {SUCCESSES_MIN} times or more; --out FOLDER writes them"
        );
        return Ok(Exit::Success);
    };
    let question = format!("write {count} below `{}`?", place.display());
    let refusal = "not a terminal: read the skills, then add --yes";
    if !arguments.yes && !confirm(&question, refusal)? {
        bail!("nothing was written");
    }
    let home = context.places.home_of(&arguments.whose.user);
    let place: PathBuf = std::path::absolute(place)?.components().collect();
    let done = write_skills(&place, &home, &proposed)?;
    for path in &done.kept {
        tell!(
            "`{}` was not changed: a person wrote or edited it",
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
fn remember_written_notes(
    context: &Context,
    arguments: &ExportArguments,
    path: &Path,
    all: ExportInput<'_>,
) {
    let home = context.places.home_of(&arguments.whose.user);
    let place: PathBuf = path.components().collect();
    if let Err(error) = update_projection(ProjectionKind::Markdown, &place, &home, all, false) {
        tell!("warning: {error}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineForm {
    Jsonl,
    Json,
    Yaml,
}

/// Returns our own line form, or the projection kind of another system; `Err(None)` is a vector
/// file.
fn line_form_or_kind(format: ExportFormat) -> Result<LineForm, Option<ProjectionKind>> {
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

/// Collects the records to export, the number withheld, and whether any has history.
fn collect_records(
    engine: &Engine,
    arguments: &ExportArguments,
) -> anyhow::Result<(Vec<OutgoingRecord>, u64, bool)> {
    let memory = engine.snapshot();
    let (mut told, mut has_past) = (Vec::new(), false);
    let stayed = visit_records(engine, arguments, &mut |record, beside| {
        let mut line = to_visible_json(record);
        has_past |= beside.has_history();
        if !beside.is_empty() {
            line["archive"] = serde_json::to_value(beside)?;
        }
        told.push(OutgoingRecord::new(&memory, record.clone(), line));
        Ok(())
    })?;
    Ok((told, stayed, has_past))
}

/// Visits each record to export with its archive section; for a past time, the records of that time
/// without a section. Returns how many were withheld.
fn visit_records(
    engine: &Engine,
    arguments: &ExportArguments,
    give: &mut dyn FnMut(&MemoryRecord, &ArchiveSection) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let stays = |record: &MemoryRecord| !arguments.sensitive && is_sensitive(record);
    let Some(at) = arguments.as_of else {
        return export_archive::<anyhow::Error>(engine, &to_visible_json, &stays, give);
    };
    let mut stayed = 0;
    for record in engine.snapshot().records_as_of(at).filter_map(Result::ok) {
        // A mark that was set later also holds for the earlier state.
        let marked = engine.snapshot().get_stored(record.id).and_then(Result::ok);
        if stays(&record) || marked.is_some_and(|now| stays(&now)) {
            stayed += 1;
        } else {
            give(&record, &ArchiveSection::default())?;
        }
    }
    Ok(stayed)
}

/// Returns the JSON of a record as the other interfaces print it, with short numbers.
fn to_visible_json(record: &MemoryRecord) -> Value {
    let text = serde_json::to_string(&ExportLine::new(record));
    let value = text.ok().and_then(|text| serde_json::from_str(&text).ok());
    value.unwrap_or_default()
}

#[derive(Serialize)]
struct ArchiveLine<'a> {
    #[serde(flatten)]
    record: ExportLine<'a>,
    #[serde(skip_serializing_if = "ArchiveSection::is_empty")]
    archive: &'a ArchiveSection,
}

/// Writes each record to export; returns how many were written, and how many withheld.
fn write_lines(
    engine: &Engine,
    arguments: &ExportArguments,
    form: LineForm,
    out: impl Write,
) -> anyhow::Result<(u64, u64)> {
    let (mut out, mut written) = (BufWriter::new(out), 0_u64);
    let stayed = visit_records(engine, arguments, &mut |record, archive| {
        let record = ExportLine::new(record);
        write_line(&mut out, form, written, &ArchiveLine { record, archive })?;
        written += 1;
        Ok(())
    })?;
    match form {
        LineForm::Json if written == 0 => out.write_all(b"[]\n")?,
        LineForm::Json => out.write_all(b"\n]\n")?,
        LineForm::Jsonl | LineForm::Yaml => {}
    }
    out.flush()?;
    Ok((written, stayed))
}

fn write_line(
    out: &mut impl Write,
    form: LineForm,
    place: u64,
    line: &ArchiveLine<'_>,
) -> anyhow::Result<()> {
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
            if text.chars().any(reprise_types::is_unsafe_to_display) {
                // JSON is YAML too, and has an escape for every character.
                text = serde_json::to_string(line)?;
            }
            let end = if text.ends_with('\n') { "" } else { "\n" };
            write!(out, "---\n{text}{end}")?;
        }
    }
    Ok(())
}
