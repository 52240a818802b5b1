//! Home: what memory did this week in one line of numbers, the latest records by day and session,
//! and what a person has to decide.
//!
//! What compares records is shown as it was found last, and found anew after the page.

use std::collections::HashMap;

use reprise_engine::EngineStats;
use reprise_operations::operations::care;
use reprise_operations::operations::records::list;
use reprise_operations::{Memory, Prompt, find_test_verdict};

use super::ask::{WITHOUT_MODEL, render_question_field};
use super::review::groups::{group_duplicates, group_pairs};
use super::review::{self, PairSort, ReviewState};
use super::week::{DAYS, PromptGroup, UNNAMED, Week, count_other_results};
use crate::kept_reviews::{FileCheck, KeptReview};
use crate::prelude::*;
use crate::rows::{RowGroup, SessionGroup};

/// Records from which the digest is made.
const LOOKED: usize = 120;
/// Fewest groups and records shown, most rows of a session, and of records without a session.
const GROUPS: usize = 10;
const RECORDS: usize = 30;
const ROWS: usize = 7;
const ROWS_ALONE: usize = 24;
/// Most questions about contradictions that Home offers, and most possible duplicates after them.
const NEEDS: usize = 3;
const DUPLICATES: usize = 1;

/// The first commands of a person who likes a terminal better.
const BEGIN: [(&str, &str); 3] = [
    (
        "Save a lesson",
        "reprise learn \"the build needs libfoo 2\"",
    ),
    (
        "Find it again",
        "reprise recall \"what does the build need\"",
    ),
    ("Let an agent do both", "reprise connect claude-code"),
];

pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let memory = visit.memory();
    let latest = ListRequest {
        filter: MemoryFilter::default(),
        limit: LOOKED,
        after: None,
    };
    let (stats, records, week, context) = tokio::join!(
        care::Stats::run(&memory, NoArguments {}),
        list::list_records(&memory, latest),
        Week::load(&visit),
        RowContext::load(&visit),
    );
    let Some(stats) = none_if_missing(stats.map_err(Into::into))? else {
        let body = html! { (render_question_form()) (render_first_steps(&visit)) };
        return Ok(render_page(&visit, "/", "Home", &body));
    };
    let (mut records, week, mut context) = (records?.records, week?, context?);
    records.retain(|record| !rows::is_definition(record));
    context.look_up(&visit, &records).await?;
    let review = ReviewState::of(&visit, &stats);
    let strip = render_strip(&visit, &week, &review).await?;
    let needs = match review.last_result() {
        Some(found) => Some(render_needs(&visit, found).await?),
        None => None,
    };
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        (review::render_answered_toast(&visit, &pairs))
        (render_question_form())
        (strip)
        div class="split home" {
            @if stats.live == 0 {
                (render_first_steps(&visit))
            } @else {
                div data-live="digest" {
                    (rows::render_list(&visit, &render_digest(&records, &week.prompts, &context)))
                }
            }
            div class="aside" {
                @for problem in list_problems(&visit, &stats, &memory) {
                    div class="need" { b { "Problem" } p { (text::shorten_title(&problem, 400)) } }
                }
                section class="decide" {
                    h2 { "To decide " small { (review.describe_age(&context.calendar)) } }
                    div id="needs" data-load=[(!review.is_fresh()).then_some("/needs?part=1")] {
                        @match &needs {
                            Some(needs) => { (needs) }
                            None => { (review::render_waiting("Comparing your memories \u{2026}")) }
                        }
                    }
                    @if visit.page.runs_without_model() { p class="faint" { (WITHOUT_MODEL) } }
                }
            }
        }
    };
    Ok(render_page(&visit, "/", "Home", &body))
}

