//! What stands around every room: head, places, menus, forms, toasts.

use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::page::{READ_ONLY, Visit};

/// The field of every form that says which session it belongs to.
pub(crate) const FORM_TOKEN: &str = "form_token";

/// Where a session is ended.
pub(crate) const SIGN_OUT: &str = "/sign-out";

/// Where one goes on to another user's memory.
pub(crate) const SWITCH: &str = "/switch";

/// The places that begin with a question in place of a title.
const HOME: &str = "/";
const ASK: &str = "/search";

type Tabs = &'static [(&'static str, &'static str)];

/// The five places: where each begins, its name, and its rooms.
const PLACES: [(&str, &str, Tabs); 5] = [
    (HOME, "Home", &[]),
    (
        "/timeline",
        "Memory",
        &[
            ("/timeline", "Timeline"),
            ("/knowledge", "Knowledge"),
            ("/projects", "Projects"),
            ("/map", "Map"),
        ],
    ),
    (ASK, "Ask", &[]),
    (
        "/prompts",
        "Agents",
        &[
            ("/prompts", "Prompts"),
            ("/activity", "Lately"),
            ("/learning", "Learning"),
        ],
    ),
    (
        "/workspace",
        "Shared",
        &[("/workspace", "Workspace"), ("/global", "Published")],
    ),
];

/// What keeps memory in order.
const ORDER: [(&str, &str); 5] = [
    ("/knowledge/review", "Contradictions and duplicates"),
    ("/knowledge/tidy", "Tidy up"),
    ("/care/audit", "How memory stands"),
    ("/care", "File, copies, tokens, settings"),
    ("/done", "What you changed"),
];

/// A room with everything around it: by the address of its tab, and its title.
pub(crate) fn room(visit: &Visit, tab: &str, title: &str, body: &Markup) -> Markup {
    room_with(visit, tab, title, &html! {}, body)
}

/// The same with `bar` in the line of its title.
pub(crate) fn room_with(
    visit: &Visit,
    tab: &str,
    title: &str,
    bar: &Markup,
    body: &Markup,
) -> Markup {
    // What keeps memory in order is behind the menu, and in no place.
    let place = PLACES
        .into_iter()
        .find(|(path, _, tabs)| *path == tab || tabs.iter().any(|(path, _)| *path == tab));
    let (place, _, tabs) = place.unwrap_or_default();
    let is_named = ![HOME, ASK].contains(&place);
    document(
        title,
        &html! {
            (head(visit, place))
            main id="main" tabindex="-1" {
                @if is_named {
                    div class="title" {
                        h1 { (title) }
                        (bar)
                        @if !tabs.is_empty() {
                            nav class="tabs" aria-label="Rooms" {
                                @for (path, name) in tabs {
                                    a href=(path)
                                        aria-current=[(*path == tab).then_some("page")] {
                                        (name)
                                    }
                                }
                            }
                        }
                    }
                } @else { h1 class="unseen-text" { (title) } }
                (body)
            }
            footer class="foot" {
                "Served by the daemon on this machine. Only what you publish leaves it, and, \
                 where a service of published knowledge is set, the questions to it without \
                 their secrets."
            }
        },
    )
}

fn head(visit: &Visit, place: &str) -> Markup {
    html! {
        header class="top" data-read-only[visit.read_only] {
            a class="brand" href="/" {
                img src=(assets::path("icon.svg")) alt="" width="22" height="22"; "Reprise"
            }
            nav class="places" aria-label="Places" { (places(place)) }
            div class="right" {
                button type="button" class="quiet palette-button" data-palette hidden {
                    kbd { "Ctrl K" } span class="unseen-text" { "Everything the page can do" }
                }
                details class="menu" name="menu" {
                    summary { (visit.user) (icon("down")) }
                    div class="pop" {
                        p class="says" {
                            "The memory of " b { (visit.user) }
                            @if visit.read_only { ", to look only" }
                        }
                        @if visit.operator { a href="/users" { "Go to another user's memory" } }
                        @else {
                            p class="says" {
                                "`reprise open --all-users` opens a page that goes from user to \
                                 user."
                            }
                        }
                        hr;
                        form method="post" action=(SIGN_OUT) {
                            (token(visit)) button class="link" { "Sign out" }
                        }
                    }
                }
                details class="menu" name="menu" {
                    summary aria-label="Menu" { (icon("menu")) }
                    nav class="pop" aria-label="Menu" {
                        div class="only-narrow" { (places(place)) hr; }
                        @for (path, name) in ORDER { a href=(path) { (name) } }
                    }
                }
            }
        }
    }
}

fn places(place: &str) -> Markup {
    html! {
        @for (path, name, _) in PLACES {
            a href=(path) aria-current=[(place == path).then_some("page")] { (name) }
        }
    }
}

/// A page of its own, for whoever is not signed in or went astray.
pub(crate) fn alone(title: &str, sentence: &str) -> Markup {
    document(
        title,
        &html! {
            main id="main" class="alone" tabindex="-1" {
                h1 { (title) }
                p { (sentence) }
                p { a class="button" href="/" { "Home" } }
            }
        },
    )
}

fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " - Reprise" }
                link rel="stylesheet" href=(assets::path("page.css"));
                link rel="icon" type="image/svg+xml" href=(assets::path("icon.svg"));
                script type="module" src=(assets::path("page.js")) {}
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                (body)
                p id="said" class="unseen-text" role="status" {}
            }
        }
    }
}

/// A picture of the sheet of icons, which says nothing to whoever cannot see it.
pub(crate) fn icon(name: &str) -> Markup {
    html! {
        svg class="i" aria-hidden="true" {
            use href=(format!("{}#{name}", assets::path("icons.svg"))) {}
        }
    }
}

/// What every form of a session carries.
pub(crate) fn token(visit: &Visit) -> Markup {
    html! { input type="hidden" name=(FORM_TOKEN) value=(visit.form_token); }
}

/// A form that changes something; nobody who may only read gets one.
pub(crate) fn form(visit: &Visit, action: &str, fields: &Markup) -> Markup {
    html! {
        @if !visit.read_only {
            form method="post" action=(action) { (token(visit)) (fields) }
        }
    }
}

/// Why whoever may only read gets no button where a room is there for it.
pub(crate) fn only_looks(visit: &Visit) -> Markup {
    html! { @if visit.read_only { p class="notice" { (READ_ONLY) } } }
}

/// Something that was done, said below the page, with the way to take it back.
pub(crate) fn toast(says: &Markup) -> Markup {
    html! { div class="toast" role="status" { span { (says) } } }
}

/// What is folded until somebody wants it; nothing at all where there is nothing in it.
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

/// Names with their numbers.
pub(crate) fn figures(rows: &[(&str, String)]) -> Markup {
    html! { dl class="figures" { @for (name, value) in rows { dt { (name) } dd { (value) } } } }
}

/// A table with its heads; one that begins with `#` stands over numbers.
pub(crate) fn table(says: &str, heads: &[&str], rows: impl Iterator<Item = Markup>) -> Markup {
    html! {
        table class="wide panel" aria-label=(says) {
            thead { tr { @for head in heads {
                @let number = head.strip_prefix('#');
                th scope="col" class=[number.map(|_| "number")] { (number.unwrap_or(head)) }
            } } }
            tbody { @for row in rows { tr { (row) } } }
        }
    }
}
