//! Bytes of the layers rot, and files end within one: answers are right or say what they lack, a
//! check tells of it, and the layers are made anew.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use reprise_index::{PART_CELLS, PART_CODES, PART_GRAPH};
use reprise_simulation::SimDisk;
use reprise_store::inspect;
use reprise_tests::Seeded;
use reprise_types::SearchTier;

use crate::{
    Answers, FILE, LEFT_MAX, NUMBERS, RECORDS, SESSION, answers, assert_tier, exact, forget, grow,
    is_sound, keep, numbers, on, share,
};

/// The codes, from which the layers are made, and the layers.
const PARTS: [u8; 3] = [PART_CODES, PART_GRAPH, PART_CELLS];
/// Bytes of a segment's header, and of what stands behind its content.
const HEADER: usize = 64;
const TRAILER: usize = 32;
/// Documents whose signs stand in one page.
const CHUNK: usize = 256;
/// The session that is forgotten.
const GONE: usize = 7;

/// The file of a memory that has every layer, with something forgotten that no purge has taken out.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let disk = SimDisk::new();
    let mut engine = on(&disk);
    keep(&mut engine, 0..RECORDS).unwrap();
    grow(&mut engine).unwrap();
    forget(&mut engine, GONE).unwrap();
    engine.close().unwrap();
    disk.bytes(Path::new(FILE)).unwrap()
});

static EXACT: LazyLock<Answers> =
    LazyLock::new(|| exact(Arc::new(changed(|_| {})), Path::new(FILE)));

/// A disk with that file after a change.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
    let mut bytes = WHOLE.clone();
    change(&mut bytes);
    let disk = SimDisk::new();
    disk.put(Path::new(FILE), bytes);
    disk
}

/// Where the newest part with this tag stands in a file, if it has one.
fn part_of(disk: &SimDisk, tag: u8) -> Option<Range<usize>> {
    let segments = inspect(disk, Path::new(FILE)).unwrap();
    let found = segments.iter().rfind(|part| part.segment_type == tag)?;
    let from = found.offset as usize;
    Some(from..from + found.bytes as usize)
}

fn part(tag: u8) -> Range<usize> {
    part_of(&changed(|_| {}), tag).unwrap()
}

/// What a memory comes to first after it was opened.
#[derive(PartialEq, Eq)]
enum First {
    Growth,
    Compaction,
}

impl First {
    /// One in turn.
    fn of(turn: usize) -> Self {
        if turn.is_multiple_of(2) {
            Self::Growth
        } else {
            Self::Compaction
        }
    }
}

/// Whatever was lost of them, the layers are whole in the end, and so is the file.
fn heals(disk: &SimDisk, first: &First, place: &str) {
    let mut engine = on(disk);
    let there = numbers(&engine);
    let expected = (0..RECORDS).filter(|number| number / SESSION != GONE);
    assert!(there.into_iter().eq(expected), "{place}");
    let said = answers(&engine);
    let found = share(&said, &EXACT);
    assert!(said.is_damaged || found >= 0.5, "{place}: {found}");
    if *first == First::Compaction {
        engine.compact().unwrap();
    }
    grow(&mut engine).unwrap();
    assert_tier(&engine, SearchTier::LayerC, &EXACT, place);
    if *first == First::Growth {
        engine.compact().unwrap();
    }
    engine.close().unwrap();
    for tag in PARTS {
        assert!(part_of(disk, tag).is_some(), "{place}: no part {tag:#x}");
    }
    let mut engine = on(disk);
    assert_tier(&engine, SearchTier::LayerA, &EXACT, place);
    let left = engine.advance_graph(0).unwrap();
    assert!(left <= LEFT_MAX, "{place}: {left} to grow again");
    assert_tier(&engine, SearchTier::LayerC, &EXACT, place);
    drop(engine);
    assert!(is_sound(disk), "{place}: a check finds something");
}

#[test]
fn whatever_byte_of_a_layer_rots_is_noticed_and_the_layer_is_made_anew() {
    let mut seeded = Seeded::new(0x5eed_0007);
    for tag in PARTS {
        let part = part(tag);
        let within = (part.len() - HEADER - TRAILER) as u64;
        // In the header, the version, the front, and anywhere.
        let mut places = vec![8, HEADER, HEADER + 20];
        places.extend((0..5).map(|_| HEADER + seeded.below(within) as usize));
        for (turn, at) in places.into_iter().enumerate() {
            let place = format!("part {tag:#x}, byte {at} of {}", part.len());
            let disk = changed(|bytes| bytes[part.start + at] ^= 1 << (turn % 8));
            assert!(!is_sound(&disk), "{place}: a check finds nothing");
            heals(&disk, &First::of(turn), &place);
        }
    }
}

#[test]
fn a_file_that_ends_within_a_layer_gives_all_records_and_grows_it_again() {
    for tag in PARTS {
        let part = part(tag);
        let places = [part.start + HEADER + 20, part.start.midpoint(part.end)];
        for (turn, at) in places.into_iter().enumerate() {
            let disk = changed(|bytes| bytes.truncate(at));
            heals(
                &disk,
                &First::of(turn),
                &format!("cut at {at}, in {tag:#x}"),
            );
        }
    }
}

#[test]
fn the_cells_answer_from_the_file_where_the_signs_beside_the_codes_are_rotten() {
    let codes = part(PART_CODES);
    let disk = changed(|bytes| {
        let sizes = bytes[codes.start + 16..].first_chunk().unwrap();
        let end = codes.start + HEADER + u64::from_le_bytes(*sizes) as usize - TRAILER;
        // The rows, each with its scale, stand at the end, and the signs before them.
        let rows = end - RECORDS * (NUMBERS + 4);
        let signs = rows - RECORDS.div_ceil(CHUNK) * CHUNK * NUMBERS / 8;
        for byte in bytes[signs..rows].iter_mut().step_by(CHUNK) {
            *byte ^= 1;
        }
    });
    let mut engine = on(&disk);
    assert_tier(&engine, SearchTier::LayerA, &EXACT, "rotten signs");
    // Once they are asked for the index is made from the log, and its layers grow again.
    assert!(engine.advance_graph(0).unwrap() >= RECORDS);
    drop(engine);
    heals(&disk, &First::Growth, "rotten signs");
}
