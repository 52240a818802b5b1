//! How well a memory stands, and how well it stood.

use axum::extract::State;
use maud::{Markup, html};

use super::list::encoded;
use super::now::number;
use crate::chart::{self, Line};
use crate::door::Visit;
use crate::page::{Answer, Page};
use crate::shell::{self, Room};
use crate::strings::{self as s, words};
use crate::tending::Audit;
use crate::text;

/// Records named for one trouble.
const NAMED: usize = 20;

pub(crate) async fn show(State(page): State<Page>, visit: Visit) -> Answer<Markup> {
    let audit = page.memory().audit(&visit.user).await?;
    let body = html! {
        @match &audit {
            None => { p { (s::EMPTY_TITLE) } }
            Some(audit) => {
                (numbers(audit))
                (over_time(audit))
                (troubles(s::STALE, &audit.stale))
                (troubles(s::SECRETS, &audit.possible_secrets))
                (troubles(s::ORPHANS, &audit.orphans))
            }
        }
        p { a href="/knowledge/review" { (s::REVIEW) } }
    };
    Ok(shell::room(&visit, Some(Room::Care), s::AUDIT_OF, &body))
}

fn numbers(audit: &Audit) -> Markup {
    let count = |number: usize| words::count(number as u64);
    html! {
        p { (s::SCORE_SAYS) }
        dl class="numbers" {
            (number(s::SCORE, &format!("{:.3}", audit.score), None))
            (number(s::RECORDS, &count(audit.records), None))
            (number(s::DUPLICATES, &count(audit.duplicates), None))
            (number(s::CONTRADICTIONS, &count(audit.contradictions), None))
            (number(s::IN_DOUBT, &count(audit.in_doubt), None))
            (number(s::NEVER_USED, &count(audit.never_used), None))
            (number(s::UNEMBEDDED, &words::count(audit.unembedded.into()), None))
        }
    }
}

fn over_time(audit: &Audit) -> Markup {
    let [first, .., last] = audit.history.as_slice() else {
        return html! {};
    };
    let line = Line {
        name: s::SCORE,
        values: audit.history.iter().map(|day| day.2).collect(),
    };
    html! {
        section {
            h2 { (s::OVER_TIME) }
            (chart::lines(s::SCORE_BY_DAY, &[line], [&first.0, &last.0], Some(1.0)))
            details {
                summary { (s::AS_TABLE) }
                div class="scroll" tabindex="0" role="group" aria-label=(s::OVER_TIME) {
                    table {
                        thead { tr {
                            th scope="col" { (s::DAY) }
                            th scope="col" class="number" { (s::RECORDS) }
                            th scope="col" class="number" { (s::SCORE) }
                        } }
                        tbody { @for (day, records, score) in audit.history.iter().rev() {
                            tr {
                                th scope="row" { (day) }
                                td class="number" { (words::count(*records as u64)) }
                                td class="number" { (format!("{score:.3}")) }
                            }
                        } }
                    }
                }
            }
        }
    }
}

fn troubles(title: &str, names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            section {
                h2 { (title) }
                ul {
                    @for name in names.iter().take(NAMED) {
                        li { a href=(format!("/records/{}", encoded(name))) {
                            (text::line(name, 60))
                        } }
                    }
                }
                @if names.len() > NAMED {
                    p class="faint" { (s::and_more(names.len() - NAMED)) }
                }
            }
        }
    }
}
