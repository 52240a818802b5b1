//! Fitting the adapter: ridge regression, alternating between its two sides in a fixed order.
//!
//! `advantage of run i ~ sum over r of (down_r . qi) (up_r . xi)`, where xi is the mean of the
//! records it used, less what runs nearby used. Weights that past runs depended on (Fisher
//! information) are held to what they were: that is elastic weight consolidation for a linear
//! model, and it is exact.

use reprise_types::{AdapterWeights, dot};

use super::{RANK, products};

/// One run as input of the fit.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Its query's unit vector.
    pub(crate) query: Vec<f32>,
    /// The mean of the records it used, minus that of similar runs.
    pub(crate) used: Vec<f32>,
    /// Its quality minus the expected quality.
    pub(crate) advantage: f32,
    /// Its weight, 0..1.
    pub(crate) weight: f32,
}

/// Ridge of `up` towards zero, in units of one run.
const RIDGE_UP: f32 = 3.0;
/// Ridge of `down` towards its previous value.
const RIDGE_DOWN: f32 = 20.0;
/// Pull of `up` towards the last consolidated weights, times its Fisher information.
const HOLD: f32 = 0.5;
/// Share of the previous Fisher information that a fit keeps after [`FISHER_RUNS`] more runs, or
/// after as many again as an eighth of those before.
const FISHER_DECAY: f32 = 0.9;
const FISHER_RUNS: u64 = 32;
const SWEEPS: usize = 3;
const STEPS_MAX: usize = 15;
const POWER_STEPS: usize = 12;

/// Fits weights to `rows`, regularised towards `before`. Without rows the weights stay.
pub(crate) fn fit(
    rows: &[Row],
    before: &AdapterWeights,
    dimensions: usize,
    runs: u64,
) -> AdapterWeights {
    if rows.is_empty() {
        return before.clone();
    }
    let size = RANK * dimensions;
    let anew = before.up.len() != size;
    let mut up = if anew {
        vec![0.0; size]
    } else {
        before.up.clone()
    };
    let mut down = if anew {
        first_down(rows, dimensions)
    } else {
        before.down.clone()
    };
    let zeros = vec![0.0; size];
    let hold: Vec<f32> = if anew {
        zeros.clone()
    } else {
        before.fisher.iter().map(|f| HOLD * f).collect()
    };
    let held = up.clone();
    if anew {
        // The first row is fitted alone, the second to the residual.
        let first = |row: &Row| [dot(&down[..dimensions], &row.query), 0.0];
        let features = |row: &Row| feature(first(row), &row.used);
        solve(rows, features, RIDGE_UP, &zeros, &zeros, &mut up);
        second_down(rows, &mut down, &up, dimensions);
    }
    let aimed = down.clone();
    for sweep in 0..SWEEPS {
        let features = |row: &Row| feature(products(&down, &row.query), &row.used);
        solve(rows, features, RIDGE_UP, &hold, &held, &mut up);
        if sweep + 1 < SWEEPS {
            let features = |row: &Row| feature(products(&up, &row.used), &row.query);
            let pull = vec![RIDGE_DOWN * scale(rows, &up); size];
            solve(rows, features, 0.0, &pull, &aimed, &mut down);
        }
    }
    let mut fisher = vec![0.0; size];
    for row in rows {
        let feature = feature(products(&down, &row.query), &row.used);
        for (fisher, x) in fisher.iter_mut().zip(&feature) {
            *fisher += row.weight * x * x;
        }
    }
    if !anew {
        let since = runs.saturating_sub(before.runs) as f32;
        let kept = FISHER_DECAY.powf(since / (before.runs / 8).max(FISHER_RUNS) as f32);
        for (now, old) in fisher.iter_mut().zip(&before.fisher) {
            *now = now.max(kept * old);
        }
    }
    AdapterWeights {
        runs,
        down,
        up,
        fisher,
    }
}

/// Scale of the features of `down`, so that its ridge is in the same unit.
fn scale(rows: &[Row], up: &[f32]) -> f32 {
    let total: f32 = rows
        .iter()
        .map(|row| products(up, &row.used).iter().map(|a| a * a).sum::<f32>())
        .sum();
    total / rows.len() as f32 + 1e-6
}

