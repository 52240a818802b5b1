//! What a person changes: correcting, tagging, linking, pinning; forgetting one or many, with its
//! proof, and the erasure from the file.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use reprise_operations::operations::records::{Get, GetArguments, History, HistoryArguments};
use reprise_operations::operations::{care, forgetting, lessons};
use reprise_operations::{Lesson, NoArguments, taken_out};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{Link, MemoryRecord, RecordId, Retention, Visibility};
use serde_json::{Value, json};

use super::record::{SEEN, Seen, Standing, Wording};
use crate::acts::{Act, Done, Undo};
use crate::door::Visit;
use crate::page::{Answer, Named, Page, Posted, Trouble, bad_field};
use crate::shell::{Place, Room, form};
use crate::undo::{self, did, linked, noted, revised, tagged, unlinked};
use crate::{rows, text, words};

const REASON: &str = "asked for on the page";
/// Records of one form.
const MANY_MAX: usize = 200;

/// A record with its earlier versions, by any of its names.
async fn present(page: &Page, visit: &Visit, id: &str) -> Answer<(MemoryRecord, usize)> {
    let asked = HistoryArguments { id: id.to_owned() };
    let versions = page.ask::<History>(visit, asked).await?;
    Ok((versions.present, versions.earlier.len() + 1))
}

pub(crate) async fn correct(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let visit = &posted.visit;
    let (old, _) = present(&page, visit, &id.to_string()).await?;
    let before = Wording::of(&old);
    let given = |name: &str| posted.get(name).to_owned();
    // A browser sends every line break of a text field as two characters.
    let wording = Wording {
        title: before.title.as_ref().map(|_| given("title")),
        text: posted.get("text").replace("\r\n", "\n"),
    };
    let bytes = wording.text.len();
    if bytes > TEXT_BYTES_MAX {
        return Err(Trouble::invalid(format!(
            "The text has {bytes} bytes; {TEXT_BYTES_MAX} are kept at most. Shorten it and save \
             again."
        )));
    }
    let text = before.text.replace("\r\n", "\n");
    if wording == (Wording { text, ..before }) {
        return Ok(Redirect::to(&format!("/records/{id}?done=same")));
    }
    let lesson = Lesson {
        title: wording.title,
        text: Some(wording.text),
        ..Lesson::default()
    };
    let asked = lessons::UpdateArguments {
        id: old.id.to_string(),
        lesson,
    };
    let ran = page.ran::<lessons::Update>(visit, asked).await?;
    let act = Act::Corrected {
        old: Box::new(old),
        new: ran.answer.id,
        taken_out: taken_out(&ran.redacted),
    };
    Ok(did(&page, visit, act))
}

pub(crate) async fn tag(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let visit = &posted.visit;
    let (record, _) = present(&page, visit, &id.to_string()).await?;
    let tags = posted.get("tags").split(',').map(str::trim);
    let tags: Vec<String> = tags
        .filter(|tag| !tag.is_empty())
        .map(str::to_owned)
        .collect();
    tagged(&page, visit, record.id, tags).await?;
    let act = Act::Tagged {
        record: record.id,
        before: record.body.tags,
    };
    Ok(did(&page, visit, act))
}

pub(crate) async fn stand(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let visit = &posted.visit;
    let (old, _) = present(&page, visit, &id.to_string()).await?;
    let chosen = SEEN.iter().find(|choice| choice.1 == posted.get("seen"));
    let seen = chosen.ok_or_else(|| Trouble::invalid(bad_field("seen")))?.0;
    let is_pinned = posted.get("pinned") == "yes";
    let before = Standing::of(&old);
    if before == (Standing { is_pinned, seen }) {
        return Ok(Redirect::to(&format!("/records/{id}?done=same")));
    }
    let mut changes = json!({});
    if before.is_pinned != is_pinned {
        changes["retention"] = json!(if is_pinned {
            Retention::Pinned
        } else {
            Retention::Normal
        });
    }
    if before.seen != seen {
        changes["visibility"] = match seen {
            Seen::Owner => Value::Null,
            Seen::Private => json!(Visibility::Private),
            Seen::Workspace => json!(Visibility::Workspace),
        };
    }
    let new = revised(&page, visit, old.id, changes).await?;
    let old = Box::new(old);
    Ok(did(&page, visit, Act::Settled { old, new }))
}

