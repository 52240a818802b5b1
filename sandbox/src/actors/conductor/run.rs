//! One run: recall, plan, work, and the outcome reported to memory.
//!
//! The recall comes before planning, and the outcome is reported before the end is logged, so that
//! the host's own report takes precedence over what the relay infers from the log. Whether a run
//! completes depends only on its workers: memory can only change which plan is tried first.

use reprise_types::{Credit, FailKind, MemoryKind, RecallId, RunBeginning, RunEnding};

use super::super::emitter::EventDraft;
use super::super::events::RunEvents;
use super::super::memory_client::MemoryClient;
use super::super::turn::{Turn, WorkerReport};
use super::model_gateway::{Assignment, Routing, RoutingRequest};
use super::{Attempt, ConductorArguments, RunReport, RunStatus};
use crate::prelude::*;

/// Records of the documented recall before planning (M38).
const HISTORY: usize = 5;
/// Records of findings and patterns, from which plans are chosen.
const LESSONS: usize = 12;
const ATTEMPTS_MAX: usize = 4;
const ASSIGNMENTS_MAX: usize = 8;
/// Longest request, in bytes.
const OBJECTIVE_BYTES_MAX: usize = 16 * 1024;
/// Quality of a run that completed with its first plan: the documented 0.8. Each failed plan before
/// halves it. Open to revision.
const COMPLETED: f32 = 0.8;
/// Kinds of records that report outcomes.
const OUTCOME_KINDS: [MemoryKind; 2] = [MemoryKind::Finding, MemoryKind::Pattern];

struct Run<'a> {
    with: &'a ConductorArguments,
    memory: &'a MemoryClient,
    id: String,
    desktop_id: String,
    objective: String,
    recall_id: Option<RecallId>,
    turns: Vec<Turn>,
    attempts: Vec<Attempt>,
    used: Vec<RecordId>,
}

/// The outcome of one plan.
enum Tried {
    Done,
    Failed(FailureKind, String),
    NoPlan(FailureKind, String),
}

