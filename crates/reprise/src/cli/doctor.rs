//! `reprise doctor`: the machine, the model, every store, and for each fault what to do.

mod processes;

use std::os::unix::fs::PermissionsExt;

use reprise_embed::{EmbedderFactory, EngineKind, FileState};
use reprise_knowledge::find_write_obstacle;
use reprise_operations::PauseStore;

use super::store::torn_tails;
use super::unsent::UnsentTally;
use super::{check, endpoint, rebuild, status};
use crate::args::{CheckArguments, DoctorArguments, calendar};
use crate::cli::prelude::*;
use crate::config::last_good;
use crate::configured_places;

/// Largest accepted difference between two clocks.
const CLOCK_SLACK: TimeDelta = TimeDelta::hours(1);

/// Columns before what a finding says.
const FINDINGS_FROM: usize = 13;

/// Most findings about a user's projections that are printed.
const FINDINGS_MAX: usize = 3;

/// Result of one check.
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

    /// Returns a good finding for `Ok` and a bad one for `Err`.
    fn from_result(what: &'static str, found: Result<String, String>) -> Self {
        Self::new(found.is_ok(), what, found.unwrap_or_else(|why| why))
    }
}

/// Runs every check, or with `--repair` repairs one memory.
pub(super) fn run(context: &Context, arguments: &DoctorArguments) -> anyhow::Result<Exit> {
    if !arguments.repair {
        return run_checks(context);
    }
    context.ensure_memory_is_local()?;
    let whose = arguments.whose.clone();
    let (stock, repair) = (false, true);
    check::run(
        context,
        &CheckArguments {
            stock,
            whose,
            repair,
        },
    )
}

fn run_checks(context: &Context) -> anyhow::Result<Exit> {
    let mut findings = if let Some(remote) = &context.remote {
        let mut findings = check_remote_daemon(context, &remote.url);
        findings.push(check_unsent(context));
        findings
    } else {
        let mut findings = vec![check_data_folder(context)];
        findings.extend(check_model_files(context));
        findings.push(check_embedding_engine(context));
        findings.extend(check_reranker(context));
        findings.extend(check_stores(context));
        findings.extend(check_other_places(context));
        findings.extend(check_global_store(context));
        findings
    };
    findings.extend(check_config(context));
    findings.extend(check_environment(context));
    findings.extend(processes::check_processes(&context.places.data));
    let healthy = findings.iter().all(|finding| finding.good);
    let row = json!({ "healthy": healthy, "findings": findings });
    output::print(context, &row, |out| {
        for Finding { good, what, says } in &findings {
            let mark = terminal::title(if *good { "ok " } else { "!! " });
            let lines = Page::stdout().wrap(says, FINDINGS_FROM, FINDINGS_FROM);
            for (number, line) in lines.iter().enumerate() {
                match number {
                    0 => writeln!(out, "{mark} {what:<8} {line}")?,
                    _ => writeln!(out, "{:FINDINGS_FROM$}{line}", "")?,
                }
            }
        }
        Ok(())
    })?;
    Ok(output::exit(healthy))
}

