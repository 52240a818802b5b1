//! The saved form round-trips, and damage is an error, never a wrong result or a panic.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::DateTime;
use reprise_types::{MemoryFilter, MemoryKind, MemorySource, RecordId};

use super::*;
use crate::lexical::LexicalScratch;
use crate::section_kinds::{CODES, SIGNS};
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

/// Opens sections that are in memory with all their pages, as those of one file: what is damaged in
/// one of them is damage of all.
fn lend(sections: &[SectionPages]) -> SavedSections {
    let damage = Arc::default();
    let lend = |section: &SectionPages| {
        let lent = SavedSection::from(section);
        let damage = Arc::clone(&damage);
        (section.key, SavedSection { damage, ..lent })
    };
    sections.iter().map(lend).collect()
}

fn load(sections: &[SectionPages]) -> IndexResult<Arc<IndexSnapshot>> {
    let mut writer = IndexWriter::from_sections(4, &lend(sections))?;
    writer.load()?;
    Ok(writer.publish())
}

/// Applies changed pages to saved sections, as a file does.
fn apply_pages(saved: &mut BTreeMap<SectionKey, SectionPages>, pages: Vec<SectionPages>) {
    for changed in pages {
        let section = saved.entry(changed.key).or_insert_with(|| SectionPages {
            pages: Vec::new(),
            ..changed
        });
        (section.length, section.page_bytes) = (changed.length, changed.page_bytes);
        let mut all: BTreeMap<usize, Vec<u8>> = section.pages.drain(..).collect();
        all.extend(changed.pages);
        all.retain(|page, _| page * section.page_bytes < section.length);
        section.pages = all.into_iter().collect();
    }
}

fn push_numbered(writer: &mut IndexWriter, range: Range<u32>) {
    for number in range {
        writer.push(&NewDoc {
            id: RecordId::from_parts(100 + u64::from(number), 7),
            timestamp: DateTime::UNIX_EPOCH,
            known_at: DateTime::UNIX_EPOCH,
            kind: MemoryKind::Episode,
            source: MemorySource::UserInput,
            session_id: ["", "three", "four"][number as usize % 3],
            speaker: "",
            text: &format!("race {number}"),
            is_prompt: false,
            exact: &[],
            vector: (number % 5 != 0).then_some(&[0.6, 0.0, 0.8, 0.0]),
        });
        writer.publish();
    }
}

#[test]
fn saving_what_changed_is_saving_everything() {
    let mut writer = sample();
    let mut saved = BTreeMap::new();
    let mut next = 0;
    for (round, count) in [1_500, 0, 40, 1, 300, 7].into_iter().enumerate() {
        push_numbered(&mut writer, next..next + count);
        next += count;
        let ordinal = 13 + 100 * round as u32;
        let later = DateTime::from_timestamp(6_000, 0).unwrap();
        match round % 3 {
            0 => writer.forget(ordinal, later),
            1 => writer.supersede(ordinal, later),
            _ => writer.set_vector(ordinal, &[0.0, 0.0, 0.0, 1.0]),
        }
        if round == 4 {
            writer.purge();
        }
        // In steps, with changes between them.
        loop {
            let budget = &mut 30_000;
            let pages = writer.take_unsaved(budget);
            let is_all = *budget > 0;
            apply_pages(&mut saved, pages);
            if is_all {
                break;
            }
            push_numbered(&mut writer, next..next + 2);
            next += 2;
        }
        saved.retain(|key, _| writer.is_in_use(*key));
        let sections: Vec<SectionPages> = saved.values().cloned().collect();
        let expected = collect_answers(&writer.publish());
        assert_eq!(
            collect_answers(&load(&sections).unwrap()),
            expected,
            "{round}"
        );
        // Nothing is left to save but what is always in the last part.
        let pages = writer.take_unsaved(&mut 1_000);
        let columns = pages
            .iter()
            .filter(|section| ![TOTALS, STALE, NAMES, LIVE].contains(&section.key.0));
        assert!(
            columns.clone().all(|section| section.pages.is_empty()),
            "{round}"
        );
        let mut reopened = IndexWriter::from_sections(4, &lend(&sections)).unwrap();
        assert_eq!(collect_answers(&reopened.publish()), expected, "{round}");
        if round == 2 {
            writer = reopened;
        }
    }
}

#[test]
fn what_was_saved_answers_the_same_and_grows_on() {
    let mut writer = sample();
    let sections = writer.to_sections();
    let mut loaded = IndexWriter::from_sections(4, &lend(&sections)).unwrap();
    assert_eq!(
        collect_answers(&loaded.publish()),
        collect_answers(&writer.publish())
    );
    assert_eq!(loaded.to_sections(), sections);
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
    assert_eq!(load(&empty.to_sections()).unwrap().len(), 0);
}

