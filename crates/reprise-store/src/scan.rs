//! Scanning a file segment by segment, and resynchronising after damage.
//!
//! A segment is accepted as ours only if its magic, hash, file id and offset all agree.

use std::io;
use std::sync::Arc;

use crate::commit::{CommitHead, ReadCommit};
use crate::disk::DiskFile;
use crate::frame::{
    HEADER_SIZE, Header, PREAMBLE_SIZE, Preamble, TYPE_COMMIT, TYPE_FILE, TYPE_MANIFEST, TYPE_SEAL,
    TYPE_VECTORS, align_up, content_hash, is_derived, padding, parse_header,
};
use crate::options::Damage;

/// Payloads up to this size are read in one piece; larger ones are hashed as they stream by.
const WHOLE_MAX: u64 = 16 << 20;

/// What was found at one offset of the file.
#[derive(Debug)]
pub(crate) enum Found {
    /// A commit whose hash held, and whether the `VEC_SEG` it names stands whole in front of it.
    Commit(Box<ReadCommit>, bool),
    /// A seal whose hash held.
    Seal { offset: u64, payload: Vec<u8> },
    /// Another whole segment of ours. A manifest's `seq` is the commit that it shows to others, 0
    /// where it names another file.
    Own {
        offset: u64,
        kind: u8,
        seq: u64,
        size: u64,
    },
    /// A whole segment that is not ours.
    Foreign { offset: u64, kind: u8, size: u64 },
    /// A stretch that is no valid segment.
    Damage(Damage),
}

#[derive(Debug)]
pub(crate) struct Scan {
    window: Window,
    file_id: u128,
    at: u64,
    queued: Option<Found>,
    vectors: Option<(u64, u64)>,
}

impl Scan {
    pub(crate) fn new(file: Arc<dyn DiskFile>, from: u64, end: u64, file_id: u128) -> Self {
        Self {
            window: Window::new(file, end),
            file_id,
            at: from,
            queued: None,
            vectors: None,
        }
    }

    /// The current offset; once `next` has returned `None`, the beginning of the torn tail.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// The next segment or damage; `None` where no whole segment of ours follows.
    pub(crate) fn next(&mut self) -> io::Result<Option<Found>> {
        if let Some(found) = self.queued.take() {
            return Ok(Some(found));
        }
        if self.at >= self.window.end() {
            return Ok(None);
        }
        if let Some(header) = whole_header(&mut self.window, self.at)? {
            return self.take(header).map(Some);
        }
        let from = self.at;
        match find_own(&mut self.window, from, self.file_id)? {
            Some(found) => {
                self.at = found;
                let what = "no whole segment stands here";
                let damage = Damage::new(from, found - from, what);
                Ok(Some(Found::Damage(damage)))
            }
            None => Ok(None),
        }
    }

    /// Classifies the whole segment at the current offset and steps over it.
    fn take(&mut self, header: Header) -> io::Result<Found> {
        let offset = self.at;
        let size = header.segment_size();
        let padded = self.padding_is_zero(offset, &header)?;
        self.at = offset + size;
        let own =
            preamble(&mut self.window, offset, &header)?.filter(|p| p.file_id == self.file_id);
        let plain = header.strict && matches!(header.kind, TYPE_VECTORS | TYPE_MANIFEST);
        let kind = own.map_or(header.kind, |p| p.kind);
        let seq = match own {
            Some(preamble) => preamble.seq,
            None if plain && kind == TYPE_MANIFEST => self.manifest_seq(offset, &header)?,
            None => 0,
        };
        let changed = own.is_none()
            && !plain
            && !is_ours(kind)
            && (header.placed || self.is_our_manifest(offset, &header)?);
        let found = match kind {
            _ if changed => {
                let what = "a segment of ours whose header changed";
                return Ok(Found::Damage(Damage::new(offset, size, what)));
            }
            _ if own.is_none() && !plain => Found::Foreign { offset, kind, size },
            TYPE_COMMIT => self.commit(offset, &header)?,
            TYPE_SEAL => {
                let payload = self.payload(offset, &header)?;
                Found::Seal { offset, payload }
            }
            _ => Found::Own {
                offset,
                kind,
                seq,
                size,
            },
        };
        self.vectors = (kind == TYPE_VECTORS && plain).then_some((offset, size));
        // The header's type is not hashed, so it could differ from the preamble's and look strict.
        let changed = own.is_some_and(|p| !header.strict || p.kind != header.kind);
        if changed || !padded {
            self.queued = Some(found);
            let length = if padded { HEADER_SIZE } else { size };
            let what = "bytes around a payload changed; the payload itself is whole";
            return Ok(Found::Damage(Damage::new(offset, length, what)));
        }
        Ok(found)
    }

