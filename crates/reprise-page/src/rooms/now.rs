//! The first room: what is kept, what came in the last hour, what needs attention.

use axum::extract::{Query, State};
use chrono::TimeDelta;
use maud::{Markup, html};
use reprise_types::{Calendar, ListRequest, MemoryFilter, MemoryRecord};

use super::timeline::Pairs;
use super::{list, undo};
use crate::chart::{self, Line};
use crate::door::Visit;
use crate::memory::{Growth, Overview};
use crate::page::{Answer, Page};
use crate::shell::{self, Room};
use crate::{strings as s, words};

/// Records shown where the last hour brought none.
const LATEST: usize = 5;

pub(crate) async fn show(
    State(page): State<Page>,
    visit: Visit,
    Query(pairs): Query<Pairs>,
) -> Answer<Markup> {
    let (memory, user) = (page.memory(), &visit.user);
    let Some(overview) = memory.overview(user).await? else {
        return Ok(shell::room(&visit, Some(Room::Now), s::NOW, &empty()));
    };
    let hour = MemoryFilter {
        since: Some(memory.now() - TimeDelta::hours(1)),
        ..MemoryFilter::default()
    };
    let listed = |filter, limit| ListRequest {
        filter,
        limit,
        after: None,
    };
    let news = memory.list(user, listed(hour, list::PAGE)).await?;
    let latest = if news.records.is_empty() {
        let all = MemoryFilter::default();
        memory.list(user, listed(all, LATEST)).await?.records
    } else {
        Vec::new()
    };
    let growth = memory.growth(user).await?;
    let calendar = memory.calendar();
    let body = html! {
        (undo::notice(&page, &visit, pairs.get("done")))
        div data-live="now" {
            (troubles(&overview))
            (numbers(&overview, &page))
            section {
                h2 { (s::NEWS) }
                (records(&news.records, &calendar))
                @if news.records.is_empty() { p class="faint" { (s::NO_NEWS) } }
            }
            @if !latest.is_empty() {
                section { h2 { (s::LATEST) } (records(&latest, &calendar)) }
            }
        }
        (grown(&growth))
        (undo::done(&page, &visit))
    };
    Ok(shell::room(&visit, Some(Room::Now), s::NOW, &body))
}

fn records(records: &[MemoryRecord], calendar: &Calendar) -> Markup {
    html! { @for record in records { (list::item(record, calendar)) } }
}

fn empty() -> Markup {
    html! {
        section data-live="now" {
            h2 { (s::EMPTY_TITLE) }
            p { (s::EMPTY) }
            dl class="commands" {
                @for (command, says) in s::EMPTY_COMMANDS {
                    dt { code { (command) } }
                    dd { (says) }
                }
            }
        }
    }
}

fn troubles(overview: &Overview) -> Markup {
    html! {
        @if !overview.troubles.is_empty() {
            section class="troubles" {
                h2 { (s::TROUBLES) }
                ul { @for trouble in &overview.troubles { li { (trouble) } } }
            }
        }
    }
}

fn numbers(overview: &Overview, page: &Page) -> Markup {
    let kept = overview.last_kept.map_or_else(
        || s::NEVER.to_owned(),
        |at| words::ago(at, page.memory().now()),
    );
    let recalls = (overview.recalls > 0)
        .then(|| s::recalls(overview.recall_mean_ms, overview.recall_longest_ms));
    html! {
        dl class="numbers" {
            (number(s::RECORDS, &words::count(overview.live.into()), None))
            (number(s::SESSIONS, &words::count(overview.sessions.into()), None))
            (number(s::FILE, &words::size(overview.file_bytes), None))
            (number(s::LAST_KEPT, &kept, None))
            (number(s::RECALLS, &words::count(overview.recalls), recalls.as_deref()))
            (number(s::MODEL, overview.space.as_deref().unwrap_or(s::NO_MODEL), None))
        }
    }
}

/// A number with its name.
pub(super) fn number(name: &str, value: &str, more: Option<&str>) -> Markup {
    html! {
        div {
            dt { (name) }
            dd { (value) @if let Some(more) = more { span class="faint" { (more) } } }
        }
    }
}

fn grown(growth: &Growth) -> Markup {
    let [first, .., last] = growth.as_slice() else {
        return html! {};
    };
    let values = growth.iter().map(|(_, count)| *count as f64).collect();
    let line = Line {
        name: s::RECORDS,
        values,
    };
    let ends = [first.0.to_string(), last.0.to_string()];
    html! {
        section {
            h2 { (s::GROWTH) }
            (chart::lines(s::GROWTH_SAYS, &[line], [&ends[0], &ends[1]], None))
            details {
                summary { (s::AS_TABLE) }
                div class="scroll" tabindex="0" role="group" aria-label=(s::GROWTH) {
                    table {
                        thead {
                            tr {
                                th scope="col" { (s::DAY) } th scope="col" class="number" {
                                    (s::RECORDS)
                                }
                            }
                        }
                        tbody {
                            @for (day, count) in growth.iter().rev().take(31) {
                                tr {
                                    th scope="row" { (day) } td class="number" {
                                        (words::count(*count))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
