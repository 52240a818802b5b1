//! Memory as documents of MCP: `memory://recent`, `memory://tags`, `memory://stats`,
//! `memory://records/ID`.

use reprise_engine::Snapshot;
use reprise_types::MemoryRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::stats::{self, Stats};
use crate::catalogue::{Operation, Spec, post};
use crate::memories::{Memory, title_of};
use crate::problem::Problem;
use crate::wire::{ExportLine, instant};

/// Records of `memory://recent`.
const RECENT: usize = 20;

/// Which document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its address.
    pub uri: String,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// JSON.
    pub text: String,
}

#[derive(Debug)]
pub struct Resource;

impl Operation for Resource {
    const SPEC: Spec =
        Spec::reads("resource", "Read a resource of MCP.").at(&[post("/v1/users/{user}/resource")]);
    type Arguments = Arguments;
    type Answer = Document;

    async fn run(memory: &Memory, Arguments { uri }: Arguments) -> Result<Document, Problem> {
        let unknown = || {
            let uri: String = uri.chars().take(128).collect();
            Problem::not_found(format!("there is no resource `{uri}`; list them first"))
        };
        let path = uri.strip_prefix("memory://").ok_or_else(unknown)?;
        let value = match path.split_once('/') {
            None if path == "recent" => memory.read(recent).await?,
            None if path == "tags" => json!(memory.tags().await?),
            None if path == "stats" => json!(Stats::run(memory, stats::Arguments {}).await?),
            Some(("records", name)) if !name.is_empty() => {
                json!(ExportLine::new(&memory.record(name).await?))
            }
            _ => return Err(unknown()),
        };
        Ok(Document {
            text: plain_json(&value),
        })
    }
}

/// JSON that a host may put into a prompt: what would be a tag or an entity of a stored text is
/// written as JSON's escapes.
pub(super) fn plain_json(value: &Value) -> String {
    let text = value.to_string().replace('<', "\\u003c");
    text.replace('>', "\\u003e").replace('&', "\\u0026")
}

fn recent(snapshot: &Snapshot) -> Value {
    let light = |record: MemoryRecord| {
        json!({
            "id": record.id,
            "title": title_of(&record),
            "when": instant(record.timestamp),
            "tags": record.tags,
        })
    };
    let newest = snapshot.newest(RECENT);
    newest
        .into_iter()
        .filter_map(Result::ok)
        .map(light)
        .collect()
}