pub(crate) async fn link(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let visit = &posted.visit;
    let relation = posted.get("relation").trim().to_owned();
    let (other, _) = present(&page, visit, posted.get("other").trim()).await?;
    if !linked(&page, visit, id, other.id, &relation).await? {
        return Ok(Redirect::to(&format!("/records/{id}?done=linked")));
    }
    let act = Act::Linked {
        from: id,
        to: other.id,
        relation,
    };
    Ok(did(&page, visit, act))
}

pub(crate) async fn unlink(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let (relation, other) = (posted.get("relation").to_owned(), posted.read("other")?);
    let (from, to) = if posted.get("outgoing") == "true" {
        (id, other)
    } else {
        (other, id)
    };
    unlinked(&page, &posted.visit, from, to, &relation).await?;
    let act = Act::Unlinked { from, to, relation };
    let number = noted(&page, &posted.visit, act);
    Ok(Redirect::to(&format!("/records/{id}?done={number}")))
}

/// What goes before it goes.
fn goes(records: &[(MemoryRecord, usize)], visit: &Visit, action: &str, fields: &Markup) -> Markup {
    let versions: usize = records.iter().map(|(_, versions)| versions).sum();
    html! {
        p class="lead" {
            (words::of(records.len(), "record goes", "records go")) " with "
            (words::of(versions, "version", "versions"))
            ", and with the links that lead to it. Nothing finds it any more at once; the bytes \
             stay in the file, unread, until you erase them, and until then undo brings it back."
        }
        @for (record, _) in records {
            div class="card" { div class="said" { (text::whole(&record.text)) } }
        }
        div class="stack" { (form(visit, action, &html! {
            (fields)
            label { "Why" input name="reason" value=(REASON) maxlength="2000"; }
            div class="acts" {
                button class="danger first" data-command="Forget now" { "Forget" }
                @if let [(record, _)] = records {
                    a class="button" href=(rows::path(record)) { "Keep it" }
                } @else { a class="button" href="/timeline" { "Keep them" } }
            }
        })) }
    }
}

pub(crate) async fn ask(
    State(page): State<Page>,
    visit: Visit,
    Named(id): Named<RecordId>,
) -> Answer<Markup> {
    let record = present(&page, &visit, &id.to_string()).await?;
    let action = format!("{}/forget", rows::path(&record.0));
    let body = goes(&[record], &visit, &action, &html! {});
    Ok(Room::new(Place::Order, "", "Forget this?").shows(&visit, &body))
}

/// Forgets a record with all its versions.
async fn gone(page: &Page, visit: &Visit, id: &str, reason: &str) -> Answer<Act> {
    let (record, _) = present(page, visit, id).await?;
    let asked = GetArguments {
        id: Some(record.id.to_string()),
        ..GetArguments::default()
    };
    let got = page.ask::<Get>(visit, asked).await?.records.pop();
    let links = got.and_then(|mut line| Some(line.get_mut("links")?.take()));
    let links: Vec<Link> = serde_json::from_value(links.unwrap_or_default())
        .map_err(|error| Trouble::invalid(format!("its links cannot be read ({error})")))?;
    let reason = Some(reason.trim()).filter(|reason| !reason.is_empty());
    let asked = forgetting::DeleteArguments {
        id: record.id.to_string(),
        reason: Some(reason.unwrap_or(REASON).to_owned()),
    };
    let gone = page
        .ask::<forgetting::Delete>(visit, asked)
        .await?
        .forgotten;
    Ok(Act::Forgotten {
        record: Box::new(record),
        gone,
        links,
    })
}

pub(crate) async fn forget(
    State(page): State<Page>,
    Named(id): Named<RecordId>,
    posted: Posted,
) -> Answer<Redirect> {
    let visit = &posted.visit;
    let act = gone(&page, visit, &id.to_string(), posted.get("reason")).await?;
    let number = noted(&page, visit, act);
    Ok(Redirect::to(&format!("/forgotten/{number}")))
}

