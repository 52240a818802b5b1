//! Charts as SVG, drawn on the server; each has a table or a list with the same content.

use maud::{Markup, html};
use reprise_types::{RankExplanation, RankSignal, RelevanceVerdict};

use crate::text;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 160.0;
/// Signals that say how rarely any record answers, and how likely the question is about something
/// else: they are the same for all results and explain none.
const SAME_FOR_ALL: [&str; 2] = ["base_rate", "doubt"];
/// Smallest part of a score that is not shown as 0.00.
pub(crate) const LEAST_SHOWN: f32 = 0.005;
/// Most points of one line; a longer one is thinned out.
const POINTS_MAX: usize = 360;

/// One line of a chart.
#[derive(Debug)]
pub(crate) struct ChartLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: Vec<f64>,
}

/// Renders lines over a common axis, from 0 to the highest value (or `top`).
pub(crate) fn render_lines(
    label: &str,
    lines: &[ChartLine<'_>],
    ends: [&str; 2],
    top: Option<f64>,
) -> Markup {
    let highest = lines
        .iter()
        .flat_map(|line| &line.values)
        .copied()
        .fold(0.0, f64::max);
    let top = top.unwrap_or_else(|| round_up_axis(highest));
    let y = |value: f64| HEIGHT * (1.0 - (value / top).clamp(0.0, 1.0));
    let shares = [1.0, 0.5, 0.0];
    html! {
        figure class="chart" {
            // The labels are no part of the picture, so that its width does not change their size.
            div class="plot" {
                div class="ticks" aria-hidden="true" {
                    @for share in shares { span { (format_tick(top * share, top)) } }
                }
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
                    aria-label=(label) {
                    @for share in shares {
                        path class="grid" d=(format!("M0 {:.1}H{WIDTH}", y(top * share))) {}
                    }
                    @for (index, line) in lines.iter().enumerate() {
                        polyline class=(format!("line line-{index}"))
                            points=(format_points(&line.values, &y)) {

                        }
                    }
                }
                span {}
                div class="ends" { @for end in ends { span { (end) } } }
            }
            figcaption {
                (label)
                @if lines.len() > 1 {
                    @for (index, line) in lines.iter().enumerate() {
                        span class=(format!("key key-{index}")) { (line.name) }
                    }
                }
            }
        }
    }
}

fn format_points(values: &[f64], y: &dyn Fn(f64) -> f64) -> String {
    let step = values.len().div_ceil(POINTS_MAX).max(1);
    let last = values.len().saturating_sub(1);
    let width = WIDTH / last.max(1) as f64;
    let thinned = values.iter().enumerate();
    let thinned = thinned.filter(|(index, _)| index.is_multiple_of(step) || *index == last);
    let pairs = thinned.map(|(index, value)| {
        let x = index as f64 * width;
        format!("{x:.1},{:.1}", y(*value))
    });
    pairs.collect::<Vec<_>>().join(" ")
}

fn round_up_axis(highest: f64) -> f64 {
    if highest <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(highest.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step >= highest)
        .unwrap_or(highest)
}

fn format_tick(value: f64, top: f64) -> String {
    if top <= 2.0 {
        return format!("{value:.1}");
    }
    text::format_count(value as u64)
}

/// Groups of signals: their names, the name of the group for people, and what it means. A signal
/// of no group has a row of its own if it moved the score.
const GROUPS: [(&[&str], &str, &str); 3] = [
    (
        &["meaning", "meaning_of_short_turn"],
        "meaning",
        "How close the text is in meaning to the question",
    ),
    (
        &[
            "words",
            "words_of_short_turn",
            "coverage",
            "same_text",
            "named",
        ],
        "words",
        "How many rare words and names of the question the text has",
    ),
    (
        &[
            "near_meaning",
            "near_words",
            "near_coverage",
            "session_meaning",
            "session_words",
        ],
        "session",
        "How well the rest of its session fits the question",
    ),
];
/// What the row of the score means.
const TOGETHER: &str = "All of them, and a start that is the same for every memory, make a score \
    from 0 to 1; results are sorted by it";
/// What the row of the start means.
const START: &str = "How rarely any memory answers, and how likely the question is about something \
    else";
/// What the row of learning means.
const LEARNING_MEANING: &str = "What the results of earlier runs changed in the score";

/// Returns the name of a signal for people, and what it means.
fn name_and_meaning(signal: &str) -> (String, String) {
    let (name, meaning) = reprise_operations::describe_signal(signal);
    (name, text::to_sentence(meaning))
}

/// Returns the group of a signal, if it has one.
fn group_of(signal: &str) -> Option<&'static str> {
    let mut groups = GROUPS.iter();
    let found = groups.find(|(signals, ..)| signals.contains(&signal));
    found.map(|(_, name, _)| *name)
}

