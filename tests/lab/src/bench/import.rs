//! Imports from files. `import` compared with `ingest`: the same texts in each form that has a line
//! for a record, by the commands themselves, without a model. Event ingest through the whole tree:
//! how much of the wall time is the model's own.

use super::corpus::{self, Dice};
use super::figures::row;
use super::home::{self, BenchHome};
use crate::prelude::*;

/// A form's name, and the line that it has for a numbered text; `ingest` is what the others are
/// compared with.
type SourceFormat = (&'static str, fn(usize, &str) -> Value);

const FORMS: [SourceFormat; 5] = [
    ("ingest", |number, text| {
        json!({ "external_id": number.to_string(), "text": text, "session_id": "s",
            "tags": ["learning"] })
    }),
    ("frames", |number, text| {
        json!({ "id": format!("f-{number}"), "content": text, "frame_type": "learning",
            "metadata": {}, "timestamp": "2026-01-13T07:48:15.960231+00:00", "session_id": "s",
            "tags": ["learning"] })
    }),
    ("sunwell", |number, text| {
        json!({ "id": format!("{number:016x}"), "fact": text, "category": "pattern",
            "confidence": 0.8, "source_type": "task", "created_at": "2026-01-20T10:11:12" })
    }),
    ("server-memory", |number, text| {
        json!({ "type": "entity", "name": format!("e{number}"), "entityType": "note",
            "observations": [text] })
    }),
    ("mem0", |number, text| {
        json!({ "id": format!("m-{number}"), "memory": text, "user_id": "ada",
            "created_at": "2026-01-20T10:11:12Z" })
    }),
];

pub(super) fn run(context: &Context, lines: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let alone = ["--no-model", "--no-daemon", "--json"].map(Into::into);
    let home = BenchHome::new(folder.path(), alone)?;
    let mut beside = None;
    for (name, line) in FORMS {
        let file = folder.path().join(format!("{name}.jsonl"));
        write_lines(&file, lines, line)?;
        let (seconds, records) = time_import(&home, name, &file)?;
        ensure!(
            records >= lines as u64,
            "{name}: {records} of {lines} came in"
        );
        // A form may have several records for a line.
        let each = seconds / records as f64;
        let ratio = each / *beside.get_or_insert(each);
        row!(context, { "lines": lines, "form": name, "records": records, "seconds": seconds,
            "ratio": ratio })?;
    }
    Ok(Exit::Success)
}

fn write_lines(file: &Path, lines: usize, line: fn(usize, &str) -> Value) -> anyhow::Result<()> {
    let mut file = io::BufWriter::new(fs_err::File::create(file)?);
    let mut dice = Dice(5);
    for number in 0..lines {
        let topic = dice.roll() % 200;
        writeln!(
            file,
            "{}",
            line(number, &corpus::make_sentence(&mut dice, topic))
        )?;
    }
    Ok(file.flush()?)
}

/// The command, from its start to its end, and how many records it kept.
fn time_import(home: &BenchHome, name: &str, file: &Path) -> anyhow::Result<(f64, u64)> {
    let mut command = home.command();
    match name {
        "ingest" => command.args(["ingest", "--jsonl"]),
        _ => command.args(["import", "--from", name]),
    };
    command.arg(file).args(["--user", name]);
    let (took, said) = home::run_for_json(name, &mut command)?;
    let inserted = said["inserted"].as_u64().unwrap_or_default();
    Ok((took.as_secs_f64(), inserted))
}

pub(super) fn run_ingest(context: &Context, events: usize) -> anyhow::Result<Exit> {
    let factory = model::factory(context).context("this bench needs the model")?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("events.jsonl");
    write_lines(&file, events, make_event)?;
    let context = context.with_data_folder(folder.path());
    let user = "bench".parse()?;
    let (seconds, inserted, pool) = runtime::build_threaded()?.block_on(async {
        let log = folder.path().join("events.db");
        let host = Host::start(&context, &user, log, Some(factory)).await?;
        let started = Instant::now();
        let (_, progress) = host.replay(&file).await?;
        let seconds = started.elapsed().as_secs_f64();
        let pool = host.service()?.stats().pool;
        host.shut_down().await?;
        anyhow::Ok((seconds, progress.inserted, pool))
    })?;
    let model = pool.embed_us as f64 / 1e6;
    let cores = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(pool.threads);
    let share = model / (seconds * cores as f64);
    row!(&context, { "events": events, "records": inserted, "seconds": seconds,
        "model_seconds": model, "sessions": cores, "model_share": share,
        "waiting_max": pool.documents_waiting_max })?;
    anyhow::ensure!(inserted == events as u64, "events were lost");
    Ok(Exit::Success)
}

/// A user's message, in the host's own form.
fn make_event(number: usize, text: &str) -> Value {
    let seq = number + 1;
    json!({
        "seq": seq,
        "event_id": format!("bench-{seq}"),
        "timestamp": "2026-02-16T09:00:00Z",
        "actor_id": "chat-1",
        "event_type": "chat.user_msg",
        "payload": { "text": text,
            "scope": { "session_id": format!("s{}", seq / 25), "thread_id": "t" } },
        "user_id": "system",
    })
}