/// Lends sections of which one page is damaged.
fn lend_damaged(sections: &[SectionPages], key: SectionKey, page: usize) -> SavedSections {
    let mut lent = lend(sections);
    for (own, section) in &mut lent {
        if *own == key {
            let read = Arc::clone(&section.read);
            section.read = Arc::new(move |pages| {
                let is_hit = pages.contains(&page);
                if is_hit { None } else { read(pages) }
            });
        }
    }
    lent
}

#[test]
fn every_damaged_page_and_every_missing_section_is_refused() {
    let sections = sample().to_sections();
    for (at, section) in sections.iter().enumerate() {
        for page in &section.pages {
            let lent = lend_damaged(&sections, section.key, page.0);
            let opened = IndexWriter::from_sections(4, &lent);
            let loaded = opened.and_then(|mut writer| writer.load());
            assert!(loaded.is_err(), "page {} of {:?}", page.0, section.key);
        }
        let mut fewer = sections.clone();
        fewer.remove(at);
        assert!(load(&fewer).is_err(), "without {:?}", section.key);
    }
}

#[test]
fn what_is_left_in_the_file_answers_as_if_loaded() {
    let mut writer = sample();
    let sections = writer.to_sections();
    let expected = collect_answers(&writer.publish());
    let open = || IndexWriter::from_sections(4, &lend(&sections)).unwrap();
    let mut opened = open();
    assert!(opened.vectors.has_unread());
    let snapshot = opened.publish();
    assert_eq!(collect_answers(&snapshot), expected);
    opened.load().unwrap();
    assert!(!opened.vectors.has_unread());
    assert_eq!(collect_answers(&snapshot), expected);
    // A change before the load reads the row from the file first.
    let mut opened = open();
    for writer in [&mut writer, &mut opened] {
        writer.set_vector(1, &[0.0, 0.0, 0.0, 1.0]);
        writer.push_hole(RecordId::from_parts(90, 0));
    }
    assert_eq!(
        collect_answers(&opened.publish()),
        collect_answers(&writer.publish())
    );
    assert_eq!(opened.to_sections(), writer.to_sections());
    assert!(!opened.publish().is_damaged());
}

#[test]
fn a_damaged_page_is_noticed_and_never_served() {
    let sections = sample().to_sections();
    let open =
        |key, page| IndexWriter::from_sections(4, &lend_damaged(&sections, key, page)).unwrap();
    // The page of codes of documents 10 and 11.
    let mut codes = open((CODES, 0), 5);
    let snapshot = codes.publish();
    let query = snapshot.encode_query(&[0.6, 0.0, 0.8, 0.0]).unwrap();
    assert!(snapshot.cosine(&query, 7).is_some() && !snapshot.is_damaged());
    assert_eq!(snapshot.cosine(&query, 11), None);
    assert!(snapshot.is_damaged());
    assert!(matches!(codes.load(), Err(IndexError::Damaged { .. })));
    let mut rows = open((DOCUMENTS, 0), 0);
    let snapshot = rows.publish();
    let doc = snapshot.doc(11).unwrap();
    assert!(doc.is_hole() && doc.id == RecordId::from_u128(0) && snapshot.is_damaged());
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
    let sections = writer.to_sections();
    let listed = |snapshot: &IndexSnapshot| {
        let query = snapshot.analyse_query("zebra");
        snapshot.find_all_words(&query, 0).unwrap().len()
    };
    let open = |lent| IndexWriter::from_sections(4, &lent).unwrap();
    let snapshot = open(lend(&sections)).publish();
    assert_eq!((listed(&snapshot), snapshot.is_damaged()), (300, false));
    // The last term's list ends the section.
    let words = sections
        .iter()
        .find(|section| section.key.0 == WORDS)
        .unwrap();
    let mut damaged = open(lend_damaged(&sections, words.key, words.pages.len() - 1));
    let snapshot = damaged.publish();
    assert_eq!((listed(&snapshot), snapshot.is_damaged()), (0, true));
    assert!(matches!(damaged.load(), Err(IndexError::Damaged { .. })));
}

#[test]
fn damage_under_a_valid_checksum_never_panics() {
    let sections = sample().to_sections();
    let mut refused = 0;
    for (part, section) in sections.iter().enumerate() {
        // Every bit of the codes means something.
        if matches!(section.key.0, CODES | SIGNS) {
            continue;
        }
        for (page, (_, bytes)) in section.pages.iter().enumerate() {
            for at in 0..bytes.len() {
                for bit in 0..8 {
                    let mut forged = sections.clone();
                    forged[part].pages[page].1[at] ^= 1 << bit;
                    match load(&forged) {
                        Ok(snapshot) => drop(collect_answers(&snapshot)),
                        Err(_) => refused += 1,
                    }
                }
            }
        }
    }
    println!("{refused} refused");
    assert!(refused > 200, "{refused}");
}

