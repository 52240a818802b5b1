//! Times that a question names: a filter where other words stand beside them. Records of that time
//! answer, ranked by the rest of the question; where there are none, those that tell of it.

use chrono::DateTime;
use reprise_index::View;
use reprise_types::{Event, RecallRequest, Span, Spoken, to_the_minute};

use crate::snapshot::Snapshot;

/// Logit of being from the time that is named from now (`last week`): it is that of the record.
const TIME_TOLD: f32 = 2.5;
/// Logit of being from a date that is named, or on the side of an event: it may be that of what the
/// record tells.
pub(super) const DATE_TOLD: f32 = 1.0;
/// A record that is longer than the shortest that names an event by more than one in so many words
/// tells of other things too.
const LONGER_TELLING: u32 = 4;
/// Records with all words of a date that are read for it, the newest first.
const DATE_READS: usize = 64;

/// What a question says of time.
#[derive(Debug, Default)]
pub(super) struct When {
    /// Records of the times that are named, ascending; empty where none is, or none is of them.
    pub(super) holders: Vec<u32>,
    /// What names them, as the question has it, and what names a time that no record is from.
    pub(super) phrases: Vec<String>,
    others: Vec<String>,
    /// Records whose text has a date that is named, ascending: a day may be that of what is told.
    pub(super) tellings: Vec<u32>,
    /// What being of that time adds to a logit.
    pub(super) lift: f32,
    /// Nothing else may answer.
    pub(super) is_filter: bool,
    /// What its reader should know.
    pub(super) notes: Vec<String>,
}

impl When {
    pub(super) fn of(snapshot: &Snapshot, request: &RecallRequest, view: &View) -> Self {
        let mut when = Self::default();
        for spoken in &request.when {
            match &spoken.event {
                Some(event) => when.remember(snapshot, view, spoken, event),
                None => when.hear(snapshot, view, spoken),
            }
        }
        for found in [&mut when.holders, &mut when.tellings] {
            found.sort_unstable();
            found.dedup();
        }
        when
    }

    /// Takes up one time. Of what it may mean the first counts that there are records of.
    fn hear(&mut self, snapshot: &Snapshot, view: &View, spoken: &Spoken) {
        let phrase = &spoken.phrase;
        if spoken.spans.is_empty() {
            self.notes.push(format!(
                "no calendar has the day of `{phrase}`: no time was looked for"
            ));
            return;
        }
        self.tellings.extend(tellings(snapshot, view, phrase));
        let holders = first_of(snapshot, view, &spoken.spans);
        if holders.is_empty() {
            self.notes
                .push(format!("no record is from the time of `{phrase}`"));
            // `4 years ago` may be what a record says.
            if !spoken.relative {
                self.others.push(phrase.clone());
            }
            return;
        }
        self.holders.extend(holders);
        self.phrases.push(phrase.clone());
        let lift = if spoken.relative {
            TIME_TOLD
        } else {
            DATE_TOLD
        };
        self.lift = self.lift.max(lift);
        self.is_filter |= !spoken.open;
    }

    /// The records on a side of an event, and when that was. The record that tells of it is the
    /// latest of those that hold every word of its name and little else; where none does, or none
    /// is on that side, the words are words.
    fn remember(&mut self, snapshot: &Snapshot, view: &View, spoken: &Spoken, event: &Event) {
        let index = &snapshot.index;
        let Some(tellings) = index.holding_words(&index.analyse_query(&event.name), 0) else {
            return;
        };
        let length = |ordinal: u32| Some(index.traits(ordinal, view)?.terms);
        let tellings: Vec<(u32, u32)> = tellings
            .into_iter()
            .filter(|ordinal| view.admits(*ordinal))
            .filter_map(|ordinal| Some((length(ordinal)?, ordinal)))
            .collect();
        let Some(shortest) = tellings.iter().map(|(terms, _)| *terms).min() else {
            return;
        };
        let short = tellings
            .into_iter()
            .filter(|(terms, _)| *terms - shortest <= shortest / LONGER_TELLING);
        let told = short
            .filter_map(|(_, ordinal)| index.place_in_time(ordinal))
            .max();
        let Some((id, when)) =
            told.and_then(|(at, id)| Some((id, DateTime::from_timestamp_micros(at)?)))
        else {
            return;
        };
        let holders = first_of(snapshot, view, &[event.side.cut(Span::at(when))]);
        if holders.is_empty() {
            return;
        }
        let (phrase, side) = (&spoken.phrase, event.side.word());
        let when = to_the_minute(when);
        self.notes.push(format!(
            "`{phrase}` was read as {side} {when}, the time of record {id}"
        ));
        self.holders = holders;
        self.phrases.push(phrase.clone());
        self.lift = DATE_TOLD;
        self.is_filter = true;
    }

