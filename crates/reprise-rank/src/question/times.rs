//! Times that a question names, which filter the records if the question has other words. Records
//! of that time answer, ranked by the rest of the question; if there are none, those whose text
//! names the time. The caller looks up which records are of a time.

use chrono::{DateTime, Utc};
use reprise_types::{EventMention, RecordId, TimeMention, format_minute_utc};

use crate::names::NamedThing;

/// Logit of being from a time that is named relative to now (`last week`): it is that of the
/// record.
const TIME_TOLD: f32 = 2.5;
/// Logit of being from a date that is named, or on the side of an event: the date may be that of
/// what the record describes.
const DATE_TOLD: f32 = 1.0;

/// The times that a question names.
#[derive(Debug, Default)]
pub struct QuestionTimes {
    /// Records of the times that are named, ascending; empty if the question names no time, or no
    /// record is of it.
    pub holders: Vec<u32>,
    /// The phrases that name these times, as the question has them.
    pub phrases: Vec<String>,
    /// The phrases that name a date that no record is from.
    unmatched_phrases: Vec<String>,
    /// Records whose text has a date that is named, ascending: the date may be that of what they
    /// describe.
    pub mentions: Vec<u32>,
    /// Logit that being of that time adds.
    pub bonus: f32,
    /// Whether no other record may answer.
    pub is_filter: bool,
    /// Notes for the reader of the answer.
    pub notes: Vec<String>,
}

impl QuestionTimes {
    /// Adds one time with the records that are from it, of its possible meanings the first that any
    /// record is from.
    pub fn add_time(&mut self, spoken: &TimeMention, holders: Vec<u32>) {
        let phrase = &spoken.phrase;
        if spoken.spans.is_empty() {
            self.notes.push(format!(
                "no calendar has the day of `{phrase}`: no time was looked for"
            ));
            return;
        }
        if holders.is_empty() {
            self.notes
                .push(format!("no memory is from the time of `{phrase}`"));
            // The words `4 years ago` may be in a record's text.
            if !spoken.is_relative {
                self.unmatched_phrases.push(phrase.clone());
            }
            return;
        }
        self.holders.extend(holders);
        self.phrases.push(phrase.clone());
        let bonus = if spoken.is_relative {
            TIME_TOLD
        } else {
            DATE_TOLD
        };
        self.bonus = self.bonus.max(bonus);
        self.is_filter |= !spoken.may_be_future;
    }

    /// Adds the records before or after an event, which record `id` describes, and when that was.
    pub fn add_event(
        &mut self,
        spoken: &TimeMention,
        event: &EventMention,
        (id, when): (RecordId, DateTime<Utc>),
        holders: Vec<u32>,
    ) {
        let (phrase, side) = (&spoken.phrase, event.relation.word());
        let when = format_minute_utc(when);
        self.notes.push(format!(
            "`{phrase}` was read as {side} {when}, the time of record {id}"
        ));
        self.holders = holders;
        self.phrases.push(phrase.clone());
        self.bonus = DATE_TOLD;
        self.is_filter = true;
    }

    /// Sorts the records that were added, each once.
    pub fn sort_records(&mut self) {
        for found in [&mut self.holders, &mut self.mentions] {
            found.sort_unstable();
            found.dedup();
        }
    }

    /// Returns the named times, and the dates in texts, as things that the question names.
    pub fn as_named_things(&self) -> impl Iterator<Item = NamedThing> {
        let of = |bonus, field, surface: &str, holders: &Vec<u32>| NamedThing {
            bonus,
            field: Some(field),
            ..NamedThing::new(surface, Vec::new(), holders.clone())
        };
        let phrases = self.phrases.join(", ");
        let things = [
            of(self.bonus, "timestamp", &phrases, &self.holders),
            of(DATE_TOLD, "text", "the date", &self.mentions),
        ];
        things.into_iter().filter(|thing| !thing.holders.is_empty())
    }

    /// Returns the question without the words that name times.
    pub fn without_times(&self, question: &str) -> String {
        let mut rest = self.without_date_numbers(question);
        for phrase in &self.phrases {
            if let Some(at) = rest.find(phrase.as_str()) {
                blank_out(&mut rest, at..at + phrase.len());
            }
        }
        rest
    }

    /// Returns the question without the numbers of a date that no record is from: the `2` of `2
    /// november` is not that of `2.8`.
    pub fn without_date_numbers(&self, question: &str) -> String {
        let mut rest = question.to_owned();
        for phrase in &self.unmatched_phrases {
            let Some(begin) = rest.find(phrase.as_str()) else {
                continue;
            };
            let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
            let words = phrase.split_inclusive(' ').map(|word| {
                if is_number(word) {
                    " ".repeat(word.len())
                } else {
                    word.to_owned()
                }
            });
            rest.replace_range(begin..begin + phrase.len(), &words.collect::<String>());
        }
        rest
    }
}

/// Splits a date into numbers without endings and the beginnings of other words: `2nd of November`
/// is `2`, `nov`.
pub fn date_parts(text: &str) -> Vec<String> {
    const BETWEEN: [&str; 3] = ["of", "the", "de"];
    let words = split_tokens(text).map(str::to_lowercase);
    let words = words.filter(|word| !BETWEEN.contains(&word.as_str()));
    let part = |word: String| {
        let digits = word.trim_end_matches(char::is_alphabetic);
        if digits.is_empty() {
            word.chars().take(3).collect()
        } else {
            digits.trim_start_matches('0').to_owned()
        }
    };
    words.map(part).collect()
}

fn split_tokens(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '/' | '-')));
    let words = words.map(|word| word.trim_matches(['.', '/', '-']));
    words.filter(|word| !word.is_empty())
}

/// Replaces a part of a text by spaces, so that all other positions stay the same.
pub fn blank_out(text: &mut String, part: std::ops::Range<usize>) {
    let spaces = " ".repeat(part.len());
    text.replace_range(part, &spaces);
}