/// Checks how fast the configured service of published knowledge answers, compared with the waits
/// for it.
fn check_global_store(context: &Context) -> Option<Finding> {
    let user = context.config.user.clone().unwrap_or_default();
    let (url, took) = super::global::measure_round_trip(context, &user)?;
    let deadline = context.config.tier_options().ok()?.deadline.as_millis();
    let hooks = context.config.hook_deadline().map_or_else(
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

/// Checks the daemon of another machine with our token, and tells what is paused there.
fn check_remote_daemon(context: &Context, url: &str) -> Vec<Finding> {
    let mut paused = Vec::new();
    let mut ask = || -> anyhow::Result<String> {
        let daemon =
            DaemonConnection::find_without_restart(context)?.context("it is left alone")?;
        let (version, took) = daemon.round_trip()?;
        paused = status::list_remote_pauses(context, &daemon);
        let version = version.unwrap_or_else(|| "an older version".to_owned());
        let ms = took.as_secs_f64() * 1e3;
        Ok(format!(
            "{url} ({version}) answers in {ms:.1} ms; memory is there, none is here"
        ))
    };
    let asked = ask().map_err(|error| format!("{error:#}"));
    let paused = paused.into_iter();
    let paused = paused.map(|says| Finding::new(true, "paused", says));
    std::iter::once(Finding::from_result("daemon", asked))
        .chain(paused)
        .collect()
}

/// Tells what is wrong with the configuration, and what is in use meanwhile.
fn check_config(context: &Context) -> Option<Finding> {
    let fault = context.config_fault.as_ref()?;
    let in_use = if last_good::is_copy(&context.places) {
        "its last good form"
    } else {
        "the defaults"
    };
    let says = format!("{fault}; until then hooks, and the daemons that they start, use {in_use}");
    Some(Finding::new(false, "config", says))
}

/// Tells what is wrong with the environment.
fn check_environment(context: &Context) -> Option<Finding> {
    let fault = context.environment_fault.as_ref()?;
    Some(Finding::new(false, "environment", fault.clone()))
}

fn check_unsent(context: &Context) -> Finding {
    let (waiting, UnsentTally { dropped, refused }) = Unsent::count_unsent(context);
    let says = format!(
        "{waiting} messages of hooks wait for it, {dropped} were dropped because too many waited, \
         {refused} were refused; `reprise branch sync --unsent` sends them now"
    );
    Finding::new(dropped == 0 && refused == 0, "unsent", says)
}

/// Lists the configured places of knowledge outside the data directory.
fn check_other_places(context: &Context) -> Vec<Finding> {
    let home = crate::env::home_folder().unwrap_or_default();
    let roots = configured_places::list_roots(&context.config, &home).into_iter();
    let found = roots.map(|(good, says)| Finding::new(good, "root", says));
    found.collect()
}

fn check_data_folder(context: &Context) -> Finding {
    let data = &context.places.data;
    let tried = fs_err::create_dir_all(data).and_then(|()| tempfile::tempfile_in(data));
    let place = context.places.daemon_place();
    let socket = if place.has_short_socket() {
        let socket = place.socket();
        format!(
            "; its path is too long for a socket, which is at {}",
            socket.display()
        )
    } else {
        String::new()
    };
    let found = tried
        .map(|_| format!("{} can be written{socket}", data.display()))
        .map_err(|error| {
            format!(
                "{error}; make it writable, or choose another folder with \
            --data-dir"
            )
        });
    Finding::from_result("data", found)
}

fn check_model_files(context: &Context) -> Option<Finding> {
    if context.no_model {
        return None;
    }
    let files = model::models(context).list_files();
    let damaged: Vec<&str> = files
        .iter()
        .filter(|file| file.state == FileState::Damaged)
        .map(|file| file.name.as_str())
        .collect();
    let installed = model::models(context).find_installed().is_some();
    let says = match (installed, damaged.is_empty()) {
        (_, false) => format!(
            "{} damaged; run `reprise doctor models pull`",
            damaged.join(", ")
        ),
        (true, true) => format!("installed in {}", context.places.models.display()),
        (false, true) => "not installed yet; run `reprise doctor models pull`".to_owned(),
    };
    let good = installed && damaged.is_empty();
    Some(Finding::new(good, "model", says))
}

fn check_embedding_engine(context: &Context) -> Finding {
    if context.no_model {
        let says = "not used (--no-model): search uses words and time".to_owned();
        return Finding::new(true, "engine", says);
    }
    if let Some(named) = context.config.endpoint() {
        let known = named.and_then(|named| {
            let card = endpoint::load_or_probe_card(context, &named)?;
            let away = if named.leaves_machine() {
                "; what is kept and asked leaves this machine for it"
            } else {
                ", on this machine"
            };
            let (model, url, width) = (card.model, card.url, card.dimensions);
            Ok(format!("{model} at {url}, {width} wide{away}"))
        });
        return Finding::from_result("engine", known);
    }
    let found = context
        .model()
        .ok_or_else(|| model::missing_model_message(context));
    let opened = found.and_then(|found| {
        let opened = EmbedderFactory::from_model(&model::models(context), &found, None);
        let report = opened.map_err(|error| error.to_string())?.report();
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
    Finding::from_result("engine", opened)
}

fn check_reranker(context: &Context) -> Option<Finding> {
    let judged = model::judge(context)?.check();
    let folder = context.config.recall.reranker.clone().unwrap_or_default();
    let says = format!(
        "{} ranks the first results of a recall again",
        folder.display()
    );
    Some(Finding::from_result("reranker", judged.map(|()| says)))
}

fn check_stores(context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(users) = store::list_users(context) else {
        return findings;
    };
    if users.is_empty() {
        let says = "no user has a memory yet".to_owned();
        findings.push(Finding::new(true, "stores", says));
    }
    let pauses = PauseStore::in_data_dir(&context.places.data);
    for user in users {
        let paused = pauses.describe_rules(&user, SystemClock.now());
        let paused = paused.map(|says| format!("{user}: {says}"));
        findings.extend(paused.map(|says| Finding::new(true, "paused", says)));
        let finding = match store::open(context, &user, Access::Read, Verify::Everything) {
            Ok((engine, report)) => {
                let stats = engine.stats();
                let last = stats.last_ingest;
                let last = last.map_or("never".to_owned(), |at| calendar().format_to_minute(at));
                let whole =
                    report.recovery.is_whole() && !check::has_no_complete_commit(&report.recovery);
                findings.extend(find_oddities(&user, &engine));
                findings.extend(report_torn_bytes(&user, report.recovery.torn_bytes));
                let kept = torn_tails::list_kept_tails(context, &user).into_iter();
                findings.extend(kept.map(|tail| {
                    let says = tail.describe();
                    let says = format!("{user}: {says}; delete it if no memory is missing");
                    Finding::new(true, "tail", says)
                }));
                let proposal = stats.proposal.filter(|_| context.config.proposes_models());
                let proposal = proposal.map(|says| format!("{user}: {says}"));
                findings.extend(proposal.map(|says| Finding::new(true, "language", says)));
                findings.extend(check_projections(context, &user, &engine));
                let open = find_readable_by_others(&context.places.home_of(&user));
                let advice = match (whole, &open) {
                    (false, _) => format!("; damaged: run `reprise doctor check --user {user}`"),
                    (true, Some(file)) => {
                        let file = file.display();
                        format!("; others may read it: run `chmod go= {file}`")
                    }
                    (true, None) => String::new(),
                };
                let says = format!(
                    "{user}: {}, {} waiting for the model, last saved {last}{advice}",
                    format_count(stats.live, "memory"),
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

/// Reports bytes of an incomplete commit at the end of a file. A truncated file does not show what
/// it lost.
fn report_torn_bytes(user: &UserId, bytes: u64) -> Option<Finding> {
    let says = format!(
        "{user}: the last {bytes} bytes of its file are an incomplete commit and are ignored: a \
         write was interrupted, or the file was cut short; if memories are missing, restore a \
         backup with `reprise backup restore FILE --user {user} --replace`"
    );
    (bytes > 0).then(|| Finding::new(false, "store", says))
}

/// Reports what is valid in the file and may still surprise.
fn find_oddities(user: &UserId, engine: &Engine) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |what, says| findings.push(Finding::new(false, what, says));
    let stats = engine.stats();
    if stats.foreign_vectors > 0 {
        let (foreign, own) = (stats.foreign_vectors, stats.space.unwrap_or_default());
        say(
            "vectors",
            format!(
                "{user}: {foreign} embeddings are not of {own}; they are searched separately \
                 until a daemon with the model, or `reprise doctor reembed`, computes them again"
            ),
        );
    }
    if let Some((count, until)) = engine.count_known_after(SystemClock.now() + CLOCK_SLACK) {
        let until = calendar().format_to_minute(until);
        say(
            "clock",
            format!(
                "{user}: {count} memories have a time in the future, up to {until}: the clock was \
                 wrong then, or is wrong now"
            ),
        );
    }
    findings
}

/// Checks the files for other programs: those that cannot be written or differ from the memory.
fn check_projections(context: &Context, user: &UserId, engine: &Engine) -> Vec<Finding> {
    let home = &context.places.home_of(user);
    let kept = context.config.projections(user);
    let mut says: Vec<String> = kept
        .iter()
        .filter_map(|own| find_write_obstacle(own.kind, &own.path, home))
        .collect();
    if says.is_empty() {
        let found = rebuild::find_differences(context, user, &engine.snapshot());
        says = found.unwrap_or_else(|error| vec![format!("{error:#}")]);
        let more = says.len().saturating_sub(FINDINGS_MAX);
        says.truncate(FINDINGS_MAX);
        if more > 0 {
            says.push(format!(
                "and {more} more; run `reprise doctor check --user {user}`"
            ));
        }
    }
    let findings = says.into_iter().map(|says| format!("{user}: {says}"));
    findings
        .map(|says| Finding::new(false, "files", says))
        .collect()
}

/// Returns the first file of a memory's folder that other users of the machine can read through
/// every folder above it. Older versions left replayed events like this.
fn find_readable_by_others(folder: &Path) -> Option<PathBuf> {
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
