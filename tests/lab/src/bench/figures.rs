//! What every bench takes from its times and its process, and how it says so.

use crate::prelude::*;

/// Says a row of figures: as a line of JSON, or for people each by its name, in this order.
macro_rules! row {
    ($context:expr, { $($name:literal: $value:expr),+ }) => {
        $crate::bench::figures::print_row(
            $context,
            [$(($name.to_owned(), serde_json::json!($value))),+],
        )
    };
}
pub(super) use row;

/// Prints every figure of a value as one row; its lists are printed only as JSON.
pub(super) fn print_all(context: &Context, figures: &impl Serialize) -> anyhow::Result<Exit> {
    let figures: Map<String, Value> = serde_json::from_value(serde_json::to_value(figures)?)?;
    print_row(context, figures)
}

/// Prints the times for people, a row each, and then every figure of a value.
pub(super) fn print_with_times<const N: usize>(
    context: &Context,
    figures: &impl Serialize,
    times: [(&str, Times); N],
) -> anyhow::Result<Exit> {
    for (name, times) in times.into_iter().filter(|_| !context.json) {
        row!(context, { "what": name, "count": times.count, "ms_p50": times.p50,
            "ms_best": times.best, "ms_p99": times.p99, "ms_max": times.max })?;
    }
    print_all(context, figures)
}

pub(super) fn print_row(
    context: &Context,
    row: impl IntoIterator<Item = (String, Value)>,
) -> anyhow::Result<Exit> {
    let row: Vec<(String, Value)> = row.into_iter().collect();
    let told = row.iter().filter_map(|(name, value)| {
        let name = name.replace('_', " ");
        Some(match value {
            Value::Array(_) | Value::Object(_) => return None,
            Value::String(text) => format!("{name} {text}"),
            value => match value.as_f64().filter(|_| value.is_f64()) {
                Some(number) => format!("{name} {number:.3}"),
                None => format!("{name} {value}"),
            },
        })
    });
    let told: Vec<String> = told.collect();
    let is_long = told.iter().map(String::len).sum::<usize>() > 130;
    let told = told.join(if is_long { "\n  " } else { ", " });
    let row: Map<String, Value> = row.iter().cloned().collect();
    output::line(context, &row, told)
}

/// How many times there are, the middle one, the best, the worst but one in a hundred, the worst.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Times {
    count: usize,
    pub(super) p50: f64,
    pub(super) best: f64,
    pub(super) p99: f64,
    max: f64,
}

impl Times {
    pub(super) fn from_times(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share| reprise_lab::percentile(&times, share).unwrap_or(f64::NAN);
        Self {
            count: times.len(),
            p50: at(0.5),
            best: at(0.0),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

/// Resident memory of this process, in bytes; 0 where the machine does not say.
pub(super) fn resident_bytes() -> u64 {
    resident_bytes_of(Path::new("/proc/self/status"))
}

/// Returns the resident bytes of the process with this status file.
pub(super) fn resident_bytes_of(status: &Path) -> u64 {
    let status = fs_err::read_to_string(status).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
