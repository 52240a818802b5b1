//! Undoing what was done since the sign-in: the actions that can be undone, the toast that offers
//! it, the list of all of them, and the inverse of each.

mod line;

use std::collections::VecDeque;

use reprise_operations::operations::links::graph::ClusterLink;
use reprise_operations::operations::outcomes::{WithdrawOutcome, WithdrawOutcomeArguments};
use reprise_operations::operations::sharing;
use reprise_operations::operations::{forgetting, lessons, links, records};
use reprise_operations::{JournalEntry, Lesson};
use reprise_types::RecordLink;

use crate::prelude::*;

pub(crate) use line::{ChangeLine, render_difference};

/// Number of actions that can be undone; a new one replaces the oldest.
const HELD_MAX: usize = 32;
/// Seconds within which a change of the journal belongs to an action.
const NEAR: i64 = 10;

/// How an action is undone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InverseAction {
    /// Takes back what the version `new` changed of `old`.
    Revise {
        old: Box<MemoryRecord>,
        new: RecordId,
    },
    Unpublish {
        record: RecordId,
        global: RecordId,
    },
    /// Takes back the tags that were added and those that were removed.
    Tag {
        record: RecordId,
        before: Vec<String>,
        after: Vec<String>,
    },
    Link(ClusterLink),
    Unlink(ClusterLink),
    /// Takes back a rating of a record.
    WithdrawRating {
        record: RecordId,
        run: String,
    },
    /// Stores the record again, and its links.
    Unforget {
        record: Box<MemoryRecord>,
        links: Vec<RecordLink>,
    },
}

/// Something that a user did on the page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UserAction {
    /// The record that it changed; the first of several.
    pub(crate) record: RecordId,
    pub(crate) message: String,
    /// A sentence about the secrets that were redacted in a new text.
    pub(crate) redaction_note: String,
    /// The ids of all forgotten versions.
    pub(crate) forgotten: Vec<RecordId>,
    /// The ids under which others still find what was forgotten.
    pub(crate) published: Vec<RecordId>,
    /// The inverse of each step, in the order of the steps.
    pub(crate) inverse: Vec<InverseAction>,
}

impl UserAction {
    pub(crate) fn new(record: RecordId, message: &str, inverse: InverseAction) -> Self {
        Self {
            record,
            message: message.to_owned(),
            redaction_note: String::new(),
            forgotten: Vec::new(),
            published: Vec::new(),
            inverse: vec![inverse],
        }
    }

    /// Combines several actions into one.
    pub(crate) fn combine(actions: Vec<Self>) -> Self {
        let first = actions.first();
        let message = first.map_or("", |action| &action.message);
        Self {
            record: first.map_or(RecordId::from_parts(0, 0), |action| action.record),
            message: format!("{} memories: {message}", actions.len()),
            redaction_note: String::new(),
            forgotten: actions
                .iter()
                .flat_map(|action| action.forgotten.clone())
                .collect(),
            published: actions
                .iter()
                .flat_map(|action| action.published.clone())
                .collect(),
            inverse: actions
                .into_iter()
                .flat_map(|action| action.inverse)
                .collect(),
        }
    }
}

/// An action with its number since the sign-in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UndoEntry {
    pub(crate) number: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) action: UserAction,
}

/// The actions since the sign-in that can be undone.
#[derive(Debug, Default)]
pub(crate) struct UndoList {
    next: u64,
    entries: VecDeque<UndoEntry>,
}

impl UndoList {
    /// Adds an action and returns its number.
    pub(crate) fn push(&mut self, action: UserAction, at: DateTime<Utc>) -> u64 {
        if self.entries.len() >= HELD_MAX {
            self.entries.pop_front();
        }
        self.next += 1;
        let number = self.next;
        self.entries.push_back(UndoEntry { number, at, action });
        number
    }

    pub(crate) fn get(&self, number: u64) -> Option<UndoEntry> {
        self.entries
            .iter()
            .find(|entry| entry.number == number)
            .cloned()
    }

    /// Removes an action that was undone or can no longer be.
    pub(crate) fn remove(&mut self, number: u64) {
        self.entries.retain(|entry| entry.number != number);
    }

    /// Removes the actions that hold texts of forgotten records.
    pub(crate) fn drop_forgotten(&mut self) {
        self.entries
            .retain(|entry| entry.action.forgotten.is_empty());
    }

    /// Returns the number of the newest action.
    pub(crate) fn newest_number(&self) -> Option<u64> {
        self.entries.back().map(|entry| entry.number)
    }

    /// Returns all actions, the newest first.
    pub(crate) fn list(&self) -> Vec<UndoEntry> {
        self.entries.iter().rev().cloned().collect()
    }
}

