//! Timed recalls, the reason why a result was found, and the reason why a record is not among the
//! results, found by asking memory for that record only.

use std::time::Instant;

use reprise_operations::ProblemKind;
use reprise_operations::operations::recall::AskedRecall;
use reprise_operations::operations::records::list;
use reprise_types::{Cursor, OutcomeSummary, RankExplanation};

use crate::prelude::*;

/// Times that a recall is tried while memory is late.
const TRIES: usize = 5;
/// Results of a recall over the records of one moment.
const ASKED_ALONE: usize = 50;

/// A recall with its time.
pub(super) struct TimedRecall {
    pub(super) recall: RecallResponse,
    /// Milliseconds that it took.
    pub(super) elapsed_ms: f64,
}

/// Runs a recall, and waits for a model that is still being loaded.
pub(super) async fn time_recall(
    visit: &PageRequest,
    request: &RecallRequest,
    scope: RecallScope,
) -> PageResult<TimedRecall> {
    let began = Instant::now();
    let memory = visit.memory();
    let mut tries = 0;
    let recall = loop {
        tries += 1;
        let asked = AskedRecall::of_request(&memory, request.clone(), scope).await?;
        match Box::pin(memory.answer(asked)).await {
            // Right after a start the model is still being loaded: a person waits for it.
            Err(problem) if problem.kind == ProblemKind::TimedOut && tries < TRIES => {}
            found => break found?.recall,
        }
    };
    Ok(TimedRecall {
        recall,
        elapsed_ms: began.elapsed().as_secs_f64() * 1e3,
    })
}

/// Where a record is among the results of a question, or why it is not there.
pub(super) enum ResultPosition {
    Shown(usize),
    /// It comes after the results that are shown.
    Later(usize),
    /// There is no record with this id or external id in this memory.
    Unknown(String),
    /// A newer version has replaced it.
    Corrected(RecordId),
    /// This part of the question leaves it out.
    LeftOut(&'static str),
    /// It was stored at this time, after the day that is asked about.
    TooNew(DateTime<Utc>),
    /// Other results come before it; its own result, if a recall for it alone finds it.
    Far(Option<Box<RetrievedMemory>>),
}

impl ResultPosition {
    /// Finds `expected` in an answer of which `shown` results are shown.
    pub(super) async fn of(
        visit: &PageRequest,
        request: &RecallRequest,
        found: &RecallResponse,
        expected: &str,
        shown: usize,
    ) -> PageResult<Self> {
        let results = &found.results;
        let is_expected = |id: RecordId| expected.parse() == Ok(id);
        // Published knowledge is among the results and not in this memory.
        let mut position = results.iter().position(|hit| is_expected(hit.record.id));
        let mut present = None;
        if position.is_none() {
            let id = expected.to_owned();
            let found = visit
                .run_optional::<History>(HistoryArguments { id })
                .await?;
            let Some(versions) = found else {
                return Ok(Self::Unknown(expected.to_owned()));
            };
            let record = versions.present;
            let names_version = expected.parse::<RecordId>().is_ok();
            if names_version && !is_expected(record.id) {
                return Ok(Self::Corrected(record.id));
            }
            position = results.iter().position(|hit| hit.record.id == record.id);
            present = Some(record);
        }
        if let Some(position) = position {
            return Ok(if position < shown {
                Self::Shown(position)
            } else {
                Self::Later(position)
            });
        }
        let Some(record) = present else {
            return Ok(Self::Unknown(expected.to_owned()));
        };
        if request.as_of.is_some_and(|day| record.known_at > day) {
            return Ok(Self::TooNew(record.known_at));
        }
        if let Some(part) = left_out_by(request, &record) {
            return Ok(Self::LeftOut(part));
        }
        for (part, alone) in split_named_fields(&request.filter) {
            if !alone.is_empty() && !is_listed(visit, alone, &record).await? {
                return Ok(Self::LeftOut(part));
            }
        }
        // Few records share its moment, so it is surely among the results if anything matches.
        let alone = RecallRequest {
            top_k: ASKED_ALONE,
            filter: MemoryFilter {
                since: Some(record.timestamp),
                until: Some(record.timestamp),
                ..request.filter.clone()
            },
            ..request.clone()
        };
        let alone = time_recall(visit, &alone, RecallScope::Local).await?;
        let mut hits = alone.recall.results.into_iter();
        let hit = hits.find(|hit| hit.record.id == record.id);
        Ok(Self::Far(hit.map(Box::new)))
    }
}

/// Copies one field of a filter into another filter.
type CopyFilterField = fn(&mut MemoryFilter, &MemoryFilter);

/// The fields of a filter that can be checked against a record alone.
const FILTER_FIELDS: [(&str, CopyFilterField); 5] = [
    ("kind", |one, of| one.kinds.clone_from(&of.kinds)),
    ("source", |one, of| one.sources.clone_from(&of.sources)),
    ("since", |one, of| one.since = of.since),
    ("until", |one, of| one.until = of.until),
    ("session", |one, of| {
        one.session_id.clone_from(&of.session_id);
    }),
];

/// Finds the part of a question that leaves a record out, as far as the record alone tells.
fn left_out_by(request: &RecallRequest, record: &MemoryRecord) -> Option<&'static str> {
    let filter = &request.filter;
    let types = filter.types.as_ref();
    if types.is_some_and(|types| !types.contains(&record.record_type())) {
        return Some("type");
    }
    // Fields are added one by one; the first that leaves it out is the reason.
    let (mut upto, session) = (MemoryFilter::default(), &record.session_id);
    for (part, copy_field) in FILTER_FIELDS {
        copy_field(&mut upto, filter);
        if !upto.matches_record(record.kind, record.source, record.timestamp, session) {
            return Some(part);
        }
    }
    let mut tags = filter.tags.iter().flatten();
    tags.any(|tag| !record.tags.contains(tag)).then_some("tag")
}

