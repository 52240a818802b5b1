//! The parts of every page: header, navigation, menus, forms, toasts, tables.

mod document;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use maud::{Markup, PreEscaped, html};
use reprise_operations::{PauseMode, PauseRule};
use reprise_types::Calendar;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

pub(crate) use self::document::{
    FORM_TOKEN, SIGN_OUT, SWITCH, render_document_without_events, render_standalone,
};
use self::document::{SENTENCE_CHARS, SUBJECT_CHARS, render_document};
use crate::page::{PageRequest, PageResult, READ_ONLY};
use crate::{assets, text};

/// Pages that begin with the question field, without a visible title.
const HOME: &str = "/";
const ASK: &str = "/search";

type Tabs = &'static [(&'static str, &'static str)];

/// The entries of the main navigation: address, name, icon and tabs. Narrow screens show them with
/// their icons at the lower edge.
const PLACES: [(&str, &str, &str, Tabs); 6] = [
    (HOME, "Home", "home", &[]),
    (
        "/timeline",
        "Memory",
        "memory",
        &[
            ("/timeline", "Timeline"),
            ("/knowledge", "Knowledge"),
            ("/projects", "Projects"),
            ("/global", "Published"),
        ],
    ),
    (ASK, "Ask", "search", &[]),
    (
        "/agents",
        "Agents",
        "agents",
        &[
            ("/agents", "Agents"),
            ("/prompts", "Prompts"),
            ("/activity", "Activity"),
            ("/learning", "Learning"),
        ],
    ),
    (
        "/knowledge/review",
        "To decide",
        "decide",
        &[
            ("/knowledge/review", "To decide"),
            ("/knowledge/tidy", "Duplicates"),
            ("/care/audit", "Health"),
        ],
    ),
    (
        "/care",
        "Settings",
        "settings",
        &[
            ("/care", "Storage"),
            ("/care/backups", "Backups"),
            ("/care/access", "Tokens and HTTP"),
            ("/care/configuration", "Configuration"),
        ],
    ),
];

/// Renders a whole page with header and tabs; `tab` is the address of its tab.
pub(crate) fn render_page(visit: &PageRequest, tab: &str, title: &str, body: &Markup) -> Markup {
    render_page_with_bar(visit, tab, title, &html! {}, body)
}

/// Renders a whole page with `bar` next to its title.
pub(crate) fn render_page_with_bar(
    visit: &PageRequest,
    tab: &str,
    title: &str,
    bar: &Markup,
    body: &Markup,
) -> Markup {
    let name = PageName {
        heading: title,
        title,
    };
    render_named_page(visit, tab, &name, bar, body)
}

/// Renders a whole page about one thing, whose first line is the title of the browser's tab.
pub(crate) fn render_page_about(
    visit: &PageRequest,
    tab: &str,
    heading: &str,
    subject: &str,
    body: &Markup,
) -> Markup {
    let name = PageName {
        heading,
        title: &text::plain_line(subject, SUBJECT_CHARS),
    };
    render_named_page(visit, tab, &name, &html! {}, body)
}

/// What a page is called.
struct PageName<'a> {
    /// In its heading.
    heading: &'a str,
    /// In the browser's tab and history.
    title: &'a str,
}

fn render_named_page(
    visit: &PageRequest,
    tab: &str,
    name: &PageName<'_>,
    bar: &Markup,
    body: &Markup,
) -> Markup {
    let PageName { heading, title } = name;
    // The page of users belongs to no entry of the navigation.
    let place = PLACES
        .into_iter()
        .find(|(path, _, _, tabs)| *path == tab || tabs.iter().any(|(path, _)| *path == tab));
    let (place, place_name, _, tabs) = place.unwrap_or_default();
    // Tabs that share a heading are told apart in the history of the browser.
    let own = tabs.iter().find(|(path, _)| *path == tab);
    let own =
        own.filter(|(_, name)| title == heading && *heading == place_name && *name != place_name);
    let title = own.map_or_else(
        || (*title).to_owned(),
        |(_, name)| format!("{place_name}: {name}"),
    );
    let is_named = ![HOME, ASK].contains(&place);
    render_document(
        &title,
        &html! {
            (render_header(visit, place))
            main id="main" tabindex="-1" {
                @if is_named {
                    div class="title" {
                        h1 { (heading) }
                        (bar)
                        @if !tabs.is_empty() {
                            nav class="tabs" aria-label="Section" {
                                @for (path, name) in tabs {
                                    a href=(path)
                                        aria-current=[(*path == tab).then_some("page")] {
                                        (name)
                                    }
                                }
                            }
                        }
                    }
                } @else { h1 class="unseen-text" { (heading) } }
                (body)
            }
            footer class="foot" {
                "Your memory is on this machine. " (describe_leaving(visit))
            }
        },
    )
}

