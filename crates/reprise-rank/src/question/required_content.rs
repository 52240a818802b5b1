//! What a question requires that a text may lack: a name that it mentions, and an amount. A text
//! that lacks it may be similar, and is hardly the answer.
//!
//! Measured on the notes of `notes-dev`: of right first answers 1 % name nobody of the question, of
//! first results to questions without an answer 51 %. Who, where and when were tried too: people
//! and places have no form that marks them, and the time of an event is the record's own time.

use std::sync::LazyLock;

use regex::Regex;
use reprise_types::MemoryRecord;

use super::compile_pattern;
use crate::names::terms::visit_metadata;

/// Longest question in bytes that is read; a longer one is a document.
const QUESTION_BYTES_MAX: usize = 512;
/// Most names of one question; one with more is a headline.
const NAMES_MAX: usize = 4;
/// Words that are written like names and are none.
const NO_NAMES: &str = "january february march april may june july august september october \
    november december monday tuesday wednesday thursday friday saturday sunday english the what who when \
    where why how which did does is are was were do can could would should has have had according";
/// Words that a question begins with.
const ASKING: &str = "what who whose whom when where which why how did does do is are was were has \
    have had can could would should may will";
/// Words of a language that capitalises more than names.
const GERMAN: &str = "der das und ist wir hat haben ich nicht ein eine wie wann wer wo den dem von";

static AMOUNT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let asks = concat!(
        r"(?i)\bhow (?:many|much|old|often|long|tall|heavy|large)\b",
        r"|\b(?:phone|telephone) number\b|\b(?:salary|price|wage|age)\b"
    );
    compile_pattern(asks)
});
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let number = concat!(
        r"(?i)\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred",
        r"|thousand|half|once|twice|few|several|every|daily|weekly|monthly|yearly|often|always",
        r"|never|rarely|sometimes|since|until|years?|months?|weeks?|days?)\b"
    );
    compile_pattern(number)
});

/// What one question requires.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequiredContent {
    /// The names that it mentions, in small letters.
    names: Vec<String>,
    wants_number: bool,
}

impl RequiredContent {
    pub fn from_question(question: &str) -> Self {
        if question.len() > QUESTION_BYTES_MAX {
            return Self::default();
        }
        Self {
            names: find_names(question),
            wants_number: AMOUNT.as_ref().is_some_and(|asks| asks.is_match(question)),
        }
    }

    /// Describes what a record lacks, for people; `None` if it lacks nothing.
    pub(crate) fn describe_missing(&self, record: &MemoryRecord) -> Option<String> {
        let mut values = String::new();
        if !self.names.is_empty() {
            visit_metadata(&record.metadata, "", 1, &mut |_, value| {
                values.push(' ');
                values.push_str(&value);
            });
        }
        self.describe_missing_in(&record.text, &values)
    }

    fn describe_missing_in(&self, text: &str, metadata_values: &str) -> Option<String> {
        if !self.names.is_empty() {
            let lower = text.to_lowercase();
            let is_named = |name: &String| lower.contains(name) || metadata_values.contains(name);
            if !self.names.iter().any(is_named) {
                return Some(format!("does not name {}", self.names.join(" or ")));
            }
        }
        let has_number = || NUMBER.as_ref().is_none_or(|number| number.is_match(text));
        (self.wants_number && !has_number()).then(|| "has no number".to_owned())
    }
}

/// Returns the words of a question that are written like names. The first word of a sentence counts
/// only if it owns something: `Olga's`. A text that asks nothing names things of its own, which
/// other words may name too.
fn find_names(question: &str) -> Vec<String> {
    let is_one_of = |list: &str, word: &str| list.split(' ').any(|known| known == word);
    let mut names = Vec::new();
    let first = question
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    let asks = is_one_of(ASKING, &first.to_lowercase()) || question.trim_end().ends_with('?');
    let mut begins = true;
    for whole in question.split_whitespace() {
        let ends = whole.ends_with(['.', '!', '?', ':']);
        let whole = whole.trim_matches(|c: char| !c.is_alphanumeric());
        let owner = whole
            .strip_suffix("'s")
            .or_else(|| whole.strip_suffix("\u{2019}s"));
        let word = owner.unwrap_or(whole);
        let lower = word.to_lowercase();
        if is_one_of(GERMAN, &lower) {
            return Vec::new();
        }
        let mut letters = word.chars();
        let is_name = letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_lowercase)
            && letters.all(char::is_lowercase);
        let is_meant = owner.is_some() || (asks && !begins);
        if is_name && is_meant && !is_one_of(NO_NAMES, &lower) {
            names.push(lower);
        }
        begins = ends;
    }
    if names.len() > NAMES_MAX {
        names.clear();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(AMOUNT.is_some() && NUMBER.is_some());
    }

    #[test]
    fn whom_a_text_does_not_name_and_which_amount_it_does_not_tell_is_seen() {
        for (question, text, lacks) in [
            (
                "What is Olga's age",
                "Olga plays chess",
                Some("has no number"),
            ),
            ("What is Olga's age", "Olga is 31", None),
            (
                "Who is Olga\u{2019}s boss",
                "Marek has a boss",
                Some("does not name olga"),
            ),
            (
                "Olga's boss",
                "Marek has a boss",
                Some("does not name olga"),
            ),
            ("did Ann and Bo meet in May", "Ann was there", None),
            ("Fix the API in March", "the api was mended", None),
            (
                "how many eggs does the cake need",
                "The cake is with Olga",
                Some("has no number"),
            ),
            ("how long is the lease", "The lease ends in two years", None),
            ("was hat der Zahnarzt gesagt", "Die Krone kostet viel", None),
            ("Kestrel is full", "the disk of the host", None),
            ("Fix paths on Windows", "mend separators", None),
            ("", "", None),
        ] {
            let lacked = RequiredContent::from_question(question).describe_missing_in(text, "");
            assert_eq!(lacked.as_deref(), lacks, "{question}");
        }
    }
}
