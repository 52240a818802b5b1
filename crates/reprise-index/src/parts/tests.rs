//! The saved form round-trips, and damage is an error, never a wrong result or a panic.

use std::sync::Arc;

use chrono::DateTime;
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId};

use super::*;
use crate::lexical::LexicalScratch;
use crate::segment::{Posting, SegmentBuilder};
use crate::snapshot::IndexSnapshot;
use crate::writer::NewDoc;

/// Twelve documents in two sessions, one forgotten, one superseded, one hole, some with vectors.
fn sample() -> IndexWriter {
    let mut writer = IndexWriter::new(4);
    for number in 0..12_u32 {
        let at = DateTime::from_timestamp(1_000 + i64::from(number), 0).unwrap();
        if number == 5 {
            writer.push_hole(RecordId::from_parts(5, 5));
            continue;
        }
        let text = format!("fix number {number} of the auth race in session_manager.rs");
        let vector = [0.6, 0.0, 0.8, 0.0].map(|x| x * if number % 2 == 0 { 1.0 } else { -1.0 });
        writer.push(&NewDoc {
            id: RecordId::from_parts(number.into(), 7),
            timestamp: at,
            known_at: at,
            kind: MemoryKind::ALL[number as usize % 4],
            source: MemorySource::ALL[number as usize % 5],
            session_id: ["one", "two", ""][number as usize % 3],
            speaker: "",
            text: &text,
            is_prompt: number % 6 == 5,
            exact: &[],
            vector: (number % 3 != 0).then_some(&vector[..]),
        });
        if number % 4 == 0 {
            writer.publish();
        }
    }
    let later = DateTime::from_timestamp(5_000, 0).unwrap();
    writer.forget(2, later);
    writer.supersede(7, later);
    writer
}

/// Collects everything that a snapshot returns, as text.
fn collect_answers(snapshot: &IndexSnapshot) -> String {
    let mut scratch = LexicalScratch::default();
    let query = snapshot.analyse_query("who fixed race 9 in the SessionManager?");
    let then = DateTime::from_timestamp(4_000, 0);
    let session = MemoryFilter {
        session_id: Some("two".into()),
        ..MemoryFilter::default()
    };
    let mut all = String::new();
    for (filter, as_of) in [
        (MemoryFilter::default(), None),
        (session, None),
        (MemoryFilter::default(), then),
    ] {
        let view = snapshot.view(&filter, as_of);
        let ordinals: Vec<u32> = view.ordinals().collect();
        let signals = snapshot.score_lexical(&query, &view, 9, &mut scratch);
        all.extend([format!("{ordinals:?} {signals:?}\n")]);
    }
    let mut scores = Vec::new();
    let query = snapshot.encode_query(&[0.0, 0.6, 0.8, 0.0]).unwrap();
    let ordinals: Vec<u32> = (0..snapshot.len() as u32).collect();
    snapshot.compute_cosines(&query, &ordinals, &mut scores);
    let view = snapshot.view(&MemoryFilter::default(), None);
    let docs: Vec<_> = (0..=snapshot.len() as u32)
        .map(|o| (snapshot.doc(o), snapshot.doc_traits(o, &view)))
        .collect();
    let names: Vec<_> = (0..4).map(|s| snapshot.sessions.name(s)).collect();
    let open = snapshot.list_unembedded(0, 100);
    all + &format!("{scores:?} {docs:?} {names:?} {open:?}")
}

