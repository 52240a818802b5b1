//! Times in a query among other words: `what broke last week`, `since april 2019`, `between 1 and
//! 10 november`. What a time is, word by word, is in `read.rs`; other languages are in `others.rs`.
//!
//! Libraries that read times (`interim`, `chrono-english`, `two_timer`) read a text that is one, to
//! an instant; a query has its times among other words and means spans.

mod others;
mod read;

use chrono::{DateTime, TimeDelta, Utc};

use crate::calendar::{Calendar, Span, TimeError};
use read::Reading;

/// A time named in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// The words that name it, as the query has them.
    pub phrase: String,
    /// What it may mean, the likeliest first: a day without a year is the last of its kind, or the
    /// one a year before. Empty where the words name a day that does not exist.
    pub spans: Vec<Span>,
    /// Whether it is relative to now (`last week`) and not a date.
    pub relative: bool,
    /// Whether it may be no time of the past: `on friday`, in a query that is not of the past.
    pub open: bool,
}

/// Words of a query that are examined, and times that are taken from it.
const WORDS_MAX: usize = 200;
const SPOKEN_MAX: usize = 4;
/// Words of a query about what was.
const PAST: [&str; 12] = [
    "did", "was", "were", "had", "happened", "broke", "went", "said", "decided", "haben", "hat",
    "war",
];

/// One word of a query in lower case and in English, with its position.
#[derive(Debug)]
struct Word {
    lower: String,
    start: usize,
    end: usize,
}

impl Calendar {
    /// The times that a query names, in its order.
    #[must_use]
    pub fn spoken(&self, question: &str) -> Vec<Spoken> {
        let words = words(question);
        let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
        let is_past = lower.iter().any(|word| PAST.contains(word));
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
            let last = at + reading.words - 1;
            at = last + 1;
            let ends = words.get(first).zip(words.get(last));
            let phrase = ends.and_then(|(first, last)| question.get(first.start..last.end));
            let spans = reading.spans.unwrap_or_default();
            let cut = |span| side.map_or(span, |side| side.cut(span));
            let is_ahead = matches!(side, Some(Side::Before | Side::Until));
            spoken.push(Spoken {
                phrase: phrase.unwrap_or_default().to_owned(),
                spans: spans.into_iter().map(cut).collect(),
                relative: reading.relative,
                open: reading.weekday && (!is_past || is_ahead),
            });
        }
        if spoken.is_empty() {
            let read = others::chinese(self, question);
            spoken.extend(read.map(|(phrase, spans, relative)| Spoken {
                phrase: phrase.to_owned(),
                spans,
                relative,
                open: false,
            }));
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
        if matches!(before, "between" | "from")
            && let Some(range) = self.range(rest, before)
        {
            return Some((at - 1, range, None));
        }
        let reading = self.read(rest, before, second)?;
        let through_article = before == "the" && Side::of(second).is_some();
        let (side, words_before) = match Side::of(before) {
            Some(side) => (Some(side), 1),
            None if through_article => (Side::of(second), 2),
            None => (None, 0),
        };
        Some((at - words_before, reading, side))
    }
}

/// Which side of a time is meant.
#[derive(Clone, Copy)]
enum Side {
    From,
    After,
    Before,
    Until,
}

impl Side {
    fn of(word: &str) -> Option<Self> {
        match word {
            "since" | "from" => Some(Self::From),
            "after" => Some(Self::After),
            "before" => Some(Self::Before),
            "until" | "till" => Some(Self::Until),
            _ => None,
        }
    }

