//! Scanning a file segment by segment, and resynchronising after damage.
//!
//! A segment is accepted as ours only if its magic, hash, file id and offset all match.

use std::io;
use std::sync::Arc;

use crate::commit::{CommitHead, ReadCommit};
use crate::disk::DiskFile;
use crate::frame::{
    HEADER_SIZE, PREAMBLE_SIZE, SegmentHeader, SegmentPreamble, TYPE_CLOSING, TYPE_COMMIT,
    TYPE_FILE, TYPE_MANIFEST, TYPE_VECTORS, align_up, content_hash, decode_header, is_derived,
    padding_size,
};
use crate::options::DamagedRange;

/// Payloads up to this size are read at once; larger ones are hashed piece by piece.
const WHOLE_MAX: u64 = 16 << 20;
/// So many times the file, and so many bytes, are hashed for segments that are not whole after all.
/// Damaged ones follow each other, so they are far fewer; forged ones may lie within each other.
const VAIN_TIMES_MAX: u64 = 4;
const VAIN_BYTES_MIN: u64 = 64 << 20;

/// What a scan finds at an offset of the file.
#[derive(Debug)]
pub(crate) enum ScanItem {
    /// A commit whose hash matches, and whether the `VEC_SEG` before it is whole.
    Commit(Box<ReadCommit>, bool),
    /// A manifest whose hash matches.
    Manifest { offset: u64, payload: Vec<u8> },
    /// Another whole segment of this file. A closing index's `seq` is the commit that it makes
    /// visible to rvf-runtime; 0 if it belongs to another file.
    Own {
        offset: u64,
        kind: u8,
        seq: u64,
        size: u64,
    },
    /// A whole segment that is not ours.
    Foreign { offset: u64, kind: u8, size: u64 },
    /// A range without a valid segment.
    Damage(DamagedRange),
}

#[derive(Debug)]
pub(crate) struct SegmentScanner {
    window: Window,
    file_id: u128,
    at: u64,
    queued: Option<ScanItem>,
    vectors: Option<(u64, u64)>,
}

impl SegmentScanner {
    pub(crate) fn new(file: Arc<dyn DiskFile>, from: u64, end: u64, file_id: u128) -> Self {
        Self {
            window: Window::new(file, end),
            file_id,
            at: from,
            queued: None,
            vectors: None,
        }
    }

    /// Returns the current offset, which is the start of the torn tail once `next_item` has
    /// returned `None`.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// Returns the next segment or damage; `None` if no whole segment of ours follows.
    pub(crate) fn next_item(&mut self) -> io::Result<Option<ScanItem>> {
        if let Some(found) = self.queued.take() {
            return Ok(Some(found));
        }
        if self.at >= self.window.end() {
            return Ok(None);
        }
        if let Some(header) = read_whole_header(&mut self.window, self.at)? {
            return self.classify_segment(header).map(Some);
        }
        let from = self.at;
        match find_own_segment(&mut self.window, from, self.file_id)? {
            Some(found) => {
                self.at = found;
                let what = "no whole segment is here";
                let damage = DamagedRange::new(from, found - from, what);
                Ok(Some(ScanItem::Damage(damage)))
            }
            None => Ok(None),
        }
    }

    /// Classifies the whole segment at the current offset and moves past it.
    fn classify_segment(&mut self, header: SegmentHeader) -> io::Result<ScanItem> {
        let offset = self.at;
        let size = header.segment_size();
        let padded = self.padding_is_zero(offset, &header)?;
        self.at = offset + size;
        let own =
            read_preamble(&mut self.window, offset, &header)?.filter(|p| p.file_id == self.file_id);
        let plain = header.canonical && matches!(header.kind, TYPE_VECTORS | TYPE_CLOSING);
        let kind = own.map_or(header.kind, |p| p.kind);
        let seq = match own {
            Some(preamble) => preamble.seq,
            None if plain && kind == TYPE_CLOSING => self.closing_seq(offset, &header)?,
            None => 0,
        };
        let changed = own.is_none()
            && !plain
            && !is_own_type(kind)
            && (header.id_matches_offset || self.is_our_closing_index(offset, &header)?);
        let found = match kind {
            _ if changed => {
                let what = "a segment of ours whose header changed";
                return Ok(ScanItem::Damage(DamagedRange::new(offset, size, what)));
            }
            _ if own.is_none() && !plain => ScanItem::Foreign { offset, kind, size },
            TYPE_COMMIT => self.read_commit(offset, &header)?,
            TYPE_MANIFEST => {
                let payload = self.read_payload(offset, &header)?;
                ScanItem::Manifest { offset, payload }
            }
            _ => ScanItem::Own {
                offset,
                kind,
                seq,
                size,
            },
        };
        self.vectors = (kind == TYPE_VECTORS && plain).then_some((offset, size));
        // The header's type is not hashed, so it could differ from the preamble's and still look
        // canonical.
        let changed = own.is_some_and(|p| !header.canonical || p.kind != header.kind);
        if changed || !padded {
            self.queued = Some(found);
            let length = if padded { HEADER_SIZE } else { size };
            let what = "bytes around a payload changed; the payload itself is whole";
            return Ok(ScanItem::Damage(DamagedRange::new(offset, length, what)));
        }
        Ok(found)
    }

