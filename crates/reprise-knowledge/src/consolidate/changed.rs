//! What says that something is otherwise now: `since May`, `moved to July`, another day of the same
//! event. Such a text stands against what was so before, also where it says more.

use super::facts::{Class, Facts, Word, stem};
use super::judge::{happened, tokens};
use super::lexicon::DAYS;
use crate::values::among;

/// Words behind `since` that are passed over.
const SINCE_WORDS: usize = 5;
/// Words of its own that two texts about one event share, besides the time.
const SHARED_MIN: usize = 2;
/// Words by which something gets another time or place.
const MOVERS: &[&str] = &[
    "moved",
    "moves",
    "postponed",
    "rescheduled",
    "delayed",
    "shifted",
    "pushed",
    "relocated",
];
/// Stems that say of a time that it is one, and say nothing of the event.
const OF_A_TIME: &[&str] = &[
    "du",
    "end",
    "beginn",
    "start",
    "middl",
    "scheduled",
    "schedul",
    "plann",
    "plan",
];

/// The text with `now` in the place of `since May`; `None` where it says no such thing.
pub(super) fn since(text: &str) -> Option<String> {
    if !text.contains("ince") {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| word.eq_ignore_ascii_case("since"))?;
    let behind = words.get(at + 1..)?;
    // It ends with the clause.
    let ends = behind
        .iter()
        .position(|word| word.ends_with(['.', ',', ';', '!']));
    let count = ends.map_or(behind.len(), |end| end + 1);
    // `since it is slow` is a reason.
    let is_time = behind.first().is_some_and(|first| {
        is_of_calendar(first) || matches!(first.to_lowercase().as_str(), "the" | "last" | "our")
    });
    if at == 0 || !is_time || count > SINCE_WORDS {
        return None;
    }
    let (before, after) = (words.get(..at)?, behind.get(count..)?);
    Some([before, &["now"], after].concat().join(" "))
}

/// Why the two cannot both hold: one moves what the other puts somewhere, or they put one event on
/// two days.
pub(super) fn moved(one: (&str, &Facts), other: (&str, &Facts)) -> Option<String> {
    let either = moves(one, other).or_else(|| moves(other, one));
    either.or_else(|| days(one, other))
}

fn moves((text, _): (&str, &Facts), (other, said): (&str, &Facts)) -> Option<String> {
    if !MOVERS.iter().any(|mover| text.contains(*mover)) {
        return None;
    }
    let words = tokens(text);
    let at = words
        .iter()
        .position(|word| MOVERS.contains(&word.as_str()))?;
    let mut near = words.iter().skip(at).take(4);
    let to = at + near.position(|word| matches!(word.as_str(), "to" | "until" | "till"))?;
    let target = words.get(to + 1..)?;
    let whole = tokens(other);
    let subject = Facts::of(&words.get(..at)?.join(" "));
    let subject: Vec<&Word> = subject.words().collect();
    let has = |word: &&&Word| said.words().any(|other| other.is(word));
    // What else the other says of it is when.
    let others = said
        .words()
        .filter(|word| !OF_A_TIME.contains(&word.stem.as_str()));
    let others =
        others.filter(|word| !is_of_calendar(&word.written) && word.class == Class::Content);
    let held = subject.iter().filter(has).count();
    if subject.is_empty() || held < subject.len() || held * 2 < others.count() {
        return None;
    }
    let is_time = target.iter().any(|word| is_of_calendar(word));
    let had_place = whole
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "in" | "at"))
        && said.words().any(|word| word.class == Class::Name);
    let had = if is_time {
        whole.iter().any(|word| is_of_calendar(word))
    } else {
        had_place
    };
    let names = |word: &String| is_of_calendar(word) && !whole.contains(word);
    let differs = if is_time {
        target.iter().any(names)
    } else {
        target.iter().all(|word| !whole.contains(word))
    };
    (had && differs).then(|| format!("one was moved to `{}`", target.join(" ")))
}

/// Two texts in other words about the same, but for weekday, day and month.
fn days((one, a): (&str, &Facts), (other, b): (&str, &Facts)) -> Option<String> {
    let has_number = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    if !(has_number(one) && has_number(other)) {
        return None;
    }
    let (one, other) = (tokens(one), tokens(other));
    let is_set = |words: &[String]| {
        let verbs = ["is", "are", "starts", "ends", "expires", "due", "begins"];
        words.iter().any(|word| verbs.contains(&word.as_str())) && !happened(words)
    };
    let dates = |words: &[String]| -> Vec<String> {
        let is_near = |at: usize| words.get(at).is_some_and(|word| is_of_calendar(word));
        let is_beside = |at: usize| is_near(at + 1) || at.checked_sub(1).is_some_and(is_near);
        let numbered = words.iter().enumerate();
        let dates =
            numbered.filter(|(at, word)| is_of_calendar(word) || (is_day(word) && is_beside(*at)));
        dates.map(|(_, word)| word.clone()).collect()
    };
    let rest = |words: &[String], dates: &[String]| -> Vec<String> {
        let rest = words.iter().filter(|word| !dates.contains(word));
        rest.map(|word| stem(word)).collect()
    };
    let (first, second) = (dates(&one), dates(&other));
    let full = |dates: &[String]| dates.iter().any(|word| is_day(word)) && dates.len() > 1;
    if first == second || !full(&first) || !full(&second) {
        return None;
    }
    let (rest_one, rest_other) = (rest(&one, &first), rest(&other, &second));
    let content = a
        .words()
        .filter(|word| word.class == Class::Content)
        .count();
    let same = rest_one == rest_other && a.negated == b.negated;
    (same && content >= SHARED_MIN && is_set(&one) && is_set(&other))
        .then(|| format!("`{}` against `{}`", first.join(" "), second.join(" ")))
}

fn is_of_calendar(word: &str) -> bool {
    let lower = word
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let is_year = lower.len() == 4 && lower.starts_with("20") && lower.parse::<u32>().is_ok();
    is_year || among(DAYS, &lower) || ["march", "may"].contains(&lower.as_str())
}

fn is_day(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}
