//! Fitting the adapter: ridge regression, alternating between its two sides in a fixed order.
//!
//! `advantage of run i ~ sum over r of (down_r . qi) (up_r . xi)`, where xi is the mean of the
//! records it used, minus that of similar runs. Weights that past runs depended on (Fisher
//! information) are pulled to their previous values: this is elastic weight consolidation for a
//! linear model, and it is exact.

use reprise_types::{AdapterWeights, dot};

use super::{RANK, row_products};

/// A run as input of the fit.
#[derive(Debug, Clone)]
pub(crate) struct FitRow {
    /// Unit vector of its query.
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
/// Pull of `up` towards the last fitted weights, times its Fisher information.
const HOLD: f32 = 0.5;
/// Share of the previous Fisher information that a fit keeps after [`FISHER_RUNS`] more runs, or
/// after an eighth of the runs before it, if that is more.
const FISHER_DECAY: f32 = 0.9;
const FISHER_RUNS: u64 = 32;
const SWEEPS: usize = 3;
const STEPS_MAX: usize = 15;
const POWER_STEPS: usize = 12;

/// Fits weights to `rows`, regularised towards `before`. Without rows it returns `before`.
pub(crate) fn fit(
    rows: &[FitRow],
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
        initial_down(rows, dimensions)
    } else {
        before.down.clone()
    };
    let zeros = vec![0.0; size];
    let hold: Vec<f32> = if anew {
        zeros.clone()
    } else {
        before.fisher.iter().map(|f| HOLD * f).collect()
    };
    let hold_target = up.clone();
    if anew {
        // The first row is fitted alone, the second to the residual.
        let first = |row: &FitRow| [dot(&down[..dimensions], &row.query), 0.0];
        let features = |row: &FitRow| outer_product(first(row), &row.used);
        solve_ridge(rows, features, RIDGE_UP, &zeros, &zeros, &mut up);
        set_second_row(rows, &mut down, &up, dimensions);
    }
    let aimed = down.clone();
    for sweep in 0..SWEEPS {
        let features = |row: &FitRow| outer_product(row_products(&down, &row.query), &row.used);
        solve_ridge(rows, features, RIDGE_UP, &hold, &hold_target, &mut up);
        if sweep + 1 < SWEEPS {
            let features = |row: &FitRow| outer_product(row_products(&up, &row.used), &row.query);
            let pull = vec![RIDGE_DOWN * down_feature_scale(rows, &up); size];
            solve_ridge(rows, features, 0.0, &pull, &aimed, &mut down);
        }
    }
    let mut fisher = vec![0.0; size];
    for row in rows {
        let feature = outer_product(row_products(&down, &row.query), &row.used);
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

/// Returns the scale of the features of `down`, so that its ridge has the same unit.
fn down_feature_scale(rows: &[FitRow], up: &[f32]) -> f32 {
    let total: f32 = rows
        .iter()
        .map(|row| {
            row_products(up, &row.used)
                .iter()
                .map(|a| a * a)
                .sum::<f32>()
        })
        .sum();
    total / rows.len() as f32 + 1e-6
}

fn outer_product(aims: [f32; RANK], vector: &[f32]) -> Vec<f32> {
    aims.iter()
        .flat_map(|aim| vector.iter().map(move |x| aim * x))
        .collect()
}

/// Returns `down` with its first row set, which is nearly constant over queries: the mean query,
/// scaled to an output of about 1.
fn initial_down(rows: &[FitRow], dimensions: usize) -> Vec<f32> {
    let mut down = vec![0.0; RANK * dimensions];
    let mean = &mut down[..dimensions];
    for row in rows {
        add_scaled(mean, row.weight, &row.query);
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

/// Sets the second row to the direction of queries along which the residual varies most.
fn set_second_row(rows: &[FitRow], down: &mut [f32], up: &[f32], dimensions: usize) {
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
            add_scaled(second, rest * dot(&row.used, &right), &row.query);
        }
        // The component shared by all queries belongs to the first row.
        let shared = if along > 0.0 {
            dot(second, first) / along
        } else {
            0.0
        };
        add_scaled(second, -shared, first);
        reprise_types::normalize(second);
        right.fill(0.0);
        for (row, rest) in rows.iter().zip(&rest) {
            add_scaled(&mut right, rest * dot(&row.query, second), &row.used);
        }
        reprise_types::normalize(&mut right);
    }
    for x in second {
        *x *= 4.0;
    }
}

/// Adds a multiple of a vector to another one.
pub(crate) fn add_scaled(to: &mut [f32], factor: f32, vector: &[f32]) {
    for (to, x) in to.iter_mut().zip(vector) {
        *to += factor * x;
    }
}

/// Solves a ridge regression by conjugate gradients, started at `out`: minimises `sum w (y - f .
/// v)^2 + ridge |v|^2 + sum hold (v - hold_target)^2`.
fn solve_ridge(
    rows: &[FitRow],
    feature: impl Fn(&FitRow) -> Vec<f32>,
    ridge: f32,
    hold: &[f32],
    hold_target: &[f32],
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
            add_scaled(&mut result, row.weight * dot(feature, v), feature);
        }
        result
    };
    let mut rest: Vec<f32> = hold
        .iter()
        .zip(hold_target)
        .map(|(hold, hold_target)| hold * hold_target)
        .collect();
    for (row, feature) in rows.iter().zip(&features) {
        add_scaled(&mut rest, row.weight * row.advantage, feature);
    }
    let goal = dot(&rest, &rest) * 1e-8;
    add_scaled(&mut rest, -1.0, &apply(out));
    let mut direction = rest.clone();
    let mut left = dot(&rest, &rest);
    for _ in 0..STEPS_MAX {
        if left <= goal || left <= f32::MIN_POSITIVE {
            break;
        }
        let moved = apply(&direction);
        let step = left / dot(&direction, &moved).max(f32::MIN_POSITIVE);
        add_scaled(out, step, &direction);
        add_scaled(&mut rest, -step, &moved);
        let now = dot(&rest, &rest);
        let keep = now / left;
        for (direction, rest) in direction.iter_mut().zip(&rest) {
            *direction = rest + keep * *direction;
        }
        left = now;
    }
}
