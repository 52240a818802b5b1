//! Asking memory as a host would; and why a record is not among the results: for any record, by
//! asking memory for just that one.

use std::time::Instant;

use reprise_operations::operations::list;
use reprise_operations::operations::recall::{RecallArguments, with_context};
use reprise_types::{ContextBlock, Cursor};

use crate::prelude::*;

/// Tokens of a prompt that nobody looks at.
const LEAST: usize = 50;
/// Results of a recall of one moment's records alone.
const ASKED_ALONE: usize = 50;

/// An answer.
pub(super) struct Found {
    pub(super) recall: Recall,
    pub(super) context: ContextBlock,
    /// How long it took, in milliseconds.
    pub(super) elapsed_ms: f64,
}

/// What memory answers, and what a prompt of so many tokens would get of it.
pub(super) async fn recalled(
    visit: &Visit,
    request: &RecallRequest,
    scope: RecallScope,
    budget: usize,
) -> Answer<Found> {
    let began = Instant::now();
    let asked = RecallArguments {
        scope: Some(scope),
        ..RecallArguments::of(request)
    };
    let memory = visit.memory();
    let (recall, context) = Box::pin(with_context(&memory, &asked, budget)).await?;
    Ok(Found {
        recall,
        context,
        elapsed_ms: began.elapsed().as_secs_f64() * 1e3,
    })
}

/// Where a record stands for a question.
pub(super) enum Place {
    Shown(usize),
    /// It comes after those that are shown.
    Later(usize),
    /// It is no record of this memory.
    Unknown,
    /// Another version answers for it.
    Corrected(RecordId),
    /// The question leaves it out: which part does.
    LeftOut(&'static str),
    /// Nothing leaves it out, and so many are before it: what it scores, asked for alone.
    Far(Option<Box<RetrievedMemory>>),
}

impl Place {
    /// Finds `expected` in an answer of which `shown` results are shown.
    pub(super) async fn of(
        visit: &Visit,
        asked: &RecallRequest,
        found: &Recall,
        expected: RecordId,
        shown: usize,
    ) -> Answer<Self> {
        let results = &found.results;
        if let Some(place) = results.iter().position(|hit| hit.record.id == expected) {
            return Ok(if place < shown {
                Self::Shown(place)
            } else {
                Self::Later(place)
            });
        }
        let id = expected.to_string();
        let asked_for = HistoryArguments { id };
        let Some(versions) = visit.ask_if::<History>(asked_for).await? else {
            return Ok(Self::Unknown);
        };
        let record = versions.present;
        if record.id != expected {
            return Ok(Self::Corrected(record.id));
        }
        if let Some(part) = left_out_by(asked, &record) {
            return Ok(Self::LeftOut(part));
        }
        for (part, alone) in named(&asked.filter) {
            if !alone.is_empty() && !is_listed(visit, alone, &record).await? {
                return Ok(Self::LeftOut(part));
            }
        }
        // What happened in the same moment is little, so that it is surely among the results.
        let alone = RecallRequest {
            top_k: ASKED_ALONE,
            filter: MemoryFilter {
                since: Some(record.timestamp),
                until: Some(record.timestamp),
                ..asked.filter.clone()
            },
            ..asked.clone()
        };
        let alone = recalled(visit, &alone, RecallScope::Local, LEAST).await?;
        let mut hits = alone.recall.results.into_iter();
        let hit = hits.find(|hit| hit.record.id == expected);
        Ok(Self::Far(hit.map(Box::new)))
    }
}

/// Takes a part of a filter over into another one.
type Part = fn(&mut MemoryFilter, &MemoryFilter);

/// The parts of a filter that a record's own fields decide.
const PARTS: [(&str, Part); 5] = [
    ("sort", |one, of| one.kinds.clone_from(&of.kinds)),
    ("source", |one, of| one.sources.clone_from(&of.sources)),
    ("since", |one, of| one.since = of.since),
    ("until", |one, of| one.until = of.until),
    ("session", |one, of| {
        one.session_id.clone_from(&of.session_id);
    }),
];

/// The part of a question that leaves a record out, as far as the record says.
fn left_out_by(asked: &RecallRequest, record: &MemoryRecord) -> Option<&'static str> {
    if asked.as_of.is_some_and(|day| record.known_at > day) {
        return Some("days back");
    }
    let filter = &asked.filter;
    let types = filter.types.as_ref();
    if types.is_some_and(|types| !types.contains(&record.record_type())) {
        return Some("kind");
    }
    // The first with which it is left out is the one that does it.
    let (mut upto, session) = (MemoryFilter::default(), &record.session_id);
    for (part, take) in PARTS {
        take(&mut upto, filter);
        if !upto.admits(record.kind, record.source, record.timestamp, session) {
            return Some(part);
        }
    }
    let mut tags = filter.tags.iter().flatten();
    tags.any(|tag| !record.tags.contains(tag)).then_some("tag")
}

