//! Tells whether a person's sentence sets a rule for all work to come: "we always use pnpm here".

use crate::values::is_in_words;

/// Length of a rule, in characters, and the fewest words of one.
const RULE: std::ops::RangeInclusive<usize> = 12..=400;
const WORDS_MIN: usize = 3;
/// Words before the adverb that say who follows the rule.
const WHO: &str = "we i you everybody everyone people";
/// Adverbs of a rule, and of one that forbids something.
const ALWAYS: &str = "always never only";
/// What is done on purpose. Of other verbs "always" and "never" say how something behaves: "we
/// never get an answer", "we always see it fail".
const ON_PURPOSE: &str = "\
    add ask avoid branch build call cap catch check close commit compile create define delete deploy \
    document edit escape export expose fix follow force format generate go handle hardcode import \
    indent inject inline install keep let lint log make merge mix mock move name open pass pick pin \
    prefer push put quote rebase release require respect return review rewrite run save send set \
    ship sign skip sort spell squash start stick stop store switch tag target test throw touch treat \
    use validate version want wrap write";
/// How a sentence begins that sets a rule whatever its verb is.
const BEGINNINGS: [&str; 19] = [
    "from now on",
    "from here on",
    "as a rule",
    "by convention",
    "our convention",
    "the convention is",
    "the convention here",
    "our rule",
    "the rule is",
    "the rule here",
    "house rule",
    "rule:",
    "convention:",
    "our policy",
    "ab jetzt",
    "ab sofort",
    "unsere regel",
    "regel:",
    "bei uns gilt",
];
/// How a sentence begins that tells what is done in one place: "in this repo".
const PLACES: &str = "repo repository project codebase team projekt";
/// Orders that hold for all work in such a place. Others, such as "fix", are for one piece of work.
const LASTING: &str = "use prefer keep avoid write name always never";
/// Words that begin a question.
const ASKING: &str = "\
    can could would will should shall do does did is are was were what how where who when why which \
    kann kannst soll sollen sollte was wie wo warum wann";
/// Words before the one who follows a rule that make a cause of it: "it fails because we never
/// save it".
const CAUSES: &str = "because since when if that but why as so until though";
/// The same in German: who, then the verb, then one of these adverbs.
const WHO_GERMAN: &str = "wir ich man hier";
const ALWAYS_GERMAN: &str = "immer nie niemals nur grunds\u{e4}tzlich ausschlie\u{df}lich";
/// Verbs of what is done on purpose.
const ON_PURPOSE_GERMAN: &str = "\
    benutzen benutze benutzt nutzen nutze verwenden verwende verwendet nehmen nehme schreiben schreibe \
    machen mache testen teste mergen merge committen committe bauen baue speichern speichere \
    formatieren deployen deploye pushen pushe lassen lasse setzen setze halten halte pr\u{fc}fen";

/// Returns whether a text has a sentence that sets a rule.
pub fn states_rule(text: &str) -> bool {
    split_sentences(text).any(is_rule)
}

/// Whether a person's sentence sets a rule for all work to come.
pub(super) fn is_rule(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_plain = RULE.contains(&sentence.chars().count()) && words.len() >= WORDS_MIN;
    let first = words.first().copied().unwrap_or_default();
    let asks = sentence.ends_with('?') || is_in_words(ASKING, first);
    if !is_plain || asks || sentence.contains("```") {
        return false;
    }
    let begins = BEGINNINGS.iter().any(|begins| {
        let rest = lower.strip_prefix(begins);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    });
    begins
        || is_habit(&words)
        || is_german_habit(&words)
        || is_local_habit(&words)
        || is_lasting_order(&words)
}

/// Whether somebody always or never does something on purpose: "we never merge on Fridays".
fn is_habit(words: &[&str]) -> bool {
    let told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let told = words.get(..told.count()).unwrap_or_default();
    told.windows(3).any(|three| {
        let [who, adverb, verb] = three else {
            return false;
        };
        is_in_words(WHO, who) && is_in_words(ALWAYS, adverb) && is_purpose(verb, words)
    })
}

