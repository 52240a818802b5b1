//! Saved sections: arrays of pages, each read and checked on demand. One section is one column, or
//! one run of bytes; [`SectionPages`] brings pages to a file, [`SavedSection`] brings them back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bytes::{BinaryCodec, ByteReader, ByteWriter};
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

    /// Encodes some pages of a column whose rows take `row_bytes` each.
    pub fn from_column<T, const CHUNK: usize, const PAGE: usize>(
        key: SectionKey,
        column: &CowVec<T, CHUNK, PAGE>,
        row_bytes: usize,
        pages: impl Iterator<Item = usize>,
        encode: impl Fn(&T, &mut Vec<u8>),
    ) -> Self {
        let encode_page = |number: usize| {
            let mut bytes = Vec::with_capacity(PAGE * row_bytes);
            for row in column.page(number) {
                encode(row, &mut bytes);
            }
            (number, bytes)
        };
        Self {
            key,
            page_bytes: PAGE * row_bytes,
            length: column.len() * row_bytes,
            pages: pages.map(encode_page).collect(),
        }
    }

    /// Encodes changed pages of a column of values that have a fixed width, as many as the budget
    /// allows.
    pub fn from_edited<T: BinaryCodec, const CHUNK: usize, const PAGE: usize>(
        key: SectionKey,
        column: &CowVec<T, CHUNK, PAGE>,
        row_bytes: usize,
        budget: &mut usize,
    ) -> Self {
        let pages = take_pages(column.edited_pages(), PAGE * row_bytes, budget);
        Self::from_column(key, column, row_bytes, pages.into_iter(), encode_row)
    }

    /// Returns the bytes of its pages.
    pub fn size(&self) -> usize {
        self.pages.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}

/// Collects pages of runs that are not saved yet, as many as the budget allows. A run is bytes that
/// never change; its section has its place among the runs as number. `saved` has for each run how
/// many of its first pages are saved, and nothing for newer ones.
pub fn collect_unsaved_runs<'r>(
    kind: u8,
    runs: impl Iterator<Item = &'r PagedBytes>,
    saved: &[usize],
    budget: &mut usize,
    out: &mut Vec<SectionPages>,
) {
    for (number, bytes) in runs.enumerate() {
        let unsaved = saved.get(number).copied().unwrap_or(0)..bytes.page_count();
        if !unsaved.is_empty() {
            let pages = take_pages(unsaved, SECTION_PAGE_BYTES, budget).into_iter();
            out.push(SectionPages {
                key: (kind, number as u32),
                page_bytes: SECTION_PAGE_BYTES,
                length: bytes.len(),
                pages: pages
                    .map(|page| (page, bytes.page(page).to_vec()))
                    .collect(),
            });
        }
    }
}

/// Notes that pages of a run are saved.
pub fn mark_run_saved(saved: &mut Vec<usize>, pages: &SectionPages) {
    let number = pages.key.1 as usize;
    if let Some((last, _)) = pages.pages.last() {
        saved.resize(saved.len().max(number + 1), 0);
        saved[number] = last + 1;
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

/// Takes pages until a budget of bytes is used up. What is left of it is 0 where some remain.
pub fn take_pages(
    pages: impl Iterator<Item = usize>,
    page_bytes: usize,
    budget: &mut usize,
) -> Vec<usize> {
    let mut taken = Vec::new();
    for page in pages {
        if *budget == 0 {
            break;
        }
        *budget = budget.saturating_sub(page_bytes);
        taken.push(page);
    }
    taken
}

/// Appends a value in the layout of fixed width.
pub fn encode_row<T: BinaryCodec>(row: &T, out: &mut Vec<u8>) {
    let mut writer = ByteWriter::with_fixed_layout(std::mem::take(out));
    row.encode(&mut writer);
    *out = writer.bytes;
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
        row_bytes: usize,
        hole: T,
        is_sound: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Option<CowVec<T, CHUNK, PAGE>>
    where
        T: BinaryCodec + Copy + Send + Sync + 'static,
    {
        let damage = Arc::clone(&self.damage);
        self.to_column(row_bytes, move |_, bytes| {
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
