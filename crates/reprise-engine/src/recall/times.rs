//! Looks up the records of the times that a question names.

use chrono::DateTime;
use reprise_index::IndexView;
use reprise_rank::{QuestionTimes, date_parts};
use reprise_types::{EventMention, RecallRequest, TimeMention, TimeSpan};

use crate::snapshot::Snapshot;

/// A record that names an event counts only if it is longer than the shortest such record by at
/// most one word in so many; a longer one describes other things too.
const LONGER_TELLING: u32 = 4;
/// Most records with all words of a date that are read for it, the newest first.
const DATE_READS: usize = 64;

/// Reads the times that a question names, with the records of them.
pub(super) fn read_times(
    snapshot: &Snapshot,
    request: &RecallRequest,
    view: &IndexView,
) -> QuestionTimes {
    let mut when = QuestionTimes::default();
    for spoken in &request.query_times {
        match &spoken.event {
            Some(event) => read_event(&mut when, snapshot, view, (spoken, event)),
            None => read_time(&mut when, snapshot, view, spoken),
        }
    }
    when.sort_records();
    when
}

/// Restricts a view to records of the times that are named, and to those whose text names them.
pub(super) fn restrict_view(view: IndexView, when: &QuestionTimes) -> IndexView {
    if !when.is_filter {
        return view;
    }
    view.restrict_to(when.holders.iter().chain(&when.mentions).copied())
}

fn read_time(
    when: &mut QuestionTimes,
    snapshot: &Snapshot,
    view: &IndexView,
    spoken: &TimeMention,
) {
    let holders = if spoken.spans.is_empty() {
        Vec::new()
    } else {
        when.mentions
            .extend(records_with_date(snapshot, view, &spoken.phrase));
        records_in_first_span(snapshot, view, &spoken.spans)
    };
    when.add_time(spoken, holders);
}

/// Reads the records before or after an event, and when that was. The record that describes it is
/// the latest of those that hold every word of its name and little else; without such a record, or
/// without records on that side, the words are ordinary words.
fn read_event(
    times: &mut QuestionTimes,
    snapshot: &Snapshot,
    view: &IndexView,
    (spoken, event): (&TimeMention, &EventMention),
) {
    let index = &snapshot.index;
    let Some(tellings) = index.find_all_words(&index.analyse_query(&event.name), 0) else {
        return;
    };
    let length = |ordinal: u32| Some(index.doc_traits(ordinal, view)?.terms);
    let tellings: Vec<(u32, u32)> = tellings
        .into_iter()
        .filter(|ordinal| view.contains(*ordinal))
        .filter_map(|ordinal| Some((length(ordinal)?, ordinal)))
        .collect();
    let Some(shortest) = tellings.iter().map(|(terms, _)| *terms).min() else {
        return;
    };
    let short = tellings
        .into_iter()
        .filter(|(terms, _)| *terms - shortest <= shortest / LONGER_TELLING);
    let place = short
        .filter_map(|(_, ordinal)| index.time_key(ordinal))
        .max();
    let Some((id, when)) =
        place.and_then(|(at, id)| Some((id, DateTime::from_timestamp_micros(at)?)))
    else {
        return;
    };
    let holders = records_in_first_span(
        snapshot,
        view,
        &[event.relation.restrict_span(TimeSpan::of_instant(when))],
    );
    if holders.is_empty() {
        return;
    }
    times.add_event(spoken, event, (id, when), holders);
}

/// Returns the records whose text has a date as the question does, its parts in any order.
fn records_with_date(snapshot: &Snapshot, view: &IndexView, phrase: &str) -> Vec<u32> {
    let wanted = date_parts(phrase);
    if !wanted
        .iter()
        .any(|part| part.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Vec::new();
    }
    let index = &snapshot.index;
    let holders_of_words = index.find_all_words(&index.analyse_query(phrase), 0);
    let holders_of_words = holders_of_words.into_iter().flatten().rev();
    let has_it = |ordinal: &u32| {
        let record = snapshot.record(*ordinal, None);
        record.is_ok_and(|record| {
            let parts = date_parts(&record.text);
            let mut runs = parts.windows(wanted.len());
            runs.any(|run| wanted.iter().all(|part| run.contains(part)))
        })
    };
    holders_of_words
        .filter(|ordinal| view.contains(*ordinal))
        .take(DATE_READS)
        .filter(has_it)
        .collect()
}

/// Returns the records of the first span that any record is from, in one pass: a date without a
/// year has a span for each year.
fn records_in_first_span(snapshot: &Snapshot, view: &IndexView, spans: &[TimeSpan]) -> Vec<u32> {
    let micros = |span: &TimeSpan| span.since.timestamp_micros()..=span.until.timestamp_micros();
    let spans: Vec<_> = spans.iter().map(micros).collect();
    let (mut first, mut found) = (spans.len(), Vec::new());
    for ordinal in view.ordinals() {
        let Some((at, _)) = snapshot.index.time_key(ordinal) else {
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