/// What is done to all records that were selected.
pub(crate) async fn many(State(page): State<Page>, posted: Posted) -> Answer<Response> {
    let visit = &posted.visit;
    let ids: Vec<&str> = posted.all("id").collect();
    if ids.is_empty() || ids.len() > MANY_MAX {
        return Err(Trouble::invalid(format!(
            "{} records are selected; select 1 to {MANY_MAX}.",
            ids.len()
        )));
    }
    let mut acts = Vec::new();
    match posted.get("act") {
        "tag" => {
            let tag = posted.get("tag").trim();
            if tag.is_empty() {
                return Err(Trouble::invalid(
                    "No tag was given; write one beside the button.",
                ));
            }
            for id in ids {
                let (record, _) = present(&page, visit, id).await?;
                let before = record.body.tags;
                let tags = before.iter().cloned().chain([tag.to_owned()]).collect();
                tagged(&page, visit, record.id, tags).await?;
                acts.push(Act::Tagged {
                    record: record.id,
                    before,
                });
            }
            let number = noted(&page, visit, Act::Many(acts));
            let path = format!("/timeline?tag={}&done={number}", crate::pairs::encoded(tag));
            Ok(Redirect::to(&path).into_response())
        }
        "forgotten" => {
            for id in ids {
                acts.push(gone(&page, visit, id, posted.get("reason")).await?);
            }
            let number = noted(&page, visit, Act::Many(acts));
            Ok(Redirect::to(&format!("/forgotten/{number}")).into_response())
        }
        "forget" => {
            let mut records = Vec::new();
            for id in &ids {
                records.push(present(&page, visit, id).await?);
            }
            let fields = html! {
                input type="hidden" name="act" value="forgotten";
                @for id in &ids { input type="hidden" name="id" value=(id); }
            };
            let body = goes(&records, visit, "/many", &fields);
            let room = Room::new(Place::Order, "", "Forget these?");
            Ok(room.shows(visit, &body).into_response())
        }
        _ => Err(Trouble::invalid(bad_field("act"))),
    }
}

/// The proof: memory is asked again for each id.
pub(crate) async fn forgotten(
    State(page): State<Page>,
    visit: Visit,
    Named(number): Named<u64>,
) -> Answer<Markup> {
    let done = page.door().undo(&visit, |undo| undo.get(number)).flatten();
    let done: Done = done.ok_or_else(undo::gone)?;
    let gone = done.act.gone();
    if gone.is_empty() {
        return Err(Trouble::new(StatusCode::GONE, undo::gone().sentence));
    }
    let mut still = false;
    for id in &gone {
        let asked = HistoryArguments { id: id.to_string() };
        still |= page.ask_if::<History>(&visit, asked).await?.is_some();
    }
    let body = html! {
        div class="card" role="status" {
            h2 { "The proof" }
            @if still { p { "Memory still answers for one of these: tell whoever made it." } }
            @else { p { "Memory was asked again for each of these, and has none of them." } }
            ul { @for id in &gone { li { code { (id) } } } }
            div class="acts" { (undo::take_back(&visit, &done)) }
        }
        div class="card" {
            h2 { "Erase it from the file" }
            p class="why" {
                "The text is still in the file, unread. Erasing writes the file anew without it; \
                 then nothing brings it back."
            }
            div class="acts" {
                (form(&visit, "/erase", &html! {
                    button class="danger first" data-command="Erase from the file" {
                        "Erase from the file"
                    }
                }))
            }
        }
    };
    Ok(Room::new(Place::Order, "", "Forgotten").shows(&visit, &body))
}

/// Compacts the file; from then on nothing forgotten can be taken back.
pub(crate) async fn erase(State(page): State<Page>, posted: Posted) -> Answer<Markup> {
    let visit = &posted.visit;
    let done = page.ask::<care::Compact>(visit, NoArguments {}).await?;
    page.door().undo(visit, Undo::drop_forgotten);
    let (before, after) = (
        words::size(done.bytes_before),
        words::size(done.bytes_after),
    );
    let body = html! {
        div class="card" {
            p role="status" {
                "The file had " (before) " and has " (after) "; of "
                (words::of(done.forgotten as usize, "forgotten record", "forgotten records"))
                " only the number is left."
            }
            p class="why" { "`reprise check` reads it from end to end." }
        }
    };
    Ok(Room::new(Place::Order, "/care", "Erased").shows(visit, &body))
}
