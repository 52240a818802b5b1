//! The saved columns: the front has what a query needs of all documents; the pages have, row by
//! row, what it needs of a few.
//!
//! ```text
//! front: u32 documents, live ones, of these no bare prompts, of these the user's own words,
//!     sessions with a document that is no bare prompt
//!   | u64 terms of the heads of these, of their texts in sessions
//!   | per document: u32 session; then u8 head terms; then u8 flags (1 live, 2 the user's own,
//!     4 a bare prompt)
//!   | u32 ends, each u32 ordinal, u8 0 forgotten or 1 superseded, i64 instant
//!   | u32 sessions | per session u32 last document; then u32 documents; then u64 terms;
//!     then u32 end of its name | names | checks of the pages
//! row: u128 id | i64 timestamp | i64 known at | u32 terms | u32 speaker | u32 previous | u32 next
//!   | u8 kind | u8 source | u8 cues | u8 hole
//! ```

use std::sync::Arc;

use reprise_types::{
    ByteReader, ByteWriter, CowVec, MemoryKind, MemorySource, PageFetcher, RecordId, encode_all,
};

use crate::codec::{PartReader, append_u32};
use crate::cues::Cues;
use crate::docs::{Doc, NEVER, NO_SESSION, SessionNames};
use crate::error::{IndexError, IndexResult};
use crate::live_set::{LexicalRow, LiveSet, RankRow, SessionStats};
use crate::pages::{self, DamageFlag, LazyPart, PartPages};
use crate::words::HEAD_TERMS;

pub(super) const DOCUMENTS: &str = "documents";
/// Rows per page, as `CowVec` fetches them.
const PAGE_ROWS: usize = 32;
const ROW_BYTES: usize = 52;
const FLAG_LIVE: u8 = 1;
const FLAG_BY_USER: u8 = 2;
const FLAG_BARE_PROMPT: u8 = 4;

pub(super) struct SavedDocuments {
    pub(super) rows: CowVec<Doc>,
    pub(super) sessions: SessionNames,
    pub(super) live_set: LiveSet,
    /// Forgotten documents, holes or not.
    pub(super) forgotten: Vec<u32>,
    pub(super) pages: Arc<PartPages>,
}

pub(super) fn encode_documents(
    rows: &CowVec<Doc>,
    sessions: &SessionNames,
    live_set: &LiveSet,
    version: u8,
) -> Vec<u8> {
    let mut front = Vec::with_capacity(64 + rows.len() * 7);
    let counts = [
        rows.len() as u32,
        live_set.live,
        live_set.statistics_documents,
        live_set.by_user,
        live_set.live_sessions,
    ];
    for count in counts {
        append_u32(&mut front, count);
    }
    front.extend_from_slice(&live_set.head_terms.to_le_bytes());
    front.extend_from_slice(&live_set.session_terms.to_le_bytes());
    front.extend(
        live_set
            .lexical_rows
            .iter()
            .flat_map(|lexical| lexical.session.to_le_bytes()),
    );
    front.extend(
        live_set
            .lexical_rows
            .iter()
            .map(|lexical| lexical.head_terms),
    );
    let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
    let flags = |lexical: &LexicalRow| {
        flag(lexical.live, FLAG_LIVE)
            | flag(lexical.by_user, FLAG_BY_USER)
            | flag(lexical.bare_prompt, FLAG_BARE_PROMPT)
    };
    front.extend(live_set.lexical_rows.iter().map(flags));
    let ends: Vec<(u32, u8, i64)> = (0_u32..)
        .zip(rows.iter())
        .flat_map(|(at, row)| [(at, 0, row.forgotten_at), (at, 1, row.superseded_at)])
        .filter(|(_, _, instant)| *instant != NEVER)
        .collect();
    append_u32(&mut front, ends.len() as u32);
    for (ordinal, what, instant) in ends {
        append_u32(&mut front, ordinal);
        front.push(what);
        front.extend_from_slice(&instant.to_le_bytes());
    }
    append_u32(&mut front, sessions.len() as u32);
    let stats = |session| {
        live_set
            .session_stats
            .get(session)
            .copied()
            .unwrap_or(SessionStats::EMPTY)
    };
    let session_stats = || (0..sessions.len()).map(stats);
    front.extend(session_stats().flat_map(|stats| stats.last_live.to_le_bytes()));
    front.extend(session_stats().flat_map(|stats| stats.documents.to_le_bytes()));
    front.extend(session_stats().flat_map(|stats| stats.terms.to_le_bytes()));
    let mut end = 0;
    for name in sessions.iter() {
        end += name.len() as u32;
        append_u32(&mut front, end);
    }
    front.extend(sessions.iter().flat_map(str::bytes));
    let mut paged = ByteWriter::with_fixed_layout(Vec::with_capacity(rows.len() * ROW_BYTES));
    for (row, rank) in rows.iter().zip(live_set.rank_rows.iter()) {
        encode_row(&mut paged, row, rank);
    }
    pages::append_checksums(&mut front, &paged.bytes, PAGE_ROWS * ROW_BYTES);
    pages::encode_part(version, &front, &[&paged.bytes])
}

