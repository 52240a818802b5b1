//! What a person's prompt to an agent tells. The rest of it asks, orders or complains, and leads to
//! what came of it.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::compile_pattern;
use super::prompt_aim::{PromptAim, orders_in_german};

/// Longest beginning of a prompt in bytes that is read.
const READ_BYTES_MAX: usize = 1500;
/// Most words of its own of an answer that only takes note of what was told.
const NEW_WORDS_MAX: usize = 9;
/// Fewest letters of a word that counts for that.
const LETTERS_MIN: usize = 3;

/// Returns the clauses of a prompt that tell something, and whether it has others, too.
#[must_use]
pub fn read_told_clauses(prompt: &str) -> (Vec<&str>, bool) {
    let prompt = &prompt[..prompt.floor_char_boundary(READ_BYTES_MAX)];
    let clauses =
        prompt.split_inclusive(['.', '!', '?', ';', ':', ',', '\n', '\u{3002}', '\u{ff1f}']);
    let mut told = Vec::new();
    let mut leads_on = false;
    let mut start = 0;
    let mut end = 0;
    for part in clauses {
        end += part.len();
        // A mark within a word, a number or a path ends no clause.
        let ends = prompt[end..].chars().next().is_none_or(char::is_whitespace);
        if !ends && !part.ends_with(['\n', '\u{3002}', '\u{ff1f}']) {
            continue;
        }
        let clause = prompt[start..end].trim();
        start = end;
        if !clause.contains(char::is_alphanumeric) {
            continue;
        }
        let is_told = !complains(clause)
            && !recurs(clause)
            && !orders_in_german(clause)
            && PromptAim::from_prompt(clause) == PromptAim::Telling;
        if is_told {
            told.push(clause);
        }
        leads_on |= !is_told;
    }
    (told, leads_on)
}

/// Returns whether a text says that something goes wrong.
pub(crate) fn complains(text: &str) -> bool {
    let has = |pattern: &LazyLock<Option<Regex>>| {
        let pattern = pattern.as_ref();
        pattern.is_some_and(|pattern| pattern.is_match(text))
    };
    has(&TROUBLE) && !has(&MANNER)
}

/// Returns whether a text says that something happens once more.
fn recurs(text: &str) -> bool {
    let has = |pattern: &LazyLock<Option<Regex>>| {
        let pattern = pattern.as_ref();
        pattern.is_some_and(|pattern| pattern.is_match(text))
    };
    has(&AGAIN) && !has(&MANNER)
}

/// Returns whether a question asks for a fact: for a thing, a place, a number, or a yes or no.
#[must_use]
pub fn asks_for_fact(question: &str) -> bool {
    let asks = FACT_ASKED.as_ref();
    asks.is_some_and(|pattern| pattern.is_match(question)) && !complains(question)
}

/// Returns whether an answer to a prompt only takes note of it: it has hardly a word of its own.
#[must_use]
pub fn only_takes_note(prompt: &str, answer: &str) -> bool {
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let long = words.filter(|word| word.chars().count() >= LETTERS_MIN);
        long.map(str::to_lowercase).collect::<HashSet<String>>()
    };
    let said = words(prompt);
    words(answer).difference(&said).count() <= NEW_WORDS_MAX
}

/// Words that say that something does not do what it should.
static TROUBLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:flaky|fail(?:s|ed|ing|ure|ures)?|broken|breaks|wrong|hangs?|hanging|stuck",
        r"|crash(?:es|ed|ing)?|slow(?:er|ly)?|missing|off by|tim(?:es|ed|ing) out|time-?outs?",
        r"|leak(?:s|ing)?|panics?|diverges?|freezes?|frozen|stale|expired|rejected|refuses|dies",
        r"|too (?:big|large|long|slow|many|much|small|few|low|high)|(?:does|do|is|are)(?:n't| not)",
        r"|won't|lost|loses|doubled?|twice|negative|explod(?:es|ed|ing)|blows up|red",
        r"|langsam(?:er)?|kaputt|bricht (?:\w+ )*ab|h\u{e4}ngt|h\u{e4}ngen|fehlt|fehlen|scheitert",
        r"|scheitern|falsch\w*|st\u{fc}rzt|abst\u{fc}rz\w*|absturz|schl\u{e4}gt (?:\w+ )*fehl",
        r"|zeit\u{fc}berschreitung|(?:geht|gehen|funktioniert|funktionieren|l\u{e4}uft) nicht",
        r"|zu (?:gro\u{df}|lang|langsam|klein|viele?|hoch|niedrig)|doppelt|negativ|veraltet|rot)\b",
    ))
});

