//! The two inference engines and what every vector must pass before it leaves this room.
//!
//! `onnx` runs on ONNX Runtime, `built_in` on rten; both read the same model file and speak the
//! same space. Which one is used is decided in `factory`.

pub(crate) mod built_in;
pub(crate) mod library;
pub(crate) mod onnx;
pub(crate) mod weights;

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use reprise_types::{EmbedError, Embedder, EmbeddingSpace, check_unit_vector, normalize};
use serde::{Deserialize, Serialize};

use crate::architecture::Pooling;
use crate::folder::Prompts;
use crate::tokenizer::TextTokenizer;

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
    inference: I,
    tokenizer: Arc<TextTokenizer>,
    space: EmbeddingSpace,
    prompts: Prompts,
    reading: Reading,
}

impl<I: Inference> ModelEmbedder<I> {
    pub(crate) fn new(
        inference: I,
        tokenizer: Arc<TextTokenizer>,
        space: EmbeddingSpace,
        prompts: Prompts,
        reading: Reading,
    ) -> Self {
        Self {
            inference,
            tokenizer,
            space,
            prompts,
            reading,
        }
    }
}

impl<I: Inference> ModelEmbedder<I> {
    fn vector(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let vector = guarded(|| {
            let ids = self.tokenizer.ids(text)?;
            let numbers = self.inference.run(&ids, &[])?;
            let width = usize::from(self.space.dimensions);
            Ok(self.reading.vector(numbers, ids.len(), width))
        })
        .map_err(|message| EmbedError::Engine { message })??;
        check_unit_vector(&vector, usize::from(self.space.dimensions)).map_err(|error| {
            EmbedError::BadOutput {
                message: error.to_string(),
            }
        })?;
        Ok(vector)
    }
}

/// A text behind what its model wants before it.
fn prompted<'a>(prompt: &str, text: &'a str) -> Cow<'a, str> {
    if prompt.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned([prompt, text].concat())
}

impl<I: Inference> Embedder for ModelEmbedder<I> {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn token_limit(&self) -> usize {
        self.tokenizer.token_limit()
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let text = prompted(&self.prompts.passage, text);
        self.vector(&text)
    }

    fn embed_query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let text = prompted(&self.prompts.query, text);
        self.vector(&text)
    }

    fn tells_questions(&self) -> bool {
        self.prompts.query != self.prompts.passage
    }
}

/// Turns a panic of a foreign library into its message. What the closure touches is used again only
/// through engines that keep no half-done state between calls.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| panic_message(&*payload))
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    format!(
        "it panicked: {}",
        text.unwrap_or_else(|| "no message".to_owned())
    )
}