    /// The question without the words that name times.
    pub(super) fn without(&self, question: &str) -> String {
        let mut rest = self.without_numbers(question);
        for phrase in &self.phrases {
            if let Some(at) = rest.find(phrase.as_str()) {
                blank(&mut rest, at..at + phrase.len());
            }
        }
        rest
    }

    /// The question without the numbers of a date that no record is from: the `2` of `2 november`
    /// is not that of `2.8`.
    pub(super) fn without_numbers(&self, question: &str) -> String {
        let mut rest = question.to_owned();
        for phrase in &self.others {
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

    /// Restricts the view to the time, and to what tells of it.
    pub(super) fn restrict(&self, view: View) -> View {
        if !self.is_filter {
            return view;
        }
        view.among(self.holders.iter().chain(&self.tellings).copied())
    }
}

/// The records whose text has a date as the question does, its parts in any order.
fn tellings(snapshot: &Snapshot, view: &View, phrase: &str) -> Vec<u32> {
    let wanted = parts_of_date(phrase);
    if !wanted
        .iter()
        .any(|part| part.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Vec::new();
    }
    let index = &snapshot.index;
    let held = index.holding_words(&index.analyse_query(phrase), 0);
    let held = held.into_iter().flatten().rev();
    let has_it = |ordinal: &u32| {
        let record = snapshot.record(*ordinal, None);
        record.is_ok_and(|record| {
            let parts = parts_of_date(&record.text);
            let mut runs = parts.windows(wanted.len());
            runs.any(|run| wanted.iter().all(|part| run.contains(part)))
        })
    };
    held.filter(|ordinal| view.admits(*ordinal))
        .take(DATE_READS)
        .filter(has_it)
        .collect()
}

/// Numbers without `nd`, other words by how they begin: `2nd of November` is `2`, `nov`.
fn parts_of_date(text: &str) -> Vec<String> {
    const BETWEEN: [&str; 3] = ["of", "the", "de"];
    let words = tokens(text).map(str::to_lowercase);
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

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '/' | '-')));
    let words = words.map(|word| word.trim_matches(['.', '/', '-']));
    words.filter(|word| !word.is_empty())
}

/// The records of the first of the spans that any happened in, in one pass: a date without a year
/// has a span for each.
fn first_of(snapshot: &Snapshot, view: &View, spans: &[Span]) -> Vec<u32> {
    let micros = |span: &Span| span.since.timestamp_micros()..=span.until.timestamp_micros();
    let spans: Vec<_> = spans.iter().map(micros).collect();
    let (mut first, mut found) = (spans.len(), Vec::new());
    for ordinal in view.ordinals() {
        let Some((at, _)) = snapshot.index.place_in_time(ordinal) else {
            continue;
        };
        let mut upto = spans.iter().take(first.saturating_add(1));
        let Some(place) = upto.position(|span| span.contains(&at)) else {
            continue;
        };
        if place < first {
            first = place;
            found.clear();
        }
        found.push(ordinal);
    }
    found
}

/// Puts spaces in place of a part of a text; every other place stays where it is.
pub(super) fn blank(text: &mut String, part: std::ops::Range<usize>) {
    let spaces = " ".repeat(part.len());
    text.replace_range(part, &spaces);
}
