//! Rules that a person has ended: what ended one takes its place in a prompt, since an ended rule
//! alone leaves its reader to look for that.

use reprise_knowledge::{states_rule, states_withdrawal};
use reprise_types::RecallResponse;

use super::asked::AskedRecall;
use crate::operations::sessions::LeftOutReason;
use crate::prelude::*;

/// Puts what ended a rule in the place of the rule, once, and nothing where the conversation has
/// that already. Where the reader may not be told it, the rule stays, marked as over.
pub(super) fn replace_ended_rules(
    memory: &Snapshot,
    asked: &AskedRecall,
    calendar: &Calendar,
    recall: &mut RecallResponse,
) {
    let is_known = |record: &MemoryRecord| {
        matches!(
            asked.reason_to_leave_out(record),
            Some(LeftOutReason::Seen | LeftOutReason::SameSession)
        )
    };
    let may_tell = |record: &MemoryRecord| asked.may_tell(memory, calendar, record);
    let results = recall.results.iter().filter(|one| one.shown);
    let over = results.filter(|one| states_rule(&one.record.text));
    let over: BTreeSet<RecordId> = over.filter_map(|one| one.why.contradicted_by).collect();
    let ends = over.iter().filter_map(|id| memory.get(*id)?.ok());
    let ends = ends.filter(|record| states_withdrawal(&record.text));
    let ends = ends.filter(|record| is_known(record) || may_tell(record));
    let mut ending: BTreeMap<RecordId, MemoryRecord> =
        ends.map(|record| (record.id, record)).collect();
    let is_there = |one: &&RetrievedMemory| one.shown && one.why.contradicted_by.is_none();
    let there = recall.results.iter().filter(is_there);
    let there: BTreeSet<RecordId> = there.map(|one| one.record.id).collect();
    let known: BTreeSet<RecordId> = ending.keys().copied().collect();
    recall.results.retain_mut(|one| {
        let Some(by) = one.why.contradicted_by.filter(|by| known.contains(by)) else {
            // Its own place may be below that of the rule.
            let is_placed = known.contains(&one.record.id)
                && !there.contains(&one.record.id)
                && !ending.contains_key(&one.record.id);
            return !is_placed;
        };
        if !one.shown || !states_rule(&one.record.text) {
            return true;
        }
        let newer = ending.remove(&by);
        let newer = newer.filter(|newer| may_tell(newer) && !there.contains(&newer.id));
        let Some(newer) = newer else {
            return false;
        };
        one.record = newer;
        (one.why.contradicted_by, one.why.held_until) = (None, None);
        true
    });
}
