//! Evaluation of learning: scenarios of outcomes over real vectors, evaluated on held-out
//! questions, and a closed loop in which a learner's own rankings produce the next outcomes.
//!
//! Rankings are by cosine plus adjustment over the fifty nearest, so that nothing but learning
//! differs from the baseline.

mod report;
mod sona_baseline;
mod student;
mod world;

use std::collections::BTreeMap;
use std::thread;

use reprise_types::{EmbedError, Embedder};

use self::student::Student;
use self::world::{
    DEPTH, LearningWorld, Scenario, SeededDice, TOPICS, ndcg, topic_of_memory, topic_of_question,
};
use crate::report::mean_interval;

pub use report::{LearningReport, Loop, RetainedGain, ScenarioReport, System, print_learning};

/// Seeds of the report. Constants of the learner were chosen on seeds 1 to 8 alone.
const SEEDS: std::ops::Range<u64> = 101..109;
/// Records that a run uses of the ten it was shown.
const USED: usize = 3;
/// Records that a contaminated run names without having used them.
const BYSTANDERS: usize = 2;
/// Runs of each half of A then B.
const HALF_RUNS: usize = 480;
/// Runs of the closed loop.
const LOOP_RUNS: usize = 1_200;

/// The result of one seed of one scenario.
#[derive(Default)]
struct Outcome {
    cosine: f64,
    shipped: f64,
    learned: f64,
    changed: f64,
    largest: f32,
    cap: f32,
    gates: (f32, f32),
}

/// Runs every scenario and the closed loop. `tell` is called with the name of each.
pub fn evaluate_learning(
    embedder: &mut dyn Embedder,
    tell: &mut dyn FnMut(&str),
) -> Result<LearningReport, EmbedError> {
    tell("embedding 1,920 texts");
    let world = LearningWorld::new(embedder)?;
    let mut scenarios = Vec::new();
    for scenario in Scenario::ALL {
        tell(scenario.name_and_description().0);
        let outcomes = run_each_seed(|seed| run_seed(&world, scenario, seed));
        scenarios.push(build_scenario_report(scenario, &outcomes));
    }
    tell("a_then_b");
    let kept = RetainedGain::from_gains(&run_each_seed(|seed| measure_retained_gain(&world, seed)));
    let mut loops = Vec::new();
    for scenario in [Scenario::PerTopic, Scenario::Flip, Scenario::Random] {
        tell(&format!(
            "closed loop, {}",
            scenario.name_and_description().0
        ));
        let pairs = run_each_seed(|seed| {
            let plain = run_closed_loop(&world, scenario, seed, false);
            (plain, run_closed_loop(&world, scenario, seed, true))
        });
        let deltas: Vec<f64> = pairs
            .iter()
            .map(|(plain, learned)| learned - plain)
            .collect();
        loops.push(Loop {
            name: scenario.name_and_description().0,
            runs: LOOP_RUNS,
            cosine: mean(pairs.iter().map(|pair| pair.0)),
            reprise: mean(pairs.iter().map(|pair| pair.1)),
            delta_interval: mean_interval(&deltas).unwrap_or_default(),
        });
    }
    Ok(LearningReport {
        seeds: SEEDS.collect(),
        depth: DEPTH,
        scenarios,
        kept,
        loops,
    })
}

/// The gain on questions of topics A after runs on A, and what remains of it after as many runs on
/// the other topics.
fn measure_retained_gain(world: &LearningWorld, seed: u64) -> (f64, f64) {
    let scenario = Scenario::PerTopic;
    let mut dice = SeededDice::new(seed);
    let helpful = scenario.draw_helpful(&mut dice);
    let (known, asked) = scenario.split_questions(&mut dice);
    let of_a = |question: &usize| topic_of_question(*question) < TOPICS / 2;
    let (known_a, known_b): (Vec<usize>, Vec<usize>) = known.into_iter().partition(of_a);
    let asked: Vec<usize> = asked.into_iter().filter(of_a).collect();
    let mut student = Student::new(world);
    let mut gains = [0.0; 2];
    for (half, known) in [known_a, known_b].iter().enumerate() {
        for run in 0..HALF_RUNS {
            let question = known[run % known.len()];
            let shown: Vec<usize> = world.found[question][..DEPTH].iter().map(|f| f.0).collect();
            let (used, quality) = simulate_run(scenario, question, &shown, &helpful, &mut dice);
            student.learn(half * HALF_RUNS + run, question, &used, quality);
        }
        student.apply_pending();
        gains[half] = mean(asked.iter().map(|question| {
            let plain: Vec<usize> = world.found[*question].iter().map(|f| f.0).collect();
            let learned = student.rank_adjusted(*question).0;
            ndcg(&learned, *question, &helpful) - ndcg(&plain, *question, &helpful)
        }));
    }
    (gains[0], gains[1])
}

/// Runs the seeds on all cores; returns the results in their order.
fn run_each_seed<T: Send>(work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    let (work, mut done) = (&work, BTreeMap::new());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores)
            .map(|core| {
                let own = SEEDS.filter(move |seed| seed % cores == core);
                scope.spawn(move || own.map(|seed| (seed, work(seed))).collect::<Vec<_>>())
            })
            .collect();
        for worker in workers {
            // A panic in a worker fails the evaluation.
            done.extend(
                worker
                    .join()
                    .unwrap_or_else(|why| std::panic::resume_unwind(why)),
            );
        }
    });
    done.into_values().collect()
}

