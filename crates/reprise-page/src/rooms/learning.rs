//! What learning did: its gates, how runs went, and its switch.

use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};

use super::now::number;
use super::runs;
use crate::chart::{self, Line};
use crate::door::Visit;
use crate::memory::Learning;
use crate::page::{Answer, Page, Posted};
use crate::shell::{self, Room, form};
use crate::strings::{self as s, words};
use crate::text;
use crate::together::both;

/// Runs of the running mean.
const WINDOW: usize = 25;
const ROWS: usize = 25;

pub(crate) async fn show(State(page): State<Page>, visit: Visit) -> Answer<Markup> {
    let (memory, user) = (page.memory(), &visit.user);
    let (learning, runs) = both(memory.learning(user), memory.runs(user, None)).await;
    let (learning, runs) = (learning?, runs?);
    let calendar = memory.calendar();
    let on = if learning.on {
        s::LEARNING_ON
    } else {
        s::LEARNING_OFF
    };
    let body = html! {
        p { (on) }
        (form(&visit, "/learning", &html! {
            @if learning.on { button name="on" value="no" { (s::SWITCH_OFF) } }
            @else { button name="on" value="yes" { (s::SWITCH_ON) } }
        }))
        dl class="numbers" {
            (number(s::RUNS, &words::count(learning.runs), Some(&s::under_way(learning.open_runs))))
            (number(s::USED, &words::count(learning.records as u64), None))
            (number(s::CAP, &format!("{:.3}", learning.cap), None))
        }
        (gates(&learning))
        (gates_so_far(&learning))
        (curve(&learning))
        (runs::moved(&runs))
        @if !runs.newest.is_empty() {
            section { h2 { (s::NEWEST_RUNS) } (runs::table(&runs, &calendar)) }
        }
        (patterns(&learning))
    };
    Ok(shell::room(
        &visit,
        Some(Room::Learning),
        s::LEARNING,
        &body,
    ))
}

fn gates(learning: &Learning) -> Markup {
    html! {
        section {
            h2 { (s::GATES) }
            p class="faint" { (s::GATES_SAY) }
            div class="scroll" tabindex="0" role="group" aria-label=(s::GATES) {
                table {
                    thead { tr {
                        th scope="col" { (s::GATE) } td {}
                        th scope="col" class="number" { (s::BELIEVED) }
                        th scope="col" class="number" { (s::T_VALUE) }
                    } }
                    tbody { @for (name, believed, t) in &learning.gates {
                        tr {
                            th scope="row" { (name) }
                            td { (chart::meter(*believed)) }
                            td class="number" { (format!("{believed:.2}")) }
                            td class="number" { (format!("{t:.1}")) }
                        }
                    } }
                }
            }
        }
    }
}

fn curve(learning: &Learning) -> Markup {
    let runs = &learning.curve;
    if runs.is_empty() {
        return html! { section { h2 { (s::CURVE) } p class="faint" { (s::NO_RUNS) } } };
    }
    let quality: Vec<f64> = runs.iter().map(|run| run.0.into()).collect();
    let expected: Vec<f64> = runs.iter().map(|run| run.1.into()).collect();
    let lines = [(s::QUALITY, quality), (s::EXPECTED, expected)];
    let lines = lines.map(|(name, values)| Line {
        name,
        values: running_mean(&values),
    });
    let last = runs.len().to_string();
    html! {
        section {
            h2 { (s::CURVE) }
            (chart::lines(s::CURVE_SAYS, &lines, ["1", &last], Some(1.0)))
            details {
                summary { (s::AS_TABLE) }
                div class="scroll" tabindex="0" role="group" aria-label=(s::CURVE) {
                    table {
                        thead {
                            tr {
                                @for name in [s::RUN, s::QUALITY, s::EXPECTED] {
                                    th scope="col" class="number" { (name) }
                                }
                            }
                        }
                        @let latest = runs.iter().enumerate().rev().take(ROWS);
                        tbody { @for (place, (quality, expected)) in latest {
                            tr {
                                th scope="row" class="number" { (place + 1) }
                                td class="number" { (format!("{quality:.2}")) }
                                td class="number" { (format!("{expected:.2}")) }
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// What the gates made of each run.
fn gates_so_far(learning: &Learning) -> Markup {
    let values = &learning.gate_curve;
    if values.len() < 2 {
        return html! {};
    }
    let names = learning.gates.iter().map(|gate| gate.0.as_str());
    let ts = [
        values.iter().map(|run| run.0).collect(),
        values.iter().map(|run| run.1).collect(),
    ];
    let lines = names.zip(ts).map(|(name, values)| Line { name, values });
    let lines: Vec<Line<'_>> = lines.collect();
    let last = values.len().to_string();
    html! {
        section {
            h2 { (s::GATES_SO_FAR) }
            (chart::lines(s::GATES_SO_FAR_SAY, &lines, ["1", &last], None))
            details {
                summary { (s::AS_TABLE) }
                div class="scroll" tabindex="0" role="group" aria-label=(s::GATES_SO_FAR) {
                    table {
                        thead { tr {
                            th scope="col" class="number" { (s::RUN) }
                            @for line in &lines { th scope="col" class="number" { (line.name) } }
                        } }
                        tbody {
                            @for (place, (one, other)) in values.iter().enumerate().rev().take(ROWS)
                            {
                                tr {
                                    th scope="row" class="number" { (place + 1) }
                                    td class="number" { (format!("{one:.1}")) }
                                    td class="number" { (format!("{other:.1}")) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn running_mean(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let means = values.iter().enumerate().map(|(place, value)| {
        sum += value;
        if let Some(left) = place.checked_sub(WINDOW).and_then(|gone| values.get(gone)) {
            sum -= left;
        }
        sum / (place + 1).min(WINDOW) as f64
    });
    means.collect()
}

fn patterns(learning: &Learning) -> Markup {
    html! {
        @if !learning.patterns.is_empty() {
            section {
                h2 { (s::PATTERNS) }
                div class="scroll" tabindex="0" role="group" aria-label=(s::PATTERNS) {
                    table {
                        thead { tr {
                            th scope="col" class="number" { (s::RUNS) }
                            th scope="col" class="number" { (s::QUALITY) }
                            th scope="col" { (s::EXAMPLE) }
                        } }
                        tbody { @for (runs, quality, example) in &learning.patterns {
                            tr {
                                td class="number" { (words::count(*runs)) }
                                td class="number" { (format!("{quality:.2}")) }
                                td { (text::line(example, 120)) }
                            }
                        } }
                    }
                }
            }
        }
    }
}

pub(crate) async fn switch(State(page): State<Page>, posted: Posted) -> Answer<Redirect> {
    let is_on = posted.get("on") == "yes";
    page.memory()
        .switch_learning(&posted.visit.user, is_on)
        .await?;
    Ok(Redirect::to("/learning"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_mean_forgets_what_left_the_window() {
        let mut values = vec![0.0; WINDOW];
        values.extend(vec![1.0; WINDOW]);
        let means = running_mean(&values);
        assert_eq!(means.len(), values.len());
        assert!((means[WINDOW - 1]).abs() < 1e-12);
        assert!((means[2 * WINDOW - 1] - 1.0).abs() < 1e-12);
    }
}
