//! Segments against a plain map, whole and damaged.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type Plain = BTreeMap<Vec<u8>, BTreeMap<u32, (u16, u8)>>;

/// Number of terms in the head of a document.
fn length(ordinal: u32) -> u8 {
    (ordinal * 7 % 65) as u8
}

fn build_segment(first: u32, end: u32, plain: &Plain) -> Segment {
    let mut builder = SegmentBuilder::new(first, end);
    for (term, documents) in plain {
        builder.start_term(term);
        for (&ordinal, &(count, head)) in documents.range(first..end) {
            builder.add_posting(Posting {
                ordinal,
                count,
                head,
                length: length(ordinal),
            });
        }
    }
    builder.finish()
}

fn read_segment(segment: &Segment, plain: &Plain) -> Plain {
    let mut seen = Plain::new();
    for term in plain.keys() {
        let list = segment.find(term);
        let heads = list.iter().filter(|p| p.head > 0).count();
        assert_eq!(list.counts(), (list.iter().count(), heads));
        for p in list.iter() {
            assert_eq!(p.length, length(p.ordinal));
            seen.entry(term.clone())
                .or_default()
                .insert(p.ordinal, (p.count, p.head));
        }
    }
    seen
}

fn plain_strategy() -> impl Strategy<Value = Plain> {
    let counts = (1_u16..200, 0..=64_u8);
    let counts = counts.prop_map(|(count, head)| (count, head.min(count.min(64) as u8)));
    let many = prop_oneof![3 => 1..30_usize, 1 => 120..400_usize];
    let documents = many.prop_flat_map(move |many| {
        prop::collection::btree_map(0_u32..1_000, counts.clone(), 1..=many)
    });
    prop::collection::btree_map(prop::collection::vec(any::<u8>(), 1..6), documents, 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_goes_in_comes_out(plain in plain_strategy(), cut in 0_u32..1_000) {
        let whole = build_segment(0, 1_000, &plain);
        prop_assert_eq!(&read_segment(&whole, &plain), &plain);
        let reopened = Segment::open(PagedBytes::from_chunk(whole.bytes.bytes(0..whole.size()).to_vec())).unwrap();
        prop_assert_eq!(&read_segment(&reopened, &plain), &plain);
        prop_assert_eq!(whole.find(b"never a term").iter().count(), 0);
        // Seeking single documents, near or far, gives the same postings.
        let part = build_segment(cut / 2, cut, &plain);
        for (term, documents) in &plain {
            for (segment, held) in [(&whole, 0..1_000), (&part, cut / 2..cut)] {
                let list = segment.find(term);
                for step in [1, 7, 190] {
                    let mut postings = list.iter();
                    for ordinal in (0..1_100).step_by(step) {
                        let expected = held.contains(&ordinal) && documents.contains_key(&ordinal);
                        prop_assert_eq!(postings.seek(ordinal), expected, "{}", ordinal);
                        prop_assert_eq!(postings.seek(ordinal), expected, "again {}", ordinal);
                    }
                }
            }
        }
        // Two merged halves equal one build byte for byte.
        let halves = [build_segment(0, cut, &plain), build_segment(cut, 1_000, &plain)];
        let merged = merge_segments(&halves, |_| true);
        prop_assert_eq!(merged.bytes.bytes(0..merged.size()), whole.bytes.bytes(0..whole.size()));
    }

    #[test]
    fn damage_never_panics(
        plain in plain_strategy(), at in any::<prop::sample::Index>(), bit in 0..8_u8, cut in any::<bool>(),
    ) {
        let mut bytes = {
        let segment = build_segment(0, 1_000, &plain);
        segment.bytes.bytes(0..segment.size()).to_vec()
    };
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if cut {
            bytes.truncate(at);
        }
        if let Some(segment) = Segment::open(PagedBytes::from_chunk(bytes)) {
            for term in plain.keys() {
                let sound = |p: Posting| p.ordinal < segment.end && p.head <= 64 && p.length <= 64;
                prop_assert!(segment.find(term).iter().all(sound));
                let list = segment.find(term);
                for step in [1, 300] {
                    let mut postings = list.iter();
                    let held = (0..2_000).step_by(step).filter(|at| postings.seek(*at));
                    prop_assert!(held.count() <= list.counts().0);
                }
            }
        }
    }
}

#[test]
fn a_dropped_document_leaves_no_word_behind() {
    let mut plain = Plain::new();
    plain
        .entry(b"secret".to_vec())
        .or_default()
        .insert(3, (1, 1));
    plain
        .entry(b"shared".to_vec())
        .or_default()
        .extend([(3, (2, 1)), (4, (1, 0))]);
    let merged = merge_segments(&[build_segment(0, 9, &plain)], |ordinal| ordinal != 3);
    assert!(
        !merged
            .bytes
            .bytes(0..merged.size())
            .windows(6)
            .any(|w| w == b"secret")
    );
    assert_eq!(
        merged
            .find(b"shared")
            .iter()
            .map(|p| p.ordinal)
            .collect::<Vec<_>>(),
        [4]
    );
}
