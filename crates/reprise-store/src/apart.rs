//! Vectors of another width than the file's own. All vectors of a `VEC_SEG` are as wide as the
//! file, which is what rvf-runtime reads, so one of another width stands in the body of an entry
//! of its own, behind its mark. Builds that know one width alone skip such entries and keep them.
//!
//! Compaction makes the width that most records have the file's own.

use std::io;

use reprise_types::{ByteReader, put_all};

use crate::block::{self, BLOCK_HEAD};
use crate::codec::{Encoded, KIND_APART, RawEntry, VectorMark, vector_check};
use crate::disk::DiskFile;

/// The entry of a vector, whose bytes are as wide as the mark's space.
pub(crate) fn encode(ordinal: u32, mark: &VectorMark, vector: &[u8]) -> Encoded {
    Encoded::alone(RawEntry::new(KIND_APART, |out| {
        put_all!(out, ordinal, *mark);
        out.raw(vector);
    }))
}

/// The inverse: whose it is, its mark and its bytes; `None` where they are not what the mark says.
pub(crate) fn decode(body: &[u8]) -> Option<(u32, VectorMark, &[u8])> {
    let mut reader = ByteReader::new(body);
    let (ordinal, mark): (_, VectorMark) = (reader.get()?, reader.get()?);
    let size = 4 * usize::from(mark.space.dimensions);
    let vector = reader.take(size).filter(|_| reader.is_empty())?;
    (vector_check(vector) == mark.check).then_some((ordinal, mark, vector))
}

/// A record's vector in an unpacked block, by its check.
pub(crate) fn find(block: &[u8], ordinal: u32, check: u32) -> Option<Vec<u8>> {
    let entries = block::entries(block)?;
    let apart = entries.iter().filter(|entry| entry.kind == KIND_APART);
    apart
        .filter_map(|entry| decode(&entry.body))
        .find(|(whose, mark, _)| (*whose, mark.check) == (ordinal, check))
        .map(|(_, _, vector)| vector.to_vec())
}

/// The packed bytes of the block at this place, where one can stand there.
pub(crate) fn read_block(file: &dyn DiskFile, at: u64, end: u64) -> io::Result<Option<Vec<u8>>> {
    let fits = |size: usize| at.saturating_add(size as u64) <= end;
    if !fits(BLOCK_HEAD) {
        return Ok(None);
    }
    let mut head = [0; BLOCK_HEAD];
    file.read_exact_at(at, &mut head)?;
    let Some(size) = block::size(&head).filter(|size| fits(*size)) else {
        return Ok(None);
    };
    let mut bytes = vec![0; size];
    file.read_exact_at(at, &mut bytes)?;
    Ok(Some(bytes))
}
