//! `reprise import`: imports memories of other systems. It recognizes the kind, stores each memory
//! once, and reports every line that it cannot use.

mod archive;
mod notes;
mod report;

use reprise_knowledge::{
    ExternalLink, ImportError, ImportItem, ImportKind, ItemContent, NoteChanges, back_up,
    default_session_locations, find_plain_texts, is_plain_text, read_source, recognise,
    recognise_all,
};
use reprise_operations::operations::links::NamedLink;
use reprise_operations::read_line;
use reprise_server::CopyForm;
use reprise_types::limits::TEXT_BYTES_MAX;

use super::ingest;
use super::progress::ProgressLine;
use super::record_keeper::{GROUP, KeepResult, PATIENCE, RecordKeeper};
use crate::args::{ImportArguments, IngestArguments, IngestInput, IngestOptions};
use crate::cli::prelude::*;
use report::{ImportReport, RedactedSecret, SessionHistory};
pub(super) use report::{KnownSessions, find_histories, offer_import};

/// Most lines that are printed one by one.
const SAID_MAX: usize = 10;
const LINKS_MAX: usize = 1_000;

/// What is imported, and how.
#[derive(Clone, Copy)]
struct ImportSource<'a> {
    context: &'a Context,
    arguments: &'a ImportArguments,
    kind: ImportKind,
    zone: Zone,
}

pub(super) fn run(context: &Context, arguments: &ImportArguments) -> anyhow::Result<Exit> {
    if is_for_ingest(arguments) {
        return ingest::run(context, &to_ingest_arguments(arguments));
    }
    let named = find_named_history(arguments)?;
    let arguments = named.as_ref().unwrap_or(arguments);
    let kind = match arguments.from {
        Some(kind) => kind,
        None => recognize_kind(arguments)?,
    };
    let shown = arguments.path.display();
    ensure!(
        kind != ImportKind::Git || !arguments.path.is_file(),
        "`{shown}` is a file, not a repository; name the folder of the repository"
    );
    let mut arguments = arguments.clone();
    if kind == ImportKind::Sunwell {
        arguments.path = find_sunwell_state(&arguments.path);
    }
    let arguments = &arguments;
    let zone = if arguments.utc {
        Zone::Utc
    } else {
        Zone::Machine
    };
    anyhow::ensure!(
        kind.is_of_notes() || !(arguments.sync || arguments.watch || arguments.forget_gone),
        "--sync, --watch and --forget-gone go with notes, and this is {kind}"
    );
    if kind == ImportKind::Markdown {
        report_plain_texts(&arguments.path)?;
    }
    let source = ImportSource {
        context,
        arguments,
        kind,
        zone,
    };
    if arguments.watch {
        return notes::watch(context, arguments, || source.import_or_preview());
    }
    source.import_or_preview()
}

/// Returns what is meant where an agent is named in place of a path: its sessions on this machine.
fn find_named_history(arguments: &ImportArguments) -> anyhow::Result<Option<ImportArguments>> {
    let name = arguments.path.to_str().unwrap_or_default();
    let kind = name.parse().ok().filter(|_| arguments.from.is_none());
    let is_path = fs_err::symlink_metadata(&arguments.path).is_ok();
    let Some(kind) = kind.filter(|kind| !is_path && !default_session_locations(*kind).is_empty())
    else {
        return Ok(None);
    };
    let home = crate::env::home_folder()?;
    let places = default_session_locations(kind).iter();
    let mut places = places.map(|place| home.join(place));
    let path = places.find(|place| place.exists()).with_context(|| {
        format!("no sessions of {name} on this machine; name a file or folder that has some")
    })?;
    tell!("sessions of {name} in {}", path.display());
    Ok(Some(ImportArguments {
        path,
        from: Some(kind),
        ..arguments.clone()
    }))
}

