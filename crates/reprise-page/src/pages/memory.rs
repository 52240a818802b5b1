//! The pages of Memory: the timeline by day and session, knowledge, and projects.

mod choices;

use std::collections::{BTreeSet, HashMap};

use reprise_operations::operations::records::list;
use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_operations::operations::tags;
use reprise_types::{RecordPage, list_names_of_project, short_project_name};

use super::pause::{
    POLICIES_EXPLAINED, list_pauses, render_pauses, render_policy, render_switched_toast,
};
use super::week::DAYS;
use crate::chart::ChartBar;
use crate::prelude::*;
use crate::rows::{RowGroup, RowTime};
use crate::undo::{InverseAction, UserAction};

pub(super) use choices::load_choices;

/// Weeks of the chart of what was learned.
const WEEKS: i64 = 8;
const TAGS_SHOWN: usize = 60;
const PROJECTS_SHOWN: usize = 40;
/// Most memories of a tag whose merge can be undone.
const MERGED_MAX: usize = 200;
/// Most sessions whose first prompt is looked up, and most prompts of each.
const TITLES_MAX: usize = 12;
const PROMPTS_LOOKED: usize = 50;

async fn fetch_records(visit: &PageRequest, request: ListRequest) -> PageResult<RecordPage> {
    let listed = list::list_records(&visit.memory(), request).await;
    Ok(none_if_missing(listed.map_err(Into::into))?.unwrap_or_default())
}

pub(crate) async fn show_timeline(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let calendar = visit.page.calendar();
    let request = ListRequest {
        filter: pairs.filter(&calendar)?,
        limit: rows::PAGE_SIZE,
        after: pairs.parse_value("after")?,
    };
    let (listed, known) = tokio::join!(fetch_records(&visit, request), RowContext::load(&visit));
    let (listed, mut known) = (listed?, known?);
    known.look_up(&visit, &listed.records).await?;
    let choices = load_choices(&visit, listed.records.iter()).await?;
    let titles = load_session_titles(&visit, &listed.records).await?;
    let bar = html! {
        form class="stack" role="search" action="/timeline" {
            div class="bar" {
                (pairs::render_chips(&pairs, "/timeline", &choices))
                span class="faint" role="status" {
                    @let is_filtered = pairs.except(&["after"]).next().is_some();
                    @let nouns = if is_filtered { ("memory matches.", "memories match.") } else { ("memory", "memories") };
                    (text::pluralize(listed.considered as usize, nouns.0, nouns.1))
                    @for runs in listed.notes.iter().filter_map(|note| runs_left_out(note)) {
                        " " a href="/timeline?type=run" { "(" (runs) " not listed)" }
                    }
                    @if is_filtered {
                        " " a href="/timeline" { "Clear filters" }
                    }
                }
            }
        }
    };
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        (render_split(&visit, &html! {
            @if listed.records.is_empty() && pairs.except(&["after"]).next().is_none() {
                (super::home::render_first_steps(&visit))
            } @else if listed.records.is_empty() {
                div class="panel empty" {
                    h2 { "No memory matches" }
                    p { "Remove a filter, or " a href="/search" { "ask a question" } "." }
                }
            } @else {
                (rows::render_category_legend(&listed.records))
                (render_timeline(&listed, pairs.get("after").is_some(), &titles, &known))
            }
            @for note in &listed.notes { (render_note(note)) }
            (pairs::render_page_links(&pairs, "/timeline", listed.next))
        }))
    };
    Ok(render_page_with_bar(
        &visit,
        "/timeline",
        "Timeline",
        &bar,
        &body,
    ))
}

/// Loads the first prompts of sessions whose records on this page have none, so that a session is
/// called by what was asked in it.
async fn load_session_titles(
    visit: &PageRequest,
    records: &[MemoryRecord],
) -> PageResult<HashMap<String, String>> {
    let mut unnamed: BTreeSet<&str> = records.iter().map(|one| one.session_id.as_str()).collect();
    unnamed.remove("");
    for record in records {
        if record.record_type() == RecordType::Prompt {
            unnamed.remove(record.session_id.as_str());
        }
    }
    let mut titles = HashMap::new();
    for session in unnamed.into_iter().take(TITLES_MAX) {
        let arguments = PromptsArguments {
            session: Some(session.to_owned()),
            limit: Some(PROMPTS_LOOKED),
            cursor: None,
        };
        let found = visit.run_optional::<Prompts>(arguments).await?;
        let first = found.and_then(|found| found.prompts.into_iter().next_back());
        titles.extend(first.map(|prompt| (session.to_owned(), prompt.text)));
    }
    Ok(titles)
}

