//! The signals that count for a record: each is a function from 0 to 1 with a name, in one table.
//! Their weights are in [`weights`]; what lifts a record in addition is in
//! [`Lift`](crate::fuse::scored::Lift).

pub(crate) mod ablation;
pub(crate) mod languages;
pub(crate) mod scale;
pub(crate) mod weights;

use crate::candidate::{MeasuredCandidate, SignalContext};
use scale::{flag_to_signal, to_signal};
use weights::COUNT;

/// One signal: its name, the kinds of evidence it belongs to (for ablations), and its function.
pub(crate) struct Signal {
    pub(crate) name: &'static str,
    pub(crate) kinds: &'static [&'static str],
    pub(crate) value: fn(SignalContext, &MeasuredCandidate) -> f32,
}

/// Position of a signal that also counts for a text outside any dialogue, as the next four do.
pub(crate) const MEANING: usize = 0;
pub(crate) const WORDS: usize = 2;
pub(crate) const COVERAGE: usize = 4;
pub(crate) const SAME_TEXT: usize = 5;
pub(crate) const TIME_ASKED: usize = 16;

macro_rules! signals {
    ($($name:ident: $($kind:literal)+;)+) => {
        /// Every signal, in the order of [`weights::WEIGHTS`].
        pub(crate) const SIGNALS: [Signal; COUNT] = [$(Signal {
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

/// Share of common words from which on record and question begin to count as one text.
const SAME_FROM: f32 = 0.75;
/// Terms from which on a text counts as complete.
const SUBSTANTIAL_TERMS: f32 = 16.0;

/// How far the record's cosine exceeds the mean.
fn meaning(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    to_signal(candidate.meaning)
}

/// How far the record's cosine exceeds the mean, as far as it is a short turn of a dialogue: its
/// vector says less of what it is about.
fn meaning_of_short_turn(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    to_signal(candidate.meaning) * candidate.brevity() * candidate.dialogue
}

/// How far the record's BM25 exceeds the mean.
fn words(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    to_signal(candidate.words)
}

/// How far the record's BM25 exceeds the mean, as far as it is a short turn of a dialogue: its
/// subject is in the turn that it answers.
fn words_of_short_turn(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    to_signal(candidate.words) * candidate.brevity() * candidate.dialogue
}

/// Weighted share of the question's words that the record holds, of all that it asks for.
fn coverage(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    candidate.share
}

/// How far the question is the record's own text: all its words, and no others.
fn same_text(question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    same_text_value(candidate.share, question.question_terms, candidate.terms)
}

/// Returns that signal from the share of the question's words, and the number of terms of both.
pub(crate) fn same_text_value(share: f32, question_terms: u32, terms: u32) -> f32 {
    let length = question_terms as f32 / terms.max(1) as f32;
    let alike = share * length.min(1.0);
    ((alike - SAME_FROM) / (1.0 - SAME_FROM)).max(0.0)
}

// Context: the turns just before and after in a dialogue. A short turn ("Yes, last summer!") is
// understood with its neighbours, so each of these signals counts as far as the text is short and
// its neighbours are in dialogue with it.

/// How far the neighbours' cosines exceed the mean.
fn near_meaning(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    neighbour_weight(candidate) * to_signal(candidate.near_meaning)
}

/// How far the neighbours' BM25 exceeds the mean.
fn near_words(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    neighbour_weight(candidate) * to_signal(candidate.near_words)
}

/// Share of the question's rare words that the record and the turns around it hold together.
fn near_coverage(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    neighbour_weight(candidate) * candidate.near_share
}

/// Returns how much a record's neighbours count for it.
fn neighbour_weight(candidate: &MeasuredCandidate) -> f32 {
    candidate.dialogue * candidate.brevity()
}

// Session: the subject of the whole conversation around a record, as far as the record is in a
// dialogue: a week of commits is a session too, and about everything.

/// How far the session's BM25, as one text, exceeds the mean.
fn session_words(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    candidate.dialogue * to_signal(candidate.session_words)
}

/// How far the cosines of its session's most similar candidates exceed the mean.
fn session_meaning(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    candidate.dialogue * to_signal(candidate.session_meaning)
}

/// The user's own words, if there are words of others too. What an agent was told to do is mostly
/// about that task, so a prompt counts only if the question asks for what the user said.
fn own_words(question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    let counts = !candidate.is_prompt || question.traits.asks_user;
    let is_own = question.has_other_speakers && candidate.by_user;
    candidate.dialogue * flag_to_signal(is_own && counts)
}

/// The user's own words, if the question is for the assistant's.
fn asked_of_assistant(question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    candidate.dialogue * flag_to_signal(question.traits.asks_assistant && candidate.by_user)
}

/// 1 if the question names who speaks, 0 if it names somebody else, and 0.5 if it names nobody.
fn speaker(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    candidate.dialogue * candidate.by_named_speaker.map_or(0.5, flag_to_signal)
}

/// A rule or preference that the user set for good: it applies to whatever is similar.
fn standing_instruction(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    candidate.dialogue * flag_to_signal(candidate.instruction && candidate.by_user)
}

/// Whether something is said at all: greetings and thanks have few words that are not stop words.
fn substance(_question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    candidate.dialogue * (candidate.terms as f32 / SUBSTANTIAL_TERMS).min(1.0)
}

/// The record names a time, and the question asks for one.
fn time_asked(question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    flag_to_signal(question.traits.asks_when && candidate.dated)
}

/// The record names a time, though none is asked for: such a record is about something that
/// happened.
fn time_told(question: SignalContext, candidate: &MeasuredCandidate) -> f32 {
    candidate.dialogue * flag_to_signal(!question.traits.asks_when && candidate.dated)
}

/// Computes all signals of a candidate.
pub(crate) fn signal_values(
    question: SignalContext,
    candidate: &MeasuredCandidate,
) -> [f32; COUNT] {
    SIGNALS
        .each_ref()
        .map(|signal| (signal.value)(question, candidate))
}

/// Whether a signal is about the dialogue around a record, and is 0 outside of one.
pub(crate) const fn is_dialogue_signal(signal: usize) -> bool {
    !matches!(signal, MEANING | WORDS | COVERAGE | SAME_TEXT | TIME_ASKED)
}
