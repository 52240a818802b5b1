//! What an undoing takes back, of which memories, and which action where none is named.

use reprise_knowledge::{ConsolidationAction, UndoReport, list_actions};

use crate::memories::ChangeOrigin;
use crate::operations::records::get_named_record_id;
use crate::prelude::*;
use crate::wire::UndoneReport;

/// Returns what the memories say that an undoing changes, a line each.
pub(super) fn list_texts(names: &RecordNames<'_>, undone: &UndoReport) -> Vec<String> {
    let pairs = undone.contradictions.iter().chain(&undone.rejoined);
    let one = undone.restored.iter().chain(&undone.withdrawn);
    let all: Vec<RecordId> = one.chain(pairs.flatten()).copied().collect();
    all.iter().map(|id| names.record_text(*id)).collect()
}

/// Says what an undoing would change.
pub(super) fn plan_undo(
    memory: &Snapshot,
    action: Option<String>,
    by_itself: &BTreeSet<RecordId>,
) -> Result<UndoneReport, Problem> {
    let action = match action {
        Some(action) => action,
        None => get_newest_undoable_action(memory, by_itself)?,
    };
    let named = get_named_record_id(memory, &action).ok();
    let mut planned = UndoReport::default();
    for one in list_actions(memory).into_iter().filter(|one| !one.undone) {
        let is_it = one.action == action;
        let is_of = |id: &RecordId| is_it || Some(*id) == named;
        let merged = one.merged.iter().map(|(gone, _)| *gone);
        planned
            .restored
            .extend(merged.chain(one.purged).filter(is_of));
        planned
            .withdrawn
            .extend(one.distilled.into_iter().filter(is_of));
        if is_it {
            planned.contradictions.extend(one.contradictions);
            planned.rejoined.extend(one.apart);
        }
    }
    let names = RecordNames {
        memory,
        for_agent: false,
    };
    let reverted = planned
        .is_empty()
        .then(|| named.map(|id| names.record_name(id)));
    Ok(UndoneReport {
        restored: names.record_names(&planned.restored),
        withdrawn: names.record_names(&planned.withdrawn),
        contradictions: names.pair_names(&planned.contradictions),
        rejoined: names.pair_names(&planned.rejoined),
        reverted: reverted.flatten().into_iter().collect(),
        texts: list_texts(&names, &planned),
        planned: true,
    })
}

/// Lists the memories that were merged or put away while nobody asked for it.
pub(super) fn list_upkeep(memory: &Memory) -> BTreeSet<RecordId> {
    let changes = memory.list_changes().into_iter();
    let upkeep = changes.filter(|one| one.origin == ChangeOrigin::Upkeep);
    upkeep.flat_map(|one| one.ids).collect()
}

/// Returns the latest action that somebody took and that holds.
pub(super) fn get_newest_undoable_action(
    memory: &Snapshot,
    by_itself: &BTreeSet<RecordId>,
) -> Result<String, Problem> {
    // Pairs that contradict each other are noted by the daemon, and by nobody's command.
    let is_command = |one: &ConsolidationAction| {
        let parts = [one.merged.len(), one.purged.len(), one.distilled.len()];
        let mut gone = one.merged.iter().map(|(gone, _)| gone).chain(&one.purged);
        let is_upkeep = gone.any(|gone| by_itself.contains(gone));
        !is_upkeep && (parts.iter().any(|count| *count > 0) || !one.apart.is_empty())
    };
    let mut held = list_actions(memory).into_iter().rev();
    let held = held.find(|one| !one.undone && is_command(one));
    held.map(|one| one.action).ok_or_else(|| {
        Problem::not_found(
            "there is nothing to undo: nothing was merged, expired or decided, or all of it was undone; `reprise doctor undo ID` undoes the last correction of a memory, or an action that `reprise doctor diary` lists",
        )
    })
}
