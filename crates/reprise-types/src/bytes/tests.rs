//! Every event comes back from its bytes, and bytes that are not one are refused.

use super::*;
use crate::kind::{Credit, FailKind, Revision};
use crate::run::LearningEvent;
use chrono::{DateTime, Utc};

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_771_234_567 + seconds, 890).unwrap()
}

fn query() -> Embedding {
    Embedding {
        space: EmbeddingSpace {
            model: "m".to_owned(),
            version: "1".to_owned(),
            dimensions: 2,
        },
        vector: vec![0.6, -0.8],
    }
}

fn ended_event(query: Option<Embedding>) -> LearningEvent {
    LearningEvent::Ended(Box::new(EndedRun {
        run_id: "run".to_owned(),
        at: at(2),
        recall_id: Some(RecallId::from_u128(u128::MAX)),
        query,
        used: vec![RecordId::from_u128(7), RecordId::from_u128(1 << 100)],
        credit: Credit::Implicit,
        quality: 0.8,
        scored: true,
        fail_kind: Some(FailKind::RateLimit),
        expected: OutcomePrediction {
            baseline: 0.5,
            evidence: -0.1,
            adapter: 0.25,
            adapter_projections: [0.5, -1.0],
        },
    }))
}

fn every_event() -> Vec<LearningEvent> {
    let run_id = "run".to_owned();
    vec![
        LearningEvent::Recalled(RecallReceipt {
            recall_id: RecallId::from_u128(5),
            at: at(0),
            query: Some(query()),
            records: vec![RecordId::from_u128(9)],
        }),
        LearningEvent::Begun {
            run_id: run_id.clone(),
            at: at(1),
            query: None,
            recall_id: None,
            use_is_inferred: true,
        },
        LearningEvent::Stepped {
            run_id: run_id.clone(),
            at: at(1),
            action: "terminal".to_owned(),
            used: vec![RecordId::from_u128(9)],
            result: Some(RecordId::from_u128(11)),
        },
        ended_event(Some(query())),
        ended_event(None),
        LearningEvent::Revised {
            run_id: run_id.clone(),
            at: at(3),
            revision: Revision::Retried,
            quality: 0.4,
        },
        LearningEvent::Withdrawn {
            run_id: run_id.clone(),
            at: at(5),
        },
        LearningEvent::Abandoned { run_id, at: at(4) },
        LearningEvent::AdapterFitted(Box::new(AdapterFit {
            weights: AdapterWeights {
                runs: 300,
                down: vec![1.0, f32::MIN_POSITIVE],
                up: vec![-0.0, 2.0],
                fisher: Vec::new(),
            },
            patterns: vec![RunPattern {
                example_run: "run".to_owned(),
                runs: 3,
                quality: 0.9,
                records: vec![RecordId::from_u128(9)],
                chain: [None, Some(RecordId::from_u128(8))]
                    .map(|result| ChainStep {
                        action: "terminal".to_owned(),
                        result,
                    })
                    .into(),
                centre: vec![-127, 5],
            }],
        })),
        LearningEvent::Switched {
            at: at(5),
            on: true,
        },
        LearningEvent::Reset { at: at(6) },
    ]
}

#[test]
fn every_event_comes_back_and_a_cut_one_does_not() {
    for event in every_event() {
        let mut out = ByteWriter::default();
        let kind = event.encode_body(&mut out);
        let body = out.bytes;
        assert!(LearningEvent::is_known_kind(kind));
        assert_eq!(decode(kind, &body).as_ref(), Some(&event));
        for length in 0..body.len() {
            let cut = decode(kind, &body[..length]);
            assert_eq!(cut, None, "kind {kind} cut at {length}");
        }
    }
}

#[test]
fn counts_that_lie_cost_nothing() {
    let mut body = Vec::new();
    append_varint(&mut body, 3);
    append_varint(&mut body, u64::MAX);
    assert_eq!(decode(13, &body), None);
    assert_eq!(decode(77, &[]), None);
}

fn decode(kind: u8, body: &[u8]) -> Option<LearningEvent> {
    LearningEvent::decode_body(kind, &mut ByteReader::new(body))
}

#[test]
fn a_varint_of_more_than_64_bits_is_refused() {
    let mut bytes = vec![0xff; 9];
    bytes.push(0x02);
    assert_eq!(ByteReader::new(&bytes).read_varint(), None);
}
