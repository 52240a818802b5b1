//! One candidate as the ranking sees it: plain measures, which the reader of the memory takes.

use crate::question::QuestionTraits;

/// Weight of meaning as evidence if the record has no word of the question.
const WITHOUT_WORDS: f32 = 0.6;
/// Share of the evidence that is meaning alone.
const MEANING_ALONE: f32 = 0.6;
/// Terms of a text that is half a turn, half a page.
const BREVITY_TERMS: f32 = 16.0;

/// What the signals depend on that is the same for all candidates of one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SignalContext {
    pub traits: QuestionTraits,
    /// Number of the question's terms, each as often as it is asked.
    pub question_terms: u32,
    /// Whether the memory holds words of others next to the user's.
    pub has_other_speakers: bool,
}

/// A cosine above its space's floor, and its standard score there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearness {
    pub cosine: f32,
    pub standard: f32,
}

/// What an outcome record tells of its run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OutcomeMeasures {
    pub quality: Option<f32>,
    /// Cosine of the question and the record; 0 if one of the two has no vector.
    pub cosine: f32,
}

/// One candidate, measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a measure of its own"
)]
pub struct MeasuredCandidate {
    pub ordinal: u32,
    /// Of two records with the same score, the one with the higher value comes first.
    pub tie_break: u32,
    /// Number of its terms.
    pub terms: u32,
    /// Standard score of its cosine with the question.
    pub meaning: f32,
    /// Standard score of its words.
    pub words: f32,
    /// Weighted share of the question's words that it holds, of all that it asks for.
    pub share: f32,
    /// How well its meaning and its words together answer, 0..1, without regard to other records.
    pub evidence: f32,
    /// Mean standard score of the cosines of its neighbours in the dialogue; one that is missing
    /// counts as 0.
    pub near_meaning: f32,
    /// Mean standard score of their words, with the same rule.
    pub near_words: f32,
    /// Share of the question's rare words that it and the turns around it hold together.
    pub near_share: f32,
    /// Mean standard score of its session's most similar candidates.
    pub session_meaning: f32,
    /// Standard score of its session's words as one text.
    pub session_words: f32,
    /// Share of its neighbours with which it is in a dialogue, 0..1. Only there do neighbours and
    /// session explain a record: the neighbours of a commit or a command are about something else.
    pub dialogue: f32,
    /// Whether it is the user's own words.
    pub by_user: bool,
    /// Whether it is a prompt that a person gave to an agent.
    pub is_prompt: bool,
    /// Whether it is a rule or preference that was set for good.
    pub instruction: bool,
    /// Whether its text names a time.
    pub dated: bool,
    /// Whether the question names who speaks; `None` if it names no speaker, or nobody is known to
    /// speak.
    pub by_named_speaker: Option<bool>,
    /// Logit that it gains because it followed an earlier question that asked the same, 0 or more.
    pub asked_before: f32,
    /// Whether it is of the type that is plainly asked for, 0 or 1.
    pub asked_type: f32,
    /// What it tells of a run, if it is the outcome of one.
    pub outcome: Option<OutcomeMeasures>,
}

impl MeasuredCandidate {
    /// Returns `1 / (1 + terms / 16)`: near 1 for a short turn, near 0 for a page. Short turns are
    /// understood with their neighbours, pages by themselves.
    pub(crate) fn brevity(&self) -> f32 {
        1.0 / (1.0 + self.terms as f32 / BREVITY_TERMS)
    }
}

/// Returns how well one record's meaning and words together answer, 0..1: near 0 unless both do.
/// Without a vector the words count for both.
pub fn compute_evidence(words: f32, cosine: Option<f32>) -> f32 {
    let meaning = cosine.unwrap_or(words).clamp(0.0, 1.0);
    let both = ((words + WITHOUT_WORDS) * meaning).sqrt().min(1.0);
    both + MEANING_ALONE * (meaning - both)
}
