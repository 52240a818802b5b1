//! The reasoning bank: the trajectories of successful runs in at most twenty clusters, each with
//! the steps of its best run.
//!
//! Each fit computes it from the journal by k-means++, and the log stores it with the fit.

use std::collections::BTreeMap;

use reprise_types::{RecordId, RunPattern, dot, next_splitmix64, normalize};

use crate::adapter::fit::add_scaled;
use crate::journal::FinishedRun;
use crate::learner::Learner;
use crate::run_tracker::CHAIN_ACTION_BYTES_MAX;

const PATTERNS_MAX: usize = 20;
const RUNS_MAX: usize = 2_048;
/// Quality from which a run counts as a success.
const SUCCESS: f32 = 0.6;
/// Cosine to a centre from which on a query, or a trajectory, belongs to its cluster.
const NEAR: f32 = 0.6;
/// Rounds of Lloyd's algorithm.
const ROUNDS: usize = 8;
const RECORDS_MAX: usize = 5;
/// Latest runs of which those like a query are counted.
const COUNTED_RUNS: usize = 256;
/// Runs like a query from which on their chain is told.
const TOLD_RUNS: usize = 2;
const STEPS_TOLD: usize = 6;

/// A successful run as a point: where its query and the results of its steps lie.
struct Trajectory<'a> {
    run: &'a FinishedRun,
    query: Vec<f32>,
    /// The direction of its query and the mean of its results.
    whole: Vec<f32>,
}

impl<'a> Trajectory<'a> {
    fn new(run: &'a FinishedRun, vector: &dyn Fn(RecordId, &mut [f32]) -> bool) -> Self {
        let query = run.query.to_vector();
        let (mut sum, mut count) = (vec![0.0; query.len()], 0.0_f32);
        let mut buffer = vec![0.0; query.len()];
        for result in run.chain.iter().filter_map(|step| step.result) {
            if vector(result, &mut buffer) {
                add_scaled(&mut sum, 1.0, &buffer);
                count += 1.0;
            }
        }
        let mut whole = query.clone();
        if count > 0.0 {
            add_scaled(&mut whole, 1.0 / count, &sum);
        }
        normalize(&mut whole);
        Self { run, query, whole }
    }
}

impl Learner {
    /// Returns the patterns of the last fit, largest first; before the first fit those of the
    /// current runs.
    pub fn patterns(&self) -> Vec<RunPattern> {
        if self.pattern_bank.is_empty() {
            self.cluster_runs(&|_, _| false)
        } else {
            self.pattern_bank.to_vec()
        }
    }

    /// Finds the pattern that a query belongs to.
    pub fn find_pattern(&self, query: &[f32]) -> Option<RunPattern> {
        let patterns = self.patterns().into_iter();
        let near =
            patterns.map(|pattern| (dot(&dequantize_direction(&pattern.centre), query), pattern));
        let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0));
        nearest.filter(|near| near.0 >= NEAR).map(|near| near.1)
    }

    /// Finds the pattern of the first of these runs that belongs to one.
    fn find_pattern_of_runs(&self, runs: &[&str]) -> Option<RunPattern> {
        runs.iter().find_map(|run_id| {
            let mut known = self.journal.runs.iter_last(COUNTED_RUNS);
            let run = known.find(|run| run.id == *run_id && !run.is_withdrawn())?;
            self.find_pattern(&run.query.to_vector())
        })
    }

    /// Renders how requests like this one were done, and how often that worked: the chain of the
    /// pattern that the query belongs to, else of the one that these runs belong to, in one line.
    /// `None` without a pattern of several runs.
    pub(crate) fn render_chain(&self, query: &[f32], runs: &[&str]) -> Option<String> {
        let pattern = self.find_pattern(query);
        let pattern = pattern.or_else(|| self.find_pattern_of_runs(runs))?;
        let centre = dequantize_direction(&pattern.centre);
        let near = self.journal.runs.iter_last(COUNTED_RUNS).filter(|run| {
            let is_known = run.query.scale() > 0.0 && run.is_counted();
            is_known && dot(&centre, &run.query.to_vector()) >= NEAR
        });
        let (mut tried, mut worked) = (0, 0);
        for run in near {
            tried += 1;
            worked += usize::from(run.quality >= SUCCESS);
        }
        let steps = pattern.chain.iter().map(|step| shorten_step(&step.action));
        let steps: Vec<String> = steps.take(STEPS_TOLD).collect();
        let is_told = tried >= TOLD_RUNS && !steps.is_empty();
        is_told.then(|| {
            format!(
                "{}: worked {worked} of {tried} times",
                steps.join(", then ")
            )
        })
    }

    /// Clusters the trajectories of the successful runs into patterns, largest first. `vector`
    /// writes a record's vector and returns whether it has one.
    pub(crate) fn cluster_runs(
        &self,
        vector: &dyn Fn(RecordId, &mut [f32]) -> bool,
    ) -> Vec<RunPattern> {
        let runs: Vec<Trajectory<'_>> = self
            .journal
            .runs
            .iter_last(RUNS_MAX)
            .filter(|run| run.quality >= SUCCESS && run.query.scale() > 0.0 && run.is_counted())
            .map(|run| Trajectory::new(run, vector))
            .collect();
        let mut centres = seed_centres(&runs);
        let mut of = vec![0; runs.len()];
        for _ in 0..ROUNDS {
            for (of, run) in of.iter_mut().zip(&runs) {
                *of = nearest_centre(&centres, &run.whole);
            }
            for (index, centre) in centres.iter_mut().enumerate() {
                let members = runs.iter().zip(&of).filter(|(_, of)| **of == index);
                let mean = mean_direction(members.map(|(run, _)| run.whole.as_slice()));
                if let Some(mean) = mean {
                    *centre = mean;
                }
            }
        }
        let mut patterns: Vec<RunPattern> = (0..centres.len())
            .filter_map(|index| {
                let members = runs.iter().zip(&of).filter(|(_, of)| **of == index);
                build_pattern(&members.map(|(run, _)| run).collect::<Vec<_>>())
            })
            .collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.runs));
        patterns
    }
}

