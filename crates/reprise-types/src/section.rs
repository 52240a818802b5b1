//! Saved sections: arrays of pages, each read and checked on demand. One section is one column, or
//! one run of bytes; [`SavedPart`] gives the pages that are to be saved, [`SectionPages`], and
//! [`SavedSection`] brings them back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crate::bytes::{BinaryCodec, ByteReader, ByteWriter, RowCodec};
use crate::cow::{CowVec, PageFetcher, PagedBytes, SECTION_PAGE_BYTES};

/// The kind of a section, and its number among those of its kind.
pub type SectionKey = (u8, u32);

/// The sections of a file, or of a part of it.
pub type SavedSections = BTreeMap<SectionKey, SavedSection>;

/// Pages of one section that are to be saved, and its length from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionPages {
    pub key: SectionKey,
    pub page_bytes: usize,
    /// Bytes of the whole section.
    pub length: usize,
    /// Numbers of pages and their bytes, ascending. Only the last page of a section may be short.
    pub pages: Vec<(usize, Vec<u8>)>,
}

impl SectionPages {
    /// Splits the bytes of a whole section.
    pub fn from_bytes(key: SectionKey, bytes: &[u8]) -> Self {
        let pages = bytes.chunks(SECTION_PAGE_BYTES).map(<[u8]>::to_vec);
        Self {
            key,
            page_bytes: SECTION_PAGE_BYTES,
            length: bytes.len(),
            pages: pages.enumerate().collect(),
        }
    }

    /// Encodes a value that is a whole section.
    pub fn from_value(key: SectionKey, value: &impl BinaryCodec) -> Self {
        let mut out = ByteWriter::default();
        value.encode(&mut out);
        Self::from_bytes(key, &out.bytes)
    }

    /// Takes its first pages, as many as the budget allows.
    #[must_use]
    pub fn take_front(&mut self, budget: &mut usize) -> Self {
        let mut count = 0;
        while *budget > 0 && count < self.pages.len() {
            *budget = budget.saturating_sub(self.page_bytes);
            count += 1;
        }
        let pages = self.pages.drain(..count).collect();
        Self { pages, ..*self }
    }
}

/// Work that reads into memory what is still in a file, on any thread.
pub type LoadJob = Box<dyn FnOnce() + Send>;

/// What is saved page by page in a section of its own, and may still be in its file. Who writes a
/// checkpoint or reads ahead has a list of these.
pub trait SavedPart {
    fn key(&self) -> SectionKey;

    /// Takes pages that are not saved, of about as many bytes as the budget allows; what is left of
    /// it is 0 if there are more. They count as saved from now on: if they cannot be written,
    /// nothing is saved.
    fn take_unsaved(&mut self, budget: &mut usize) -> SectionPages;

    /// Returns the bytes of all pages that are not saved.
    fn unsaved_bytes(&self) -> usize;

    /// Notes that nothing of it is saved.
    fn mark_unsaved(&mut self);

    /// Returns work that reads what is still in the file, for every clone; `None` if nothing is.
    fn loader(&self) -> Option<LoadJob>;
}

/// A column of rows, or a run of bytes, and how its pages are encoded.
struct ColumnPart<'c, T, const CHUNK: usize, const PAGE: usize, E> {
    key: SectionKey,
    rows: &'c mut CowVec<T, CHUNK, PAGE>,
    row_bytes: usize,
    encode: E,
}

/// Wraps a column whose rows take `row_bytes` each. `encode` appends the bytes of the rows of a
/// page, whose number comes first.
pub fn column_part<'c, T, const CHUNK: usize, const PAGE: usize>(
    key: SectionKey,
    rows: &'c mut CowVec<T, CHUNK, PAGE>,
    row_bytes: usize,
    encode: impl Fn(usize, &[T], &mut Vec<u8>) + 'c,
) -> Box<dyn SavedPart + 'c>
where
    T: Send + Sync + 'static,
{
    Box::new(ColumnPart {
        key,
        rows,
        row_bytes,
        encode,
    })
}

/// Wraps a column of values that have a fixed width.
pub fn rows_part<T, const CHUNK: usize, const PAGE: usize>(
    key: SectionKey,
    rows: &mut CowVec<T, CHUNK, PAGE>,
) -> Box<dyn SavedPart + '_>
where
    T: RowCodec + Send + Sync + 'static,
{
    column_part(key, rows, T::WIDTH, |_, page, out| {
        for row in page {
            encode_row(row, out);
        }
    })
}