/// Settings whose address another machine may have, and what goes there.
const LEAVING: [(&str, &str); 3] = [
    (
        "global.url",
        "What you publish, and questions without their secrets, go to",
    ),
    ("memory.model", "Texts are compared by the model at"),
    (
        "recall.reranker",
        "Questions and results are checked by the model at",
    ),
];

/// Says what leaves this machine, as it is configured.
fn describe_leaving(visit: &PageRequest) -> String {
    let settings = visit.page.host().settings();
    let mut sentences = Vec::new();
    for (name, what) in LEAVING {
        let value = settings.iter().find(|one| one.name == name);
        let host = value.and_then(|one| one.value.split_once("://"));
        let host = host.and_then(|(_, rest)| rest.split(['/', '#']).next());
        sentences.extend(host.map(|host| format!("{what} {}.", text::plain_line(host, 80))));
    }
    if sentences.is_empty() {
        "Nothing leaves it.".to_owned()
    } else {
        sentences.join(" ")
    }
}

/// Where the body of a streamed page is; no text of a page can contain it unescaped.
const BODY_MARK: &str = "<!--body-->";

/// What a browser is sent while the body of a page is computed.
pub(crate) struct PageFrame {
    /// The address of its tab.
    pub(crate) tab: &'static str,
    pub(crate) title: &'static str,
    /// What is being done.
    pub(crate) progress: &'static str,
    /// What is known already.
    pub(crate) before: Markup,
}

type BodyFuture = Pin<Box<dyn Future<Output = PageResult<Markup>> + Send>>;

/// Sends the frame of a page at once, and its body when that is computed.
pub(crate) fn stream_page(
    visit: PageRequest,
    frame: &PageFrame,
    render: impl FnOnce(PageRequest) -> BodyFuture + Send + 'static,
) -> Response {
    let around = html! {
        (frame.before)
        p class="progress" role="status" { (frame.progress) }
        (PreEscaped(BODY_MARK))
    };
    let page = render_page(&visit, frame.tab, frame.title, &around).into_string();
    let (head, tail) = page.split_once(BODY_MARK).unwrap_or((&page, ""));
    let (head, tail) = (head.to_owned(), tail.to_owned());
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        // A browser that went away takes nothing.
        if sender.send(head).await.is_err() {
            return;
        }
        let body = match render(visit).await {
            Ok(body) => html! { div class="late" { (body) } },
            Err(error) => {
                let (first, rest) = error.split_sentence();
                html! {
                    div class="late need" { b { (text::shorten_title(first, SENTENCE_CHARS)) } p { (text::shorten_title(rest, SENTENCE_CHARS)) } }
                }
            }
        };
        drop(sender.send(body.into_string() + &tail).await);
    });
    let parts = ReceiverStream::new(receiver).map(Ok::<_, Infallible>);
    let media = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    (media, Body::from_stream(parts)).into_response()
}

