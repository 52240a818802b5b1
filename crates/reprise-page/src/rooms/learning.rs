//! What learning did: in a sentence, in a picture, and what it moved; with its switch.

use reprise_operations::operations::learning::{
    Learning, LearningAction, LearningArguments, LearningReport, Report, Run, Runs, RunsArguments,
    RunsFound, WithdrawOutcome, WithdrawOutcomeArguments,
};
use reprise_types::Revision;
use reprise_types::limits::LEARNING_RUNS_MIN;

use crate::chart::Line;
use crate::prelude::*;

/// Runs of the running mean.
const WINDOW: usize = 25;
/// Runs that a list shows.
const SHOWN: usize = 25;
/// Runs that are looked at for what this week moved.
const LOOKED: usize = 200;
/// Records named for a run.
const USED: usize = 3;

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let asked = RunsArguments {
        record: None,
        limit: Some(LOOKED),
    };
    let (report, runs) = tokio::join!(
        visit.ask_if::<LearningReport>(NoArguments {}),
        visit.ask_if::<Runs>(asked)
    );
    let (report, runs) = (report?, runs?);
    let calendar = visit.page.calendar();
    let body = if let (Some(report), Some(runs)) = (&report, &runs) {
        html! {
            (undo::told(&visit, pairs.get("done")))
            p class="lead" { (sentence(report)) }
            (curve(report))
            (moved(&visit.page, runs))
            (this_week(&visit, runs, &calendar))
            (governed(&visit, report))
            (inside(report))
        }
    } else {
        html! { div class="empty" { h2 { "Nothing is remembered yet" } } }
    };
    Ok(room(&visit, "/learning", "Learning", &body))
}

/// All of it in one or two sentences.
pub(super) fn sentence(report: &Report) -> String {
    let runs = text::of(report.runs as usize, "run", "runs");
    if !report.on {
        return format!("Learning is off: {runs} are kept, and nothing moves a score.");
    }
    if report.runs == 0 {
        return "No run has said yet whether memory helped; an agent's outcomes, and the word \
                helpful or not, teach it."
            .to_owned();
    }
    // A gate that is shut lets nothing through, whatever the cap.
    if report.gates.iter().any(|gate| gate.believed > 0.0) {
        let records = text::of(report.records, "record", "records");
        return format!(
            "After {runs}, what helped rises by up to {:.2} of 1, and what did not sinks as far; \
             they speak about {records}.",
            report.cap
        );
    }
    match u64::from(LEARNING_RUNS_MIN).saturating_sub(report.runs) {
        0 => format!(
            "After {runs} nothing moves a score: what they used went no better or worse than \
             expected."
        ),
        more => format!("After {runs}: too little to move a score; about {more} more."),
    }
}

fn curve(report: &Report) -> Markup {
    if report.curve.len() < 2 {
        return html! {};
    }
    let quality: Vec<f64> = report.curve.iter().map(|run| run.0.into()).collect();
    let expected: Vec<f64> = report.curve.iter().map(|run| run.1.into()).collect();
    let lines = [
        ("how they went", quality),
        ("how they were expected to", expected),
    ];
    let lines = lines.map(|(name, values)| Line {
        name,
        values: running_mean(&values),
    });
    let last = format!("run {}", report.curve.len());
    html! {
        section class="card" {
            h2 { "How runs went" }
            (chart::lines("A mean of 25 runs, 0 to 1", &lines, ["run 1", &last], Some(1.0)))
        }
    }
}

/// The records that runs say most about.
fn moved(page: &Page, runs: &RunsFound) -> Markup {
    let week = page.now() - TimeDelta::days(7);
    let lately = |id: RecordId| {
        let of_week = runs.runs.iter().filter(|run| run.at >= week);
        of_week.filter(|run| run.used.contains(&id)).count()
    };
    html! {
        @if !runs.moved.is_empty() {
            section {
                h2 { "What moved" }
                @let heads = ["Record", "#Runs", "#This week", "#Better than expected"];
                (table("What runs say most about", &heads,
                    runs.moved.iter().map(|one| html! {
                        td {
                            a href=(format!("/records/{}", one.id)) {
                                (text::line(&one.title, 120))
                            }
                        }
                        td class="number" { (text::count(one.runs as u64)) }
                        td class="number" { (lately(one.id)) }
                        td class="number" { (format!("{:+.2}", one.better)) }
                    })
                ))
            }
        }
    }
}

fn this_week(visit: &Visit, runs: &RunsFound, calendar: &Calendar) -> Markup {
    let week = visit.page.now() - TimeDelta::days(7);
    let of_week = runs.runs.iter().filter(|run| run.at >= week).count();
    html! {
        @if !runs.runs.is_empty() {
            section {
                h2 { "Runs " small { (of_week) " of the newest " (runs.runs.len()) " this week" } }
                (runs_table(visit, runs, runs.runs.iter().take(SHOWN), calendar))
            }
        }
    }
}

