//! Exchanges: a stored prompt that asks, orders or complains, and the answer that ended its turn,
//! are one thing to find. The prompt says what it was about, and the answer what came of it.

use std::collections::BTreeSet;

use reprise_index::{DocTraits, find_first_word_with_key};
use reprise_rank::{Nearness, StepOfTurn, only_takes_note, read_told_clauses, type_term};
use reprise_types::{MemoryRecord, RecordType};

use super::scene::{RecallCandidate, Scene};
use crate::snapshot::annotation_index::DISTILLED;

/// Most prompts of a question whose turns are read: those that are nearest to it.
const PROMPTS_MAX: usize = 32;
/// Most other records whose turns are read: those that are nearest to it.
const STEPS_MAX: usize = 16;
/// Most records of a turn: between a prompt and its answer are tests, commits and what the agent
/// said on the way.
const TURN_MAX: usize = 64;

/// One record of a turn, with the answer that ended it.
#[derive(Debug, Clone, Copy)]
struct Step {
    ordinal: u32,
    answer: u32,
}

/// The exchanges among the candidates of one question.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// Each answer that ended a turn with the prompt that it answers, ascending.
    prompts: Vec<(u32, u32)>,
    /// The other records of these turns, ascending.
    steps: Vec<Step>,
    /// Prompts that only ask or complain, and to which nothing was said, ascending.
    unanswered: Vec<u32>,
}

/// What a prompt is for a question.
enum PromptRole {
    /// It tells what the question asks for.
    Answers,
    /// What came of it is what the question asks for.
    Leads,
    /// It only asks or complains, and nothing was said to it.
    Unanswered,
}

impl Exchanges {
    /// Finds the exchanges of the prompts that are nearest to the question.
    pub(super) fn find(scene: &Scene<'_>, candidates: &[RecallCandidate]) -> Self {
        let mut exchanges = Self::default();
        let traits = scene.plan.traits;
        if traits.asks_for_questions || traits.asks_user {
            return exchanges;
        }
        let prompts = find_prompts(scene, candidates);
        if prompts.is_empty() {
            return exchanges;
        }
        let answers = type_term(RecordType::Answer);
        let answers = scene.index.find_exact_term(&answers);
        for prompt in prompts {
            exchanges.add_turn(scene, prompt, &answers);
        }
        exchanges.prompts.sort_unstable();
        exchanges.steps.sort_unstable_by_key(|step| step.ordinal);
        exchanges.unanswered.sort_unstable();
        exchanges
    }

    /// Adds the turn that a prompt began; `answers` are the records that are answers.
    fn add_turn(&mut self, scene: &Scene<'_>, prompt: u32, answers: &[u32]) {
        let view = &scene.plan.view;
        let turn = scene.list_followers(prompt, TURN_MAX, is_prompt);
        let is_answer = |at: &&u32| answers.binary_search(at).is_ok() && view.contains(**at);
        let answer = turn.iter().rfind(is_answer).copied();
        match read_role(scene, prompt, answer) {
            None | Some(PromptRole::Answers) => {}
            Some(PromptRole::Unanswered) => self.unanswered.push(prompt),
            Some(PromptRole::Leads) => {
                let Some(answer) = answer else { return };
                self.prompts.push((answer, prompt));
                let steps = turn.into_iter().filter(|step| *step != answer);
                let steps = steps.map(|ordinal| Step { ordinal, answer });
                self.steps.extend(steps);
            }
        }
    }

    /// Returns the prompt whose turn an answer ended.
    pub(super) fn prompt_of(&self, answer: u32) -> Option<u32> {
        let at = self.prompts.binary_search_by_key(&answer, |one| one.0);
        Some(self.prompts.get(at.ok()?)?.1)
    }

    /// Returns the answer that ended the turn of a prompt.
    pub(super) fn answer_to(&self, prompt: u32) -> Option<u32> {
        let found = self.prompts.iter().find(|one| one.1 == prompt)?;
        Some(found.0)
    }

    /// Returns a step of a turn as the order sees it: a test, a command, an edited file, or what
    /// the agent said on the way; nothing if such records are what the question plainly asks for.
    pub(super) fn find_step(&self, scene: &Scene<'_>, ordinal: u32) -> Option<StepOfTurn> {
        let answer = self.answer_after_step(ordinal)?;
        if scene.plan.of_type.binary_search(&ordinal).is_ok() {
            return None;
        }
        let record = scene.snapshot.reader.read_record(ordinal).ok()?;
        let speaks_for_answer = match record.record_type() {
            RecordType::Test | RecordType::Command | RecordType::Answer => true,
            RecordType::Document => false,
            _ => return None,
        };
        Some(StepOfTurn {
            answer,
            speaks_for_answer,
        })
    }

    /// Returns the answer that ended the turn in which a record was a step on the way.
    fn answer_after_step(&self, ordinal: u32) -> Option<u32> {
        let at = self
            .steps
            .binary_search_by_key(&ordinal, |step| step.ordinal);
        Some(self.steps.get(at.ok()?)?.answer)
    }

    /// Whether a record is a prompt that only asks or complains, and to which nothing was said.
    pub(super) fn is_unanswered(&self, ordinal: u32) -> bool {
        self.unanswered.binary_search(&ordinal).is_ok()
    }

