//! The events of a run, with the payloads of the event contract.
//!
//! There is one pure function per event. A documented event name is used only if the real contract
//! has none (`researcher.search.completed`, because files are searched here and not the web).

use super::emitter::EventDraft;
use super::turn::WorkerReport;
use crate::prelude::*;

/// Longest tool output in an event, in bytes; longer output is cut at the end.
pub(crate) const OUTPUT_BYTES_MAX: usize = 16 * 1024;
/// Longest excerpt of a document in its event, in characters.
const EXCERPT_CHARACTERS_MAX: usize = 500;
/// Confidence of a worker's own observation.
const CONFIDENCE: f64 = 0.9;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RunEvents<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) desktop_id: &'a str,
    pub(crate) objective: &'a str,
    pub(crate) now: &'a str,
}

impl RunEvents<'_> {
    /// Builds an event of the conductor, with the run and the time.
    fn conductor_event(&self, event_type: &'static str, more: Value) -> EventDraft {
        let run = json!({ "run_id": self.run_id, "timestamp": self.now });
        EventDraft {
            event_type,
            actor_id: format!("conductor:{}", self.run_id),
            is_by_user: false,
            payload: merge_fields(run, more),
        }
    }

    /// Builds an event of the conductor's control or telemetry lane.
    fn lane_event(
        &self,
        event_type: &'static str,
        phase: &str,
        meta: [&str; 2],
        data: &Value,
    ) -> EventDraft {
        let [capability, importance] = meta;
        let lane = if importance == "low" {
            "telemetry"
        } else {
            "control"
        };
        let more = json!({
            "capability": capability, "phase": phase, "data": data,
            "_meta": { "lane": lane, "importance": importance },
        });
        self.conductor_event(event_type, more)
    }

    pub(crate) fn user_input_event(&self, input_id: &str) -> EventDraft {
        EventDraft {
            event_type: "user_input",
            actor_id: "api.conductor".to_owned(),
            is_by_user: true,
            payload: json!({
                "surface": "conductor.execute", "objective": self.objective,
                "desktop_id": self.desktop_id,
                "record": {
                    "input_id": input_id, "content": self.objective, "surface": "conductor",
                    "desktop_id": self.desktop_id, "session_id": self.desktop_id,
                    "thread_id": "", "run_id": null, "document_path": null,
                    "base_version_id": null, "created_at": self.now,
                },
            }),
        }
    }

    pub(crate) fn prompt_received_event(&self) -> EventDraft {
        let more = json!({ "objective": self.objective, "desktop_id": self.desktop_id });
        self.conductor_event("trace.prompt.received", more)
    }

    pub(crate) fn task_started_event(&self) -> EventDraft {
        let more = json!({
            "objective": self.objective, "desktop_id": self.desktop_id, "status": "started",
            "phase": "initialization",
        });
        self.conductor_event("conductor.task.started", more)
    }

    pub(crate) fn task_progress_event(
        &self,
        status: &str,
        phase: &str,
        details: &Value,
    ) -> EventDraft {
        let more = json!({ "status": status, "phase": phase, "details": details });
        self.conductor_event("conductor.task.progress", more)
    }

    pub(crate) fn run_started_event(&self) -> EventDraft {
        let data = json!({ "objective": self.objective, "desktop_id": self.desktop_id });
        let meta = ["conductor", "high"];
        self.lane_event("conductor.run.started", "run_start", meta, &data)
    }

    pub(crate) fn decision_event(&self, decision_id: &str, reason: &str) -> EventDraft {
        let data = json!({
            "decision_id": decision_id, "decision_type": "plan", "reason": reason,
        });
        let meta = ["conductor", "high"];
        self.lane_event("conductor.decision", "routing", meta, &data)
    }

    pub(crate) fn worker_call_event(&self, worker: &str, objective: &str) -> EventDraft {
        let contract = format!("Capability Contract ({worker})\nObjective:\n{objective}");
        let more = json!({ "worker_type": worker, "worker_objective": contract });
        self.conductor_event("conductor.worker.call", more)
    }

    pub(crate) fn progress_event(&self, message: &str, percent: usize) -> EventDraft {
        let data = json!({ "message": message, "percent": percent });
        let meta = ["conductor", "low"];
        self.lane_event("conductor.progress", "worker_execution", meta, &data)
    }

    pub(crate) fn capability_event(
        &self,
        worker: &str,
        call_id: &str,
        report: &WorkerReport,
    ) -> EventDraft {
        let summary = &report.summary;
        let (event_type, phase, data) = match report.status {
            WorkerStatus::Completed => (
                "conductor.capability.completed",
                "completion",
                json!({ "call_id": call_id, "summary": format!("{worker} is done") }),
            ),
            WorkerStatus::Failed => (
                "conductor.capability.failed",
                "failure",
                json!({
                    "call_id": call_id, "error": summary,
                    "failure_kind": report.failure,
                }),
            ),
            WorkerStatus::Blocked => (
                "conductor.capability.blocked",
                "blocked",
                json!({ "call_id": call_id, "reason": summary }),
            ),
        };
        self.lane_event(event_type, phase, [worker, "high"], &data)
    }

    pub(crate) fn worker_result_event(&self, worker: &str, report: &WorkerReport) -> EventDraft {
        let more = json!({
            "worker_type": worker, "success": report.status == WorkerStatus::Completed,
            "worker_role": worker, "status": report.status.name(), "command": report.command,
            "result_summary": report.summary,
        });
        self.conductor_event("conductor.worker.result", more)
    }

    pub(crate) fn task_completed_event(&self, message: &str, report_path: &str) -> EventDraft {
        let more = json!({
            "output_mode": "auto", "report_path": report_path, "status": "completed",
            "writer_window_props": null,
            "toast": {
                "title": "Done", "message": message, "tone": "success", "report_path": null,
            },
        });
        self.conductor_event("conductor.task.completed", more)
    }

    pub(crate) fn task_failed_event(
        &self,
        code: &str,
        message: &str,
        kind: FailureKind,
    ) -> EventDraft {
        let more = json!({
            "error_code": code, "error_message": message, "status": "failed",
            "failure_kind": kind,
        });
        self.conductor_event("conductor.task.failed", more)
    }
}

