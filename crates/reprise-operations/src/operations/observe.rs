//! Keeping records in their ingest form.

use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bounds::ALONE;
use crate::catalogue::{Operation, Spec, post};
use crate::memories::Memory;
use crate::problem::Problem;
use crate::wire::{Fate, IngestLine, WriteReport, record_of_value};

/// What is to be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The records; a bad one spoils only itself.
    pub records: Records,
    /// Keep texts as they are, secrets and all; for programs of this machine that have redacted
    /// them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verbatim: bool,
    /// Where a record is known by an external id and its text is another one, keep it as a new
    /// version of that record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub update: bool,
}

/// One record, or a list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Records {
    /// Each has its fate in the report.
    Many(Vec<Value>),
    /// Refused, it is the request that is refused.
    One(Value),
}

impl JsonSchema for Records {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Records".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let record = generator.subschema_for::<IngestLine>();
        let each = "As the one record beside it; a bad one spoils only itself.";
        let list = json_schema!({
            "type": "array", "items": { "type": "object", "description": each },
            "maxItems": 10_000, ALONE: true,
        });
        json_schema!({ "anyOf": [record, list] })
    }
}

/// Whether a record has a vector that its space has no place for, which no schema can say.
fn has_unfit_vector(record: &Value) -> bool {
    let vector = record.get("embedding").filter(|vector| !vector.is_null());
    let record = vector.and_then(|_| record_of_value(record.clone()).ok());
    let vector = record.and_then(|record| record.embedding);
    vector.is_some_and(|vector| vector.check().is_err())
}

#[derive(Debug)]
pub struct Observe;

impl Operation for Observe {
    const SPEC: Spec = Spec::adds("observe", "Keep a record, or a list of them.")
        .at(&[post("/v1/users/{user}/records")])
        .body_of("records");
    type Arguments = Arguments;
    type Answer = WriteReport;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<WriteReport, Problem> {
        let mut memory = if arguments.verbatim {
            memory.verbatim()?
        } else {
            memory.clone()
        };
        if arguments.update {
            memory = memory.updating();
        }
        match arguments.records {
            Records::Many(records) => {
                if records.iter().any(|record| !record.is_object()) {
                    let said = "a record is a JSON object; send a list of nothing else";
                    return Err(Problem::invalid(said));
                }
                memory.observe(records).await
            }
            Records::One(record) => {
                let unfit = has_unfit_vector(&record);
                let report = memory.observe(vec![record]).await?;
                match report.outcomes.first() {
                    Some(Fate::Rejected { why }) if unfit => Err(Problem::conflict(why)),
                    Some(Fate::Rejected { why }) => Err(Problem::invalid(why)),
                    _ => Ok(report),
                }
            }
        }
    }
}
