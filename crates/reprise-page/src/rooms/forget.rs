//! Forgetting: what goes, the act, the proof, and the erasure from the file.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Redirect;
use maud::{Markup, html};
use reprise_types::RecordId;

use super::{list, undo};
use crate::door::Visit;
use crate::page::{Answer, Named, Page, Posted, Trouble};
use crate::shell::{self, Room, form};
use crate::strings::{self as s, words};
use crate::text;
use crate::undo::{Act, Done};

pub(crate) async fn ask(
    State(page): State<Page>,
    visit: Visit,
    Named(id): Named<RecordId>,
) -> Answer<Markup> {
    let story = page.memory().story(&visit.user, &id.to_string()).await?;
    let direct = story
        .related
        .iter()
        .filter(|(one, _)| one.depth == 1)
        .count();
    let calendar = page.memory().calendar();
    let path = list::path(&story.record);
    let body = html! {
        article class="whole" {
            (list::head(&story.record, &calendar))
            div class="said" { (text::whole(&story.record.text)) }
        }
        section {
            h2 { (s::FORGET_GOES) }
            p { (s::goes(story.earlier.len() + 1, direct)) }
            p { (s::FORGET_SAYS) }
            (form(&visit, &format!("{path}/forget"), &html! {
                label { span { (s::REASON) } input name="reason" value=(s::REASON_DEFAULT); }
                div class="actions" {
                    button class="danger" { (s::FORGET_NOW) }
                    a href=(path) { (s::KEEP) }
                }
            }))
        }
    };
    Ok(shell::room(&visit, None, s::FORGET_TITLE, &body))
}

pub(crate) async fn forget(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let (memory, visit) = (page.memory(), &posted.visit);
    let story = memory.story(&visit.user, &id.to_string()).await?;
    let reason = match posted.get("reason").trim() {
        "" => s::REASON_DEFAULT,
        reason => reason,
    };
    let links = memory.links(&visit.user, story.record.id).await?;
    let gone = memory.forget(&visit.user, story.record.id, reason).await?;
    let act = Act::Forgotten {
        record: Box::new(story.record),
        gone,
        links,
    };
    let number = undo::noted(&page, visit, act);
    Ok(Redirect::to(&format!("/forgotten/{number}")))
}

/// The proof: memory is asked again for each id.
pub(crate) async fn show(
    State(page): State<Page>,
    visit: Visit,
    Named(number): Named<u64>,
) -> Answer<Markup> {
    let done = page.door().undo(&visit, |undo| undo.get(number)).flatten();
    let Some(Done {
        act: Act::Forgotten { gone, .. },
        ..
    }) = &done
    else {
        return Err(Trouble::new(StatusCode::GONE, s::UNDO_GONE));
    };
    let mut still = false;
    for id in gone {
        still |= page
            .memory()
            .story(&visit.user, &id.to_string())
            .await
            .is_ok();
    }
    let body = html! {
        div class="notice" role="status" {
            (s::DID_FORGET)
            @if let Some(done) = &done { (undo::take_back(&visit, done)) }
        }
        section {
            h2 { (s::PROOF) }
            p { (if still { s::PROOF_STILL } else { s::PROOF_ASKED }) }
            ul { @for id in gone { li { code { (id) } } } }
        }
        section {
            h2 { (s::ERASE) }
            p { (s::ERASE_SAYS) }
            (form(&visit, "/erase", &html! { button class="danger" { (s::ERASE) } }))
        }
    };
    Ok(shell::room(&visit, None, s::FORGOTTEN_TITLE, &body))
}

/// Compacts the file; from then on nothing forgotten can be taken back.
pub(crate) async fn erase(State(page): State<Page>, posted: Posted) -> Answer<Markup> {
    let visit = &posted.visit;
    let erased = page.memory().erase(&visit.user).await?;
    page.door().undo(visit, crate::undo::Undo::drop_forgotten);
    let (before, after) = (
        words::size(erased.bytes_before),
        words::size(erased.bytes_after),
    );
    let body = html! {
        p role="status" { (s::erased(&before, &after, erased.forgotten as usize)) }
        p class="faint" { (s::VERIFY) }
    };
    Ok(shell::room(visit, Some(Room::Care), s::ERASED_TITLE, &body))
}
