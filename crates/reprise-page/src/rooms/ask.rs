//! Asking memory as a host would: what a prompt would get, what is only related, and why.

use reprise_operations::OutcomeLine;
use reprise_operations::operations::{learning, tags};
use reprise_types::limits::TOP_K_MAX;
use reprise_types::{RecallId, Verdict};

use super::memory::completions;
use super::narrow::{facets, over_time};
use super::why_not::{self, Found, Place, recalled};
use crate::prelude::*;
use crate::rows::When;

/// Results that are shown, and how many are asked for: the others fill the picture over time.
const SHOWN: usize = 10;
const SHOWN_MAX: usize = 50;
/// How far "why not this one?" looks.
const LOOKED: usize = 200;
/// Tokens of a prompt where nothing else is asked for, and at most.
const BUDGET: usize = 1_000;
const BUDGET_MAX: usize = 32_000;
/// The furthest day back that can be chosen.
const BACK_MAX: i64 = 365;

const _: () = assert!(LOOKED <= TOP_K_MAX);

/// A question, and how it is to be answered.
struct Asked<'a> {
    query: &'a str,
    shown: usize,
    budget: usize,
    back: i64,
    expected: Option<RecordId>,
    scope: RecallScope,
}

impl<'a> Asked<'a> {
    fn of(pairs: &'a Pairs) -> Answer<Self> {
        Ok(Self {
            query: pairs.text("q"),
            shown: pairs.read("top_k")?.unwrap_or(SHOWN).clamp(1, SHOWN_MAX),
            budget: pairs
                .read("budget")?
                .unwrap_or(BUDGET)
                .clamp(50, BUDGET_MAX),
            back: pairs.read("back")?.unwrap_or(0).clamp(0, BACK_MAX),
            expected: pairs.read("expected")?,
            scope: pairs.read("scope")?.unwrap_or_default(),
        })
    }

    fn request(&self, page: &Page, pairs: &Pairs) -> Answer<RecallRequest> {
        let calendar = page.calendar();
        let request = RecallRequest {
            top_k: if self.expected.is_some() {
                LOOKED
            } else {
                SHOWN_MAX
            },
            filter: pairs.filter(&calendar)?,
            as_of: (self.back > 0).then(|| page.now() - TimeDelta::days(self.back)),
            ..RecallRequest::new(self.query)
        };
        Ok(request.heard(&calendar))
    }
}

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let asked = Asked::of(&pairs)?;
    let mut answer = None;
    let mut place = None;
    if !asked.query.is_empty() {
        let request = asked.request(&visit.page, &pairs)?;
        let found = recalled(&visit, &request, asked.scope, asked.budget).await?;
        if let Some(expected) = asked.expected {
            let of = Place::of(&visit, &request, &found.recall, expected, asked.shown);
            place = Some(of.await?);
        }
        answer = Some(found);
    }
    let known = Known::of(&visit).await?;
    let results = html! {
        div class="split" id="results" {
            @match &answer {
                Some(found) => {
                    (results(&visit, &pairs, &asked, found, place.as_ref(), &known))
                }
                None => { (hints()) }
            }
        }
    };
    if pairs.get("part").is_some() {
        return Ok(results);
    }
    // What the fields complete from is asked for once, and not with each key.
    let known = visit
        .ask_if::<tags::Tags>(tags::TagsArguments::default())
        .await?;
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        (form(&pairs, &asked))
        @if let Some(known) = known { (completions(known)) }
        @if let Some(found) = &answer {
            (rows::known(found.recall.results.iter().map(|hit| &hit.record)))
        }
        (results)
    };
    Ok(room(&visit, "/search", "Ask", &body))
}

/// The field of a question: with what was asked, or with the cursor where that is nothing yet;
/// `None` where the room is for something else.
pub(super) fn question(asked: Option<&str>) -> Markup {
    html! {
        label class="question" {
            (icon("search"))
            span class="unseen-text" { "Question" }
            input type="search" name="q" value=(asked.unwrap_or_default()) autocomplete="off"
                data-key="/" placeholder="What does my agent know about \u{2026}"
                autofocus[asked == Some("")];
            kbd { "/" }
        }
    }
}