#[test]
fn few_segments_of_words_are_saved_and_large_ones_stay() {
    let mut writer = sample();
    let push_range = |writer: &mut IndexWriter, range: std::ops::Range<u32>| {
        for number in range {
            writer.push(&NewDoc {
                id: RecordId::from_parts(100 + u64::from(number), 7),
                timestamp: DateTime::UNIX_EPOCH,
                known_at: DateTime::UNIX_EPOCH,
                kind: MemoryKind::Episode,
                source: MemorySource::UserInput,
                session_id: "",
                speaker: "",
                text: &format!("race {number}"),
                is_prompt: false,
                exact: &[],
                vector: None,
            });
            writer.publish();
        }
    };
    push_range(&mut writer, 0..1_500);
    let before = collect_answers(&writer.publish());
    assert!(writer.lexicon.segments().len() > 3);
    let parts = writer.to_parts();
    assert!(writer.lexicon.segments().len() <= 3);
    assert_eq!(collect_answers(&writer.publish()), before);
    assert_eq!(collect_answers(&load(&parts).unwrap()), before);
    // A large segment is not rewritten for a few new documents.
    let large = Arc::clone(&writer.lexicon.segments()[0]);
    push_range(&mut writer, 1_500..1_540);
    writer.to_parts();
    assert!(writer.lexicon.segments().len() <= 3);
    assert!(Arc::ptr_eq(&large, &writer.lexicon.segments()[0]));
    // Any thread may encode a copy as it was, and the writer installs the merged segments.
    push_range(&mut writer, 1_540..1_580);
    let (copy, before) = (writer.copy(), collect_answers(&writer.publish()));
    push_range(&mut writer, 1_580..1_582);
    let (after, segments) = (
        collect_answers(&writer.publish()),
        writer.lexicon.segments().len(),
    );
    let (parts, merged) = std::thread::spawn(|| copy.into_parts()).join().unwrap();
    assert_eq!(collect_answers(&load(&parts).unwrap()), before);
    writer.install_merged(merged);
    assert!(writer.lexicon.segments().len() < segments);
    assert_eq!(collect_answers(&writer.publish()), after);
    // Merges of segments that are gone are not installed.
    let (_, merged) = writer.copy().into_parts();
    writer.canonicalise();
    writer.install_merged(merged);
    assert_eq!(writer.lexicon.segments().len(), 1);
}

fn load(parts: &[(u8, Vec<u8>)]) -> IndexResult<Arc<IndexSnapshot>> {
    IndexWriter::from_parts(4, parts).map(|mut writer| writer.publish())
}

#[test]
fn what_was_saved_answers_the_same_and_grows_on() {
    let mut writer = sample();
    let parts = writer.to_parts();
    let mut loaded = IndexWriter::from_parts(4, &parts).unwrap();
    assert_eq!(
        collect_answers(&loaded.publish()),
        collect_answers(&writer.publish())
    );
    assert_eq!(loaded.to_parts(), parts);
    for writer in [&mut writer, &mut loaded] {
        writer.push_hole(RecordId::from_u128(1));
        writer.forget(3, DateTime::UNIX_EPOCH);
        writer.set_vector(0, &[1.0, 0.0, 0.0, 0.0]);
    }
    assert_eq!(
        collect_answers(&loaded.publish()),
        collect_answers(&writer.publish())
    );
    let mut empty = IndexWriter::new(4);
    assert_eq!(load(&empty.to_parts()).unwrap().len(), 0);
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let parts = sample().to_parts();
    for part in 0..parts.len() {
        for at in 0..parts[part].1.len() {
            let mut damaged = parts.clone();
            damaged[part].1[at] ^= 1 << (at % 8);
            assert!(load(&damaged).is_err(), "part {part} byte {at}");
            damaged[part].1.truncate(at);
            assert!(load(&damaged).is_err(), "part {part} cut at {at}");
        }
        let mut damaged = parts.clone();
        damaged[part].1.push(0);
        assert!(load(&damaged).is_err());
        damaged.remove(part);
        assert!(matches!(load(&damaged), Err(IndexError::Missing { .. })));
    }
}

fn open_lazily(parts: &[(u8, Vec<u8>)]) -> IndexWriter {
    let lent = |(tag, bytes): &(u8, Vec<u8>)| (*tag, LazyPart::from(bytes.clone()));
    let lent: Vec<(u8, LazyPart)> = parts.iter().map(lent).collect();
    IndexWriter::from_lazy_parts(4, &lent).unwrap()
}

