//! Times that a query names among other words: `what broke last week`, `since april 2019`, `between
//! 1 and 10 november`, `before the release`. `read.rs` parses a time word by word, `date.rs` parses
//! dates, `relative.rs` times that are relative to now, and `languages.rs` other languages.
//!
//! Libraries that parse times (`interim`, `chrono-english`, `two_timer`) convert a text that is a
//! time to an instant; a query has its times among other words and means spans.

mod date;
mod languages;
mod read;
mod reading;
mod relative;

use chrono::{DateTime, TimeDelta, Utc};

use crate::calendar::{Calendar, TimeError, TimeSpan};
use reading::TimeReading;

/// A time that a query names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeMention {
    /// The words that name it, as the query has them.
    pub phrase: String,
    /// The spans that it may mean, the likeliest first: a day without a year is the last such day,
    /// or the one a year before. Empty for an event, and if the words name a day that does not
    /// exist.
    pub spans: Vec<TimeSpan>,
    /// Whether it is relative to now (`last week`) and not a date.
    pub is_relative: bool,
    /// Whether it may be in the future: `on friday`, in a query without a word of the past.
    pub may_be_future: bool,
    /// The event that names it, whose time a record may have.
    pub event: Option<EventMention>,
}

/// An event by which a query names a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventMention {
    /// The name of the event, for example `release`.
    pub name: String,
    pub relation: TimeRelation,
}

/// The side of a time that is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeRelation {
    Since,
    After,
    Before,
    Until,
}

/// Most words of a query that are examined, times that are found in it, and words of an event's
/// name.
const WORDS_MAX: usize = 200;
const MENTIONS_MAX: usize = 4;
const EVENT_NAME_WORDS_MAX: usize = 5;
/// Words of a query about the past.
const PAST_WORDS: [&str; 12] = [
    "did", "was", "were", "had", "happened", "broke", "went", "said", "decided", "haben", "hat",
    "war",
];
/// Determiners before an event that is known to the reader, and words that begin a new clause.
const DETERMINERS: &str = "the our my your his her their its that this unser unserem unserer notre \
    nuestro nuestra";
const CLAUSE_STARTS: &str = "i we you he she it they who what which that when where why how did do \
    does was were is are had has have will would could should can and or but to so if because wir \
    ich haben hat war wurde ist geschah nous avons est que";

/// One word of a query in lower case and in English, with its position.
#[derive(Debug)]
struct Word {
    lower: String,
    start: usize,
    end: usize,
}

impl Calendar {
    /// Finds the times that a query names, in its order; if it names none, the first event by which
    /// it names a time.
    pub fn find_time_mentions(&self, question: &str) -> Vec<TimeMention> {
        let words = split_words(question);
        let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
        let is_past = lower.iter().any(|word| PAST_WORDS.contains(word));
        let phrase = |first: usize, last: usize| {
            let ends = words.get(first).zip(words.get(last));
            let phrase = ends.and_then(|(first, last)| question.get(first.start..last.end));
            phrase.unwrap_or_default().to_owned()
        };
        let mut mentions = Vec::new();
        let mut at = 0;
        while at < words.len() && mentions.len() < MENTIONS_MAX {
            if let Some(words) = self.count_deadline_words(&lower, at) {
                at += words;
                continue;
            }
            let Some((first, reading, side)) = self.find_time_at(&lower, at) else {
                at += 1;
                continue;
            };
            at += reading.word_count;
            let spans = reading.spans.unwrap_or_default();
            let cut = |span| side.map_or(span, |side| side.restrict_span(span));
            let is_ahead = matches!(side, Some(TimeRelation::Before | TimeRelation::Until));
            mentions.push(TimeMention {
                phrase: phrase(first, at - 1),
                spans: spans.into_iter().map(cut).collect(),
                is_relative: reading.is_relative,
                may_be_future: reading.is_bare_weekday && (!is_past || is_ahead),
                event: None,
            });
        }
        if mentions.is_empty()
            && let Some((first, name, last, side)) = find_event(question, &words)
        {
            let name = phrase(name, last);
            mentions.push(TimeMention {
                phrase: phrase(first, last),
                spans: Vec::new(),
                is_relative: false,
                may_be_future: false,
                event: Some(EventMention {
                    name,
                    relation: side,
                }),
            });
        }
        mentions
    }

    /// Returns how many words name a deadline at this word (`by friday`), which is not a time at
    /// which something was recorded.
    fn count_deadline_words(&self, words: &[&str], at: usize) -> Option<usize> {
        let back = |count: usize| at.checked_sub(count).and_then(|at| words.get(at)).copied();
        let is_by = back(1) == Some("by") || (back(1) == Some("the") && back(2) == Some("by"));
        let reading = self
            .read_time(words.get(at..)?, "of", "")
            .filter(|_| is_by)?;
        Some(reading.word_count)
    }