    /// Whether one of two records is the answer to the other.
    pub(super) fn are_one(&self, one: u32, other: u32) -> bool {
        self.prompt_of(one) == Some(other) || self.prompt_of(other) == Some(one)
    }

    /// Lists the answers that are no candidates yet.
    pub(super) fn list_missing<'a>(
        &'a self,
        candidates: &'a [RecallCandidate],
    ) -> impl Iterator<Item = u32> + 'a {
        let is_missing = |answer: &u32| {
            let known = candidates.binary_search_by_key(answer, |one| one.ordinal);
            known.is_err()
        };
        self.prompts.iter().map(|one| one.0).filter(is_missing)
    }
}

/// Finds the stored prompts that are nearest to the question, and those in whose turns the nearest
/// of the other records are.
fn find_prompts(scene: &Scene<'_>, candidates: &[RecallCandidate]) -> BTreeSet<u32> {
    let near = candidates.iter();
    let near = near.filter(|one| one.meaning > 0.0 || one.words > 0.0);
    let (prompts, others): (Vec<_>, Vec<_>) = near.partition(|one| is_prompt(&one.traits));
    let prompts = take_nearest(prompts, PROMPTS_MAX);
    let mut found: BTreeSet<u32> = prompts.map(|one| one.ordinal).collect();
    let is_step = |one: &&RecallCandidate| !one.traits.by_user && one.traits.session.is_some();
    let steps = take_nearest(others.into_iter().filter(is_step).collect(), STEPS_MAX);
    found.extend(steps.filter_map(|step| scene.find_before(step.ordinal, TURN_MAX, is_prompt)));
    found
}

/// Returns the candidates that are nearest to the question, by meaning and words.
fn take_nearest(
    mut candidates: Vec<&RecallCandidate>,
    most: usize,
) -> impl Iterator<Item = &RecallCandidate> {
    let nearness = |one: &RecallCandidate| one.meaning + one.words;
    candidates.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)));
    candidates.into_iter().take(most)
}

fn is_prompt(traits: &DocTraits) -> bool {
    traits.bare_prompt || traits.informative_prompt
}

/// Reads what a prompt is for the question; `None` if one of the two cannot be read.
fn read_role(scene: &Scene<'_>, prompt: u32, answer: Option<u32>) -> Option<PromptRole> {
    let read = |ordinal: u32| scene.snapshot.reader.read_record(ordinal).ok();
    let traits = scene.index.doc_traits(prompt, &scene.plan.view)?;
    if traits.bare_prompt {
        return Some(PromptRole::Leads);
    }
    let record = read(prompt)?;
    if traits.instruction || has_lesson(scene, &record) {
        return Some(PromptRole::Answers);
    }
    let text = &record.body.text;
    let (told, leads_on) = read_told_clauses(text);
    let Some(answer) = answer else {
        let tells = !told.is_empty();
        let role = if tells {
            PromptRole::Answers
        } else {
            PromptRole::Unanswered
        };
        return Some(role);
    };
    if told.is_empty() {
        return Some(PromptRole::Leads);
    }
    let asks_for_told = || scene.plan.asks_for_fact && hold_words(scene, prompt, &told);
    let takes_note = || {
        let answer = read(answer);
        !leads_on && answer.is_some_and(|answer| only_takes_note(text, &answer.body.text))
    };
    let role = if takes_note() || asks_for_told() {
        PromptRole::Answers
    } else {
        PromptRole::Leads
    };
    Some(role)
}

/// Whether a lesson was learned from a prompt: then it tells something.
fn has_lesson(scene: &Scene<'_>, prompt: &MemoryRecord) -> bool {
    let mut links = scene.snapshot.links(prompt.id).into_iter();
    links.any(|link| !link.outgoing && link.relation == DISTILLED)
}

/// Whether the clauses of a prompt that tell something have all of the question's words that the
/// prompt has, and one at least.
fn hold_words(scene: &Scene<'_>, prompt: u32, told: &[&str]) -> bool {
    let mask = scene.lexical.term_mask(prompt);
    let terms = scene.plan.query.terms.iter().zip(scene.lexical.terms);
    let mut held = terms.filter(|(_, signal)| signal.bit.is_some_and(|bit| mask >> bit & 1 == 1));
    let told = told.join(" ");
    mask != 0
        && held.all(|(term, _)| {
            let others = term.forms.iter().chain(&term.corrections);
            let keys: Vec<String> = std::iter::once(&term.stem).chain(others).cloned().collect();
            find_first_word_with_key(&told, &keys).is_some()
        })
}

impl Scene<'_> {
    /// Returns how near a record or the prompt that it answers is to the question, whichever is
    /// nearer.
    pub(super) fn nearness_of_exchange(
        &self,
        exchanges: &Exchanges,
        ordinal: u32,
    ) -> Option<Nearness> {
        let own = self.nearness_of(ordinal);
        let prompt = exchanges.prompt_of(ordinal);
        let prompt = prompt.and_then(|prompt| self.nearness_of(prompt));
        let both = own.into_iter().chain(prompt);
        both.max_by(|a, b| a.cosine.total_cmp(&b.cosine))
    }
}
