//! Sunwell's learnings, decisions and failures (RFC-065) as views over records.
//!
//! This module has their ids, defaults and conversions.

mod artifacts;
mod clauses;
mod contract;
mod corrections;
mod extract;
mod memory;
mod rules;
mod sentences;
mod views;
mod withdrawals;

use chrono::SecondsFormat;
use reprise_types::parse_timestamp;

use crate::prelude::*;

pub(crate) use contract::parse_category;
pub use contract::{TYPESCRIPT, check_word};
pub(crate) use corrections::corrects;
pub use corrections::{may_state_correction, states_correction};
pub use extract::{extract_learnings, extract_withdrawals};
pub(crate) use memory::{LEGACY, is_replaced};
pub use memory::{LearningQuery, SunwellMemory, SunwellStats};
pub use rules::{fold_umlauts, states_rule};
pub use sentences::states_decision;
pub use views::{StoreCounts, list_branch_names, to_studio};
pub use withdrawals::states_withdrawal;
pub(crate) use withdrawals::{ends_rule_of, list_settling};

words! {
    /// Category of a learning; the words are equal in every programming language.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    LearningCategory, "category", {
    TaskCompletion = "task_completion";
    /// How something is done in this project.
    Pattern = "pattern";
    /// What a type looks like.
    Type = "type";
    /// What an interface looks like.
    Api = "api";
    Fix = "fix";
    Decision = "decision";
    /// What did not work.
    Failure = "failure";
}}

impl LearningCategory {
    /// Words that later versions added, each with the nearest of the seven categories.
    const LATER: [(&'static str, Self); 9] = [
        ("dead_end", Self::Failure),
        ("fact", Self::Pattern),
        ("preference", Self::Pattern),
        ("constraint", Self::Pattern),
        ("template", Self::Pattern),
        ("heuristic", Self::Pattern),
        ("project", Self::Pattern),
        ("code", Self::Pattern),
        ("mental_model", Self::Pattern),
    ];

    /// Parses a word as a category, or a word that later versions added as the nearest one; `None`
    /// for any other.
    pub fn parse_nearest(name: &str) -> Option<Self> {
        let mut later = Self::LATER.into_iter();
        let later = later.find(|(word, _)| *word == name);
        later.map(|(_, nearest)| nearest).or_else(|| Self::of(name))
    }

    /// Lists every word that [`Self::parse_nearest`] accepts.
    pub fn list_words() -> impl Iterator<Item = &'static str> {
        let later = Self::LATER.into_iter().map(|(word, _)| word);
        Self::ALL.iter().map(|one| one.name()).chain(later)
    }

    /// Returns the kind of its records.
    pub fn kind(self) -> MemoryKind {
        match self {
            Self::Fix | Self::Type | Self::Api => MemoryKind::Finding,
            Self::Pattern => MemoryKind::Pattern,
            Self::Decision => MemoryKind::Strategy,
            Self::TaskCompletion | Self::Failure => MemoryKind::Episode,
        }
    }

    fn quality_score(self) -> Option<f32> {
        match self {
            Self::TaskCompletion => Some(1.0),
            Self::Failure => Some(0.0),
            _ => None,
        }
    }
}

/// Sources that a learning may have.
pub const SOURCE_TYPES: [&str; 4] = ["task", "analysis", "user", "session"];
/// Scopes that a decision may have.
pub const SCOPES: [&str; 3] = ["project", "file", "function"];

/// A learning of RFC-065. Immutable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SunwellLearning {
    /// Sixteen hex digits of its category and fact, or its decision's or failure's id.
    pub id: String,
    pub fact: String,
    pub category: LearningCategory,
    /// 0..1.
    pub confidence: f64,
    pub source: Option<String>,
    /// `task`, `analysis`, `user` or `session`.
    pub source_type: String,
    /// RFC 3339; as it was written if that names its zone.
    pub created_at: String,
    pub goal: Option<String>,
    pub metadata: Map<String, Value>,
}

