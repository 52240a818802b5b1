//! A seeded corpus that looks like work: sentences from topics, with names, numbers and files; and
//! vectors that cluster as texts do. No model is needed to make it.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};
use reprise_embed::Variant;
use reprise_engine::{Engine, EngineOptions};
use reprise_store::{RealDisk, Verify};
use reprise_types::{
    Clock, Embedding, EmbeddingSpace, ExternalId, MemoryKind, MemorySource, NewRecord, SystemClock,
    normalize, splitmix,
};

use super::names::{Words, words};
use crate::cli::store::DIMENSIONS;

static ACTS: Words = LazyLock::new(|| words("acts"));
static THINGS: Words = LazyLock::new(|| words("subjects"));
static ENDINGS: Words = LazyLock::new(|| words("endings"));

/// `SplitMix64`: the corpus of a seed is the same everywhere.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self) -> u64 {
        splitmix(&mut self.0)
    }

    pub(super) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let place = (self.roll() % list.len().max(1) as u64) as usize;
        list.get(place).copied().unwrap_or_default()
    }

    fn unit(&mut self) -> f32 {
        (self.roll() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// About normal: the sum of four uniform numbers.
    fn normal(&mut self) -> f32 {
        (0..4).map(|_| self.unit()).sum::<f32>() - 2.0
    }
}

/// A sentence of about 200 bytes about `topic`.
pub(super) fn sentence(dice: &mut Dice, topic: u64) -> String {
    let thing = THINGS
        .get((topic % THINGS.len() as u64) as usize)
        .copied()
        .unwrap_or_default();
    let (first, second) = (dice.pick(&ACTS), dice.pick(&ACTS));
    let (why, also) = (dice.pick(&ENDINGS), dice.pick(&ENDINGS));
    let number = dice.roll() % 10_000;
    format!(
        "We {first} {thing} in module_{topic}.rs line {number}, ticket OPS-{}, {why}; then {second} \
         {} {also}.",
        dice.roll() % 5_000,
        dice.pick(&THINGS)
    )
}

/// The first words of such a sentence, and their topic.
pub(super) fn question(dice: &mut Dice) -> (String, u64) {
    let topic = dice.roll() % 200;
    let sentence = sentence(dice, topic);
    let words = sentence.split(',').next().unwrap_or_default();
    (words.to_owned(), topic)
}

/// A unit vector near its topic's centre: within a topic the cosine is about 0.6.
pub(super) fn vector(dice: &mut Dice, topic: u64, dimensions: usize) -> Vec<f32> {
    let mut centre = Dice(topic.wrapping_mul(7919) + 1);
    let mut vector: Vec<f32> = (0..dimensions).map(|_| centre.normal()).collect();
    normalize(&mut vector);
    let scale = 0.8 / (dimensions as f32).sqrt() / 0.577;
    for x in &mut vector {
        *x += scale * dice.normal();
    }
    normalize(&mut vector);
    vector
}

/// The `number`-th record of a synthetic store.
pub(super) fn record(dice: &mut Dice, number: usize, space: &EmbeddingSpace) -> NewRecord {
    let topic = dice.roll() % 200;
    let text = sentence(dice, topic);
    let mut record = NewRecord::new(text, MemorySource::WorkerResult, MemoryKind::Finding);
    record.session_id = format!("session-{}", number / 25);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, number.to_string())];
    let vector = vector(dice, topic, usize::from(space.dimensions));
    record.embedding = Some(Embedding::new(space.clone(), vector));
    record
}

/// A new memory.
pub(super) fn empty(path: &Path, now: DateTime<Utc>) -> anyhow::Result<Engine> {
    let mut options = EngineOptions::new(DIMENSIONS, 7, now);
    options.create = true;
    Ok(Engine::open(Arc::new(RealDisk), path, &options)?.0)
}

/// A store of the synthetic corpus, written in groups.
pub(super) fn filled(path: &Path, records: usize) -> anyhow::Result<Engine> {
    let options = EngineOptions::new(DIMENSIONS, 1, SystemClock.now());
    let options = EngineOptions {
        verify: Verify::Tail,
        ..options
    };
    let (mut engine, _) = Engine::open(Arc::new(RealDisk), path, &options)?;
    let space = Variant::Int8.space();
    let mut dice = Dice(7);
    let mut number = 0;
    while number < records {
        let count = 500.min(records - number);
        let group = (number..number + count).map(|n| record(&mut dice, n, &space));
        engine.observe(group.collect(), None, SystemClock.now())?;
        number += count;
    }
    Ok(engine)
}