/// Returns what a step did, without what came of it. One word alone, as in `plan: a mutex, because
/// it worked`, tells too little, so the clause after it is kept. A cut word is left out.
fn shorten_step(action: &str) -> String {
    let done = match action.split_once(": ") {
        Some((head, rest)) if !head.contains(' ') => {
            let clause = rest.split(", ").next().unwrap_or_default();
            format!("{head}: {clause}")
        }
        Some((head, _)) => head.to_owned(),
        None => action.to_owned(),
    };
    // The longest actions are cut, as a character may be at the limit.
    let is_cut = done.len() + 3 >= CHAIN_ACTION_BYTES_MAX;
    match done.rsplit_once(' ') {
        Some((whole, _)) if is_cut => format!("{whole} ..."),
        _ => done,
    }
}

/// Chooses the initial centres by k-means++: the oldest trajectory, then each by chance, the more
/// likely the larger the square of its distance from the nearest centre, until every one is near a
/// centre. The chance depends on the number of trajectories only, so that a history always gives
/// the same clusters.
fn seed_centres(runs: &[Trajectory<'_>]) -> Vec<Vec<f32>> {
    let first = runs.first().map(|run| run.whole.clone());
    let mut centres: Vec<Vec<f32>> = first.into_iter().collect();
    let mut weights = vec![f64::MAX; runs.len()];
    let mut chance = runs.len() as u64;
    while let (Some(last), true) = (centres.last(), centres.len() < PATTERNS_MAX) {
        for (weight, run) in weights.iter_mut().zip(runs) {
            *weight = weight.min(squared_distance(last, &run.whole));
        }
        let sum: f64 = weights.iter().sum();
        let mut left = sum * (next_splitmix64(&mut chance) as f64 / u64::MAX as f64);
        let drawn = weights.iter().position(|weight| {
            left -= weight;
            *weight > 0.0 && left <= 0.0
        });
        let drawn = drawn.or_else(|| weights.iter().rposition(|weight| *weight > 0.0));
        let Some(drawn) = drawn else {
            break;
        };
        centres.push(runs[drawn].whole.clone());
    }
    centres
}

/// Returns half the squared distance of a trajectory from a centre; 0 if it is near.
fn squared_distance(centre: &[f32], whole: &[f32]) -> f64 {
    let cosine = dot(centre, whole);
    if cosine >= NEAR {
        0.0
    } else {
        f64::from(1.0 - cosine)
    }
}

/// Returns the index of the centre nearest to a trajectory.
fn nearest_centre(centres: &[Vec<f32>], whole: &[f32]) -> usize {
    let mut best = (0, f32::MIN);
    for (index, centre) in centres.iter().enumerate() {
        let cosine = dot(centre, whole);
        if cosine > best.1 {
            best = (index, cosine);
        }
    }
    best.0
}

/// Returns the direction of the sum of unit vectors; `None` if they have none.
fn mean_direction<'a>(vectors: impl Iterator<Item = &'a [f32]>) -> Option<Vec<f32>> {
    let mut sum: Vec<f32> = Vec::new();
    for vector in vectors {
        sum.resize(vector.len(), 0.0);
        add_scaled(&mut sum, 1.0, vector);
    }
    normalize(&mut sum);
    sum.iter().any(|x| *x != 0.0).then_some(sum)
}

fn build_pattern(members: &[&Trajectory<'_>]) -> Option<RunPattern> {
    let centre = mean_direction(members.iter().map(|member| member.query.as_slice()))?;
    let near = |member: &Trajectory<'_>| dot(&centre, &member.query);
    let members_by = members.iter().copied();
    let example = members_by.max_by(|a, b| near(a).total_cmp(&near(b)))?.run;
    // The steps of the best run; of equally good ones, of the run whose query is nearest to the
    // centre.
    let with_steps = members
        .iter()
        .copied()
        .filter(|one| !one.run.chain.is_empty());
    let best = with_steps.max_by(|a, b| {
        let quality = a.run.quality.total_cmp(&b.run.quality);
        quality.then_with(|| near(a).total_cmp(&near(b)))
    });
    let mut uses: BTreeMap<RecordId, usize> = BTreeMap::new();
    for record in members.iter().flat_map(|one| &one.run.used) {
        *uses.entry(*record).or_default() += 1;
    }
    let mut records: Vec<(RecordId, usize)> = uses.into_iter().collect();
    records.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
    let records = records.into_iter().take(RECORDS_MAX);
    Some(RunPattern {
        example_run: example.id.clone(),
        runs: members.len(),
        quality: members.iter().map(|one| one.run.quality).sum::<f32>() / members.len() as f32,
        records: records.map(|(id, _)| id).collect(),
        chain: best.map(|best| best.run.chain.clone()).unwrap_or_default(),
        centre: quantize_direction(&centre),
    })
}

/// Quantises a direction to 8-bit integers, for the log.
fn quantize_direction(vector: &[f32]) -> Vec<i8> {
    let largest = vector
        .iter()
        .fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
    let scaled = vector.iter().map(|x| (x / largest * 127.0).round() as i8);
    scaled.collect()
}

/// Returns the unit vector of a quantised direction.
fn dequantize_direction(centre: &[i8]) -> Vec<f32> {
    let mut vector: Vec<f32> = centre.iter().map(|x| f32::from(*x)).collect();
    normalize(&mut vector);
    vector
}
