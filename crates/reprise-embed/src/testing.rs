//! For the tests of other crates: the real models, installed once per machine, and a fake embedder
//! with its own space. It is never part of the product.

use reprise_types::{EmbedError, Embedder, EmbeddingSpace, next_splitmix64, normalize};

pub use crate::engine::onnx::can_saturate;
use crate::env;
use crate::provision::{ModelStore, PullRequest};
use crate::variant::Variant;

/// Returns the machine's models in both variants, and installs them on the first call: in
/// `$REPRISE_MODELS_DIR`, else in the product's own cache directory, so that a demo and the tests
/// share one download.
///
/// # Panics
/// If they cannot be installed, because a test that needs the model must fail and not be skipped.
#[expect(
    clippy::panic,
    reason = "a test without its model must fail, and say why"
)]
pub fn shared_models() -> ModelStore {
    let Some(dir) = env::test_models_dir() else {
        panic!("no home directory for the models cache; set REPRISE_MODELS_DIR");
    };
    let store = ModelStore::new(dir);
    let request = PullRequest {
        variants: vec![Variant::Int8, Variant::F32],
        ..PullRequest::default()
    };
    if let Err(error) = store.ensure_installed(&request, &mut |_| {}) {
        panic!("the tests need the real model: {error}");
    }
    store
}

/// Computes deterministic unit vectors from the hashes of words, in the space `fake`; texts that
/// share words are near each other.
#[derive(Debug, Clone)]
pub struct FakeEmbedder {
    space: EmbeddingSpace,
}

impl FakeEmbedder {
    /// Creates an embedder of vectors of this length.
    pub fn new(dimensions: u16) -> Self {
        let space = EmbeddingSpace {
            model: "fake".to_owned(),
            version: "1".to_owned(),
            dimensions,
        };
        Self { space }
    }
}

impl Default for FakeEmbedder {
    /// Creates an embedder whose vectors are as long as the real model's.
    fn default() -> Self {
        Self::new(384)
    }
}

impl Embedder for FakeEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn token_limit(&self) -> usize {
        256
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vector = vec![0.0; usize::from(self.space.dimensions)];
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        // Every text contains the empty word, so that no text has the zero vector.
        for word in words.filter(|word| !word.is_empty()).chain([""]) {
            let mut state = fnv1a(word);
            for number in &mut vector {
                state = next_splitmix64(&mut { state });
                // The top 24 bits as a float in -1..1.
                *number += (state >> 40) as f32 / 8_388_608.0 - 1.0;
            }
        }
        normalize(&mut vector);
        Ok(vector)
    }
}

/// Computes the 64-bit FNV-1a hash of a word.
fn fnv1a(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use reprise_types::check_unit_vector;

    use super::*;

    #[test]
    fn shared_words_bring_texts_nearer_and_every_text_has_a_unit_vector() {
        let mut fake = FakeEmbedder::default();
        let mut embed = |text: &str| {
            let vector = fake.embed(text).unwrap();
            assert_eq!(check_unit_vector(&vector, 384), Ok(()), "{text}");
            vector
        };
        let cosine = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let bug = embed("fix the auth bug");
        assert_eq!(bug, embed("Fix the AUTH bug!"));
        assert!(cosine(&bug, &embed("the auth race")) > cosine(&bug, &embed("a red bicycle")));
        embed("");
    }
}
