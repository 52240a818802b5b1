//! The two inference engines and what every vector must pass before it leaves this room.
//!
//! `onnx` runs on ONNX Runtime, `built_in` on rten; both read the same model file and speak the
//! same space. Which one is used is decided in `factory`.

pub(crate) mod built_in;
pub(crate) mod library;
pub(crate) mod onnx;
pub(crate) mod weights;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use reprise_types::{
    EmbedError, Embedder, EmbeddingSpace, check_unit_vector, normalize, panic_words,
};
use serde::{Deserialize, Serialize};

use crate::architecture::Pooling;
use crate::factory::Opened;

/// Names of the graph's inputs and output, as `onnx::encoder` writes them.
pub(crate) const INPUT_IDS: &str = "input_ids";
pub(crate) const INPUT_MASK: &str = "attention_mask";
pub(crate) const OUTPUT: &str = "sentence_embedding";
/// Some graphs of others want to know of each token whether it is of a second text.
pub(crate) const INPUT_TYPES: &str = "token_type_ids";

/// How a graph is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The output that is wanted.
    pub output: String,
    /// Whether it takes `token_type_ids`.
    pub has_types: bool,
    /// How its tokens become one vector, where it does not say that itself.
    pub pooling: Option<Pooling>,
    /// Somebody else has written it: its constants are where they are.
    pub is_foreign: bool,
}

impl Default for Reading {
    /// Of the graphs that this room writes.
    fn default() -> Self {
        Self {
            output: OUTPUT.to_owned(),
            has_types: false,
            pooling: None,
            is_foreign: false,
        }
    }
}

impl Reading {
    /// The vector of a text of so many tokens: pooled, cut to its first numbers, and of length 1.
    /// What is whole already stays as it is, bit for bit.
    fn vector(&self, mut numbers: Vec<f32>, tokens: usize, width: usize) -> Vec<f32> {
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
}

/// One engine's way from token ids to numbers.
pub(crate) trait Inference: Send {
    /// Runs the model on one text, or on two of which `types` says which token is whose; empty
    /// stands for one text. The numbers are not checked yet.
    fn run(&mut self, ids: &[u32], types: &[u32]) -> Result<Vec<f32>, EmbedError>;
}

/// An [`Embedder`] around either engine.
pub(crate) struct ModelEmbedder<I> {
    pub(crate) inference: I,
    pub(crate) opened: Arc<Opened>,
}

impl<I: Inference> ModelEmbedder<I> {
    /// The vector of a text behind what its model wants before it.
    fn vector(&mut self, prompt: &str, text: &str) -> Result<Vec<f32>, EmbedError> {
        let text = if prompt.is_empty() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned([prompt, text].concat())
        };
        let width = usize::from(self.opened.space.dimensions);
        let vector = guarded(|| {
            let ids = self.opened.tokenizer.ids(&text)?;
            let numbers = self.inference.run(&ids, &[])?;
            Ok(self.opened.reading.vector(numbers, ids.len(), width))
        })
        .map_err(|message| EmbedError::Engine { message })??;
        check_unit_vector(&vector, width).map_err(|error| EmbedError::BadOutput {
            message: error.to_string(),
        })?;
        Ok(vector)
    }
}

impl<I: Inference> Embedder for ModelEmbedder<I> {
    fn space(&self) -> &EmbeddingSpace {
        &self.opened.space
    }

    fn token_limit(&self) -> usize {
        self.opened.tokenizer.token_limit()
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let opened = Arc::clone(&self.opened);
        self.vector(&opened.prompts.passage, text)
    }

    fn embed_query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let opened = Arc::clone(&self.opened);
        self.vector(&opened.prompts.query, text)
    }

    fn tells_questions(&self) -> bool {
        self.opened.prompts.query != self.opened.prompts.passage
    }
}

/// Turns a panic of a foreign library into its message. What the closure touches is used again only
/// through engines that keep no half-done state between calls.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|payload| format!("it panicked: {}", panic_words(&*payload)))
}
