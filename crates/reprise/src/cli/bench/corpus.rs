//! A seeded corpus that looks like work: sentences from topics, with names, numbers and files; and
//! vectors that cluster as texts do. No model is needed to make it.
//!
//! Things and people by number, each with a name of its own; and of `facts.txt` facts that change,
//! and things that happen, each with a question in other words.

use std::sync::LazyLock;

use reprise_engine::{EngineOptions, OpenReport};
use reprise_types::{WriteOutcome, normalize, splitmix};

use crate::cli::prelude::*;

static ACTS: Words = LazyLock::new(|| words("acts"));
static SUBJECTS: Words = LazyLock::new(|| words("subjects"));
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
    let thing = one(&SUBJECTS, topic as usize);
    let (first, second) = (dice.pick(&ACTS), dice.pick(&ACTS));
    let (why, also) = (dice.pick(&ENDINGS), dice.pick(&ENDINGS));
    let number = dice.roll() % 10_000;
    format!(
        "We {first} {thing} in module_{topic}.rs line {number}, ticket OPS-{}, {why}; then {second} \
         {} {also}.",
        dice.roll() % 5_000,
        dice.pick(&SUBJECTS)
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
    let options = EngineOptions::new(DIMENSIONS, 7, now);
    Ok(Engine::open(Arc::new(RealDisk), path, &options)?.0)
}

/// A memory as it is, made where it is missing.
pub(super) fn open(path: &Path, entropy: u128) -> anyhow::Result<(Engine, OpenReport)> {
    let options = EngineOptions::new(DIMENSIONS, entropy, SystemClock.now());
    Ok(Engine::open(Arc::new(RealDisk), path, &options)?)
}

/// Records that are kept at a time.
const GROUP: usize = 500;

/// A store of the synthetic corpus.
pub(super) fn filled(path: &Path, records: usize) -> anyhow::Result<Engine> {
    let (mut engine, _) = open(path, 1)?;
    let space = Variant::Int8.space();
    let mut dice = Dice(7);
    let make = |number| record(&mut dice, number, &space);
    keep(&mut engine, records, make)?;
    Ok(engine)
}

/// Keeps so many records in groups; the ids of those that are new.
pub(super) fn keep(
    engine: &mut Engine,
    records: usize,
    mut make: impl FnMut(usize) -> NewRecord,
) -> anyhow::Result<Vec<RecordId>> {
    let mut ids = Vec::with_capacity(records);
    for first in (0..records).step_by(GROUP) {
        let group = (first..records).take(GROUP).map(&mut make).collect();
        let kept = engine.observe(group, None, SystemClock.now())?;
        ids.extend(kept.iter().filter_map(WriteOutcome::new_id));
    }
    Ok(ids)
}

pub(super) type Words = LazyLock<Vec<&'static str>>;

/// The list of this name in `words.txt`.
pub(super) fn words(name: &str) -> Vec<&'static str> {
    let lists = include_str!("words.txt").lines();
    let mut named = lists.filter_map(|line| line.split_once('\t'));
    let found = named.find(|(own, _)| *own == name);
    found.map_or_else(Vec::new, |(_, all)| all.split('|').collect())
}

pub(super) static CITIES: Words = LazyLock::new(|| words("cities"));
static FIRMS: Words = LazyLock::new(|| words("firms"));
static THINGS: Words = LazyLock::new(|| words("things"));
pub(super) static GIVEN: Words = LazyLock::new(|| words("given"));
static FAMILY: Words = LazyLock::new(|| words("family"));
/// One of `from`, by a number.
pub(super) fn one<'a>(from: &[&'a str], number: usize) -> &'a str {
    from.get(number % from.len().max(1))
        .copied()
        .unwrap_or_default()
}

/// Number `place` of the things that no other pair is about.
pub(super) fn thing(place: usize) -> String {
    let (city, rest) = (place % CITIES.len(), place / CITIES.len());
    let (firm, rest) = (rest % FIRMS.len(), rest / FIRMS.len());
    let name = [one(&CITIES, city), one(&FIRMS, firm), one(&THINGS, rest)].join(" ");
    match rest / THINGS.len() {
        0 => name,
        number => format!("{name} {}", number + 1),
    }
}

/// The same of people.
pub(super) fn person(place: usize) -> String {
    let (given, rest) = (place % GIVEN.len(), place / GIVEN.len());
    let (family, rest) = (rest % FAMILY.len(), rest / FAMILY.len());
    let initial = |number: usize| char::from(b'A' + (number % 26) as u8);
    let name = [one(&GIVEN, given), one(&FAMILY, family)];
    let [given, family] = name;
    format!(
        "{given} {}. {}. {family}",
        initial(rest),
        initial(rest / 26)
    )
}

/// A sentence with its question; `{s}` is a thing, `{v}` a value.
#[derive(Debug)]
pub(super) struct Form {
    says: &'static str,
    asks: &'static str,
    values: Vec<&'static str>,
}

/// What was said, and what somebody asks who has forgotten it.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) question: String,
}

impl Form {
    /// About thing number `about`, with value number `value`.
    pub(super) fn said(&self, about: usize, value: usize) -> Said {
        let (thing, value) = (thing(about), one(&self.values, value));
        let filled = |form: &str| form.replace("{s}", &thing).replace("{v}", value);
        Said {
            text: filled(self.says),
            question: filled(self.asks),
        }
    }
}

fn forms(set: &str) -> Vec<Form> {
    let lines = include_str!("facts.txt").lines();
    let rows = lines.map(|line| line.split('\t').collect::<Vec<_>>());
    rows.filter_map(|row| match row.as_slice() {
        [of, says, asks, values] if *of == set => Some(Form {
            says,
            asks,
            values: values.split('|').collect(),
        }),
        _ => None,
    })
    .collect()
}

pub(super) static FACTS: LazyLock<Vec<Form>> = LazyLock::new(|| forms("facts"));
pub(super) static MORE_FACTS: LazyLock<Vec<Form>> = LazyLock::new(|| forms("more"));
pub(super) static HELD_BACK_FACTS: LazyLock<Vec<Form>> = LazyLock::new(|| forms("held"));
pub(super) static EVENTS: LazyLock<Vec<Form>> = LazyLock::new(|| forms("once"));
