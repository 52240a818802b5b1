//! The switches of learning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec, post};
use crate::memories::Memory;
use crate::problem::Problem;

/// What is to be done with learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Which switch.
    pub action: LearningAction,
}

/// A switch of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LearningAction {
    /// Adjustments are made.
    On,
    /// No adjustment is made; outcomes are learned from all the same.
    Off,
    /// What was learned is thrown away; the log keeps what happened.
    Reset,
}

/// It is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// Always.
    pub done: bool,
}

#[derive(Debug)]
pub struct Learning;

impl Operation for Learning {
    const SPEC: Spec = Spec::destroys(
        "learning",
        "Switch learning on or off, or throw away what was learned.",
    )
    .at(&[post("/v1/users/{user}/learning")]);
    type Arguments = Arguments;
    type Answer = Done;

    async fn run(memory: &Memory, Arguments { action }: Arguments) -> Result<Done, Problem> {
        let now = memory.now();
        let done = memory.with_engine(move |engine| match action {
            LearningAction::On => engine.switch_learning(true, now),
            LearningAction::Off => engine.switch_learning(false, now),
            LearningAction::Reset => engine.reset_learning(now),
        });
        done.await??;
        Ok(Done { done: true })
    }
}
