//! Quality over time as a picture: each run a dot, the running mean of quality, and of what was
//! expected of it.

use std::fmt::Write as _;

const WIDTH: f32 = 900.0;
const HEIGHT: f32 = 320.0;
/// Room for the axes on every side.
const EDGE: f32 = 40.0;
/// Runs of the running mean.
const WINDOW: usize = 25;

/// An SVG of runs in order: quality and expectation of each, 0..1.
pub(super) fn svg(curve: &[(f32, f32)]) -> String {
    let step = (WIDTH - 2.0 * EDGE) / curve.len().saturating_sub(1).max(1) as f32;
    let x = |run: usize| EDGE + run as f32 * step;
    let y = |value: f32| HEIGHT - EDGE - value.clamp(0.0, 1.0) * (HEIGHT - 2.0 * EDGE);
    let mut out = head() + "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    for tenths in (0..=10_u8).step_by(2) {
        let value = f32::from(tenths) / 10.0;
        let height = y(value);
        push(
            &mut out,
            format_args!(
                "<path d=\"M{EDGE} {height}H{}\" stroke=\"#ddd\"/>\
                 <text x=\"8\" y=\"{}\">{value:.1}</text>\n",
                WIDTH - EDGE,
                height + 4.0
            ),
        );
    }
    for (run, (quality, _)) in curve.iter().enumerate() {
        push(
            &mut out,
            format_args!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\" fill=\"#bbb\"/>\n",
                x(run),
                y(*quality)
            ),
        );
    }
    let quality: Vec<f32> = curve.iter().map(|run| run.0).collect();
    let expected: Vec<f32> = curve.iter().map(|run| run.1).collect();
    let lines = [("quality", "#06c", quality), ("expected", "#c60", expected)];
    for (place, (name, colour, values)) in lines.into_iter().enumerate() {
        let points: Vec<String> = (0..values.len())
            .map(|run| {
                let window = &values[run.saturating_sub(WINDOW - 1)..=run];
                let mean = window.iter().sum::<f32>() / window.len() as f32;
                format!("{:.1},{:.1}", x(run), y(mean))
            })
            .collect();
        let (points, legend) = (points.join(" "), EDGE + 100.0 * place as f32);
        push(
            &mut out,
            format_args!(
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" \
                 stroke-width=\"2\"/>\
                 <text x=\"{legend}\" y=\"24\" fill=\"{colour}\">{name}</text>\n"
            ),
        );
    }
    push(
        &mut out,
        format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}{}",
            WIDTH - EDGE,
            HEIGHT - 12.0,
            curve.len(),
            tail()
        ),
    );
    out
}

/// Whether a text was drawn here.
pub(super) fn is_ours(svg: &str) -> bool {
    svg.starts_with(&head()) && svg.ends_with(&tail())
}

fn head() -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n"
    )
}

fn tail() -> String {
    format!(" runs, mean of {WINDOW}</text>\n</svg>\n")
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // A string takes everything that is written to it.
    let _taken = out.write_fmt(text).is_ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_a_dot_and_none_is_a_picture_too() {
        let drawn = svg(&[(0.2, 0.5), (0.9, 0.5), (1.0, 0.6)]);
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(!drawn.contains("NaN") && !svg(&[]).contains("NaN"));
        assert!(svg(&[]).ends_with("</svg>\n"));
        assert!(is_ours(&drawn) && is_ours(&svg(&[])) && !is_ours("<svg></svg>\n"));
    }
}
