//! `reprise demo week`: three weeks of a host that asks memory before it plans. Its runs succeed or
//! fail by what they really did: small Rust programs, compiled and tested in a scratch directory.

use reprise_types::{LearningEngine as _, RetrievedMemory};

use crate::args::KeptDemo;
use crate::cli::host::{RunReport, RunStatus, execute_without_memory};
use crate::cli::prelude::*;
use crate::env;
use crate::terminal::{faint, one_line, title};

/// Runs that are named as the reason of a score.
const TEACHERS: usize = 2;
/// Characters that are printed of what a compiler says.
const MESSAGE_CHARS: usize = 200;
/// A score that moved by less is shown as unmoved.
const MOVED: f64 = 0.0005;
/// First Monday.
const BEGIN: &str = "2026-02-02T09:00:00Z";
/// Time between two requests: far enough apart that the next one is no retry of the last.
const BETWEEN: TimeDelta = TimeDelta::minutes(45);

/// A block a week: its title, the question to memory before it, and its requests. Some requests
/// insist on a way that cannot work here: that is how one learns what helps.
const WEEKS: &str = include_str!("week/weeks.txt");

/// Runs so far by id: the week of each, and its request.
type Runs = BTreeMap<String, (usize, &'static str)>;

pub(super) fn run(context: &Context, arguments: &KeptDemo) -> anyhow::Result<Exit> {
    ensure_programs_compile()?;
    let (context, _temporary) = super::prepare_folder(context, arguments.keep.as_deref())?;
    let story = runtime::build_threaded()?.block_on(play_weeks(&context))?;
    output::print(&context, &story, |out| Ok(print_story(out, &story)?))
}

/// Refuses if Rust programs cannot be compiled: every run would fail, and say nothing of memory.
fn ensure_programs_compile() -> anyhow::Result<()> {
    for program in ["rustc", "cargo"] {
        let mut command = Command::new(program);
        command.env_clear().envs(env::command_environment());
        let output = command.arg("--version").output();
        let output = output.with_context(|| {
            format!("`demo week` compiles Rust programs and needs `{program}`: install Rust (https://rustup.rs), then run it again")
        })?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "`demo week` compiles Rust programs, and `{program}` does not run here: {}",
            one_line(&said, MESSAGE_CHARS)
        );
    }
    Ok(())
}

/// Plays the weeks, and returns what happened as the object that `--json` prints.
async fn play_weeks(context: &Context) -> anyhow::Result<Value> {
    let user: UserId = "ada".parse()?;
    let begin = parse_timestamp(BEGIN)?;
    let clock = Arc::new(StoryClock(Mutex::new(begin)));
    let (events, factory) = (super::events_path(context), model::factory(context));
    let host = Host::start_with_workers(context, &user, events, factory, clock.clone()).await?;
    let (mut weeks, mut trace, mut known) = (Vec::new(), Vec::new(), Runs::new());
    for (number, week) in (1..).zip(WEEKS.split("\n\n")) {
        let mut lines = week.lines();
        let title = lines.next().unwrap_or_default();
        let question = lines.next().unwrap_or_default();
        clock.advance_to(begin + TimeDelta::weeks(i64::try_from(number)? - 1));
        let (verdict, recall, brings_back) = recall(&host, question, &known).await?;
        let (mut runs, mut first_try, mut choices_changed) = (Vec::new(), 0, 0);
        for request in lines.clone() {
            clock.advance_to(clock.now() + BETWEEN);
            let report = host.execute(request, &format!("week-{number}")).await?;
            known.insert(report.run_id.clone(), (number, request));
            first_try += usize::from(is_first_try(&report));
            choices_changed += usize::from(report.turns.iter().any(|turn| turn.choice.is_some()));
            runs.push(describe_run_as_json(request, &report));
            trace = report.turns;
        }
        let without = execute_without_memory(context, &user, lines).await?;
        let first_try_without = without.iter().filter(|report| is_first_try(report)).count();
        weeks.push(json!({
            "week": number,
            "title": title,
            "question": question,
            "verdict": verdict,
            "recall": recall,
            "brings_back": brings_back,
            "runs": runs,
            "first_try": first_try,
            "choices_changed": choices_changed,
            "first_try_without_memory": first_try_without,
        }));
    }
    let learning = host
        .with_engine(|engine| {
            let learner = engine.learning_state().learner();
            let (evidence_gate, adapter_gate) = learner.learner_gates();
            json!({ "runs": engine.learning_state().run_count(), "evidence_gate": evidence_gate,
                "adapter_gate": adapter_gate, "cap": learner.adjustment_cap() })
        })
        .await?;
    host.shut_down().await?;
    Ok(json!({ "weeks": weeks, "trace": trace, "learning": learning }))
}