/// Whether a sentence tells what is done in one place: "in this repo we squash every merge".
fn is_local_habit(words: &[&str]) -> bool {
    let [before, which, place, first, second, ..] = words else {
        return false;
    };
    let is_here = ["in", "for"].contains(before) && is_in_words("this our diesem", which);
    let does = match *first {
        "we" | "i" => is_purpose(second, words),
        _ => is_in_words(LASTING, first),
    };
    let does_german = is_in_words(ON_PURPOSE_GERMAN, first) && is_in_words(WHO_GERMAN, second);
    is_here && is_in_words(PLACES, place) && (does || does_german)
}

/// Whether a verb is one of what is done on purpose; "we never run into it" is not.
fn is_purpose(verb: &str, words: &[&str]) -> bool {
    let behind = words.iter().skip_while(|word| **word != verb).nth(1);
    let happens = behind.is_some_and(|word| ["into", "out"].contains(word));
    is_in_words(ON_PURPOSE, verb) && !happens
}

/// Whether a sentence does so in German: "wir benutzen immer pnpm".
fn is_german_habit(words: &[&str]) -> bool {
    words.windows(3).any(|three| {
        let [who, verb, adverb] = three else {
            return false;
        };
        let swapped = is_in_words(WHO_GERMAN, verb) && is_in_words(ON_PURPOSE_GERMAN, who);
        let plain = is_in_words(WHO_GERMAN, who) && is_in_words(ON_PURPOSE_GERMAN, verb);
        (swapped || plain) && is_in_words(ALWAYS_GERMAN, adverb)
    })
}

/// Whether a sentence orders something for all work: "always use pnpm", "use pnpm, never npm", or
/// tells what somebody does in place of something else: "we use pnpm, never npm".
fn is_lasting_order(words: &[&str]) -> bool {
    let [first, second, ..] = words else {
        return false;
    };
    let lasts = |word: &&&str| ["always", "never"].contains(*word);
    let begins = lasts(&first) && is_purpose(second, words);
    let mut told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let orders = is_in_words("use prefer keep", first)
        || is_in_words(WHO, first) && is_in_words("use prefer keep", second);
    begins || orders && told.any(|word| lasts(&word))
}

/// Splits a text into sentences, without list markers and without code between fences.
pub(super) fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code
    });
    lines.flat_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
        let mut last = ' ';
        let is_end = move |c: char| {
            let before = std::mem::replace(&mut last, c);
            c == ' ' && matches!(before, '.' | '?' | '!')
        };
        line.split_inclusive(is_end)
            .map(str::trim)
            .filter(|part| !part.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_from_what_happens_and_from_what_is_asked_for() {
        for rule in [
            "we always use pnpm in this repo",
            "We always use pnpm, never npm.",
            "use pnpm, never npm",
            "we use the bank's clock for interest, never the machine's",
            "Always use tabs in Makefiles",
            "Never commit to main.",
            "We never merge on Fridays",
            "In this repo we squash every merge",
            "From now on tests go next to the code",
            "our convention is snake case for files",
            "in this repo, use pnpm",
            "Wir benutzen immer pnpm",
            "in diesem Repo schreiben wir Tests zuerst",
            "Hier verwenden wir nie Tabs",
        ] {
            assert!(is_rule(rule), "{rule}");
        }
        for other in [
            "we never get an answer from the server",
            "we always see this test fail on Windows",
            "The login page never loads on a slow connection.",
            "we never run into this on Linux",
            "should we always use pnpm?",
            "can you always use pnpm",
            "use the handler of the refunds",
            "Add a handler for the refunds",
            "I never tested this on Windows",
            "it always uses the wrong cache",
            "never mind",
            "we use a cache, but it never answers",
            "it fails because we never save the cookie",
            "in this repo, fix the login",
            "in this repo we have a bug in the login",
            "wir sehen das immer auf Windows",
        ] {
            assert!(!is_rule(other), "{other}");
        }
    }

    #[test]
    fn a_text_states_a_rule_in_any_of_its_sentences() {
        assert!(states_rule("Add a handler. We always use pnpm here!"));
        assert!(!states_rule("Add a handler. It never answers."));
    }
}
