//! The coordination loop on simulated users: what helps rises for those who never saw it, and a
//! tenth of liars neither gain nor harm.
//!
//! 200 users with four of twelve topics each ask in their own words, use two of what they are
//! shown, and report how it went. The figures: `cargo test -p reprise-global --test global
//! coordination -- --nocapture`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_conformance::{DIMENSIONS, document, user, word_space, word_vectors};
use reprise_engine::Engine;
use reprise_global::{
    CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalQuery, GlobalStore, Hold,
    UsageReport,
};
use reprise_store::RealDisk;
use reprise_types::{Clock, RecordId, next_splitmix64};

const TOPICS: usize = 12;
const USERS: usize = 200;
const HOSTILE: usize = 20;
/// Of ten things on a topic that read alike, so many help.
const THINGS: usize = 10;
const HELPFUL: usize = 3;
const ROUNDS: usize = 6;
/// The world of the suite; `REPRISE_SEED` is another.
const SEED: u64 = 0x5EED;

/// `SplitMix64`.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        next_splitmix64(&mut self.0)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Around `mean`, give or take `spread`, within 0..1.
    fn near(&mut self, mean: f32, spread: f32) -> f32 {
        let unit = (self.next() >> 40) as f32 / (1_u64 << 24) as f32;
        (mean + spread * (2.0 * unit - 1.0)).clamp(0.0, 1.0)
    }
}

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_771_000_000, 0).unwrap()
    }
}

struct World {
    store: EmbeddedStore,
    _folder: tempfile::TempDir,
    /// What helps, and with which topic.
    helpful: HashMap<RecordId, usize>,
    /// One bad thing of each topic, which the liars praise.
    promoted: HashSet<RecordId>,
    dice: Dice,
    seed: u64,
}

fn word(topic: usize, number: usize) -> String {
    format!("t{topic}word{number}")
}

