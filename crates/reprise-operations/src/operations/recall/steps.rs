//! The one function that changes an answer after it was ranked, for all that ask: an operation, a
//! tool, Ask, the hook of a prompt.
//!
//! Its steps, in their order:
//!
//! 1. What is left to do, or which rules there are, comes first where that is asked.
//! 2. What its reader is not told is left out.
//! 3. Failures that a later run ended are marked.
//! 4. Lessons take the place of the prompts that they were learned from; what came in by that
//!    and its reader is not told is left out.
//! 5. As many as were asked for stay, and it is decided which of them are shown.
//! 6. In a prompt what ended a rule takes the place of the rule, and rules for which the session
//!    had no room at its beginning are shown, each only if its reader may be told it.
//!
//! Before it the user's own memory is ranked (with a cross-encoder, if one is chosen) and what
//! checkouts and others share is merged in. After it what came in is added to what an outcome may
//! name, and the recall is noted for the page.

use reprise_engine::{decide_shown, remove_sensitive};
use reprise_types::RecallResponse;

use super::asked::AskedRecall;
use super::asked_rules::{put_rules_first, show_all_rules};
use super::ended_failures::mark_ended_failures;
use super::ended_rules::replace_ended_rules;
use super::left_out_rules::show_left_out_rules;
use super::left_to_do::put_open_work_first;
use super::taught::{TaughtPrompt, find_taught_prompts, put_lessons_in_place};
use crate::operations::sessions::{LeftOutReason, NotedRecord};
use crate::prelude::*;

/// Characters of the note why a memory was found.
const REASON_CHARS: usize = 200;

/// An answer as its reader gets it.
#[derive(Debug)]
pub struct FoundAnswer {
    /// What is told.
    pub recall: RecallResponse,
    /// All that was found, and why it is left out where it is.
    pub(in crate::operations) noted: Vec<NotedRecord>,
    /// Sensitive results that are left out.
    pub(super) sensitive: usize,
    /// Whether anything is shown because it answers.
    pub(in crate::operations) is_answered: bool,
}

/// Makes of what was ranked the answer that its reader gets; `memory` is there if the user has
/// one.
pub(super) fn complete_answer(
    memory: Option<&Snapshot>,
    asked: &AskedRecall,
    calendar: &Calendar,
    recall: RecallResponse,
) -> FoundAnswer {
    let mut found = FoundAnswer {
        recall,
        noted: Vec::new(),
        sensitive: 0,
        is_answered: false,
    };
    let (mut most, mut rules) = (asked.request.top_k, 0);
    if let Some(memory) = memory {
        put_open_work_first(memory, asked, calendar, &mut found.recall);
        rules = put_rules_first(memory, asked, calendar, &mut found.recall);
        most = most.max(rules);
    }
    leave_out(memory, asked, calendar, &mut found);
    if let Some(memory) = memory {
        let until = asked.request.as_of.or(asked.request.now);
        mark_ended_failures(memory, until, &mut found.recall);
        place_lessons(memory, asked, calendar, &mut found);
    }
    found.recall.results.truncate(most);
    decide_shown(&mut found.recall);
    if rules > 0 {
        show_all_rules(&mut found.recall);
    }
    found.is_answered = found.recall.results.iter().any(|one| one.shown);
    if let (Some(memory), Some(hook)) = (memory, asked.hook()) {
        replace_ended_rules(memory, asked, calendar, &mut found.recall);
        let may_tell = |record: &MemoryRecord| asked.may_tell(memory, calendar, record);
        let question = &asked.request.query;
        show_left_out_rules(memory, question, hook, may_tell, &mut found.recall);
    }
    found
}

