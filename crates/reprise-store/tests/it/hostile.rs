//! Files whose segments stand in other places than they were written for, and files whose numbers
//! are wrong although every checksum is right: nothing panics, and what is wrong is reported.

use std::panic::{AssertUnwindSafe, catch_unwind};

use reprise_simulation as testing;
use reprise_simulation::{SimDisk, WorkloadStep};
use reprise_store::{CommitSeq, SegmentInfo, Verify, list_segments};
use reprise_types::VectorStore as _;

use crate::damage::{count_true_records, disk_with, sample_file};
use crate::{open_readonly, record};

const HEADER: usize = 64;
/// Bytes of a commit's payload before its first block.
const COMMIT_HEAD: usize = 80;
/// Most bytes of a payload whose numbers are changed, from its start and from its end.
const TRIED: usize = 112;

fn segments_of(bytes: &[u8]) -> Vec<SegmentInfo> {
    list_segments(&disk_with(bytes), &testing::log_path()).unwrap()
}

/// Does all that can be done with a log, and ignores what is refused.
fn use_everything(disk: &SimDisk) {
    drop(list_segments(disk, &testing::log_path()));
    if let Ok(opened) = open_readonly(disk, Verify::Everything) {
        drop(opened.log.reader().scrub());
    }
    let Ok(mut opened) = testing::open_log(disk, Verify::Tail) else {
        return;
    };
    let log = &mut opened.log;
    let reader = log.reader();
    for ordinal in 0..log.record_count().min(200) {
        drop(reader.read_record(ordinal));
        let _ = reader.copy_vector(ordinal, &mut [0.0; 4]);
    }
    let _ = log.stats();
    drop(log.replay(CommitSeq(0), &mut |_, _| {}));
    drop(log.append(&[record(88, "after the change")]));
    for step in [
        WorkloadStep::Checkpoint,
        WorkloadStep::Compact(vec![record(89, "while it is packed")]),
        WorkloadStep::Checkpoint,
    ] {
        drop(testing::apply_step(log, &step));
    }
    drop(opened);
    drop(open_readonly(disk, Verify::Everything));
}

/// Returns the places at which using a changed file panics.
fn find_panics(cases: impl Iterator<Item = (String, Vec<u8>)>) -> Vec<String> {
    cases
        .filter_map(|(place, bytes)| {
            let used = catch_unwind(AssertUnwindSafe(|| use_everything(&disk_with(&bytes))));
            used.is_err().then_some(place)
        })
        .collect()
}

/// Every segment moved to every other place, every two swapped, and the end copied to the front.
fn rearranged_files(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let segments = segments_of(bytes);
    let range = |at: usize| {
        let start = segments[at].offset as usize;
        start..start + segments[at].bytes as usize
    };
    let join = |order: &[usize]| -> Vec<u8> {
        order
            .iter()
            .flat_map(|at| bytes[range(*at)].to_vec())
            .collect()
    };
    let all: Vec<usize> = (0..segments.len()).collect();
    let mut out = Vec::new();
    for from in 1..segments.len() {
        for to in 1..segments.len() {
            if from < to {
                let mut order = all.clone();
                order.swap(from, to);
                out.push((format!("{from} and {to} swapped"), join(&order)));
            }
            if from != to {
                let mut order = all.clone();
                order.insert(to, from);
                out.push((format!("a copy of {from} at {to}"), join(&order)));
            }
        }
    }
    for tail in (64..=1024.min(bytes.len() - 192)).step_by(64) {
        for head in [64, 128, 192] {
            let tail_bytes = &bytes[bytes.len() - tail..];
            let moved = [&bytes[..head], tail_bytes, &bytes[head..]].concat();
            out.push((format!("the last {tail} bytes at {head}"), moved));
        }
    }
    out
}