/// Asks memory a week's question as a person would. Returns the verdict, the answers that are
/// shown, each with the week that it is from and the runs that moved it, and the weeks of these.
async fn recall(
    host: &Host,
    question: &str,
    known: &Runs,
) -> anyhow::Result<(Value, Vec<Value>, BTreeSet<usize>)> {
    let answer = host
        .memory
        .execute_recall(RecallRequest::new(question))
        .await?;
    let found = answer.results;
    let week_of = |one: &RetrievedMemory| {
        let run = one.record.provenance.run_id.as_ref()?;
        Some(known.get(run)?.0)
    };
    let shown = || found.iter().filter(|one| one.shown);
    let rows = shown().map(|one| {
        let better = found.iter().filter(|other| other.score > one.score);
        let teachers = one.why.taught_by.iter().map(|run| {
            let request = known.get(&run.run_id);
            let request = request.map_or(run.run_id.as_str(), |&(_, request)| request);
            json!({ "request": request, "quality": run.quality, "similarity": run.similarity })
        });
        json!({
            "text": one.record.text,
            "score": one.score,
            "sona_score": one.sona_score,
            "week": week_of(one),
            "reason": one.why.reason,
            "quality": one.record.quality_score,
            "learning": one.why.learning,
            "place_before": better.count() + 1,
            "taught_by": teachers.collect::<Vec<_>>(),
        })
    });
    let weeks = shown().filter_map(week_of).collect();
    Ok((json!(answer.verdict), rows.collect(), weeks))
}

fn is_first_try(report: &RunReport) -> bool {
    report.status == RunStatus::Completed && report.attempts.len() == 1
}

fn describe_run_as_json(request: &str, report: &RunReport) -> Value {
    let plans = report.attempts.iter().map(|attempt| {
        json!({ "plan": attempt.plan, "reason": attempt.reason, "outcome": attempt.outcome,
            "worked": attempt.failure.is_none() })
    });
    let with_memory = report.turns.iter().filter(|turn| turn.injected_bytes > 0);
    let missed = report.turns.iter().filter(|turn| turn.memory.is_missed());
    let choices = report.turns.iter().filter_map(|turn| {
        let choice = turn.choice.as_ref()?;
        Some(format!("the {} {choice}", turn.actor))
    });
    json!({ "request": request, "status": report.status, "plans": plans.collect::<Vec<_>>(),
        "used": report.used.len(), "turns": report.turns.len(),
        "turns_with_memory": with_memory.count(), "turns_without_answer": missed.count(),
        "choices": choices.collect::<Vec<_>>() })
}

