//! How the work of a prompt went that used memory: one definition for the page, the terminal and
//! the table of agents.

use reprise_types::{RecordId, RelevanceVerdict};

use crate::{LeftOutReason, NotedRecord, Prompt, PromptOutcome, UnansweredReason};

/// Quality from which work went well.
const WENT_WELL: f32 = 0.5;

/// How the work of a prompt went that used a memory which the prompt received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptResult {
    /// It went well, as a test or a report says.
    Helped,
    /// It came to an end, and nobody says whether it is right.
    Unconfirmed,
    /// It failed, which alone does not show that the memory was wrong.
    Failed,
}

/// Fewest runs that say what was to be expected of a similar one, or what came of a memory.
pub const RUNS_TO_COMPARE_MIN: usize = 5;

/// Why a prompt received no memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NothingAddedReason {
    /// Its program asked, and got no answer for a reason.
    Unanswered(UnansweredReason),
    /// Memory was not asked: it came in later, from a program's history.
    NotAsked,
    /// No memory has to do with it.
    NothingFound,
    /// The best of what was found was left out.
    LeftOut(LeftOutReason),
}

impl Prompt {
    /// Returns why it received no memories: the reason of the best that was found. What was not
    /// likely to help was not missed because the session had it already, or for another reason.
    /// `None` if it received some.
    pub fn find_nothing_added_reason(&self) -> Option<NothingAddedReason> {
        if self.received_memories() {
            return None;
        }
        let Some(given) = &self.given else {
            let unanswered = self.unanswered.map(NothingAddedReason::Unanswered);
            return Some(unanswered.unwrap_or(NothingAddedReason::NotAsked));
        };
        let Some(best) = given.found.first() else {
            return Some(NothingAddedReason::NothingFound);
        };
        let is_likely = best.score >= RelevanceVerdict::WEAK_BELOW;
        let reason = best.left_out.filter(|_| is_likely);
        Some(NothingAddedReason::LeftOut(
            reason.unwrap_or(LeftOutReason::Weak),
        ))
    }

    fn received(&self) -> impl Iterator<Item = &NotedRecord> {
        let found = self.given.iter().flat_map(|given| &given.found);
        found.filter(|one| one.left_out.is_none())
    }

    /// Counts the user's own memories that it received.
    pub fn count_received(&self) -> usize {
        self.received().count()
    }

    /// Returns whether it received memories: the user's own, or what others published.
    pub fn received_memories(&self) -> bool {
        self.tokens > 0 || self.count_received() > 0
    }

    /// Counts the memories that it received and that its work used.
    pub fn count_used(&self) -> usize {
        let used: &[RecordId] = self.outcome.as_ref().map_or(&[], |outcome| &outcome.used);
        self.received().filter(|one| used.contains(&one.id)).count()
    }

    /// Returns how its work went; `None` if that used no memory which it received.
    pub fn result_with_memory(&self) -> Option<PromptResult> {
        let outcome = self.outcome.as_ref().filter(|_| self.count_used() > 0)?;
        Some(if !outcome.went_well() {
            PromptResult::Failed
        } else if outcome.confirmed {
            PromptResult::Helped
        } else {
            PromptResult::Unconfirmed
        })
    }
}

impl PromptOutcome {
    /// Returns whether the work went well.
    pub fn went_well(&self) -> bool {
        self.quality >= WENT_WELL
    }

    /// Returns what was expected of it, if enough similar prompts say so.
    pub fn known_expectation(&self) -> Option<f32> {
        (self.similar >= RUNS_TO_COMPARE_MIN).then_some(self.expected)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_got_nothing_for_the_reason_of_the_best_that_was_found() {
        use NothingAddedReason::{LeftOut, NotAsked, NothingFound, Unanswered};
        let id = RecordId::from_parts(1, 0);
        let prompt = |found: Option<&[(f32, &str)]>, unanswered: Option<&str>| -> Prompt {
            let given = found.map(|found| {
                let found = found
                    .iter()
                    .map(|(score, why)| json!({ "id": id, "score": score, "left_out": why }));
                json!({ "recall_id": id, "verdict": "nothing",
                    "found": found.collect::<Vec<_>>() })
            });
            let read = json!({
                "id": id, "at": "2026-11-28T10:00:00Z", "text": "why", "session": "s", "tags": [],
                "given": given, "unanswered": unanswered, "outcome": null,
            });
            serde_json::from_value(read).unwrap()
        };
        let weak = LeftOut(LeftOutReason::Weak);
        for (found, unanswered, expected) in [
            (None, Some("late"), Unanswered(UnansweredReason::Late)),
            (None, None, NotAsked),
            (Some(&[][..]), None, NothingFound),
            // Most of what was found is of another reason than the best.
            (
                Some(&[(0.8, "seen"), (0.2, "weak"), (0.1, "weak")][..]),
                None,
                LeftOut(LeftOutReason::Seen),
            ),
            (Some(&[(0.02, "seen")][..]), None, weak),
            (Some(&[(0.6, "weak")][..]), None, weak),
        ] {
            let prompt = prompt(found, unanswered);
            assert_eq!(
                prompt.find_nothing_added_reason(),
                Some(expected),
                "{prompt:?}"
            );
        }
        let mut received = prompt(Some(&[]), None);
        received.tokens = 40;
        assert_eq!(received.find_nothing_added_reason(), None);
    }

    #[test]
    fn what_was_expected_is_told_from_five_similar_prompts_on() {
        let outcome = |similar: usize| -> PromptOutcome {
            let read = json!({ "at": "2026-11-28T10:05:00Z", "quality": 0.9, "expected": 0.8,
                "similar": similar, "used": [] });
            serde_json::from_value(read).unwrap()
        };
        let told = [0, 1, 4, 5, 9].map(|similar| outcome(similar).known_expectation().is_some());
        assert_eq!(told, [false, false, false, true, true]);
    }

    #[test]
    fn only_work_that_used_what_its_prompt_received_was_helped_by_it() {
        let [own, other] = [1, 2].map(|number| RecordId::from_parts(number, 0));
        let prompt = |used: &[RecordId], quality: f32, left_out: Option<&str>| -> Prompt {
            let read = json!({
                "id": own, "at": "2026-11-28T10:00:00Z", "text": "why", "session": "s", "tags": [],
                "given": {
                    "recall_id": RecordId::from_parts(3, 0), "verdict": "relevant",
                    "found": [{ "id": own, "score": 0.9, "left_out": left_out }],
                },
                "outcome": {
                    "at": "2026-11-28T10:05:00Z", "quality": quality, "expected": 0.5,
                    "confirmed": quality > 0.8, "used": used,
                },
            });
            serde_json::from_value(read).unwrap()
        };
        let helped = prompt(&[own], 0.9, None);
        assert_eq!(helped.result_with_memory(), Some(PromptResult::Helped));
        assert_eq!((helped.count_received(), helped.count_used()), (1, 1));
        let ended = prompt(&[own], 0.8, None);
        assert_eq!(ended.result_with_memory(), Some(PromptResult::Unconfirmed));
        let failed = prompt(&[own], 0.1, None);
        assert_eq!(failed.result_with_memory(), Some(PromptResult::Failed));
        for without in [
            prompt(&[other], 0.9, None),
            prompt(&[], 0.9, None),
            prompt(&[own], 0.9, Some("seen")),
        ] {
            assert_eq!(without.result_with_memory(), None);
        }
        assert!(!prompt(&[own], 0.9, Some("seen")).received_memories());
    }
}
