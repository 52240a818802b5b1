//! Finished runs as a table.

use maud::{Markup, html};
use reprise_types::Calendar;

use crate::memory::Runs;
use crate::strings::{self as s, words};
use crate::text;

/// Records named for a run.
const USED: usize = 4;

/// The newest of them: when, how it went, what it used.
pub(super) fn table(runs: &Runs, calendar: &Calendar) -> Markup {
    html! {
        p class="faint" { (s::runs_of(runs.newest.len(), runs.all)) }
        div class="scroll trail" tabindex="0" role="group" aria-label=(s::RUNS) {
            table {
                thead { tr {
                    th scope="col" { (s::WHEN) } th scope="col" { (s::RUN) }
                    th scope="col" class="number" { (s::QUALITY) }
                    th scope="col" class="number" { (s::EXPECTED) }
                    th scope="col" { (s::USED_BY_IT) }
                } }
                tbody { @for run in &runs.newest {
                    tr {
                        td { time datetime=(run.at.to_rfc3339()) { (words::at(run.at, calendar)) } }
                        th scope="row" { (text::line(&run.name, 60)) }
                        td class="number" { (format!("{:.2}", run.quality)) }
                        td class="number" { (format!("{:.2}", run.expected)) }
                        td {
                            @for used in run.used.iter().take(USED) {
                                a href=(format!("/records/{used}")) { code { (used) } } " "
                            }
                            @if run.used.len() > USED {
                                span class="faint" { (s::and_more(run.used.len() - USED)) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// The records that runs say most about.
pub(super) fn moved(runs: &Runs) -> Markup {
    html! {
        @if !runs.moved.is_empty() {
            section {
                h2 { (s::MOVED) }
                p class="faint" { (s::MOVED_SAYS) }
                div class="scroll trail" tabindex="0" role="group" aria-label=(s::MOVED) {
                    table {
                        thead { tr {
                            th scope="col" { (s::RECORD) }
                            th scope="col" class="number" { (s::RUNS) }
                            th scope="col" class="number" { (s::BETTER) }
                        } }
                        tbody { @for (id, title, count, better) in &runs.moved {
                            tr {
                                th scope="row" {
                                    a href=(format!("/records/{id}")) { (text::line(title, 120)) }
                                }
                                td class="number" { (words::count(*count as u64)) }
                                td class="number" { (format!("{better:+.2}")) }
                            }
                        } }
                    }
                }
            }
        }
    }
}
