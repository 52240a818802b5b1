//! Reads the chosen records back, in their order, with all that their explanations need.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use reprise_index::{QueryTerm, find_first_word_with_key};
use reprise_rank::{
    Contradictions, ExplainedQuestion, Leads, RankedCandidate, ResultFacts, Surroundings,
    WeighedWord,
};
use reprise_types::{
    LearningEngine, MemoryRecord, MemorySource, RecordId, RetrievedMemory, Visibility, to_one_line,
};

use super::exchanges::Exchanges;
use super::scene::Scene;
use crate::snapshot::Snapshot;

/// Most replaced versions that one result names, newest first.
const HISTORY_MAX: usize = 16;

/// What explains the results of one answer.
#[derive(Clone, Copy)]
pub(super) struct Explanations<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) question: &'a ExplainedQuestion<'a>,
    pub(super) contradictions: &'a Contradictions,
    pub(super) leads: &'a Leads,
    pub(super) exchanges: &'a Exchanges,
    pub(super) learning: &'a dyn LearningEngine,
}

/// Reads back as many candidates as are wanted, in their order, and returns whether a damaged
/// record was left out, too.
pub(super) fn read_results(
    explanations: &Explanations<'_>,
    ranked: &[RankedCandidate],
) -> (Vec<RetrievedMemory>, bool) {
    let (snapshot, plan) = (explanations.scene.snapshot, explanations.scene.plan);
    let mut damaged = false;
    let mut results = Vec::with_capacity(plan.top_k.min(ranked.len()));
    let mut seen = HashSet::new();
    let told = requests_of_outcomes(snapshot, ranked);
    for one in ranked {
        if results.len() == plan.top_k {
            break;
        }
        let ordinal = one.scored.ordinal;
        match snapshot.record(ordinal, plan.as_of) {
            Ok(record) if is_expired(snapshot, &record, plan.now) => {}
            Ok(record) if repeats_outcome(&told, &record) => {}
            // One event is often described several times: the best description is enough. Published
            // records have an author each, and none hides another's.
            Ok(record)
                if record.visibility != Visibility::Published
                    && !seen.insert(record.content_hash) => {}
            Ok(record) => {
                let facts = explanations.collect_facts(ordinal, &record);
                let why = explanations.question.explain_result(one, &record, facts);
                results.push(RetrievedMemory {
                    record,
                    score: one.score(),
                    sona_score: one.adjusted_score(),
                    why,
                    shown: false,
                    published: None,
                });
            }
            // Forgetting is erasure: not even a question about the past brings a record back.
            Err(_) if !snapshot.is_stored(ordinal) => {}
            Err(error) => {
                tracing::warn!(ordinal, %error, "a record could not be read back");
                damaged = true;
            }
        }
    }
    (results, damaged)
}

impl<'a> Explanations<'a> {
    /// Collects what memory knows of a result.
    fn collect_facts(&self, ordinal: u32, record: &MemoryRecord) -> ResultFacts<'a> {
        let (scene, snapshot) = (self.scene, self.scene.snapshot);
        let id_and_time = |ordinal: u32| {
            let doc = snapshot.index.doc(ordinal)?;
            Some((doc.id, doc.timestamp()))
        };
        let id_of = |ordinal: u32| Some(snapshot.index.doc(ordinal)?.id);
        let step = self.exchanges.find_step(scene, ordinal);
        let newer = self.contradictions.find_newest_contradicting(ordinal);
        let earlier = self.leads.find_preceding_question(ordinal);
        let query = &scene.plan.query;
        ResultFacts {
            nearness: scene.nearness_of_exchange(self.exchanges, ordinal),
            known_part_cosine: scene.cosine_with_known_part(ordinal),
            matched_words: scene.lexical.matched_words(ordinal, query),
            same_words: words_of_mask(scene, scene.lexical.term_mask(ordinal)),
            respelled: respelled_words(scene, ordinal, &record.text),
            around: collect_surroundings(scene, ordinal, self.exchanges),
            step_of: step.and_then(|step| id_of(step.answer)),
            worked: snapshot.learner.record_outcomes(record.id),
            taught_by: self
                .learning
                .contributing_runs(scene.plan.vector, record.id),
            supersedes: replaced_versions(snapshot, record),
            contradicted_by: newer.and_then(id_and_time),
            answered: earlier.and_then(id_and_time),
        }
    }
}

