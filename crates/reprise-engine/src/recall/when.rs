//! Times that a question names: a filter where other words stand beside them. Records of that time
//! answer, ranked by the rest of the question; where there are none the words are words.

use chrono::DateTime;
use reprise_index::View;
use reprise_types::{RecallRequest, Span, Spoken};

use super::event::Event;
use crate::snapshot::Snapshot;

/// Logit of being from the time that is named from now (`last week`): it is that of the record.
const TIME_TOLD: f32 = 2.5;
/// Logit of being from a date that is named, or on the side of an event: it may be that of what the
/// record tells.
const DATE_TOLD: f32 = 1.0;
/// A record that is longer than the shortest that names an event by more than one in so many words
/// tells of other things too.
const LONGER_TELLING: u32 = 4;

/// What a question says of time.
#[derive(Debug, Default)]
pub(super) struct When {
    /// Records of the times that are named, ascending; empty where none is, or none is of them.
    pub(super) holders: Vec<u32>,
    /// What names them, as the question has it.
    pub(super) phrases: Vec<String>,
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
            when.hear(snapshot, view, spoken);
        }
        if request.when.is_empty()
            && let Some(event) = Event::of(&request.query)
        {
            when.remember(snapshot, view, &event);
        }
        when.holders.sort_unstable();
        when.holders.dedup();
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
        let mut found = spoken
            .spans
            .iter()
            .map(|span| between(snapshot, view, *span));
        let Some(holders) = found.find(|holders| !holders.is_empty()) else {
            self.notes
                .push(format!("no record is from the time of `{phrase}`"));
            return;
        };
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
    fn remember(&mut self, snapshot: &Snapshot, view: &View, event: &Event<'_>) {
        let index = &snapshot.index;
        let Some(tellings) = index.holding_words(&index.analyse_query(event.name)) else {
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
        let Some(((at, id), when)) =
            told.zip(told.and_then(|told| DateTime::from_timestamp_micros(told.0)))
        else {
            return;
        };
        let (since, until) = event.side.range(at);
        let holders = happened(snapshot, view, since, until);
        if holders.is_empty() {
            return;
        }
        let (phrase, side, when) = (
            event.phrase,
            event.side.word(),
            when.format("%Y-%m-%d %H:%M"),
        );
        self.notes.push(format!(
            "`{phrase}` was read as {side} {when} UTC, the time of record {id}"
        ));
        self.holders = holders;
        self.phrases.push(phrase.to_owned());
        self.lift = DATE_TOLD;
        self.is_filter = true;
    }

    /// The question without the words that name times.
    pub(super) fn without(&self, question: &str) -> String {
        let mut rest = question.to_owned();
        for phrase in &self.phrases {
            if let Some(at) = rest.find(phrase.as_str()) {
                blank(&mut rest, at..at + phrase.len());
            }
        }
        rest
    }

    /// Restricts the view to the time, and to what names it: a day may be that of what is told.
    pub(super) fn restrict(&self, snapshot: &Snapshot, view: View) -> View {
        if !self.is_filter {
            return view;
        }
        let index = &snapshot.index;
        let named = self
            .phrases
            .iter()
            .filter(|phrase| phrase.contains(|c: char| c.is_ascii_digit()));
        let tellings = named.filter_map(|phrase| index.holding_words(&index.analyse_query(phrase)));
        let tellings: Vec<u32> = tellings.flatten().collect();
        view.among(self.holders.iter().copied().chain(tellings))
    }
}

fn between(snapshot: &Snapshot, view: &View, span: Span) -> Vec<u32> {
    happened(
        snapshot,
        view,
        span.since.timestamp_micros(),
        span.until.timestamp_micros(),
    )
}

/// The records that happened between two instants, both included.
fn happened(snapshot: &Snapshot, view: &View, since: i64, until: i64) -> Vec<u32> {
    let happened = |ordinal: &u32| {
        let place = snapshot.index.place_in_time(*ordinal);
        place.is_some_and(|(at, _)| (since..=until).contains(&at))
    };
    view.ordinals().filter(happened).collect()
}

/// Puts spaces in place of a part of a text; every other place stays where it is.
pub(super) fn blank(text: &mut String, part: std::ops::Range<usize>) {
    let spaces = " ".repeat(part.len());
    text.replace_range(part, &spaces);
}
