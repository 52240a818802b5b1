//! The question page: what matches, why, and what the hook of a prompt with these words would add.

mod preview;
pub(super) mod ratings;

use reprise_engine::judge_relevance;
use reprise_operations::operations::outcomes::RATING;
use reprise_types::limits::TOP_K_MAX;
use reprise_types::{DegradedPart, RecallId, RelevanceVerdict};

use super::learning::PROMPT_RUN;
use super::memory::load_choices;
use super::narrow::{render_facets, render_over_time};
use super::why_not::{self, ResultPosition, TimedRecall, time_recall};
use crate::pairs::FilterChoices;
use crate::prelude::*;
use crate::rows::RowTime;
use preview::PreviewInProject;
use ratings::Ratings;

/// Results that are shown, and that are asked for; the others fill the chart over time.
const SHOWN: usize = 10;
const SHOWN_MAX: usize = 50;
/// Results among which a missing record is looked for.
const LOOKED: usize = 200;
/// Most days back that can be chosen.
const BACK_MAX: i64 = 365;

const _: () = assert!(LOOKED <= TOP_K_MAX);

/// A question with its options, as an address has them.
struct AskForm<'a> {
    query: &'a str,
    shown: usize,
    back: i64,
    /// The id or external id of a memory that should be among the results.
    expected: Option<&'a str>,
    scope: RecallScope,
    /// Whether memories of all times are searched, whatever times the question names.
    all_times: bool,
}

impl<'a> AskForm<'a> {
    fn from_pairs(pairs: &'a QueryPairs) -> PageResult<Self> {
        Ok(Self {
            query: pairs.text("q"),
            shown: pairs
                .parse_value("top_k")?
                .unwrap_or(SHOWN)
                .clamp(1, SHOWN_MAX),
            back: pairs.parse_value("back")?.unwrap_or(0).clamp(0, BACK_MAX),
            expected: pairs.get("expected"),
            scope: pairs.parse_value("scope")?.unwrap_or_default(),
            all_times: pairs.get("times") == Some("all"),
        })
    }

    fn request(&self, page: &WebPage, pairs: &QueryPairs) -> PageResult<RecallRequest> {
        let calendar = page.calendar();
        let request = RecallRequest {
            top_k: if self.expected.is_some() {
                LOOKED
            } else {
                SHOWN_MAX
            },
            filter: pairs.filter(&calendar)?,
            as_of: (self.back > 0).then(|| page.now() - TimeDelta::days(self.back)),
            now: Some(page.now()),
            ..RecallRequest::new(self.query)
        };
        Ok(if self.all_times {
            request
        } else {
            request.with_times_from_query(&calendar)
        })
    }
}

pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let ask_form = AskForm::from_pairs(&pairs)?;
    let mut answer = None;
    let (mut position, mut meant) = (None, None);
    if !ask_form.query.is_empty() {
        let request = ask_form.request(&visit.page, &pairs)?;
        let found = time_recall(&visit, &request, ask_form.scope).await?;
        if let Some(expected) = ask_form.expected {
            meant = why_not::find_expected(&visit, expected).await?;
            let id = meant.as_ref().map(|meant| meant.id.to_string());
            let expected = id.as_deref().unwrap_or(expected);
            let of = ResultPosition::of(&visit, &request, &found.recall, expected, ask_form.shown);
            position = Some(of.await?);
        }
        let preview = PreviewInProject::load(&visit, &pairs, ask_form.query, &found.recall).await?;
        answer = Some((found, preview, Ratings::load(&visit).await?));
    }
    let known = RowContext::load(&visit).await?;
    let results = html! {
        div class="split" id="results" {
            @match &answer {
                Some((found, preview, ratings)) => {
                    (render_results(&visit, &pairs, &ask_form, (found, preview, ratings), (position.as_ref(), meant.as_ref()), &known))
                }
                None => { (render_hints()) }
            }
        }
    };
    if pairs.get("part").is_some() {
        return Ok(results);
    }
    // What the filters offer is loaded once, and not with each key.
    let records = answer.iter().flat_map(|(found, ..)| &found.recall.results);
    let choices = load_choices(&visit, records.map(|hit| &hit.record)).await?;
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        (render_ask_form(&pairs, &ask_form, &choices))
        (results)
    };
    Ok(render_page(&visit, "/search", "Ask", &body))
}

