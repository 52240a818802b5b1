//! The serialised learner: the part stored in a checkpoint, so that an open need not fold the whole
//! log, and the digest that identifies a state.
//!
//! Little-endian, versioned; where a part cannot be read in full, the log is folded again.

mod bytes;

use std::sync::Arc;

use chrono::DateTime;
use reprise_types::{
    AdapterWeights, ChainStep, Embedding, EmbeddingSpace, RecallId, Receipt, RecordId, Revision,
    RunPattern,
};
use sha2::{Digest as _, Sha256};

use crate::adapter::Adapter;
use crate::code::Code;
use crate::cow::CowRow;
use crate::evidence::Uses;
use crate::gate::Gate;
use crate::journal::Run;
use crate::learner::Learner;
use crate::learning::Learning;
use crate::settings::LearnSettings;
use crate::trajectories::OpenRun;
use bytes::{Reader, Writer};

/// First bytes of a part; the last is the version.
const MAGIC: [u8; 8] = *b"RPLEARN\x05";

impl Learning {
    /// The part for a checkpoint.
    pub fn to_part(&self) -> Vec<u8> {
        let mut out = self.truth();
        let receipts = self.trajectories.receipts();
        out.count(receipts.len());
        for receipt in receipts {
            out.u128(receipt.recall_id.to_u128());
            out.instant(receipt.at);
            put_query(&mut out, receipt.query.as_ref());
            put_records(&mut out, &receipt.records);
        }
        out.0
    }

    /// The state of a part; `None` where it is damaged or of another version, dimension or
    /// settings.
    pub fn from_part(dimensions: usize, settings: LearnSettings, part: &[u8]) -> Option<Self> {
        let mut reader = Reader(part.strip_prefix(&MAGIC)?);
        let r = &mut reader;
        let mut learning = Self::with_settings(dimensions, settings);
        if r.u32()? as usize != dimensions || [r.u32()?, r.u32()?] != weights_of(settings) {
            return None;
        }
        let mut learner = Learner::new(dimensions, settings);
        read_learner(r, &mut learner)?;
        for _ in 0..r.count()? {
            let (run_id, run) = (r.text()?, read_open(r)?);
            learning.trajectories.open.insert(run_id, run);
        }
        let bank = (0..r.count()?).map(|_| read_pattern(r));
        learner.bank = bank.collect::<Option<Vec<_>>>()?.into();
        for _ in 0..r.count()? {
            let receipt = Receipt {
                recall_id: RecallId::from_u128(r.u128()?),
                at: r.instant()?,
                query: read_query(r)?,
                records: read_records(r)?,
            };
            learning.trajectories.remember(receipt);
        }
        let first = learner.journal.runs.first();
        for (run, number) in learner.journal.runs.iter().zip(first..) {
            let run_id = run.id.clone();
            learning.trajectories.ended.insert(run_id, number);
        }
        learning.learner = Arc::new(learner);
        r.0.is_empty().then_some(learning)
    }

    /// SHA-256 of the learned state, in hex. Receipts of unused recalls, and what follows from
    /// weights and vectors, are not included.
    pub fn digest(&self) -> String {
        let hash = Sha256::digest(&self.truth().0);
        hash.iter().fold(String::new(), |mut hex, byte| {
            for half in [byte >> 4, byte & 15] {
                hex.extend(char::from_digit(u32::from(half), 16));
            }
            hex
        })
    }

