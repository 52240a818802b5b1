//! Correcting a record's fields.

use reprise_types::MemoryRecord;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalogue::{Operation, Spec, patch};
use crate::memories::{MAY_CHANGE, Memory};
use crate::problem::Problem;
use crate::wire::IngestLine;

/// What is to change: fields of the ingest form; the rest stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arguments {
    /// The record's id or external id.
    pub id: String,
    /// What is new.
    #[serde(flatten)]
    #[schemars(schema_with = "changes")]
    pub changes: Map<String, Value>,
}

fn changes(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = IngestLine::json_schema(generator);
    schema.remove("required");
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| MAY_CHANGE.contains(&name.as_str()));
    }
    schema
}

#[derive(Debug)]
pub struct Revise;

impl Operation for Revise {
    const SPEC: Spec = Spec::adds("revise", "Correct a record: a new version replaces it.")
        .at(&[patch("/v1/users/{user}/records/{id}")]);
    type Arguments = Arguments;
    type Answer = MemoryRecord;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<MemoryRecord, Problem> {
        let revised = memory.revise(&arguments.id, arguments.changes).await?;
        Ok(revised.without_vector())
    }
}
