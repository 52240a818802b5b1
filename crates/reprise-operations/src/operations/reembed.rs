//! Making the vectors that wait for the model in use: what was kept without one, and what another
//! model made.

use std::borrow::Cow;

use reprise_engine::{EngineStats, OtherSpace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::Memory;
use crate::problem::Problem;

/// Batches of 32 texts that one request embeds: a second or two.
const BATCHES: usize = 4;

/// None.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reembedded {
    /// The space of the model in use, as `model/version`.
    pub space: Option<String>,
    /// Live records that have a vector of it.
    pub embedded: u32,
    /// Live records that wait for one.
    pub waiting: u32,
    /// The spaces in which records have their vector meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_spaces: Vec<OtherSpace>,
    /// Whether to ask again: there is more, and the model makes it.
    pub goes_on: bool,
}

/// The operation.
#[derive(Debug)]
pub struct Reembed;

impl Operation for Reembed {
    const SPEC: Spec = Spec::adds(
        "reembed",
        "Make some of the vectors that wait for the model in use; ask again while it goes on.",
    );
    type Arguments = Arguments;
    type Answer = Reembedded;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<Reembedded, Problem> {
        let mut goes_on = true;
        for _ in 0..BATCHES {
            goes_on = goes_on && memory.embed_waiting().await?;
        }
        let stats = memory.with_engine(|engine| engine.stats()).await?;
        let EngineStats {
            space,
            embedded,
            unembedded,
            other_spaces,
            ..
        } = stats;
        Ok(Reembedded {
            space,
            embedded,
            waiting: unembedded,
            goes_on: goes_on && (unembedded > 0 || !other_spaces.is_empty()),
            other_spaces,
        })
    }

    fn text(done: &Reembedded) -> Cow<'_, str> {
        format!("{} embedded, {} waiting", done.embedded, done.waiting).into()
    }
}
