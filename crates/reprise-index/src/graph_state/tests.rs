//! The life of the graph in the index: it is grown between commits, saved, read back, dropped.

use std::collections::BTreeMap;

use chrono::DateTime;
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId, SectionKey};

use super::*;
use crate::saving::open_whole;
use crate::vectors::VectorScratch;
use crate::writer::IndexWriter;
use crate::writer::NewDoc;

const DIMENSIONS: usize = 16;

/// A unit vector of its own for every number.
fn vector(number: u32) -> Vec<f32> {
    let mut z = u64::from(number);
    let mut next = || {
        z = z
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (z >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    let mut vector: Vec<f32> = (0..DIMENSIONS).map(|_| next()).collect();
    reprise_types::normalize(&mut vector);
    vector
}

fn push(writer: &mut IndexWriter, number: u32, vector: Option<&[f32]>) {
    let at = DateTime::from_timestamp(i64::from(number), 0).unwrap();
    writer.push(&NewDoc {
        id: RecordId::from_parts(u64::from(number), 0),
        timestamp: at,
        known_at: at,
        kind: MemoryKind::Episode,
        source: MemorySource::UserInput,
        speaker: "",
        session_id: "",
        text: "",
        is_prompt: false,
        exact: &[],
        vector,
    });
}

fn writer(count: u32) -> IndexWriter {
    let mut writer = IndexWriter::new(DIMENSIONS);
    writer.set_graph_threshold(100);
    for number in 0..count {
        push(&mut writer, number, Some(&vector(number)));
    }
    writer
}

#[test]
fn it_grows_from_a_size_on_and_published_states_stay_as_they_are() {
    let mut small = writer(99);
    assert_eq!(small.advance_graph(50).unwrap().1, 0);
    assert!(small.publish().layers.graph.is_empty());
    let mut writer = writer(300);
    let before = writer.publish();
    assert_eq!(writer.advance_graph(50).unwrap().1, 250);
    let after = writer.publish();
    assert!(before.layers.graph.is_empty());
    assert_eq!(after.layers.graph.covered_range(), 250..300);
    assert_eq!(after.len(), 300);
    assert_eq!(writer.advance_graph(usize::MAX).unwrap().1, 0);
    assert_eq!(after.layers.graph.covered_range(), 250..300);
    assert_eq!(writer.publish().layers.graph.covered_range(), 0..300);
}

#[test]
fn it_is_saved_by_layer_and_goes_on_where_it_was() {
    for budget in [60, 999] {
        let mut before = writer(300);
        before.advance_graph(budget).unwrap();
        let parts = before.to_sections();
        let mut back = open_whole(DIMENSIONS, &parts).unwrap();
        back.set_graph_threshold(100);
        // The saved graph is not read for the first query, ...
        assert!(back.publish().layers.graph.is_empty());
        // ... and changes from before it is read are applied to it.
        for writer in [&mut before, &mut back] {
            push(writer, 300, None);
            writer.set_vector(299, &vector(7_000));
            writer.set_vector(300, &vector(8_000));
            writer.advance_graph(1).unwrap();
            writer.advance_graph(999).unwrap();
        }
        assert_eq!(back.to_sections(), before.to_sections());
        let snapshot = back.publish();
        let view = snapshot.view(&MemoryFilter::default(), None);
        let mut scratch = VectorScratch::default();
        for (ordinal, number) in [(299, 7_000), (300, 8_000), (12, 12)] {
            let query = snapshot.encode_query(&vector(number)).unwrap();
            let found = snapshot.search_vectors(&query, 1, &view, &mut scratch);
            assert_eq!(found[0].0, ordinal);
        }
    }
}

#[test]
fn a_damaged_graph_is_grown_anew_and_a_purge_keeps_it() {
    let mut writer = writer(200);
    writer.advance_graph(999).unwrap();
    let whole = writer.to_sections();
    let mut damaged = whole.clone();
    for section in &mut damaged {
        if section.key.0 == SECTION_GRAPH {
            let middle = section.pages[0].1.len() / 2;
            section.pages[0].1[middle] ^= 1;
        }
    }
    let mut back = open_whole(DIMENSIONS, &damaged).unwrap();
    back.set_graph_threshold(100);
    assert_eq!(back.advance_graph(20).unwrap().1, 180);
    back.advance_graph(999).unwrap();
    assert_eq!(back.publish().layers.graph.covered_range(), 0..200);
    // A purge leaves the other documents in the graph, also if the graph is still in its file.
    let mut read = open_whole(DIMENSIONS, &whole).unwrap();
    for writer in [&mut writer, &mut read] {
        writer.set_graph_threshold(100);
        writer.forget(5, DateTime::UNIX_EPOCH);
        writer.purge();
        let snapshot = writer.publish();
        assert_eq!(snapshot.layers.graph.covered_range(), 0..200);
        let view = snapshot.view(&MemoryFilter::default(), None);
        let mut scratch = VectorScratch::default();
        let query = snapshot.encode_query(&vector(5)).unwrap();
        let found = snapshot.search_vectors(&query, 3, &view, &mut scratch);
        assert!(found.iter().all(|(ordinal, _)| *ordinal != 5));
        assert!(writer.advance_graph(0).unwrap().1 <= 1);
    }
    writer.advance_graph(9).unwrap();
    read.advance_graph(9).unwrap();
    assert_eq!(read.to_sections(), writer.to_sections());
}

#[test]
fn what_was_encoded_before_a_purge_is_not_saved() {
    let mut writer = writer(200);
    writer.advance_graph(999).unwrap();
    assert!(writer.begin_graph_encoding().is_some());
    assert!(writer.finish_graph_encoding() && writer.is_graph_saved());
    assert!(!writer.finish_graph_encoding(), "it is taken once");
    assert!(writer.begin_graph_encoding().is_some());
    writer.forget(5, DateTime::UNIX_EPOCH);
    writer.purge();
    assert!(!writer.finish_graph_encoding() && !writer.is_graph_saved());
    assert!(!writer.is_in_use((SECTION_GRAPH, 0)));
}

#[test]
fn old_cells_are_not_saved_beside_a_graph_without_any() {
    let mut old = writer(300);
    old.set_cells_threshold(200);
    old.advance_graph(usize::MAX).unwrap();
    while old.advance_graph(usize::MAX).unwrap().1 > 0 {}
    let is_of_cells = |key: SectionKey| key.0 == SECTION_CELLS;
    let sections = old.to_sections().into_iter();
    let mut file: BTreeMap<_, _> = sections.map(|one| (one.key, one)).collect();
    assert!(file.keys().any(|key| is_of_cells(*key)));
    // Made anew, with other vectors, it has a graph and no cells yet.
    let mut anew = IndexWriter::new(DIMENSIONS);
    anew.set_graph_threshold(100);
    for number in 0..300 {
        push(&mut anew, number, Some(&vector(9_000 + number)));
    }
    anew.advance_graph(usize::MAX).unwrap();
    file.extend(anew.to_sections().into_iter().map(|one| (one.key, one)));
    let encode = anew.begin_graph_encoding().unwrap();
    assert!(anew.finish_graph_encoding());
    file.extend(encode().into_iter().map(|one| (one.key, one)));
    file.retain(|key, _| anew.is_in_use(*key));
    let sections: Vec<SectionPages> = file.into_values().collect();
    let mut back = open_whole(DIMENSIONS, &sections).unwrap();
    assert!(back.graph.cells.saved_cells().is_none());
    assert!(back.publish().layers.cells.is_none());
    back.set_graph_threshold(100);
    back.advance_graph(1).unwrap();
    assert_eq!(back.graph_document_count(), 300);
}