    /// A manifest has no preamble, but ends with the identity of its file.
    fn is_our_manifest(&mut self, offset: u64, header: &Header) -> io::Result<bool> {
        const IDENTITY: u64 = 68;
        let Some(at) = header.payload_size.checked_sub(IDENTITY) else {
            return Ok(false);
        };
        let id = self.window.get(offset + HEADER_SIZE + at, 16)?;
        Ok(id == Some(&self.file_id.to_le_bytes()))
    }

    /// The commit that a manifest of this file shows to others; 0 for one of another file.
    fn manifest_seq(&mut self, offset: u64, header: &Header) -> io::Result<u64> {
        if !self.is_our_manifest(offset, header)? {
            return Ok(0);
        }
        let epoch = self.window.get(offset + HEADER_SIZE, 4)?;
        let epoch = epoch.and_then(|bytes| bytes.first_chunk());
        Ok(epoch.map_or(0, |epoch| u32::from_le_bytes(*epoch).into()))
    }

    fn commit(&mut self, offset: u64, header: &Header) -> io::Result<Found> {
        let payload = self.payload(offset, header)?;
        let head = CommitHead::parse(&payload).map(|(head, _)| head);
        let Some(head) = head.filter(|head| head.vectors_size <= offset) else {
            let (size, what) = (header.segment_size(), "a commit whose head makes no sense");
            return Ok(Found::Damage(Damage::new(offset, size, what)));
        };
        let vectors = (offset - head.vectors_size, head.vectors_size);
        let whole = head.vectors_size == 0 || self.vectors == Some(vectors);
        let commit = ReadCommit {
            offset,
            head,
            payload,
        };
        Ok(Found::Commit(Box::new(commit), whole))
    }

    fn payload(&mut self, offset: u64, header: &Header) -> io::Result<Vec<u8>> {
        let bytes = self.window.get(offset + HEADER_SIZE, header.payload_size)?;
        bytes
            .map(<[u8]>::to_vec)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Whether the padding is zero, as far as the file reaches.
    fn padding_is_zero(&mut self, offset: u64, header: &Header) -> io::Result<bool> {
        let from = offset + HEADER_SIZE + header.payload_size;
        let there =
            (padding(header.payload_size) as u64).min(self.window.end().saturating_sub(from));
        let bytes = self.window.get(from, there)?;
        Ok(bytes.is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0)))
    }
}

fn is_ours(kind: u8) -> bool {
    (TYPE_COMMIT..=TYPE_FILE).contains(&kind)
}

/// The header at `offset`, where its payload lies within the file and has its hash.
fn whole_header(window: &mut Window, offset: u64) -> io::Result<Option<Header>> {
    let Some(bytes) = window.get(offset, HEADER_SIZE)? else {
        return Ok(None);
    };
    let Some(header) = parse_header(bytes, offset) else {
        return Ok(None);
    };
    let start = offset + HEADER_SIZE;
    let hash = if header.payload_size <= WHOLE_MAX {
        window.get(start, header.payload_size)?.map(content_hash)
    } else if start
        .checked_add(header.payload_size)
        .is_some_and(|end| end <= window.end())
    {
        window.hash(start, header.payload_size)?
    } else {
        None
    };
    Ok((hash == Some(header.hash)).then_some(header))
}

/// The preamble of a whole segment, at whichever end its type keeps it.
fn preamble(window: &mut Window, offset: u64, header: &Header) -> io::Result<Option<Preamble>> {
    let size = PREAMBLE_SIZE as u64;
    if header.payload_size < size {
        return Ok(None);
    }
    let start = offset + HEADER_SIZE;
    let front = window.get(start, size)?.and_then(Preamble::parse);
    let front = front.filter(|p| is_ours(p.kind) && !is_derived(p.kind));
    // A piece of a blob may begin with anything.
    if front.is_some() && !is_derived(header.kind) {
        return Ok(front);
    }
    let back = window
        .get(start + header.payload_size - size, size)?
        .and_then(Preamble::parse);
    Ok(back.filter(|p| is_derived(p.kind)).or(front))
}

