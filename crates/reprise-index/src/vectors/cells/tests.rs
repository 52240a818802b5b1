//! The cells read little, find most of the best, and are learned again if they are damaged.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::DateTime;
use reprise_types::{
    MemoryFilter, MemoryKind, MemorySource, RecordId, SearchRoute, SectionPages, normalize,
};

use super::super::VectorScratch;
use super::super::tests::SeededRandom;
use super::*;
use crate::saving::open_whole;
use crate::section_kinds::SECTION_CELLS;
use crate::snapshot::IndexSnapshot;
use crate::view::IndexView;
use crate::writer::{IndexWriter, NewDoc};

const NUMBERS: usize = 64;
const DOCUMENTS: usize = 12_000;

/// A point near one of 150 topics.
fn point(random: &mut SeededRandom) -> Vec<f32> {
    let topic =
        (random.vector(1)[0].to_bits() as usize ^ random.vector(2)[1].to_bits() as usize) % 150;
    let centre = SeededRandom(900 + topic as u64).vector(NUMBERS);
    let noise = random.vector(NUMBERS);
    let mut vector: Vec<f32> = centre.iter().zip(noise).map(|(c, n)| c + 0.8 * n).collect();
    normalize(&mut vector);
    vector
}

fn push(writer: &mut IndexWriter, vector: &[f32]) {
    let number = writer.len() as u64;
    writer.push(&NewDoc {
        id: RecordId::from_parts(number, 0),
        timestamp: DateTime::UNIX_EPOCH,
        known_at: DateTime::UNIX_EPOCH,
        kind: MemoryKind::Episode,
        source: MemorySource::UserInput,
        session_id: "",
        speaker: "",
        text: "",
        is_prompt: false,
        exact: &[],
        vector: Some(vector),
    });
}

/// A memory large enough for a graph, saved.
static SAVED: LazyLock<Vec<SectionPages>> = LazyLock::new(|| {
    let mut random = SeededRandom(31);
    let mut writer = IndexWriter::new(NUMBERS);
    writer.set_graph_threshold(3_000);
    for _ in 0..DOCUMENTS {
        push(&mut writer, &point(&mut random));
    }
    while writer.advance_graph(512).unwrap().1 > 0 {}
    writer.to_sections()
});

/// Opens the sections lazily and counts the bytes that are read.
fn open_lazily(sections: &[SectionPages]) -> (IndexWriter, Arc<AtomicU64>) {
    let counter = Arc::new(AtomicU64::new(0));
    let lend = |section: &SectionPages| {
        let mut lent = SavedSection::from(section);
        let (read, counter) = (Arc::clone(&lent.read), Arc::clone(&counter));
        lent.read = Arc::new(move |pages| {
            let bytes = read(pages)?;
            counter.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            Some(bytes)
        });
        (section.key, lent)
    };
    let lent = sections.iter().map(lend).collect();
    let mut writer = IndexWriter::from_sections(NUMBERS, &lent).unwrap();
    writer.set_graph_threshold(3_000);
    (writer, counter)
}

/// Returns the share of the best ten that are found, and the route used.
fn recall(snapshot: &IndexSnapshot, whole: &IndexSnapshot) -> (f64, SearchRoute) {
    let view = snapshot.view(&MemoryFilter::default(), None);
    let (mut scratch, mut hits) = (VectorScratch::default(), 0);
    let mut random = SeededRandom(32);
    for _ in 0..50 {
        let query = whole.encode_query(&point(&mut random)).unwrap();
        let all = (0..whole.len() as u32).filter_map(|o| Some((o, whole.cosine(&query, o)?)));
        let mut best: Vec<(u32, f32)> = all.collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        let found = snapshot.search_vectors(&query, 10, &view, &mut scratch);
        hits += best[..10].iter().filter(|b| found.contains(b)).count();
    }
    (hits as f64 / 500.0, scratch.route())
}

#[test]
fn the_first_answer_reads_little_and_finds_most() {
    let parts = &*SAVED;
    let mut whole = open_whole(NUMBERS, parts).unwrap();
    let (mut writer, read) = open_lazily(parts);
    let opened = read.load(Ordering::Relaxed);
    let snapshot = writer.publish();
    let view = snapshot.view(&MemoryFilter::default(), None);
    let query = snapshot
        .encode_query(&point(&mut SeededRandom(33)))
        .unwrap();
    let mut scratch = VectorScratch::default();
    let one = snapshot
        .search_vectors(&query, 10, &view, &mut scratch)
        .len();
    assert_eq!((one, scratch.route()), (10, SearchRoute::Cells));
    // The codes of all documents would be 816 KB; each of 256 pages of them is 272 bytes, and each
    // of some forty lists of so few numbers takes a page or two.
    let of_question = read.load(Ordering::Relaxed) - opened;
    assert!(of_question < 40 * 2 * 4_096 + 256 * 272, "{of_question}");
    let (found, route) = recall(&snapshot, &whole.publish());
    assert!(
        found >= 0.85 && route == SearchRoute::Cells,
        "{found} {route:?}"
    );
    // New documents and changed vectors are found, too; forgotten documents are not.
    let (new, moved) = (point(&mut SeededRandom(41)), point(&mut SeededRandom(42)));
    push(&mut writer, &new);
    writer.set_vector(77, &moved);
    let gone = one_best(&writer.publish(), &point(&mut SeededRandom(43)));
    writer.forget(gone, DateTime::UNIX_EPOCH);
    let snapshot = writer.publish();
    assert_eq!(one_best(&snapshot, &new), DOCUMENTS as u32);
    assert_eq!(one_best(&snapshot, &moved), 77);
    assert_ne!(one_best(&snapshot, &point(&mut SeededRandom(43))), gone);
}

