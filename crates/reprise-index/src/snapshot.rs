//! The immutable state of the index that readers search while the writer continues.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_hnsw::Metric as _;
use reprise_types::{CowVec, ListOrder, MemoryFilter, MemorySource, RecordId};

use crate::bits::iter_bits;
use crate::docs::{Doc, DocTraits, NEVER, NO_SESSION, SessionNames, micros_from_instant};
use crate::facets::Facets;
use crate::graph_state::SearchLayers;
use crate::lexical::{LexicalScratch, LexicalSignals, score_lexical};
use crate::lexicon::{Lexicon, PostingLists};
use crate::live_set::{LiveSet, linked_document};
use crate::vectors::{QuantisedVectors, QueryCodes, VectorScratch};
use crate::view::IndexView;
use crate::words::spelling::SpellingMatcher;
use crate::words::{self, Language, Query, QueryTerm};

/// One published, immutable state of the index.
#[derive(Debug)]
pub struct IndexSnapshot {
    pub(crate) rows: CowVec<Doc>,
    pub(crate) sessions: SessionNames,
    pub(crate) vectors: QuantisedVectors,
    pub(crate) layers: SearchLayers,
    pub(crate) lexicon: Lexicon,
    pub(crate) live_set: Arc<LiveSet>,
    pub(crate) facets: Facets,
    pub(crate) languages: OnceLock<Vec<Language>>,
    /// Set when a page of the file that it was opened from is found damaged.
    pub(crate) damage: Option<Arc<AtomicBool>>,
}

impl IndexSnapshot {
    /// Whether a lazily read page was damaged: results lack its content until the index is rebuilt.
    pub fn is_damaged(&self) -> bool {
        let damage = self.damage.as_ref();
        damage.is_some_and(|damage| damage.load(Ordering::Relaxed))
    }

