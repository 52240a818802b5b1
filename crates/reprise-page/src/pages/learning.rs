//! The effect of learning in a sentence, a chart and tables, with its switch. What an outcome
//! reports on is a run; a session is a conversation.

use std::collections::{BTreeSet, HashMap};

use reprise_operations::RUNS_TO_COMPARE_MIN;
use reprise_operations::operations::outcomes::{
    LearnedRun, Learning, LearningAction, LearningArguments, LearningReport, OutcomeLearningReport,
    RATING, Runs, RunsArguments, RunsFound, WithdrawOutcome, WithdrawOutcomeArguments,
};
use reprise_operations::operations::records::list;
use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_types::limits::LEARNING_RUNS_MIN;
use reprise_types::{MemorySource, Revision};

use crate::chart::ChartLine;
use crate::prelude::*;

/// Runs in the window of the running mean.
const WINDOW: usize = 25;
/// Runs that a table shows.
const SHOWN: usize = 25;
/// Runs that are loaded to count those of this week.
const LOOKED: usize = 200;
/// Smallest difference that is not shown as 0.00.
const LEAST_SHOWN: f32 = 0.005;
/// The beginning of the id of the run that a prompt began.
pub(super) const PROMPT_RUN: &str = "recall ";
/// Records named for each run.
const USED: usize = 3;

pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let arguments = RunsArguments {
        record: None,
        limit: Some(LOOKED),
        ratings: false,
    };
    let ratings = RunsArguments {
        record: None,
        limit: Some(LOOKED),
        ratings: true,
    };
    let (report, runs, ratings) = tokio::join!(
        visit.run_optional::<LearningReport>(NoArguments {}),
        visit.run_optional::<Runs>(arguments),
        visit.run_optional::<Runs>(ratings)
    );
    let (report, runs, ratings) = (report?, runs?, ratings?.unwrap_or_default());
    let names = RunTitles::load(&visit).await?;
    let calendar = visit.page.calendar();
    let body = if let (Some(report), Some(runs)) = (&report, &runs) {
        html! {
            (undo::render_done_toast(&visit, pairs.get("done")))
            p class="lead" { (summarize(report, count_withdrawn(runs))) }
            (render_curve(report))
            (render_moved(&visit.page, runs, &ratings, report.records))
            (render_recent(&visit, runs, &names, &calendar))
            (render_switch(&visit, report))
            (render_mechanics(report, &names))
        }
    } else {
        html! { div class="empty" { h2 { "No memories yet" } } }
    };
    Ok(render_page(&visit, "/learning", "Learning", &body))
}

/// What people call runs: by the question or task of each, with the memory that says so.
#[derive(Debug, Default)]
pub(super) struct RunTitles(HashMap<String, (String, RecordId)>);

impl RunTitles {
    /// Loads the names from the prompts that began runs, and from the summaries that runs leave.
    pub(super) async fn load(visit: &PageRequest) -> PageResult<Self> {
        let request = ListRequest {
            filter: MemoryFilter {
                sources: Some(vec![MemorySource::TrajectoryOutcome]),
                ..MemoryFilter::default()
            },
            limit: LOOKED,
            after: None,
        };
        let listed = list::list_records(&visit.memory(), request).await;
        let listed = none_if_missing(listed.map_err(Into::into))?.unwrap_or_default();
        let named = listed.records.into_iter().filter_map(|record| {
            let run = record.provenance.run_id.clone()?;
            Some((run, (rows::title(&record).to_owned(), record.id)))
        });
        let arguments = PromptsArguments {
            session: None,
            limit: Some(LOOKED),
            cursor: None,
        };
        let prompts = visit.run_optional::<Prompts>(arguments).await?;
        let prompts = prompts.into_iter().flat_map(|found| found.prompts);
        let begun = prompts.filter_map(|prompt| {
            let recall = prompt.given.as_ref()?.recall_id;
            let text = prompt.text.lines().next().unwrap_or_default();
            Some((
                format!("{PROMPT_RUN}{recall}"),
                (text.to_owned(), prompt.id),
            ))
        });
        Ok(Self(begun.chain(named).collect()))
    }

    fn name(&self, run_id: &str) -> String {
        let task = self.0.get(run_id);
        match (run_id.starts_with(RATING), task) {
            (true, None) => "Your rating".to_owned(),
            (true, Some((task, _))) => format!("Your rating: {task}"),
            (false, Some((task, _))) => task.clone(),
            (false, None) if run_id.starts_with(PROMPT_RUN) => "An earlier prompt".to_owned(),
            (false, None) => run_id.to_owned(),
        }
    }

    /// Renders the name of a run as a link to its summary, if that is known.
    fn render(&self, run_id: &str) -> Markup {
        let name = self.name(run_id);
        html! {
            @match self.0.get(run_id) {
                Some((_, id)) => { a href=(format!("/records/{id}")) { (text::shorten(&name, 120)) } }
                None if run_id.starts_with(RATING) => { (name) }
                // Whether its question is still stored was not looked up.
                None => {}
            }
        }
    }
}