/// At most [`ATTEMPTS_MAX`].
fn tries(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

pub(super) async fn conduct(
    with: &ConductorArguments,
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
    let run = Run {
        with,
        memory,
        id: with.emitter.id(),
        desktop_id,
        objective,
        recall_id: None,
        turns: Vec::new(),
        attempts: Vec::new(),
        used: Vec::new(),
    };
    run.conduct().await
}

impl Run<'_> {
    async fn conduct(mut self) -> Result<RunReport, RunError> {
        let (mut history, mut lessons) = self.recall().await;
        self.recall_id = lessons.recall.as_ref().map(|recall| recall.recall_id);
        let beginning = RunBeginning {
            run_id: self.id.clone(),
            query: None,
            recall_id: self.recall_id,
        };
        self.memory
            .tell(|memory| async move { memory.begin_run(beginning).await })
            .await;
        self.say_begun().await?;
        let (mut failure, mut why) = (None, String::new());
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                (history, lessons) = self.recall().await;
            }
            match self.attempt(attempt, &history, &lessons).await? {
                Tried::Done => return self.completed().await,
                Tried::Failed(kind, said) => (failure, why) = (Some(kind), said),
                Tried::NoPlan(kind, said) => {
                    // Reports the failure of the last plan, if any.
                    if failure.is_none() {
                        (failure, why) = (Some(kind), said);
                    }
                    break;
                }
            }
        }
        self.failed(failure.unwrap_or(FailureKind::Unknown), why)
            .await
    }

    /// Recalls related history, and outcomes of similar requests.
    async fn recall(&self) -> (MemoryAnswer, MemoryAnswer) {
        let history = self.memory.ask(&self.objective, HISTORY, &[]);
        let lessons = self.memory.ask(&self.objective, LESSONS, &OUTCOME_KINDS);
        tokio::join!(history, lessons)
    }

    async fn attempt(
        &mut self,
        attempt: usize,
        history: &MemoryAnswer,
        lessons: &MemoryAnswer,
    ) -> Result<Tried, RunError> {
        let request = RoutingRequest {
            objective: &self.objective,
            history,
            lessons,
            failed: &self.attempts,
        };
        let memory = request.memory();
        let mut turn = Turn::new(None, self.next_turn(), lessons, memory.as_deref());
        turn.add_recall(history);
        let routed = self.with.gateway.conduct(&request).await;
        self.turns.push(turn);
        let routing = match routed {
            Ok(routing) => routing,
            Err(error) => return Ok(Tried::NoPlan(error.failure(), error.to_string())),
        };
        if attempt == 0 {
            // Only records of this recall can get credit, whatever the gateway returns.
            let returned = lessons.records();
            let used = routing.used.iter().copied();
            self.used = used.filter(|record| returned.contains(record)).collect();
        }
        self.say_planned(attempt, &routing).await?;
        let mut last = None;
        for (at, assignment) in routing.assignments.iter().take(ASSIGNMENTS_MAX).enumerate() {
            let report = self.assign(at, &routing, assignment).await?;
            let failed = report.status != WorkerStatus::Completed;
            last = Some(report);
            if failed {
                break;
            }
        }
        let Some(report) = last else {
            let why = format!("the plan `{}` has no work", routing.plan);
            return Ok(Tried::NoPlan(FailureKind::Unknown, why));
        };
        self.attempts.push(Attempt {
            plan: routing.plan,
            reason: routing.reason,
            outcome: report.summary.clone(),
            failure: report.failure,
        });
        Ok(match report.status {
            WorkerStatus::Completed => Tried::Done,
            WorkerStatus::Failed | WorkerStatus::Blocked => {
                let kind = report.failure.unwrap_or(FailureKind::Unknown);
                Tried::Failed(kind, report.summary)
            }
        })
    }

    /// Runs one turn of one worker.
    async fn assign(
        &mut self,
        at: usize,
        routing: &Routing,
        assignment: &Assignment,
    ) -> Result<WorkerReport, RunError> {
        let worker = assignment.task.capability();
        let emitter = &self.with.emitter;
        let call_id = emitter.id();
        let percent = 100 * at / routing.assignments.len().max(1);
        self.say(|of| {
            vec![
                of.worker_call(worker.name(), &assignment.objective),
                of.progress(&format!("the {} works", worker.name()), percent),
            ]
        })
        .await?;
        let run_id = self.id.clone();
        let action = format!("{} by `{}`", worker.name(), routing.plan);
        self.memory
            .tell(|memory| async move { memory.step_run(run_id, action, Vec::new()).await })
            .await;
        let context = TurnContext {
            run_id: self.id.clone(),
            call_id: call_id.clone(),
            desktop_id: self.desktop_id.clone(),
            objective: assignment.objective.clone(),
            task: assignment.task.clone(),
        };
        let report = self.with.workers.call(emitter.user(), context).await?;
        // Counts what is in the prompt, not what was recalled for it.
        let block = report.memory.block(worker.memory_heading());
        let had = block.filter(|block| report.system_context.contains(block.as_str()));
        let (number, memory) = (self.next_turn(), &report.memory);
        let turn = Turn::new(Some(worker), number, memory, had.as_deref());
        self.turns.push(turn);
        self.say(|of| {
            vec![
                of.capability(worker.name(), &call_id, &report),
                of.worker_result(worker.name(), &report),
            ]
        })
        .await?;
        Ok(report)
    }

    async fn say_begun(&self) -> Result<(), RunError> {
        let input_id = self.with.emitter.id();
        self.say(|of| {
            vec![
                of.user_input(&input_id),
                of.prompt_received(),
                of.task_started(),
                of.task_progress("running", "run_start", &json!(null)),
            ]
        })
        .await
    }

    async fn say_planned(&self, attempt: usize, routing: &Routing) -> Result<(), RunError> {
        let decision_id = self.with.emitter.id();
        let Routing { plan, reason, .. } = routing;
        let details = json!({ "attempt": attempt + 1, "plan": plan });
        self.say(|of| {
            let begun = of.task_progress("waiting_worker", "worker_execution", &details);
            let mut planned = vec![begun];
            planned.extend((attempt == 0).then(|| of.run_started()));
            planned.push(of.decision(&decision_id, &format!("`{plan}`, because {reason}")));
            planned
        })
        .await
    }

    async fn completed(self) -> Result<RunReport, RunError> {
        let before = self.attempts.len().saturating_sub(1);
        let quality = (before > 0).then(|| COMPLETED * 0.5_f32.powi(tries(before)));
        self.tell_end(quality, None).await;
        let plan = self.attempts.last().map_or("", |last| last.plan.as_str());
        let objective = &self.objective;
        let summary = match before {
            0 => format!("{objective}: done with `{plan}` at the first try"),
            _ => format!("{objective}: done with `{plan}` after {before} other plans"),
        };
        let path = format!("conductor/runs/{}/draft.md", self.id);
        self.say(|of| vec![of.task_completed(&summary, &path)])
            .await?;
        Ok(self.report(RunStatus::Completed, None, summary))
    }

    async fn failed(self, kind: FailureKind, why: String) -> Result<RunReport, RunError> {
        self.tell_end(None, Some(kind.fail_kind())).await;
        let code = match self.attempts.as_slice() {
            [] => "ROUTING_FAILED",
            _ => "RUN_FAILED",
        };
        self.say(|of| vec![of.task_failed(code, &why, kind)])
            .await?;
        Ok(self.report(RunStatus::Failed, Some(kind), why))
    }

    /// Called before the end is logged, so that the relay's later report is a repetition.
    async fn tell_end(&self, quality: Option<f32>, fail: Option<FailKind>) {
        let ending = RunEnding {
            run_id: self.id.clone(),
            used: self.used.clone(),
            credit: Credit::Explicit,
            quality,
            fail,
        };
        self.memory
            .tell(|memory| async move { memory.end_run(ending).await })
            .await;
    }

    fn report(self, status: RunStatus, failure: Option<FailureKind>, summary: String) -> RunReport {
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

    fn next_turn(&self) -> usize {
        self.turns.len() + 1
    }

    /// Emits events of the run, as of now.
    async fn say(
        &self,
        events: impl FnOnce(RunEvents<'_>) -> Vec<EventDraft>,
    ) -> Result<(), RunError> {
        let now = self.with.emitter.now();
        let events = events(RunEvents {
            run_id: &self.id,
            desktop_id: &self.desktop_id,
            objective: &self.objective,
            now: &now,
        });
        Ok(self.with.emitter.emit(events).await?)
    }
}
