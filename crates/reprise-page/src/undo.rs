//! Taking back what was done in this session: the toast that offers it, the list of all of it, and
//! the way back of each act.

use reprise_operations::Lesson;
use reprise_operations::operations::{forgetting, lessons, links, records, shared};

use crate::acts::{Act, Done};
use crate::prelude::*;

/// What a redirect told was just done, with the way to take it back.
pub(crate) fn told(visit: &Visit, number: Option<&str>) -> Markup {
    let says = match number {
        None => return html! {},
        Some("undone") => "Undone.",
        Some("partly") => "Undone, but for a link that could not be made again.",
        Some("judged") => "Noted: memory learns from it.",
        Some("withdrawn") => "Taken back: nothing is learned from that run any more.",
        Some("same") => "Nothing was changed.",
        Some("linked") => "These two were linked already.",
        Some("tidied") => "Tidied up; the diary below takes it back.",
        Some("answered") => "Answered.",
        Some("revoked") => "The token opens nothing any more.",
        Some(number) => {
            let number = number.parse().unwrap_or_default();
            let done = visit.undo(|undo| undo.get(number)).flatten();
            return html! { @if let Some(done) = done { (said(visit, &done)) } };
        }
    };
    toast(&html! { (says) })
}

fn said(visit: &Visit, done: &Done) -> Markup {
    toast(&html! {
        (done.act.says())
        @if let Act::Corrected { taken_out, .. } = &done.act {
            @if !taken_out.is_empty() { " " (text::line(taken_out, 600)) }
        }
        " " (take_back(visit, done))
    })
}

/// The button that takes an act back.
pub(crate) fn take_back(visit: &Visit, done: &Done) -> Markup {
    form(
        visit,
        "/undo",
        &html! {
            input type="hidden" name="number" value=(done.number);
            button data-command="Undo" { "Undo" }
        },
    )
}

/// Notes an act of this session; leads to its record.
pub(crate) fn did(visit: &Visit, act: Act) -> Redirect {
    let path = format!("/records/{}", act.record());
    let number = noted(visit, act);
    Redirect::to(&format!("{path}?done={number}"))
}

/// Notes an act of this session; answers its number.
pub(crate) fn noted(visit: &Visit, act: Act) -> u64 {
    let now = visit.page.now();
    let number = visit.undo(|undo| undo.push(act, now));
    number.unwrap_or_default()
}

/// Everything that can be taken back, newest first.
pub(crate) async fn all(visit: Visit) -> Markup {
    let all = visit.undo(|undo| undo.all());
    let (all, calendar) = (all.unwrap_or_default(), visit.page.calendar());
    let body = html! {
        p class="lead" {
            "The last 32 changes of this session can be taken back, until it ends or what was \
             forgotten is erased from the file."
        }
        @if all.is_empty() { div class="empty" { h2 { "Nothing was changed yet" } } }
        @for done in &all {
            div class="card" {
                p {
                    span class="faint" { (calendar.clock_of(done.at)) } " " (done.act.says()) " "
                    @if done.act.gone().is_empty() {
                        a href=(format!("/records/{}", done.act.record())) { "the record" }
                    } @else {
                        a href=(format!("/forgotten/{}", done.number)) { "what went" }
                    }
                    @if let Act::Forgotten { record, .. } = &done.act {
                        ": " (text::line(rows::title(record), 100))
                    }
                }
                div class="acts" { (take_back(&visit, done)) }
            }
        }
    };
    Room::new(Place::Order, "/done", "What you changed").shows(&visit, &body)
}

pub(crate) async fn undo(posted: Posted) -> Answer<Redirect> {
    let number: u64 = posted.read("number")?;
    let visit = &posted.visit;
    let done = visit.undo(|undo| undo.get(number)).flatten();
    let done = done.ok_or_else(gone)?;
    let (mut first, mut is_whole) = (None, true);
    let acts = match done.act {
        Act::Many(acts) => acts,
        act => vec![act],
    };
    for act in acts {
        let (record, whole) = taken_back(visit, act).await?;
        first = first.or(Some(record));
        is_whole &= whole;
    }
    visit.undo(|undo| undo.remove(number));
    let said = if is_whole { "undone" } else { "partly" };
    Ok(Redirect::to(&match first {
        Some(record) => format!("/records/{record}?done={said}"),
        None => format!("/?done={said}"),
    }))
}