/// Counts the runs among the newest whose result was withdrawn.
fn count_withdrawn(found: &RunsFound) -> usize {
    let runs = found.runs.iter();
    runs.filter(|run| is_withdrawn(run)).count()
}

fn is_withdrawn(run: &LearnedRun) -> bool {
    run.revised == Some(Revision::Withdrawn)
}

/// Describes the state of learning in one or two sentences.
fn summarize(report: &OutcomeLearningReport, withdrawn: usize) -> String {
    let runs = text::pluralize(report.runs as usize, "run", "runs");
    if !report.on {
        return format!(
            "Learning is off. Results are still recorded ({} so far), but no score is adjusted.",
            text::format_count(report.runs)
        );
    }
    if report.runs == 0 {
        let none = match withdrawn {
            0 => "No run has reported yet whether memory helped.".to_owned(),
            1 => "No result counts yet (1 was withdrawn).".to_owned(),
            many => format!("No result counts yet ({many} were withdrawn)."),
        };
        return none
            + " Agents' outcomes and your ratings (Helpful, Not helpful) teach it. A run is one \
               task or question whose result was reported.";
    }
    // If every gate is shut, no score changes, whatever the cap.
    if report.gates.iter().any(|gate| gate.believed > 0.0) {
        let records = text::pluralize(report.records, "memory", "memories");
        return format!(
            "After {runs}, learning changes the scores of {records}: by up to +{cap:.2} after runs \
             that went better than expected, by up to -{cap:.2} after worse ones.",
            cap = report.cap
        );
    }
    if report.runs < u64::from(LEARNING_RUNS_MIN) {
        return format!(
            "Learning needs at least {LEARNING_RUNS_MIN} runs and often more; {} reported so far. \
             Until it is sure, no score changes.",
            report.runs
        );
    }
    format!(
        "After {runs}: memories that were used did no better or worse than expected, so their \
         scores stay. Only summaries of runs move, by at most {:.2}.",
        report.cap
    )
}

fn render_curve(report: &OutcomeLearningReport) -> Markup {
    let least = u64::from(LEARNING_RUNS_MIN);
    if report.runs == 0 {
        return html! {};
    }
    // A line through a few runs would look like a trend and be chance.
    if report.runs < least {
        let missing = usize::try_from(least - report.runs).unwrap_or_default();
        return html! {
            section class="card" data-missing-runs=(missing) {
                h2 { "Results of runs" }
                p class="why" {
                    "The chart appears after " (least) " runs: "
                    (missing) " more " (if missing == 1 { "is" } else { "are" }) " needed."
                }
                progress max=(least) value=(report.runs) aria-label="Runs so far" {}
            }
        };
    }
    let quality: Vec<f64> = report.curve.iter().map(|run| run.0.into()).collect();
    let expected: Vec<f64> = report.curve.iter().map(|run| run.1.into()).collect();
    let lines = [("result", quality), ("expected result", expected)];
    let lines = lines.map(|(name, values)| ChartLine {
        name,
        values: running_mean(&values),
    });
    let last = format!("run {}, the newest", report.curve.len());
    html! {
        section class="card" {
            h2 { "Results of runs" }
            (chart::render_lines("Average result of the latest 25 runs: 0 is failed, 1 is as wanted", &lines, ["run 1", &last], Some(1.0)))
        }
    }
}

/// Counts the memories that a person rated and that no run used.
fn count_only_rated(runs: &RunsFound, ratings: &RunsFound) -> usize {
    let valid = |found: &RunsFound| {
        let valid = found.runs.iter().filter(|run| !is_withdrawn(run));
        valid
            .flat_map(|run| run.used.clone())
            .collect::<BTreeSet<_>>()
    };
    let mut by_runs = valid(runs);
    by_runs.extend(runs.moved.iter().map(|one| one.id));
    valid(ratings).difference(&by_runs).count()
}

