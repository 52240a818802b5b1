//! How long a record stays and who can see it, and the form that changes both.

use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use reprise_types::{MemoryRecord, RecordId, WayOut, Withheld};

use super::undo;
use crate::door::Visit;
use crate::global::Abroad;
use crate::memory::{Seen, Standing};
use crate::page::{Answer, Named, Page, Posted, Trouble};
use crate::shell::form;
use crate::strings as s;
use crate::undo::Act;

const CHOICES: [(Seen, &str, &str); 3] = [
    (Seen::Owner, "owner", s::SEEN_OWNER),
    (Seen::Private, "private", s::SEEN_PRIVATE),
    (Seen::Workspace, "workspace", s::SEEN_WORKSPACE),
];

/// What a record's standing is called, pinned or not.
pub(super) fn says(standing: Standing) -> (&'static str, &'static str) {
    let choice = CHOICES.iter().find(|choice| choice.0 == standing.seen);
    let seen = choice.map_or("", |choice| choice.2);
    let stays = if standing.is_pinned {
        s::IS_PINNED
    } else {
        s::IS_NOT_PINNED
    };
    (seen, stays)
}

pub(super) fn section(
    visit: &Visit,
    record: &MemoryRecord,
    abroad: Option<&Abroad>,
    path: &str,
) -> Markup {
    let standing = Standing::of(record);
    let (seen, stays) = says(standing);
    let seen = match abroad {
        Some(_) if standing.seen == Seen::Owner => s::SEEN_PUBLISHED,
        _ => seen,
    };
    let may_leave = record.may_leave(WayOut::Publication);
    let is_sensitive = may_leave == Err(Withheld::Sensitive);
    html! {
        section {
            h2 { (s::WHO_SEES) }
            p { (if is_sensitive { s::SEEN_SENSITIVE } else { seen }) }
            @if let Some(Abroad { id, version, is_former }) = abroad {
                p { a href=(format!("/global/{id}")) { (s::published_as(version)) } }
                @if *is_former && may_leave.is_ok() { p { (s::PUBLISHED_BEFORE) } }
            }
            p { (stays) }
            @if !visit.read_only && !is_sensitive {
                p { a href=(format!("{path}/publish")) { (s::PUBLISH) } }
            }
            @if !visit.read_only {
                details class="panel" {
                    summary { (s::CHANGE_STANDING) }
                    (form(visit, &format!("{path}/standing"), &html! {
                        fieldset {
                            legend { (s::WHO_SEES) }
                            @for (one, word, says) in CHOICES {
                                label class="choice" {
                                    input type="radio" name="seen" value=(word)
                                        checked[one == standing.seen];
                                    span { (says) }
                                }
                            }
                        }
                        label class="choice" {
                            input type="checkbox" name="pinned" value="yes"
                                checked[standing.is_pinned];
                            span { (s::PIN) }
                        }
                        button { (s::SAVE_STANDING) }
                    }))
                }
            }
        }
    }
}

pub(crate) async fn stand(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let (memory, user) = (page.memory(), &posted.visit.user);
    let old = memory.story(user, &id.to_string()).await?.record;
    let chosen = CHOICES.iter().find(|choice| choice.1 == posted.get("seen"));
    let chosen = chosen.ok_or_else(|| Trouble::invalid(s::bad_field("seen")))?;
    let standing = Standing {
        is_pinned: posted.get("pinned") == "yes",
        seen: chosen.0,
    };
    if standing == Standing::of(&old) {
        return Ok(Redirect::to(&format!("/records/{id}?done=same")));
    }
    let new = memory.stand(user, old.id, standing).await?;
    let old = Box::new(old);
    Ok(undo::did(&page, &posted.visit, Act::Settled { old, new }))
}
