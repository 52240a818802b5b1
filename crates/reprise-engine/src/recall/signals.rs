//! The signals: what speaks for a record, each a named number from 0 to 1: a function each, and one
//! table that names them all. Weights are in [`super::weights`].

use super::scale::{flag, unit};
use super::scene::{Candidate, Scene};

/// One signal: its name, the kinds of evidence it counts among (for ablations), and itself.
pub(super) struct Signal {
    pub(super) name: &'static str,
    pub(super) kinds: &'static [&'static str],
    pub(super) value: fn(&Scene<'_>, &Candidate) -> f32,
}

pub(super) const COUNT: usize = 18;

/// Places among them of what speaks for a text outside any dialogue.
pub(super) const MEANING: usize = 0;
pub(super) const WORDS: usize = 2;
pub(super) const COVERAGE: usize = 4;
pub(super) const SAME_TEXT: usize = 5;
pub(super) const TIME_ASKED: usize = 16;

macro_rules! signals {
    ($($name:ident: $($kind:literal)+;)+) => {
        /// Every signal, in the order of [`super::weights::WEIGHTS`].
        pub(super) const SIGNALS: [Signal; COUNT] = [$(Signal {
            name: stringify!($name),
            kinds: &[$($kind),+],
            value: $name,
        }),+];
    };
}

signals! {
    meaning: "meaning";
    meaning_of_short_turn: "meaning";
    words: "words";
    words_of_short_turn: "words";
    coverage: "words";
    same_text: "words";
    near_meaning: "meaning" "context";
    near_words: "words" "context";
    near_coverage: "words" "context";
    session_words: "words" "session";
    session_meaning: "meaning" "session";
    own_words: "voice";
    asked_of_assistant: "voice";
    speaker: "voice" "speaker";
    standing_instruction: "instruction";
    substance: "substance";
    time_asked: "time";
    time_told: "time";
}

/// Record and question are taken for one text from this share of common words on.
const SAME_FROM: f32 = 0.75;
/// Turns on either side whose words count as around a record.
const REACH: usize = 3;
/// Terms from which on a text is taken for whole.
const SUBSTANTIAL_TERMS: f32 = 16.0;

/// How far the record's cosine stands out.
fn meaning(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.meaning)
}

/// The same, as far as the record is a short turn of a dialogue: its vector says less of what it is
/// about.
fn meaning_of_short_turn(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.meaning) * candidate.brevity * candidate.dialogue
}

/// How far the record's BM25 stands out.
fn words(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.words)
}

/// The same, as far as the record is a short turn of a dialogue: what it is about stands in the
/// turn that it answers.
fn words_of_short_turn(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    unit(candidate.words) * candidate.brevity * candidate.dialogue
}

/// Weighted share of the question's words that the record holds, of all that it asks for.
fn coverage(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    scene.share(candidate.ordinal)
}

/// The question is the record's own text, or nearly: all its words, and no others.
fn same_text(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    let asked: u32 = scene.plan.query.terms.iter().map(|term| term.count).sum();
    same(coverage(scene, candidate), asked, candidate.traits.terms)
}

/// The same from the share of the question's words, and how many terms both have.
pub(super) fn same(share: f32, asked: u32, terms: u32) -> f32 {
    let length = asked as f32 / terms.max(1) as f32;
    let alike = share * length.min(1.0);
    ((alike - SAME_FROM) / (1.0 - SAME_FROM)).max(0.0)
}

// Context: what stands just before and after in a dialogue. A short turn ("Yes, last summer!") is
// understood with its neighbours, so each signal counts as far as the text is short and its
// neighbours answer it.

/// How far the neighbours' cosines stand out.
fn near_meaning(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    understood_by(candidate) * unit(mean_of_turns(candidate, |near| scene.meaning_of(near)))
}

/// How far the neighbours' BM25 stands out.
fn near_words(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    understood_by(candidate) * unit(mean_of_turns(candidate, |near| scene.words_of(near)))
}

