//! The lexical signals of one query, in one pass over the postings of its terms.
//!
//! Formulas: BM25 (Robertson and Zaragoza 2009) with k1 = 0.4, b = 0.75 and `idf = ln(1 + (N - df +
//! 0.5) / (df + 0.5))` over the heads of the documents that are alive in the view, and with k1 =
//! 1.2 over their sessions as whole texts. A repeated query term counts once. A document that holds
//! only a longer word with the term for its beginning ("config" and "configuration", "sock" and
//! "sockstat") counts for a part of it. Documents are scored a window at a time, whose scores stay
//! in the CPU's cache; what holds a term is kept in a table as long as there are such documents.

mod score;

use score::{STRIDE, Top, WINDOW};

use crate::lexicon::{Lexicon, Lists};
use crate::segment::Posting;
use crate::view::View;
use crate::words::{Query, QueryTerm};
use crate::world::{K1, World};

/// Bits of a document's term mask: the query's rarest terms.
pub const MASK_TERMS: usize = 32;
/// Occurrences that a term counts for where it is only in the tail, behind the head. Less than one,
/// so that a long text is found by any of its words but not preferred for its length.
pub(crate) const TAIL_COUNT: f32 = 0.3;
/// Live documents above which store-specific stop words apply (see [`COMMON_SHARE`]).
const COMMON_FROM: u32 = 4096;
/// A word held by more than one in so many live documents is a stop word of that store: it is left
/// out where the query has any other, and its postings are not read.
const COMMON_SHARE: u32 = 8;
/// Prefix matching: a term of at least so many letters also matches longer words that begin with
/// it,
const LONGER_FROM: usize = 4;
/// at most so many, in alphabetical order,
const LONGER_MAX: usize = 16;
/// each with this weight, times the ratio of the term's length to the word's.
const LONGER_WEIGHT: f32 = 0.6;
/// Pseudo-documents without any query word, added when words are weighted against each other, so
/// that in a store of three records a word held by one does not count as common.
const UNSEEN_DOCUMENTS: u32 = 100;
/// Reusable buffers of the lexical pass.
#[derive(Debug, Default)]
pub struct LexicalScratch {
    /// The documents of a window; zeroed between windows.
    cells: Vec<Cell>,
    /// One bit for each of them that holds a term.
    touched: Vec<u64>,
    /// The documents that hold a term, ascending, and where those of each [`STRIDE`] begin.
    hits: Vec<Hit>,
    starts: Vec<u32>,
    postings: Vec<Posting>,
    terms: Vec<TermSignal>,
    longer: Vec<Longer>,
    order: Vec<u32>,
    session_counts: Vec<u32>,
    session_scores: Vec<f32>,
    sessions_counted: Vec<u32>,
    sessions_scored: Vec<u32>,
    best: Top,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    score: f32,
    /// Mask of the query's rarest terms that it holds.
    terms: u32,
    /// Mask of the query's first terms that it holds as prefix of a longer word.
    longer: u32,
}

/// A document that holds a term.
#[derive(Debug, Clone, Copy)]
struct Hit {
    ordinal: u32,
    score: f32,
    terms: u32,
}

/// A longer word with a query term as prefix.
#[derive(Debug, Clone, Copy)]
struct Longer {
    /// The term's position in the question.
    position: u32,
    weight: f32,
    /// Range of its postings in the scratch.
    postings: (usize, usize),
}

/// Statistics of one query term in this view.
#[derive(Debug, Clone, PartialEq)]
pub struct TermSignal {
    /// Live documents but leads that hold it; 0 for a store-specific stop word.
    pub documents: u32,
    /// Its idf over heads, or over whole texts where no live head holds it; 0 where none of these
    /// documents does.
    pub idf: f32,
    /// Its weight relative to the query's other terms, unknown ones included; 0 for a stop word.
    pub weight: f32,
    /// Its bit in [`LexicalSignals::terms_of`]; `None` for all but the [`MASK_TERMS`] rarest.
    pub bit: Option<u8>,
    /// Range of its postings in the scratch.
    postings: (usize, usize),
}

impl TermSignal {
    /// A term that was left out.
    fn unread(at: usize) -> Self {
        Self {
            documents: 0,
            idf: 0.0,
            weight: 0.0,
            bit: None,
            postings: (at, at),
        }
    }
}