/// Renders the field of a question with its text, or with the cursor if that is empty; `None` if
/// the page is for something else.
pub(super) fn render_question_field(query: Option<&str>) -> Markup {
    html! {
        label class="question" {
            (icon("search"))
            span class="unseen-text" { "Question" }
            input type="search" name="q" value=(query.unwrap_or_default()) autocomplete="off"
                data-key="/" placeholder="What does my agent know about \u{2026}"
                autofocus[query == Some("")];
            kbd { "/" }
        }
    }
}

fn render_ask_form(pairs: &QueryPairs, ask_form: &AskForm<'_>, choices: &FilterChoices) -> Markup {
    let others = ["top_k", "scope"];
    html! {
        form class="stack" role="search" action="/search" data-typing="results" {
            (render_question_field(Some(ask_form.query)))
            div class="bar" {
                (pairs::render_chips(pairs, "/search", choices))
                details class="f" {
                    summary { "More options" }
                    div class="pop" {
                        label {
                            "Search in"
                            select name="scope" {
                                @for one in RecallScope::ALL {
                                    option value=(one.name()) selected[one == ask_form.scope] {
                                        (scope_label(one))
                                    }
                                }
                            }
                        }
                        label {
                            "Search the memory as it was this many days ago"
                            input type="number" name="back" min="0" max=(BACK_MAX)
                                value=(ask_form.back);
                        }
                        label {
                            "Most results"
                            input type="number" name="top_k" min="1" max=(SHOWN_MAX)
                                value=(ask_form.shown);
                        }
                        button { "Apply" }
                    }
                }
                @if ask_form.back > 0 {
                    span class="f set" {
                        "as of " b { (ask_form.back) " days ago" }
                        a href=(format!("/search?{}", pairs.to_query_with(&[("back", "")])))
                            aria-label="Show the present state" { "\u{d7}" }
                    }
                }
                @if pairs.except(&["q"]).any(|(name, _)| !others.contains(&name)) {
                    a href=(format!("/search?q={}", percent_encode(ask_form.query))) { "Clear filters" }
                }
            }
        }
    }
}

fn scope_label(scope: RecallScope) -> &'static str {
    match scope {
        RecallScope::Local => "your memory",
        RecallScope::LocalAndGlobal => "your memory and what others published",
        RecallScope::Global => "what others published",
    }
}

fn render_hints() -> Markup {
    html! {
        div class="empty" {
            h2 { "See what an agent would receive" }
            p { "Ask as an agent would. You see which memories match, why, and the text that the agent gets." }
            p class="examples" {
                @for question in EXAMPLES {
                    a class="button" href=(format!("/search?q={}", percent_encode(question))) { (question) }
                }
            }
        }
    }
}

/// Questions to begin with.
const EXAMPLES: [&str; 3] = [
    "what did we decide this week",
    "which tests failed yesterday",
    "what should I know before a release",
];

/// How much each result of an answer is worth to an agent, by the judgement that agents are told;
/// each list in the order of the answer.
struct GradedHits<'a> {
    /// What an agent would see, each with whether it is relevant; the others are weak.
    matches: Vec<(&'a RetrievedMemory, bool)>,
    related: Vec<&'a RetrievedMemory>,
    others: Vec<&'a RetrievedMemory>,
}

impl<'a> GradedHits<'a> {
    fn of(recall: &'a RecallResponse, shown: usize) -> Self {
        let all = recall.results.iter().take(shown);
        let (answers, rest): (Vec<_>, Vec<_>) = all.partition(|hit| hit.shown);
        let (related, others) = rest.into_iter().partition(|hit| hit.is_related());
        let is_relevant = |hit: &&RetrievedMemory| {
            judge_relevance(hit).min(recall.verdict) == RelevanceVerdict::Relevant
        };
        let graded = answers.into_iter().map(|hit| (hit, is_relevant(&hit)));
        Self {
            matches: graded.collect(),
            related,
            others,
        }
    }

