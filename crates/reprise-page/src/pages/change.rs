//! Changes by a person: correcting, tagging, linking, pinning, forgetting one or many with a proof,
//! and erasing from the file.

pub(super) mod erasure;

use reprise_operations::Lesson;
use reprise_operations::operations::links::graph::ClusterLink;
use reprise_operations::operations::records::{Get, GetArguments, ShowArguments};
use reprise_operations::operations::sharing;
use reprise_operations::operations::{forgetting, lessons};
use reprise_types::RecordLink;
use reprise_types::limits::TEXT_BYTES_MAX;

use super::backups::{list_copies_with_forgotten, render_copies_with_forgotten};
use super::linked::OTHER_RELATION;
use super::publish;
use super::record::{RecordSettings, SEEN, render_conflict};
use super::wording::{Wording, with_result};
use crate::page::bad_field;
use crate::prelude::*;
use crate::undo::{
    InverseAction, UndoEntry, UserAction, add_link, push_action, push_and_redirect, remove_link,
    replace_tags, revise_record,
};

const REASON: &str = "asked for on the page";
const COMES_BACK: &str = "Undo restores the present text under a new id and with its links. Earlier \
    versions and external ids are not restored.";
/// Random bits of an id, below its milliseconds.
const ID_RANDOM_BITS: u32 = 80;
/// Most records of one form.
const MANY_MAX: usize = 200;

/// Loads the present version of a record, by any of its ids, and the number of its versions.
async fn load_present_version(visit: &PageRequest, id: &str) -> PageResult<(MemoryRecord, usize)> {
    let arguments = HistoryArguments { id: id.to_owned() };
    let versions = visit.run_optional::<History>(arguments).await?;
    let versions = versions.ok_or_else(PageError::missing_memory)?;
    Ok((versions.present, versions.earlier.len() + 1))
}

/// Refuses a text that cannot be stored.
pub(super) fn check_text(text: &str) -> PageResult<()> {
    if text.trim().is_empty() {
        return Err(PageError::invalid(
            "The text is empty. Go back and write something.",
        ));
    }
    let bytes = text.len();
    if bytes > TEXT_BYTES_MAX {
        return Err(PageError::invalid(format!(
            "The text has {bytes} bytes; the limit is {TEXT_BYTES_MAX}. Shorten it and save again."
        )));
    }
    Ok(())
}

/// Gives a memory another text and returns the id of its new version; its title stays.
pub(super) async fn correct_text(
    visit: &PageRequest,
    id: &str,
    text: &str,
) -> PageResult<RecordId> {
    let (old, _) = load_present_version(visit, id).await?;
    let text = text.replace("\r\n", "\n");
    let Wording {
        title,
        text: before,
        result,
    } = Wording::of(&old);
    if text == before {
        return Ok(old.id);
    }
    let lesson = Lesson {
        title,
        text: Some(with_result(&text, result.as_deref())),
        ..Lesson::default()
    };
    let arguments = lessons::UpdateArguments {
        expected: None,
        id: old.id.to_string(),
        lesson,
    };
    Ok(visit.run::<lessons::Update>(arguments).await?.id)
}

pub(crate) async fn correct(
    PathParameter(id): PathParameter<RecordId>,
    posted: Posted,
) -> PageResult<Response> {
    let visit = &posted.visit;
    let (old, _) = load_present_version(visit, &id.to_string()).await?;
    let before = Wording::of(&old);
    let given = |name: &str| posted.text(name).to_owned();
    // A browser sends every line break of a text field as two characters.
    let wording = Wording {
        title: before.title.as_ref().map(|_| given("title")),
        text: posted.text("text").replace("\r\n", "\n"),
        result: before.result.clone(),
    };
    check_text(&wording.text)?;
    let text = before.text.replace("\r\n", "\n");
    let result = before.result.clone();
    if wording == (Wording { text, ..before }) {
        return Ok(Redirect::to(&format!("/records/{id}?done=same")).into_response());
    }
    if old.id != id {
        let body = render_conflict(visit, &old, &wording);
        let page = render_page(visit, "/timeline", "Not saved", &body);
        return Ok((StatusCode::CONFLICT, page).into_response());
    }
    let lesson = Lesson {
        title: wording.title,
        text: Some(with_result(&wording.text, result.as_deref())),
        ..Lesson::default()
    };
    let arguments = lessons::UpdateArguments {
        expected: None,
        id: old.id.to_string(),
        lesson,
    };
    let (updated, redaction_note) = visit.run_redacted::<lessons::Update>(arguments).await?;
    let (old, new) = (Box::new(old), updated.id);
    let message = "Corrected. The earlier text is in the history.";
    let action = UserAction {
        redaction_note,
        ..UserAction::new(new, message, InverseAction::Revise { old, new })
    };
    Ok(push_and_redirect(visit, action).into_response())
}