fn encode_row(out: &mut ByteWriter, row: &Doc, rank: &RankRow) {
    encode_all!(out, row.id, row.timestamp, row.known_at);
    encode_all!(out, row.terms, row.speaker, rank.previous, rank.next);
    encode_all!(out, row.kind, row.source, row.cues.bits(), row.hole);
}

/// Inverse of [`encode_row`]; what the front has is taken from `lexical`.
fn decode_row(bytes: &[u8], lexical: LexicalRow) -> Option<(Doc, RankRow)> {
    let r = &mut ByteReader::with_fixed_layout(bytes);
    let mut row = Doc {
        id: RecordId::from_u128(r.read_u128()?),
        timestamp: r.read_i64()?,
        known_at: r.read_i64()?,
        terms: r.read_u32()?,
        speaker: r.read_u32()?,
        forgotten_at: NEVER,
        session: lexical.session,
        head_terms: lexical.head_terms,
        ..Doc::new_hole(RecordId::from_u128(0))
    };
    let links = (r.read_u32()?, r.read_u32()?);
    row.kind = MemoryKind::from_number(r.read_u8()?)?;
    row.source = MemorySource::from_number(r.read_u8()?)?;
    row.cues = Cues::from_bits(r.read_u8()?)?;
    row.hole = r.read_u8()? != 0;
    let mut rank = RankRow::from_row(&row);
    (rank.previous, rank.next) = links;
    Some((row, rank))
}

/// Inverse of [`encode_documents`]: reads the front and leaves the rows in the file.
pub(super) fn open_documents(
    part: &LazyPart,
    version: u8,
    damage: &DamageFlag,
) -> IndexResult<SavedDocuments> {
    let damage_error = |what| IndexError::Damaged {
        part: DOCUMENTS,
        what,
    };
    let front = part.read_front(DOCUMENTS, version)?;
    let mut reader = pages::open_front(DOCUMENTS, &front, version)?;
    let count = reader.read_u32()? as usize;
    let mut live_set = LiveSet {
        live: reader.read_u32()?,
        statistics_documents: reader.read_u32()?,
        by_user: reader.read_u32()?,
        live_sessions: reader.read_u32()?,
        head_terms: reader.read_u64()?,
        session_terms: reader.read_u64()?,
        ..LiveSet::default()
    };
    let session_bytes = count.checked_mul(4);
    let session_bytes = session_bytes.ok_or_else(|| damage_error("a count is too large"))?;
    let of_sessions = reader.read_bytes(session_bytes)?;
    let heads = reader.read_bytes(count)?;
    let flags = reader.read_bytes(count)?;
    let ends = decode_ends(&mut reader, count)?;
    let (sessions, session_stats) = decode_sessions(&mut reader)?;
    if heads.iter().any(|head| usize::from(*head) > HEAD_TERMS) {
        return Err(damage_error("a head is too long"));
    }
    let (session_numbers, _) = of_sessions.as_chunks::<4>();
    let lexical_rows = session_numbers.iter().zip(heads).zip(flags);
    let lexical_rows = lexical_rows.map(|((session, head_terms), flags)| LexicalRow {
        session: u32::from_le_bytes(*session),
        head_terms: *head_terms,
        by_user: flags & FLAG_BY_USER != 0,
        live: flags & FLAG_LIVE != 0,
        bare_prompt: flags & FLAG_BARE_PROMPT != 0,
    });
    live_set.lexical_rows = lexical_rows.collect();
    let named = |lexical: &LexicalRow| {
        lexical.session == NO_SESSION || (lexical.session as usize) < sessions.len()
    };
    if !live_set.lexical_rows.iter().all(named) {
        return Err(damage_error("a session has no name"));
    }
    let living = |flags: &[u8]| {
        let bits = flags.iter().zip(0_u32..);
        bits.fold(0, |word, (flags, bit)| {
            word | (u64::from(flags & FLAG_LIVE) << bit)
        })
    };
    live_set.live_bits = flags.chunks(64).map(living).collect();
    live_set.session_stats = session_stats.into_iter().collect();
    let checks = reader.read_shared(reader.remaining())?;
    let (start, bytes) = (front.len() as u64, count.checked_mul(ROW_BYTES));
    let bytes = bytes.ok_or_else(|| damage_error("a count is too large"))?;
    let fits = part.size.checked_sub(start) == Some(bytes as u64);
    let pages = PartPages::new(part, (start, bytes), PAGE_ROWS * ROW_BYTES, checks, damage);
    let no_fit = || damage_error("its length does not fit its counts");
    let pages = Arc::new(pages.filter(|_| fits).ok_or_else(no_fit)?);
    let forgotten = ends.iter().filter(|end| end.1 == 0);
    let forgotten = forgotten.map(|end| end.0).collect();
    let read_rows = {
        let (pages, lexical) = (Arc::clone(&pages), live_set.lexical_rows.clone());
        let damage = damage.clone();
        move |page| read_rows(&pages, page, &lexical, &damage)
    };
    let read_ranks = read_rows.clone();
    let fetch_ranks: PageFetcher<RankRow> =
        Arc::new(move |page| read_ranks(page).into_iter().map(|(_, rank)| rank).collect());
    live_set.rank_rows = CowVec::from_fetcher(count, &fetch_ranks);
    let fetch_rows: PageFetcher<Doc> = Arc::new(move |page| {
        let mut rows: Vec<Doc> = read_rows(page).into_iter().map(|(row, _)| row).collect();
        add_ends(&mut rows, page * PAGE_ROWS, &ends);
        rows
    });
    Ok(SavedDocuments {
        rows: CowVec::from_fetcher(count, &fetch_rows),
        sessions,
        live_set,
        forgotten,
        pages,
    })
}

