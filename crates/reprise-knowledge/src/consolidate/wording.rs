//! Brings a text into the wording in which statements are compared: without the words that announce
//! a correction, and with the German and Chinese words for times, states and changes in English.
//! The words are data (`phrases.txt`). Pure.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::tokens::join_thousands;

const PHRASES: &str = include_str!("phrases.txt");
/// Most words of a phrase.
const PHRASE_WORDS_MAX: usize = 3;
/// Fewest signs of German by which a text is read as German.
const GERMAN_MIN: usize = 2;
/// Longest word, in bytes, that other languages may have as well.
const SHORT_WORD: usize = 5;
/// Longest date between an opener and its colon, in bytes.
const DATE_BYTES_MAX: usize = 24;
/// Most openers that follow each other: `No, actually`.
const OPENERS_MAX: usize = 2;
/// Marks that end an opener, also in Chinese.
const MARKS: &[char] = &[
    ':', ',', ';', '.', '!', '-', '\u{2013}', '\u{2014}', '\u{ff1a}', '\u{ff0c}', '\u{3002}',
    '\u{ff01}',
];

#[derive(Debug)]
struct Phrases {
    openers: Vec<&'static str>,
    openers_alone: Vec<&'static str>,
    german_signs: HashSet<&'static str>,
    german_alone: HashSet<&'static str>,
    german: HashMap<&'static str, &'static str>,
    /// Participles that stand at the end of a sentence.
    german_changes: HashMap<&'static str, &'static str>,
    /// The longest first, because each text is searched for them in this order.
    chinese: Vec<(&'static str, &'static str)>,
}

static TABLE: LazyLock<Phrases> = LazyLock::new(|| {
    let lines = |section: &'static str| {
        let lines = PHRASES.lines().skip_while(move |line| *line != section);
        let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
        lines.filter(|line| !line.starts_with('#') && !line.is_empty())
    };
    let pairs = |section| {
        let pairs = lines(section).filter_map(|line| line.split_once('='));
        let pairs = pairs.map(|(from, to)| (from.trim(), to.trim()));
        pairs.collect::<Vec<(&str, &str)>>()
    };
    let mut chinese = pairs("[chinese]");
    chinese.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    Phrases {
        openers: lines("[openers]").collect(),
        openers_alone: lines("[openers alone]").collect(),
        german_signs: lines("[german signs]")
            .flat_map(str::split_whitespace)
            .collect(),
        german_alone: lines("[german alone]")
            .flat_map(str::split_whitespace)
            .collect(),
        german: pairs("[german]").into_iter().collect(),
        german_changes: pairs("[german changes]").into_iter().collect(),
        chinese,
    }
});

/// Returns the text as it is compared, and whether it announces that it corrects something.
pub(super) fn reword_for_comparison(text: &str) -> (String, bool) {
    let text = &join_thousands(text);
    let mut rest = text.as_str();
    for _ in 0..OPENERS_MAX {
        match strip_opener(rest) {
            Some(said) => rest = said,
            None => break,
        }
    }
    let corrects = rest.len() < text.len();
    let is_chinese = rest.chars().any(is_ideograph);
    let reworded = if is_chinese {
        Some(reword_chinese(rest))
    } else {
        reword_german(rest)
    };
    (reworded.unwrap_or_else(|| rest.to_owned()), corrects)
}

/// Returns what follows the words that announce a correction; `None` if there are none.
fn strip_opener(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '>'));
    let after = |opener: &str| {
        let (head, rest) = text.split_at_checked(opener.len())?;
        let is_whole = !head.is_ascii() || !rest.starts_with(char::is_alphanumeric);
        (is_whole && head.eq_ignore_ascii_case(opener)).then_some(rest)
    };
    let mut marked = TABLE.openers.iter().filter_map(|opener| after(opener));
    let mut bare = TABLE
        .openers_alone
        .iter()
        .filter_map(|opener| after(opener));
    let rest = marked
        .find_map(strip_mark)
        .or_else(|| bare.next().map(|rest| strip_mark(rest).unwrap_or(rest)))?;
    let rest = rest.trim_start();
    rest.contains(char::is_alphabetic).then_some(rest)
}

/// Returns what follows the mark behind an opener, and a date before it.
fn strip_mark(rest: &str) -> Option<&str> {
    let is_date = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | '/' | '(' | ')' | ' ');
    if let Some((date, said)) = rest.split_once(':')
        && date.len() <= DATE_BYTES_MAX
        && date.chars().all(is_date)
    {
        return Some(said);
    }
    let marked = rest.trim_start();
    let said = marked.trim_start_matches(MARKS);
    // `no-one` begins with no opener.
    let joined = rest.starts_with('-') && said.starts_with(char::is_alphanumeric);
    (said.len() < marked.len() && !joined).then_some(said)
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Replaces the known phrases, and sets each other ideograph apart as a word.
fn reword_chinese(text: &str) -> String {
    let mut words = text.to_owned();
    for (from, to) in &TABLE.chinese {
        if words.contains(from) {
            let is_mark = to.chars().all(|c| c.is_ascii_punctuation());
            let apart = if is_mark {
                [to, " "].concat()
            } else {
                [" ", to, " "].concat()
            };
            words = words.replace(from, &apart);
        }
    }
    let mut apart = String::with_capacity(words.len() * 2);
    for c in words.chars() {
        if is_ideograph(c) {
            apart.extend([' ', c, ' ']);
        } else {
            apart.push(c);
        }
    }
    apart
}