    /// Whether a segment is a closing index of this file. It has no preamble, but ends with its
    /// file's identity.
    fn is_our_closing_index(&mut self, offset: u64, header: &SegmentHeader) -> io::Result<bool> {
        const IDENTITY: u64 = 68;
        let Some(at) = header.payload_size.checked_sub(IDENTITY) else {
            return Ok(false);
        };
        let id = self.window.read(offset + HEADER_SIZE + at, 16)?;
        Ok(id == Some(&self.file_id.to_le_bytes()))
    }

    /// Returns the commit that a closing index of this file makes visible to rvf-runtime; 0 for
    /// that of another file.
    fn closing_seq(&mut self, offset: u64, header: &SegmentHeader) -> io::Result<u64> {
        if !self.is_our_closing_index(offset, header)? {
            return Ok(0);
        }
        let epoch = self.window.read(offset + HEADER_SIZE, 4)?;
        let epoch = epoch.and_then(|bytes| bytes.first_chunk());
        Ok(epoch.map_or(0, |epoch| u32::from_le_bytes(*epoch).into()))
    }

    fn read_commit(&mut self, offset: u64, header: &SegmentHeader) -> io::Result<ScanItem> {
        let payload = self.read_payload(offset, header)?;
        let head = CommitHead::decode(&payload);
        let Some(head) = head.filter(|head| head.vectors_size <= offset) else {
            let (size, what) = (header.segment_size(), "a commit with a malformed head");
            return Ok(ScanItem::Damage(DamagedRange::new(offset, size, what)));
        };
        let vectors = (offset - head.vectors_size, head.vectors_size);
        let whole = head.vectors_size == 0 || self.vectors == Some(vectors);
        let commit = ReadCommit {
            offset,
            head,
            payload,
        };
        Ok(ScanItem::Commit(Box::new(commit), whole))
    }

    fn read_payload(&mut self, offset: u64, header: &SegmentHeader) -> io::Result<Vec<u8>> {
        let bytes = self
            .window
            .read(offset + HEADER_SIZE, header.payload_size)?;
        bytes
            .map(<[u8]>::to_vec)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Whether the padding is zero up to the end of the file.
    fn padding_is_zero(&mut self, offset: u64, header: &SegmentHeader) -> io::Result<bool> {
        let from = offset + HEADER_SIZE + header.payload_size;
        let size =
            (padding_size(header.payload_size) as u64).min(self.window.end().saturating_sub(from));
        let bytes = self.window.read(from, size)?;
        Ok(bytes.is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0)))
    }
}

fn is_own_type(kind: u8) -> bool {
    (TYPE_COMMIT..=TYPE_FILE).contains(&kind)
}

/// Reads the header at `offset`; returns `None` unless its payload is within the file and its hash
/// matches.
fn read_whole_header(window: &mut Window, offset: u64) -> io::Result<Option<SegmentHeader>> {
    let Some(bytes) = window.read(offset, HEADER_SIZE)? else {
        return Ok(None);
    };
    let Some(header) = decode_header(bytes, offset) else {
        return Ok(None);
    };
    let start = offset + HEADER_SIZE;
    let hash = if header.payload_size <= WHOLE_MAX {
        window.read(start, header.payload_size)?.map(content_hash)
    } else if start
        .checked_add(header.payload_size)
        .is_some_and(|end| end <= window.end())
    {
        window.hash_range(start, header.payload_size)?
    } else {
        None
    };
    if hash == Some(header.hash) {
        return Ok(Some(header));
    }
    if hash.is_some() {
        window.count_vain_hash(header.payload_size)?;
    }
    Ok(None)
}

