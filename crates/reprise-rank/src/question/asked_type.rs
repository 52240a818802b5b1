//! Recognises the type of record that a question plainly asks for: "which command", "what did we
//! decide", "when did I commit". Records of that type come before others that are as similar.

use std::sync::LazyLock;

use regex::Regex;
use reprise_types::RecordType;

use super::compile_pattern;

/// Returns the type of record that a question asks for; `None` for most questions.
pub fn find_asked_type(query: &str) -> Option<RecordType> {
    let named = |(_, pattern): &&(RecordType, Option<Regex>)| {
        pattern.as_ref().is_some_and(|it| it.is_match(query))
    };
    ASKED_TYPES.iter().find(named).map(|named| named.0)
}

static ASKED_TYPES: LazyLock<[(RecordType, Option<Regex>); 5]> = LazyLock::new(|| {
    [
        (
            RecordType::Command,
            concat!(
                r"(?i)\b(?:which|what) (?:\w+ )?commands?\b",
                r"|\bthe (?:\w+ )?command(?:-line| line)? (?:for|to|that|i|we)\b",
                r"|\bwhat did (?:i|we) (?:run|type)\b|\bhow did (?:i|we) (?:run|invoke)\b",
            ),
        ),
        (
            RecordType::Decision,
            concat!(
                r"(?i)\b(?:which|what) decisions?\b|\bdecisions? (?:about|on|for)\b",
                r"|\b(?:did|have|had) (?:i|we|they) (?:decided?|agreed?|settled?)\b",
                r"|\bwas (?:decided|agreed)\b",
            ),
        ),
        (
            RecordType::Commit,
            concat!(
                r"(?i)\b(?:which|what) commits?\b|\bcommits? (?:by|about|that|for|on)\b",
                r"|\b(?:did|have|had) (?:i|we|they|\p{Lu}\w+) commit(?:ted)?\b",
            ),
        ),
        (
            RecordType::Test,
            r"(?i)\b(?:which|what) tests?\b|\bdid the tests? (?:pass|fail)\b",
        ),
        (
            RecordType::Lesson,
            r"(?i)\b(?:which|what) lessons?\b|\b(?:did|have) (?:i|we) learn(?:ed|t)?\b",
        ),
    ]
    .map(|(asked, text)| (asked, compile_pattern(text)))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_a_type_compiles() {
        assert!(ASKED_TYPES.iter().all(|it| it.1.is_some()));
    }

    #[test]
    fn what_is_plainly_asked_for_is_seen_and_what_is_mentioned_is_not() {
        for (query, expected) in [
            ("which command lists the open ports", RecordType::Command),
            (
                "what was the exact command for the backup",
                RecordType::Command,
            ),
            ("what did we decide about money", RecordType::Decision),
            ("what was decided on november 2nd", RecordType::Decision),
            ("when did I commit the fix", RecordType::Commit),
            ("commits by andrew gallant about globs", RecordType::Commit),
            ("which tests failed in the cart", RecordType::Test),
            ("what have we learned about timeouts", RecordType::Lesson),
        ] {
            assert_eq!(find_asked_type(query), Some(expected), "{query}");
        }
        for query in [
            "who is in command of the fleet",
            "why does the commit hook fail",
            "is the test server up",
            "how do I decide between the two",
        ] {
            assert_eq!(find_asked_type(query), None, "{query}");
        }
    }
}
