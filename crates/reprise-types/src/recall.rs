//! The request and the response of a recall: records, calibrated scores, and the reasons for them.

mod half_answer;

use std::str::FromStr;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calendar::{Calendar, Zone};
use crate::error::MemoryError;
use crate::filter::MemoryFilter;
use crate::id::{RecallId, RecordId};
use crate::limits::TOP_K_DEFAULT;
use crate::record::MemoryRecord;
use crate::spoken::TimeMention;
use crate::user::UserId;

/// A recall request.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallRequest {
    /// The query text, as the user wrote it.
    pub query: String,
    /// Maximum number of results; 0 returns none.
    pub top_k: usize,
    /// Which records may be results.
    pub filter: MemoryFilter,
    /// The instant whose memory is searched: only records known by then (`known_at`), in their
    /// state of then.
    pub as_of: Option<DateTime<Utc>>,
    /// The times that the query names, resolved in the caller's calendar
    /// ([`Self::with_times_from_query`]).
    pub query_times: Vec<TimeMention>,
    /// The caller's time: records that have expired by then are no results.
    pub now: Option<DateTime<Utc>>,
    /// The caller's time zone, in which a part of the query names times.
    pub zone: Option<Zone>,
}

impl RecallRequest {
    /// Builds a request with the default number of results and no filter.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            top_k: TOP_K_DEFAULT,
            filter: MemoryFilter::default(),
            as_of: None,
            query_times: Vec::new(),
            now: None,
            zone: None,
        }
    }

    /// Returns an error for an empty query, which names the operation that lists without one, and
    /// for a limit of 0.
    pub fn validate(&self) -> Result<(), MemoryError> {
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

    /// Adds the times that the query names, resolved in this calendar, and the calendar's time.
    #[must_use]
    pub fn with_times_from_query(self, calendar: &Calendar) -> Self {
        Self {
            query_times: calendar.find_time_mentions(&self.query),
            now: Some(calendar.now),
            zone: Some(calendar.zone),
            ..self
        }
    }

    /// Asks for a part of the query in its place: the times that the rest names, such as those of a
    /// log, are none of it.
    #[must_use]
    pub fn for_part(self, part: &str) -> Self {
        if part == self.query {
            return self;
        }
        let calendar = self.now.zip(self.zone);
        let times = calendar.map(|(now, zone)| Calendar { now, zone }.find_time_mentions(part));
        Self {
            query: part.to_owned(),
            query_times: times.unwrap_or_default(),
            ..self
        }
    }
}

/// The response to one recall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Recall")]
pub struct RecallResponse {
    /// The id of the recall, which an outcome refers to.
    pub recall_id: RecallId,
    /// The results, best first by `sona_score`, ties by newer record; the oldest first if the query
    /// asks for everything of a time. From the sixth on, every other rank goes to the best record
    /// of a session that is not yet among the results.
    pub results: Vec<RetrievedMemory>,
    /// The parts of the recall that were unavailable or late.
    pub degraded: Vec<DegradedPart>,
    /// How the vectors were searched.
    #[serde(rename = "tier")]
    pub route: SearchRoute,
    /// Live records that the filter admitted.
    pub considered: u32,
    /// `verdict` is [`RelevanceVerdict::Nothing`]: treat the answer as "nothing known".
    #[serde(default)]
    pub nothing_relevant: bool,
    /// How relevant the best result is.
    #[serde(default)]
    pub verdict: RelevanceVerdict,
    /// Hints for a reader: how the query or the filter was understood, if that may surprise.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The words of the query that were read as times: only memories of these times were searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_times: Vec<String>,
}

impl RecallResponse {
    /// Beginning of the note that tells how requests like this one were done.
    pub const CHAIN_NOTE: &str = "done like this before: ";

    /// Returns the note that tells how requests like this one were done.
    pub fn chain_note(&self) -> Option<&str> {
        let mut notes = self.notes.iter();
        let note = notes.find(|note| note.starts_with(Self::CHAIN_NOTE));
        note.map(String::as_str)
    }