/// Finished runs: when, how they went, what they used; each can be taken back.
pub(super) fn runs_table<'a>(
    visit: &Visit,
    found: &RunsFound,
    runs: impl Iterator<Item = &'a Run>,
    calendar: &Calendar,
) -> Markup {
    let is_back = |run: &Run| run.revised == Some(Revision::Withdrawn);
    table(
        "Runs",
        &["When", "Run", "#Went", "#Expected", "Used", "Undo"],
        runs.map(|run| {
            html! {
                td {
                    time datetime=(run.at.to_rfc3339()) title=(calendar.minute_of(run.at)) {
                        (calendar.ago(run.at))
                    }
                }
                td { (text::line(&run.run_id, 60)) }
                td class="number" { (format!("{:.2}", run.quality)) }
                td class="number" { (format!("{:.2}", run.expected)) }
                td {
                    @for used in run.used.iter().take(USED) {
                        a class="used" href=(format!("/records/{used}")) {
                            (text::line(found.titles.get(used).map_or("a record", |it| it), 60))
                        } " "
                    }
                    @if run.used.len() > USED { "and " (run.used.len() - USED) " more" }
                }
                td class="end" {
                    @if is_back(run) { span class="chip warn" { "taken back" } }
                    @else if !visit.read_only { (take_back(visit, run)) }
                }
            }
        }),
    )
}

fn take_back(visit: &Visit, run: &Run) -> Markup {
    html! {
        details class="f" {
            summary aria-label=(format!("Take back {}", text::line(&run.run_id, 60).into_string())) {
                "Take back\u{2026}"
            }
            div class="pop" {
                p class="why" {
                    "Nothing is learned from this run any more, and the record that it left is \
                     forgotten. Report it under another name to put it right."
                }
                (form(visit, "/learning/withdraw", &html! {
                    input type="hidden" name="run" value=(run.run_id);
                    button class="danger first" { "Take it back" }
                }))
            }
        }
    }
}

pub(crate) async fn withdraw(posted: Posted) -> Answer<Redirect> {
    let run_id = posted.get("run").to_owned();
    let asked = WithdrawOutcomeArguments { run_id };
    posted.visit.ask::<WithdrawOutcome>(asked).await?;
    Ok(Redirect::to("/learning?done=withdrawn"))
}

/// The switch, and the way to begin anew.
fn governed(visit: &Visit, report: &Report) -> Markup {
    html! {
        div class="acts" {
            (form(visit, "/learning", &html! {
                @if report.on {
                    button name="on" value="no" data-command="Switch learning off" { "Switch off" }
                } @else {
                    button class="first" name="on" value="yes" data-command="Switch learning on" {
                        "Switch on"
                    }
                }
            }))
            @if !visit.read_only && report.runs > 0 {
                details class="act" {
                    summary class="button danger" { "Forget what was learned\u{2026}" }
                    p class="why" {
                        "Every adjustment is thrown away; what happened stays in the log. There is \
                         no way back but new runs."
                    }
                    (form(visit, "/learning", &html! {
                        button class="danger first" name="on" value="reset" { "Forget it" }
                    }))
                }
            }
        }
    }
}

/// For whoever wants to know how it decides.
fn inside(report: &Report) -> Markup {
    html! {
        (fold("How it decides", report.gates.len(), &html! {
            p class="faint" {
                "A gate opens as far as runs went otherwise than by chance (its t value): what it \
                 predicts counts for so much."
            }
            (table("Gates", &["Gate", "Believed", "t value"], report.gates.iter().map(|gate| html! {
                td { (gate.name) }
                td class="number" { (format!("{:.2}", gate.believed)) }
                td class="number" { (format!("{:.1}", gate.t)) }
            })))
        }))
        (fold("Groups of like runs", report.patterns.len(), &table(
            "Groups of like runs", &["Runs", "Went", "For example"],
            report.patterns.iter().map(|one| html! {
                td class="number" { (text::count(one.runs)) }
                td class="number" { (format!("{:.2}", one.quality)) }
                td { (text::line(&one.example_run, 120)) }
            })
        )))
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

pub(crate) async fn switch(posted: Posted) -> Answer<Redirect> {
    let action = match posted.get("on") {
        "yes" => LearningAction::On,
        "reset" => LearningAction::Reset,
        _ => LearningAction::Off,
    };
    let asked = LearningArguments { action };
    posted.visit.ask::<Learning>(asked).await?;
    Ok(Redirect::to("/learning"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reprise_operations::operations::learning::Gate;

    #[test]
    fn a_running_mean_forgets_what_left_the_window() {
        let mut values = vec![0.0; WINDOW];
        values.extend(vec![1.0; WINDOW]);
        let means = running_mean(&values);
        assert_eq!(means.len(), values.len());
        assert!((means[WINDOW - 1]).abs() < 1e-12);
        assert!((means[2 * WINDOW - 1] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn learning_says_how_far_it_is() {
        let report = |runs, believed| Report {
            on: true,
            runs,
            open_runs: 0,
            records: 4,
            cap: 0.06,
            gates: vec![Gate {
                name: "evidence".to_owned(),
                believed,
                t: 0.0,
            }],
            curve: Vec::new(),
            gate_curve: Vec::new(),
            patterns: Vec::new(),
        };
        for (runs, believed, said) in [
            (0, 0.0, "No run has said"),
            (
                11,
                0.0,
                "After 11 runs: too little to move a score; about 4 more.",
            ),
            (40, 0.0, "no better or worse than expected"),
            (
                31,
                0.4,
                "After 31 runs, what helped rises by up to 0.06 of 1",
            ),
        ] {
            let sentence = sentence(&report(runs, believed));
            assert!(sentence.contains(said), "{sentence}");
        }
        assert!(
            sentence(&Report {
                on: false,
                ..report(3, 0.1)
            })
            .contains("off")
        );
    }
}