#[test]
fn what_is_left_in_the_file_answers_as_if_loaded() {
    let mut writer = sample();
    let parts = writer.to_parts();
    let expected = collect_answers(&writer.publish());
    let mut opened = open_lazily(&parts);
    assert!(opened.vectors.has_unread());
    let snapshot = opened.publish();
    assert_eq!(collect_answers(&snapshot), expected);
    opened.load().unwrap();
    assert!(!opened.vectors.has_unread());
    assert_eq!(collect_answers(&snapshot), expected);
    // A change before the load reads the row from the file first.
    let mut opened = open_lazily(&parts);
    for writer in [&mut writer, &mut opened] {
        writer.set_vector(1, &[0.0, 0.0, 0.0, 1.0]);
        writer.push_hole(RecordId::from_parts(90, 0));
    }
    assert_eq!(
        collect_answers(&opened.publish()),
        collect_answers(&writer.publish())
    );
    assert_eq!(opened.to_parts(), writer.to_parts());
    assert!(!opened.publish().is_damaged());
}

#[test]
fn a_damaged_page_is_noticed_and_never_served() {
    let parts = sample().to_parts();
    // One bit of the last row of codes, of document 11, in a page with the three before it.
    let damage = |part: usize, from_end: usize| {
        let mut damaged = parts.clone();
        let at = damaged[part].1.len() - from_end;
        damaged[part].1[at] ^= 4;
        open_lazily(&damaged)
    };
    let mut codes = damage(0, 1);
    let snapshot = codes.publish();
    let query = snapshot.encode_query(&[0.6, 0.0, 0.8, 0.0]).unwrap();
    assert!(snapshot.cosine(&query, 7).is_some() && !snapshot.is_damaged());
    assert_eq!(snapshot.cosine(&query, 11), None);
    assert!(snapshot.is_damaged());
    assert!(matches!(codes.load(), Err(IndexError::Damaged { .. })));
    assert!(codes.vectors.has_unread());
    let mut rows = damage(2, 1);
    let snapshot = rows.publish();
    let doc = snapshot.doc(11).unwrap();
    assert!(doc.hole && doc.id == RecordId::from_u128(0) && snapshot.is_damaged());
    assert!(matches!(rows.load(), Err(IndexError::Damaged { .. })));
}

#[test]
fn a_damaged_page_of_words_lists_no_document() {
    let mut writer = IndexWriter::new(4);
    for number in 0..300_u32 {
        writer.push(&NewDoc {
            id: RecordId::from_parts(number.into(), 7),
            timestamp: DateTime::UNIX_EPOCH,
            known_at: DateTime::UNIX_EPOCH,
            kind: MemoryKind::Episode,
            source: MemorySource::UserInput,
            session_id: "",
            speaker: "",
            text: &format!("word{number} and the zebra"),
            is_prompt: false,
            exact: &[],
            vector: None,
        });
    }
    let mut parts = writer.to_parts();
    let listed = |snapshot: &IndexSnapshot| {
        let query = snapshot.analyse_query("zebra");
        snapshot.find_all_words(&query, 0).unwrap().len()
    };
    let snapshot = open_lazily(&parts).publish();
    assert_eq!((listed(&snapshot), snapshot.is_damaged()), (300, false));
    // The last term's list ends the part.
    let at = parts[1].1.len() - 9;
    parts[1].1[at] ^= 1;
    let mut damaged = open_lazily(&parts);
    let snapshot = damaged.publish();
    assert_eq!((listed(&snapshot), snapshot.is_damaged()), (0, true));
    assert!(matches!(damaged.load(), Err(IndexError::Damaged { .. })));
}