    /// Returns the runs of the results that are shown, best first; none if no result is relevant.
    pub fn shown_runs(&self) -> Vec<&str> {
        let is_relevant = self.verdict == RelevanceVerdict::Relevant;
        let shown = self.results.iter().filter(|one| is_relevant && one.shown);
        shown
            .filter_map(|one| one.record.provenance.run_id.as_deref())
            .collect()
    }

    /// Builds a response without results.
    pub fn empty(recall_id: RecallId) -> Self {
        Self {
            recall_id,
            results: Vec::new(),
            degraded: Vec::new(),
            route: SearchRoute::None,
            considered: 0,
            nothing_relevant: true,
            verdict: RelevanceVerdict::Nothing,
            notes: Vec::new(),
            only_times: Vec::new(),
        }
    }
}

/// The relevance of a response.
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
#[schemars(rename = "Verdict")]
pub enum RelevanceVerdict {
    /// The memory has nothing about the query.
    Nothing,
    /// There are related records, but none is likely to answer the query.
    Weak,
    /// The best result is likely to answer.
    #[default]
    Relevant,
}

impl RelevanceVerdict {
    /// Score of the best result below which a response is weak.
    pub const WEAK_BELOW: f32 = 0.2;
    /// Score of the best result below which a response counts as nothing.
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

/// One result of a recall: a record with its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetrievedMemory {
    /// The record; its `embedding` is left empty.
    pub record: MemoryRecord,
    /// Relevance before learning, 0..1, higher is better. The seed's raw distance is
    /// `why.raw_distance`.
    pub score: f32,
    /// Relevance after learning, 0..1, higher is better; equals `score` without evidence.
    pub sona_score: f32,
    /// The explanation of the score.
    pub why: RankExplanation,
    /// Whether it would go into a prompt.
    #[serde(default)]
    pub shown: bool,
    /// Who published it, if it comes from the global store; `None` for the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublicationOrigin>,
}

impl RetrievedMemory {
    /// Whether it is shown on a screen: because a prompt would have it, or below those results.
    pub fn is_related(&self) -> bool {
        self.shown || self.why.is_related(self.score)
    }
}

/// Origin of a published result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PublishedBy")]
pub struct PublicationOrigin {
    /// The author.
    pub author: UserId,
    /// The version.
    pub version: String,
    /// Quality by other users' outcomes, 0..1; 0.5 while there are too few.
    pub quality: f32,
}

impl PublicationOrigin {
    /// The author of a record that a repository shares; its version is the file.
    pub const REPOSITORY: &str = "repository";

    /// Returns the origin as words for a person.
    pub fn describe(&self) -> String {
        let Self {
            author, version, ..
        } = self;
        match author.as_str() {
            Self::REPOSITORY => format!("from `{version}` of the repository, not the user's own"),
            _ => format!("published by {author}, version {version}"),
        }
    }
}

/// Which memories a recall searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
pub enum RecallScope {
    /// The user's own memory.
    #[default]
    #[serde(rename = "local")]
    Local,
    /// The user's own memory and what others published.
    #[serde(rename = "local+global")]
    LocalAndGlobal,
    /// What others published.
    #[serde(rename = "global")]
    Global,
}

impl RecallScope {
    /// All scopes.
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
        found
            .ok_or_else(|| format!("unknown scope `{text:.32}`; use local, local+global or global"))
    }
}

