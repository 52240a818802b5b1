//! The steps of a recall: plan, look-ups, candidates, signals, fusion, adjustment by learning,
//! diversity, explanation, answer. A record that only asks is no candidate: it leads to what
//! followed it.
//!
//! This is a pure function of snapshot, question, query vectors and learner: the same arguments
//! give the same answer, bit for bit.

mod candidates;
mod contradictions;
mod exchanges;
mod leads;
mod learned;
mod measure;
mod names;
mod notes;
mod plan;
mod read_back;
mod scene;
mod times;

use std::sync::Mutex;

use reprise_rank::{
    Ablation, ExplainedQuestion, Fusion, Leads, ScoreModel, ScoredCandidate, decide_order,
    decide_shown, lift_answers, put_steps_below,
};
use reprise_types::{
    DegradedPart, EmbeddingSpace, LearningEngine, RecallId, RecallRequest, RecallResponse,
    RelevanceVerdict, lock, show_fields,
};

use crate::snapshot::Snapshot;
use candidates::CandidateSet;
use contradictions::find_contradictions;
use exchanges::Exchanges;
use leads::{asked_before_note, list_answers_to_prompt, prompts_with_word_note};
use learned::add_learned;
use plan::RecallPlan;
use read_back::Explanations;
pub(crate) use scene::dialogue_share;
use scene::{RecallCandidate, Scene};

/// Buffers of one recall, reused between recalls, so that a recall allocates nothing per candidate.
#[derive(Debug, Default)]
struct Scratch {
    search: candidates::Scratch,
    candidates: Vec<RecallCandidate>,
    ranked: Vec<ScoredCandidate>,
}

/// Buffers that no recall uses now: as many as ran at once, on however many threads.
static IDLE: Mutex<Vec<Scratch>> = Mutex::new(Vec::new());
/// Most idle buffers; others are dropped.
const IDLE_MAX: usize = 8;

/// Runs `work` with buffers of its own.
fn run_with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let idle = || lock(&IDLE);
    let mut scratch = idle().pop().unwrap_or_default();
    let result = work(&mut scratch);
    let mut idle = idle();
    if idle.len() < IDLE_MAX {
        idle.push(scratch);
    }
    result
}

/// A question to a snapshot, with all that its answer depends on.
#[derive(Clone, Copy)]
pub struct RecallCall<'a> {
    pub request: &'a RecallRequest,
    /// The unit vectors of the question's [`question_subject`], one for each space in which it was
    /// embedded. Without one of the space in use, words and context decide and `degraded` says so.
    /// While vectors are being replaced, records that still have one of
    /// [`Snapshot::other_spaces`] are compared there, and nowhere else.
    pub vectors: &'a [(&'a EmbeddingSpace, &'a [f32])],
    /// The unit vector of the question's [`Snapshot::find_known_part`], in the space in use.
    pub known_part: Option<(&'a EmbeddingSpace, &'a [f32])>,
    pub id: RecallId,
    pub learning: &'a dyn LearningEngine,
    /// The signals that take part.
    pub ablation: Ablation,
}

