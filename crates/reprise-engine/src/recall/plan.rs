//! Plans a recall: what is asked, of which records, and with which vectors.

use chrono::{DateTime, Utc};
use reprise_index::{IndexView, OtherModelVectors, Query, QueryCodes, QueryTerm};
use reprise_rank::{
    QuestionTimes, QuestionTraits, RequiredContent, asks_for_fact, find_asked_type,
    is_mostly_unknown, question_subject, type_term,
};
use reprise_types::limits::TOP_K_MAX;
use reprise_types::{
    DegradedPart, EmbeddingSpace, LearningEngine, MemoryFilter, MemorySource, RecallRequest,
    RecordType, check_unit_vector, dot, normalize,
};

use super::times::{read_times, restrict_view};
use crate::snapshot::Snapshot;

/// Extra results for repeated texts.
const REPEATS: usize = 8;
/// Step by which the adapter moves the question that is searched with, relative to its length, when
/// its gate is fully open.
const QUERY_STEP: f32 = 0.5;
/// Fewest ranked records that learning reorders: it may raise one that would just be left out.
const LEARNED_AMONG: usize = 50;

/// A question prepared for the search.
#[derive(Debug)]
pub(super) struct RecallPlan<'a> {
    /// The subject's words as the index spells them.
    pub(super) query: Query,
    pub(super) traits: QuestionTraits,
    /// Whether it asks for a fact, and not what came of something.
    pub(super) asks_for_fact: bool,
    /// The records of the type that is plainly asked for, ascending.
    pub(super) of_type: Vec<u32>,
    pub(super) required: RequiredContent,
    /// The records that may answer.
    pub(super) view: IndexView,
    /// The times that the question names.
    pub(super) when: QuestionTimes,
    /// The instant by which expired records do not answer.
    pub(super) now: Option<DateTime<Utc>>,
    /// The query's vector, if it can be compared with this store's.
    pub(super) vector: Option<&'a [f32]>,
    pub(super) codes: Option<QueryCodes>,
    /// The codes of the part of the question of which memory knows the words.
    pub(super) known_part: Option<QueryCodes>,
    /// The vectors of other models, of records that wait for this one, each with the question's
    /// codes in that space.
    pub(super) other_spaces: Vec<OtherSpaceQuery<'a>>,
    /// The adapter's correction of the question, if there is one.
    pub(super) correction: Option<QueryCorrection>,
    /// The instant that is asked about, if it is not now.
    pub(super) as_of: Option<DateTime<Utc>>,
    /// Most results.
    pub(super) top_k: usize,
    /// Number of ranked records that may be needed for the results, as some may repeat another's
    /// text.
    pub(super) ranked: usize,
    /// What this answer has to do without.
    pub(super) degraded: Vec<DegradedPart>,
}

/// The question in another space.
#[derive(Debug)]
pub(super) struct OtherSpaceQuery<'a> {
    pub(super) vectors: &'a OtherModelVectors,
    pub(super) codes: QueryCodes,
    pub(super) space: &'a EmbeddingSpace,
}

/// What the adapter adds to the question.
#[derive(Debug)]
pub(super) struct QueryCorrection {
    /// The codes of its direction, whose product with a record, times its length, is what the
    /// record gains.
    codes: QueryCodes,
    length: f32,
    /// The codes of the question moved along it, which are searched with.
    pub(super) question: QueryCodes,
}

impl QueryCorrection {
    fn build(snapshot: &Snapshot, query: &[f32], mut by: Vec<f32>, gate: f32) -> Option<Self> {
        let length = dot(&by, &by).sqrt();
        normalize(&mut by);
        let step = QUERY_STEP * gate;
        let moved = query.iter().zip(&by).map(|(x, by)| x + step * by);
        let mut moved: Vec<f32> = moved.collect();
        normalize(&mut moved);
        Some(Self {
            codes: snapshot.index.encode_query(&by)?,
            length,
            question: snapshot.index.encode_query(&moved)?,
        })
    }

    /// Returns what the correction adds to a record's score; 0 if the record has no vector.
    pub(super) fn gain_of(&self, snapshot: &Snapshot, ordinal: u32) -> f32 {
        let cosine = snapshot.index.cosine(&self.codes, ordinal);
        cosine.map_or(0.0, |cosine| self.length * cosine)
    }
}

impl<'a> RecallPlan<'a> {
    /// Adds the learner's correction of the question.
    pub(super) fn with_correction(
        self,
        snapshot: &Snapshot,
        learning: &dyn LearningEngine,
    ) -> Self {
        let correction = self.vector.and_then(|vector| {
            let correction = learning.query_correction(vector)?;
            QueryCorrection::build(snapshot, vector, correction, learning.learner_gates().1)
        });
        Self { correction, ..self }
    }

    /// Adds the vector of the part of the question of which memory knows the words.
    pub(super) fn with_known_part(
        self,
        snapshot: &Snapshot,
        part: Option<(&EmbeddingSpace, &[f32])>,
    ) -> Self {
        let is_own = |space: &EmbeddingSpace| snapshot.space.as_ref() == Some(space);
        let usable = part.filter(|part| is_own(part.0) && is_usable(part));
        let known_part = usable.and_then(|(_, vector)| snapshot.index.encode_query(vector));
        Self { known_part, ..self }
    }

