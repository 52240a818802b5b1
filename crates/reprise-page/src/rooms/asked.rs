//! What programs asked in the last hour, and how long they waited.

use chrono::{DateTime, Utc};
use maud::{Markup, html};
use reprise_types::{Calendar, Verdict};

use super::list::encoded;
use crate::chart::{self, Line};
use crate::memory::PastRecall;
use crate::{strings as s, text};

/// Questions in the table.
const SHOWN: usize = 10;

/// `recalls` are newest first.
pub(super) fn section(recalls: &[PastRecall], hour: DateTime<Utc>, calendar: &Calendar) -> Markup {
    let recalls: Vec<&PastRecall> = recalls.iter().take_while(|one| one.at >= hour).collect();
    html! {
        section {
            h2 { (s::ASKED) }
            @if recalls.is_empty() { p class="faint" { (s::NOT_ASKED_LATELY) } }
            @else {
                p class="faint" { (s::asked_of(recalls.len().min(SHOWN), recalls.len())) }
                (table(&recalls, calendar))
                (times(&recalls, calendar))
            }
        }
    }
}

fn table(recalls: &[&PastRecall], calendar: &Calendar) -> Markup {
    html! {
        div class="scroll trail" tabindex="0" role="group" aria-label=(s::ASKED) {
            table {
                thead { tr {
                    th scope="col" { (s::WHEN) } th scope="col" { (s::QUESTION_ASKED) }
                    th scope="col" class="number" { (s::RESULTS) }
                    th scope="col" class="number" { (s::TOOK_MS) }
                } }
                tbody { @for one in recalls.iter().take(SHOWN) {
                    tr {
                        td {
                            time datetime=(one.at.to_rfc3339()) { (calendar.clock_of(one.at)) }
                        }
                        th scope="row" {
                            a href=(format!("/search?q={}", encoded(&one.query))) {
                                (text::line(&one.query, 120))
                            }
                        }
                        td class="number" {
                            @if one.verdict == Verdict::Nothing { (s::NOTHING_FITS) }
                            @else { (one.results) }
                        }
                        td class="number" { (format!("{:.1}", one.elapsed_ms)) }
                    }
                } }
            }
        }
    }
}

fn times(recalls: &[&PastRecall], calendar: &Calendar) -> Markup {
    let [newest, .., oldest] = recalls else {
        return html! {};
    };
    let line = Line {
        name: s::RECALLS,
        values: recalls.iter().rev().map(|one| one.elapsed_ms).collect(),
    };
    let [from, to] = [oldest, newest].map(|one| calendar.clock_of(one.at));
    chart::lines(s::RECALLS_SAY, &[line], [&from, &to], None)
}
