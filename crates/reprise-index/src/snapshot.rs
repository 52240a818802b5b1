//! The immutable state of the index that readers search while the writer goes on.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_graph::Metric as _;
use reprise_types::{CowVec, MemoryFilter, MemorySource, Order, RecordId};

use crate::docs::{Doc, DocTraits, NEVER, NO_SESSION, Row, Sessions, micros};
use crate::facets::Facets;
use crate::growth::Layers;
use crate::lexical::{LexicalScratch, LexicalSignals, lexical};
use crate::lexicon::{Lexicon, Lists};
use crate::pages::Damage;
use crate::vectors::{QueryCodes, VectorScratch, Vectors};
use crate::view::View;
use crate::words::spelling::Near;
use crate::words::{self, Language, Query, QueryTerm};
use crate::world::{World, known};

/// One published, immutable state.
#[derive(Debug)]
pub struct IndexSnapshot {
    pub(crate) rows: CowVec<Row>,
    pub(crate) sessions: Sessions,
    pub(crate) vectors: Vectors,
    pub(crate) layers: Layers,
    pub(crate) lexicon: Lexicon,
    pub(crate) world: Arc<World>,
    pub(crate) facets: Facets,
    pub(crate) languages: OnceLock<Vec<Language>>,
    pub(crate) damage: Damage,
}

impl IndexSnapshot {
    /// Whether a lazily read page was damaged: answers lack its content until the index is rebuilt.
    pub fn is_damaged(&self) -> bool {
        self.damage.is_found()
    }