/// Returns whether a signal moved the score of one result more than that of another.
fn has_effect(signal: &RankSignal) -> bool {
    let is_same_for_all = SAME_FOR_ALL.contains(&signal.name.as_str());
    !is_same_for_all && signal.contribution.abs() >= LEAST_SHOWN
}

/// Renders what each group of signals adds to a score, what learning added, the score, and in a
/// fold each signal.
pub(crate) fn render_signals(why: &RankExplanation, score: f32) -> Markup {
    let signals = &why.signals;
    let sum = |name: &str| {
        let own = signals
            .iter()
            .filter(|signal| group_of(&signal.name) == Some(name));
        own.map(|signal| signal.contribution).sum::<f32>()
    };
    let learned = why.learning.map_or(0.0, |learned| learned.adjustment);
    let groups = GROUPS.iter();
    let groups =
        groups.map(|(_, name, meaning)| ((*name).to_owned(), (*meaning).to_owned(), sum(name)));
    let learning = ("learning".to_owned(), LEARNING_MEANING.to_owned(), learned);
    let alone = signals.iter().filter(|signal| has_effect(signal));
    let alone = alone.filter(|signal| group_of(&signal.name).is_none());
    let alone = alone.map(|signal| {
        let (name, meaning) = name_and_meaning(&signal.name);
        (name, meaning, signal.contribution)
    });
    let mut sums: Vec<(String, String, f32)> = groups.chain([learning]).chain(alone).collect();
    sums.retain(|(.., sum)| sum.abs() >= LEAST_SHOWN);
    let is_start = |signal: &&RankSignal| SAME_FOR_ALL.contains(&signal.name.as_str());
    let start = signals.iter().filter(is_start);
    let start = start.map(|signal| signal.contribution).sum::<f32>();
    let sum = signals
        .iter()
        .map(|signal| signal.contribution)
        .sum::<f32>();
    let most = sums.iter().map(|(.., sum)| sum.abs());
    let most = most.fold(0.001, f32::max);
    html! {
        table class="signals" aria-label="What moved the score" {
            tbody {
                @for (name, meaning, sum) in sums {
                    tr {
                        th scope="row" title=(meaning) { (name) }
                        td class="bar-cell" { (render_bar(sum / most)) }
                        td class="number" { (text::format_signed(sum)) }
                    }
                }
                @if start.abs() >= LEAST_SHOWN {
                    tr {
                        th scope="row" title=(START) { "start" }
                        td class="bar-cell" { "the same for every memory" }
                        td class="number" { (text::format_signed(start)) }
                    }
                }
                tr class="together" {
                    th scope="row" title=(TOGETHER) { "together" }
                    td class="bar-cell" {
                        (text::format_signed(sum)) ", as a score from 0 to 1 (weak below "
                        (format!("{:.2}", RelevanceVerdict::WEAK_BELOW)) ")"
                    }
                    td class="number" { (format!("{score:.2}")) }
                }
            }
        }
        details class="fold" {
            summary { "All signals" }
            (render_each_signal(signals))
        }
    }
}

