//! Prompts and answers that lessons were learned from: the lesson takes the place of what they say,
//! and what was corrected or forgotten there holds no longer here. What an agent answered to a rule
//! that is over holds no longer either.

use std::cell::LazyCell;

use reprise_engine::{DISTILLED, decide_shown, put_contradicting_first};
use reprise_knowledge::{extract_learnings, extract_withdrawals, states_besides, states_rule};
use reprise_types::RecallResponse;

use crate::prelude::*;

/// Longest answer that only takes note of a rule, in bytes.
const NOTED_BYTES_MAX: usize = 240;

/// What became of what a prompt or an answer taught.
#[derive(Debug)]
pub(super) enum TaughtPrompt {
    /// A lesson says all that it says; something newer may contradict it.
    Lesson {
        lesson: Box<MemoryRecord>,
        over: Option<(RecordId, DateTime<Utc>)>,
    },
    /// Lessons that the conversation has say all that it says.
    Seen,
    /// What it says was corrected or forgotten.
    Over,
    /// A lesson of it was corrected then; it says something else, too.
    Corrected { by: RecordId, at: DateTime<Utc> },
}

/// Finds the prompts and answers that a lesson says all of, or whose lessons are `seen`, or were
/// corrected or forgotten.
pub(super) fn find_taught_prompts(
    memory: &Snapshot,
    prompts: &[MemoryRecord],
    seen: &BTreeSet<RecordId>,
) -> BTreeMap<RecordId, TaughtPrompt> {
    let over = LazyCell::new(|| memory.list_contradicted());
    let taught = prompts.iter().filter_map(|one| {
        let mut taught = match one.record_type() {
            RecordType::Answer => {
                let noted = judge_answer(memory, one, &over);
                let is_taught = list_lesson_ids(memory, one.id).next().is_some()
                    || memory.text_forgotten_at(&one.text).is_some();
                noted.or_else(|| is_taught.then(|| judge_told(memory, one, seen))?)?
            }
            _ => judge_told(memory, one, seen)?,
        };
        if let TaughtPrompt::Lesson {
            lesson,
            over: newer,
        } = &mut taught
        {
            let by = over.get(&lesson.id).and_then(|by| memory.get(*by)?.ok());
            *newer = by.map(|by| (by.id, by.timestamp));
        }
        Some((one.id, taught))
    });
    taught.collect()
}

/// Returns what became of the rule that a short answer takes note of.
fn judge_answer(
    memory: &Snapshot,
    answer: &MemoryRecord,
    over: &BTreeMap<RecordId, RecordId>,
) -> Option<TaughtPrompt> {
    if answer.session_id.is_empty() || answer.text.len() > NOTED_BYTES_MAX || over.is_empty() {
        return None;
    }
    let before = memory.list(&ListRequest {
        filter: MemoryFilter {
            session_id: Some(answer.session_id.clone()),
            types: Some(vec![RecordType::Prompt]),
            until: Some(answer.timestamp),
            ..MemoryFilter::default()
        },
        limit: 1,
        after: None,
    });
    let prompt = before.records.into_iter().next()?;
    let rules = extract_learnings([&prompt]).into_iter();
    let rules: Vec<String> = rules.map(|(_, lesson)| lesson.text.clone()).collect();
    let are_rules = !rules.is_empty() && rules.iter().all(|rule| states_rule(rule));
    if !are_rules || states_besides(&prompt.text, &rules) {
        return None;
    }
    let mut lessons = list_lessons(memory, &prompt);
    let by = lessons.find_map(|lesson| over.get(&lesson.id).copied());
    let newer = memory
        .get(by.or_else(|| over.get(&prompt.id).copied())?)?
        .ok()?;
    Some(TaughtPrompt::Corrected {
        by: newer.id,
        at: newer.timestamp,
    })
}

/// Lists the lessons that were learned from a record.
fn list_lessons(memory: &Snapshot, told: &MemoryRecord) -> impl Iterator<Item = MemoryRecord> {
    list_lesson_ids(memory, told.id).filter_map(|lesson| memory.get(lesson)?.ok())
}

