//! The request and the answer of a recall: records, calibrated scores, and the reasons for them.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calendar::Calendar;
use crate::error::MemoryError;
use crate::filter::MemoryFilter;
use crate::id::{RecallId, RecordId};
use crate::limits::TOP_K_DEFAULT;
use crate::record::MemoryRecord;
use crate::spoken::Spoken;
use crate::user::UserId;

/// A recall request.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallRequest {
    /// The query text, as the user wrote it.
    pub query: String,
    /// Maximum number of results; 0 returns none.
    pub top_k: usize,
    /// Which records may answer.
    pub filter: MemoryFilter,
    /// Answer as of this instant: only records known by then (`known_at`), in their state of then.
    pub as_of: Option<DateTime<Utc>>,
    /// The times that the query names, resolved in the caller's calendar ([`Self::heard`]).
    pub when: Vec<Spoken>,
    /// The caller's time: what is over by then does not answer.
    pub now: Option<DateTime<Utc>>,
}

impl RecallRequest {
    /// A request with the default number of results and no filter.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            top_k: TOP_K_DEFAULT,
            filter: MemoryFilter::default(),
            as_of: None,
            when: Vec::new(),
            now: None,
        }
    }

    /// Refuses an empty query, and names the operation that lists without one; and a question that
    /// nothing may answer.
    pub fn check(&self) -> Result<(), MemoryError> {
        if self.query.trim().is_empty() {
            return Err(MemoryError::Invalid {
                message: "the question is empty; `reprise list` looks through memory without one"
                    .to_owned(),
            });
        }
        if self.top_k == 0 {
            return Err(MemoryError::Invalid {
                message: "`limit` is 0; ask for 1 result or more".to_owned(),
            });
        }
        Ok(())
    }

    /// The same request with the times that the query names, resolved in this calendar.
    #[must_use]
    pub fn heard(self, calendar: &Calendar) -> Self {
        Self {
            when: calendar.spoken(&self.query),
            now: Some(calendar.now),
            ..self
        }
    }
}

/// The answer to one recall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recall {
    /// The receipt, which an outcome refers to.
    pub recall_id: RecallId,
    /// Best first, by `sona_score`, ties by newer record; the oldest first where all of a time is
    /// asked for. From the sixth on, every other rank goes
    /// to the best record of a session not yet among the results.
    pub results: Vec<RetrievedMemory>,
    /// What was left out of this answer, if anything.
    pub degraded: Vec<Degraded>,
    /// How the vectors were searched.
    pub tier: SearchTier,
    /// Live records that the filter admitted.
    pub considered: u32,
    /// `verdict` is [`Verdict::Nothing`]: treat the answer as "nothing known".
    #[serde(default)]
    pub nothing_relevant: bool,
    /// How relevant the best result is.
    #[serde(default)]
    pub verdict: Verdict,
    /// Hints for a reader: how the query or the filter was understood, where that may surprise.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Recall {
    /// An empty answer.
    pub fn nothing(recall_id: RecallId) -> Self {
        Self {
            recall_id,
            results: Vec::new(),
            degraded: Vec::new(),
            tier: SearchTier::None,
            considered: 0,
            nothing_relevant: true,
            verdict: Verdict::Nothing,
            notes: Vec::new(),
        }
    }
}

/// The relevance of an answer.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The memory holds nothing about the query.
    Nothing,
    /// There are related records, but none is likely to answer the query.
    Weak,
    /// The best result is likely to answer.
    #[default]
    Relevant,
}

impl Verdict {
    /// Score of the best result below which an answer is weak.
    pub const WEAK_BELOW: f32 = 0.2;
    /// Score of the best result below which an answer counts as nothing.
    pub const NOTHING_BELOW: f32 = 0.05;

    /// The wire name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Weak => "weak",
            Self::Relevant => "relevant",
        }
    }
}

/// One remembered record with its scores (M30).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetrievedMemory {
    /// The record; its `embedding` is left empty.
    pub record: MemoryRecord,
    /// Relevance before learning, 0..1, higher is better. The seed's raw distance is
    /// `why.raw_distance` (C14).
    pub score: f32,
    /// Relevance after learning, 0..1, higher is better; equals `score` without evidence.
    pub sona_score: f32,
    /// Where the score comes from.
    pub why: Why,
    /// Whether it would go into a prompt.
    #[serde(default)]
    pub shown: bool,
    /// Who published it, where it comes from the global store; `None` for the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedBy>,
}