/// Mean and standard deviation of a signal over every live document of the view.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SignalSpread {
    /// The mean, documents that hold no term included.
    pub mean: f32,
    /// The population standard deviation.
    pub deviation: f32,
}

impl SignalSpread {
    pub(crate) fn of(sum: f64, squares: f64, documents: u32) -> Self {
        let documents = f64::from(documents.max(1));
        let mean = sum / documents;
        let variance = (squares / documents - mean * mean).max(0.0);
        Self {
            mean: mean as f32,
            deviation: variance.sqrt() as f32,
        }
    }
}

/// The lexical scores by document and by session; 0 for what is not live in the view.
#[derive(Debug, Clone, Copy)]
pub struct LexicalSignals<'a> {
    hits: &'a [Hit],
    starts: &'a [u32],
    session_scores: &'a [f32],
    /// The admitted documents with the highest scores, best first, ties by newer.
    pub best: &'a [(u32, f32)],
    /// Spread of the documents' scores.
    pub words: SignalSpread,
    /// Spread of the sessions' scores over their documents.
    pub session_words: SignalSpread,
    /// Each query term, in the query's order.
    pub terms: &'a [TermSignal],
}

impl LexicalSignals<'_> {
    /// BM25 over the document's head (the first [`crate::HEAD_TERMS`] terms).
    pub fn score(&self, ordinal: u32) -> f32 {
        self.hit(ordinal).map_or(0.0, |hit| hit.score)
    }

    fn hit(&self, ordinal: u32) -> Option<&Hit> {
        let stride = ordinal as usize / STRIDE;
        let start = |at: usize| self.starts.get(at).map(|start| *start as usize);
        let near = self.hits.get(start(stride)?..start(stride + 1)?)?;
        let at = near
            .binary_search_by_key(&ordinal, |hit| hit.ordinal)
            .ok()?;
        near.get(at)
    }

    /// BM25 of a session as one text.
    pub fn session_score(&self, session: Option<u32>) -> f32 {
        let score = session.and_then(|session| self.session_scores.get(session as usize));
        score.copied().unwrap_or(0.0)
    }

    /// Mask of the query's rarest terms that the document holds.
    pub fn terms_of(&self, ordinal: u32) -> u32 {
        self.hit(ordinal).map_or(0, |hit| hit.terms)
    }

    /// IDF-weighted share of the question's rarest known terms that `terms` names, 0..1.
    pub fn coverage(&self, terms: u32) -> f32 {
        let (mut covered, mut known) = (0.0, 0.0);
        for term in self.terms {
            if let Some(bit) = term.bit {
                known += term.idf;
                covered += if terms >> bit & 1 == 1 { term.idf } else { 0.0 };
            }
        }
        if known > 0.0 { covered / known } else { 0.0 }
    }

    /// Weighted share of the query's terms in `terms`, 0..1: words that no document holds count as
    /// missed, those beyond the rarest [`MASK_TERMS`] not at all.
    pub fn share(&self, terms: u32) -> f32 {
        let (mut covered, mut all) = (0.0, 0.0);
        for term in self.terms {
            match term.bit {
                Some(bit) if terms >> bit & 1 == 1 => {
                    covered += term.weight;
                    all += term.weight;
                }
                Some(_) => all += term.weight,
                None if term.idf == 0.0 => all += term.weight,
                None => {}
            }
        }
        if all > 0.0 { covered / all } else { 0.0 }
    }

    /// The query's rarest words that the document holds, as the query wrote them, in its order.
    pub fn matched_words(&self, ordinal: u32, query: &Query) -> Vec<String> {
        let held = self.terms_of(ordinal);
        let terms = query.terms.iter().zip(self.terms);
        terms
            .filter(|(_, signal)| signal.bit.is_some_and(|bit| held >> bit & 1 == 1))
            .map(|(term, _)| term.surface.clone())
            .collect()
    }
}