pub(crate) async fn save_tags(
    PathParameter(id): PathParameter<RecordId>,
    posted: Posted,
) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let (record, _) = load_present_version(visit, &id.to_string()).await?;
    let tags = posted.text("tags").split(',').map(str::trim);
    let tags: Vec<String> = tags
        .filter(|tag| !tag.is_empty())
        .map(str::to_owned)
        .collect();
    let action = tag_with_undo(visit, record, tags).await?;
    Ok(push_and_redirect(visit, action))
}

/// Gives a record these tags, and returns the undoable action.
async fn tag_with_undo(
    visit: &PageRequest,
    record: MemoryRecord,
    tags: Vec<String>,
) -> PageResult<UserAction> {
    replace_tags(visit, record.id, tags).await?;
    let (now, _) = load_present_version(visit, &record.id.to_string()).await?;
    let inverse = InverseAction::Tag {
        record: now.id,
        before: record.body.tags,
        after: now.body.tags,
    };
    Ok(UserAction::new(now.id, "Tags saved.", inverse))
}

pub(crate) async fn save_settings(
    PathParameter(id): PathParameter<RecordId>,
    posted: Posted,
) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let (old, _) = load_present_version(visit, &id.to_string()).await?;
    let chosen = SEEN.iter().find(|choice| choice.1 == posted.text("seen"));
    let seen = chosen
        .ok_or_else(|| PageError::invalid(bad_field("seen")))?
        .0;
    let is_pinned = posted.text("pinned") == "yes";
    let before = RecordSettings::of(&old);
    if before == (RecordSettings { is_pinned, seen }) {
        return Ok(Redirect::to(&format!("/records/{id}?done=same")));
    }
    if old.id != id {
        let sentence = "This memory was changed after you opened it, so nothing was saved. Open it \
                    again.";
        return Err(PageError::new(StatusCode::CONFLICT, sentence));
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
    let new = revise_record(visit, old.id, changes).await?;
    let old = Box::new(old);
    let message = format!("Saved: {}.", RecordSettings { is_pinned, seen }.describe());
    let inverse = InverseAction::Revise { old, new };
    Ok(push_and_redirect(
        visit,
        UserAction::new(new, &message, inverse),
    ))
}

pub(crate) async fn link(
    PathParameter(id): PathParameter<RecordId>,
    posted: Posted,
) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let mut relation = posted.text("relation").trim();
    if relation == OTHER_RELATION {
        relation = posted.text("other_relation").trim();
    }
    if relation.is_empty() {
        return Err(PageError::invalid(
            "No relation was named. Go back and choose one, or write your own.",
        ));
    }
    let (other, _) = load_present_version(visit, posted.text("other").trim()).await?;
    let new_link = ClusterLink {
        from: id,
        to: other.id,
        relation: relation.replace(' ', "_"),
    };
    if !add_link(visit, &new_link).await? {
        return Ok(Redirect::to(&format!("/records/{id}?done=linked")));
    }
    Ok(push_and_redirect(
        visit,
        UserAction::new(id, "Linked.", InverseAction::Unlink(new_link)),
    ))
}

pub(crate) async fn unlink(
    PathParameter(id): PathParameter<RecordId>,
    posted: Posted,
) -> PageResult<Redirect> {
    let (relation, other) = (
        posted.text("relation").to_owned(),
        posted.parse_value("other")?,
    );
    let (from, to) = if posted.text("outgoing") == "true" {
        (id, other)
    } else {
        (other, id)
    };
    let old_link = ClusterLink { from, to, relation };
    remove_link(&posted.visit, &old_link).await?;
    let action = UserAction::new(from, "Link removed.", InverseAction::Link(old_link));
    let number = push_action(&posted.visit, action);
    Ok(Redirect::to(&format!("/records/{id}?done={number}")))
}

/// A record that is to be forgotten.
struct ForgetTarget {
    record: MemoryRecord,
    versions: usize,
    /// The id under which others still find it afterwards.
    published: Option<RecordId>,
}

async fn load_forget_target(visit: &PageRequest, id: &str) -> PageResult<ForgetTarget> {
    let (record, versions) = load_present_version(visit, id).await?;
    let id = record.id.to_string();
    let arguments = ShowArguments { id };
    let published = visit.run::<sharing::Visibility>(arguments).await?.published;
    Ok(ForgetTarget {
        record,
        versions,
        published,
    })
}

