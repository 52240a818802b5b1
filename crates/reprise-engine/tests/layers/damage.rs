//! Damaged bytes in the layers, and files that end within one: answers are right or report what
//! they lack, a check reports it, and the layers are rebuilt.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use reprise_index::{CODES, SECTION_CELLS, SECTION_GRAPH, SIGNS};
use reprise_simulation::SimDisk;
use reprise_store::locate_section;
use reprise_tests::SeededRng;
use reprise_types::SearchRoute;

use crate::{
    Answers, FILE, LEFT_MAX, RECORDS, SESSION, ask_questions, assert_route, entry_numbers,
    forget_session, grow_fully, insert_entries, is_sound, open_on, scan_answers, share_found,
};

/// The codes, from which the layers are built, and the layers.
const PARTS: [u8; 3] = [CODES, SECTION_GRAPH, SECTION_CELLS];
/// Distance of the bytes that are changed, less than a page.
const CHUNK: usize = 256;
/// The session that is forgotten.
const FORGOTTEN_SESSION: usize = 7;

/// The file of a memory that has every layer, with a forgotten session that no purge has removed.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let disk = SimDisk::new();
    let mut engine = open_on(&disk);
    insert_entries(&mut engine, 0..RECORDS).unwrap();
    grow_fully(&mut engine).unwrap();
    forget_session(&mut engine, FORGOTTEN_SESSION).unwrap();
    engine.close().unwrap();
    disk.file_bytes(Path::new(FILE)).unwrap()
});

static EXACT: LazyLock<Answers> =
    LazyLock::new(|| scan_answers(Arc::new(changed_disk(|_| {})), Path::new(FILE)));

/// Returns a disk with that file after a change.
fn changed_disk(change: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
    let mut bytes = WHOLE.clone();
    change(&mut bytes);
    let disk = SimDisk::new();
    disk.create_file(Path::new(FILE), bytes);
    disk
}

/// Finds the longest run of a section's pages in a file.
fn find_part(disk: &SimDisk, tag: u8) -> Option<Range<usize>> {
    let places = locate_section(disk, Path::new(FILE), (tag, 0)).unwrap();
    let longest = places
        .into_iter()
        .max_by_key(|place| place.end - place.start)?;
    Some(longest.start as usize..longest.end as usize)
}

fn part_range(tag: u8) -> Range<usize> {
    find_part(&changed_disk(|_| {}), tag).unwrap()
}

/// What a memory does first after it was opened.
#[derive(PartialEq, Eq)]
enum First {
    Growth,
    Compaction,
}

impl First {
    /// Alternates between the two.
    fn of(turn: usize) -> Self {
        if turn.is_multiple_of(2) {
            Self::Growth
        } else {
            Self::Compaction
        }
    }
}

/// Checks that the layers and the file are whole in the end, whatever was damaged.
fn assert_heals(disk: &SimDisk, first: &First, place: &str) {
    let mut engine = open_on(disk);
    let there = entry_numbers(&engine);
    let expected = (0..RECORDS).filter(|number| number / SESSION != FORGOTTEN_SESSION);
    assert!(there.into_iter().eq(expected), "{place}");
    let said = ask_questions(&engine);
    let found = share_found(&said, &EXACT);
    assert!(said.is_damaged || found >= 0.5, "{place}: {found}");
    if *first == First::Compaction {
        engine.compact().unwrap();
    }
    grow_fully(&mut engine).unwrap();
    assert_route(&engine, SearchRoute::Graph, &EXACT, place);
    if *first == First::Growth {
        engine.compact().unwrap();
    }
    engine.close().unwrap();
    for tag in PARTS {
        assert!(find_part(disk, tag).is_some(), "{place}: no part {tag:#x}");
    }
    let mut engine = open_on(disk);
    assert_route(&engine, SearchRoute::Cells, &EXACT, place);
    let left = engine.advance_graph(0).unwrap();
    assert!(left <= LEFT_MAX, "{place}: {left} to grow again");
    assert_route(&engine, SearchRoute::Graph, &EXACT, place);
    drop(engine);
    assert!(is_sound(disk), "{place}: a check finds something");
}

#[test]
fn whatever_byte_of_a_layer_rots_is_noticed_and_the_layer_is_made_anew() {
    let mut seeded = SeededRng::new(0x5eed_0007);
    for tag in PARTS {
        let part = part_range(tag);
        let within = part.len() as u64;
        // In the version, the front, and anywhere.
        let mut places = vec![0, 20];
        places.extend((0..5).map(|_| seeded.draw_below(within) as usize));
        for (turn, at) in places.into_iter().enumerate() {
            let place = format!("part {tag:#x}, byte {at} of {}", part.len());
            let disk = changed_disk(|bytes| bytes[part.start + at] ^= 1 << (turn % 8));
            assert!(!is_sound(&disk), "{place}: a check finds nothing");
            assert_heals(&disk, &First::of(turn), &place);
        }
    }
}

#[test]
fn a_file_that_ends_within_a_layer_gives_all_records_and_grows_it_again() {
    for tag in PARTS {
        let part = part_range(tag);
        let places = [part.start + 20, part.start.midpoint(part.end)];
        for (turn, at) in places.into_iter().enumerate() {
            let disk = changed_disk(|bytes| bytes.truncate(at));
            assert_heals(
                &disk,
                &First::of(turn),
                &format!("cut at {at}, in {tag:#x}"),
            );
        }
    }
}

#[test]
fn the_cells_answer_from_the_file_where_the_signs_beside_the_codes_are_rotten() {
    let signs = part_range(SIGNS);
    let disk = changed_disk(|bytes| {
        for byte in bytes[signs].iter_mut().step_by(CHUNK) {
            *byte ^= 1;
        }
    });
    let mut engine = open_on(&disk);
    assert_route(&engine, SearchRoute::Cells, &EXACT, "rotten signs");
    // Once they are needed the index is rebuilt from the log, and its layers grow again.
    assert!(engine.advance_graph(0).unwrap() >= RECORDS);
    drop(engine);
    assert_heals(&disk, &First::Growth, "rotten signs");
}
