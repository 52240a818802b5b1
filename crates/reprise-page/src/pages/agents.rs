//! The pages of Agents: each session's prompts with what memory added and what was used, and what
//! programs asked in the last hour.

mod list;

use std::collections::{HashMap, HashSet};

use reprise_operations::operations::records::list as records;
use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_operations::{
    ChangeNotice, PastRecall, Prompt, PromptRecall, PromptResult, ReceivedText, ReplayedRecord,
};
use reprise_types::{RecallId, RelevanceVerdict};

use super::ask::ratings::Ratings;
use super::week::{
    Turn, describe_asked_times, describe_left_out, describe_match, describe_nothing_added,
    describe_result, describe_unanswered, first_characters, render_outcome_chips, render_use_chip,
};
use crate::prelude::*;
use crate::rows::RowTime;

/// Most questions of the last hour, and the newest prompts in which each is looked for.
const LIMIT: usize = 40;
/// Prompts of a session's page, which loads each of them.
const TURNS: usize = 10;
/// Most rows of what followed a prompt, and of what was stored in the last hour.
const FOLLOWED: usize = 12;
/// Most memories of the last hour that are counted.
const STORED_MAX: usize = 500;
/// The notice that an agent loaded what is known.
const LOADED: &str = "memory_loaded";

pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    match pairs.get("session") {
        Some(session) => show_session(&visit, &pairs, session).await,
        None => list::show(&visit, &pairs).await,
    }
}

/// Shows one session: what it began with, and each prompt with all that followed.
async fn show_session(
    visit: &PageRequest,
    pairs: &QueryPairs,
    session: &str,
) -> PageResult<Markup> {
    let arguments = PromptsArguments {
        session: Some(session.to_owned()),
        limit: Some(TURNS),
        cursor: pairs.parse_value("after")?,
    };
    let found = visit.run_optional::<Prompts>(arguments).await?;
    let found = found.map(|found| (found.prompts, found.next));
    let (prompts, next) = found.unwrap_or_default();
    let calendar = visit.page.calendar();
    let list = render_conversation(visit, &prompts, &calendar).await?;
    let first = prompts.last();
    let body = html! {
        (undo::render_done_toast(visit, pairs.get("done")))
        @if let Some(first) = first {
            h2 class="session-title" { (text::shorten(&first.text, 120)) }
        }
        div class="bar" {
            @if let Some(first) = first { span class="faint" { (describe_prompt(first, &calendar)) } }
            a href=(format!("/timeline?session={}", percent_encode(session))) { "All memories of this session" }
            a href="/prompts" { "All sessions" }
        }
        @if prompts.is_empty() { p class="faint" { "This session has no prompts." } }
        (list)
        (pairs::render_page_links(pairs, "/prompts", next))
    };
    let subject = first.map_or(session, |first| first.text.as_str());
    Ok(render_page_about(
        visit, "/prompts", "Session", subject, &body,
    ))
}

/// Describes where and when a prompt was sent.
fn describe_prompt(prompt: &Prompt, calendar: &Calendar) -> String {
    let project = list::project_of(prompt).map(str::to_owned);
    let at = Some(calendar.format_to_minute(prompt.at));
    let parts: Vec<String> = [prompt.agent.clone(), project, at]
        .into_iter()
        .flatten()
        .collect();
    parts.join(" \u{b7} ")
}

/// Renders a session's prompts with all that followed each, the oldest first.
async fn render_conversation(
    visit: &PageRequest,
    prompts: &[Prompt],
    calendar: &Calendar,
) -> PageResult<Markup> {
    let mut turns = Vec::new();
    let ratings = Ratings::load(visit).await?;
    for prompt in prompts.iter().rev() {
        let turn = Turn::load(visit, prompt.id).await?;
        turns.push(render_turn(visit, &turn, &ratings, calendar));
    }
    Ok(html! { @for turn in turns { (turn) } })
}

pub(crate) async fn show_prompt(
    visit: PageRequest,
    PathParameter(id): PathParameter<RecordId>,
    pairs: QueryPairs,
) -> PageResult<Markup> {
    let turn = Turn::load(&visit, id).await?;
    let ratings = Ratings::load(&visit).await?;
    let (prompt, calendar) = (&turn.replayed.prompt, visit.page.calendar());
    let again = first_characters(&prompt.text);
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        div class="bar" {
            a href=(format!("/prompts?session={}", percent_encode(&prompt.session))) {
                "Whole session"
            }
            a href=(format!("/search?q={}", percent_encode(&again))) { "Ask again" }
            a href=(format!("/records/{}", prompt.id)) { "Open as a memory" }
        }
        (render_turn(&visit, &turn, &ratings, &calendar))
        (render_why_not(&again))
    };
    Ok(render_page_about(
        &visit,
        "/prompts",
        "Prompt",
        &prompt.text,
        &body,
    ))
}

fn render_why_not(prompt_text: &str) -> Markup {
    html! {
        div class="card" {
            h2 { "Is a memory missing?" }
            form class="stack" action="/search" {
                input type="hidden" name="q" value=(prompt_text);
                div class="fields missing" {
                    label {
                        (super::why_not::EXPECTED_LABEL)
                        input name="expected" required autocomplete="off";
                    }
                    button { "Find out why" }
                }
            }
        }
    }
}

