//! Pictures, drawn on the server: each stands beside a table or a list that says the same.

use maud::{Markup, html};
use reprise_types::RankSignal;

use crate::text;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 200.0;
/// Room for the words at the axes.
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 10.0;
/// What says how rarely any record answers, and how likely the question is about something else: a
/// reader of one record's reasons has no use for it.
const THE_SAME_FOR_ALL: [&str; 2] = ["base_rate", "doubt"];
/// Points of one line; more are thinned out.
const POINTS_MAX: usize = 360;

/// One line of a picture.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: Vec<f64>,
}

/// Lines over a common axis, from 0 to the highest value (or `top`).
pub(crate) fn lines(says: &str, lines: &[Line<'_>], ends: [&str; 2], top: Option<f64>) -> Markup {
    let highest = lines
        .iter()
        .flat_map(|line| &line.values)
        .copied()
        .fold(0.0, f64::max);
    let top = top.unwrap_or_else(|| round_up(highest));
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - (value / top).clamp(0.0, 1.0));
    html! {
        figure class="chart" {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(says) {
                @for share in [0.0, 0.5, 1.0] {
                    path class="grid" d=(format!("M{LEFT} {:.1}H{WIDTH}", y(top * share))) {}
                    text x=(LEFT - 6.0) y=(format!("{:.1}", y(top * share) + 4.0))
                        text-anchor="end" {
                        (tick(top * share, top))
                    }
                }
                text x=(LEFT) y=(HEIGHT - 6.0) { (ends[0]) }
                text x=(WIDTH) y=(HEIGHT - 6.0) text-anchor="end" { (ends[1]) }
                @for (place, line) in lines.iter().enumerate() {
                    polyline class=(format!("line line-{place}"))
                        points=(points(&line.values, &y)) {

                    }
                }
            }
            figcaption {
                (says)
                @if lines.len() > 1 {
                    @for (place, line) in lines.iter().enumerate() {
                        span class=(format!("key key-{place}")) { (line.name) }
                    }
                }
            }
        }
    }
}

fn points(values: &[f64], y: &dyn Fn(f64) -> f64) -> String {
    let step = values.len().div_ceil(POINTS_MAX).max(1);
    let last = values.len().saturating_sub(1);
    let width = (WIDTH - LEFT) / last.max(1) as f64;
    let thinned = values.iter().enumerate();
    let thinned = thinned.filter(|(place, _)| place.is_multiple_of(step) || *place == last);
    let pairs = thinned.map(|(place, value)| {
        let x = LEFT + place as f64 * width;
        format!("{x:.1},{:.1}", y(*value))
    });
    pairs.collect::<Vec<_>>().join(" ")
}

fn round_up(highest: f64) -> f64 {
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

fn tick(value: f64, top: f64) -> String {
    if top <= 2.0 {
        return format!("{value:.1}");
    }
    text::count(value as u64)
}

/// The parts of a score as a table with a bar a row, the strongest first.
pub(crate) fn signals(signals: &[RankSignal]) -> Markup {
    let differs = |signal: &&RankSignal| !THE_SAME_FOR_ALL.contains(&signal.name.as_str());
    let moves = |signal: &&RankSignal| signal.contribution.abs() > 0.0005;
    let mut sorted: Vec<&RankSignal> = signals.iter().filter(differs).filter(moves).collect();
    let weight = |signal: &RankSignal| signal.contribution.abs();
    sorted.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let most = sorted.first().map_or(1.0, |one| weight(one));
    html! {
        table class="signals" aria-label="What moved the score" {
            thead { tr {
                th scope="col" { "Signal" } td class="bar-cell" {}
                @for name in ["Adds", "Value"] { th scope="col" class="number" { (name) } }
            } }
            tbody {
                @for signal in sorted {
                    tr {
                        th scope="row" { (signal.name.replace('_', " ")) }
                        td class="bar-cell" { (bar(signal.contribution / most)) }
                        td class="number" { (format!("{:+.2}", signal.contribution)) }
                        td class="number" { (format!("{:.2}", signal.value)) }
                    }
                }
            }
        }
    }
}

/// A bar from the middle: to the right what adds, to the left what takes. `share` is -1..1.
fn bar(share: f32) -> Markup {
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

/// One bar of a picture over time: what it is called, how high, and where it leads.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) count: usize,
    pub(crate) path: Option<String>,
}

/// Bars beside each other; one that leads somewhere is a link that says its number.
pub(crate) fn bars(says: &str, bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    html! {
        div class="spark" role="group" aria-label=(says) {
            @for bar in bars {
                @let height = 100.0 * bar.count as f64 / most as f64;
                @let picture = html! {
                    svg viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true" {
                        rect x="0" width="10" y=(format!("{:.1}", 100.0 - height))
                            height=(format!("{height:.1}")) rx="1" {}
                    }
                };
                @match &bar.path {
                    Some(path) if bar.count > 0 => {
                        a href=(path) title=(format!("{}: {}", bar.name, bar.count))
                            aria-label=(format!("{}: {}", bar.name, bar.count)) { (picture) }
                    }
                    _ => { span title=(format!("{}: {}", bar.name, bar.count)) { (picture) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_above_what_they_show() {
        for (highest, top) in [
            (0.0, 1.0),
            (3.0, 5.0),
            (100_000.0, 100_000.0),
            (101.0, 200.0),
        ] {
            assert!((round_up(highest) - top).abs() < 1e-9, "{highest}");
        }
    }

    #[test]
    fn a_long_line_is_thinned_and_keeps_its_end() {
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let drawn = points(&values, &|value| value);
        assert!(drawn.split(' ').count() <= POINTS_MAX + 1);
        assert!(drawn.ends_with("720.0,99999.0"), "{drawn:.40}");
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
            signal(THE_SAME_FOR_ALL[0], -9.0),
        ];
        let table = signals(&all).into_string();
        let (strong, weak) = (table.find("strong").unwrap(), table.find("weak").unwrap());
        assert!(strong < weak);
        assert_eq!(table.matches("width=\"50.0\"").count(), 1, "{table}");
        assert!(table.contains("width=\"2.5\""), "{table}");
        assert!(!table.contains("base"), "{table}");
    }
}
