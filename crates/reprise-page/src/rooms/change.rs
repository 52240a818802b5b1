//! What a person changes: correcting, tagging, linking, pinning; forgetting one or many, with its
//! proof, and the erasure from the file.

use reprise_operations::operations::graph::Tie;
use reprise_operations::operations::records::{Get, GetArguments, ShowArguments};
use reprise_operations::operations::{care, forgetting, lessons, shared};
use reprise_operations::{Lesson, taken_out};
use reprise_types::Link;
use reprise_types::limits::TEXT_BYTES_MAX;

use super::publish;
use super::record::{SEEN, Standing, Wording, not_saved};
use crate::page::bad_field;
use crate::prelude::*;
use crate::undo::{Act, Back, Done, Undo, did, linked, noted, revised, tagged, unlinked};

const REASON: &str = "asked for on the page";
const COMES_BACK: &str = "Undo keeps what it says now again, under a new id and with its links; \
    earlier versions and external ids do not come back.";
/// Records of one form.
const MANY_MAX: usize = 200;

/// A record with its earlier versions, by any of its names.
async fn present(visit: &Visit, id: &str) -> Answer<(MemoryRecord, usize)> {
    let asked = HistoryArguments { id: id.to_owned() };
    let versions = visit.ask::<History>(asked).await?;
    Ok((versions.present, versions.earlier.len() + 1))
}

pub(crate) async fn correct(Named(id): Named<RecordId>, posted: Posted) -> Answer<Response> {
    let visit = &posted.visit;
    let (old, _) = present(visit, &id.to_string()).await?;
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
        return Ok(Redirect::to(&format!("/records/{id}?done=same")).into_response());
    }
    if old.id != id {
        let body = not_saved(visit, &old, &wording);
        let page = room(visit, "/timeline", "Not saved", &body);
        return Ok((StatusCode::CONFLICT, page).into_response());
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
    let ran = visit.ran::<lessons::Update>(asked).await?;
    let (old, new) = (Box::new(old), ran.answer.id);
    let says = "Corrected; the earlier wording is in the history.";
    let act = Act {
        taken_out: taken_out(&ran.redacted),
        ..Act::new(new, says, Back::Revise { old, new })
    };
    Ok(did(visit, act).into_response())
}

pub(crate) async fn tag(Named(id): Named<RecordId>, posted: Posted) -> Answer<Redirect> {
    let visit = &posted.visit;
    let (record, _) = present(visit, &id.to_string()).await?;
    let tags = posted.get("tags").split(',').map(str::trim);
    let tags: Vec<String> = tags
        .filter(|tag| !tag.is_empty())
        .map(str::to_owned)
        .collect();
    tagged(visit, record.id, tags).await?;
    Ok(did(visit, retagged(record.id, record.body.tags)))
}

/// That a record had these tags before.
fn retagged(record: RecordId, tags: Vec<String>) -> Act {
    Act::new(record, "The tags are saved.", Back::Tag { record, tags })
}

pub(crate) async fn stand(Named(id): Named<RecordId>, posted: Posted) -> Answer<Redirect> {
    let visit = &posted.visit;
    let (old, _) = present(visit, &id.to_string()).await?;
    let chosen = SEEN.iter().find(|choice| choice.1 == posted.get("seen"));
    let seen = chosen.ok_or_else(|| Trouble::invalid(bad_field("seen")))?.0;
    let is_pinned = posted.get("pinned") == "yes";
    let before = Standing::of(&old);
    if before == (Standing { is_pinned, seen }) {
        return Ok(Redirect::to(&format!("/records/{id}?done=same")));
    }
    if old.id != id {
        let said = "This record was changed after you opened it, so nothing was saved. Open it \
                    again.";
        return Err(Trouble::new(StatusCode::CONFLICT, said));
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
        changes["visibility"] = json!(seen);
    }
    let new = revised(visit, old.id, changes).await?;
    let old = Box::new(old);
    let back = Back::Revise { old, new };
    Ok(did(visit, Act::new(new, "Saved as a new version.", back)))
}

