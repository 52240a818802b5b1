//! The saved columns: what a query needs of all documents is in the front, what it needs of a few
//! is in pages, row by row.
//!
//! ```text
//! front: u32 documents, living, of these no leads, of these the user's own words,
//!     sessions with one
//!   | u64 terms of the heads of these, of their texts in sessions
//!   | per document: u32 session; then u8 head terms; then u8 flags (1 living, 2 the user's own,
//!     4 a lead)
//!   | u32 ends, each u32 ordinal, u8 0 forgotten or 1 superseded, i64 instant
//!   | u32 sessions | per session u32 last document; then u32 documents; then u64 terms;
//!     then u32 end of its name | names | checks of the pages
//! row: u128 id | i64 timestamp | i64 known at | u32 terms | u32 speaker | u32 previous | u32 next
//!   | u8 kind | u8 source | u8 cues | u8 hole
//! ```

use std::sync::Arc;

use reprise_types::{CowVec, Fetch, MemoryKind, MemorySource, RecordId};

use crate::codec::{Reader, SharedBytes, put_u32};
use crate::cues::Cues;
use crate::docs::{NEVER, NO_SESSION, Row, Sessions};
use crate::error::{IndexError, Result};
use crate::pages::{self, Damage, LeftPart, Pages};
use crate::words::HEAD_TERMS;
use crate::world::{Hot, NONE, Near, Tally, World};

pub(super) const DOCUMENTS: &str = "documents";
/// Rows of one page, as `CowVec` fetches them.
const PAGE: usize = 32;
const ROW_BYTES: usize = 52;
const LIVING: u8 = 1;
const BY_USER: u8 = 2;
const LEAD: u8 = 4;

pub(super) struct Saved {
    pub(super) rows: CowVec<Row>,
    pub(super) sessions: Sessions,
    pub(super) world: World,
    /// The forgotten, holes or not.
    pub(super) forgotten: Vec<u32>,
    pub(super) pages: Arc<Pages>,
}

pub(super) fn write(
    rows: &CowVec<Row>,
    sessions: &Sessions,
    world: &World,
    version: u8,
) -> Vec<u8> {
    let mut front = Vec::with_capacity(64 + rows.len() * 7);
    let counts = [
        rows.len() as u32,
        world.live,
        world.counted,
        world.by_user,
        world.live_sessions,
    ];
    for count in counts {
        put_u32(&mut front, count);
    }
    front.extend_from_slice(&world.head_terms.to_le_bytes());
    front.extend_from_slice(&world.session_terms.to_le_bytes());
    front.extend(world.hot.iter().flat_map(|hot| hot.session.to_le_bytes()));
    front.extend(world.hot.iter().map(|hot| hot.head_terms));
    let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
    let flags =
        |hot: &Hot| flag(hot.live, LIVING) | flag(hot.by_user, BY_USER) | flag(hot.lead, LEAD);
    front.extend(world.hot.iter().map(flags));
    let ends: Vec<(u32, u8, i64)> = (0_u32..)
        .zip(rows.iter())
        .flat_map(|(at, row)| [(at, 0, row.forgotten_at), (at, 1, row.superseded_at)])
        .filter(|(_, _, instant)| *instant != NEVER)
        .collect();
    put_u32(&mut front, ends.len() as u32);
    for (ordinal, what, instant) in ends {
        put_u32(&mut front, ordinal);
        front.push(what);
        front.extend_from_slice(&instant.to_le_bytes());
    }
    put_u32(&mut front, sessions.len() as u32);
    let tally = |session| world.tallies.get(session).copied().unwrap_or(Tally::EMPTY);
    let tallies = || (0..sessions.len()).map(tally);
    front.extend(tallies().flat_map(|tally| tally.tail.to_le_bytes()));
    front.extend(tallies().flat_map(|tally| tally.documents.to_le_bytes()));
    front.extend(tallies().flat_map(|tally| tally.terms.to_le_bytes()));
    let mut end = 0;
    for name in sessions.iter() {
        end += name.len() as u32;
        put_u32(&mut front, end);
    }
    front.extend(sessions.iter().flat_map(str::bytes));
    let mut paged = Vec::with_capacity(rows.len() * ROW_BYTES);
    for (row, near) in rows.iter().zip(world.near.iter()) {
        put_row(&mut paged, row, *near);
    }
    pages::put_checks(&mut front, &paged, PAGE * ROW_BYTES);
    pages::write(version, &front, &[&paged])
}