fn form(pairs: &Pairs, asked: &Asked<'_>) -> Markup {
    let others = ["top_k", "budget", "scope"];
    html! {
        form class="stack" role="search" action="/search" data-typing="results" {
            (question(Some(asked.query)))
            div class="bar" {
                (pairs::chips(pairs, "/search"))
                details class="f" {
                    summary { "more" }
                    div class="pop" {
                        label {
                            "Whose knowledge"
                            select name="scope" {
                                @for one in RecallScope::ALL {
                                    option value=(one.name()) selected[one == asked.scope] {
                                        (scope(one))
                                    }
                                }
                            }
                        }
                        label {
                            "As it stood so many days ago"
                            input type="number" name="back" min="0" max=(BACK_MAX)
                                value=(asked.back);
                        }
                        label {
                            "Results at most"
                            input type="number" name="top_k" min="1" max=(SHOWN_MAX)
                                value=(asked.shown);
                        }
                        label {
                            "Tokens of a prompt"
                            input type="number" name="budget" min="50" max=(BUDGET_MAX)
                                value=(asked.budget);
                        }
                        button { "Apply" }
                    }
                }
                @if asked.back > 0 {
                    span class="f set" {
                        "as of " b { (asked.back) " days ago" }
                        a href=(format!("/search?{}", pairs.with(&[("back", "")])))
                            aria-label="As it stands now" { "\u{d7}" }
                    }
                }
                @if pairs.but(&["q"]).any(|(name, _)| !others.contains(&name)) {
                    a href=(format!("/search?q={}", encoded(asked.query))) { "Clear" }
                }
            }
        }
    }
}

fn scope(scope: RecallScope) -> &'static str {
    match scope {
        RecallScope::Local => "your own",
        RecallScope::LocalAndGlobal => "yours and what others published",
        RecallScope::Global => "what others published",
    }
}

fn hints() -> Markup {
    html! {
        div class="empty" {
            h2 { "Ask as an agent would" }
            p { "The answer is what a prompt would get, with the reasons." }
            ul {
                li { "\u{201c}what did we decide about the ledger\u{201d}" }
                li { "\u{201c}which tests failed yesterday\u{201d}" }
                li { "\u{201c}why do websockets break behind the proxy\u{201d}" }
            }
        }
        div {}
    }
}

/// The verdict in a sentence.
fn verdict(recall: &Recall, shown: usize, related: usize) -> (String, String) {
    let first = match (recall.verdict, shown) {
        (Verdict::Relevant, 1) => "One memory answers this.".to_owned(),
        (Verdict::Relevant, more) => format!("{more} memories answer this."),
        (Verdict::Weak, _) => "Perhaps: nothing says it outright.".to_owned(),
        (Verdict::Nothing, _) => "Memory holds nothing about this.".to_owned(),
    };
    let second = match related {
        0 => String::new(),
        1 => "One is related.".to_owned(),
        more => format!("{more} are related."),
    };
    (first, second)
}

fn results(
    visit: &Visit,
    pairs: &Pairs,
    asked: &Asked<'_>,
    found: &Found,
    place: Option<&Place>,
    known: &Known,
) -> Markup {
    let recall = &found.recall;
    let all = recall.results.iter().take(asked.shown);
    let (shown, others): (Vec<_>, Vec<_>) = all.partition(|hit| hit.shown);
    let (related, weak): (Vec<_>, Vec<_>) = others.into_iter().partition(|hit| hit.is_related());
    let (first, second) = verdict(recall, shown.len(), related.len());
    let is_nothing = recall.verdict == Verdict::Nothing;
    html! {
        div data-list {
            p class="say" role="status" data-count {
                b { (first) } " " (second) " "
                span class="faint" {
                    (text::count(recall.considered.into())) " looked through, "
                    (format!("{:.0} ms", found.elapsed_ms))
                }
            }
            @for degraded in &recall.degraded { p class="notice" { (degraded.sentence()) } }
            @for note in &recall.notes { (noted(note)) }
            @if is_nothing { (nothing(visit, pairs, asked)) }
            @if !shown.is_empty() {
                ol class="hits" {
                    @for hit in &shown {
                        (whole(visit, asked.query, recall.recall_id, hit, known))
                    }
                }
            }
            (below("Related, not an answer", &related, known, true))
            (below("Only the nearest, not shown to a prompt", &weak, known, false))
            (prompt(asked, found, is_nothing))
            (why_not::section(pairs, asked.expected, place, recall, asked.shown))
            (elsewhere(visit, pairs, asked, found))
        }
        div class="aside" {
            (over_time(pairs, &recall.results, &known.calendar))
            (facets(pairs, &recall.results))
            div id="side" class="side" {}
        }
    }
}

