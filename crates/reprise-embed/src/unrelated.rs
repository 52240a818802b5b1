//! Measures a model's cosines on sentences that ship with the program: compares those of the
//! built-in model with its reference, and measures those of unrelated texts (`unrelated.txt`) for
//! every model.

use reprise_types::{EmbedError, Embedder, UnrelatedCosines, dot};

const SENTENCES: &str = include_str!("unrelated.txt");

/// Returns the sentences of each language.
fn sentences_by_language() -> Vec<Vec<&'static str>> {
    let lines = SENTENCES.lines().filter(|line| !line.starts_with('#'));
    let labelled: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
    let languages = labelled.chunk_by(|one, next| one.0 == next.0);
    languages
        .map(|of_one| of_one.iter().map(|(_, sentence)| *sentence).collect())
        .collect()
}

/// Measures mean and deviation of the cosines between unrelated questions and texts of one
/// language.
pub fn measure_unrelated(embedder: &mut dyn Embedder) -> Result<UnrelatedCosines, EmbedError> {
    let mut cosines = Vec::new();
    for sentences in sentences_by_language() {
        let kept = embedder.embed_batch(&sentences)?;
        let questions = if embedder.has_query_prompt() {
            let questions = sentences.iter().map(|one| embedder.embed_query(one));
            questions.collect::<Result<Vec<_>, _>>()?
        } else {
            kept.clone()
        };
        for (question, vector) in questions.iter().enumerate() {
            let others = kept
                .iter()
                .enumerate()
                .filter(|(text, _)| *text != question);
            cosines.extend(others.map(|(_, other)| dot(vector, other)));
        }
    }
    let count = cosines.len().max(1) as f32;
    let mean = cosines.iter().sum::<f32>() / count;
    let square = cosines
        .iter()
        .map(|cosine| (cosine - mean).powi(2))
        .sum::<f32>()
        / count;
    Ok(UnrelatedCosines::new(mean, square.sqrt()))
}

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
/// Largest error of a cosine, which permits the error of int8 arithmetic but not that of a wrong
/// model.
const TOLERANCE: f32 = 0.05;

/// Embeds two pairs of sentences and compares their cosines with the reference's.
pub(crate) fn check_reference_cosines(embedder: &mut dyn Embedder) -> Result<(), EmbedError> {
    for (first, second, expected) in PAIRS {
        let first = embedder.embed(first)?;
        let second = embedder.embed(second)?;
        let cosine = dot(&first, &second);
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
    fn every_language_has_its_sentences_and_none_stands_twice() {
        let mut all = sentences_by_language();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|sentences| sentences.len() == 5), "{all:?}");
        let mut flat: Vec<&str> = all.drain(..).flatten().collect();
        flat.sort_unstable();
        flat.dedup();
        assert_eq!(flat.len(), 30);
    }

    #[test]
    fn vectors_of_another_model_do_not_pass() {
        let error = check_reference_cosines(&mut FakeEmbedder::default()).unwrap_err();
        assert!(matches!(error, EmbedError::BadOutput { .. }), "{error}");
    }
}
