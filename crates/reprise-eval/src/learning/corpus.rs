//! The texts of the learning evaluation: forty-eight topics, each with twenty memories of how it
//! was handled, half of them carefully and half hastily, and twenty questions.
//!
//! Careful and hasty memories differ only in one of twenty phrases, never in the topic, so that a
//! question is about equally near to both.

use reprise_types::splitmix;

pub(super) const TOPICS: usize = 48;
/// Memories of one topic: the first half careful, the second hasty.
pub(super) const PER_TOPIC: usize = 20;
pub(super) const QUESTIONS: usize = 20;

/// A part of `corpus.txt`: the lines under its name.
fn part(name: &str) -> Vec<&'static str> {
    let mut parts = include_str!("corpus.txt").split("\n\n");
    let found = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('\n'));
    found.into_iter().flat_map(str::lines).collect()
}

/// Memories, topic by topic, then questions, topic by topic: always the same.
pub(super) fn texts() -> (Vec<String>, Vec<String>) {
    let mut dice = Dice::new(7);
    let (mut memories, mut questions) = (Vec::new(), Vec::new());
    let (forms, asked, all_places) = (part("forms"), part("asked"), part("places"));
    for name in part("names") {
        let mut places = dice.pick(all_places.len(), PER_TOPIC).into_iter();
        for pool in [part("careful"), part("hasty")] {
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
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn roll(&mut self) -> u64 {
        splitmix(&mut self.0)
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
        let (memories, questions) = texts();
        assert_eq!(memories.len(), TOPICS * PER_TOPIC);
        assert_eq!(questions.len(), TOPICS * QUESTIONS);
        let distinct: HashSet<&String> = memories.iter().chain(&questions).collect();
        assert_eq!(distinct.len(), memories.len() + questions.len());
        assert_eq!(texts().0, memories);
    }
}