/// Splits off the fields that only memory can check, since it knows how names are spelled.
fn split_named_fields(filter: &MemoryFilter) -> [(&'static str, MemoryFilter); 2] {
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

/// Returns whether memory lists a record under a filter.
async fn is_listed(
    visit: &PageRequest,
    filter: MemoryFilter,
    record: &MemoryRecord,
) -> PageResult<bool> {
    // The list starts at the record itself; with a kind it also contains runs without steps.
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
    let page = list::list_records(&visit.memory(), request).await?;
    Ok(page.records.iter().any(|one| one.id == record.id))
}

/// What is asked of a person who misses a memory.
pub(super) const EXPECTED_LABEL: &str = "What should it say? Words of it, or its id";
/// Fewest results among which the memory with some words is looked for.
const NAMED_BY_WORDS: usize = 1;

/// Finds the memory that a person means: by its id or external id, or else by what it says.
pub(super) async fn find_expected(
    visit: &PageRequest,
    expected: &str,
) -> PageResult<Option<MemoryRecord>> {
    let id = expected.to_owned();
    let by_id = visit
        .run_optional::<History>(HistoryArguments { id })
        .await?;
    if by_id.is_some() || expected.parse::<RecordId>().is_ok() {
        return Ok(None);
    }
    let request = RecallRequest {
        top_k: NAMED_BY_WORDS,
        ..RecallRequest::new(expected)
    };
    let found = time_recall(visit, &request, RecallScope::Local).await?;
    let mut results = found.recall.results.into_iter();
    Ok(results.next().map(|hit| hit.record))
}

/// Renders the form that asks why a record is missing, and the answer.
pub(super) fn render_section(
    pairs: &QueryPairs,
    (expected, meant): (Option<&str>, Option<&MemoryRecord>),
    position: Option<&ResultPosition>,
    found: &RecallResponse,
    shown: usize,
    calendar: &Calendar,
) -> Markup {
    html! {
        details class="fold" open[position.is_some()] {
            summary { "Is a memory missing?" }
            form class="stack" action="/search" {
                @for (name, value) in pairs.except(&["expected"]) {
                    input type="hidden" name=(name) value=(value);
                }
                div class="fields missing" {
                    label {
                        (EXPECTED_LABEL)
                        input name="expected" value=[expected] autocomplete="off" required;
                    }
                    button { "Find out why" }
                }
            }
            @if let Some(meant) = meant {
                p class="why" data-meant {
                    "You mean: " a href=(rows::path(meant)) { (text::shorten_title(rows::title(meant), 120)) }
                }
            }
            @if let Some(position) = position { div class="said" { (render_position(position, found, shown, calendar)) } }
        }
    }
}

fn render_position(
    position: &ResultPosition,
    found: &RecallResponse,
    shown: usize,
    calendar: &Calendar,
) -> Markup {
    let results = &found.results;
    let last = shown.checked_sub(1).and_then(|last| results.get(last));
    let last = last.map_or(0.0, |hit| hit.sona_score);
    let records = text::pluralize(results.len(), "memory", "memories");
    let sentence = match position {
        ResultPosition::Shown(position) => format!("It is result {}.", position + 1),
        ResultPosition::Later(position) => {
            let score = results.get(*position).map_or(0.0, |hit| hit.sona_score);
            format!(
                "It is result {}. Its score is {score:.2}; the last one shown has {last:.2}.",
                position + 1
            )
        }
        ResultPosition::Unknown(name) => format!(
            "No memory has this id or these words: {}. It may have been forgotten.",
            text::plain_line(name, 80)
        ),
        ResultPosition::Corrected(_) => {
            "It was corrected. Its newest version is used instead.".to_owned()
        }
        ResultPosition::LeftOut(part) => format!("The filter leaves it out: {part}."),
        ResultPosition::TooNew(at) => format!(
            "It was stored on {}, after the day that you search.",
            calendar.day_of(*at)
        ),
        ResultPosition::Far(None) if results.is_empty() => {
            "Nothing in it matches the question.".to_owned()
        }
        ResultPosition::Far(None) => format!(
            "Nothing in it matches the question. {records} {} better.",
            if results.len() == 1 {
                "matches"
            } else {
                "match"
            }
        ),
        ResultPosition::Far(Some(hit)) => format!(
            "{records} {} better. Its score is {:.2}; the last one shown has {last:.2}.",
            if results.len() == 1 {
                "matches"
            } else {
                "match"
            },
            hit.sona_score
        ),
    };
    let hit = match position {
        ResultPosition::Later(position) => results.get(*position),
        ResultPosition::Far(Some(hit)) => Some(&**hit),
        _ => None,
    };
    html! {
        p role="status" { (sentence) }
        @if let ResultPosition::Corrected(present) = position {
            p { a href=(format!("/records/{present}")) { "Open the newest version" } }
        }
        @if let Some(hit) = hit {
            p class="why" { (text::shorten(&hit.why.reason, 400)) }
            (chart::render_signals(&hit.why, hit.sona_score))
        }
    }
}

/// Says in sentences why a result was found. What learning changed by less than is shown is left
/// out.
pub(super) fn describe_reason(why: &RankExplanation) -> String {
    let learned = why.learning.map_or(0.0, |learned| learned.adjustment);
    let runs = why.taught_by.len();
    describe_parts(&why.reason, describe_learned(learned, runs))
}

/// Says the parts of a reason in sentences. The engine says it in parts, for prompts; `learned`
/// takes the place of what it says of learning.
pub(super) fn describe_parts(reason: &str, learned: Option<String>) -> String {
    let (mut matched, mut sentences) = (Vec::new(), Vec::new());
    let mut learned = learned;
    for part in reason.split(" \u{b7} ").filter(|part| !part.is_empty()) {
        if let Some(words) = part.strip_prefix("same words: ") {
            matched.extend(words.split(", ").map(quote_word));
        } else if part == "close in meaning" {
            matched.push("the meaning".to_owned());
        } else if part.starts_with("contradicted by ") {
            sentences.push("A newer memory contradicts it.".to_owned());
        } else if let Some(results) = describe_outcomes(part) {
            sentences.push(results);
        } else if LEARNED.iter().any(|start| part.starts_with(start)) {
            sentences.extend(learned.take());
        } else {
            sentences.push(text::to_sentence(part));
        }
    }
    let matches = match matched.split_last() {
        None => None,
        Some((last, [])) => Some(format!("Matches {last}.")),
        Some((last, rest)) => Some(format!("Matches {} and {last}.", rest.join(", "))),
    };
    let all: Vec<String> = matches.into_iter().chain(sentences).collect();
    all.join(" ")
}

/// Says how the runs went that used a memory: `worked well (.9), twice` in the words and the
/// numbers of the page of learning.
fn describe_outcomes(part: &str) -> Option<String> {
    let (_, rest) = part
        .split_once(" (")
        .filter(|_| OutcomeSummary::is_formatted_in(part))?;
    let (quality, times) = rest.split_once("), ")?;
    let quality: f32 = quality.parse().ok()?;
    let runs = match times {
        "once" => 1,
        "twice" => 2,
        many => many.strip_suffix(" times")?.parse().ok()?,
    };
    let runs = text::pluralize(runs, "run", "runs");
    Some(format!("Used in {runs}: average result {quality:.1} of 1."))
}

/// How the parts begin that say what learning changed.
const LEARNED: [&str; 3] = ["helped in ", "did not help in ", "similar memories "];

/// Says how the runs went by which learning changed a score.
fn describe_learned(adjustment: f32, runs: usize) -> Option<String> {
    if adjustment.abs() < chart::LEAST_SHOWN {
        return None;
    }
    let how = if adjustment > 0.0 {
        "better than expected"
    } else {
        "worse than expected"
    };
    Some(match runs {
        0 => format!("Runs that used similar memories went {how}."),
        1 => format!("1 similar run that used it went {how}."),
        many => format!("{many} similar runs that used it went {how}."),
    })
}

/// Puts a word between quotation marks, unless it counts words that are left out.
fn quote_word(word: &str) -> String {
    if word.ends_with(" more") {
        word.to_owned()
    } else {
        format!("\u{201c}{word}\u{201d}")
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::LearnedAdjustment;

    use super::*;

    #[test]
    fn a_reason_is_said_in_sentences() {
        for (reason, said) in [
            (
                "same words: token, rate \u{b7} close in meaning \u{b7} helped in 1 similar run",
                "Matches \u{201c}token\u{201d}, \u{201c}rate\u{201d} and the meaning. Runs that \
                 used similar memories went better than expected.",
            ),
            ("close in meaning", "Matches the meaning."),
            (
                "close in meaning \u{b7} worked well (.9), once",
                "Matches the meaning. Used in 1 run: average result 0.9 of 1.",
            ),
            (
                "went badly (.2), 12 times",
                "Used in 12 runs: average result 0.2 of 1.",
            ),
            (
                "contradicted by 01M8, which is newer \u{b7} same words: a, b, 2 more",
                "Matches \u{201c}a\u{201d}, \u{201c}b\u{201d} and 2 more. A newer memory \
                 contradicts it.",
            ),
            ("no strong match", "No strong match."),
        ] {
            let learned = LearnedAdjustment::from_capped_parts(0.03, (0.0, 0.0), 0.0, 0.05);
            let why = RankExplanation {
                reason: reason.to_owned(),
                learning: Some(learned),
                ..RankExplanation::default()
            };
            assert_eq!(describe_reason(&why), said);
        }
        assert_eq!(describe_learned(-0.001, 5), None, "it changed nothing");
    }
}