pub(crate) fn gone() -> Trouble {
    Trouble::new(
        StatusCode::GONE,
        "This can no longer be taken back: the session keeps the last 32 changes, and what was \
         erased is gone for good.",
    )
}

/// Takes an act back; answers its record, and whether all of it came back.
async fn taken_back(visit: &Visit, act: Act) -> Answer<(RecordId, bool)> {
    let record = match act {
        Act::Corrected { old, new, .. } | Act::Settled { old, new } => {
            let seen = (old.visibility == Visibility::Workspace).then_some(old.visibility);
            let old = old.body;
            let changes = json!({
                "text": old.text,
                "tags": old.tags,
                "details": old.details,
                "metadata": old.metadata,
                "retention": old.retention,
                "visibility": seen,
            });
            revised(visit, new, changes).await?
        }
        Act::Published { record, global } => {
            let asked = shared::UnpublishArguments {
                id: global.to_string(),
            };
            visit.ask::<shared::Unpublish>(asked).await?;
            record
        }
        Act::Tagged { record, before } => {
            tagged(visit, record, before).await?;
            record
        }
        Act::Linked { from, to, relation } => {
            unlinked(visit, from, to, &relation).await?;
            from
        }
        Act::Unlinked { from, to, relation } => {
            linked(visit, from, to, &relation).await?;
            from
        }
        Act::Forgotten { record, links, .. } => {
            let asked = forgetting::UnforgetArguments { record: *record };
            let again = visit.ask::<forgetting::Unforget>(asked).await?.id;
            let mut is_whole = true;
            for link in links {
                let (from, to) = if link.outgoing {
                    (again, link.record)
                } else {
                    (link.record, again)
                };
                let made = linked(visit, from, to, &link.relation).await;
                // The other end may be gone by now.
                is_whole &= made.is_ok_and(|_| true) || {
                    let id = link.record.to_string();
                    let asked = HistoryArguments { id };
                    visit.ask_if::<History>(asked).await?.is_none()
                };
            }
            return Ok((again, is_whole));
        }
        Act::Many(_) => return Err(gone()),
    };
    Ok((record, true))
}

/// Writes a version with these fields of the ingest form; answers its id.
pub(crate) async fn revised(visit: &Visit, id: RecordId, changes: Value) -> Answer<RecordId> {
    let Value::Object(changes) = changes else {
        return Err(Trouble::invalid(
            "Nothing of this record was to be changed.",
        ));
    };
    let id = id.to_string();
    let asked = records::ReviseArguments { id, changes };
    Ok(visit.ask::<records::Revise>(asked).await?.record.id)
}

/// Gives a record these tags in place of its own.
pub(crate) async fn tagged(visit: &Visit, record: RecordId, tags: Vec<String>) -> Answer<()> {
    let id = record.to_string();
    let lesson = Lesson {
        tags: Some(tags),
        ..Lesson::default()
    };
    let asked = lessons::UpdateArguments { id, lesson };
    visit.ask::<lessons::Update>(asked).await.map(drop)
}

/// Links two records; answers whether the link is new.
pub(crate) async fn linked(
    visit: &Visit,
    from: RecordId,
    to: RecordId,
    relation: &str,
) -> Answer<bool> {
    let asked = links::LinkArguments {
        from: from.to_string(),
        to: to.to_string(),
        relation: Some(relation.to_owned()),
    };
    Ok(visit.ask::<links::Link>(asked).await?.linked)
}

pub(crate) async fn unlinked(
    visit: &Visit,
    from: RecordId,
    to: RecordId,
    relation: &str,
) -> Answer<()> {
    let asked = links::UnlinkArguments {
        from: from.to_string(),
        to: to.to_string(),
        relation: relation.to_owned(),
    };
    visit.ask::<links::Unlink>(asked).await.map(drop)
}