#[test]
fn segments_in_other_places_cause_no_panic_and_are_told() {
    for closed in [true, false] {
        let (bytes, model) = sample_file(closed);
        let cases = rearranged_files(&bytes);
        assert!(cases.len() > 200, "{}", cases.len());
        let panics = find_panics(cases.iter().cloned());
        assert!(panics.is_empty(), "{} panic: {panics:?}", panics.len());
        for (place, bad) in cases {
            let disk = disk_with(&bad);
            let Ok(opened) = open_readonly(&disk, Verify::Everything) else {
                continue;
            };
            let report = &opened.report;
            let told = !report.is_whole() || report.torn_bytes > 0;
            assert!(told || bad == bytes, "{place}: not noticed");
            count_true_records(&opened.log, &model, &place);
        }
    }
}

#[test]
fn a_manifest_in_another_place_is_told_and_a_compaction_removes_it() {
    let (bytes, model) = sample_file(true);
    let tail = &bytes[bytes.len() - 256..];
    let disk = disk_with(&[&bytes[..128], tail, &bytes[128..]].concat());
    let mut opened = testing::open_log(&disk, Verify::Everything).unwrap();
    assert!(!opened.report.is_whole());
    assert_eq!(
        count_true_records(&opened.log, &model, "a manifest in front"),
        0
    );
    testing::apply_step(&mut opened.log, &WorkloadStep::Compact(Vec::new())).unwrap();
    drop(opened);
    let opened = open_readonly(&disk, Verify::Everything).unwrap();
    assert!(opened.report.is_whole(), "{:?}", opened.report);
    assert_eq!(count_true_records(&opened.log, &model, "compacted"), 0);
}

/// Writes the checksums anew of the segment at `offset`, and of its blocks if it is a commit.
fn rehash(bytes: &mut [u8], segment: &SegmentInfo) {
    let start = segment.offset as usize;
    let size: [u8; 8] = bytes[start + 0x10..start + 0x18].try_into().unwrap();
    let payload = start + HEADER..start + HEADER + u64::from_le_bytes(size) as usize;
    if segment.name == "commit" {
        let mut at = payload.start + COMMIT_HEAD;
        while at + 20 <= payload.end {
            let stored: [u8; 4] = bytes[at + 8..at + 12].try_into().unwrap();
            let end = at + 20 + u32::from_le_bytes(stored) as usize;
            if end > payload.end {
                break;
            }
            let check = xxhash_rust::xxh3::xxh3_64(&bytes[at + 8..end]);
            bytes[at..at + 8].copy_from_slice(&check.to_le_bytes());
            at = end;
        }
    }
    let hash = rvf_wire::hash::compute_content_hash(1, &bytes[payload]);
    bytes[start + 0x28..start + 0x38].copy_from_slice(&hash);
}

/// The file with each number of a segment's payload replaced, and the checksums right.
fn renumbered_files(bytes: &[u8], segment: &SegmentInfo) -> Vec<(String, Vec<u8>)> {
    let start = segment.offset as usize + HEADER;
    let end = segment.offset as usize + segment.bytes as usize;
    let (front, back) = (start + TRIED, end.saturating_sub(TRIED));
    let mut out = Vec::new();
    for at in (start..end).filter(|at| *at < front || *at >= back) {
        let size = bytes.len() as u64;
        for (width, number) in [
            (8, u64::MAX),
            (8, size - 64),
            (4, u64::from(u32::MAX)),
            (1, 0xff),
        ] {
            if at + width > end {
                continue;
            }
            let mut bad = bytes.to_vec();
            bad[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
            if bad == bytes {
                continue;
            }
            rehash(&mut bad, segment);
            let place = format!("{} + {}: {number:#x}", segment.name, at - start);
            out.push((place, bad));
        }
    }
    out
}

#[test]
fn wrong_numbers_under_right_checksums_cause_no_panic() {
    let (bytes, _) = sample_file(true);
    let segments = segments_of(&bytes);
    let mut panics = Vec::new();
    for name in [
        "file",
        "vectors",
        "commit",
        "pages",
        "rvf-manifest",
        "manifest",
    ] {
        let segment = segments.iter().rfind(|s| s.name == name).unwrap();
        panics.extend(find_panics(renumbered_files(&bytes, segment).into_iter()));
    }
    assert!(panics.is_empty(), "{} panic: {panics:?}", panics.len());
}