/// Replaces the known phrases of a German text; `None` for a text of another language.
fn reword_german(text: &str) -> Option<String> {
    let is_known = |word: &str| word.len() > SHORT_WORD && TABLE.german.contains_key(word);
    let is_sign = |word: &&str| TABLE.german_signs.contains(word) || is_known(word);
    let begins = ["Der ", "Das ", "Die ", "Wir ", "Ein ", "Eine "];
    let first = usize::from(begins.iter().any(|first| text.starts_with(first)));
    let trimmed = || text.split_whitespace().map(trim_marks);
    let signs = trimmed().filter(is_sign).take(GERMAN_MIN).count();
    let is_told = trimmed().any(|word| TABLE.german_alone.contains(word));
    if signs + first < GERMAN_MIN && !is_told {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain: Vec<String> = words
        .iter()
        .map(|word| trim_marks(word).to_lowercase())
        .collect();
    let mut said: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let found = (1..=PHRASE_WORDS_MAX).rev().find_map(|count| {
            let phrase = plain.get(at..at + count)?.join(" ");
            let known = TABLE.german.get(phrase.as_str())?;
            let last = words.get(at + count - 1)?;
            let end = last.trim_end_matches(char::is_alphanumeric);
            let mark = end.chars().next_back().filter(|_| last.ends_with(MARKS));
            let mark = mark.map_or(String::new(), String::from);
            Some((count, [known, mark.as_str()].concat()))
        });
        let (count, phrase) = found.unwrap_or_else(|| (1, (*word).to_owned()));
        if !phrase.is_empty() {
            said.push(phrase);
        }
        at += count;
    }
    bring_participle_forward(&mut said);
    Some(said.join(" "))
}

/// Brings the participle at the end of a German sentence behind its verb: `was moved to Thursday`.
fn bring_participle_forward(said: &mut Vec<String>) {
    let last = said.last().map(|last| trim_marks(last).to_lowercase());
    let Some(change) = last.and_then(|last| TABLE.german_changes.get(last.as_str())) else {
        return;
    };
    let is_verb = |word: &String| matches!(word.as_str(), "is" | "are" | "was" | "were");
    let Some(verb) = said.iter().position(is_verb) else {
        return;
    };
    said.pop();
    let leads = |word: &String| matches!(word.as_str(), "on" | "in" | "to" | "nach" | "zu");
    if let Some(word) = said.iter_mut().skip(verb).rfind(|word| leads(word)) {
        "to".clone_into(word);
    }
    said.insert(verb + 1, (*change).to_owned());
}

fn trim_marks(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_announce_a_correction_are_taken_off_and_others_stay() {
        for (text, said) in [
            ("Actually, the port is 90", "the port is 90"),
            ("actually the port is 90", "the port is 90"),
            ("Correction: the port is 90", "the port is 90"),
            ("No, the port is 90", "the port is 90"),
            ("No, actually the port is 90", "the port is 90"),
            ("EDIT: the port is 90", "the port is 90"),
            ("Update 2026-06: the port is 90", "the port is 90"),
            ("Update (2026-06-03): the port is 90", "the port is 90"),
            ("Wrong: the port is 90", "the port is 90"),
            ("Korrektur: port 90", "port 90"),
        ] {
            assert_eq!(
                reword_for_comparison(text),
                (said.to_owned(), true),
                "{text}"
            );
        }
        for text in [
            "No port is open",
            "Update the port to 90",
            "Editing: see the guide",
            "No-one knows the port",
            "Wrong ports are refused",
            "Correction:",
            "",
        ] {
            assert_eq!(
                reword_for_comparison(text),
                (text.to_owned(), false),
                "{text}"
            );
        }
    }

    #[test]
    fn german_is_compared_in_english_words_and_english_is_left_alone() {
        let said = "Der Umzug ist nicht mehr erlaubt, sondern verboten";
        assert_eq!(
            reword_for_comparison(said).0,
            "Umzug is no longer allowed, but forbidden"
        );
        for (said, expected) in [
            (
                "Der Umzug wurde auf Donnerstag verschoben.",
                "Umzug was moved to thursday",
            ),
            (
                "Das Archiv ist nach Bonn umgezogen",
                "Archiv is moved to Bonn",
            ),
        ] {
            assert_eq!(reword_for_comparison(said).0, expected);
        }
        let english = "An die of an old man in the das";
        assert_eq!(reword_for_comparison(english).0, english);
    }
}