fn text_or_empty(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn list_or_empty(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn print_story(out: &mut impl Write, story: &Value) -> io::Result<()> {
    for week in list_or_empty(&story["weeks"]) {
        let head = format!("Week {}: {}", week["week"], text_or_empty(&week["title"]));
        writeln!(out, "\n{}", title(head))?;
        let verdict = text_or_empty(&week["verdict"]);
        writeln!(
            out,
            "  asked memory \"{}\": {verdict}",
            text_or_empty(&week["question"])
        )?;
        for (place, one) in (1..).zip(list_or_empty(&week["recall"])) {
            print_answer(out, place, one)?;
        }
        writeln!(out, "  the week's requests:")?;
        let runs = list_or_empty(&week["runs"]);
        for run in runs {
            let plans = list_or_empty(&run["plans"]);
            let tried = plans.iter().map(|plan| {
                let worked = plan["worked"] == true;
                let end = if worked { "ok" } else { "failed" };
                format!("{} {end}", text_or_empty(&plan["plan"]))
            });
            let tried: Vec<String> = tried.collect();
            let reason = plans
                .first()
                .map_or("", |first| text_or_empty(&first["reason"]));
            let line = faint(format!("{}  ({reason})", tried.join(", then ")));
            writeln!(out, "    {}\n       {line}", text_or_empty(&run["request"]))?;
            for choice in list_or_empty(&run["choices"]) {
                writeln!(out, "       {}", faint(text_or_empty(choice)))?;
            }
        }
        let sum = |name| runs.iter().map(|run| number(&run[name])).sum::<f64>();
        let (first, of) = (title(&week["first_try"]), runs.len());
        let without = &week["first_try_without_memory"];
        writeln!(
            out,
            "  done at the first try: {first} of {of}; without memory {without}"
        )?;
        let (with, of) = (sum("turns_with_memory"), sum("turns"));
        writeln!(out, "  steps with memory in their context: {with} of {of}")?;
        let missed = sum("turns_without_answer");
        if missed > 0.0 {
            writeln!(
                out,
                "  steps that ran without memory, which did not answer: {missed}"
            )?;
        }
        let changed = &week["choices_changed"];
        writeln!(
            out,
            "  requests in which a worker chose otherwise by memory: {changed}"
        )?;
    }
    writeln!(out, "\n{}", title("the last run, step by step"))?;
    for turn in list_or_empty(&story["trace"]) {
        let (step, actor) = (number(&turn["number"]), text_or_empty(&turn["actor"]));
        let memory = match text_or_empty(&turn["memory"]["state"]) {
            "answered" => format!(
                "{}, {} in its context, found in {:.1} ms",
                format_count(list_or_empty(&turn["records"]).len(), "memory"),
                format_count(turn["injected_bytes"].as_u64().unwrap_or_default(), "byte"),
                number(&turn["recall_us"]) / 1e3
            ),
            other => format!("memory: {other}"),
        };
        writeln!(out, "  {step:>2}  {actor:<11} {memory}")?;
    }
    let runs = &story["learning"]["runs"];
    let [single, common, cap] =
        ["evidence_gate", "adapter_gate", "cap"].map(|name| number(&story["learning"][name]));
    writeln!(out, "\n{}", title("what was learned"))?;
    writeln!(out, "  from {runs} runs; a score may move by {cap:.3}")?;
    writeln!(
        out,
        "  trust in single outcomes {single:.2}, in what runs share {common:.2}; how a run went \
         counts for its own record from the first on"
    )
}

/// Prints one answer to a week's question, and why its score moved.
fn print_answer(out: &mut impl Write, place: u64, one: &Value) -> io::Result<()> {
    let (score, learned) = (number(&one["score"]), number(&one["sona_score"]));
    let line = one_line(text_or_empty(&one["text"]), 104);
    writeln!(out, "    {place}  {learned:.3}  {line}")?;
    writeln!(out, "       {}", faint(text_or_empty(&one["reason"])))?;
    let moved = learned - score;
    if moved.abs() < MOVED {
        return Ok(());
    }
    let teachers = list_or_empty(&one["taught_by"])
        .iter()
        .take(TEACHERS)
        .map(|run| {
            let request = one_line(text_or_empty(&run["request"]), 60);
            let quality = number(&run["quality"]);
            format!("\"{request}\" used it and scored {quality:.1}")
        });
    let mut why = teachers.collect::<Vec<_>>().join("; ");
    if why.is_empty() {
        "it went well, or similar memories helped".clone_into(&mut why);
    }
    let adapter = number(&one["learning"]["adapter"]);
    let before = &one["place_before"];
    let line = format!(
        "{score:.3} {moved:+.3} ({adapter:+.3} by the adapter), was in place {before}, because {why}"
    );
    writeln!(out, "       {}", faint(line))
}

/// Three weeks in a few seconds.
#[derive(Debug)]
struct StoryClock(Mutex<DateTime<Utc>>);

impl StoryClock {
    /// Moves on to a time; the clock never goes back.
    fn advance_to(&self, time: DateTime<Utc>) {
        let mut now = lock(&self.0);
        *now = time.max(*now);
    }
}

impl Clock for StoryClock {
    fn now(&self) -> DateTime<Utc> {
        *lock(&self.0)
    }
}
