//! Sunwell's learnings, decisions and failures (RFC-065) as views over records.
//!
//! Their ids, defaults and conversions.

mod artifacts;
mod contract;
mod extract;
mod memory;
mod views;

use chrono::SecondsFormat;
use reprise_types::parse_timestamp;

use crate::prelude::*;

pub(crate) use contract::category_of;
pub use contract::{TYPESCRIPT, one_of};
pub use extract::learnings_of_session;
pub(crate) use memory::{LEGACY, is_replaced};
pub use memory::{LearningQuery, SunwellMemory, SunwellStats};
pub use views::{StoreCounts, branch_names, studio};

words! {
    /// What a learning is about (S10); the words are the same in every language (S45).
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    Category, "category", {
    TaskCompletion = "task_completion";
    /// How things are done here.
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

impl Category {
    /// Words that later versions added (S10), each with the nearest of the seven.
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

    /// The category of a word, or the nearest one to a word that later versions added (S10); `None`
    /// for any other (S13).
    pub fn nearest(name: &str) -> Option<Self> {
        let mut later = Self::LATER.into_iter();
        let later = later.find(|(word, _)| *word == name);
        later.map(|(_, nearest)| nearest).or_else(|| Self::of(name))
    }

    /// Every word that has a nearest one.
    pub fn words() -> impl Iterator<Item = &'static str> {
        let later = Self::LATER.into_iter().map(|(word, _)| word);
        Self::ALL.iter().map(|one| one.name()).chain(later)
    }

    /// What it is to memory at large (C6).
    pub fn kind(self) -> MemoryKind {
        match self {
            Self::Fix | Self::Type | Self::Api => MemoryKind::Finding,
            Self::Pattern => MemoryKind::Pattern,
            Self::Decision => MemoryKind::Strategy,
            Self::TaskCompletion | Self::Failure => MemoryKind::Episode,
        }
    }

    fn quality(self) -> Option<f32> {
        match self {
            Self::TaskCompletion => Some(1.0),
            Self::Failure => Some(0.0),
            _ => None,
        }
    }
}

/// Where a learning may come from (S11).
pub const SOURCE_TYPES: [&str; 4] = ["task", "analysis", "user", "session"];
/// How far a decision may reach (S15).
pub const SCOPES: [&str; 3] = ["project", "file", "function"];

/// Something learned (S8). Immutable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Learning {
    /// Sixteen hex digits of what it says (S9), or its decision's or failure's id (C22).
    pub id: String,
    pub fact: String,
    pub category: Category,
    /// 0..1.
    pub confidence: f64,
    pub source: Option<String>,
    /// `task`, `analysis`, `user` or `session` (S11).
    pub source_type: String,
    /// RFC 3339 (S14): as it was written where that names its zone.
    pub created_at: String,
    pub goal: Option<String>,
    pub metadata: Map<String, Value>,
}

/// A decision with its reason (S15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Sixteen hex digits of `decision`.
    pub id: String,
    pub decision: String,
    pub rationale: String,
    /// `project`, `file` or `function`.
    pub scope: String,
    /// The decision that it takes the place of.
    pub supersedes: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    pub goal: Option<String>,
    /// What other versions wrote beside it: rejected options above all.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// An approach that did not work (S18).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Sixteen hex digits of `approach` and `fact`.
    pub id: String,
    /// What did not work.
    pub fact: String,
    pub approach: String,
    /// Whatever else there is to say.
    pub context: String,
    /// RFC 3339.
    pub created_at: String,
    pub goal: Option<String>,
    /// What other versions wrote beside it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Learning {
    /// Of the default confidence (.8) and source type (`task`).
    pub fn new(fact: impl Into<String>, category: Category, at: DateTime<Utc>) -> Self {
        let fact = fact.into();
        Self {
            id: hex_id(&[category.name(), &fact]),
            fact,
            category,
            confidence: 0.8,
            source: None,
            source_type: "task".to_owned(),
            created_at: written(at),
            goal: None,
            metadata: Map::new(),
        }
    }

    /// What a finished task leaves (S57).
    pub fn of_task(task: &str, description: &str, goal: Option<String>, at: DateTime<Utc>) -> Self {
        Self {
            confidence: 1.0,
            source: Some(task.to_owned()),
            goal,
            ..Self::new(
                format!("Completed: {description}"),
                Category::TaskCompletion,
                at,
            )
        }
    }

    /// What stands for a decision or failure, under its id.
    fn standing(category: Category, id: &str, fact: &str, metadata: [(&str, &String); 2]) -> Self {
        let metadata = metadata.map(|(name, said)| (name.to_owned(), json!(said)));
        Self {
            id: id.to_owned(),
            confidence: 1.0,
            source: Some(format!("{}:{id}", category.name())),
            metadata: Map::from_iter(metadata),
            ..Self::new(fact, category, DateTime::UNIX_EPOCH)
        }
    }

    /// The record that keeps it.
    pub fn record(&self) -> NewRecord {
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
        let mut record = record(&self.id, self.fact.clone(), self.category, at, details);
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
            .any(|name| typed(record, name).is_some())
    }

    /// The learning of a record: its own, or the one that stands for its decision or failure.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        if let Some(decision) = Decision::of(record) {
            return Some(decision.to_learning());
        }
        if let Some(failure) = Failure::of(record) {
            return Some(failure.to_learning());
        }
        let details = typed(record, "learning")?;
        let category = details.get("category")?.as_str()?;
        let category = Category::nearest(category).unwrap_or(Category::Pattern);
        Some(Self {
            id: id_of(record, || hex_id(&[category.name(), &record.text])),
            fact: record.text.clone(),
            category,
            confidence: record.confidence.map_or(0.8, exact),
            source: said(details, "source"),
            source_type: said(details, "source_type")
                .filter(|kind| SOURCE_TYPES.contains(&kind.as_str()))
                .unwrap_or_else(|| "task".to_owned()),
            created_at: created(details, record),
            goal: said(details, "goal"),
            metadata: object(details, "metadata"),
        })
    }
}