/// Reads the rows of a page, without ends. Damaged ones set the damage flag and become holes.
fn read_rows(
    pages: &PartPages,
    page: usize,
    lexical_rows: &CowVec<LexicalRow>,
    damage: &DamageFlag,
) -> Vec<(Doc, RankRow)> {
    let bytes = pages.read_page(page).unwrap_or_default();
    let mut saved = bytes.chunks(ROW_BYTES);
    let lexical_rows = lexical_rows.contiguous_from(page * PAGE_ROWS);
    let rows = lexical_rows.iter().take(PAGE_ROWS).map(|lexical| {
        decode_row(saved.next().unwrap_or_default(), *lexical).unwrap_or_else(|| {
            damage.set();
            let hole = Doc::new_hole(RecordId::from_u128(0));
            (hole, RankRow::from_row(&hole))
        })
    });
    rows.collect()
}

/// Adds their ends to the documents from `first` on.
fn add_ends(rows: &mut [Doc], first: usize, ends: &[(u32, u8, i64)]) {
    let from = ends.partition_point(|end| (end.0 as usize) < first);
    for (ordinal, what, instant) in ends.iter().skip(from) {
        match (rows.get_mut(*ordinal as usize - first), what) {
            (Some(row), 0) => row.forgotten_at = *instant,
            (Some(row), _) => row.superseded_at = *instant,
            (None, _) => break,
        }
    }
}

fn decode_ends(reader: &mut PartReader<'_>, count: usize) -> IndexResult<Vec<(u32, u8, i64)>> {
    let many = reader.read_u32()? as usize;
    let bytes: &[[u8; 13]] = reader.read_arrays(many)?;
    let mut ends: Vec<(u32, u8, i64)> = Vec::with_capacity(many);
    for [a, b, c, d, what, instant @ ..] in bytes {
        let ordinal = u32::from_le_bytes([*a, *b, *c, *d]);
        let ascends = ends.last().is_none_or(|last| last.0 <= ordinal);
        if ordinal as usize >= count || !ascends {
            return Err(reader.damage_error("an end belongs to no document"));
        }
        if *what > 1 {
            return Err(reader.damage_error("an end is of no known sort"));
        }
        ends.push((ordinal, *what, i64::from_le_bytes(*instant)));
    }
    Ok(ends)
}

fn decode_sessions(reader: &mut PartReader<'_>) -> IndexResult<(SessionNames, Vec<SessionStats>)> {
    let count = reader.read_u32()? as usize;
    let tails: &[[u8; 4]] = reader.read_arrays(count)?;
    let documents: &[[u8; 4]] = reader.read_arrays(count)?;
    let terms: &[[u8; 8]] = reader.read_arrays(count)?;
    let session_stats = tails.iter().zip(documents).zip(terms);
    let session_stats = session_stats.map(|((tail, documents), terms)| SessionStats {
        last_live: u32::from_le_bytes(*tail),
        documents: u32::from_le_bytes(*documents),
        terms: u64::from_le_bytes(*terms),
    });
    let ends = reader.read_shared(count * 4)?;
    let (numbers, _) = ends.as_chunks::<4>();
    let numbers = || numbers.iter().map(|end| u32::from_le_bytes(*end));
    if !numbers().is_sorted() {
        return Err(reader.damage_error("a session's name ends before it begins"));
    }
    let names = reader.read_shared(numbers().next_back().unwrap_or(0) as usize)?;
    if std::str::from_utf8(&names).is_err() {
        return Err(reader.damage_error("a session name is not UTF-8"));
    }
    Ok((
        SessionNames::from_saved(ends, names),
        session_stats.collect(),
    ))
}
