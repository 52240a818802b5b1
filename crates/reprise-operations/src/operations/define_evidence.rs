//! Saying what a kind of evidence means.

use std::borrow::Cow;

use reprise_knowledge::{Definition, normal_evidence};
use reprise_types::{Evidence, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use crate::catalogue::{Operation, Spec};
use crate::memories::Memory;
use crate::problem::Problem;

/// Which kind, and its meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its word.
    #[schemars(regex(pattern = r"\S"))]
    pub name: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
    /// How sure one typically is by it: a hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical_confidence: Option<String>,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Defined {
    /// The record that holds the meaning.
    pub id: RecordId,
    /// The word, in its one spelling.
    pub name: String,
}

#[derive(Debug)]
pub struct DefineEvidence;

impl Operation for DefineEvidence {
    const SPEC: Spec = Spec::adds("define_evidence", "Say what a kind of evidence means.");
    type Arguments = Arguments;
    type Answer = Defined;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Defined, Problem> {
        let name = normal_evidence(&arguments.name)
            .filter(|name| name.parse::<Evidence>().is_err())
            .ok_or_else(|| {
                let name = arguments.name.trim();
                Problem::conflict(format!(
                    "`{name}` has a meaning already, or is no word; take another one"
                ))
            })?;
        let definition = Definition {
            name: name.clone(),
            description: arguments.description.trim().to_owned(),
            typical_confidence: arguments.typical_confidence,
            alias_of: None,
        };
        let id = keep(memory, &definition).await?;
        Ok(Defined { id, name })
    }

    fn text(defined: &Defined) -> Cow<'_, str> {
        format!("`{}` is defined", defined.name).into()
    }
}

/// Keeps a meaning: in the place of the one that the word has.
pub(super) async fn keep(memory: &Memory, definition: &Definition) -> Result<RecordId, Problem> {
    let record = definition.record();
    let known = memory.definitions().await?;
    let known = known
        .into_iter()
        .find(|(_, own)| own.name == definition.name);
    if let Some((id, own)) = known {
        if own == *definition {
            return Ok(id);
        }
        let mut changes = Map::new();
        changes.insert("text".to_owned(), json!(record.text));
        changes.insert("details".to_owned(), definition.details());
        return Ok(memory.revise(&id.to_string(), changes).await?.1.id);
    }
    memory.keep_new(record).await
}