impl RetrievedMemory {
    /// Whether it is shown on a screen at least: in a prompt, or below what is there.
    pub fn is_related(&self) -> bool {
        self.shown || self.why.is_related(self.score)
    }
}

/// Origin of a published result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedBy {
    /// The author.
    pub author: UserId,
    /// The version.
    pub version: String,
    /// Quality by other users' outcomes, 0..1; 0.5 while there are too few.
    pub quality: f32,
}

impl PublishedBy {
    /// The author of what a repository shares; its version is the file.
    pub const REPOSITORY: &str = "repository";

    /// In words.
    pub fn words(&self) -> String {
        let Self {
            author, version, ..
        } = self;
        match author.as_str() {
            Self::REPOSITORY => format!("from `{version}` of the repository, not the user's own"),
            _ => format!("published by {author}, version {version}"),
        }
    }
}

/// Where a recall searches (C19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
pub enum RecallScope {
    /// The user's own memory.
    #[default]
    #[serde(rename = "local")]
    Local,
    /// Both.
    #[serde(rename = "local+global")]
    LocalAndGlobal,
    /// What others published.
    #[serde(rename = "global")]
    Global,
}

impl RecallScope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Local, Self::LocalAndGlobal, Self::Global];

    /// The wire name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::LocalAndGlobal => "local+global",
            Self::Global => "global",
        }
    }
}

impl FromStr for RecallScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| format!("`{text:.32}` is no scope; use local, local+global or global"))
    }
}

/// The reasons for one result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Each signal with its value, weight and contribution; the contributions add up to the logit
    /// whose logistic function is `score`.
    pub signals: Vec<RankSignal>,
    /// Share of its neighbours that are turns of a dialogue with it, 0..1; scales the signals of
    /// neighbours, session and speaker.
    #[serde(default)]
    pub dialogue: f32,
    /// One minus the cosine of query and record above where the model's cosines begin (0 for the
    /// built-in one); `None` where either has no vector.
    pub raw_distance: Option<f32>,
    /// Query words that the record holds, as the query wrote them.
    pub matched_words: Vec<String>,
    /// Identifiers, names or phrases of the query that the record has literally; it ranks first for
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched_identifiers: Vec<MatchedIdentifier>,
    /// It has all that the query asks for by name, time or title.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_certain: bool,
    /// What of the question it says nothing of: whom it does not name, or that it tells no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// The question is nothing but names that no record has: this is no answer, whatever its score.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_all: bool,
    /// The question that it followed when the same was asked before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<RecordId>,
    /// The reasons in one line. Contains no words of the record that the query does not have.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Outcomes of the runs that used it; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<Worked>,
    /// Runs behind the difference between `score` and `sona_score`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taught_by: Vec<TaughtBy>,
    /// The learned adjustment; `None` where learning is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning: Option<LearnedMove>,
    /// Older versions replaced by this record, which were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<RecordId>,
    /// The newest of the results that tending found to contradict this one; it ranks higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted_by: Option<RecordId>,
}

impl Why {
    /// Share of the query's words that the record holds, 0..1.
    pub fn share_of_words(&self) -> f32 {
        let coverage = self.signals.iter().find(|part| part.name == "coverage");
        coverage.map_or(0.0, |part| part.value)
    }

    /// Whether a record of this score is about the query: without vectors, where its words are, for
    /// what says the same counts as a rival there.
    pub fn is_related(&self, score: f32) -> bool {
        const MOST_WORDS: f32 = 0.8;
        let by_words = self.raw_distance.is_none() && self.share_of_words() >= MOST_WORDS;
        score >= Verdict::NOTHING_BELOW || by_words
    }
}

/// An identifier, name, quoted phrase or time of the query that a record has literally.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedIdentifier {
    /// As written in the query.
    pub text: String,
    /// Where the record has it: `text`, `id`, `external_id`, `metadata.KEY`, `source_refs` or
    /// `timestamp`.
    pub field: String,
}

/// One ranking signal of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankSignal {
    /// For example `meaning`, `words`, `neighbours`, `session`.
    pub name: String,
    /// The signal's value, in its own unit.
    pub value: f32,
    /// Its weight for this query.
    pub weight: f32,
    /// `value` times `weight`.
    pub contribution: f32,
}

