//! Rules for which a session's beginning had no room: a prompt that one of them is about gets it,
//! and one that asks for work gets some of them, until the session has all.

use reprise_knowledge::asks_for_work;
use reprise_types::RecallResponse;

use super::asked::PromptReader;
use super::left_to_do::make_result;
use crate::prelude::*;

/// Most of those rules that one prompt gets.
const RULES_MAX: usize = 2;
/// Score of a rule that no word of the prompt found.
const SCORE: f32 = 0.5;

/// Shows rules that the beginning of a hook's session left out and that the session has not seen,
/// those that the hook may be told now.
pub(super) fn show_left_out_rules(
    memory: &Snapshot,
    question: &str,
    hook: &PromptReader,
    may_tell: impl Fn(&MemoryRecord) -> bool,
    recall: &mut RecallResponse,
) {
    let left_out = &hook.left_out_rules;
    if left_out.is_empty() {
        return;
    }
    let is_work = asks_for_work(question);
    let is_left_out = |one: &RetrievedMemory| left_out.contains(&one.record.id);
    let mut room = RULES_MAX;
    for one in recall.results.iter_mut().filter(|one| is_left_out(one)) {
        if !one.shown && room > 0 && (is_work || one.is_related()) {
            one.shown = true;
        }
        room = room.saturating_sub(usize::from(one.shown));
    }
    if !is_work || room == 0 {
        return;
    }
    let found: BTreeSet<RecordId> = recall.results.iter().map(|one| one.record.id).collect();
    let newest = left_out.iter().rev().filter(|id| !found.contains(id));
    let rules = newest.filter_map(|id| memory.get(*id)?.ok());
    let rules = rules.filter(|record| may_tell(record)).take(room);
    let rules = rules.map(|record| RetrievedMemory {
        shown: true,
        ..make_result(record, SCORE)
    });
    recall.results.extend(rules);
}