/// Reads the preamble of a segment, at the start or the end of the payload, depending on its type.
fn read_preamble(
    window: &mut Window,
    offset: u64,
    header: &SegmentHeader,
) -> io::Result<Option<SegmentPreamble>> {
    let size = PREAMBLE_SIZE as u64;
    if header.payload_size < size {
        return Ok(None);
    }
    let start = offset + HEADER_SIZE;
    let front = window.peek(start)?;
    let front = front
        .as_ref()
        .and_then(|bytes| SegmentPreamble::read(bytes));
    let front = front.filter(|p| is_own_type(p.kind) && !is_derived(p.kind));
    // A page can begin with any bytes, even with those of a preamble.
    if front.is_some() && !is_derived(header.kind) {
        return Ok(front);
    }
    let back = window.peek(start.saturating_add(header.payload_size - size))?;
    let back = back.as_ref().and_then(|bytes| SegmentPreamble::read(bytes));
    Ok(back.filter(|p| is_derived(p.kind)).or(front))
}

fn is_of_file(
    window: &mut Window,
    offset: u64,
    header: &SegmentHeader,
    file_id: u128,
) -> io::Result<bool> {
    let preamble = read_preamble(window, offset, header)?;
    Ok(preamble.is_some_and(|preamble| preamble.file_id == file_id))
}

/// Finds the first whole segment with our file id after `from`, and returns its offset or that of
/// its `VEC_SEG`.
fn find_own_segment(window: &mut Window, from: u64, file_id: u128) -> io::Result<Option<u64>> {
    let mut at = align_up(from + 1);
    while let Some(bytes) = window.read(at, HEADER_SIZE)? {
        // One that is in another place than it was written for is ours too. Its file id is compared
        // first: only who knows it can make us hash a segment.
        if let Some(header) = decode_header(bytes, at)
            && is_of_file(window, at, &header, file_id)?
            && read_whole_header(window, at)?.is_some()
        {
            return resume_offset(window, from, at, &header).map(Some);
        }
        at += HEADER_SIZE;
    }
    Ok(None)
}

/// Returns the offset from which to resume for our segment at `at`: that of its `VEC_SEG` if it is
/// whole.
fn resume_offset(
    window: &mut Window,
    from: u64,
    at: u64,
    header: &SegmentHeader,
) -> io::Result<u64> {
    if header.kind != TYPE_COMMIT {
        return Ok(at);
    }
    let head = window
        .read(at + HEADER_SIZE, header.payload_size)?
        .and_then(CommitHead::decode);
    let start = head.and_then(|head| at.checked_sub(head.vectors_size));
    match start.filter(|start| *start >= from && *start < at) {
        Some(start) => {
            let vectors = read_whole_header(window, start)?;
            let whole = vectors.is_some_and(|v| v.canonical && v.kind == TYPE_VECTORS);
            Ok(if whole { start } else { at })
        }
        None => Ok(at),
    }
}

/// Finds the last whole commit or manifest of this file, and returns its offset and type.
pub(crate) fn find_last_commit_or_manifest(
    file: &Arc<dyn DiskFile>,
    end: u64,
    file_id: u128,
) -> io::Result<Option<(u64, u8)>> {
    const CHUNK: u64 = 64 << 10;
    let mut window = Window::new(Arc::clone(file), end);
    let mut chunk = vec![0; CHUNK.min(end) as usize];
    // Offsets at or above `high` were examined.
    let mut high = end / HEADER_SIZE * HEADER_SIZE;
    while high > 0 {
        let low = high.saturating_sub(CHUNK);
        let part = &mut chunk[..(high - low) as usize];
        file.read_exact_at(low, part)?;
        for (index, bytes) in part.chunks_exact(HEADER_SIZE as usize).enumerate().rev() {
            let at = low + index as u64 * HEADER_SIZE;
            let header = decode_header(bytes, at)
                .filter(|h| h.canonical && matches!(h.kind, TYPE_COMMIT | TYPE_MANIFEST));
            if let Some(header) = header
                && is_of_file(&mut window, at, &header, file_id)?
                && read_whole_header(&mut window, at)?.is_some()
            {
                return Ok(Some((at, header.kind)));
            }
        }
        high = low;
    }
    Ok(None)
}