/// Renders the toast for what a redirect says was just done, with its undo button.
pub(crate) fn render_done_toast(visit: &PageRequest, number: Option<&str>) -> Markup {
    let message = match number {
        None => return html! {},
        Some("undone") => "Undone.",
        Some("again") => "Undone. The memory is back under a new id, without earlier versions.",
        Some("partly") => {
            "Undone. The memory is back under a new id, without earlier versions and without a \
             link whose other end is gone."
        }
        Some("unreplaced") => "Undone. Agents see both memories again.",
        Some("unrated") => "Rating removed.",
        Some("withdrawn") => "Withdrawn. Nothing is learned from that run any more.",
        Some("same") => "Nothing was changed.",
        Some("linked") => "These two memories are already linked.",
        Some("tidied") => "Merged. You can undo it below.",
        Some("applied") => "Done. You can undo it below.",
        Some("added") => "Saved. Your agents can find it now.",
        Some("paused") => "Memory is paused: agents get nothing, and nothing is stored.",
        Some("read_only") => "Memory is read only: agents get memories, and nothing new is stored.",
        Some("resumed") => "Memory is on: agents get memories and store new ones.",
        Some("http") => "HTTP is on. Programs with a token reach this memory now.",
        Some("saved") => "Backup saved, and every memory in it checked.",
        Some("setting") => "Saved. It holds from the next start of the daemon.",
        Some("deleted") => "Backup deleted. The file is gone from the disk.",
        Some("scheduled") => "Schedule saved.",
        Some("unscheduled") => "Schedule off. The backups that were saved stay.",
        Some("restored") => "Restored. The memory that was here before is listed below.",
        Some("returned") => {
            "Restored, with memories that you had forgotten. Forget them again if they should stay \
             forgotten. The memory that was here before is listed below."
        }
        Some("revoked") => "Token revoked. Programs can no longer use it.",
        Some(number) => {
            let number = number.parse().unwrap_or_default();
            let entry = visit.with_undo(|list| list.get(number)).flatten();
            return html! { @if let Some(entry) = entry { (render_undo_toast(visit, &entry)) } };
        }
    };
    toast(&html! { (message) })
}

fn render_undo_toast(visit: &PageRequest, entry: &UndoEntry) -> Markup {
    toast(&html! {
        (entry.action.message)
        @if !entry.action.redaction_note.is_empty() { " " (text::shorten(&entry.action.redaction_note, 600)) }
        " " (render_undo_button(visit, entry))
    })
}

/// Renders the button that undoes an action.
pub(crate) fn render_undo_button(visit: &PageRequest, entry: &UndoEntry) -> Markup {
    form(
        visit,
        "/undo",
        &html! {
            input type="hidden" name="number" value=(entry.number);
            button data-command="Undo" { "Undo" }
        },
    )
}

/// Adds an action to the undo list and redirects to its record.
pub(crate) fn push_and_redirect(visit: &PageRequest, action: UserAction) -> Redirect {
    let path = format!("/records/{}", action.record);
    let number = push_action(visit, action);
    Redirect::to(&format!("{path}?done={number}"))
}

/// Adds an action to the undo list and returns its number.
pub(crate) fn push_action(visit: &PageRequest, action: UserAction) -> u64 {
    let now = visit.page.now();
    let number = visit.with_undo(|list| list.push(action, now));
    number.unwrap_or_default()
}

/// Renders every action that can be undone, each with its time, the newest first.
pub(crate) async fn list_undo_lines(
    visit: &PageRequest,
) -> PageResult<Vec<(DateTime<Utc>, Markup)>> {
    let all = visit.with_undo(|list| list.list()).unwrap_or_default();
    let calendar = visit.page.calendar();
    let mut lines = Vec::new();
    for entry in &all {
        let line = ChangeLine {
            at: entry.at,
            what: entry.action.message.trim_end_matches('.'),
            from: Some("by you on this page"),
            body: render_undone_part(visit, entry).await?,
            undo: render_undo_button(visit, entry),
        };
        lines.push((entry.at, line.render(&calendar)));
    }
    Ok(lines)
}