/// What is said of the answer; a record that it names is a link.
fn noted(note: &str) -> Markup {
    let named = note.split_once(" (record ");
    let named = named.and_then(|(says, id)| Some((says, id.strip_suffix(')')?)));
    html! {
        p class="faint" {
            @match named {
                Some((says, id)) => {
                    (text::line(says, 200)) " "
                    a href=(format!("/records/{}", encoded(id))) { "look" }
                }
                None => (note),
            }
        }
    }
}

fn nothing(visit: &Visit, pairs: &Pairs, asked: &Asked<'_>) -> Markup {
    let narrowed = pairs::FILTERS
        .iter()
        .any(|(name, _)| pairs.get(name).is_some());
    html! {
        div class="panel empty" {
            h2 { "A prompt would get nothing" }
            p { "That is an answer, too: no noise is put in. What may help:" }
            ul {
                @if narrowed {
                    li {
                        a href=(format!("/search?q={}", encoded(asked.query))) {
                            "ask without the filters"
                        }
                    }
                }
                li { "other words, or a name that stands in the text" }
                @if asked.scope == RecallScope::Local {
                    li {
                        a href=(format!("/search?{}", pairs.with(&[("scope", "local+global")]))) {
                            "look at what others published, too"
                        }
                    }
                }
                li { a href="/timeline" { "look through the timeline" } }
                li { "keep it: " code { (visit.command("reprise learn \"\u{2026}\"")) } }
            }
        }
    }
}

/// How likely it answers, as a word.
fn likely(score: f32) -> &'static str {
    match score {
        score if score >= 0.75 => "very likely",
        score if score >= 0.45 => "likely",
        score if score >= 0.2 => "perhaps",
        _ => "unlikely",
    }
}

/// A result that a prompt would get: its matched sentences, why, and whether it helped.
pub(super) fn whole(
    visit: &Visit,
    query: &str,
    recall: RecallId,
    hit: &RetrievedMemory,
    known: &Known,
) -> Markup {
    let (record, why, calendar) = (&hit.record, &hit.why, &known.calendar);
    let path = match &hit.published {
        Some(_) => format!("/global/{}", record.id),
        None => rows::path(record),
    };
    html! {
        li class="card hit" data-record=(record.id) {
            div class="meta" {
                (rows::kind_icon(record))
                span class="k" { (About::of(record)) }
                span title=(calendar.minute_of(record.timestamp)) {
                    (calendar.ago(record.timestamp))
                }
                @if let Some(by) = &hit.published {
                    span class="chip" { "published by " (by.author) ", version " (by.version) }
                }
                @if let Some(at) = record.corrected_at() {
                    span class="chip" { "corrected " (calendar.day_of(at)) }
                }
                @if known.published.contains(&record.id) { span class="chip good" { "published" } }
                span class="end" title=(format!("{:.2} of 1", hit.sona_score)) {
                    (likely(hit.sona_score))
                }
            }
            p class="x" { a href=(path) { (text::cut(&record.text, &why.matched_words)) } }
            p class="why" { (text::line(&why.reason, 400)) }
            @if let Some(newer) = why.contradicted_by {
                p class="why" {
                    "A newer one contradicts it: " a href=(format!("/records/{newer}")) { "look" }
                }
            }
            div class="acts" {
                (rows::judge(visit, &[
                    ("recall", &recall.to_string()), ("query", query),
                    ("record", &record.id.to_string()),
                ]))
                details class="act" {
                    summary class="button quiet" { "Details" }
                    (chart::signals(&why.signals))
                    @let moved = why.learning.filter(|learned| learned.adjustment != 0.0);
                    @if let Some(learned) = moved {
                        p class="why" {
                            "Learning moved it by " (format!("{:+.3}", learned.adjustment))
                            ", at most " (format!("{:.3}", learned.cap)) "."
                        }
                        ul { @for run in &why.taught_by {
                            li class="faint" {
                                (text::line(&run.run_id, 80)) " went "
                                (format!("{:.2}", run.quality)) ", "
                                (format!("{:.2}", run.similarity)) " like this"
                            }
                        } }
                    }
                }
            }
        }
    }
}

