//! Taking back what was done in this session.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Redirect;
use maud::{Markup, html};

use crate::door::Visit;
use crate::page::{Answer, Page, Posted, Trouble};
use crate::shell::form;
use crate::strings as s;
use crate::text;
use crate::undo::{Act, Done};

/// The path of a room, with the number of what was just done.
pub(crate) fn done_at(path: &str, number: u64) -> Redirect {
    Redirect::to(&format!("{path}?done={number}"))
}

/// What was just done, with the way to take it back.
pub(crate) fn notice(page: &Page, visit: &Visit, number: Option<&str>) -> Markup {
    let (done, says) = match number {
        None => return html! {},
        Some("undone") => (None, s::DID_UNDO),
        Some("partly") => (None, s::DID_UNDO_PARTLY),
        Some("judged") => (None, s::JUDGED),
        Some("same") => (None, s::NOTHING_CHANGED),
        Some("linked") => (None, s::UNLINKED_SINCE),
        Some(number) => {
            let number = number.parse().unwrap_or_default();
            match page.door().undo(visit, |undo| undo.get(number)).flatten() {
                Some(done) => {
                    let says = says(&done.act);
                    (Some(done), says)
                }
                None => return html! {},
            }
        }
    };
    html! {
        div class="notice" role="status" {
            (says)
            @if let Some(Done { act: Act::Corrected { taken_out, .. }, .. }) = &done {
                @if !taken_out.is_empty() { " " (text::line(taken_out, 600)) }
            }
            @if let Some(done) = done { (take_back(visit, &done)) }
        }
    }
}

fn says(act: &Act) -> &'static str {
    match act {
        Act::Corrected { .. } => s::DID_CORRECT,
        Act::Settled { .. } => s::DID_SETTLE,
        Act::Published { .. } => s::DID_PUBLISH,
        Act::Tagged { .. } => s::DID_TAG,
        Act::Linked { .. } => s::DID_LINK,
        Act::Unlinked { .. } => s::DID_UNLINK,
        Act::Forgotten { .. } => s::DID_FORGET,
    }
}

/// The button that takes an act back.
pub(crate) fn take_back(visit: &Visit, done: &Done) -> Markup {
    form(
        visit,
        "/undo",
        &html! {
            input type="hidden" name="number" value=(done.number);
            button { (s::TAKE_BACK) }
        },
    )
}

pub(super) fn did(page: &Page, visit: &Visit, act: Act) -> Redirect {
    let path = format!("/records/{}", act.record());
    done_at(&path, noted(page, visit, act))
}

/// Notes an act of this session; answers its number.
pub(super) fn noted(page: &Page, visit: &Visit, act: Act) -> u64 {
    let now = page.memory().now();
    let number = page.door().undo(visit, |undo| undo.push(act, now));
    number.unwrap_or_default()
}

/// Everything that can be taken back, newest first.
pub(crate) fn done(page: &Page, visit: &Visit) -> Markup {
    let all = page
        .door()
        .undo(visit, |undo| undo.all())
        .unwrap_or_default();
    let calendar = page.memory().calendar();
    html! {
        @if !all.is_empty() {
            section {
                h2 { (s::DONE_HERE) }
                ul class="done" {
                    @for done in &all {
                        li {
                            span { (calendar.clock_of(done.at)) " " (says(&done.act)) " " }
                            @match &done.act {
                                Act::Forgotten { record, .. } => {
                                    a href=(format!("/forgotten/{}", done.number)) {
                                        (text::line(&record.text, 60))
                                    }
                                }
                                act => {
                                    a href=(format!("/records/{}", act.record())) { (act.record()) }
                                }
                            }
                            (take_back(visit, done))
                        }
                    }
                }
            }
        }
    }
}

pub(crate) async fn undo(State(page): State<Page>, posted: Posted) -> Answer<Redirect> {
    let number: u64 = posted.read("number")?;
    let visit = &posted.visit;
    let done = page.door().undo(visit, |undo| undo.get(number)).flatten();
    let done = done.ok_or_else(|| Trouble::invalid(s::UNDO_GONE))?;
    let (memory, user) = (page.memory(), &visit.user);
    let mut said = "undone";
    let record = match done.act {
        Act::Corrected { old, new, .. } | Act::Settled { old, new } => {
            memory.restore(user, new, &old).await?
        }
        Act::Published { record, global } => {
            memory.unpublish(user, global).await?;
            record
        }
        Act::Tagged { record, before } => {
            memory.tag(user, record, before).await?;
            record
        }
        Act::Linked { from, to, relation } => {
            memory.unlink(user, from, to, &relation).await?;
            from
        }
        Act::Unlinked { from, to, relation } => {
            memory.link(user, from, &to.to_string(), &relation).await?;
            from
        }
        Act::Forgotten { record, links, .. } => {
            let again = memory.keep_again(user, *record).await?;
            for link in links {
                let (from, to) = if link.outgoing {
                    (again, link.record)
                } else {
                    (link.record, again)
                };
                let linked = memory
                    .link(user, from, &to.to_string(), &link.relation)
                    .await;
                // The other end may be gone by now.
                if linked.is_err_and(|why| why.status != StatusCode::NOT_FOUND) {
                    said = "partly";
                }
            }
            again
        }
    };
    page.door().undo(visit, |undo| undo.remove(number));
    let path = format!("/records/{record}?done={said}");
    Ok(Redirect::to(&path))
}