show_fields!(RecallCall<'_> { request, id, ablation });

impl<'a> RecallCall<'a> {
    /// Asks by words alone, and with all signals.
    pub fn new(request: &'a RecallRequest, id: RecallId, learning: &'a dyn LearningEngine) -> Self {
        Self {
            request,
            vectors: &[],
            known_part: None,
            id,
            learning,
            ablation: Ablation::default(),
        }
    }

    /// Asks by these vectors, too.
    #[must_use]
    pub fn with_vectors(self, vectors: &'a [(&'a EmbeddingSpace, &'a [f32])]) -> Self {
        Self { vectors, ..self }
    }

    /// Asks what the words that no record has add to the others, too.
    #[must_use]
    pub fn with_known_part(self, known_part: Option<(&'a EmbeddingSpace, &'a [f32])>) -> Self {
        Self { known_part, ..self }
    }
}

impl Snapshot {
    /// Answers one question.
    #[must_use]
    pub fn recall(&self, call: &RecallCall<'_>) -> RecallResponse {
        let (request, learning) = (call.request, call.learning);
        let plan = RecallPlan::new(self, request, call.vectors)
            .with_correction(self, learning)
            .with_known_part(self, call.known_part);
        run_with_scratch(|scratch| {
            let Scratch {
                search,
                candidates: looked_at,
                ranked,
            } = scratch;
            let look_up = || names::read_names(self, &plan, request);
            let (found, names) = candidates::find_candidates(self, &plan, look_up, search);
            let mut scene = Scene::new(self, &plan, &found);
            scene.build_candidates(found.ordinals, looked_at);
            let exchanges = Exchanges::find(&scene, looked_at);
            let missing: Vec<u32> = exchanges.list_missing(looked_at).collect();
            scene.add_candidates(&missing, looked_at);
            let leads = leads::extract_leads(&scene, &exchanges, looked_at);
            let mut model = ScoreModel::new(&call.ablation);
            let turns = (&leads, &exchanges);
            fuse_candidates(&scene, (&found, looked_at), turns, &mut model, ranked);
            names.lift_holders(ranked);
            let answers_to = |prompt| list_answers_to_prompt(&scene, &exchanges, prompt);
            lift_answers(ranked, answers_to);
            put_steps_below(ranked, |ordinal| exchanges.find_step(&scene, ordinal));
            let contradictions = find_contradictions(self, &plan, ranked);
            contradictions.lift_newer(ranked);
            let mut ranked = add_learned(&scene, ranked, learning);
            decide_order(&mut ranked, &names, &contradictions);
            let explanations = Explanations {
                scene: &scene,
                question: &ExplainedQuestion {
                    model: &model,
                    names: &names,
                    required: &plan.required,
                    words: read_back::counted_words(&scene),
                    asks_when: plan.traits.asks_when,
                    is_of_time: plan.when.is_filter,
                    now: plan.now,
                },
                contradictions: &contradictions,
                leads: &leads,
                exchanges: &exchanges,
                learning,
            };
            let (results, damaged) = read_back::read_results(&explanations, &ranked);
            let damaged = damaged || self.index.is_damaged();
            let mut recall = RecallResponse {
                results,
                degraded: list_degraded_parts(&plan, looked_at, damaged),
                route: found.route,
                considered: plan.view.considered_count(),
                ..RecallResponse::empty(call.id)
            };
            decide_shown(&mut recall);
            if plan.when.is_filter {
                recall.only_times.clone_from(&plan.when.phrases);
            }
            recall.notes = notes::collect_notes(self, request, &plan, &names);
            let asked_before = asked_before_note(self, &leads);
            if recall.verdict != RelevanceVerdict::Relevant && asked_before.is_none() {
                recall.notes.extend(prompts_with_word_note(&scene));
            }
            recall.notes.extend(asked_before);
            if plan.as_of.is_none() {
                let query = plan.vector.filter(|_| !recall.nothing_relevant);
                let chain =
                    query.and_then(|query| learning.describe_chain(query, &recall.shown_runs()));
                let note = chain.map(|chain| format!("{}{chain}", RecallResponse::CHAIN_NOTE));
                recall.notes.extend(note);
            }
            recall
        })
    }
}

/// Lists what an answer lacks: what the plan lacks already, vectors, and readable records.
fn list_degraded_parts(
    plan: &RecallPlan<'_>,
    looked_at: &[RecallCandidate],
    damaged: bool,
) -> Vec<DegradedPart> {
    let mut degraded = plan.degraded.clone();
    if plan.can_compare_meaning() && looked_at.iter().any(|one| !one.is_comparable) {
        degraded.push(DegradedPart::UnembeddedRecords);
    }
    if damaged {
        degraded.push(DegradedPart::DamagedRecords);
    }
    degraded
}

/// Scores the candidates for which anything speaks, and those that are ranked in any case.
fn fuse_candidates(
    scene: &Scene<'_>,
    (found, looked_at): (&CandidateSet<'_>, &[RecallCandidate]),
    (leads, exchanges): (&Leads, &Exchanges),
    model: &mut ScoreModel,
    ranked: &mut Vec<ScoredCandidate>,
) {
    let (snapshot, plan) = (scene.snapshot, scene.plan);
    let counts = |one: &&RecallCandidate| {
        scene.has_evidence(one)
            || found.always_ranked.binary_search(&one.ordinal).is_ok()
            || leads.gain_of(one.ordinal) > 0.0
            || exchanges.prompt_of(one.ordinal).is_some()
    };
    let measured = looked_at.iter().filter(counts);
    let measured = measured.map(|one| scene.measure(one, leads, exchanges));
    let fusion = Fusion {
        question: scene.signal_context(),
        considered: plan.view.considered_count() - leads.count,
        is_of_time: plan.when.is_filter,
        most: plan.ranked,
        always_ranked: found.always_ranked,
        records_of_its_run: &|ordinal| measure::records_of_its_run(snapshot, ordinal),
        likeness: &|one, other| {
            if exchanges.are_one(one, other) {
                return 1.0;
            }
            scene.similarity_of(one, other)
        },
    };
    fusion.fuse_candidates(measured, model, ranked);
}