/// Returns the words of the question that count, each with whether any record has it.
pub(super) fn counted_words<'a>(scene: &Scene<'a>) -> Vec<(&'a str, bool)> {
    let terms = scene.plan.query.terms.iter().zip(scene.lexical.terms);
    let counted = terms.filter(|(_, signal)| signal.weight > 0.0);
    counted
        .map(|(term, signal)| (term.surface.as_str(), signal.documents > 0))
        .collect()
}

fn collect_surroundings<'a>(
    scene: &Scene<'a>,
    ordinal: u32,
    exchanges: &Exchanges,
) -> Surroundings<'a> {
    let Some(traits) = scene.index.doc_traits(ordinal, &scene.plan.view) else {
        return Surroundings::default();
    };
    let own = scene.lexical.term_mask(ordinal);
    let words = |near: Option<u32>| {
        let mask = near.map_or(0, |near| scene.lexical.term_mask(near) & !own);
        words_of_mask(scene, mask)
    };
    let (previous, next) = traits.neighbours;
    let prompt = exchanges.prompt_of(ordinal);
    let previous = previous.filter(|previous| Some(*previous) != prompt);
    let session = traits.session;
    Surroundings {
        prompt_words: words(prompt),
        previous_words: words(previous),
        next_words: words(next),
        session_words: session.map(|_| scene.session_words_score(session)),
        is_by_named_speaker: scene.names_a_speaker && scene.is_named_speaker(traits.speaker),
        is_instruction: traits.instruction && traits.by_user,
        is_dated: traits.dated,
    }
}

/// Returns the question's words that `mask` selects and that are spelled as the question does.
fn words_of_mask<'a>(scene: &Scene<'a>, mask: u32) -> Vec<WeighedWord<'a>> {
    let terms = scene.plan.query.terms.iter().zip(scene.lexical.terms);
    let matched = terms.filter(|(term, signal)| {
        term.corrections.is_empty() && signal.bit.is_some_and(|bit| mask >> bit & 1 == 1)
    });
    matched
        .map(|(term, signal)| WeighedWord {
            word: &term.surface,
            idf: signal.idf,
        })
        .collect()
}

/// Returns the requests that outcome records among the candidates tell: a record that only repeats
/// one of them adds nothing.
fn requests_of_outcomes(snapshot: &Snapshot, candidates: &[RankedCandidate]) -> HashSet<String> {
    let outcomes = candidates.iter().filter(|one| one.scored.outcome.is_some());
    let records = outcomes.filter_map(|one| snapshot.record(one.scored.ordinal, None).ok());
    let requests = records.filter_map(|record| {
        let question = record.details.as_ref()?.get("question")?.as_str()?;
        Some(question.to_owned())
    });
    requests.collect()
}

/// Whether a record is a request or a plan that an outcome record tells.
fn repeats_outcome(told: &HashSet<String>, record: &MemoryRecord) -> bool {
    let is_request = matches!(
        record.source,
        MemorySource::UserInput | MemorySource::ConductorPlan
    );
    is_request && !told.is_empty() && told.contains(&to_one_line(&record.text))
}

/// Whether a record's time is over and nobody marked it as not expiring.
fn is_expired(snapshot: &Snapshot, record: &MemoryRecord, now: Option<DateTime<Utc>>) -> bool {
    now.is_some_and(|now| record.is_expired(now)) && !snapshot.are_distinct(record.id, record.id)
}

/// Returns the versions that this record replaced, newest first; they never answer themselves.
fn replaced_versions(snapshot: &Snapshot, record: &MemoryRecord) -> Vec<RecordId> {
    let older = |id: &RecordId| {
        let ordinal = snapshot.index.find(*id)?;
        snapshot.reader.read_record(ordinal).ok()?.supersedes
    };
    let versions = std::iter::successors(record.supersedes, older);
    versions.take(HISTORY_MAX).collect()
}

/// Returns the words of a record that the question spells differently, each with the question's
/// spelling.
fn respelled_words(scene: &Scene<'_>, ordinal: u32, text: &str) -> Vec<(String, String)> {
    let mask = scene.lexical.term_mask(ordinal);
    let terms = scene.plan.query.terms.iter().zip(scene.lexical.terms);
    let respelled = terms.filter(|(term, signal)| {
        !term.corrections.is_empty() && signal.bit.is_some_and(|bit| mask >> bit & 1 == 1)
    });
    let own = |(term, _): (&QueryTerm, _)| {
        Some((
            find_first_word_with_key(text, &term.corrections)?,
            term.surface.clone(),
        ))
    };
    respelled.filter_map(own).collect()
}
