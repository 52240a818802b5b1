//! The saved form of the index: columns, whose pages are written again when they change, words, a
//! section for each segment, and graph and cells, which are saved as a whole.
//!
//! A damaged page sets a flag that all sections share; the caller then rebuilds the index from the
//! log.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use reprise_types::{
    ByteReader, CowVec, LoadJob, RowCodec as _, SavedPart, SavedSection, SavedSections, SectionKey,
    SectionPages, column_part, encode_row, open_runs, rows_part,
};

use crate::docs::{Doc, NO_SESSION, SessionNames};
use crate::error::{IndexError, IndexResult};
use crate::facets::Facets;
use crate::graph_state::GraphState;
use crate::lexicon::Lexicon;
use crate::live_set::{LexicalRow, LiveSet, NO_DOCUMENT, RankRow, SessionStats};
use crate::section_kinds::{
    DOCUMENTS, LEXICAL, LIVE, NAMES, SECTION_CELLS, SECTION_GRAPH, SESSIONS, STALE, TOTALS, WORDS,
    damage_error, open_part,
};
use crate::vectors::{QuantisedVectors, SavedCells};
use crate::words::HEAD_TERMS;
use crate::writer::IndexWriter;

/// Version of all sections but graph and cells, which have their own. It also covers the analyser's
/// rules: change it when a text would give other terms or cues.
const VERSION: u8 = 14;
/// A row of documents: the columns of the document, and its neighbours.
type DocumentRow = (Doc, (u32, u32));
const DOCUMENT_BYTES: usize = DocumentRow::WIDTH;