/// Renders what an action changed: the difference of a text or of tags, or the memory itself.
async fn render_undone_part(visit: &PageRequest, entry: &UndoEntry) -> PageResult<Markup> {
    let action = &entry.action;
    let path = format!("/records/{}", action.record);
    let id = action.record.to_string();
    let found = visit
        .run_optional::<History>(HistoryArguments { id })
        .await?;
    let present = found.as_ref().map(|found| &found.present);
    let title = present.map_or("Open the memory", rows::title);
    Ok(html! {
        @match action.inverse.as_slice() {
            [InverseAction::Unforget { record, .. }] => {
                p { a href=(format!("/forgotten/{}", entry.number)) { del { (text::shorten(rows::title(record), 100)) } } }
            }
            _ if !action.forgotten.is_empty() => {
                p { a href=(format!("/forgotten/{}", entry.number)) { "See what was forgotten" } }
            }
            [InverseAction::Revise { old, new }] => {
                @let made = found.as_ref().and_then(|found| find_version(found, *new));
                @let made = made.filter(|made| made.text != old.text);
                p { a href=(path) {
                    @if let Some(made) = made { (render_difference(&old.text, &made.text)) }
                    @else { (text::shorten_title(rows::title(old), 100)) }
                } }
            }
            [InverseAction::Tag { before, after, .. }] => {
                p { a href=(path) { (text::shorten_title(title, 100)) } }
                p class="why" { "Tags: " (render_difference(&before.join(", "), &after.join(", "))) }
            }
            _ => { p { a href=(path) { (text::shorten_title(title, 100)) } } }
        }
    })
}

/// Finds one of the versions of a memory.
pub(crate) fn find_version(versions: &records::Versions, id: RecordId) -> Option<&MemoryRecord> {
    let mut all = std::iter::once(&versions.present).chain(&versions.earlier);
    all.find(|version| version.id == id)
}

/// Returns whether a change of the journal is one that can be undone here.
pub(crate) fn lists_change(visit: &PageRequest, change: &JournalEntry) -> bool {
    let all = visit.with_undo(|list| list.list()).unwrap_or_default();
    all.iter().any(|entry| {
        let (action, apart) = (&entry.action, entry.at - change.at);
        let mut ids = action.forgotten.iter().chain([&action.record]);
        apart.abs() < TimeDelta::seconds(NEAR) && ids.any(|id| change.ids.contains(id))
    })
}

pub(crate) async fn undo(posted: Posted) -> PageResult<Redirect> {
    let number: u64 = posted.parse_value("number")?;
    let visit = &posted.visit;
    let entry = visit.with_undo(|list| list.get(number)).flatten();
    let entry = entry.ok_or_else(expired_error)?;
    let whole_undo = if entry.action.forgotten.is_empty() {
        "undone"
    } else {
        "again"
    };
    let (mut first, mut is_whole) = (None, true);
    for inverse in entry.action.inverse {
        let (record, whole) = apply_inverse(visit, inverse).await?;
        first = first.or(Some(record));
        is_whole &= whole;
    }
    visit.with_undo(|list| list.remove(number));
    let outcome = if is_whole { whole_undo } else { "partly" };
    Ok(Redirect::to(&match first {
        Some(record) => format!("/records/{record}?done={outcome}"),
        None => format!("/?done={outcome}"),
    }))
}

pub(crate) fn expired_error() -> PageError {
    PageError::new(
        StatusCode::GONE,
        "This can no longer be undone. Only the last 32 changes can be undone, and nothing that \
         was erased from disk.",
    )
}

/// Undoes one step; returns its record, and whether it was undone completely.
async fn apply_inverse(
    visit: &PageRequest,
    inverse: InverseAction,
) -> PageResult<(RecordId, bool)> {
    let record = match inverse {
        InverseAction::Revise { old, new } => undo_revision(visit, &old, new).await?,
        InverseAction::Unpublish { record, global } => {
            let arguments = sharing::UnpublishArguments {
                id: global.to_string(),
            };
            visit.run::<sharing::Unpublish>(arguments).await?;
            record
        }
        InverseAction::Tag {
            record,
            before,
            after,
        } => {
            let id = record.to_string();
            let present = visit.run::<History>(HistoryArguments { id }).await?.present;
            let mut tags = present.body.tags;
            tags.retain(|tag| before.contains(tag) || !after.contains(tag));
            tags.extend(before.into_iter().filter(|tag| !after.contains(tag)));
            replace_tags(visit, present.id, tags).await?;
            present.id
        }
        InverseAction::WithdrawRating { record, run } => {
            withdraw_rating(visit, run).await?;
            record
        }
        InverseAction::Unlink(link) => {
            remove_link(visit, &link).await?;
            link.from
        }
        InverseAction::Link(link) => {
            add_link(visit, &link).await?;
            link.from
        }
        InverseAction::Unforget { record, links } => {
            let arguments = forgetting::UnforgetArguments { record: *record };
            let again = visit.run::<forgetting::Unforget>(arguments).await?.id;
            let mut is_whole = true;
            for old in links {
                let (from, to) = if old.outgoing {
                    (again, old.record)
                } else {
                    (old.record, again)
                };
                let relation = old.relation;
                let made = add_link(visit, &ClusterLink { from, to, relation }).await;
                // The record at the other end may be gone by now.
                is_whole &= made.is_ok_and(|_| true) || {
                    let id = old.record.to_string();
                    let arguments = HistoryArguments { id };
                    visit.run_optional::<History>(arguments).await?.is_none()
                };
            }
            return Ok((again, is_whole));
        }
    };
    Ok((record, true))
}

