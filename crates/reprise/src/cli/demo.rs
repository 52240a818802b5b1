//! `reprise demo`: a recorded week through the whole tree, a real `kill -9` in the middle, and a
//! request that brings back what resonates. `reprise demo week` is in `demo/week`,
//! `reprise demo workspace` in `demo/workspace`.

mod week;
mod workspace;

use std::io::BufRead;

use reprise_agent::{RelayProgress, ServiceStats};
use reprise_engine::EngineStats;
use reprise_operations::Answer;
use reprise_sandbox::ReplayCounts;
use reprise_types::Recall;
use tempfile::TempDir;

use super::recall;
use crate::args::{DemoArguments, DemoCommand};
use crate::cli::prelude::*;

/// The recorded week: a host's `/logs/events.jsonl`, with repeated and broken lines as in life.
const WEEK: &str = include_str!("../../../../data/week.jsonl");
/// Monday to Thursday happen before the break, Friday after it.
const LAST_DAY: &str = "2026-02-13";
/// The moment of the request, so that "three days ago" stays true.
const NOW: &str = "2026-02-13T09:30:00Z";
/// What the child prints when everything it was given is on disk.
const READY: &str = "ready";

pub(super) fn run(context: &Context, arguments: &DemoArguments) -> anyhow::Result<Exit> {
    let user: UserId = "ada".parse()?;
    match &arguments.what {
        Some(DemoCommand::Week(arguments)) => return week::run(context, arguments),
        Some(DemoCommand::Workspace(arguments)) => return workspace::run(context, arguments),
        None => {}
    }
    if arguments.first_days {
        return first_days(context, &user);
    }
    let started = Instant::now();
    let (context, _temporary) = stage(context, arguments.keep.as_deref())?;
    let folder = context.places.data.clone();
    // Provisioned before the child needs it, so that the progress is seen once.
    let factory = model::factory(&context);
    let mut out = crate::printer::stdout();
    writeln!(out, "{}", terminal::title("Monday to Thursday"))?;
    write_days(&folder, "monday-to-thursday.jsonl", |day| day < LAST_DAY)?;
    let last = write_days(&folder, "friday.jsonl", |day| day >= LAST_DAY)?;
    let kept = kill_in_the_middle(&context)?;
    writeln!(out, "  {kept}")?;
    writeln!(
        out,
        "  the process was ended with kill -9; nothing was closed"
    )?;

    let (survived, torn) = survey(&context, &user)?;
    writeln!(out, "{}", terminal::title("Friday"))?;
    writeln!(
        out,
        "  reopened: {} there, {} cut",
        counted(survived, "record"),
        counted(torn, "torn byte")
    )?;
    let runtime = runtime::threaded()?;
    let day = runtime.block_on(friday(&context, &user, &last, factory, &arguments.request))?;
    let more = counted(day.progress.inserted, "more record");
    writeln!(out, "  {more} kept")?;
    ensure!(u64::from(day.stats.live) >= survived, "records were lost");

    let request = terminal::title("request:");
    writeln!(out, "\n{request} {}", arguments.request)?;
    let answer = Answer::new(None, day.recall.clone(), 0.0);
    let page = Page::stdout();
    let now = parse_timestamp(NOW)?;
    recall::print(&mut out, &answer, now, page, false)?;
    figures(&mut out, &day, started.elapsed())?;
    if let Some(keep) = &arguments.keep {
        let ask = format!("reprise recall --data-dir {} --user ada", keep.display());
        let kept = format!("the store is kept; ask it more: {ask} \"...\"");
        writeln!(out, "{}", terminal::faint(kept))?;
    }
    Ok(Exit::Success)
}

/// The directory of a demo: the one that was named, or one that is gone with the guard.
fn stage(context: &Context, keep: Option<&Path>) -> anyhow::Result<(Context, TempDir)> {
    let temporary = tempfile::tempdir()?;
    let folder = std::path::absolute(keep.unwrap_or(temporary.path()))?;
    ensure!(
        !folder.join("ada").exists(),
        "`{}` holds an earlier demo; name an empty directory",
        folder.display()
    );
    let mut context = context.clone();
    context.places.data = folder;
    Ok((context, temporary))
}

fn events(context: &Context) -> PathBuf {
    context.places.data.join("host").join("events.db")
}

