//! Observations: recorded, and found by mode.

pub mod compact;

use reprise_global::ListPage;
use reprise_knowledge::{
    Observation, ObservationQuery, ObservationType, Observations, build_frame, count_frame_tokens,
};

use super::get_live_record_id;
use crate::prelude::*;

/// The relation of an observation to those that it belongs with.
const RELATION: &str = "related_to";

/// What was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// The record that holds it.
    pub id: RecordId,
    /// Type times confidence, cut to a whole number.
    pub importance: u8,
    /// Those of `related_ids` that are here, and are linked with it now.
    pub linked: Vec<RecordId>,
    /// How many bytes its content had, of which the first 64 KiB are kept; absent where all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated_from_bytes: Option<usize>,
    /// It in the original's dictionary.
    pub observation: Value,
}

operation! {
    Spec::for_adding(
        "record",
        "ralph: keep an observation of one of seven types.",
    );
    /// An observation.
    #[derive(Default)]
    Record(memory, given: RecordArguments {
        /// What was observed.
        #[schemars(regex(pattern = r"\S"))]
        pub content: String as LongText,
        /// One of error, decision, learning, preference, success, summary and context.
        #[serde(rename = "type")]
        #[schemars(transform = schema_rules::restrict_to_words(ObservationType::ALL.iter().map(|kind| kind.name())))]
        pub kind | "observation_type": String as FixedWord,
        /// Where it comes from.
        pub source: Option<String> as LineText,
        /// 0..1; 1 by default.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub confidence: Option<f64>,
        /// The observations that it belongs with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub related_ids: Vec<String> as LineText,
        /// Free words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tags: Vec<String> as NameText,
        /// Whatever else is to be kept.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        pub metadata: Map<String, Value> as FreeObject,
        /// The session that it belongs to.
        pub session | "session_id": Option<String> as SessionName,
    }) -> Recorded {
        let kind = parse_observation_type(&given.kind)?;
        let confidence = given.confidence.unwrap_or(1.0);
        let observation = Observation {
            content: given.content,
            observation_type: kind,
            source: given.source,
            confidence,
            related_ids: given.related_ids,
            tags: given.tags,
            metadata: given.metadata,
        };
        let record = observation.to_record(&given.session.unwrap_or_default());
        let (id, truncated_from_bytes) = match memory.store_one(record).await? {
            RecordFate::Inserted {
                id,
                truncated_from_bytes,
            } => (id, truncated_from_bytes),
            RecordFate::Duplicate { of, .. } => (of, None),
            RecordFate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        let (named, now) = (observation.related_ids.clone(), memory.now());
        let link = move |engine: &mut Engine| -> Result<Vec<RecordId>, Problem> {
            let snapshot = engine.snapshot();
            let found = named.iter();
            let found = found.filter_map(|name| get_live_record_id(&snapshot, name).ok());
            let found: Vec<RecordId> = found.filter(|other| *other != id).collect();
            let links = found.iter().map(|other| (id, *other, RELATION.to_owned()));
            engine.link_all(&links.collect::<Vec<_>>(), now)?;
            Ok(found)
        };
        let linked = if observation.related_ids.is_empty() {
            Vec::new()
        } else {
            memory.run_on_engine(link).await??
        };
        Ok(Recorded {
            id,
            importance: observation.importance(),
            linked,
            truncated_from_bytes,
            observation: json!(observation.to_dict()),
        })
    }
}

/// The type of a word.
fn parse_observation_type(word: &str) -> Result<ObservationType, Problem> {
    word.parse().map_err(Problem::invalid)
}

/// What meaning and words count in a hybrid question: the original's weights.
const WEIGHTS: (f64, f64) = (0.7, 0.3);

/// How a question is understood. Each observation that the other arguments admit is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By its words: what has most of them first.
    Keyword,
    /// By meaning: what its vector is nearest to first.
    Semantic,
    /// By both, weighed.
    #[default]
    Hybrid,
}

/// The observations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// Each as a frame.
    pub observations: Vec<Value>,
    /// The question.
    pub query: String,
    /// The time that was asked about.
    pub point_in_time: Option<DateTime<Utc>>,
    /// How the question was understood.
    pub mode: Mode,
    /// How many there are, those that are not in the answer included.
    pub total_count: usize,
    /// More was found than the tokens hold.
    pub truncated: bool,
    /// Tokens of the answer, four characters each.
    pub token_count: usize,
    /// How long it took, in milliseconds.
    pub query_time_ms: f64,
    /// `reprise`, or `degraded` where words alone answered for some of it: no model could be
    /// asked, or some are not embedded yet.
    pub backend: String,
    /// Observations of this memory by type.
    pub by_type: BTreeMap<String, usize>,
}

