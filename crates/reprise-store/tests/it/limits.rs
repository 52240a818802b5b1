//! Tests of limits: what is accepted can be read back, and what a file claims costs no more than
//! what is there.

use reprise_simulation as testing;
use reprise_simulation::SimDisk;
use reprise_store::{StoreError, Verify, list_segments};

use crate::damage::disk_with;
use crate::{open, open_readonly, record};

const MIB: usize = 1024 * 1024;

#[test]
fn the_longest_record_that_is_accepted_can_be_read_now_and_after_a_compaction() {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    let small = |seed| record(seed, &"a small text ".repeat(30));
    let mut accepted = Vec::new();
    // Between these lengths is the longest one.
    for less in (0..400).step_by(8) {
        let text = "x".repeat(64 * MIB - less);
        let entries = [small(1), small(2), record(3, &text)];
        match log.append(&entries[2..]) {
            Ok(receipt) => accepted.push((receipt.first_ordinal, text.len())),
            Err(error) => assert!(
                matches!(error, StoreError::CommitTooLarge { .. }),
                "{error}"
            ),
        }
        if accepted.len() == 2 {
            break;
        }
        log.append(&entries[..2]).unwrap();
    }
    assert_eq!(accepted.len(), 2);
    let done = log.start_compaction().unwrap()().unwrap();
    let packed = log.finish_compaction(done).unwrap();
    assert_eq!(packed.records, log.record_count());
    drop(log);
    let opened = open(&disk, Verify::Everything);
    assert!(opened.report.is_whole(), "{:?}", opened.report);
    for ordinal in 0..opened.log.record_count() {
        let read = opened.log.reader().read_record(ordinal).unwrap();
        let known = accepted.iter().find(|(long, _)| *long == ordinal);
        assert!(known.is_none_or(|(_, length)| *length == read.text.len()));
    }
}

/// Builds a file of three commits, the second of which is so many bytes and is overwritten with
/// headers, each of which claims the rest of the file. `preamble` follows each of them.
fn file_with_headers(claimed: usize, preamble: &[u8]) -> Vec<u8> {
    let disk = SimDisk::new();
    let mut log = open(&disk, Verify::Tail).log;
    log.append(&[record(1, "one")]).unwrap();
    // Numbers that do not compress.
    let mut seed = 7;
    let noise = |_| {
        seed = testing::mix_hash(seed);
        format!("{seed:x}")
    };
    let noise: String = (0..claimed / 8).map(noise).collect();
    log.append(&[record(2, &noise)]).unwrap();
    log.append(&[record(3, "three")]).unwrap();
    drop(log);
    let mut bytes = disk.file_bytes(&testing::log_path()).unwrap();
    let segments = list_segments(&disk, &testing::log_path()).unwrap();
    let commits: Vec<_> = segments.iter().filter(|s| s.name == "commit").collect();
    let from = commits[1].offset as usize;
    let until = (commits[1].offset + commits[1].bytes) as usize;
    let step = 64 + preamble.len().next_multiple_of(64);
    for at in (from..until - step).step_by(step) {
        let size = (bytes.len() - at - 64) as u64;
        let header = bytes[at..at + 64].as_mut();
        header.fill(0);
        header[..6].copy_from_slice(b"SFVR\x01\x40");
        header[8..16].copy_from_slice(&(at as u64 / 64 + 1).to_le_bytes());
        header[0x10..0x18].copy_from_slice(&size.to_le_bytes());
        header[0x20] = 1;
        bytes[at + 64..at + 64 + preamble.len()].copy_from_slice(preamble);
    }
    bytes
}

#[test]
fn headers_that_claim_the_rest_of_the_file_hide_nothing() {
    let bytes = file_with_headers(4 * MIB, &[]);
    for verify in [Verify::Tail, Verify::Everything] {
        let opened = open_readonly(&disk_with(&bytes), verify).unwrap();
        assert_eq!(opened.report.missing_records, [(1, 1)]);
        let last = opened.log.reader().read_record(2).unwrap();
        assert_eq!(last.text, "three");
    }
}

#[test]
fn more_headers_of_ours_than_fit_are_refused_and_the_file_is_left_as_it_is() {
    let bytes = file_with_headers(64, &[]);
    // The preamble of the first commit, which has the file's id.
    let commit = list_segments(&disk_with(&bytes), &testing::log_path()).unwrap();
    let commit = commit.iter().find(|s| s.name == "commit").unwrap();
    let at = commit.offset as usize + 64;
    let preamble = bytes[at..at + 32].to_vec();
    let bytes = file_with_headers(4 * MIB, &preamble);
    for verify in [Verify::Tail, Verify::Everything] {
        let disk = disk_with(&bytes);
        let error = testing::open_log(&disk, verify).unwrap_err();
        assert!(error.to_string().contains("claim"), "{error}");
        assert_eq!(disk.file_bytes(&testing::log_path()), Some(bytes.clone()));
    }
}
