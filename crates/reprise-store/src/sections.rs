//! Saved sections: where the pages of each are, and how pages are written and read. A page that is
//! written again gets another place; nothing in the file is overwritten.
//!
//! ```text
//! 0x41: { page | check u64 } ... | preamble
//! ```
//! A check is XXH3-64 of the page, seeded with its section and its number, so no page passes for
//! another one.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reprise_types::{SavedSection, SectionKey, SectionPages, impl_binary_codec};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::disk::DiskFile;
use crate::frame::{HEADER_SIZE, SegmentPreamble, TYPE_PAGES, append_segment, segment_size};

/// Bytes of pages at which a segment is complete.
const SEGMENT_TARGET_BYTES: usize = 1 << 20;
const CHECK_BYTES: usize = 8;
/// A section with larger pages, or with more bytes, is damage.
const PAGE_BYTES_MAX: u32 = 1 << 24;
const LENGTH_MAX: u64 = 1 << 40;

/// Pages that follow each other in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    first: u32,
    pages: u32,
    offset: u64,
}

/// The places of a section's pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Section {
    page_bytes: u32,
    length: u64,
    /// Ascending and without gaps, once the section is complete.
    extents: Vec<Extent>,
}

impl_binary_codec! {
    Extent { first, pages, offset }
    Section { page_bytes, length, extents }
    Sections { by_key }
}

impl Extent {
    fn end(&self) -> u32 {
        self.first.saturating_add(self.pages)
    }

    /// Returns its pages `range`, which are within it.
    fn slice(&self, range: Range<u32>, stride: u64) -> Self {
        Self {
            first: range.start,
            pages: range.end - range.start,
            offset: self.offset + u64::from(range.start - self.first) * stride,
        }
    }
}

impl Section {
    fn stride(&self) -> u64 {
        u64::from(self.page_bytes) + CHECK_BYTES as u64
    }

    fn page_count(&self) -> u32 {
        self.length.div_ceil(u64::from(self.page_bytes.max(1))) as u32
    }

    fn page_len(&self, page: u32) -> usize {
        let start = u64::from(page) * u64::from(self.page_bytes);
        let left = self.length.saturating_sub(start);
        left.min(u64::from(self.page_bytes)) as usize
    }

