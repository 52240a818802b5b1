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

/// What is said, and what is not.
fn terms<'a>(given: impl Fn(&str) -> Option<&'a str>) -> Terms {
    let said = |name: &str| given(name).map(str::to_owned);
    Terms {
        title: said("title"),
        policy: said("policy"),
        licence: said("licence"),
    }
}

pub(crate) async fn ask(
    State(page): State<Page>,
    visit: Visit,
    Named(id): Named<RecordId>,
    Query(pairs): Query<Pairs>,
) -> Answer<Markup> {
    let (memory, user) = (page.memory(), &visit.user);
    let record = memory.story(user, &id.to_string()).await?.record;
    let terms = terms(|name| pairs.given(name));
    // What may not leave says so here, in place of what would.
    let leaving = memory.leaving(user, record.id, &terms).await;
    let path = list::path(&record);
    let given = || {
        Some((
            pairs.given("title")?,
            pairs.text("policy"),
            pairs.text("licence"),
        ))
    };
    // Where neither says what stands, empty fields would take it away.
    let fields = match &leaving {
        Ok(leaving) => Some((&*leaving.title, &*leaving.policy, &*leaving.licence)),
        Err(_) => given(),
    };
    let body = html! {
        p { (s::PUBLISH_SAYS) }
        @if let Some((title, policy, licence)) = fields {
            form class="filters" action=(format!("{path}/publish")) {
                (timeline::field(s::NEW_TITLE, "title", "text", title))
                label {
                    span { (s::FOR_WHOM) }
                    select name="policy" {
                        @for one in POLICIES {
                            option value=(one) selected[policy == one] { (s::policy(one)) }
                        }
                    }
                }
                (timeline::field(s::LICENCE, "licence", "text", licence))
                div class="actions" { button { (s::SHOW_LEAVING) } }
            }
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
            @for (name, said) in [
                ("title", &terms.title), ("policy", &terms.policy), ("licence", &terms.licence),
            ] {
                @if let Some(said) = said { input type="hidden" name=(name) value=(said); }
            }
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
    let terms = terms(|name| posted.given(name));
    let (user, agreed) = (&posted.visit.user, posted.get("agreed"));
    let memory = page.memory();
    let global = memory.publish(user, id, &terms, agreed).await?;
    let act = Act::Published { record: id, global };
    Ok(undo::did(&page, &posted.visit, act))
}