/// Replaces the bytes at a place of a section's first page.
fn forge(sections: &[SectionPages], tag: u8, at: usize, bytes: &[u8]) -> Vec<SectionPages> {
    let mut forged = sections.to_vec();
    let section = forged.iter_mut().find(|section| section.key.0 == tag);
    section.unwrap().pages[0].1[at..at + bytes.len()].copy_from_slice(bytes);
    forged
}

#[test]
fn neighbours_that_lead_back_are_damage() {
    let sections = sample().to_sections();
    for own in 0..12_u32 {
        for link in (0..14).chain([NO_DOCUMENT - 1]) {
            let row = own as usize * DOCUMENT_BYTES + Doc::WIDTH;
            let previous = load(&forge(&sections, DOCUMENTS, row, &link.to_le_bytes()));
            assert_eq!(previous.is_ok(), link < own, "{own} after {link}");
            let next = load(&forge(&sections, DOCUMENTS, row + 4, &link.to_le_bytes()));
            let is_behind = link > own && link < 12;
            assert_eq!(next.is_ok(), is_behind, "{own} before {link}");
        }
    }
    // A session may name any of its documents as the last live one, even one that comes again.
    let then = DateTime::from_timestamp(4_000, 0);
    let of_one = MemoryFilter {
        session_id: Some("two".into()),
        ..MemoryFilter::default()
    };
    for last in (0..14).chain([NO_DOCUMENT]) {
        let at = SessionStats::WIDTH;
        let Ok(snapshot) = load(&forge(&sections, SESSIONS, at, &last.to_le_bytes())) else {
            assert!((12..NO_DOCUMENT).contains(&last), "{last}");
            continue;
        };
        assert!(!(12..NO_DOCUMENT).contains(&last), "{last}");
        let view = snapshot.view(&of_one, then);
        assert!(view.ordinals().count() <= 12, "{last}");
        for ordinal in 0..12 {
            let next = |at: &u32| view.neighbours(*at).1;
            assert!(std::iter::successors(Some(ordinal), next).take(13).count() <= 12);
        }
    }
}

#[test]
fn ordinals_and_counts_of_more_than_is_there_are_damage() {
    let mut writer = sample();
    let sections = writer.to_sections();
    let encode = |list: &[u32]| {
        let section = SectionPages::from_value((STALE, 0), &list.to_vec());
        section.pages[0].1.clone()
    };
    let with = |tag: u8, bytes: &[u8]| {
        let mut forged = sections.clone();
        let section = forged.iter_mut().find(|section| section.key.0 == tag);
        *section.unwrap() = SectionPages::from_bytes((tag, 0), bytes);
        load(&forged)
    };
    assert!(with(STALE, &encode(&[0, 11])).is_ok());
    assert!(with(STALE, &encode(&[12])).is_err());
    let totals = &sections.iter().find(|section| section.key.0 == TOTALS);
    let whole = totals.unwrap().pages[0].1.clone();
    let front = whole.len() - encode(&[2]).len();
    let forgotten = |list: &[u32]| [&whole[..front], &encode(list)].concat();
    assert!(with(TOTALS, &forgotten(&[2])).is_ok());
    assert!(with(TOTALS, &forgotten(&[2, 1 << 31])).is_err());
    // The number of live documents, behind version, documents and dimensions.
    for live in (0..=127).filter(|live| *live != writer.live_set.live as u8) {
        let mut forged = whole.clone();
        forged[3] = live;
        assert!(with(TOTALS, &forged).is_err(), "{live}");
    }
}

#[test]
fn another_version_or_width_says_what_to_do() {
    let mut sections = sample().to_sections();
    let width = IndexWriter::from_sections(8, &lend(&sections)).unwrap_err();
    assert_eq!(
        width,
        IndexError::Dimensions {
            got: 4,
            expected: 8
        }
    );
    let totals = sections
        .iter_mut()
        .find(|section| section.key.0 == TOTALS)
        .unwrap();
    totals.pages[0].1[0] = 255;
    let version = load(&sections).unwrap_err().to_string();
    assert!(
        version.contains("version 255") && version.contains("rebuild"),
        "{version}"
    );
}

#[test]
fn a_purged_document_leaves_no_trace_in_the_sections() {
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
    let holds = |sections: &[SectionPages], word: &str| {
        let mut pages = sections.iter().flat_map(|section| &section.pages);
        pages.any(|(_, bytes)| bytes.windows(word.len()).any(|w| w == word.as_bytes()))
    };
    writer.forget(0, DateTime::UNIX_EPOCH);
    assert!(holds(&writer.to_sections(), "zebra") && holds(&writer.to_sections(), "clandestine"));
    writer.purge();
    let parts = writer.to_sections();
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
    let segment = builder.finish();
    let bytes = segment.bytes.bytes(0..segment.size());
    assert_eq!((VERSION, bytes.ends_with(&saved)), (14, true), "{bytes:?}");
}
