//! `reprise doctor`: the machine, the model, every store, and for each fault what to do.

use std::os::unix::fs::PermissionsExt;

use reprise_embed::{EmbedderFactory, EngineKind, FileState};
use reprise_knowledge::hindrance;

use super::unsent::Tally;
use super::{check, endpoint, rebuild};
use crate::args::{CheckArguments, DoctorArguments, calendar};
use crate::cli::prelude::*;
use crate::roots;

/// How far two clocks may differ.
const CLOCK_SLACK: TimeDelta = TimeDelta::hours(1);

/// Most projections' files of a user that are named.
const FINDINGS_MAX: usize = 3;

/// One thing that was looked at.
#[derive(Serialize)]
struct Finding {
    good: bool,
    what: &'static str,
    says: String,
}

impl Finding {
    fn new(good: bool, what: &'static str, says: String) -> Self {
        Self { good, what, says }
    }

    /// Good where it is no error, which says what is wrong.
    fn of(what: &'static str, found: Result<String, String>) -> Self {
        Self::new(found.is_ok(), what, found.unwrap_or_else(|why| why))
    }
}

/// Looks at everything, or mends what its flags name of one memory.
pub(super) fn run(context: &Context, arguments: &DoctorArguments) -> anyhow::Result<Exit> {
    let mut worst = Exit::Success;
    if arguments.repair || arguments.compact {
        context.must_be_here()?;
    }
    if arguments.repair {
        let whose = arguments.whose.clone();
        let (stock, repair) = (false, true);
        worst = check::run(
            context,
            &CheckArguments {
                stock,
                whose,
                repair,
            },
        )?;
    }
    if arguments.compact {
        check::compact(context, &arguments.whose)?;
    }
    if arguments.reembed {
        check::reembed(context, &arguments.whose)?;
    }
    if arguments.repair || arguments.compact || arguments.reembed {
        return Ok(worst);
    }
    look(context)
}

fn look(context: &Context) -> anyhow::Result<Exit> {
    let findings = if let Some(remote) = &context.remote {
        vec![away(context, &remote.url), unsent(context)]
    } else {
        let mut findings = vec![directory(context)];
        findings.extend(model_files(context));
        findings.push(engine(context));
        findings.extend(reranker(context));
        findings.extend(stores(context));
        findings.extend(places(context));
        findings.extend(service(context));
        findings
    };
    let healthy = findings.iter().all(|finding| finding.good);
    let row = json!({ "healthy": healthy, "findings": findings });
    output::print(context, &row, |out| {
        for Finding { good, what, says } in &findings {
            let mark = terminal::title(if *good { "ok " } else { "!! " });
            writeln!(out, "{mark} {what:<8} {says}")?;
        }
        Ok(())
    })?;
    Ok(output::exit(healthy))
}

/// How far the service of published knowledge is, where one is named, beside what waits for it.
fn service(context: &Context) -> Option<Finding> {
    let user = context.config.user.clone().unwrap_or_default();
    let (url, took) = super::global::round_trip(context, &user)?;
    let deadline = context.config.global_tier().ok()?.deadline.as_millis();
    let hooks = context.config.hooks_ask().map_or_else(
        || "hooks do not ask it".to_owned(),
        |deadline| format!("a hook {} ms", deadline.as_millis()),
    );
    let waits = format!("a recall waits {deadline} ms for it, {hooks}");
    let (good, says) = match took.map(|took| took.as_millis()) {
        Ok(ms) => (ms < deadline, format!("{url} answers in {ms} ms; {waits}")),
        Err(error) => (false, format!("{url}: {error}; {waits}")),
    };
    Some(Finding::new(good, "service", says))
}

/// The daemon of another machine, asked with our token.
fn away(context: &Context, url: &str) -> Finding {
    let asked = || -> anyhow::Result<String> {
        let daemon = Daemon::seen(context)?.context("it is left alone")?;
        let (version, took) = daemon.round_trip()?;
        let version = version.unwrap_or_else(|| "an older version".to_owned());
        let ms = took.as_secs_f64() * 1e3;
        Ok(format!(
            "{url} ({version}) answers in {ms:.1} ms; memory is there, none is here"
        ))
    };
    Finding::of("daemon", asked().map_err(|error| format!("{error:#}")))
}

