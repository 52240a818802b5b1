//! How runs went: what memory learns from, and what it learned of them.

pub mod how;
mod learning;

use reprise_engine::{LearnError, RunAction, RunWrite};
use reprise_types::{FailKind, OutcomeSummary, RunBeginning, RunEnding, RunOutcome};

use crate::operations::records::get_named_record_id;
use crate::prelude::*;
use crate::wire::{OutcomeReport, fresh_run_id};

pub use learning::{
    Gate, LearnedRun, Learning, LearningAction, LearningArguments, LearningReport,
    LearningSwitched, OutcomeLearningReport, Pattern, RecordEffect, Runs, RunsArguments, RunsFound,
};

operation! {
    Spec::for_adding("outcome", "Report how a task went that used a recall: what helped comes first next time.").with_tool("outcome", Profile::Lean);
    Outcome(memory, line: OutcomeLine) -> OutcomeReport {
        memory.learn_outcome(line).await
    }

    fn render_text(report: &OutcomeReport) -> Cow<'_, str> {
        let fate = if report.learned > 0 { "learned" } else { "already known" };
        format!("{fate}; {} so far", format_count(report.runs, "run")).into()
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withdrawn {
    /// Records that the run had credited; 0 where it was taken back before.
    pub records: usize,
    /// Runs that are learned from now.
    pub runs: u64,
}

operation! {
    Spec::for_destroying(
        "withdraw_outcome",
        "Take back how a run went: nothing is learned from it, and the record that it left is \
         forgotten.",
    )
    .with_tool("withdraw_outcome", Profile::Full);
    /// Whose outcome is taken back.
    #[derive(clap::Args)]
    WithdrawOutcome(memory, asked: WithdrawOutcomeArguments {
        /// The run: `recall ID` with the `recall_id` of its outcome, or its own `run_id`.
        #[schemars(length(min = 1, max = 512))]
        pub run_id: String as SessionName,
    }) -> Withdrawn {
        let (now, run_id) = (memory.now(), asked.run_id);
        let withdraw = move |engine: &mut Engine| -> Result<_, Problem> {
            if engine.learning_state().find_ended_run(&run_id).is_none() {
                return Err(Problem::not_found(format!(
                    "no finished run `{run_id}`; a run is named `recall ID` with the `recall_id` of its \
                     outcome, or by its own `run_id`"
                )));
            }
            let used = engine.withdraw_run(&run_id, now)?;
            Ok((used, engine.learning_state().status().runs))
        };
        let (used, runs) = memory.run_on_engine(withdraw).await??;
        let records = used.len();
        memory.announce_change("withdrawn", used);
        Ok(Withdrawn { records, runs })
    }

    fn render_text(done: &Withdrawn) -> Cow<'_, str> {
        format!("outcome withdrawn; {} are still learned from", format_count(done.runs, "run")).into()
    }
}

/// How the name of an outcome begins that is a person's rating of one memory.
pub const RATING: &str = OutcomeSummary::RATING_PREFIX;

/// The report, the records that a run used, and the one that it left.
type LearnedOutcome = (OutcomeReport, Vec<RecordId>, Option<RecordId>);

impl Memory {
    /// Takes how a run went. A run without a name is named by the request, so that
    /// a request sent again is not a second run. The outcome of a run that has ended changes
    /// nothing, and the report says so.
    pub(crate) async fn learn_outcome(&self, line: OutcomeLine) -> Result<OutcomeReport, Problem> {
        self.learn_outcome_at(line, self.now()).await
    }

