//! Which documents are live, their neighbours in the session, and the statistics of both.
//!
//! The writer maintains the live set of the present. An as-of query builds its own, so that it
//! returns what a store stopped at that instant would have returned.

use reprise_types::{CowVec, MemorySource, impl_row_codec};

use crate::bits::iter_bits;
use crate::cues::Cues;
use crate::docs::{Doc, NO_SESSION};
use crate::facets::{BLOCK_DOCUMENTS, Facets};
use crate::words::HEAD_TERMS;

/// BM25's term saturation and length normalisation (Robertson and Zaragoza 2009, usual values).
pub(crate) const K1: f32 = 1.2;
/// The saturation in heads: in a short text a repeated word adds little.
pub(crate) const K1_HEAD: f32 = 0.4;
pub(crate) const B: f32 = 0.75;
/// A past state is built from all rows if more than one document in so many changed since then.
const REBUILD_CHANGED_ONE_IN: usize = 4;
/// Link value for "no document".
pub(crate) const NO_DOCUMENT: u32 = u32::MAX;

/// Returns the document of a link; `None` for [`NO_DOCUMENT`].
pub(crate) fn linked_document(ordinal: u32) -> Option<u32> {
    (ordinal != NO_DOCUMENT).then_some(ordinal)
}

/// The columns of a document that the lexical pass reads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LexicalRow {
    pub(crate) session: u32,
    pub(crate) head_terms: u8,
    pub(crate) by_user: bool,
    pub(crate) live: bool,
    /// It is a prompt that states nothing. It stays findable but counts in no statistics: asking a
    /// question again would otherwise make the words of its answer common.
    pub(crate) bare_prompt: bool,
}

impl_row_codec! {
    LexicalRow { session, head_terms, by_user, live, bare_prompt }
}

impl LexicalRow {
    fn new(row: &Doc, live: bool) -> Self {
        Self {
            session: row.session,
            head_terms: row.head_terms,
            by_user: row.source == MemorySource::UserInput,
            live,
            bare_prompt: row.cues.is_bare_prompt(),
        }
    }
}

/// The columns of a document that the ranking reads for a candidate and its neighbours: 24 bytes,
/// since a query has hundreds of candidates and each costs a cache line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankRow {
    /// The live document before it in its session; [`NO_DOCUMENT`] at the start.
    pub(crate) previous: u32,
    /// The live document after it in its session; [`NO_DOCUMENT`] at the end.
    pub(crate) next: u32,
    pub(crate) session: u32,
    pub(crate) speaker: u32,
    pub(crate) terms: u32,
    pub(crate) source: MemorySource,
    pub(crate) cues: Cues,
}

impl RankRow {
    /// Copies the columns of a row, without neighbours.
    pub(crate) fn from_row(row: &Doc) -> Self {
        Self {
            previous: NO_DOCUMENT,
            next: NO_DOCUMENT,
            session: row.session,
            speaker: row.speaker,
            terms: row.terms,
            source: row.source,
            cues: row.cues,
        }
    }

    /// Whether two neighbours are turns of a dialogue: the speakers differ and at least one is a
    /// person. A command and its output, or commits of two authors, are adjacent without replying
    /// to each other.
    pub(crate) fn is_dialogue_with(&self, other: &Self) -> bool {
        let person = |one: &Self| one.source == MemorySource::UserInput;
        let differ = self.source != other.source || self.speaker != other.speaker;
        differ && (person(self) || person(other))
    }
}

/// Lexical rows in one page: every query reads many of them.
const LEXICAL_PAGE: usize = 1024;

/// Liveness and neighbours of every document at one instant.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveSet {
    pub(crate) lexical_rows: CowVec<LexicalRow, LEXICAL_PAGE, LEXICAL_PAGE>,
    pub(crate) rank_rows: CowVec<RankRow>,
    /// Statistics of each session, by session number.
    pub(crate) session_stats: CowVec<SessionStats>,
    pub(crate) live: u32,
    /// Live documents that are no bare prompts. All counts below are over these documents.
    pub(crate) statistics_documents: u32,
    /// One bit per document.
    pub(crate) live_bits: Vec<u64>,
    /// Documents that are the user's own words.
    pub(crate) by_user: u32,
    /// Sessions that contain a document counted in statistics.
    pub(crate) live_sessions: u32,
    /// Analysed terms of all heads.
    pub(crate) head_terms: u64,
    /// Analysed terms of all whole texts that are in a session.
    pub(crate) session_terms: u64,
}