fn run_seed(world: &LearningWorld, scenario: Scenario, seed: u64) -> Outcome {
    let mut dice = SeededDice::new(seed);
    let mut helpful = scenario.draw_helpful(&mut dice);
    let (known, asked) = scenario.split_questions(&mut dice);
    let mut student = Student::new(world);
    for run in 0..scenario.run_count() {
        if scenario == Scenario::Flip && run == scenario.run_count() / 2 {
            invert_helpful(&mut helpful);
        }
        let question = known[run % known.len()];
        let shown: Vec<usize> = world.found[question][..DEPTH].iter().map(|f| f.0).collect();
        let (used, quality) = simulate_run(scenario, question, &shown, &helpful, &mut dice);
        student.learn(run, question, &used, quality);
    }
    student.apply_pending();
    let mut outcome = Outcome {
        cap: student.cap(),
        gates: student.gates(),
        ..Outcome::default()
    };
    let share = 1.0 / asked.len() as f64;
    for question in asked {
        let plain: Vec<usize> = world.found[question].iter().map(|f| f.0).collect();
        let (learned, largest) = student.rank_adjusted(question);
        outcome.cosine += share * ndcg(&plain, question, &helpful);
        outcome.learned += share * ndcg(&learned, question, &helpful);
        outcome.shipped += share * ndcg(&student.rank_by_sona(question), question, &helpful);
        outcome.largest = outcome.largest.max(largest);
        if plain[..DEPTH] != learned[..DEPTH] {
            outcome.changed += share;
        }
    }
    outcome
}

/// The records used by a run that was shown ten, and its quality.
fn simulate_run(
    scenario: Scenario,
    question: usize,
    shown: &[usize],
    helpful: &[bool],
    dice: &mut SeededDice,
) -> (Vec<usize>, f32) {
    let named = match scenario {
        Scenario::Contaminated => USED + BYSTANDERS,
        _ => USED,
    };
    let used: Vec<usize> = dice
        .pick(shown.len(), named)
        .into_iter()
        .map(|place| shown[place])
        .collect();
    let topic = topic_of_question(question);
    let helped = |memory: &&usize| helpful[**memory] && topic_of_memory(**memory) == topic;
    let good = used[..USED].iter().filter(helped).count() as f32 / USED as f32;
    let noise = dice.normal();
    let quality = match scenario {
        Scenario::Random => 0.5 + 0.29 * noise,
        Scenario::Inverted => 0.9 - 0.8 * good - 0.1 * noise,
        _ => 0.1 + 0.8 * good + 0.1 * noise,
    };
    (used, quality.clamp(0.0, 1.0))
}

/// The share of used memories that helped in the last quarter of a closed loop, ranked by the
/// learner or by plain cosine.
fn run_closed_loop(world: &LearningWorld, scenario: Scenario, seed: u64, learning: bool) -> f64 {
    let mut dice = SeededDice::new(seed);
    let mut helpful = scenario.draw_helpful(&mut dice);
    let (known, _) = scenario.split_questions(&mut dice);
    let mut student = Student::new(world);
    let (mut helped, mut used_last) = (0_usize, 0_usize);
    for run in 0..LOOP_RUNS {
        if scenario == Scenario::Flip && run == LOOP_RUNS / 2 {
            invert_helpful(&mut helpful);
        }
        let question = known[dice.below(known.len())];
        let shown: Vec<usize> = if learning {
            student.rank_adjusted(question).0[..DEPTH].to_vec()
        } else {
            world.found[question][..DEPTH].iter().map(|f| f.0).collect()
        };
        let (used, quality) = simulate_run(scenario, question, &shown, &helpful, &mut dice);
        if learning {
            student.learn(run, question, &used, quality);
        }
        if run >= LOOP_RUNS * 3 / 4 {
            let topic = topic_of_question(question);
            let good = |memory: &&usize| helpful[**memory] && topic_of_memory(**memory) == topic;
            helped += used.iter().filter(good).count();
            used_last += used.len();
        }
    }
    helped as f64 / used_last.max(1) as f64
}

/// Inverts which memories help.
fn invert_helpful(helpful: &mut [bool]) {
    for helps in helpful {
        *helps = !*helps;
    }
}

fn build_scenario_report(scenario: Scenario, outcomes: &[Outcome]) -> ScenarioReport {
    let (name, what) = scenario.name_and_description();
    let system = |value: fn(&Outcome) -> f64| {
        let deltas: Vec<f64> = outcomes.iter().map(|one| value(one) - one.cosine).collect();
        System {
            ndcg: mean(outcomes.iter().map(value)),
            delta: mean(deltas.iter().copied()),
            delta_interval: mean_interval(&deltas).unwrap_or_default(),
        }
    };
    ScenarioReport {
        name,
        what,
        runs: scenario.run_count(),
        cosine: mean(outcomes.iter().map(|one| one.cosine)),
        shipped: system(|one| one.shipped),
        reprise: system(|one| one.learned),
        changed: mean(outcomes.iter().map(|one| one.changed)),
        largest_adjustment: outcomes.iter().fold(0.0, |most, one| most.max(one.largest)),
        cap: mean(outcomes.iter().map(|one| f64::from(one.cap))),
        evidence_gate: mean(outcomes.iter().map(|one| f64::from(one.gates.0))),
        adapter_gate: mean(outcomes.iter().map(|one| f64::from(one.gates.1))),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests;