#[test]
fn damage_under_a_valid_checksum_never_panics() {
    let parts = sample().to_parts();
    let mut refused = 0;
    for part in 0..parts.len() {
        let whole = &parts[part].1;
        let front = u32::from_le_bytes(*whole[9..].first_chunk().unwrap()) as usize;
        let page = match parts[part].0 {
            PART_WORDS => WORDS_PAGE,
            PART_DOCUMENTS => whole.len() - front,
            // Every bit of the codes means something.
            _ => 0,
        };
        let until = if page == 0 { front } else { whole.len() };
        for at in 9..until {
            for bit in 0..8 {
                let mut forged = parts.clone();
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let mut behind = bytes.split_off(front);
                if at >= front {
                    // The checksums of the pages are last in the front.
                    let checks = behind.len().div_ceil(page) * 8;
                    bytes.truncate(front - checks);
                    pages::append_checksums(&mut bytes, &behind, page);
                }
                forged[part].1 = crate::codec::seal_part(bytes);
                forged[part].1.append(&mut behind);
                match load(&forged) {
                    Ok(snapshot) => drop(collect_answers(&snapshot)),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}

#[test]
fn another_version_or_width_says_what_to_do() {
    let mut parts = sample().to_parts();
    let width = IndexWriter::from_parts(8, &parts).unwrap_err();
    assert_eq!(
        width,
        IndexError::Dimensions {
            got: 4,
            expected: 8
        }
    );
    parts[1].1[0] = 255;
    let version = load(&parts).unwrap_err().to_string();
    assert!(
        version.contains("version 255") && version.contains("rebuild"),
        "{version}"
    );
}

#[test]
fn a_purged_document_leaves_no_trace_in_the_parts() {
    let mut writer = IndexWriter::new(4);
    let doc = NewDoc {
        id: RecordId::from_u128(1),
        timestamp: DateTime::UNIX_EPOCH,
        known_at: DateTime::UNIX_EPOCH,
        kind: MemoryKind::Episode,
        source: MemorySource::UserInput,
        session_id: "clandestine",
        speaker: "",
        text: "the zebra moves at midnight",
        is_prompt: false,
        exact: &[],
        vector: Some(&[0.5, 0.5, 0.5, 0.5]),
    };
    writer.push(&doc);
    writer.push(&NewDoc {
        session_id: "open",
        speaker: "",
        text: "midnight train",
        is_prompt: false,
        ..doc
    });
    let holds = |parts: &[(u8, Vec<u8>)], word: &str| {
        parts
            .iter()
            .any(|(_, bytes)| bytes.windows(word.len()).any(|w| w == word.as_bytes()))
    };
    writer.forget(0, DateTime::UNIX_EPOCH);
    assert!(holds(&writer.to_parts(), "zebra") && holds(&writer.to_parts(), "clandestine"));
    writer.purge();
    let parts = writer.to_parts();
    assert!(!holds(&parts, "zebra") && !holds(&parts, "clandestine"));
    assert!(holds(&parts, "midnight") && holds(&parts, "open"));
    let snapshot = load(&parts).unwrap();
    assert!(!snapshot.has_vector(0) && snapshot.has_vector(1));
    let view = snapshot.view(&MemoryFilter::default(), Some(DateTime::UNIX_EPOCH));
    assert_eq!(view.ordinals().collect::<Vec<_>>(), [1]);
    let session = snapshot.doc(1).and_then(|doc| doc.session()).unwrap();
    assert_eq!(snapshot.sessions.name(session), Some("open"));
}

/// Parts of another layout must not be read in this one: layout and version change together.
#[test]
fn the_layout_of_postings_has_its_version() {
    let mut builder = SegmentBuilder::new(0, 128);
    builder.start_term(b"a");
    for ordinal in 0..128 {
        builder.add_posting(Posting {
            ordinal,
            count: 1,
            head: 1,
            length: 5,
        });
    }
    let block = [[0x11_u8; 128], [5; 128]].concat();
    let row = [0_u8, 1, 0];
    let counts = [0x80_u8, 1, 0x80, 1];
    let saved = [&b"a"[..], &counts[..], &row[..], &block[..]].concat();
    let bytes = builder.finish().bytes().into_owned();
    assert_eq!((VERSION, bytes.ends_with(&saved)), (12, true), "{bytes:?}");
}
