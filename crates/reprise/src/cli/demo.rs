//! `reprise demo`: a recorded week through a whole agent host, a real `kill -9` in the middle, and
//! a question that brings back what helps. `reprise demo week` is in `demo/week`.

mod week;

use std::io::BufRead;

use reprise_operations::RecallAnswer;
use reprise_types::Calendar;
use tempfile::TempDir;

use super::progress::show_progress;
use super::recall;
use crate::args::{DemoArguments, DemoCommand};
use crate::cli::prelude::*;

/// The recorded week: a host's `/logs/events.jsonl`, with repeated and broken lines as in life.
const WEEK: &str = include_str!("../../../../data/week.jsonl");
/// First day after the break; Monday to Thursday happen before it.
const LAST_DAY: &str = "2026-02-13";
/// Time of the question, so that "three days ago" stays true.
const NOW: &str = "2026-02-13T09:30:00Z";
/// Line that the child prints when everything it was given is on disk.
const READY: &str = "ready";
const FIRST_DAYS: &str = "monday-to-thursday.jsonl";

pub(super) fn run(context: &Context, arguments: &DemoArguments) -> anyhow::Result<Exit> {
    let user: UserId = "ada".parse()?;
    if let Some(DemoCommand::Week(arguments)) = &arguments.what {
        return week::run(context, arguments);
    }
    if arguments.first_days {
        return replay_first_days(context, &user);
    }
    let started = Instant::now();
    let (context, _temporary) = prepare_folder(context, arguments.keep.as_deref())?;
    // Downloaded before the child needs it, so that the progress is shown once.
    let factory = model::factory(&context);
    let mut out = crate::printer::stdout();
    writeln!(out, "{}", terminal::title("Monday to Thursday"))?;
    write_events_of_days(&context, FIRST_DAYS, |day| day < LAST_DAY)?;
    let last_day = write_events_of_days(&context, "friday.jsonl", |day| day >= LAST_DAY)?;
    let stored = kill_in_the_middle(&context)?;
    writeln!(out, "  {stored}\n  killed the process with kill -9")?;

    let (engine, report) = store::open(&context, &user, Access::Read, Verify::Everything)?;
    ensure!(report.recovery.is_whole(), "the kill damaged the file");
    let survived = u64::from(engine.stats().live);
    drop(engine);
    writeln!(out, "{}", terminal::title("Friday"))?;
    let survivors = format_count(survived, "memory");
    writeln!(out, "  restarted: {survivors} found, no data was lost")?;

    // Every age is as of the demo's Friday.
    let calendar = Calendar::in_machine_zone(parse_timestamp(NOW)?);
    let (recall, figures) = runtime::build_threaded()?.block_on(async {
        let host = Host::start(&context, &user, events_path(&context), factory).await?;
        let (counts, progress) = host.replay(&last_day).await?;
        let ask = |text: &str| {
            let request = RecallRequest::new(text).with_times_from_query(&calendar);
            show_progress(host.memory.execute_recall(request))
        };
        // The first question of a process warms the model; the second is what a user waits for.
        ask("good morning").await?;
        let asked = Instant::now();
        let recall = ask(&arguments.request).await?;
        let recall_ms = asked.elapsed().as_secs_f64() * 1e3;
        let stats = host.with_engine(|engine| engine.stats()).await?;
        let pool = host.service()?.stats().pool;
        host.shut_down().await?;
        ensure!(u64::from(stats.live) >= survived, "memories were lost");
        let embedded = (pool.documents + pool.queries).max(1);
        let embed_ms = pool.embed_us as f64 / 1e3 / embedded as f64;
        let figures = [
            format_count(u64::from(stats.live) - survived, "memory") + " added on Friday",
            format_count(progress.duplicates + counts.duplicates, "duplicate") + " skipped",
            format_count(stats.live, "memory")
                + " now, from "
                + &format_count(stats.sessions, "session"),
            format!("the question took {recall_ms:.1} ms, an embedding {embed_ms:.1} ms"),
            "the file has a size of ".to_owned() + &format_size(stats.file_bytes),
        ];
        anyhow::Ok((recall, figures))
    })?;
    let question = terminal::title("question:");
    writeln!(out, "\n{question} {}", arguments.request)?;
    let answer = RecallAnswer::new(None, recall, 0.0);
    recall::print_answer(&mut out, &answer, calendar.now, Page::stdout(), false)?;
    let took = started.elapsed().as_secs_f64();
    writeln!(out, "\n{}", terminal::title("in numbers"))?;
    writeln!(out, "  {}", figures.join("\n  "))?;
    writeln!(out, "  the whole demo took {took:.1} s")?;
    if let Some(keep) = &arguments.keep {
        let ask = format!("reprise recall --data-dir {} --user ada", keep.display());
        writeln!(out, "{} \"...\"", terminal::faint(ask))?;
    }
    Ok(Exit::Success)
}

/// Returns the settings with the directory of a demo: the named one, or one that the guard removes.
fn prepare_folder(context: &Context, keep: Option<&Path>) -> anyhow::Result<(Context, TempDir)> {
    let temporary = tempfile::tempdir()?;
    let folder = std::path::absolute(keep.unwrap_or(temporary.path()))?;
    ensure!(
        !folder.join("ada").exists(),
        "`{}` holds an earlier demo; name an empty directory",
        folder.display()
    );
    Ok((context.with_data_folder(&folder), temporary))
}

fn events_path(context: &Context) -> PathBuf {
    context.places.data.join("host").join("events.db")
}

/// Replays Monday to Thursday in the child, then waits for its end without closing anything.
fn replay_first_days(context: &Context, user: &UserId) -> anyhow::Result<Exit> {
    let factory = model::factory(context);
    runtime::build_threaded()?.block_on(async {
        let host = Host::start(context, user, events_path(context), factory).await?;
        let (counts, progress) = host.replay(&context.places.data.join(FIRST_DAYS)).await?;
        // With what the host keeps of each run, as the restart counts them.
        let stored = host.with_engine(|engine| engine.stats()).await?.live;
        let mut out = crate::printer::stdout();
        writeln!(
            out,
            "read {} ({} repeated, {} unreadable), stored {}, removed {}\n{READY}",
            format_count(counts.inserted + counts.duplicates, "event"),
            counts.duplicates,
            counts.bad,
            format_count(stored, "memory"),
            format_count(progress.topics.total().redacted, "secret"),
        )?;
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
    command.args(context.no_model.then_some("--no-model"));
    command.args(["demo", "--first-days"]);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut stored = String::new();
    let output = child.stdout.take();
    for line in BufReader::new(output.context("the first days have no output")?).lines() {
        match line?.as_str() {
            READY => break,
            line => line.clone_into(&mut stored),
        }
    }
    child.kill()?;
    child.wait()?;
    ensure!(
        !stored.is_empty(),
        "the first days ended early; run `reprise doctor`"
    );
    Ok(stored)
}

/// Writes the lines of the days that `wanted` admits; broken lines stay where they are.
fn write_events_of_days(
    context: &Context,
    name: &str,
    wanted: fn(&str) -> bool,
) -> io::Result<PathBuf> {
    let (mut day, mut lines) = ("", String::new());
    for line in WEEK.lines() {
        let stamp = line.split_once("\"timestamp\": \"");
        day = stamp.and_then(|(_, rest)| rest.get(..10)).unwrap_or(day);
        if wanted(day) {
            lines.extend([line, "\n"]);
        }
    }
    fs_err::create_dir_all(&context.places.data)?;
    let path = context.places.data.join(name);
    fs_err::write(&path, lines)?;
    Ok(path)
}
