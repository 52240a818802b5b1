//! What was learned, by type; tags in review.

use axum::extract::{Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use reprise_types::{ListRequest, MemoryFilter, MemoryKind};

use super::timeline::Pairs;
use super::{diary, list, review};
use crate::door::Visit;
use crate::memory::TagCounts;
use crate::page::{Answer, Page, Posted};
use crate::shell::{self, Room, form};
use crate::strings::{self as s, words};
use crate::text;
use crate::together::both;

const TAGS_SHOWN: usize = 60;

pub(crate) async fn show(
    State(page): State<Page>,
    visit: Visit,
    Query(pairs): Query<Pairs>,
) -> Answer<Markup> {
    let (memory, user) = (page.memory(), &visit.user);
    let known = vec![
        MemoryKind::Finding,
        MemoryKind::Pattern,
        MemoryKind::Strategy,
    ];
    let request = ListRequest {
        filter: MemoryFilter {
            kinds: Some(known),
            ..MemoryFilter::default()
        },
        limit: list::PAGE,
        after: pairs.read("after")?,
    };
    let listed = memory.list(user, request);
    let (listed, (tags, diary)) = both(listed, both(memory.tags(user), memory.diary(user))).await;
    let (listed, tags, diary) = (listed?, tags?, diary?);
    let calendar = memory.calendar();
    let merged: Option<usize> = pairs.read("merged")?;
    let again: Option<usize> = pairs.read("again")?;
    let body = html! {
        @if let Some(count) = merged { div class="notice" role="status" { (s::merged(count)) } }
        @if let Some(count) = again { div class="notice" role="status" { (s::again(count)) } }
        @if pairs.get("done") == Some("tidied") {
            div class="notice" role="status" {
                (s::DID_TIDY)
                @if let Some(latest) = diary.iter().find(|one| !one.is_undone) {
                    (review::undo(&visit, &latest.action))
                }
            }
        }
        p { a href="/knowledge/review" { (s::TO_REVIEW) } }
        section {
            h2 { (s::TYPED) }
            @if listed.records.is_empty() { p class="faint" { (s::NO_KNOWLEDGE) } }
            @for record in &listed.records {
                (list::item(record, &calendar))
                @if let Some(goal) = goal(record) {
                    p class="faint" { (s::from_goal("")) (text::line(goal, 30)) }
                }
            }
            @if let Some(next) = listed.next {
                nav class="pages" aria-label=(s::OLDER) {
                    a rel="next"
                        href=(format!("/knowledge?after={}", list::encoded(&next.to_string()))) {
                        (s::OLDER)
                    }
                }
            }
        }
        (diary::section(&visit, &diary))
        (in_use(&visit, &tags))
    };
    Ok(shell::room(
        &visit,
        Some(Room::Knowledge),
        s::KNOWLEDGE,
        &body,
    ))
}

fn goal(record: &reprise_types::MemoryRecord) -> Option<&str> {
    record.details.as_ref()?.get("source_goal")?.as_str()
}

fn in_use(visit: &Visit, tags: &TagCounts) -> Markup {
    html! {
        section {
            h2 { (s::TAGS_ALIKE) }
            @if tags.alike.is_empty() { p class="faint" { (s::NO_ALIKE) } }
            @else {
                ul class="review" {
                    @for pair in &tags.alike {
                        li {
                            (text::line(&s::alike(&pair.tag, &pair.into), 120))
                            (form(visit, "/knowledge/merge", &html! {
                                input type="hidden" name="from" value=(pair.tag);
                                input type="hidden" name="into" value=(pair.into);
                                button aria-label=(s::alike(&pair.tag, &pair.into)) { (s::MERGE) }
                            }))
                        }
                    }
                }
            }
        }
        @if !tags.counts.is_empty() {
            section {
                h2 { (s::TAGS_IN_USE) }
                ul class="tags" {
                    @for (tag, count) in tags.counts.iter().take(TAGS_SHOWN) {
                        li { a href=(format!("/timeline?tag={}", list::encoded(tag))) {
                            (text::line(tag, 60)) " " (words::count(*count as u64))
                        } }
                    }
                }
            }
        }
    }
}

pub(crate) async fn merge(State(page): State<Page>, posted: Posted) -> Answer<Redirect> {
    let (from, into) = (posted.get("from"), posted.get("into"));
    let merged = page
        .memory()
        .merge_tags(&posted.visit.user, from, into)
        .await?;
    Ok(Redirect::to(&format!("/knowledge?merged={merged}")))
}
