//! The reasoning bank (M63): successful runs as at most twenty clusters of queries, each with the
//! steps of the best of its runs.
//!
//! Taken from the journal at each fit and kept with it in the log. Farthest-first seeding, then
//! Lloyd's algorithm, in a fixed order.

use std::collections::BTreeMap;

use reprise_types::{RecordId, RunPattern, dot, normalize};

use crate::adapter::fit::add;
use crate::journal::Run;
use crate::learner::Learner;

const PATTERNS_MAX: usize = 20;
const RUNS_MAX: usize = 2_048;
/// Quality from which a run counts as a success.
const SUCCESS: f32 = 0.6;
/// Cosine to a centre from which a query needs no cluster of its own.
const NEAR: f32 = 0.6;
const STEPS: usize = 8;
const RECORDS_MAX: usize = 5;

impl Learner {
    /// The patterns, largest first: those of the last fit, or before the first one those of now.
    pub fn patterns(&self) -> Vec<RunPattern> {
        if self.bank.is_empty() {
            self.find_patterns()
        } else {
            self.bank.to_vec()
        }
    }

    /// The pattern that a query belongs to.
    pub fn pattern_of(&self, query: &[f32]) -> Option<RunPattern> {
        let patterns = self.patterns().into_iter();
        let near = patterns.map(|pattern| (dot(&direction(&pattern.centre), query), pattern));
        let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0));
        nearest.filter(|near| near.0 >= NEAR).map(|near| near.1)
    }

    /// The patterns of the runs held.
    pub(crate) fn find_patterns(&self) -> Vec<RunPattern> {
        let runs: Vec<(&Run, Vec<f32>)> = self
            .journal
            .runs
            .last(RUNS_MAX)
            .filter(|run| run.quality >= SUCCESS && run.query.scale() > 0.0 && !run.is_withdrawn())
            .map(|run| (run.as_ref(), run.query.decode()))
            .collect();
        let mut centres = seeds(&runs);
        let mut of = vec![0; runs.len()];
        for _ in 0..STEPS {
            for (of, (_, query)) in of.iter_mut().zip(&runs) {
                *of = nearest(&centres, query).0;
            }
            for (index, centre) in centres.iter_mut().enumerate() {
                let mut sum = vec![0.0; centre.len()];
                for ((_, query), _) in runs.iter().zip(&of).filter(|(_, of)| **of == index) {
                    add(&mut sum, 1.0, query);
                }
                normalize(&mut sum);
                if sum.iter().any(|x| *x != 0.0) {
                    *centre = sum;
                }
            }
        }
        let mut patterns: Vec<RunPattern> = centres
            .into_iter()
            .enumerate()
            .filter_map(|(index, centre)| {
                let members = runs.iter().zip(&of).filter(|(_, of)| **of == index);
                pattern(&members.map(|(run, _)| run).collect::<Vec<_>>(), &centre)
            })
            .collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.runs));
        patterns
    }
}

/// Farthest-first seeding from the oldest run on, until every query has a centre near it.
fn seeds(runs: &[(&Run, Vec<f32>)]) -> Vec<Vec<f32>> {
    let mut centres: Vec<Vec<f32>> = runs.first().map(|run| run.1.clone()).into_iter().collect();
    let mut best = vec![f32::MIN; runs.len()];
    while let (Some(last), true) = (centres.last(), centres.len() < PATTERNS_MAX) {
        let mut farthest = (1.0_f32, 0);
        for (index, (best, (_, query))) in best.iter_mut().zip(runs).enumerate() {
            *best = best.max(dot(last, query));
            if *best < farthest.0 {
                farthest = (*best, index);
            }
        }
        if farthest.0 >= NEAR {
            break;
        }
        centres.push(runs[farthest.1].1.clone());
    }
    centres
}

/// The centre nearest to a query, and the cosine.
fn nearest(centres: &[Vec<f32>], query: &[f32]) -> (usize, f32) {
    let mut best = (0, f32::MIN);
    for (index, centre) in centres.iter().enumerate() {
        let cosine = dot(centre, query);
        if cosine > best.1 {
            best = (index, cosine);
        }
    }
    best
}

fn pattern(members: &[&(&Run, Vec<f32>)], centre: &[f32]) -> Option<RunPattern> {
    let near = |member: &(&Run, Vec<f32>)| dot(centre, &member.1);
    let members_by = members.iter().copied();
    let example = members_by.max_by(|a, b| near(a).total_cmp(&near(b)))?.0;
    // The best run's steps, of equals those of the one that asked most like all.
    let told = members
        .iter()
        .copied()
        .filter(|one| !one.0.chain.is_empty());
    let best = told.max_by(|a, b| {
        let quality = a.0.quality.total_cmp(&b.0.quality);
        quality.then_with(|| near(a).total_cmp(&near(b)))
    });
    let mut uses: BTreeMap<RecordId, usize> = BTreeMap::new();
    for record in members.iter().flat_map(|(run, _)| &run.used) {
        *uses.entry(*record).or_default() += 1;
    }
    let mut records: Vec<(RecordId, usize)> = uses.into_iter().collect();
    records.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
    let records = records.into_iter().take(RECORDS_MAX);
    Some(RunPattern {
        example_run: example.id.clone(),
        runs: members.len(),
        quality: members.iter().map(|(run, _)| run.quality).sum::<f32>() / members.len() as f32,
        records: records.map(|(id, _)| id).collect(),
        chain: best.map(|best| best.0.chain.clone()).unwrap_or_default(),
        centre: coarse(centre),
    })
}

/// A direction in whole numbers, for the log.
fn coarse(vector: &[f32]) -> Vec<i8> {
    let largest = vector
        .iter()
        .fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
    let scaled = vector.iter().map(|x| (x / largest * 127.0).round() as i8);
    scaled.collect()
}

/// The unit vector of such a direction.
fn direction(centre: &[i8]) -> Vec<f32> {
    let mut vector: Vec<f32> = centre.iter().map(|x| f32::from(*x)).collect();
    normalize(&mut vector);
    vector
}