/// A decision of RFC-065 with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SunwellDecision {
    /// Sixteen hex digits of `decision`.
    pub id: String,
    pub decision: String,
    pub rationale: String,
    /// `project`, `file` or `function`.
    pub scope: String,
    /// The decision that it replaces.
    pub supersedes: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    pub goal: Option<String>,
    /// Fields of other versions, above all rejected options.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// An approach that did not work, of RFC-065.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SunwellFailure {
    /// Sixteen hex digits of `approach` and `fact`.
    pub id: String,
    /// What did not work.
    pub fact: String,
    pub approach: String,
    /// Anything else about it.
    pub context: String,
    /// RFC 3339.
    pub created_at: String,
    pub goal: Option<String>,
    /// Fields of other versions.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl SunwellLearning {
    /// Builds a learning of the default confidence (.8) and source type (`task`).
    pub fn new(fact: impl Into<String>, category: LearningCategory, at: DateTime<Utc>) -> Self {
        let fact = fact.into();
        Self {
            id: hex_id(&[category.name(), &fact]),
            fact,
            category,
            confidence: 0.8,
            source: None,
            source_type: "task".to_owned(),
            created_at: format_time(at),
            goal: None,
            metadata: Map::new(),
        }
    }

    /// Builds the learning of a finished task.
    pub fn from_task(
        task: &str,
        description: &str,
        goal: Option<String>,
        at: DateTime<Utc>,
    ) -> Self {
        Self {
            confidence: 1.0,
            source: Some(task.to_owned()),
            goal,
            ..Self::new(
                format!("Completed: {description}"),
                LearningCategory::TaskCompletion,
                at,
            )
        }
    }

    /// Builds the learning of a decision or failure, with its id.
    fn for_parent(
        category: LearningCategory,
        id: &str,
        fact: &str,
        metadata: [(&str, &String); 2],
    ) -> Self {
        let metadata = metadata.map(|(name, value)| (name.to_owned(), json!(value)));
        Self {
            id: id.to_owned(),
            confidence: 1.0,
            source: Some(format!("{}:{id}", category.name())),
            metadata: Map::from_iter(metadata),
            ..Self::new(fact, category, DateTime::UNIX_EPOCH)
        }
    }

    /// Converts it into a new record.
    pub fn to_record(&self) -> NewRecord {
        let details = json!({
            "type": "learning",
            "category": self.category,
            "source": self.source,
            "source_type": self.source_type,
            "created_at": self.created_at,
            "goal": self.goal,
            "metadata": self.metadata,
        });
        let at = &self.created_at;
        let mut record = new_record(&self.id, self.fact.clone(), self.category, at, details);
        record.confidence = Some(self.confidence as f32);
        record.provenance.source_refs.extend(self.source.clone());
        record.source = match self.source_type.as_str() {
            "user" => MemorySource::UserInput,
            "session" => MemorySource::TrajectoryOutcome,
            _ => MemorySource::WorkerResult,
        };
        record
    }

    /// Whether a record holds a learning, a decision or a failure, without reading it whole.
    pub fn is_in(record: &RecordBody) -> bool {
        ["learning", "decision", "failure"]
            .iter()
            .any(|name| details_of_type(record, name).is_some())
    }

    /// Reads the learning of a record, or converts its decision or failure to one; `None` if it has
    /// none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        if let Some(decision) = SunwellDecision::of(record) {
            return Some(decision.to_learning());
        }
        if let Some(failure) = SunwellFailure::of(record) {
            return Some(failure.to_learning());
        }
        let details = details_of_type(record, "learning")?;
        let category = details.get("category")?.as_str()?;
        let category =
            LearningCategory::parse_nearest(category).unwrap_or(LearningCategory::Pattern);
        Some(Self {
            id: sunwell_id(record, || hex_id(&[category.name(), &record.text])),
            fact: record.text.clone(),
            category,
            confidence: record.confidence.map_or(0.8, to_exact_decimal),
            source: text_field(details, "source"),
            source_type: text_field(details, "source_type")
                .filter(|kind| SOURCE_TYPES.contains(&kind.as_str()))
                .unwrap_or_else(|| "task".to_owned()),
            created_at: creation_time(details, record),
            goal: text_field(details, "goal"),
            metadata: object_field(details, "metadata"),
        })
    }
}

impl SunwellDecision {
    /// Builds a decision for the whole project that replaces none.
    pub fn new(decision: impl Into<String>, rationale: &str, at: DateTime<Utc>) -> Self {
        let decision = decision.into();
        Self {
            id: hex_id(&["decision", &decision]),
            decision,
            rationale: rationale.to_owned(),
            scope: "project".to_owned(),
            supersedes: None,
            created_at: format_time(at),
            goal: None,
            metadata: Map::new(),
        }
    }

    /// Converts it to a learning with the same id.
    pub fn to_learning(&self) -> SunwellLearning {
        let metadata = [("rationale", &self.rationale), ("scope", &self.scope)];
        SunwellLearning {
            source_type: "user".to_owned(),
            created_at: self.created_at.clone(),
            goal: self.goal.clone(),
            ..SunwellLearning::for_parent(
                LearningCategory::Decision,
                &self.id,
                &self.decision,
                metadata,
            )
        }
    }

