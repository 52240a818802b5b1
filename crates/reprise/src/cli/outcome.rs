//! `reprise outcome`: how runs went, a JSONL line each. Each accepted line is on disk when it is
//! counted; a refused one changes nothing.

use std::io::{BufReader, Write};

use reprise_engine::Engine;
use reprise_store::Verify;
use reprise_types::{
    Clock, Credit, Embedder, ExternalId, FailKind, QueryVector, RecallId, RecordId, RunBeginning,
    RunEnding, RunOutcome, SystemClock,
};
use serde::Deserialize;
use serde_json::json;
use ulid::Ulid;

use super::store::{self, Access};
use super::{Context, model, recall};
use crate::args::OutcomeArguments;
use crate::exit::Exit;
use crate::lines::Lines;

/// One line.
#[derive(Debug, Deserialize)]
struct OutcomeLine {
    query_id: Option<String>,
    recall_id: Option<RecallId>,
    query: Option<String>,
    #[serde(default)]
    used: Vec<String>,
    quality: f32,
    run_id: Option<String>,
    failure_kind: Option<FailKind>,
    credit: Option<Credit>,
}

pub(super) fn run(context: &Context, arguments: &OutcomeArguments) -> anyhow::Result<Exit> {
    let input = BufReader::new(recall::open(&arguments.jsonl)?);
    let (mut engine, _) = store::open(context, &arguments.user, Access::Write, Verify::Tail)?;
    let mut embedder = model::factory(context)
        .map(|factory| factory.open())
        .transpose()?;
    let (mut learned, mut refused) = (0_u64, 0_u64);
    for line in Lines::new(input) {
        let (number, line) = line?;
        let said = line.and_then(|line| {
            let line = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            outcome_of(&engine, embedder.as_deref_mut(), line)
        });
        let done = said.and_then(|said| {
            engine
                .outcome(&said, SystemClock.now())
                .map_err(|error| error.to_string())
        });
        match done {
            Ok(()) => learned += 1,
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
    let report = json!({
        "learned": learned,
        "refused": refused,
        "runs": status.runs,
        "evidence_gate": status.evidence_gate,
        "adapter_gate": status.adapter_gate,
        "cap": status.cap,
    });
    writeln!(std::io::stdout().lock(), "{report}")?;
    Ok(if refused == 0 {
        Exit::Success
    } else {
        Exit::Refused
    })
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
    let receipt = line.recall_id.and_then(|id| engine.learning().receipt(id));
    if receipt.is_none() && line.query.is_none() {
        return Err("it has neither a query nor a recall that is remembered".to_owned());
    }
    // A recall of the command line leaves no receipt: then the question stands for it.
    let recall_id = line.recall_id.filter(|_| receipt.is_some());
    let query = match (&line.query, embedder) {
        (Some(text), Some(embedder)) => Some(QueryVector {
            space: embedder.space().clone(),
            vector: embedder.embed(text).map_err(|error| error.to_string())?,
        }),
        _ => None,
    };
    let used = line.used.iter().map(|name| record(engine, name));
    let named = line
        .run_id
        .or_else(|| line.recall_id.map(|id| format!("recall {id}")));
    let run_id = match named {
        Some(name) => name,
        None => fresh_name(line.query_id.as_deref())?,
    };
    Ok(RunOutcome {
        begin: RunBeginning {
            run_id: run_id.clone(),
            query,
            recall_id,
        },
        end: RunEnding {
            run_id,
            used: used.collect::<Result<_, _>>()?,
            credit: line.credit.unwrap_or(Credit::Explicit),
            quality: Some(line.quality),
            fail: line.failure_kind,
        },
    })
}

/// A query may be asked, and go well or badly, any number of times.
fn fresh_name(query_id: Option<&str>) -> Result<String, String> {
    let random = store::entropy().map_err(|error| error.to_string())?;
    let now = u64::try_from(SystemClock.now().timestamp_millis()).unwrap_or(0);
    let ulid = Ulid::from_parts(now, random);
    Ok(match query_id {
        Some(id) => format!("query {id} {ulid}"),
        None => format!("run {ulid}"),
    })
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