/// Renders the signals of a score as a table with a bar in each row, the strongest first.
fn render_each_signal(signals: &[RankSignal]) -> Markup {
    let mut sorted: Vec<&RankSignal> = signals.iter().filter(|signal| has_effect(signal)).collect();
    let weight = |signal: &RankSignal| signal.contribution.abs();
    sorted.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let most = sorted.first().map_or(1.0, |one| weight(one));
    html! {
        table class="signals" aria-label="All signals" {
            thead { tr {
                th scope="col" { "Signal" } td class="bar-cell" {}
                th scope="col" class="number" title="What it adds to the score" { "Adds" }
                th scope="col" class="number" title="How strong it is here, before its weight" { "Strength" }
            } }
            tbody {
                @for signal in sorted {
                    @let (name, meaning) = name_and_meaning(&signal.name);
                    tr {
                        th scope="row" title=(meaning) { (name) }
                        td class="bar-cell" { (render_bar(signal.contribution / most)) }
                        td class="number" { (text::format_signed(signal.contribution)) }
                        td class="number" { (format!("{:.2}", signal.value)) }
                    }
                }
            }
        }
    }
}

/// Renders a bar from the middle, to the right if it adds; `share` is from -1 to 1.
fn render_bar(share: f32) -> Markup {
    let length = share.abs().clamp(0.0, 1.0) * 50.0;
    let (class, x) = if share < 0.0 {
        ("takes", 50.0 - length)
    } else {
        ("adds", 50.0)
    };
    html! {
        svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect class=(class) x=(format!("{x:.1}")) y="0" width=(format!("{length:.1}"))
                height="8" {

            }
            path class="grid" d="M50 0V8" {}
        }
    }
}

/// One bar of a chart over time: its name, its height, and its link.
#[derive(Debug)]
pub(crate) struct ChartBar {
    pub(crate) name: String,
    pub(crate) count: usize,
    pub(crate) path: Option<String>,
}

/// Renders a row of bars over an axis in this unit; a bar with a path is a link with its number.
pub(crate) fn render_bars(label: &str, unit: &str, bars: &[ChartBar]) -> Markup {
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let ends = [bars.first(), bars.last()].map(|bar| bar.map_or("", |bar| &bar.name));
    html! {
        figure class="chart" {
            div class="plot bars" {
                div class="ticks" aria-hidden="true" {
                    span { (text::format_count(most as u64)) } span { "0" }
                }
                div class="spark" role="group" aria-label=(label) {
                    @for bar in bars { (render_column(bar, most, unit)) }
                }
                span {}
                div class="ends" { @for end in ends { span { (end) } } }
            }
            figcaption { (label) " (" (unit) ")" }
        }
    }
}

fn render_column(bar: &ChartBar, most: usize, unit: &str) -> Markup {
    let height = 100.0 * bar.count as f64 / most as f64;
    let said = format!(
        "{}: {} {unit}",
        bar.name,
        text::format_count(bar.count as u64)
    );
    let picture = html! {
        svg viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true" {
            rect x="0" width="10" y=(format!("{:.1}", 100.0 - height))
                height=(format!("{height:.1}")) rx="1" {}
        }
    };
    html! {
        @match &bar.path {
            Some(path) if bar.count > 0 => {
                a href=(path) title=(said) aria-label=(said) { (picture) }
            }
            _ => { span title=(said) { (picture) } }
        }
    }
}