    /// Documents, forgotten ones included: ordinals are `0..len()`.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dimensions(&self) -> usize {
        self.vectors.dimensions()
    }

    /// One document; `None` beyond the end.
    pub fn doc(&self, ordinal: u32) -> Option<Doc> {
        let row = self.rows.get(ordinal as usize)?;
        let (previous, next) = self.world.neighbours(ordinal);
        Some(Doc {
            id: row.id,
            timestamp: row.timestamp,
            known_at: row.known_at,
            kind: row.kind,
            source: row.source,
            session: (row.session != NO_SESSION).then_some(row.session),
            terms: row.terms,
            head_terms: row.head_terms,
            has_vector: self.vectors.has(ordinal),
            forgotten_at: row.forgotten_at,
            superseded_at: row.superseded_at,
            hole: row.hole,
            previous: known(previous),
            next: known(next),
        })
    }

    /// The ordinal of a record; ids ascend with ordinals.
    pub fn find(&self, id: RecordId) -> Option<u32> {
        crate::docs::find(&self.rows, id)
    }

    /// The number of a session, as in [`Doc::session`].
    pub fn session(&self, name: &str) -> Option<u32> {
        self.sessions
            .find(name)
            .filter(|session| *session != NO_SESSION)
    }

    pub fn sessions(&self) -> u32 {
        self.sessions.named() as u32
    }

    /// The document's properties for the ranking; `view` must be of this snapshot.
    pub fn traits(&self, ordinal: u32, view: &View) -> Option<DocTraits> {
        let near = &view.world().near;
        let own = near.get(ordinal as usize)?;
        let turn = |other: u32| near.get(other as usize).is_some_and(|o| own.are_turns(o));
        Some(DocTraits {
            embedded: self.vectors.has(ordinal),
            by_user: own.source == MemorySource::UserInput,
            dated: own.cues.is_dated(),
            instruction: own.cues.is_instruction(),
            asks: own.cues.asks(),
            prompt: own.cues.is_prompt(),
            lead: own.cues.is_lead(),
            speaker: own.speaker,
            session: (own.session != NO_SESSION).then_some(own.session),
            terms: own.terms,
            neighbours: (known(own.previous), known(own.next)),
            turns: (turn(own.previous), turn(own.next)),
        })
    }

    /// The documents that may answer: live now (or at `as_of`, by `known_at`) and admitted by the
    /// filter. Instants are compared in microseconds.
    pub fn view(&self, filter: &MemoryFilter, as_of: Option<DateTime<Utc>>) -> View {
        let world = as_of.map_or_else(
            || Arc::clone(&self.world),
            |at| Arc::new(self.world.past(&self.rows, &self.facets, micros(at))),
        );
        let MemoryFilter {
            kinds,
            sources,
            since,
            until,
            session_id,
            ..
        } = filter;
        let asks = kinds.is_some() || sources.is_some() || session_id.is_some();
        if !asks && since.is_none() && until.is_none() {
            return View::all(world);
        }
        let mut admitted = world.live_words.clone();
        if let Some(name) = session_id {
            self.keep_session(&mut admitted, &world, name);
        }
        let first = since.map_or(i64::MIN, micros);
        let last = until.map_or(i64::MAX, micros);
        for ((word, block), number) in admitted.iter_mut().zip(self.facets.blocks()).zip(0_u32..) {
            if *word == 0 {
                continue;
            }
            if let Some(kinds) = kinds {
                *word &= block.of_kinds(kinds);
            }
            if let Some(sources) = sources {
                *word &= block.of_sources(sources);
            }
            let (earliest, latest) = block.happened;
            if latest < first || earliest > last {
                *word = 0;
            } else if earliest < first || latest > last {
                *word = ones(*word).fold(0, |kept, bit| {
                    let row = self.rows.get((number * 64 + bit) as usize);
                    let within = row.is_some_and(|row| (first..=last).contains(&row.timestamp));
                    kept | u64::from(within) << bit
                });
            }
        }
        View::of(world, admitted)
    }

    /// Takes out what is not in the session.
    fn keep_session(&self, admitted: &mut [u64], world: &World, name: &str) {
        match self.sessions.find(name) {
            Some(NO_SESSION) => {
                for (word, number) in admitted.iter_mut().zip(0_u32..) {
                    *word = ones(*word).fold(0, |kept, bit| {
                        let hot = world.hot(number * 64 + bit);
                        let none = hot.is_some_and(|hot| hot.session == NO_SESSION);
                        kept | u64::from(none) << bit
                    });
                }
            }
            found => {
                admitted.fill(0);
                for ordinal in found
                    .into_iter()
                    .flat_map(|session| world.of_session(session))
                {
                    if let Some(word) = admitted.get_mut(ordinal as usize / 64) {
                        *word |= 1 << (ordinal % 64);
                    }
                }
            }
        }
    }

    /// The documents of `view` that come first in this order of when they happened, at most `limit`
    /// of those that come after `after`: each with its timestamp in microseconds and its id, which
    /// breaks ties. Blocks that can hold none of them are not read.
    pub fn in_order(
        &self,
        view: &View,
        order: Order,
        after: Option<(i64, RecordId)>,
        limit: usize,
    ) -> Vec<(i64, RecordId, u32)> {
        // Of times turned around the oldest is the latest.
        let turned = |(timestamp, id): (i64, RecordId)| match order {
            Order::NewestFirst => (timestamp, id),
            Order::OldestFirst => (!timestamp, RecordId::from_u128(!id.to_u128())),
        };
        let bounds = |(first, last): (i64, i64)| match order {
            Order::NewestFirst => (first, last),
            Order::OldestFirst => (!last, !first),
        };
        let after = after.map(turned);
        let asked = view.bits().iter().zip(self.facets.blocks()).zip(0_u32..);
        let asked = asked.filter(|((word, block), _)| {
            **word != 0 && after.is_none_or(|after| bounds(block.happened).0 <= after.0)
        });
        let mut blocks: BinaryHeap<(i64, u32)> = asked
            .map(|((_, block), number)| (bounds(block.happened).1, number))
            .collect();
        // The lowest is on top, and goes when there is one too many.
        let mut latest: BinaryHeap<Reverse<(i64, RecordId, u32)>> = BinaryHeap::new();
        while let Some((bound, number)) = blocks.pop() {
            let is_full = latest.len() >= limit;
            if is_full && latest.peek().is_none_or(|lowest| lowest.0.0 > bound) {
                break;
            }
            let word = view.bits().get(number as usize).copied().unwrap_or(0);
            for ordinal in ones(word).map(|bit| number * 64 + bit) {
                let Some((timestamp, id)) = self.place_in_time(ordinal).map(turned) else {
                    continue;
                };
                if after.is_none_or(|after| (timestamp, id) < after) {
                    latest.push(Reverse((timestamp, id, ordinal)));
                    if latest.len() > limit {
                        latest.pop();
                    }
                }
            }
        }
        let mut latest: Vec<_> = latest.into_iter().map(|place| place.0).collect();
        latest.sort_unstable_by(|a, b| b.cmp(a));
        for (timestamp, id, _) in &mut latest {
            (*timestamp, *id) = turned((*timestamp, *id));
        }
        latest
    }

    /// The documents that the store learned of at exactly this instant, ascending.
    pub fn learned_at(&self, at: DateTime<Utc>) -> impl Iterator<Item = u32> {
        let at = micros(at);
        let blocks = (0_u32..).zip(self.facets.blocks());
        let blocks = blocks.filter(move |(_, block)| (block.known.0..=block.known.1).contains(&at));
        let ordinals = blocks.flat_map(|(number, _)| number * 64..(number + 1) * 64);
        ordinals.filter(move |ordinal| {
            let row = self.rows.get(*ordinal as usize);
            row.is_some_and(|row| !row.hole && row.known_at == at)
        })
    }

    /// The quantised query, computed once per query. `None` where it has the wrong number of
    /// dimensions, a number that is not finite, or only zeros.
    pub fn encode(&self, query: &[f32]) -> Option<QueryCodes> {
        self.vectors.encode(query)
    }

    /// The `k` documents of `view` (one of this snapshot's) whose approximate cosine is highest,
    /// best first, ties by newer. From codes alone: within about 0.005 of the exact cosine for 384
    /// numbers, and no full vector is read.
    pub fn candidates<'s>(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &View,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        self.vectors
            .candidates(query, k, view, &self.layers, scratch)
    }

    /// The approximate cosine of one document, as in [`Self::candidates`]; `None` where it has no
    /// vector. Applies no filter.
    pub fn cosine(&self, query: &QueryCodes, ordinal: u32) -> Option<f32> {
        self.vectors.cosine(query, ordinal)
    }

    /// The approximate cosine of two documents; 0 where either has no vector.
    pub fn likeness(&self, one: u32, other: u32) -> f32 {
        self.vectors.similarity(one, other)
    }

    /// Fills `out` with the approximate cosine of each of `ordinals`, in their order; 0 where there
    /// is no vector. Fastest where they ascend.
    pub fn cosines(&self, query: &QueryCodes, ordinals: &[u32], out: &mut Vec<f32>) {
        out.clear();
        let cosine = |ordinal: &u32| self.vectors.cosine(query, *ordinal).unwrap_or(0.0);
        out.extend(ordinals.iter().map(cosine));
    }

    /// The approximate cosines of about `n` evenly spaced documents that are live in `view` and
    /// have a vector, admitted or not; of all of them where there are no more than `n`.
    pub fn sample(&self, query: &QueryCodes, n: usize, view: &View) -> Vec<(u32, f32)> {
        let cells = self.layers.cells.as_ref();
        self.vectors.sample(query, n, view.world(), cells)
    }

    /// The query's terms. What lies beyond `QUERY_BYTES_MAX` is ignored.
    pub fn analyse_query(&self, text: &str) -> Query {
        let languages = self.languages.get_or_init(|| {
            let held = self.lexicon.languages();
            held.into_iter().map(|(language, _)| language).collect()
        });
        let mut query = words::query(text, languages);
        let is_held = |term: &QueryTerm| term.keys().any(|key| self.lexicon.has(key));
        if query.terms.iter().any(|term| !term.is_optional) {
            query
                .terms
                .retain(|term| !term.is_optional || is_held(term));
        }
        for term in &mut query.terms {
            let parts = words::held_parts(&term.surface, languages, |key| {
                self.lexicon.has(key.as_bytes())
            });
            term.parts = parts.into_iter().flatten().collect();
        }
        query
    }

    /// Gives each word of a query that no document holds the keys of those spelled like it, one or
    /// two edits away: those that most documents hold. Identifiers are left as they are, and so is
    /// a query half of whose words are held: its other words are more often not told of than slips.
    pub fn mend(&self, query: &mut Query) {
        /// Words that one is taken for, at most.
        const TAKEN_FOR: usize = 2;
        /// Words of a question that are looked up: each costs a walk through the dictionary.
        const WORDS_MAX: usize = 3;
        let is_known = |term: &&QueryTerm| term.keys().any(|key| self.lexicon.has(key));
        let known = query.terms.iter().filter(is_known).count();
        if 2 * known >= query.terms.len().max(3) {
            return;
        }
        let unknown = query.terms.iter_mut().filter_map(|term| {
            let near = Near::of(&term.surface).filter(|_| term.is_plain)?;
            let is_held = term.keys().any(|key| self.lexicon.has(key));
            (!is_held).then_some((term, near))
        });
        for (term, mut near) in unknown.take(WORDS_MAX) {
            self.lexicon.spelled_like(&mut near, |word, key| {
                let terms = self.analyse_query(word).terms;
                terms
                    .iter()
                    .any(|term| term.keys().any(|own| *own == *key.as_bytes()))
            });
            term.mended = near.found();
            term.mended
                .sort_by_cached_key(|key| Reverse(self.lexicon.lists(key.as_bytes()).documents()));
            term.mended.truncate(TAKEN_FOR);
        }
    }

    /// The languages of the documents that are not English, each with how many documents, dead ones
    /// included.
    pub fn languages(&self) -> Vec<(Language, usize)> {
        self.lexicon.languages()
    }

    /// The language of a document.
    pub fn language_of(&self, ordinal: u32) -> Language {
        self.lexicon.language_of(ordinal)
    }

    /// The lexical scores of every document and session, and the `k` best admitted documents, in
    /// buffers that the caller passes. `view` must be of this snapshot.
    pub fn lexical<'s>(
        &self,
        query: &Query,
        view: &View,
        k: usize,
        scratch: &'s mut LexicalScratch,
    ) -> LexicalSignals<'s> {
        lexical(&self.lexicon, query, view, k, scratch)
    }

    /// The words of the query that the document holds, as the query wrote them. After a lexical
    /// pass [`LexicalSignals::matched_words`] answers faster.
    pub fn matched_words(&self, ordinal: u32, query: &Query) -> Vec<String> {
        query
            .terms
            .iter()
            .filter(|term| term.keys().any(|key| self.lexicon.holds(ordinal, key)))
            .map(|term| term.surface.clone())
            .collect()
    }

    /// The documents with this exact term, dead ones included, ascending. Terms are compared byte
    /// by byte.
    pub fn holding(&self, term: &str) -> Vec<u32> {
        self.lexicon.exact(term)
    }

    /// The same for every exact term with this prefix: at most `most` terms of each segment, in
    /// order.
    pub fn holding_from(&self, prefix: &str, most: usize) -> BTreeMap<String, Vec<u32>> {
        self.lexicon.exact_from(prefix, most)
    }

    /// The documents, dead ones included, that hold every word of a query, ascending; `None` where
    /// it has no words. Once `enough` or fewer are left the commoner words are not asked for, and
    /// some of these may lack them.
    pub fn holding_words(&self, query: &Query, enough: usize) -> Option<Vec<u32>> {
        let some_are_needed = query.terms.iter().any(|term| !term.is_optional);
        let terms = query.terms.iter();
        let terms = terms.filter(|term| !(term.is_optional && some_are_needed));
        let lists = |term: &QueryTerm| {
            let keys = term.keys();
            Lists::any_of(keys.map(|key| self.lexicon.lists(key)))
        };
        let mut terms: Vec<Lists<'_>> = terms.map(lists).collect();
        terms.sort_by_cached_key(Lists::documents);
        let (rarest, others) = terms.split_first()?;
        let mut found = rarest.ordinals();
        for lists in others {
            if found.len() <= enough {
                break;
            }
            lists.retain(&mut found);
        }
        Some(found)
    }

    /// The document's timestamp in microseconds since the Unix epoch, and its record id, which
    /// breaks ties. `None` beyond the end.
    pub fn place_in_time(&self, ordinal: u32) -> Option<(i64, RecordId)> {
        let row = self.rows.get(ordinal as usize)?;
        Some((row.timestamp, row.id))
    }

    /// How many documents were forgotten, and how many replaced by a newer one.
    pub fn ended(&self) -> (u32, u32) {
        self.rows.iter().fold((0, 0), |(forgotten, replaced), row| {
            let is_forgotten = u32::from(row.forgotten_at != NEVER);
            let is_replaced = u32::from(row.superseded_at != NEVER);
            (forgotten + is_forgotten, replaced + is_replaced)
        })
    }

    /// When the store learned of each living document, in microseconds since the Unix epoch, by
    /// ordinal.
    pub fn known_micros(&self) -> impl Iterator<Item = i64> + '_ {
        let living = self.rows.iter().filter(|row| row.is_live());
        living.map(|row| row.known_at)
    }

    /// Asks some of the documents about themselves by a scan and by the graph, and compares what
    /// `clock` says: the size of a store from which on a graph with the narrowest beam is quicker
    /// on this machine. `None` while the graph is not whole, or not all is in memory. Takes a few
    /// scans; for [`IndexWriter::set_even_at`](crate::IndexWriter::set_even_at).
    pub fn crossover(&self, clock: &dyn Fn() -> Duration) -> Option<u32> {
        let view = View::all(Arc::clone(&self.world));
        self.vectors.crossover(&view, &self.layers, clock)
    }

    /// Documents that the graph finds.
    pub fn in_graph(&self) -> usize {
        self.layers.graph.found()
    }

    pub fn has_vector(&self, ordinal: u32) -> bool {
        self.vectors.has(ordinal)
    }

    /// Documents that have a vector, whether they may answer or not.
    pub fn embedded(&self) -> u32 {
        self.vectors.held()
    }

    /// Whether a document is live and has no vector.
    pub fn is_unembedded(&self, ordinal: u32) -> bool {
        !self.vectors.has(ordinal) && self.world.is_live(ordinal)
    }

    /// Up to `limit` living documents without a vector, from ordinal `first` on.
    pub fn unembedded(&self, first: u32, limit: usize) -> Vec<u32> {
        (first..self.len() as u32)
            .filter(|ordinal| self.is_unembedded(*ordinal))
            .take(limit)
            .collect()
    }

    /// Heap bytes of this snapshot, most of them shared with earlier and later ones.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.sessions.memory_bytes()
            + self.vectors.memory_bytes()
            + self.layers.graph.memory_bytes()
            + self.lexicon.memory_bytes()
            + self.world.memory_bytes()
            + self.facets.memory_bytes()
    }
}

/// Places of the bits that are set in some words, ascending.
pub(crate) fn set_bits(words: &[u64]) -> impl Iterator<Item = u32> {
    let numbered = (0_u32..).zip(words);
    numbered.flat_map(|(number, word)| ones(*word).map(move |bit| number * 64 + bit))
}

/// The bits of a word that are set, ascending.
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests;