fn put_row(out: &mut Vec<u8>, row: &Row, near: Near) {
    out.extend_from_slice(&row.id.to_u128().to_le_bytes());
    out.extend_from_slice(&row.timestamp.to_le_bytes());
    out.extend_from_slice(&row.known_at.to_le_bytes());
    for number in [row.terms, row.speaker, near.previous, near.next] {
        put_u32(out, number);
    }
    let hole = u8::from(row.hole);
    out.extend([
        row.kind.number(),
        row.source.number(),
        row.cues.bits(),
        hole,
    ]);
}

/// The inverse of [`write`]: reads the front and leaves the rows in the file.
pub(super) fn read(part: &LeftPart, version: u8, damage: &Damage) -> Result<Saved> {
    let damaged = |what| IndexError::Damaged {
        part: DOCUMENTS,
        what,
    };
    let front = part.front(DOCUMENTS, version)?;
    let mut reader = pages::front_reader(DOCUMENTS, &front, version)?;
    let count = reader.u32()? as usize;
    let mut world = World {
        live: reader.u32()?,
        counted: reader.u32()?,
        by_user: reader.u32()?,
        live_sessions: reader.u32()?,
        head_terms: reader.u64()?,
        session_terms: reader.u64()?,
        ..World::default()
    };
    let session_bytes = count
        .checked_mul(4)
        .ok_or_else(|| damaged("a count is too large"))?;
    let (of_sessions, heads) = (reader.share(session_bytes)?, reader.share(count)?);
    let flags = reader.take(count)?;
    let ends = read_ends(&mut reader, count)?;
    let (sessions, tallies) = read_sessions(&mut reader)?;
    if heads.iter().any(|head| usize::from(*head) > HEAD_TERMS) {
        return Err(damaged("a head is too long"));
    }
    let (session_numbers, _) = of_sessions.as_chunks::<4>();
    let hots = session_numbers.iter().zip(heads.iter()).zip(flags);
    let hots = hots.map(|((session, head_terms), flags)| Hot {
        session: u32::from_le_bytes(*session),
        head_terms: *head_terms,
        by_user: flags & BY_USER != 0,
        live: flags & LIVING != 0,
        lead: flags & LEAD != 0,
    });
    world.hot = hots.collect();
    let named = |hot: &Hot| hot.session == NO_SESSION || (hot.session as usize) < sessions.len();
    if !world.hot.iter().all(named) {
        return Err(damaged("a session has no name"));
    }
    let living = |flags: &[u8]| {
        let bits = flags.iter().zip(0_u32..);
        bits.fold(0, |word, (flags, bit)| {
            word | (u64::from(flags & LIVING) << bit)
        })
    };
    world.live_words = flags.chunks(64).map(living).collect();
    world.tallies = tallies.into_iter().collect();
    let checks = reader.share(reader.left())?;
    let (start, bytes) = (front.len() as u64, count.checked_mul(ROW_BYTES));
    let bytes = bytes.ok_or_else(|| damaged("a count is too large"))?;
    let fits = part.size.checked_sub(start) == Some(bytes as u64);
    let pages = Pages::new(part, (start, bytes), PAGE * ROW_BYTES, checks, damage);
    let no_fit = || damaged("its length does not fit its counts");
    let pages = Arc::new(pages.filter(|_| fits).ok_or_else(no_fit)?);
    let forgotten = ends.iter().filter(|end| end.1 == 0);
    let forgotten = forgotten.map(|end| end.0).collect();
    let columns = Arc::new(Columns {
        count,
        of_sessions,
        heads,
        ends,
        pages: Arc::clone(&pages),
        damage: damage.clone(),
    });
    let of_near = Arc::clone(&columns);
    let fetch_near: Fetch<Near> = Arc::new(move |page| of_near.nears(page));
    world.near = CowVec::left(count, &fetch_near);
    let fetch_rows: Fetch<Row> = Arc::new(move |page| columns.rows(page));
    Ok(Saved {
        rows: CowVec::left(count, &fetch_rows),
        sessions,
        world,
        forgotten,
        pages,
    })
}

struct Columns {
    count: usize,
    of_sessions: SharedBytes,
    heads: SharedBytes,
    /// Sorted by ordinal.
    ends: Vec<(u32, u8, i64)>,
    pages: Arc<Pages>,
    damage: Damage,
}

impl Columns {
    /// Builds the elements of a page: `of` gets each ordinal with its row's bytes, `None` where
    /// they are damaged.
    fn page<T>(&self, page: usize, of: impl Fn(usize, Option<&[u8; ROW_BYTES]>) -> T) -> Vec<T> {
        let bytes = self.pages.fresh(page).unwrap_or_default();
        let (rows, _) = bytes.as_chunks::<ROW_BYTES>();
        let first = page * PAGE;
        (first..self.count.min(first + PAGE))
            .map(|ordinal| of(ordinal, rows.get(ordinal - first)))
            .collect()
    }

