//! Memory: everything by day and session, what was learned, and by project.

use std::collections::BTreeSet;

use reprise_operations::operations::{list, tags};
use reprise_types::Page as Listed;

use crate::prelude::*;
use crate::rows::{Told, When};

const TAGS_SHOWN: usize = 60;
const PROJECTS_SHOWN: usize = 40;
/// Names that a field completes from.
const KNOWN: usize = 200;

async fn listed(visit: &Visit, request: ListRequest) -> Answer<Listed> {
    let listed = list::records(&visit.memory(), request).await;
    Ok(found(listed.map_err(Into::into))?.unwrap_or_default())
}

pub(crate) async fn timeline(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let calendar = visit.page.calendar();
    let request = ListRequest {
        filter: pairs.filter(&calendar)?,
        limit: rows::PAGE,
        after: pairs.read("after")?,
    };
    let (listed, tagged, known) = tokio::join!(
        listed(&visit, request),
        visit.ask_if::<tags::Tags>(tags::TagsArguments::default()),
        Known::of(&visit)
    );
    let (listed, tagged, known) = (listed?, tagged?, known?);
    let bar = html! {
        form class="stack" role="search" action="/timeline" {
            div class="bar" {
                (pairs::chips(&pairs, "/timeline"))
                span class="faint" role="status" {
                    (text::count(listed.considered.into())) " records"
                    @if pairs.but(&["after"]).next().is_some() {
                        " fit. " a href="/timeline" { "Clear" }
                    }
                }
            }
        }
    };
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        @if let Some(tagged) = tagged { (completions(tagged)) }
        (rows::known(listed.records.iter()))
        (split(&visit, &html! {
            @if listed.records.is_empty() {
                div class="panel empty" {
                    h2 { "No record fits" }
                    p { "Take a filter away, or " a href="/search" { "ask in words" } "." }
                }
            } @else { (by_day(&listed, pairs.get("after").is_some(), &known)) }
            @for note in &listed.notes { p class="faint" { (note) } }
            (pairs::pages(&pairs, "/timeline", listed.next))
        }))
    };
    Ok(room_with(&visit, "/timeline", "Memory", &bar, &body))
}

/// What the fields of a filter complete from: the projects and the tags of a memory.
pub(super) fn completions(known: tags::Tagged) -> Markup {
    html! {
        (pairs::known("project", projects_of(&known).into_iter().take(KNOWN)))
        (pairs::known("tag", known.tags.into_iter().map(|one| one.tag).take(KNOWN)))
    }
}

/// A list with room for a record beside it.
fn split(visit: &Visit, rows: &Markup) -> Markup {
    html! {
        div class="split" {
            div { (rows::list(visit, rows)) }
            div id="side" class="side" {
                div class="side-hint empty" {
                    p class="faint" {
                        kbd { "j" } " " kbd { "k" } " move, "
                        kbd { "Enter" } " opens a record here, "
                        kbd { "x" } " selects, " kbd { "?" } " shows every key."
                    }
                }
            }
        }
    }
}

/// A page of the timeline; a session at an end of it may go on on the next, or come from the last.
fn by_day(listed: &Listed, is_later: bool, known: &Known) -> Markup {
    let groups = rows::groups(&listed.records, &known.calendar, true);
    let last = groups.len().saturating_sub(1);
    let told = groups.iter().enumerate().map(|(place, group)| {
        let is_cut = place == 0 && is_later || place == last && listed.next.is_some();
        Told::all(group, !is_cut)
    });
    rows::by_day(&told.collect::<Vec<_>>(), known)
}

/// What a record of knowledge may be: how a run went stands with the runs.
fn taught() -> Vec<RecordType> {
    let all = RecordType::ALL.iter().copied();
    all.filter(|one| *one != RecordType::Run).collect()
}

