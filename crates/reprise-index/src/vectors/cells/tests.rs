//! The first layer: it reads little, finds most, and is made again where it is damaged.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::DateTime;
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId, SearchTier, normalize};

use super::super::VectorScratch;
use super::super::tests::Random;
use super::*;
use crate::codec::HEADER_BYTES;
use crate::growth::PART_CELLS;
use crate::snapshot::IndexSnapshot;
use crate::view::View;
use crate::writer::{IndexWriter, NewDoc};

const NUMBERS: usize = 64;
const DOCUMENTS: usize = 12_000;

/// A point near one of 150 topics.
fn point(random: &mut Random) -> Vec<f32> {
    let topic =
        (random.vector(1)[0].to_bits() as usize ^ random.vector(2)[1].to_bits() as usize) % 150;
    let centre = Random(900 + topic as u64).vector(NUMBERS);
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
static SAVED: LazyLock<Vec<(u8, Vec<u8>)>> = LazyLock::new(|| {
    let mut random = Random(31);
    let mut writer = IndexWriter::new(NUMBERS);
    writer.set_graph_from(3_000);
    for _ in 0..DOCUMENTS {
        push(&mut writer, &point(&mut random));
    }
    while writer.advance_graph(512).unwrap().1 > 0 {}
    writer.to_parts()
});

/// The parts as they lie in a file, and how many bytes of them were read.
fn left(parts: &[(u8, Vec<u8>)]) -> (IndexWriter, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let counted = |(tag, bytes): &(u8, Vec<u8>)| {
        let (part, read) = (LeftPart::from(bytes.clone()), Arc::clone(&read));
        let counting = move |at, out: &mut [u8]| {
            read.fetch_add(out.len() as u64, Ordering::Relaxed);
            (part.read)(at, out)
        };
        let size = bytes.len() as u64;
        let read = Arc::new(counting);
        (*tag, LeftPart { size, read })
    };
    let parts: Vec<_> = parts.iter().map(counted).collect();
    let mut writer = IndexWriter::from_left_parts(NUMBERS, &parts).unwrap();
    writer.set_graph_from(3_000);
    (writer, read)
}

/// Share of the best ten that are found, and by which tier.
fn recall(snapshot: &IndexSnapshot, whole: &IndexSnapshot) -> (f64, SearchTier) {
    let view = snapshot.view(&MemoryFilter::default(), None);
    let (mut scratch, mut hits) = (VectorScratch::default(), 0);
    let mut random = Random(32);
    for _ in 0..50 {
        let query = whole.encode(&point(&mut random)).unwrap();
        let all = (0..whole.len() as u32).filter_map(|o| Some((o, whole.cosine(&query, o)?)));
        let mut best: Vec<(u32, f32)> = all.collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        let found = snapshot.candidates(&query, 10, &view, &mut scratch);
        hits += best[..10].iter().filter(|b| found.contains(b)).count();
    }
    (hits as f64 / 500.0, scratch.tier())
}

#[test]
fn the_first_answer_reads_little_and_finds_most() {
    let parts = &*SAVED;
    let mut whole = IndexWriter::from_parts(NUMBERS, parts).unwrap();
    let (mut writer, read) = left(parts);
    let opened = read.load(Ordering::Relaxed);
    let snapshot = writer.publish();
    let view = snapshot.view(&MemoryFilter::default(), None);
    let query = snapshot.encode(&point(&mut Random(33))).unwrap();
    let mut scratch = VectorScratch::default();
    let one = snapshot.candidates(&query, 10, &view, &mut scratch).len();
    assert_eq!((one, scratch.tier()), (10, SearchTier::LayerA));
    // Signs of all would be 96 KB, and each of 256 pages of codes 272 bytes.
    let of_question = read.load(Ordering::Relaxed) - opened;
    assert!(of_question < 60_000 + 256 * 272, "{of_question}");
    let (found, tier) = recall(&snapshot, &whole.publish());
    assert!(
        found >= 0.85 && tier == SearchTier::LayerA,
        "{found} {tier:?}"
    );
    // What is new, or has moved since, is found beside it; what is gone is not.
    let (new, moved) = (point(&mut Random(41)), point(&mut Random(42)));
    push(&mut writer, &new);
    writer.set_vector(77, &moved);
    let gone = one_best(&writer.publish(), &point(&mut Random(43)));
    writer.forget(gone, DateTime::UNIX_EPOCH);
    let snapshot = writer.publish();
    assert_eq!(one_best(&snapshot, &new), DOCUMENTS as u32);
    assert_eq!(one_best(&snapshot, &moved), 77);
    assert_ne!(one_best(&snapshot, &point(&mut Random(43))), gone);
}

/// The part as its version 1 was: without a sample.
fn unsampled(part: &[u8]) -> Vec<u8> {
    let left = LeftPart::from(part.to_vec());
    let front = left.front(CELLS, VERSION).unwrap().len();
    let cells = SavedCells::read(&left, NUMBERS, DOCUMENTS).unwrap();
    let sample = 4 + cells.sampled().count() * (4 + NUMBERS + 4);
    let content = &part[HEADER_BYTES + 4..front - sample];
    pages::write(VERSION_UNSAMPLED, content, &[&part[front..]])
}

#[test]
fn the_sample_stands_in_front_and_is_the_one_that_the_whole_gives() {
    let mut whole = IndexWriter::from_parts(NUMBERS, &SAVED).unwrap();
    let expected = sampled(&whole.publish());
    assert!((450..=550).contains(&expected.len()), "{}", expected.len());
    let (mut writer, read) = left(&SAVED);
    let snapshot = writer.publish();
    let (query, view) = question(&snapshot);
    let before = read.load(Ordering::Relaxed);
    assert_eq!(snapshot.sample(&query, SPREAD, &view), expected);
    assert_eq!(read.load(Ordering::Relaxed), before, "nothing is read");
    // What has moved since counts as it is now, and what is gone does not.
    let [moved, gone] = [expected[3].0, expected[9].0];
    writer.set_vector(moved, &point(&mut Random(42)));
    writer.forget(gone, DateTime::UNIX_EPOCH);
    let changed = sampled(&writer.publish());
    let of = |all: &[(u32, f32)], ordinal| all.iter().find(|one| one.0 == ordinal).copied();
    assert_ne!(of(&changed, moved), of(&expected, moved));
    assert_eq!(of(&changed, gone), None);
    assert_eq!(changed.len(), expected.len() - 1);
}

#[test]
fn cells_of_version_1_answer_and_are_saved_with_a_sample() {
    let mut parts = SAVED.clone();
    for (_, part) in parts.iter_mut().filter(|part| part.0 == PART_CELLS) {
        *part = unsampled(part);
    }
    let whole = IndexWriter::from_parts(NUMBERS, &SAVED).unwrap().publish();
    let (mut writer, read) = left(&parts);
    let snapshot = writer.publish();
    let (query, view) = question(&snapshot);
    let before = read.load(Ordering::Relaxed);
    assert_eq!(snapshot.sample(&query, SPREAD, &view), sampled(&whole));
    assert!(read.load(Ordering::Relaxed) > before, "the rows are read");
    let (found, tier) = recall(&snapshot, &whole);
    assert!(
        found >= 0.85 && tier == SearchTier::LayerA,
        "{found} {tier:?}"
    );
    writer.advance_graph(0).unwrap();
    assert_eq!(writer.to_parts(), *SAVED);
}

fn question(snapshot: &IndexSnapshot) -> (QueryCodes, View) {
    let query = snapshot.encode(&point(&mut Random(34))).unwrap();
    (query, snapshot.view(&MemoryFilter::default(), None))
}

/// What a recall takes the spread of a question's cosines from.
fn sampled(snapshot: &IndexSnapshot) -> Vec<(u32, f32)> {
    let (query, view) = question(snapshot);
    snapshot.sample(&query, SPREAD, &view)
}

#[test]
fn what_another_thread_has_read_is_not_read_again() {
    let (mut writer, read) = left(&SAVED);
    std::thread::spawn(writer.loading().unwrap())
        .join()
        .unwrap();
    let before = read.load(Ordering::Relaxed);
    assert_eq!(writer.advance_graph(0).unwrap().1, 0);
    assert_eq!(read.load(Ordering::Relaxed), before);
    assert!(writer.loading().is_none());
}

fn one_best(snapshot: &IndexSnapshot, vector: &[f32]) -> u32 {
    let view = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = VectorScratch::default();
    let query = snapshot.encode(vector).unwrap();
    let best = snapshot.candidates(&query, 1, &view, &mut scratch)[0].0;
    assert_eq!(scratch.tier(), SearchTier::LayerA);
    best
}

#[test]
fn it_is_saved_again_as_it_was_with_what_came_since_in_its_cell() {
    let parts = &*SAVED;
    let (mut back, _) = left(parts);
    back.advance_graph(0).unwrap();
    assert_eq!(back.to_parts(), *parts);
    // What comes without a cell stands in the last list until it gets one.
    push(&mut back, &point(&mut Random(44)));
    back.set_vector(5, &point(&mut Random(45)));
    for steps in 0..2 {
        let parts = back.to_parts();
        let (_, part) = parts.iter().find(|part| part.0 == PART_CELLS).unwrap();
        let part = LeftPart::from(part.clone());
        let cells = SavedCells::read(&part, NUMBERS, DOCUMENTS + 1).unwrap();
        let mut buffer = Vec::new();
        let last = cells.list(cells.centroids.len(), &mut buffer).unwrap();
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
    let damaged = |at: usize| {
        let mut parts = parts.clone();
        for (_, bytes) in parts.iter_mut().filter(|part| part.0 == PART_CELLS) {
            let at = at % bytes.len();
            bytes[at] ^= 0x40;
        }
        parts
    };
    let whole = IndexWriter::from_parts(NUMBERS, parts).unwrap().publish();
    let size = parts
        .iter()
        .find(|part| part.0 == PART_CELLS)
        .unwrap()
        .1
        .len();
    // Three in the front, without which all is scanned, and two in lists.
    for at in [3, 40, 4_000, size / 2, size - 3] {
        let (mut writer, _) = left(&damaged(at));
        let (found, tier) = recall(&writer.publish(), &whole);
        let is_front = at <= 4_000;
        let expected = if is_front {
            SearchTier::Scan
        } else {
            SearchTier::LayerA
        };
        assert!(found >= 0.8 && tier == expected, "{at}: {found} {tier:?}");
        while writer.advance_graph(512).unwrap().1 > 0 {}
        assert_eq!(writer.to_parts().len(), parts.len());
    }
}
