//! Times in a query among other words: `what broke last week`, `since april 2019`, `between 1 and
//! 10 november`, `before the release`. What a time is, word by word, is in `read.rs`, with dates in
//! `date.rs` and what is counted from now in `relative.rs`; other languages are in `others.rs`.
//!
//! Libraries that read times (`interim`, `chrono-english`, `two_timer`) read a text that is one, to
//! an instant; a query has its times among other words and means spans.

mod date;
mod others;
mod read;
mod relative;

use chrono::{DateTime, TimeDelta, Utc};

use crate::calendar::{Calendar, Span, TimeError};
use read::Reading;

/// A time named in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// The words that name it, as the query has them.
    pub phrase: String,
    /// What it may mean, the likeliest first: a day without a year is the last of its kind, or the
    /// one a year before. Empty where the words name a day that does not exist, and of an event.
    pub spans: Vec<Span>,
    /// Whether it is relative to now (`last week`) and not a date.
    pub relative: bool,
    /// Whether it may be no time of the past: `on friday`, in a query that is not of the past.
    pub open: bool,
    /// The event that it is told by: a record knows when that was.
    pub event: Option<Event>,
}

/// A time told by what happened then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `release`
    pub name: String,
    pub side: Side,
}

/// Which side of a time is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Since,
    After,
    Before,
    Until,
}

/// Words of a query that are examined, times that are taken from it, and words of an event's name.
const WORDS_MAX: usize = 200;
const SPOKEN_MAX: usize = 4;
const NAME_WORDS: usize = 5;
/// Words of a query about what was.
const PAST: [&str; 12] = [
    "did", "was", "were", "had", "happened", "broke", "went", "said", "decided", "haben", "hat",
    "war",
];
/// Words before an event that both sides know, and those with which the next clause begins.
const GIVEN: &str = "the our my your his her their its that this unser unserem unserer notre \
    nuestro nuestra";
const NEXT: &str = "i we you he she it they who what which that when where why how did do does was \
    were is are had has have will would could should can and or but to so if because wir ich haben \
    hat war wurde ist geschah nous avons est que";

/// One word of a query in lower case and in English, with its position.
#[derive(Debug)]
struct Word {
    lower: String,
    start: usize,
    end: usize,
}

impl Calendar {
    /// The times that a query names, in its order; where it names none, the first event that it
    /// tells a time by.
    pub fn spoken(&self, question: &str) -> Vec<Spoken> {
        let words = words(question);
        let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
        let is_past = lower.iter().any(|word| PAST.contains(word));
        let phrase = |first: usize, last: usize| {
            let ends = words.get(first).zip(words.get(last));
            let phrase = ends.and_then(|(first, last)| question.get(first.start..last.end));
            phrase.unwrap_or_default().to_owned()
        };
        let mut spoken = Vec::new();
        let mut at = 0;
        while at < words.len() && spoken.len() < SPOKEN_MAX {
            if let Some(words) = self.deadline(&lower, at) {
                at += words;
                continue;
            }
            let Some((first, reading, side)) = self.at(&lower, at) else {
                at += 1;
                continue;
            };
            at += reading.words;
            let spans = reading.spans.unwrap_or_default();
            let cut = |span| side.map_or(span, |side| side.cut(span));
            let is_ahead = matches!(side, Some(Side::Before | Side::Until));
            spoken.push(Spoken {
                phrase: phrase(first, at - 1),
                spans: spans.into_iter().map(cut).collect(),
                relative: reading.relative,
                open: reading.weekday && (!is_past || is_ahead),
                event: None,
            });
        }
        if spoken.is_empty()
            && let Some((first, name, last, side)) = event(question, &words)
        {
            let name = phrase(name, last);
            spoken.push(Spoken {
                phrase: phrase(first, last),
                spans: Vec::new(),
                relative: false,
                open: false,
                event: Some(Event { name, side }),
            });
        }
        spoken
    }

