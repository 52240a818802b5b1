//! A moment of an agent program's session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec, post};
use crate::hook::{HookAnswer, HookEvent, HookReport};
use crate::memories::Memory;
use crate::problem::{Problem, ProblemKind};

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The moment, by our name or by Claude Code's.
    pub event: String,
    /// What is reported of it.
    #[serde(flatten)]
    pub report: HookReport,
}

#[derive(Debug)]
pub struct Hook;

impl Operation for Hook {
    const SPEC: Spec = Spec::adds("hook", "A moment of a session: keeps it, answers a prompt.")
        .at(&[post("/v1/users/{user}/hooks/{event}")]);
    type Arguments = Arguments;
    type Answer = HookAnswer;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<HookAnswer, Problem> {
        let event: HookEvent = arguments.event.parse().map_err(Problem::not_found)?;
        let memory = memory.clone();
        // A hook that has run out of time goes away; what it reported is kept all the same.
        let kept = tokio::spawn(async move { memory.hook(event, arguments.report).await });
        kept.await.map_err(|error| {
            Problem::new(ProblemKind::Internal, format!("a hook failed ({error})"))
        })?
    }
}
