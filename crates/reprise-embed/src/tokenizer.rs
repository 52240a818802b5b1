//! Text to token ids: Hugging Face `tokenizers` with the model's own `tokenizer.json`.
//!
//! The shipped file truncates and pads at 128 tokens, which distorts every vector; both are
//! overridden. A literal `[SEP]` in a text becomes the control token, as it does in the reference,
//! which the golden token ids test. It can only change the vector of the text that contains it.

use reprise_types::EmbedError;
use tokenizers::{Tokenizer, TruncationParams};

/// Most bytes of a text that are read. The model sees 256 tokens, which in any real text end long
/// before this limit; it makes the longest record as cheap as a page.
const TEXT_BYTES_SEEN_MAX: usize = 16 * 1024;

/// The model's tokeniser, shared by all sessions.
#[derive(Debug)]
pub(crate) struct TextTokenizer {
    tokenizer: Tokenizer,
    token_limit: usize,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`; texts are cut to `token_limit` tokens, special ones included.
    pub(crate) fn from_bytes(json: &[u8], token_limit: usize) -> Result<Self, EmbedError> {
        let unreadable = |message: String| EmbedError::Unavailable {
            message: format!("the tokeniser file is not usable ({message})"),
        };
        let mut tokenizer =
            Tokenizer::from_bytes(json).map_err(|error| unreadable(error.to_string()))?;
        let truncation = TruncationParams {
            max_length: token_limit,
            ..TruncationParams::default()
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|error| unreadable(error.to_string()))?
            .with_padding(None);
        Ok(Self {
            tokenizer,
            token_limit,
        })
    }

    /// Returns the largest id that the tokeniser can return, plus one.
    pub(crate) fn ids_end(&self) -> usize {
        let ids = self.tokenizer.get_vocab(true).into_values();
        ids.max().map_or(0, |last| last as usize + 1)
    }

    /// Returns the most tokens that [`Self::encode`] returns.
    pub(crate) fn token_limit(&self) -> usize {
        self.token_limit
    }

    /// Encodes a text as its ids between the two special tokens; an empty text has two ids.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u32>, EmbedError> {
        let seen = &text[..text.floor_char_boundary(TEXT_BYTES_SEEN_MAX)];
        let encoding =
            self.tokenizer
                .encode_fast(seen, true)
                .map_err(|error| EmbedError::Engine {
                    message: format!("the tokeniser refused a text ({error})"),
                })?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Encodes two texts together, and returns the ids and for each whether it belongs to the
    /// second text (1) or not (0). The longer text is cut first.
    pub(crate) fn encode_pair(
        &self,
        one: &str,
        other: &str,
    ) -> Result<(Vec<u32>, Vec<u32>), EmbedError> {
        let seen = |text: &str| text[..text.floor_char_boundary(TEXT_BYTES_SEEN_MAX)].to_owned();
        let encoding = self.tokenizer.encode((seen(one), seen(other)), true);
        let encoding = encoding.map_err(|error| EmbedError::Engine {
            message: format!("the tokeniser refused a text ({error})"),
        })?;
        Ok((
            encoding.get_ids().to_vec(),
            encoding.get_type_ids().to_vec(),
        ))
    }
}

#[cfg(test)]
mod tests;