    /// The words of a time by which something is to be done: it was not said then.
    fn deadline(&self, words: &[&str], at: usize) -> Option<usize> {
        let back = |count: usize| at.checked_sub(count).and_then(|at| words.get(at)).copied();
        let is_by = back(1) == Some("by") || (back(1) == Some("the") && back(2) == Some("by"));
        let reading = self.read(words.get(at..)?, "of", "").filter(|_| is_by)?;
        Some(reading.words)
    }

    /// The time at a word, the first word of its phrase, and the side of it that is meant.
    fn at(&self, words: &[&str], at: usize) -> Option<(usize, Reading, Option<Side>)> {
        let back = |count: usize| at.checked_sub(count).and_then(|at| words.get(at)).copied();
        let (before, second) = (back(1).unwrap_or_default(), back(2).unwrap_or_default());
        let rest = words.get(at..)?;
        if let Some(range) = self.range(rest, before) {
            let named = matches!(before, "between" | "from");
            return Some((at - usize::from(named), range, None));
        }
        let mut reading = self.read(rest, before, second)?;
        // `from last week on`, and what Chinese has behind.
        let behind = words.get(at + reading.words).copied().unwrap_or_default();
        let side_behind = match behind {
            "on" | "onwards" | "onward" if before == "from" => Some(Side::Since),
            behind => behind.strip_prefix('~').and_then(Side::of),
        };
        if let Some(side) = side_behind {
            reading.words += 1;
            return Some((at - usize::from(before == "from"), reading, Some(side)));
        }
        let (side, words_before) = match (Side::of(before), before, second) {
            (Some(side), ..) => (Some(side), 1),
            (None, "to", "prior") => (Some(Side::Before), 2),
            (None, "to", "up") => (Some(Side::Until), 2),
            (None, "the" | "from" | "of", second) => match Side::of(second) {
                Some(side) => (Some(side), 2),
                None => (None, 0),
            },
            _ => (None, 0),
        };
        Some((at - words_before, reading, side))
    }
}

impl Side {
    fn of(word: &str) -> Option<Self> {
        match word {
            "since" => Some(Self::Since),
            "after" => Some(Self::After),
            "before" | "vor" => Some(Self::Before),
            "until" | "till" => Some(Self::Until),
            _ => None,
        }
    }

    /// As a person says it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Since => "since",
            Self::Until => "until",
        }
    }

    /// This side of a span, as far as time goes.
    pub fn cut(self, span: Span) -> Span {
        let one = TimeDelta::microseconds(1);
        let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        let (since, until) = match self {
            Self::Since => (span.since, last),
            Self::After => (span.until + one, last),
            Self::Before => (first, span.since - one),
            Self::Until => (first, span.until),
        };
        Span { since, until }
    }
}

/// The first event that a question tells a time by: its first word, that of its name, the last one
/// and the side. One of the sides, `the` or whose it is, and a name that ends with the clause; a
/// version needs no article.
fn event(question: &str, words: &[Word]) -> Option<(usize, usize, usize, Side)> {
    let is_one_of = |list: &str, word: &str| list.split(' ').any(|known| known == word);
    let lower = |at: usize| words.get(at).map(|word| word.lower.as_str());
    for at in 0..words.len() {
        let Some(side) = lower(at).and_then(Side::of) else {
            continue;
        };
        let given = lower(at + 1).is_some_and(|word| is_one_of(GIVEN, word));
        let version = lower(at + 1).is_some_and(|word| {
            let number = word.strip_prefix('v').unwrap_or(word);
            matches!(word, "release" | "version")
                || (number.starts_with(|c: char| c.is_ascii_digit())
                    && (number.contains('.') || number.len() < word.len()))
        });
        if !(given || version) {
            continue;
        }
        let mut name = at + 1 + usize::from(given);
        // The latest is meant anyway.
        name += usize::from(
            lower(name)
                .is_some_and(|word| matches!(word, "last" | "latest" | "previous" | "recent")),
        );
        let mut last = name;
        while last - name < NAME_WORDS && lower(last).is_some_and(|word| !is_one_of(NEXT, word)) {
            let gap = words.get(last - 1).zip(words.get(last));
            let gap = gap.and_then(|(one, next)| question.get(one.end..next.start));
            if gap.is_none_or(|gap| !gap.trim().is_empty()) {
                break;
            }
            last += 1;
        }
        if last > name {
            return Some((at, name, last - 1, side));
        }
    }
    None
}