impl Decision {
    /// For the project, of no earlier one.
    pub fn new(decision: impl Into<String>, rationale: &str, at: DateTime<Utc>) -> Self {
        let decision = decision.into();
        Self {
            id: hex_id(&["decision", &decision]),
            decision,
            rationale: rationale.to_owned(),
            scope: "project".to_owned(),
            supersedes: None,
            created_at: written(at),
            goal: None,
            metadata: Map::new(),
        }
    }

    /// The learning that stands for it (S16), under its own id (C22).
    pub fn to_learning(&self) -> Learning {
        let metadata = [("rationale", &self.rationale), ("scope", &self.scope)];
        Learning {
            source_type: "user".to_owned(),
            created_at: self.created_at.clone(),
            goal: self.goal.clone(),
            ..Learning::standing(Category::Decision, &self.id, &self.decision, metadata)
        }
    }

    /// The record that keeps it. What was rejected is searched with it: it is what the next one is
    /// about to try.
    pub fn record(&self) -> NewRecord {
        let mut text = self.decision.clone();
        if !self.rationale.trim().is_empty() {
            text.push_str(&["\n\nBecause: ", &self.rationale].concat());
        }
        for rejected in items(self.metadata.get("rejected")) {
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
        let mut record = record(&self.id, text, Category::Decision, at, details);
        record.source = MemorySource::ConductorPlan;
        record
    }

    /// The decision of a record; `None` where it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let details = typed(record, "decision")?;
        let decision = said(details, "decision")?;
        Some(Self {
            id: id_of(record, || hex_id(&["decision", &decision])),
            decision,
            rationale: said(details, "rationale").unwrap_or_default(),
            scope: said(details, "scope")
                .filter(|scope| SCOPES.contains(&scope.as_str()))
                .unwrap_or_else(|| "project".to_owned()),
            supersedes: said(details, "supersedes"),
            created_at: created(details, record),
            goal: said(details, "goal"),
            metadata: object(details, "metadata"),
        })
    }
}

impl Failure {
    /// Without a context.
    pub fn new(fact: impl Into<String>, approach: impl Into<String>, at: DateTime<Utc>) -> Self {
        let (fact, approach) = (fact.into(), approach.into());
        Self {
            id: hex_id(&["failure", &approach, &fact]),
            fact,
            approach,
            context: String::new(),
            created_at: written(at),
            goal: None,
            metadata: Map::new(),
        }
    }

    /// The learning that stands for it (S19), under its own id (C22).
    pub fn to_learning(&self) -> Learning {
        let metadata = [("approach", &self.approach), ("context", &self.context)];
        Learning {
            created_at: self.created_at.clone(),
            goal: self.goal.clone(),
            ..Learning::standing(Category::Failure, &self.id, &self.fact, metadata)
        }
    }

    /// The record that keeps it.
    pub fn record(&self) -> NewRecord {
        let mut text = format!("Avoid: {}", self.approach);
        if self.fact != self.approach && !self.fact.is_empty() {
            text.push_str(&[" (", &self.fact, ")"].concat());
        }
        if !self.context.trim().is_empty() {
            text.push_str(&["\nContext: ", &self.context].concat());
        }
        let mut details = json!(self);
        details["type"] = json!("failure");
        record(&self.id, text, Category::Failure, &self.created_at, details)
    }

    /// The failure of a record; `None` where it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let details = typed(record, "failure")?;
        let approach = said(details, "approach")?;
        let fact = said(details, "fact").unwrap_or_else(|| approach.clone());
        Some(Self {
            id: id_of(record, || hex_id(&["failure", &approach, &fact])),
            fact,
            approach,
            context: said(details, "context").unwrap_or_default(),
            created_at: created(details, record),
            goal: said(details, "goal"),
            metadata: object(details, "metadata"),
        })
    }
}

fn record(id: &str, text: String, category: Category, at: &str, details: Value) -> NewRecord {
    let mut record = NewRecord::new(text, MemorySource::WorkerResult, category.kind());
    record.external_ids = vec![ExternalId::new(ExternalId::SUNWELL, id)];
    record.quality_score = category.quality();
    record.confidence = Some(1.0);
    record.timestamp = parse_timestamp(at).ok();
    record.details = Some(details);
    record
}

fn said(details: &Map<String, Value>, name: &str) -> Option<String> {
    details.get(name)?.as_str().map(str::to_owned)
}

fn object(details: &Map<String, Value>, name: &str) -> Map<String, Value> {
    details
        .get(name)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

fn id_of(record: &MemoryRecord, made: impl FnOnce() -> String) -> String {
    record
        .external_id(ExternalId::SUNWELL)
        .map_or_else(made, str::to_owned)
}

/// What its source wrote, where any reader can tell the instant from it; else the instant itself,
/// so that no line goes out that its schema refuses (S48).
fn created(details: &Map<String, Value>, record: &MemoryRecord) -> String {
    said(details, "created_at")
        .filter(|at| DateTime::parse_from_rfc3339(at).is_ok())
        .unwrap_or_else(|| written(record.timestamp))
}

fn written(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, false)
}

#[cfg(test)]
pub(crate) mod tests;
