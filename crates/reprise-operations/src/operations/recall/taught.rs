//! Prompts that lessons were learned from: the lesson takes the place of what the prompt says, and
//! what was corrected or forgotten there holds no longer here.

use reprise_engine::DISTILLED;
use reprise_knowledge::{extract_learnings, states_besides};

use crate::prelude::*;

/// What became of what a prompt taught.
#[derive(Debug)]
pub(in crate::operations) enum TaughtPrompt {
    /// A lesson says all that it says.
    Lesson(Box<MemoryRecord>),
    /// Lessons that the conversation has say all that it says.
    Seen,
    /// What it says was corrected or forgotten.
    Over,
    /// A lesson of it was corrected then; it says something else, too.
    Corrected { by: RecordId, at: DateTime<Utc> },
}

/// Finds the prompts that a lesson says all of, or whose lessons are `seen`, or were corrected or
/// forgotten.
pub(in crate::operations) fn find_taught_prompts(
    memory: &Snapshot,
    prompts: &[MemoryRecord],
    seen: &BTreeSet<RecordId>,
) -> BTreeMap<RecordId, TaughtPrompt> {
    let taught = prompts
        .iter()
        .filter_map(|prompt| Some((prompt.id, judge_prompt(memory, prompt, seen)?)));
    taught.collect()
}

fn judge_prompt(
    memory: &Snapshot,
    prompt: &MemoryRecord,
    seen: &BTreeSet<RecordId>,
) -> Option<TaughtPrompt> {
    let taught = extract_learnings([prompt]).into_iter();
    let taught: Vec<String> = taught.map(|(_, lesson)| lesson.text.clone()).collect();
    if taught.is_empty() {
        return None;
    }
    let links = memory.links(prompt.id).into_iter();
    let links = links.filter(|link| !link.outgoing && link.relation == DISTILLED);
    let learned = links.filter_map(|link| memory.get(link.record)?.ok());
    let learned: Vec<MemoryRecord> = learned.collect();
    let find_lesson = |text: &String| {
        let linked = learned.iter().find(|lesson| lesson.text == *text);
        let same = || memory.find_same_text(text);
        linked
            .cloned()
            .or_else(same)
            .filter(|known| known.record_type() != RecordType::Prompt)
    };
    let says_more = states_besides(&prompt.text, &taught);
    let mut missing = taught.iter().filter(|text| find_lesson(text).is_none());
    let Some(missing) = missing.next() else {
        if says_more {
            return None;
        }
        let lessons = taught.iter().filter_map(find_lesson);
        let mut unseen = lessons.filter(|lesson| !seen.contains(&lesson.id));
        return match (unseen.next(), unseen.next()) {
            (None, _) => Some(TaughtPrompt::Seen),
            (Some(lesson), None) => Some(TaughtPrompt::Lesson(Box::new(lesson))),
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