/// Returns whether a file has memories in JSONL, which are read as `ingest` reads them, and nothing
/// is asked for that only an import can do.
fn is_for_ingest(arguments: &ImportArguments) -> bool {
    let is_plain = arguments.from.is_none()
        && arguments.since.is_none()
        && !(arguments.dry_run || arguments.sync || arguments.watch || arguments.forget_gone);
    let is_unknown = || {
        let recognized = recognise(&arguments.path);
        matches!(recognized, Err(ImportError::Unknown { .. }))
    };
    is_plain && arguments.path.is_file() && is_unknown() && has_records(&arguments.path)
}

fn to_ingest_arguments(arguments: &ImportArguments) -> IngestArguments {
    IngestArguments {
        whose: arguments.whose.clone(),
        input: IngestInput {
            file: Some(arguments.path.clone()),
            ..IngestInput::default()
        },
        ack: false,
        group: GROUP as u8,
        how: arguments.how,
        wait: PATIENCE.as_secs(),
    }
}

/// Returns the folder of a Sunwell project's state, which may be outside the project. The
/// environment variable counts for the current project, and for one without its own state.
fn find_sunwell_state(path: &Path) -> PathBuf {
    let is_project = path.is_dir() && path.file_name().is_none_or(|name| name != ".sunwell");
    let is_here = || {
        let here = std::env::current_dir().and_then(fs_err::canonicalize);
        let path = fs_err::canonicalize(path);
        path.is_ok_and(|path| here.is_ok_and(|here| here.starts_with(path)))
    };
    let is_meant = is_project && (is_here() || !path.join(".sunwell/memory").exists());
    let moved = crate::env::sunwell_state().filter(|state| is_meant && state.is_dir());
    let Some(moved) = moved else {
        return path.to_owned();
    };
    tell!("taken from {}, as SUNWELL_STATE_DIR says", moved.display());
    moved
}

/// Recognizes the kind of a path, and prints the other kinds that it contains.
fn recognize_kind(arguments: &ImportArguments) -> anyhow::Result<ImportKind> {
    let (path, shown) = (&arguments.path, arguments.path.display());
    anyhow::ensure!(
        fs_err::symlink_metadata(path).is_ok(),
        "`{shown}` does not exist; name a file or folder"
    );
    let is_rvf = path.extension().is_some_and(|ending| ending == "rvf");
    if is_rvf && super::backup::verify_copy(path).is_ok() {
        anyhow::bail!(
            "`{shown}` is a memory file; restore it with `reprise backup restore {shown} --user USER`"
        );
    }
    let kind = match recognise(path) {
        Err(ImportError::Unknown { .. }) if has_records(path) => {
            anyhow::bail!("`{shown}` has memories in JSONL; add them with `reprise ingest {shown}`")
        }
        Err(ImportError::Unknown { .. }) if is_plain_text(path) => {
            anyhow::bail!(
                "`{shown}` may be any text; add `--from {}` to import it as a note",
                ImportKind::Markdown
            )
        }
        recognised => recognised?,
    };
    let others = recognise_all(&arguments.path)?.into_iter().skip(1);
    let others: Vec<&str> = others.map(ImportKind::name).collect();
    if !others.is_empty() {
        tell!(
            "taken as {kind}; it also contains (choose with --from): {}",
            others.join(", ")
        );
    }
    Ok(kind)
}

/// Reports the text files of a folder that are not imported with its notes.
fn report_plain_texts(path: &Path) -> anyhow::Result<()> {
    let texts = find_plain_texts(path)?;
    if let Some(first) = texts.first() {
        let (files, first) = (format_count(texts.len(), "file"), first.display());
        tell!(
            "{files} ending in .txt skipped; import one with `--from {} {first}`",
            ImportKind::Markdown
        );
    }
    Ok(())
}

/// Returns whether a file begins with a record that `ingest` can read.
fn has_records(path: &Path) -> bool {
    let Ok(Some(file)) = reprise_files::open_if_exists(path) else {
        return false;
    };
    let Some(Ok((_, Ok(line)))) = jsonl(BufReader::new(file)).next() else {
        return false;
    };
    read_line(&line, Zone::Machine).is_ok()
}