fn unsent(context: &Context) -> Finding {
    let (waiting, Tally { dropped, refused }) = Unsent::state(context);
    let says = format!(
        "{waiting} moments of hooks wait for it, {dropped} were dropped because too many waited, \
         {refused} it did not take; `reprise sync --unsent` sends them now"
    );
    Finding::new(dropped == 0 && refused == 0, "unsent", says)
}

/// Where knowledge stands besides the data directory.
fn places(context: &Context) -> Vec<Finding> {
    let home = crate::env::home().unwrap_or_default();
    let roots = roots::registry(&context.config, &home).into_iter();
    let found = roots.map(|(good, says)| Finding::new(good, "root", says));
    found.collect()
}

fn directory(context: &Context) -> Finding {
    let data = &context.places.data;
    let tried = fs_err::create_dir_all(data).and_then(|()| tempfile::tempfile_in(data));
    let found = tried
        .map(|_| format!("{} can be written", data.display()))
        .map_err(|error| format!("{error}; pass --data-dir, or make it writable"));
    Finding::of("data", found)
}

fn model_files(context: &Context) -> Option<Finding> {
    if context.no_model {
        return None;
    }
    let files = model::models(context).list();
    let damaged: Vec<&str> = files
        .iter()
        .filter(|file| file.state == FileState::Damaged)
        .map(|file| file.name.as_str())
        .collect();
    let installed = model::models(context).installed().is_some();
    let says = match (installed, damaged.is_empty()) {
        (_, false) => format!("{} damaged; run `reprise models pull`", damaged.join(", ")),
        (true, true) => format!("installed in {}", context.places.models.display()),
        (false, true) => "not installed yet; run `reprise models pull`".to_owned(),
    };
    let good = installed && damaged.is_empty();
    Some(Finding::new(good, "model", says))
}

fn engine(context: &Context) -> Finding {
    if context.no_model {
        let says = "left alone (--no-model): words and time answer".to_owned();
        return Finding::new(true, "engine", says);
    }
    if let Some(named) = context.config.endpoint() {
        let known = named.and_then(|named| {
            let card = endpoint::known(context, &named)?;
            let away = if named.leaves() {
                "; what is kept and asked leaves this machine for it"
            } else {
                ", on this machine"
            };
            let (model, url, width) = (card.model, card.url, card.dimensions);
            Ok(format!("{model} at {url}, {width} wide{away}"))
        });
        return Finding::of("engine", known);
    }
    let found = context.model().ok_or_else(|| model::unknown(context));
    let opened = found.and_then(|found| {
        let opened = EmbedderFactory::of_model(&model::models(context), &found, None);
        let report = opened.map_err(|error| error.to_string())?.describe();
        let library = report.library.as_ref();
        let library = library.filter(|_| report.engine == EngineKind::OnnxRuntime);
        let says = if let Some(library) = library {
            format!("ONNX Runtime from {}", library.display())
        } else {
            let why = report.why_not_onnx_runtime.as_deref();
            let why = why.unwrap_or("it was asked for");
            format!("the built-in engine, because {why}")
        };
        let (model, version) = (report.space.model, report.space.version);
        Ok(format!("{says}; {model}/{version}"))
    });
    Finding::of("engine", opened)
}

fn reranker(context: &Context) -> Option<Finding> {
    let judged = model::judge(context)?.check();
    let folder = context.config.recall.reranker.clone().unwrap_or_default();
    let says = format!("{} judges the first results of a recall", folder.display());
    Some(Finding::of("reranker", judged.map(|()| says)))
}