/// Wraps runs of bytes that never change. The section of each has its place among them as number.
pub fn run_parts<'r>(
    kind: u8,
    runs: impl Iterator<Item = &'r mut PagedBytes>,
) -> impl Iterator<Item = Box<dyn SavedPart + 'r>> {
    (0..).zip(runs).map(move |(number, run)| {
        column_part((kind, number), run, 1, |_, page, out| {
            out.extend_from_slice(page);
        })
    })
}

impl<T, const CHUNK: usize, const PAGE: usize, E> SavedPart for ColumnPart<'_, T, CHUNK, PAGE, E>
where
    T: Send + Sync + 'static,
    E: Fn(usize, &[T], &mut Vec<u8>),
{
    fn key(&self) -> SectionKey {
        self.key
    }

    fn take_unsaved(&mut self, budget: &mut usize) -> SectionPages {
        let page_bytes = PAGE * self.row_bytes;
        let taken = self.rows.take_unsaved(page_bytes, budget);
        let encode = |number: usize| {
            let mut bytes = Vec::with_capacity(page_bytes);
            (self.encode)(number, self.rows.page(number), &mut bytes);
            (number, bytes)
        };
        SectionPages {
            key: self.key,
            page_bytes,
            length: self.rows.len() * self.row_bytes,
            pages: taken.into_iter().map(encode).collect(),
        }
    }

    fn unsaved_bytes(&self) -> usize {
        self.rows.unsaved_count() * PAGE * self.row_bytes
    }

    fn mark_unsaved(&mut self) {
        self.rows.mark_unsaved();
    }

    fn loader(&self) -> Option<LoadJob> {
        let rows = (!self.rows.is_loaded()).then(|| self.rows.clone())?;
        Some(Box::new(move || rows.load()))
    }
}

/// Opens the runs of a kind, in their order; `None` if one of them is missing or is no run.
pub fn open_runs(kind: u8, sections: &SavedSections) -> Option<Vec<PagedBytes>> {
    let runs = sections.range((kind, 0)..=(kind, u32::MAX));
    let open = |(number, (key, section)): (u32, (&SectionKey, &SavedSection))| {
        section.to_bytes().filter(|_| key.1 == number)
    };
    (0..).zip(runs).map(open).collect()
}

/// Appends a value in the layout of fixed width.
pub fn encode_row<T: BinaryCodec>(row: &T, out: &mut Vec<u8>) {
    let mut writer = ByteWriter::with_fixed_layout(std::mem::take(out));
    row.encode(&mut writer);
    *out = writer.bytes;
}

/// A value that is read from its file once, by the first who needs it. Clones share it.
pub type LazyValue<T> = Arc<LazyLock<T, Box<dyn FnOnce() -> T + Send>>>;

/// Returns work that reads a value; `None` if it is in memory.
pub fn value_loader<T: Send + Sync + 'static>(value: &LazyValue<T>) -> Option<LoadJob> {
    let value = LazyLock::get(value).is_none().then(|| Arc::clone(value))?;
    Some(Box::new(move || {
        LazyLock::force(&value);
    }))
}

/// A section of a file. Clones share what they found damaged.
#[derive(Clone)]
pub struct SavedSection {
    /// Bytes of the whole section.
    pub length: usize,
    pub page_bytes: usize,
    /// Reads whole pages, one after the other; `None` if one of them is damaged.
    pub read: Arc<dyn Fn(Range<usize>) -> Option<Vec<u8>> + Send + Sync>,
    /// Set when a page was found damaged, here or in another section of the file.
    pub damage: Arc<AtomicBool>,
}

crate::show_fields!(SavedSection { length });

impl From<&SectionPages> for SavedSection {
    /// Wraps a section that is in memory with all its pages.
    fn from(section: &SectionPages) -> Self {
        let pages: Vec<Vec<u8>> = section.pages.iter().map(|page| page.1.clone()).collect();
        Self {
            length: section.length,
            page_bytes: section.page_bytes,
            read: Arc::new(move |range| Some(pages.get(range)?.concat())),
            damage: Arc::default(),
        }
    }
}

impl SavedSection {
    pub fn is_damaged(&self) -> bool {
        self.damage.load(Ordering::Relaxed)
    }

    pub fn mark_damaged(&self) {
        self.damage.store(true, Ordering::Relaxed);
    }

    /// Reads all bytes; `None` if some are damaged.
    pub fn read_all(&self) -> Option<Vec<u8>> {
        let pages = self.length.div_ceil(self.page_bytes.max(1));
        let bytes = (self.read)(0..pages).filter(|bytes| bytes.len() == self.length);
        if bytes.is_none() {
            self.mark_damaged();
        }
        bytes
    }

