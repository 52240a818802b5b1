//! Keeping again what was forgotten, by whoever still has it.

use reprise_types::{MemoryRecord, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::Memory;
use crate::problem::Problem;
use crate::wire::Fate;

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// As it was shown.
    pub record: MemoryRecord,
}

/// What was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// Its id: another one than before.
    pub id: RecordId,
}

#[derive(Debug)]
pub struct Unforget;

impl Operation for Unforget {
    const SPEC: Spec = Spec::adds(
        "unforget",
        "Keep a forgotten record again, under an id of its own.",
    )
    .for_machine();
    type Arguments = Arguments;
    type Answer = Kept;

    /// Its external ids stay spent: whatever brought it must not bring it twice.
    async fn run(memory: &Memory, Arguments { record }: Arguments) -> Result<Kept, Problem> {
        let mut new = record.into_new();
        new.external_ids.clear();
        new.supersedes = None;
        new.embedding = None;
        match memory.verbatim()?.keep_one(new).await? {
            Fate::Inserted { id } | Fate::Duplicate { of: id } => Ok(Kept { id }),
            Fate::Rejected { why } => Err(Problem::invalid(why)),
        }
    }
}
