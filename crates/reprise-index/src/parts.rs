//! The saved form of the index: three parts, each with a version and a checksum.
//!
//! A part that does not hold together is refused whole; the caller rebuilds from the log.
//! Must never live here: file access, or a guess at what damaged bytes meant.

use std::sync::Arc;

use reprise_types::{MemoryKind, MemorySource, RecordId};

use crate::codec::{Reader, SharedBytes, check, open, put_u32, seal};
use crate::cow::CowVec;
use crate::cues::Cues;
use crate::docs::{NEVER, NO_SESSION, Row, Sessions};
use crate::error::IndexError;
use crate::growth::GraphState;
use crate::lexicon::Lexicon;
use crate::segment::Segment;
use crate::vectors::{self, LeftPart};
use crate::words::HEAD_TERMS;
use crate::writer::IndexWriter;

/// Segment type of the quantised vectors.
pub const PART_CODES: u8 = 0x41;
/// Segment type of a graph over the newest documents (Layer B).
pub const PART_HOT_GRAPH: u8 = 0x42;
/// Segment type of a graph over all documents (Layer C).
pub const PART_GRAPH: u8 = 0x43;
/// Segment type of the lexical segments.
pub const PART_WORDS: u8 = 0x44;
/// Segment type of the document columns and session names.
pub const PART_DOCUMENTS: u8 = 0x46;

/// Version of all three parts: they are written and read together. It also stands for the
/// analyser's rules; change it when a text would give other terms.
const VERSION: u8 = 4;
const WORDS: &str = "words";
const DOCUMENTS: &str = "documents";

impl IndexWriter {
    /// The whole index as bytes, by segment type. Forgotten documents are in it unless
    /// [`Self::purge`] came first.
    pub fn to_parts(&mut self) -> Vec<(u8, Vec<u8>)> {
        self.seal();
        let mut parts = vec![
            (PART_CODES, vectors::write(&self.vectors, VERSION)),
            (PART_WORDS, write_words(&self.lexicon)),
            (PART_DOCUMENTS, write_documents(&self.rows, &self.sessions)),
        ];
        parts.extend(self.graph.part(self.rows.len() as u32));
        parts
    }

    /// The index that [`Self::to_parts`] wrote, in any order of parts; unknown parts are skipped.
    /// Copies the parts; where they can be given away, [`Self::from_owned_parts`] does not.
    pub fn from_parts(dimensions: usize, parts: &[(u8, Vec<u8>)]) -> Result<Self, IndexError> {
        Self::from_owned_parts(dimensions, parts.to_vec())
    }

    /// As [`Self::from_parts`], but the words stay where they are: no time goes into copying them,
    /// and no memory into a second copy.
    pub fn from_owned_parts(
        dimensions: usize,
        mut parts: Vec<(u8, Vec<u8>)>,
    ) -> Result<Self, IndexError> {
        let missing = IndexError::Missing { part: "codes" };
        let place = parts.iter().position(|(tag, _)| *tag == PART_CODES);
        let (_, codes) = parts.swap_remove(place.ok_or(missing)?);
        let codes = LeftPart::from(SharedBytes::from(codes));
        for (tag, bytes) in &parts {
            if [PART_WORDS, PART_DOCUMENTS].contains(tag) {
                let part = if *tag == PART_WORDS { WORDS } else { DOCUMENTS };
                check(part, bytes, VERSION)?;
            }
        }
        let index = Self::from_left_parts(dimensions, parts, &codes)?;
        index.load()?;
        Ok(index)
    }

