//! Which documents are live, their neighbours in the session, and the statistics of both.
//!
//! The writer maintains the `World` of the present; an as-of query builds its own, so that it
//! answers as a store stopped at that instant would have.

use reprise_types::{CowVec, MemorySource};

use crate::cues::Cues;
use crate::docs::{NO_SESSION, Row};
use crate::facets::{BLOCK, Facets};
use crate::snapshot::ones;
use crate::words::HEAD_TERMS;

/// BM25's term saturation and length normalisation (Robertson and Zaragoza 2009, usual values).
pub(crate) const K1: f32 = 1.2;
/// The saturation in heads: in a short text a repeated word adds little.
pub(crate) const K1_HEAD: f32 = 0.4;
pub(crate) const B: f32 = 0.75;
/// Where more than one document in so many changed since, the past is built anew.
const CHANGED_ONE_IN: usize = 4;
/// "No document" in a link.
pub(crate) const NONE: u32 = u32::MAX;

/// The document of a link, where there is one.
pub(crate) fn known(ordinal: u32) -> Option<u32> {
    (ordinal != NONE).then_some(ordinal)
}

/// What the lexical pass reads of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hot {
    pub(crate) session: u32,
    pub(crate) head_terms: u8,
    pub(crate) by_user: bool,
    pub(crate) live: bool,
    /// A prompt that tells nothing: it is found and followed, and counts in no statistics. Asking
    /// a question again would otherwise make its answer's words common.
    pub(crate) lead: bool,
}

impl Hot {
    fn new(row: &Row, live: bool) -> Self {
        Self {
            session: row.session,
            head_terms: row.head_terms,
            by_user: row.source == MemorySource::UserInput,
            live,
            lead: row.cues.is_lead(),
        }
    }
}

/// What the ranking looks at of a candidate and of those beside it: of one document 24 bytes, since
/// a question has hundreds of candidates, and each is another line of memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Near {
    /// The neighbours of a live document among the live ones of its session.
    pub(crate) previous: u32,
    pub(crate) next: u32,
    pub(crate) session: u32,
    pub(crate) speaker: u32,
    pub(crate) terms: u32,
    pub(crate) source: MemorySource,
    pub(crate) cues: Cues,
}

impl Near {
    /// Without neighbours.
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            previous: NONE,
            next: NONE,
            session: row.session,
            speaker: row.speaker,
            terms: row.terms,
            source: row.source,
            cues: row.cues,
        }
    }

    /// Whether two neighbours are turns of a dialogue: different speakers, at least one a person. A
    /// command and its output, or commits of two authors, are adjacent without answering each
    /// other.
    pub(crate) fn are_turns(&self, other: &Self) -> bool {
        let person = |one: &Self| one.source == MemorySource::UserInput;
        let differ = self.source != other.source || self.speaker != other.speaker;
        differ && (person(self) || person(other))
    }
}

/// Liveness and neighbours of every document at one instant.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    pub(crate) hot: CowVec<Hot>,
    pub(crate) near: CowVec<Near>,
    /// Statistics of each session.
    pub(crate) tallies: CowVec<Tally>,
    pub(crate) live: u32,
    /// Live documents that are no leads: all below counts these alone.
    pub(crate) counted: u32,
    /// One bit per document.
    pub(crate) live_words: Vec<u64>,
    /// Those that are the user's own words.
    pub(crate) by_user: u32,
    /// Sessions with a counted document.
    pub(crate) live_sessions: u32,
    /// Analysed terms of all their heads, and of all that are in a session.
    pub(crate) head_terms: u64,
    pub(crate) session_terms: u64,
}

/// The live documents of one session that are no leads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    /// The last live document, a lead or not.
    pub(crate) tail: u32,
    pub(crate) documents: u32,
    /// Analysed terms of their whole texts.
    pub(crate) terms: u64,
}

impl Tally {
    pub(crate) const EMPTY: Self = Self {
        tail: NONE,
        documents: 0,
        terms: 0,
    };
}