/// The events of one worker's turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerEvents<'a> {
    pub(crate) role: &'static str,
    pub(crate) turn: &'a TurnContext,
    pub(crate) now: &'a str,
}

impl<'a> WorkerEvents<'a> {
    /// Returns the builder of one document version's events; `version` counts from 1, and is 0
    /// before the first version.
    pub(crate) fn document_events(self, path: &'a str, version: u64) -> DocumentEvents<'a> {
        DocumentEvents {
            turn: self.turn,
            now: self.now,
            path,
            version,
        }
    }
}

impl WorkerEvents<'_> {
    fn worker_event(&self, event_type: &'static str, more: Value) -> EventDraft {
        let turn = self.turn;
        let task = json!({
            "scope": { "session_id": turn.desktop_id, "thread_id": turn.run_id },
            "task_id": turn.call_id,
        });
        EventDraft {
            event_type,
            actor_id: self.worker_id(),
            is_by_user: true,
            payload: merge_fields(task, more),
        }
    }

    /// Builds an event of the task, with its run, worker and time.
    fn task_event(&self, event_type: &'static str, more: Value) -> EventDraft {
        let turn = self.turn;
        let task = json!({
            "worker_id": self.worker_id(), "run_id": turn.run_id, "call_id": turn.call_id,
            "timestamp": self.now,
        });
        self.worker_event(event_type, merge_fields(task, more))
    }

    /// Builds an event of a tool that the worker calls.
    fn tool_event(&self, event_type: &'static str, tool: &str, more: Value) -> EventDraft {
        let turn = self.turn;
        let call = json!({
            "tool_trace_id": format!("{}:{tool}", turn.call_id), "role": self.role,
            "tool_name": tool, "actor_id": self.worker_id(), "run_id": turn.run_id,
            "call_id": turn.call_id,
        });
        self.worker_event(event_type, merge_fields(call, more))
    }

    fn worker_id(&self) -> String {
        format!("{}:{}", self.role, self.turn.run_id)
    }

    pub(crate) fn progress_event(&self, phase: &str, message: &str) -> EventDraft {
        let more = json!({ "phase": phase, "message": message, "model_used": null });
        self.task_event("worker.task.progress", more)
    }

    pub(crate) fn tool_call_event(&self, tool: &str, arguments: &str) -> EventDraft {
        let more = json!({
            "tool_args": arguments, "reasoning": self.turn.objective, "started_at": self.now,
        });
        self.tool_event("worker.tool.call", tool, more)
    }

    pub(crate) fn tool_result_event(&self, tool: &str, result: &ToolResult<'_>) -> EventDraft {
        let (output, truncated) = truncate_output(result.output, result.output_bytes);
        let mut more = json!({
            "success": result.error.is_none(), "started_at": result.started_at,
            "ended_at": self.now, "duration_ms": result.duration_ms, "output": output,
        });
        if let Some(error) = result.error {
            more["error"] = error.into();
        }
        if let Some(original_size) = truncated {
            more["output_truncated"] = json!({ "truncated": true, "original_size": original_size });
        }
        self.tool_event("worker.tool.result", tool, more)
    }

    pub(crate) fn search_completed_event(
        &self,
        query: &str,
        summary: &str,
        hits: usize,
    ) -> EventDraft {
        let more = json!({
            "query": query, "summary": summary, "provider": "files", "result_count": hits,
        });
        self.task_event("researcher.search.completed", more)
    }

    pub(crate) fn document_update_event(&self, path: &str, text: &str) -> EventDraft {
        let excerpt: String = text.chars().take(EXCERPT_CHARACTERS_MAX).collect();
        let more = json!({
            "worker_id": self.worker_id(), "phase": "document_update", "path": path,
            "content_excerpt": excerpt, "timestamp": self.now,
        });
        self.worker_event("worker.task.document_update", more)
    }

