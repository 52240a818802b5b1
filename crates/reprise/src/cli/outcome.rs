//! `reprise outcome`: how runs went, a JSONL line each. Each accepted line is on disk when it is
//! counted; a refused one changes nothing.

use std::io::{BufRead, BufReader, Write};

use reprise_engine::{Engine, question_vector};
use reprise_operations::{OutcomeLine, OutcomeReport, ProblemKind, fresh_run_id, run_outcome};
use reprise_server::Call;
use reprise_store::Verify;
use reprise_types::{
    Clock, Embedder, ExternalId, RecordId, RunOutcome, SystemClock, system_entropy,
};

use super::daemon::Daemon;
use super::store::{self, Access};
use super::{Context, model, recall};
use crate::args::OutcomeArguments;
use crate::exit::Exit;
use crate::lines::Lines;

pub(super) fn run(context: &Context, arguments: &OutcomeArguments) -> anyhow::Result<Exit> {
    let input = BufReader::new(recall::open(&arguments.jsonl)?);
    if let Some(daemon) = Daemon::running(context)? {
        return by_daemon(&daemon, arguments, input);
    }
    let (mut engine, _) = store::open(context, &arguments.user, Access::Write, Verify::Tail)?;
    let mut embedder = model::factory(context)
        .map(|factory| factory.open())
        .transpose()?;
    let (mut learned, mut known, mut refused) = (0_u64, 0_u64, 0_u64);
    for line in Lines::new(input) {
        let (number, line) = line?;
        let said = line.and_then(|line| {
            let line = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            outcome_of(&engine, embedder.as_deref_mut(), line)
        });
        let done = said.and_then(|said| match engine.outcome(&said, SystemClock.now()) {
            Err(error) if error.is_repetition() => Ok(false),
            done => done.map(|()| true).map_err(|error| error.to_string()),
        });
        match done {
            Ok(true) => learned += 1,
            Ok(false) => known += 1,
            Err(why) => {
                refused += 1;
                super::note(&format!("line {number} was refused: {why}"));
            }
        }
        consolidate(&mut engine)?;
    }
    engine.refresh_sona()?;
    let status = engine.learning().status();
    engine.close()?;
    print(&OutcomeReport {
        learned,
        known,
        refused,
        runs: status.runs,
        evidence_gate: status.evidence_gate,
        adapter_gate: status.adapter_gate,
        cap: status.cap,
    })
}

fn print(report: &OutcomeReport) -> anyhow::Result<Exit> {
    writeln!(
        std::io::stdout().lock(),
        "{}",
        serde_json::to_string(report)?
    )?;
    Ok(if report.refused == 0 {
        Exit::Success
    } else {
        Exit::Refused
    })
}

/// Hands the lines to the daemon, one at a time.
fn by_daemon(
    daemon: &Daemon,
    arguments: &OutcomeArguments,
    input: impl BufRead,
) -> anyhow::Result<Exit> {
    let mut total = OutcomeReport::default();
    for line in Lines::new(input) {
        let (number, line) = line?;
        let read = line.and_then(|line| {
            let line: OutcomeLine = reprise_operations::from_json(line.as_bytes())?;
            serde_json::to_value(line).map_err(|e| e.to_string())
        });
        let path = Call::path_of(&arguments.user, &["outcome"]);
        let said = match read {
            Ok(body) => match daemon.ask::<OutcomeReport>(&Call::post(path, &body)) {
                Ok(said) => Ok(said),
                Err(problem) if problem.kind == ProblemKind::Invalid => Err(problem.to_string()),
                Err(problem) => return Err(problem.into()),
            },
            Err(why) => Err(why),
        };
        match said {
            Ok(said) => {
                total = OutcomeReport {
                    learned: total.learned + said.learned,
                    known: total.known + said.known,
                    refused: total.refused,
                    ..said
                };
            }
            Err(why) => {
                total.refused += 1;
                super::note(&format!("line {number} was refused: {why}"));
            }
        }
    }
    print(&total)
}

/// Fits the adapter where that is due; a command line has no background.
fn consolidate(engine: &mut Engine) -> anyhow::Result<()> {
    if let Some(job) = engine.start_consolidation() {
        engine.finish_consolidation(job.run())?;
    }
    Ok(())
}

fn outcome_of(
    engine: &Engine,
    embedder: Option<&mut (dyn Embedder + 'static)>,
    line: OutcomeLine,
) -> Result<RunOutcome, String> {
    let query = match (&line.query, embedder) {
        (Some(text), Some(embedder)) => Some(question_vector(embedder, text)),
        _ => None,
    };
    let query = query.transpose().map_err(|error| error.to_string())?;
    let query_id = line.query_id.clone();
    let fallback = || {
        let now = u64::try_from(SystemClock.now().timestamp_millis()).unwrap_or(0);
        fresh_run_id(query_id.as_deref(), now, system_entropy())
    };
    run_outcome(engine, line, query, fallback).map_err(|problem| problem.to_string())
}

/// The record with this external id or id.
pub(super) fn record(engine: &Engine, name: &str) -> Result<RecordId, String> {
    let external = [ExternalId::BATCH, ExternalId::EVENT]
        .iter()
        .find_map(|namespace| engine.duplicate_of(&ExternalId::new(*namespace, name)));
    external
        .or_else(|| name.parse().ok())
        .ok_or_else(|| format!("there is no record `{name}` in this memory"))
}