impl World {
    async fn new() -> Self {
        let seed = std::env::var("REPRISE_SEED").ok();
        let seed = seed.map_or(SEED, |seed| seed.parse().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::new(EmbeddedOptions {
            folder: folder.path().join("global"),
            dimensions: DIMENSIONS,
            space: Some(word_space()),
            open: Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
            vectors: word_vectors(),
            clock: Arc::new(Fixed),
            hold: Hold::UntilIdle,
            patience: Duration::from_mins(1),
            coordination: CoordinationSettings::default(),
        });
        let mut world = Self {
            store,
            _folder: folder,
            helpful: HashMap::new(),
            promoted: HashSet::new(),
            dice: Dice(seed),
            seed,
        };
        for topic in 0..TOPICS {
            // Which of them help has nothing to do with the order in which they came.
            let first = world.dice.below(THINGS);
            for thing in 0..THINGS {
                let words: Vec<String> =
                    (0..14).map(|_| word(topic, world.dice.below(20))).collect();
                let title = format!("Topic {topic} thing {thing}");
                let publication = document(&title, &words.join(" "));
                let author = user(&format!("author-{topic}-{thing}"));
                let id = world.store.publish(&author, publication).await.unwrap().id;
                match (thing + THINGS - first) % THINGS {
                    place if place < HELPFUL => drop(world.helpful.insert(id, topic)),
                    HELPFUL => drop(world.promoted.insert(id)),
                    _ => {}
                }
            }
        }
        world
    }

    fn question(&mut self, topic: usize) -> String {
        let words: Vec<String> = (0..4).map(|_| word(topic, self.dice.below(20))).collect();
        words.join(" ")
    }

    async fn list_shown(&mut self, who: &str, topic: usize) -> Vec<(RecordId, f32, f32)> {
        let query = GlobalQuery::new(self.question(topic), 10);
        let answer = self.store.query(&user(who), &query).await.unwrap();
        let hits = answer.hits.iter();
        hits.map(|hit| (hit.record.id, hit.score, hit.sona_score))
            .collect()
    }

    async fn live(&mut self, hostile: usize, speaks: bool) {
        for round in 0..ROUNDS {
            for number in 0..USERS {
                let who = format!("user-{number}");
                let topic = (number + 3 * (round % 4)) % TOPICS;
                let shown = self.list_shown(&who, topic).await;
                if number < hostile && !speaks {
                    continue;
                }
                let reports: Vec<UsageReport> = if number < hostile {
                    let praised = self.promoted.iter().map(|id| (*id, 1.0));
                    let slandered = self.helpful.keys().map(|id| (*id, 0.0));
                    praised.chain(slandered).map(report).collect()
                } else {
                    let mut used = Vec::new();
                    for _ in 0..2 {
                        let place = self.dice.below(shown.len());
                        let id = shown[place].0;
                        let helps = self.helpful.get(&id) == Some(&topic);
                        let mean = if helps { 0.85 } else { 0.4 };
                        used.push((id, self.dice.near(mean, 0.15)));
                    }
                    used.into_iter().map(report).collect()
                };
                self.store
                    .report_usage(&user(&who), &reports)
                    .await
                    .unwrap();
            }
        }
    }

    /// Measures nDCG@10 of the helpful things and the reciprocal rank of the promoted ones, for
    /// users who never asked before, and how far a score was moved at most.
    async fn measure_ranking(&mut self) -> (f64, f64, f32) {
        // The same questions in every world.
        self.dice = Dice(self.seed + 1);
        let (mut gain, mut rank, mut moved, mut asked) = (0.0, 0.0, 0.0_f32, 0.0);
        let discount = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let ideal: f64 = (0..HELPFUL).map(discount).sum();
        for number in 0..20 {
            for topic in 0..TOPICS {
                let shown = self.list_shown(&format!("newcomer-{number}"), topic).await;
                let helpful = |place: &usize| self.helpful.get(&shown[*place].0) == Some(&topic);
                let found: f64 = (0..shown.len()).filter(helpful).map(discount).sum();
                gain += found / ideal;
                let promoted = |one: &(RecordId, f32, f32)| self.promoted.contains(&one.0);
                let place = shown.iter().position(promoted);
                rank += place.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
                for (_, score, sona_score) in &shown {
                    moved = moved.max((sona_score - score).abs());
                }
                asked += 1.0;
            }
        }
        (gain / asked, rank / asked, moved)
    }
}

fn report((id, score): (RecordId, f32)) -> UsageReport {
    UsageReport {
        id,
        score,
        count: 1,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_helps_rises_for_newcomers_and_liars_gain_nothing() {
    let before = World::new().await.measure_ranking().await;
    let mut honest = World::new().await;
    honest.live(0, true).await;
    let honest = honest.measure_ranking().await;
    let mut attacked = World::new().await;
    attacked.live(HOSTILE, true).await;
    let attacked = attacked.measure_ranking().await;
    let mut silent = World::new().await;
    silent.live(HOSTILE, false).await;
    let silent = silent.measure_ranking().await;
    println!("                 nDCG@10  promoted 1/rank  farthest move");
    for (name, (gain, rank, moved)) in [
        ("before any run", before),
        ("200 honest users", honest),
        ("20 of them hostile", attacked),
        ("20 hostile silent", silent),
    ] {
        println!("{name:<18} {gain:.3}    {rank:.3}            {moved:.3}");
    }
    assert!(honest.0 >= before.0 + 0.10, "{before:?} {honest:?}");
    assert!(attacked.0 >= before.0 + 0.10, "{before:?} {attacked:?}");
    // What liars cost is what their silence would have cost.
    assert!(attacked.0 >= silent.0 - 0.01, "{silent:?} {attacked:?}");
    // What they praise gains nothing by it.
    assert!(attacked.1 <= silent.1 + 0.01, "{silent:?} {attacked:?}");
    assert!(attacked.1 <= before.1 + 0.01, "{before:?} {attacked:?}");
    assert!(honest.2 <= 0.15 + 1e-6 && attacked.2 <= 0.15 + 1e-6);
}