    /// Returns the bytes that its pages take in the file.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.length + u64::from(self.page_count()) * CHECK_BYTES as u64
    }

    /// Whether it has every page, all of them lie before `end`, and there is room for them.
    fn is_whole_before(&self, end: u64) -> bool {
        let pages = self.length.div_ceil(u64::from(self.page_bytes.max(1)));
        let is_possible = self.page_bytes > 0
            && self.page_bytes <= PAGE_BYTES_MAX
            && self.length <= LENGTH_MAX
            && u32::try_from(pages).is_ok()
            && self.stored_bytes() <= end;
        if !is_possible {
            return false;
        }
        let mut next = 0;
        for extent in &self.extents {
            let bytes = u64::from(extent.pages).saturating_mul(self.stride());
            let missing = if extent.end() == self.page_count() {
                u64::from(self.page_bytes) - self.page_len(extent.end().saturating_sub(1)) as u64
            } else {
                0
            };
            let stored_end = extent.offset.saturating_add(bytes.saturating_sub(missing));
            if extent.first != next || extent.pages == 0 || stored_end > end {
                return false;
            }
            next = extent.end();
        }
        next == self.page_count()
    }

    fn find_extent(&self, page: u32) -> Option<&Extent> {
        let at = self.extents.partition_point(|extent| extent.end() <= page);
        self.extents.get(at).filter(|extent| extent.first <= page)
    }

    fn find_page(&self, page: u32) -> Option<u64> {
        let extent = self.find_extent(page)?;
        Some(extent.offset + u64::from(page - extent.first) * self.stride())
    }

    /// Gives a page another place, or none.
    fn set_page(&mut self, page: u32, offset: Option<u64>) {
        let stride = self.stride();
        let at = self.extents.partition_point(|extent| extent.end() <= page);
        let found = self.extents.get(at).copied();
        let found = found.filter(|extent| extent.first <= page);
        let mut parts = Vec::new();
        parts.extend(found.map(|found| found.slice(found.first..page, stride)));
        parts.extend(offset.map(|offset| Extent {
            first: page,
            pages: 1,
            offset,
        }));
        parts.extend(found.map(|found| found.slice(page + 1..found.end(), stride)));
        parts.retain(|extent| extent.pages > 0);
        let replaced = at..at + usize::from(found.is_some());
        self.extents.splice(replaced, parts);
    }

    /// Makes it longer or shorter. Pages that have another length then are to be written again.
    fn set_length(&mut self, length: u64) {
        let before = (self.length, self.page_count());
        self.length = length;
        for last in [before.1, self.page_count()] {
            let Some(page) = last.checked_sub(1) else {
                continue;
            };
            let start = u64::from(page) * u64::from(self.page_bytes);
            let old = before.0.saturating_sub(start).min(self.page_bytes.into());
            if old as usize != self.page_len(page) {
                self.set_page(page, None);
            }
        }
    }

    /// Drops the places of pages beyond its end.
    fn truncate(&mut self) {
        let (count, stride) = (self.page_count(), self.stride());
        self.extents.retain(|extent| extent.first < count);
        if let Some(last) = self.extents.last_mut() {
            *last = last.slice(last.first..last.end().min(count), stride);
        }
    }

    /// Joins extents that follow each other in the file.
    fn join_extents(&mut self) {
        let stride = self.stride();
        self.extents.dedup_by(|next, before| {
            let follows = before.end() == next.first
                && before.offset + u64::from(before.pages) * stride == next.offset;
            if follows {
                before.pages += next.pages;
            }
            follows
        });
    }

    /// Reads pages and compares their checks; `None` if one of them is damaged.
    fn read(&self, file: &dyn DiskFile, key: SectionKey, pages: Range<u32>) -> Option<Vec<u8>> {
        let stored = |pages: Range<u32>| -> usize {
            pages.map(|page| self.page_len(page) + CHECK_BYTES).sum()
        };
        let mut all = Vec::with_capacity(stored(pages.clone()));
        let mut next = pages.start;
        while next < pages.end {
            let extent = self.find_extent(next)?;
            let end = extent.end().min(pages.end);
            // The checks are taken out in place, so that a page is in memory once.
            let mut kept = all.len();
            let mut at = kept;
            all.resize(at + stored(next..end), 0);
            file.read_exact_at(self.find_page(next)?, all.get_mut(at..)?)
                .ok()?;
            for page in next..end {
                let length = self.page_len(page);
                let (bytes, behind) = all.get(at..)?.split_at_checked(length)?;
                let check = u64::from_le_bytes(*behind.first_chunk()?);
                if check != page_check(key, page, bytes) {
                    return None;
                }
                all.copy_within(at..at + length, kept);
                kept += length;
                at += length + CHECK_BYTES;
            }
            all.truncate(kept);
            next = end;
        }
        Some(all)
    }
}

fn page_check(key: SectionKey, page: u32, bytes: &[u8]) -> u64 {
    let seed = (u64::from(page) << 32 | u64::from(key.1)) ^ u64::from(key.0).rotate_right(8);
    xxh3_64_with_seed(bytes, seed)
}

/// All sections of a file, by kind and number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sections {
    by_key: BTreeMap<SectionKey, Section>,
}

impl Sections {
    /// Whether each has every page, and there is room before `end` for all of them.
    pub(crate) fn are_whole_before(&self, end: u64) -> bool {
        let mut sections = self.by_key.values();
        sections.all(|section| section.is_whole_before(end)) && self.stored_bytes() <= end
    }

    pub(crate) fn stored_bytes(&self) -> u64 {
        self.by_key.values().map(Section::stored_bytes).sum()
    }