    /// Whether the question can be compared by meaning at all.
    pub(super) fn can_compare_meaning(&self) -> bool {
        self.vector.is_some() || !self.other_spaces.is_empty()
    }

    pub(super) fn new(
        snapshot: &'a Snapshot,
        request: &RecallRequest,
        query_vectors: &[(&EmbeddingSpace, &'a [f32])],
    ) -> Self {
        let usable = || query_vectors.iter().filter(|one| is_usable(one));
        let own =
            usable().find(|(space, _)| snapshot.space.as_ref().is_none_or(|own| own == *space));
        let vector = own.map(|(_, vector)| *vector);
        let others = snapshot.other_spaces.iter().filter_map(|other| {
            let (_, vector) = usable().find(|(space, _)| **space == other.space)?;
            Some(OtherSpaceQuery {
                codes: other.vectors.encode_query(vector)?,
                vectors: &other.vectors,
                space: &other.space,
            })
        });
        let others: Vec<_> = others.collect();
        let top_k = request.top_k.min(TOP_K_MAX);
        // If the model in use is missing, the one before it can compare what it made.
        let answered =
            vector.is_some() || (!others.is_empty() && snapshot.index.embedded_count() == 0);
        let missing = !answered && !request.query.trim().is_empty();
        let view = snapshot.view(&request.filter, request.as_of);
        let when = read_times(snapshot, request, &view);
        let mut traits = QuestionTraits::from_question(&request.query);
        traits.asks_for_questions |= is_asking_for_leads(&request.filter);
        Self {
            query: query_words(snapshot, request, &when),
            traits,
            asks_for_fact: asks_for_fact(&request.query),
            of_type: records_of_asked_type(snapshot, &request.query),
            required: RequiredContent::from_question(&request.query),
            view: restrict_view(view, &when),
            when,
            now: request.as_of.or(request.now),
            codes: vector.and_then(|vector| snapshot.index.encode_query(vector)),
            vector,
            known_part: None,
            other_spaces: others,
            correction: None,
            as_of: request.as_of,
            top_k,
            ranked: match top_k {
                0 => 0,
                wanted => (2 * wanted + REPEATS).max(LEARNED_AMONG),
            },
            degraded: if missing {
                vec![DegradedPart::NoQueryVector]
            } else {
                Vec::new()
            },
        }
    }
}

// The vector of `berlin lease` is near to whatever is about Berlin, and so is that of `berlin`. A
// record to which the whole is no nearer hardly says anything of a lease: it is not called
// relevant, however near it is.
impl Snapshot {
    /// Returns the words of a short question that some record has, if half of its words or more
    /// stand in none. A recall compares the vector of this part, too
    /// ([`RecallCall::with_known_part`](crate::RecallCall::with_known_part)).
    #[must_use]
    pub fn find_known_part(&self, question: &str) -> Option<String> {
        let query = self.index.analyse_query(&question_subject(question));
        let count = query.terms.len();
        if !is_mostly_unknown(count, count) {
            return None;
        }
        let (known, unknown): (Vec<_>, Vec<_>) = query
            .terms
            .into_iter()
            .partition(|term| self.is_known_word(term));
        let is_part = !known.is_empty() && is_mostly_unknown(count, unknown.len());
        let words: Vec<&str> = known.iter().map(|term| term.surface.as_str()).collect();
        is_part.then(|| words.join(" "))
    }

    /// Whether a live record has a word.
    fn is_known_word(&self, term: &QueryTerm) -> bool {
        let alone = Query {
            terms: vec![term.clone()],
        };
        let holders = self.index.find_all_words(&alone, 0).unwrap_or_default();
        holders
            .into_iter()
            .any(|ordinal| self.live_doc(ordinal).is_some())
    }
}

/// Returns the records of the type that a question asks for, ascending; none for most questions.
fn records_of_asked_type(snapshot: &Snapshot, query: &str) -> Vec<u32> {
    find_asked_type(query).map_or_else(Vec::new, |asked| {
        snapshot.index.find_exact_term(&type_term(asked))
    })
}

/// Whether a filter asks for leads themselves: for prompts, or for outcome records of runs.
fn is_asking_for_leads(filter: &MemoryFilter) -> bool {
    let mut types = filter.types.iter().flatten();
    let sources = filter.sources.as_deref();
    types.any(|one| matches!(one, RecordType::Prompt | RecordType::Run))
        || sources == Some(&[MemorySource::TrajectoryOutcome])
}

/// Returns the words to look up, without those that only name a filtered time if others remain.
fn query_words(snapshot: &Snapshot, request: &RecallRequest, when: &QuestionTimes) -> Query {
    let of = |question: &str| snapshot.index.analyse_query(&question_subject(question));
    let rest = if when.is_filter {
        when.without_times(&request.query)
    } else {
        when.without_date_numbers(&request.query)
    };
    let mut query = of(&rest);
    if query.terms.is_empty() {
        query = of(&request.query);
    }
    snapshot.index.correct_spelling(&mut query);
    query
}

/// Whether a vector is a unit vector of its space.
fn is_usable((space, vector): &(&EmbeddingSpace, &[f32])) -> bool {
    check_unit_vector(vector, usize::from(space.dimensions)).is_ok()
}
