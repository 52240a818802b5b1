//! The cost of learning at ten thousand runs: `cargo bench -p reprise-learn`. Prints minima and
//! ratios of one run; asserts no figure.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its table, and ends where its world is not as it was made"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use chrono::DateTime;
use reprise_learn::{Learner, LearningContext, OutcomeLearning};
use reprise_types::{
    Credit, Embedding, EmbeddingSpace, LearningEngine, LearningEvent, RecordId, RunBeginning,
    RunEnding, RunOutcome, next_splitmix64, normalize,
};

const DIMENSIONS: u16 = 384;
const RUNS: usize = 10_000;
const TOPICS: usize = 200;
const PER_TOPIC: usize = 50;

/// Generates deterministic random numbers.
struct Dice(u64);

impl Dice {
    fn next_random(&mut self) -> u64 {
        next_splitmix64(&mut self.0)
    }

    fn next_unit(&mut self) -> f32 {
        (self.next_random() >> 40) as f32 / (1u32 << 24) as f32
    }

    fn next_below(&mut self, bound: usize) -> usize {
        (self.next_random() % bound as u64) as usize
    }

    fn random_near(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
        let mut vector: Vec<f32> = centre
            .iter()
            .map(|x| x + spread * (self.next_unit() - 0.5))
            .collect();
        normalize(&mut vector);
        vector
    }
}

/// Topics with their records, and runs on them: even records help.
struct World {
    dice: Dice,
    space: EmbeddingSpace,
    topics: Vec<Vec<f32>>,
    records: Vec<Vec<f32>>,
}

const STRIDE: u128 = 0x9e37_79b9_7f4a_7c15;

fn id(record: usize) -> RecordId {
    RecordId::from_u128((record as u128 + 1) * STRIDE)
}

impl World {
    fn new() -> Self {
        let mut dice = Dice(1);
        let zero = vec![0.0; usize::from(DIMENSIONS)];
        let topics: Vec<Vec<f32>> = (0..TOPICS).map(|_| dice.random_near(&zero, 1.0)).collect();
        let records = (0..TOPICS * PER_TOPIC)
            .map(|record| dice.random_near(&topics[record / PER_TOPIC], 0.15))
            .collect();
        let space = EmbeddingSpace {
            model: "bench".to_owned(),
            version: "1".to_owned(),
            dimensions: DIMENSIONS,
        };
        Self {
            dice,
            space,
            topics,
            records,
        }
    }

    fn outcome(&mut self, run: usize) -> RunOutcome {
        let topic = self.dice.next_below(TOPICS);
        let used: Vec<usize> = (0..3)
            .map(|_| topic * PER_TOPIC + self.dice.next_below(PER_TOPIC))
            .collect();
        let good = used.iter().filter(|record| *record % 2 == 0).count() as f32 / 3.0;
        RunOutcome {
            begin: RunBeginning {
                run_id: format!("run-{run}"),
                query: Some(Embedding {
                    space: self.space.clone(),
                    vector: self.dice.random_near(&self.topics[topic], 0.1),
                }),
                recall_id: None,
            },
            end: RunEnding {
                run_id: String::new(),
                used: used.iter().map(|record| id(*record)).collect(),
                credit: Credit::Explicit,
                quality: Some((0.1 + 0.8 * good + 0.1 * self.dice.next_unit()).min(1.0)),
                fail_kind: None,
            },
        }
    }
}

fn main() {
    let mut world = World::new();
    let mut learning = OutcomeLearning::new(usize::from(DIMENSIONS));
    let live = |_: RecordId| true;
    let none = |_: RecordId, _: &mut [f32]| false;
    let (mut plan, mut fold) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let outcome = world.outcome(run);
        // A reader keeps the last learner, as in the service, so that changes copy.
        let reader = learning.learner();
        let premises = LearningContext {
            now: DateTime::UNIX_EPOCH,
            space: Some(&world.space),
            is_live: &live,
            write_vector: &none,
        };
        let began = Instant::now();
        let events = learning
            .plan_outcome(&outcome, premises)
            .expect("a fair outcome");
        plan.push(began.elapsed());
        let began = Instant::now();
        for event in &events {
            learning.apply_event(event, &live);
        }
        fold.push(began.elapsed());
        drop(reader);
    }
    let fit = time_fit(&world, &mut learning);
    let learner = learning.learner();
    let mut adjust = time_adjustments(&mut world, &learner);
    let began = Instant::now();
    let part = learning.to_bytes();
    let to_part = began.elapsed();
    let began = Instant::now();
    let back = OutcomeLearning::from_bytes(usize::from(DIMENSIONS), learning.settings(), &part)
        .expect("its own part");
    let from_part = began.elapsed();
    assert_eq!(back.digest(), learning.digest(), "a part is the state");

    let late = RUNS - 1_000..;
    let records = world.records.len();
    println!("{RUNS} runs, {records} records, {DIMENSIONS} dimensions");
    println!("{:<44} {:>9} {:>9}", "", "min us", "median us");
    print_row("adjust 50 candidates", &mut adjust);
    print_row(
        "check one outcome (of the last 1,000)",
        &mut plan[late.clone()],
    );
    print_row("fold one outcome (of the last 1,000)", &mut fold[late]);
    print_row("fit (background)", &mut [fit]);
    print_row("write the checkpoint's part", &mut [to_part]);
    print_row("read the checkpoint's part", &mut [from_part]);
    let size = part.len() as f64 / 1e6;
    println!("part: {size:.1} MB; gates {:?}", learner.learner_gates());
}

/// Fits the adapter, and returns how long it took.
fn time_fit(world: &World, learning: &mut OutcomeLearning) -> Duration {
    let vector = |record: RecordId, out: &mut [f32]| {
        let index = (record.to_u128() / STRIDE) as usize - 1;
        out.copy_from_slice(&world.records[index]);
        true
    };
    let began = Instant::now();
    let weights = learning.learner().fit_adapter(&vector);
    let took = began.elapsed();
    learning.apply_event(&LearningEvent::AdapterFitted(weights.into()), &|_| true);
    took
}

fn time_adjustments(world: &mut World, learner: &Learner) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..2_000 {
        let topic = world.dice.next_below(TOPICS);
        let query = world.dice.random_near(&world.topics[topic], 0.1);
        let candidates: Vec<RecordId> = (0..PER_TOPIC)
            .map(|place| id(topic * PER_TOPIC + place))
            .collect();
        let began = Instant::now();
        black_box(learner.adjust(Some(&query), &candidates));
        black_box(learner.query_correction(&query));
        times.push(began.elapsed());
    }
    times
}

fn print_row(name: &str, times: &mut [Duration]) {
    times.sort();
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let (least, middle) = (us(times[0]), us(times[times.len() / 2]));
    println!("{name:<44} {least:>9.1} {middle:>9.1}");
}
