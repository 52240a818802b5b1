//! Cues of a text for the ranking: it mentions a time, it is a standing instruction, it only asks,
//! it is a prompt that states nothing.
//! The cues are computed once, when the text is pushed.

use std::sync::LazyLock;

use regex::Regex;
use reprise_types::{BinaryCodec, ByteReader, ByteWriter};

const SCANNED_BYTES_MAX: usize = 1500;

/// The text mentions a time.
const DATED: u8 = 1;
/// The text is a standing instruction or preference.
const INSTRUCTION: u8 = 2;
/// Every sentence is a question.
const ONLY_ASKS: u8 = 4;
/// The text is a prompt that states nothing.
const BARE_PROMPT: u8 = 8;
/// The text is a prompt that also states something.
const INFORMATIVE_PROMPT: u8 = 16;

/// The cues of one text, one bit each, as stored in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cues(u8);

impl BinaryCodec for Cues {
    fn encode(&self, out: &mut ByteWriter) {
        self.0.encode(out);
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        Self::from_bits(r.read_u8()?)
    }
}

impl Cues {
    /// Detects the cues of a text. `is_prompt` means that a person sent it to an agent.
    pub(crate) fn from_text(text: &str, is_prompt: bool) -> Self {
        let scanned = &text[..text.floor_char_boundary(SCANNED_BYTES_MAX)];
        let mut bits = 0;
        if DATE_OR_TIME.as_ref().is_some_and(|p| p.is_match(scanned)) {
            bits |= DATED;
        }
        if STANDING_RULE.as_ref().is_some_and(|p| p.is_match(scanned)) {
            bits |= INSTRUCTION;
        }
        let only_asks = || {
            split_sentences(scanned).next().is_some() && split_sentences(scanned).all(is_question)
        };
        let wants_cause = is_prompt && has_match(&WANTS_CAUSE, scanned);
        // A prompt that asks for a cause says what goes wrong, and answers nothing.
        let states =
            |sentence: &str| is_statement(sentence) && !(wants_cause && is_symptom(sentence));
        let has_statement = || bits & INSTRUCTION != 0 || split_sentences(scanned).any(states);
        bits |= if is_prompt {
            if has_statement() {
                INFORMATIVE_PROMPT
            } else {
                BARE_PROMPT
            }
        } else {
            u8::from(only_asks()) * ONLY_ASKS
        };
        Self(bits)
    }

    /// Returns the cues of stored bits; `None` for unknown bits.
    fn from_bits(bits: u8) -> Option<Self> {
        (bits & !(DATED | INSTRUCTION | ONLY_ASKS | BARE_PROMPT | INFORMATIVE_PROMPT) == 0)
            .then_some(Self(bits))
    }

    pub(crate) fn is_dated(self) -> bool {
        self.0 & DATED != 0
    }

    pub(crate) fn is_instruction(self) -> bool {
        self.0 & INSTRUCTION != 0
    }

    pub(crate) fn only_asks(self) -> bool {
        self.0 & ONLY_ASKS != 0
    }

    pub(crate) fn is_bare_prompt(self) -> bool {
        self.0 & BARE_PROMPT != 0
    }

    pub(crate) fn is_informative_prompt(self) -> bool {
        self.0 & INFORMATIVE_PROMPT != 0
    }
}

/// Splits a text into sentences, each with its end mark; a line break also ends one.
fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| matches!(c, '?' | '!' | '\n' | '\u{3002}' | '\u{ff1f}');
    let lines = text.split_inclusive(is_end);
    let parts = lines.flat_map(|line| line.split_inclusive(". "));
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// Whether a sentence only asks. `I am on Flask, how do I add a route?` states something first.
fn is_question(sentence: &str) -> bool {
    let is =
        |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|p| p.is_match(sentence));
    is(&QUESTION_START) || (sentence.ends_with(['?', '\u{ff1f}']) && !is(&STATEMENT))
}

/// Whether a sentence of a prompt states a fact: the speaker does or has something, or a thing is
/// so. A request to the agent is no statement.
fn is_statement(sentence: &str) -> bool {
    let is =
        |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|p| p.is_match(sentence));
    !is_question(sentence) && !is(&REQUEST) && is(&STATEMENT)
}

/// Whether a sentence says that something goes wrong, and not why.
fn is_symptom(sentence: &str) -> bool {
    has_match(&SYMPTOM, sentence) && !has_match(&CAUSE, sentence)
}

fn has_match(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|p| p.is_match(text))
}

/// Requests to find out why something goes wrong, or to end that.
static WANTS_CAUSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:find out (?:why|what|where|how)|figure (?:it )?out|look into (?:it|this|that|why)",
        r"|investigate|debug (?:it|this|that)|track (?:it|this) down|get to the bottom",
        r"|(?:please|can you|could you) (?:fix|check|look|find)|fix (?:it|this|that)\b)",
    ))
});

/// States of what does not do what it should.
static SYMPTOM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:flaky|fail(?:s|ed|ing|ure)?|broken|wrong|hangs?|hanging|stuck|crash(?:es|ed|ing)?",
        r"|errors?|slow|missing|off by|tim(?:es|ed|ing) out|leak(?:s|ing)?|panics?|lost",
        r"|(?:does|do|is|are)(?:n't| not)|won't|can't|cannot|instead of|red)\b",
    ))
});

/// Words before a cause, which answers.
static CAUSE: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_pattern(r"(?i)\b(?:because|since|due to|caused by|the cause)\b"));

