//! The data of the learning evaluation: vectors, cosine rankings, and which memories help in which
//! scenario.

use reprise_types::{EmbedError, Embedder, EmbeddingSpace, RecordId};

use super::corpus::{Dice, PER_TOPIC, QUESTIONS, TOPICS, texts};

/// Candidates that a learner may reorder.
const CANDIDATES: usize = 50;
pub(super) const DEPTH: usize = 10;

/// Texts as vectors, and each question's nearest memories.
#[derive(Debug)]
pub(super) struct World {
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
    pub(super) fn names(self) -> (&'static str, &'static str) {
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
    pub(super) fn runs(self) -> usize {
        match self {
            Self::ColdStart | Self::ColdStartArbitrary => 120,
            Self::Flip => 1_920,
            _ => 480,
        }
    }

    /// For each memory whether it helps.
    pub(super) fn helpful(self, dice: &mut Dice) -> Vec<bool> {
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
    pub(super) fn split(self, dice: &mut Dice) -> (Vec<usize>, Vec<usize>) {
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

impl World {
    pub(super) fn new(embedder: &mut dyn Embedder) -> Result<Self, EmbedError> {
        let (memories, questions) = texts();
        let mut vectors = |texts: Vec<String>| -> Result<Vec<Vec<f32>>, EmbedError> {
            texts.iter().map(|text| embedder.embed(text)).collect()
        };
        let (memories, questions) = (vectors(memories)?, vectors(questions)?);
        let found = questions
            .iter()
            .map(|question| nearest(&memories, question))
            .collect();
        Ok(Self {
            space: embedder.space().clone(),
            memories,
            questions,
            found,
        })
    }
}

fn nearest(memories: &[Vec<f32>], question: &[f32]) -> Vec<(usize, f32)> {
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
pub(super) fn id(memory: usize) -> RecordId {
    RecordId::from_u128(memory as u128 + 1)
}

pub(super) fn memory_of(id: RecordId) -> usize {
    id.to_u128() as usize - 1
}

/// nDCG of the first [`DEPTH`] of a ranking (Jarvelin and Kekalainen 2002), binary relevance.
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
