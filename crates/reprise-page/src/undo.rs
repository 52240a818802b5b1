//! Taking back what was done in a session, for as long as that lasts: the acts that it holds, the
//! toast that offers it, the list of all of it, and the way back of each.

use std::collections::VecDeque;

use reprise_operations::Lesson;
use reprise_operations::operations::graph::Tie;
use reprise_operations::operations::{forgetting, lessons, links, records, shared};
use reprise_types::Link;

use crate::prelude::*;

/// Acts that can be taken back; the oldest makes room.
const HELD_MAX: usize = 32;

/// How something that was done is taken back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Back {
    /// By a version that is as `old` was.
    Revise {
        old: Box<MemoryRecord>,
        new: RecordId,
    },
    Unpublish {
        record: RecordId,
        global: RecordId,
    },
    Tag {
        record: RecordId,
        tags: Vec<String>,
    },
    Link(Tie),
    Unlink(Tie),
    /// This is what it said, and what it was linked with.
    Unforget {
        record: Box<MemoryRecord>,
        links: Vec<Link>,
    },
}

/// What was done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Act {
    /// The record that it is about; of several, the first.
    pub(crate) record: RecordId,
    pub(crate) says: String,
    /// A sentence on the secrets that were taken out of a new wording.
    pub(crate) taken_out: String,
    /// The ids of all that was forgotten.
    pub(crate) gone: Vec<RecordId>,
    /// What others still find of what was forgotten.
    pub(crate) published: Vec<RecordId>,
    /// In the order in which it was done.
    pub(crate) back: Vec<Back>,
}

impl Act {
    pub(crate) fn new(record: RecordId, says: &str, back: Back) -> Self {
        Self {
            record,
            says: says.to_owned(),
            taken_out: String::new(),
            gone: Vec::new(),
            published: Vec::new(),
            back: vec![back],
        }
    }

    /// Several as one.
    pub(crate) fn many(acts: Vec<Self>) -> Self {
        let first = acts.first();
        let says = first.map_or("", |act| &act.says);
        Self {
            record: first.map_or(RecordId::from_parts(0, 0), |act| act.record),
            says: format!("{} records: {says}", acts.len()),
            taken_out: String::new(),
            gone: acts.iter().flat_map(|act| act.gone.clone()).collect(),
            published: acts.iter().flat_map(|act| act.published.clone()).collect(),
            back: acts.into_iter().flat_map(|act| act.back).collect(),
        }
    }
}

/// An act with its number in the session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Done {
    pub(crate) number: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) act: Act,
}

/// The acts of a session that can be taken back.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    next: u64,
    done: VecDeque<Done>,
}

impl Undo {
    /// Notes an act; answers its number.
    pub(crate) fn push(&mut self, act: Act, at: DateTime<Utc>) -> u64 {
        if self.done.len() >= HELD_MAX {
            self.done.pop_front();
        }
        self.next += 1;
        let number = self.next;
        self.done.push_back(Done { number, at, act });
        number
    }

    pub(crate) fn get(&self, number: u64) -> Option<Done> {
        self.done.iter().find(|done| done.number == number).cloned()
    }

    /// Takes an act out: it is being undone, or can no longer be.
    pub(crate) fn remove(&mut self, number: u64) {
        self.done.retain(|done| done.number != number);
    }

    /// Texts of forgotten records leave this process too.
    pub(crate) fn drop_forgotten(&mut self) {
        self.done.retain(|done| done.act.gone.is_empty());
    }

    /// Newest first.
    pub(crate) fn all(&self) -> Vec<Done> {
        self.done.iter().rev().cloned().collect()
    }
}

