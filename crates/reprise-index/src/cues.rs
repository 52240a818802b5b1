//! Cues of a text for the ranking: that it states a time, that it is a standing instruction.
//!
//! Computed once, when the text is pushed.

use std::sync::LazyLock;

use regex::Regex;

/// Bytes of a text that are looked at.
const LOOK_BYTES: usize = 1500;

/// The text states a time.
const DATED: u8 = 1;
/// The text is a standing instruction or preference.
const INSTRUCTION: u8 = 2;

/// The cues of one text, one bit each, as stored in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cues(u8);

impl Cues {
    pub(crate) fn of(text: &str) -> Self {
        let look = &text[..text.floor_char_boundary(LOOK_BYTES)];
        let mut bits = 0;
        if TIME.as_ref().is_some_and(|p| p.is_match(look)) {
            bits |= DATED;
        }
        if STANDING.as_ref().is_some_and(|p| p.is_match(look)) {
            bits |= INSTRUCTION;
        }
        Self(bits)
    }

    /// `None` for unknown bits.
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        (bits & !(DATED | INSTRUCTION) == 0).then_some(Self(bits))
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn is_dated(self) -> bool {
        self.0 & DATED != 0
    }

    pub(crate) fn is_instruction(self) -> bool {
        self.0 & INSTRUCTION != 0
    }
}

/// Words and formats that date an event.
static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:yesterday|today|tonight|tomorrow|ago|recently|since|deadline|the other day",
        r"|(?:last|next|this) (?:night|morning|week|weekend|month|year|summer|winter|spring|fall",
        r"|autumn|few|past|monday|tuesday|wednesday|thursday|friday|saturday|sunday)",
        r"|january|february|march|april|may \d|june|july|august|september|october|november",
        r"|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday",
        r"|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d",
        r"|(?:years?|months?|weeks?))\b",
    ))
});

/// How people begin a rule that is to hold from then on.
static STANDING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^\W*(?:please )?(?:always|never|whenever|from now on|remember (?:to|that)",
        r"|make sure (?:to|you)|do not|don't|i always|i never|i like to|only )",
        r"|\b(?:i prefer|i'd prefer|i would prefer|i'd rather|i would rather|from now on",
        r"|going forward)\b",
    ))
});

/// Compiles a constant pattern; the tests of this file show that all compile.
fn pattern(text: &str) -> Option<Regex> {
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
            assert!(Cues::of(text).is_dated(), "{text}");
        }
        for text in ["You may go.", "The weekly", "port 5000", ""] {
            assert!(!Cues::of(text).is_dated(), "{text}");
        }
    }

    #[test]
    fn standing_instructions_are_seen() {
        for text in [
            "Always show the units.",
            "please never use tabs",
            "I prefer short answers",
        ] {
            assert!(Cues::of(text).is_instruction(), "{text}");
        }
        for text in ["It always rains here.", "What do you prefer?", "ever"] {
            assert!(!Cues::of(text).is_instruction(), "{text}");
        }
    }

    #[test]
    fn only_bits_with_a_meaning_are_read_back() {
        let cues = Cues::of("From now on we meet on Monday");
        assert_eq!(Cues::from_bits(cues.bits()), Some(cues));
        assert!(cues.is_dated() && cues.is_instruction());
        assert_eq!(Cues::from_bits(4), None);
    }
}
