//! Finds texts which say that something has changed: `since May`, `moved to July`, another day of
//! the same event. Such a text contradicts the older one, even if it says more.

use super::facts::{FactWord, Facts, WordClass};
use super::lexicon::{DAYS, describes_event};
use super::tokens::{split_lower_words, stem_word};
use crate::values::is_in_words;

/// Longest time after `since`, in words.
const SINCE_WORDS: usize = 5;
/// Fewest content words that two texts about one event share, besides the time.
const SHARED_MIN: usize = 2;
/// Verbs that give something another time or place.
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
/// Verbs that place a thing.
const PLACED: &str = "live lives run runs is are sit sits stand stay stays located hosted \
    kept stored deployed";
/// Stems that only introduce a time and say nothing about the event.
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

/// Returns the text with `now` in place of `since May`; `None` if it names no such time.
pub(super) fn replace_since_by_now(text: &str) -> Option<String> {
    if !text.contains("ince") {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| word.eq_ignore_ascii_case("since"))?;
    let following = words.get(at + 1..)?;
    // It ends with the clause.
    let ends = following
        .iter()
        .position(|word| word.ends_with(['.', ',', ';', '!']));
    let count = ends.map_or(following.len(), |end| end + 1);
    // `since it is slow` is a reason.
    let is_time = following.first().is_some_and(|first| {
        is_calendar_word(first) || matches!(first.to_lowercase().as_str(), "the" | "last" | "our")
    });
    if at == 0 || !is_time || count > SINCE_WORDS {
        return None;
    }
    let (before, after) = (words.get(..at)?, following.get(count..)?);
    Some([before, &["now"], after].concat().join(" "))
}

/// Returns why two texts cannot both hold: one moves what the other places, or they put one event
/// on two days.
pub(super) fn explain_change(one: (&str, &Facts), other: (&str, &Facts)) -> Option<String> {
    let either = explain_move(one, other).or_else(|| explain_move(other, one));
    either.or_else(|| explain_date_change(one, other))
}

fn explain_move((text, _): (&str, &Facts), (other, facts): (&str, &Facts)) -> Option<String> {
    if !MOVERS.iter().any(|mover| text.contains(*mover)) {
        return None;
    }
    let words = split_lower_words(text);
    let at = words
        .iter()
        .position(|word| MOVERS.contains(&word.as_str()))?;
    let mut near = words.iter().skip(at).take(4);
    let to = at + near.position(|word| matches!(word.as_str(), "to" | "until" | "till"))?;
    let target = words.get(to + 1..)?;
    let whole = split_lower_words(other);
    let subject = Facts::of(&words.get(..at)?.join(" "));
    let subject: Vec<&FactWord> = subject.words().collect();
    let has = |word: &&&FactWord| facts.words().any(|other| other.is_same_word(word));
    // What else the other says of it is when.
    let others = facts
        .words()
        .filter(|word| !OF_A_TIME.contains(&word.stem.as_str()));
    let others =
        others.filter(|word| !is_calendar_word(&word.written) && word.class == WordClass::Content);
    let shared = subject.iter().filter(has).count();
    if shared == subject.len() && is_placed_elsewhere(&whole, &subject, target) {
        return Some(format!("one was moved to `{}`", target.join(" ")));
    }
    if subject.is_empty() || shared < subject.len() || shared * 2 < others.count() {
        return None;
    }
    let is_time = target.iter().any(|word| is_calendar_word(word));
    let had_place = whole
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "in" | "at"))
        && facts.words().any(|word| word.class == WordClass::Name);
    let had = if is_time {
        whole.iter().any(|word| is_calendar_word(word))
    } else {
        had_place
    };
    let names = |word: &String| is_calendar_word(word) && !whole.contains(word);
    let differs = if is_time {
        target.iter().any(names)
    } else {
        target.iter().all(|word| !whole.contains(word))
    };
    (had && differs).then(|| format!("one was moved to `{}`", target.join(" ")))
}

/// Whether a text places a subject, and nothing else, at another place than the target: `lives on
/// node gamma`.
fn is_placed_elsewhere(whole: &[String], subject: &[&FactWord], target: &[String]) -> bool {
    let leads = |word: &String| matches!(word.as_str(), "in" | "on" | "at");
    let Some(at) = whole.iter().position(leads) else {
        return false;
    };
    let (before, place) = whole.split_at(at);
    let is_verb = |word: &str| is_in_words(PLACED, word);
    let placed = Facts::of(&before.join(" "));
    let is_subject = |word: &FactWord| subject.iter().any(|known| known.is_same_word(word));
    let mut others = placed.words().filter(|word| !is_verb(&word.written));
    let goes_on = |word: &&String| {
        !matches!(
            word.as_str(),
            "last" | "this" | "yesterday" | "today" | "now" | "for" | "because"
        )
    };
    let place: Vec<&String> = place.iter().skip(1).take_while(goes_on).collect();
    let target: Vec<&String> = target.iter().take_while(goes_on).collect();
    let is_time = |words: &[&String]| words.iter().any(|word| is_calendar_word(word));
    before.iter().any(|word| is_verb(word))
        && !subject.is_empty()
        && others.all(is_subject)
        && !place.is_empty()
        && !is_time(&place)
        && !is_time(&target)
        && !target.iter().all(|word| place.contains(word))
}

/// Returns the two dates of texts that agree in everything except weekday, day and month.
fn explain_date_change((one, a): (&str, &Facts), (other, b): (&str, &Facts)) -> Option<String> {
    let has_number = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    if !(has_number(one) && has_number(other)) {
        return None;
    }
    let (one, other) = (split_lower_words(one), split_lower_words(other));
    let is_set = |words: &[String]| {
        let verbs = ["is", "are", "starts", "ends", "expires", "due", "begins"];
        words.iter().any(|word| verbs.contains(&word.as_str())) && !describes_event(words)
    };
    let dates = |words: &[String]| -> Vec<String> {
        let is_near = |at: usize| words.get(at).is_some_and(|word| is_calendar_word(word));
        let is_adjacent = |at: usize| is_near(at + 1) || at.checked_sub(1).is_some_and(is_near);
        let numbered = words.iter().enumerate();
        let dates = numbered.filter(|(at, word)| {
            is_calendar_word(word) || (is_day_number(word) && is_adjacent(*at))
        });
        dates.map(|(_, word)| word.clone()).collect()
    };
    let rest = |words: &[String], dates: &[String]| -> Vec<String> {
        let rest = words.iter().filter(|word| !dates.contains(word));
        rest.map(|word| stem_word(word)).collect()
    };
    let (first, second) = (dates(&one), dates(&other));
    let full = |dates: &[String]| dates.iter().any(|word| is_day_number(word)) && dates.len() > 1;
    if first == second || !full(&first) || !full(&second) {
        return None;
    }
    let (rest_one, rest_other) = (rest(&one, &first), rest(&other, &second));
    let content = a
        .words()
        .filter(|word| word.class == WordClass::Content)
        .count();
    let same = rest_one == rest_other && a.negated == b.negated;
    (same && content >= SHARED_MIN && is_set(&one) && is_set(&other))
        .then(|| format!("`{}` against `{}`", first.join(" "), second.join(" ")))
}

fn is_calendar_word(word: &str) -> bool {
    let lower = word
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let is_year = lower.len() == 4 && lower.starts_with("20") && lower.parse::<u32>().is_ok();
    is_year || is_in_words(DAYS, &lower) || ["march", "may"].contains(&lower.as_str())
}

fn is_day_number(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}
