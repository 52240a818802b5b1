//! Tending memory: what says the same is put behind one record, what contradicts is named, what had
//! its time is put away, what recurs is told once; and all of it can be taken back.
//!
//! The plan's doing and undoing, and the diary of it.

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
mod tokens;

use chrono::TimeDelta;
use reprise_engine::{Engine, EngineError, Retired};

use crate::prelude::*;

pub use compare::{Known, Pair, known};
pub use distil::Distillate;
pub use plan::{Merge, Plan, Score, scores};
pub use planner::{Planner, plan};

/// For so long what had its time can be called back; then it is forgotten.
const GRACE: TimeDelta = TimeDelta::days(7);

/// Of one set of duplicates that is taken apart again, each is set apart from so many others.
const SIBLINGS_MAX: usize = 32;

/// What was done: the plan, and the name by which it can be taken back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Done {
    /// The name of what was done, for [`undo`]; `None` where nothing was.
    pub action: Option<String>,
    /// The records that were made.
    pub distilled: Vec<RecordId>,
    /// Put away for so long that they were forgotten.
    pub forgotten: Vec<RecordId>,
    /// What was to be done.
    pub plan: Plan,
}

/// Does what a plan names; what has changed since it was made is passed over, as is what somebody
/// set apart since. Of two records that contradict each other the newer stands above the older from
/// now on. What was put away more than a week ago because its time was over is forgotten.
pub fn carry_out(engine: &mut Engine, plan: Plan, now: DateTime<Utc>) -> Result<Done, EngineError> {
    let forgotten = engine.forget_over(now - GRACE, now)?;
    let forgotten = forgotten.into_iter().map(|one| one.id).collect();
    let mut distilled = Vec::new();
    let mut acted = None;
    for one in &plan.distilled {
        if let Some(id) = engine.distil(one.record(), &one.sources, now)? {
            distilled.push(id);
            let made = engine.snapshot().get(id);
            acted = made
                .and_then(Result::ok)
                .map(|made| made.known_at.timestamp_micros());
        }
    }
    let memory = engine.snapshot();
    let merges = plan.merged.iter();
    let pairs: Vec<(RecordId, RecordId)> = merges
        .flat_map(|merge| merge.gone.iter().map(|gone| (*gone, merge.kept)))
        .filter(|(gone, kept)| !memory.are_apart(*gone, *kept))
        .collect();
    let purged = plan.purged.iter().copied();
    let purged: Vec<RecordId> = purged.filter(|id| !memory.are_apart(*id, *id)).collect();
    let contrary = plan.contradictions.iter().map(|one| one.pair.into());
    for (at, count) in [
        engine.retire(&pairs, now)?,
        engine.put_away(&purged, now)?,
        engine.contradict(&contrary.collect::<Vec<_>>(), now)?,
    ] {
        if count > 0 {
            acted = Some(at);
        }
    }
    Ok(Done {
        action: acted.map(action_name),
        distilled,
        forgotten,
        plan,
    })
}

/// Whether two live records seem to say the same, or to contradict each other, or somebody has said
/// that they do not. No others are compared.
pub fn are_related(memory: &Snapshot, one: RecordId, other: RecordId) -> bool {
    let pair = BTreeSet::from([[one, other]]);
    memory.are_apart(one, other) || !compare::related(memory, pair).is_empty()
}

/// The name of all that was done at one instant.
fn action_name(at_micros: i64) -> String {
    format!("a{at_micros}")
}