/// The parts of a filter that memory alone decides, each by itself: it knows how names are spelled.
fn named(filter: &MemoryFilter) -> [(&'static str, MemoryFilter); 2] {
    let project = MemoryFilter {
        project: filter.project.clone(),
        ..MemoryFilter::default()
    };
    let author = MemoryFilter {
        author: filter.author.clone(),
        ..MemoryFilter::default()
    };
    [("project", project), ("author", author)]
}

/// Whether memory lists a record among those that a filter admits.
async fn is_listed(visit: &Visit, filter: MemoryFilter, record: &MemoryRecord) -> Answer<bool> {
    // Only from its own place on; with a kind, a run that tells no step is listed too.
    let before = RecordId::from_u128(record.id.to_u128().saturating_add(1));
    let request = ListRequest {
        filter: MemoryFilter {
            kinds: Some(vec![record.kind]),
            ..filter
        },
        limit: 1,
        after: Some(Cursor {
            id: before,
            ..Cursor::of(record)
        }),
    };
    let page = list::records(&visit.memory(), request).await?;
    Ok(page.records.iter().any(|one| one.id == record.id))
}

/// The question for any record, and what is said of one.
pub(super) fn section(
    pairs: &Pairs,
    expected: Option<RecordId>,
    place: Option<&Place>,
    found: &Recall,
    shown: usize,
) -> Markup {
    html! {
        details class="fold" open[place.is_some()] {
            summary { "Why not this one?" }
            form class="stack" action="/search" {
                @for (name, value) in pairs.but(&["expected"]) {
                    input type="hidden" name=(name) value=(value);
                }
                div class="fields" {
                    label {
                        "A record's id"
                        input name="expected" value=[expected] autocomplete="off" spellcheck="false"
                            required;
                    }
                    button { "Why not?" }
                }
            }
            @if let Some(place) = place { div class="said" { (answer(place, found, shown)) } }
        }
    }
}

fn answer(place: &Place, found: &Recall, shown: usize) -> Markup {
    let results = &found.results;
    let last = shown.checked_sub(1).and_then(|last| results.get(last));
    let last = last.map_or(0.0, |hit| hit.sona_score);
    let records = text::of(results.len(), "record", "records");
    let says = match place {
        Place::Shown(place) => format!("It is result {}.", place + 1),
        Place::Later(place) => {
            let score = results.get(*place).map_or(0.0, |hit| hit.sona_score);
            format!(
                "It is result {}: {score:.2}, where the last one shown has {last:.2}.",
                place + 1
            )
        }
        Place::Unknown => "There is no such record in this memory.".to_owned(),
        Place::Corrected(_) => "It was corrected; its newest version answers for it.".to_owned(),
        Place::LeftOut(part) => format!("The filter leaves it out: {part}."),
        Place::Far(None) => {
            format!("{records} come before it; nothing of the question points to it.")
        }
        Place::Far(Some(hit)) => format!(
            "{records} come before it: it scores {:.2}, the last one shown {last:.2}.",
            hit.sona_score
        ),
    };
    let hit = match place {
        Place::Later(place) => results.get(*place),
        Place::Far(Some(hit)) => Some(&**hit),
        _ => None,
    };
    html! {
        p role="status" { (says) }
        @if let Place::Corrected(present) = place {
            p { a href=(format!("/records/{present}")) { "The newest version" } }
        }
        @if let Some(hit) = hit {
            p class="why" { (text::line(&hit.why.reason, 400)) }
            (chart::signals(&hit.why.signals))
        }
    }
}
