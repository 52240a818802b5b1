//! What a person's prompt to an agent is for: an answer, work, or nothing but to tell something.

use std::sync::LazyLock;

use regex::Regex;

use super::compile_pattern;

/// Longest beginning of a prompt in bytes that is read for its aim.
const READ_BYTES_MAX: usize = 1500;

/// What somebody wants who gives a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptAim {
    /// To know something, or to have a fault found and ended.
    Answer,
    /// To have something done.
    Work,
    /// To tell something: a fact or a rule.
    Telling,
}

impl PromptAim {
    pub fn from_prompt(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(READ_BYTES_MAX)];
        let has = |pattern: &LazyLock<Option<Regex>>| {
            let pattern = pattern.as_ref();
            pattern.is_some_and(|pattern| pattern.is_match(text))
        };
        if text.contains(['?', '\u{ff1f}']) || has(&FAULT) {
            Self::Answer
        } else if has(&TASK) {
            Self::Work
        } else {
            Self::Telling
        }
    }
}

/// Longest prompt in bytes that tells one fact or a few.
const FACTS_BYTES_MAX: usize = 320;

/// Returns whether a prompt tells a fact or a few, and asks for nothing.
pub(crate) fn tells_only(prompt: &str) -> bool {
    prompt.len() <= FACTS_BYTES_MAX
        && !orders_in_german(prompt)
        && PromptAim::from_prompt(prompt) == PromptAim::Telling
}

/// Returns whether a text has an order or a wish in German, or a wish in French or Spanish.
pub(crate) fn orders_in_german(text: &str) -> bool {
    let pattern = GERMAN_TASK.as_ref();
    pattern.is_some_and(|pattern| pattern.is_match(text))
}

/// Orders in German at the beginning of a clause, and wishes there and in French and Spanish.
static GERMAN_TASK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)(?:^|[.!;:,\n]\s*)(?:(?:und|dann|jetzt|nun|also|ok) )*",
        r"(?:\u{e4}ndere?|aktualisiere?|baue?|behebe?|benenne?|entferne?|erkl\u{e4}re?|erstelle?",
        r"|f\u{fc}ge?|f\u{fc}hre?|installiere?|l\u{f6}sche?|mache?|lies|pr\u{fc}fe?|repariere?",
        r"|schaue?|schreibe?|starte|suche?|finde?|teste|verschiebe?|zeige?)\b",
        r"|\b(?:bitte|kannst du|k\u{f6}nntest du|ich will|ich m\u{f6}chte|wir wollen",
        r"|s'il te pla\u{ee}t|por favor)\b",
    ))
});

/// Requests to find a fault or its cause, and to end it.
static FAULT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:find out|figure (?:it )?out|look into|investigate|debug|track (?:it|this) down",
        r"|get to the bottom)\b",
        r"|(?:^|[.!;:,\n]\s*)(?:(?:and|then|now|so|please|can you|could you) )*",
        r"(?:fix|repair|solve|find|check|explain|diagnose)\b",
    ))
});

/// Orders at the beginning of a clause, and wishes.
static TASK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)(?:^|[.!;:,\n]\s*)(?:(?:and|then|now|so|ok|please|let's|let us|also) )*",
        r"(?:add|adapt|build|bump|change|clean|commit|convert|create|delete|deploy|document|drop",
        r"|extract|implement|improve|install|make|merge|migrate|move|port|push|put|refactor|release",
        r"|remove|rename|replace|restart|rewrite|run|set up|show|split|start|test|tidy|try|turn",
        r"|update|upgrade|write)\b",
        r"|\b(?:i|we)(?:'d like| want| need| would like) (?:you )?to\b",
        r"|\bplease\b",
    ))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_tells_only_is_told_from_one_that_asks_for_something_too() {
        for text in [
            "Physics: the tick rate is 60 Hz.",
            "No, the tick rate is 120 Hz, not 60 Hz.",
            "Nein, die Praemie ist erst am 5. faellig, nicht am 3.",
            "You used the wrong table: claims live in schaden_2026.",
        ] {
            assert!(tells_only(text), "{text}");
        }
        for text in [
            "The tests are red. Fix them",
            "The tick rate is 60 Hz, write a test for it",
            "Die Tests sind rot. Behebe das",
            "Der Login ist kaputt, kannst du nachsehen",
            "Is the tick rate 60 Hz?",
        ] {
            assert!(!tells_only(text), "{text}");
        }
        assert!(GERMAN_TASK.is_some());
    }

    #[test]
    fn every_pattern_of_an_aim_compiles() {
        assert!(FAULT.is_some() && TASK.is_some());
    }

    #[test]
    fn what_is_wanted_is_told_from_what_is_only_told() {
        for (text, aim) in [
            ("I am on Flask, how do I add a route?", PromptAim::Answer),
            (
                "The rate limiter lets through twice the quota, fix it",
                PromptAim::Answer,
            ),
            (
                "The login test is flaky since May. Please check the clock",
                PromptAim::Answer,
            ),
            ("We use pnpm here. Update the build", PromptAim::Work),
            (
                "The staging host is 10.0.0.4, deploy there",
                PromptAim::Work,
            ),
            ("We need to keep the old API, please", PromptAim::Work),
            ("The staging host is 10.0.0.4", PromptAim::Telling),
            ("From now on we never push to main", PromptAim::Telling),
            ("We have a fix for the cart since May", PromptAim::Telling),
        ] {
            assert_eq!(PromptAim::from_prompt(text), aim, "{text}");
        }
    }
}