    /// As [`Self::from_owned_parts`], but most of the part [`PART_CODES`], `codes`, stays in its
    /// file: rows are read and checked when they are asked for, until [`Self::load`]. The other
    /// parts' own checksums are not compared: whoever read them from a file has just hashed them.
    pub fn from_left_parts(
        dimensions: usize,
        parts: Vec<(u8, Vec<u8>)>,
        codes: &LeftPart,
    ) -> Result<Self, IndexError> {
        let parts: Vec<(u8, SharedBytes)> = parts
            .into_iter()
            .map(|(tag, bytes)| (tag, bytes.into()))
            .collect();
        let find = |tag, part| {
            let found = parts.iter().find(|(known, _)| *known == tag);
            let bytes = found.ok_or(IndexError::Missing { part })?;
            Reader::compared(part, &bytes.1, VERSION)
        };
        let (rows, sessions) = read_documents(find(PART_DOCUMENTS, DOCUMENTS)?)?;
        let vectors = vectors::read(codes, VERSION, dimensions, rows.len())?;
        let lexicon = read_words(find(PART_WORDS, WORDS)?, rows.len())?;
        let mut index = Self::from_columns(rows, sessions, vectors, lexicon);
        let graph = |tag: u8| parts.iter().find(|(known, _)| *known == tag);
        if let Some((_, bytes)) = graph(PART_GRAPH).or_else(|| graph(PART_HOT_GRAPH)) {
            index.graph = GraphState::saved(bytes.clone());
        }
        Ok(index)
    }

    /// Reads what [`Self::from_left_parts`] left in its file, for this writer and every snapshot
    /// of it. An error means: rebuild from the log.
    pub fn load(&self) -> Result<(), IndexError> {
        self.vectors.load()
    }
}

/// u32 segments | per segment u32 bytes, bytes.
fn write_words(lexicon: &Lexicon) -> Vec<u8> {
    let segments = lexicon.segments();
    let size: usize = segments.iter().map(|s| 4 + s.bytes().len()).sum();
    let mut bytes = open(VERSION, 4 + size);
    put_u32(&mut bytes, segments.len() as u32);
    for segment in segments {
        put_u32(&mut bytes, segment.bytes().len() as u32);
        bytes.extend_from_slice(segment.bytes());
    }
    seal(bytes)
}

fn read_words(mut reader: Reader<'_>, documents: usize) -> Result<Lexicon, IndexError> {
    let count = reader.u32()?;
    let mut segments = Vec::new();
    for _ in 0..count {
        let size = reader.u32()? as usize;
        let segment = Segment::open(reader.share(size)?);
        segments.push(segment.ok_or_else(|| reader.damaged("a segment's frame does not hold"))?);
    }
    reader.end()?;
    Lexicon::from_segments(segments, documents as u32)
        .ok_or_else(|| reader.damaged("its segments do not cover the documents"))
}

/// u32 documents | columns: u128 id, i64 timestamp, i64 `known_at`, u32 session, u32 terms, u8 head
/// terms, u8 kind, u8 source, u8 hole, u8 cues, u32 speaker | u32 ends | per end u32 ordinal, u8 0
/// forgotten or 1 superseded, i64 instant | u32 sessions | per session u32 bytes, name.
fn write_documents(rows: &CowVec<Row>, sessions: &Sessions) -> Vec<u8> {
    let mut bytes = open(VERSION, 12 + rows.len() * 49);
    put_u32(&mut bytes, rows.len() as u32);
    bytes.extend(rows.iter().flat_map(|row| row.id.to_u128().to_le_bytes()));
    bytes.extend(rows.iter().flat_map(|row| row.timestamp.to_le_bytes()));
    bytes.extend(rows.iter().flat_map(|row| row.known_at.to_le_bytes()));
    bytes.extend(rows.iter().flat_map(|row| row.session.to_le_bytes()));
    bytes.extend(rows.iter().flat_map(|row| row.terms.to_le_bytes()));
    bytes.extend(rows.iter().map(|row| row.head_terms));
    bytes.extend(rows.iter().map(|row| row.kind.number()));
    bytes.extend(rows.iter().map(|row| row.source.number()));
    bytes.extend(rows.iter().map(|row| u8::from(row.hole)));
    bytes.extend(rows.iter().map(|row| row.cues.bits()));
    bytes.extend(rows.iter().flat_map(|row| row.speaker.to_le_bytes()));
    let ends: Vec<(u32, u8, i64)> = (0_u32..)
        .zip(rows.iter())
        .flat_map(|(at, row)| [(at, 0, row.forgotten_at), (at, 1, row.superseded_at)])
        .filter(|(_, _, instant)| *instant != NEVER)
        .collect();
    put_u32(&mut bytes, ends.len() as u32);
    for (ordinal, what, instant) in ends {
        put_u32(&mut bytes, ordinal);
        bytes.push(what);
        bytes.extend_from_slice(&instant.to_le_bytes());
    }
    put_u32(&mut bytes, sessions.len() as u32);
    for name in sessions.iter() {
        put_u32(&mut bytes, name.len() as u32);
        bytes.extend_from_slice(name.as_bytes());
    }
    seal(bytes)
}

