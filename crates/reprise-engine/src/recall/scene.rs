//! The scene of one question: everything that its signals are computed from.

use reprise_index::{DocTraits, IndexSnapshot, LexicalSignals, SPREAD_SAMPLE, Spread};
use reprise_rank::{
    CosineFloor, LanguageOffsets, Nearness, Scale, compute_evidence, share_variance,
};

use super::candidates::CandidateSet;
use super::plan::RecallPlan;
use crate::snapshot::Snapshot;

/// Most records of which all cosines are sampled; of more, those of [`SPREAD_SAMPLE`], which give
/// the deviation within 3 %.
const SAMPLE_WHOLE: u32 = 1024;
/// With a model of many languages, share of the question's words in the best record from which on
/// words count in full: a word that is shared by chance looks as good as an answer.
const SHARE_FULL: f32 = 0.6;
/// Number of the most similar records of a session that count for it.
const SESSION_BEST: usize = 3;

/// What is the same for all candidates of one question.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) index: &'a IndexSnapshot,
    pub(super) snapshot: &'a Snapshot,
    pub(super) plan: &'a RecallPlan<'a>,
    pub(super) lexical: LexicalSignals<'a>,
    /// Whether the view holds words of others next to the user's.
    pub(super) has_other_speakers: bool,
    /// Whether the question names somebody who speaks in one of the candidates.
    pub(super) names_a_speaker: bool,
    cosines: SpaceCosines,
    /// The cosines of each of the plan's other spaces: every model spreads its cosines in its own
    /// way.
    other_cosines: Vec<SpaceCosines>,
    words: Scale,
    session_words: Scale,
    /// Weight of words, 0..1.
    words_worth: f32,
}

/// The distribution of the cosines of one space.
#[derive(Debug)]
struct SpaceCosines {
    floor: CosineFloor,
    languages: LanguageOffsets,
    scale: Scale,
}

impl SpaceCosines {
    fn nearness(&self, index: &IndexSnapshot, ordinal: u32, cosine: f32) -> Nearness {
        let added = self
            .languages
            .offset_for(|| index.document_language(ordinal));
        let cosine = self.floor.rescale(cosine + added);
        let standard = self.scale.standard_score(cosine);
        Nearness { cosine, standard }
    }
}

/// Measures what the languages of a space do to its cosines with the question, and their
/// distribution, from those of some records: only a model of many languages tells languages apart.
fn measure_languages(
    index: &IndexSnapshot,
    floor: CosineFloor,
    some: &[(u32, f32)],
) -> (LanguageOffsets, Spread) {
    if floor == CosineFloor::default() {
        let sample = Spread::from_values(some.iter().map(|(_, cosine)| *cosine));
        return (LanguageOffsets::default(), sample);
    }
    let with_language = some.iter();
    let with_language = with_language.map(|(at, cosine)| (index.document_language(*at), *cosine));
    LanguageOffsets::from_cosines(&with_language.collect::<Vec<_>>())
}

/// One candidate as every signal sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecallCandidate {
    pub(super) ordinal: u32,
    pub(super) traits: DocTraits,
    /// Whether it has a vector in a space in which the question has one too.
    pub(super) is_comparable: bool,
    /// Standard score of its cosine.
    pub(super) meaning: f32,
    /// Standard score of its words.
    pub(super) words: f32,
    /// How well its meaning and its words together answer, 0..1, without regard to other records.
    pub(super) evidence: f32,
    /// Mean standard score of its session's most similar candidates.
    pub(super) session_meaning: f32,
    /// Share of its neighbours with which it is in a dialogue, 0..1. Only there do neighbours and
    /// session explain a record: the neighbours of a commit or a command are about something else.
    pub(super) dialogue_share: f32,
}

impl RecallCandidate {
    /// Returns it without a neighbour.
    pub(super) fn without_neighbour(mut self, ordinal: u32) -> Self {
        let (previous, next) = &mut self.traits.neighbours;
        for near in [previous, next] {
            *near = near.filter(|near| *near != ordinal);
        }
        self
    }

    /// Returns the neighbours with which it is in a dialogue.
    pub(super) fn dialogue_neighbours(&self) -> impl Iterator<Item = u32> {
        let (previous, next) = self.traits.neighbours;
        let (after_one, before_one) = self.traits.neighbours_in_dialogue;
        let previous = previous.filter(|_| after_one);
        let next = next.filter(|_| before_one);
        previous.into_iter().chain(next)
    }
}