impl ImportSource<'_> {
    fn import_or_preview(self) -> anyhow::Result<Exit> {
        let report = ImportReport {
            kind: self.kind.name(),
            dry_run: self.arguments.dry_run,
            ..ImportReport::default()
        };
        let mut report = if self.arguments.dry_run {
            self.preview(report)?
        } else if self.kind == ImportKind::Reprise {
            archive::import_archive(self.context, self.arguments, report)?
        } else {
            self.import_items(report)?
        };
        // A remote memory reports only which records it knew.
        if self.context.remote.is_none() && !report.known.is_empty() {
            let memory =
                store::open_for_reading(self.context, &self.arguments.whose.user)?.snapshot();
            let known = report.known.iter();
            report.forgotten = known.filter(|id| memory.is_forgotten(**id)).count();
        }
        print_report(self.context, self.arguments, &report)
    }

    /// Reports what an import would do, without writing anything or opening a model.
    fn preview(self, mut report: ImportReport) -> anyhow::Result<ImportReport> {
        let user = &self.arguments.whose.user;
        let engine = store::exists(self.context, user)?
            .then(|| store::open_for_reading(self.context, user))
            .transpose()?;
        let own = |engine: &Engine, name: &ExternalId| -> Option<RecordId> {
            let own = (name.namespace == ExternalId::REPRISE).then(|| name.id.parse().ok());
            let is_here = |id: &RecordId| {
                let memory = engine.snapshot();
                memory.get_stored(*id).is_some() || memory.is_forgotten(*id)
            };
            own.flatten().filter(is_here)
        };
        let mut seen: HashSet<ExternalId> = HashSet::new();
        let mut history = self.kind.is_of_sessions().then(SessionHistory::default);
        let mut renewal = notes::read_note_changes(self)?;
        if let Some(renewal) = &mut renewal {
            report.replaced = renewal.replaced.len() as u64;
            let gone = std::mem::take(&mut renewal.missing).into_iter();
            report.gone = gone.map(|one| notes::to_gone_row(one, false)).collect();
        }
        self.visit_items(renewal, &mut |ImportItem {
                                            place,
                                            content: found,
                                        }| {
            match found {
                ItemContent::Record(mut record) => {
                    record.replaces_known_id = self.arguments.how.update || history.is_some();
                    if let Some(history) = &mut history {
                        history.add_record(&record);
                    }
                    let names = &record.external_ids;
                    let known = engine.as_ref().and_then(|engine| {
                        let own = names.iter().find_map(|name| own(engine, name));
                        own.or_else(|| engine.snapshot().find_known(&record))
                    });
                    report.known.extend(known);
                    if known.is_some() || names.iter().any(|name| seen.contains(name)) {
                        report.duplicate += 1;
                    } else {
                        report.inserted += 1;
                        if record.text.len() > TEXT_BYTES_MAX {
                            report.add_truncated(place, record.text.len());
                        }
                    }
                    seen.extend(record.body.external_ids);
                }
                ItemContent::Link(_) => report.links += 1,
                ItemContent::Repeated => report.duplicate += 1,
                ItemContent::Refused(why) => report.add_refused(place, why),
                ItemContent::Scope(_) | ItemContent::Note(_) => {}
            }
            true
        })?;
        report.history = history.map(|history| history.to_counts());
        Ok(report)
    }

    fn import_items(self, mut report: ImportReport) -> anyhow::Result<ImportReport> {
        let how = IngestOptions {
            // A reply that was incomplete at the last import may be complete now.
            update: self.arguments.how.update || self.kind.is_of_sessions(),
            ..self.arguments.how
        };
        let mut line = ProgressLine::start();
        let is_drawn = !line.is_hidden();
        let total = is_drawn.then(|| self.count_items()).transpose()?;
        let total = total.unwrap_or(0);
        let mut visited = 0;
        let mut renewal = notes::read_note_changes(self)?;
        let mut gone = Vec::new();
        if let Some(renewal) = &mut renewal {
            notes::replace_changed_notes(self.context, self.arguments, renewal, &mut report)?;
            gone = std::mem::take(&mut renewal.missing);
        }
        let mut arrivals = ItemWriter {
            keeper: RecordKeeper::new(self.context, &self.arguments.whose.user, how, PATIENCE)?,
            group: Vec::with_capacity(GROUP),
            links: Vec::new(),
            report: ImportReport {
                backup: self.back_up_source()?,
                ..report
            },
            history: self.kind.is_of_sessions().then(SessionHistory::default),
            new: BTreeSet::new(),
            failed: None,
        };
        let done = self.visit_items(renewal, &mut |item| {
            visited += 1;
            line.draw_count(visited, total);
            arrivals
                .take(item)
                .map_err(|error| arrivals.failed = Some(error))
                .is_ok()
        });
        if let Some(error) = arrivals.failed.take() {
            return Err(error);
        }
        match done {
            Err(error @ ImportError::Stopped) => return Err(error.into()),
            // Items before the damage are stored.
            Err(error) => arrivals
                .report
                .add_refused(self.arguments.path.display().to_string(), error.to_string()),
            Ok(()) => {}
        }
        arrivals.flush()?;
        let ItemWriter {
            mut keeper,
            links,
            mut report,
            history,
            new,
            ..
        } = arrivals;
        for links in links.chunks(LINKS_MAX) {
            let named = links
                .iter()
                .map(|ExternalLink { from, to, relation }| NamedLink {
                    from: from.clone(),
                    to: to.clone(),
                    relation: relation.clone(),
                });
            report.links += keeper.link_all(named.collect())? as u64;
        }
        keeper.close()?;
        drop(line);
        if let Some(history) = history {
            let mut counted = history.to_counts();
            report::learn_from_sessions(
                self.context,
                &self.arguments.whose.user,
                new,
                how.later,
                &mut counted,
            )?;
            report.history = Some(counted);
        }
        notes::forget_deleted_notes(self.context, self.arguments, gone, &mut report)?;
        Ok(report)
    }

    /// Visits every item of a source; for notes, those that are new.
    fn visit_items(
        self,
        renewal: Option<NoteChanges>,
        take: &mut dyn FnMut(ImportItem) -> bool,
    ) -> Result<(), ImportError> {
        let since = self.arguments.since;
        let mut take_recent = |item: ImportItem| {
            let at = match &item.content {
                ItemContent::Record(record) => record.timestamp,
                _ => None,
            };
            at.zip(since).is_some_and(|(at, since)| at < since) || take(item)
        };
        let take: &mut dyn FnMut(ImportItem) -> bool = &mut take_recent;
        let Some(renewal) = renewal else {
            return read_source(&self.arguments.path, self.kind, self.zone, take);
        };
        if renewal.items.into_iter().all(take) {
            Ok(())
        } else {
            Err(ImportError::Stopped)
        }
    }

    /// Copies the source files if their kind asks for it; returns the folder of the copies.
    fn back_up_source(self) -> anyhow::Result<Option<PathBuf>> {
        let user = &self.arguments.whose.user;
        let home = self.context.places.home_of(user);
        let clean = |text: String| {
            if self.arguments.how.verbatim {
                text
            } else {
                Redactor::new().redact_text(&text).text
            }
        };
        let backup = back_up(&self.arguments.path, self.kind, &home, &clean)?;
        if let Some(backup) = &backup {
            copies::record_copy(self.context, user, backup, CopyForm::Export, None);
        }
        Ok(backup)
    }

    /// Returns how many items the source has.
    fn count_items(self) -> anyhow::Result<u64> {
        let mut total = 0;
        read_source(&self.arguments.path, self.kind, self.zone, &mut |_| {
            total += 1;
            true
        })?;
        Ok(total)
    }
}