/// Counts over the live documents of one session that are no bare prompts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionStats {
    /// The last live document, including bare prompts.
    pub(crate) last_live: u32,
    pub(crate) documents: u32,
    /// Analysed terms of the whole texts.
    pub(crate) terms: u64,
}

impl_row_codec! {
    SessionStats { last_live, documents, terms }
}

impl SessionStats {
    pub(crate) const EMPTY: Self = Self {
        last_live: NO_DOCUMENT,
        documents: 0,
        terms: 0,
    };
}

impl LiveSet {
    /// Builds the live set as it was at `instant` (microseconds).
    pub(crate) fn build_as_of<'a>(rows: impl Iterator<Item = &'a Doc>, instant: i64) -> Self {
        Self::build(rows.map(|row| (row, row.was_live_at(instant))))
    }

    /// Builds the live set of the present.
    pub(crate) fn build_present<'a>(rows: impl Iterator<Item = &'a Doc>) -> Self {
        Self::build(rows.map(|row| (row, row.is_live())))
    }

    /// Builds what pushing each row would, but in plain vectors.
    fn build<'a>(rows: impl Iterator<Item = (&'a Doc, bool)>) -> Self {
        let mut live_set = Self::default();
        let (mut all, mut ranks): (Vec<LexicalRow>, Vec<RankRow>) = (Vec::new(), Vec::new());
        let mut session_stats: Vec<SessionStats> = Vec::new();
        for (ordinal, (row, live)) in (0_u32..).zip(rows) {
            let (lexical, mut rank) = (LexicalRow::new(row, live), RankRow::from_row(row));
            if ordinal.is_multiple_of(64) {
                live_set.live_bits.push(0);
            }
            if live {
                if let Some(word) = live_set.live_bits.last_mut() {
                    *word |= 1 << (ordinal % 64);
                }
                let statistics_documents = u32::from(!lexical.bare_prompt);
                live_set.live += 1;
                live_set.statistics_documents += statistics_documents;
                live_set.by_user += statistics_documents * u32::from(lexical.by_user);
                live_set.head_terms +=
                    u64::from(statistics_documents) * u64::from(lexical.head_terms);
                if row.session != NO_SESSION {
                    let session = row.session as usize;
                    if session_stats.len() <= session {
                        session_stats.resize(session + 1, SessionStats::EMPTY);
                    }
                    let stats = &mut session_stats[session];
                    rank.previous = std::mem::replace(&mut stats.last_live, ordinal);
                    live_set.live_sessions +=
                        statistics_documents * u32::from(stats.documents == 0);
                    stats.documents += statistics_documents;
                    let terms = u64::from(statistics_documents) * u64::from(row.terms);
                    stats.terms += terms;
                    live_set.session_terms += terms;
                    if let Some(previous) = ranks.get_mut(rank.previous as usize) {
                        previous.next = ordinal;
                    }
                }
            }
            all.push(lexical);
            ranks.push(rank);
        }
        live_set.lexical_rows = all.into_iter().collect();
        live_set.rank_rows = ranks.into_iter().collect();
        live_set.session_stats = session_stats.into_iter().collect();
        live_set
    }

    pub(crate) fn push(&mut self, row: &Doc, live: bool) {
        let ordinal = self.lexical_rows.len() as u32;
        let (lexical, mut rank) = (LexicalRow::new(row, live), RankRow::from_row(row));
        if ordinal.is_multiple_of(64) {
            self.live_bits.push(0);
        }
        if let Some(word) = self.live_bits.last_mut() {
            *word |= u64::from(live) << (ordinal % 64);
        }
        if live {
            if let Some(stats) = self.session_stats_mut(row.session) {
                rank.previous = std::mem::replace(&mut stats.last_live, ordinal);
            }
            self.adjust_counts(lexical, row.terms, true);
            if let Some(previous) = self.rank_rows.get_mut(rank.previous as usize) {
                previous.next = ordinal;
            }
        }
        self.lexical_rows.push(lexical);
        self.rank_rows.push(rank);
    }

    /// Removes a document; its neighbours become adjacent.
    pub(crate) fn remove(&mut self, ordinal: u32) {
        let Some(removed) = self.set_live(ordinal, false) else {
            return;
        };
        let (previous, next) = self.neighbours(ordinal);
        if let Some(rank) = self.rank_rows.get_mut(ordinal as usize) {
            (rank.previous, rank.next) = (NO_DOCUMENT, NO_DOCUMENT);
            let terms = rank.terms;
            self.adjust_counts(removed, terms, false);
        }
        if let Some(before) = self.rank_rows.get_mut(previous as usize) {
            before.next = next;
        }
        if let Some(after) = self.rank_rows.get_mut(next as usize) {
            after.previous = previous;
        } else if let Some(stats) = self.session_stats.get_mut(removed.session as usize) {
            stats.last_live = previous;
        }
    }

    /// Changes whether a document is live; returns its row, `None` if that changes nothing.
    fn set_live(&mut self, ordinal: u32, live: bool) -> Option<LexicalRow> {
        let lexical = self.lexical_rows.get_mut(ordinal as usize)?;
        if std::mem::replace(&mut lexical.live, live) == live {
            return None;
        }
        if let Some(word) = self.live_bits.get_mut(ordinal as usize / 64) {
            *word ^= 1 << (ordinal % 64);
        }
        Some(*lexical)
    }

    /// Adds a removed document again, between the same neighbours as before.
    pub(crate) fn restore(&mut self, ordinal: u32) {
        let Some(restored) = self.set_live(ordinal, true) else {
            return;
        };
        let (mut previous, mut next) = (NO_DOCUMENT, NO_DOCUMENT);
        if let Some(stats) = self.session_stats_mut(restored.session) {
            previous = stats.last_live;
            while previous != NO_DOCUMENT && previous >= ordinal {
                if previous > ordinal {
                    next = previous;
                }
                previous = self.neighbours(previous).0;
            }
            if let Some(before) = self.rank_rows.get_mut(previous as usize) {
                before.next = ordinal;
            }
            if let Some(after) = self.rank_rows.get_mut(next as usize) {
                after.previous = ordinal;
            } else if let Some(stats) = self.session_stats.get_mut(restored.session as usize) {
                stats.last_live = ordinal;
            }
        }
        if let Some(rank) = self.rank_rows.get_mut(ordinal as usize) {
            (rank.previous, rank.next) = (previous, next);
            let terms = rank.terms;
            self.adjust_counts(restored, terms, true);
        }
    }

    /// Replaces the columns of a removed document by those of a hole.
    pub(crate) fn erase(&mut self, ordinal: u32, hole: &Doc) {
        if let Some(lexical) = self.lexical_rows.get_mut(ordinal as usize) {
            *lexical = LexicalRow::new(hole, false);
        }
        if let Some(rank) = self.rank_rows.get_mut(ordinal as usize) {
            *rank = RankRow::from_row(hole);
        }
    }

    /// Returns the given sessions, ascending, that contain no document any more, live or not.
    pub(crate) fn retain_unused_sessions(&self, mut sessions: Vec<u32>) -> Vec<u32> {
        sessions.retain(|session| self.iter_session(*session).next().is_none());
        if !sessions.is_empty() {
            let mut has = vec![false; sessions.last().map_or(0, |last| *last as usize + 1)];
            for lexical in self.lexical_rows.iter() {
                if let Some(has) = has.get_mut(lexical.session as usize) {
                    *has = true;
                }
            }
            sessions.retain(|session| has.get(*session as usize) != Some(&true));
        }
        sessions
    }

    /// Derives the live set as it was at `instant` from the present one. It costs what changed
    /// since then, unless that is most of the store.
    pub(crate) fn rewind_to(&self, rows: &CowVec<Doc>, facets: &Facets, instant: i64) -> Self {
        let (mut later, mut ended) = (Vec::new(), Vec::new());
        for (number, block) in (0_u32..).zip(facets.blocks()) {
            let first = number * BLOCK_DOCUMENTS as u32;
            if block.known_range.1 > instant {
                later.push(first);
            }
            ended.extend(iter_bits(block.ended).map(|bit| first + bit));
        }
        if (later.len() * BLOCK_DOCUMENTS + ended.len()) * REBUILD_CHANGED_ONE_IN > self.len() {
            return Self::build_as_of(rows.iter(), instant);
        }
        let mut rewind_to = self.clone();
        for first in later.into_iter().rev() {
            for ordinal in (first..first + BLOCK_DOCUMENTS as u32).rev() {
                let row = rows.get(ordinal as usize);
                if row.is_some_and(|row| row.known_at > instant) {
                    rewind_to.remove(ordinal);
                }
            }
        }
        for ordinal in ended {
            let row = rows.get(ordinal as usize);
            if row.is_some_and(|row| row.was_live_at(instant)) {
                rewind_to.restore(ordinal);
            }
        }
        rewind_to
    }

    /// Returns the live documents of a session, newest first.
    pub(crate) fn iter_session(&self, session: u32) -> impl Iterator<Item = u32> {
        let tail = self.session_stats.get(session as usize);
        let tail = tail.and_then(|stats| linked_document(stats.last_live));
        std::iter::successors(tail, move |ordinal| {
            linked_document(self.neighbours(*ordinal).0)
        })
    }

    /// Returns the statistics of a session, added if it is new; `None` for [`NO_SESSION`].
    fn session_stats_mut(&mut self, session: u32) -> Option<&mut SessionStats> {
        if session == NO_SESSION {
            return None;
        }
        while self.session_stats.len() <= session as usize {
            self.session_stats.push(SessionStats::EMPTY);
        }
        self.session_stats.get_mut(session as usize)
    }

    /// Whether the counts of a file can be those of its bits.
    pub(crate) fn has_possible_counts(&self) -> bool {
        let live: u32 = self.live_bits.iter().map(|word| word.count_ones()).sum();
        self.live == live && self.statistics_documents <= live && self.by_user <= live
    }

    /// Adds a document to every count, or subtracts it. Counts of a damaged file may be too small.
    fn adjust_counts(&mut self, lexical: LexicalRow, terms: u32, is_added: bool) {
        let adjust_u32 = |count: &mut u32, by: u32| {
            let changed = is_added.then(|| count.saturating_add(by));
            *count = changed.unwrap_or(count.saturating_sub(by));
        };
        let adjust_u64 = |count: &mut u64, by: u64| {
            let changed = is_added.then(|| count.saturating_add(by));
            *count = changed.unwrap_or(count.saturating_sub(by));
        };
        adjust_u32(&mut self.live, 1);
        if lexical.bare_prompt {
            return;
        }
        adjust_u32(&mut self.statistics_documents, 1);
        adjust_u32(&mut self.by_user, u32::from(lexical.by_user));
        adjust_u64(&mut self.head_terms, u64::from(lexical.head_terms));
        if let Some(stats) = self.session_stats.get_mut(lexical.session as usize) {
            let before = stats.documents;
            adjust_u32(&mut stats.documents, 1);
            adjust_u64(&mut stats.terms, u64::from(terms));
            adjust_u64(&mut self.session_terms, u64::from(terms));
            if before.min(stats.documents) == 0 {
                adjust_u32(&mut self.live_sessions, 1);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lexical_rows.len()
    }

    /// Whether it counts in statistics: it is live and no bare prompt.
    pub(crate) fn is_in_statistics(&self, ordinal: u32) -> bool {
        self.lexical_row(ordinal)
            .is_some_and(|lexical| lexical.live && !lexical.bare_prompt)
    }

    pub(crate) fn lexical_row(&self, ordinal: u32) -> Option<LexicalRow> {
        self.lexical_rows.get(ordinal as usize).copied()
    }

    /// Returns the live documents before and after it in its session, [`NO_DOCUMENT`] at an end.
    pub(crate) fn neighbours(&self, ordinal: u32) -> (u32, u32) {
        let rank = self.rank_rows.get(ordinal as usize);
        rank.map_or((NO_DOCUMENT, NO_DOCUMENT), |rank| {
            (rank.previous, rank.next)
        })
    }

    pub(crate) fn is_live(&self, ordinal: u32) -> bool {
        let word = self.live_bits.get(ordinal as usize / 64);
        word.is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    /// Whether some of the documents in statistics are the user's own words and some are not.
    pub(crate) fn has_mixed_authors(&self) -> bool {
        self.by_user > 0 && self.by_user < self.statistics_documents
    }

    /// Returns the number of sessions that ever had a name.
    pub(crate) fn session_count(&self) -> usize {
        self.session_stats.len()
    }

    pub(crate) fn session_document_count(&self, session: u32) -> u32 {
        let stats = self.session_stats.get(session as usize);
        stats.map_or(0, |stats| stats.documents)
    }

    /// Returns the BM25 norm of a session as one long text: `K1 * (1 - B + B * length / average)`.
    pub(crate) fn session_norm(&self, session: u32) -> f32 {
        let terms = self
            .session_stats
            .get(session as usize)
            .map_or(0, |t| t.terms);
        K1 * length_norm(terms, self.session_terms, self.live_sessions)
    }

    /// Returns the BM25 norm of a head with [`K1_HEAD`], by its number of terms.
    pub(crate) fn head_norms(&self) -> [f32; HEAD_TERMS + 1] {
        std::array::from_fn(|terms| {
            K1_HEAD * length_norm(terms as u64, self.head_terms, self.statistics_documents)
        })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.lexical_rows.memory_bytes()
            + self.rank_rows.memory_bytes()
            + self.session_stats.memory_bytes()
    }
}

/// Returns the BM25 norm, in units of k1, of a text of `terms` terms among `documents` texts that
/// have `total` terms together.
fn length_norm(terms: u64, total: u64, documents: u32) -> f32 {
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
        let row = |number: u32| Doc {
            forgotten_at: if number % 7 == 3 { 5 } else { NEVER },
            session: [0, 2, 0, NO_SESSION, 5][number as usize % 5],
            terms: number,
            head_terms: (number % 50) as u8,
            source: MemorySource::ALL[number as usize % 5],
            cues: Cues::from_text("why is it red", number % 3 == 1),
            ..Doc::new_hole(RecordId::from_u128(0))
        };
        let rows: Vec<Doc> = (0..200).map(row).collect();
        let mut pushed = LiveSet::default();
        for row in &rows {
            pushed.push(row, row.is_live());
        }
        let at_once = LiveSet::build_present(rows.iter());
        // Removing documents and restoring them in another order changes nothing.
        let mut there_and_back = pushed.clone();
        let living = rows.iter().zip(0_u32..).filter(|(row, _)| row.is_live());
        let ending: Vec<u32> = living.map(|(_, at)| at).step_by(3).collect();
        for ordinal in &ending {
            there_and_back.remove(*ordinal);
        }
        assert_eq!(
            there_and_back.live as usize,
            pushed.live as usize - ending.len()
        );
        for ordinal in ending.iter().rev().step_by(2).chain(&ending) {
            there_and_back.restore(*ordinal);
        }
        let content = |live_set: &LiveSet| {
            let lexical: Vec<LexicalRow> = live_set.lexical_rows.iter().copied().collect();
            let rank: Vec<RankRow> = live_set.rank_rows.iter().copied().collect();
            let session_stats = live_set.session_stats.iter().enumerate();
            let session_stats: Vec<_> = session_stats
                .filter(|(_, stats)| stats.last_live != NO_DOCUMENT)
                .collect();
            let LiveSet {
                live,
                statistics_documents,
                live_bits,
                by_user,
                live_sessions,
                head_terms,
                session_terms,
                ..
            } = live_set;
            let terms = (head_terms, session_terms);
            let counts = (live, statistics_documents, by_user, live_sessions, terms);
            format!("{lexical:?} {rank:?} {session_stats:?} {live_bits:?} {counts:?}")
        };
        assert_eq!(content(&at_once), content(&pushed));
        assert_eq!(content(&there_and_back), content(&pushed));
        // A past state with few changes since is the same from the present as from the rows.
        let rows = (0..2_000_u32).map(|number| Doc {
            known_at: i64::from(if number < 1_900 { 0 } else { number }),
            superseded_at: if number == 1_000 { 1_950 } else { NEVER },
            ..row(number)
        });
        let rows: CowVec<Doc> = rows.collect();
        let (live_set, facets) = (
            LiveSet::build_present(rows.iter()),
            Facets::from_rows(&rows),
        );
        for instant in [4, 5, 1_905, 1_949, 1_950, 9_999] {
            let past = live_set.rewind_to(&rows, &facets, instant);
            assert_eq!(
                content(&past),
                content(&LiveSet::build_as_of(rows.iter(), instant)),
                "{instant}"
            );
        }
        assert_ne!(
            content(&live_set.rewind_to(&rows, &facets, 4)),
            content(&live_set)
        );
    }
}