    /// Finds the time at a word. Returns the first word of its phrase, the time, and the side of it
    /// that is meant.
    fn find_time_at(
        &self,
        words: &[&str],
        at: usize,
    ) -> Option<(usize, TimeReading, Option<TimeRelation>)> {
        let back = |count: usize| at.checked_sub(count).and_then(|at| words.get(at)).copied();
        let (before, second) = (back(1).unwrap_or_default(), back(2).unwrap_or_default());
        let rest = words.get(at..)?;
        if let Some(range) = self.read_range(rest, before) {
            let named = matches!(before, "between" | "from");
            return Some((at - usize::from(named), range, None));
        }
        let mut reading = self.read_time(rest, before, second)?;
        // `from last week on`, and the words that follow the time in Chinese.
        let following = words
            .get(at + reading.word_count)
            .copied()
            .unwrap_or_default();
        let side_after = match following {
            "on" | "onwards" | "onward" if before == "from" => Some(TimeRelation::Since),
            following => following
                .strip_prefix('~')
                .and_then(TimeRelation::from_word),
        };
        if let Some(side) = side_after {
            reading.word_count += 1;
            return Some((at - usize::from(before == "from"), reading, Some(side)));
        }
        let (side, words_before) = match (TimeRelation::from_word(before), before, second) {
            (Some(side), ..) => (Some(side), 1),
            (None, "to", "prior") => (Some(TimeRelation::Before), 2),
            (None, "to", "up") => (Some(TimeRelation::Until), 2),
            (None, "the" | "from" | "of", second) => match TimeRelation::from_word(second) {
                Some(side) => (Some(side), 2),
                None => (None, 0),
            },
            _ => (None, 0),
        };
        Some((at - words_before, reading, side))
    }
}

impl TimeRelation {
    fn from_word(word: &str) -> Option<Self> {
        match word {
            "since" => Some(Self::Since),
            "after" => Some(Self::After),
            "before" | "vor" => Some(Self::Before),
            "until" | "till" => Some(Self::Until),
            _ => None,
        }
    }

    /// The English word of the relation.
    pub fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Since => "since",
            Self::Until => "until",
        }
    }

    /// Returns the span that is on this side of a span, up to the first or last instant of all.
    pub fn restrict_span(self, span: TimeSpan) -> TimeSpan {
        let one = TimeDelta::microseconds(1);
        let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        let (since, until) = match self {
            Self::Since => (span.since, last),
            Self::After => (span.until + one, last),
            Self::Before => (first, span.since - one),
            Self::Until => (first, span.until),
        };
        TimeSpan { since, until }
    }
}

/// Finds the first event by which a question names a time. Returns the first word of the phrase,
/// the first word of the event's name, the last word, and the relation. The phrase is a word such
/// as `before`, a determiner, and a name that ends with the clause; a version needs no determiner.
fn find_event(question: &str, words: &[Word]) -> Option<(usize, usize, usize, TimeRelation)> {
    let is_one_of = |list: &str, word: &str| list.split(' ').any(|known| known == word);
    let lower = |at: usize| words.get(at).map(|word| word.lower.as_str());
    for at in 0..words.len() {
        let Some(side) = lower(at).and_then(TimeRelation::from_word) else {
            continue;
        };
        let has_determiner = lower(at + 1).is_some_and(|word| is_one_of(DETERMINERS, word));
        let is_version = lower(at + 1).is_some_and(|word| {
            let number = word.strip_prefix('v').unwrap_or(word);
            matches!(word, "release" | "version")
                || (number.starts_with(|c: char| c.is_ascii_digit())
                    && (number.contains('.') || number.len() < word.len()))
        });
        if !(has_determiner || is_version) {
            continue;
        }
        let mut name = at + 1 + usize::from(has_determiner);
        // The latest event of that name is meant anyway, so `last` is skipped.
        name += usize::from(
            lower(name)
                .is_some_and(|word| matches!(word, "last" | "latest" | "previous" | "recent")),
        );
        let mut last = name;
        while last - name < EVENT_NAME_WORDS_MAX
            && lower(last).is_some_and(|word| !is_one_of(CLAUSE_STARTS, word))
        {
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
pub(crate) fn parse_whole_text(
    calendar: &Calendar,
    text: &str,
) -> Option<Result<TimeSpan, TimeError>> {
    let words = split_words(text);
    let lower: Vec<&str> = words.iter().map(|word| word.lower.as_str()).collect();
    let reading = calendar.read_time(&lower, "", "")?;
    if reading.word_count != words.len() {
        return None;
    }
    let text = || text.chars().take(64).collect();
    let spans = reading.spans.map_err(|why| match why.as_str() {
        "" => TimeError::Unknown { text: text() },
        _ => TimeError::NoSuchDay { text: text(), why },
    });
    spans.map(|spans| spans.first().copied()).transpose()
}

fn split_words(text: &str) -> Vec<Word> {
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
                split_and_add_words(&mut words, text, from, at);
                start = None;
                if words.len() >= WORDS_MAX {
                    break;
                }
            }
            _ => {}
        }
    }
    let mut lower: Vec<&mut String> = words.iter_mut().map(|word| &mut word.lower).collect();
    languages::translate_to_english(&mut lower);
    words
}

