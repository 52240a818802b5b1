//! Consolidates a memory: merges duplicates, reports contradictions, retires expired records and
//! summarises what recurs. Every action can be undone.
//!
//! This module executes and undoes plans, and lists the actions of the past.

mod changed;
mod compare;
mod distil;
mod entry;
mod facts;
mod judge;
mod lexicon;
mod marks;
mod plan;
mod planner;
mod runs;
mod slots;
mod tokens;
mod wording;

use chrono::TimeDelta;
use reprise_engine::{ActionChanges, Distinction, Engine, EngineError, Retirement};

use crate::prelude::*;

pub use compare::{
    KnownMatch, RelatedPair, find_contradictions, find_known_matches, list_open_contradictions,
    settles_known,
};
pub use distil::Distillate;
pub use plan::{DayScore, Merge, Plan, compute_day_scores};
pub use planner::{Planner, plan_consolidation};

/// How long an expired record can be restored before it is forgotten.
const GRACE: TimeDelta = TimeDelta::days(7);

/// Longest time, in microseconds, after which an undo marks what it restored as different.
const UNDO_MICROS: i64 = 1_000_000;
/// When an undo splits a set of duplicates, each record is marked as distinct from at most this
/// many others.
const SIBLINGS_MAX: usize = 32;

/// Reports what a plan did, with the name under which it can be undone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConsolidationReport {
    /// Name of the action, for [`undo`]; `None` if nothing was done.
    pub action: Option<String>,
    /// Records that were written as summaries of others.
    pub distilled: Vec<RecordId>,
    /// Records that expired so long ago that they were forgotten now.
    pub forgotten: Vec<RecordId>,
    /// The plan that was executed.
    pub plan: Plan,
}

/// Executes a plan. Records that changed since it was made, or that somebody marked as distinct,
/// are skipped. Of two records that contradict each other the newer ranks above the older from now
/// on. Records that expired more than a week ago are forgotten.
pub fn execute_plan(
    engine: &mut Engine,
    plan: Plan,
    now: DateTime<Utc>,
) -> Result<ConsolidationReport, EngineError> {
    let forgotten = engine.forget_expired(now - GRACE, now)?;
    let forgotten = forgotten.into_iter().map(|one| one.id).collect();
    let memory = engine.snapshot();
    let merges = plan.merged.iter();
    let pairs = merges.flat_map(|merge| merge.gone.iter().map(|gone| (*gone, merge.kept)));
    let purged = plan.purged.iter().copied();
    let told = plan.distilled.iter();
    let changes = ActionChanges {
        distilled: told
            .map(|one| (one.to_record(), one.sources.clone()))
            .collect(),
        retired: pairs
            .filter(|(gone, kept)| !memory.are_distinct(*gone, *kept))
            .collect(),
        expired: purged.filter(|id| !memory.are_distinct(*id, *id)).collect(),
        contradictions: plan
            .contradictions
            .iter()
            .map(|one| one.pair.into())
            .collect(),
    };
    let (acted, distilled) = engine.execute_action(changes, now)?;
    Ok(ConsolidationReport {
        action: acted.map(action_name),
        distilled,
        forgotten,
        plan,
    })
}

/// Whether two live records are duplicates, contradict each other, or were marked as distinct. No
/// other records are compared.
pub fn are_related(memory: &Snapshot, one: RecordId, other: RecordId) -> bool {
    let pair = BTreeSet::from([[one, other]]);
    memory.are_distinct(one, other) || !compare::find_pair_relations(memory, pair).is_empty()
}

/// Returns the name of the action of one instant.
fn action_name(at_micros: i64) -> String {
    format!("a{at_micros}")
}

/// Undoes an action, or what was done to one record, and marks it so that it is not repeated.
/// Returns the records that are live again, and those that no longer are.
pub fn undo_action(
    engine: &mut Engine,
    action: &str,
    now: DateTime<Utc>,
) -> Result<UndoReport, EngineError> {
    let memory = engine.snapshot();
    let of_action = |at: i64, id: RecordId| action_name(at) == action || id.to_string() == action;
    let retired = memory.retirements().into_iter();
    let retired: Vec<Retirement> = retired
        .filter(|one| of_action(one.at_micros, one.retired))
        .collect();
    let restored: Vec<RecordId> = retired.iter().map(|one| one.retired).collect();
    engine.restore(&restored, now)?;
    for (number, one) in retired.iter().enumerate() {
        let kept = one
            .merged_into
            .and_then(|kept| engine.snapshot().current_version(kept));
        // Only a person retires one of two that contradict each other: such a pair waits again.
        let needs_person = kept.is_some_and(|kept| {
            let pair = BTreeSet::from([[one.retired.min(kept), one.retired.max(kept)]]);
            let related = compare::find_pair_relations(&engine.snapshot(), pair);
            related
                .iter()
                .any(|(_, relation)| !matches!(relation, compare::PairRelation::Same))
        });
        if !needs_person && (one.merged_into.is_none() || kept.is_some()) {
            engine.mark_distinct(one.retired, kept.unwrap_or(one.retired), now)?;
        }
        let before = retired.iter().take(number).rev();
        let siblings = before
            .filter(|other| one.merged_into.is_some() && other.merged_into == one.merged_into);
        for other in siblings.take(SIBLINGS_MAX) {
            engine.mark_distinct(one.retired, other.retired, now)?;
        }
    }
    let made = distil::collect_distilled_records(&memory).into_iter();
    let made = made.filter(|(id, at)| of_action(*at, *id));
    let withdrawn: Vec<RecordId> = made.map(|(id, _)| id).collect();
    engine.expire(&withdrawn, now)?;
    let noted = memory.contradictions().into_iter().map(|one| one.at_micros);
    let mut noted = noted.filter(|at| action_name(*at) == action);
    let contradictions = match noted.next() {
        Some(at) => engine.undo_contradictions(at, now)?,
        None => Vec::new(),
    };
    // Who takes back nothing but contradictions says that they are none.
    if restored.is_empty() && withdrawn.is_empty() {
        for [older, newer] in &contradictions {
            if memory.is_live(*older) && memory.is_live(*newer) {
                engine.mark_distinct(*older, *newer, now)?;
            }
        }
    }
    let marked = memory.distinctions().into_iter().map(|one| one.at_micros);
    let mut marked = marked.filter(|at| action_name(*at) == action);
    let rejoined = match marked.next() {
        Some(at) => engine.unmark_distinct(at, now)?,
        None => Vec::new(),
    };
    Ok(UndoReport {
        restored,
        withdrawn,
        contradictions,
        rejoined,
    })
}