/// What a note says of runs that a list leaves out, after how many there are.
const RUNS_LEFT_OUT: &str = "; the type `run` lists them";

/// Returns how many runs a note on a list says that it leaves out; they are a click away.
fn runs_left_out(note: &str) -> Option<String> {
    let (said, _) = note.split_once(RUNS_LEFT_OUT)?;
    let (count, _) = said.strip_prefix("left out: ")?.split_once(' ')?;
    Some(text::pluralize(count.parse().ok()?, "run", "runs"))
}

/// Renders a note on a list, unless it is said at the head of the list.
fn render_note(note: &str) -> Markup {
    html! {
        @if runs_left_out(note).is_none() {
            p class="faint" { (text::shorten_title(&text::to_sentence(note), 400)) }
        }
    }
}

/// Renders a list with space for an open record at its side.
fn render_split(visit: &PageRequest, rows: &Markup) -> Markup {
    html! {
        div class="split" {
            div { (rows::render_list(visit, rows)) }
            div id="side" class="side" {
                div class="side-hint empty" {
                    p class="faint" {
                        kbd { "j" } " " kbd { "k" } " move, "
                        kbd { "Enter" } " opens a memory here, "
                        kbd { "x" } " selects, " kbd { "?" } " shows every key."
                    }
                }
            }
        }
    }
}

/// Renders a page of the timeline; a session at either end may continue on another page.
fn render_timeline(
    listed: &RecordPage,
    is_later: bool,
    titles: &HashMap<String, String>,
    context: &RowContext,
) -> Markup {
    let groups = rows::group_by_session(&listed.records, &context.calendar);
    let last = groups.len().saturating_sub(1);
    let row_groups = groups.iter().enumerate().map(|(index, group)| {
        let is_cut = index == 0 && is_later || index == last && listed.next.is_some();
        let title = titles.get(group.session).map(String::as_str);
        RowGroup::from_group(group, &groups, !is_cut).with_title(title)
    });
    rows::render_groups(&row_groups.collect::<Vec<_>>(), context)
}

/// Returns the types of knowledge: all except runs, which the learning page shows.
fn knowledge_types() -> Vec<RecordType> {
    let all = RecordType::ALL.iter().copied();
    all.filter(|one| *one != RecordType::Run).collect()
}

/// Builds the filter of one type of knowledge, of what was learned this week, or of all.
fn knowledge_filter(typed: Option<RecordType>, is_week: bool) -> MemoryFilter {
    let known = vec![
        MemoryKind::Finding,
        MemoryKind::Pattern,
        MemoryKind::Strategy,
    ];
    MemoryFilter {
        kinds: (typed.is_none() && !is_week).then_some(known),
        types: Some(match typed {
            Some(one) => vec![one],
            None if is_week => vec![RecordType::Lesson, RecordType::Decision],
            None => knowledge_types(),
        }),
        ..MemoryFilter::default()
    }
}

pub(crate) async fn show_knowledge(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let typed = pairs.parse_value::<RecordType>("type")?;
    let is_week = pairs.get("show") == Some("week");
    let since = is_week.then(|| visit.page.now() - TimeDelta::days(DAYS));
    let request = ListRequest {
        filter: MemoryFilter {
            since,
            ..knowledge_filter(typed, is_week)
        },
        limit: rows::PAGE_SIZE,
        after: pairs.parse_value("after")?,
    };
    // Finished tasks and failures are events, but count as knowledge, too.
    let done = ListRequest {
        filter: MemoryFilter {
            kinds: Some(vec![MemoryKind::Episode]),
            types: Some(vec![RecordType::Lesson]),
            ..MemoryFilter::default()
        },
        limit: rows::PAGE_SIZE,
        after: None,
    };
    let done = async {
        match typed {
            None if !is_week => fetch_records(&visit, done).await,
            _ => Ok(RecordPage::default()),
        }
    };
    let arguments = tags::TagsArguments { review: true };
    let (listed, done, tags, known) = tokio::join!(
        fetch_records(&visit, request),
        done,
        visit.run_optional::<tags::Tags>(arguments),
        RowContext::load(&visit)
    );
    let (mut listed, done, tags, known) = (listed?, done?, tags?, known?);
    listed.records.retain(|record| !rows::is_definition(record));
    let merged: Option<usize> = pairs.parse_value("merged")?;
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        @if let Some(count) = merged {
            (toast(&html! { (text::pluralize(count, "memory", "memories")) " changed." }))
        }
        @if is_week { (render_weekly_trend(&visit).await?) }
        (render_split(&visit, &html! {
            @if listed.records.is_empty() && done.records.is_empty() {
                (render_no_knowledge(&visit, typed, is_week))
            } @else {
                (rows::render_category_legend(&listed.records))
                ol class="rows" { (render_learned(&listed.records, &known)) }
            }
            (pairs::render_page_links(&pairs, "/knowledge", listed.next))
            @if !done.records.is_empty() {
                h2 { "Finished and failed tasks" }
                ol class="rows" { (render_learned(&done.records, &known)) }
            }
        }))
        @if let Some(tags) = &tags { (render_tag_sections(&visit, tags)) }
    };
    let bar = render_type_tabs(typed, is_week);
    Ok(render_page_with_bar(
        &visit,
        "/knowledge",
        "Knowledge",
        &bar,
        &body,
    ))
}

