//! Saved parts that are read lazily: a front, read and verified at once, then pages, read on demand
//! and verified by checksums in the front.
//!
//! ```text
//! version u8 | XXH3-64 of the rest of the front | u32 bytes of the front | ... | the pages
//! ```
//! The caller that opens the file passes a function that reads it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{HEADER_BYTES, PartReader, SharedBytes, append_u32, begin_part, seal_part};
use crate::error::{IndexError, IndexResult};

/// A function that fills the buffer from an offset in a part; `false` on failure. It is called from
/// any thread.
pub type PartReadFn = Arc<dyn Fn(u64, &mut [u8]) -> bool + Send + Sync>;

/// A saved part that is read on demand.
#[derive(Clone)]
pub struct LazyPart {
    pub size: u64,
    pub read: PartReadFn,
}

reprise_types::show_fields!(LazyPart { size });

impl From<Vec<u8>> for LazyPart {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            size: bytes.len() as u64,
            read: Arc::new(move |at, out| {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let found = bytes.get(from..).and_then(|rest| rest.get(..out.len()));
                found.is_some_and(|found| {
                    out.copy_from_slice(found);
                    true
                })
            }),
        }
    }
}

impl LazyPart {
    pub(crate) fn read_all(&self) -> Option<SharedBytes> {
        let mut bytes = vec![0; usize::try_from(self.size).ok()?];
        (self.read)(0, &mut bytes).then(|| bytes.into())
    }

    pub(crate) fn read_front(&self, part: &'static str, version: u8) -> IndexResult<SharedBytes> {
        let damage_error = |what| IndexError::Damaged { part, what };
        let mut head = [0; HEADER_BYTES + 4];
        if self.size < head.len() as u64 || !(self.read)(0, &mut head) {
            return Err(damage_error("too short"));
        }
        if head[0] != version {
            let (got, expected) = (head[0], version);
            return Err(IndexError::Version {
                part,
                got,
                expected,
            });
        }
        let size = head
            .last_chunk()
            .map_or(0, |size| u32::from_le_bytes(*size));
        if u64::from(size) > self.size || (size as usize) < head.len() {
            return Err(damage_error("its front does not fit"));
        }
        let mut read_front = vec![0; size as usize];
        if !(self.read)(0, &mut read_front) {
            return Err(damage_error("it cannot be read"));
        }
        Ok(read_front.into())
    }
}

/// Opens a reader behind the header of a front that [`LazyPart::read_front`] read.
pub(crate) fn open_front<'a>(
    part: &'static str,
    front: &'a SharedBytes,
    version: u8,
) -> IndexResult<PartReader<'a>> {
    let mut reader = PartReader::new(part, front, version)?;
    reader.read_u32()?;
    Ok(reader)
}

/// Encodes a part from a front and paged content.
pub(crate) fn encode_part(version: u8, front: &[u8], paged: &[&[u8]]) -> Vec<u8> {
    let size = HEADER_BYTES + 4 + front.len();
    let paged_bytes: usize = paged.iter().map(|bytes| bytes.len()).sum();
    let mut bytes = begin_part(version, size + paged_bytes);
    append_u32(&mut bytes, size as u32);
    bytes.extend_from_slice(front);
    let mut bytes = seal_part(bytes);
    for more in paged {
        bytes.extend_from_slice(more);
    }
    bytes
}

/// Appends the checksum of every page of `paged`.
pub(crate) fn append_checksums(out: &mut Vec<u8>, paged: &[u8], page_bytes: usize) {
    for page in paged.chunks(page_bytes.max(1)) {
        out.extend_from_slice(&xxh3_64(page).to_le_bytes());
    }
}

/// A shared flag that is set when a page of an open index is damaged.
#[derive(Debug, Clone, Default)]
pub(crate) struct DamageFlag(Arc<AtomicBool>);

impl DamageFlag {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The pages of a saved part. Every page is verified before use.
#[derive(Debug)]
pub(crate) struct PartPages {
    part: LazyPart,
    /// Offset of the first page.
    start: u64,
    bytes: usize,
    page_bytes: usize,
    checksums: SharedBytes,
    read: Box<[OnceLock<Box<[u8]>>]>,
    /// All pages, once loaded.
    whole: OnceLock<Vec<u8>>,
    /// Set once all pages were verified.
    verified: OnceLock<()>,
    damage: DamageFlag,
}

impl PartPages {
    /// Wraps `bytes` bytes from `start` on in pages of `page_bytes`; `None` if the number of pages
    /// differs from the number of checksums, or they end beyond the part.
    pub(crate) fn new(
        part: &LazyPart,
        (start, bytes): (u64, usize),
        page_bytes: usize,
        checksums: SharedBytes,
        damage: &DamageFlag,
    ) -> Option<Self> {
        let count = bytes.div_ceil(page_bytes.max(1));
        let fits = start.checked_add(bytes as u64)? <= part.size;
        (fits && count.checked_mul(8)? == checksums.len()).then(|| Self {
            part: part.clone(),
            start,
            bytes,
            page_bytes: page_bytes.max(1),
            checksums,
            read: (0..count).map(|_| OnceLock::new()).collect(),
            whole: OnceLock::new(),
            verified: OnceLock::new(),
            damage: damage.clone(),
        })
    }