/// Lists the ids of the lessons that were learned from a record.
pub(in crate::operations) fn list_lesson_ids(
    memory: &Snapshot,
    id: RecordId,
) -> impl Iterator<Item = RecordId> {
    let links = memory.links(id).into_iter();
    let links = links.filter(|link| !link.outgoing && link.relation == DISTILLED);
    links.map(|link| link.record)
}

/// Returns whether lessons were learned from a prompt or an answer that say all that it says,
/// whatever became of them.
pub(in crate::operations) fn is_taught_whole(memory: &Snapshot, record: &MemoryRecord) -> bool {
    let is_told = matches!(
        record.record_type(),
        RecordType::Prompt | RecordType::Answer
    );
    if !is_told {
        return false;
    }
    if list_lesson_ids(memory, record.id).next().is_none() {
        return false;
    }
    let learned = extract_learnings([record]).into_iter();
    let ended = extract_withdrawals([record]).into_iter();
    let taught = learned.chain(ended).map(|(_, lesson)| lesson.text.clone());
    let taught: Vec<String> = taught.collect();
    !taught.is_empty() && !states_besides(&record.text, &taught)
}

fn judge_told(
    memory: &Snapshot,
    told: &MemoryRecord,
    seen: &BTreeSet<RecordId>,
) -> Option<TaughtPrompt> {
    let learned: Vec<MemoryRecord> = list_lessons(memory, told).collect();
    let taught = extract_learnings([told]).into_iter();
    // What ends a rule is a lesson only where there was one.
    let ended = extract_withdrawals([told]).into_iter();
    let ended = ended.filter(|(_, ended)| learned.iter().any(|one| one.text == ended.text));
    let taught = taught.chain(ended);
    let taught: Vec<String> = taught.map(|(_, lesson)| lesson.text.clone()).collect();
    if taught.is_empty() {
        return None;
    }
    let find_lesson = |text: &String| {
        let linked = learned.iter().find(|lesson| lesson.text == *text);
        let same = || memory.find_same_text(text);
        linked
            .cloned()
            .or_else(same)
            .filter(|known| known.record_type() != RecordType::Prompt && known.id != told.id)
    };
    let says_more = states_besides(&told.text, &taught);
    let mut missing = taught.iter().filter(|text| find_lesson(text).is_none());
    let Some(missing) = missing.next() else {
        if says_more {
            return None;
        }
        let lessons = taught.iter().filter_map(find_lesson);
        let mut unseen = lessons.filter(|lesson| !seen.contains(&lesson.id));
        return match (unseen.next(), unseen.next()) {
            (None, _) => Some(TaughtPrompt::Seen),
            (Some(lesson), None) => Some(TaughtPrompt::Lesson {
                lesson: Box::new(lesson),
                over: None,
            }),
            _ => None,
        };
    };
    let mut corrected = learned.iter();
    let corrected =
        corrected.find(|lesson| lesson.supersedes.is_some() && !taught.contains(&lesson.text));
    match corrected {
        Some(lesson) if says_more => Some(TaughtPrompt::Corrected {
            by: lesson.id,
            at: lesson.known_at,
        }),
        Some(_) => Some(TaughtPrompt::Over),
        None => memory
            .text_forgotten_at(missing)
            .map(|_| TaughtPrompt::Over),
    }
}

/// Puts lessons in the place of what taught them, leaves out of which nothing holds or is new, and
/// marks what was corrected.
pub(super) fn put_lessons_in_place(
    recall: &mut RecallResponse,
    mut taught: BTreeMap<RecordId, TaughtPrompt>,
) {
    if taught.is_empty() {
        return;
    }
    let mut placed = BTreeSet::new();
    recall.results.retain_mut(|one| {
        match taught.remove(&one.record.id) {
            Some(TaughtPrompt::Lesson { lesson, over }) => {
                one.record = *lesson;
                if let Some((by, at)) = over {
                    one.why.contradicted_by = Some(by);
                    one.why.held_until = Some(at);
                }
            }
            Some(TaughtPrompt::Seen | TaughtPrompt::Over) => return false,
            Some(TaughtPrompt::Corrected { by, at }) => {
                one.why.contradicted_by = Some(by);
                one.why.held_until = Some(at);
            }
            None => {}
        }
        placed.insert(one.record.id)
    });
    put_contradicting_first(&mut recall.results);
    decide_shown(recall);
}