    fn cut(self, span: Span) -> Span {
        let one = TimeDelta::microseconds(1);
        let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        let (since, until) = match self {
            Self::From => (span.since, last),
            Self::After => (span.until + one, last),
            Self::Before => (first, span.since - one),
            Self::Until => (first, span.until),
        };
        Span { since, until }
    }
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
        let inside = c.is_alphanumeric() || matches!(c, '-' | '/') || within;
        before = c;
        match (start, inside) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let lower = text.get(from..at).unwrap_or_default().to_lowercase();
                words.push(Word {
                    lower,
                    start: from,
                    end: at,
                });
                if words.len() == WORDS_MAX {
                    break;
                }
                start = None;
            }
            _ => {}
        }
    }
    let mut lower: Vec<&mut String> = words.iter_mut().map(|word| &mut word.lower).collect();
    others::into_english(&mut lower);
    words
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
    const TIMES: &[(&str, &str, &str, &str)] = &[
        (
            "what broke in April 2019?",
            "April 2019",
            "2019-04-01",
            "2019-04-30",
        ),
        (
            "what broke last week",
            "last week",
            "2026-02-09",
            "2026-02-15",
        ),
        (
            "decisions of this month",
            "this month",
            "2026-02-01",
            "2026-02-28",
        ),
        (
            "what did we do yesterday about it",
            "yesterday",
            "2026-02-17",
            "2026-02-17",
        ),
        ("changes in march", "march", "2025-03-01", "2025-03-31"),
        ("changes in january", "january", "2026-01-01", "2026-01-31"),
        (
            "the talk on 7 May 2023",
            "7 May 2023",
            "2023-05-07",
            "2023-05-07",
        ),
        (
            "the talk on May 7th, 2023",
            "May 7th, 2023",
            "2023-05-07",
            "2023-05-07",
        ),
        (
            "the 3rd of december",
            "3rd of december",
            "2025-12-03",
            "2025-12-03",
        ),
        ("who joined in 2019", "2019", "2019-01-01", "2019-12-31"),
        (
            "3 days ago the build broke",
            "3 days ago",
            "2026-02-15",
            "2026-02-15",
        ),
        ("a week ago", "a week ago", "2026-02-09", "2026-02-15"),
        ("the last 7 days", "last 7 days", "2026-02-11", "2026-02-18"),
        ("on Monday", "Monday", "2026-02-16", "2026-02-16"),
        (
            "last wednesday",
            "last wednesday",
            "2026-02-11",
            "2026-02-11",
        ),
        ("since april 2019", "since april 2019", "2019-04-01", "on"),
        (
            "before 2026-02-16, that is",
            "before 2026-02-16",
            "ever",
            "2026-02-15",
        ),
        ("after 2026-02", "after 2026-02", "2026-03-01", "on"),
        (
            "what did we decide on january 2nd",
            "january 2nd",
            "2026-01-02",
            "2026-01-02",
        ),
        ("on the 2nd, who called", "2nd", "2026-02-02", "2026-02-02"),
        ("02.11.2025", "02.11.2025", "2025-11-02", "2025-11-02"),
        ("11/22/2025", "11/22/2025", "2025-11-22", "2025-11-22"),
        ("11/02/2025", "11/02/2025", "2025-11-02", "2025-11-02"),
        (
            "early november",
            "early november",
            "2025-11-01",
            "2025-11-10",
        ),
        ("in mid january", "mid january", "2026-01-10", "2026-01-20"),
        (
            "at the end of october",
            "end of october",
            "2025-10-20",
            "2025-10-31",
        ),
        (
            "first half of september 2022",
            "first half of september 2022",
            "2022-09-01",
            "2022-09-15",
        ),
        (
            "between 1 and 10 november",
            "between 1 and 10 november",
            "2025-11-01",
            "2025-11-10",
        ),
        (
            "from march to may 2024",
            "from march to may 2024",
            "2024-03-01",
            "2024-05-31",
        ),
        ("1-10 november", "1-10 november", "2025-11-01", "2025-11-10"),
        ("what shipped in Q3", "Q3", "2025-07-01", "2025-09-30"),
        (
            "third quarter of 2024",
            "third quarter of 2024",
            "2024-07-01",
            "2024-09-30",
        ),
        ("last quarter", "last quarter", "2025-10-01", "2025-12-31"),
        ("last friday", "last friday", "2026-02-13", "2026-02-13"),
        (
            "the day before yesterday",
            "day before yesterday",
            "2026-02-16",
            "2026-02-16",
        ),
        ("last weekend", "last weekend", "2026-02-14", "2026-02-15"),
        (
            "since the 9th of february",
            "since the 9th of february",
            "2026-02-09",
            "on",
        ),
        (
            "was haben wir letzte Woche entschieden",
            "letzte Woche",
            "2026-02-09",
            "2026-02-15",
        ),
        (
            "was war am 2. November",
            "2. November",
            "2025-11-02",
            "2025-11-02",
        ),
        (
            "was geschah vor drei Tagen",
            "vor drei Tagen",
            "2026-02-15",
            "2026-02-15",
        ),
        ("vorgestern", "vorgestern", "2026-02-16", "2026-02-16"),
        (
            "qu'est-ce que nous avons fait hier",
            "hier",
            "2026-02-17",
            "2026-02-17",
        ),
        (
            "la semaine derni\u{e8}re",
            "semaine derni\u{e8}re",
            "2026-02-09",
            "2026-02-15",
        ),
        (
            "il y a deux jours",
            "a deux jours",
            "2026-02-16",
            "2026-02-16",
        ),
        (
            "qu\u{e9} pas\u{f3} la semana pasada",
            "semana pasada",
            "2026-02-09",
            "2026-02-15",
        ),
        (
            "hace tres d\u{ed}as",
            "hace tres d\u{ed}as",
            "2026-02-15",
            "2026-02-15",
        ),
        (
            "el 2 de noviembre",
            "2 de noviembre",
            "2025-11-02",
            "2025-11-02",
        ),
        (
            "\u{6628}\u{5929}\u{51b3}\u{5b9a}\u{4e86}\u{4ec0}\u{4e48}",
            "\u{6628}\u{5929}",
            "2026-02-17",
            "2026-02-17",
        ),
        (
            "11\u{6708}2\u{65e5}",
            "11\u{6708}2\u{65e5}",
            "2025-11-02",
            "2025-11-02",
        ),
    ];

    #[test]
    fn a_time_is_found_among_other_words() {
        for (question, phrase, since, until) in TIMES {
            let day = |day: &str| day.to_owned();
            let expected = ((*phrase).to_owned(), day(since), day(until));
            assert_eq!(days(question), Some(expected), "{question}");
        }
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
            "what happened before the release",
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