/// Returns the share of a record's neighbours with which it is in a dialogue, 0..1; 0 without
/// neighbours.
pub(crate) fn dialogue_share(traits: &DocTraits) -> f32 {
    let ((previous, next), (after_one, before_one)) =
        (traits.neighbours, traits.neighbours_in_dialogue);
    let neighbours = u8::from(previous.is_some()) + u8::from(next.is_some());
    let turns = u8::from(after_one) + u8::from(before_one);
    f32::from(turns) / f32::from(neighbours.max(1))
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        plan: &'a RecallPlan<'a>,
        found: &CandidateSet<'a>,
    ) -> Self {
        let live = plan.view.statistics_documents();
        let lexical = found.lexical;
        let looked_at = if live <= SAMPLE_WHOLE {
            live as usize
        } else {
            SPREAD_SAMPLE
        };
        let index = &snapshot.index;
        let own = plan.codes.as_ref().map(|codes| {
            let some = index.sample_cosines(codes, looked_at, &plan.view);
            let floor = CosineFloor::of_model(snapshot.unrelated());
            (floor, measure_languages(index, floor, &some))
        });
        let own = own.unwrap_or_default();
        let others = plan.other_spaces.iter().map(|other| {
            let some = other
                .vectors
                .sample_cosines(&other.codes, looked_at, &plan.view);
            let floor = CosineFloor::of_model(snapshot.unrelated_in(other.space));
            (floor, measure_languages(index, floor, &some))
        });
        let mut known = Vec::with_capacity(1 + plan.other_spaces.len());
        let mut samples = Vec::with_capacity(1 + plan.other_spaces.len());
        for (floor, (languages, sample)) in std::iter::once(own).chain(others) {
            samples.push(floor.rescale_spread(&sample));
            known.push((floor, languages));
        }
        share_variance(&mut samples);
        let mut cosines = known
            .into_iter()
            .zip(samples)
            .map(|((floor, languages), sample)| SpaceCosines {
                floor,
                languages,
                scale: Scale::of_cosines(sample),
            });
        let own = cosines.next().unwrap_or_else(|| SpaceCosines {
            floor: CosineFloor::default(),
            languages: LanguageOffsets::default(),
            scale: Scale::of_cosines(Spread::default()),
        });
        let over_live = |spread: Spread| Spread {
            count: live,
            ..spread
        };
        Self {
            index: &snapshot.index,
            snapshot,
            plan,
            lexical,
            has_other_speakers: plan.view.has_mixed_authors(),
            names_a_speaker: false,
            cosines: own,
            other_cosines: cosines.collect(),
            words: Scale::of_words(over_live(lexical.score_spread)),
            session_words: Scale::of_words(over_live(lexical.session_score_spread)),
            words_worth: 1.0,
        }
    }

    /// Builds the candidates of these records, in their order, in `out`.
    pub(super) fn build_candidates(&mut self, ordinals: &[u32], out: &mut Vec<RecallCandidate>) {
        out.clear();
        if self.cosines.floor != CosineFloor::default() {
            let shares = ordinals.iter().map(|at| self.word_share(*at));
            let best = shares.fold(0.0, f32::max);
            self.words_worth = (best / SHARE_FULL).min(1.0).powi(2);
        }
        out.extend(ordinals.iter().filter_map(|at| self.build_candidate(*at)));
        self.names_a_speaker = out
            .iter()
            .any(|candidate| self.is_named_speaker(candidate.traits.speaker));
        set_session_meanings(out);
    }

    /// Adds candidates, which stay in the order of their ordinals.
    pub(super) fn add_candidates(&self, ordinals: &[u32], out: &mut Vec<RecallCandidate>) {
        if ordinals.is_empty() {
            return;
        }
        out.extend(ordinals.iter().filter_map(|at| self.build_candidate(*at)));
        out.sort_unstable_by_key(|one| one.ordinal);
        out.dedup_by_key(|one| one.ordinal);
        set_session_meanings(out);
    }

    /// Looks at one candidate, without its session.
    fn build_candidate(&self, ordinal: u32) -> Option<RecallCandidate> {
        let traits = self.index.doc_traits(ordinal, &self.plan.view)?;
        let nearness = self.nearness_of(ordinal);
        let own = traits.embedded && self.plan.codes.is_some();
        Some(RecallCandidate {
            ordinal,
            traits,
            is_comparable: own || nearness.is_some(),
            meaning: nearness.map_or(0.0, |near| near.standard),
            evidence: compute_evidence(self.word_share(ordinal), nearness.map(|near| near.cosine)),
            words: self.words_score(ordinal),
            session_meaning: 0.0,
            dialogue_share: dialogue_share(&traits),
        })
    }

    /// Returns the standard score of a record's cosine; 0, which is the mean, if one of the two has
    /// no vector and counts neither for nor against.
    pub(super) fn meaning_score(&self, ordinal: u32) -> f32 {
        self.nearness_of(ordinal).map_or(0.0, |near| near.standard)
    }

    /// Returns how near a record is to the question, in the one space that it has its vector in;
    /// `None` if one of the two has none there.
    pub(super) fn nearness_of(&self, ordinal: u32) -> Option<Nearness> {
        let own = self.plan.codes.as_ref();
        if let Some(cosine) = own.and_then(|codes| self.index.cosine(codes, ordinal)) {
            return Some(self.cosines.nearness(self.index, ordinal, cosine));
        }
        let mut others = self.plan.other_spaces.iter().zip(&self.other_cosines);
        others.find_map(|(other, cosines)| {
            let cosine = other.vectors.cosine(&other.codes, ordinal)?;
            Some(cosines.nearness(self.index, ordinal, cosine))
        })
    }

    /// Returns the cosine of a record with the part of the question of which memory knows the
    /// words.
    pub(super) fn cosine_with_known_part(&self, ordinal: u32) -> Option<f32> {
        let part = self.plan.known_part.as_ref()?;
        let cosine = self.index.cosine(part, ordinal)?;
        Some(self.cosines.nearness(self.index, ordinal, cosine).cosine)
    }

    /// Returns the cosine of two records above the floor of the space that has both; 0 if none has.
    pub(super) fn similarity_of(&self, one: u32, other: u32) -> f32 {
        let mut others = self.plan.other_spaces.iter().zip(&self.other_cosines);
        let floor = if self.index.has_vector(one) {
            self.cosines.floor
        } else {
            let held = others.find(|(held, _)| held.vectors.has(one));
            held.map_or_else(CosineFloor::default, |(_, cosines)| cosines.floor)
        };
        let cosine = self.snapshot.cosine_of_ordinals(one, other);
        cosine.map_or(0.0, |likeness| floor.rescale(likeness))
    }

    /// Returns the weighted share of the question's words that a record holds, of all that it asks
    /// for.
    pub(super) fn word_share(&self, ordinal: u32) -> f32 {
        self.lexical
            .weighted_coverage(self.lexical.term_mask(ordinal))
    }

    /// Returns at most `most` records after one in its session, up to the first that `ends` them.
    pub(super) fn list_followers(
        &self,
        ordinal: u32,
        most: usize,
        ends: impl Fn(&DocTraits) -> bool,
    ) -> Vec<u32> {
        let view = &self.plan.view;
        let (mut followers, mut next) = (Vec::new(), view.neighbours(ordinal).1);
        while let Some(follower) = next.filter(|_| followers.len() < most) {
            let traits = self.index.doc_traits(follower, view);
            if traits.is_none_or(|traits| ends(&traits)) {
                break;
            }
            followers.push(follower);
            next = view.neighbours(follower).1;
        }
        followers
    }

    /// Returns the first record before one in its session that `is_meant`, of the `most` nearest.
    pub(super) fn find_before(
        &self,
        ordinal: u32,
        most: usize,
        is_meant: impl Fn(&DocTraits) -> bool,
    ) -> Option<u32> {
        let view = &self.plan.view;
        let before = |at: &u32| view.neighbours(*at).0;
        let mut earlier = std::iter::successors(before(&ordinal), before).take(most);
        earlier.find(|at| {
            let traits = self.index.doc_traits(*at, view);
            traits.is_some_and(|traits| is_meant(&traits))
        })
    }

    /// Returns the standard score of a record's words.
    pub(super) fn words_score(&self, ordinal: u32) -> f32 {
        self.words.standard_score(self.lexical.score(ordinal)) * self.words_worth
    }

    /// Returns the standard score of a session's words as one text.
    pub(super) fn session_words_score(&self, session: Option<u32>) -> f32 {
        self.session_words
            .standard_score(self.lexical.session_score(session))
    }

    /// Whether the question names this speaker.
    pub(super) fn is_named_speaker(&self, speaker: u32) -> bool {
        speaker != 0
            && self
                .plan
                .query
                .terms
                .iter()
                .any(|term| term.hash == speaker)
    }
}

/// Gives each candidate the mean of its session's best standard scores; a missing one counts as the
/// store's mean. A record without a session is a session of its own.
fn set_session_meanings(candidates: &mut [RecallCandidate]) {
    // A session counts only in a dialogue.
    if candidates
        .iter()
        .all(|candidate| candidate.dialogue_share == 0.0)
    {
        return;
    }
    let mut order: Vec<u32> = (0..candidates.len() as u32).collect();
    let key = |at: &u32| {
        let candidate = &candidates[*at as usize];
        (candidate.traits.session, candidate.meaning)
    };
    order.sort_unstable_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(b.1.total_cmp(&a.1))
    });
    let mut rest = order.as_slice();
    while let Some(&first) = rest.first() {
        let session = candidates[first as usize].traits.session;
        let same = |at: &&u32| candidates[**at as usize].traits.session == session;
        let count = match session {
            Some(_) => rest.iter().take_while(same).count(),
            None => 1,
        };
        let (members, others) = rest.split_at(count);
        let best = members.iter().take(SESSION_BEST);
        let sum: f32 = best.map(|at| candidates[*at as usize].meaning).sum();
        for at in members {
            candidates[*at as usize].session_meaning = sum / SESSION_BEST as f32;
        }
        rest = others;
    }
}
