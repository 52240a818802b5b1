//! Every record comes back from its bytes, and bytes that are not a record are refused.

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use reprise_types::{
    ContentHash, EmbeddingSpace, Evidence, ExternalId, MemoryKind, MemoryRecord, MemorySource,
    Provenance, RecordBody, RecordId, Retention, Visibility,
};
use serde_json::json;

use reprise_types::{BinaryCodec, append_signed, append_varint};

use super::*;

fn any_instant() -> impl Strategy<Value = DateTime<Utc>> {
    (-62_135_596_800i64..253_402_300_799, 0u32..1_000_000_000)
        .prop_map(|(seconds, nanos)| DateTime::from_timestamp(seconds, nanos).unwrap())
}

fn any_space() -> impl Strategy<Value = Option<EmbeddingSpace>> {
    proptest::option::of(
        ("[a-z]{1,8}", "[a-z0-9]{1,4}").prop_map(|(model, version)| EmbeddingSpace {
            model,
            version,
            dimensions: 3,
        }),
    )
}

prop_compose! {
    fn any_record()(
        (id, hash, derived) in (any::<u128>(), any::<u128>(), any::<bool>()),
        text in ".{0,200}",
        (kind, source, visibility) in (1u8..=4, 1u8..=5, 1u8..=4),
        retention in prop_oneof![
            Just(Retention::Normal),
            Just(Retention::Pinned),
            any::<u32>().prop_map(|ttl_seconds| Retention::Scratch { ttl_seconds }),
        ],
        (timestamp, known_at) in (any_instant(), any_instant()),
        (quality_score, confidence) in (
            proptest::option::of(0f32..=1.0), proptest::option::of(0f32..=1.0)),
        evidence in proptest::option::of(1u8..=5),
        supersedes in proptest::option::of(any::<u128>()),
        (number, note) in (any::<f64>(), ".{0,20}"),
        (with_metadata, with_details) in (any::<bool>(), any::<bool>()),
        ids in proptest::collection::vec(("[a-z]{1,5}", ".{0,12}"), 0..4),
        (session_id, run_id, actor_id) in (
            ".{0,9}", proptest::option::of(".{0,9}"), proptest::option::of(".{0,9}")),
        (source_refs, tags) in (
            proptest::collection::vec(".{0,9}", 0..4), proptest::collection::vec(".{0,9}", 0..4)),
        space in any_space(),
    ) -> MemoryRecord {
        let object = json!({ "note": note, "deep": [number, { "k": null }] });
        MemoryRecord {
            id: RecordId::from_u128(id),
            content_hash: ContentHash(if derived {
                xxhash_rust::xxh3::xxh3_128(text.as_bytes())
            } else {
                hash
            }),
            timestamp,
            known_at,
            embedding: if space.is_some() { vec![0.0, 0.6, -0.8] } else { Vec::new() },
            embedding_space: space,
            body: RecordBody {
                text,
                source: MemorySource::from_number(source).unwrap(),
                kind: MemoryKind::from_number(kind).unwrap(),
                quality_score,
                session_id,
                metadata: if with_metadata {
                    object.as_object().cloned().unwrap()
                } else {
                    serde_json::Map::new()
                },
                external_ids: ids.into_iter().map(|(n, i)| ExternalId::new(n, i)).collect(),
                tags,
                confidence,
                evidence: evidence.and_then(Evidence::from_number),
                visibility: Visibility::from_number(visibility).unwrap(),
                retention,
                supersedes: supersedes.map(RecordId::from_u128),
                provenance: Provenance { run_id, actor_id, source_refs },
                details: with_details.then_some(object),
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_record_comes_back(record in any_record()) {
        let entry = StoreEntry::Record(Box::new(record));
        for dimensions in [3, 4] {
            let entries = encode(&entry, dimensions);
            prop_assert_eq!(again(&entries[0]), Some(entries[0].clone()));
            let known = entries[0].to_store_entry(Some(0));
            let is_own = entries.len() == 1;
            let StoreEntry::Record(record) = &entry else { unreachable!() };
            prop_assert_eq!(is_own, dimensions == 3 || record.embedding.is_empty());
            prop_assert_eq!(known.as_ref() == Some(&entry), is_own);
        }
    }

    #[test]
    fn a_record_that_is_cut_or_changed_never_panics(
        record in any_record(), cut in 0usize..400, flip in any::<(u16, u8)>()
    ) {
        let encoded = encode(&StoreEntry::Record(Box::new(record)), 3).remove(0);
        let mut rest = encoded.rest().to_vec();
        let whole = decode_record(&rest);
        let short = &rest[..cut.min(rest.len() - 1)];
        prop_assert_ne!(decode_record(short), whole);
        let at = usize::from(flip.0) % rest.len();
        rest[at] ^= flip.1;
        let mut body = encoded.body.clone();
        let at = usize::from(flip.0) % body.len();
        body[at] ^= flip.1;
        let _ = (decode_record(&rest), EncodedEntry::decode(encoded.kind, &body));
    }

    #[test]
    fn a_late_vector_replaces_the_mark_and_nothing_else(record in any_record()) {
        let mark = VectorMark {
            checksum: 5,
            space: EmbeddingSpace { model: "m".into(), version: "2".into(), dimensions: 3 },
        };
        let encoded = encode(&StoreEntry::Record(Box::new(record)), 3).remove(0);
        let mut marked = Vec::new();
        let vector = Some((mark.clone(), vec![0; 12]));
        push_record(&mut marked, encoded.rest(), 0, vector, 3);
        prop_assert_eq!(marked[0].vector_mark(), Some(&mark));
        prop_assert_eq!(marked[0].rest(), encoded.rest());
        let decoded = again(&marked[0]).unwrap();
        prop_assert_eq!(decoded.rest(), encoded.rest());
    }
}

fn encode(entry: &StoreEntry, dimensions: u16) -> Vec<EncodedEntry> {
    let mut entries = Vec::new();
    encode_entry(&mut entries, entry, 0, dimensions);
    entries
}

/// Decodes the bytes of an entry, with its vector.
fn again(entry: &EncodedEntry) -> Option<EncodedEntry> {
    let decoded = EncodedEntry::decode(entry.kind, &entry.body)?;
    let vector = entry.vector.clone();
    Some(EncodedEntry { vector, ..decoded })
}

#[test]
fn the_other_kinds_come_back() {
    let at = DateTime::from_timestamp(1_771_234_567, 890).unwrap();
    let space = EmbeddingSpace {
        model: "m".into(),
        version: "1".into(),
        dimensions: 2,
    };
    for entry in [
        StoreEntry::Embedded {
            ordinal: 300,
            space,
            vector: vec![0.6, 0.8],
        },
        StoreEntry::Forgotten {
            ordinal: 1,
            tombstone: Tombstone {
                id: RecordId::from_u128(9),
                at,
                reason: "asked to".into(),
                content_hash: ContentHash(4),
                keys: vec![1, u128::MAX],
            },
        },
        StoreEntry::Cursor {
            stream: "events".into(),
            seq: u64::MAX,
        },
        StoreEntry::Superseded {
            id: RecordId::from_u128(9),
            at,
        },
        StoreEntry::from_annotation(7, at, Annotation::Seen { count: 3 }),
        StoreEntry::Learning(Box::new(LearningEvent::Reset { at })),
    ] {
        let encoded = encode(&entry, 2).remove(0);
        let decoded = again(&encoded).unwrap();
        assert_eq!(decoded, encoded);
        assert_eq!(decoded.to_store_entry(None), Some(entry));
    }
    assert!(encode(&StoreEntry::Lost { ordinal: 0 }, 2).is_empty());
}

#[test]
fn a_vector_of_another_width_stands_in_its_entry_and_is_proved_there() {
    let space = EmbeddingSpace {
        model: "m".into(),
        version: "1".into(),
        dimensions: 2,
    };
    let entry = StoreEntry::Embedded {
        ordinal: 300,
        space,
        vector: vec![0.6, 0.8],
    };
    let encoded = encode(&entry, 3).remove(0);
    assert!(encoded.vector.is_none() && encoded.vector_mark().is_none());
    let decoded = again(&encoded).unwrap();
    assert_eq!(decoded.to_store_entry(None), Some(entry));
    let decode = |body: &[u8]| EncodedEntry::decode(encoded.kind, body);
    for at in 0..encoded.body.len() {
        assert_eq!(decode(&encoded.body[..at]), None, "cut to {at}");
    }
    let mut changed = encoded.body.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(decode(&changed), None);
}

#[test]
fn a_later_kind_is_unknown_and_takes_no_ordinal() {
    let entry = EncodedEntry::decode(77, &[1, 2, 3]).unwrap();
    assert_eq!((&entry.outline, entry.body.len()), (&None, 3));
    assert!(!entry.has_ordinal() && entry.vector_mark().is_none());
    assert_eq!(entry.to_store_entry(None), None);
}

proptest! {
    #[test]
    fn numbers_come_back(value: u64, signed: i64, text: String) {
        let mut out = ByteWriter::default();
        append_varint(&mut out.bytes, value);
        append_signed(&mut out.bytes, signed);
        text.encode(&mut out);
        let out = out.bytes;
        let mut reader = ByteReader::new(&out);
        prop_assert_eq!(reader.read_varint(), Some(value));
        prop_assert_eq!(reader.read_signed(), Some(signed));
        prop_assert_eq!(reader.read_value::<String>(), Some(text));
        prop_assert!(reader.is_empty());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        let mut reader = ByteReader::new(&bytes);
        let before = reader.remaining();
        let _ = (reader.read_varint(), reader.read_value::<String>(), reader.read_u128(), reader.read_signed());
        prop_assert!(reader.remaining() <= before);
    }
}
