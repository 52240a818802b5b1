//! Plan: what is asked, of which records, and with what.

use chrono::{DateTime, Utc};
use reprise_index::{OtherVectors, Query, QueryCodes, View};
use reprise_types::limits::TOP_K_MAX;
use reprise_types::{
    Degraded, EmbeddingSpace, LearningEngine, MemoryFilter, MemorySource, RecallRequest,
    RecordType, check_unit_vector, dot, normalize,
};

use super::kinds::asked_for;
use super::question::{Asked, subject};
use super::wanted::Wanted;
use super::when::When;
use crate::snapshot::Snapshot;

/// Room for repeated texts beyond the results asked for.
const REPEATS: usize = 8;
/// How far the adapter moves the question that is searched with, relative to its length, where its
/// gate is fully open.
const QUERY_STEP: f32 = 0.5;
/// Ranked records that learning reorders at least: it may bring up what would just be left out.
const LEARNED_AMONG: usize = 50;

/// A question made ready for the search.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// The subject's words as the index spells them.
    pub(super) query: Query,
    pub(super) asked: Asked,
    /// The records of the type that is plainly asked for, ascending.
    pub(super) of_type: Vec<u32>,
    pub(super) wanted: Wanted,
    /// Which records may answer.
    pub(super) view: View,
    /// What the question says of time.
    pub(super) when: When,
    /// What is over by then does not answer.
    pub(super) now: Option<DateTime<Utc>>,
    /// The query's vector, if it can be compared with this store's ...
    pub(super) vector: Option<&'a [f32]>,
    pub(super) codes: Option<QueryCodes>,
    /// What other models made of records that wait for this one, each with the question's codes in
    /// that space.
    pub(super) others: Vec<OtherAsked<'a>>,
    /// The adapter's correction of the question, once it is proved (M61).
    pub(super) correction: Option<Correction>,
    /// The instant that is asked about, where it is not now.
    pub(super) as_of: Option<DateTime<Utc>>,
    /// Most results.
    pub(super) top_k: usize,
    /// Ranked records that may be needed to fill them: some may repeat another's text.
    pub(super) ranked: usize,
    /// What this answer has to do without.
    pub(super) degraded: Vec<Degraded>,
}

/// The question in another space.
#[derive(Debug)]
pub(super) struct OtherAsked<'a> {
    pub(super) vectors: &'a OtherVectors,
    pub(super) codes: QueryCodes,
    pub(super) space: &'a EmbeddingSpace,
}

/// What the adapter adds to the question.
#[derive(Debug)]
pub(super) struct Correction {
    /// The codes of its direction, and its length: their product with a record is what the record
    /// gains.
    codes: QueryCodes,
    length: f32,
    /// The codes of the question moved along it, which is searched with.
    pub(super) question: QueryCodes,
}

impl Correction {
    fn of(snapshot: &Snapshot, query: &[f32], mut by: Vec<f32>, gate: f32) -> Option<Self> {
        let length = dot(&by, &by).sqrt();
        normalize(&mut by);
        let step = QUERY_STEP * gate;
        let moved = query.iter().zip(&by).map(|(x, by)| x + step * by);
        let mut moved: Vec<f32> = moved.collect();
        normalize(&mut moved);
        Some(Self {
            codes: snapshot.index.encode(&by)?,
            length,
            question: snapshot.index.encode(&moved)?,
        })
    }

    /// What it adds to a record's score; 0 where the record has no vector.
    pub(super) fn gain(&self, snapshot: &Snapshot, ordinal: u32) -> f32 {
        let cosine = snapshot.index.cosine(&self.codes, ordinal);
        cosine.map_or(0.0, |cosine| self.length * cosine)
    }
}

impl<'a> Plan<'a> {
    /// The same question, moved by what was learned.
    pub(super) fn moved(self, snapshot: &Snapshot, learning: &dyn LearningEngine) -> Self {
        let correction = self.vector.and_then(|vector| {
            let correction = learning.correction(vector)?;
            Correction::of(snapshot, vector, correction, learning.gates().1)
        });
        Self { correction, ..self }
    }

    /// Whether meaning is compared at all.
    pub(super) fn asks_meaning(&self) -> bool {
        self.vector.is_some() || !self.others.is_empty()
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
        let others = snapshot.others.iter().filter_map(|other| {
            let (_, vector) = usable().find(|(space, _)| **space == other.space)?;
            Some(OtherAsked {
                codes: other.vectors.encode(vector)?,
                vectors: &other.vectors,
                space: &other.space,
            })
        });
        let others: Vec<_> = others.collect();
        let top_k = request.top_k.min(TOP_K_MAX);
        // Where the model in use is missing, the one before it answers for what it made.
        let answered = vector.is_some() || (!others.is_empty() && snapshot.index.embedded() == 0);
        let missing = !answered && !request.query.trim().is_empty();
        let view = snapshot.view(&request.filter, request.as_of);
        let when = When::of(snapshot, request, &view);
        let mut asked = Asked::of(&request.query);
        asked.asking |= wants_leads(&request.filter);
        Self {
            query: words(snapshot, request, &when),
            asked,
            of_type: asked_for(snapshot, &request.query),
            wanted: Wanted::of(&request.query),
            view: when.restrict(view),
            when,
            now: request.as_of.or(request.now),
            codes: vector.and_then(|vector| snapshot.index.encode(vector)),
            vector,
            others,
            correction: None,
            as_of: request.as_of,
            top_k,
            ranked: match top_k {
                0 => 0,
                wanted => (2 * wanted + REPEATS).max(LEARNED_AMONG),
            },
            degraded: if missing {
                vec![Degraded::NoQueryVector]
            } else {
                Vec::new()
            },
        }
    }
}

/// Whether what only asks is asked for itself: prompts, or runs with nothing beside their question.
fn wants_leads(filter: &MemoryFilter) -> bool {
    let mut types = filter.types.iter().flatten();
    let sources = filter.sources.as_deref();
    types.any(|one| matches!(one, RecordType::Prompt | RecordType::Run))
        || sources == Some(&[MemorySource::TrajectoryOutcome])
}

/// The words to look up: what names the time only filters, where other words are left.
fn words(snapshot: &Snapshot, request: &RecallRequest, when: &When) -> Query {
    let of = |question: &str| snapshot.index.analyse_query(&subject(question));
    let rest = if when.is_filter {
        when.without(&request.query)
    } else {
        when.without_numbers(&request.query)
    };
    let mut query = of(&rest);
    if query.terms.is_empty() {
        query = of(&request.query);
    }
    snapshot.index.mend(&mut query);
    query
}

/// Whether it is the unit vector that its space says it is.
fn is_usable((space, vector): &(&EmbeddingSpace, &[f32])) -> bool {
    check_unit_vector(vector, usize::from(space.dimensions)).is_ok()
}