/// Renders the week in one line of numbers, each a link to what it counts.
async fn render_strip(
    visit: &PageRequest,
    week: &Week,
    review: &ReviewState,
) -> PageResult<Markup> {
    let learned = count_learned(visit).await?;
    let now = visit.page.now();
    let calendar = visit.page.calendar();
    let latest = week.prompts.first();
    let agent = latest.map(|one| (one.agent.as_deref().unwrap_or(UNNAMED), one.at));
    let agents = if let Some((name, at)) = agent {
        html! {
            span class=(if now - at < TimeDelta::hours(1) { "light on" } else { "light" }) {}
            b { (text::shorten(name, 18)) } span { (calendar.format_relative(at)) }
        }
    } else {
        html! { span class="light" {} b { "No active agent." } span { "Connect one" } }
    };
    let groups = PromptGroup::ALL.iter();
    let (imported, others) = (week.count_imported(), count_other_results(&week.prompts));
    Ok(html! {
        section class="strip" data-strip data-live="strip" aria-label="The last 7 days, and now" {
            div class="strip-part" {
                span class="strip-name" { "Last 7 days:" }
                @let trend = week.count_by_day(now);
                @if trend.iter().any(|count| *count > 0) {
                    (chart::render_trend(&describe_trend(&trend), &trend))
                }
                @for (group, show, name, _) in groups {
                    @let bad = *group == PromptGroup::Failed && week.count(*group) != "0";
                    a href=(format!("/prompts?show={show}")) class=[bad.then_some("warn")]
                        title=[group.describe()] {
                        @let count = week.count(*group);
                        @let is_one = *group == PromptGroup::All && count == "1";
                        b { (count) }
                        span {
                            @if *group == PromptGroup::Received && imported > 0 {
                                "of " (text::format_count((week.prompts.len() - imported) as u64)) " received"
                            } @else { (if is_one { "prompt" } else { name }) }
                        }
                    }
                    @if *group == PromptGroup::Failed && !others.is_empty() {
                        @let count: usize = others.iter().map(|(count, _)| count).sum();
                        a href="/prompts?show=received" title=(describe_others(&others)) data-others=(count) {
                            b { (text::format_count(count as u64)) } span { "others" }
                        }
                    }
                    @let yesterday = week.count_yesterday(&calendar);
                    @if *group == PromptGroup::All && yesterday > 0 {
                        a href="/prompts?day=yesterday" {
                            b { (text::format_count(yesterday as u64)) } span { "yesterday" }
                        }
                    }
                }
                a href="/agents#tokens" title=[week.tokens_per_session().map(|_| PER_SESSION)] {
                    b { (text::format_count(week.count_tokens())) }
                    span {
                        "tokens"
                        @if let Some(mean) = week.tokens_per_session() {
                            " (" (text::format_count(mean)) " per session)"
                        }
                    }
                }
                a href="/knowledge?show=week" {
                    b { (learned) }
                    span { (if learned == "1" { "lesson or decision" } else { "lessons and decisions" }) }
                }
            }
            div class="strip-part" {
                span class="strip-name" { "Now:" }
                a href="/knowledge/review" class=[(review.count() > Some(0)).then_some("warn")] {
                    b data-pairs { (review.count().map_or("\u{2026}".to_owned(), |it| text::format_count(it as u64))) }
                    span { "to decide" }
                }
                a href="/agents" { (agents) }
            }
        }
    })
}

/// Of which sessions the mean is.
const PER_SESSION: &str =
    "The mean of the sessions in which memory was asked, without imported ones";

/// Says what became of the prompts that received memories and neither helped nor failed.
fn describe_others(others: &[(usize, &str)]) -> String {
    let others = others.iter();
    let others = others.map(|(count, words)| format!("{count} {words}"));
    let others: Vec<String> = others.collect();
    format!("Received memories: {}", others.join(", "))
}

/// Says how many prompts there were in each of the last times 24 hours, the latest last.
fn describe_trend(counts: &[usize]) -> String {
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    format!(
        "Prompts in each 24 hours, the latest last: {}",
        counts.join(", ")
    )
}