/// Renders the memories that runs say most about, the best first; runs and ratings concern `all`
/// memories.
fn render_moved(page: &WebPage, runs: &RunsFound, ratings: &RunsFound, all: usize) -> Markup {
    let only_rated = count_only_rated(runs, ratings);
    let all = all.saturating_sub(only_rated).max(runs.moved.len());
    let week = page.now() - TimeDelta::days(7);
    let count_this_week = |id: RecordId| {
        let of_week = runs.runs.iter().filter(|run| run.at >= week);
        of_week.filter(|run| run.used.contains(&id)).count()
    };
    let mut moved: Vec<_> = runs.moved.iter().collect();
    moved.sort_by(|a, b| b.better.total_cmp(&a.better));
    html! {
        @if !moved.is_empty() {
            section {
                h2 { "Memories that runs used " small { (text::format_count(all as u64)) } }
                @let heads = ["Memory", "#Runs", "#Last 7 days", "#Average result", "#Better or worse than expected"];
                (table("Memories that runs used", &heads,
                    moved.iter().map(|one| html! {
                        td {
                            a href=(format!("/records/{}", one.id)) {
                                (text::shorten(&one.title, 120))
                            }
                        }
                        td class="number" { (text::format_count(one.runs as u64)) }
                        td class="number" { (count_this_week(one.id)) }
                        td class="number" { (format!("{:.1}", one.quality)) }
                        td class="number" {
                            @if one.runs < RUNS_TO_COMPARE_MIN { span class="faint" { "too few runs" } }
                            @else if one.better.abs() < LEAST_SHOWN { "as expected" }
                            @else { (text::format_signed(one.better)) }
                        }
                    })
                ))
                @if all > moved.len() {
                    p class="faint" { "and " (text::format_count((all - moved.len()) as u64)) " more" }
                }
                @if only_rated > 0 {
                    p class="faint" data-only-rated=(only_rated) {
                        "Besides these, you rated " (text::pluralize(only_rated, "memory", "memories"))
                        " that no run used."
                    }
                }
            }
        }
    }
}

fn render_recent(
    visit: &PageRequest,
    runs: &RunsFound,
    names: &RunTitles,
    calendar: &Calendar,
) -> Markup {
    let week = visit.page.now() - TimeDelta::days(7);
    let of_week = runs.runs.iter().filter(|run| run.at >= week).count();
    let withdrawn = count_withdrawn(runs);
    html! {
        @if !runs.runs.is_empty() {
            section {
                @let this_week = if of_week == 0 { "none".to_owned() } else { text::format_count(of_week as u64) };
                h2 {
                    "Runs "
                    small {
                        (text::format_count(runs.all as u64)) " in all, " (this_week) " in the last 7 days"
                        @if withdrawn > 0 { ", " (withdrawn) " withdrawn" }
                    }
                }
                p class="faint" { (SCALE) }
                (render_runs_table(visit, runs, names, runs.runs.iter().take(SHOWN), calendar))
            }
        }
    }
}

/// What the numbers of a run mean.
const SCALE: &str = "Result: from 0 (failed) to 1 (as wanted). Expected: how at least 5 runs with \
    similar questions went before.";

/// Renders finished runs: time, result, used records; each result can be withdrawn.
pub(super) fn render_runs_table<'a>(
    visit: &PageRequest,
    found: &RunsFound,
    names: &RunTitles,
    runs: impl Iterator<Item = &'a LearnedRun>,
    calendar: &Calendar,
) -> Markup {
    table(
        "Runs",
        &[
            "When",
            "Run",
            "#Result",
            "#Expected",
            "Used",
            "!Withdraw",
        ],
        runs.map(|run| {
            html! {
                td {
                    time datetime=(run.at.to_rfc3339()) title=(calendar.format_to_minute(run.at)) {
                        (calendar.format_relative(run.at))
                    }
                }
                td { (text::shorten(&names.name(&run.run_id), 60)) }
                td class="number" { (format!("{:.2}", run.quality)) }
                td class="number" {
                    @if run.similar < RUNS_TO_COMPARE_MIN { span class="faint" { "\u{2013}" } }
                    @else { (format!("{:.2}", run.expected)) }
                }
                td {
                    @for used in run.used.iter().take(USED) {
                        a class="used" href=(format!("/records/{used}")) {
                            (text::shorten(found.titles.get(used).map_or("a memory", |it| it), 60))
                        } " "
                    }
                    @if run.used.len() > USED { "and " (run.used.len() - USED) " more" }
                }
                td class="end" {
                    @if is_withdrawn(run) { span class="chip warn" { "withdrawn" } }
                    @else if !visit.read_only { (render_withdraw_form(visit, run, &names.name(&run.run_id))) }
                }
            }
        }),
    )
}

fn render_withdraw_form(visit: &PageRequest, run: &LearnedRun, name: &str) -> Markup {
    html! {
        details class="f" {
            summary aria-label=(format!("Withdraw the result of {name}")) {
                "Withdraw\u{2026}"
            }
            div class="pop" {
                p class="why" {
                    "Nothing is learned from this run any more, and its summary is forgotten."
                }
                (form(visit, "/learning/withdraw", &html! {
                    input type="hidden" name="run" value=(run.run_id);
                    button class="danger first" { "Withdraw result" }
                }))
            }
        }
    }
}

pub(crate) async fn withdraw_outcome(posted: Posted) -> PageResult<Redirect> {
    let run_id = posted.text("run").to_owned();
    let arguments = WithdrawOutcomeArguments { run_id };
    posted.visit.run::<WithdrawOutcome>(arguments).await?;
    Ok(Redirect::to("/learning?done=withdrawn"))
}