/// Renders how many lessons and decisions each of the last weeks brought.
async fn render_weekly_trend(visit: &PageRequest) -> PageResult<Markup> {
    let (calendar, mut bars) = (visit.page.calendar(), Vec::new());
    for back in (0..WEEKS).rev() {
        let until = visit.page.now() - TimeDelta::days(back * DAYS);
        let since = until - TimeDelta::days(DAYS);
        let request = ListRequest {
            filter: MemoryFilter {
                since: Some(since),
                until: Some(until),
                ..knowledge_filter(None, true)
            },
            limit: 1,
            after: None,
        };
        let first = calendar.day_of(since) + TimeDelta::days(1);
        let last = calendar.day_of(until);
        bars.push(ChartBar {
            name: format!("{} to {}", first.format("%-d %b"), last.format("%-d %b")),
            count: fetch_records(visit, request).await?.considered as usize,
            path: None,
        });
    }
    let is_any = bars.iter().any(|bar| bar.count > 0);
    Ok(html! {
        @if is_any {
            div class="card trend-card" {
                (chart::render_bars("Learned each week", "lessons and decisions", &bars))
            }
        }
    })
}

/// Says why a list of knowledge is empty, and how that type comes about.
fn render_no_knowledge(visit: &PageRequest, typed: Option<RecordType>, is_week: bool) -> Markup {
    html! {
        div class="panel empty" {
            @match typed {
                _ if is_week => { h2 { "Nothing was learned in the last 7 days" } }
                Some(RecordType::Decision) => {
                    h2 { "No decisions yet" }
                    p { "Decisions are found in your agents' sessions." }
                }
                Some(RecordType::Note) => {
                    h2 { "No notes yet" }
                    p { code { (visit.command("reprise import FOLDER")) } " brings in a folder of notes." }
                }
                Some(RecordType::Lesson) | None => {
                    h2 { (if typed.is_some() { "No lessons yet" } else { "No knowledge yet" }) }
                    @if visit.read_only { p { "Agents store what they learned." } }
                    @else { p { a class="button" href="/new" { "Add a memory" } } }
                }
                Some(_) => { h2 { "No memory of this type yet" } }
            }
        }
    }
}

/// Renders the tabs that choose a type of knowledge.
fn render_type_tabs(typed: Option<RecordType>, is_week: bool) -> Markup {
    let sorts = [
        (None, "All"),
        (Some(RecordType::Decision), "Decisions"),
        (Some(RecordType::Lesson), "Lessons"),
        (Some(RecordType::Note), "Notes"),
    ];
    html! {
        nav class="tabs" aria-label="Types" {
            a href="/knowledge?show=week" aria-current=[is_week.then_some("page")] { "Learned this week" }
            @for (one, label) in sorts {
                @let path = one.map_or("/knowledge".to_owned(), |one| {
                    format!("/knowledge?type={}", one.name())
                });
                a href=(path) aria-current=[(one == typed && !is_week).then_some("page")] { (label) }
            }
        }
    }
}

/// Renders rows of knowledge, each with its goal.
fn render_learned(records: &[MemoryRecord], context: &RowContext) -> Markup {
    html! {
        @for record in records {
            (rows::render_row(record, RowTime::Ago, context, &html! {
                @if let Some(goal) = learned_from_goal(record) { span class="session" { "from: " (text::shorten(goal, 30)) } }
            }))
        }
    }
}

