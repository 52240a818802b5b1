//! Leads: what only asks. A kept prompt, a request that was made before and a turn that says
//! nothing beyond the question are no answers and press no answer's probability; what followed
//! them gains.

use reprise_types::RecordId;

use super::scene::{Candidate, Scene};
use crate::snapshot::Snapshot;

/// Share of a question's words that stand in the one at hand, from which on it says nothing beyond;
/// and of a prompt's that tells something.
const NOTHING_NEW: f32 = 0.8;
const REPEATED: f32 = 0.9;
/// The cosine from which it asks the same in other words, and such a prompt says the same.
const SAME_COSINE: f32 = 0.85;
const REPEATED_COSINE: f32 = 0.95;
/// The cosine at which a lead is about something else.
const OTHER_COSINE: f32 = 0.55;
/// Records after a lead that it leads to, up to the next one.
const FOLLOWERS_MAX: usize = 4;
/// Logit that the first of them gains where the same was asked, and that the others do.
const REPLY: f32 = 2.0;
const LATER: f32 = 1.0;
/// How far it must be the same question for its followers to gain, and for them to be said to have
/// followed it.
const LEAST: f32 = 0.2;
const SAID: f32 = 0.9;

/// What of the candidates only asks, and what it led to.
#[derive(Debug, Default)]
pub(super) struct Leads {
    /// The followers, ascending: what each gains, and the lead that gave most.
    gains: Vec<(u32, f32, u32)>,
    /// The lead that is most the question, if one is.
    same: Option<(f32, u32)>,
    /// Candidates that were taken out.
    pub(super) count: u32,
}

impl Leads {
    /// Takes what only asks out of the candidates.
    pub(super) fn taken_from(scene: &Scene<'_>, candidates: &mut Vec<Candidate>) -> Self {
        let mut leads = Self::default();
        if scene.plan.asked.asking {
            return leads;
        }
        candidates.retain(|candidate| {
            let is_lead = is_lead(scene, candidate);
            if is_lead {
                leads.count += 1;
                leads.follow(scene, candidate);
            }
            !is_lead
        });
        leads
            .gains
            .sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        leads.gains.dedup_by_key(|gain| gain.0);
        leads
    }

    fn follow(&mut self, scene: &Scene<'_>, lead: &Candidate) {
        let same = sameness(scene, lead);
        if same < LEAST {
            return;
        }
        if self.same.is_none_or(|known| same > known.0) {
            self.same = Some((same, lead.ordinal));
        }
        let view = &scene.plan.view;
        let mut next = view.neighbours(lead.ordinal).1;
        for place in 0..FOLLOWERS_MAX {
            let Some(follower) = next else { break };
            let traits = scene.index.traits(follower, view);
            if traits.is_none_or(|traits| traits.lead) {
                break;
            }
            let gain = if place == 0 { REPLY } else { LATER };
            self.gains.push((follower, gain * same, lead.ordinal));
            next = view.neighbours(follower).1;
        }
    }

    /// What a record gains, as a logit; 0 for most.
    pub(super) fn gain(&self, ordinal: u32) -> f32 {
        self.of(ordinal).map_or(0.0, |gain| gain.1)
    }

    fn of(&self, ordinal: u32) -> Option<&(u32, f32, u32)> {
        let at = self
            .gains
            .binary_search_by_key(&ordinal, |gain| gain.0)
            .ok()?;
        self.gains.get(at)
    }

    /// The question that a record followed, where it was this one, and its day.
    pub(super) fn asked(&self, snapshot: &Snapshot, ordinal: u32) -> Option<(String, RecordId)> {
        let (_, _, lead) = self.of(ordinal)?;
        let (same, _) = self.same.filter(|(_, of)| of == lead)?;
        (same >= SAID).then(|| asked(snapshot, *lead))?
    }

    /// When the same was asked before.
    pub(super) fn note(&self, snapshot: &Snapshot) -> Option<String> {
        let (_, lead) = self.same.filter(|(same, _)| *same >= 1.0)?;
        let (day, id) = asked(snapshot, lead)?;
        Some(format!("asked before on {day} (record {id})"))
    }
}

fn asked(snapshot: &Snapshot, lead: u32) -> Option<(String, RecordId)> {
    let doc = snapshot.index.doc(lead)?;
    Some((doc.timestamp().format("%Y-%m-%d").to_string(), doc.id))
}

/// Whether a candidate says nothing that could answer.
fn is_lead(scene: &Scene<'_>, candidate: &Candidate) -> bool {
    let traits = &candidate.traits;
    let common = || common(scene, candidate);
    let near = || scene.nearness(candidate.ordinal);
    let cosine = || near().map_or(0.0, |near| near.cosine);
    traits.lead
        || (traits.prompt && (common() >= REPEATED || cosine() >= REPEATED_COSINE))
        || (traits.asks && (common() >= NOTHING_NEW || cosine() >= SAME_COSINE))
}

/// Share of a text's words that stand in the question. Each counts as often as it was asked, so
/// that a text that repeats a word is itself when it is asked again; a word that is too common to
/// be looked up counts as the others do.
fn common(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    let mask = scene.lexical.terms_of(candidate.ordinal);
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

/// How far a lead is the question, 0..1: by its meaning, else by its words.
fn sameness(scene: &Scene<'_>, lead: &Candidate) -> f32 {
    let words = scene.share(lead.ordinal) * common(scene, lead).min(1.0);
    let meaning = scene.nearness(lead.ordinal).map_or(0.0, |near| {
        (near.cosine - OTHER_COSINE) / (SAME_COSINE - OTHER_COSINE)
    });
    words.max(meaning).clamp(0.0, 1.0)
}
