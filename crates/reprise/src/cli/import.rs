//! `reprise import`: what other systems kept becomes memory. Recognised by itself, kept once, and
//! every line that cannot be used is told.

mod moving;
mod notes;
mod report;

use indicatif::{ProgressState, ProgressStyle};
use reprise_knowledge::{
    Found, ImportError, ImportKind, Item, Joint, Renewal, back_up, is_plain_text, plain_texts,
    read, recognise, recognise_all,
};
use reprise_operations::operations::links::NamedLink;
use reprise_operations::read_line;
use reprise_types::limits::TEXT_BYTES_MAX;

use super::keep::{GROUP, Keeper, Kept, PATIENCE};
use crate::args::{ImportArguments, TakenIn};
use crate::cli::prelude::*;
pub(super) use report::offer;
use report::{History, Report, TakenOut};

/// Lines that are said one by one at a terminal.
const SAID_MAX: usize = 10;
const LINKS_MAX: usize = 1_000;

/// What is imported, and how.
#[derive(Clone, Copy)]
struct Source<'a> {
    context: &'a Context,
    arguments: &'a ImportArguments,
    kind: ImportKind,
    zone: Zone,
}

pub(super) fn run(context: &Context, arguments: &ImportArguments) -> anyhow::Result<Exit> {
    let kind = match arguments.from {
        Some(kind) => kind,
        None => likeliest(arguments)?,
    };
    let mut arguments = arguments.clone();
    if kind == ImportKind::Sunwell {
        arguments.path = state_of(&arguments.path);
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
        name_texts(&arguments.path)?;
    }
    let source = Source {
        context,
        arguments,
        kind,
        zone,
    };
    if arguments.watch {
        return notes::watch(context, arguments, || source.taken());
    }
    source.taken()
}