struct ItemWriter<'a> {
    keeper: RecordKeeper<'a>,
    /// Records with their place and session.
    group: Vec<((String, String), NewRecord)>,
    links: Vec<ExternalLink>,
    report: ImportReport,
    history: Option<SessionHistory>,
    /// Sessions with new records.
    new: BTreeSet<String>,
    failed: Option<anyhow::Error>,
}

impl ItemWriter<'_> {
    fn take(
        &mut self,
        ImportItem {
            place,
            content: found,
        }: ImportItem,
    ) -> anyhow::Result<()> {
        match found {
            ItemContent::Record(record) => {
                if let Some(history) = &mut self.history {
                    history.add_record(&record);
                }
                let session = record.session_id.clone();
                self.group.push(((place, session), *record));
                if self.group.len() == GROUP {
                    self.flush()?;
                }
            }
            ItemContent::Link(joint) => self.links.push(joint),
            ItemContent::Repeated => self.report.duplicate += 1,
            ItemContent::Refused(why) => self.report.add_refused(place, why),
            ItemContent::Scope(_) | ItemContent::Note(_) => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let group = std::mem::replace(&mut self.group, Vec::with_capacity(GROUP));
        for ((place, session), KeepResult { fate, redacted }) in self.keeper.keep(group)? {
            if self.history.is_some() && matches!(fate, RecordFate::Inserted { .. }) {
                self.new.insert(session);
            }
            self.report.add_redactions(&place, redacted);
            self.report.add_fate(place, fate);
        }
        Ok(())
    }
}

