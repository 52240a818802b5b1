//! Reads a question: its subject, and the kind of answer that it asks for.
//!
//! People frame what they ask of a memory ("can you list the order in which I mentioned ..."); the
//! frame is the same whatever they ask and says nothing about the subject. The rest is embedded and
//! looked up by its words.

pub(crate) mod asked_type;
pub(crate) mod prompt_aim;
pub(crate) mod prompt_parts;
pub(crate) mod required_content;
pub(crate) mod times;
pub(crate) mod told;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use reprise_types::limits::QUERY_BYTES_MAX;
use reprise_types::{EmbedError, Embedder, Embedding};

/// Fewest words of a subject; with fewer left the whole question is the subject.
const WORDS_MIN: usize = 2;
/// Fewest letters of a word that counts for that.
const LETTERS_MIN: usize = 3;
/// Longest question in bytes in which frames are looked for; a longer one is a document.
const FRAMED_BYTES_MAX: usize = 1024;

/// What a question asks for in addition to its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a question may ask for several of them"
)]
pub struct QuestionTraits {
    /// It asks for a point or a stretch of time.
    pub asks_when: bool,
    /// It asks for what the assistant said, not the user.
    pub asks_assistant: bool,
    /// It asks for what the user said or wanted.
    pub asks_user: bool,
    /// It asks for earlier questions or prompts.
    pub asks_for_questions: bool,
}

impl QuestionTraits {
    pub fn from_question(query: &str) -> Self {
        let query = &query[..query.floor_char_boundary(FRAMED_BYTES_MAX)];
        Self {
            asks_when: WHEN.as_ref().is_some_and(|p| p.is_match(query)),
            asks_assistant: ASSISTANT.as_ref().is_some_and(|p| p.is_match(query)),
            asks_user: USER.as_ref().is_some_and(|p| p.is_match(query)),
            asks_for_questions: ASKING.as_ref().is_some_and(|p| p.is_match(query)),
        }
    }
}

/// Returns the subject of a question, which is the text to embed and to look up: the question
/// without frames of asking, cut to `QUERY_BYTES_MAX`; the whole question if nothing else would be
/// left.
#[must_use]
pub fn question_subject(query: &str) -> Cow<'_, str> {
    let query = &query[..query.floor_char_boundary(QUERY_BYTES_MAX)];
    if query.len() > FRAMED_BYTES_MAX {
        return Cow::Borrowed(query);
    }
    let mut rest = Cow::Borrowed(query);
    for frame in FRAMES.iter().flatten() {
        if frame.is_match(&rest) {
            rest = Cow::Owned(frame.replace_all(&rest, " ").into_owned());
        }
    }
    let Cow::Owned(rest) = rest else {
        return Cow::Borrowed(query);
    };
    let rest = tidy_spaces(&rest);
    let words = rest.split(|c: char| !c.is_alphabetic());
    let left = words
        .filter(|word| word.chars().count() >= LETTERS_MIN)
        .count();
    if left < WORDS_MIN {
        return Cow::Borrowed(query);
    }
    Cow::Owned(rest)
}

/// Embeds the [`question_subject`] of a question. The caller that asks and the one that reports how
/// it went must use this same vector, or an outcome teaches about another question.
pub fn embed_question(embedder: &mut dyn Embedder, query: &str) -> Result<Embedding, EmbedError> {
    Ok(Embedding {
        space: embedder.space().clone(),
        vector: embedder.embed_query(&question_subject(query))?,
    })
}

/// Puts one space between words and none before punctuation, and removes repeated marks.
fn tidy_spaces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let is_mark = word.chars().all(|c| matches!(c, ',' | '.' | '?'));
        if !out.is_empty() && !is_mark {
            out.push(' ');
        }
        if !(is_mark && out.ends_with([',', '.', '?'])) {
            out.push_str(word);
        }
    }
    out.trim_matches([' ', ',']).to_owned()
}

/// Ways to ask somebody who remembers.
static FRAMES: LazyLock<[Option<Regex>; 8]> = LazyLock::new(|| {
    [
        concat!(
            r"(?i)(?:can|could|would|will) you (?:please )?(?:list|give me|walk me through|provide",
            r"|summari[sz]e|tell me|remind me|help me (?:understand|remember)|explain|show me",
            r"|describe)(?: (?:a|the|an))?(?: (?:clear|comprehensive|brief|detailed|full|complete",
            r"|short|quick|overall))?(?: (?:summary|overview|list|order|recap|account)",
            r" (?:of|in which))?(?: (?:how|what|everything|when|where|about))?",
        ),
        concat!(
            r"(?i)\bi (?:brought up|mentioned|talked about|discussed|said|told you|asked about",
            r"|raised)(?: (?:different|various))?",
            r"(?: (?:aspects|concepts|things|topics|parts|ideas) (?:of|related to|about|in))?",
        ),
        r"(?i)\bdifferent (?:aspects|concepts|topics|parts) (?:of|related to|about)",
        concat!(
            r"(?i)\b(?:did|do|have|had|was|were|am) i (?:say|said|mention|tell you|told you|bring up",
            r"|talk about|discuss|describe|specify|state)(?:ed)?(?: that| i was| i am)?",
        ),
        concat!(
            r"(?i)\b(?:throughout|across|during|in|over) (?:all )?(?:our|my|the|these) ",
            r"(?:conversations?|discussions?|sessions?|chats?|messages)",
        ),
        r"(?i)\bin order\b|\bmention only(?: and only)? \w+ items?\b|\bso far\b",
        r"(?i)\bwe(?:'ve| have)? (?:discussed|covered|talked about)",
        r"(?i)\b(?:did|do|would) you (?:recommend|suggest|advise|tell me|propose|help me)",
    ]
    .map(compile_pattern)
});

static WHEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^\s*(?:when|what (?:date|day|month|year|time)|how long|since when",
        r"|which (?:month|year|date|day)|in what (?:month|year))\b",
        r"|\bhow many (?:days|weeks|months|years)\b|\bwhen (?:is|was|did|does|will|are|were)\b",
    ))
});

static ASSISTANT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:did|have|had|do) you (?:\w+ )?(?:recommend|suggest|advise|give|tell|told|say|said",
        r"|explain|provide|propose|help|show|write|describe|mention)",
        r"|\byou (?:recommended|suggested|advised|gave|told|explained|provided|proposed|showed",
        r"|wrote|described|mentioned|said)\b",
    ))
});

static USER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:did|have|had|do|does|was|were) (?:i|we) (?:\w+ )?(?:say|said|tell|told|mention",
        r"|want|ask|prefer|decide|agree|request|insist|instruct|order|write|wrote)(?:ed|d|red)?\b",
        r"|\b(?:i|we) (?:said|told|mentioned|wanted|asked|preferred|requested|insisted)\b",
        r"|\bmy (?:own |last |first )?(?:words|prompts?|instructions?|rules?|wish(?:es)?",
        r"|preferences?|requests?|decisions?|opinion)\b",
    ))
});

static ASKING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // `Whom do I ask about that?` asks for a person and for no question.
    compile_pattern(concat!(
        r"(?i)\b(?:(?:did|have|had|has) (?:i|we|he|she|they) (?:\w+ )?",
        r"|do (?:i|we|they) (?:often|usually|always|mostly|keep|normally) )",
        r"(?:ask|prompt)(?:ed|ing)?\b",
    ))
});

/// Compiles a constant pattern; the tests of this file show that all compile.
pub(crate) fn compile_pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(FRAMES.iter().all(Option::is_some));
        assert!(WHEN.is_some() && ASSISTANT.is_some() && USER.is_some() && ASKING.is_some());
    }

    #[test]
    fn frames_are_taken_off_and_subjects_stay() {
        for (query, expected) in [
            (
                "Can you list the order in which I brought up different aspects of the city \
                 search throughout our conversations, in order?",
                "the city search",
            ),
            (
                "What editor did I say I was using for the tests?",
                "What editor using for the tests?",
            ),
            ("What did Ann paint?", "What did Ann paint?"),
            (
                "fix the bug in the auth module",
                "fix the bug in the auth module",
            ),
            // Nothing would be left of this one.
            (
                "Can you tell me what we discussed so far?",
                "Can you tell me what we discussed so far?",
            ),
            ("", ""),
            ("?", "?"),
        ] {
            assert_eq!(question_subject(query), expected);
        }
    }

    #[test]
    fn a_document_as_a_question_is_cut_and_otherwise_left_alone() {
        let long = "can you tell me about the weather ".repeat(3_000);
        assert_eq!(question_subject(&long), &long[..QUERY_BYTES_MAX]);
        let wide = "\u{1f600}".repeat(10_000);
        assert!(question_subject(&wide).len() <= QUERY_BYTES_MAX);
    }

    #[test]
    fn who_asks_a_person_asks_for_no_question() {
        for (query, expected) in [
            ("who do I ask about kubernetes?", false),
            ("whom do we ask for a license", false),
            ("What did I ask about kubernetes?", true),
            ("what have we recently asked you", true),
            ("what do I often ask", true),
        ] {
            let asked = QuestionTraits::from_question(query).asks_for_questions;
            assert_eq!(asked, expected, "{query}");
        }
    }

    #[test]
    fn what_is_asked_for_is_seen() {
        let asked = |asks_when, asks_assistant| QuestionTraits {
            asks_when,
            asks_assistant,
            ..QuestionTraits::default()
        };
        for (query, expected) in [
            ("When did Ann move?", asked(true, false)),
            ("How many days were between the two?", asked(true, false)),
            ("Which library did you recommend?", asked(false, true)),
            (
                "What did I tell you?",
                QuestionTraits {
                    asks_user: true,
                    ..QuestionTraits::default()
                },
            ),
            ("whenever it rains", asked(false, false)),
        ] {
            assert_eq!(QuestionTraits::from_question(query), expected, "{query}");
        }
    }
}
