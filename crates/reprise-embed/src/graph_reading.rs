//! How the graph of a model is read: its inputs, its output, and what becomes of that.

use reprise_types::normalize;
use serde::{Deserialize, Serialize};

use crate::architecture::Pooling;

/// Names of the graph's inputs and output, as `onnx::encoder` writes them.
pub(crate) const INPUT_IDS: &str = "input_ids";
pub(crate) const INPUT_MASK: &str = "attention_mask";
pub(crate) const OUTPUT: &str = "sentence_embedding";
/// Input of some foreign graphs, which tells for each token whether it belongs to a second text.
pub(crate) const INPUT_TYPES: &str = "token_type_ids";
/// How a graph is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphReading {
    /// Name of the output to read.
    pub output: String,
    /// Whether the graph has the input `token_type_ids`.
    pub has_types: bool,
    /// How its tokens become one vector, unless the graph pools them itself.
    pub pooling: Option<Pooling>,
    /// Whether the graph comes from another program, so that the layout of its constants is
    /// unknown.
    pub is_foreign: bool,
}

impl Default for GraphReading {
    /// Returns how the graphs that this crate writes are read.
    fn default() -> Self {
        Self {
            output: OUTPUT.to_owned(),
            has_types: false,
            pooling: None,
            is_foreign: false,
        }
    }
}

impl GraphReading {
    /// Turns a graph's output for a text of `tokens` tokens into its vector: pooled, cut to the
    /// first `width` numbers, and of length 1. A vector that is complete already stays as it is,
    /// bit for bit.
    pub(crate) fn pool_and_normalize(
        &self,
        mut numbers: Vec<f32>,
        tokens: usize,
        width: usize,
    ) -> Vec<f32> {
        if let Some(pooling) = self.pooling {
            let whole = (numbers.len() / tokens.max(1)).max(1).min(numbers.len());
            let (first, rest) = numbers.split_at_mut(whole);
            if pooling == Pooling::Mean {
                for row in rest.chunks_exact(whole.max(1)) {
                    first.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
                }
            }
            numbers.truncate(whole);
        }
        if numbers.len() > width || self.is_foreign {
            numbers.truncate(width);
            normalize(&mut numbers);
        }
        numbers
    }

    /// Returns the text that is hashed into the version of an added model's space. It must never
    /// change, because another version would make every stored vector one of another space.
    pub(crate) fn version_text(&self) -> String {
        let Self {
            output,
            has_types,
            pooling,
            is_foreign,
        } = self;
        format!(
            "Reading {{ output: {output:?}, has_types: {has_types}, pooling: {pooling:?}, \
             is_foreign: {is_foreign} }}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_text_of_a_reading_never_changes() {
        let mut reading = GraphReading::default();
        assert_eq!(
            reading.version_text(),
            "Reading { output: \"sentence_embedding\", has_types: false, pooling: None, \
             is_foreign: false }"
        );
        reading.pooling = Some(Pooling::Mean);
        assert!(reading.version_text().contains("pooling: Some(Mean)"));
    }
}