/// Counts the lessons and decisions of the last seven days.
async fn count_learned(visit: &PageRequest) -> PageResult<String> {
    let request = ListRequest {
        filter: MemoryFilter {
            types: Some(vec![RecordType::Lesson, RecordType::Decision]),
            since: Some(visit.page.now() - TimeDelta::days(DAYS)),
            ..MemoryFilter::default()
        },
        limit: 1,
        after: None,
    };
    let listed = list::list_records(&visit.memory(), request).await?;
    Ok(text::format_count(listed.considered.into()))
}

/// Renders the question form.
fn render_question_form() -> Markup {
    html! { form class="stack" role="search" action="/search" { (render_question_field(None)) } }
}

fn render_digest(records: &[MemoryRecord], prompts: &[Prompt], context: &RowContext) -> Markup {
    // The oldest loaded prompt of each session is its title.
    let titles: HashMap<&str, &str> = prompts
        .iter()
        .filter(|prompt| !prompt.session.is_empty())
        .map(|prompt| (prompt.session.as_str(), prompt.text.as_str()))
        .collect();
    let groups = rows::group_by_session(records, &context.calendar);
    let (mut row_groups, mut shown) = (Vec::new(), 0);
    for group in &groups {
        if row_groups.len() >= GROUPS && shown >= RECORDS {
            break;
        }
        let title = titles.get(group.session).copied();
        let one = select_rows(group, title);
        shown += one.records.len();
        row_groups.push(one);
    }
    html! {
        h2 class="unseen-text" { "Activity" }
        (rows::render_groups(&row_groups, context))
        p class="pages" { a href="/timeline" { "Show the whole timeline" } }
    }
}

/// Selects the rows of a group that say most about it; the prompt that it is called by is one.
fn select_rows<'a>(group: &'a SessionGroup<'a>, title: Option<&'a str>) -> RowGroup<'a> {
    let is_alone = group.session.is_empty();
    let mut chosen: Vec<&MemoryRecord> = group.records.clone();
    let (most, all) = (if is_alone { ROWS_ALONE } else { ROWS }, chosen.len());
    if !is_alone && all > most {
        let first = group.prompt().map(|prompt| prompt.id);
        chosen.sort_by_key(|record| (Some(record.id) != first, display_rank(record)));
        chosen.truncate(most);
        chosen.sort_by_key(|record| std::cmp::Reverse((record.timestamp, record.id)));
    }
    chosen.truncate(most);
    let shown = chosen.len();
    let memories = text::pluralize(all, "memory", "memories");
    let row_group = RowGroup {
        group,
        name: group.name(),
        count: if shown < all {
            format!("{shown} of {memories}")
        } else {
            memories
        },
        records: chosen,
    };
    row_group.with_title(title)
}

/// Ranks records by how much they say about a session; the lowest is shown first.
fn display_rank(record: &MemoryRecord) -> u8 {
    match record.record_type() {
        RecordType::Decision | RecordType::Lesson => 0,
        RecordType::Test if find_test_verdict(record) == Some(false) => 1,
        RecordType::Commit | RecordType::Note => 1,
        RecordType::Test => 2,
        RecordType::Prompt => 3,
        RecordType::Document | RecordType::Run => 4,
        RecordType::Answer => 5,
        RecordType::Command => 6,
    }
}

/// Lists the problems of a memory, as sentences.
fn list_problems(visit: &PageRequest, stats: &EngineStats, memory: &Memory) -> Vec<String> {
    // Without a model no memory has an embedding, and somebody chose that.
    if visit.page.runs_without_model() {
        return Vec::new();
    }
    let failed = memory.all_memories().service().stats().pool.failed;
    let by_words = stats.unembedded.saturating_sub(stats.foreign_vectors);
    let mut problems = Vec::new();
    // Where texts fail, that is why memories have no embedding; it is said once.
    if by_words > 0 && failed == 0 {
        problems.push(format!(
            "{by_words} of {} memories have no embedding and are found by words only. Run \
             `reprise doctor` to see why.",
            stats.live
        ));
    }
    if let Some(percent) = stats.re_embedded_percent() {
        problems.push(format!(
            "Embeddings are being recomputed with another model: {percent} % are done. The other \
             memories are searched with their old embeddings."
        ));
    }
    if failed > 0 {
        problems.push(format!(
            "{by_words} of {} memories have no embedding and are found by words only, because the \
             model does not answer. Run `reprise doctor models pull` to download it.",
            stats.live
        ));
    }
    problems
}