/// Renders what would be forgotten, with the form that forgets it.
fn render_forget_form(
    records: &[ForgetTarget],
    visit: &PageRequest,
    action: &str,
    fields: &Markup,
) -> Markup {
    let versions: usize = records.iter().map(|one| one.versions).sum();
    html! { div class="page-column" {
        (render_read_only_notice(visit))
        p class="lead" {
            (text::pluralize(records.len(), "memory", "memories")) " will be forgotten, with "
            (if records.len() == 1 { "its" } else { "their" }) " links"
            @if versions > records.len() {
                " and " (text::pluralize(versions - records.len(), "earlier version", "earlier versions"))
            }
            ". You can undo this until you erase forgotten texts from disk. "
            (COMES_BACK)
        }
        @for one in records {
            div class="card" {
                div class="said" { (markdown::render(&one.record.text)) }
                @if let Some(thing) = one.published { (publish::render_still_published(visit, thing)) }
            }
        }
        div class="stack" { (form(visit, action, &html! {
            (fields)
            label { "Reason (optional)" input name="reason" maxlength="2000"; }
            div class="acts" {
                button class="danger first" data-command="Forget now" { "Forget" }
                @if let [one] = records {
                    a class="button" href=(rows::path(&one.record)) { "Keep it" }
                } @else { a class="button" href="/timeline" { "Keep them" } }
            }
        })) }
    } }
}

pub(crate) async fn confirm_forget(
    visit: PageRequest,
    PathParameter(id): PathParameter<RecordId>,
) -> PageResult<Markup> {
    let one = load_forget_target(&visit, &id.to_string()).await?;
    let action = format!("{}/forget", rows::path(&one.record));
    let body = render_forget_form(&[one], &visit, &action, &html! {});
    Ok(render_page(&visit, "", "Forget this memory?", &body))
}

/// Forgets a record with all its versions, and returns the undoable action.
async fn forget_with_undo(visit: &PageRequest, id: &str, reason: &str) -> PageResult<UserAction> {
    let (record, _) = load_present_version(visit, id).await?;
    let arguments = GetArguments {
        id: Some(record.id.to_string()),
        ..GetArguments::default()
    };
    let got = visit.run::<Get>(arguments).await?.records.pop();
    let links = got.and_then(|mut line| Some(line.get_mut("links")?.take()));
    let links: Vec<RecordLink> =
        serde_json::from_value(links.unwrap_or_default()).map_err(|error| {
            PageError::invalid(format!(
                "The links of this memory could not be read ({error})."
            ))
        })?;
    let reason = Some(reason.trim()).filter(|reason| !reason.is_empty());
    let arguments = forgetting::DeleteArguments {
        id: Some(record.id.to_string()),
        reason: Some(reason.unwrap_or(REASON).to_owned()),
        ..forgetting::DeleteArguments::default()
    };
    let forgotten = visit.run::<forgetting::Delete>(arguments).await?;
    let (id, record) = (record.id, Box::new(record));
    let inverse = InverseAction::Unforget { record, links };
    Ok(UserAction {
        forgotten: forgotten.forgotten,
        published: forgotten.published.iter().map(|one| one.id).collect(),
        ..UserAction::new(id, "Forgotten.", inverse)
    })
}

pub(crate) async fn forget(
    PathParameter(id): PathParameter<RecordId>,
    posted: Posted,
) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let action = forget_with_undo(visit, &id.to_string(), posted.text("reason")).await?;
    let number = push_action(visit, action);
    Ok(Redirect::to(&format!("/forgotten/{number}")))
}

