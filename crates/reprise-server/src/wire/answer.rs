//! Questions and answers.

use chrono::{DateTime, Utc};
use reprise_types::limits::TOP_K_DEFAULT;
use reprise_types::{
    Calendar, Degraded, EmbeddingSpace, MemoryFilter, MemoryKind, MemorySource, Recall, RecallId,
    RecallRequest, RecordId, RetrievedMemory, SearchTier, TimeError, Verdict, Why,
    check_unit_vector,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::fields::{from_json, refuse_slips};
use super::record::{external_id_of, instant};

/// One line of a queries file.
#[derive(Debug, Deserialize)]
pub struct QueryLine {
    /// Given back with the answer.
    pub query_id: String,
    /// The question.
    pub query: String,
    embedding: Option<Vec<f32>>,
    embedding_space: Option<EmbeddingSpace>,
    /// Of the data set's own: passed over.
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl QueryLine {
    const FIELDS: [&str; 4] = ["query_id", "query", "embedding", "embedding_space"];

    /// Reads one; the error is a sentence about it.
    pub fn read(line: &str) -> Result<Self, String> {
        let read: Self = from_json(line.as_bytes())?;
        refuse_slips(&read.other, &Self::FIELDS)?;
        Ok(read)
    }

    /// The vector handed over with the question, by callers that embed themselves; the error is a
    /// sentence about it.
    pub fn vector(&self) -> Result<Option<(EmbeddingSpace, Vec<f32>)>, String> {
        match (&self.embedding_space, &self.embedding) {
            (Some(space), Some(vector)) => {
                check_unit_vector(vector, usize::from(space.dimensions))
                    .map_err(|error| error.to_string())?;
                Ok(Some((space.clone(), vector.clone())))
            }
            (None, Some(_)) => Err("an embedding needs its embedding_space".to_owned()),
            (_, None) => Ok(None),
        }
    }
}

/// A question as a request's body.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecallBody {
    /// The new input, in the user's words.
    pub query: String,
    /// Most results; 5 where it is not given.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub top_k: Option<usize>,
    /// Only these kinds; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kind: Vec<MemoryKind>,
    /// Only these sources; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<MemorySource>,
    /// Only what happened at this instant or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only what happened at this instant or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only what has every one of these tags; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Only this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only this author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Answer as the store stood at this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Answer with one text for a prompt, at most this many tokens long.
    #[serde(
        default,
        deserialize_with = "whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub budget: Option<usize>,
}

/// A number without a fraction; 5 and 5.0 are the same to JSON Schema, and to those who write it.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let text = match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{float:.0}"),
        _ => number.to_string(),
    };
    let read = text.parse().map(Some);
    read.map_err(|_| D::Error::custom(format!("`{number}` is not a whole number from 0 on")))
}

impl RecallBody {
    /// The body of a request.
    #[must_use]
    pub fn of(request: &RecallRequest) -> Self {
        let filter = &request.filter;
        Self {
            query: request.query.clone(),
            top_k: Some(request.top_k),
            kind: filter.kinds.clone().unwrap_or_default(),
            source: filter.sources.clone().unwrap_or_default(),
            since: filter.since.map(instant),
            until: filter.until.map(instant),
            tags: filter.tags.clone().unwrap_or_default(),
            session: filter.session_id.clone(),
            project: filter.project.clone(),
            author: filter.author.clone(),
            as_of: request.as_of.map(instant),
            budget: None,
        }
    }

    /// The request that it asks for, times as the calendar has them; the error is a sentence about
    /// it.
    pub fn request(&self, calendar: &Calendar) -> Result<RecallRequest, String> {
        type Read = fn(&Calendar, &str) -> Result<DateTime<Utc>, TimeError>;
        let time = |text: &Option<String>, read: Read| {
            let parsed = text.as_deref().map(|text| read(calendar, text)).transpose();
            parsed.map_err(|error| error.to_string())
        };
        let request = RecallRequest {
            query: self.query.clone(),
            top_k: self.top_k.unwrap_or(TOP_K_DEFAULT),
            filter: MemoryFilter {
                kinds: (!self.kind.is_empty()).then(|| self.kind.clone()),
                sources: (!self.source.is_empty()).then(|| self.source.clone()),
                since: time(&self.since, Calendar::since)?,
                until: time(&self.until, Calendar::until)?,
                tags: (!self.tags.is_empty()).then(|| self.tags.clone()),
                session_id: self.session.clone(),
                project: self.project.clone(),
                author: self.author.clone(),
            },
            as_of: time(&self.as_of, Calendar::until)?,
            when: None,
        };
        request.check().map_err(|error| error.to_string())?;
        Ok(request.heard(calendar))
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Given back from the question.
    pub query_id: Option<String>,
    /// The receipt: an outcome names it.
    pub recall_id: RecallId,
    /// What the answer had to do without.
    pub degraded: Vec<Degraded>,
    /// How long the recall took, in milliseconds.
    pub elapsed_ms: f64,
    /// Not even the best is likely to be relevant.
    pub nothing_relevant: bool,
    /// What may be made of the best.
    #[serde(default)]
    pub verdict: Verdict,
    /// Sentences for a reader: how the question or the filter was understood.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Live records that the filter admitted.
    #[serde(default)]
    pub considered: u32,
    /// How the vectors were searched.
    #[serde(default)]
    pub tier: SearchTier,
    /// Best first.
    pub results: Vec<Hit>,
}

/// One remembered record with its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Its id.
    pub id: RecordId,
    /// Its caller's id.
    pub external_id: Option<String>,
    /// Its session, or empty.
    pub session_id: String,
    /// What a person reads.
    pub text: String,
    /// Relevance before learning, 0..1.
    pub score: f32,
    /// Relevance after learning, 0..1.
    pub sona_score: f32,
    /// What it is.
    pub kind: MemoryKind,
    /// Who it came from.
    pub source: MemorySource,
    /// When it happened.
    pub timestamp: DateTime<Utc>,
    /// Free words.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Why it is here, in one line for a reader.
    #[serde(default)]
    pub reason: String,
    /// Where the score comes from.
    pub why: Why,
}

impl From<RetrievedMemory> for Hit {
    fn from(mut found: RetrievedMemory) -> Self {
        let external_id = external_id_of(&found.record);
        let record = found.record;
        Self {
            id: record.id,
            external_id,
            session_id: record.session_id,
            text: record.text,
            score: found.score,
            sona_score: found.sona_score,
            kind: record.kind,
            source: record.source,
            timestamp: record.timestamp,
            tags: record.tags,
            reason: std::mem::take(&mut found.why.reason),
            why: found.why,
        }
    }
}

impl Answer {
    /// The answer that a recall gives.
    #[must_use]
    pub fn new(query_id: Option<String>, recall: Recall, elapsed_ms: f64) -> Self {
        Self {
            query_id,
            recall_id: recall.recall_id,
            degraded: recall.degraded,
            elapsed_ms,
            nothing_relevant: recall.nothing_relevant,
            verdict: recall.verdict,
            notes: recall.notes,
            considered: recall.considered,
            tier: recall.tier,
            results: recall.results.into_iter().map(Hit::from).collect(),
        }
    }
}