/// Renders a few bars in a line of text, for a trend next to a number; `label` says all of it.
pub(crate) fn render_trend(label: &str, counts: &[usize]) -> Markup {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    html! {
        svg class="trend" role="img" aria-label=(label)
            viewBox=(format!("0 0 {} 20", counts.len() * 8)) {
            title { (label) }
            @for (index, count) in counts.iter().enumerate() {
                @let height = (18.0 * *count as f64 / most as f64).max(1.0);
                rect x=(index * 8) width="6" y=(format!("{:.1}", 20.0 - height))
                    height=(format!("{height:.1}")) rx="1" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::LearnedAdjustment;

    use super::*;

    #[test]
    fn axes_end_above_what_they_show() {
        for (highest, top) in [
            (0.0, 1.0),
            (3.0, 5.0),
            (100_000.0, 100_000.0),
            (101.0, 200.0),
        ] {
            assert!((round_up_axis(highest) - top).abs() < 1e-9, "{highest}");
        }
    }

    #[test]
    fn a_long_line_is_thinned_and_keeps_its_end() {
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let drawn = format_points(&values, &|value| value);
        assert!(drawn.split(' ').count() <= POINTS_MAX + 1);
        assert!(drawn.ends_with("720.0,99999.0"), "{drawn:.40}");
    }

    #[test]
    fn the_row_of_learning_is_the_change_that_the_score_has() {
        let why = RankExplanation {
            learning: Some(LearnedAdjustment::from_capped_parts(
                0.06,
                (0.0, 0.0),
                0.0,
                0.05,
            )),
            ..RankExplanation::default()
        };
        let table = render_signals(&why, 0.5).into_string();
        let (_, row) = table.split_once(">learning<").unwrap();
        let (row, _) = row.split_once("</tr>").unwrap();
        assert!(row.contains("+0.05"), "{row}");
        assert!(
            !table.contains("-0.00") && !table.contains("+0.00"),
            "{table}"
        );
    }

    #[test]
    fn each_bar_is_called_by_what_is_in_it() {
        let signal = |name: &str, contribution: f32| RankSignal {
            name: name.to_owned(),
            value: 1.0,
            weight: contribution,
            contribution,
        };
        let why = RankExplanation {
            signals: vec![
                signal("substance", 0.4),
                signal("near_words", 0.3),
                signal("time_asked", 0.0),
                signal("base_rate", -8.0),
                signal("unknown_context", 6.3),
            ],
            ..RankExplanation::default()
        };
        let table = render_signals(&why, 0.64).into_string();
        let (table, _) = table.split_once("</table>").unwrap();
        let row = |name: &str| {
            let (_, row) = table.split_once(&format!(">{name}<")).unwrap();
            row.split_once("</tr>").unwrap().0
        };
        assert!(row("length").contains("+0.40"), "{table}");
        assert!(row("session").contains("+0.30"), "{table}");
        assert!(row("a statement, not talk").contains("+6.30"), "{table}");
        assert!(!table.contains(">words<"), "it adds nothing: {table}");
        assert!(row("together").contains("0.64"), "{table}");
        // What moved the score adds up: 0.4 + 0.3 - 8 + 6.3 = -1.
        assert!(row("start").contains("-8.00"), "{table}");
        assert!(row("together").contains("-1.00, as a score"), "{table}");
        assert!(!table.contains("time"), "nothing of time is in it: {table}");
        assert!(!table.contains("starting"), "{table}");
        let groups = GROUPS.iter().flat_map(|(signals, ..)| signals.iter());
        let mut unknown = groups.filter(|name| name_and_meaning(name).1.is_empty());
        assert_eq!(unknown.next(), None, "each is a signal of the engine");
    }

    #[test]
    fn the_strongest_signal_comes_first_and_fills_the_bar() {
        let signal = |name: &str, contribution: f32| RankSignal {
            name: name.to_owned(),
            value: 1.0,
            weight: contribution,
            contribution,
        };
        let all = [
            signal("weak", 0.1),
            signal("strong", -2.0),
            signal(SAME_FOR_ALL[0], -9.0),
        ];
        let table = render_each_signal(&all).into_string();
        let (strong, weak) = (table.find("strong").unwrap(), table.find("weak").unwrap());
        assert!(strong < weak);
        assert_eq!(table.matches("width=\"50.0\"").count(), 1, "{table}");
        assert!(table.contains("width=\"2.5\""), "{table}");
        assert!(!table.contains("base"), "{table}");
        assert_eq!(group_of("session_words"), Some("session"));
        assert_eq!(group_of("speaker"), None);
        assert_eq!(group_of("named"), Some("words"));
        let (name, meaning) = name_and_meaning("unknown_context");
        assert_eq!(name, "a statement, not talk");
        assert!(table.contains("title="), "{meaning}: {table}");
    }
}
