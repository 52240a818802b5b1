//! The signals: what speaks for a record, each a named number from 0 to 1.
//!
//! One file per kind of evidence, one function per signal, one table that names them all. Weights
//! are in [`super::weights`].

mod context;
mod meaning;
mod session;
mod time;
mod voice;
mod words;

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

/// Every signal, in the order of [`super::weights::WEIGHTS`].
pub(super) const SIGNALS: [Signal; COUNT] = [
    signal("meaning", &["meaning"], meaning::meaning),
    signal(
        "meaning_of_short_turn",
        &["meaning"],
        meaning::meaning_of_short_turn,
    ),
    signal("words", &["words"], words::words),
    signal(
        "words_of_short_turn",
        &["words"],
        words::words_of_short_turn,
    ),
    signal("coverage", &["words"], words::coverage),
    signal("same_text", &["words"], words::same_text),
    signal(
        "near_meaning",
        &["meaning", "context"],
        context::near_meaning,
    ),
    signal("near_words", &["words", "context"], context::near_words),
    signal(
        "near_coverage",
        &["words", "context"],
        context::near_coverage,
    ),
    signal(
        "session_words",
        &["words", "session"],
        session::session_words,
    ),
    signal(
        "session_meaning",
        &["meaning", "session"],
        session::session_meaning,
    ),
    signal("own_words", &["voice"], voice::own_words),
    signal("asked_of_assistant", &["voice"], voice::asked_of_assistant),
    signal("speaker", &["voice", "speaker"], voice::speaker),
    signal(
        "standing_instruction",
        &["instruction"],
        voice::standing_instruction,
    ),
    signal("substance", &["substance"], voice::substance),
    signal("time_asked", &["time"], time::time_asked),
    signal("time_told", &["time"], time::time_told),
];

const fn signal(
    name: &'static str,
    kinds: &'static [&'static str],
    value: fn(&Scene<'_>, &Candidate) -> f32,
) -> Signal {
    Signal { name, kinds, value }
}

pub(super) use words::same;

/// Every signal of one candidate.
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
