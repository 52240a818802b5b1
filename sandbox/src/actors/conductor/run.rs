//! One run: recall, plan, work, and the outcome reported to memory.
//!
//! The recall comes before planning. The outcome is reported before the end is logged, so that the
//! host's own report takes precedence over what the relay infers from the log. Whether a run
//! completes depends only on its workers; memory can only change which plan is tried first.

use reprise_types::{Credit, FailKind, RecallId, RunBeginning, RunEnding};

use super::super::emitter::EventDraft;
use super::super::events::RunEvents;
use super::super::memory_client::{MemoryClient, WITHOUT_MEMORY};
use super::super::turn::{TurnTrace, WorkerReport};
use super::model_gateway::{Assignment, RoutingPlan, RoutingRequest};
use super::{Attempt, ConductorArguments, RunReport, RunStatus};
use crate::prelude::*;

/// Number of records of the documented recall before planning.
const HISTORY_RECORDS: usize = 5;
const ATTEMPTS_MAX: usize = 4;
const ASSIGNMENTS_MAX: usize = 8;
/// Longest request, in bytes.
const OBJECTIVE_BYTES_MAX: usize = 16 * 1024;
/// Quality of a run that completed with its first plan, the documented 0.8. Each earlier plan that
/// failed halves it, because credit goes to the memories behind the first plan. A person can revise
/// it.
const COMPLETED_QUALITY: f32 = 0.8;

struct ActiveRun<'a> {
    arguments: &'a ConductorArguments,
    memory: &'a MemoryClient,
    id: String,
    desktop_id: String,
    objective: String,
    recall_id: Option<RecallId>,
    turns: Vec<TurnTrace>,
    attempts: Vec<Attempt>,
    used: Vec<RecordId>,
}

/// The outcome of one plan.
enum AttemptOutcome {
    Done,
    Failed(FailureKind, String),
    NoPlan(FailureKind, String),
}