/// Renders a prompt, what memory added, what of that was used, and what followed.
fn render_turn(visit: &PageRequest, turn: &Turn, ratings: &Ratings, calendar: &Calendar) -> Markup {
    let replayed = &turn.replayed;
    let prompt = &replayed.prompt;
    let (put, left): (Vec<_>, Vec<_>) = replayed
        .found
        .iter()
        .partition(|one| one.noted.left_out.is_none());
    let left = drop_repeated_titles(left);
    html! {
        @if let Some(opening) = &replayed.opening {
            article class="turn opening" aria-label="Session start" {
                div class="meta" {
                    span class="k" { "session start" } (calendar.format_to_minute(opening.at))
                }
                (render_received("The text that the session began with", opening))
            }
        }
        article class="turn" aria-label="Prompt" {
            div class="meta" {
                span class="k" { "prompt" } (calendar.format_to_minute(prompt.at))
                span class="end chips" { (render_outcome_chips(prompt, turn.open_use(ratings, calendar.now))) }
            }
            div class="said" { (text::render(&prompt.text)) }
            div class="card" {
                h2 {
                    "Added by memory "
                    @if let Some(block) = &replayed.block { small { (text::pluralize(block.tokens, "token", "tokens")) } }
                }
                @match &prompt.given {
                    None => { p class="why" { (describe_unanswered(prompt)[1]) } }
                    Some(given) => {
                        @if put.is_empty() {
                            p class="why" {
                                @if prompt.received_memories() {
                                    "None of your memories was added; the text below has what others published."
                                } @else { (describe_nothing_added("Nothing was added", given)) }
                            }
                        }
                        @if let Some(times) = describe_asked_times(given) {
                            p class="notice" data-times {
                                (times) " "
                                a href=(format!("/search?times=all&q={}", percent_encode(&first_characters(&prompt.text)))) { "Search all" }
                            }
                        }
                        div data-prompt {
                            @for one in &put { (render_quoted(visit, (turn, ratings), given, one)) }
                        }
                        @if let Some(block) = &replayed.block {
                            (render_received("The text that the agent received", block))
                        }
                        @if !left.is_empty() {
                            details class="fold" {
                                summary { "Found but left out " small { (left.len()) } }
                                @for one in &left { (render_quoted(visit, (turn, ratings), given, one)) }
                            }
                        }
                    }
                }
            }
            @if !turn.followed.is_empty() {
                ol class="rows" {
                    @for (title, record) in turn.followed.iter().take(FOLLOWED) {
                        (rows::render_link_row(record, title, turn.correction_of(record), calendar))
                    }
                    @if turn.followed.len() > FOLLOWED {
                        li class="grouping" { small {
                            "and " (turn.followed.len() - FOLLOWED) " more"
                        } }
                    }
                }
            }
            @if let Some(outcome) = &prompt.outcome {
                p class="why" {
                    (describe_result(outcome))
                    @if prompt.result_with_memory() == Some(PromptResult::Failed) {
                        " This alone does not show that the memory was wrong."
                    }
                }
            }
        }
    }
}

/// Drops what has the title of one before it, as a duplicate has that was merged since.
fn drop_repeated_titles(mut found: Vec<&ReplayedRecord>) -> Vec<&ReplayedRecord> {
    let mut titles = HashSet::new();
    found.retain(|one| one.title.is_none() || titles.insert(one.title.clone()));
    found
}

/// Renders a text as the agent received it, folded.
fn render_received(name: &str, received: &ReceivedText) -> Markup {
    html! {
        details class="fold" data-block {
            summary { (name) " " small { (text::pluralize(received.tokens, "token", "tokens")) } }
            pre class="block" { (text::render(&received.text)) }
        }
    }
}

fn render_quoted(
    visit: &PageRequest,
    (turn, ratings): (&Turn, &Ratings),
    given: &PromptRecall,
    one: &ReplayedRecord,
) -> Markup {
    let prompt = &turn.replayed.prompt;
    let (id, is_in) = (one.noted.id, one.noted.left_out.is_none());
    let question = first_characters(&prompt.text);
    html! {
        div class="put" {
            span {
                @match &one.title {
                    Some(title) => {
                        a href=(format!("/records/{id}")) { (text::shorten_title(title, 120)) }
                    }
                    None => { span class="faint" { "forgotten since" } }
                }
                " " span class="faint" {
                    @if let Some(why) = one.noted.left_out { "left out: " (describe_left_out(why)[0]) ". " }
                    @if let Some(why) = describe_match(one) { span data-why { (text::shorten(&why, 400)) } " " }
                    span title="How likely it was to help, of 1" { (format!("{:.2}", one.noted.score)) }
                }
            }
            span {
                @if one.noted.contradicted_by.is_some() { span class="chip warn" { "conflicts" } " " }
                @if is_in { (render_use_chip(turn, one, ratings.find(&question, id))) }
            }
            @if one.title.is_some() {
                span {
                    @let labels = if is_in { rows::HELPFUL } else { rows::MISSED };
                    (rows::render_judge_buttons(visit, labels, &[
                        ("recall", &given.recall_id.to_string()), ("query", &question),
                        ("record", &id.to_string()), ("prompt", &prompt.id.to_string()),
                    ], ratings.find(&question, id)))
                }
            }
        }
    }
}