pub(crate) async fn link(Named(id): Named<RecordId>, posted: Posted) -> Answer<Redirect> {
    let visit = &posted.visit;
    let (other, _) = present(visit, posted.get("other").trim()).await?;
    let tie = Tie {
        from: id,
        to: other.id,
        relation: posted.get("relation").trim().to_owned(),
    };
    if !linked(visit, &tie).await? {
        return Ok(Redirect::to(&format!("/records/{id}?done=linked")));
    }
    Ok(did(visit, Act::new(id, "Linked.", Back::Unlink(tie))))
}

pub(crate) async fn unlink(Named(id): Named<RecordId>, posted: Posted) -> Answer<Redirect> {
    let (relation, other) = (posted.get("relation").to_owned(), posted.read("other")?);
    let (from, to) = if posted.get("outgoing") == "true" {
        (id, other)
    } else {
        (other, id)
    };
    let tie = Tie { from, to, relation };
    unlinked(&posted.visit, &tie).await?;
    let act = Act::new(from, "The link is gone.", Back::Link(tie));
    let number = noted(&posted.visit, act);
    Ok(Redirect::to(&format!("/records/{id}?done={number}")))
}

/// What is to be forgotten.
struct Going {
    record: MemoryRecord,
    versions: usize,
    /// What others still find of it then.
    published: Option<RecordId>,
}

async fn going(visit: &Visit, id: &str) -> Answer<Going> {
    let (record, versions) = present(visit, id).await?;
    let id = record.id.to_string();
    let asked = ShowArguments { id };
    let published = visit.ask::<shared::Visibility>(asked).await?.published;
    Ok(Going {
        record,
        versions,
        published,
    })
}

/// What goes before it goes.
fn goes(records: &[Going], visit: &Visit, action: &str, fields: &Markup) -> Markup {
    let versions: usize = records.iter().map(|one| one.versions).sum();
    html! {
        (only_looks(visit))
        p class="lead" {
            (text::of(records.len(), "record goes", "records go")) " with "
            (text::of(versions, "version", "versions"))
            ", and with the links that lead to it. This memory finds it no more at once; the \
             bytes stay in the file, unread, until you erase them. Until then it can be undone. "
            (COMES_BACK)
        }
        @for one in records {
            div class="card" {
                div class="said" { (text::whole(&one.record.text)) }
                @if let Some(thing) = one.published { (publish::stays(visit, thing)) }
            }
        }
        div class="stack" { (form(visit, action, &html! {
            (fields)
            label { "Why" input name="reason" value=(REASON) maxlength="2000"; }
            div class="acts" {
                button class="danger first" data-command="Forget now" { "Forget" }
                @if let [one] = records {
                    a class="button" href=(rows::path(&one.record)) { "Keep it" }
                } @else { a class="button" href="/timeline" { "Keep them" } }
            }
        })) }
    }
}

pub(crate) async fn ask(visit: Visit, Named(id): Named<RecordId>) -> Answer<Markup> {
    let one = going(&visit, &id.to_string()).await?;
    let action = format!("{}/forget", rows::path(&one.record));
    let body = goes(&[one], &visit, &action, &html! {});
    Ok(room(&visit, "", "Forget this?", &body))
}

/// Forgets a record with all its versions.
async fn gone(visit: &Visit, id: &str, reason: &str) -> Answer<Act> {
    let (record, _) = present(visit, id).await?;
    let asked = GetArguments {
        id: Some(record.id.to_string()),
        ..GetArguments::default()
    };
    let got = visit.ask::<Get>(asked).await?.records.pop();
    let links = got.and_then(|mut line| Some(line.get_mut("links")?.take()));
    let links: Vec<Link> = serde_json::from_value(links.unwrap_or_default())
        .map_err(|error| Trouble::invalid(format!("its links cannot be read ({error})")))?;
    let reason = Some(reason.trim()).filter(|reason| !reason.is_empty());
    let asked = forgetting::DeleteArguments {
        id: record.id.to_string(),
        reason: Some(reason.unwrap_or(REASON).to_owned()),
    };
    let forgotten = visit.ask::<forgetting::Delete>(asked).await?;
    let (id, record) = (record.id, Box::new(record));
    let back = Back::Unforget { record, links };
    Ok(Act {
        gone: forgotten.forgotten,
        published: forgotten.published.iter().map(|one| one.id).collect(),
        ..Act::new(id, "Forgotten.", back)
    })
}