/// Returns what was worked on: a lesson's `goal` or an observation's `source_goal`.
fn learned_from_goal(record: &MemoryRecord) -> Option<&str> {
    let details = record.details.as_ref()?;
    let mut named = ["goal", "source_goal"].into_iter();
    named.find_map(|name| details.get(name)?.as_str())
}

fn render_tag_sections(visit: &PageRequest, tags: &tags::Tagged) -> Markup {
    let alike = tags.alike.as_deref().unwrap_or_default();
    html! {
        @if !alike.is_empty() {
            section {
                h2 { "Similar tags" }
                ul class="review" {
                    @for pair in alike {
                        li class="need" {
                            b { (text::shorten(&pair.tag, 60)) " and " (text::shorten(&pair.into, 60)) }
                            p {}
                            (form(visit, "/knowledge/merge", &html! {
                                input type="hidden" name="from" value=(pair.tag);
                                input type="hidden" name="into" value=(pair.into);
                                @let count = tags.tags.iter().find(|one| one.tag == pair.tag).map_or(0, |one| one.count);
                                button { span {
                                    "Replace " (text::shorten(&pair.tag, 60)) " by "
                                    (text::shorten(&pair.into, 60)) " in "
                                    (text::pluralize(count, "memory", "memories"))
                                } }
                                @if count > MERGED_MAX { span class="faint" { "This cannot be undone." } }
                            }))
                        }
                    }
                }
            }
        }
        @if !tags.tags.is_empty() {
            section {
                h2 { "Tags" }
                div class="chips" {
                    @for one in tags.tags.iter().take(TAGS_SHOWN) {
                        a class="chip" href=(format!("/timeline?tag={}", percent_encode(&one.tag)))
                            title=(text::plain_line(&one.tag, 200)) {
                            (text::shorten(&rows::label_tag(&one.tag), 60)) "\u{a0}"
                            span class="faint" { (text::format_count(one.count as u64)) }
                        }
                    }
                }
            }
        }
    }
}

/// Replaces one tag by another in every memory, which can be undone unless there are very many.
pub(crate) async fn merge_tags(posted: Posted) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let (from, into) = (
        posted.text("from").to_owned(),
        posted.text("into").to_owned(),
    );
    let request = ListRequest {
        filter: MemoryFilter {
            tags: Some(vec![from.clone()]),
            ..MemoryFilter::default()
        },
        limit: MERGED_MAX + 1,
        after: None,
    };
    let tagged = fetch_records(visit, request).await?.records;
    let arguments = tags::MergeTagsArguments {
        from: from.clone(),
        into: into.clone(),
    };
    let merged = visit.run::<tags::MergeTags>(arguments).await?.merged;
    if tagged.is_empty() || tagged.len() > MERGED_MAX {
        return Ok(Redirect::to(&format!("/knowledge?merged={merged}")));
    }
    let actions = tagged.into_iter().map(|record| {
        let before = record.body.tags;
        let mut after = before.clone();
        after.retain(|tag| *tag != from);
        after.push(into.clone());
        let inverse = InverseAction::Tag {
            record: record.id,
            before,
            after,
        };
        UserAction::new(record.id, "", inverse)
    });
    let mut action = UserAction::combine(actions.collect());
    let memories = text::pluralize(merged, "memory", "memories");
    action.message = format!("\u{201c}{from}\u{201d} is now \u{201c}{into}\u{201d} in {memories}.");
    let number = undo::push_action(visit, action);
    Ok(Redirect::to(&format!("/knowledge?done={number}")))
}

/// Lists the projects that records name, in their metadata or by a tag.
pub(super) fn collect_project_names(known: &tags::Tagged) -> Vec<String> {
    let tagged = known.tags.iter();
    let tagged = tagged.filter_map(|one| one.tag.strip_prefix("project:").map(str::to_owned));
    let all: BTreeSet<String> = known.projects.iter().cloned().chain(tagged).collect();
    all.into_iter().collect()
}

/// Leaves out the short names of projects that have a whole one, so that each is listed once.
fn drop_second_names(names: &[String]) -> Vec<String> {
    let known = || names.iter().map(String::as_str);
    let is_second = |name: &String| {
        let all = list_names_of_project(name, known());
        name == short_project_name(name) && all.len() > 1
    };
    let kept = names.iter().filter(|name| !is_second(name)).cloned();
    kept.collect()
}

/// Returns the short name of a project if no other one has it.
fn label_project<'n>(name: &'n str, all: &[String]) -> &'n str {
    let short = short_project_name(name);
    let same = all.iter().filter(|one| short_project_name(one) == short);
    if same.count() == 1 { short } else { name }
}

