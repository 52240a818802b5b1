//! Taking a link back.

use reprise_engine::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::{Memory, current, missing};
use crate::problem::Problem;

/// Which link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The record that it leads from.
    pub from: String,
    /// The record that it leads to.
    pub to: String,
    /// How they were related.
    pub relation: String,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unlinked {
    /// Whether there was such a link.
    pub unlinked: bool,
}

#[derive(Debug)]
pub struct Unlink;

impl Operation for Unlink {
    const SPEC: Spec = Spec::destroys("unlink", "Take a link between two records back.");
    type Arguments = Arguments;
    type Answer = Unlinked;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Unlinked, Problem> {
        let (now, relation) = (memory.now(), arguments.relation);
        let names = [arguments.from, arguments.to];
        let unlink = move |engine: &mut Engine| -> Result<_, Problem> {
            let [from, to] = names.map(|name| {
                let id = current(engine, &name);
                id.ok_or_else(|| missing(&name))
            });
            let (from, to) = (from?, to?);
            Ok((from, to, engine.unlink(from, to, &relation, now)?))
        };
        let (from, to, unlinked) = memory.with_engine(unlink).await??;
        if unlinked {
            memory.tell("unlinked", vec![from, to]);
        }
        Ok(Unlinked { unlinked })
    }
}
