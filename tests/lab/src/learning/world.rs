//! The data of the learning evaluation: vectors, cosine rankings, and which memories help in which
//! scenario.
//!
//! The texts are of forty-eight topics, each with twenty memories of how it was handled, half of
//! them carefully and half hastily, and twenty questions. Careful and hasty memories differ only in
//! one of twenty phrases, never in the topic, so that a question is about equally near to both.

use reprise_types::{EmbedError, Embedder, EmbeddingSpace, RecordId, next_splitmix64};

pub(super) const TOPICS: usize = 48;
/// Memories of one topic: the first half careful, the second hasty.
const PER_TOPIC: usize = 20;
const QUESTIONS: usize = 20;
/// Candidates that a learner may reorder.
const CANDIDATES: usize = 50;
pub(super) const DEPTH: usize = 10;

/// Texts as vectors, and each question's nearest memories.
#[derive(Debug)]
pub(super) struct LearningWorld {
    pub(super) space: EmbeddingSpace,
    pub(super) memories: Vec<Vec<f32>>,
    pub(super) questions: Vec<Vec<f32>>,
    /// By question: memory and cosine, nearest first.
    pub(super) found: Vec<Vec<(usize, f32)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    Global,
    PerTopic,
    Arbitrary,
    Unseen,
    Contaminated,
    Random,
    Inverted,
    Flip,
    ColdStart,
    ColdStartArbitrary,
}

impl Scenario {
    pub(super) const ALL: [Self; 10] = [
        Self::Global,
        Self::PerTopic,
        Self::Arbitrary,
        Self::Unseen,
        Self::Contaminated,
        Self::Random,
        Self::Inverted,
        Self::Flip,
        Self::ColdStart,
        Self::ColdStartArbitrary,
    ];

    /// Name and short description.
    pub(super) fn name_and_description(self) -> (&'static str, &'static str) {
        match self {
            Self::Global => ("global", "one manner helps everywhere"),
            Self::PerTopic => ("per_topic", "each topic has its own manner"),
            Self::Arbitrary => ("arbitrary", "a random half of each topic helps"),
            Self::Unseen => ("unseen_topics", "global, asked about other topics"),
            Self::Contaminated => ("contaminated", "per topic; 2 of 5 named were not used"),
            Self::Random => ("random", "qualities that mean nothing"),
            Self::Inverted => ("inverted", "global, every quality turned round"),
            Self::Flip => ("flip", "per topic, turned round half-way"),
            Self::ColdStart => ("cold_start", "global, few runs"),
            Self::ColdStartArbitrary => ("cold_start_arbitrary", "arbitrary, few runs"),
        }
    }

    /// Number of training runs.
    pub(super) fn run_count(self) -> usize {
        match self {
            Self::ColdStart | Self::ColdStartArbitrary => 120,
            Self::Flip => 1_920,
            _ => 480,
        }
    }

    /// For each memory whether it helps.
    pub(super) fn draw_helpful(self, dice: &mut SeededDice) -> Vec<bool> {
        let half = PER_TOPIC / 2;
        let everywhere = dice.below(2);
        let mut helpful = vec![false; TOPICS * PER_TOPIC];
        for topic in helpful.chunks_exact_mut(PER_TOPIC) {
            let which = match self {
                Self::Global | Self::Unseen | Self::Inverted | Self::ColdStart => {
                    (everywhere * half..(everywhere + 1) * half).collect()
                }
                Self::Arbitrary | Self::ColdStartArbitrary => dice.pick(PER_TOPIC, half),
                _ => {
                    let manner = dice.below(2);
                    (manner * half..(manner + 1) * half).collect::<Vec<usize>>()
                }
            };
            for memory in which {
                topic[memory] = true;
            }
        }
        helpful
    }

    /// Training and held-out questions, each in random order.
    pub(super) fn split_questions(self, dice: &mut SeededDice) -> (Vec<usize>, Vec<usize>) {
        let (mut known, mut asked) = (Vec::new(), Vec::new());
        let seen = dice.pick(TOPICS, TOPICS / 2);
        for topic in 0..TOPICS {
            for (place, question) in dice.pick(QUESTIONS, QUESTIONS).into_iter().enumerate() {
                let question = topic * QUESTIONS + question;
                let learn = match self {
                    Self::Unseen => seen.contains(&topic),
                    _ => place < QUESTIONS / 2,
                };
                if learn { &mut known } else { &mut asked }.push(question);
            }
        }
        let order = dice.pick(known.len(), known.len());
        (order.into_iter().map(|place| known[place]).collect(), asked)
    }
}