/// Share of the question's rare words that the record and the turns around it hold together.
fn near_coverage(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    if candidate.dialogue == 0.0 {
        return 0.0;
    }
    let mut terms = scene.lexical.terms_of(candidate.ordinal);
    let (previous, next) = candidate.traits.neighbours;
    let neighbours = |ordinal: u32| scene.plan.view.neighbours(ordinal);
    for (start, forward) in [(previous, false), (next, true)] {
        let mut at = start;
        for _ in 0..REACH {
            let Some(ordinal) = at else { break };
            terms |= scene.lexical.terms_of(ordinal);
            let (before, after) = neighbours(ordinal);
            at = if forward { after } else { before };
        }
    }
    understood_by(candidate) * scene.lexical.coverage(terms)
}

/// How far a record is understood by what stands around it.
fn understood_by(candidate: &Candidate) -> f32 {
    candidate.dialogue * candidate.brevity
}

/// The mean over both neighbours; one that is missing or no turn of the dialogue counts as the
/// store's mean.
fn mean_of_turns(candidate: &Candidate, standard: impl Fn(u32) -> f32) -> f32 {
    candidate.turns().map(standard).sum::<f32>() / 2.0
}

// Session: what the whole conversation around a record is about, as far as the record is in a
// dialogue: a week of commits is a session too, and about everything.

/// How far the session's BM25, as one text, stands out.
fn session_words(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * unit(scene.session_words_of(candidate.traits.session))
}

/// How far the cosines of its most meaningful candidates stand out.
fn session_meaning(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * unit(candidate.session_meaning)
}

/// The user's own words, where they stand among those of others.
fn own_words(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * flag(scene.mixed && candidate.traits.by_user)
}

/// The user's own words, where the question is for the assistant's.
fn asked_of_assistant(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * flag(scene.plan.asked.assistant && candidate.traits.by_user)
}

/// 1 where the question names who speaks, 0 where it names somebody else, between them where it
/// names nobody.
fn speaker(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    let speaker = candidate.traits.speaker;
    let named = if !scene.named || speaker == 0 {
        0.5
    } else {
        flag(scene.names(speaker))
    };
    candidate.dialogue * named
}

/// A rule or preference that the user gave for good: it applies to whatever is near it.
fn standing_instruction(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * flag(candidate.traits.instruction && candidate.traits.by_user)
}

/// Something is said at all: greetings and thanks have few words that are not stop words.
fn substance(_scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * (candidate.traits.terms as f32 / SUBSTANTIAL_TERMS).min(1.0)
}

/// Tells a time, and one is asked for.
fn time_asked(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    flag(scene.plan.asked.when && candidate.traits.dated)
}

/// Tells a time, though none is asked for: such a record is about something that happened.
fn time_told(scene: &Scene<'_>, candidate: &Candidate) -> f32 {
    candidate.dialogue * flag(!scene.plan.asked.when && candidate.traits.dated)
}

pub(super) fn values(scene: &Scene<'_>, candidate: &Candidate) -> [f32; COUNT] {
    SIGNALS
        .each_ref()
        .map(|signal| (signal.value)(scene, candidate))
}

/// Whether a signal speaks of the dialogue around a record, and is 0 outside of one.
pub(super) const fn is_of_dialogue(signal: usize) -> bool {
    !matches!(signal, MEANING | WORDS | COVERAGE | SAME_TEXT | TIME_ASKED)
}

/// Whether anything at all speaks for a record: without it even the best is no answer.
pub(super) fn has_evidence(scene: &Scene<'_>, candidate: &Candidate) -> bool {
    let (previous, next) = candidate.traits.neighbours;
    let words = |ordinal: u32| scene.lexical.score(ordinal) > 0.0;
    candidate.meaning > 0.0
        || words(candidate.ordinal)
        || [previous, next].into_iter().flatten().any(words)
        || scene.lexical.session_score(candidate.traits.session) > 0.0
}