pub(crate) async fn knowledge(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let typed = pairs.read::<RecordType>("type")?;
    let known = vec![
        MemoryKind::Finding,
        MemoryKind::Pattern,
        MemoryKind::Strategy,
    ];
    let request = ListRequest {
        filter: MemoryFilter {
            kinds: typed.is_none().then_some(known),
            types: Some(typed.map_or_else(taught, |one| vec![one])),
            ..MemoryFilter::default()
        },
        limit: rows::PAGE,
        after: pairs.read("after")?,
    };
    // A finished task and a failure happened, and are learnings all the same (S60).
    let done = ListRequest {
        filter: MemoryFilter {
            kinds: Some(vec![MemoryKind::Episode]),
            types: Some(vec![RecordType::Lesson]),
            ..MemoryFilter::default()
        },
        limit: rows::PAGE,
        after: None,
    };
    let done = async {
        match typed {
            None => listed(&visit, done).await,
            Some(_) => Ok(Listed::default()),
        }
    };
    let asked = tags::TagsArguments { review: true };
    let (listed, done, tags, known) = tokio::join!(
        listed(&visit, request),
        done,
        visit.ask_if::<tags::Tags>(asked),
        Known::of(&visit)
    );
    let (listed, done, tags, known) = (listed?, done?, tags?, known?);
    let merged: Option<usize> = pairs.read("merged")?;
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        @if let Some(count) = merged {
            (toast(&html! { (text::of(count, "record", "records")) " changed." }))
        }
        (split(&visit, &html! {
            @if listed.records.is_empty() && done.records.is_empty() {
                div class="panel empty" {
                    h2 { "Nothing of this sort was learned yet" }
                    p {
                        code { (visit.command("reprise learn \"\u{2026}\"")) } " keeps a lesson."
                    }
                }
            } @else {
                ol class="rows" { (learned(&listed.records, &known)) }
            }
            (pairs::pages(&pairs, "/knowledge", listed.next))
            @if !done.records.is_empty() {
                h2 { "Done and failed" }
                ol class="rows" { (learned(&done.records, &known)) }
            }
        }))
        @if let Some(tags) = &tags { (in_use(&visit, tags)) }
    };
    let bar = sorts(typed);
    Ok(room_with(&visit, "/knowledge", "Knowledge", &bar, &body))
}

/// The sorts of knowledge, to choose one.
fn sorts(typed: Option<RecordType>) -> Markup {
    let sorts = [
        (None, "all"),
        (Some(RecordType::Decision), "decisions"),
        (Some(RecordType::Lesson), "lessons"),
        (Some(RecordType::Note), "notes"),
    ];
    html! {
        nav class="tabs" aria-label="Sorts" {
            @for (one, says) in sorts {
                @let path = one.map_or("/knowledge".to_owned(), |one| {
                    format!("/knowledge?type={}", one.name())
                });
                a href=(path) aria-current=[(one == typed).then_some("page")] { (says) }
            }
        }
    }
}

/// What was learned, each with its goal beside it.
fn learned(records: &[MemoryRecord], known: &Known) -> Markup {
    html! {
        @for record in records {
            (rows::row(record, When::Ago, known, &html! {
                @if let Some(goal) = goal(record) { span class="session" { "from: " (text::line(goal, 30)) } }
            }))
        }
    }
}

/// What was worked on: a learning's `goal`, an observation's `source_goal`.
fn goal(record: &MemoryRecord) -> Option<&str> {
    let details = record.details.as_ref()?;
    let mut named = ["goal", "source_goal"].into_iter();
    named.find_map(|name| details.get(name)?.as_str())
}

fn in_use(visit: &Visit, tags: &tags::Tagged) -> Markup {
    let alike = tags.alike.as_deref().unwrap_or_default();
    html! {
        @if !alike.is_empty() {
            section {
                h2 { "Tags that may be one word" }
                ul class="review" {
                    @for pair in alike {
                        li class="need" {
                            b { (text::line(&pair.tag, 60)) " and " (text::line(&pair.into, 60)) }
                            p {}
                            (form(visit, "/knowledge/merge", &html! {
                                input type="hidden" name="from" value=(pair.tag);
                                input type="hidden" name="into" value=(pair.into);
                                button { "Make it " (text::line(&pair.into, 60)) }
                            }))
                        }
                    }
                }
            }
        }
        @if !tags.tags.is_empty() {
            section {
                h2 { "Tags" }
                div class="chips" {
                    @for one in tags.tags.iter().take(TAGS_SHOWN) {
                        a class="chip" href=(format!("/timeline?tag={}", encoded(&one.tag))) {
                            (text::line(&one.tag, 60)) "\u{a0}"
                            span class="faint" { (text::count(one.count as u64)) }
                        }
                    }
                }
            }
        }
    }
}