impl World {
    /// The world as it was at `instant` (microseconds).
    pub(crate) fn at<'a>(rows: impl Iterator<Item = &'a Row>, instant: i64) -> Self {
        Self::of(rows.map(|row| (row, row.was_live(instant))))
    }

    /// The world of the present.
    pub(crate) fn now<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        Self::of(rows.map(|row| (row, row.is_live())))
    }

    /// Builds the world as pushing each row would, but in plain vectors.
    fn of<'a>(rows: impl Iterator<Item = (&'a Row, bool)>) -> Self {
        let mut world = Self::default();
        let (mut all, mut nears): (Vec<Hot>, Vec<Near>) = (Vec::new(), Vec::new());
        let mut tallies: Vec<Tally> = Vec::new();
        for (ordinal, (row, live)) in (0_u32..).zip(rows) {
            let (hot, mut near) = (Hot::new(row, live), Near::of(row));
            if ordinal.is_multiple_of(64) {
                world.live_words.push(0);
            }
            if live {
                if let Some(word) = world.live_words.last_mut() {
                    *word |= 1 << (ordinal % 64);
                }
                let counted = u32::from(!hot.lead);
                world.live += 1;
                world.counted += counted;
                world.by_user += counted * u32::from(hot.by_user);
                world.head_terms += u64::from(counted) * u64::from(hot.head_terms);
                if row.session != NO_SESSION {
                    let session = row.session as usize;
                    if tallies.len() <= session {
                        tallies.resize(session + 1, Tally::EMPTY);
                    }
                    let tally = &mut tallies[session];
                    near.previous = std::mem::replace(&mut tally.tail, ordinal);
                    world.live_sessions += counted * u32::from(tally.documents == 0);
                    tally.documents += counted;
                    let terms = u64::from(counted) * u64::from(row.terms);
                    tally.terms += terms;
                    world.session_terms += terms;
                    if let Some(previous) = nears.get_mut(near.previous as usize) {
                        previous.next = ordinal;
                    }
                }
            }
            all.push(hot);
            nears.push(near);
        }
        world.hot = all.into_iter().collect();
        world.near = nears.into_iter().collect();
        world.tallies = tallies.into_iter().collect();
        world
    }

    pub(crate) fn push(&mut self, row: &Row, live: bool) {
        let ordinal = self.hot.len() as u32;
        let (hot, mut near) = (Hot::new(row, live), Near::of(row));
        if ordinal.is_multiple_of(64) {
            self.live_words.push(0);
        }
        if let Some(word) = self.live_words.last_mut() {
            *word |= u64::from(live) << (ordinal % 64);
        }
        if live {
            if let Some(tally) = self.tally_of(row.session) {
                near.previous = std::mem::replace(&mut tally.tail, ordinal);
            }
            self.count(hot, row.terms, true);
            if let Some(previous) = self.near.get_mut(near.previous as usize) {
                previous.next = ordinal;
            }
        }
        self.hot.push(hot);
        self.near.push(near);
    }

    /// Removes a document of `terms` terms; its neighbours become adjacent.
    pub(crate) fn kill(&mut self, ordinal: u32, terms: u32) {
        let Some(hot) = self.hot.get_mut(ordinal as usize) else {
            return;
        };
        if !std::mem::replace(&mut hot.live, false) {
            return;
        }
        let gone = *hot;
        let (previous, next) = self.neighbours(ordinal);
        if let Some(near) = self.near.get_mut(ordinal as usize) {
            (near.previous, near.next) = (NONE, NONE);
        }
        self.count(gone, terms, false);
        if let Some(word) = self.live_words.get_mut(ordinal as usize / 64) {
            *word &= !(1 << (ordinal % 64));
        }
        if let Some(before) = self.near.get_mut(previous as usize) {
            before.next = next;
        }
        if let Some(after) = self.near.get_mut(next as usize) {
            after.previous = previous;
        } else if let Some(tally) = self.tallies.get_mut(gone.session as usize) {
            tally.tail = previous;
        }
    }

    /// Takes a document of `terms` terms in again; it stands between its neighbours as before.
    pub(crate) fn revive(&mut self, ordinal: u32, terms: u32) {
        let Some(hot) = self.hot.get_mut(ordinal as usize) else {
            return;
        };
        if std::mem::replace(&mut hot.live, true) {
            return;
        }
        let back = *hot;
        if let Some(word) = self.live_words.get_mut(ordinal as usize / 64) {
            *word |= 1 << (ordinal % 64);
        }
        let (mut previous, mut next) = (NONE, NONE);
        if let Some(tally) = self.tally_of(back.session) {
            previous = tally.tail;
            while previous != NONE && previous > ordinal {
                (previous, next) = (self.neighbours(previous).0, previous);
            }
            if let Some(before) = self.near.get_mut(previous as usize) {
                before.next = ordinal;
            }
            if let Some(after) = self.near.get_mut(next as usize) {
                after.previous = ordinal;
            } else if let Some(tally) = self.tallies.get_mut(back.session as usize) {
                tally.tail = ordinal;
            }
        }
        if let Some(near) = self.near.get_mut(ordinal as usize) {
            (near.previous, near.next) = (previous, next);
        }
        self.count(back, terms, true);
    }

    /// Takes over that the row of a dead document is that of a hole now.
    pub(crate) fn bury(&mut self, ordinal: u32, hole: &Row) {
        if let Some(hot) = self.hot.get_mut(ordinal as usize) {
            *hot = Hot::new(hole, false);
        }
        if let Some(near) = self.near.get_mut(ordinal as usize) {
            *near = Near::of(hole);
        }
    }

    /// Those of some sessions, ascending, that no document is in any more, dead or alive.
    pub(crate) fn deserted(&self, mut sessions: Vec<u32>) -> Vec<u32> {
        sessions.retain(|session| self.of_session(*session).next().is_none());
        if !sessions.is_empty() {
            let mut has = vec![false; sessions.last().map_or(0, |last| *last as usize + 1)];
            for hot in self.hot.iter() {
                if let Some(has) = has.get_mut(hot.session as usize) {
                    *has = true;
                }
            }
            sessions.retain(|session| has.get(*session as usize) != Some(&true));
        }
        sessions
    }

    /// The world as it was at `instant`, from that of the present: it costs what has changed since,
    /// unless that is most of it.
    pub(crate) fn past(&self, rows: &CowVec<Row>, facets: &Facets, instant: i64) -> Self {
        let (mut later, mut ended) = (Vec::new(), Vec::new());
        for (number, block) in (0_u32..).zip(facets.blocks()) {
            let first = number * BLOCK as u32;
            if block.known.1 > instant {
                later.push(first);
            }
            ended.extend(ones(block.ended).map(|bit| first + bit));
        }
        if (later.len() * BLOCK + ended.len()) * CHANGED_ONE_IN > self.len() {
            return Self::at(rows.iter(), instant);
        }
        let mut past = self.clone();
        for first in later.into_iter().rev() {
            for ordinal in (first..first + BLOCK as u32).rev() {
                let row = rows.get(ordinal as usize);
                if let Some(row) = row.filter(|row| row.known_at > instant) {
                    past.kill(ordinal, row.terms);
                }
            }
        }
        for ordinal in ended {
            let row = rows.get(ordinal as usize);
            if let Some(row) = row.filter(|row| row.was_live(instant)) {
                past.revive(ordinal, row.terms);
            }
        }
        past
    }

    /// The living documents of a session, newest first.
    pub(crate) fn of_session(&self, session: u32) -> impl Iterator<Item = u32> {
        let tail = self.tallies.get(session as usize);
        let tail = tail.and_then(|tally| known(tally.tail));
        std::iter::successors(tail, move |ordinal| known(self.neighbours(*ordinal).0))
    }

    /// The tally of a session, made where it is new; `None` for no session.
    fn tally_of(&mut self, session: u32) -> Option<&mut Tally> {
        if session == NO_SESSION {
            return None;
        }
        while self.tallies.len() <= session as usize {
            self.tallies.push(Tally::EMPTY);
        }
        self.tallies.get_mut(session as usize)
    }

    /// Adds a document to every count, or removes it.
    fn count(&mut self, hot: Hot, terms: u32, arrives: bool) {
        let small = |count: &mut u32, by: u32| {
            *count = if arrives { *count + by } else { *count - by };
        };
        let large = |count: &mut u64, by: u64| {
            *count = if arrives { *count + by } else { *count - by };
        };
        small(&mut self.live, 1);
        if hot.lead {
            return;
        }
        small(&mut self.counted, 1);
        small(&mut self.by_user, u32::from(hot.by_user));
        large(&mut self.head_terms, u64::from(hot.head_terms));
        if let Some(tally) = self.tallies.get_mut(hot.session as usize) {
            let before = tally.documents;
            small(&mut tally.documents, 1);
            large(&mut tally.terms, u64::from(terms));
            large(&mut self.session_terms, u64::from(terms));
            if before.min(tally.documents) == 0 {
                small(&mut self.live_sessions, 1);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.hot.len()
    }

    /// Whether it counts in statistics: it is live and no lead.
    pub(crate) fn counts(&self, ordinal: u32) -> bool {
        self.hot(ordinal).is_some_and(|hot| hot.live && !hot.lead)
    }

    pub(crate) fn hot(&self, ordinal: u32) -> Option<Hot> {
        self.hot.get(ordinal as usize).copied()
    }

    /// The live documents before and after it in its session, [`NONE`] where there is none.
    pub(crate) fn neighbours(&self, ordinal: u32) -> (u32, u32) {
        let near = self.near.get(ordinal as usize);
        near.map_or((NONE, NONE), |near| (near.previous, near.next))
    }

    pub(crate) fn is_live(&self, ordinal: u32) -> bool {
        let word = self.live_words.get(ordinal as usize / 64);
        word.is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    /// Whether some counted documents are the user's own words and some are not.
    pub(crate) fn is_mixed(&self) -> bool {
        self.by_user > 0 && self.by_user < self.counted
    }

    /// Sessions that were ever named.
    pub(crate) fn sessions(&self) -> usize {
        self.tallies.len()
    }

    pub(crate) fn session_documents(&self, session: u32) -> u32 {
        let tally = self.tallies.get(session as usize);
        tally.map_or(0, |tally| tally.documents)
    }

    /// BM25 norm of a session as one long document: `K1 * (1 - B + B * length / average)`.
    pub(crate) fn session_norm(&self, session: u32) -> f32 {
        let terms = self.tallies.get(session as usize).map_or(0, |t| t.terms);
        K1 * norm(terms, self.session_terms, self.live_sessions)
    }

    /// The same norm of a head with [`K1_HEAD`], by its number of terms.
    pub(crate) fn head_norms(&self) -> [f32; HEAD_TERMS + 1] {
        std::array::from_fn(|terms| K1_HEAD * norm(terms as u64, self.head_terms, self.counted))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.hot.memory_bytes() + self.near.memory_bytes() + self.tallies.memory_bytes()
    }
}

/// The BM25 norm, in units of k1, of a text of `terms` terms among `documents` texts of `total`
/// terms together.
fn norm(terms: u64, total: u64, documents: u32) -> f32 {
    let average = total as f64 / f64::from(documents.max(1));
    let length = if total == 0 {
        terms as f64
    } else {
        terms as f64 / average
    };
    (1.0 - B) + B * length as f32
}

#[cfg(test)]
mod tests {
    use reprise_types::RecordId;

    use super::*;
    use crate::cues::Cues;
    use crate::docs::NEVER;

    #[test]
    fn made_at_once_or_one_by_one_it_is_the_same() {
        let row = |number: u32| Row {
            hole: false,
            forgotten_at: if number % 7 == 3 { 5 } else { NEVER },
            session: [0, 2, 0, NO_SESSION, 5][number as usize % 5],
            terms: number,
            head_terms: (number % 50) as u8,
            source: MemorySource::ALL[number as usize % 5],
            cues: Cues::of("why is it red", number % 3 == 1),
            ..Row::hole(RecordId::from_u128(0))
        };
        let rows: Vec<Row> = (0..200).map(row).collect();
        let mut pushed = World::default();
        for row in &rows {
            pushed.push(row, row.is_live());
        }
        let at_once = World::now(rows.iter());
        // Ended and taken back, in another order, it is as if nothing had been.
        let mut there_and_back = pushed.clone();
        let living = rows.iter().zip(0_u32..).filter(|(row, _)| row.is_live());
        let ending: Vec<(u32, u32)> = living.map(|(row, at)| (at, row.terms)).step_by(3).collect();
        for (ordinal, terms) in &ending {
            there_and_back.kill(*ordinal, *terms);
        }
        assert_eq!(
            there_and_back.live as usize,
            pushed.live as usize - ending.len()
        );
        for (ordinal, terms) in ending.iter().rev().step_by(2).chain(&ending) {
            there_and_back.revive(*ordinal, *terms);
        }
        let content = |world: &World| {
            let hot: Vec<Hot> = world.hot.iter().copied().collect();
            let near: Vec<Near> = world.near.iter().copied().collect();
            let tallies = world.tallies.iter().enumerate();
            let tallies: Vec<_> = tallies.filter(|(_, tally)| tally.tail != NONE).collect();
            let World {
                live,
                counted,
                live_words,
                by_user,
                live_sessions,
                head_terms,
                session_terms,
                ..
            } = world;
            let terms = (head_terms, session_terms);
            let counts = (live, counted, by_user, live_sessions, terms);
            format!("{hot:?} {near:?} {tallies:?} {live_words:?} {counts:?}")
        };
        assert_eq!(content(&at_once), content(&pushed));
        assert_eq!(content(&there_and_back), content(&pushed));
        // A past that little lies behind is told from the present as from the rows.
        let rows = (0..2_000_u32).map(|number| Row {
            known_at: i64::from(if number < 1_900 { 0 } else { number }),
            superseded_at: if number == 1_000 { 1_950 } else { NEVER },
            ..row(number)
        });
        let rows: CowVec<Row> = rows.collect();
        let (world, facets) = (World::now(rows.iter()), Facets::of(&rows));
        for instant in [4, 5, 1_905, 1_949, 1_950, 9_999] {
            let past = world.past(&rows, &facets, instant);
            assert_eq!(
                content(&past),
                content(&World::at(rows.iter(), instant)),
                "{instant}"
            );
        }
        assert_ne!(content(&world.past(&rows, &facets, 4)), content(&world));
    }
}