/// See the head comment. `k` bounds [`LexicalSignals::best`].
pub(crate) fn lexical<'s>(
    lexicon: &Lexicon,
    query: &Query,
    view: &View,
    k: usize,
    scratch: &'s mut LexicalScratch,
) -> LexicalSignals<'s> {
    let world = view.world();
    scratch.reset(world);
    scratch.gather(lexicon, query, world);
    scratch.number_terms();
    for position in 0..query.terms.len() {
        scratch.count_sessions(position, world);
    }
    let words = scratch.score(view, k);
    let session_words = scratch.spread_of_sessions(world);
    LexicalSignals {
        hits: &scratch.hits,
        starts: &scratch.starts,
        session_scores: &scratch.session_scores,
        best: scratch.best.sorted(),
        words,
        session_words,
        terms: &scratch.terms,
    }
}

impl LexicalScratch {
    /// Resets what the last query touched, and grows the buffers.
    fn reset(&mut self, world: &World) {
        for session in self.sessions_scored.drain(..) {
            self.session_scores[session as usize] = 0.0;
        }
        self.cells.resize(WINDOW, Cell::default());
        self.touched.resize(WINDOW / 64, 0);
        self.session_counts.resize(world.sessions(), 0);
        self.session_scores.resize(world.sessions(), 0.0);
        self.hits.clear();
        self.terms.clear();
        self.longer.clear();
        self.postings.clear();
    }

