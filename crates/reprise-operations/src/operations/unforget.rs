//! Keeping again what was forgotten, by whoever still has it.

use reprise_types::{MemoryRecord, RecordId};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::catalogue::{Operation, Spec};
use crate::memories::Memory;
use crate::problem::Problem;

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The whole record, as it was shown.
    #[serde(deserialize_with = "whole")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub record: MemoryRecord,
}

fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MemoryRecord, D::Error> {
    let said = Value::deserialize(deserializer)?;
    if !said.is_object() {
        return Err(D::Error::custom(
            "memory no longer has what was forgotten; give the whole record as `get` answered it, \
             and no id",
        ));
    }
    serde_json::from_value(said).map_err(D::Error::custom)
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
        let id = memory.verbatim()?.keep_new(new).await?;
        Ok(Kept { id })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_alone_is_refused_in_plain_words() {
        let asked = json!({ "record": "01M0000000000000000000000A" });
        let said = serde_json::from_value::<Arguments>(asked).unwrap_err();
        let said = said.to_string();
        assert!(said.contains("give the whole record"), "{said}");
        assert!(!said.contains("struct"), "{said}");
    }
}
