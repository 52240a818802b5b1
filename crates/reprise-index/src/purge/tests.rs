//! A purge on another thread gives what a purge in place would, whatever is written meanwhile.

use chrono::{DateTime, Utc};
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId, SectionPages};

use super::*;
use crate::saving::open_whole;
use crate::section_kinds::{SECTION_GRAPH, is_of_log};
use crate::vectors::VectorScratch;
use crate::writer::NewDoc;

const DIMENSIONS: usize = 16;
const DOCUMENTS: u32 = 400;

fn at(second: u32) -> DateTime<Utc> {
    DateTime::from_timestamp(second.into(), 0).unwrap()
}

/// A unit vector of its own for every number.
fn vector(number: u32) -> Vec<f32> {
    let mut state = u64::from(number);
    let uniform =
        |state: &mut u64| (reprise_types::next_splitmix64(state) >> 40) as f32 - 8_388_608.0;
    let mut vector: Vec<f32> = (0..DIMENSIONS).map(|_| uniform(&mut state)).collect();
    reprise_types::normalize(&mut vector);
    vector
}

fn word(number: u32) -> String {
    format!("word{number:03}x")
}

fn session(number: u32) -> String {
    format!("session{number:03}x")
}

fn push(writer: &mut IndexWriter, number: u32, session_id: &str) {
    writer.push(&NewDoc {
        id: RecordId::from_parts(u64::from(number), 0),
        timestamp: at(number),
        known_at: at(number),
        kind: MemoryKind::Episode,
        source: MemorySource::WorkerResult,
        speaker: "",
        session_id,
        text: &format!("shared {}", word(number)),
        is_prompt: false,
        exact: &[],
        vector: Some(&vector(number)),
    });
}

/// Builds a writer with four documents per session, in several segments, all in the graph; some are
/// forgotten.
fn writer() -> IndexWriter {
    let mut writer = IndexWriter::new(DIMENSIONS);
    writer.set_graph_threshold(100);
    for number in 0..DOCUMENTS {
        push(&mut writer, number, &session(number / 4));
        if number % 60 == 59 {
            writer.publish();
        }
    }
    assert_eq!(writer.advance_graph(999).unwrap().1, 0);
    for ordinal in [0, 1, 2, 3, 4, 5, 6, 7, 101] {
        writer.forget(ordinal, at(1_000));
    }
    writer.publish();
    writer
}

/// Writes during a purge: a document in a session that the purge would empty, a vector, a
/// checkpoint, another forgotten document.
fn go_on(writer: &mut IndexWriter) {
    push(writer, DOCUMENTS, &session(0));
    writer.set_vector(300, &vector(7_000));
    writer.to_sections();
    writer.forget(200, at(1_001));
    writer.publish();
}

fn holds(sections: &[SectionPages], word: &str) -> bool {
    let mut pages = sections.iter().flat_map(|section| &section.pages);
    pages.any(|(_, bytes)| bytes.windows(word.len()).any(|run| run == word.as_bytes()))
}

#[test]
fn what_comes_meanwhile_stays_and_what_was_forgotten_leaves_no_trace() {
    let mut writer = writer();
    let before = writer.publish();
    let job = writer.start_purge().unwrap();
    let beside = std::thread::spawn(job);
    go_on(&mut writer);
    assert!(writer.is_purging());
    assert_eq!(writer.advance_graph(99).unwrap(), (0, 0));
    let mut purged = beside.join().unwrap();
    let mut steps = 1;
    while !writer.apply_purge(&mut purged, 4) {
        steps += 1;
    }
    assert_eq!((steps, writer.is_purging()), (3, false));

    let parts = writer.to_sections();
    for number in (0..8).chain([101]) {
        assert!(!holds(&parts, &word(number)), "{number}");
    }
    for number in [8, 100, 200, 300, DOCUMENTS] {
        assert!(holds(&parts, &word(number)), "{number}");
    }
    let named = [0, 1, 2, 25].map(|number| holds(&parts, &session(number)));
    assert_eq!(named, [true, false, true, true]);
    let snapshot = writer.publish();
    assert_eq!(snapshot.session_count(), DOCUMENTS / 4 - 1);
    assert!(snapshot.doc(101).unwrap().is_hole() && !snapshot.has_vector(101));
    let past = snapshot.view(&MemoryFilter::default(), Some(at(999)));
    assert_eq!(past.considered_count(), DOCUMENTS + 1 - 9);
    assert!(before.has_vector(101) && before.find_session(&session(1)).is_some());

    // The graph finds the rest and, once it has grown, the changed vector.
    assert!(writer.advance_graph(99).unwrap().0 >= 2);
    let snapshot = writer.publish();
    assert_eq!(snapshot.layers.graph.covered_range(), 0..DOCUMENTS + 1);
    let all = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = VectorScratch::default();
    for (number, found) in [(7_000, 300), (DOCUMENTS, DOCUMENTS), (12, 12)] {
        let query = snapshot.encode_query(&vector(number)).unwrap();
        let best = snapshot.search_vectors(&query, 1, &all, &mut scratch);
        assert_eq!(best[0].0, found, "{number}");
    }

    // The next purge takes the document forgotten meanwhile; the result is that of a single purge.
    writer.purge();
    assert!(writer.start_purge().is_none());
    assert!(!holds(&writer.to_sections(), &word(200)));
    let mut at_once = self::writer();
    go_on(&mut at_once);
    for index in [&mut writer, &mut at_once] {
        index.canonicalise();
    }
    let [purged, at_once] = [writer, at_once].map(|mut index| {
        let mut parts = index.to_sections();
        parts.retain(|section| is_of_log(section.key));
        parts
    });
    assert!(purged == at_once);
}

