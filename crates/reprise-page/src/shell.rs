//! What stands around every room: head, navigation, forms, notices.

use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::door::Visit;
use crate::strings as s;

/// The field of every form that says which session it belongs to.
pub(crate) const FORM_TOKEN: &str = "form_token";

/// Where a session is ended.
pub(crate) const SIGN_OUT: &str = "/sign-out";

/// The rooms in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Now,
    Timeline,
    Search,
    Prompts,
    Knowledge,
    Learning,
    Workspace,
    Global,
    Care,
}

const ROOMS: [(Room, &str, &str); 9] = [
    (Room::Now, "/", s::NOW),
    (Room::Timeline, "/timeline", s::TIMELINE),
    (Room::Search, "/search", s::SEARCH),
    (Room::Prompts, "/prompts", s::PROMPTS),
    (Room::Knowledge, "/knowledge", s::KNOWLEDGE),
    (Room::Learning, "/learning", s::LEARNING),
    (Room::Workspace, "/workspace", s::WORKSPACE),
    (Room::Global, "/global", s::GLOBAL),
    (Room::Care, "/care", s::CARE),
];

/// A room with everything around it. `room` is the one that the navigation marks.
pub(crate) fn room(visit: &Visit, room: Option<Room>, title: &str, body: &Markup) -> Markup {
    document(
        title,
        &html! {
            header {
                a class="brand" href="/" {
                    img src=(assets::path("icon.svg")) alt="" width="24" height="24"; "Reprise"
                }
                nav aria-label=(s::ROOMS) {
                    @for (one, path, name) in ROOMS {
                        a href=(path) aria-current=[(room == Some(one)).then_some("page")] {
                            (name)
                        }
                    }
                }
                div class="who" {
                    span class="user" title=(s::WHOSE) { (visit.user) }
                    @if visit.read_only { span class="badge" { (s::READ_ONLY_BADGE) } }
                    (form(visit, SIGN_OUT, &html! {
                        button class="quiet" { (s::SIGN_OUT) }
                    }))
                }
            }
            main id="main" tabindex="-1" { h1 { (title) } (body) }
            footer { (s::FOOTER) }
        },
    )
}

/// A page of its own, for whoever is not signed in or went astray.
pub(crate) fn alone(title: &str, sentence: &str) -> Markup {
    document(
        title,
        &html! {
            main id="main" class="alone" tabindex="-1" {
                h1 { (title) }
                p { (sentence) }
                p { a href="/" { (s::TO_NOW) } }
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
                a class="skip" href="#main" { (s::SKIP) }
                (body)
                p id="said" class="unseen-text" role="status" data-copy-says=(s::COPY)
                    data-copied=(s::COPIED) data-no-answer=(s::NO_ANSWER) {}
            }
        }
    }
}

/// A form that changes something; nobody who may only read gets one, but for the way out.
pub(crate) fn form(visit: &Visit, action: &str, fields: &Markup) -> Markup {
    html! {
        @if !visit.read_only || action == SIGN_OUT {
            form method="post" action=(action) {
                input type="hidden" name=(FORM_TOKEN) value=(visit.form_token);
                (fields)
            }
        }
    }
}
