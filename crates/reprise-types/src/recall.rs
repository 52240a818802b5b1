//! What a recall asks and what it answers: records, calibrated scores, and the reasons for them.

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

/// A question to memory.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallRequest {
    /// The new input, in the user's words.
    pub query: String,
    /// Most results wanted; 0 asks for none and gets none.
    pub top_k: usize,
    /// Which records may answer.
    pub filter: MemoryFilter,
    /// Answer as a store that had stopped at this instant (by `known_at`) would have.
    pub as_of: Option<DateTime<Utc>>,
    /// The time that the question names, read by the asker's calendar ([`Self::heard`]).
    pub when: Option<Spoken>,
}

impl RecallRequest {
    /// A question with the default number of results and no filter.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            top_k: TOP_K_DEFAULT,
            filter: MemoryFilter::default(),
            as_of: None,
            when: None,
        }
    }

    /// Refuses a question that asks nothing, with the way to look without one.
    pub fn check(&self) -> Result<(), MemoryError> {
        if self.query.trim().is_empty() {
            return Err(MemoryError::Invalid {
                message: "the question is empty; `reprise list` looks through memory without one"
                    .to_owned(),
            });
        }
        Ok(())
    }

    /// The same with the time that the question names, as this calendar has it.
    #[must_use]
    pub fn heard(self, calendar: &Calendar) -> Self {
        let when = calendar.spoken(&self.query);
        Self { when, ..self }
    }
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recall {
    /// The receipt: an outcome names it.
    pub recall_id: RecallId,
    /// Best first, by `sona_score`, ties by newer record. From the sixth on, every other place goes
    /// to the best record of a session that none before it is from.
    pub results: Vec<RetrievedMemory>,
    /// What was left out of this answer, if anything.
    pub degraded: Vec<Degraded>,
    /// How the vectors were searched.
    pub tier: SearchTier,
    /// Live records that the filter admitted.
    pub considered: u32,
    /// `verdict` is [`Verdict::Nothing`]: take the answer for "nothing known".
    #[serde(default)]
    pub nothing_relevant: bool,
    /// What may be made of the best result.
    #[serde(default)]
    pub verdict: Verdict,
    /// Sentences for a reader: how the question or the filter was understood where that may
    /// surprise.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Recall {
    /// The answer of a memory that has nothing.
    #[must_use]
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

/// What may be made of an answer, read off the score of its best result.
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
    /// The memory holds nothing about this.
    Nothing,
    /// About this, but none of it is likely to be what was asked for.
    Weak,
    /// The best result is likely to answer.
    #[default]
    Relevant,
}

impl Verdict {
    /// The best result may answer from this score on; below it the answer is weak.
    pub const WEAK_BELOW: f32 = 0.2;
    /// Below this score of the best result the memory holds nothing about the question.
    pub const NOTHING_BELOW: f32 = 0.05;

    /// Of an answer whose best result has this score; `None` for an empty answer.
    #[must_use]
    pub fn of(best: Option<f32>) -> Self {
        match best {
            Some(score) if score >= Self::WEAK_BELOW => Self::Relevant,
            Some(score) if score >= Self::NOTHING_BELOW => Self::Weak,
            _ => Self::Nothing,
        }
    }

    /// The wire name.
    #[must_use]
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
    /// Who published it, where it comes from the global store; `None` for the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedBy>,
}

/// What a reader must know of a result that somebody else published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedBy {
    /// Its author.
    pub author: UserId,
    /// Its version.
    pub version: String,
    /// How it has served others, 0..1; 0.5 while too few have said.
    pub quality: f32,
}

/// Whose knowledge a question is put to (C19).
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
    #[must_use]
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
    /// Share of its neighbours with whom it is in a dialogue, 0..1: as far as that, neighbours,
    /// session and voice count among the signals.
    #[serde(default)]
    pub dialogue: f32,
    /// One minus the cosine of query and record, 0..2; `None` where either has no vector.
    pub raw_distance: Option<f32>,
    /// Words of the query that the record holds, as the query wrote them.
    pub matched_words: Vec<String>,
    /// What the question names letter by letter and the record has: it came first for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched_identifiers: Vec<MatchedIdentifier>,
    /// The reasons for a reader, in one line. It holds no words of a record but those that the
    /// question has too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How the runs went that used it; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<Worked>,
    /// Runs that taught the difference between `score` and `sona_score`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taught_by: Vec<TaughtBy>,
    /// What moved `score` to `sona_score`; `None` where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning: Option<LearnedMove>,
    /// Older versions that this record replaced and that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<RecordId>,
}

/// An identifier, a name, a phrase in quotes or a time of the question that a record has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedIdentifier {
    /// As the question writes it.
    pub text: String,
    /// Where the record has it: `text`, `id`, `external_id`, `metadata.KEY`, `source_refs` or
    /// `timestamp`.
    pub field: String,
}

/// One named part of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankSignal {
    /// For example `meaning`, `words`, `neighbours`, `session`.
    pub name: String,
    /// The signal itself, in its own unit.
    pub value: f32,
    /// What the fusion gave it for this query.
    pub weight: f32,
    /// `value` times `weight`.
    pub contribution: f32,
}

/// An adjustment by what past runs taught.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LearnedMove {
    /// What was added to the score.
    pub adjustment: f32,
    /// The most that may be added or taken now.
    pub cap: f32,
    /// How far the runs that used this record are believed, 0..1.
    pub evidence_gate: f32,
    /// How far what they have in common is believed, 0..1.
    pub adapter_gate: f32,
}

/// How the runs went that used a record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worked {
    /// How many did, of those that are held.
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
    /// The run.
    pub run_id: String,
    /// Cosine of its query and this one.
    pub similarity: f32,
    /// How it went, 0..1.
    pub quality: f32,
}

impl TaughtBy {
    /// How the runs went on average; `None` without any.
    #[must_use]
    pub fn mean_quality(runs: &[Self]) -> Option<f32> {
        let total: f32 = runs.iter().map(|run| run.quality).sum();
        (!runs.is_empty()).then(|| total / runs.len() as f32)
    }
}

/// A part that an answer had to do without.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Degraded {
    /// No model: the query has no vector, words and time answered.
    NoQueryVector,
    /// Some admitted records have no vector yet.
    UnembeddedRecords,
    /// The embedder did not answer within the budget.
    EmbedderLate,
    /// A record could not be read back and was left out.
    DamagedRecords,
    /// The host's query expansion gave nothing in time.
    NotExpanded,
    /// The host's second judge gave nothing usable in time.
    NotReranked,
    /// The global store gave nothing in time.
    NoGlobal,
}

impl Degraded {
    /// The wire name.
    #[must_use]
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

    /// The sentence a person reads.
    #[must_use]
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
                "the global store gave no answer in time: your own memory alone answered"
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
    /// Every code was scanned: exact in practice.
    Scan,
    /// The same, with most codes still in the file: the first answers after an open.
    LayerA,
    /// A graph over the newest records, and a scan of the others.
    LayerB,
    /// A graph over all records.
    LayerC,
}
