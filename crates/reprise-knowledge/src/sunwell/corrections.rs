//! Sentences by which a person corrects a fact: "no, the tick rate is 120 Hz, not 60 Hz", "the
//! cutoff is 15:00 now, not 16:00 any more". Each names the value that does not hold. The words are
//! of English and German.

use super::clauses::{begin_alike, first_clause, fold};
use crate::requests::{asks_for_work, split_sentences};
use crate::values::is_in_words;

/// Longest sentence that is looked at, in bytes.
const SENTENCE_BYTES_MAX: usize = 240;
/// Words that begin a correction.
const OPENERS: &str = "\
    no nope nah wrong incorrect correction actually rather sorry wait nein nee noe doch falsch \
    korrektur eigentlich berichtigung halt stimmt";
/// Phrases by which somebody says, anywhere in a sentence, who said what is wrong.
const SAID_BEFORE: [&str; 14] = [
    " as you wrote",
    " as you said",
    " as i wrote",
    " as i said",
    " i was wrong",
    " my mistake",
    " i misspoke",
    " wie du schreibst",
    " wie ich sagte",
    " falsch gesagt",
    " falsch geschrieben",
    " mein fehler",
    " vertan",
    " verschrieben",
];
/// Phrases that say in a clause of its own that something is wrong.
const WRONG: [&str; 12] = [
    "is wrong",
    "was wrong",
    "are wrong",
    "were wrong",
    "not right",
    "not true",
    "not correct",
    "is incorrect",
    "ist falsch",
    "war falsch",
    "stimmt nicht",
    "nicht richtig",
];
/// Words and phrases that say that it was another way before.
const CHANGED: [&str; 14] = [
    " now ",
    " no longer ",
    " any more ",
    " anymore ",
    " any longer ",
    " from now on ",
    " since ",
    " jetzt ",
    " nun ",
    " nicht mehr ",
    " nicht laenger ",
    " inzwischen ",
    " neuerdings ",
    " seit ",
];
/// Words before the value that does not hold, the longest first.
const DENIALS: [&str; 14] = [
    " no longer ",
    " nicht mehr ",
    " nicht laenger ",
    " and not ",
    " und nicht ",
    " instead of ",
    " rather than ",
    " anstatt ",
    " statt ",
    " not ",
    " nicht ",
    " keine ",
    " keinen ",
    " kein ",
];
/// Names of who said the value that does not hold, before a number.
const SAYERS: [&str; 8] = [
    ", you wrote ",
    ", you said ",
    ", you put ",
    ", i wrote ",
    ", i said ",
    ", it says ",
    ", da steht ",
    ", dort steht ",
];
/// Words behind a value that begin another part of a sentence.
const BEHIND_VALUE: &str = "as for in on of fuer im am auf wie";
/// Verbs before a value, behind the thing that has it.
const STATES: &str = "\
    is are was were called named has have had needs need uses use runs run lives live goes go takes take costs \
    cost starts start ends end begins expires belongs means must should may can \
    ist sind war waren hat haben braucht brauchen nutzt nutzen verwendet laeuft laufen liegt \
    liegen kostet heisst gilt gelten endet beginnt muss muessen soll sollen kommt gehoert nimmt \
    steht stehen genannt";
/// Words that name no thing and no value.
const PLAIN: &str = "\
    a an the this that these those it its there here our my your we you i they he she of on for \
    with to in at by from and or as all any more anymore longer now so only just since \
    der die das den dem des ein eine einen einem eines unser unsere mein meine es wir ihr ich sie \
    er von vom am im auf bei mit zu zum zur fuer und oder als erst mehr jetzt nun nur seit alle";
/// Most words of a value.
const VALUE_WORDS_MAX: usize = 5;
/// Words between a value and the thing that it is said of, and most other words of a sentence that
/// tells of a thing by one word.
const NEAR_WORDS: usize = 2;
/// Part of the longer of two words in which forms of one word begin alike.
const COMMON_SHARE: (usize, usize) = (3, 4);