/// In the child: Monday to Thursday, then wait for the end without closing anything.
fn first_days(context: &Context, user: &UserId) -> anyhow::Result<Exit> {
    let factory = model::factory(context);
    let file = context.places.data.join("monday-to-thursday.jsonl");
    runtime::threaded()?.block_on(async {
        let host = Host::start(context, user, events(context), factory).await?;
        let (counts, progress) = host.replay(&file).await?;
        let mut out = crate::printer::stdout();
        writeln!(
            out,
            "{} in ({} repeated, {} unreadable), {} kept, {}, {} redacted",
            counted(counts.inserted + counts.duplicates, "event"),
            counts.duplicates,
            counts.bad,
            counted(progress.inserted, "record"),
            counted(progress.duplicates, "duplicate"),
            counted(progress.topics.total().redacted, "secret"),
        )?;
        writeln!(out, "{READY}")?;
        out.flush()?;
        std::future::pending::<()>().await;
        Ok(Exit::Success)
    })
}

/// Starts this program again for the first days and kills it when it has acknowledged them.
fn kill_in_the_middle(context: &Context) -> anyhow::Result<String> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--data-dir").arg(&context.places.data);
    command.arg("--models-dir").arg(&context.places.models);
    if context.no_model {
        command.arg("--no-model");
    }
    command.args(["demo", "--first-days"]);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut kept = String::new();
    let output = child.stdout.take();
    let output = output.context("the first days have no output")?;
    for line in BufReader::new(output).lines() {
        match line?.as_str() {
            READY => break,
            line => line.clone_into(&mut kept),
        }
    }
    child.kill()?;
    child.wait()?;
    if kept.is_empty() {
        bail!("the first days ended early; run `reprise doctor`");
    }
    Ok(kept)
}

/// What stands in the file after the kill.
fn survey(context: &Context, user: &UserId) -> anyhow::Result<(u64, u64)> {
    let (engine, report) = store::open(context, user, Access::Read, Verify::Everything)?;
    ensure!(
        report.recovery.is_whole(),
        "the file is damaged after the kill"
    );
    Ok((u64::from(engine.stats().live), report.recovery.torn_bytes))
}

struct Friday {
    counts: ReplayCounts,
    progress: RelayProgress,
    recall: Recall,
    stats: EngineStats,
    service: ServiceStats,
    recall_ms: f64,
}

async fn friday(
    context: &Context,
    user: &UserId,
    file: &Path,
    factory: Option<model::Maker>,
    request: &str,
) -> anyhow::Result<Friday> {
    let host = Host::start(context, user, events(context), factory).await?;
    let (counts, progress) = host.replay(file).await?;
    let ask = |text: &str| host.memory.recall_request(RecallRequest::new(text));
    // The first question of a process warms the model; the second is what a user waits for.
    ask("good morning").await?;
    let asked = Instant::now();
    let recall = ask(request).await?;
    let recall_ms = asked.elapsed().as_secs_f64() * 1e3;
    let stats = host.engine(|engine| engine.stats()).await?;
    let service = host.service()?.stats();
    host.shut_down().await?;
    Ok(Friday {
        counts,
        progress,
        recall,
        stats,
        service,
        recall_ms,
    })
}

fn figures(out: &mut impl Write, day: &Friday, took: Duration) -> anyhow::Result<()> {
    let pool = &day.service.pool;
    let embedded = pool.documents + pool.queries;
    let embed_ms = pool.embed_us as f64 / 1e3 / embedded.max(1) as f64;
    let file = day.stats.file_bytes;
    let each = size(file / u64::from(day.stats.live.max(1)));
    let (live, sessions) = (day.stats.live, day.stats.sessions);
    let known = day.progress.duplicates + day.counts.duplicates;
    let rows = [
        (
            "events on Friday",
            (day.counts.inserted + day.counts.duplicates).to_string(),
        ),
        (
            "records kept",
            format!("{live} in {}", counted(sessions, "session")),
        ),
        ("duplicates", known.to_string()),
        ("per embedding", format!("{embed_ms:.1} ms")),
        ("this recall", format!("{:.1} ms", day.recall_ms)),
        ("file", format!("{}, {each} a record", size(file))),
        ("whole demo", format!("{:.1} s", took.as_secs_f64())),
    ];
    writeln!(out, "\n{}", terminal::title("figures"))?;
    for (name, figure) in rows {
        if embedded > 0 || name != "per embedding" {
            writeln!(out, "  {name:<18} {figure}")?;
        }
    }
    Ok(())
}

/// Writes the lines of the days that `wanted` admits; broken lines stay where they are.
fn write_days(folder: &Path, name: &str, wanted: impl Fn(&str) -> bool) -> anyhow::Result<PathBuf> {
    fs_err::create_dir_all(folder)?;
    let path = folder.join(name);
    let mut file = io::BufWriter::new(fs_err::File::create(&path)?);
    let mut day = "";
    for line in WEEK.lines() {
        let stamp = line
            .split_once("\"timestamp\": \"")
            .and_then(|(_, rest)| rest.get(..10));
        day = stamp.unwrap_or(day);
        if wanted(day) {
            writeln!(file, "{line}")?;
        }
    }
    file.flush()?;
    Ok(path)
}
