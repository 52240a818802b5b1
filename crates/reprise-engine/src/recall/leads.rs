//! Finds the leads among the candidates, which only ask, and what followed them.

use reprise_index::{DocTraits, Query, QueryTerm};
use reprise_rank::{FOLLOWERS_MAX, Leads, PromptAim, PromptAnswers};

use super::exchanges::Exchanges;
use super::scene::{RecallCandidate, Scene};
use crate::snapshot::Snapshot;

/// Share of a text's words that are in the question from which on the text, if it asks, says
/// nothing new.
const NOTHING_NEW: f32 = 0.8;
/// Share of a prompt's words that are in the question from which on it repeats the question.
const REPEATED: f32 = 0.9;
/// Cosine from which on a text asks the same in other words.
const SAME_COSINE: f32 = 0.85;
/// Cosine from which on a prompt says the same.
const REPEATED_COSINE: f32 = 0.95;
/// Cosine at which a lead is about something else.
const OTHER_COSINE: f32 = 0.55;
/// Cosine, or share of the question's words, from which on what followed a prompt is about the
/// question.
const ANSWER_COSINE: f32 = 0.35;
const ANSWER_WORDS: f32 = 0.25;

/// Most stored prompts with a word of the question that make it a rare one.
const RARE_PROMPTS_MAX: usize = 8;

/// Most records after a stored prompt of which one may be what came of it: between the two are
/// tests, commits and what the agent said on the way.
const RUN_MAX: usize = 16;

/// Removes the leads from the candidates, and notes what followed them.
pub(super) fn extract_leads(
    scene: &Scene<'_>,
    exchanges: &Exchanges,
    candidates: &mut Vec<RecallCandidate>,
) -> Leads {
    let mut leads = Leads::default();
    if scene.plan.traits.asks_for_questions {
        return leads;
    }
    candidates.retain(|candidate| {
        let is_lead = only_asks(scene, candidate) || exchanges.is_unanswered(candidate.ordinal);
        if is_lead {
            let same = sameness_with_question(scene, candidate);
            leads.add_lead(candidate.ordinal, same, || {
                let answer = exchanges.answer_to(candidate.ordinal);
                answer.map_or_else(
                    || {
                        let ends = |traits: &DocTraits| traits.bare_prompt;
                        scene.list_followers(candidate.ordinal, FOLLOWERS_MAX, ends)
                    },
                    |answer| vec![answer],
                )
            });
        }
        !is_lead
    });
    leads.keep_most();
    leads
}

/// Returns what came of a stored prompt that leads to it; of one that tells what the question asks
/// for, what followed and is about the question, if it also asks for an answer or for work.
pub(super) fn list_answers_to_prompt(
    scene: &Scene<'_>,
    exchanges: &Exchanges,
    prompt: u32,
) -> PromptAnswers {
    if let Some(answer) = exchanges.answer_to(prompt) {
        return PromptAnswers {
            followers: vec![answer],
            comes_first: true,
        };
    }
    let traits = scene.index.doc_traits(prompt, &scene.plan.view);
    let Some(traits) = traits.filter(|traits| traits.informative_prompt) else {
        return PromptAnswers::default();
    };
    if scene.plan.traits.asks_for_questions || scene.plan.traits.asks_user {
        return PromptAnswers::default();
    }
    let record = scene.snapshot.reader.read_record(prompt).ok();
    let aim = record.map(|record| PromptAim::from_prompt(&record.body.text));
    let comes_first = match aim {
        Some(PromptAim::Answer) => true,
        // A rule that was set with the work holds whatever came of that.
        Some(PromptAim::Work) if !traits.instruction => false,
        _ => return PromptAnswers::default(),
    };
    let is_prompt = |one: &DocTraits| one.bare_prompt || one.informative_prompt;
    let mut followers = scene.list_followers(prompt, RUN_MAX, is_prompt);
    followers.retain(|follower| {
        let cosine = scene.nearness_of(*follower).map_or(0.0, |near| near.cosine);
        cosine >= ANSWER_COSINE || scene.word_share(*follower) >= ANSWER_WORDS
    });
    PromptAnswers {
        followers,
        comes_first,
    }
}