/// Converts a number of attempts, at most [`ATTEMPTS_MAX`], to an exponent.
fn to_exponent(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

pub(super) async fn conduct_run(
    arguments: &ConductorArguments,
    memory: &MemoryClient,
    objective: String,
    desktop_id: String,
) -> Result<RunReport, RunError> {
    if objective.trim().is_empty() {
        return Err(RunError::Empty);
    }
    if objective.len() > OBJECTIVE_BYTES_MAX {
        return Err(RunError::TooLong {
            got: objective.len(),
            limit: OBJECTIVE_BYTES_MAX,
        });
    }
    let run = ActiveRun {
        arguments,
        memory,
        id: arguments.emitter.new_id(),
        desktop_id,
        objective,
        recall_id: None,
        turns: Vec::new(),
        attempts: Vec::new(),
        used: Vec::new(),
    };
    run.execute().await
}

impl ActiveRun<'_> {
    async fn execute(mut self) -> Result<RunReport, RunError> {
        let mut history = self.recall_history().await;
        self.recall_id = history.recall.as_ref().map(|recall| recall.recall_id);
        let beginning = RunBeginning {
            run_id: self.id.clone(),
            query: None,
            recall_id: self.recall_id,
        };
        self.memory
            .report(|memory| async move { memory.begin_run(beginning).await })
            .await;
        self.log_run_start().await?;
        let (mut failure, mut why) = (None, String::new());
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                history = self.recall_history().await;
            }
            match self.attempt_plan(attempt, &history).await? {
                AttemptOutcome::Done => return self.finish_completed().await,
                AttemptOutcome::Failed(kind, said) => (failure, why) = (Some(kind), said),
                AttemptOutcome::NoPlan(kind, said) => {
                    // If an earlier plan failed, its failure is reported.
                    if failure.is_none() {
                        (failure, why) = (Some(kind), said);
                    }
                    break;
                }
            }
        }
        self.finish_failed(failure.unwrap_or(FailureKind::Unknown), why)
            .await
    }

    /// Makes the documented recall before planning.
    async fn recall_history(&self) -> MemoryAnswer {
        let query = &self.objective;
        self.memory.recall(query, HISTORY_RECORDS, &[]).await
    }

    async fn attempt_plan(
        &mut self,
        attempt: usize,
        history: &MemoryAnswer,
    ) -> Result<AttemptOutcome, RunError> {
        let request = RoutingRequest {
            objective: &self.objective,
            history,
            failed: &self.attempts,
        };
        let memory = request.render_memory();
        let turn = TurnTrace::new(None, self.next_turn_number(), history, memory.as_deref());
        let routed = self.arguments.gateway.make_plan(&request).await;
        self.turns.push(turn);
        let mut routing = match routed {
            Ok(routing) => routing,
            Err(error) => {
                return Ok(AttemptOutcome::NoPlan(
                    error.failure_kind(),
                    error.to_string(),
                ));
            }
        };
        if attempt == 0 {
            // Only records of this recall can get credit, no matter what the gateway returns.
            let returned = history.record_ids();
            let used = routing.used.iter().copied();
            self.used = used.filter(|record| returned.contains(record)).collect();
        }
        if history.status.is_missed() {
            routing.reason = format!("{}; {WITHOUT_MEMORY}", routing.reason);
        }
        self.log_plan(attempt, &routing).await?;
        let mut last = None;
        for (index, assignment) in routing.assignments.iter().take(ASSIGNMENTS_MAX).enumerate() {
            let report = self.run_assignment(index, &routing, assignment).await?;
            let failed = report.status != WorkerStatus::Completed;
            last = Some(report);
            if failed {
                break;
            }
        }
        let Some(report) = last else {
            let why = format!("the plan `{}` has no work", routing.plan);
            return Ok(AttemptOutcome::NoPlan(FailureKind::Unknown, why));
        };
        self.attempts.push(Attempt {
            plan: routing.plan,
            reason: routing.reason,
            outcome: report.summary.clone(),
            failure: report.failure,
        });
        Ok(match report.status {
            WorkerStatus::Completed => AttemptOutcome::Done,
            WorkerStatus::Failed | WorkerStatus::Blocked => {
                let kind = report.failure.unwrap_or(FailureKind::Unknown);
                AttemptOutcome::Failed(kind, report.summary)
            }
        })
    }

    /// Runs one turn of one worker.
    async fn run_assignment(
        &mut self,
        index: usize,
        routing: &RoutingPlan,
        assignment: &Assignment,
    ) -> Result<WorkerReport, RunError> {
        let worker = assignment.task.capability();
        let emitter = &self.arguments.emitter;
        let call_id = emitter.new_id();
        let percent = 100 * index / routing.assignments.len().max(1);
        self.log_events(|of| {
            vec![
                of.worker_call_event(worker.name(), &assignment.objective),
                of.progress_event(&format!("the {} works", worker.name()), percent),
            ]
        })
        .await?;
        // The log tells memory each step, with its result.
        let context = TurnContext {
            run_id: self.id.clone(),
            call_id: call_id.clone(),
            desktop_id: self.desktop_id.clone(),
            objective: assignment.objective.clone(),
            task: assignment.task.clone(),
        };
        let report = self
            .arguments
            .workers
            .run_turn(emitter.user(), context)
            .await?;
        // The trace counts what is in the prompt, not what was recalled for it.
        let injected = report.context.render_memory();
        let (number, memory) = (self.next_turn_number(), report.context.memory());
        let turn = TurnTrace::new(Some(worker), number, memory, injected.as_deref());
        let choice = report.choice.clone();
        self.turns.push(TurnTrace { choice, ..turn });
        self.log_events(|of| {
            vec![
                of.capability_event(worker.name(), &call_id, &report),
                of.worker_result_event(worker.name(), &report),
            ]
        })
        .await?;
        Ok(report)
    }

    async fn log_run_start(&self) -> Result<(), RunError> {
        let input_id = self.arguments.emitter.new_id();
        self.log_events(|of| {
            vec![
                of.user_input_event(&input_id),
                of.prompt_received_event(),
                of.task_started_event(),
                of.task_progress_event("running", "run_start", &json!(null)),
            ]
        })
        .await
    }

    async fn log_plan(&self, attempt: usize, routing: &RoutingPlan) -> Result<(), RunError> {
        let decision_id = self.arguments.emitter.new_id();
        let RoutingPlan { plan, reason, .. } = routing;
        let details = json!({ "attempt": attempt + 1, "plan": plan });
        self.log_events(|of| {
            let progress = of.task_progress_event("waiting_worker", "worker_execution", &details);
            let mut drafts = vec![progress];
            drafts.extend((attempt == 0).then(|| of.run_started_event()));
            drafts.push(of.decision_event(&decision_id, &format!("`{plan}`, because {reason}")));
            drafts
        })
        .await
    }

    async fn finish_completed(self) -> Result<RunReport, RunError> {
        let before = self.attempts.len().saturating_sub(1);
        let quality = (before > 0).then(|| COMPLETED_QUALITY * 0.5_f32.powi(to_exponent(before)));
        self.report_end(quality, None).await;
        let plan = self.attempts.last().map_or("", |last| last.plan.as_str());
        let objective = &self.objective;
        let summary = match before {
            0 => format!("{objective}: done with `{plan}` at the first try"),
            _ => format!("{objective}: done with `{plan}` after {before} other plans"),
        };
        let path = format!("conductor/runs/{}/draft.md", self.id);
        self.log_events(|of| vec![of.task_completed_event(&summary, &path)])
            .await?;
        Ok(self.build_report(RunStatus::Completed, None, summary))
    }

    async fn finish_failed(self, kind: FailureKind, why: String) -> Result<RunReport, RunError> {
        self.report_end(None, Some(kind.to_fail_kind())).await;
        let code = match self.attempts.as_slice() {
            [] => "ROUTING_FAILED",
            _ => "RUN_FAILED",
        };
        self.log_events(|of| vec![of.task_failed_event(code, &why, kind)])
            .await?;
        Ok(self.build_report(RunStatus::Failed, Some(kind), why))
    }

    /// Reports the end of the run to memory. It is called before the end is logged, so that the
    /// relay's later report is a repetition.
    async fn report_end(&self, quality: Option<f32>, fail: Option<FailKind>) {
        let ending = RunEnding {
            run_id: self.id.clone(),
            used: self.used.clone(),
            credit: Credit::Explicit,
            quality,
            fail_kind: fail,
        };
        self.memory
            .report(|memory| async move { memory.end_run(ending).await })
            .await;
    }

    fn build_report(
        self,
        status: RunStatus,
        failure: Option<FailureKind>,
        summary: String,
    ) -> RunReport {
        RunReport {
            run_id: self.id,
            objective: self.objective,
            status,
            failure,
            summary,
            attempts: self.attempts,
            recall_id: self.recall_id,
            used: self.used,
            turns: self.turns,
        }
    }

    fn next_turn_number(&self) -> usize {
        self.turns.len() + 1
    }

    /// Emits events of the run with the current time.
    async fn log_events(
        &self,
        events: impl FnOnce(RunEvents<'_>) -> Vec<EventDraft>,
    ) -> Result<(), RunError> {
        let now = self.arguments.emitter.format_now();
        let events = events(RunEvents {
            run_id: &self.id,
            desktop_id: &self.desktop_id,
            objective: &self.objective,
            now: &now,
        });
        Ok(self.arguments.emitter.emit(events).await?)
    }
}