pub(crate) async fn show_projects(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let arguments = tags::TagsArguments::default();
    let known = visit.run_optional::<tags::Tags>(arguments).await?;
    let names = known
        .map(|known| drop_second_names(&collect_project_names(&known)))
        .unwrap_or_default();
    let mut projects = Vec::new();
    for name in names.iter().take(PROJECTS_SHOWN) {
        let request = ListRequest {
            filter: MemoryFilter {
                project: Some(name.clone()),
                ..MemoryFilter::default()
            },
            limit: 1,
            after: None,
        };
        projects.push((name, fetch_records(&visit, request).await?));
    }
    let newest = |listed: &RecordPage| listed.records.first().map(|record| record.timestamp);
    projects.sort_by_key(|(_, listed)| std::cmp::Reverse(newest(listed)));
    let (calendar, rules) = (visit.page.calendar(), list_pauses(&visit).await?);
    let body = html! {
        (render_switched_toast(&visit, &pairs, "/projects").await?)
        (undo::render_done_toast(&visit, pairs.get("done")))
        (render_pauses(&visit, &rules, "/projects"))
        @if projects.is_empty() {
            div class="panel empty" {
                h2 { "No memory names a project yet" }
                p { "Connected agents name the folder that they work in." }
            }
        } @else {
            p class="why" { (POLICIES_EXPLAINED) }
            (table("Projects", &["Project", "#Memories", "Last active", "Latest memory", "Memory"],
                projects.iter().map(|(name, listed)| html! {
                    td {
                        @let label = label_project(name, &names);
                        a href=(format!("/timeline?project={}", percent_encode(name))) {
                            (text::shorten(label, 80))
                        }
                        @if label != name.as_str() { " " small { (text::shorten(name, 80)) } }
                    }
                    td class="number" { (text::format_count(listed.considered.into())) }
                    @match listed.records.first() {
                        Some(record) => {
                            td class="nowrap" { (calendar.format_relative(record.timestamp)) }
                            td {
                                a href=(rows::path(record)) {
                                    (text::shorten(rows::title(record), 90))
                                }
                            }
                        }
                        None => { td {} td {} }
                    }
                    td { (render_policy(&visit, &rules, Some(name.as_str()), None, "/projects")) }
                })
            ))
            @if names.len() > PROJECTS_SHOWN {
                p class="faint" { "and " (names.len() - PROJECTS_SHOWN) " more" }
            }
        }
    };
    Ok(render_page(&visit, "/projects", "Projects", &body))
}

#[cfg(test)]
mod tests {
    use chrono::{TimeZone, Utc};
    use reprise_types::{Calendar, MemorySource, RecordBody, RecordId, Zone};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_project_of_two_names_is_listed_once() {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let names = drop_second_names(&owned(&["api", "api-1f2e3d4c", "shop"]));
        assert_eq!(names, ["api-1f2e3d4c", "shop"]);
        assert_eq!(label_project("api-1f2e3d4c", &names), "api");
        let three = owned(&["api", "api-1f2e3d4c", "github.com/acme/api"]);
        assert_eq!(drop_second_names(&three), three, "it may be either");
        assert_eq!(label_project("api-1f2e3d4c", &three), "api-1f2e3d4c");
    }

    #[test]
    fn a_learning_is_shown_with_its_goal() {
        let now = Utc.with_ymd_and_hms(2026, 1, 20, 10, 0, 0).unwrap();
        let shown = |details: Value| {
            let (text, kind) = ("Completed: Create model", MemoryKind::Episode);
            let mut body = RecordBody::new(text, MemorySource::WorkerResult, kind);
            body.details = Some(details);
            let records = [body.into_record(RecordId::from_u128(1), now)];
            let zone = Zone::Utc;
            let known = RowContext::new(Calendar { now, zone });
            render_learned(&records, &known).into_string()
        };
        let goal = "build a forum for the people of the village";
        let html = shown(json!({"type": "learning", "category": "task_completion", "goal": goal}));
        assert!(
            html.contains("from: ") && html.contains("build a forum for"),
            "{html}"
        );
        assert!(!html.contains("village"), "{html}");
        assert!(html.contains("category-task_completion"), "{html}");
        assert!(shown(json!({"source_goal": "ship"})).contains("from: "));
        assert!(!shown(json!({"type": "learning"})).contains("from: "));
    }
}
