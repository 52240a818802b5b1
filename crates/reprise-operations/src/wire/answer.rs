//! Questions and answers, and how runs went.

use reprise_types::{
    DegradedPart, FailKind, PublicationOrigin, RankExplanation, RecallResponse, RelevanceVerdict,
    SearchRoute,
};
use ulid::Ulid;

use super::fields::{parse_lenient_json, question_vector, refuse_misspelled_fields};
use super::record::external_id_of;
use crate::prelude::*;

/// One line of a queries file.
#[derive(Debug, Deserialize)]
pub struct QueryLine {
    /// Given back with the answer; the number of the line by default.
    pub query_id: Option<String>,
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
    pub fn parse_line(line: &str) -> Result<Self, String> {
        let read: Self = parse_lenient_json(line.as_bytes())?;
        refuse_misspelled_fields(&read.other, &Self::FIELDS)?;
        Ok(read)
    }

    /// The vector handed over with the question, by callers that embed themselves; the error is a
    /// sentence about it.
    pub fn query_embedding(&self) -> Result<Option<Embedding>, String> {
        question_vector(self.embedding_space.as_ref(), self.embedding.as_ref())
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub struct RecallAnswer {
    /// Given back from the question.
    pub query_id: Option<String>,
    /// The receipt: an outcome names it.
    pub recall_id: RecallId,
    /// What the answer had to do without.
    pub degraded: Vec<DegradedPart>,
    /// How long the recall took, in milliseconds.
    pub elapsed_ms: f64,
    /// Not even the best is likely to be relevant.
    pub nothing_relevant: bool,
    /// What may be made of the best.
    #[serde(default)]
    pub verdict: RelevanceVerdict,
    /// Sentences for a reader: how the question or the filter was understood.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Live records that the filter admitted.
    #[serde(default)]
    pub considered: u32,
    /// How the vectors were searched.
    #[serde(default)]
    #[serde(rename = "tier")]
    pub route: SearchRoute,
    /// Best first.
    pub results: Vec<Hit>,
}

/// One remembered record with its scores.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// Its id.
    pub id: RecordId,
    #[serde(flatten)]
    pub about: RecordByline,
    /// Its caller's id.
    #[serialize_always]
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
    /// When this version was made, where it corrects an earlier one.
    pub corrected_at: Option<DateTime<Utc>>,
    /// Free words.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Why it is here, in one line for a reader.
    #[serde(default)]
    pub reason: String,
    /// The further parts of a lesson; absent if it is none.
    pub lesson: Option<LessonCard>,
    /// Whether it would go into a prompt.
    #[serde(default)]
    pub shown: bool,
    /// Where the score comes from.
    pub why: RankExplanation,
    /// Whose knowledge it is: the user's own, or what somebody published.
    pub scope: Option<RecallScope>,
    /// Who published it.
    pub author: Option<UserId>,
    /// Which version of it this is.
    pub version: Option<String>,
    /// How it has served others, 0..1.
    pub quality: Option<f32>,
}

impl From<RetrievedMemory> for Hit {
    fn from(mut found: RetrievedMemory) -> Self {
        let external_id = external_id_of(&found.record);
        let lesson = LessonCard::of(&found.record);
        let about = RecordByline::of(&found.record);
        let (id, timestamp) = (found.record.id, found.record.timestamp);
        let corrected_at = found.record.made_as_correction_at();
        let record = found.record.body;
        let published = found.published.as_ref();
        Self {
            scope: Some(if published.is_some() {
                RecallScope::Global
            } else {
                RecallScope::Local
            }),
            author: published.map(|by| by.author.clone()),
            version: published.map(|by| by.version.clone()),
            quality: published.map(|by| by.quality),
            lesson,
            id,
            about,
            external_id,
            session_id: record.session_id,
            text: record.text,
            score: found.score,
            sona_score: found.sona_score,
            shown: found.shown,
            kind: record.kind,
            source: record.source,
            timestamp,
            corrected_at,
            tags: record.tags,
            reason: reason_line(published, &mut found.why),
            why: found.why,
        }
    }
}

/// The plain line of a hit; of something published it says who did.
fn reason_line(published: Option<&PublicationOrigin>, why: &mut RankExplanation) -> String {
    let reason = std::mem::take(&mut why.reason);
    match (published, reason.as_str()) {
        (None, _) => reason,
        (Some(by), "") => by.describe(),
        (Some(by), _) => format!("{}; {reason}", by.describe()),
    }
}

impl RecallAnswer {
    /// The answer that a recall gives.
    #[must_use]
    pub fn new(query_id: Option<String>, recall: RecallResponse, elapsed_ms: f64) -> Self {
        Self {
            query_id,
            recall_id: recall.recall_id,
            degraded: recall.degraded,
            elapsed_ms,
            nothing_relevant: recall.nothing_relevant,
            verdict: recall.verdict,
            notes: recall.notes,
            considered: recall.considered,
            route: recall.route,
            results: recall.results.into_iter().map(Hit::from).collect(),
        }
    }
}

arguments! {
    /// One line of an outcome file, or the body of an outcome request.
    #[skip_serializing_none]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(transform = schema_rules::require_any_non_blank(&["query", "recall_id"]))]
    pub struct OutcomeLine {
        /// The question's name in a queries file.
        #[schemars(extend("x-rare" = true))]
        pub query_id: Option<String> as LineText,
        /// `recall_id` of the answer that was used.
        pub recall_id: Option<RecallId>,
        /// The task in one line, if there was no recall.
        pub query: Option<String> as LongText,
        /// Ids of the memories that helped or misled.
        #[serde(default)]
        pub used: Vec<String> as RecordKeys,
        /// How the task went, from 0 (failed) to 1 (approved).
        #[schemars(range(min = 0.0, max = 1.0))]
        pub quality: f32,
        /// The run's own name.
        #[schemars(extend("x-rare" = true))]
        #[schemars(length(min = 1))]
        pub run_id: Option<String> as SessionName,
        /// Why it failed: `task` is the work itself, the others are trouble around it.
        pub failure_kind: Option<FailKind>,
        /// Who says that it used them.
        #[schemars(extend("x-rare" = true))]
        pub credit: Option<Credit>,
    }
}

/// What an outcome left, after it was learned from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeReport {
    /// Outcomes accepted.
    pub learned: u64,
    /// Outcomes of runs that had ended already: nothing changed.
    #[serde(default)]
    pub known: u64,
    /// Outcomes refused.
    pub refused: u64,
    /// Finished runs of this memory.
    pub runs: u64,
    /// How far the evidence is believed, 0..1.
    pub evidence_gate: f32,
    /// How far the adapter is believed, 0..1.
    pub adapter_gate: f32,
    /// The most that learning may move a score now.
    pub cap: f32,
}

/// A name for a run that has none. A query may be asked, and go well or badly, any number of times.
pub fn fresh_run_id(query_id: Option<&str>, unix_ms: u64, random: u128) -> String {
    let ulid = Ulid::from_parts(unix_ms, random);
    match query_id {
        Some(id) => format!("query {id} {ulid}"),
        None => format!("run {ulid}"),
    }
}
