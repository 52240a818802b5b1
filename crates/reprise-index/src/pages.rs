//! Saved parts that are read lazily: a front, read and verified at once, and pages behind it, read
//! on demand and verified by checksums in the front.
//!
//! ```text
//! version u8 | XXH3-64 of the rest of the front | u32 bytes of the front | ... | the pages
//! ```
//! The caller that opens the file passes a function that reads it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{HEADER_BYTES, Reader, SharedBytes, open, put_u32, seal};
use crate::error::{IndexError, Result};

/// Fills the buffer from an offset in a part; `false` on failure. Called from any thread.
pub type ReadPart = Arc<dyn Fn(u64, &mut [u8]) -> bool + Send + Sync>;

/// A saved part that was not read yet.
#[derive(Clone)]
pub struct LeftPart {
    pub size: u64,
    pub read: ReadPart,
}

reprise_types::show_fields!(LeftPart { size });

impl From<Vec<u8>> for LeftPart {
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

impl LeftPart {
    pub(crate) fn all(&self) -> Option<SharedBytes> {
        let mut bytes = vec![0; usize::try_from(self.size).ok()?];
        (self.read)(0, &mut bytes).then(|| bytes.into())
    }

    pub(crate) fn front(&self, part: &'static str, version: u8) -> Result<SharedBytes> {
        let damaged = |what| IndexError::Damaged { part, what };
        let mut head = [0; HEADER_BYTES + 4];
        if self.size < head.len() as u64 || !(self.read)(0, &mut head) {
            return Err(damaged("too short"));
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
            return Err(damaged("its front does not fit"));
        }
        let mut front = vec![0; size as usize];
        if !(self.read)(0, &mut front) {
            return Err(damaged("it cannot be read"));
        }
        Ok(front.into())
    }
}

/// A reader after the header of a front that [`LeftPart::front`] read.
pub(crate) fn front_reader<'a>(
    part: &'static str,
    front: &'a SharedBytes,
    version: u8,
) -> Result<Reader<'a>> {
    let mut reader = Reader::new(part, front, version)?;
    reader.u32()?;
    Ok(reader)
}

/// A part from a front and paged content.
pub(crate) fn write(version: u8, front: &[u8], paged: &[&[u8]]) -> Vec<u8> {
    let size = HEADER_BYTES + 4 + front.len();
    let behind: usize = paged.iter().map(|bytes| bytes.len()).sum();
    let mut bytes = open(version, size + behind);
    put_u32(&mut bytes, size as u32);
    bytes.extend_from_slice(front);
    let mut bytes = seal(bytes);
    for more in paged {
        bytes.extend_from_slice(more);
    }
    bytes
}

/// Appends the checksum of every page of `paged`.
pub(crate) fn put_checks(out: &mut Vec<u8>, paged: &[u8], page_bytes: usize) {
    for page in paged.chunks(page_bytes.max(1)) {
        out.extend_from_slice(&xxh3_64(page).to_le_bytes());
    }
}

/// Set when a page of an open index is found damaged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Damage(Arc<AtomicBool>);