    fn truth(&self) -> Writer {
        let mut out = Writer(MAGIC.to_vec());
        let learner = &self.learner;
        out.u32(learner.dimensions as u32);
        for weight in weights_of(learner.settings) {
            out.u32(weight);
        }
        out.u8(u8::from(learner.on));
        out.u32(learner.sustained);
        for gate in [&learner.evidence_gate, &learner.adapter_gate] {
            out.u32(gate.runs);
            for moment in &gate.moments {
                out.f64(*moment);
            }
        }
        out.u64(learner.journal.runs.first());
        out.count(learner.journal.runs.len());
        for run in learner.journal.runs.iter() {
            put_run(&mut out, run);
        }
        out.count(learner.evidence.uses.len());
        for (record, Uses(runs)) in learner.evidence.uses.iter() {
            out.u128(record.to_u128());
            out.count(runs.len());
            for run in runs {
                out.u64(*run);
            }
        }
        let weights = learner.adapter.weights();
        out.u64(weights.runs);
        for numbers in [&weights.down, &weights.up, &weights.fisher] {
            out.count(numbers.len());
            for number in numbers {
                out.f32(*number);
            }
        }
        out.count(self.trajectories.open.len());
        for (run_id, run) in &self.trajectories.open {
            out.text(run_id);
            out.instant(run.last);
            put_query(&mut out, run.query.as_ref());
            out.u128(run.recall_id.map_or(0, RecallId::to_u128));
            out.u32(run.steps as u32);
            put_records(&mut out, &run.used);
            put_chain(&mut out, &run.chain);
            out.u8(u8::from(run.overheard));
        }
        out.count(learner.bank.len());
        for pattern in learner.bank.iter() {
            put_pattern(&mut out, pattern);
        }
        out
    }
}

/// The settings as the part holds them, bit for bit.
fn weights_of(settings: LearnSettings) -> [u32; 2] {
    [settings.exogenous_weight(), settings.implicit_weight()].map(f32::to_bits)
}

fn read_learner(r: &mut Reader<'_>, learner: &mut Learner) -> Option<()> {
    learner.on = r.u8()? != 0;
    learner.sustained = r.u32()?;
    for gate in [&mut learner.evidence_gate, &mut learner.adapter_gate] {
        let runs = r.u32()?;
        let mut moments = [0.0; 10];
        for moment in &mut moments {
            *moment = r.f64()?;
        }
        *gate = Gate { runs, moments };
    }
    learner.journal.runs = CowRow::starting_at(r.u64()?);
    for _ in 0..r.count()? {
        let run = read_run(r, learner.dimensions)?;
        learner.journal.restore(run);
    }
    for _ in 0..r.count()? {
        let record = RecordId::from_u128(r.u128()?);
        let runs = (0..r.count()?).map(|_| r.u64()).collect::<Option<_>>()?;
        learner.evidence.uses.insert(record, Uses(runs));
    }
    let runs = r.u64()?;
    let mut numbers = || {
        (0..r.count()?)
            .map(|_| r.f32())
            .collect::<Option<Vec<f32>>>()
    };
    let weights = AdapterWeights {
        runs,
        down: numbers()?,
        up: numbers()?,
        fisher: numbers()?,
    };
    learner.adapter = Adapter::new(learner.dimensions, weights);
    Some(())
}

fn put_run(out: &mut Writer, run: &Run) {
    out.text(&run.id);
    out.i64(run.at_ms);
    out.f32(run.query.scale());
    for x in run.query.numbers() {
        out.i16(*x);
    }
    put_records(out, &run.used);
    put_chain(out, &run.chain);
    out.u8(u8::from(run.scored));
    out.u8(run.revised.map_or(0, Revision::number));
    for number in [
        run.quality,
        run.weight,
        run.baseline,
        run.evidence,
        run.adapter,
    ]
    .into_iter()
    .chain(run.turned.unwrap_or_default())
    {
        out.f32(number);
    }
}

fn read_run(r: &mut Reader<'_>, dimensions: usize) -> Option<Run> {
    let (id, at_ms, scale) = (r.text()?, r.i64()?, r.f32()?);
    let numbers = (0..dimensions).map(|_| r.i16()).collect::<Option<_>>()?;
    Some(Run {
        id,
        at_ms,
        query: Code::from_parts(scale, numbers),
        used: read_records(r)?,
        chain: read_chain(r)?,
        scored: r.u8()? != 0,
        revised: match r.u8()? {
            0 => None,
            number => Some(Revision::from_number(number)?),
        },
        quality: r.f32()?,
        weight: r.f32()?,
        baseline: r.f32()?,
        evidence: r.f32()?,
        adapter: r.f32()?,
        turned: Some([r.f32()?, r.f32()?]).filter(|by| by.iter().any(|by| *by != 0.0)),
    })
}

