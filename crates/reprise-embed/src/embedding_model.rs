//! The models that can be used for embedding.

use reprise_types::EmbeddingSpace;

use crate::provision::AddedModel;
use crate::variant::Variant;

/// A model that can be used for embedding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there are a handful of these")]
pub enum EmbeddingModel {
    /// The built-in model all-MiniLM-L6-v2.
    BuiltIn(Variant),
    Added(AddedModel),
}

impl EmbeddingModel {
    /// Returns the space of its vectors.
    pub fn space(&self) -> EmbeddingSpace {
        match self {
            Self::BuiltIn(variant) => variant.space(),
            Self::Added(model) => model.space(),
        }
    }
}