/// What a sentence corrects.
#[derive(Debug, PartialEq, Eq)]
struct Correction {
    /// Words for the thing.
    subject: Vec<String>,
    /// The value that holds, and the one that does not.
    new: Vec<String>,
    old: Vec<String>,
    /// Whether it says that something was wrong or is another way now. Else it is one only where
    /// somebody said the old value before.
    is_certain: bool,
}

/// Returns whether a text has a sentence that corrects a fact, and names the value that was wrong.
pub fn states_correction(text: &str) -> bool {
    let mut found = split_sentences(text).filter_map(Correction::parse);
    found.any(|one| one.is_certain)
}

/// Returns whether a sentence corrects a fact if it was told otherwise: "the VAT for books is 7 %,
/// not 19 %".
pub(crate) fn may_correct(sentence: &str) -> bool {
    Correction::parse(sentence).is_some()
}

/// Returns whether a text has a sentence that corrects a fact if it was told otherwise.
pub fn may_state_correction(text: &str) -> bool {
    split_sentences(text).any(may_correct)
}

/// Returns whether a sentence of one text corrects what a sentence of the other one says.
pub(crate) fn corrects(text: &str, other: &str) -> bool {
    let mut corrections = split_sentences(text).filter_map(Correction::parse);
    corrections.any(|one| split_sentences(other).any(|said| one.is_about(said)))
}

impl Correction {
    fn parse(sentence: &str) -> Option<Self> {
        if sentence.len() > SENTENCE_BYTES_MAX || sentence.ends_with('?') {
            return None;
        }
        let all = normalize(sentence);
        if let Some(exchange) = Self::parse_exchange(&all) {
            return Some(exchange);
        }
        let denied = split_denial(&all)?;
        let (opening, claim) = split_opening(denied.claim);
        let padded = [" ", &all.replace([',', ';', ':'], ""), " "].concat();
        let is_changed = CHANGED.iter().any(|word| padded.contains(word));
        let said = SAID_BEFORE.iter().any(|phrase| padded.contains(phrase));
        let is_corrected = denied.names_sayer || said || is_opener(opening) || is_changed;
        let words: Vec<&str> = list_words(claim).collect();
        // A fault is told in the same way: "the page shows 3 rows, not 5".
        let is_fault = asks_for_work(sentence) || all.contains("please");
        let of_numbers = [claim, denied.old].into_iter().all(has_digit) && !is_fault;
        if !is_corrected && !of_numbers || asks_for_work(claim) {
            return None;
        }
        let verb = words.iter().position(|word| is_in_words(STATES, word));
        let verb = verb.or_else(|| find_verb_of_number(&words))?;
        let (subject, new) = (words.get(..verb)?, words.get(verb + 1..)?);
        let (value, behind) = split_value(first_clause(denied.old));
        let mut one = Self {
            subject: list_parts(subject),
            new: list_told(new),
            old: list_told(&value),
            is_certain: is_corrected,
        };
        if one.old.iter().all(|word| has_digit(word)) {
            one.take_numbers(&words);
        }
        // "It is port 8443, not 8080, for the gateway": the thing comes last.
        if one.subject.is_empty() {
            let rest = &denied.old[first_clause(denied.old).len()..];
            let rest: Vec<&str> = list_words(rest).collect();
            one.subject = list_parts(&[behind, rest].concat());
        }
        let has_all = !one.subject.is_empty() && !one.new.is_empty() && !one.old.is_empty();
        let is_short = one.old.len() <= VALUE_WORDS_MAX && one.old != one.new;
        let is_number =
            !denied.names_sayer && is_corrected || one.old.iter().any(|word| has_digit(word));
        (has_all && is_short && is_number).then_some(one)
    }