/// Tags or forgets the selected records, or leads to the comparison of two.
pub(crate) async fn change_selected(posted: Posted) -> PageResult<Response> {
    let visit = &posted.visit;
    let ids: Vec<&str> = posted.values("id").collect();
    if ids.is_empty() || ids.len() > MANY_MAX {
        return Err(PageError::invalid(format!(
            "{} memories are selected. Select 1 to {MANY_MAX}.",
            ids.len()
        )));
    }
    let mut actions = Vec::new();
    match posted.text("act") {
        "tag" => {
            let tag = posted.text("tag").trim();
            if tag.is_empty() {
                return Err(PageError::invalid(
                    "No tag was given. Enter one next to the button.",
                ));
            }
            for id in ids {
                let (record, _) = load_present_version(visit, id).await?;
                let before = record.body.tags.iter().cloned();
                let tags = before.chain([tag.to_owned()]).collect();
                actions.push(tag_with_undo(visit, record, tags).await?);
            }
            let number = push_action(visit, UserAction::combine(actions));
            let path = format!("/timeline?tag={}&done={number}", percent_encode(tag));
            Ok(Redirect::to(&path).into_response())
        }
        "compare" => {
            let [one, other] = ids.as_slice() else {
                return Err(PageError::invalid(
                    "Two memories can be compared. Go back and select exactly two.",
                ));
            };
            let [one, other] = [one, other].map(|id| percent_encode(id));
            Ok(Redirect::to(&format!("/compare?one={one}&other={other}")).into_response())
        }
        "forgotten" => {
            for id in ids {
                actions.push(forget_with_undo(visit, id, posted.text("reason")).await?);
            }
            let number = push_action(visit, UserAction::combine(actions));
            Ok(Redirect::to(&format!("/forgotten/{number}")).into_response())
        }
        "forget" => {
            let mut records = Vec::new();
            for id in &ids {
                records.push(load_forget_target(visit, id).await?);
            }
            let fields = html! {
                input type="hidden" name="act" value="forgotten";
                @for id in &ids { input type="hidden" name="id" value=(id); }
            };
            let body = render_forget_form(&records, visit, "/many", &fields);
            Ok(render_page(visit, "", "Forget these memories?", &body).into_response())
        }
        _ => Err(PageError::invalid(bad_field("act"))),
    }
}

/// Shows the proof of a forgetting: memory is asked again for each id.
pub(crate) async fn show_forget_proof(
    visit: PageRequest,
    PathParameter(number): PathParameter<u64>,
) -> PageResult<Markup> {
    let done = visit.with_undo(|undo| undo.get(number)).flatten();
    let done: UndoEntry = done.ok_or_else(undo::expired_error)?;
    let gone = &done.action.forgotten;
    if gone.is_empty() {
        return Err(undo::expired_error());
    }
    let mut still = false;
    for id in gone {
        let arguments = HistoryArguments { id: id.to_string() };
        still |= visit.run_optional::<History>(arguments).await?.is_some();
    }
    let mut standing = Vec::new();
    for id in done.action.published.iter().copied() {
        let arguments = sharing::PublishedThingArguments { id, version: None };
        let found = visit
            .run_optional::<sharing::PublishedThing>(arguments)
            .await;
        // If the store cannot be asked, the publication may still be there.
        if !matches!(found, Ok(None)) {
            standing.push(id);
        }
    }
    let copies = list_copies_with_forgotten(&visit, first_saved(gone)).await?;
    let body = html! {
        div class="card" role="status" {
            h2 { "Checked" }
            @if still { p { "One of these can still be found. Please report this bug." } }
            @else if gone.len() == 1 { p { "This memory can no longer be found:" } }
            @else { p { "These can no longer be found:" } }
            ul { @for id in gone { li { (forgotten_title(&done, *id)) code { (id) } } } }
            @for thing in standing { (publish::render_still_published(&visit, thing)) }
            p class="why" { (COMES_BACK) }
            div class="acts" { (undo::render_undo_button(&visit, &done)) }
        }
        div class="card" {
            h2 { "Erasure from disk" }
            p class="why" {
                "The text is still in the memory file, where nothing reads it. Erasing rewrites this \
                 file without it, and without all other forgotten texts."
            }
            (erasure::render_erase_link(&visit))
        }
        div class="card" {
            h2 { "Backups and exports" }
            (render_copies_with_forgotten(&visit, &copies))
        }
    };
    Ok(render_page(&visit, "", "Forgotten", &body))
}

/// Returns when the first of these was saved: an id begins with its milliseconds.
fn first_saved(ids: &[RecordId]) -> Option<DateTime<Utc>> {
    let first = ids.iter().map(|id| id.to_u128() >> ID_RANDOM_BITS).min()?;
    DateTime::from_timestamp_millis(i64::try_from(first).ok()?)
}

/// Renders the first line of what was forgotten under this id, if it is still known.
fn forgotten_title(done: &UndoEntry, id: RecordId) -> Markup {
    let mut records = done.action.inverse.iter().filter_map(|one| match one {
        InverseAction::Unforget { record, .. } => Some(&**record),
        _ => None,
    });
    let found = records.find(|record| record.id == id);
    html! {
        @match found {
            Some(record) => { q { (text::shorten(rows::title(record), 100)) } " " }
            None => { span class="faint" { "an earlier version " } }
        }
    }
}
