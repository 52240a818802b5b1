//! The two arithmetics of a model, each with an embedding space of its own, and those of
//! all-MiniLM-L6-v2, whose files and hashes are in `models/models.toml`.

use crate::provision::AddedModel;
use reprise_types::{EmbeddingSpace, REFERENCE_MODEL};
use serde::{Deserialize, Serialize};

/// In which arithmetic a model is written. Vectors of the two are never compared with each other.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Dynamic int8 with one scale an output channel: 23.5 MB, about four times as fast.
    #[default]
    Int8,
    /// The original 32-bit floats: 90 MB.
    F32,
}

impl Variant {
    /// Both forms.
    pub const ALL: [Self; 2] = [Self::Int8, Self::F32];

    /// As a configuration names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::F32 => "f32",
        }
    }

    /// The form that makes the vectors of a space.
    pub fn of(space: &EmbeddingSpace) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.space() == *space)
    }

    /// The space's version: changes whenever one bit of the model file does.
    pub fn version(self) -> &'static str {
        match self {
            Self::Int8 => "int8-1",
            Self::F32 => "f32-1",
        }
    }

    /// The space of the vectors that this form makes.
    pub fn space(self) -> EmbeddingSpace {
        EmbeddingSpace {
            model: REFERENCE_MODEL.to_owned(),
            version: self.version().to_owned(),
            dimensions: 384,
        }
    }
}

/// A model that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there are a handful of these")]
pub enum Model {
    /// all-MiniLM-L6-v2.
    BuiltIn(Variant),
    Added(AddedModel),
}

impl Model {
    /// The space of its vectors.
    pub fn space(&self) -> EmbeddingSpace {
        match self {
            Self::BuiltIn(variant) => variant.space(),
            Self::Added(model) => model.space(),
        }
    }
}