    /// Parses a sentence that names both values behind the thing: "the hall is called not North but
    /// Three".
    fn parse_exchange(all: &str) -> Option<Self> {
        let (claim, values) = [" nicht ", " not "]
            .iter()
            .find_map(|not| all.split_once(not))?;
        let (old, new) = [", sondern ", " sondern ", " but "]
            .iter()
            .find_map(|but| values.split_once(but))?;
        let (_, claim) = split_opening(claim);
        let words: Vec<&str> = list_words(claim).collect();
        let verb = words.iter().position(|word| is_in_words(STATES, word))?;
        let (old, new): (Vec<&str>, Vec<&str>) = (
            list_words(old).collect(),
            list_words(first_clause(new)).collect(),
        );
        let one = Self {
            subject: list_parts(words.get(..verb)?),
            new: list_told(&new),
            old: list_told(&old),
            is_certain: false,
        };
        let has_all = !one.subject.is_empty() && !one.new.is_empty() && !one.old.is_empty();
        let ends = words.len() == verb + 1;
        (has_all && ends && one.old.len().max(one.new.len()) <= VALUE_WORDS_MAX).then_some(one)
    }

    /// Takes the number for the new value, as the old one is a number, and the words before it for
    /// the thing.
    fn take_numbers(&mut self, claim: &[&str]) {
        let at = self.new.iter().position(|word| has_digit(word));
        let Some(at) = at else { return };
        let names = self.new.get(..at).unwrap_or_default();
        self.subject.extend(names.iter().cloned());
        let number = &self.new[at];
        let numbers = claim.iter().filter(|word| **word == number.as_str());
        self.new = numbers.take(1).map(|word| (*word).to_owned()).collect();
    }

    /// Whether a sentence says of the thing what does not hold.
    fn is_about(&self, said: &str) -> bool {
        let said = normalize(said);
        let words: Vec<&str> = list_words(&said).collect();
        let place = |value: &str| words.iter().position(|word| *word == value);
        let places: Option<Vec<usize>> = self.old.iter().map(|word| place(word)).collect();
        let Some(places) = places else { return false };
        let is_new = |word: &&String| !self.old.contains(word);
        let has_new = self
            .new
            .iter()
            .filter(is_new)
            .any(|word| place(word).is_some());
        let first = places.iter().copied().min().unwrap_or_default();
        let last = places.iter().copied().max().unwrap_or_default();
        let mut before = words.iter().take(first).rev().take(NEAR_WORDS);
        let is_denied =
            before.any(|word| is_in_words("not no never nicht kein keine statt instead", word));
        if has_new || is_denied {
            return false;
        }
        let parts: Vec<Vec<&str>> = words.iter().map(|word| word.split('-').collect()).collect();
        let names = |at: usize, thing: &str| {
            parts[at]
                .iter()
                .any(|part| begin_alike(part, thing, COMMON_SHARE))
        };
        let is_named = |thing: &&String| (0..words.len()).any(|at| names(at, thing));
        let named = self.subject.iter().filter(is_named).count();
        let near = first.saturating_sub(NEAR_WORDS)..(last + 1 + NEAR_WORDS).min(words.len());
        let is_near = |at: usize| self.subject.iter().any(|thing| names(at, thing));
        let others = list_telling(words.iter().copied()).count();
        if self.subject.len() == 1 {
            let others = others.saturating_sub(1 + self.old.len());
            return named == 1 && others <= NEAR_WORDS;
        }
        named * 2 >= self.subject.len() || named > 0 && near.into_iter().any(is_near)
    }
}

/// A sentence that says what does not hold.
struct Denial<'a> {
    /// The words before the denial, and the value behind it.
    claim: &'a str,
    old: &'a str,
    /// Whether it says who said so.
    names_sayer: bool,
}

/// Splits a sentence at the last words that deny a value.
fn split_denial(all: &str) -> Option<Denial<'_>> {
    let find = |phrases: &[&'static str]| {
        let found = phrases
            .iter()
            .filter_map(|one| Some((all.rfind(one)?, *one)));
        found.min_by_key(|(at, one)| (std::cmp::Reverse(at + one.len()), *at))
    };
    let sayer = find(&SAYERS).filter(|(at, one)| {
        let value = all[at + one.len()..].split(' ').next();
        value.is_some_and(has_digit)
    });
    let names_sayer = sayer.is_some();
    let (at, denial) = sayer.or_else(|| find(&DENIALS))?;
    Some(Denial {
        claim: all.get(..at)?,
        old: all.get(at + denial.len()..)?,
        names_sayer,
    })
}

