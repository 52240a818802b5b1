//! How the work of a prompt went that used memory: one definition for the page, the terminal and
//! the table of agents.

use reprise_types::RecordId;

use crate::{NotedRecord, Prompt, PromptOutcome};

/// Quality from which work went well.
const WENT_WELL: f32 = 0.5;
/// Quality from which it is known that work went well: that of a passed test, and what agents
/// report. What only came to an end has less.
const CONFIRMED: f32 = 0.85;

/// How the work of a prompt went that used a memory which the prompt received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptResult {
    /// It went well.
    Helped,
    /// It failed, which alone does not show that the memory was wrong.
    Failed,
}

impl Prompt {
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
        Some(if outcome.went_well() {
            PromptResult::Helped
        } else {
            PromptResult::Failed
        })
    }
}

impl PromptOutcome {
    /// Returns whether the work went well.
    pub fn went_well(&self) -> bool {
        self.quality >= WENT_WELL
    }

    /// Returns whether a test passed, or the agent itself reported that it went well.
    pub fn is_confirmed(&self) -> bool {
        self.quality >= CONFIRMED
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
                    "used": used,
                },
            });
            serde_json::from_value(read).unwrap()
        };
        let helped = prompt(&[own], 0.9, None);
        assert_eq!(helped.result_with_memory(), Some(PromptResult::Helped));
        assert_eq!((helped.count_received(), helped.count_used()), (1, 1));
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
