//! Making two kinds of evidence one.

use std::borrow::Cow;

use reprise_engine::Snapshot;
use reprise_knowledge::{Definition, EVIDENCE_FIELD, evidence_of, normal_evidence};
use reprise_types::{Evidence, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::define_evidence::keep;
use crate::catalogue::{Operation, Spec};
use crate::memories::{Memory, counted};
use crate::problem::Problem;

/// Which kinds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The kind to leave.
    #[schemars(regex(pattern = r"\S"))]
    pub from: String,
    /// The kind to keep.
    #[schemars(regex(pattern = r"\S"))]
    pub into: String,
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// Records that rested on it.
    pub merged: usize,
    /// The kind that they had.
    pub from: String,
    /// The kind that they have now.
    pub into: String,
}

#[derive(Debug)]
pub struct MergeEvidence;

impl Operation for MergeEvidence {
    const SPEC: Spec = Spec::destroys(
        "merge_evidence",
        "Let every record that rests on one kind of evidence rest on another; the word means that \
         from then on.",
    );
    type Arguments = Arguments;
    type Answer = Merged;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Merged, Problem> {
        let word = |given: &str| {
            let none = || Problem::invalid("a kind of evidence is a word; name two");
            normal_evidence(given).ok_or_else(none)
        };
        let (from, into) = (word(&arguments.from)?, word(&arguments.into)?);
        if from == into || from.parse::<Evidence>().is_ok() {
            return Err(Problem::conflict(format!(
                "`{from}` stays: it is a kind of ours, or both are one; merge another kind into it"
            )));
        }
        let known = memory.grounds().await?;
        for name in [&from, &into] {
            if !known.contains_key(name) {
                return Err(Problem::not_found(format!(
                    "nothing rests on `{name}` here, and has no meaning; see `evidence`"
                )));
            }
        }
        let wanted = from.clone();
        let resting = memory.read(move |memory| resting(memory, &wanted)).await?;
        for id in &resting {
            let mut changes = Map::new();
            changes.insert(EVIDENCE_FIELD.to_owned(), json!(into));
            memory.revise(&id.to_string(), changes).await?;
        }
        let alias = Definition {
            name: from.clone(),
            alias_of: Some(into.clone()),
            ..Definition::default()
        };
        keep(memory, &alias).await?;
        let merged = resting.len();
        Ok(Merged { merged, from, into })
    }

    fn text(done: &Merged) -> Cow<'_, str> {
        let Merged { merged, from, into } = done;
        let merged = counted(*merged, "record");
        format!("{merged} resting on `{into}` now, and `{from}` means that").into()
    }
}

/// The live records that rest on a kind of evidence.
fn resting(memory: &Snapshot, word: &str) -> Vec<RecordId> {
    let records = memory.records().filter_map(Result::ok);
    let resting = records.filter(|record| evidence_of(record) == Some(word));
    resting.map(|record| record.id).collect()
}
