//! Observations of ralph's knowledge store: seven types with an importance, and the frames in which
//! they are kept (Story 3.4).

mod compact;
mod frame;
mod store;

use crate::prelude::*;
pub use compact::{FramePlan, FrameRules, FrameSummary, frame_tokens, plan_frames};

pub(crate) use frame::frame;
pub use frame::frame_of;
pub use store::{ObservationQuery, Observations, frame_type, is_frame};

words! {
    /// What an observation is, the most important first.
    ObservationType, "type of observation", {
    Error = "error";
    Decision = "decision";
    Learning = "learning";
    Preference = "preference";
    Success = "success";
    Summary = "summary";
    Context = "context";
}}

impl ObservationType {
    /// What it is to memory at large (C6).
    pub fn kind(self) -> MemoryKind {
        MemoryKind::meant_by(self.name())
    }

    /// How much it matters at full confidence, 3..10 (R2).
    pub fn importance(self) -> u8 {
        match self {
            Self::Error => 10,
            Self::Decision => 9,
            Self::Learning => 8,
            Self::Preference => 7,
            Self::Success => 5,
            Self::Summary => 4,
            Self::Context => 3,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub content: String,
    pub observation_type: ObservationType,
    pub source: Option<String>,
    /// 0..1.
    pub confidence: f64,
    /// The observations that it belongs with.
    pub related_ids: Vec<String>,
    pub tags: Vec<String>,
    pub metadata: Map<String, Value>,
}

impl Observation {
    /// Of full confidence, with nothing but its content (R7).
    pub fn new(content: impl Into<String>, observation_type: ObservationType) -> Self {
        Self {
            content: content.into(),
            observation_type,
            source: None,
            confidence: 1.0,
            related_ids: Vec::new(),
            tags: Vec::new(),
            metadata: Map::new(),
        }
    }

    /// The importance of its type times its confidence, cut to a whole number: 0..10 (R4, C25).
    pub fn importance(&self) -> u8 {
        (f64::from(self.observation_type.importance()) * self.confidence) as u8
    }

    /// The original's dictionary, in its order of keys. Where the metadata has a key of the core,
    /// the core wins and the metadata's value is nested under `metadata` (R5).
    pub fn to_dict(&self) -> impl Serialize {
        self.dict(&CORE)
    }

    /// The same with the metadata's own keys of these names nested.
    fn dict(&self, taken: &[&str]) -> impl Serialize {
        #[derive(Serialize)]
        struct Dict {
            content: String,
            observation_type: &'static str,
            source: Option<String>,
            confidence: f64,
            related_ids: Vec<String>,
            tags: Vec<String>,
            importance: u8,
            #[serde(flatten)]
            metadata: Map<String, Value>,
        }
        Dict {
            content: self.content.clone(),
            observation_type: self.observation_type.name(),
            source: self.source.clone(),
            confidence: self.confidence,
            related_ids: self.related_ids.clone(),
            tags: self.tags.clone(),
            importance: self.importance(),
            metadata: nested(self.metadata.clone(), taken),
        }
    }

    /// The tags under which the original keeps it (R18).
    pub fn kept_tags(&self) -> Vec<String> {
        let mut tags = vec![
            self.observation_type.name().to_owned(),
            format!("importance:{}", self.importance()),
        ];
        tags.extend(self.tags.iter().cloned());
        tags.extend(self.source.iter().map(|source| format!("source:{source}")));
        tags
    }

    /// The record that keeps it (R6).
    pub fn record(&self, session: &str) -> NewRecord {
        let kind = self.observation_type.kind();
        let mut record = NewRecord::new(self.content.clone(), MemorySource::WorkerResult, kind);
        session.clone_into(&mut record.session_id);
        record.confidence = Some(self.confidence as f32);
        record.tags = self.kept_tags();
        record.details = Some(json!({
            "type": "observation",
            "observation_type": self.observation_type.name(),
            "source": self.source,
            "related_ids": self.related_ids,
            "tags": self.tags,
            "metadata": self.metadata,
        }));
        record
    }

    /// The observation of a record; `None` where it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let details = typed(record, "observation")?;
        let owned = |name: &str| texts(details.get(name)).map(str::to_owned).collect();
        let metadata = details.get("metadata").and_then(Value::as_object);
        Some(Self {
            content: record.text.clone(),
            observation_type: ObservationType::of(word_of(record, "observation_type")?)?,
            source: word_of(record, "source").map(str::to_owned),
            confidence: record.confidence.map_or(1.0, exact),
            related_ids: owned("related_ids"),
            tags: owned("tags"),
            metadata: metadata.cloned().unwrap_or_default(),
        })
    }
}

/// Where the metadata's own values of taken keys stand.
const NEST: &str = "metadata";

/// Metadata with what it has under `taken` keys in a [`NEST`], and an own value of that name with
/// them: nothing of it is written over.
fn nested(metadata: Map<String, Value>, taken: &[&str]) -> Map<String, Value> {
    let clashes = |key: &str| taken.contains(&key);
    if !metadata.keys().any(|key| clashes(key)) {
        return metadata;
    }
    let (inner, mut outer): (Map<_, _>, Map<_, _>) = metadata
        .into_iter()
        .partition(|(key, _)| clashes(key) || key == NEST);
    outer.insert(NEST.to_owned(), Value::Object(inner));
    outer
}

/// The inverse of [`nested`].
fn unnested(mut metadata: Map<String, Value>, taken: &[&str]) -> Map<String, Value> {
    match metadata.remove(NEST) {
        Some(Value::Object(inner)) if inner.keys().any(|key| taken.contains(&key.as_str())) => {
            metadata.extend(inner);
        }
        Some(own) => {
            metadata.insert(NEST.to_owned(), own);
        }
        None => {}
    }
    metadata
}

/// Keys of [`Observation::to_dict`] that metadata may not take.
const CORE: [&str; 7] = [
    "content",
    "observation_type",
    "source",
    "confidence",
    "related_ids",
    "tags",
    "importance",
];

/// The name of a frame in memory.
fn named(id: &str) -> ExternalId {
    ExternalId::new(ExternalId::FRAMES, id)
}

#[cfg(test)]
mod tests;
