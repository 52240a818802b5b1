//! A seeded corpus that looks like work: sentences from topics, with names, numbers and files; and
//! vectors that cluster as texts do. No model is needed to make it.
//!
//! Things and people by number, each with a name of its own; and of `facts.txt` facts that change,
//! and things that happen, each with a question in other words.

use std::sync::LazyLock;

use reprise_engine::{EngineOptions, EnginePorts, OpenReport};
use reprise_types::{WriteOutcome, next_splitmix64, normalize};

use crate::prelude::*;

static ACTS: WordList = LazyLock::new(|| read_word_list("acts"));
static SUBJECTS: WordList = LazyLock::new(|| read_word_list("subjects"));
static ENDINGS: WordList = LazyLock::new(|| read_word_list("endings"));

/// `SplitMix64`: the corpus of a seed is the same everywhere.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self) -> u64 {
        next_splitmix64(&mut self.0)
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
pub(super) fn make_sentence(dice: &mut Dice, topic: u64) -> String {
    let thing = pick_by_number(&SUBJECTS, topic as usize);
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
pub(super) fn make_question(dice: &mut Dice) -> (String, u64) {
    let topic = dice.roll() % 200;
    let sentence = make_sentence(dice, topic);
    let words = sentence.split(',').next().unwrap_or_default();
    (words.to_owned(), topic)
}

/// A unit vector near its topic's centre: within a topic the cosine is about 0.6.
pub(super) fn make_vector(dice: &mut Dice, topic: u64, dimensions: usize) -> Vec<f32> {
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
pub(super) fn make_record(dice: &mut Dice, number: usize, space: &EmbeddingSpace) -> NewRecord {
    let topic = dice.roll() % 200;
    let text = make_sentence(dice, topic);
    let mut record = NewRecord::new(text, MemorySource::WorkerResult, MemoryKind::Finding);
    record.session_id = format!("session-{}", number / 25);
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, number.to_string())];
    let vector = make_vector(dice, topic, usize::from(space.dimensions));
    record.embedding = Some(Embedding::new(space.clone(), vector));
    record
}

/// A new memory.
pub(super) fn create_store(path: &Path, now: DateTime<Utc>) -> anyhow::Result<Engine> {
    let options = EngineOptions::new(DIMENSIONS, 7, now);
    Ok(Engine::open(Arc::new(RealDisk), path, &options)?.0)
}

/// A memory as it is, made where it is missing.
pub(super) fn open(path: &Path, entropy: u128) -> anyhow::Result<(Engine, OpenReport)> {
    open_over(path, entropy, EnginePorts::default())
}

/// A memory with these parts in place of the engine's own.
pub(super) fn open_over(
    path: &Path,
    entropy: u128,
    ports: EnginePorts,
) -> anyhow::Result<(Engine, OpenReport)> {
    let mut options = EngineOptions::new(DIMENSIONS, entropy, SystemClock.now());
    options.ports = ports;
    Ok(Engine::open(Arc::new(RealDisk), path, &options)?)
}

/// Records that are kept at a time.
const GROUP: usize = 500;

/// A store of the synthetic corpus.
pub(super) fn create_filled_store(path: &Path, records: usize) -> anyhow::Result<Engine> {
    let (mut engine, _) = open(path, 1)?;
    let space = Variant::Int8.space();
    let mut dice = Dice(7);
    let make = |number| make_record(&mut dice, number, &space);
    insert_records(&mut engine, records, make)?;
    Ok(engine)
}

/// Keeps so many records in groups; the ids of those that are new.
pub(super) fn insert_records(
    engine: &mut Engine,
    records: usize,
    mut make: impl FnMut(usize) -> NewRecord,
) -> anyhow::Result<Vec<RecordId>> {
    let mut ids = Vec::with_capacity(records);
    for first in (0..records).step_by(GROUP) {
        let group = (first..records).take(GROUP).map(&mut make).collect();
        let kept = engine.observe(group, None, SystemClock.now())?;
        ids.extend(kept.iter().filter_map(WriteOutcome::inserted_id));
    }
    Ok(ids)
}

