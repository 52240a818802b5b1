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