/// Beginnings of a question, which may lack its question mark.
static QUESTION_START: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^(?:(?:and|so|but|ok|hey|hi|please),? )*(?:who|whom|whose|what|when|where|why|which",
        r"|how|did|does|do|is|are|was|were|can|could|will|would|should|have|has",
        r"|wer|was|wann|wo|warum|welche[rsmn]?|wie|qui|que|quoi|quand|o\u{f9}|pourquoi|comment",
        r"|quien|qu\u{e9}|qui\u{e9}n|cu\u{e1}ndo|d\u{f3}nde|c\u{f3}mo)\b",
    ))
});

/// Phrases of a request to the agent.
static REQUEST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:i|we)(?:'d| would| want| need| wish)? (?:like|want|need|wish|to)\b",
        r"|^(?:please|let'?s|can|could|help|tell|show|explain|write|make|add|fix)\b",
    ))
});

/// A speaker with a verb at the start of a clause, or a thing with its state. A sentence that
/// begins with "this" or "it" depends on its context and states nothing by itself.
static STATEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)(?:^(?:\S+ ){0,3}|[,;:(] |\b(?:because|since|but|and) )",
        r"(?:i|we)(?:'m|'ve|'re|'ll|'d| \p{L}+)",
        r"|^(?:the|a|an|our|my|your|note|remember|fyi)\b.*",
        r"\b(?:is|are|was|were|has|have|needs?|uses?|lives?|runs?|must|should|cannot|can't",
        r"|doesn't|does not|won't)\b",
    ))
});

/// Words and formats that date an event.
static DATE_OR_TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:yesterday|today|tonight|tomorrow|ago|recently|since|deadline|the other day",
        r"|(?:last|next|this) (?:night|morning|week|weekend|month|year|summer|winter|spring|fall",
        r"|autumn|few|past|monday|tuesday|wednesday|thursday|friday|saturday|sunday)",
        r"|january|february|march|april|may \d|june|july|august|september|october|november",
        r"|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday",
        r"|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d",
        r"|(?:years?|months?|weeks?))\b",
    ))
});

/// Beginnings of a rule that holds from then on.
static STANDING_RULE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^\W*(?:please )?(?:always|never|whenever|from now on|remember (?:to|that)",
        r"|make sure (?:to|you)|do not|don't|i always|i never|i like to|only )",
        r"|\b(?:i prefer|i'd prefer|i would prefer|i'd rather|i would rather|from now on",
        r"|going forward)\b",
    ))
});

/// Compiles a constant pattern; the tests of this file prove that all compile.
fn compile_pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_tell_a_time_are_seen() {
        for text in [
            "We met YESTERDAY.",
            "in May 2023",
            "on the 3rd",
            "since then",
            "two weeks ago",
        ] {
            assert!(Cues::from_text(text, false).is_dated(), "{text}");
        }
        for text in ["You may go.", "The weekly", "port 5000", ""] {
            assert!(!Cues::from_text(text, false).is_dated(), "{text}");
        }
    }

    #[test]
    fn standing_instructions_are_seen() {
        for text in [
            "Always show the units.",
            "please never use tabs",
            "I prefer short answers",
        ] {
            assert!(Cues::from_text(text, false).is_instruction(), "{text}");
        }
        for text in ["It always rains here.", "What do you prefer?", "ever"] {
            assert!(!Cues::from_text(text, false).is_instruction(), "{text}");
        }
    }

    #[test]
    fn only_bits_with_a_meaning_are_read_back() {
        let cues = Cues::from_text("From now on we meet on Monday", false);
        assert_eq!(Cues::from_bits(cues.0), Some(cues));
        assert!(cues.is_dated() && cues.is_instruction());
        assert_eq!(Cues::from_bits(32), None);
    }

    #[test]
    fn what_only_asks_is_told_from_what_tells() {
        for text in [
            "Why did we leave Heroku?",
            "what did Ann paint last summer",
            "Hey, who has the key? And since when?",
            "\u{8c01}\u{6709}\u{94a5}\u{5319}\u{ff1f}",
        ] {
            assert!(Cues::from_text(text, false).only_asks(), "{text}");
        }
        for text in [
            "We left Heroku in May. Was that wise?",
            "I'm on Flask 2.3.1. How do I add a route?",
            "I am on Flask 2.3.1, how do I add a route?",
            "Fix the flaky test",
        ] {
            assert!(!Cues::from_text(text, false).only_asks(), "{text}");
        }
    }

    #[test]
    fn a_prompt_that_tells_nothing_is_a_lead() {
        for text in [
            "why is the checkout total wrong with a coupon",
            "Fix the flaky login test in CI",
            "I want to add a route for carts. Please write a test for it.",
            "rename variable foo to bar",
            "Display folders even if we do not own them",
            "Add an option `--glob`. This is an alias that is useful on Windows",
            "the login test is flaky in CI, it fails one time in five. please find out why",
            "The checkout page shows the wrong total. Can you look into it?",
            "The refund job is stuck. Fix it",
        ] {
            assert!(Cues::from_text(text, true).is_bare_prompt(), "{text}");
            assert!(!Cues::from_text(text, false).is_bare_prompt(), "{text}");
        }
        for text in [
            "We use pnpm here. Fix the build",
            "The staging host is 10.0.0.4, deploy there",
            "from now on never push to main",
            "Retry it because we run behind a proxy",
            "The login test is flaky because the clock is not frozen. Please fix it",
            "The staging host is 10.0.0.4. The deploy fails, find out why",
        ] {
            let cues = Cues::from_text(text, true);
            assert!(
                cues.is_informative_prompt() && !cues.is_bare_prompt(),
                "{text}"
            );
        }
    }
}