/// Renders what programs asked lately, each with the prompt that it was asked for.
fn render_recent_questions(
    calendar: &Calendar,
    recalls: &[PastRecall],
    of_recall: &HashMap<RecallId, RecordId>,
) -> Markup {
    html! {
        section {
            h2 { "Recent questions " small { (recalls.len()) } }
            p class="faint" {
                "What programs asked in the last hour. The list begins anew when the daemon starts and when you forget a memory."
            }
            @if recalls.is_empty() {
                p class="faint" {
                    @if of_recall.is_empty() { "No program asked for anything." }
                    @else { "No question is listed any more; " a href="/prompts" { "Prompts" } " has what each prompt received." }
                }
            }
            @else {
                (table("Recent questions", &["When", "Question", "#Memories given", "#Answer time (ms)"],
                    recalls.iter().take(LIMIT).map(|one| html! {
                        td { (calendar.format_time_of_day(one.at)) }
                        td {
                            @let path = match of_recall.get(&one.recall_id) {
                                Some(prompt) => format!("/prompts/{prompt}"),
                                None => format!("/search?q={}", percent_encode(&one.query)),
                            };
                            a href=(path) { (text::shorten(&one.query, 120)) }
                        }
                        td class="number" {
                            @if one.verdict == RelevanceVerdict::Nothing { "0" }
                            @else { (one.shown) }
                        }
                        td class="number" { (format!("{:.1}", one.elapsed_ms)) }
                    })
                ))
            }
        }
    }
}

/// Shows what programs asked in the last hour, and what was stored in it.
pub(crate) async fn show_activity(visit: PageRequest) -> PageResult<Markup> {
    let (hour, calendar) = (
        visit.page.now() - TimeDelta::hours(1),
        visit.page.calendar(),
    );
    let memories = visit.page.memories();
    let recalls = memories.list_recent_recalls(&visit.user).into_iter();
    let recalls: Vec<_> = recalls.take_while(|one| one.at >= hour).collect();
    let notices = memories.list_recent_change_notices(&visit.user).into_iter();
    let notices: Vec<_> = notices
        .take_while(|one| one.at >= hour)
        .filter(|one| one.what == LOADED)
        .take(FOLLOWED)
        .collect();
    let newest = records::list_newest(&visit.memory(), STORED_MAX).await;
    let newest = none_if_missing(newest.map_err(Into::into))?.unwrap_or_default();
    let stored: Vec<_> = newest
        .iter()
        .filter(|record| record.known_at >= hour)
        .collect();
    let known = RowContext::load(&visit).await?;
    let of_recall = map_recalls_to_prompts(&visit).await?;
    let body = html! {
        div data-live="activity" {
            (render_recent_questions(&calendar, &recalls, &of_recall))
            section {
                h2 {
                    "Memories stored in the last hour "
                    small { (stored.len()) @if stored.len() == STORED_MAX { " or more" } }
                }
                @if stored.is_empty() { p class="faint" { "Nothing was stored." } }
                @else {
                    ol class="rows" {
                        @for record in stored.iter().take(FOLLOWED) {
                            (rows::render_row(record, RowTime::Stored, &known, &html! {}))
                        }
                        @if stored.len() > FOLLOWED {
                            li class="grouping" { small { "and " (stored.len() - FOLLOWED) " more" } }
                        }
                    }
                }
            }
            @if !notices.is_empty() {
                section {
                    h2 { "Agents that started in the last hour" }
                    ul class="told" {
                        @for one in &notices {
                            li { span class="faint" { (calendar.format_time_of_day(one.at)) } " " (render_notice(one)) }
                        }
                    }
                }
            }
        }
    };
    Ok(render_page(&visit, "/activity", "Activity", &body))
}

/// Maps the recalls of the newest prompts to these prompts.
async fn map_recalls_to_prompts(visit: &PageRequest) -> PageResult<HashMap<RecallId, RecordId>> {
    let arguments = PromptsArguments {
        session: None,
        limit: Some(LIMIT),
        cursor: None,
    };
    let found = visit.run_optional::<Prompts>(arguments).await?;
    let prompts = found.into_iter().flat_map(|found| found.prompts);
    let recalled = prompts.filter_map(|one| Some((one.given?.recall_id, one.id)));
    Ok(recalled.collect())
}

/// Renders what there was when an agent started.
fn render_notice(notice: &ChangeNotice) -> Markup {
    let count = |name: &str| notice.event.get(name).and_then(Value::as_u64).unwrap_or(0) as usize;
    let (all, decisions) = (count("total"), count("decisions"));
    html! {
        "An agent started with " (text::pluralize(all, "lesson", "lessons")) ", "
        (text::pluralize(decisions, "decision", "decisions")) " and "
        (text::pluralize(count("failures"), "failure", "failures")) "."
    }
}
