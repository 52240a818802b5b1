//! Measures candidates for the ranking, and says what relates them.

use reprise_rank::{
    Leads, MeasuredCandidate, OutcomeMeasures, SignalContext, compute_evidence, run_term,
};
use reprise_types::MemorySource;

use super::exchanges::Exchanges;
use super::scene::{RecallCandidate, Scene};
use crate::snapshot::Snapshot;

/// Turns on either side whose words count as around a record.
const REACH: usize = 3;

impl Scene<'_> {
    /// Returns what is the same for the signals of all candidates.
    pub(super) fn signal_context(&self) -> SignalContext {
        let terms = self.plan.query.terms.iter();
        SignalContext {
            traits: self.plan.traits,
            question_terms: terms.map(|term| term.count).sum(),
            has_other_speakers: self.has_other_speakers,
        }
    }

    /// Whether anything at all speaks for a record: without evidence even the best is no answer.
    pub(super) fn has_evidence(&self, candidate: &RecallCandidate) -> bool {
        let (previous, next) = candidate.traits.neighbours;
        let words = |ordinal: u32| self.lexical.score(ordinal) > 0.0;
        candidate.meaning > 0.0
            || words(candidate.ordinal)
            || [previous, next].into_iter().flatten().any(words)
            || self.lexical.session_score(candidate.traits.session) > 0.0
    }

    /// Measures a candidate: an answer together with the prompt that it answers.
    pub(super) fn measure(
        &self,
        candidate: &RecallCandidate,
        leads: &Leads,
        exchanges: &Exchanges,
    ) -> MeasuredCandidate {
        let Some(prompt) = exchanges.prompt_of(candidate.ordinal) else {
            return self.measure_alone(candidate, leads);
        };
        // What is a part of its own text is no neighbour that speaks for it, too.
        let alone = candidate.without_neighbour(prompt);
        self.add_prompt(self.measure_alone(&alone, leads), prompt)
    }

    /// Adds the measures of its prompt to those of an answer: the two are one text in two parts.
    fn add_prompt(&self, answer: MeasuredCandidate, prompt: u32) -> MeasuredCandidate {
        let mask = self.lexical.term_mask(answer.ordinal) | self.lexical.term_mask(prompt);
        let share = self.lexical.weighted_coverage(mask);
        let cosine = |ordinal: u32| self.nearness_of(ordinal).map(|near| near.cosine);
        let cosines = cosine(answer.ordinal).into_iter().chain(cosine(prompt));
        let terms = self.index.doc_traits(prompt, &self.plan.view);
        MeasuredCandidate {
            terms: answer.terms + terms.map_or(0, |traits| traits.terms),
            meaning: answer.meaning.max(self.meaning_score(prompt)),
            words: answer.words.max(self.words_score(prompt)),
            share,
            evidence: compute_evidence(share, cosines.reduce(f32::max)).max(answer.evidence),
            ..answer
        }
    }

    /// Measures a candidate by itself and its neighbours.
    fn measure_alone(&self, candidate: &RecallCandidate, leads: &Leads) -> MeasuredCandidate {
        let (ordinal, traits) = (candidate.ordinal, &candidate.traits);
        let is_of_type = self.plan.of_type.binary_search(&ordinal).is_ok();
        let speaker = traits.speaker;
        let names_speaker = self.names_a_speaker && speaker != 0;
        MeasuredCandidate {
            ordinal,
            tie_break: if self.snapshot.prefer_oldest {
                u32::MAX - ordinal
            } else {
                ordinal
            },
            terms: traits.terms,
            meaning: candidate.meaning,
            words: candidate.words,
            share: self.word_share(ordinal),
            evidence: candidate.evidence,
            near_meaning: mean_over_neighbours(candidate, |near| self.meaning_score(near)),
            near_words: mean_over_neighbours(candidate, |near| self.words_score(near)),
            near_share: self.near_share(candidate),
            session_meaning: candidate.session_meaning,
            session_words: self.session_words_score(traits.session),
            dialogue: candidate.dialogue_share,
            by_user: traits.by_user,
            is_prompt: traits.bare_prompt || traits.informative_prompt,
            instruction: traits.instruction,
            dated: traits.dated,
            by_named_speaker: names_speaker.then(|| self.is_named_speaker(speaker)),
            asked_before: leads.gain_of(ordinal),
            asked_type: f32::from(u8::from(is_of_type)),
            outcome: self.outcome_of(ordinal),
        }
    }

    /// Returns the share of the question's rare words that a record and the turns around it hold
    /// together; 0 outside of a dialogue.
    fn near_share(&self, candidate: &RecallCandidate) -> f32 {
        if candidate.dialogue_share == 0.0 {
            return 0.0;
        }
        let mut terms = self.lexical.term_mask(candidate.ordinal);
        let (previous, next) = candidate.traits.neighbours;
        for (start, forward) in [(previous, false), (next, true)] {
            let mut at = start;
            for _ in 0..REACH {
                let Some(ordinal) = at else { break };
                terms |= self.lexical.term_mask(ordinal);
                let (before, after) = self.plan.view.neighbours(ordinal);
                at = if forward { after } else { before };
            }
        }
        self.lexical.coverage(terms)
    }

    /// Returns what an outcome record tells of its run; `None` for any other record.
    fn outcome_of(&self, ordinal: u32) -> Option<OutcomeMeasures> {
        let doc = self.snapshot.index.doc(ordinal)?;
        if doc.source != MemorySource::TrajectoryOutcome {
            return None;
        }
        let record = self.snapshot.record(ordinal, self.plan.as_of).ok();
        // What a session taught has no run that went well or badly.
        if record.as_ref().is_some_and(|one| !one.is_run_outcome()) {
            return None;
        }
        Some(OutcomeMeasures {
            quality: record.and_then(|record| record.quality_score),
            cosine: self.nearness_of(ordinal).map_or(0.0, |near| near.cosine),
        })
    }
}

/// Returns the records of the run that a record belongs to, ascending: they describe one event, and
/// none of them makes another unlikely.
pub(super) fn records_of_its_run(snapshot: &Snapshot, ordinal: u32) -> Vec<u32> {
    let doc = snapshot.index.doc(ordinal);
    if doc.is_none_or(|doc| doc.source == MemorySource::UserInput) {
        return Vec::new();
    }
    let record = snapshot.reader.read_record(ordinal).ok();
    let run = record.and_then(|record| record.body.provenance.run_id);
    run.map(|run| snapshot.index.find_exact_term(&run_term(&run)))
        .unwrap_or_default()
}

/// Returns the mean over both neighbours; one that is missing or no turn of the dialogue counts as
/// the store's mean.
fn mean_over_neighbours(candidate: &RecallCandidate, standard: impl Fn(u32) -> f32) -> f32 {
    candidate.dialogue_neighbours().map(standard).sum::<f32>() / 2.0
}