fn feature(aims: [f32; RANK], vector: &[f32]) -> Vec<f32> {
    aims.iter()
        .flat_map(|aim| vector.iter().map(move |x| aim * x))
        .collect()
}

/// The first row is nearly constant over queries: the mean query, scaled to an output of about 1.
fn first_down(rows: &[Row], dimensions: usize) -> Vec<f32> {
    let mut down = vec![0.0; RANK * dimensions];
    let mean = &mut down[..dimensions];
    for row in rows {
        add(mean, row.weight, &row.query);
    }
    let length = dot(mean, mean);
    let aim: f32 = rows
        .iter()
        .map(|row| row.weight * dot(mean, &row.query))
        .sum();
    let count: f32 = rows.iter().map(|row| row.weight).sum();
    if length > 0.0 && aim > 0.0 {
        for x in mean {
            *x *= count / aim;
        }
    }
    down
}

/// The second row: the direction of queries along which the residual varies most.
fn second_down(rows: &[Row], down: &mut [f32], up: &[f32], dimensions: usize) {
    let (first, second) = down.split_at_mut(dimensions);
    let rest: Vec<f32> = rows
        .iter()
        .map(|row| {
            row.weight
                * (row.advantage - dot(first, &row.query) * dot(&up[..dimensions], &row.used))
        })
        .collect();
    let along = dot(first, first);
    let mut right: Vec<f32> = (0..dimensions)
        .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    for _ in 0..POWER_STEPS {
        second.fill(0.0);
        for (row, rest) in rows.iter().zip(&rest) {
            add(second, rest * dot(&row.used, &right), &row.query);
        }
        // The component shared by all queries belongs to the first row.
        let shared = if along > 0.0 {
            dot(second, first) / along
        } else {
            0.0
        };
        add(second, -shared, first);
        reprise_types::normalize(second);
        right.fill(0.0);
        for (row, rest) in rows.iter().zip(&rest) {
            add(&mut right, rest * dot(&row.query, second), &row.used);
        }
        reprise_types::normalize(&mut right);
    }
    for x in second {
        *x *= 4.0;
    }
}

/// Adds a multiple of a vector to another one.
pub(crate) fn add(to: &mut [f32], factor: f32, vector: &[f32]) {
    for (to, x) in to.iter_mut().zip(vector) {
        *to += factor * x;
    }
}

/// Ridge regression by conjugate gradients, started at `out`:
/// minimises `sum w (y - f . v)^2 + ridge |v|^2 + sum hold (v - held)^2`.
fn solve(
    rows: &[Row],
    feature: impl Fn(&Row) -> Vec<f32>,
    ridge: f32,
    hold: &[f32],
    held: &[f32],
    out: &mut [f32],
) {
    let features: Vec<Vec<f32>> = rows.iter().map(feature).collect();
    let apply = |v: &[f32]| -> Vec<f32> {
        let mut result: Vec<f32> = v
            .iter()
            .zip(hold)
            .map(|(x, hold)| (ridge + hold) * x)
            .collect();
        for (row, feature) in rows.iter().zip(&features) {
            add(&mut result, row.weight * dot(feature, v), feature);
        }
        result
    };
    let mut rest: Vec<f32> = hold
        .iter()
        .zip(held)
        .map(|(hold, held)| hold * held)
        .collect();
    for (row, feature) in rows.iter().zip(&features) {
        add(&mut rest, row.weight * row.advantage, feature);
    }
    let goal = dot(&rest, &rest) * 1e-8;
    add(&mut rest, -1.0, &apply(out));
    let mut direction = rest.clone();
    let mut left = dot(&rest, &rest);
    for _ in 0..STEPS_MAX {
        if left <= goal || left <= f32::MIN_POSITIVE {
            break;
        }
        let moved = apply(&direction);
        let step = left / dot(&direction, &moved).max(f32::MIN_POSITIVE);
        add(out, step, &direction);
        add(&mut rest, -step, &moved);
        let now = dot(&rest, &rest);
        let keep = now / left;
        for (direction, rest) in direction.iter_mut().zip(&rest) {
            *direction = rest + keep * *direction;
        }
        left = now;
    }
}