impl Damage {
    pub(crate) fn found(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_found(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The pages of a part. Every page is verified before use.
#[derive(Debug)]
pub(crate) struct Pages {
    part: LeftPart,
    /// Offset of the first page.
    start: u64,
    bytes: usize,
    page_bytes: usize,
    checks: SharedBytes,
    read: Box<[OnceLock<Box<[u8]>>]>,
    /// All pages, once loaded.
    whole: OnceLock<Vec<u8>>,
    /// Set once all pages were verified.
    proven: OnceLock<()>,
    damage: Damage,
}

impl Pages {
    /// `bytes` bytes from `start` on, `page_bytes` a page; `None` where the number of pages differs
    /// from that of checksums, or they end beyond the part.
    pub(crate) fn new(
        part: &LeftPart,
        (start, bytes): (u64, usize),
        page_bytes: usize,
        checks: SharedBytes,
        damage: &Damage,
    ) -> Option<Self> {
        let count = bytes.div_ceil(page_bytes.max(1));
        let fits = start.checked_add(bytes as u64)? <= part.size;
        (fits && count.checked_mul(8)? == checks.len()).then(|| Self {
            part: part.clone(),
            start,
            bytes,
            page_bytes: page_bytes.max(1),
            checks,
            read: (0..count).map(|_| OnceLock::new()).collect(),
            whole: OnceLock::new(),
            proven: OnceLock::new(),
            damage: damage.clone(),
        })
    }

    /// Fills `out`, as long as the page, with page `number`; `false` where it is damaged.
    pub(crate) fn fill(&self, number: usize, out: &mut [u8]) -> bool {
        let at = self.start + (number * self.page_bytes) as u64;
        let whole = (self.part.read)(at, out) && self.is_sound(number, out);
        if !whole {
            self.damage.found();
        }
        whole
    }

    /// Whether these bytes have the checksum of page `number`.
    fn is_sound(&self, number: usize, page: &[u8]) -> bool {
        let check = self.checks.get(number * 8..).and_then(<[u8]>::first_chunk);
        check.is_some_and(|check| u64::from_le_bytes(*check) == xxh3_64(page))
    }

    fn length(&self, number: usize) -> usize {
        let left = self.bytes.saturating_sub(number * self.page_bytes);
        left.min(self.page_bytes)
    }

    fn page(&self, number: usize) -> Option<&[u8]> {
        let cell = self.read.get(number)?;
        if let Some(page) = cell.get() {
            return Some(page);
        }
        let page = self.fresh(number)?;
        Some(cell.get_or_init(|| page.into_boxed_slice()))
    }

    /// The bytes `from..to`, which must lie in one page; `None` where it is damaged.
    pub(crate) fn within(&self, from: usize, to: usize) -> Option<&[u8]> {
        if let Some(whole) = self.whole.get() {
            return whole.get(from..to);
        }
        let number = from / self.page_bytes;
        let start = number * self.page_bytes;
        self.page(number)?.get(from - start..to.checked_sub(start)?)
    }

    /// The bytes `from..to`; empty where some of them are damaged.
    pub(crate) fn get(&self, from: usize, to: usize) -> Cow<'_, [u8]> {
        let none = Cow::Borrowed(&[][..]);
        if to <= from || to > self.bytes {
            return none;
        }
        let (first, last) = (from / self.page_bytes, (to - 1) / self.page_bytes);
        if first == last || self.whole.get().is_some() {
            return self.within(from, to).map_or(none, Cow::Borrowed);
        }
        let start = first * self.page_bytes;
        let end = ((last + 1) * self.page_bytes).min(self.bytes);
        let mut bytes = vec![0; end - start];
        if !self.fill_all(first, &mut bytes) {
            return none;
        }
        bytes.truncate(to - start);
        bytes.drain(..from - start);
        Cow::Owned(bytes)
    }

    /// Fills `out` with whole pages from `first` on.
    fn fill_all(&self, first: usize, out: &mut [u8]) -> bool {
        /// Bytes read and verified at a time, so that they are still in the CPU cache.
        const AT_ONCE: usize = 128 << 10;
        let pages = (AT_ONCE / self.page_bytes).max(1);
        let mut number = first;
        for piece in out.chunks_mut(pages * self.page_bytes) {
            let at = self.start + (number * self.page_bytes) as u64;
            let is_read = (self.part.read)(at, piece);
            let mut numbered = (number..).zip(piece.chunks(self.page_bytes));
            if !is_read || !numbered.all(|(number, page)| self.is_sound(number, page)) {
                self.damage.found();
                return false;
            }
            number += pages;
        }
        true
    }

    /// Fills `out`, as long as all of them, with every page.
    pub(crate) fn read_all(&self, out: &mut [u8]) -> bool {
        out.len() == self.bytes && self.fill_all(0, out)
    }

    /// Reads every page and keeps it; `false` where one is damaged.
    pub(crate) fn load(&self) -> bool {
        if self.is_loaded() {
            return true;
        }
        let mut bytes = vec![0; self.bytes];
        let whole = self.read_all(&mut bytes);
        if whole {
            // Another thread may have loaded the same bytes first.
            self.whole.get_or_init(|| bytes);
        }
        whole
    }

    /// Page `number`, read without caching; `None` where it is damaged.
    pub(crate) fn fresh(&self, number: usize) -> Option<Vec<u8>> {
        let mut page = vec![0; self.length(number)];
        self.fill(number, &mut page).then_some(page)
    }

    /// Verifies every page once, without caching; `false` where one is damaged.
    pub(crate) fn prove(&self) -> bool {
        let mut page = vec![0; self.page_bytes];
        let mut sound = |number| self.fill(number, &mut page[..self.length(number)]);
        let proven = self.proven.get().is_some() || (0..self.read.len()).all(&mut sound);
        if proven {
            self.proven.get_or_init(|| ());
        }
        proven
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.whole.get().is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }
}

/// The paged parts of an opened index, beside the codes.
#[derive(Debug, Clone)]
pub(crate) struct LeftPages {
    pub(crate) words: Arc<Pages>,
    pub(crate) rows: Arc<Pages>,
}

impl LeftPages {
    /// Reads the words and verifies the rows; `false` where a page is damaged.
    pub(crate) fn load(&self) -> bool {
        self.words.load() && self.rows.prove()
    }
}
