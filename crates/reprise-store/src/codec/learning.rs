//! The bytes of learning events: kinds 7 to 15, and 21.
//!
//! Their vectors are not records' vectors: they are stored in the body, not in `VEC_SEG`.

use chrono::{DateTime, Utc};
use reprise_types::{
    AdapterWeights, ChainStep, Consolidation, Credit, Embedding, EndedRun, Expected, FailKind,
    LearningEvent, RecallId, Receipt, RecordId, Revision, RunPattern,
};

use super::fields::{instant, put_instant, put_space, space};
use crate::bytes::{ByteReader, put_bytes, put_varint};

const RECALLED: u8 = 7;
const BEGUN: u8 = 8;
const STEPPED: u8 = 9;
const ENDED: u8 = 10;
const REVISED: u8 = 11;
const ABANDONED: u8 = 12;
const CONSOLIDATED: u8 = 13;
const SWITCHED: u8 = 14;
const RESET: u8 = 15;
const WITHDRAWN: u8 = 21;

/// Whether a kind is one of learning's.
pub(super) fn knows(kind: u8) -> bool {
    (RECALLED..=RESET).contains(&kind) || kind == WITHDRAWN
}

/// Writes the body and returns the kind; `None` for an event that this version cannot write.
pub(super) fn put(out: &mut Vec<u8>, event: &LearningEvent) -> Option<u8> {
    Some(match event {
        LearningEvent::Recalled(receipt) => {
            out.extend_from_slice(&receipt.recall_id.to_u128().to_le_bytes());
            put_instant(out, receipt.at);
            put_query(out, receipt.query.as_ref());
            put_records(out, &receipt.records);
            RECALLED
        }
        LearningEvent::Begun {
            run_id,
            at,
            query,
            recall_id,
            overheard,
        } => {
            put_named(out, run_id, *at);
            put_query(out, query.as_ref());
            put_recall(out, *recall_id);
            out.extend(overheard.then_some(1));
            BEGUN
        }
        LearningEvent::Stepped {
            run_id,
            at,
            action,
            used,
            result,
        } => {
            put_named(out, run_id, *at);
            put_bytes(out, action.as_bytes());
            put_records(out, used);
            out.extend(result.iter().flat_map(|id| id.to_u128().to_le_bytes()));
            STEPPED
        }
        LearningEvent::Ended(ended) => {
            put_ended(out, ended);
            ENDED
        }
        LearningEvent::Revised {
            run_id,
            at,
            revision,
            quality,
        } => {
            put_named(out, run_id, *at);
            out.push(revision.number());
            out.extend_from_slice(&quality.to_le_bytes());
            REVISED
        }
        LearningEvent::Abandoned { run_id, at } => {
            put_named(out, run_id, *at);
            ABANDONED
        }
        LearningEvent::Withdrawn { run_id, at } => {
            put_named(out, run_id, *at);
            WITHDRAWN
        }
        LearningEvent::Consolidated(done) => {
            let weights = &done.weights;
            put_varint(out, weights.runs);
            for numbers in [&weights.down, &weights.up, &weights.fisher] {
                put_numbers(out, numbers);
            }
            if !done.patterns.is_empty() {
                put_patterns(out, &done.patterns);
            }
            CONSOLIDATED
        }
        LearningEvent::Switched { at, on } => {
            put_instant(out, *at);
            out.push(u8::from(*on));
            SWITCHED
        }
        LearningEvent::Reset { at } => {
            put_instant(out, *at);
            RESET
        }
        _ => return None,
    })
}

fn put_named(out: &mut Vec<u8>, run_id: &str, at: DateTime<Utc>) {
    put_bytes(out, run_id.as_bytes());
    put_instant(out, at);
}

/// The event of a body; `None` for malformed bytes.
pub(super) fn decode(kind: u8, body: &[u8]) -> Option<LearningEvent> {
    let mut reader = ByteReader::new(body);
    let r = &mut reader;
    let event = match kind {
        RECALLED => LearningEvent::Recalled(Receipt {
            recall_id: RecallId::from_u128(r.u128()?),
            at: instant(r)?,
            query: query(r)?,
            records: records(r)?,
        }),
        BEGUN => LearningEvent::Begun {
            run_id: r.string()?,
            at: instant(r)?,
            query: query(r)?,
            recall_id: recall(r)?,
            // Older entries end here, as do the steps and the fits below.
            overheard: r.remaining() > 0 && r.u8()? != 0,
        },
        STEPPED => LearningEvent::Stepped {
            run_id: r.string()?,
            at: instant(r)?,
            action: r.string()?,
            used: records(r)?,
            result: match r.remaining() {
                0 => None,
                _ => Some(RecordId::from_u128(r.u128()?)),
            },
        },
        ENDED => LearningEvent::Ended(Box::new(ended(r)?)),
        REVISED => LearningEvent::Revised {
            run_id: r.string()?,
            at: instant(r)?,
            revision: Revision::from_number(r.u8()?)?,
            quality: r.f32()?,
        },
        WITHDRAWN => LearningEvent::Withdrawn {
            run_id: r.string()?,
            at: instant(r)?,
        },
        ABANDONED => LearningEvent::Abandoned {
            run_id: r.string()?,
            at: instant(r)?,
        },
        CONSOLIDATED => LearningEvent::Consolidated(Box::new(Consolidation {
            weights: AdapterWeights {
                runs: r.varint()?,
                down: numbers(r)?,
                up: numbers(r)?,
                fisher: numbers(r)?,
            },
            patterns: match r.remaining() {
                0 => Vec::new(),
                _ => patterns(r)?,
            },
        })),
        SWITCHED => LearningEvent::Switched {
            at: instant(r)?,
            on: r.u8()? != 0,
        },
        RESET => LearningEvent::Reset { at: instant(r)? },
        _ => return None,
    };
    Some(event)
}

