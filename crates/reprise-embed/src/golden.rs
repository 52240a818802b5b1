//! A model and an engine against the reference: two pairs of sentences whose cosines are known.

use reprise_types::{EmbedError, Embedder};

/// First text, second text, cosine of the reference (`tests/fixtures/golden.json`, pairs 0 and 1).
const PAIRS: [(&str, &str, f32); 2] = [
    (
        "A man is eating food.",
        "A man is eating a piece of bread.",
        0.755_337,
    ),
    (
        "A man is eating food.",
        "The girl is carrying a baby.",
        -0.104_958,
    ),
];
/// How far a cosine may be off: int8 arithmetic is allowed its error, a wrong model is not.
const TOLERANCE: f32 = 0.05;

/// Embeds the pairs and compares.
pub(crate) fn test(embedder: &mut dyn Embedder) -> Result<(), EmbedError> {
    for (first, second, expected) in PAIRS {
        let first = embedder.embed(first)?;
        let second = embedder.embed(second)?;
        let cosine: f32 = first.iter().zip(&second).map(|(a, b)| a * b).sum();
        if (cosine - expected).abs() > TOLERANCE {
            return Err(EmbedError::BadOutput {
                message: format!("a cosine is {cosine:.3}, the reference's is {expected:.3}"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeEmbedder;

    #[test]
    fn vectors_of_another_model_do_not_pass() {
        let error = test(&mut FakeEmbedder::default()).unwrap_err();
        assert!(matches!(error, EmbedError::BadOutput { .. }), "{error}");
    }
}