impl IndexWriter {
    /// Lists what is saved page by page: the columns, and a part for each segment of words.
    pub(crate) fn parts(&mut self) -> Vec<Box<dyn SavedPart + '_>> {
        let LiveSet {
            lexical_rows,
            rank_rows,
            session_stats,
            ..
        } = &mut self.live_set;
        // The rows of documents and of the ranking are one section.
        rank_rows.join_unsaved(&mut self.rows);
        let rows = &self.rows;
        let encode = |page, ranks: &[RankRow], out: &mut Vec<u8>| {
            for (row, rank) in rows.page(page).iter().zip(ranks) {
                encode_row(&(*row, (rank.previous, rank.next)), out);
            }
        };
        let mut all = vec![
            column_part((DOCUMENTS, 0), rank_rows, DOCUMENT_BYTES, encode),
            rows_part((LEXICAL, 0), lexical_rows),
            rows_part((SESSIONS, 0), session_stats),
        ];
        all.extend(self.vectors.parts());
        all.extend(self.lexicon.parts());
        all
    }

    /// Takes pages that changed since they were saved, of about as many bytes as the budget allows;
    /// what is left of it is 0 if there are more. The pages that are few and change each time are
    /// in the last part only. All of them count as saved: if they cannot be written,
    /// [`Self::mark_unsaved`] says so. Forgotten documents are in them unless [`Self::purge`] came
    /// first.
    pub fn take_unsaved(&mut self, budget: &mut usize) -> Vec<SectionPages> {
        self.move_pending_to_segment();
        self.lexicon.merge_small_segments();
        let parts = self.parts().into_iter();
        let mut all: Vec<_> = parts.map(|mut part| part.take_unsaved(budget)).collect();
        if *budget > 0 {
            all.extend(self.small_sections());
        }
        all
    }

    /// Notes that nothing of the index is saved.
    pub fn mark_unsaved(&mut self) {
        for mut part in self.parts() {
            part.mark_unsaved();
        }
        self.graph.mark_unsaved();
    }

    /// Whether a saved section belongs to what the index holds now.
    pub fn is_in_use(&mut self, key: SectionKey) -> bool {
        match key.0 {
            SECTION_GRAPH | SECTION_CELLS => self.graph.is_saved(),
            TOTALS | STALE | NAMES | LIVE => true,
            _ => self.parts().iter().any(|part| part.key() == key),
        }
    }

    /// Returns work for any thread that encodes the graph and the cells as of now; `None` if there
    /// is neither. Before they are saved, [`Self::finish_graph_encoding`] is asked.
    pub fn begin_graph_encoding(
        &mut self,
    ) -> Option<impl FnOnce() -> Vec<SectionPages> + Send + use<>> {
        self.graph.begin_encoding(&self.vectors)
    }

    /// Whether graph and cells are saved, though records may have been added since.
    pub fn is_graph_saved(&self) -> bool {
        self.graph.is_saved()
    }

    /// Notes that the encoded graph and cells are in the next checkpoint. Returns `false` if they
    /// must not be: they may hold what a purge has removed since.
    pub fn finish_graph_encoding(&mut self) -> bool {
        self.graph.finish_encoding()
    }

    /// Returns the whole index as sections. Nothing counts as saved after it.
    pub fn to_sections(&mut self) -> Vec<SectionPages> {
        self.mark_unsaved();
        let encode = self.begin_graph_encoding();
        self.finish_graph_encoding();
        let mut all = self.take_unsaved(&mut usize::MAX.clone());
        all.extend(encode.into_iter().flat_map(|encode| encode()));
        self.mark_unsaved();
        all
    }

    /// Returns the sections that are saved as a whole each time.
    fn small_sections(&self) -> Vec<SectionPages> {
        let live_set = &self.live_set;
        let has_content = |ordinal: &&u32| {
            let row = self.rows.get(**ordinal as usize);
            row.is_some_and(|row| !row.is_hole())
        };
        let forgotten: Vec<u32> = self.forgotten.iter().filter(has_content).copied().collect();
        let totals: Totals = (
            VERSION,
            (self.rows.len(), self.vectors.dimensions()),
            (
                live_set.live,
                live_set.statistics_documents,
                live_set.by_user,
            ),
            (
                live_set.live_sessions,
                live_set.head_terms,
                live_set.session_terms,
            ),
            forgotten,
        );
        vec![
            SectionPages::from_value((TOTALS, 0), &totals),
            SectionPages::from_value((STALE, 0), &self.graph.stale_documents()),
            SectionPages::from_value((NAMES, 0), &self.sessions.to_saved()),
            SectionPages::from_value((LIVE, 0), &live_set.live_bits),
        ]
    }

    /// Opens a saved index. Most of it stays in its file and is read and checked page by page on
    /// demand, until [`Self::load`].
    pub fn from_sections(dimensions: usize, sections: &SavedSections) -> IndexResult<Self> {
        let first_byte = |totals: &SavedSection| totals.read_all()?.first().copied();
        let got = open_part(sections, TOTALS, "totals", first_byte)?;
        if got != VERSION {
            let (part, expected) = ("totals", VERSION);
            return Err(IndexError::Version {
                part,
                got,
                expected,
            });
        }
        let totals = open_part(sections, TOTALS, "totals", SavedSection::read_value);
        let (_, (documents, got), documents_counted, terms_counted, forgotten): Totals = totals?;
        let (live, statistics_documents, by_user) = documents_counted;
        let (live_sessions, head_terms, session_terms) = terms_counted;
        let mut live_set = LiveSet {
            live,
            statistics_documents,
            by_user,
            live_sessions,
            head_terms,
            session_terms,
            ..LiveSet::default()
        };
        if got != dimensions {
            let expected = dimensions;
            return Err(IndexError::Dimensions { got, expected });
        }
        let (rows, sessions) = open_columns(sections, documents, &mut live_set)?;
        let vectors = QuantisedVectors::open(sections, dimensions, documents)?;
        let words = open_runs(WORDS, sections);
        let lexicon = words.and_then(|words| Lexicon::from_saved(words, documents as u32));
        let lexicon = lexicon.ok_or(damage_error("words"))?;
        let lengths = [rows.len(), live_set.lexical_rows.len()];
        let words = live_set.live_bits.len();
        let last = live_set.live_bits.last().copied().unwrap_or(0);
        let has_beyond = !documents.is_multiple_of(64) && last >> (documents % 64) != 0;
        if lengths != [documents; 2] || words != documents.div_ceil(64) || has_beyond {
            return Err(damage_error("documents"));
        }
        // Numbers that others are counted from, or that memory is taken by, are compared with what
        // is there.
        let is_known = |ordinal: &u32| (*ordinal as usize) < documents;
        let stale = open_part(sections, STALE, "stale", |section| {
            let stale: Vec<u32> = section.read_value()?;
            stale.iter().all(is_known).then_some(stale)
        })?;
        if !forgotten.iter().all(is_known) || !live_set.has_possible_counts() {
            return Err(damage_error("totals"));
        }
        let mut index = Self::from_columns(rows, sessions, vectors, lexicon, live_set);
        index.forgotten = forgotten;
        let of_file = sections.get(&(TOTALS, 0));
        index.damage = of_file.map(|section| Arc::clone(&section.damage));
        // Damaged cells are learned again, and a damaged graph is grown again.
        let own = |tag| {
            let section = sections.get(&(tag, 0)).cloned();
            section.map(|section| SavedSection {
                damage: Arc::default(),
                ..section
            })
        };
        let (graph, cells) = (own(SECTION_GRAPH), own(SECTION_CELLS));
        let cells = cells.and_then(|section| SavedCells::read(&section, dimensions, documents));
        index.graph = GraphState::from_saved(graph.as_ref(), cells, stale, documents as u32);
        Ok(index)
    }

    /// Returns jobs for another thread that read in advance what [`Self::load`] and the graph's
    /// growth need; none if everything is in memory.
    pub fn loaders(&mut self) -> Vec<LoadJob> {
        let parts = self.parts().into_iter();
        let mut all: Vec<LoadJob> = parts.filter_map(|part| part.loader()).collect();
        all.extend(self.graph.loaders());
        all
    }

    /// Reads and checks what [`Self::from_sections`] left in the file, for this writer and every
    /// snapshot of it. On an error the caller rebuilds the index from the log.
    pub fn load(&mut self) -> IndexResult<()> {
        for load in self.parts().iter().filter_map(|part| part.loader()) {
            load();
        }
        if self.is_damaged() {
            return Err(damage_error("index"));
        }
        Ok(())
    }

    /// Lets go of the file that it was opened from, for this writer and its later snapshots. These
    /// sections have the same pages: all that is still in the file is read from them.
    pub fn move_to(&mut self, sections: &SavedSections) {
        let Some(damage) = self.damage.clone() else {
            return;
        };
        // What is damaged is reported by the next loading.
        drop(self.load());
        self.graph.use_all_saved();
        let session_count = self.sessions.len();
        let has_name =
            move |session: u32| session == NO_SESSION || (session as usize) < session_count;
        let moved = sections.get(&(DOCUMENTS, 0)).and_then(|section| {
            let section = SavedSection {
                damage,
                ..section.clone()
            };
            let documents = section.length / DOCUMENT_BYTES;
            open_documents(&section, documents, has_name)
        });
        match moved {
            Some((rows, _)) => self.rows.move_unread_to(&rows),
            None => self.rows.load(),
        }
        self.facets = Facets::from_rows(&self.rows);
    }

    /// Whether something of the file that it was opened from was found damaged.
    pub fn is_damaged(&self) -> bool {
        let damage = self.damage.as_ref();
        damage.is_some_and(|damage| damage.load(Ordering::Relaxed))
    }
}