pub(crate) async fn merge(posted: Posted) -> Answer<Redirect> {
    let asked = tags::MergeTagsArguments {
        from: posted.get("from").to_owned(),
        into: posted.get("into").to_owned(),
    };
    let merged = posted.visit.ask::<tags::MergeTags>(asked).await?.merged;
    Ok(Redirect::to(&format!("/knowledge?merged={merged}")))
}

/// The projects that records name, in their metadata or by a tag.
pub(super) fn projects_of(known: &tags::Tagged) -> Vec<String> {
    let tagged = known.tags.iter();
    let tagged = tagged.filter_map(|one| one.tag.strip_prefix("project:").map(str::to_owned));
    let all: BTreeSet<String> = known.projects.iter().cloned().chain(tagged).collect();
    all.into_iter().collect()
}

pub(crate) async fn projects(visit: Visit) -> Answer<Markup> {
    let asked = tags::TagsArguments::default();
    let known = visit.ask_if::<tags::Tags>(asked).await?;
    let names = known.map(|known| projects_of(&known)).unwrap_or_default();
    let mut projects = Vec::new();
    for name in names.iter().take(PROJECTS_SHOWN) {
        let request = ListRequest {
            filter: MemoryFilter {
                project: Some(name.clone()),
                ..MemoryFilter::default()
            },
            limit: 1,
            after: None,
        };
        projects.push((name, listed(&visit, request).await?));
    }
    let newest = |listed: &Listed| listed.records.first().map(|record| record.timestamp);
    projects.sort_by_key(|(_, listed)| std::cmp::Reverse(newest(listed)));
    let calendar = visit.page.calendar();
    let body = html! {
        @if projects.is_empty() {
            div class="panel empty" {
                h2 { "No record names a project yet" }
                p { "Agents that are connected name the folder that they work in." }
            }
        } @else {
            (table("Projects", &["Project", "#Records", "Newest", "Said last"],
                projects.iter().map(|(name, listed)| html! {
                    td {
                        a href=(format!("/timeline?project={}", encoded(name))) {
                            (text::line(name, 80))
                        }
                    }
                    td class="number" { (text::count(listed.considered.into())) }
                    @match listed.records.first() {
                        Some(record) => {
                            td { (calendar.ago(record.timestamp)) }
                            td {
                                a href=(rows::path(record)) {
                                    (text::line(rows::title(record), 90))
                                }
                            }
                        }
                        None => { td {} td {} }
                    }
                })
            ))
            @if names.len() > PROJECTS_SHOWN {
                p class="faint" { "and " (names.len() - PROJECTS_SHOWN) " more" }
            }
        }
    };
    Ok(room(&visit, "/projects", "Projects", &body))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use chrono::{TimeZone, Utc};
    use reprise_types::{Calendar, MemorySource, RecordBody, RecordId, Zone};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_learning_is_shown_with_its_goal() {
        let now = Utc.with_ymd_and_hms(2026, 1, 20, 10, 0, 0).unwrap();
        let shown = |details: Value| {
            let (text, kind) = ("Completed: Create model", MemoryKind::Episode);
            let mut body = RecordBody::new(text, MemorySource::WorkerResult, kind);
            body.details = Some(details);
            let records = [body.kept(RecordId::from_u128(1), now)];
            let zone = Zone::Utc;
            let (calendar, published) = (Calendar { now, zone }, HashSet::new());
            let known = Known {
                calendar,
                published,
            };
            learned(&records, &known).into_string()
        };
        let goal = "build a forum for the people of the village";
        let html = shown(json!({"type": "learning", "category": "task_completion", "goal": goal}));
        assert!(
            html.contains("from: ") && html.contains("build a forum for"),
            "{html}"
        );
        assert!(!html.contains("village"), "{html}");
        assert!(html.contains("category-task_completion"), "{html}");
        assert!(shown(json!({"source_goal": "ship"})).contains("from: "));
        assert!(!shown(json!({"type": "learning"})).contains("from: "));
    }
}