    /// Collects the live postings, df and idf of every term.
    fn gather(&mut self, lexicon: &Lexicon, query: &Query, world: &World) {
        let all_live = world.live as usize == world.len();
        let leads = world.live > world.counted;
        let most = match world.counted {
            ..=COMMON_FROM => usize::MAX,
            many => (many / COMMON_SHARE) as usize,
        };
        let lists = |term: &QueryTerm| Lists::any_of(term.keys().map(|key| lexicon.lists(key)));
        let terms = query.terms.iter();
        let found: Vec<(&QueryTerm, Lists<'_>)> = terms.map(|term| (term, lists(term))).collect();
        let some_are_rare = found.iter().any(|(_, lists)| lists.documents() <= most);
        let live = world.counted;
        for (position, (term, lists)) in (0_u32..).zip(&found) {
            let start = self.postings.len();
            let stem = term.stem.as_bytes();
            if some_are_rare && lists.documents() > most {
                self.terms.push(TermSignal::unread(start));
                continue;
            }
            let counts = |p: &&Posting| !leads || world.counts(p.ordinal);
            let keep = |ordinal| all_live || world.is_live(ordinal);
            lists.gather(keep, &mut self.postings);
            let known = lists.counts().filter(|_| all_live && !leads);
            let (documents, heads) = known.unwrap_or_else(|| {
                let found = self.postings[start..].iter().filter(counts);
                (found.clone().count(), found.filter(|p| p.head > 0).count())
            });
            let (documents, heads) = (documents as u32, heads as u32);
            let holding = if heads > 0 { heads } else { documents };
            let own = idf(live, holding);
            self.terms.push(TermSignal {
                documents,
                idf: own,
                weight: steadied_idf(live, holding),
                bit: None,
                postings: (start, self.postings.len()),
            });
            if begins_longer(stem) && position < MASK_TERMS as u32 {
                let most_weight = if holding > 0 { own } else { f32::MAX };
                self.gather_longer(lexicon, world, (position, term), (most, most_weight));
            }
        }
        // Of several longer words only the one with the highest weight counts.
        self.longer.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    }

    /// Collects the longer words that begin with a term, and the words that it joins, which at
    /// `most` documents hold.
    fn gather_longer(
        &mut self,
        lexicon: &Lexicon,
        world: &World,
        (position, term): (u32, &QueryTerm),
        (most, most_weight): (usize, f32),
    ) {
        let (stem, mut words) = (term.stem.as_bytes(), Vec::new());
        let leads = world.live > world.counted;
        lexicon.longer(stem, LONGER_MAX, &mut words);
        words.extend(term.parts.iter().map(|part| part.clone().into_bytes()));
        for word in &words {
            let lists = lexicon.lists(word);
            if lists.documents() > most {
                continue;
            }
            let start = self.postings.len();
            lists.gather(|ordinal| world.is_live(ordinal), &mut self.postings);
            let found = self.postings[start..].iter();
            let counted = found.filter(|p| !leads || world.counts(p.ordinal));
            let heads = counted.filter(|p| p.head > 0).count() as u32;
            let (short, long) = (stem.len().min(word.len()), stem.len().max(word.len()));
            let share = short as f32 / long as f32;
            self.longer.push(Longer {
                position,
                weight: LONGER_WEIGHT * share * idf(world.counted, heads).min(most_weight),
                postings: (start, self.postings.len()),
            });
        }
    }

    /// Assigns mask bits to the rarest terms that any live document holds, those of leads alone
    /// last; ties by position.
    fn number_terms(&mut self) {
        self.order.clear();
        let known = (0_u32..)
            .zip(&self.terms)
            .filter(|(_, term)| term.postings.0 < term.postings.1);
        self.order.extend(known.map(|(position, _)| position));
        let terms = &mut self.terms;
        self.order.sort_by(|a, b| {
            let (a, b) = (&terms[*a as usize], &terms[*b as usize]);
            b.idf.total_cmp(&a.idf)
        });
        for (bit, position) in (0_u8..).zip(self.order.iter().take(MASK_TERMS)) {
            terms[*position as usize].bit = Some(bit);
        }
    }

    /// Adds one term to the scores of the sessions of its documents.
    fn count_sessions(&mut self, position: usize, world: &World) {
        if world.sessions() == 0 {
            return;
        }
        let term = &self.terms[position];
        self.sessions_counted.clear();
        let (mut first, mut near) = (0, &[][..]);
        for posting in &self.postings[term.postings.0..term.postings.1] {
            let at = |first| posting.ordinal.wrapping_sub(first) as usize;
            if at(first) >= near.len() {
                (first, near) = (posting.ordinal, world.hot.beside(posting.ordinal as usize));
            }
            let hot = near.get(at(first));
            let Some(hot) = hot.filter(|hot| !hot.lead) else {
                continue;
            };
            if let Some(count) = self.session_counts.get_mut(hot.session as usize) {
                push_if(&mut self.sessions_counted, hot.session, *count == 0);
                *count += u32::from(posting.count);
            }
        }
        self.score_sessions(world);
    }

    /// Scores each counted session as one document.
    fn score_sessions(&mut self, world: &World) {
        let df = self.sessions_counted.len() as u32;
        let weight = idf(world.live_sessions, df) * (K1 + 1.0);
        for &session in &self.sessions_counted {
            let at = session as usize;
            let count = std::mem::take(&mut self.session_counts[at]) as f32;
            let score = &mut self.session_scores[at];
            push_if(&mut self.sessions_scored, session, *score == 0.0);
            *score += weight * count / (count + world.session_norm(session));
        }
    }

    fn spread_of_sessions(&self, world: &World) -> SignalSpread {
        let (mut sum, mut squares) = (0.0_f64, 0.0_f64);
        for &session in &self.sessions_scored {
            let score = f64::from(self.session_scores[session as usize]);
            let documents = f64::from(world.session_documents(session));
            sum += score * documents;
            squares += score * score * documents;
        }
        SignalSpread::of(sum, squares, world.counted)
    }
}

/// Adds a session where `adds`, without a branch: no processor guesses which sessions are new, and
/// a wrong guess keeps it from the loads that follow.
fn push_if(sessions: &mut Vec<u32>, session: u32, adds: bool) {
    sessions.push(session);
    sessions.truncate(sessions.len() - usize::from(!adds));
}

/// Whether prefix matching applies to a term: not to numbers.
fn begins_longer(stem: &[u8]) -> bool {
    let letters = String::from_utf8_lossy(stem).chars().count();
    letters >= LONGER_FROM && !stem.iter().all(u8::is_ascii_digit)
}

/// The idf smoothed by [`UNSEEN_DOCUMENTS`], defined for words that no document holds.
pub(crate) fn steadied_idf(documents: u32, holding: u32) -> f32 {
    let (n, df) = (
        f64::from(documents) + f64::from(UNSEEN_DOCUMENTS),
        f64::from(holding),
    );
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
}

pub(crate) fn idf(documents: u32, holding: u32) -> f32 {
    if holding == 0 {
        return 0.0;
    }
    let (n, df) = (f64::from(documents), f64::from(holding));
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
}

#[cfg(test)]
mod tests;
