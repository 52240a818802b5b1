//! How runs went.

use reprise_types::FailKind;
use ulid::Ulid;

use crate::prelude::*;

/// One line of an outcome file, or the body of an outcome request.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = asks::one_of(&["query", "recall_id"]))]
pub struct OutcomeLine {
    /// The question's name in a queries file.
    #[schemars(extend("x-rare" = true))]
    pub query_id: Option<String>,
    /// Of the recall that was used.
    pub recall_id: Option<RecallId>,
    /// The task, where there was no recall.
    pub query: Option<String>,
    /// Ids of records that helped or misled.
    #[serde(default)]
    pub used: Vec<String>,
    /// 0 failed, 1 approved.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub quality: f32,
    /// The run's own name.
    #[schemars(extend("x-rare" = true))]
    #[schemars(length(min = 1))]
    pub run_id: Option<String>,
    /// Why it failed.
    pub failure_kind: Option<FailKind>,
    /// Who says that it used them.
    #[schemars(extend("x-rare" = true))]
    pub credit: Option<Credit>,
}

/// What an outcome left, after it was learned from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeReport {
    /// Outcomes accepted.
    pub learned: u64,
    /// Outcomes of runs that had ended already: nothing changed.
    #[serde(default)]
    pub known: u64,
    /// Outcomes refused.
    pub refused: u64,
    /// Finished runs of this memory.
    pub runs: u64,
    /// How far the evidence is believed, 0..1.
    pub evidence_gate: f32,
    /// How far the adapter is believed, 0..1.
    pub adapter_gate: f32,
    /// The most that learning may move a score now.
    pub cap: f32,
}

/// A name for a run that has none. A query may be asked, and go well or badly, any number of times.
pub fn fresh_run_id(query_id: Option<&str>, unix_ms: u64, random: u128) -> String {
    let ulid = Ulid::from_parts(unix_ms, random);
    match query_id {
        Some(id) => format!("query {id} {ulid}"),
        None => format!("run {ulid}"),
    }
}
