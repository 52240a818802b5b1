//! Knows the values of slots: times, states, numbers and addresses by their form, others by name
//! (`values.txt`). Pure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::super::lexicon::{DAYS, is_verb_of_one_value, meaning_of, names_things_by_number};
use super::super::tokens::stem_word;
use super::{SILENT, SlotToken};
use crate::values::is_in_words;

const VALUES: &str = include_str!("../values.txt");
/// Most words of a value.
pub(super) const VALUE_WORDS_MAX: usize = 3;
/// The kinds of values that follow from the form of a word; the others are named in `values.txt`.
pub(super) const TIME: &str = "time";
pub(super) const NAME: &str = "name";
const ADDRESS: &str = "address";
/// Beginning of the kind of a state.
pub(super) const STATE: &str = "state ";

/// Reads a schedule of several words, such as `every night`, `each Sunday`, `every other Wednesday`
/// and `twice a week`; returns how many words it takes and its name.
fn read_schedule(words: [&str; 3]) -> Option<(usize, String)> {
    let [first, second, third] = words;
    if matches!(first, "every" | "each") {
        let other = usize::from(second == "other" || is_number(second));
        let unit = words[1 + other];
        let said = [&words[1..=other], &[unit]].concat().join(" ");
        let is_schedule = is_in_words(SPANS, unit) || is_day(unit);
        return is_schedule.then(|| (2 + other, canonical_schedule_name(&said)));
    }
    let is_schedule = matches!(first, "once" | "twice") && matches!(second, "a" | "per");
    is_schedule.then(|| (3, [first, third].join(" ")))
}

/// Returns the value at the beginning of `parts` with its kind, and how many words it takes; `None`
/// for a word that is none.
pub(super) fn read_value_at(
    parts: &[SlotToken],
    before: &[String],
    noun: Option<&String>,
) -> (usize, Option<(String, String)>) {
    let lower = |at: usize| parts.get(at).map_or("", |part| part.lower.as_str());
    let last = before.last().map_or("", String::as_str);
    let value = |kind: &str, value: &str| Some((kind.to_owned(), value.to_owned()));
    if let Some((words, schedule)) = read_schedule([lower(0), lower(1), lower(2)]) {
        return (words, value(TIME, &schedule));
    }
    for count in (1..=VALUE_WORDS_MAX).rev() {
        let words: Vec<&str> = (0..count).map(lower).collect();
        if words.last().is_some_and(|word| !word.is_empty())
            && let Some(kind) = NAMED.get(words.join(" ").as_str())
        {
            return (count, value(kind, &words.join(" ")));
        }
    }
    let word = lower(0);
    let written = parts.first().map_or("", |part| part.written.as_str());
    let month = matches!(written, "March" | "May");
    if month || is_in_words(SCHEDULES, word) || is_day(word.trim_end_matches('s')) || is_clock(word)
    {
        return (1, value(TIME, &canonical_schedule_name(word)));
    }
    if let Some((state, so)) =
        find_state(word, last, lower(1), parts.first().is_none_or(|p| p.ends))
    {
        return (1, value(&format!("{STATE}{state}"), so));
    }
    if let Some(place) = ordinal_place(word) {
        return (1, value(&["which ", &stem_word(lower(1))].concat(), &place));
    }
    let number = meaning_of(word)
        .number
        .filter(|_| word != "one" || !last.is_empty());
    let is_label = names_things_by_number(last) && !is_where_it_stands(before);
    if (number.is_some() || is_number(word)) && !is_label {
        let unit = meaning_of(lower(1))
            .unit
            .map_or_else(|| stem_word(lower(1)), str::to_owned);
        let ends = parts.first().is_none_or(|part| part.ends);
        let is_unit = !ends && !unit.is_empty() && !meaning_of(lower(1)).is_function;
        if is_unit && lower(1) == "o'clock" {
            return (2, value(TIME, word));
        }
        // `Node 18`: the word before it names what is counted, also if it is a name.
        let says = !last.is_empty() && !meaning_of(last).is_function && !is_in_words(SILENT, last);
        let named = stem_word(last);
        let noun = noun.filter(|_| !says).unwrap_or(&named);
        let kind = ["number of ", if is_unit { &unit } else { noun }].concat();
        return (
            1 + usize::from(is_unit),
            value(&kind, number.unwrap_or(word)),
        );
    }
    if word.contains('@') || (word.contains('.') && !word.starts_with('v') && is_address(word)) {
        let kind = if word.contains('@') {
            "mail address"
        } else {
            ADDRESS
        };
        return (1, value(kind, word));
    }
    let follows = meaning_of(last).is_function || is_verb_of_one_value(last);
    if word.contains(|c: char| c.is_ascii_digit()) && follows {
        let head: String = word.chars().take_while(|c| c.is_alphabetic()).collect();
        return (1, value(&["id ", &head].concat(), word));
    }
    let is_name = written.starts_with(char::is_uppercase) && !before.is_empty();
    if is_name && !meaning_of(word).is_function {
        return (1, value(NAME, word));
    }
    (1, None)
}