/// Finds the first whole commit, for files whose header is damaged.
pub(crate) fn find_first_commit(
    file: &Arc<dyn DiskFile>,
    end: u64,
) -> io::Result<Option<ReadCommit>> {
    let mut window = Window::new(Arc::clone(file), end);
    let mut at = 0;
    while let Some(bytes) = window.read(at, HEADER_SIZE)? {
        let candidate = decode_header(bytes, at);
        if candidate.is_some_and(|h| h.kind == TYPE_COMMIT)
            && let Some(header) = read_whole_header(&mut window, at)?
            && let Some(payload) = window.read(at + HEADER_SIZE, header.payload_size)?
            && let Some(head) = CommitHead::decode(payload)
        {
            return Ok(Some(ReadCommit {
                offset: at,
                head,
                payload: payload.to_vec(),
            }));
        }
        at += HEADER_SIZE;
    }
    Ok(None)
}

/// Most bytes that a [`Window`] reads at once.
const READ_AHEAD: u64 = 1 << 20;

/// A view of `[0, end)` of a file with a read-ahead buffer, so that sequential reads need few
/// system calls.
#[derive(Debug)]
struct Window {
    file: Arc<dyn DiskFile>,
    end: u64,
    start: u64,
    bytes: Vec<u8>,
    ahead: u64,
    /// Bytes hashed for segments that are not whole.
    hashed_in_vain: u64,
}

impl Window {
    fn new(file: Arc<dyn DiskFile>, end: u64) -> Self {
        Self {
            file,
            end,
            start: 0,
            bytes: Vec::new(),
            // It grows with use, so that reading a short tail does not cost a megabyte.
            ahead: 4096,
            hashed_in_vain: 0,
        }
    }

    /// Counts a hash that did not match; fails if these are more than damage causes.
    fn count_vain_hash(&mut self, bytes: u64) -> io::Result<()> {
        self.hashed_in_vain = self.hashed_in_vain.saturating_add(bytes);
        let most = self.end.saturating_mul(VAIN_TIMES_MAX).max(VAIN_BYTES_MIN);
        if self.hashed_in_vain <= most {
            return Ok(());
        }
        Err(io::Error::other(
            "it claims more segments than fit into it, so another program forged it; restore it \
             from a backup",
        ))
    }

    /// Returns the bytes of a preamble at `offset`, without reading ahead; `None` if the view ends
    /// before them.
    fn peek(&self, offset: u64) -> io::Result<Option<[u8; PREAMBLE_SIZE]>> {
        let end = offset.saturating_add(PREAMBLE_SIZE as u64);
        if end > self.end {
            return Ok(None);
        }
        let at = offset.checked_sub(self.start).unwrap_or(u64::MAX);
        let known = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..));
        if let Some(known) = known.and_then(<[u8]>::first_chunk) {
            return Ok(Some(*known));
        }
        let mut bytes = [0; PREAMBLE_SIZE];
        self.file.read_exact_at(offset, &mut bytes)?;
        Ok(Some(bytes))
    }

    fn end(&self) -> u64 {
        self.end
    }

    /// Returns `size` bytes from `offset`; `None` if the view ends before them.
    fn read(&mut self, offset: u64, size: u64) -> io::Result<Option<&[u8]>> {
        let Some(wanted_end) = offset.checked_add(size).filter(|e| *e <= self.end) else {
            return Ok(None);
        };
        let have_end = self.start + self.bytes.len() as u64;
        if offset < self.start || wanted_end > have_end {
            let read_end = offset.saturating_add(size.max(self.ahead)).min(self.end);
            self.ahead = (self.ahead * 2).min(READ_AHEAD);
            self.bytes.clear();
            self.bytes.resize((read_end - offset) as usize, 0);
            self.start = offset;
            if let Err(error) = self.file.read_exact_at(offset, &mut self.bytes) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let from = (offset - self.start) as usize;
        Ok(self.bytes.get(from..from + size as usize))
    }

    /// Computes the XXH3-128 of a range within the view, piece by piece.
    fn hash_range(&mut self, offset: u64, size: u64) -> io::Result<Option<[u8; 16]>> {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        let mut done = 0;
        while done < size {
            let piece = (size - done).min(READ_AHEAD);
            let Some(bytes) = self.read(offset + done, piece)? else {
                return Ok(None);
            };
            hasher.update(bytes);
            done += piece;
        }
        Ok(Some(hasher.digest128().to_le_bytes()))
    }
}
