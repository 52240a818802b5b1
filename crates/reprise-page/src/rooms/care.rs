//! The file and its copies, who may come in, and what is set.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use reprise_types::Calendar;

use super::now::number;
use super::timeline::Pairs;
use crate::care::{Backup, Neighbour, Setting, Token};
use crate::door::Visit;
use crate::memory::Overview;
use crate::page::{Answer, Page, Posted};
use crate::shell::{self, Room, form};
use crate::strings::{self as s, words};
use crate::text;
use crate::together::both;

pub(crate) async fn show(
    State(page): State<Page>,
    visit: Visit,
    axum::extract::Query(pairs): axum::extract::Query<Pairs>,
) -> Answer<Markup> {
    let memory = page.memory();
    let user = &visit.user;
    let of_memory = both(memory.overview(user), memory.backups(user));
    let of_machine = both(memory.tokens(user), memory.users());
    let ((overview, backups), (tokens, users)) = both(of_memory, of_machine).await;
    let (overview, backups, tokens, users) = (overview?, backups?, tokens?, users?);
    let calendar = memory.calendar();
    let body = html! {
        @if pairs.get("done") == Some("revoked") {
            div class="notice" role="status" { (s::DID_REVOKE) }
        }
        @if let Some(overview) = &overview {
            p { a href="/care/audit" { (s::TO_AUDIT) } }
            (file(&visit, overview))
            (copies(&backups, &calendar))
        }
        (admitted(&visit, &tokens, &calendar))
        (neighbours(&users))
        (settings(&memory.settings()))
        section {
            h2 { (s::CARE_COMMANDS) }
            dl class="commands" {
                @for (command, says) in s::CARE_LIST { dt { code { (command) } } dd { (says) } }
            }
        }
    };
    Ok(shell::room(&visit, Some(Room::Care), s::CARE, &body))
}

fn file(visit: &Visit, overview: &Overview) -> Markup {
    html! {
        section {
            h2 { (s::SPACE) }
            dl class="numbers" {
                (number(s::FILE, &words::size(overview.file_bytes), None))
                (number(s::RECLAIMABLE, &words::size(overview.reclaimable_bytes), None))
                (number(s::RECORDS, &words::count(overview.live.into()), None))
                (number(s::FORGOTTEN_TITLE, &words::count(overview.forgotten.into()), None))
                (number(s::VERSIONS, &words::count(overview.superseded.into()), None))
            }
            (form(visit, "/erase", &html! { button { (s::COMPACT) } }))
        }
    }
}

fn copies(backups: &[Backup], calendar: &Calendar) -> Markup {
    html! {
        section {
            h2 { (s::BACKUPS) }
            p { (s::BACKUPS_SAY) }
            p { a href="/care/backup" download { (s::TAKE_BACKUP) } }
            @if backups.is_empty() { p class="faint" { (s::NO_BACKUPS) } }
            @else {
                div class="scroll" tabindex="0" role="group" aria-label=(s::BACKUPS) {
                    table {
                        thead { tr {
                            th scope="col" { (s::WHEN) }
                            th scope="col" class="number" { (s::SIZE) }
                            th scope="col" { (s::FILE) }
                        } }
                        tbody { @for one in backups {
                            tr {
                                @match one.there {
                                    Some((at, bytes)) => {
                                        td { (words::at(at, calendar)) }
                                        td class="number" { (words::size(bytes)) }
                                    }
                                    None => { td class="faint" { (s::GONE) } td {} }
                                }
                                th scope="row" { code { (text::line(&one.file, 300)) } }
                            }
                        } }
                    }
                }
            }
        }
    }
}

fn admitted(visit: &Visit, tokens: &[Token], calendar: &Calendar) -> Markup {
    html! {
        section {
            h2 { (s::TOKENS) }
            p class="faint" { (s::TOKENS_SAY) }
            @if tokens.is_empty() { p class="faint" { (s::NO_TOKENS) } }
            ul class="review" {
                @for token in tokens {
                    li {
                        code { (text::line(&token.name, 64)) }
                        span class="faint" { (words::at(token.made, calendar)) }
                        @if token.is_for_all { span { (s::FOR_ALL) } }
                        @else {
                            (form(visit, "/care/tokens/revoke", &html! {
                                input type="hidden" name="name" value=(token.name);
                                button class="quiet" aria-label=(s::revoke(&token.name)) {
                                    (s::REVOKE)
                                }
                            }))
                        }
                    }
                }
            }
            (form(visit, "/care/tokens", &html! {
                label class="short" {
                    span { (s::TOKEN_NAME) }
                    input name="name" required maxlength="64" autocomplete="off"
                        spellcheck="false";
                }
                button { (s::ADD_TOKEN) }
            }))
        }
    }
}

fn neighbours(users: &[Neighbour]) -> Markup {
    html! {
        section {
            h2 { (s::USERS) }
            p class="faint" { (s::USERS_SAY) }
            dl class="facts" {
                @for one in users {
                    dt { (text::line(&one.user, 80)) } dd { (words::size(one.bytes)) }
                }
            }
        }
    }
}

fn settings(all: &[Setting]) -> Markup {
    html! {
        section {
            h2 { (s::SETTINGS) }
            div class="scroll" tabindex="0" role="group" aria-label=(s::SETTINGS) {
                table {
                    thead { tr {
                        th scope="col" { (s::SETTING) } th scope="col" { (s::VALUE) }
                        th scope="col" { (s::COMES_FROM) }
                    } }
                    tbody { @for one in all {
                        tr {
                            th scope="row" { (one.name) }
                            td { (text::line(&one.value, 300)) }
                            td class="faint" { (one.from) }
                        }
                    } }
                }
            }
        }
    }
}

/// The file as it is now, to be kept where its owner wants it.
pub(crate) async fn backup(State(page): State<Page>, visit: Visit) -> Answer<Response> {
    let memory = page.memory();
    let bytes = memory.backup(&visit.user).await?;
    let day = memory.calendar().day_of(memory.now());
    let name = format!("attachment; filename=\"reprise-{}-{day}.rvf\"", visit.user);
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, name),
    ];
    Ok((headers, Body::from_stream(bytes)).into_response())
}

/// The token is shown in the answer to its form, and nowhere else.
pub(crate) async fn add_token(State(page): State<Page>, posted: Posted) -> Answer<Markup> {
    let (visit, name) = (&posted.visit, posted.get("name").trim());
    let token = page.memory().add_token(&visit.user, name).await?;
    let body = html! {
        p role="status" { (s::TOKEN_ONCE) }
        div class="scroll" tabindex="0" role="group" aria-label=(s::TOKENS) {
            pre data-copy { (token) }
        }
        p { a href="/care" { (s::BACK_TO_CARE) } }
    };
    Ok(shell::room(visit, Some(Room::Care), s::NEW_TOKEN, &body))
}

pub(crate) async fn revoke_token(State(page): State<Page>, posted: Posted) -> Answer<Redirect> {
    let user = &posted.visit.user;
    page.memory().revoke_token(user, posted.get("name")).await?;
    Ok(Redirect::to("/care?done=revoked"))
}
