//! How runs went: what memory learns from.

use reprise_engine::Engine;
use reprise_types::{Credit, QueryVector, RecordId, RunBeginning, RunEnding, RunOutcome, UserId};

use super::{Change, Surface, resolve};
use crate::problem::Problem;
use crate::wire::{OutcomeLine, OutcomeReport, fresh_run_id};

impl Surface {
    /// Takes how a run went. `key` names the request: a run without a name is named by it, so that
    /// a request sent again is not a second run. The outcome of a run that has ended changes
    /// nothing, and the report says so.
    pub async fn outcome(
        &self,
        user: &UserId,
        line: OutcomeLine,
        key: Option<&str>,
    ) -> Result<OutcomeReport, Problem> {
        if line.recall_id.is_none() && line.query.is_none() {
            return Err(Problem::invalid(
                "the outcome has neither a query nor a recall that is remembered; name one of them",
            ));
        }
        let query = match &line.query {
            Some(query) => self.service.query_vector(query).await,
            None => None,
        };
        let fallback = key.map_or_else(
            || fresh_run_id(line.query_id.as_deref(), self.unix_ms(), Self::random()),
            |key| format!("request {key}"),
        );
        let now = self.clock.now();
        let learn = move |engine: &mut Engine| -> Result<(OutcomeReport, Vec<RecordId>), Problem> {
            let said = outcome_of(engine, line, query, fallback)?;
            let known = match engine.outcome(&said, now) {
                Err(error) if error.is_repetition() => 1,
                done => done.map(|()| 0)?,
            };
            let status = engine.learning().status();
            let report = OutcomeReport {
                learned: 1 - known,
                known,
                refused: 0,
                runs: status.runs,
                evidence_gate: status.evidence_gate,
                adapter_gate: status.adapter_gate,
                cap: status.cap,
            };
            Ok((report, said.end.used))
        };
        let (report, ids) = self.with_engine(user, learn).await??;
        if report.learned > 0 {
            self.tell(Change {
                user: user.clone(),
                what: "learned",
                ids,
            });
        }
        Ok(report)
    }
}

fn outcome_of(
    engine: &Engine,
    line: OutcomeLine,
    query: Option<QueryVector>,
    fallback: String,
) -> Result<RunOutcome, Problem> {
    let receipt = line.recall_id.and_then(|id| engine.learning().receipt(id));
    if receipt.is_none() && line.query.is_none() {
        return Err(Problem::not_found(
            "the recall is not remembered any more; name the query instead",
        ));
    }
    let remembered = line.recall_id.filter(|_| receipt.is_some());
    let named = line.run_id;
    let run_id = named
        .or_else(|| line.recall_id.map(|id| format!("recall {id}")))
        .unwrap_or(fallback);
    let used = line.used.iter().map(|name| {
        let found = resolve(engine, name);
        found.ok_or_else(|| super::records::missing(name))
    });
    Ok(RunOutcome {
        begin: RunBeginning {
            run_id: run_id.clone(),
            query,
            recall_id: remembered,
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