fn print_report(
    context: &Context,
    arguments: &ImportArguments,
    report: &ImportReport,
) -> anyhow::Result<Exit> {
    output::print(context, report, |out| {
        let (path, kind, known) = (arguments.path.display(), report.kind, report.duplicate);
        let verb = if arguments.dry_run {
            "would be added"
        } else {
            "added"
        };
        let mut added = format_count(report.inserted, "memory");
        if report.links > 0 {
            added = format!("{added} and {}", format_count(report.links, "link"));
        }
        write!(
            out,
            "{path} ({kind}): {added} {verb}, {known} already known"
        )?;
        if report.rejected > 0 {
            write!(
                out,
                ", {} cannot be used",
                format_count(report.rejected, "line")
            )?;
        }
        if report.truncated > 0 {
            write!(out, ", {} cut", format_count(report.truncated, "long text"))?;
        }
        writeln!(out)?;
        if report.forgotten > 0 {
            let gone = report.forgotten;
            writeln!(
                out,
                "{gone} skipped because you forgot them here; `reprise learn TEXT` adds one again"
            )?;
        }
        if report.replaced > 0 {
            let sections = format_count(report.replaced, "section");
            writeln!(out, "{sections} changed there and replaced here")?;
        }
        for gone in report.gone.iter().take(SAID_MAX) {
            let what = if gone.forgotten { "forgotten" } else { "gone" };
            writeln!(out, "{what}: {}: {}", gone.path, gone.text)?;
        }
        let more = report.gone.len().saturating_sub(SAID_MAX);
        if more > 0 {
            writeln!(out, "and {more} more; --json lists them")?;
        }
        if let Some(history) = &report.history {
            writeln!(out, "{}", history.summary())?;
        }
        if let Some(backup) = &report.backup {
            let backup = backup.display();
            tell!("copies of the imported files are in {backup}");
        }
        for RedactedSecret { place, redaction } in report.redacted.iter().take(SAID_MAX) {
            let (Redaction { field, line, .. }, kind) = (redaction, redaction.kind());
            tell!("{place}: removed a secret from `{field}`, line {line} ({kind})");
        }
        for line in report.lines.iter().take(SAID_MAX) {
            tell!("{}: {}", line.r#where, line.why);
        }
        let more = report.lines.len().saturating_sub(SAID_MAX);
        if more > 0 {
            tell!("and {more} more; --json lists them");
        }
        Ok(())
    })?;
    if report.is_empty() && !context.json {
        tell!(
            "there is nothing of {} there, or all of it is older than --since; --from names another kind, \
             and `--from {}` reads notes",
            report.kind,
            ImportKind::Markdown
        );
    }
    Ok(output::exit(report.rejected == 0))
}