fn below(name: &str, hits: &[&RetrievedMemory], known: &Known, open: bool) -> Markup {
    html! {
        @if !hits.is_empty() {
            details class="fold" open[open] {
                summary { (name) " " small { (hits.len()) } }
                ol class="rows" {
                    @for hit in hits { (rows::row(&hit.record, When::Ago, known, &html! {})) }
                }
            }
        }
    }
}

/// What a host that asks for a text of so many tokens would get; the panel is empty where that is
/// nothing.
fn prompt(asked: &Asked<'_>, found: &Found, is_nothing: bool) -> Markup {
    let block = &found.context;
    let is_empty = is_nothing || block.text.is_empty();
    html! {
        section {
            h2 {
                "What a prompt would get "
                small {
                    @if is_empty { "nothing" }
                    @else { (block.tokens) " of " (asked.budget) " tokens" }
                }
            }
            pre class="block" data-prompt hidden[is_empty] {
                @if !is_empty { (text::whole(&block.text)) }
            }
            p class="faint" { "The same function answers hooks, MCP and this page." }
        }
    }
}

/// The same question on the command line.
fn command(pairs: &Pairs, asked: &Asked<'_>) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut command = vec![format!(
        "reprise recall {} --limit {}",
        quoted(asked.query),
        asked.shown
    )];
    for (name, _) in pairs::FILTERS {
        let value = pairs.get(name);
        command.extend(value.map(|value| format!("--{name} {}", quoted(value))));
    }
    let scope = Some(asked.scope).filter(|scope| *scope != RecallScope::Local);
    command.extend(scope.map(|scope| format!("--scope {}", scope.name())));
    command.extend((asked.back > 0).then(|| format!("--as-of {}d", asked.back)));
    command.join(" ")
}

/// The question as a command, the answer as Markdown and as JSON.
fn elsewhere(visit: &Visit, pairs: &Pairs, asked: &Asked<'_>, found: &Found) -> Markup {
    let hits = || found.recall.results.iter().take(asked.shown);
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
        ("As a command", visit.command(&command(pairs, asked))),
        ("As Markdown", lines.collect::<Vec<_>>().join("\n")),
        ("As JSON", Value::Array(json.collect()).to_string()),
    ];
    html! {
        details class="fold" {
            summary { "Take it with you" }
            @for (name, text) in forms {
                h3 { (name) }
                pre class="block" data-copy { (text) }
            }
        }
    }
}

/// A reader's word on a result.
pub(crate) async fn judge(posted: Posted) -> Answer<Redirect> {
    let query = posted.get("query").to_owned();
    let back = match posted.get("prompt") {
        "" => format!("/search?q={}&done=judged", encoded(&query)),
        _ => format!(
            "/prompts/{}?done=judged",
            posted.read::<RecordId>("prompt")?
        ),
    };
    let (recall, record): (RecallId, RecordId) = (posted.read("recall")?, posted.read("record")?);
    let line = OutcomeLine {
        query_id: None,
        recall_id: Some(recall),
        query: Some(query),
        used: vec![record.to_string()],
        quality: if posted.get("helped") == "yes" {
            1.0
        } else {
            0.0
        },
        // A second word on the same result of the same answer changes nothing.
        run_id: Some(format!("page {recall} {record}")),
        failure_kind: None,
        credit: None,
    };
    posted.visit.ask::<learning::Outcome>(line).await?;
    Ok(Redirect::to(&back))
}