/// The reasons for the rank of one result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Why")]
pub struct RankExplanation {
    /// Each signal with its value, weight and contribution; the contributions add up to the logit
    /// whose logistic function is `score`.
    pub signals: Vec<RankSignal>,
    /// Share of its neighbours that are turns of a dialogue with it, 0..1; scales the signals of
    /// neighbours, session and speaker.
    #[serde(default)]
    pub dialogue: f32,
    /// One minus the cosine of query and record, or of query and the prompt that the record answers
    /// if that is nearer, above the point where the model's cosines begin (0
    /// for the built-in one); `None` if either has no vector.
    pub raw_distance: Option<f32>,
    /// Query words that the record has, as the query wrote them.
    pub matched_words: Vec<String>,
    /// Identifiers, names or phrases of the query that the record has literally; it ranks first for
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched_identifiers: Vec<MatchedIdentifier>,
    /// Whether it has everything that the query asks for by name, time or title.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_certain: bool,
    /// What the record lacks of the question: a person whom it does not name, or a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// Whether the question consists of names that no record has: then no record answers it,
    /// whatever its score.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_all: bool,
    /// The part of the prompt that the record answers best, if the prompt has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_part: Option<String>,
    /// The earlier record of the same question that this record followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<RecordId>,
    /// The reasons in one line. It has no words of the record that the query does not have.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Outcomes of the runs that used it; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<OutcomeSummary>,
    /// The runs that caused the difference between `score` and `sona_score`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taught_by: Vec<ContributingRun>,
    /// The learned adjustment; `None` if learning is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning: Option<LearnedAdjustment>,
    /// Older versions that this record replaced, which were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<RecordId>,
    /// The newest record known to contradict this one; among the same results it ranks higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradicted_by: Option<RecordId>,
    /// When the one that contradicts it was said: until then this one held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<DateTime<Utc>>,
    /// The answer that ended the turn in which this record was a step on the way, such as a test
    /// or an edited file: where the answer is shown, the step adds nothing.
    #[serde(skip)]
    pub step_of: Option<RecordId>,
}

impl RankExplanation {
    /// Returns the share of the query's words that the record has, 0..1.
    pub fn word_coverage(&self) -> f32 {
        let coverage = self.signals.iter().find(|part| part.name == "coverage");
        coverage.map_or(0.0, |part| part.value)
    }

    /// Whether a record of this score is about the query. Without vectors most of the query's words
    /// suffice, since the score also falls if other records have the same words.
    pub fn is_related(&self, score: f32) -> bool {
        const MOST_WORDS: f32 = 0.8;
        let by_words = self.raw_distance.is_none() && self.word_coverage() >= MOST_WORDS;
        score >= RelevanceVerdict::NOTHING_BELOW || by_words
    }
}

/// An identifier, name, quoted phrase or time of the query that a record has literally.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedIdentifier {
    /// The text as the query has it.
    pub text: String,
    /// The field of the record that has it: `text`, `id`, `external_id`, `metadata.KEY`,
    /// `source_refs` or `timestamp`.
    pub field: String,
}

/// One ranking signal of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankSignal {
    /// The signal's name, for example `meaning`, `words`, `neighbours` or `session`.
    pub name: String,
    /// The signal's value, in its own unit.
    pub value: f32,
    /// Its weight for this query.
    pub weight: f32,
    /// The product of `value` and `weight`.
    pub contribution: f32,
}

/// An adjustment learned from past runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LearnedMove")]
pub struct LearnedAdjustment {
    /// The sum of both parts, which is added to the score.
    pub adjustment: f32,
    /// The part that comes from outcomes of runs that used the record.
    #[serde(default)]
    pub evidence: f32,
    /// The part that comes from the adapter (LoRA), which judges similar records, used or not.
    #[serde(default)]
    pub adapter: f32,
    /// The largest absolute adjustment that is in force.
    pub cap: f32,
    /// Gate of the evidence learner, 0..1.
    pub evidence_gate: f32,
    /// Gate of the adapter, 0..1.
    pub adapter_gate: f32,
}