#[test]
fn what_holds_nothing_forgotten_is_not_made_anew() {
    let mut writer = writer();
    let before = writer.lexicon.segments().to_vec();
    writer.purge();
    let pairs = before.iter().zip(writer.lexicon.segments());
    let kept: Vec<bool> = pairs.map(|(old, new)| old.is_same(new)).collect();
    assert_eq!(kept, [false, false, true, true, true, true, true]);
    let settled = writer.lexicon.segments().to_vec();
    writer.purge();
    let mut pairs = settled.iter().zip(writer.lexicon.segments());
    assert!(pairs.all(|(old, new)| old.is_same(new)));
    // Holes of the file need no purge; documents forgotten in the file do.
    let mut back = open_whole(DIMENSIONS, &writer.to_sections()).unwrap();
    assert!(back.start_purge().is_none());
    assert_eq!(back.publish().session_count(), DOCUMENTS / 4 - 2);
    back.forget(50, at(1_002));
    let mut back = open_whole(DIMENSIONS, &back.to_sections()).unwrap();
    back.purge();
    assert!(!holds(&back.to_sections(), &word(50)));
}

#[test]
fn a_purge_that_nobody_finishes_holds_nothing_up() {
    let mut writer = writer();
    drop(writer.start_purge().unwrap()());
    assert!(!writer.is_purging());
    writer.set_vector(300, &vector(7_000));
    assert_eq!(writer.advance_graph(9).unwrap(), (1, 0));
    // Nor does one that a later purge has overtaken.
    let late = writer.start_purge().unwrap();
    writer.purge();
    writer.set_vector(301, &vector(7_001));
    assert!(writer.apply_purge(&mut late(), usize::MAX));
    assert_eq!(writer.advance_graph(99).unwrap().1, 0);
    let snapshot = writer.publish();
    let all = snapshot.view(&MemoryFilter::default(), None);
    let mut scratch = VectorScratch::default();
    let query = snapshot.encode_query(&vector(7_001)).unwrap();
    let best = snapshot.search_vectors(&query, 1, &all, &mut scratch);
    assert_eq!(best[0].0, 301);
    assert!(!holds(&writer.to_sections(), &word(3)));
}

#[test]
fn between_the_steps_of_a_purge_nothing_forgotten_gets_into_graph_or_cells() {
    // The graph lacks one that is forgotten as well.
    let [mut writer, mut at_once] = [(); 2].map(|()| {
        let mut writer = writer();
        push(&mut writer, DOCUMENTS, "");
        writer.forget(DOCUMENTS, at(1_000));
        writer
    });
    let mut purged = writer.start_purge().unwrap()();
    assert!(!writer.apply_purge(&mut purged, 8));
    let (is_purging, grown) = (writer.is_purging(), writer.advance_graph(99).unwrap());
    assert!(writer.begin_graph_encoding().is_some());
    assert!(writer.apply_purge(&mut purged, 8));
    assert!(!writer.finish_graph_encoding(), "it has what is purged now");
    at_once.purge();
    let graphs = [&mut writer, &mut at_once].map(|writer| {
        assert_eq!(writer.advance_graph(99).unwrap().1, 0);
        let mut sections = writer.to_sections();
        sections.retain(|section| section.key.0 == SECTION_GRAPH);
        sections
    });
    assert!(graphs[0] == graphs[1], "the graph has a forgotten node");
    assert_eq!((is_purging, grown), (true, (0, 0)));
    assert!(!writer.is_purging());
}

#[test]
fn a_session_that_a_step_leaves_empty_has_no_name_though_no_other_step_comes() {
    let mut writer = writer();
    let mut purged = writer.start_purge().unwrap()();
    assert!(!writer.apply_purge(&mut purged, 8));
    drop(purged);
    assert!(!holds(&writer.to_sections(), &session(1)));
}
