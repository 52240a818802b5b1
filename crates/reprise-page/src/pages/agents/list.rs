//! The list of prompts: all of them, those of a week or of a day, by how their work went and by
//! project.

use std::collections::HashMap;

use chrono::NaiveDate;
use reprise_operations::Prompt;
use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_types::{Cursor, is_same_project, short_project_name};

use crate::pages::memory::load_choices;
use crate::pages::week::{
    OpenUse, PromptGroup, Week, count_imported, count_other_results, find_open_uses,
    render_outcome_chips,
};
use crate::pairs::FilterChoices;
use crate::prelude::*;

/// Prompts of a page, and most that are read to fill one with those of a project.
const LIMIT: usize = 40;
const READ_MAX: usize = 1_000;
/// Most sessions whose prompts are counted, and most prompts of each.
const SESSIONS_COUNTED: usize = 60;
const PROMPTS_COUNTED: usize = 200;
/// The filters of the list: the name in an address, and the label.
const FILTERS: [(&str, &str); 2] = [("day", "Day"), ("project", "Project")];
/// Days that are a click away.
const DAYS: [(&str, &str); 2] = [("today", "Today"), ("yesterday", "Yesterday")];

/// Prompts as they are listed.
struct ListedPrompts {
    prompts: Vec<Prompt>,
    /// Where the next page begins.
    next: Option<Cursor>,
    /// Whether there are more than are counted.
    is_cut: bool,
    /// Whether all prompts of some days are here.
    is_whole: bool,
}

/// Loads the prompts of a day, of the week if a group is chosen, or a page of all.
async fn load(
    visit: &PageRequest,
    pairs: &QueryPairs,
    group: Option<PromptGroup>,
) -> PageResult<ListedPrompts> {
    let calendar = visit.page.calendar();
    let week = if let Some((since, until)) = pairs.parse_span("day", &calendar)? {
        Week::load_between(visit, since, Some(until)).await?
    } else if group.is_some() {
        Week::load(visit).await?
    } else {
        return load_page(visit, pairs).await;
    };
    Ok(ListedPrompts {
        prompts: week.prompts,
        next: None,
        is_cut: week.is_cut,
        is_whole: true,
    })
}

/// Loads a page of all prompts, or of those of one project.
async fn load_page(visit: &PageRequest, pairs: &QueryPairs) -> PageResult<ListedPrompts> {
    let mut cursor = pairs.parse_value("after")?;
    let (mut prompts, mut read) = (Vec::new(), 0);
    loop {
        let arguments = PromptsArguments {
            session: None,
            limit: Some(LIMIT),
            cursor,
        };
        let found = visit.run_optional::<Prompts>(arguments).await?;
        let (page, next) = found
            .map(|found| (found.prompts, found.next))
            .unwrap_or_default();
        read += page.len();
        let of_project = page
            .into_iter()
            .filter(|one| is_of_project(one, pairs.get("project")));
        prompts.extend(of_project);
        cursor = next;
        if cursor.is_none() || prompts.len() >= LIMIT || read >= READ_MAX {
            break;
        }
    }
    Ok(ListedPrompts {
        prompts,
        next: cursor,
        is_cut: false,
        is_whole: false,
    })
}

/// Shows prompts with what memory added to each and how its work went.
pub(super) async fn show(visit: &PageRequest, pairs: &QueryPairs) -> PageResult<Markup> {
    let group = pairs.get("show").and_then(PromptGroup::from_name);
    let mut listed = load(visit, pairs, group).await?;
    let project = pairs.get("project");
    listed.prompts.retain(|one| is_of_project(one, project));
    let counts = listed.is_whole.then(|| describe_counts(&listed.prompts));
    listed
        .prompts
        .retain(|one| group.is_none_or(|group| group.contains(one)));
    let totals = load_session_counts(visit, &listed.prompts).await?;
    let calendar = visit.page.calendar();
    let uses = find_open_uses(visit, &listed.prompts).await?;
    let choices = load_choices(visit, std::iter::empty()).await?;
    let is_filtered = FILTERS.iter().any(|(name, _)| pairs.get(name).is_some());
    let body = html! {
        (undo::render_done_toast(visit, pairs.get("done")))
        (render_tabs(pairs, group))
        (render_filters(pairs, &choices))
        @if let Some(counts) = counts { p class="why" data-counts { (counts) } }
        @if let Some(meaning) = group.and_then(PromptGroup::describe).filter(|_| !listed.prompts.is_empty()) {
            p class="why" { (meaning) }
        }
        @if listed.prompts.is_empty() {
            @match group {
                _ if is_filtered => { p class="faint" { "No prompt matches. " a href="/prompts" { "Show all prompts" } } }
                Some(group) => { p class="faint" { (group.describe_none()) } }
                None => { (render_no_prompts(visit)) }
            }
        }
        (render_prompt_list(&listed.prompts, &totals, &uses, &calendar))
        @if listed.is_cut { p class="faint" { "Only the newest of these prompts are shown." } }
        (pairs::render_page_links(pairs, "/prompts", listed.next))
    };
    Ok(render_page(visit, "/prompts", "Prompts", &body))
}

