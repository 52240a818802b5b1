//! A memory in numbers.

use std::borrow::Cow;

use reprise_engine::EngineStats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Profile, Spec, get};
use crate::memories::Memory;
use crate::problem::Problem;

/// None.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

#[derive(Debug)]
pub struct Stats;

impl Operation for Stats {
    const SPEC: Spec = Spec::reads("stats", "The memory in numbers.")
        .at(&[get("/v1/users/{user}/stats")])
        .tool("stats", Profile::Full);
    type Arguments = Arguments;
    type Answer = EngineStats;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<EngineStats, Problem> {
        memory.with_engine(|engine| engine.stats()).await
    }

    fn text(stats: &EngineStats) -> Cow<'_, str> {
        format!("{} records in {} sessions", stats.live, stats.sessions).into()
    }
}