/// What a redirect told was just done, with the way to take it back.
pub(crate) fn told(visit: &Visit, number: Option<&str>) -> Markup {
    let says = match number {
        None => return html! {},
        Some("undone") => "Undone.",
        Some("again") => "Undone: it is kept again under a new id, without earlier versions.",
        Some("partly") => {
            "Undone: it is kept again under a new id, without earlier versions and a link that \
             could not be made again."
        }
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
        (done.act.says)
        @if !done.act.taken_out.is_empty() { " " (text::line(&done.act.taken_out, 600)) }
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
    let path = format!("/records/{}", act.record);
    let number = noted(visit, act);
    Redirect::to(&format!("{path}?done={number}"))
}

/// Notes an act of this session; answers its number.
pub(crate) fn noted(visit: &Visit, act: Act) -> u64 {
    let now = visit.page.now();
    let number = visit.undo(|undo| undo.push(act, now));
    number.unwrap_or_default()
}

/// Everything that this session can take back, newest first.
pub(crate) fn all(visit: &Visit) -> Vec<Markup> {
    let all = visit.undo(|undo| undo.all()).unwrap_or_default();
    let calendar = visit.page.calendar();
    let shown = all.iter().map(|done| {
        html! {
            div class="card" {
                p {
                    span class="faint" { (calendar.clock_of(done.at)) } " " (done.act.says) " "
                    @if done.act.gone.is_empty() {
                        a href=(format!("/records/{}", done.act.record)) { "the record" }
                    } @else {
                        a href=(format!("/forgotten/{}", done.number)) { "what went" }
                    }
                    @if let [Back::Unforget { record, .. }] = done.act.back.as_slice() {
                        ": " (text::line(rows::title(record), 100))
                    }
                }
                div class="acts" { (take_back(visit, done)) }
            }
        }
    });
    shown.collect()
}

pub(crate) async fn undo(posted: Posted) -> Answer<Redirect> {
    let number: u64 = posted.read("number")?;
    let visit = &posted.visit;
    let done = visit.undo(|undo| undo.get(number)).flatten();
    let done = done.ok_or_else(gone)?;
    let says = if done.act.gone.is_empty() {
        "undone"
    } else {
        "again"
    };
    let (mut first, mut is_whole) = (None, true);
    for back in done.act.back {
        let (record, whole) = taken_back(visit, back).await?;
        first = first.or(Some(record));
        is_whole &= whole;
    }
    visit.undo(|undo| undo.remove(number));
    let said = if is_whole { says } else { "partly" };
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

/// Takes something back; answers its record, and whether all of it came back.
async fn taken_back(visit: &Visit, back: Back) -> Answer<(RecordId, bool)> {
    let record = match back {
        Back::Revise { old, new } => {
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
        Back::Unpublish { record, global } => {
            let asked = shared::UnpublishArguments {
                id: global.to_string(),
            };
            visit.ask::<shared::Unpublish>(asked).await?;
            record
        }
        Back::Tag { record, tags } => {
            tagged(visit, record, tags).await?;
            record
        }
        Back::Unlink(tie) => {
            unlinked(visit, &tie).await?;
            tie.from
        }
        Back::Link(tie) => {
            linked(visit, &tie).await?;
            tie.from
        }
        Back::Unforget { record, links } => {
            let asked = forgetting::UnforgetArguments { record: *record };
            let again = visit.ask::<forgetting::Unforget>(asked).await?.id;
            let mut is_whole = true;
            for link in links {
                let (from, to) = if link.outgoing {
                    (again, link.record)
                } else {
                    (link.record, again)
                };
                let relation = link.relation;
                let made = linked(visit, &Tie { from, to, relation }).await;
                // The other end may be gone by now.
                is_whole &= made.is_ok_and(|_| true) || {
                    let id = link.record.to_string();
                    let asked = HistoryArguments { id };
                    visit.ask_if::<History>(asked).await?.is_none()
                };
            }
            return Ok((again, is_whole));
        }
    };
    Ok((record, true))
}

/// Writes a version with these fields of the ingest form in the place of the present one; answers
/// its id.
pub(crate) async fn revised(visit: &Visit, id: RecordId, changes: Value) -> Answer<RecordId> {
    let Value::Object(changes) = changes else {
        return Err(Trouble::invalid(
            "Nothing of this record was to be changed.",
        ));
    };
    let id = id.to_string();
    let present = visit
        .ask::<records::Show>(records::ShowArguments { id })
        .await?;
    let id = present.id.to_string();
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
pub(crate) async fn linked(visit: &Visit, tie: &Tie) -> Answer<bool> {
    let asked = links::LinkArguments {
        from: tie.from.to_string(),
        to: tie.to.to_string(),
        relation: Some(tie.relation.clone()),
    };
    Ok(visit.ask::<links::Link>(asked).await?.linked)
}

pub(crate) async fn unlinked(visit: &Visit, tie: &Tie) -> Answer<()> {
    let asked = links::UnlinkArguments {
        from: tie.from.to_string(),
        to: tie.to.to_string(),
        relation: tie.relation.clone(),
    };
    visit.ask::<links::Unlink>(asked).await.map(drop)
}