/// Where the state of a Sunwell project stands: it may be out of the tree. The environment speaks
/// of the project that is worked in, and of none that has its own.
fn state_of(path: &Path) -> PathBuf {
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

/// What a path is by its looks; what it is besides is told.
fn likeliest(arguments: &ImportArguments) -> anyhow::Result<ImportKind> {
    let (path, shown) = (&arguments.path, arguments.path.display());
    anyhow::ensure!(
        fs_err::symlink_metadata(path).is_ok(),
        "there is no `{shown}`; name a file or folder that is there"
    );
    let is_rvf = path.extension().is_some_and(|ending| ending == "rvf");
    if is_rvf && super::backup::proven(path).is_ok() {
        anyhow::bail!(
            "`{shown}` is a memory's own file; `reprise restore {shown} --user USER` makes a memory of it"
        );
    }
    let kind = match recognise(path) {
        Err(ImportError::Unknown { .. }) if has_records(path) => {
            anyhow::bail!(
                "`{shown}` has records of ours on its lines; `reprise ingest {shown}` keeps them"
            )
        }
        Err(ImportError::Unknown { .. }) if is_plain_text(path) => {
            anyhow::bail!(
                "`{shown}` may be any text; `--from {}` takes it as a note",
                ImportKind::Markdown
            )
        }
        recognised => recognised?,
    };
    let others = recognise_all(&arguments.path)?.into_iter().skip(1);
    let others: Vec<&str> = others.map(ImportKind::name).collect();
    if !others.is_empty() {
        tell!(
            "taken as {kind}; --from takes what it holds besides: {}",
            others.join(", ")
        );
    }
    Ok(kind)
}

/// Says which texts of a folder do not come in with its notes.
fn name_texts(path: &Path) -> anyhow::Result<()> {
    let texts = plain_texts(path)?;
    if let Some(first) = texts.first() {
        let (files, first) = (counted(texts.len(), "file"), first.display());
        tell!(
            "{files} with the ending .txt left out; `--from {} {first}` takes one that is named",
            ImportKind::Markdown
        );
    }
    Ok(())
}

/// Whether a file begins with a record as `ingest` reads them.
fn has_records(path: &Path) -> bool {
    let Ok(Some(file)) = reprise_files::open_named(path) else {
        return false;
    };
    let Some(Ok((_, Ok(line)))) = jsonl(BufReader::new(file)).next() else {
        return false;
    };
    read_line(&line, Zone::Machine).is_ok()
}

impl Source<'_> {
    fn taken(self) -> anyhow::Result<Exit> {
        let report = Report {
            kind: self.kind.name(),
            dry_run: self.arguments.dry_run,
            ..Report::default()
        };
        let mut report = if self.arguments.dry_run {
            self.look(report)?
        } else if self.kind == ImportKind::Reprise {
            moving::take_in(self.context, self.arguments, report)?
        } else {
            self.take_in(report)?
        };
        // A memory elsewhere says only what it knew.
        if self.context.remote.is_none() && !report.known.is_empty() {
            let memory = store::read(self.context, &self.arguments.whose.user)?.snapshot();
            let known = report.known.iter();
            report.forgotten = known.filter(|id| memory.is_forgotten(**id)).count();
        }
        say(self.context, self.arguments, &report)
    }

    /// What an import would do: nothing is written, no model is opened.
    fn look(self, mut report: Report) -> anyhow::Result<Report> {
        let user = &self.arguments.whose.user;
        let engine = store::exists(self.context, user)?
            .then(|| store::read(self.context, user))
            .transpose()?;
        let own = |engine: &Engine, name: &ExternalId| -> Option<RecordId> {
            let own = (name.namespace == ExternalId::REPRISE).then(|| name.id.parse().ok());
            let is_here = |id: &RecordId| {
                let memory = engine.snapshot();
                memory.version(*id).is_some() || memory.is_forgotten(*id)
            };
            own.flatten().filter(is_here)
        };
        let mut seen: HashSet<ExternalId> = HashSet::new();
        let mut history = self.kind.is_of_sessions().then(History::default);
        let mut renewal = notes::renewal(self)?;
        if let Some(renewal) = &mut renewal {
            report.replaced = renewal.replaced.len() as u64;
            let gone = std::mem::take(&mut renewal.gone).into_iter();
            report.gone = gone.map(|one| notes::row(one, false)).collect();
        }
        self.each(renewal, &mut |Item { place, found }| {
            match found {
                Found::Record(mut record) => {
                    record.updates = self.arguments.how.update || history.is_some();
                    if let Some(history) = &mut history {
                        history.see(&record);
                    }
                    let names = &record.external_ids;
                    let known = engine.as_ref().and_then(|engine| {
                        let own = names.iter().find_map(|name| own(engine, name));
                        own.or_else(|| engine.known(&record))
                    });
                    report.known.extend(known);
                    if known.is_some() || names.iter().any(|name| seen.contains(name)) {
                        report.duplicate += 1;
                    } else {
                        report.inserted += 1;
                        if record.text.len() > TEXT_BYTES_MAX {
                            report.truncate(place, record.text.len());
                        }
                    }
                    seen.extend(record.body.external_ids);
                }
                Found::Link(_) => report.links += 1,
                Found::Repeated => report.duplicate += 1,
                Found::Refused(why) => report.refuse(place, why),
                Found::Scope(_) | Found::Note(_) => {}
            }
            true
        })?;
        report.history = history.map(|history| history.counted());
        Ok(report)
    }

    fn take_in(self, mut report: Report) -> anyhow::Result<Report> {
        let how = TakenIn {
            // A reply that was cut when it came in may be whole by now.
            update: self.arguments.how.update || self.kind.is_of_sessions(),
            ..self.arguments.how
        };
        let bar = self.progress()?;
        let mut renewal = notes::renewal(self)?;
        let mut gone = Vec::new();
        if let Some(renewal) = &mut renewal {
            notes::replace(self.context, self.arguments, renewal, &mut report)?;
            gone = std::mem::take(&mut renewal.gone);
        }
        let mut arrivals = Arrivals {
            keeper: Keeper::new(self.context, &self.arguments.whose.user, how, PATIENCE)?,
            group: Vec::with_capacity(GROUP),
            links: Vec::new(),
            report: Report {
                backup: self.keep_copies()?,
                ..report
            },
            history: self.kind.is_of_sessions().then(History::default),
            new: BTreeSet::new(),
            failed: None,
        };
        let done = self.each(renewal, &mut |item| {
            bar.inc(1);
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
            // What came before the damage is kept all the same.
            Err(error) => arrivals
                .report
                .refuse(self.arguments.path.display().to_string(), error.to_string()),
            Ok(()) => {}
        }
        arrivals.flush()?;
        let Arrivals {
            mut keeper,
            links,
            mut report,
            history,
            new,
            ..
        } = arrivals;
        for links in links.chunks(LINKS_MAX) {
            let named = links.iter().map(|Joint { from, to, relation }| NamedLink {
                from: from.clone(),
                to: to.clone(),
                relation: relation.clone(),
            });
            report.links += keeper.link(named.collect())? as u64;
        }
        keeper.close()?;
        bar.finish_and_clear();
        if let Some(history) = history {
            let mut counted = history.counted();
            report::teach(self.context, &self.arguments.whose.user, new, &mut counted)?;
            report.history = Some(counted);
        }
        notes::settle(self.context, self.arguments, gone, &mut report)?;
        Ok(report)
    }

    /// Every item of a source: of notes what is left to keep.
    fn each(
        self,
        renewal: Option<Renewal>,
        take: &mut dyn FnMut(Item) -> bool,
    ) -> Result<(), ImportError> {
        let Some(renewal) = renewal else {
            return read(&self.arguments.path, self.kind, self.zone, take);
        };
        if renewal.items.into_iter().all(take) {
            Ok(())
        } else {
            Err(ImportError::Stopped)
        }
    }

    /// Copies of what moves in, where its kind asks for it.
    fn keep_copies(self) -> anyhow::Result<Option<PathBuf>> {
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
            copies::note(self.context, user, backup, copies::Form::Export, None);
        }
        Ok(backup)
    }

    /// A bar with total and rate on a terminal, for which the source is counted first.
    fn progress(self) -> anyhow::Result<ProgressBar> {
        let bar = ProgressBar::new(0);
        if !bar.is_hidden() {
            let mut total = 0;
            read(&self.arguments.path, self.kind, self.zone, &mut |_| {
                total += 1;
                true
            })?;
            bar.set_length(total);
            let form = "{bar:30} {human_pos} of {human_len}, {rate}, {eta} left";
            let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let rate = format!("{:.0}/s", state.per_sec());
                out.write_str(&rate).unwrap_or_default();
            };
            bar.set_style(ProgressStyle::with_template(form)?.with_key("rate", rate));
        }
        Ok(bar)
    }
}