fn read_open(r: &mut Reader<'_>) -> Option<OpenRun> {
    Some(OpenRun {
        last: r.instant()?,
        query: read_query(r)?,
        recall_id: match r.u128()? {
            0 => None,
            id => Some(RecallId::from_u128(id)),
        },
        steps: r.u32()? as usize,
        used: read_records(r)?,
        chain: read_chain(r)?,
        overheard: r.u8()? != 0,
    })
}

fn put_pattern(out: &mut Writer, pattern: &RunPattern) {
    out.text(&pattern.example_run);
    out.u64(pattern.runs as u64);
    out.f32(pattern.quality);
    put_records(out, &pattern.records);
    put_chain(out, &pattern.chain);
    out.count(pattern.centre.len());
    for number in &pattern.centre {
        out.u8(number.cast_unsigned());
    }
}

fn read_pattern(r: &mut Reader<'_>) -> Option<RunPattern> {
    Some(RunPattern {
        example_run: r.text()?,
        runs: r.u64()? as usize,
        quality: r.f32()?,
        records: read_records(r)?,
        chain: read_chain(r)?,
        centre: (0..r.count()?)
            .map(|_| r.u8().map(u8::cast_signed))
            .collect::<Option<_>>()?,
    })
}

fn put_chain(out: &mut Writer, chain: &[ChainStep]) {
    out.count(chain.len());
    for step in chain {
        out.text(&step.action);
        out.u128(step.result.map_or(0, RecordId::to_u128));
    }
}

fn read_chain(r: &mut Reader<'_>) -> Option<Vec<ChainStep>> {
    let count = r.count()?;
    let step = |_| {
        Some(ChainStep {
            action: r.text()?,
            result: Some(r.u128()?)
                .filter(|id| *id != 0)
                .map(RecordId::from_u128),
        })
    };
    (0..count).map(step).collect()
}

fn put_query(out: &mut Writer, query: Option<&Embedding>) {
    let Some(Embedding { space, vector }) = query else {
        return out.u8(0);
    };
    out.u8(1);
    out.text(&space.model);
    out.text(&space.version);
    out.count(vector.len());
    for x in vector {
        out.f32(*x);
    }
}

#[expect(
    clippy::option_option,
    reason = "absent and damaged are two things, and `?` tells them apart"
)]
fn read_query(r: &mut Reader<'_>) -> Option<Option<Embedding>> {
    if r.u8()? == 0 {
        return Some(None);
    }
    let (model, version) = (r.text()?, r.text()?);
    let vector = (0..r.count()?)
        .map(|_| r.f32())
        .collect::<Option<Vec<_>>>()?;
    let space = EmbeddingSpace {
        model,
        version,
        dimensions: u16::try_from(vector.len()).ok()?,
    };
    Some(Some(Embedding { space, vector }))
}

fn put_records(out: &mut Writer, records: &[RecordId]) {
    out.count(records.len());
    for id in records {
        out.u128(id.to_u128());
    }
}

fn read_records(r: &mut Reader<'_>) -> Option<Vec<RecordId>> {
    (0..r.count()?)
        .map(|_| r.u128().map(RecordId::from_u128))
        .collect()
}

impl Writer {
    fn instant(&mut self, at: DateTime<chrono::Utc>) {
        self.i64(at.timestamp());
        self.u32(at.timestamp_subsec_nanos());
    }
}

impl Reader<'_> {
    fn instant(&mut self) -> Option<DateTime<chrono::Utc>> {
        DateTime::from_timestamp(self.i64()?, self.u32()?)
    }
}