    /// Says how many results are relevant, weak and related.
    fn describe(&self, verdict: RelevanceVerdict) -> String {
        let relevant_count = self.matches.iter().filter(|(_, is)| *is).count();
        let weak_count = self.matches.len() - relevant_count;
        let weak = || text::pluralize(weak_count, "weak match", "weak matches");
        let relevant = || text::pluralize(relevant_count, "relevant memory", "relevant memories");
        let related = || text::pluralize(self.related.len(), "related memory", "related memories");
        match (relevant_count, weak_count, self.related.len()) {
            _ if verdict == RelevanceVerdict::Nothing => "No memory is about this.".to_owned(),
            (0, 0, 0) => "No memory answers this.".to_owned(),
            (0, 0, _) => format!("No memory answers this, {}.", related()),
            (0, ..) => format!("Only {}.", weak()),
            (_, 0, _) => format!("{}.", relevant()),
            _ => format!("{}, {}.", relevant(), weak()),
        }
    }
}

fn render_results(
    visit: &PageRequest,
    pairs: &QueryPairs,
    ask_form: &AskForm<'_>,
    (found, preview, ratings): (&TimedRecall, &PreviewInProject, &Ratings),
    (position, meant): (Option<&ResultPosition>, Option<&MemoryRecord>),
    context: &RowContext,
) -> Markup {
    let recall = &found.recall;
    let graded = GradedHits::of(recall, ask_form.shown);
    let matches: Vec<_> = graded.matches.iter().map(|(hit, _)| *hit).collect();
    let is_nothing = recall.verdict == RelevanceVerdict::Nothing;
    html! {
        div data-list {
            p class="say" role="status" data-count {
                b { (graded.describe(recall.verdict)) } " "
                span class="faint" {
                    (text::pluralize(recall.considered as usize, "memory", "memories"))
                    (format!(" searched in {:.0} ms.", found.elapsed_ms.ceil()))
                }
            }
            @let by_words = visit.page.runs_without_model();
            @if by_words { p class="faint" { (WITHOUT_MODEL) } }
            @for degraded in recall.degraded.iter().filter(|one| !by_words || !is_for_want_of_model(**one)) {
                p class="notice" {
                    @if *degraded == DegradedPart::EmbedderLate {
                        "Searched by words only; the model was busy. "
                        a href=(format!("/search?{}", pairs.to_query_with(&[]))) { "Retry" }
                    } @else { (text::shorten_title(&text::to_sentence(degraded.message()), 300)) }
                }
            }
            @if !recall.only_times.is_empty() { (render_only_times(pairs, &recall.only_times)) }
            @if ask_form.all_times {
                p class="faint" {
                    "Memories of all times were searched. "
                    a href=(format!("/search?{}", pairs.to_query_with(&[("times", "")]))) { "Only those of the time in the question" }
                }
            }
            @for note in &recall.notes { (render_note(note)) }
            @if is_nothing { (render_no_answer(visit, pairs, ask_form)) }
            @if !matches.is_empty() {
                ol class="hits panel" {
                    @for (hit, is_relevant) in &graded.matches {
                        @let grade = if *is_relevant { RELEVANT } else { WEAK };
                        (render_hit(visit, (ask_form.query, ratings), recall.recall_id, (hit, grade), context))
                    }
                }
            }
            (render_lower_hits("Related, but not given to agents", &graded.related, context, true))
            (render_lower_hits("Found, but too weak to be given", &graded.others, context, false))
            (preview.render(pairs))
            (why_not::render_section(pairs, (ask_form.expected, meant), position, recall, ask_form.shown, &context.calendar))
            (render_exports(visit, pairs, ask_form, found))
        }
        div class="aside" {
            (render_over_time(pairs, &matches, &context.calendar))
            (render_facets(pairs, &matches))
            div id="side" class="side" {}
        }
    }
}

/// What a daemon without a model cannot do.
pub(super) const WITHOUT_MODEL: &str = "The daemon was started with --no-model: memories are found by words and time, not by meaning. \
    To use the model again, stop the daemon and start it without that option.";

/// Returns whether only a model could do this part.
fn is_for_want_of_model(part: DegradedPart) -> bool {
    matches!(
        part,
        DegradedPart::NoQueryVector | DegradedPart::UnembeddedRecords
    )
}