    /// Returns the number of documents, including forgotten ones: ordinals are `0..len()`.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dimensions(&self) -> usize {
        self.vectors.dimensions()
    }

    /// Returns one document; `None` beyond the end.
    pub fn doc(&self, ordinal: u32) -> Option<Doc> {
        self.rows.get(ordinal as usize).copied()
    }

    /// Finds the ordinal of a record; ids ascend with ordinals.
    pub fn find(&self, id: RecordId) -> Option<u32> {
        crate::docs::find_row(&self.rows, id)
    }

    /// Finds the number of a session, as in [`Doc::session()`].
    pub fn find_session(&self, name: &str) -> Option<u32> {
        self.sessions
            .find(name)
            .filter(|session| *session != NO_SESSION)
    }

    /// Lists the names of the sessions with live documents for which `is_wanted` is true.
    pub fn list_sessions(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<&str> {
        let wanted = (0_u32..)
            .zip(self.sessions.iter())
            .filter(|(_, name)| !name.is_empty() && is_wanted(name));
        let live = |session: u32| self.live_set.iter_session(session).next().is_some();
        wanted
            .filter(|(session, _)| live(*session))
            .map(|(_, name)| name)
            .collect()
    }

    pub fn session_count(&self) -> u32 {
        self.sessions.named_count() as u32
    }

    /// Returns the document's properties for the ranking; `view` must be of this snapshot.
    pub fn doc_traits(&self, ordinal: u32, view: &IndexView) -> Option<DocTraits> {
        let rows = &view.live_set().rank_rows;
        let own = rows.get(ordinal as usize)?;
        let turn = |other: u32| {
            rows.get(other as usize)
                .is_some_and(|o| own.is_dialogue_with(o))
        };
        Some(DocTraits {
            embedded: self.vectors.has(ordinal),
            by_user: own.source == MemorySource::UserInput,
            dated: own.cues.is_dated(),
            instruction: own.cues.is_instruction(),
            only_asks: own.cues.only_asks(),
            informative_prompt: own.cues.is_informative_prompt(),
            bare_prompt: own.cues.is_bare_prompt(),
            speaker: own.speaker,
            session: (own.session != NO_SESSION).then_some(own.session),
            terms: own.terms,
            neighbours: (linked_document(own.previous), linked_document(own.next)),
            neighbours_in_dialogue: (turn(own.previous), turn(own.next)),
        })
    }

    /// Returns the documents that a query may return: live now (or at `as_of`, by `known_at`) and
    /// admitted by the filter. Instants are compared in microseconds.
    pub fn view(&self, filter: &MemoryFilter, as_of: Option<DateTime<Utc>>) -> IndexView {
        let live_set = as_of.map_or_else(
            || Arc::clone(&self.live_set),
            |at| {
                Arc::new(
                    self.live_set
                        .rewind_to(&self.rows, &self.facets, micros_from_instant(at)),
                )
            },
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
            return IndexView::unfiltered(live_set);
        }
        let mut admitted = live_set.live_bits.clone();
        if let Some(name) = session_id {
            self.retain_session(&mut admitted, &live_set, name);
        }
        let first = since.map_or(i64::MIN, micros_from_instant);
        let last = until.map_or(i64::MAX, micros_from_instant);
        for ((word, block), number) in admitted.iter_mut().zip(self.facets.blocks()).zip(0_u32..) {
            if *word == 0 {
                continue;
            }
            if let Some(kinds) = kinds {
                *word &= block.mask_documents_of_kinds(kinds);
            }
            if let Some(sources) = sources {
                *word &= block.mask_documents_from_sources(sources);
            }
            let (earliest, latest) = block.happened_range;
            if latest < first || earliest > last {
                *word = 0;
            } else if earliest < first || latest > last {
                *word = iter_bits(*word).fold(0, |kept, bit| {
                    let row = self.rows.get((number * 64 + bit) as usize);
                    let within = row.is_some_and(|row| (first..=last).contains(&row.timestamp));
                    kept | u64::from(within) << bit
                });
            }
        }
        IndexView::from_bits(live_set, admitted)
    }

    /// Removes the documents that are in another session.
    fn retain_session(&self, admitted: &mut [u64], live_set: &LiveSet, name: &str) {
        match self.sessions.find(name) {
            Some(NO_SESSION) => {
                for (word, number) in admitted.iter_mut().zip(0_u32..) {
                    *word = iter_bits(*word).fold(0, |kept, bit| {
                        let row = live_set.lexical_row(number * 64 + bit);
                        let none = row.is_some_and(|row| row.session == NO_SESSION);
                        kept | u64::from(none) << bit
                    });
                }
            }
            found => {
                admitted.fill(0);
                for ordinal in found
                    .into_iter()
                    .flat_map(|session| live_set.iter_session(session))
                {
                    if let Some(word) = admitted.get_mut(ordinal as usize / 64) {
                        *word |= 1 << (ordinal % 64);
                    }
                }
            }
        }
    }

    /// Lists the documents of `view` in the order of when they happened: at most `limit` of those
    /// after `after`, each with its timestamp in microseconds and its id, which breaks ties. Blocks
    /// that cannot contain any of them are not read.
    pub fn list_by_time(
        &self,
        view: &IndexView,
        order: ListOrder,
        after: Option<(i64, RecordId)>,
        limit: usize,
    ) -> Vec<(i64, RecordId, u32)> {
        // With inverted times the oldest document has the highest key.
        let order_key = |(timestamp, id): (i64, RecordId)| match order {
            ListOrder::NewestFirst => (timestamp, id),
            ListOrder::OldestFirst => (!timestamp, RecordId::from_u128(!id.to_u128())),
        };
        let bounds = |(first, last): (i64, i64)| match order {
            ListOrder::NewestFirst => (first, last),
            ListOrder::OldestFirst => (!last, !first),
        };
        let after = after.map(order_key);
        let candidates = view.bits().iter().zip(self.facets.blocks()).zip(0_u32..);
        let candidates = candidates.filter(|((word, block), _)| {
            **word != 0 && after.is_none_or(|after| bounds(block.happened_range).0 <= after.0)
        });
        let mut blocks: BinaryHeap<(i64, u32)> = candidates
            .map(|((_, block), number)| (bounds(block.happened_range).1, number))
            .collect();
        // The lowest key is on top and is removed when there is one document too many.
        let mut latest: BinaryHeap<Reverse<(i64, RecordId, u32)>> = BinaryHeap::new();
        while let Some((bound, number)) = blocks.pop() {
            let is_full = latest.len() >= limit;
            if is_full && latest.peek().is_none_or(|lowest| lowest.0.0 > bound) {
                break;
            }
            let word = view.bits().get(number as usize).copied().unwrap_or(0);
            for ordinal in iter_bits(word).map(|bit| number * 64 + bit) {
                let Some((timestamp, id)) = self.time_key(ordinal).map(order_key) else {
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
            (*timestamp, *id) = order_key((*timestamp, *id));
        }
        latest
    }

    /// Returns the documents that the store learned of at exactly this instant, ascending.
    pub fn documents_learned_at(&self, at: DateTime<Utc>) -> impl Iterator<Item = u32> {
        let at = micros_from_instant(at);
        let blocks = (0_u32..).zip(self.facets.blocks());
        let blocks = blocks
            .filter(move |(_, block)| (block.known_range.0..=block.known_range.1).contains(&at));
        let ordinals = blocks.flat_map(|(number, _)| number * 64..(number + 1) * 64);
        ordinals.filter(move |ordinal| {
            let row = self.rows.get(*ordinal as usize);
            row.is_some_and(|row| !row.is_hole() && row.known_at == at)
        })
    }

    /// Quantises a query, once per query. Returns `None` if it has the wrong number of dimensions,
    /// a non-finite number, or only zeros.
    pub fn encode_query(&self, query: &[f32]) -> Option<QueryCodes> {
        self.vectors.encode_query(query)
    }

    /// Finds the `k` documents of `view` (of this snapshot) with the highest approximate cosine,
    /// best first, ties by newer. It uses codes alone, which are within about 0.005 of the exact
    /// cosine for 384 numbers, and reads no full vector.
    pub fn search_vectors<'s>(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &IndexView,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        self.vectors.search(query, k, view, &self.layers, scratch)
    }

    /// Returns the approximate cosine of one document, as in [`Self::search_vectors`]; `None` if it
    /// has no vector. Applies no filter.
    pub fn cosine(&self, query: &QueryCodes, ordinal: u32) -> Option<f32> {
        self.vectors.cosine(query, ordinal)
    }

    /// Returns the approximate cosine of two documents; 0 if either has no vector.
    pub fn similarity(&self, one: u32, other: u32) -> f32 {
        self.vectors.similarity(one, other)
    }

    /// Fills `out` with the approximate cosine of each of `ordinals`, in their order; 0 for a
    /// document without a vector. It is fastest if they ascend.
    pub fn compute_cosines(&self, query: &QueryCodes, ordinals: &[u32], out: &mut Vec<f32>) {
        out.clear();
        let cosine = |ordinal: &u32| self.vectors.cosine(query, *ordinal).unwrap_or(0.0);
        out.extend(ordinals.iter().map(cosine));
    }

    /// Returns the approximate cosines of about `n` evenly spaced documents that are live in `view`
    /// and have a vector, whatever the filter; of all of them if there are at most `n`.
    pub fn sample_cosines(
        &self,
        query: &QueryCodes,
        n: usize,
        view: &IndexView,
    ) -> Vec<(u32, f32)> {
        let cells = self.layers.cells.as_ref();
        self.vectors
            .sample_cosines(query, n, view.live_set(), cells)
    }

    /// Analyses a query into terms. Text beyond `QUERY_BYTES_MAX` is ignored.
    pub fn analyse_query(&self, text: &str) -> Query {
        let languages = self.languages.get_or_init(|| {
            let held = self.lexicon.count_languages();
            held.into_iter().map(|(language, _)| language).collect()
        });
        let mut query = words::analyse_query(text, languages);
        let is_held = |term: &QueryTerm| term.keys().any(|key| self.lexicon.has_term(key));
        if query.terms.iter().any(|term| !term.is_optional) {
            query
                .terms
                .retain(|term| !term.is_optional || is_held(term));
        }
        for term in &mut query.terms {
            let parts = words::split_compound(&term.surface, languages, |key| {
                self.lexicon.has_term(key.as_bytes())
            });
            term.compound_parts = parts.into_iter().flatten().collect();
        }
        query
    }

    /// Gives each word that no document has the keys of similar words, one or two edits away: those
    /// that most documents have. Identifiers are left unchanged, and so is a query of which at
    /// least half of the words are known: its unknown words are more often new topics than typing
    /// errors.
    pub fn correct_spelling(&self, query: &mut Query) {
        /// Most corrections of one word.
        const CORRECTIONS_MAX: usize = 2;
        /// Most words of a query that are corrected: each costs a walk through the dictionary.
        const WORDS_MAX: usize = 3;
        let is_known = |term: &&QueryTerm| term.keys().any(|key| self.lexicon.has_term(key));
        let known = query.terms.iter().filter(is_known).count();
        if 2 * known >= query.terms.len().max(3) {
            return;
        }
        let unknown = query.terms.iter_mut().filter_map(|term| {
            let matcher = SpellingMatcher::new(&term.surface).filter(|_| term.is_plain)?;
            let is_held = term.keys().any(|key| self.lexicon.has_term(key));
            (!is_held).then_some((term, matcher))
        });
        for (term, mut matcher) in unknown.take(WORDS_MAX) {
            self.lexicon
                .collect_similar_spellings(&mut matcher, |word, key| {
                    let terms = self.analyse_query(word).terms;
                    terms
                        .iter()
                        .any(|term| term.keys().any(|own| *own == *key.as_bytes()))
                });
            term.corrections = matcher.into_matches();
            term.corrections.sort_by_cached_key(|key| {
                Reverse(self.lexicon.posting_lists(key.as_bytes()).posting_count())
            });
            term.corrections.truncate(CORRECTIONS_MAX);
        }
    }

    /// Returns the languages other than English, each with its number of documents, live or not.
    /// English documents are not counted.
    pub fn count_languages(&self) -> Vec<(Language, usize)> {
        self.lexicon.count_languages()
    }

    /// Returns the language of a document.
    pub fn document_language(&self, ordinal: u32) -> Language {
        self.lexicon.document_language(ordinal)
    }

    /// Computes the lexical scores of every document and session, and the `k` best documents of
    /// `view`, in buffers that the caller passes. `view` must be of this snapshot.
    pub fn score_lexical<'s>(
        &self,
        query: &Query,
        view: &IndexView,
        k: usize,
        scratch: &'s mut LexicalScratch,
    ) -> LexicalSignals<'s> {
        score_lexical(&self.lexicon, query, view, k, scratch)
    }

    /// Returns the words of the query that the document has, as written in the query. After a
    /// lexical pass [`LexicalSignals::matched_words`] is faster.
    pub fn matched_words(&self, ordinal: u32, query: &Query) -> Vec<String> {
        query
            .terms
            .iter()
            .filter(|term| {
                term.keys()
                    .any(|key| self.lexicon.document_has_term(ordinal, key))
            })
            .map(|term| term.surface.clone())
            .collect()
    }

    /// Finds the documents with this exact term, live or not, ascending. Terms are compared byte by
    /// byte.
    pub fn find_exact_term(&self, term: &str) -> Vec<u32> {
        self.lexicon.find_exact(term)
    }

    /// Lists the first `most` exact terms with this prefix, without reading their documents.
    pub fn list_exact_terms(&self, prefix: &str, most: usize) -> BTreeSet<String> {
        self.lexicon.list_exact_terms(prefix, most)
    }

    /// Finds the documents of the first `most` exact terms with this prefix.
    pub fn find_exact_prefix(&self, prefix: &str, most: usize) -> BTreeMap<String, Vec<u32>> {
        self.lexicon.find_exact_prefix(prefix, most)
    }

    /// Finds the documents, live or not, that have every word of a query, ascending; `None` if the
    /// query has no words. Once `enough` or fewer are left, more common words are not checked, and
    /// some of the documents may lack them.
    pub fn find_all_words(&self, query: &Query, enough: usize) -> Option<Vec<u32>> {
        let some_are_needed = query.terms.iter().any(|term| !term.is_optional);
        let terms = query.terms.iter();
        let terms = terms.filter(|term| !(term.is_optional && some_are_needed));
        let lists = |term: &QueryTerm| {
            let keys = term.keys();
            PostingLists::union(keys.map(|key| self.lexicon.posting_lists(key)))
        };
        let mut terms: Vec<PostingLists<'_>> = terms.map(lists).collect();
        terms.sort_by_cached_key(PostingLists::posting_count);
        let mut terms = terms.into_iter();
        let mut found = terms.next()?.ordinals();
        for lists in terms {
            if found.len() <= enough {
                break;
            }
            lists.retain_listed(&mut found);
        }
        Some(found)
    }

    /// Returns the document's timestamp in microseconds since the Unix epoch, and its record id,
    /// which breaks ties. `None` beyond the end.
    pub fn time_key(&self, ordinal: u32) -> Option<(i64, RecordId)> {
        let row = self.rows.get(ordinal as usize)?;
        Some((row.timestamp, row.id))
    }

    /// Counts the documents that were forgotten, and those that were replaced by a newer one.
    pub fn count_ended(&self) -> (u32, u32) {
        self.rows.iter().fold((0, 0), |(forgotten, replaced), row| {
            let is_forgotten = u32::from(row.forgotten_at != NEVER);
            let is_replaced = u32::from(row.superseded_at != NEVER);
            (forgotten + is_forgotten, replaced + is_replaced)
        })
    }

    /// Returns each live document's ordinal, ascending, and when the store learned of it, in
    /// microseconds since the Unix epoch.
    pub fn live_known_at(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        let living = (0..).zip(self.rows.iter()).filter(|(_, row)| row.is_live());
        living.map(|(ordinal, row)| (ordinal, row.known_at))
    }

    /// Measures the store size from which on a graph with the narrowest beam is faster than a scan
    /// on this machine, by running some queries both ways against `clock`. Returns `None` while the
    /// graph is incomplete or codes are unread. It costs a few scans. The result is for
    /// [`IndexWriter::set_graph_faster_from`](crate::IndexWriter::set_graph_faster_from).
    pub fn measure_crossover(&self, clock: &dyn Fn() -> Duration) -> Option<u32> {
        let view = IndexView::unfiltered(Arc::clone(&self.live_set));
        self.vectors.measure_crossover(&view, &self.layers, clock)
    }

    /// Returns the number of documents that the graph finds.
    pub fn graph_document_count(&self) -> usize {
        self.layers.graph.searchable_count()
    }

    pub fn has_vector(&self, ordinal: u32) -> bool {
        self.vectors.has(ordinal)
    }

    /// Returns the number of documents that have a vector, live or not.
    pub fn embedded_count(&self) -> u32 {
        self.vectors.vector_count()
    }

    /// Whether a document is live and has no vector.
    pub fn is_unembedded(&self, ordinal: u32) -> bool {
        !self.vectors.has(ordinal) && self.live_set.is_live(ordinal)
    }

    /// Lists up to `limit` live documents without a vector, from ordinal `first` on.
    pub fn list_unembedded(&self, first: u32, limit: usize) -> Vec<u32> {
        (first..self.len() as u32)
            .filter(|ordinal| self.is_unembedded(*ordinal))
            .take(limit)
            .collect()
    }

    /// Returns the heap bytes of this snapshot, most of them shared with earlier and later ones.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.sessions.memory_bytes()
            + self.vectors.memory_bytes()
            + self.layers.graph.memory_bytes()
            + self.lexicon.memory_bytes()
            + self.live_set.memory_bytes()
            + self.facets.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