/// Takes a rating back.
pub(crate) async fn withdraw_rating(visit: &PageRequest, run_id: String) -> PageResult<()> {
    let arguments = WithdrawOutcomeArguments { run_id };
    visit.run::<WithdrawOutcome>(arguments).await.map(drop)
}

/// Takes back what one version changed; what later ones changed elsewhere stays. Returns the id of
/// the version that is made for that.
async fn undo_revision(
    visit: &PageRequest,
    old: &MemoryRecord,
    new: RecordId,
) -> PageResult<RecordId> {
    let id = new.to_string();
    let versions = visit.run::<History>(HistoryArguments { id }).await?;
    let mut all = std::iter::once(&versions.present).chain(&versions.earlier);
    let made = all
        .find(|version| version.id == new)
        .ok_or_else(expired_error)?;
    let states = [old, made, &versions.present].map(list_revised_fields);
    let changes = take_back(&states).ok_or_else(|| {
        PageError::new(
            StatusCode::CONFLICT,
            "This was changed again later. Undo the later change first, or edit the memory.",
        )
    })?;
    revise_record(visit, new, changes).await
}

/// Lists the fields of a record that a form of the page can revise, in the ingest form.
fn list_revised_fields(record: &MemoryRecord) -> Value {
    let seen = (record.visibility == Visibility::Workspace).then_some(record.visibility);
    json!({
        "text": record.text,
        "details": record.details,
        "metadata": record.metadata,
        "retention": record.retention,
        "visibility": seen,
    })
}

/// Returns the fields that a change must give back: those that it changed. `None` if one of them
/// was changed again since. The states are those before it, after it and now.
fn take_back([before, after, now]: &[Value; 3]) -> Option<Value> {
    let mut changes = serde_json::Map::new();
    for (name, value) in before.as_object()? {
        if after[name] == *value {
            continue;
        }
        if now[name] != after[name] {
            return None;
        }
        changes.insert(name.clone(), value.clone());
    }
    Some(Value::Object(changes))
}

/// Replaces the present version by one with these fields of the ingest form changed, and returns
/// its id.
pub(crate) async fn revise_record(
    visit: &PageRequest,
    id: RecordId,
    changes: Value,
) -> PageResult<RecordId> {
    let Value::Object(changes) = changes else {
        return Err(PageError::invalid("No change to this memory was given."));
    };
    let id = id.to_string();
    let present = visit
        .run::<records::Show>(records::ShowArguments { id })
        .await?;
    let id = present.id.to_string();
    let arguments = records::ReviseArguments { id, changes };
    Ok(visit.run::<records::Revise>(arguments).await?.record.id)
}

/// Replaces the tags of a record.
pub(crate) async fn replace_tags(
    visit: &PageRequest,
    record: RecordId,
    tags: Vec<String>,
) -> PageResult<()> {
    let id = record.to_string();
    let lesson = Lesson {
        tags: Some(tags),
        ..Lesson::default()
    };
    let arguments = lessons::UpdateArguments {
        id,
        expected: None,
        lesson,
    };
    visit.run::<lessons::Update>(arguments).await.map(drop)
}

/// Links two records and returns whether the link is new.
pub(crate) async fn add_link(visit: &PageRequest, link: &ClusterLink) -> PageResult<bool> {
    let arguments = links::LinkArguments {
        from: link.from.to_string(),
        to: link.to.to_string(),
        relation: Some(link.relation.clone()),
    };
    Ok(visit.run::<links::Link>(arguments).await?.linked)
}

pub(crate) async fn remove_link(visit: &PageRequest, link: &ClusterLink) -> PageResult<()> {
    let arguments = links::UnlinkArguments {
        from: link.from.to_string(),
        to: link.to.to_string(),
        relation: link.relation.clone(),
    };
    visit.run::<links::Unlink>(arguments).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_gives_back_what_its_change_took_and_leaves_later_changes() {
        let state = |text: &str, retention: &str| json!({"text": text, "retention": retention});
        let taken = |before, after, now| take_back(&[before, after, now]);
        assert_eq!(
            taken(
                state("old", "normal"),
                state("new", "normal"),
                state("new", "pinned")
            ),
            Some(json!({"text": "old"}))
        );
        assert_eq!(
            taken(
                state("old", "normal"),
                state("new", "normal"),
                state("newer", "normal")
            ),
            None,
            "the text was changed again"
        );
    }
}