impl LearningWorld {
    pub(super) fn new(embedder: &mut dyn Embedder) -> Result<Self, EmbedError> {
        let (memories, questions) = read_texts();
        let mut vectors = |texts: Vec<String>| -> Result<Vec<Vec<f32>>, EmbedError> {
            texts.iter().map(|text| embedder.embed(text)).collect()
        };
        let (memories, questions) = (vectors(memories)?, vectors(questions)?);
        let found = questions
            .iter()
            .map(|question| find_nearest(&memories, question))
            .collect();
        Ok(Self {
            space: embedder.space().clone(),
            memories,
            questions,
            found,
        })
    }
}

fn find_nearest(memories: &[Vec<f32>], question: &[f32]) -> Vec<(usize, f32)> {
    let cosine = |memory: &Vec<f32>| memory.iter().zip(question).map(|(a, b)| a * b).sum();
    let mut all: Vec<(usize, f32)> = memories.iter().map(cosine).enumerate().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(CANDIDATES);
    all
}

/// The topic that a memory belongs to.
pub(super) fn topic_of_memory(memory: usize) -> usize {
    memory / PER_TOPIC
}

/// The topic that a question asks about.
pub(super) fn topic_of_question(question: usize) -> usize {
    question / QUESTIONS
}

/// The id of a memory, and back.
pub(super) fn to_record_id(memory: usize) -> RecordId {
    RecordId::from_u128(memory as u128 + 1)
}

pub(super) fn to_memory(id: RecordId) -> usize {
    id.to_u128() as usize - 1
}

/// Returns the nDCG of the first [`DEPTH`] of a ranking (Jarvelin and Kekalainen 2002), binary
/// relevance.
pub(super) fn ndcg(ranking: &[usize], question: usize, helpful: &[bool]) -> f64 {
    let topic = topic_of_question(question);
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let helps = |memory: &usize| helpful[*memory] && topic_of_memory(*memory) == topic;
    let hits = ranking.iter().take(DEPTH).enumerate();
    let gained: f64 = hits
        .filter(|(_, memory)| helps(memory))
        .map(|(rank, _)| discount(rank))
        .sum();
    let ideal: f64 = (0..DEPTH.min(PER_TOPIC / 2)).map(discount).sum();
    gained / ideal
}

/// A part of `corpus.txt`: the lines under its name.
fn read_corpus_part(name: &str) -> Vec<&'static str> {
    let mut parts = include_str!("corpus.txt").split("\n\n");
    let found = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('\n'));
    found.into_iter().flat_map(str::lines).collect()
}

/// Memories, topic by topic, then questions, topic by topic: always the same.
fn read_texts() -> (Vec<String>, Vec<String>) {
    let mut dice = SeededDice::new(7);
    let (mut memories, mut questions) = (Vec::new(), Vec::new());
    let (forms, asked, all_places) = (
        read_corpus_part("forms"),
        read_corpus_part("asked"),
        read_corpus_part("places"),
    );
    for name in read_corpus_part("names") {
        let mut places = dice.pick(all_places.len(), PER_TOPIC).into_iter();
        for pool in [read_corpus_part("careful"), read_corpus_part("hasty")] {
            for phrase in dice.pick(pool.len(), PER_TOPIC / 2) {
                let form = forms[dice.below(forms.len())].replace("{name}", name);
                let place = places.next().map_or("", |place| all_places[place]);
                let memory = form.replace("{phrase}", pool[phrase]);
                memories.push(memory.replace("{place}", place));
            }
        }
        questions.extend(asked.iter().map(|asked| asked.replace("{name}", name)));
    }
    (memories, questions)
}

/// Seeded random numbers, the same on every machine: a `SplitMix64` (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(super) struct SeededDice(u64);

impl SeededDice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn roll(&mut self) -> u64 {
        next_splitmix64(&mut self.0)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }

    /// A number from 0 to 1, 1 left out.
    fn unit(&mut self) -> f32 {
        (self.roll() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// A normally distributed number (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f32 {
        let radius = (-2.0 * self.unit().max(1e-7).ln()).sqrt();
        radius * (std::f32::consts::TAU * self.unit()).cos()
    }

    /// `count` of the numbers below `bound`, each at most once, in random order.
    pub(super) fn pick(&mut self, bound: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..bound).collect();
        for place in 0..count.min(bound) {
            let other = place + self.below(bound - place);
            all.swap(place, other);
        }
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_text_is_there_once_and_always_the_same() {
        let (memories, questions) = read_texts();
        assert_eq!(memories.len(), TOPICS * PER_TOPIC);
        assert_eq!(questions.len(), TOPICS * QUESTIONS);
        let distinct: HashSet<&String> = memories.iter().chain(&questions).collect();
        assert_eq!(distinct.len(), memories.len() + questions.len());
        assert_eq!(read_texts().0, memories);
    }
}