/// Returns the name of the action by which somebody said that two records are different, for
/// [`undo_action`]; `None` if nobody did.
pub fn name_distinction(memory: &Snapshot, one: RecordId, other: RecordId) -> Option<String> {
    let mut marked = memory.distinctions().into_iter().rev();
    let is_pair = |pair: [RecordId; 2]| pair == [one, other] || pair == [other, one];
    let found = marked.find(|marked| is_pair(marked.pair) && marked.undone_micros.is_none());
    found.map(|found| action_name(found.at_micros))
}

/// Collects the pairs of which a person said that both stay. Those that an undo of something else
/// marked, at once after it, are none.
fn collect_kept_apart(memory: &Snapshot) -> Vec<Distinction> {
    let mut undone: BTreeMap<RecordId, Vec<i64>> = BTreeMap::new();
    for one in memory.list_all_retirements() {
        undone
            .entry(one.retired)
            .or_default()
            .extend(one.undone_micros);
    }
    for one in memory.contradictions() {
        // The commit that marks two as different ends a contradiction itself.
        undone
            .entry(one.older)
            .or_default()
            .extend(one.undone_micros);
    }
    let follows_undo = |one: &Distinction| {
        let times = one.pair.iter().filter_map(|id| undone.get(id)).flatten();
        times
            .into_iter()
            .any(|at| (1..UNDO_MICROS).contains(&(one.at_micros - at)))
    };
    let mut marked = memory.distinctions();
    marked.retain(|one| one.pair[0] != one.pair[1] && !follows_undo(one));
    marked
}

/// Reports what an [`undo`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UndoReport {
    /// Records that are live again.
    pub restored: Vec<RecordId>,
    /// Summaries of the action, which are no longer live.
    pub withdrawn: Vec<RecordId>,
    /// Pairs whose newer record no longer ranks above the older one. If the action did more than
    /// note them, they still wait for a review.
    pub contradictions: Vec<[RecordId; 2]>,
    /// Pairs that were said to be different, and wait for a review again.
    pub rejoined: Vec<[RecordId; 2]>,
}

impl UndoReport {
    /// Whether nothing was undone.
    pub fn is_empty(&self) -> bool {
        let pairs = self.contradictions.is_empty() && self.rejoined.is_empty();
        pairs && self.restored.is_empty() && self.withdrawn.is_empty()
    }
}

/// Everything that was done at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ConsolidationAction {
    /// Name for [`undo`].
    pub action: String,
    pub at: DateTime<Utc>,
    /// Pairs of the retired record and the one it was merged into.
    pub merged: Vec<(RecordId, RecordId)>,
    /// Records that were retired because they had expired.
    pub purged: Vec<RecordId>,
    /// Summaries of other records.
    pub distilled: Vec<RecordId>,
    /// Pairs whose newer record ranks above the older one.
    pub contradictions: Vec<[RecordId; 2]>,
    /// Pairs of which both stay.
    pub apart: Vec<[RecordId; 2]>,
    /// Whether everything was undone.
    pub undone: bool,
}

/// Lists every action whose records are not forgotten, the oldest first.
pub fn list_actions(memory: &Snapshot) -> Vec<ConsolidationAction> {
    let mut acted: BTreeMap<i64, ConsolidationAction> = BTreeMap::new();
    let mut act = |at_micros: i64, tell: &dyn Fn(&mut ConsolidationAction)| {
        let Some(at) = DateTime::from_timestamp_micros(at_micros) else {
            return;
        };
        tell(
            acted
                .entry(at_micros)
                .or_insert_with(|| ConsolidationAction {
                    action: action_name(at_micros),
                    at,
                    undone: true,
                    ..ConsolidationAction::default()
                }),
        );
    };
    for (id, at) in distil::collect_distilled_records(memory) {
        act(at, &|action| {
            action.distilled.push(id);
            action.undone = false;
        });
    }
    for one in memory.list_all_retirements() {
        if one.merged_into.is_none()
            && let Some(at) = distil::withdrawn_distillate_time(memory, &one)
        {
            act(at, &|action| action.distilled.push(one.retired));
            continue;
        }
        act(one.at_micros, &|action| {
            action.undone &= one.undone_micros.is_some();
            match one.merged_into {
                Some(kept) => action.merged.push((one.retired, kept)),
                None => action.purged.push(one.retired),
            }
        });
    }
    for one in memory.contradictions() {
        act(one.at_micros, &|action| {
            action.undone &= one.undone_micros.is_some();
            action.contradictions.push([one.older, one.newer]);
        });
    }
    for one in collect_kept_apart(memory) {
        act(one.at_micros, &|action| {
            action.undone &= one.undone_micros.is_some();
            action.apart.push(one.pair);
        });
    }
    acted.into_values().collect()
}

#[cfg(test)]
mod tests;