/// Parses a text that is a time and nothing else.
pub(crate) fn whole(calendar: &Calendar, text: &str) -> Option<Result<Span, TimeError>> {
    let words = words(text);
    let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
    let reading = calendar.read(&lower, "", "")?;
    if reading.words != words.len() {
        return None;
    }
    let text = || text.chars().take(64).collect();
    let spans = reading.spans.map_err(|why| match why.as_str() {
        "" => TimeError::Unknown { text: text() },
        _ => TimeError::NoSuchDay { text: text(), why },
    });
    spans.map(|spans| spans.first().copied()).transpose()
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut start = None;
    let mut before = ' ';
    let mut ends = text.char_indices().chain([(text.len(), ' ')]).peekable();
    while let Some((at, c)) = ends.next() {
        let next = ends.peek().map_or(' ', |(_, next)| *next);
        // `02.11.2026`, and `2.8` is one word too.
        let within = c == '.' && before.is_ascii_digit() && next.is_ascii_digit();
        let inside = c.is_alphanumeric() || matches!(c, '-' | '/' | '_') || within;
        before = c;
        match (start, inside) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                add(&mut words, text, from, at);
                start = None;
                if words.len() >= WORDS_MAX {
                    break;
                }
            }
            _ => {}
        }
    }
    let mut lower: Vec<&mut String> = words.iter_mut().map(|word| &mut word.lower).collect();
    others::into_english(&mut lower);
    words
}

