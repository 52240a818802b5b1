//! Reading a question: what it is about, and what kind of answer it asks for.
//!
//! People frame what they ask of a memory ("can you list the order in which I mentioned ..."); the
//! frame is the same whatever they ask and says nothing about what is sought. What is left is what
//! is embedded and what is looked up by its words.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use reprise_types::limits::QUERY_BYTES_MAX;
use reprise_types::{EmbedError, Embedder, Embedding};

/// A question is left as it is where less would remain than so many words ...
const WORDS_MIN: usize = 2;
/// ... of so many letters.
const LETTERS_MIN: usize = 3;
/// Frames are looked for in questions up to this length; a longer one is a document.
const FRAMED_BYTES_MAX: usize = 1024;

/// What a question asks for beside its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    /// For a point or a stretch of time.
    pub(super) when: bool,
    /// For what the assistant said, not the user.
    pub(super) assistant: bool,
    pub(super) asking: bool,
}

impl Asked {
    pub(super) fn of(query: &str) -> Self {
        let query = &query[..query.floor_char_boundary(FRAMED_BYTES_MAX)];
        Self {
            when: WHEN.as_ref().is_some_and(|p| p.is_match(query)),
            assistant: ASSISTANT.as_ref().is_some_and(|p| p.is_match(query)),
            asking: ASKING.as_ref().is_some_and(|p| p.is_match(query)),
        }
    }
}

/// What the question is about: the text to embed and to look up. Without frames of asking, and cut
/// to `QUERY_BYTES_MAX`; the whole question where nothing would be left.
#[must_use]
pub fn subject(query: &str) -> Cow<'_, str> {
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
    let rest = tidied(&rest);
    let words = rest.split(|c: char| !c.is_alphabetic());
    let left = words
        .filter(|word| word.chars().count() >= LETTERS_MIN)
        .count();
    if left < WORDS_MIN {
        return Cow::Borrowed(query);
    }
    Cow::Owned(rest)
}

/// The vector of a question: of its [`subject`]. Whoever asks and whoever tells how it went must
/// come by the same one, or an outcome teaches about another question.
pub fn question_vector(embedder: &mut dyn Embedder, query: &str) -> Result<Embedding, EmbedError> {
    Ok(Embedding {
        space: embedder.space().clone(),
        vector: embedder.embed_query(&subject(query))?,
    })
}

/// One space between words, none before punctuation, no mark twice.
fn tidied(text: &str) -> String {
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
    .map(pattern)
});

static WHEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^\s*(?:when|what (?:date|day|month|year|time)|how long|since when",
        r"|which (?:month|year|date|day)|in what (?:month|year))\b",
        r"|\bhow many (?:days|weeks|months|years)\b|\bwhen (?:is|was|did|does|will|are|were)\b",
    ))
});

static ASSISTANT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:did|have|had|do) you (?:\w+ )?(?:recommend|suggest|advise|give|tell|told|say|said",
        r"|explain|provide|propose|help|show|write|describe|mention)",
        r"|\byou (?:recommended|suggested|advised|gave|told|explained|provided|proposed|showed",
        r"|wrote|described|mentioned|said)\b",
    ))
});

static ASKING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:did|have|had|has|do) (?:i|we|he|she|they) (?:\w+ )?(?:ask|prompt)(?:ed)?\b")
});

/// Compiles a constant pattern; the tests of this file show that all compile.
pub(super) fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(FRAMES.iter().all(Option::is_some));
        assert!(WHEN.is_some() && ASSISTANT.is_some() && ASKING.is_some());
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
            // Nothing would be left of these.
            (
                "Can you tell me what we discussed so far?",
                "Can you tell me what we discussed so far?",
            ),
            ("", ""),
            ("?", "?"),
        ] {
            assert_eq!(subject(query), expected);
        }
    }

    #[test]
    fn a_document_as_a_question_is_cut_and_otherwise_left_alone() {
        let long = "can you tell me about the weather ".repeat(3_000);
        assert_eq!(subject(&long), &long[..QUERY_BYTES_MAX]);
        let wide = "\u{1f600}".repeat(10_000);
        assert!(subject(&wide).len() <= QUERY_BYTES_MAX);
    }

    #[test]
    fn what_is_asked_for_is_seen() {
        let asked = |when, assistant| Asked {
            when,
            assistant,
            asking: false,
        };
        for (query, expected) in [
            ("When did Ann move?", asked(true, false)),
            ("How many days were between the two?", asked(true, false)),
            ("Which library did you recommend?", asked(false, true)),
            ("What did I tell you?", asked(false, false)),
            ("whenever it rains", asked(false, false)),
        ] {
            assert_eq!(Asked::of(query), expected, "{query}");
        }
    }
}