/// The first place behind `from` where a segment that carries our file id is whole, or the
/// `VEC_SEG` that belongs to it.
fn find_own(window: &mut Window, from: u64, file_id: u128) -> io::Result<Option<u64>> {
    let mut at = align_up(from + 1);
    while let Some(bytes) = window.get(at, HEADER_SIZE)? {
        if !parse_header(bytes, at).is_some_and(|header| header.strict) {
            at += HEADER_SIZE;
            continue;
        }
        let Some(header) = whole_header(window, at)? else {
            at += HEADER_SIZE;
            continue;
        };
        let own = preamble(window, at, &header)?.is_some_and(|p| p.file_id == file_id);
        if own {
            return vectors_before(window, from, at, &header).map(Some);
        }
        at += HEADER_SIZE;
    }
    Ok(None)
}

/// Where to resume for our segment at `at`: at its `VEC_SEG`, if that is whole.
fn vectors_before(window: &mut Window, from: u64, at: u64, header: &Header) -> io::Result<u64> {
    if header.kind != TYPE_COMMIT {
        return Ok(at);
    }
    let head = window
        .get(at + HEADER_SIZE, header.payload_size)?
        .and_then(CommitHead::parse);
    let start = head.and_then(|(head, _)| at.checked_sub(head.vectors_size));
    match start.filter(|start| *start >= from && *start < at) {
        Some(start) => {
            let vectors = whole_header(window, start)?;
            let whole = vectors.is_some_and(|v| v.strict && v.kind == TYPE_VECTORS);
            Ok(if whole { start } else { at })
        }
        None => Ok(at),
    }
}

/// The last place where a commit or a seal of this file is whole.
pub(crate) fn find_last(
    file: &Arc<dyn DiskFile>,
    end: u64,
    file_id: u128,
) -> io::Result<Option<(u64, u8)>> {
    const CHUNK: u64 = 64 << 10;
    let mut window = Window::new(Arc::clone(file), end);
    let mut chunk = vec![0; CHUNK.min(end) as usize];
    // Places at or above `high` were looked at.
    let mut high = end / HEADER_SIZE * HEADER_SIZE;
    while high > 0 {
        let low = high.saturating_sub(CHUNK);
        let part = &mut chunk[..(high - low) as usize];
        file.read_exact_at(low, part)?;
        for (index, bytes) in part.chunks_exact(HEADER_SIZE as usize).enumerate().rev() {
            let at = low + index as u64 * HEADER_SIZE;
            let candidate = parse_header(bytes, at)
                .is_some_and(|h| h.strict && matches!(h.kind, TYPE_COMMIT | TYPE_SEAL));
            if candidate
                && let Some(header) = whole_header(&mut window, at)?
                && preamble(&mut window, at, &header)?.is_some_and(|p| p.file_id == file_id)
            {
                return Ok(Some((at, header.kind)));
            }
        }
        high = low;
    }
    Ok(None)
}

/// The file id of the first commit or seal that is whole: what is left when the file header is not.
pub(crate) fn first_commit(file: &Arc<dyn DiskFile>, end: u64) -> io::Result<Option<ReadCommit>> {
    let mut window = Window::new(Arc::clone(file), end);
    let mut at = 0;
    while let Some(bytes) = window.get(at, HEADER_SIZE)? {
        let candidate = parse_header(bytes, at);
        if candidate.is_some_and(|h| h.strict && h.kind == TYPE_COMMIT)
            && let Some(header) = whole_header(&mut window, at)?
            && let Some(payload) = window.get(at + HEADER_SIZE, header.payload_size)?
            && let Some((head, _)) = CommitHead::parse(payload)
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

/// A view of `[0, end)` of a file that remembers what it read last: sequential reading with few
/// system calls.
#[derive(Debug)]
struct Window {
    file: Arc<dyn DiskFile>,
    end: u64,
    start: u64,
    bytes: Vec<u8>,
    ahead: u64,
}

impl Window {
    fn new(file: Arc<dyn DiskFile>, end: u64) -> Self {
        Self {
            file,
            end,
            start: 0,
            bytes: Vec::new(),
            // Grows with use, so that reading a short tail does not cost a megabyte.
            ahead: 4096,
        }
    }

    fn end(&self) -> u64 {
        self.end
    }

    /// `size` bytes from `offset`, or `None` where the view ends before.
    fn get(&mut self, offset: u64, size: u64) -> io::Result<Option<&[u8]>> {
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

    /// XXH3-128 of a stretch that lies within the view, in pieces.
    fn hash(&mut self, offset: u64, size: u64) -> io::Result<Option<[u8; 16]>> {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        let mut done = 0;
        while done < size {
            let piece = (size - done).min(READ_AHEAD);
            let Some(bytes) = self.get(offset + done, piece)? else {
                return Ok(None);
            };
            hasher.update(bytes);
            done += piece;
        }
        Ok(Some(hasher.digest128().to_le_bytes()))
    }
}