/// Splits a value from the words behind it that begin another part of the sentence.
fn split_value(old: &str) -> (Vec<&str>, Vec<&str>) {
    let words: Vec<&str> = list_words(old).collect();
    let is_told = |word: &str| !is_in_words(PLAIN, word) && !is_in_words(STATES, word);
    let first = words.iter().position(|word| is_told(word)).unwrap_or(0);
    let ends = words.iter().skip(first + 1);
    let end = ends.take_while(|word| !is_in_words(BEHIND_VALUE, word));
    let end = (first + 1 + end.count()).min(words.len());
    let (value, behind) = words.split_at(end);
    (value.to_vec(), behind.to_vec())
}

/// Returns the place of the word before a number, which is a verb where no other is known.
fn find_verb_of_number(words: &[&str]) -> Option<usize> {
    let number = words.iter().position(|word| has_digit(word))?;
    let before = words.get(..number)?.iter().enumerate().rev();
    let mut before = before.filter(|(_, word)| !is_in_words(PLAIN, word));
    let (at, _) = before.next()?;
    before.next().map(|_| at)
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

/// Lists the words that name a thing, each part of a compound by itself.
fn list_parts(words: &[&str]) -> Vec<String> {
    list_telling(words.iter().copied())
        .flat_map(|word| word.split('-'))
        .map(str::to_owned)
        .collect()
}

/// Lists the words that name a value.
fn list_told(words: &[&str]) -> Vec<String> {
    let told = list_telling(words.iter().copied());
    told.map(str::to_owned).collect()
}

/// Returns a sentence in lower case without umlauts, with single spaces, whole forms of "it's" and
/// no end mark.
fn normalize(sentence: &str) -> String {
    let folded = fold(sentence);
    let folded = folded
        .replace("it's ", "it is ")
        .replace("that's ", "that is ");
    let words: Vec<&str> = folded.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '!']).to_owned()
}

/// Splits what precedes a claim from it: "no, that is wrong: the rate is 120".
fn split_opening(claim: &str) -> (&str, &str) {
    let mut start = 0;
    if let Some(at) = claim.rfind(": ") {
        start = at + 2;
    }
    while let Some(rest) = claim.get(start..) {
        let Some(at) = rest.find(", ") else { break };
        if !is_opener(&rest[..at]) {
            break;
        }
        start += at + 2;
    }
    let rest = &claim[start..];
    let first = rest.split(' ').next().unwrap_or_default();
    if start == 0 && is_in_words(OPENERS, first) {
        start = (first.len() + 1).min(claim.len());
    }
    claim.split_at(start)
}

/// Whether words say that something before was wrong.
fn is_opener(words: &str) -> bool {
    let mut each = list_words(words);
    each.any(|word| is_in_words(OPENERS, word)) || WRONG.iter().any(|wrong| words.contains(wrong))
}

