//! Seeded data for the benches: vectors like those of texts, and texts with the word frequencies of
//! English.

use reprise_types::next_splitmix64;

/// Seeded random numbers by `SplitMix64`.
pub(crate) struct BenchRandom(pub(crate) u64);

impl BenchRandom {
    pub(crate) fn next(&mut self) -> u64 {
        next_splitmix64(&mut self.0)
    }

    pub(crate) fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// Returns an approximately normal deviate: the sum of four uniform ones.
    pub(crate) fn normal(&mut self) -> f32 {
        ((0..4).map(|_| self.uniform()).sum::<f32>() - 2.0) * 1.732
    }

    pub(crate) fn vector(&mut self) -> Vec<f32> {
        normalise((0..DIMENSIONS).map(|_| self.normal()).collect())
    }
}

pub(crate) const DIMENSIONS: usize = 384;

fn normalise(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    for x in &mut vector {
        *x /= norm;
    }
    vector
}

/// Generates `count` vectors around 200 centres; two of one cluster have a cosine of about 0.6.
pub(crate) fn generate_clustered(random: &mut BenchRandom, count: usize) -> Vec<Vec<f32>> {
    let mut centre_seed = BenchRandom(17);
    let centres: Vec<Vec<f32>> = (0..200).map(|_| centre_seed.vector()).collect();
    (0..count)
        .map(|_| {
            let centre = &centres[random.next() as usize % centres.len()];
            let noise = random.vector();
            normalise(centre.iter().zip(noise).map(|(c, n)| c + 0.8 * n).collect())
        })
        .collect()
}

/// Generates `count` vectors near a space of 24 dimensions, like embeddings of text.
pub(crate) fn generate_latent(random: &mut BenchRandom, count: usize) -> Vec<Vec<f32>> {
    let mut basis_seed = BenchRandom(18);
    let basis: Vec<Vec<f32>> = (0..24).map(|_| basis_seed.vector()).collect();
    (0..count)
        .map(|_| {
            let mut vector: Vec<f32> = random.vector().iter().map(|x| 0.3 * x).collect();
            for direction in &basis {
                let weight = random.normal() / 5.0;
                for (x, d) in vector.iter_mut().zip(direction) {
                    *x += weight * d;
                }
            }
            normalise(vector)
        })
        .collect()
}

/// Makes the `rank`th word of an invented language; its length grows with its rarity.
pub(crate) fn make_word(rank: usize) -> String {
    let syllables = [
        "ba", "ko", "ri", "tu", "men", "sol", "dar", "vi", "lo", "ne",
    ];
    let mut word = String::new();
    let mut rest = rank + 10;
    while rest > 0 {
        word += syllables[rest % 10];
        rest /= 10;
    }
    word
}

/// Makes a text of about 200 bytes: every third word is a stop word, the others follow Zipf's law
/// over 20,000 words.
pub(crate) fn make_text(random: &mut BenchRandom) -> String {
    let mut text = String::new();
    while text.len() < 195 {
        if random.next().is_multiple_of(3) {
            text += ["the", "of", "and", "to", "was"][random.next() as usize % 5];
        } else {
            text += &make_word(zipf(random));
        }
        text.push(' ');
    }
    text
}

/// Draws a rank below 20,000 with a probability that falls as one over the rank.
fn zipf(random: &mut BenchRandom) -> usize {
    (20_001_f32.powf(random.uniform()) - 1.0) as usize
}