fn stores(context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(users) = store::users(context) else {
        return findings;
    };
    if users.is_empty() {
        let says = "no user has a memory yet: records 0, last ingest never".to_owned();
        findings.push(Finding::new(true, "stores", says));
    }
    for user in users {
        let finding = match store::open(context, &user, Access::Read, Verify::Everything) {
            Ok((engine, report)) => {
                let stats = engine.stats();
                let last = stats.last_ingest;
                let last = last.map_or("never".to_owned(), |at| calendar().minute_of(at));
                let whole = report.recovery.is_whole() && !check::has_nothing(&report.recovery);
                findings.extend(oddities(&user, &engine));
                findings.extend(torn(&user, report.recovery.torn_bytes));
                let proposal = stats.proposal.filter(|_| context.config.proposes_models());
                let proposal = proposal.map(|says| format!("{user}: {says}"));
                findings.extend(proposal.map(|says| Finding::new(true, "language", says)));
                findings.extend(projections(context, &user, &engine));
                let open = open_to_others(&context.places.home_of(&user));
                let advice = match (whole, &open) {
                    (false, _) => format!("; damaged: run `reprise check --user {user}`"),
                    (true, Some(file)) => {
                        let file = file.display();
                        format!("; others may read it: run `chmod go= {file}`")
                    }
                    (true, None) => String::new(),
                };
                let says = format!(
                    "{user}: {}, {} waiting for the model, last ingest {last}{advice}",
                    counted(stats.live, "record"),
                    stats.unembedded
                );
                Finding::new(whole && open.is_none(), "store", says)
            }
            Err(error) => Finding::new(false, "store", format!("{user}: {error:#}")),
        };
        findings.push(finding);
    }
    findings
}

/// Bytes at the end of a file that nothing reads. What is lost with a file that was cut short does
/// not show in it.
fn torn(user: &UserId, bytes: u64) -> Option<Finding> {
    let says = format!(
        "{user}: the last {bytes} bytes of its file are no whole commit and are not counted: a \
         write that did not end, or a file that was cut short; if records are missing, `reprise \
         restore FILE --user {user} --replace` puts a backup in its place"
    );
    (bytes > 0).then(|| Finding::new(false, "store", says))
}

/// What is right in the file and may still surprise.
fn oddities(user: &UserId, engine: &Engine) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |what, says| findings.push(Finding::new(false, what, says));
    let stats = engine.stats();
    if stats.foreign_vectors > 0 {
        let (foreign, own) = (stats.foreign_vectors, stats.space.unwrap_or_default());
        say(
            "vectors",
            format!(
                "{user}: {foreign} vectors are not of {own}; they are searched apart until they are \
                 made anew, by a daemon with the model or by `reprise reembed`"
            ),
        );
    }
    if let Some((count, until)) = engine.kept_after(SystemClock.now() + CLOCK_SLACK) {
        let until = calendar().minute_of(until);
        say(
            "clock",
            format!(
                "{user}: {count} records say that they were kept later than now, up to {until}: \
                 the clock was wrong then, or is now; what is kept from here on has the right time"
            ),
        );
    }
    findings
}

/// Files for other programs that cannot be written, or are not as memory is.
fn projections(context: &Context, user: &UserId, engine: &Engine) -> Vec<Finding> {
    let home = &context.places.home_of(user);
    let kept = context.config.projections(user);
    let mut says: Vec<String> = kept
        .iter()
        .filter_map(|own| hindrance(own.kind, &own.path, home))
        .collect();
    if says.is_empty() {
        let found = rebuild::findings(context, user, &engine.snapshot());
        says = found.unwrap_or_else(|error| vec![format!("{error:#}")]);
        let more = says.len().saturating_sub(FINDINGS_MAX);
        says.truncate(FINDINGS_MAX);
        if more > 0 {
            says.push(format!(
                "and {more} more; run `reprise check --user {user}`"
            ));
        }
    }
    let findings = says.into_iter().map(|says| format!("{user}: {says}"));
    findings
        .map(|says| Finding::new(false, "files", says))
        .collect()
}

/// The first file of a memory's folder that other users of the machine can read: it, and every
/// folder above it, lets them. Older versions left the events that were replayed so.
fn open_to_others(folder: &Path) -> Option<PathBuf> {
    let mode = |path: &Path| fs_err::metadata(path).map_or(0, |data| data.permissions().mode());
    let closed = |folder: &Path| mode(folder) & 0o011 == 0;
    if folder.ancestors().any(closed) {
        return None;
    }
    let mut files: Vec<_> = fs_err::read_dir(folder).ok()?.flatten().collect();
    files.sort_by_key(fs_err::DirEntry::path);
    let open = files.into_iter().map(|file| file.path());
    open.into_iter().find(|path| mode(path) & 0o044 != 0)
}