/// Describes damage of the file; reads all of it, so this is done after the page.
pub(super) async fn describe_damage(visit: &PageRequest) -> Option<String> {
    let read = visit.memory().damaged_bytes().await;
    match none_if_missing(read.map_err(Into::into)) {
        Ok(None | Some(0)) => None,
        Ok(Some(bytes)) => Some(format!(
            "{} of the file are damaged. Run `{}` to see what was lost.",
            text::format_size(bytes),
            visit.command("reprise doctor check")
        )),
        Err(problem) => Some(problem.sentence),
    }
}

/// Renders the first steps of a memory: what fills it by itself, what is there already, a try.
pub(super) fn render_first_steps(visit: &PageRequest) -> Markup {
    html! {
        section class="empty" data-live="digest" {
            h2 { "No memories yet" }
            p { "Connect an agent, and its sessions are remembered from then on." }
            div class="acts" {
                a class="button first" href="/agents" { "Connect an agent" }
                @if !visit.read_only {
                    a class="button" href="/care/backups#import" { "Import what you have" }
                    a class="button" href="/new" { "Add a memory" }
                }
            }
            p class="faint" { "Or in a terminal:" }
            dl class="facts" {
                @for (purpose, command) in BEGIN {
                    dt { (purpose) } dd { code { (visit.command(command)) } }
                }
            }
        }
    }
}

/// Shows the pairs to decide, after the page: memories are compared anew if they have changed.
pub(crate) async fn show_needs(visit: PageRequest, pairs: QueryPairs) -> PageResult<Response> {
    if pairs.get("part").is_none() {
        return Ok(Redirect::to("/knowledge/review").into_response());
    }
    let mut found = review::find_pairs(&visit).await?;
    let check = FileCheck {
        damage: describe_damage(&visit).await,
        at: visit.page.now(),
    };
    let kept = visit.page.kept_reviews();
    kept.note_file_check(&visit.user, check.clone());
    found.file = Some(check);
    let needs = render_needs(&visit, &found).await?;
    Ok(needs.into_response())
}

/// Renders the first pairs that wait for a decision, and what is known of the file.
async fn render_needs(visit: &PageRequest, found: &KeptReview) -> PageResult<Markup> {
    let calendar = visit.page.calendar();
    let damage = found.file.as_ref().and_then(|check| check.damage.as_ref());
    let contradictions = group_pairs(&found.found.contradictions).into_iter();
    let contradictions = contradictions.map(|question| (question, PairSort::Contradiction));
    let alike = group_duplicates(&found.found.review).into_iter();
    let alike = alike.take(DUPLICATES);
    let alike = alike.map(|question| (question, PairSort::Duplicate));
    let (mut cards, mut shown) = (Vec::new(), 0);
    for (question, sort) in contradictions.take(NEEDS).chain(alike) {
        shown += question.pairs.len();
        cards.extend(review::render_question(visit, &question, sort, "/", false).await?);
    }
    let more = found.count().saturating_sub(shown);
    Ok(html! {
        @if let Some(damage) = damage {
            div class="need" { b { "Problem" } p { (text::shorten_title(damage, 400)) } }
        }
        div data-total=(found.count()) {
            @if cards.is_empty() && damage.is_none() { p class="faint" { "Nothing to decide." } }
            @for card in &cards { (card) }
            @if !cards.is_empty() { p class="faint" { (review::FATE) } }
            @if more > 0 {
                p { a href="/knowledge/review" { "See all " (text::pluralize(found.count(), "pair", "pairs")) } }
            }
            @if let Some(FileCheck { at, damage: None }) = &found.file {
                p class="faint" {
                    "The memory file has no damage (checked " (calendar.format_relative(*at)) ")."
                }
            }
        }
    })
}