/// Takes an action back, or what was done to one record; it is not done again. Answers what answers
/// again, and what no longer does.
pub fn undo(engine: &mut Engine, action: &str, now: DateTime<Utc>) -> Result<Undone, EngineError> {
    let memory = engine.snapshot();
    let of_action = |at: i64, id: RecordId| action_name(at) == action || id.to_string() == action;
    let retired = memory.retired().into_iter();
    let retired: Vec<Retired> = retired
        .filter(|one| of_action(one.at_micros, one.gone))
        .collect();
    let restored: Vec<RecordId> = retired.iter().map(|one| one.gone).collect();
    engine.restore(&restored, now)?;
    for (number, one) in retired.iter().enumerate() {
        let kept = one.kept.and_then(|kept| engine.snapshot().current(kept));
        if one.kept.is_none() || kept.is_some() {
            engine.set_apart(one.gone, kept.unwrap_or(one.gone), now)?;
        }
        let before = retired.iter().take(number).rev();
        let siblings = before.filter(|other| one.kept.is_some() && other.kept == one.kept);
        for other in siblings.take(SIBLINGS_MAX) {
            engine.set_apart(one.gone, other.gone, now)?;
        }
    }
    let made = distil::made(&memory).into_iter();
    let made = made.filter(|(id, at)| of_action(*at, *id));
    let withdrawn: Vec<RecordId> = made.map(|(id, _)| id).collect();
    engine.put_away(&withdrawn, now)?;
    let noted = memory.contradictions().into_iter().map(|one| one.at_micros);
    let mut noted = noted.filter(|at| action_name(*at) == action);
    let contradictions = match noted.next() {
        Some(at) => engine.take_back_contradictions(at, now)?,
        None => Vec::new(),
    };
    Ok(Undone {
        restored,
        withdrawn,
        contradictions,
    })
}

/// What an [`undo`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Records that answer again.
    pub restored: Vec<RecordId>,
    /// Records that were made by the action, and answer no more.
    pub withdrawn: Vec<RecordId>,
    /// Pairs of which the newer stands above the older no more; they still wait for a review.
    pub contradictions: Vec<[RecordId; 2]>,
}

impl Undone {
    /// Whether there was nothing to undo.
    pub fn is_empty(&self) -> bool {
        let pairs = self.contradictions.is_empty();
        pairs && self.restored.is_empty() && self.withdrawn.is_empty()
    }
}

/// All that was done at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Action {
    /// For [`undo`].
    pub action: String,
    pub at: DateTime<Utc>,
    /// `(gone, kept)` each.
    pub merged: Vec<(RecordId, RecordId)>,
    /// What was put away because its time was over.
    pub purged: Vec<RecordId>,
    /// What was made of others.
    pub distilled: Vec<RecordId>,
    /// Pairs of which the newer stands above the older.
    pub contradictions: Vec<[RecordId; 2]>,
    /// Whether all of it was taken back.
    pub undone: bool,
}

/// Every action, oldest first, as far as it is not forgotten.
pub fn actions(memory: &Snapshot) -> Vec<Action> {
    let mut acted: BTreeMap<i64, Action> = BTreeMap::new();
    let mut act = |at_micros: i64, tell: &dyn Fn(&mut Action)| {
        let Some(at) = DateTime::from_timestamp_micros(at_micros) else {
            return;
        };
        tell(acted.entry(at_micros).or_insert_with(|| Action {
            action: action_name(at_micros),
            at,
            undone: true,
            ..Action::default()
        }));
    };
    for (id, at) in distil::made(memory) {
        act(at, &|action| {
            action.distilled.push(id);
            action.undone = false;
        });
    }
    for one in memory.ever_retired() {
        if one.kept.is_none()
            && let Some(at) = distil::withdrawn(memory, &one)
        {
            act(at, &|action| action.distilled.push(one.gone));
            continue;
        }
        act(one.at_micros, &|action| {
            action.undone &= one.undone_micros.is_some();
            match one.kept {
                Some(kept) => action.merged.push((one.gone, kept)),
                None => action.purged.push(one.gone),
            }
        });
    }
    for one in memory.contradictions() {
        act(one.at_micros, &|action| {
            action.undone &= one.undone_micros.is_some();
            action.contradictions.push([one.older, one.newer]);
        });
    }
    acted.into_values().collect()
}

#[cfg(test)]
mod tests;