fn render_header(visit: &PageRequest, place: &str) -> Markup {
    html! {
        header class="top" data-read-only[visit.read_only]
            data-undo=[visit.with_undo(|list| list.newest_number()).flatten()] {
            a class="brand" href="/" {
                img src=(assets::asset_path("icon.svg")) alt="" width="22" height="22"; "Reprise"
            }
            nav class="places" aria-label="Main" { (render_places(place)) }
            div class="right" {
                @if visit.read_only { span class="chip read-only" { "Read only" } }
                (render_pause_switch(visit))
                @if !visit.read_only {
                    a class="button quiet new-button" href="/new" data-key="c" { "Add a memory" }
                }
                button type="button" class="quiet palette-button" data-palette hidden {
                    span { "Commands" } kbd { "Ctrl K" }
                }
                details class="menu" {
                    summary aria-label=(format!("Menu of user {}", visit.user)) {
                        span class="user" { (visit.user) } (icon("down"))
                    }
                    div class="pop" {
                        @if !visit.read_only { a class="only-narrow" href="/new" { "Add a memory" } }
                        p class="says" {
                            "User: " b { (visit.user) }
                            @if visit.read_only { " (may only read)" }
                        }
                        a href="/done" { "Recent changes (undo)" }
                        a href="/help" { "Help" }
                        label class="says theme" hidden {
                            "Theme"
                            select data-theme-choice {
                                @for (value, name) in [("", "System"), ("light", "Light"), ("dark", "Dark")] {
                                    option value=(value) { (name) }
                                }
                            }
                        }
                        @if visit.operator { a href="/users" { "Switch to another user" } }
                        @else {
                            p class="says" {
                                "To switch between users, run " b { "reprise open --all-users" } "."
                            }
                        }
                        hr;
                        form method="post" action=(SIGN_OUT) {
                            (render_form_token_field(visit)) button class="link" { "Sign out" }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the switch that pauses all memory, or ends that.
fn render_pause_switch(visit: &PageRequest) -> Markup {
    let rules = visit.memory().list_pauses();
    let pause = rules.iter().find(|rule| rule.is_for(None, None));
    let some = pause.is_none().then(|| count_pauses(&rules)).flatten();
    let (label, class) = match pause.map(|rule| rule.mode) {
        None => ("Memory on", "light on"),
        Some(PauseMode::ReadOnly) => ("Read only", "light less"),
        Some(PauseMode::Off) => ("Paused", "light less"),
    };
    let calendar = visit.page.calendar();
    let until = pause.and_then(|rule| rule.until);
    let whole = some.as_ref().map(|some| format!("{label}, {some}"));
    html! {
        details class="menu pause" {
            summary title=(whole.as_deref().unwrap_or("Pause memory, or make it read only")) {
                span class=(class) {} span class="pause-label" { (label) }
                @if let Some(some) = &some {
                    span class="unseen-text" { ", " } span class="faint some" { (some) }
                }
                @if let Some(until) = until {
                    span class="faint" { "until " (calendar.format_time_of_day(until)) }
                }
                (icon("down"))
            }
            div class="pop" {
                @if visit.read_only { p class="says" { (text::shorten_title(READ_ONLY, SENTENCE_CHARS)) } }
                @else if pause.is_some() {
                    p class="says" { (describe_pause(pause.map(|rule| rule.mode), until, &calendar)) }
                    (render_pause_form(visit, "remember", "", "Resume now"))
                } @else {
                    p class="says" { "Pause memory for every agent and project:" }
                    (render_pause_form(visit, "off", "hour", "Pause for an hour"))
                    (render_pause_form(visit, "off", "today", "Pause until midnight"))
                    (render_pause_form(visit, "off", "", "Pause until I resume"))
                    p class="says" { "Or let agents get memories, and store nothing new:" }
                    (render_pause_form(visit, "read_only", "", "Make memory read only"))
                }
                @if let Some(some) = &some {
                    @let is_projects = rules.iter().any(|rule| rule.project.is_some());
                    a href=(if is_projects { "/projects" } else { "/agents" }) { "See: " (some) }
                }
                a href="/projects" { "Pause or allow by project" }
            }
        }
    }
}

/// Counts the projects and agents that are paused while memory is on; `None` if there are none.
fn count_pauses(rules: &[PauseRule]) -> Option<String> {
    let of_projects = rules.iter().filter_map(|rule| rule.project.as_deref());
    let of_agents = rules.iter().filter(|rule| rule.project.is_none());
    let of_agents = of_agents.filter_map(|rule| rule.agent.as_deref());
    let [projects, agents] =
        [of_projects.collect(), of_agents.collect()].map(|names: BTreeSet<&str>| names.len());
    let projects = (projects > 0).then(|| text::pluralize(projects, "project", "projects"));
    let agents = (agents > 0).then(|| text::pluralize(agents, "agent", "agents"));
    let counted: Vec<String> = [projects, agents].into_iter().flatten().collect();
    (!counted.is_empty()).then(|| format!("{} paused", counted.join(" and ")))
}

/// Describes in a sentence what agents get during a pause, and until when.
fn describe_pause(
    mode: Option<PauseMode>,
    until: Option<DateTime<Utc>>,
    calendar: &Calendar,
) -> String {
    let time = until.map(|until| format!(" until {}", calendar.format_time_of_day(until)));
    let time = time.unwrap_or_default();
    match mode {
        Some(PauseMode::ReadOnly) => {
            format!("Memory is read only{time}: agents get memories, and nothing new is stored.")
        }
        _ => format!("Memory is paused{time}: agents get nothing, and nothing is stored."),
    }
}

fn render_pause_form(visit: &PageRequest, mode: &str, how: &str, label: &str) -> Markup {
    form(
        visit,
        "/pause",
        &html! {
            input type="hidden" name="mode" value=(mode);
            input type="hidden" name="how" value=(how);
            button class="link" data-command=(label) { (label) }
        },
    )
}

/// Renders the links of the main navigation.
fn render_places(place: &str) -> Markup {
    html! {
        @for (path, name, picture, _) in PLACES {
            a href=(path) data-place=(name.to_lowercase())
                aria-current=[(place == path).then_some("page")] { (icon(picture)) (name) }
        }
    }
}

/// Renders an icon, which is hidden from screen readers.
pub(crate) fn icon(name: &str) -> Markup {
    html! {
        svg class="i" aria-hidden="true" {
            use href=(format!("{}#{name}", assets::asset_path("icons.svg"))) {}
        }
    }
}

/// Renders the hidden field that ties a form to its sign-in.
pub(crate) fn render_form_token_field(visit: &PageRequest) -> Markup {
    html! { input type="hidden" name=(FORM_TOKEN) value=(visit.form_token); }
}

/// Renders a form that changes something, or nothing for a read-only sign-in.
pub(crate) fn form(visit: &PageRequest, action: &str, fields: &Markup) -> Markup {
    html! {
        @if !visit.read_only {
            form method="post" action=(action) { (render_form_token_field(visit)) (fields) }
        }
    }
}

/// Renders the reason why a read-only sign-in gets no button, on pages that exist for one.
pub(crate) fn render_read_only_notice(visit: &PageRequest) -> Markup {
    html! { @if visit.read_only { p class="notice" { (text::shorten_title(READ_ONLY, SENTENCE_CHARS)) } } }
}

/// Renders a message about a finished action below the page.
pub(crate) fn toast(label: &Markup) -> Markup {
    html! { div class="toast" role="status" { span { (label) } } }
}

/// Renders a section that opens at a click, or nothing if `count` is 0.
pub(crate) fn fold(name: &str, count: usize, body: &Markup) -> Markup {
    html! {
        @if count > 0 {
            details class="fold" {
                summary { (name) " " small { (count) } }
                (body)
            }
        }
    }
}

/// Renders a list of names with their numbers.
pub(crate) fn figures(rows: &[(&str, String)]) -> Markup {
    html! {
        dl class="figures" {
            @for (name, value) in rows { div { dt { (name) } dd { (value) } } }
        }
    }
}

/// Renders a table. A head that begins with `#` marks a column of numbers; one that begins with `!`
/// a column of actions, which say themselves what they do.
pub(crate) fn table(label: &str, heads: &[&str], rows: impl Iterator<Item = Markup>) -> Markup {
    html! {
        table class="wide panel" aria-label=(label) {
            thead { tr { @for head in heads {
                @let (number, acts) = (head.strip_prefix('#'), head.strip_prefix('!'));
                th scope="col" class=[number.map(|_| "number")] {
                    @if let Some(acts) = acts { span class="unseen-text" { (acts) } }
                    @else { (number.unwrap_or(head)) }
                }
            } } }
            tbody { @for row in rows { tr { (PreEscaped(label_cells(row, heads))) } } }
        }
    }
}

/// Adds to each cell of a row the name of its column, which narrow screens show next to it.
fn label_cells(row: Markup, heads: &[&str]) -> String {
    let row = row.into_string();
    let mut cells = row.split("<td");
    let mut labelled = cells.next().unwrap_or_default().to_owned();
    for (cell, head) in cells.zip(heads) {
        if head.starts_with('!') {
            labelled.extend(["<td", cell]);
            continue;
        }
        let head = head.strip_prefix('#').unwrap_or(head);
        labelled.extend(["<td data-label=\"", head, "\"", cell]);
    }
    labelled
}
