//! Tending memory: what says the same is put behind one record, what contradicts is named, what had
//! its time is purged; and all that is put away can be taken back.
//!
//! The plan and its doing.

mod candidates;
mod facts;
mod judge;
mod plan;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, EngineError, ForgetSelector, Retired, Snapshot};
use reprise_types::RecordId;
use serde::Serialize;

pub use plan::{Merge, Pair, Plan, plan};

/// What was done: the plan, and the name by which it can be taken back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Done {
    /// The name of what was put away, for [`undo`]; `None` where nothing was.
    pub action: Option<String>,
    /// What was to be done.
    #[serde(flatten)]
    pub plan: Plan,
}

/// Puts away and purges what a plan names. One commit for all that is put away; what has changed
/// since the plan was made is passed over.
pub fn carry_out(engine: &mut Engine, plan: Plan, now: DateTime<Utc>) -> Result<Done, EngineError> {
    let merges = plan.merged.iter();
    let pairs: Vec<(RecordId, RecordId)> = merges
        .flat_map(|merge| merge.gone.iter().map(|gone| (*gone, merge.kept)))
        .collect();
    let mut action = None;
    if !pairs.is_empty() {
        let (at, count) = engine.retire(&pairs, now)?;
        action = (count > 0).then(|| action_name(at));
    }
    for id in &plan.purged {
        engine.forget(&ForgetSelector::Id(*id), "its time was over", now)?;
    }
    Ok(Done { action, plan })
}

/// The name of all that was put away at one instant.
fn action_name(at_micros: i64) -> String {
    format!("a{at_micros}")
}

/// Takes an action back, or what was done to one record. Answers what answers again.
pub fn undo(
    engine: &mut Engine,
    action: &str,
    now: DateTime<Utc>,
) -> Result<Vec<RecordId>, EngineError> {
    let retired = engine.snapshot().retired().into_iter();
    let of_action =
        |one: &Retired| action_name(one.at_micros) == action || one.gone.to_string() == action;
    let gone: Vec<RecordId> = retired.filter(of_action).map(|one| one.gone).collect();
    engine.restore(&gone, now)?;
    Ok(gone)
}

/// An action that holds: its name, when it was, and what it put behind what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Action {
    /// For [`undo`].
    pub action: String,
    /// When.
    pub at: DateTime<Utc>,
    /// `(gone, kept)` each.
    pub merged: Vec<(RecordId, RecordId)>,
}

/// Every action that holds, oldest first.
#[must_use]
pub fn actions(memory: &Snapshot) -> Vec<Action> {
    let mut retired = memory.retired();
    retired.sort_by_key(|one| (one.at_micros, one.gone));
    let same = retired.chunk_by(|a, b| a.at_micros == b.at_micros);
    let actions = same.filter_map(|group| {
        let at = group.first()?.at_micros;
        Some(Action {
            action: action_name(at),
            at: DateTime::from_timestamp_micros(at)?,
            merged: group.iter().map(|one| (one.gone, one.kept)).collect(),
        })
    });
    actions.collect()
}

#[cfg(test)]
mod tests;