/// Lists the words of a normalized text without the marks around them.
fn list_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(' ');
    words
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// Leaves out the words that name nothing.
fn list_telling<'a>(words: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    words.filter(|word| !is_in_words(PLAIN, word) && !is_in_words(STATES, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_known_by_the_value_that_it_denies() {
        for text in [
            "No, the tick rate is 120 Hz, not 60 Hz.",
            "The cutoff of the dough room is 15:00 now, not 16:00 any more.",
            "Nein, das ist falsch: Der Zebra-Drucker braucht UTF-16, nicht UTF-8 mit BOM.",
            "Nein, die Praemie ist erst am 5. faellig, nicht am 3.",
            "That's wrong, the port is 8080 instead of 3000.",
            "Actually the staging host is ada-2, not ada-1.",
            "Die Frist endet jetzt am Freitag, nicht mehr am Montag.",
            "Nee, der Puffer ist 64 kB, nicht 32.",
            "Ah no, it is port 9092 and not 9091 for the broker.",
            "The pool has 8 workers, you wrote 4 in the guide.",
            "The limit of a page is `PAGE = 50`, not 20 as you wrote.",
            "No, the bucket is called snow-2. Not snow-1!",
            "Die Sitzung dauert 20 Minuten, nicht 30, das habe ich falsch gesagt.",
        ] {
            assert!(states_correction(text), "{text}");
        }
        for text in [
            "The VAT for books is 7 %, not 19 %.",
            "Die Lagerhalle hei\u{df}t nicht Nord, sondern Halle 3.",
        ] {
            assert!(
                !states_correction(text) && may_state_correction(text),
                "{text}"
            );
        }
        assert!(!may_state_correction(
            "The total is 12, not 15, please fix it."
        ));
        for text in [
            "The button is red, not blue, please fix it",
            "The total is wrong, not the tax.",
            "No, is the tick rate 120 Hz, not 60 Hz?",
            "No, it is not.",
            "No, don't do that.",
            "Nein, nicht so.",
            "Now run the tests, not the build.",
            "The cutoff is not in the config.",
            "The test takes 8 minutes, you said it would be quick.",
            "I have 8 workers, not 4 of them busy.",
            "The build is red, my mistake.",
        ] {
            assert!(!states_correction(text), "{text}");
        }
    }

    #[test]
    fn a_correction_is_about_what_says_the_old_value_of_the_same_thing() {
        let cutoff = "The cutoff of the dough room is 15:00 now, not 16:00 any more.";
        let tick = "No, the tick rate is 120 Hz, not 60 Hz.";
        let utf = "Nein, das ist falsch: Der Zebra-Drucker braucht UTF-16, nicht UTF-8 mit BOM.";
        for (text, other) in [
            (
                cutoff,
                "The root cause was that the planner ignored the 16:00 cutoff.",
            ),
            (cutoff, "In the dough room the cutoff is 16:00."),
            (tick, "Physics: the tick rate is 60 Hz."),
            (utf, "Der Zebra-Drucker braucht immer UTF-8 mit BOM."),
            ("No, the port is 8080, not 3000.", "The port is 3000."),
            (
                "The VAT for books is 7 %, not 19 %.",
                "The VAT for books is 19 %.",
            ),
            (
                "Die Lagerhalle hei\u{df}t nicht Nord, sondern Halle 3.",
                "Die Lagerhalle hei\u{df}t Nord.",
            ),
            (
                "Ah no, it is port 9092 and not 9091 for the broker.",
                "The broker listens on port 9091.",
            ),
            (
                "The pool has 8 workers, you wrote 4 in the guide.",
                "The pool has 4 workers.",
            ),
            (
                "The limit of a page is `PAGE = 50`, not 20 as you wrote.",
                "The limit PAGE is 20.",
            ),
            (
                "No, the bucket is called snow-2. Not snow-1!",
                "The bucket is called snow-1.",
            ),
            (
                "It's called tide now, not wave, the job for imports.",
                "The job for imports is called wave.",
            ),
        ] {
            assert!(corrects(text, other), "{text} | {other}");
        }
        for (text, other) in [
            (cutoff, "The shop opens at 16:00."),
            (
                cutoff,
                "I changed the cutoff of the dough room from 16:00 to 15:00.",
            ),
            (cutoff, "The cutoff of the dough room is 15:00."),
            (
                "Ah no, it is port 9092 and not 9091 for the broker.",
                "The mailer listens on port 9091 of another network in staging.",
            ),
            (tick, "The display runs at 60 Hz."),
            (tick, "The tick rate is not 60 Hz."),
            (utf, "CSV-Dateien haben immer UTF-8 mit BOM."),
            (
                "No, the port is 8080, not 3000.",
                "The port of the grafana container on staging is 3000.",
            ),
        ] {
            assert!(!corrects(text, other), "{text} | {other}");
        }
    }
}