pub(crate) async fn forget(Named(id): Named<RecordId>, posted: Posted) -> Answer<Redirect> {
    let visit = &posted.visit;
    let act = gone(visit, &id.to_string(), posted.get("reason")).await?;
    let number = noted(visit, act);
    Ok(Redirect::to(&format!("/forgotten/{number}")))
}

/// What is done to all records that were selected.
pub(crate) async fn many(posted: Posted) -> Answer<Response> {
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
                let (record, _) = present(visit, id).await?;
                let before = record.body.tags;
                let tags = before.iter().cloned().chain([tag.to_owned()]).collect();
                tagged(visit, record.id, tags).await?;
                acts.push(retagged(record.id, before));
            }
            let number = noted(visit, Act::many(acts));
            let path = format!("/timeline?tag={}&done={number}", encoded(tag));
            Ok(Redirect::to(&path).into_response())
        }
        "forgotten" => {
            for id in ids {
                acts.push(gone(visit, id, posted.get("reason")).await?);
            }
            let number = noted(visit, Act::many(acts));
            Ok(Redirect::to(&format!("/forgotten/{number}")).into_response())
        }
        "forget" => {
            let mut records = Vec::new();
            for id in &ids {
                records.push(going(visit, id).await?);
            }
            let fields = html! {
                input type="hidden" name="act" value="forgotten";
                @for id in &ids { input type="hidden" name="id" value=(id); }
            };
            let body = goes(&records, visit, "/many", &fields);
            Ok(room(visit, "", "Forget these?", &body).into_response())
        }
        _ => Err(Trouble::invalid(bad_field("act"))),
    }
}

/// The proof: memory is asked again for each id.
pub(crate) async fn forgotten(visit: Visit, Named(number): Named<u64>) -> Answer<Markup> {
    let done = visit.undo(|undo| undo.get(number)).flatten();
    let done: Done = done.ok_or_else(undo::gone)?;
    let gone = &done.act.gone;
    if gone.is_empty() {
        return Err(undo::gone());
    }
    let mut still = false;
    for id in gone {
        let asked = HistoryArguments { id: id.to_string() };
        still |= visit.ask_if::<History>(asked).await?.is_some();
    }
    let mut standing = Vec::new();
    for id in done.act.published.iter().copied() {
        let asked = shared::PublishedThingArguments { id, version: None };
        let found = visit.ask_if::<shared::PublishedThing>(asked).await;
        // What cannot be asked for may stand.
        if !matches!(found, Ok(None)) {
            standing.push(id);
        }
    }
    let body = html! {
        div class="card" role="status" {
            h2 { "The proof" }
            @if still { p { "Memory still answers for one of these: tell whoever made it." } }
            @else { p { "Memory was asked again for each of these, and has none of them." } }
            ul { @for id in gone { li { code { (id) } } } }
            @for thing in standing { (publish::stays(&visit, thing)) }
            p class="why" { (COMES_BACK) }
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
    Ok(room(&visit, "", "Forgotten", &body))
}

/// Compacts the file; from then on nothing forgotten can be taken back.
pub(crate) async fn erase(posted: Posted) -> Answer<Markup> {
    let visit = &posted.visit;
    let done = visit.ask::<care::Compact>(NoArguments {}).await?;
    visit.undo(Undo::drop_forgotten);
    let (before, after) = (text::size(done.bytes_before), text::size(done.bytes_after));
    let body = html! {
        div class="card" {
            p role="status" {
                "The file had " (before) " and has " (after) "; of "
                (text::of(done.forgotten as usize, "forgotten record", "forgotten records"))
                " only the number is left."
            }
            p class="why" { "`reprise check` reads it from end to end." }
        }
    };
    Ok(room(visit, "/care", "Erased", &body))
}