/// The version; documents and dimensions; live documents, those in statistics, and those of the
/// user's own; sessions with such, terms of heads and of sessions; forgotten documents with
/// content.
type Totals = (
    u8,
    (usize, usize),
    (u32, u32, u32),
    (u32, u64, u64),
    Vec<u32>,
);

/// Opens the columns of the live set, and returns those of the documents and the sessions' names.
fn open_columns(
    sections: &SavedSections,
    documents: usize,
    live_set: &mut LiveSet,
) -> IndexResult<(CowVec<Doc>, SessionNames)> {
    live_set.session_stats = open_part(sections, SESSIONS, "sessions", |section| {
        section.to_rows(SessionStats::EMPTY, move |stats| {
            stats.last_live == NO_DOCUMENT || (stats.last_live as usize) < documents
        })
    })?;
    live_set.live_bits = open_part(sections, LIVE, "live", SavedSection::read_value)?;
    let sessions = open_part(sections, NAMES, "names", |section| {
        section.read_value().and_then(SessionNames::from_saved)
    })?;
    let session_count = sessions.len();
    let has_name = move |session: u32| session == NO_SESSION || (session as usize) < session_count;
    live_set.lexical_rows = open_part(sections, LEXICAL, "lexical", |section| {
        section.to_rows(LexicalRow::default(), move |row| {
            has_name(row.session) && usize::from(row.head_terms) <= HEAD_TERMS
        })
    })?;
    let (rows, ranks) = open_part(sections, DOCUMENTS, "documents", |section| {
        open_documents(section, documents, has_name)
    })?;
    live_set.rank_rows = ranks;
    Ok((rows, sessions))
}

/// Opens the rows of documents, for their own columns and for those of the ranking. A row whose
/// session has no name is damaged, and so is one whose neighbours are not on their side of it: a
/// walk from one to the next would not end.
fn open_documents(
    section: &SavedSection,
    documents: usize,
    has_name: impl Fn(u32) -> bool + Copy + Send + Sync + 'static,
) -> Option<(CowVec<Doc>, CowVec<RankRow>)> {
    let is_sound = move |number: usize, (row, rank): &(Doc, RankRow)| {
        let is_in =
            |link: u32, side: Range<usize>| link == NO_DOCUMENT || side.contains(&(link as usize));
        has_name(row.session)
            && is_in(rank.previous, 0..number)
            && is_in(rank.next, number + 1..documents)
    };
    let decode = |damage: SavedSection| {
        move |number: usize, bytes: &[u8]| {
            let found = decode_document(bytes).filter(|found| is_sound(number, found));
            found.unwrap_or_else(|| {
                damage.mark_damaged();
                let hole = Doc::new_hole(reprise_types::RecordId::from_u128(0));
                (hole, RankRow::from_row(&hole))
            })
        }
    };
    let (of_rows, of_ranks) = (decode(section.clone()), decode(section.clone()));
    let rows = section.to_column(DOCUMENT_BYTES, move |number, bytes| {
        of_rows(number, bytes).0
    });
    let ranks = section.to_column(DOCUMENT_BYTES, move |number, bytes| {
        of_ranks(number, bytes).1
    });
    rows.zip(ranks)
}

fn decode_document(bytes: &[u8]) -> Option<(Doc, RankRow)> {
    let read = ByteReader::with_fixed_layout(bytes).read_value();
    let (row, (previous, next)): DocumentRow = read?;
    let rank = RankRow {
        previous,
        next,
        ..RankRow::from_row(&row)
    };
    Some((row, rank))
}

/// Opens sections that are in memory with all their pages, and loads them.
#[cfg(test)]
pub(crate) fn open_whole(dimensions: usize, sections: &[SectionPages]) -> IndexResult<IndexWriter> {
    let lend = |section: &SectionPages| (section.key, SavedSection::from(section));
    let sections = sections.iter().map(lend).collect();
    let mut writer = IndexWriter::from_sections(dimensions, &sections)?;
    writer.load()?;
    Ok(writer)
}

#[cfg(test)]
mod tests;