/// Returns a note if the same was asked before.
pub(super) fn asked_before_note(snapshot: &Snapshot, leads: &Leads) -> Option<String> {
    let doc = snapshot.index.doc(leads.find_same_question()?)?;
    let day = doc.timestamp().format("%Y-%m-%d");
    Some(format!("asked before on {day} (record {})", doc.id))
}

/// Returns a note if a word of the question is in no memory but in a few prompts that only ask: how
/// to see these.
pub(super) fn prompts_with_word_note(scene: &Scene<'_>) -> Option<String> {
    if scene.plan.traits.asks_for_questions {
        return None;
    }
    let terms = scene.plan.query.terms.iter().zip(scene.lexical.terms);
    let mut words = terms.filter(|(term, signal)| {
        signal.documents == 0 && term.corrections.is_empty() && can_be_typed(&term.surface)
    });
    words.find_map(|(term, _)| {
        let word = &term.surface;
        let has = match count_prompts_with_word(scene, term)? {
            1 => "1 prompt that only asks has".to_owned(),
            count => format!("{count} prompts that only ask have"),
        };
        Some(format!(
            "{has} the word `{word}`: `reprise recall {word} --type prompt`"
        ))
    })
}

/// Counts the stored prompts with a word that no other record has; `None` if another has it, or too
/// many or none of them do.
fn count_prompts_with_word(scene: &Scene<'_>, term: &QueryTerm) -> Option<usize> {
    let view = &scene.plan.view;
    let word = Query {
        terms: vec![term.clone()],
    };
    let found = scene.index.find_all_words(&word, 0)?;
    let held: Vec<u32> = found.into_iter().filter(|at| view.contains(*at)).collect();
    let is_prompt = |at: &u32| {
        let traits = scene.index.doc_traits(*at, view);
        traits.is_some_and(|traits| traits.bare_prompt)
    };
    let is_rare = (1..=RARE_PROMPTS_MAX).contains(&held.len());
    (is_rare && held.iter().all(is_prompt)).then_some(held.len())
}

/// Whether a word can be typed at a terminal as it is.
fn can_be_typed(word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !word.starts_with('-') && word.chars().all(is_part)
}

/// Whether a candidate says nothing that could answer.
fn only_asks(scene: &Scene<'_>, candidate: &RecallCandidate) -> bool {
    let traits = &candidate.traits;
    let shared = || shared_word_share(scene, candidate);
    let near = || scene.nearness_of(candidate.ordinal);
    let cosine = || near().map_or(0.0, |near| near.cosine);
    traits.bare_prompt
        || (traits.informative_prompt && (shared() >= REPEATED || cosine() >= REPEATED_COSINE))
        || (traits.only_asks && (shared() >= NOTHING_NEW || cosine() >= SAME_COSINE))
}

/// Returns the share of a text's words that are in the question. Each word counts as often as it
/// was asked, so that a text that repeats a word equals itself when it is asked again; a word too
/// common to be looked up counts as the others do.
fn shared_word_share(scene: &Scene<'_>, candidate: &RecallCandidate) -> f32 {
    let mask = scene.lexical.term_mask(candidate.ordinal);
    let (mut held, mut looked_up, mut asked) = (0, 0, 0);
    for (term, signal) in scene.plan.query.terms.iter().zip(scene.lexical.terms) {
        asked += term.count;
        if let Some(bit) = signal.bit {
            looked_up += term.count;
            held += (mask >> bit & 1) * term.count;
        }
    }
    let share = held as f32 / candidate.traits.terms.max(1) as f32;
    share * asked as f32 / looked_up.max(1) as f32
}

/// Returns how far a lead is the question, 0..1: by its meaning, otherwise by its words.
fn sameness_with_question(scene: &Scene<'_>, lead: &RecallCandidate) -> f32 {
    let words = scene.word_share(lead.ordinal) * shared_word_share(scene, lead).min(1.0);
    let meaning = scene.nearness_of(lead.ordinal).map_or(0.0, |near| {
        (near.cosine - OTHER_COSINE) / (SAME_COSINE - OTHER_COSINE)
    });
    words.max(meaning).clamp(0.0, 1.0)
}