/// Adds the text between two offsets: as one word, or as the words of `1-10` and `mid-october`. The
/// ending of `friday's` is skipped.
fn split_and_add_words(words: &mut Vec<Word>, text: &str, start: usize, end: usize) {
    let word = text.get(start..end).unwrap_or_default();
    if word.contains(languages::is_chinese) {
        let parts = languages::translate_chinese(word).into_iter();
        words.extend(parts.map(|(lower, from, to)| Word {
            lower,
            start: start + from,
            end: start + to,
        }));
        return;
    }
    let lower = languages::fold_word(word);
    let is_day = |part: &str| date::parse_day(part).is_some();
    let halves = word.split_once('-').filter(|(one, other)| {
        let one = languages::fold_word(one);
        (is_day(&one) && is_day(other)) || matches!(one.as_str(), "mid" | "mi" | "early" | "late")
    });
    if let Some((one, _)) = halves {
        let middle = start + one.len();
        split_and_add_words(words, text, start, middle);
        if is_day(&languages::fold_word(one)) {
            split_and_add_words(words, text, middle, middle + 1);
        }
        return split_and_add_words(words, text, middle + 1, end);
    }
    let is_ending = lower == "s"
        && text
            .get(..start)
            .is_some_and(|text| text.ends_with(['\'', '\u{2019}']));
    // In `am 2.11.` the last dot belongs to the date.
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
        let spoken = calendar().find_time_mentions(question).into_iter().next()?;
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

    /// Each line has a question, the words that name its time, its first day and its last.
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
            assert_eq!(calendar().find_time_mentions(question), [], "{question}");
        }
    }

    #[test]
    fn an_event_is_named_by_its_side_and_ends_with_its_clause() {
        for (question, phrase, name, side) in [
            (
                "what broke before the release?",
                "before the release",
                "release",
                TimeRelation::Before,
            ),
            (
                "after our move to Berlin, who called",
                "after our move",
                "move",
                TimeRelation::After,
            ),
            (
                "Since the Outage of Lyon what",
                "Since the Outage of Lyon",
                "Outage of Lyon",
                TimeRelation::Since,
            ),
            (
                "until the last release",
                "until the last release",
                "release",
                TimeRelation::Until,
            ),
            (
                "changes since v2.1",
                "since v2.1",
                "v2.1",
                TimeRelation::Since,
            ),
            (
                "was seit dem Umzug geschah",
                "seit dem Umzug",
                "Umzug",
                TimeRelation::Since,
            ),
        ] {
            let spoken = calendar().find_time_mentions(question).remove(0);
            let name = name.to_owned();
            assert_eq!(
                spoken.event,
                Some(EventMention {
                    name,
                    relation: side
                }),
                "{question}"
            );
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
            assert_eq!(calendar().find_time_mentions(question), [], "{question}");
        }
    }

    #[test]
    fn a_weekday_to_come_is_open_and_one_of_the_past_is_not() {
        let open = |question: &str| {
            calendar()
                .find_time_mentions(question)
                .remove(0)
                .may_be_future
        };
        assert!(open("may I deploy on friday") && open("what is due before friday"));
        assert!(!open("what did we do on friday") && !open("who called last friday"));
    }

    #[test]
    fn every_time_of_a_question_is_heard() {
        let spoken = calendar()
            .find_time_mentions("what changed between april 5, 2024 and last friday, in june");
        let phrases: Vec<&str> = spoken.iter().map(|one| one.phrase.as_str()).collect();
        assert_eq!(phrases, ["between april 5, 2024 and last friday", "june"]);
        assert_eq!(spoken[1].spans.len(), 30, "a month of any year");
    }

    #[test]
    fn a_day_that_does_not_exist_is_seen_and_has_no_span() {
        for question in ["what happened on 2026-02-30", "on february 30"] {
            let spoken = calendar().find_time_mentions(question).remove(0);
            assert_eq!(spoken.spans, [], "{question}");
        }
        assert!(
            calendar()
                .find_time_mentions(&"word ".repeat(100_000))
                .is_empty()
        );
    }
}