operation! {
    Spec::for_reading(
        "observations",
        "ralph: observations by type, importance, time, tags and words.",
    );
    /// Which observations; every part that is given must hold.
    #[derive(Default)]
    ObservationsOf(memory, asked: ObservationsArguments {
        /// Only these types.
        #[serde(
            rename = "type",
            default,
            skip_serializing_if = "Vec::is_empty"
        )]
        #[schemars(transform = schema_rules::restrict_items_to_words(ObservationType::ALL.iter().map(|kind| kind.name())))]
        pub kinds | "types": Vec<String> as FixedWord,
        /// A question; `*` or none takes all, the newest first.
        pub query: Option<String> as LongText,
        /// How the question is understood; `hybrid` by default.
        #[serde(default)]
        pub mode: Mode,
        /// What meaning counts in `hybrid`; 0.7 by default.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub semantic_weight: Option<f64>,
        /// What words count there; 0.3 by default.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub keyword_weight: Option<f64>,
        /// From this time on.
        pub since | "start_date": Option<String> as TimeText,
        /// Up to this time; a day belongs to it whole.
        pub until | "end_date": Option<String> as TimeText,
        /// What was known at this time, which belongs to it.
        pub known_at | "point_in_time": Option<String> as TimeText,
        /// What belongs with this one, whichever of the two says so.
        pub related_to: Option<String> as RecordKey,
        /// Type times confidence is at least this, 0..10.
        pub min_importance: Option<usize> as ItemCount,
        /// Only this session.
        pub session | "session_id": Option<String> as StoredSession,
        /// Only what has one of these tags.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tags: Vec<String> as NameText,
        /// Only what has all of them.
        pub match_all_tags: bool,
        /// Maximum number of observations [default: 50; at most 1000].
        #[schemars(range(max = 1_000))]
        pub limit: Option<usize> as LimitCount,
        /// How many to pass over: those of the pages before.
        pub offset: Option<usize> as ItemCount,
        /// Most tokens of them together.
        pub max_tokens: Option<usize> as ItemCount,
    }) -> Observed {
        let began = Instant::now();
        let asked = ObservationSelection::from_arguments(memory, asked)?;
        let question = asked.question_text();
        let vector = match (&question, asked.given.mode) {
            (Some(text), Mode::Semantic | Mode::Hybrid) => memory.query_vector(text).await,
            _ => None,
        };
        let related = match &asked.given.related_to {
            Some(name) => Some(memory.get_record(name).await?),
            None => None,
        };
        let mut observed = if memory.exists() {
            let read = move |memory: &Snapshot| asked.find_observations(memory, vector.as_ref(), related);
            memory.run_on_snapshot(read).await?
        } else {
            asked.build_answer(Vec::new(), BTreeMap::new(), false)
        };
        observed.query_time_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(observed)
    }
}

/// The types that an observation's record can have: prompts, answers and commands of sessions,
/// which are most of a memory, are not read.
fn observation_types() -> MemoryFilter {
    MemoryFilter {
        types: Some(vec![RecordType::Note, RecordType::Decision]),
        ..MemoryFilter::default()
    }
}

/// How near a record is to a question in meaning; `None` where that cannot be said.
type Nearness<'a> = dyn Fn(&MemoryRecord) -> Option<f64> + 'a;

/// What is asked for, read.
struct ObservationSelection {
    given: ObservationsArguments,
    kinds: Vec<ObservationType>,
    since: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
    known_at: Option<DateTime<Utc>>,
    tags: Vec<String>,
    page: ListPage,
}

impl ObservationSelection {
    fn from_arguments(memory: &Memory, given: ObservationsArguments) -> Result<Self, Problem> {
        let kinds = given.kinds.iter().map(|word| parse_observation_type(word));
        let kinds = kinds.collect::<Result<_, _>>()?;
        let calendar = memory.calendar();
        let at = |text: &Option<String>, read| {
            parse_time(&calendar, text.as_deref(), read).map_err(Problem::invalid)
        };
        Ok(Self {
            kinds,
            since: at(&given.since, Calendar::parse_since)?,
            until: at(&given.until, Calendar::parse_until)?,
            known_at: at(&given.known_at, Calendar::parse_until)?,
            tags: normalize_tags(&given.tags),
            page: list_page(given.offset, given.limit),
            given,
        })
    }

    fn question_text(&self) -> Option<String> {
        let text = self.given.query.as_deref().map(str::trim);
        text.filter(|text| !text.is_empty() && *text != "*")
            .map(str::to_owned)
    }

