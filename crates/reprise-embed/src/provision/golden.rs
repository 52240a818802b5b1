//! The installed model against the reference: two pairs of sentences whose cosines are known.
//!
//! Runs on the built-in engine, so that no shared library is loaded as a side effect.

use std::path::Path;
use std::sync::Arc;

use reprise_types::{EmbedError, Embedder};

use super::error::ProvisionError;
use crate::engine::ModelEmbedder;
use crate::engine::built_in::BuiltInModel;
use crate::tokenizer::TextTokenizer;
use crate::variant::Variant;

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
pub(super) fn test(
    model: &Path,
    tokenizer: &Path,
    token_limit: usize,
    variant: Variant,
) -> Result<(), ProvisionError> {
    let json = std::fs::read(tokenizer).map_err(ProvisionError::io("read", tokenizer))?;
    let failed = |error: EmbedError| ProvisionError::SelfTest {
        message: error.to_string(),
    };
    let tokenizer = TextTokenizer::from_bytes(&json, token_limit).map_err(failed)?;
    let session = BuiltInModel::load(model).map_err(failed)?.session();
    let mut embedder = ModelEmbedder::new(session, Arc::new(tokenizer), variant.space());
    for (first, second, expected) in PAIRS {
        let first = embedder.embed(first).map_err(failed)?;
        let second = embedder.embed(second).map_err(failed)?;
        let cosine: f32 = first.iter().zip(&second).map(|(a, b)| a * b).sum();
        if (cosine - expected).abs() > TOLERANCE {
            return Err(ProvisionError::SelfTest {
                message: format!("a cosine is {cosine:.3}, the reference's is {expected:.3}"),
            });
        }
    }
    Ok(())
}