    /// Converts it into a new record. Rejected options are part of the searched text, because
    /// somebody may try one of them next.
    pub fn to_record(&self) -> NewRecord {
        let mut text = self.decision.clone();
        if !self.rationale.trim().is_empty() {
            text.push_str(&["\n\nBecause: ", &self.rationale].concat());
        }
        for rejected in list_items(self.metadata.get("rejected")) {
            let part = |name: &str| {
                rejected
                    .get(name)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            let option = rejected.as_str().unwrap_or_else(|| part("option"));
            if !option.is_empty() {
                text.push_str(&["\nRejected: ", option].concat());
                if !part("reason").is_empty() {
                    text.push_str(&[" (", part("reason"), ")"].concat());
                }
            }
        }
        let mut details = json!(self);
        details["type"] = json!("decision");
        let at = &self.created_at;
        let mut record = new_record(&self.id, text, LearningCategory::Decision, at, details);
        record.source = MemorySource::ConductorPlan;
        record
    }

    /// Reads the decision of a record; `None` if it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let details = details_of_type(record, "decision")?;
        let decision = text_field(details, "decision")?;
        Some(Self {
            id: sunwell_id(record, || hex_id(&["decision", &decision])),
            decision,
            rationale: text_field(details, "rationale").unwrap_or_default(),
            scope: text_field(details, "scope")
                .filter(|scope| SCOPES.contains(&scope.as_str()))
                .unwrap_or_else(|| "project".to_owned()),
            supersedes: text_field(details, "supersedes"),
            created_at: creation_time(details, record),
            goal: text_field(details, "goal"),
            metadata: object_field(details, "metadata"),
        })
    }
}

impl SunwellFailure {
    /// Builds a failure without a context.
    pub fn new(fact: impl Into<String>, approach: impl Into<String>, at: DateTime<Utc>) -> Self {
        let (fact, approach) = (fact.into(), approach.into());
        Self {
            id: hex_id(&["failure", &approach, &fact]),
            fact,
            approach,
            context: String::new(),
            created_at: format_time(at),
            goal: None,
            metadata: Map::new(),
        }
    }

    /// Converts it to a learning with the same id.
    pub fn to_learning(&self) -> SunwellLearning {
        let metadata = [("approach", &self.approach), ("context", &self.context)];
        SunwellLearning {
            created_at: self.created_at.clone(),
            goal: self.goal.clone(),
            ..SunwellLearning::for_parent(LearningCategory::Failure, &self.id, &self.fact, metadata)
        }
    }

    /// Converts it into a new record.
    pub fn to_record(&self) -> NewRecord {
        let mut text = format!("Avoid: {}", self.approach);
        if self.fact != self.approach && !self.fact.is_empty() {
            text.push_str(&[" (", &self.fact, ")"].concat());
        }
        if !self.context.trim().is_empty() {
            text.push_str(&["\nContext: ", &self.context].concat());
        }
        let mut details = json!(self);
        details["type"] = json!("failure");
        new_record(
            &self.id,
            text,
            LearningCategory::Failure,
            &self.created_at,
            details,
        )
    }

    /// Reads the failure of a record; `None` if it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let details = details_of_type(record, "failure")?;
        let approach = text_field(details, "approach")?;
        let fact = text_field(details, "fact").unwrap_or_else(|| approach.clone());
        Some(Self {
            id: sunwell_id(record, || hex_id(&["failure", &approach, &fact])),
            fact,
            approach,
            context: text_field(details, "context").unwrap_or_default(),
            created_at: creation_time(details, record),
            goal: text_field(details, "goal"),
            metadata: object_field(details, "metadata"),
        })
    }
}

fn new_record(
    id: &str,
    text: String,
    category: LearningCategory,
    at: &str,
    details: Value,
) -> NewRecord {
    let mut record = NewRecord::new(text, MemorySource::WorkerResult, category.kind());
    record.external_ids = vec![ExternalId::new(ExternalId::SUNWELL, id)];
    record.quality_score = category.quality_score();
    record.confidence = Some(1.0);
    record.timestamp = parse_timestamp(at).ok();
    record.details = Some(details);
    record
}

fn text_field(details: &Map<String, Value>, name: &str) -> Option<String> {
    details.get(name)?.as_str().map(str::to_owned)
}

fn object_field(details: &Map<String, Value>, name: &str) -> Map<String, Value> {
    details
        .get(name)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

fn sunwell_id(record: &MemoryRecord, made: impl FnOnce() -> String) -> String {
    record
        .find_external_id(ExternalId::SUNWELL)
        .map_or_else(made, str::to_owned)
}

/// Returns the time as its source wrote it if it is RFC 3339, or else the record's own, so that
/// every exported line fits its schema.
fn creation_time(details: &Map<String, Value>, record: &MemoryRecord) -> String {
    text_field(details, "created_at")
        .filter(|at| DateTime::parse_from_rfc3339(at).is_ok())
        .unwrap_or_else(|| format_time(record.timestamp))
}

fn format_time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, false)
}

#[cfg(test)]
pub(crate) mod tests;