/// Takes up what stands between two places: one word, or those of `1-10` and `mid-october`. The end
/// of `friday's` is none.
fn add(words: &mut Vec<Word>, text: &str, start: usize, end: usize) {
    let word = text.get(start..end).unwrap_or_default();
    if word.contains(others::is_chinese) {
        let parts = others::chinese(word).into_iter();
        words.extend(parts.map(|(lower, from, to)| Word {
            lower,
            start: start + from,
            end: start + to,
        }));
        return;
    }
    let lower = others::folded(word);
    let is_day = |part: &str| date::day_of(part).is_some();
    let halves = word.split_once('-').filter(|(one, other)| {
        let one = others::folded(one);
        (is_day(&one) && is_day(other)) || matches!(one.as_str(), "mid" | "mi" | "early" | "late")
    });
    if let Some((one, _)) = halves {
        let middle = start + one.len();
        add(words, text, start, middle);
        if is_day(&others::folded(one)) {
            add(words, text, middle, middle + 1);
        }
        return add(words, text, middle + 1, end);
    }
    let is_ending = lower == "s"
        && text
            .get(..start)
            .is_some_and(|text| text.ends_with(['\'', '\u{2019}']));
    // `am 2.11.`: it ends with a mark of its own.
    let is_short_date = lower
        .split_once('.')
        .is_some_and(|(one, other)| is_day(one) && is_day(other));
    let dot =
        usize::from(is_short_date && text.get(end..).is_some_and(|rest| rest.starts_with('.')));
    if !is_ending {
        words.push(Word {
            lower: if dot > 0 {
                [&lower, "."].concat()
            } else {
                lower
            },
            start,
            end: end + dot,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Zone;
    use crate::time::parse_timestamp;

    fn calendar() -> Calendar {
        Calendar {
            now: parse_timestamp("2026-02-18T12:00:00Z").unwrap(),
            zone: Zone::Utc,
        }
    }

    fn days(question: &str) -> Option<(String, String, String)> {
        let spoken = calendar().spoken(question).into_iter().next()?;
        let day = |at: DateTime<Utc>| {
            if at == DateTime::<Utc>::MIN_UTC {
                return "ever".to_owned();
            }
            if at == DateTime::<Utc>::MAX_UTC {
                return "on".to_owned();
            }
            at.format("%Y-%m-%d").to_string()
        };
        let span = *spoken.spans.first()?;
        Some((spoken.phrase, day(span.since), day(span.until)))
    }

    /// A question, the words that name its time, its first day and its last.
    const TIMES: &str = include_str!("spoken/times.txt");

    #[test]
    fn a_time_is_found_among_other_words() {
        let wrong = TIMES.lines().filter_map(|line| {
            let row: Vec<&str> = line.split(" | ").collect();
            let found = days(row[0]);
            let of = |(phrase, since, until)| [phrase, since, until].join(" | ");
            let found = found.map_or_else(|| "no time".to_owned(), of);
            (found != row[1..].join(" | ")).then(|| format!("{line}\n    {found}\n"))
        });
        let wrong: Vec<String> = wrong.collect();
        assert!(wrong.is_empty(), "{}", wrong.concat());
    }

    #[test]
    fn other_words_and_numbers_are_no_times() {
        for question in [
            "",
            "you may march on",
            "may I",
            "exit code 101 and 2019 records",
            "the last test",
            "ten days of rain",
            "the sun rises",
            "port 8080",
            "version 2.0",
            "on the 2nd floor",
            "2.8",
            "was ist hier passiert",
            "what must be done by friday",
            "who won the first half",
        ] {
            assert_eq!(calendar().spoken(question), [], "{question}");
        }
    }

    #[test]
    fn an_event_is_named_by_its_side_and_ends_with_its_clause() {
        for (question, phrase, name, side) in [
            (
                "what broke before the release?",
                "before the release",
                "release",
                Side::Before,
            ),
            (
                "after our move to Berlin, who called",
                "after our move",
                "move",
                Side::After,
            ),
            (
                "Since the Outage of Lyon what",
                "Since the Outage of Lyon",
                "Outage of Lyon",
                Side::Since,
            ),
            (
                "until the last release",
                "until the last release",
                "release",
                Side::Until,
            ),
            ("changes since v2.1", "since v2.1", "v2.1", Side::Since),
            (
                "was seit dem Umzug geschah",
                "seit dem Umzug",
                "Umzug",
                Side::Since,
            ),
        ] {
            let spoken = calendar().spoken(question).remove(0);
            let name = name.to_owned();
            assert_eq!(spoken.event, Some(Event { name, side }), "{question}");
            assert_eq!(spoken.phrase, phrase);
        }
        for question in [
            "stop after the",
            "before lunch",
            "since then",
            "after the, well",
            "after 3 attempts",
            "how I looked after it before we went",
            "after",
            "\u{130} before the",
        ] {
            assert_eq!(calendar().spoken(question), [], "{question}");
        }
    }

    #[test]
    fn a_weekday_to_come_is_open_and_one_of_the_past_is_not() {
        let open = |question: &str| calendar().spoken(question).remove(0).open;
        assert!(open("may I deploy on friday") && open("what is due before friday"));
        assert!(!open("what did we do on friday") && !open("who called last friday"));
    }

    #[test]
    fn every_time_of_a_question_is_heard() {
        let spoken =
            calendar().spoken("what changed between april 5, 2024 and last friday, in june");
        let phrases: Vec<&str> = spoken.iter().map(|one| one.phrase.as_str()).collect();
        assert_eq!(phrases, ["between april 5, 2024 and last friday", "june"]);
        assert_eq!(spoken[1].spans.len(), 30, "a month of any year");
    }

    #[test]
    fn a_day_that_does_not_exist_is_seen_and_has_no_span() {
        for question in ["what happened on 2026-02-30", "on february 30"] {
            let spoken = calendar().spoken(question).remove(0);
            assert_eq!(spoken.spans, [], "{question}");
        }
        assert!(calendar().spoken(&"word ".repeat(100_000)).is_empty());
    }
}