/// Says which words of the question were read as times, outside of which no memory was searched.
fn render_only_times(pairs: &QueryPairs, times: &[String]) -> Markup {
    let quoted = times.iter();
    let quoted = quoted.map(|time| format!("\u{201c}{}\u{201d}", text::plain_line(time, 80)));
    let quoted: Vec<String> = quoted.collect();
    html! {
        p class="notice" data-times {
            "Only memories of that time were searched, because " (quoted.join(", "))
            " was read as a time. "
            a href=(format!("/search?{}", pairs.to_query_with(&[("times", "all")]))) { "Search all" }
        }
    }
}

/// Renders a note on the answer; a record in it becomes a link.
fn render_note(note: &str) -> Markup {
    let named = note.split_once(" (record ");
    let named = named.and_then(|(says, id)| Some((says, id.strip_suffix(')')?)));
    let event = note.split_once(", the time of record ");
    html! {
        p class="faint" {
            @match named {
                Some((says, id)) => {
                    @match says.strip_prefix("asked before on ") {
                        Some(day) => { "You asked this before, on " (text::shorten(day, 20)) ". " }
                        None => { (text::shorten(&text::to_sentence(says), 200)) " " }
                    }
                    a href=(format!("/records/{}", percent_encode(id))) { "See that question" }
                }
                None if event.is_some() => {
                    @if let Some((says, id)) = event {
                        (text::shorten_title(says, 200)) ", the time of "
                        a href=(format!("/records/{}", percent_encode(id))) { "this memory" } ". Only memories of that time were searched."
                    }
                }
                None => (text::shorten_title(&text::to_sentence(note), 400)),
            }
        }
    }
}

fn render_no_answer(visit: &PageRequest, pairs: &QueryPairs, ask_form: &AskForm<'_>) -> Markup {
    let narrowed = pairs::FILTERS
        .iter()
        .any(|(name, _)| pairs.get(name).is_some());
    html! {
        div class="panel empty" {
            p { "So agents would get nothing. What may help:" }
            ul {
                @if narrowed {
                    li {
                        a href=(format!("/search?q={}", percent_encode(ask_form.query))) {
                            "Remove the filters"
                        }
                    }
                }
                li { "Use other words, or a name from the text" }
                @if ask_form.scope == RecallScope::Local {
                    li {
                        a href=(format!("/search?{}", pairs.to_query_with(&[("scope", "local+global")]))) {
                            "Include what others published"
                        }
                    }
                }
                li { a href="/timeline" { "Browse the timeline" } }
                @if !visit.read_only { li { a href="/new" { "Add a memory about it" } } }
            }
        }
    }
}

/// What agents are told of a result.
const RELEVANT: &str = "relevant";
const WEAK: &str = "weak match";

/// Renders a result with what agents are told of it: its sentences, the reason, and rating buttons.
fn render_hit(
    visit: &PageRequest,
    (query, ratings): (&str, &Ratings),
    recall: RecallId,
    (hit, grade): (&RetrievedMemory, &str),
    context: &RowContext,
) -> Markup {
    let (record, why, calendar) = (&hit.record, &hit.why, &context.calendar);
    let path = match &hit.published {
        Some(_) => format!("/global/{}", record.id),
        None => rows::path(record),
    };
    html! {
        li class="hit" data-record=(record.id) {
            div class="meta" {
                (rows::kind_icon(record))
                span class="k" { (rows::byline(record)) }
                span title=(calendar.format_to_minute(record.timestamp)) {
                    (calendar.format_relative(record.timestamp))
                }
                @if let Some(by) = &hit.published {
                    span class="chip" { "published by " (by.author) ", version " (by.version) }
                }
                @if let Some(at) = record.made_as_correction_at() {
                    span class="chip" { "corrected " (calendar.day_of(at)) }
                }
                @if context.published.contains(&record.id) { span class="chip good" { "published" } }
                @if let Some(newer) = why.contradicted_by {
                    a class="chip warn" href=(format!("/records/{newer}"))
                        title="A newer memory contradicts this one" { "conflicts" }
                } @else if context.is_contradicted(record) {
                    a class="chip warn" href="/knowledge/review"
                        title="Another memory contradicts this one. Decide which one is true" { "conflicts" }
                }
                @let score = format!("Score {:.2} of 1; results are sorted by it", hit.sona_score);
                span class="end" title=(score) {
                    (grade) " "
                    meter class="score" min="0" max="1" value=(format!("{:.2}", hit.sona_score)) aria-label=(score) {}
                }
            }
            p class="x" { a href=(path) { (text::highlight(&record.text, &why.matched_words)) } }
            div class="hit-foot" {
                p class="why" { (text::shorten(&why_not::describe_reason(why), 400)) }
                div class="acts" {
                    (rows::render_judge_buttons(visit, rows::HELPFUL, &[
                        ("recall", &recall.to_string()), ("query", query),
                        ("record", &record.id.to_string()),
                    ], ratings.find(query, record.id)))
                    @if hit.published.is_none() && !visit.read_only {
                        a class="button quiet" href=(format!("{}#edit", rows::path(record))) { "Edit" }
                    }
                    details class="act" {
                        summary class="button quiet" { "Why" }
                        (chart::render_signals(why, hit.sona_score))
                        (render_learned(hit))
                    }
                }
            }
        }
    }
}