/// Bits of an ended run: its quality was given, and
const SCORED: u8 = 1;
/// two numbers for the adapter's step follow at the end.
const ALONG: u8 = 2;

fn put_ended(out: &mut Vec<u8>, ended: &EndedRun) {
    put_bytes(out, ended.run_id.as_bytes());
    put_instant(out, ended.at);
    put_recall(out, ended.recall_id);
    put_query(out, ended.query.as_ref());
    put_records(out, &ended.used);
    out.push(ended.credit.number());
    let Expected {
        baseline,
        evidence,
        adapter,
        along,
    } = ended.expected;
    let steps = along.iter().any(|number| *number != 0.0);
    out.push(if ended.scored { SCORED } else { 0 } | if steps { ALONG } else { 0 });
    out.push(ended.fail_kind.map_or(0, FailKind::number));
    for number in [ended.quality, baseline, evidence, adapter] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    if steps {
        for number in along {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

fn ended(r: &mut ByteReader<'_>) -> Option<EndedRun> {
    let (run_id, at, recall_id) = (r.string()?, instant(r)?, recall(r)?);
    let (query, used) = (query(r)?, records(r)?);
    let (credit, bits) = (Credit::from_number(r.u8()?)?, r.u8()?);
    Some(EndedRun {
        run_id,
        at,
        recall_id,
        query,
        used,
        credit,
        scored: bits & SCORED != 0,
        fail_kind: match r.u8()? {
            0 => None,
            number => Some(FailKind::from_number(number)?),
        },
        quality: r.f32()?,
        expected: Expected {
            baseline: r.f32()?,
            evidence: r.f32()?,
            adapter: r.f32()?,
            along: match bits & ALONG {
                0 => [0.0; 2],
                _ => [r.f32()?, r.f32()?],
            },
        },
    })
}

fn put_patterns(out: &mut Vec<u8>, patterns: &[RunPattern]) {
    put_varint(out, patterns.len() as u64);
    for pattern in patterns {
        put_bytes(out, pattern.example_run.as_bytes());
        put_varint(out, pattern.runs as u64);
        out.extend_from_slice(&pattern.quality.to_le_bytes());
        put_records(out, &pattern.records);
        put_varint(out, pattern.chain.len() as u64);
        for step in &pattern.chain {
            put_bytes(out, step.action.as_bytes());
            put_records(out, step.result.as_slice());
        }
        let centre: Vec<u8> = pattern.centre.iter().map(|x| x.cast_unsigned()).collect();
        put_bytes(out, &centre);
    }
}

fn patterns(r: &mut ByteReader<'_>) -> Option<Vec<RunPattern>> {
    let count = r.varint()?;
    if count > r.remaining() as u64 {
        return None;
    }
    let one = |_| {
        Some(RunPattern {
            example_run: r.string()?,
            runs: usize::try_from(r.varint()?).ok()?,
            quality: r.f32()?,
            records: records(r)?,
            chain: chain(r)?,
            centre: r.bytes()?.iter().map(|x| x.cast_signed()).collect(),
        })
    };
    (0..count).map(one).collect()
}

fn chain(r: &mut ByteReader<'_>) -> Option<Vec<ChainStep>> {
    let count = r.varint()?;
    if count > r.remaining() as u64 {
        return None;
    }
    let step = |_| {
        Some(ChainStep {
            action: r.string()?,
            result: records(r)?.first().copied(),
        })
    };
    (0..count).map(step).collect()
}

fn put_query(out: &mut Vec<u8>, query: Option<&Embedding>) {
    out.push(u8::from(query.is_some()));
    if let Some(query) = query {
        put_space(out, &query.space);
        put_numbers(out, &query.vector);
    }
}

#[expect(
    clippy::option_option,
    reason = "absent and malformed are two things, and `?` tells them apart"
)]
fn query(r: &mut ByteReader<'_>) -> Option<Option<Embedding>> {
    if r.u8()? == 0 {
        return Some(None);
    }
    let (space, vector) = (space(r)?, numbers(r)?);
    Some(Some(Embedding { space, vector }))
}

fn put_recall(out: &mut Vec<u8>, recall_id: Option<RecallId>) {
    out.push(u8::from(recall_id.is_some()));
    if let Some(id) = recall_id {
        out.extend_from_slice(&id.to_u128().to_le_bytes());
    }
}

#[expect(
    clippy::option_option,
    reason = "absent and malformed are two things, and `?` tells them apart"
)]
fn recall(r: &mut ByteReader<'_>) -> Option<Option<RecallId>> {
    if r.u8()? == 0 {
        return Some(None);
    }
    Some(Some(RecallId::from_u128(r.u128()?)))
}

fn put_records(out: &mut Vec<u8>, records: &[RecordId]) {
    put_varint(out, records.len() as u64);
    for record in records {
        out.extend_from_slice(&record.to_u128().to_le_bytes());
    }
}

fn records(r: &mut ByteReader<'_>) -> Option<Vec<RecordId>> {
    let count = r.varint()?;
    if count > r.remaining() as u64 {
        return None;
    }
    (0..count)
        .map(|_| r.u128().map(RecordId::from_u128))
        .collect()
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[f32]) {
    put_varint(out, numbers.len() as u64);
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn numbers(r: &mut ByteReader<'_>) -> Option<Vec<f32>> {
    let count = r.varint()?;
    if count > r.remaining() as u64 {
        return None;
    }
    (0..count).map(|_| r.f32()).collect()
}

#[cfg(test)]
mod tests;