/// Leaves out what the reader is not told, and notes all that was found.
fn leave_out(
    memory: Option<&Snapshot>,
    asked: &AskedRecall,
    calendar: &Calendar,
    found: &mut FoundAnswer,
) {
    let FoundAnswer {
        recall,
        noted,
        sensitive,
        ..
    } = found;
    if asked.is_for_agent() {
        *sensitive += remove_sensitive(recall);
    }
    let count = recall.results.len();
    recall.results.retain(|one| {
        let left_out = asked.reason_to_leave_out(&one.record);
        let left_out = left_out.or_else(|| asked.knows_what_came_of(one));
        let own = memory.filter(|_| one.published.is_none());
        let is_expired = own.is_some_and(|own| asked.is_expired(own, calendar, &one.record));
        let left_out = left_out.or_else(|| is_expired.then_some(LeftOutReason::Weak));
        match noted.iter_mut().find(|known| known.id == one.record.id) {
            Some(known) => known.left_out = known.left_out.or(left_out),
            None => noted.push(NotedRecord {
                id: one.record.id,
                score: one.sona_score,
                reason: one.why.reason.chars().take(REASON_CHARS).collect(),
                left_out,
                contradicted_by: one.why.contradicted_by,
            }),
        }
        left_out.is_none()
    });
    if recall.results.len() < count {
        decide_shown(recall);
    }
}

/// Puts lessons in the place of the prompts that they were learned from, leaves out prompts whose
/// lessons are told or known already or that do not hold any more, and marks what was corrected.
fn place_lessons(
    memory: &Snapshot,
    asked: &AskedRecall,
    calendar: &Calendar,
    found: &mut FoundAnswer,
) {
    if !asked.is_open() {
        return;
    }
    let seen = asked
        .hook()
        .map_or_else(BTreeSet::new, |hook| hook.seen.clone());
    let mut judged = BTreeSet::new();
    // Where something is left out, another prompt may be shown.
    loop {
        let results = &found.recall.results;
        let near = results.iter().filter(|one| {
            let record_type = one.record.record_type();
            one.is_related()
                && one.published.is_none()
                && matches!(record_type, RecordType::Prompt | RecordType::Answer)
                && judged.insert(one.record.id)
        });
        let mut prompts: Vec<MemoryRecord> = near.map(|one| one.record.clone()).collect();
        if prompts.is_empty() {
            return;
        }
        let mut taught = find_taught_prompts(memory, &prompts, &seen);
        // Of several lessons all may be told, of an answer above it: it was found by its prompt.
        prompts.retain(|one| !taught.contains_key(&one.id));
        for one in &prompts {
            let is_answer = one.record_type() == RecordType::Answer;
            let near = results.iter();
            let near = near.take_while(|near| !is_answer || near.record.id != one.id);
            let told = near.filter(|near| near.is_related());
            let told: BTreeSet<RecordId> = told.map(|near| near.record.id).collect();
            let known = seen.union(&told).copied().collect();
            taught.extend(find_taught_prompts(
                memory,
                std::slice::from_ref(one),
                &known,
            ));
        }
        note_taught(&mut found.noted, &taught);
        put_lessons_in_place(&mut found.recall, taught);
        leave_out(Some(memory), asked, calendar, found);
    }
}

/// Notes which lessons take the place of found prompts, and which prompts are left out.
fn note_taught(noted: &mut [NotedRecord], taught: &BTreeMap<RecordId, TaughtPrompt>) {
    let mut named: BTreeSet<RecordId> = noted.iter().map(|one| one.id).collect();
    for one in noted {
        match taught.get(&one.id) {
            Some(TaughtPrompt::Lesson { lesson, over }) if named.insert(lesson.id) => {
                one.id = lesson.id;
                one.contradicted_by = over.map(|(by, _)| by).or(one.contradicted_by);
            }
            Some(TaughtPrompt::Lesson { .. } | TaughtPrompt::Seen) => {
                one.left_out = Some(LeftOutReason::Seen);
            }
            Some(TaughtPrompt::Over) => one.left_out = Some(LeftOutReason::Weak),
            Some(TaughtPrompt::Corrected { by, .. }) => one.contradicted_by = Some(*by),
            None => {}
        }
    }
}