/// Renders how learning changed the score of a result.
fn render_learned(hit: &RetrievedMemory) -> Markup {
    let moved = hit.why.learning;
    let moved = moved.filter(|learned| learned.adjustment.abs() >= chart::LEAST_SHOWN);
    html! {
        @if let Some(learned) = moved {
            p class="why" {
                "Learning changed its score by " (text::format_signed(learned.adjustment))
                " (at most " (format!("{:.2}", learned.cap)) ")."
            }
            ul { @for run in &hit.why.taught_by {
                li class="faint" {
                    @if run.run_id.starts_with(RATING) { "Your rating" }
                    @else if run.run_id.starts_with(PROMPT_RUN) { "The work of an earlier prompt" }
                    @else { "Run " (text::shorten(&run.run_id, 80)) }
                    ": result "
                    (format!("{:.2}", run.quality)) ", similarity "
                    (format!("{:.2}", run.similarity))
                }
            } }
        }
    }
}

fn render_lower_hits(
    name: &str,
    hits: &[&RetrievedMemory],
    context: &RowContext,
    open: bool,
) -> Markup {
    html! {
        @if !hits.is_empty() {
            details class="fold" open[open] {
                summary { (name) " " small { (hits.len()) } }
                ol class="rows" {
                    @for hit in hits { (rows::render_row(&hit.record, RowTime::Ago, context, &html! {})) }
                }
            }
        }
    }
}

/// Formats the question as a command.
fn to_command(pairs: &QueryPairs, ask_form: &AskForm<'_>) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut command = vec![format!(
        "reprise recall {} --limit {}",
        quoted(ask_form.query),
        ask_form.shown
    )];
    for (name, _) in pairs::FILTERS {
        let value = pairs.get(name);
        command.extend(value.map(|value| format!("--{name} {}", quoted(value))));
    }
    let scope = Some(ask_form.scope).filter(|scope| *scope != RecallScope::Local);
    command.extend(scope.map(|scope| format!("--scope {}", scope.name())));
    command.extend((ask_form.back > 0).then(|| format!("--as-of {}d", ask_form.back)));
    command.join(" ")
}

/// Renders the question as a command, and the answer as Markdown and as JSON.
fn render_exports(
    visit: &PageRequest,
    pairs: &QueryPairs,
    ask_form: &AskForm<'_>,
    found: &TimedRecall,
) -> Markup {
    let hits = || found.recall.results.iter().take(ask_form.shown);
    let lines = hits().map(|hit| {
        let text: Vec<&str> = hit.record.text.split_whitespace().take(80).collect();
        format!(
            "- {:.2} `{}` {}",
            hit.sona_score,
            hit.record.id,
            text.join(" ")
        )
    });
    let json = hits().map(|hit| {
        json!({
            "id": hit.record.id, "text": hit.record.text, "score": hit.score,
            "sona_score": hit.sona_score, "reason": hit.why.reason,
        })
    });
    let forms = [
        ("As a command", visit.command(&to_command(pairs, ask_form))),
        ("As Markdown", lines.collect::<Vec<_>>().join("\n")),
        (
            "As JSON",
            format!("{:#}", Value::Array(json.collect::<Vec<_>>())),
        ),
    ];
    html! {
        details class="fold" {
            summary { "Export" }
            @for (name, text) in forms {
                h3 { (name) }
                pre class="block" data-copy { (text) }
            }
        }
    }
}