/// Words of a rule, a correction or a cause: what is wrong there is not complained of.
static MANNER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:must|should|shall|never|always|may not|because|due to|caused by|the (?:root )?cause",
        r"|the fix|fixed|we (?:use|keep|decided|agreed|go with|no longer)|no longer|instead of|not any ?more",
        r"|fine|okay|allowed|works?|erlaubt|in ordnung|geht",
        r"|(?:use|used|is|are|was|were|has|have|had) the wrong",
        r"|muss|m\u{fc}ssen|soll|sollen|darf|d\u{fc}rfen|nie|niemals|immer|weil|ursache",
        r"|wir (?:nutzen|verwenden|nehmen|benutzen)|nicht mehr|sondern)\b",
        // What is so and not otherwise corrects.
        r"|\b(?:is|are|was|were|ist|sind|war|waren|hei\u{df}t)\b[^,]*, (?:not|nicht)\b",
    ))
});

/// Words that say that something happens once more.
static AGAIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_pattern(r"(?i)\b(?:again|once more|wieder|erneut|schon wieder)\b"));

/// Beginnings of a question for a fact.
static FACT_ASKED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^(?:(?:and|so|but|ok|hey|hi|please),? )*(?:what|which|who|whom|whose|where|when",
        r"|how (?:many|much|long|often|big|large|old)|is|are|am|was|were|do|does|did|has|have|can",
        r"|wer|wen|wem|wessen|was|wo|wann|welche[rsmn]?|womit|wie (?:viele?|lange|oft|gro\u{df}|hei\u{df}t)",
        r"|ist|sind|hat|haben|bis wann)\b",
    ))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(AGAIN.is_some() && TROUBLE.is_some() && MANNER.is_some() && FACT_ASKED.is_some());
    }

    #[test]
    fn what_a_prompt_tells_is_told_from_what_it_asks_orders_and_complains_of() {
        for (prompt, told, leads_on) in [
            (
                "I am on Flask 2.3.1, how do I add a route?",
                &["I am on Flask 2.3.1,"][..],
                true,
            ),
            (
                "The staging host is 10.0.0.4, deploy there",
                &["The staging host is 10.0.0.4,"],
                true,
            ),
            (
                "You used the wrong table: claims live in schaden_2026.",
                &["You used the wrong table:", "claims live in schaden_2026."],
                false,
            ),
            (
                "No, the tick rate is 120 Hz, not 60 Hz.",
                &["No,", "the tick rate is 120 Hz,", "not 60 Hz."],
                false,
            ),
            ("The order import is slow again", &[], true),
            ("Die Suche nach Rechnungen ist wieder langsam", &[], true),
            ("Der Import bricht bei Umlauten ab. Behebe das", &[], true),
            (
                "Requests must not fail silently",
                &["Requests must not fail silently"],
                false,
            ),
            ("why is the total wrong?", &[], true),
            (
                "A deploy on Friday is fine again",
                &["A deploy on Friday is fine again"],
                false,
            ),
            ("the gpu is idle most of the time again", &[], true),
        ] {
            assert_eq!(
                read_told_clauses(prompt),
                (told.to_vec(), leads_on),
                "{prompt}"
            );
        }
    }

    #[test]
    fn an_answer_that_takes_note_is_told_from_one_that_finds_something_out() {
        for (prompt, answer, takes_note) in [
            (
                "The tick rate is 30 Hz, not 60 Hz",
                "Sorry, `TICK_HZ` is 30 now.",
                true,
            ),
            (
                "Die Halle hei\u{df}t Nord",
                "Verstanden, ich nenne sie Nord.",
                true,
            ),
            (
                "Players jump when their ping is above 150 ms",
                "The buffer of the interpolation was smaller than the jitter of the network, so \
                 snapshots came too late; it grows with the measured jitter now.",
                false,
            ),
        ] {
            assert_eq!(only_takes_note(prompt, answer), takes_note, "{answer}");
        }
    }

    #[test]
    fn a_question_for_a_fact_is_told_from_a_complaint() {
        for question in [
            "am I on Flask",
            "which port is it",
            "Womit drucken wir?",
            "is it on 8080",
        ] {
            assert!(asks_for_fact(question), "{question}");
        }
        for question in [
            "is the export slow again",
            "the export hangs",
            "why is it red",
        ] {
            assert!(!asks_for_fact(question), "{question}");
        }
    }
}
