//! What of this memory others can find, what left it and when, and what others published.

use axum::extract::{Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use reprise_types::{Calendar, RecordId};

use super::timeline::Pairs;
use super::undo;
use crate::door::Visit;
use crate::global::{Receipt, Thing};
use crate::page::{Answer, Named, Page, Posted};
use crate::shell::{self, Room, form};
use crate::strings::{self as s, words};
use crate::{chart, text};

pub(crate) async fn show(
    State(page): State<Page>,
    visit: Visit,
    Query(pairs): Query<Pairs>,
) -> Answer<Markup> {
    let (memory, user) = (page.memory(), &visit.user);
    let published = memory.published(user).await?;
    let receipts = memory.receipts(user).await?;
    let calendar = memory.calendar();
    let body = html! {
        (undo::notice(&page, &visit, pairs.get("done")))
        @if let Some(versions) = pairs.read::<u32>("taken")? {
            div class="notice" role="status" {
                (s::taken_back(versions, pairs.get("verified") == Some("true")))
            }
        }
        section {
            h2 { (s::PUBLISHED) }
            p class="faint" { (s::PUBLISHED_SAYS) }
            @if published.is_empty() { p { (s::NOTHING_PUBLISHED) } }
            @for thing in &published { (row(&visit, thing, &calendar)) }
        }
        section {
            h2 { (s::RECEIPTS) }
            p class="faint" { (s::RECEIPTS_SAY) }
            @if receipts.is_empty() { p class="faint" { (s::NO_RECEIPTS) } }
            @else { (log(&receipts)) }
        }
        section {
            h2 { (s::OTHERS) }
            form class="ask" role="search" action="/search" {
                input type="hidden" name="scope" value="global";
                label class="question" {
                    span { (s::ASK_OTHERS) } input type="search" name="q" autocomplete="off";
                }
                button { (s::ASK) }
            }
        }
    };
    Ok(shell::room(&visit, Some(Room::Global), s::GLOBAL, &body))
}

fn row(visit: &Visit, thing: &Thing, calendar: &Calendar) -> Markup {
    html! {
        article class="record" aria-label=(thing.title) {
            p class="head" { (facts(thing, calendar)) }
            p { a class="title" href=(format!("/global/{}", thing.id)) {
                (text::line(&thing.title, 160))
            } }
            p class="score" {
                (chart::meter(thing.quality)) span { (format!("{:.2}", thing.quality)) }
            }
            p class="reason" { (s::used_by(thing.uses)) }
            (form(visit, "/global/unpublish", &html! {
                input type="hidden" name="id" value=(thing.id);
                button class="quiet" aria-label=(s::unpublish(&thing.title)) { (s::UNPUBLISH) }
            }))
        }
    }
}

fn facts(thing: &Thing, calendar: &Calendar) -> Markup {
    html! {
        time datetime=(thing.at.to_rfc3339()) { (words::at(thing.at, calendar)) }
        span { (s::version(&thing.version)) }
        span class="badge" { (thing.policy) }
        span { (words::size(thing.bytes as u64)) }
    }
}

fn log(receipts: &[Receipt]) -> Markup {
    html! {
        div class="scroll trail" tabindex="0" role="group" aria-label=(s::RECEIPTS) {
            table {
                thead { tr {
                    @for name in [s::WHAT, s::RECORD, s::VERSION, s::FOR_WHOM] {
                        th scope="col" { (name) }
                    }
                    th scope="col" class="number" { (s::SIZE) } th scope="col" { (s::RECEIPT) }
                } }
                tbody { @for one in receipts {
                    tr {
                        th scope="row" { (one.act) }
                        td { @match one.of {
                            Some(of) => { a href=(format!("/records/{of}")) { code { (of) } } }
                            None => { code { (one.global) } }
                        } }
                        td { (one.version.as_deref().unwrap_or_default()) }
                        td { (one.policy.as_deref().unwrap_or_default()) }
                        td class="number" {
                            @if let Some(bytes) = one.bytes { (words::size(bytes as u64)) }
                        }
                        td { a href=(format!("/records/{}", one.id)) { code { (one.id) } } }
                    }
                } }
            }
        }
    }
}

/// A published thing, whole.
pub(crate) async fn thing(
    State(page): State<Page>,
    visit: Visit,
    Named(id): Named<RecordId>,
) -> Answer<Markup> {
    let thing = page.memory().thing(&visit.user, id).await?;
    let calendar = page.memory().calendar();
    let body = html! {
        article class="whole" {
            p class="head" {
                span { (s::published_by(&thing.author)) } (facts(&thing, &calendar))
                @if !thing.licence.is_empty() { span { (text::line(&thing.licence, 60)) } }
            }
            h2 { (text::line(&thing.title, 200)) }
            @if !thing.summary.is_empty() { p { (text::whole(&thing.summary)) } }
            div class="said" { (text::whole(&thing.content)) }
        }
        section {
            h2 { (s::QUALITY) }
            div class="went" { (chart::meter(thing.quality)) }
            p { (format!("{:.2} ", thing.quality)) (s::used_by(thing.uses)) }
        }
        @if thing.author == visit.user.as_str() {
            (form(&visit, "/global/unpublish", &html! {
                input type="hidden" name="id" value=(thing.id);
                button class="danger" { (s::UNPUBLISH) }
            }))
        }
    };
    Ok(shell::room(&visit, Some(Room::Global), s::THING, &body))
}

pub(crate) async fn unpublish(State(page): State<Page>, posted: Posted) -> Answer<Redirect> {
    let (id, user) = (posted.read("id")?, &posted.visit.user);
    let done = page.memory().unpublish(user, id).await?;
    let (versions, verified) = (done.versions, done.is_verified);
    let path = format!("/global?taken={versions}&verified={verified}");
    Ok(Redirect::to(&path))
}