pub(super) type WordList = LazyLock<Vec<&'static str>>;

/// The list of this name in `words.txt`.
pub(super) fn read_word_list(name: &str) -> Vec<&'static str> {
    let lists = include_str!("words.txt").lines();
    let mut named = lists.filter_map(|line| line.split_once('\t'));
    let found = named.find(|(own, _)| *own == name);
    found.map_or_else(Vec::new, |(_, all)| all.split('|').collect())
}

pub(super) static CITIES: WordList = LazyLock::new(|| read_word_list("cities"));
static FIRMS: WordList = LazyLock::new(|| read_word_list("firms"));
static THINGS: WordList = LazyLock::new(|| read_word_list("things"));
pub(super) static GIVEN: WordList = LazyLock::new(|| read_word_list("given"));
static FAMILY: WordList = LazyLock::new(|| read_word_list("family"));
/// One of `from`, by a number.
pub(super) fn pick_by_number<'a>(from: &[&'a str], number: usize) -> &'a str {
    from.get(number % from.len().max(1))
        .copied()
        .unwrap_or_default()
}

/// Number `place` of the things that no other pair is about.
pub(super) fn make_thing_name(place: usize) -> String {
    let (city, rest) = (place % CITIES.len(), place / CITIES.len());
    let (firm, rest) = (rest % FIRMS.len(), rest / FIRMS.len());
    let name = [
        pick_by_number(&CITIES, city),
        pick_by_number(&FIRMS, firm),
        pick_by_number(&THINGS, rest),
    ]
    .join(" ");
    match rest / THINGS.len() {
        0 => name,
        number => format!("{name} {}", number + 1),
    }
}

/// Returns the name of person number `place`; no other pair is about this person.
pub(super) fn make_person_name(place: usize) -> String {
    let (given, rest) = (place % GIVEN.len(), place / GIVEN.len());
    let (family, rest) = (rest % FAMILY.len(), rest / FAMILY.len());
    let initial = |number: usize| char::from(b'A' + (number % 26) as u8);
    let name = [
        pick_by_number(&GIVEN, given),
        pick_by_number(&FAMILY, family),
    ];
    let [given, family] = name;
    format!(
        "{given} {}. {}. {family}",
        initial(rest),
        initial(rest / 26)
    )
}

/// A sentence with its question; `{s}` is a thing, `{v}` a value.
#[derive(Debug)]
pub(super) struct FactTemplate {
    says: &'static str,
    asks: &'static str,
    values: Vec<&'static str>,
}

/// What was said, and what somebody asks who has forgotten it.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) question: String,
}

impl FactTemplate {
    /// About thing number `about`, with value number `value`.
    pub(super) fn fill_in(&self, about: usize, value: usize) -> Statement {
        let (thing, value) = (make_thing_name(about), pick_by_number(&self.values, value));
        let filled = |form: &str| form.replace("{s}", &thing).replace("{v}", value);
        Statement {
            text: filled(self.says),
            question: filled(self.asks),
        }
    }
}

fn parse_templates(set: &str) -> Vec<FactTemplate> {
    let lines = include_str!("facts.txt").lines();
    let rows = lines.map(|line| line.split('\t').collect::<Vec<_>>());
    rows.filter_map(|row| match row.as_slice() {
        [of, says, asks, values] if *of == set => Some(FactTemplate {
            says,
            asks,
            values: values.split('|').collect(),
        }),
        _ => None,
    })
    .collect()
}

pub(super) static FACTS: LazyLock<Vec<FactTemplate>> = LazyLock::new(|| parse_templates("facts"));
pub(super) static MORE_FACTS: LazyLock<Vec<FactTemplate>> =
    LazyLock::new(|| parse_templates("more"));
pub(super) static HELD_BACK_FACTS: LazyLock<Vec<FactTemplate>> =
    LazyLock::new(|| parse_templates("held"));
pub(super) static EVENTS: LazyLock<Vec<FactTemplate>> = LazyLock::new(|| parse_templates("once"));