/// Says how many prompts there are, how many received memories, and how the work of those went.
fn describe_counts(prompts: &[Prompt]) -> String {
    let count = |group: PromptGroup| prompts.iter().filter(|one| group.contains(one)).count();
    let mut counts = format!(
        "{}: {} received memories, {} helped, {} failed anyway",
        text::pluralize(prompts.len(), "prompt", "prompts"),
        count(PromptGroup::Received),
        count(PromptGroup::Helped),
        count(PromptGroup::Failed)
    );
    let others = count_other_results(prompts).into_iter();
    counts.extend(others.map(|(count, words)| format!(", {count} {words}")));
    match count_imported(prompts) {
        0 => counts + ".",
        imported => format!("{counts}. {imported} imported: these could receive no memory."),
    }
}

/// Renders the links to all prompts, to those of the last two days, and to those of the last seven
/// days.
fn render_tabs(pairs: &QueryPairs, group: Option<PromptGroup>) -> Markup {
    let day = pairs.get("day");
    let is_all = group.is_none() && day.is_none();
    html! {
        nav class="bar tabs" aria-label="Which prompts" {
            a href="/prompts" aria-current=[is_all.then_some("page")] { "All time" }
            @for (name, label) in DAYS {
                a href=(format!("/prompts?day={name}")) aria-current=[(day == Some(name)).then_some("page")] { (label) }
            }
            span class="faint" { "Last 7 days:" }
            @for (one, name, _, label) in PromptGroup::ALL {
                a href=(format!("/prompts?show={name}"))
                    aria-current=[(group == Some(one) && day.is_none()).then_some("page")] { (label) }
            }
        }
    }
}

/// Renders the filters by day and by project.
fn render_filters(pairs: &QueryPairs, choices: &FilterChoices) -> Markup {
    html! {
        form class="stack" role="search" action="/prompts" {
            div class="bar" {
                @if let Some(show) = pairs.get("show") { input type="hidden" name="show" value=(show); }
                @for (name, label) in FILTERS { (pairs::render_chip(pairs, "/prompts", choices, name, label)) }
            }
        }
    }
}

fn render_no_prompts(visit: &PageRequest) -> Markup {
    html! {
        div class="panel empty" {
            h2 { "No prompts yet" }
            p {
                "Once an agent is connected, this list shows each prompt, what memory added to it, \
                 and whether that helped."
            }
            p { a class="button" href="/agents" { "Connect an agent" } }
            p { "or run " code { (visit.command("reprise connect claude-code")) } }
        }
    }
}

/// Returns the project of a prompt, as its tag names it.
fn project_tag(prompt: &Prompt) -> Option<&str> {
    let mut tags = prompt.tags.iter();
    tags.find_map(|tag| tag.strip_prefix("project:"))
}

/// Returns whether a prompt was sent in a project, or none is asked for.
fn is_of_project(prompt: &Prompt, project: Option<&str>) -> bool {
    project.is_none_or(|asked| project_tag(prompt).is_some_and(|own| is_same_project(own, asked)))
}

/// Returns the short name of a prompt's project.
pub(super) fn project_of(prompt: &Prompt) -> Option<&str> {
    project_tag(prompt).map(short_project_name)
}

