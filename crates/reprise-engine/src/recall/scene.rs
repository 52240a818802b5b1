//! The scene of one question: everything that its signals are computed from.

use reprise_index::{DocTraits, IndexSnapshot, LexicalSignals, SPREAD, Sample};

use super::candidates::Found;
use super::languages::ByLanguage;
use super::plan::Plan;
use super::scale::{BM25, COSINES, Floor, Scale, steadied};
use crate::snapshot::Snapshot;

/// Of up to so many records all cosines tell how the cosines spread, of more those of [`SPREAD`]:
/// the deviation is then known to 3 %.
const SAMPLE_WHOLE: u32 = 1024;
/// Of a model of many languages words count in full where the best record holds this share of the
/// question's, else less: what shares a word by chance stands out as far as what answers.
const SHARE_FULL: f32 = 0.6;
/// The most meaningful records of a session that speak for it.
const SPEAKERS: usize = 3;

/// The same for all candidates of one question.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) index: &'a IndexSnapshot,
    pub(super) snapshot: &'a Snapshot,
    pub(super) plan: &'a Plan<'a>,
    pub(super) lexical: LexicalSignals<'a>,
    /// The user's words stand among those of others.
    pub(super) mixed: bool,
    /// The question names somebody who speaks in one of the candidates.
    pub(super) named: bool,
    cosines: Cosines,
    /// The same of each of the plan's other spaces: every model spreads its cosines in its own way.
    other_cosines: Vec<Cosines>,
    words: Scale,
    session_words: Scale,
    /// How far words count, 0..1.
    words_worth: f32,
}

/// A cosine above its space's floor, and how far it stands out there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nearness {
    pub(super) cosine: f32,
    pub(super) standard: f32,
}

/// How the cosines of one space lie.
#[derive(Debug)]
struct Cosines {
    floor: Floor,
    languages: ByLanguage,
    scale: Scale,
}

impl Cosines {
    fn nearness(&self, index: &IndexSnapshot, ordinal: u32, cosine: f32) -> Nearness {
        let added = self.languages.added(|| index.language_of(ordinal));
        let cosine = self.floor.above(cosine + added);
        let standard = self.scale.standard(cosine);
        Nearness { cosine, standard }
    }
}

/// What the languages of a space do to its cosines with the question, and how these lie, from
/// those of some records: only a model of many languages tells them apart.
fn languages(index: &IndexSnapshot, floor: Floor, some: &[(u32, f32)]) -> (ByLanguage, Sample) {
    if floor == Floor::default() {
        let sample = Sample::of(some.iter().map(|(_, cosine)| *cosine));
        return (ByLanguage::default(), sample);
    }
    let told = some.iter();
    let told = told.map(|(at, cosine)| (index.language_of(*at), *cosine));
    ByLanguage::of(&told.collect::<Vec<_>>())
}

/// One candidate as every signal sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) ordinal: u32,
    pub(super) traits: DocTraits,
    /// It has a vector in a space in which the question has one too.
    pub(super) compared: bool,
    /// Standard scores of its cosine and of its words.
    pub(super) meaning: f32,
    pub(super) words: f32,
    /// How well its meaning and its words together answer, 0..1, against no other record.
    pub(super) evidence: f32,
    /// Mean standard score of its session's most meaningful candidates.
    pub(super) session_meaning: f32,
    /// `1 / (1 + terms / 16)`: near 1 for a short turn, near 0 for a page. Short turns are
    /// understood with their neighbours, pages by themselves.
    pub(super) brevity: f32,
    /// Share of its neighbours with whom it is in a dialogue, 0..1. Only there do neighbours and
    /// session explain a record: what stands beside a commit or a command is about something else.
    pub(super) dialogue: f32,
}

