//! Leads are records that only ask: a stored prompt, a request that was made before, and a turn
//! that says nothing beyond the question. They are no answers and lower no answer's probability;
//! the records that followed them gain. A stored prompt that also tells something is a candidate,
//! and what came of it comes before it, unless the prompt itself tells what is asked for. The steps
//! on the way to an answer stand below it.

use crate::fuse::scored::{Lift, ScoredCandidate, select_best};

/// Most records after a lead that gain, up to the next lead.
pub const FOLLOWERS_MAX: usize = 4;
/// Logit that the first follower gains if the lead asked the same.
const REPLY: f32 = 2.0;
/// Logit that the other followers gain if the lead asked the same.
const LATER: f32 = 1.0;
/// Sameness with the question from which on a lead's followers gain.
const LEAST: f32 = 0.2;
/// Sameness with the question from which on an explanation names the lead.
const SAID: f32 = 0.9;

/// Number of the best results among which what followed a stored prompt is shown with it.
const PROMPTS_MAX: usize = 10;
/// Number of the best results among which steps of turns are looked for.
const STEPS_MAX: usize = 32;
/// Distance of what followed a prompt from the prompt, as a logit.
const STEP: f32 = 0.01;

/// The leads among the candidates, and the records that followed them.
#[derive(Debug, Default)]
pub struct Leads {
    /// The followers, ascending: the ordinal, its gain, and the lead that gave most.
    gains: Vec<(u32, f32, u32)>,
    /// The lead that is most similar to the question, with its sameness.
    same: Option<(f32, u32)>,
    /// Number of candidates that were leads.
    pub count: u32,
}

impl Leads {
    /// Adds a lead that is the question to this part, 0..1, with what followed it.
    pub fn add_lead(&mut self, lead: u32, same: f32, followers: impl FnOnce() -> Vec<u32>) {
        self.count += 1;
        if same < LEAST {
            return;
        }
        if self.same.is_none_or(|known| same > known.0) {
            self.same = Some((same, lead));
        }
        for (place, follower) in followers().into_iter().enumerate() {
            let gain = if place == 0 { REPLY } else { LATER };
            self.gains.push((follower, gain * same, lead));
        }
    }

    /// Keeps, of each follower, the lead that gave most; call it after the last lead.
    pub fn keep_most(&mut self) {
        self.gains
            .sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        self.gains.dedup_by_key(|gain| gain.0);
    }

    /// Returns what a record gains, as a logit; 0 for most.
    pub fn gain_of(&self, ordinal: u32) -> f32 {
        self.find_gain(ordinal).map_or(0.0, |gain| gain.1)
    }

    /// Returns the earlier question that a record followed, if it was the same as this one.
    pub fn find_preceding_question(&self, ordinal: u32) -> Option<u32> {
        let (_, _, lead) = self.find_gain(ordinal)?;
        let (same, _) = self.same.filter(|(_, of)| of == lead)?;
        (same >= SAID).then_some(*lead)
    }

    /// Returns the record that asked exactly the same before.
    pub fn find_same_question(&self) -> Option<u32> {
        self.same
            .filter(|(same, _)| *same >= 1.0)
            .map(|(_, lead)| lead)
    }

    fn find_gain(&self, ordinal: u32) -> Option<&(u32, f32, u32)> {
        let at = self
            .gains
            .binary_search_by_key(&ordinal, |gain| gain.0)
            .ok()?;
        self.gains.get(at)
    }
}

/// What followed a stored prompt and is about the question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptAnswers {
    pub followers: Vec<u32>,
    /// Whether the best of them comes before the prompt, which asks for it, and not directly after.
    pub comes_first: bool,
}

/// A record of a turn that an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepOfTurn {
    pub answer: u32,
    /// Whether a question that finds the step asks for the answer: a test that failed says what it
    /// is about, the name of a file hardly does.
    pub speaks_for_answer: bool,
}

/// Puts the steps of a turn below the answer that ended it, unless the question names what they
/// have: what came of them is what is asked for. `step_at` says which records are steps.
pub fn put_steps_below(
    ranked: &mut [ScoredCandidate],
    step_at: impl Fn(u32) -> Option<StepOfTurn>,
) {
    let best = select_best(ranked, STEPS_MAX).iter();
    let best = best.filter(|one| one.named.is_none());
    let steps = best.filter_map(|one| Some((one.ordinal, step_at(one.ordinal)?)));
    let steps: Vec<(u32, StepOfTurn)> = steps.collect();
    for (
        ordinal,
        StepOfTurn {
            answer,
            speaks_for_answer,
        },
    ) in steps
    {
        let place = |wanted: u32| ranked.iter().position(|one| one.ordinal == wanted);
        let (Some(step), Some(answer)) = (place(ordinal), place(answer)) else {
            continue;
        };
        let above = ranked[step].logit + STEP - ranked[answer].logit;
        if above <= 0.0 {
            continue;
        }
        if speaks_for_answer {
            ranked[answer].lift(Lift::StepsOfRun, above);
        } else {
            ranked[step].lift(Lift::StepsOfRun, -above);
        }
    }
}

/// Lifts the best of what followed a stored prompt that tells something, too, to the prompt: who
/// asks about the same now wants what came of it. `answers_to` returns what followed a prompt.
pub fn lift_answers(ranked: &mut [ScoredCandidate], answers_to: impl Fn(u32) -> PromptAnswers) {
    let best = select_best(ranked, PROMPTS_MAX).iter();
    let best: Vec<(u32, f32)> = best.map(|one| (one.ordinal, one.logit)).collect();
    for (prompt, logit) in best {
        let answers = answers_to(prompt);
        let near = ranked.iter_mut();
        let near = near.filter(|one| answers.followers.contains(&one.ordinal));
        let Some(best) = near.max_by(|a, b| a.logit.total_cmp(&b.logit)) else {
            continue;
        };
        let step = if answers.comes_first { STEP } else { -STEP };
        let lift = logit + step - best.logit;
        if lift > 0.0 {
            best.lift(Lift::AskedBefore, lift);
        }
    }
}