    fn nears(&self, page: usize) -> Vec<Near> {
        self.page(page, |ordinal, bytes| Near {
            previous: bytes.map_or(NONE, |bytes| u32::from_le_bytes(field(bytes, 40))),
            next: bytes.map_or(NONE, |bytes| u32::from_le_bytes(field(bytes, 44))),
            ..Near::of(&self.sound_row(ordinal, bytes))
        })
    }

    fn rows(&self, page: usize) -> Vec<Row> {
        self.page(page, |ordinal, bytes| self.sound_row(ordinal, bytes))
    }

    /// A row; that of a hole, and damage, where it cannot be read.
    fn sound_row(&self, ordinal: usize, bytes: Option<&[u8; ROW_BYTES]>) -> Row {
        let row = bytes.and_then(|bytes| self.row(ordinal, bytes));
        row.unwrap_or_else(|| {
            self.damage.found();
            Row::hole(RecordId::from_u128(0))
        })
    }

    fn row(&self, ordinal: usize, bytes: &[u8; ROW_BYTES]) -> Option<Row> {
        let [kind, source, cues, hole] = field(bytes, 48);
        let of_session = self.of_sessions.get(ordinal * 4..)?.first_chunk()?;
        let mut row = Row {
            id: RecordId::from_u128(u128::from_le_bytes(field(bytes, 0))),
            timestamp: i64::from_le_bytes(field(bytes, 16)),
            known_at: i64::from_le_bytes(field(bytes, 24)),
            forgotten_at: NEVER,
            superseded_at: NEVER,
            terms: u32::from_le_bytes(field(bytes, 32)),
            session: u32::from_le_bytes(*of_session),
            head_terms: *self.heads.get(ordinal)?,
            kind: MemoryKind::from_number(kind)?,
            source: MemorySource::from_number(source)?,
            cues: Cues::from_bits(cues)?,
            speaker: u32::from_le_bytes(field(bytes, 36)),
            hole: hole != 0,
        };
        let from = self.ends.partition_point(|end| (end.0 as usize) < ordinal);
        let own = self.ends.iter().skip(from);
        for (_, what, instant) in own.take_while(|end| end.0 as usize == ordinal) {
            match what {
                0 => row.forgotten_at = *instant,
                _ => row.superseded_at = *instant,
            }
        }
        Some(row)
    }
}

/// `N` bytes of a row from offset `at`.
fn field<const N: usize>(bytes: &[u8; ROW_BYTES], at: usize) -> [u8; N] {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or([0; N])
}

fn read_ends(reader: &mut Reader<'_>, count: usize) -> Result<Vec<(u32, u8, i64)>> {
    let many = reader.u32()? as usize;
    let bytes: &[[u8; 13]] = reader.column(many)?;
    let mut ends: Vec<(u32, u8, i64)> = Vec::with_capacity(many);
    for [a, b, c, d, what, instant @ ..] in bytes {
        let ordinal = u32::from_le_bytes([*a, *b, *c, *d]);
        let ascends = ends.last().is_none_or(|last| last.0 <= ordinal);
        if ordinal as usize >= count || !ascends {
            return Err(reader.damaged("an end belongs to no document"));
        }
        if *what > 1 {
            return Err(reader.damaged("an end is of no known sort"));
        }
        ends.push((ordinal, *what, i64::from_le_bytes(*instant)));
    }
    Ok(ends)
}

fn read_sessions(reader: &mut Reader<'_>) -> Result<(Sessions, Vec<Tally>)> {
    let count = reader.u32()? as usize;
    let tails: &[[u8; 4]] = reader.column(count)?;
    let documents: &[[u8; 4]] = reader.column(count)?;
    let terms: &[[u8; 8]] = reader.column(count)?;
    let tallies = tails.iter().zip(documents).zip(terms);
    let tallies = tallies.map(|((tail, documents), terms)| Tally {
        tail: u32::from_le_bytes(*tail),
        documents: u32::from_le_bytes(*documents),
        terms: u64::from_le_bytes(*terms),
    });
    let ends = reader.share(count * 4)?;
    let (numbers, _) = ends.as_chunks::<4>();
    let numbers = || numbers.iter().map(|end| u32::from_le_bytes(*end));
    if !numbers().is_sorted() {
        return Err(reader.damaged("a session's name ends before it begins"));
    }
    let names = reader.share(numbers().next_back().unwrap_or(0) as usize)?;
    if std::str::from_utf8(&names).is_err() {
        return Err(reader.damaged("a session name is not UTF-8"));
    }
    Ok((Sessions::saved(ends, names), tallies.collect()))
}
