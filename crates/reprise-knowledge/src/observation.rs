//! Observations of ralph's knowledge store: seven types with an importance, and the frames in which
//! they are stored.

mod compact;
mod frame;
mod store;

use crate::prelude::*;
pub use compact::{FramePlan, FrameRules, FrameSummary, count_frame_tokens, plan_frame_compaction};

pub use frame::build_frame;
pub(crate) use frame::parse_frame;
pub use store::{ObservationQuery, Observations, frame_type, is_observation};

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
    /// Returns the kind of its records.
    pub fn kind(self) -> MemoryKind {
        MemoryKind::from_foreign_word(self.name())
    }

    /// Returns its importance at full confidence, 3..10.
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
    /// Ids of related observations.
    pub related_ids: Vec<String>,
    pub tags: Vec<String>,
    pub metadata: Map<String, Value>,
}

impl Observation {
    /// Builds an observation of full confidence with only its content.
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

    /// Returns the importance of its type times its confidence, truncated: 0..10.
    pub fn importance(&self) -> u8 {
        (f64::from(self.observation_type.importance()) * self.confidence) as u8
    }

    /// Converts it to the original's dictionary, in its order of keys. Metadata with a key of the
    /// core is nested under `metadata`.
    pub fn to_dict(&self) -> impl Serialize {
        self.to_dict_without(&CORE)
    }

    /// Converts it to a dictionary with the metadata of the `taken` keys nested.
    fn to_dict_without(&self, reserved: &[&str]) -> impl Serialize {
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
            metadata: nest_reserved_keys(self.metadata.clone(), reserved),
        }
    }

    /// Returns the tags under which the original stores it.
    pub fn record_tags(&self) -> Vec<String> {
        let mut tags = vec![
            self.observation_type.name().to_owned(),
            format!("importance:{}", self.importance()),
        ];
        tags.extend(self.tags.iter().cloned());
        tags.extend(self.source.iter().map(|source| format!("source:{source}")));
        tags
    }

    /// Converts it into a new record.
    pub fn to_record(&self, session: &str) -> NewRecord {
        let kind = self.observation_type.kind();
        let mut record = NewRecord::new(self.content.clone(), MemorySource::WorkerResult, kind);
        session.clone_into(&mut record.session_id);
        record.confidence = Some(self.confidence as f32);
        record.tags = self.record_tags();
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

    /// Reads the observation of a record; `None` if it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let details = details_of_type(record, "observation")?;
        let owned = |name: &str| list_texts(details.get(name)).map(str::to_owned).collect();
        let metadata = details.get("metadata").and_then(Value::as_object);
        Some(Self {
            content: record.text.clone(),
            observation_type: ObservationType::of(detail_word(record, "observation_type")?)?,
            source: detail_word(record, "source").map(str::to_owned),
            confidence: record.confidence.map_or(1.0, to_exact_decimal),
            related_ids: owned("related_ids"),
            tags: owned("tags"),
            metadata: metadata.cloned().unwrap_or_default(),
        })
    }
}

/// Key under which metadata with reserved keys is nested.
const NEST: &str = "metadata";

/// Moves metadata with `taken` keys below [`NEST`], together with an own value of that name, so
/// that nothing is overwritten.
fn nest_reserved_keys(metadata: Map<String, Value>, reserved: &[&str]) -> Map<String, Value> {
    let clashes = |key: &str| reserved.contains(&key);
    if !metadata.keys().any(|key| clashes(key)) {
        return metadata;
    }
    let (inner, mut outer): (Map<_, _>, Map<_, _>) = metadata
        .into_iter()
        .partition(|(key, _)| clashes(key) || key == NEST);
    outer.insert(NEST.to_owned(), Value::Object(inner));
    outer
}

/// Reverses [`nest_reserved_keys`].
fn unnest_reserved_keys(mut metadata: Map<String, Value>, reserved: &[&str]) -> Map<String, Value> {
    match metadata.remove(NEST) {
        Some(Value::Object(inner)) if inner.keys().any(|key| reserved.contains(&key.as_str())) => {
            metadata.extend(inner);
        }
        Some(own) => {
            metadata.insert(NEST.to_owned(), own);
        }
        None => {}
    }
    metadata
}

/// Keys of [`Observation::to_dict`] that are reserved.
const CORE: [&str; 7] = [
    "content",
    "observation_type",
    "source",
    "confidence",
    "related_ids",
    "tags",
    "importance",
];

/// Returns the external id of a frame.
fn frame_external_id(id: &str) -> ExternalId {
    ExternalId::new(ExternalId::FRAMES, id)
}

#[cfg(test)]
mod tests;