/// An adjustment learned from past runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LearnedMove {
    /// Added to the score: both parts.
    pub adjustment: f32,
    /// The part by outcomes of runs that used the record.
    #[serde(default)]
    pub evidence: f32,
    /// The part by the adapter (LoRA): by what is like the record, used or not.
    #[serde(default)]
    pub adapter: f32,
    /// The largest absolute adjustment in force.
    pub cap: f32,
    /// Gate of the evidence learner, 0..1.
    pub evidence_gate: f32,
    /// Gate of the adapter, 0..1.
    pub adapter_gate: f32,
}

impl LearnedMove {
    /// The parts, scaled down together where they exceed the cap.
    pub fn within(cap: f32, gates: (f32, f32), evidence: f32, adapter: f32) -> Self {
        let sum = evidence + adapter;
        let share = if sum.abs() > cap {
            cap / sum.abs()
        } else {
            1.0
        };
        Self {
            adjustment: (sum * share).clamp(-cap, cap),
            evidence: evidence * share,
            adapter: adapter * share,
            cap,
            evidence_gate: gates.0,
            adapter_gate: gates.1,
        }
    }
}

/// Outcomes of the runs that used a record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worked {
    /// Number of such runs among those held.
    pub runs: usize,
    /// Their mean quality, 0..1.
    pub quality: f32,
}

impl std::fmt::Display for Worked {
    /// `worked well (.8), twice`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = match self.quality {
            quality if quality >= 0.6 => "worked well",
            quality if quality > 0.4 => "worked in part",
            _ => "went badly",
        };
        let quality = format!("{:.1}", self.quality);
        write!(f, "{how} ({}), ", quality.trim_start_matches('0'))?;
        match self.runs {
            1 => f.write_str("once"),
            2 => f.write_str("twice"),
            runs => write!(f, "{runs} times"),
        }
    }
}

/// One past run behind a learned adjustment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaughtBy {
    /// The run's id.
    pub run_id: String,
    /// Cosine of its query with this one.
    pub similarity: f32,
    /// Its quality, 0..1.
    pub quality: f32,
}

impl TaughtBy {
    /// The mean quality of the runs; `None` without any.
    pub fn mean_quality(runs: &[Self]) -> Option<f32> {
        let total: f32 = runs.iter().map(|run| run.quality).sum();
        (!runs.is_empty()).then(|| total / runs.len() as f32)
    }
}

/// A part that was unavailable or late.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Degraded {
    /// No model: the query has no vector; the answer is by words and time.
    NoQueryVector,
    /// Some admitted records have no vector yet.
    UnembeddedRecords,
    /// The embedder did not answer within the budget.
    EmbedderLate,
    /// A record could not be read back and was left out.
    DamagedRecords,
    /// The host's query expansion gave nothing in time.
    NotExpanded,
    /// The host's reranker gave nothing usable in time.
    NotReranked,
    /// The global store gave nothing in time.
    NoGlobal,
}

impl Degraded {
    /// The wire name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoQueryVector => "no_query_vector",
            Self::UnembeddedRecords => "unembedded_records",
            Self::EmbedderLate => "embedder_late",
            Self::DamagedRecords => "damaged_records",
            Self::NotExpanded => "not_expanded",
            Self::NotReranked => "not_reranked",
            Self::NoGlobal => "no_global",
        }
    }

    /// The message for a person.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoQueryVector => {
                "no embedding model: answered by words and time; run `reprise models pull`"
            }
            Self::UnembeddedRecords => {
                "some records have no vector yet: they were found by words and time only"
            }
            Self::EmbedderLate => "the embedder was late: answered by words and time",
            Self::DamagedRecords => {
                "damaged records were left out; run `reprise check` for the report"
            }
            Self::NotExpanded => "no other wordings came in time: asked as it stands",
            Self::NotReranked => "no second judgement came in time: ranked without one",
            Self::NoGlobal => {
                "nothing came from the global store in time: your own memory alone answered"
            }
        }
    }
}

/// Which structure answered the vector part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchTier {
    /// No vectors took part.
    #[default]
    None,
    /// All quantised vectors were scanned: exact in practice.
    Scan,
    /// The first answers of a large memory after opening: the lists of the nearest centroids, with
    /// the rest still in the file.
    LayerA,
    /// A graph over the newest records and a scan of the others.
    LayerB,
    /// A graph over all records.
    LayerC,
}
