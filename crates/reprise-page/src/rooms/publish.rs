//! Publishing a record: what would leave, byte by byte, and the yes to just that.

use axum::extract::{Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use reprise_types::RecordId;

use super::timeline::{self, Pairs};
use super::{list, undo};
use crate::door::Visit;
use crate::global::{Leaving, Terms};
use crate::page::{Answer, Named, Page, Posted};
use crate::shell::{self, form};
use crate::strings::{self as s, words};
use crate::text;
use crate::undo::Act;

const POLICIES: [&str; 3] = ["public", "org", "paid"];

pub(crate) async fn ask(
    State(page): State<Page>,
    visit: Visit,
    Named(id): Named<RecordId>,
    Query(pairs): Query<Pairs>,
) -> Answer<Markup> {
    let (memory, user) = (page.memory(), &visit.user);
    let record = memory.story(user, &id.to_string()).await?.record;
    let terms = Terms {
        title: pairs.text("title").to_owned(),
        policy: pairs.get("policy").unwrap_or(POLICIES[0]).to_owned(),
        licence: pairs.text("licence").to_owned(),
    };
    // What may not leave says so here, in place of what would.
    let leaving = memory.leaving(user, record.id, &terms).await;
    let path = list::path(&record);
    let body = html! {
        p { (s::PUBLISH_SAYS) }
        form class="filters" action=(format!("{path}/publish")) {
            (timeline::input(s::NEW_TITLE, "title", "text", &pairs))
            label {
                span { (s::FOR_WHOM) }
                select name="policy" {
                    @for policy in POLICIES {
                        option value=(policy) selected[terms.policy == policy] {
                            (s::policy(policy))
                        }
                    }
                }
            }
            (timeline::input(s::LICENCE, "licence", "text", &pairs))
            div class="actions" { button { (s::SHOW_LEAVING) } }
        }
        section {
            h2 { (s::LEAVES) }
            @match &leaving {
                Ok(leaving) => { (preview(&visit, &path, &terms, leaving)) }
                Err(refusal) => {
                    p class="notice warn" role="status" { (text::line(&refusal.sentence, 600)) }
                    p { a href=(path) { (s::KEEP) } }
                }
            }
        }
    };
    Ok(shell::room(&visit, None, s::PUBLISH_TITLE, &body))
}

fn preview(visit: &Visit, path: &str, terms: &Terms, leaving: &Leaving) -> Markup {
    html! {
        p {
            (s::leaves(&words::size(leaving.bytes as u64), leaving.redacted))
            @if let Some(version) = &leaving.version { " " (s::next_of(version)) }
        }
        div class="scroll prompt" tabindex="0" role="group" aria-label=(s::LEAVES) {
            (text::whole(&leaving.exact))
        }
        p class="faint" { "SHA-256 " code { (leaving.sha256) } }
        (form(visit, &format!("{path}/publish"), &html! {
            input type="hidden" name="title" value=(terms.title);
            input type="hidden" name="policy" value=(terms.policy);
            input type="hidden" name="licence" value=(terms.licence);
            input type="hidden" name="agreed" value=(leaving.sha256);
            div class="actions" {
                button class="danger" { (s::PUBLISH_NOW) }
                a href=(path) { (s::KEEP_PRIVATE) }
            }
        }))
    }
}

pub(crate) async fn publish(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let terms = Terms {
        title: posted.get("title").to_owned(),
        policy: posted.get("policy").to_owned(),
        licence: posted.get("licence").to_owned(),
    };
    let (user, agreed) = (&posted.visit.user, posted.get("agreed"));
    let memory = page.memory();
    let global = memory.publish(user, id, &terms, agreed).await?;
    let act = Act::Published { record: id, global };
    Ok(undo::did(&page, &posted.visit, act))
}