    pub(crate) fn remove(&mut self, key: SectionKey) {
        self.by_key.remove(&key);
    }

    /// Whether some of the sections have the same pages at the same places.
    pub(crate) fn are_same(&self, other: &Self, compared: impl Fn(SectionKey) -> bool) -> bool {
        let compared = |(key, _): &(&SectionKey, &Section)| compared(**key);
        let (own, others) = (
            self.by_key.iter().filter(compared),
            other.by_key.iter().filter(compared),
        );
        own.eq(others)
    }

    /// Keeps some of the sections.
    pub(crate) fn retain(&mut self, keep: impl Fn(SectionKey) -> bool) {
        self.by_key.retain(|key, _| keep(*key));
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = SectionKey> {
        self.by_key.keys().copied()
    }

    /// Returns the byte ranges of a section's pages, each with their checks.
    pub(crate) fn locate(&self, key: SectionKey) -> Vec<Range<u64>> {
        let section = self.by_key.get(&key);
        section.map_or_else(Vec::new, |section| {
            let stored = |extent: &Extent| {
                let pages = extent.first..extent.end();
                let bytes = pages.map(|page| (section.page_len(page) + CHECK_BYTES) as u64);
                extent.offset..extent.offset + bytes.sum::<u64>()
            };
            section.extents.iter().map(stored).collect()
        })
    }

    /// Opens a section for reading.
    pub(crate) fn open(
        &self,
        key: SectionKey,
        file: &Arc<dyn DiskFile>,
        damage: &Arc<AtomicBool>,
    ) -> Option<SavedSection> {
        let section = self.by_key.get(&key)?.clone();
        let file = Arc::clone(file);
        Some(SavedSection {
            length: section.length as usize,
            page_bytes: section.page_bytes as usize,
            damage: Arc::clone(damage),
            read: Arc::new(move |pages| {
                section.read(
                    &*file,
                    key,
                    u32::try_from(pages.start).ok()?..pages.end as u32,
                )
            }),
        })
    }

    /// Writes those of the pages at `at` that differ from the saved ones, and returns the end of
    /// what was written.
    pub(crate) fn write(
        &mut self,
        file: &dyn DiskFile,
        trailer: SegmentPreamble,
        at: u64,
        all: &[SectionPages],
    ) -> io::Result<u64> {
        let (mut end, mut payload) = (at, Vec::new());
        for pages in all {
            let section = self.by_key.entry(pages.key).or_default();
            let mut old = std::mem::take(section);
            if old.page_bytes != pages.page_bytes as u32 {
                old = Section::default();
            }
            old.page_bytes = pages.page_bytes as u32;
            *section = old.clone();
            section.set_length(pages.length as u64);
            for (page, bytes) in &pages.pages {
                let page = *page as u32;
                let check = page_check(pages.key, page, bytes).to_le_bytes();
                // What was collected just now is not in the file yet.
                let known = old.find_page(page).filter(|known| *known < end);
                if let Some(known) = known.filter(|_| old.page_len(page) == bytes.len()) {
                    // The whole page is compared: damage, and what cannot be read, is written anew.
                    let mut found = vec![0; bytes.len() + CHECK_BYTES];
                    let read = file.read_exact_at(known, &mut found);
                    if read.is_ok() && found.starts_with(bytes) && found.ends_with(&check) {
                        continue;
                    }
                }
                let place = end + HEADER_SIZE + payload.len() as u64;
                section.set_page(page, Some(place));
                payload.extend_from_slice(bytes);
                payload.extend_from_slice(&check);
                if payload.len() >= SEGMENT_TARGET_BYTES {
                    end += write_segment(file, trailer, end, &mut payload)?;
                }
            }
            section.truncate();
            section.join_extents();
        }
        if !payload.is_empty() {
            end += write_segment(file, trailer, end, &mut payload)?;
        }
        Ok(end)
    }

    /// Copies the pages of some sections of another file to `at`, and returns the end of what was
    /// written; `None` if a page of them is damaged.
    pub(crate) fn copy(
        &mut self,
        (from, source): (&dyn DiskFile, &Self),
        (file, at): (&dyn DiskFile, u64),
        trailer: SegmentPreamble,
        keep: impl Fn(SectionKey) -> bool,
    ) -> io::Result<Option<u64>> {
        let mut end = at;
        for (key, section) in &source.by_key {
            let key = *key;
            if !keep(key) {
                continue;
            }
            let step = (SEGMENT_TARGET_BYTES as u32 / section.page_bytes.max(1)).max(1);
            let count = section.page_count();
            for first in (0..count.max(1)).step_by(step as usize) {
                let range = first..count.min(first.saturating_add(step));
                let Some(bytes) = section.read(from, key, range.clone()) else {
                    return Ok(None);
                };
                let size = section.page_bytes.max(1) as usize;
                let pages = bytes.chunks(size).map(<[u8]>::to_vec);
                let pages = SectionPages {
                    key,
                    page_bytes: size,
                    length: section.length as usize,
                    pages: (first as usize..).zip(pages).collect(),
                };
                end = self.write(file, trailer, end, &[pages])?;
            }
        }
        Ok(Some(end))
    }
}

/// Writes collected pages as a segment, and returns its size.
fn write_segment(
    file: &dyn DiskFile,
    trailer: SegmentPreamble,
    at: u64,
    payload: &mut Vec<u8>,
) -> io::Result<u64> {
    trailer.append_to(payload);
    let mut bytes = Vec::with_capacity(segment_size(payload.len() as u64) as usize);
    append_segment(&mut bytes, at, TYPE_PAGES, payload);
    file.write_all_at(at, &bytes)?;
    payload.clear();
    Ok(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pages_that_share_a_place_are_damage() {
        let page = |first: u32, offset| Extent {
            first,
            pages: 1,
            offset,
        };
        let section = |length, extents| Section {
            page_bytes: 100,
            length,
            extents,
        };
        let apart = (0..60).map(|number| page(number, u64::from(number) * 108));
        assert!(section(6_000, apart.collect()).is_whole_before(6_480));
        let shared = || (0..60).map(|number| page(number, 64)).collect();
        assert!(!section(6_000, shared()).is_whole_before(1_000));
        let two = section(200, vec![page(0, 0), page(1, 108)]);
        let all = |count: u32| Sections {
            by_key: (0..count).map(|key| ((16, key), two.clone())).collect(),
        };
        assert!(all(1).are_whole_before(216) && !all(2).are_whole_before(300));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_page_is_where_it_was_put_last(
            places in proptest::collection::vec((0_u32..60, 0_u64..40), 1..200),
            kept in 0_u32..60,
        ) {
            let mut section = Section { page_bytes: 100, length: 6_000, extents: Vec::new() };
            let mut model = BTreeMap::new();
            for (page, place) in places {
                // Some of them follow the page before.
                let offset = match page.checked_sub(1).and_then(|before| section.find_page(before)) {
                    Some(before) if place % 2 == 0 => before + section.stride(),
                    _ => 10_000 + place * 7_919,
                };
                section.set_page(page, Some(offset));
                section.join_extents();
                model.insert(page, offset);
                let ascend = |pair: &[Extent]| pair[0].end() <= pair[1].first && pair[0].pages > 0;
                prop_assert!(section.extents.windows(2).all(ascend), "{:?}", section.extents);
            }
            section.length = u64::from(kept) * 100;
            section.truncate();
            model.retain(|page, _| *page < kept);
            for page in 0..60 {
                prop_assert_eq!(section.find_page(page), model.get(&page).copied());
            }
            let is_whole = model.len() == kept as usize;
            prop_assert_eq!(section.is_whole_before(u64::MAX), is_whole);
        }
    }
}