    /// Builds the report of a turn, with its findings, each with a claim and its evidence.
    pub(crate) fn report_event(
        &self,
        report: &WorkerReport,
        found: &[(String, String)],
    ) -> EventDraft {
        let turn = self.turn;
        let finding = |(at, (claim, evidence)): (usize, &(String, String))| {
            json!({
                "finding_id": format!("{}-f{at}", turn.call_id), "claim": claim,
                "confidence": CONFIDENCE, "evidence_refs": [evidence], "novel": true,
            })
        };
        let findings: Vec<Value> = found.iter().enumerate().map(finding).collect();
        let artifact = |(at, (_, place)): (usize, &(String, String))| {
            let id = format!("{}-a{at}", turn.call_id);
            json!({ "artifact_id": id, "kind": "file", "reference": place })
        };
        let artifacts: Vec<Value> = found.iter().enumerate().map(artifact).collect();
        let more = json!({
            "command": report.command,
            "report": {
                "turn_id": turn.call_id, "worker_id": self.worker_id(), "task_id": turn.call_id,
                "worker_role": self.role, "status": report.status.name(),
                "summary": report.summary, "findings": findings, "learnings": [],
                "escalations": [], "artifacts": artifacts, "created_at": self.now,
            },
        });
        self.task_event("worker.report.received", more)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolResult<'a> {
    pub(crate) started_at: &'a str,
    pub(crate) duration_ms: u64,
    pub(crate) output: &'a str,
    /// Size of the whole output, of which `output` may be the beginning.
    pub(crate) output_bytes: usize,
    pub(crate) error: Option<&'a str>,
}

/// The events of one version of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentEvents<'a> {
    turn: &'a TurnContext,
    now: &'a str,
    path: &'a str,
    version: u64,
}

impl DocumentEvents<'_> {
    fn document_event(&self, event_type: &'static str, more: Value) -> EventDraft {
        let turn = self.turn;
        let document = json!({
            "desktop_id": turn.desktop_id, "session_id": turn.desktop_id,
            "thread_id": turn.run_id, "run_id": turn.run_id, "document_path": self.path,
            "revision": self.version, "head_version_id": self.version, "timestamp": self.now,
        });
        EventDraft {
            event_type,
            actor_id: format!("writer:{}", turn.run_id),
            is_by_user: false,
            payload: merge_fields(document, more),
        }
    }

    pub(crate) fn started_event(&self) -> EventDraft {
        let objective = &self.turn.objective;
        self.document_event("writer.run.started", json!({ "objective": objective }))
    }

    pub(crate) fn progress_event(&self, message: &str) -> EventDraft {
        let more = json!({
            "phase": "revising", "message": message, "progress_pct": null, "source_refs": [],
        });
        self.document_event("writer.run.progress", more)
    }

    pub(crate) fn patch_event(&self, patch_id: &str, ops: &Value) -> EventDraft {
        let more = json!({
            "patch_id": patch_id, "source": "agent", "source_actor": "writer",
            "section_id": "body", "ops": ops, "proposal": null,
            "base_version_id": self.version.saturating_sub(1),
            "target_version_id": self.version, "overlay_id": null,
        });
        self.document_event("writer.run.patch", more)
    }

    pub(crate) fn changeset_event(
        &self,
        patch_id: &str,
        summary: &str,
        operations: &[&str],
    ) -> EventDraft {
        let more = json!({
            "patch_id": patch_id, "loop_id": self.turn.call_id,
            "target_version_id": self.version, "source": "agent", "summary": summary,
            "impact": "low", "op_taxonomy": operations,
        });
        self.document_event("writer.run.changeset", more)
    }

    pub(crate) fn status_event(&self, status: WorkerStatus, message: &str) -> EventDraft {
        let more = json!({ "status": status.name(), "message": message });
        self.document_event("writer.run.status", more)
    }
}

/// Builds the event by which a person approves or rejects a run's result.
pub(crate) fn verdict_event(run_id: &str, approved: bool, user: &str, now: &str) -> EventDraft {
    let (event_type, status) = if approved {
        ("citation.confirmed", "confirmed")
    } else {
        ("citation.rejected", "rejected")
    };
    EventDraft {
        event_type,
        actor_id: "api.feedback".to_owned(),
        is_by_user: true,
        payload: json!({
            "citation_id": format!("run:{run_id}"), "citing_run_id": run_id,
            "status": status, "confirmed_by": user, "confirmed_at": now,
        }),
    }
}

/// Adds the fields of a second object to a first.
fn merge_fields(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Returns the beginning of an output that fits into an event, and the whole size if it was cut.
fn truncate_output(output: &str, whole: usize) -> (&str, Option<usize>) {
    let beginning = &output[..output.floor_char_boundary(OUTPUT_BYTES_MAX)];
    (beginning, (beginning.len() < whole).then_some(whole))
}