fn read_documents(mut reader: Reader<'_>) -> Result<(CowVec<Row>, Sessions), IndexError> {
    let count = reader.u32()? as usize;
    let ids: &[[u8; 16]] = reader.column(count)?;
    let timestamps: &[[u8; 8]] = reader.column(count)?;
    let known: &[[u8; 8]] = reader.column(count)?;
    let session_numbers: &[[u8; 4]] = reader.column(count)?;
    let terms: &[[u8; 4]] = reader.column(count)?;
    let bytes: [&[u8]; 5] = [
        reader.take(count)?,
        reader.take(count)?,
        reader.take(count)?,
        reader.take(count)?,
        reader.take(count)?,
    ];
    let speakers: &[[u8; 4]] = reader.column(count)?;
    let row = |at: usize| {
        let (Some(kind), Some(source)) = (
            MemoryKind::from_number(bytes[1][at]),
            MemorySource::from_number(bytes[2][at]),
        ) else {
            return Err("a kind or source is not known");
        };
        let Some(cues) = Cues::from_bits(bytes[4][at]) else {
            return Err("a cue is not known");
        };
        if usize::from(bytes[0][at]) > HEAD_TERMS {
            return Err("a head is too long");
        }
        Ok(Row {
            id: RecordId::from_u128(u128::from_le_bytes(ids[at])),
            timestamp: i64::from_le_bytes(timestamps[at]),
            known_at: i64::from_le_bytes(known[at]),
            forgotten_at: NEVER,
            superseded_at: NEVER,
            terms: u32::from_le_bytes(terms[at]),
            session: u32::from_le_bytes(session_numbers[at]),
            head_terms: bytes[0][at],
            kind,
            source,
            cues,
            speaker: u32::from_le_bytes(speakers[at]),
            hole: bytes[3][at] != 0,
        })
    };
    let rows: Result<CowVec<Row>, &'static str> = (0..count).map(row).collect();
    let mut rows = rows.map_err(|what| reader.damaged(what))?;
    read_ends(&mut reader, &mut rows)?;
    let sessions = read_sessions(&mut reader)?;
    let named = |number: &[u8; 4]| {
        let number = u32::from_le_bytes(*number);
        number == NO_SESSION || (number as usize) < sessions.len()
    };
    if !session_numbers.iter().all(named) {
        return Err(reader.damaged("a session has no name"));
    }
    Ok((rows, sessions))
}

fn read_ends(reader: &mut Reader<'_>, rows: &mut CowVec<Row>) -> Result<(), IndexError> {
    for _ in 0..reader.u32()? {
        let ordinal = reader.u32()? as usize;
        let what: &[[u8; 1]] = reader.column(1)?;
        let instant: &[[u8; 8]] = reader.column(1)?;
        let (Some(row), Some([what]), Some(instant)) =
            (rows.get_mut(ordinal), what.first(), instant.first())
        else {
            return Err(reader.damaged("an end belongs to no document"));
        };
        let instant = i64::from_le_bytes(*instant);
        match what {
            0 => row.forgotten_at = instant,
            1 => row.superseded_at = instant,
            _ => return Err(reader.damaged("an end is of no known sort")),
        }
    }
    Ok(())
}

fn read_sessions(reader: &mut Reader<'_>) -> Result<Sessions, IndexError> {
    let mut names = Vec::new();
    for _ in 0..reader.u32()? {
        let size = reader.u32()? as usize;
        let name = std::str::from_utf8(reader.take(size)?)
            .map_err(|_| reader.damaged("a session name is not UTF-8"))?;
        names.push(Arc::from(name));
    }
    reader.end()?;
    Ok(Sessions::from_names(names))
}

#[cfg(test)]
mod tests;