/// Prompts of one session of one day, the newest first.
struct SessionDay<'a> {
    day: NaiveDate,
    session: &'a str,
    prompts: Vec<&'a Prompt>,
}

/// Groups prompts by day and session, in the order of the newest prompt of each.
fn group_prompts<'a>(prompts: &'a [Prompt], calendar: &Calendar) -> Vec<SessionDay<'a>> {
    let mut groups: Vec<SessionDay<'a>> = Vec::new();
    for prompt in prompts {
        let (day, session) = (calendar.day_of(prompt.at), prompt.session.as_str());
        let found = groups
            .iter_mut()
            .find(|one| one.day == day && one.session == session);
        match found {
            Some(group) => group.prompts.push(prompt),
            None => groups.push(SessionDay {
                day,
                session,
                prompts: vec![prompt],
            }),
        }
    }
    groups
}

/// Counts all prompts of the sessions of some prompts, of other days and pages, too.
async fn load_session_counts(
    visit: &PageRequest,
    prompts: &[Prompt],
) -> PageResult<HashMap<String, usize>> {
    let mut counts = HashMap::new();
    for prompt in prompts {
        if counts.len() >= SESSIONS_COUNTED || counts.contains_key(&prompt.session) {
            continue;
        }
        let arguments = PromptsArguments {
            session: Some(prompt.session.clone()),
            limit: Some(PROMPTS_COUNTED),
            cursor: None,
        };
        let found = visit.run_optional::<Prompts>(arguments).await?;
        let count = found.map_or(0, |found| found.prompts.len());
        counts.insert(prompt.session.clone(), count);
    }
    Ok(counts)
}

/// Renders prompts below a heading for each day and each session, of which `totals` has the number
/// of all its prompts.
fn render_prompt_list(
    prompts: &[Prompt],
    totals: &HashMap<String, usize>,
    uses: &HashMap<RecordId, OpenUse>,
    calendar: &Calendar,
) -> Markup {
    let groups = group_prompts(prompts, calendar);
    html! {
        div class="list" data-list {
            h2 class="unseen-text" { "By day and session" }
            ol class="rows" {
                @for (index, group) in groups.iter().enumerate() {
                    @let before = index.checked_sub(1).map(|before| &groups[before]);
                    @let is_new = before.is_none_or(|before| before.day != group.day);
                    @let total = totals.get(group.session).copied().unwrap_or_default();
                    li class="grouping" {
                        @if is_new { h2 { (rows::format_day(group.day, calendar)) } }
                        (render_session_title(group, total))
                    }
                    @for prompt in &group.prompts {
                        @let open_use = uses.get(&prompt.id).copied();
                        (render_prompt_row(prompt, open_use.unwrap_or(OpenUse::NotKnown), calendar))
                    }
                }
            }
        }
    }
}

/// Renders the heading of a session: its project and agent, and how many of its prompts follow.
fn render_session_title(group: &SessionDay<'_>, total: usize) -> Markup {
    let first = group.prompts.last();
    let project = first.and_then(|one| project_of(one));
    let agent = first.and_then(|one| one.agent.as_deref());
    let shown = group.prompts.len();
    html! {
        h3 {
            a href=(format!("/prompts?session={}", percent_encode(group.session))) {
                (text::shorten(project.or(agent).unwrap_or("Session"), 40))
            }
        }
        small {
            @if let Some(agent) = agent.filter(|_| project.is_some()) { (text::shorten(agent, 20)) " \u{b7} " }
            @if shown < total { (shown) " of " }
            (text::pluralize(total.max(shown), "prompt", "prompts"))
        }
    }
}

fn render_prompt_row(prompt: &Prompt, open_use: OpenUse, calendar: &Calendar) -> Markup {
    html! {
        li class="row" data-record=(prompt.id) data-at=(format!("/prompts/{}", prompt.id)) {
            span {} span class="prompt" { (icon("prompt")) }
            span class="k" { (calendar.format_time_of_day(prompt.at)) }
            a class="x" href=(format!("/prompts/{}", prompt.id)) { (text::shorten(&prompt.text, 160)) }
            span class="w" {
                (render_outcome_chips(prompt, open_use))
            }
        }
    }
}