/// Returns the state that a word tells, and which of the two.
pub(super) fn find_state(
    word: &str,
    before: &str,
    after: &str,
    ends: bool,
) -> Option<(usize, &'static str)> {
    if matches!(word, "on" | "off") {
        let is_switch = matches!(
            before,
            "is" | "are" | "turned" | "switched" | "stays" | "set"
        );
        let free = ends || matches!(after, "" | "for" | "by" | "in" | "again");
        let so = if word == "on" { "on" } else { "off" };
        return (is_switch && free).then_some((0, so));
    }

    STATES
        .iter()
        .enumerate()
        .find_map(|(state, [so, not])| match () {
            () if is_in_words(so, word) => so.split(' ').next().map(|so| (state, so)),
            () if is_in_words(not, word) => not.split(' ').next().map(|not| (state, not)),
            () => None,
        })
}

/// Returns the word that names a state, and whether this one is it and not its opposite.
pub(super) fn first_of_state(state: usize, so: &str) -> Option<(&'static str, bool)> {
    let first = STATES.get(state)?.first()?.split(' ').next()?;
    Some((first, first == so))
}

/// Whether a numbered thing is what is said of a subject: `is at revision 41`.
fn is_where_it_stands(before: &[String]) -> bool {
    let mut words = before.iter().rev().skip(1).map(String::as_str);
    matches!(words.next(), Some("at" | "on")) && matches!(words.next(), Some("is" | "are" | "now"))
}

fn is_day(word: &str) -> bool {
    is_in_words(DAYS, word) || matches!(word, "weekday" | "weekend")
}

fn is_number(word: &str) -> bool {
    let digits = word
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'%'));
    digits && word.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the number of an ordinal: `3` of `third` and of `3rd`.
fn ordinal_place(word: &str) -> Option<String> {
    let mut ordinals = ORDINALS.split_ascii_whitespace();
    if let Some(place) = ordinals.position(|ordinal| ordinal == word) {
        return Some((place + 1).to_string());
    }
    let ends = ["st", "nd", "rd", "th"];
    let digits = ends.iter().find_map(|end| word.strip_suffix(end))?;
    let is_place = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_place.then(|| digits.to_owned())
}

fn is_clock(word: &str) -> bool {
    word.split_once(':').is_some_and(|(hour, minute)| {
        hour.len() == 2 && minute.len() == 2 && hour.bytes().all(|b| b.is_ascii_digit())
    })
}

fn is_address(word: &str) -> bool {
    let mut parts = word.split('.');
    parts.all(|part| part.len() > 1 && part.chars().all(|c| c.is_alphanumeric() || c == '-'))
        && !word.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns one name for a schedule that has several.
fn canonical_schedule_name(word: &str) -> String {
    let name = match word {
        "nightly" | "night" => "night",
        "daily" | "day" => "day",
        "hourly" | "hour" => "hour",
        "weekly" | "week" => "week",
        "monthly" | "month" => "month",
        word => return word.strip_suffix('s').unwrap_or(word).to_owned(),
    };
    name.to_owned()
}

static NAMED: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let lines = VALUES.lines().filter(|line| !line.starts_with('#'));
    let sets = lines.filter_map(|line| line.split_once(": "));
    sets.flat_map(|(kind, names)| names.split(", ").map(move |name| (name, kind)))
        .collect()
});

const SCHEDULES: &str = "nightly daily hourly weekly monthly quarterly yearly weekdays weekends \
    continuously midnight noon";
const SPANS: &str = "second minute hour night day morning evening week month quarter year \
    minutes hours days weeks months weekday";
const ORDINALS: &str = "first second third fourth fifth sixth seventh eighth ninth tenth";
/// States that exclude each other; the first word names it.
const STATES: &[[&str; 2]] = &[
    [
        "on enabled active activated",
        "off disabled inactive deactivated paused suspended",
    ],
    [
        "allowed permitted fine ok possible",
        "forbidden banned blocked prohibited disallowed",
    ],
    ["open", "closed"],
    ["required mandatory need needs", "optional voluntary"],
    ["public", "private"],
    ["manual manually", "automatic automatically"],
    ["supported", "unsupported deprecated"],
    ["online", "offline"],
    ["green", "red"],
    ["synchronous", "asynchronous"],
    ["encrypted", "unencrypted"],
    ["works working repaired fixed", "broken"],
    ["available", "unavailable"],
    ["full", "empty"],
    ["locked", "unlocked"],
    ["healthy", "unhealthy"],
];