impl Candidate {
    /// The neighbours with whom it is in a dialogue.
    pub(super) fn turns(&self) -> impl Iterator<Item = u32> {
        let (previous, next) = self.traits.neighbours;
        let (after_one, before_one) = self.traits.turns;
        let previous = previous.filter(|_| after_one);
        let next = next.filter(|_| before_one);
        previous.into_iter().chain(next)
    }
}

/// Share of a record's neighbours with whom it is in a dialogue, 0..1; 0 without neighbours.
pub(crate) fn dialogue(traits: &DocTraits) -> f32 {
    let ((previous, next), (after_one, before_one)) = (traits.neighbours, traits.turns);
    let neighbours = u8::from(previous.is_some()) + u8::from(next.is_some());
    let turns = u8::from(after_one) + u8::from(before_one);
    f32::from(turns) / f32::from(neighbours.max(1))
}

/// What meaning is worth as evidence where no word of the question stands in the record.
const WITHOUT_WORDS: f32 = 0.6;
/// The share of the evidence that is meaning alone.
const MEANING_ALONE: f32 = 0.6;
/// Terms of a text that is half a turn, half a page.
const BREVITY_TERMS: f32 = 16.0;

impl<'a> Scene<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, plan: &'a Plan<'a>, found: &Found<'a>) -> Self {
        let live = plan.view.counted();
        let lexical = found.lexical;
        let looked_at = if live <= SAMPLE_WHOLE {
            live as usize
        } else {
            SPREAD
        };
        let index = &snapshot.index;
        let own = plan.codes.as_ref().map(|codes| {
            let some = index.sample(codes, looked_at, &plan.view);
            let floor = Floor::of(snapshot.unrelated());
            (floor, languages(index, floor, &some))
        });
        let own = own.unwrap_or_default();
        let others = plan.others.iter().map(|other| {
            let some = other.vectors.sample(&other.codes, looked_at, &plan.view);
            let floor = Floor::of(other.space.unrelated());
            (floor, languages(index, floor, &some))
        });
        let mut known = Vec::with_capacity(1 + plan.others.len());
        let mut samples = Vec::with_capacity(1 + plan.others.len());
        for (floor, (languages, sample)) in std::iter::once(own).chain(others) {
            samples.push(floor.sample(&sample));
            known.push((floor, languages));
        }
        steadied(&mut samples);
        let mut cosines = known
            .into_iter()
            .zip(samples)
            .map(|((floor, languages), sample)| Cosines {
                floor,
                languages,
                scale: Scale::new(COSINES, sample.mean, sample.deviation, sample.count),
            });
        let own = cosines.next().unwrap_or_else(|| Cosines {
            floor: Floor::default(),
            languages: ByLanguage::default(),
            scale: Scale::new(COSINES, 0.0, 0.0, 0),
        });
        let (words, session) = (lexical.words, lexical.session_words);
        Self {
            index: &snapshot.index,
            snapshot,
            plan,
            lexical,
            mixed: plan.view.is_mixed(),
            named: false,
            cosines: own,
            other_cosines: cosines.collect(),
            words: Scale::new(BM25, words.mean, words.deviation, live),
            session_words: Scale::new(BM25, session.mean, session.deviation, live),
            words_worth: 1.0,
        }
    }

    /// Looks at every candidate; fills `out` in their order.
    pub(super) fn look(&mut self, ordinals: &[u32], out: &mut Vec<Candidate>) {
        out.clear();
        if self.cosines.floor != Floor::default() {
            let shares = ordinals.iter().map(|at| self.share(*at));
            let best = shares.fold(0.0, f32::max);
            self.words_worth = (best / SHARE_FULL).min(1.0).powi(2);
        }
        out.extend(ordinals.iter().filter_map(|&ordinal| {
            let traits = self.index.traits(ordinal, &self.plan.view)?;
            let nearness = self.nearness(ordinal);
            let own = traits.embedded && self.plan.codes.is_some();
            Some(Candidate {
                ordinal,
                traits,
                compared: own || nearness.is_some(),
                meaning: nearness.map_or(0.0, |near| near.standard),
                evidence: evidence(self.share(ordinal), nearness.map(|near| near.cosine)),
                words: self.words_of(ordinal),
                session_meaning: 0.0,
                brevity: 1.0 / (1.0 + traits.terms as f32 / BREVITY_TERMS),
                dialogue: dialogue(&traits),
            })
        }));
        self.named = out
            .iter()
            .any(|candidate| self.names(candidate.traits.speaker));
        speak_for_sessions(out);
    }

    /// Standard score of a record's cosine; 0, which is the mean, where one of the two has no
    /// vector: it speaks neither for nor against.
    pub(super) fn meaning_of(&self, ordinal: u32) -> f32 {
        self.nearness(ordinal).map_or(0.0, |near| near.standard)
    }

    /// How near a record is to the question, in the one space that it has its vector in; `None`
    /// where one of the two has none there.
    pub(super) fn nearness(&self, ordinal: u32) -> Option<Nearness> {
        let own = self.plan.codes.as_ref();
        if let Some(cosine) = own.and_then(|codes| self.index.cosine(codes, ordinal)) {
            return Some(self.cosines.nearness(self.index, ordinal, cosine));
        }
        let mut others = self.plan.others.iter().zip(&self.other_cosines);
        others.find_map(|(other, cosines)| {
            let cosine = other.vectors.cosine(&other.codes, ordinal)?;
            Some(cosines.nearness(self.index, ordinal, cosine))
        })
    }

    /// How alike two records are, above the floor of the space that has both; 0 where none has.
    pub(super) fn likeness(&self, one: u32, other: u32) -> f32 {
        let mut others = self.plan.others.iter().zip(&self.other_cosines);
        let floor = if self.index.has_vector(one) {
            self.cosines.floor
        } else {
            let held = others.find(|(held, _)| held.vectors.has(one));
            held.map_or_else(Floor::default, |(_, cosines)| cosines.floor)
        };
        let likeness = self.snapshot.likeness(one, other);
        likeness.map_or(0.0, |likeness| floor.above(likeness))
    }

    /// Weighted share of the question's words that a record holds, of all that it asks for.
    pub(super) fn share(&self, ordinal: u32) -> f32 {
        self.lexical.share(self.lexical.terms_of(ordinal))
    }

    /// Standard score of a record's words.
    pub(super) fn words_of(&self, ordinal: u32) -> f32 {
        self.words.standard(self.lexical.score(ordinal)) * self.words_worth
    }

    /// Standard score of a session's words as one text.
    pub(super) fn session_words_of(&self, session: Option<u32>) -> f32 {
        self.session_words
            .standard(self.lexical.session_score(session))
    }

    /// Whether the question holds this speaker's name.
    pub(super) fn names(&self, speaker: u32) -> bool {
        speaker != 0
            && self
                .plan
                .query
                .terms
                .iter()
                .any(|term| term.number == speaker)
    }
}

/// How well one record's meaning and words together answer, 0..1: near 0 unless both do. Where
/// there is no vector the words speak for both.
pub(super) fn evidence(words: f32, cosine: Option<f32>) -> f32 {
    let meaning = cosine.unwrap_or(words).clamp(0.0, 1.0);
    let both = ((words + WITHOUT_WORDS) * meaning).sqrt().min(1.0);
    both + MEANING_ALONE * (meaning - both)
}

/// Gives each candidate the mean of its session's best standard scores; a missing one counts as the
/// store's mean. A record without a session is a session of its own.
fn speak_for_sessions(candidates: &mut [Candidate]) {
    // A session counts in a dialogue alone.
    if candidates.iter().all(|candidate| candidate.dialogue == 0.0) {
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
        let best = members.iter().take(SPEAKERS);
        let sum: f32 = best.map(|at| candidates[*at as usize].meaning).sum();
        for at in members {
            candidates[*at as usize].session_meaning = sum / SPEAKERS as f32;
        }
        rest = others;
    }
}