    /// Reads a value that was saved in the short layout; `None` if it is damaged.
    pub fn read_value<T: BinaryCodec>(&self) -> Option<T> {
        let bytes = self.read_all()?;
        let r = &mut ByteReader::new(&bytes);
        T::decode(r).filter(|_| r.is_empty())
    }

    /// Reads a value when it is first needed.
    pub fn read_later<T>(&self, read: impl FnOnce(&Self) -> T + Send + 'static) -> LazyValue<T> {
        let section = self.clone();
        Arc::new(LazyLock::new(Box::new(move || read(&section))))
    }

    /// Reads bytes of any pages; `None` if some are damaged.
    pub fn read_bytes(&self, range: Range<usize>) -> Option<Vec<u8>> {
        if range.is_empty() || range.end > self.length {
            return range.is_empty().then(Vec::new);
        }
        let (first, last) = (
            range.start / self.page_bytes,
            (range.end - 1) / self.page_bytes,
        );
        let Some(mut bytes) = (self.read)(first..last + 1) else {
            self.mark_damaged();
            return None;
        };
        let from = range.start - first * self.page_bytes;
        bytes.truncate(from + range.len());
        bytes.drain(..from);
        Some(bytes)
    }

    /// Whether every page matches its check. Nothing is kept in memory.
    pub fn is_sound(&self) -> bool {
        const STEP_BYTES: usize = 1 << 20;
        let step = (STEP_BYTES / self.page_bytes.max(1)).max(1);
        let pages = self.length.div_ceil(self.page_bytes.max(1));
        let mut steps = (0..pages).step_by(step);
        let is_sound = steps.all(|first| (self.read)(first..pages.min(first + step)).is_some());
        if !is_sound {
            self.mark_damaged();
        }
        is_sound
    }

    /// Reads pages; those that are damaged become zeros.
    fn read_or_zero(&self, pages: Range<usize>) -> Vec<u8> {
        let end = (pages.end * self.page_bytes).min(self.length);
        let size = end.saturating_sub(pages.start * self.page_bytes);
        if let Some(bytes) = (self.read)(pages.clone()).filter(|bytes| bytes.len() == size) {
            return bytes;
        }
        if pages.len() > 1 {
            return pages
                .flat_map(|page| self.read_or_zero(page..page + 1))
                .collect();
        }
        self.mark_damaged();
        vec![0; size]
    }

    /// Opens a column of rows of `row_bytes` each, which `decode` decodes by their numbers; `None`
    /// if its pages do not fit.
    pub fn to_column<T, const CHUNK: usize, const PAGE: usize>(
        &self,
        row_bytes: usize,
        decode: impl Fn(usize, &[u8]) -> T + Send + Sync + 'static,
    ) -> Option<CowVec<T, CHUNK, PAGE>> {
        let fits = row_bytes > 0
            && self.page_bytes == PAGE * row_bytes
            && self.length.is_multiple_of(row_bytes);
        let section = self.clone();
        let fetch: PageFetcher<T> = Arc::new(move |pages| {
            let numbers = pages.start * PAGE..;
            let bytes = section.read_or_zero(pages);
            let rows = numbers.zip(bytes.chunks_exact(row_bytes));
            rows.map(|(number, row)| decode(number, row)).collect()
        });
        fits.then(|| CowVec::from_fetcher(self.length / row_bytes, &fetch))
    }

    /// Opens a column of values that have a fixed width. One that cannot be decoded, or does
    /// not pass `is_sound`, becomes `hole` and counts as damaged.
    pub fn to_rows<T, const CHUNK: usize, const PAGE: usize>(
        &self,
        hole: T,
        is_sound: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Option<CowVec<T, CHUNK, PAGE>>
    where
        T: RowCodec + Copy + Send + Sync + 'static,
    {
        let damage = Arc::clone(&self.damage);
        self.to_column(T::WIDTH, move |_, bytes| {
            let row = T::decode(&mut ByteReader::with_fixed_layout(bytes));
            row.filter(&is_sound).unwrap_or_else(|| {
                damage.store(true, Ordering::Relaxed);
                hole
            })
        })
    }

    /// Opens a run of bytes; `None` if it is no such section.
    pub fn to_bytes(&self) -> Option<PagedBytes> {
        let section = self.clone();
        let fetch: PageFetcher<u8> = Arc::new(move |pages| section.read_or_zero(pages));
        (self.page_bytes == SECTION_PAGE_BYTES).then(|| CowVec::from_fetcher(self.length, &fetch))
    }
}