struct Arrivals<'a> {
    keeper: Keeper<'a>,
    /// Each with its place and its session.
    group: Vec<((String, String), NewRecord)>,
    links: Vec<Joint>,
    report: Report,
    history: Option<History>,
    /// Sessions of which something is new.
    new: BTreeSet<String>,
    failed: Option<anyhow::Error>,
}

impl Arrivals<'_> {
    fn take(&mut self, Item { place, found }: Item) -> anyhow::Result<()> {
        match found {
            Found::Record(record) => {
                if let Some(history) = &mut self.history {
                    history.see(&record);
                }
                let session = record.session_id.clone();
                self.group.push(((place, session), *record));
                if self.group.len() == GROUP {
                    self.flush()?;
                }
            }
            Found::Link(joint) => self.links.push(joint),
            Found::Repeated => self.report.duplicate += 1,
            Found::Refused(why) => self.report.refuse(place, why),
            Found::Scope(_) | Found::Note(_) => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let group = std::mem::replace(&mut self.group, Vec::with_capacity(GROUP));
        for ((place, session), Kept { fate, redacted }) in self.keeper.keep(group)? {
            if self.history.is_some() && matches!(fate, Fate::Inserted { .. }) {
                self.new.insert(session);
            }
            self.report.take_out(&place, redacted);
            self.report.count(place, fate);
        }
        Ok(())
    }
}

fn say(context: &Context, arguments: &ImportArguments, report: &Report) -> anyhow::Result<Exit> {
    output::print(context, report, |out| {
        let (path, kind, known) = (arguments.path.display(), report.kind, report.duplicate);
        let verb = if arguments.dry_run {
            "would be"
        } else {
            "were"
        };
        let was = if known == 1 { "was" } else { "were" };
        let (records, links) = (
            counted(report.inserted, "record"),
            counted(report.links, "link"),
        );
        write!(
            out,
            "{path} is {kind}: {records} and {links} {verb} kept, {known} {was} known"
        )?;
        if report.rejected > 0 {
            write!(out, ", {} cannot be used", counted(report.rejected, "line"))?;
        }
        if report.truncated > 0 {
            write!(out, ", {} cut", counted(report.truncated, "long text"))?;
        }
        writeln!(out)?;
        if report.forgotten > 0 {
            let gone = report.forgotten;
            writeln!(
                out,
                "{gone} of them forgotten here, and left out; `reprise learn TEXT` keeps one anew"
            )?;
        }
        if report.replaced > 0 {
            let sections = counted(report.replaced, "section");
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
            writeln!(out, "{}", history.says())?;
        }
        if let Some(backup) = &report.backup {
            let backup = backup.display();
            tell!("copies of what moved in are in {backup}");
        }
        for TakenOut { place, redaction } in report.redacted.iter().take(SAID_MAX) {
            let Redaction { field, rule, line } = redaction;
            tell!("{place}: a secret was taken out of `{field}`, line {line} ({rule})");
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
    Ok(output::exit(report.rejected == 0))
}