impl LearnedAdjustment {
    /// Builds an adjustment of two parts, which are scaled down together if they exceed the cap.
    pub fn from_capped_parts(cap: f32, gates: (f32, f32), evidence: f32, adapter: f32) -> Self {
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
#[schemars(rename = "Worked")]
pub struct OutcomeSummary {
    /// Number of such runs among those that the journal still has.
    pub runs: usize,
    /// Their mean quality, 0..1.
    pub quality: f32,
}

impl OutcomeSummary {
    /// How the name of an outcome begins that is a person's rating of one memory. The learner
    /// learns from it as from any other, and no count or mean of runs includes it.
    pub const RATING_PREFIX: &str = "page ";
}

/// The words for a good, a middling and a bad result.
const RESULT_WORDS: [&str; 3] = ["worked well", "worked in part", "went badly"];

impl OutcomeSummary {
    /// Whether a line of a text is an outcome as [`Self`] formats it.
    pub fn is_formatted_in(line: &str) -> bool {
        let mut rests = RESULT_WORDS.iter().filter_map(|how| line.strip_prefix(how));
        rests.any(|rest| rest.starts_with(" ("))
    }
}

impl std::fmt::Display for OutcomeSummary {
    /// Formats it as in `worked well (.8), twice`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [well, in_part, badly] = RESULT_WORDS;
        let how = match self.quality {
            quality if quality >= 0.6 => well,
            quality if quality > 0.4 => in_part,
            _ => badly,
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

/// One past run that contributed to a learned adjustment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TaughtBy")]
pub struct ContributingRun {
    /// The run's id.
    pub run_id: String,
    /// Cosine of its query with this one.
    pub similarity: f32,
    /// Its quality, 0..1.
    pub quality: f32,
}

impl ContributingRun {
    /// Returns the mean quality of the runs; `None` without any.
    pub fn mean_quality(runs: &[Self]) -> Option<f32> {
        let total: f32 = runs.iter().map(|run| run.quality).sum();
        (!runs.is_empty()).then(|| total / runs.len() as f32)
    }
}

/// A part of a recall that was unavailable or late.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Degraded")]
pub enum DegradedPart {
    /// There is no model, so the query has no vector: only words and time were searched.
    NoQueryVector,
    /// Some admitted records have no vector yet.
    UnembeddedRecords,
    /// The embedder returned nothing within the budget.
    EmbedderLate,
    /// A record could not be read back and was left out.
    DamagedRecords,
    /// The host's query expansion returned nothing in time.
    NotExpanded,
    /// The host's reranker returned nothing usable in time.
    NotReranked,
    /// The global store returned nothing in time.
    NoGlobal,
    /// A very large part of the global store has no index of its vectors, and they were not
    /// compared.
    NoVectorIndex,
}

impl DegradedPart {
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
            Self::NoVectorIndex => "no_vector_index",
        }
    }

    /// Returns the message for a person.
    pub fn message(self) -> &'static str {
        match self {
            Self::NoQueryVector => {
                "answered by words and time, without an embedding model; `reprise doctor models pull` \
                 installs one"
            }
            Self::UnembeddedRecords => {
                "some memories have no embedding yet and were found by words and time only"
            }
            Self::EmbedderLate => "the embedder was late: answered by words and time",
            Self::DamagedRecords => {
                "damaged memories were left out; run `reprise doctor check` for the report"
            }
            Self::NotExpanded => "no other wordings came in time: searched by the query alone",
            Self::NotReranked => "not every first result had its second judgement in time",
            Self::NoVectorIndex => {
                "the index of published memories is being built: they were found by words only"
            }
            Self::NoGlobal => {
                "nothing came from the server in time: only your own memories answered"
            }
        }
    }
}

/// How the vectors were searched. In JSON the routes by cells and graphs are called layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SearchTier")]
pub enum SearchRoute {
    /// No vectors took part.
    #[default]
    None,
    /// All quantised vectors were scanned: exact in practice.
    Scan,
    /// Only the lists of the nearest centroids were scanned, as the first recalls of a large memory
    /// after opening do, while the rest is still in the file.
    #[serde(rename = "layer_a")]
    Cells,
    /// A graph over the newest records was searched and the others were scanned.
    #[serde(rename = "layer_b")]
    NewestGraph,
    /// A graph over all records was searched.
    #[serde(rename = "layer_c")]
    Graph,
}