#[test]
fn the_sample_stands_in_front_and_is_the_one_that_the_whole_gives() {
    let mut whole = open_whole(NUMBERS, &SAVED).unwrap();
    let expected = sampled(&whole.publish());
    assert!((450..=550).contains(&expected.len()), "{}", expected.len());
    let (mut writer, read) = open_lazily(&SAVED);
    let snapshot = writer.publish();
    let (query, view) = question(&snapshot);
    let before = read.load(Ordering::Relaxed);
    assert_eq!(
        snapshot.sample_cosines(&query, SPREAD_SAMPLE, &view),
        expected
    );
    // Only which documents count is read; the codes of so many would be 139 KB.
    let of_sample = read.load(Ordering::Relaxed) - before;
    assert!(of_sample < 100_000, "{of_sample}");
    // A changed vector counts as it is now, and a forgotten document does not count.
    let [moved, gone] = [expected[3].0, expected[9].0];
    writer.set_vector(moved, &point(&mut SeededRandom(42)));
    writer.forget(gone, DateTime::UNIX_EPOCH);
    let changed = sampled(&writer.publish());
    let of = |all: &[(u32, f32)], ordinal| all.iter().find(|one| one.0 == ordinal).copied();
    assert_ne!(of(&changed, moved), of(&expected, moved));
    assert_eq!(of(&changed, gone), None);
    assert_eq!(changed.len(), expected.len() - 1);
}

fn question(snapshot: &IndexSnapshot) -> (QueryCodes, IndexView) {
    let query = snapshot
        .encode_query(&point(&mut SeededRandom(34)))
        .unwrap();
    (query, snapshot.view(&MemoryFilter::default(), None))
}

/// Returns the cosines from which a recall computes their spread.
fn sampled(snapshot: &IndexSnapshot) -> Vec<(u32, f32)> {
    let (query, view) = question(snapshot);
    snapshot.sample_cosines(&query, SPREAD_SAMPLE, &view)
}

#[test]
fn what_another_thread_has_read_is_not_read_again() {
    let (mut writer, read) = open_lazily(&SAVED);
    let loaders = writer.loaders();
    std::thread::spawn(move || loaders.into_iter().for_each(|load| load()))
        .join()
        .unwrap();
    let before = read.load(Ordering::Relaxed);
    assert_eq!(writer.advance_graph(0).unwrap().1, 0);
    assert_eq!(read.load(Ordering::Relaxed), before);
    assert!(writer.loaders().is_empty());
}

fn one_best(snapshot: &IndexSnapshot, vector: &[f32]) -> u32 {
    let view = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = VectorScratch::default();
    let query = snapshot.encode_query(vector).unwrap();
    let best = snapshot.search_vectors(&query, 1, &view, &mut scratch)[0].0;
    assert_eq!(scratch.route(), SearchRoute::Cells);
    best
}

#[test]
fn it_is_saved_again_as_it_was_with_what_came_since_in_its_cell() {
    let parts = &*SAVED;
    let (mut back, _) = open_lazily(parts);
    back.advance_graph(0).unwrap();
    assert_eq!(back.to_sections(), *parts);
    // A document without a cell is in the last list until it gets one.
    push(&mut back, &point(&mut SeededRandom(44)));
    back.set_vector(5, &point(&mut SeededRandom(45)));
    for steps in 0..2 {
        let parts = back.to_sections();
        let section = parts
            .iter()
            .find(|part| part.key.0 == SECTION_CELLS)
            .unwrap();
        let cells = SavedCells::read(&section.into(), NUMBERS, DOCUMENTS + 1).unwrap();
        let mut buffer = Vec::new();
        let last = cells.lists.last().unwrap();
        let last = last.read(&cells.section, &mut buffer).unwrap();
        let expected: &[u32] = if steps == 0 {
            &[5, DOCUMENTS as u32]
        } else {
            &[]
        };
        assert!(last.ordinals().eq(expected.iter().copied()));
        let all: usize = cells.lists.iter().map(|list| list.documents).sum();
        assert_eq!(all, DOCUMENTS + 1);
        while back.advance_graph(9).unwrap().1 > 0 {}
    }
}

#[test]
fn damage_costs_the_list_or_the_layer_and_never_a_panic() {
    let parts = &*SAVED;
    let of_cells = parts
        .iter()
        .find(|part| part.key.0 == SECTION_CELLS)
        .unwrap();
    // One page that does not match its check.
    let damaged = |page: usize| {
        let lend = |section: &SectionPages| {
            let mut lent = SavedSection::from(section);
            if section.key.0 == SECTION_CELLS {
                let read = Arc::clone(&lent.read);
                lent.read = Arc::new(move |pages| {
                    let is_hit = pages.contains(&page);
                    if is_hit { None } else { read(pages) }
                });
            }
            (section.key, lent)
        };
        let lent = parts.iter().map(lend).collect();
        let mut writer = IndexWriter::from_sections(NUMBERS, &lent).unwrap();
        writer.set_graph_threshold(3_000);
        writer
    };
    let whole = open_whole(NUMBERS, parts).unwrap().publish();
    let pages = of_cells.pages.len();
    // Two pages are of the front, without which everything is scanned, and two of lists.
    for page in [0, 1, pages / 2, pages - 2] {
        let mut writer = damaged(page);
        let (found, route) = recall(&writer.publish(), &whole);
        let is_front = page <= 1;
        let expected = if is_front {
            SearchRoute::Scan
        } else {
            SearchRoute::Cells
        };
        assert!(
            found >= 0.8 && route == expected,
            "{page}: {found} {route:?}"
        );
        while writer.advance_graph(512).unwrap().1 > 0 {}
        assert_eq!(writer.to_sections().len(), parts.len());
    }
}