/// Renders the buttons that turn learning on or off and reset it.
fn render_switch(visit: &PageRequest, report: &OutcomeLearningReport) -> Markup {
    html! {
        div class="acts" {
            (form(visit, "/learning", &html! {
                @if report.on {
                    button name="on" value="no" data-command="Turn learning off"
                        title="Answers are then ranked without what was learned. Nothing is deleted." {
                        "Turn learning off"
                    }
                } @else {
                    button class="first" name="on" value="yes" data-command="Turn learning on" {
                        "Turn learning on"
                    }
                }
            }))
            @if !visit.read_only && report.runs > 0 {
                details class="act" {
                    summary class="button danger" { "Reset learning\u{2026}" }
                    p class="why" {
                        "Every score change is discarded. The log of what happened stays. This cannot \
                         be undone."
                    }
                    (form(visit, "/learning", &html! {
                        button class="danger first" name="on" value="reset" { "Reset learning" }
                    }))
                }
            }
        }
    }
}

/// Renders the gates and groups by which learning decides.
fn render_mechanics(report: &OutcomeLearningReport, names: &RunTitles) -> Markup {
    html! {
        (fold("How learning decides", report.gates.len(), &html! {
            p class="faint" {
                "How sure Reprise is that what it learned is not chance. At 0 % it changes no score."
            }
            (table("How learning decides", &["Learned about", "#How sure"], report.gates.iter().map(|gate| html! {
                td { (name_gate(&gate.name)) }
                td class="number" { (text::format_share(gate.believed.into())) }
            })))
        }))
        (fold("Groups of similar runs", report.patterns.len(), &table(
            "Groups of similar runs", &["#Runs", "#Mean result", "Example"],
            report.patterns.iter().map(|one| html! {
                td class="number" { (text::format_count(one.runs)) }
                td class="number" { (format!("{:.2}", one.quality)) }
                td { (names.render(&one.example_run)) }
            })
        )))
    }
}

/// Returns what a gate is about, for people.
fn name_gate(name: &str) -> &str {
    match name {
        "evidence" => "The memories that runs used",
        "adapter" => "Memories like those that runs used",
        other => other,
    }
}

fn running_mean(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let means = values.iter().enumerate().map(|(index, value)| {
        sum += value;
        if let Some(left) = index.checked_sub(WINDOW).and_then(|gone| values.get(gone)) {
            sum -= left;
        }
        sum / (index + 1).min(WINDOW) as f64
    });
    means.collect()
}

pub(crate) async fn switch(posted: Posted) -> PageResult<Redirect> {
    let action = match posted.text("on") {
        "yes" => LearningAction::On,
        "reset" => LearningAction::Reset,
        _ => LearningAction::Off,
    };
    let arguments = LearningArguments { action };
    posted.visit.run::<Learning>(arguments).await?;
    Ok(Redirect::to("/learning"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reprise_operations::operations::outcomes::Gate;

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
    fn a_memory_that_only_a_person_rated_is_used_by_no_run() {
        let run = |run_id: &str, used: &[u128], revised| LearnedRun {
            run_id: run_id.to_owned(),
            at: DateTime::UNIX_EPOCH,
            quality: 1.0,
            expected: 0.5,
            similar: 0,
            revised,
            used: used.iter().map(|id| RecordId::from_u128(*id)).collect(),
        };
        let found = |runs| RunsFound {
            runs,
            ..RunsFound::default()
        };
        let runs = found(vec![run("one", &[1, 2], None)]);
        let ratings = found(vec![
            run("rating", &[2], None),
            run("rating", &[3], None),
            run("rating", &[4], Some(Revision::Withdrawn)),
        ]);
        assert_eq!(count_only_rated(&runs, &ratings), 1);
        assert_eq!(count_only_rated(&runs, &RunsFound::default()), 0);
    }

    #[test]
    fn learning_says_how_far_it_is() {
        let report = |runs, believed| OutcomeLearningReport {
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
        for (runs, believed, expected) in [
            (0, 0.0, "No run has reported"),
            (
                11,
                0.0,
                "Learning needs at least 15 runs and often more; 11 reported so far.",
            ),
            (40, 0.0, "no better or worse than expected"),
            (
                31,
                0.4,
                "scores of 4 memories: by up to +0.06 after runs that went better",
            ),
        ] {
            let sentence = summarize(&report(runs, believed), 0);
            assert!(sentence.contains(expected), "{sentence}");
        }
        assert!(summarize(&report(0, 0.0), 1).contains("counts yet (1 was withdrawn)"));
        let off = OutcomeLearningReport {
            on: false,
            ..report(1, 0.1)
        };
        assert!(summarize(&off, 0).contains("off. Results are still recorded (1 so far)"));
    }
}