    /// Reads page `number` into `out`, which is as long as the page; `false` if it is damaged.
    pub(crate) fn read_page_into(&self, number: usize, out: &mut [u8]) -> bool {
        let at = self.start + (number * self.page_bytes) as u64;
        let whole = (self.part.read)(at, out) && self.has_valid_checksum(number, out);
        if !whole {
            self.damage.set();
        }
        whole
    }

    /// Whether these bytes have the checksum of page `number`.
    fn has_valid_checksum(&self, number: usize, page: &[u8]) -> bool {
        let check = self
            .checksums
            .get(number * 8..)
            .and_then(<[u8]>::first_chunk);
        check.is_some_and(|check| u64::from_le_bytes(*check) == xxh3_64(page))
    }

    fn page_len(&self, number: usize) -> usize {
        let left = self.bytes.saturating_sub(number * self.page_bytes);
        left.min(self.page_bytes)
    }

    fn cached_page(&self, number: usize) -> Option<&[u8]> {
        let cell = self.read.get(number)?;
        if let Some(page) = cell.get() {
            return Some(page);
        }
        let cached_page = self.read_page(number)?;
        Some(cell.get_or_init(|| cached_page.into_boxed_slice()))
    }

    /// Returns the bytes `from..to`, which must be in one page; `None` if it is damaged.
    pub(crate) fn bytes_in_page(&self, from: usize, to: usize) -> Option<&[u8]> {
        if let Some(whole) = self.whole.get() {
            return whole.get(from..to);
        }
        let number = from / self.page_bytes;
        let start = number * self.page_bytes;
        self.cached_page(number)?
            .get(from - start..to.checked_sub(start)?)
    }

    /// Returns the bytes `from..to`; empty if some of them are damaged.
    pub(crate) fn bytes(&self, from: usize, to: usize) -> Cow<'_, [u8]> {
        let none = Cow::Borrowed(&[][..]);
        if to <= from || to > self.bytes {
            return none;
        }
        let (first, last) = (from / self.page_bytes, (to - 1) / self.page_bytes);
        if first == last || self.whole.get().is_some() {
            return self.bytes_in_page(from, to).map_or(none, Cow::Borrowed);
        }
        let start = first * self.page_bytes;
        let end = ((last + 1) * self.page_bytes).min(self.bytes);
        let mut bytes = vec![0; end - start];
        if !self.read_pages_into(first, &mut bytes) {
            return none;
        }
        bytes.truncate(to - start);
        bytes.drain(..from - start);
        Cow::Owned(bytes)
    }

    /// Reads whole pages from `first` on into `out`; `false` if one is damaged.
    fn read_pages_into(&self, first: usize, out: &mut [u8]) -> bool {
        /// Bytes read and verified at a time, so that they are still in the CPU cache.
        const STEP_BYTES: usize = 128 << 10;
        let pages = (STEP_BYTES / self.page_bytes).max(1);
        let mut number = first;
        for piece in out.chunks_mut(pages * self.page_bytes) {
            let at = self.start + (number * self.page_bytes) as u64;
            let is_read = (self.part.read)(at, piece);
            let mut numbered = (number..).zip(piece.chunks(self.page_bytes));
            if !is_read || !numbered.all(|(number, page)| self.has_valid_checksum(number, page)) {
                self.damage.set();
                return false;
            }
            number += pages;
        }
        true
    }

    /// Reads every page into `out`, which is as long as all of them; `false` if one is damaged.
    pub(crate) fn read_all_into(&self, out: &mut [u8]) -> bool {
        out.len() == self.bytes && self.read_pages_into(0, out)
    }

    /// Reads every page and keeps it in memory; `false` if one is damaged.
    pub(crate) fn load(&self) -> bool {
        if self.is_loaded() {
            return true;
        }
        let mut bytes = vec![0; self.bytes];
        let whole = self.read_all_into(&mut bytes);
        if whole {
            // Another thread may have loaded the same bytes first.
            self.whole.get_or_init(|| bytes);
        }
        whole
    }

    /// Reads page `number` without caching it; `None` if it is damaged.
    pub(crate) fn read_page(&self, number: usize) -> Option<Vec<u8>> {
        let mut page = vec![0; self.page_len(number)];
        self.read_page_into(number, &mut page).then_some(page)
    }

    /// Verifies every page once, without caching; `false` if one is damaged.
    pub(crate) fn verify_all(&self) -> bool {
        let mut page = vec![0; self.page_bytes];
        let mut sound = |number| self.read_page_into(number, &mut page[..self.page_len(number)]);
        let verified = self.verified.get().is_some() || (0..self.read.len()).all(&mut sound);
        if verified {
            self.verified.get_or_init(|| ());
        }
        verified
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.whole.get().is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }
}

/// The pages of words and rows of an opened index; the codes have their own.
#[derive(Debug, Clone)]
pub(crate) struct LazyPages {
    pub(crate) words: Arc<PartPages>,
    pub(crate) rows: Arc<PartPages>,
}

impl LazyPages {
    /// Reads the words and verifies the rows; `false` if a page is damaged.
    pub(crate) fn load(&self) -> bool {
        self.words.load() && self.rows.verify_all()
    }
}