    fn find_observations(
        &self,
        memory: &Snapshot,
        vector: Option<&Embedding>,
        related: Option<MemoryRecord>,
    ) -> Observed {
        let store = match self.known_at {
            Some(at) => Observations::select_known_at(
                memory.records_unreplaced_at(at).filter_map(Result::ok),
                at,
            ),
            None => Observations::select_from(memory.list_matching_records(&observation_types())),
        };
        let counts = store.count_by_type().into_iter();
        let counts = counts
            .map(|(kind, count)| (kind.to_owned(), count))
            .collect();
        let query = ObservationQuery {
            types: &self.kinds,
            since: self.since,
            until: self.until,
            min_importance: self.given.min_importance.unwrap_or_default().min(10) as u8,
            session: self.given.session.as_deref(),
            tags: &self.tags,
            match_all_tags: self.given.match_all_tags,
        };
        let mut found: Vec<&MemoryRecord> = store.find_matching(query).collect();
        if let Some(to) = related {
            let linked: Vec<RecordId> =
                memory.links(to.id).iter().map(|link| link.record).collect();
            let belongs: BTreeSet<RecordId> = store
                .find_related(&to, &linked)
                .iter()
                .map(|record| record.id)
                .collect();
            found.retain(|record| belongs.contains(&record.id));
        }
        let near = vector.map(|vector| |record: &MemoryRecord| memory.cosine_to(record.id, vector));
        let near = near.as_ref().map(|near| near as &Nearness<'_>);
        let is_degraded = self.rank_by_question(&mut found, near);
        self.build_answer(found, counts, is_degraded)
    }

    /// Leaves what answers the question at all, the best first and the newest of those alike;
    /// whether words had to answer for meaning.
    /// `near` tells how near a record is in meaning, where that can be asked.
    fn rank_by_question(
        &self,
        found: &mut Vec<&MemoryRecord>,
        near: Option<&Nearness<'_>>,
    ) -> bool {
        let Some(question) = self.question_text() else {
            return false;
        };
        let own = (self.given.semantic_weight, self.given.keyword_weight);
        let (meaning, words) = match self.given.mode {
            Mode::Keyword => (0.0, 1.0),
            _ if near.is_none() => (0.0, 1.0),
            Mode::Semantic => (1.0, 0.0),
            Mode::Hybrid => (own.0.unwrap_or(WEIGHTS.0), own.1.unwrap_or(WEIGHTS.1)),
        };
        let asked = split_words(&question);
        let mut is_degraded = self.given.mode != Mode::Keyword && near.is_none();
        let mut scored: Vec<(f64, &MemoryRecord)> = Vec::with_capacity(found.len());
        for record in found.drain(..) {
            let likeness = near.map(|near| near(record));
            is_degraded |= likeness == Some(None);
            let likeness = likeness.flatten().unwrap_or_default().max(0.0);
            let score = meaning * likeness + words * share_of_words_in(&asked, &record.text);
            if score > 0.0 {
                scored.push((score, record));
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.extend(scored.into_iter().map(|(_, record)| record));
        is_degraded
    }

    fn build_answer(
        &self,
        found: Vec<&MemoryRecord>,
        by_type: BTreeMap<String, usize>,
        is_degraded: bool,
    ) -> Observed {
        let total_count = found.len();
        let (found, _) = cut_page(self.page, found);
        let (mut observations, mut token_count, mut truncated) = (Vec::new(), 0, false);
        for record in found {
            let tokens = count_frame_tokens(&record.text);
            let most = self.given.max_tokens.unwrap_or(usize::MAX);
            if token_count + tokens > most {
                truncated = true;
                break;
            }
            token_count += tokens;
            observations.push(build_frame(record));
        }
        let backend = if is_degraded { "degraded" } else { "reprise" };
        Observed {
            observations,
            query: self.question_text().unwrap_or_else(|| "*".to_owned()),
            point_in_time: self.known_at,
            mode: self.given.mode,
            total_count,
            truncated,
            token_count,
            query_time_ms: 0.0,
            backend: backend.to_owned(),
            by_type,
        }
    }
}

/// The words of a question, each once.
fn split_words(question: &str) -> BTreeSet<String> {
    let bare = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let words = question.split_whitespace().map(bare);
    words.filter(|word| !word.is_empty()).collect()
}

/// How many of the words a text has, of all of them.
fn share_of_words_in(words: &BTreeSet<String>, text: &str) -> f64 {
    let text = text.to_lowercase();
    let held = words.iter().filter(|word| text.contains(word.as_str()));
    held.count() as f64 / words.len().max(1) as f64
}

#[cfg(test)]
mod tests;