    /// Does the same for a run that ended at a time, which may be in the past.
    pub(crate) async fn learn_outcome_at(
        &self,
        mut line: OutcomeLine,
        at: DateTime<Utc>,
    ) -> Result<OutcomeReport, Problem> {
        if line.recall_id.is_none() && line.query.is_none() {
            return Err(missing_run_error());
        }
        let (own, published) = self.split_used(std::mem::take(&mut line.used)).await?;
        line.used = own;
        self.refuse_unknown_published(&published).await?;
        let voice = (line.quality, line.failure_kind);
        let query = match &line.query {
            Some(query) => self.query_vector(query).await,
            None => None,
        };
        let fallback = self.request_key().map_or_else(
            || fresh_run_id(line.query_id.as_deref(), self.unix_ms(), system_entropy()),
            |key| format!("request {key}"),
        );
        // A run with a name of its own leaves a record; a rating is no run.
        let is_rating = |name: &String| name.starts_with(RATING);
        let is_named = line.run_id.as_ref().is_some_and(|name| !is_rating(name));
        let asked = line.query.as_ref();
        let asked = asked.map(|asked| Redactor::new().redact_text(asked).text);
        let learn = move |engine: &mut Engine| -> Result<LearnedOutcome, Problem> {
            let run = Box::new(build_run_outcome(engine, line, query, || fallback)?);
            let used = run.end.used.clone();
            let turn = RunAction::Outcome {
                run,
                leaves_record: is_named,
                question: asked,
            };
            let batch = WriteBatch::of_run(RunWrite::new(at, turn));
            let mut written = engine.write(batch, at)?;
            let known = match written.learning.pop() {
                Some(Err(LearnError::AlreadyEnded { .. })) => 1,
                fate => fate
                    .unwrap_or(Ok(()))
                    .map(|()| 0)
                    .map_err(EngineError::from)?,
            };
            let left = written.unembedded.pop();
            let status = engine.learning_state().status();
            let report = OutcomeReport {
                learned: 1 - known,
                known,
                refused: 0,
                runs: status.runs,
                evidence_gate: status.evidence_gate,
                adapter_gate: status.adapter_gate,
                cap: status.cap,
            };
            Ok((report, used, left))
        };
        let (report, ids, left) = self.run_on_engine(learn).await??;
        if let Some(left) = left {
            self.embed_record(left).await?;
        }
        if report.learned > 0 {
            self.announce_change("learned", ids);
            // An end that lies outside the run says nothing of what it used.
            let (quality, failed) = voice;
            if !published.is_empty() && !failed.is_some_and(FailKind::is_exogenous) {
                self.report_published_use(&published, quality).await?;
            }
        }
        Ok(report)
    }

    /// Gives a record that the engine wrote its vector, where there is a model.
    async fn embed_record(&self, id: RecordId) -> Result<(), Problem> {
        let text = move |memory: &Snapshot| Some(memory.get(id)?.ok()?.body.text);
        let Some(text) = self.run_on_snapshot(text).await? else {
            return Ok(());
        };
        if let Some(Embedding { space, vector }) =
            self.all.service.document_vector(&self.user, &text).await
        {
            let embed_record =
                move |engine: &mut Engine| engine.insert_late_vectors(vec![(id, space, vector)]);
            self.run_on_engine(embed_record).await??;
        }
        Ok(())
    }
}

/// What a line says, ready for the engine; `query` is the vector of its question. A run that has no
/// name, and no recall that names it, is called what `fallback` says.
pub fn build_run_outcome(
    engine: &Engine,
    line: OutcomeLine,
    query: Option<Embedding>,
    fallback: impl FnOnce() -> String,
) -> Result<RunOutcome, Problem> {
    let receipt = line
        .recall_id
        .and_then(|id| engine.learning_state().find_receipt(id));
    if receipt.is_none() && line.query.is_none() {
        return Err(match line.recall_id {
            Some(_) => {
                Problem::not_found("the recall is not remembered any more; name the query instead")
            }
            None => missing_run_error(),
        });
    }
    // A recall of the command line leaves no receipt: then the question identifies it.
    let remembered = line.recall_id.filter(|_| receipt.is_some());
    let named = line.run_id;
    let run_id = named
        .or_else(|| line.recall_id.map(|id| format!("recall {id}")))
        .unwrap_or_else(fallback);
    let memory = engine.snapshot();
    let used = line.used.iter();
    let used = used.map(|name| get_named_record_id(&memory, name));
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
            fail_kind: line.failure_kind,
        },
    })
}

fn missing_run_error() -> Problem {
    Problem::invalid("the outcome names neither a query nor a recall; name one of them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_that_is_known_says_so() {
        let report = |learned, known| OutcomeReport {
            learned,
            known,
            refused: 0,
            runs: 1,
            evidence_gate: 0.0,
            adapter_gate: 0.0,
            cap: 0.0,
        };
        for (report, said) in [
            (report(1, 0), "learned; 1 run so far"),
            (report(0, 1), "already known; 1 run so far"),
        ] {
            assert_eq!(Outcome::render_text(&report), said);
        }
    }
}
