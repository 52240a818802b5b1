//! How a run went.

use std::borrow::Cow;

use crate::catalogue::{Operation, Profile, Spec, post};
use crate::memories::Memory;
use crate::problem::Problem;
use crate::wire::{OutcomeLine, OutcomeReport};

#[derive(Debug)]
pub struct Outcome;

impl Operation for Outcome {
    const SPEC: Spec = Spec::adds("outcome", "Say how a task went that used a recall.")
        .at(&[post("/v1/users/{user}/outcome")])
        .tool("outcome", Profile::Lean);
    type Arguments = OutcomeLine;
    type Answer = OutcomeReport;

    async fn run(memory: &Memory, line: OutcomeLine) -> Result<OutcomeReport, Problem> {
        memory.outcome(line).await
    }

    fn text(report: &OutcomeReport) -> Cow<'_, str> {
        format!("learned; {} runs so far", report.runs).into()
    }
}
