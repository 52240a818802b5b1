//! The serialised learner, which a checkpoint stores so that an open need not replay the whole log,
//! and the digest that identifies a state.
//!
//! Little-endian and versioned. If the bytes cannot be decoded in full, the log is replayed.

use std::sync::Arc;

use reprise_types::{
    BinaryCodec, ByteReader, ByteWriter, RecallId, Revision, encode_all, impl_binary_codec,
    sha256_hex,
};

use crate::adapter::Adapter;
use crate::cow::CowQueue;
use crate::gate::PredictionGate;
use crate::journal::FinishedRun;
use crate::learner::Learner;
use crate::learning::OutcomeLearning;
use crate::quantized::QuantizedVector;
use crate::run_tracker::OpenRun;
use crate::settings::LearnSettings;

/// First bytes of the serialised learner; the last one is the version.
const MAGIC: [u8; 8] = *b"RPLEARN\x05";

impl OutcomeLearning {
    /// Encodes the state for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.encode_without_receipts();
        out.write_list(self.run_tracker.receipts.iter());
        out.bytes
    }

    /// Decodes a state; returns `None` if the bytes are damaged or of another version, dimension or
    /// settings.
    pub fn from_bytes(dimensions: usize, settings: LearnSettings, part: &[u8]) -> Option<Self> {
        let r = &mut ByteReader::with_fixed_layout(part.strip_prefix(&MAGIC)?);
        let mut learning = Self::with_settings(dimensions, settings);
        if r.read_u32()? as usize != dimensions
            || [r.read_u32()?, r.read_u32()?] != weight_bits(settings)
        {
            return None;
        }
        let mut learner = Learner::new(dimensions, settings);
        decode_learner(r, &mut learner)?;
        for _ in 0..r.read_count()? {
            learning
                .run_tracker
                .open
                .insert(r.read_value()?, r.read_value()?);
        }
        learner.pattern_bank = Vec::decode(r)?.into();
        for _ in 0..r.read_count()? {
            learning.run_tracker.store_receipt(r.read_value()?);
        }
        let first = learner.journal.runs.first_number();
        for (run, number) in learner.journal.runs.iter().zip(first..) {
            let run_id = run.id.clone();
            learning.run_tracker.ended.insert(run_id, number);
        }
        learning.learner = Arc::new(learner);
        r.is_empty().then_some(learning)
    }

    /// Returns the SHA-256 of the learned state, in hex. Receipts of unused recalls, and everything
    /// that follows from weights and vectors, are not included.
    pub fn digest(&self) -> String {
        sha256_hex(&self.encode_without_receipts().bytes)
    }

    fn encode_without_receipts(&self) -> ByteWriter {
        let out = &mut ByteWriter::with_fixed_layout(MAGIC.to_vec());
        let learner = &self.learner;
        let [exogenous, implicit] = weight_bits(learner.settings);
        encode_all!(out, learner.dimensions as u32, exogenous, implicit);
        encode_all!(out, learner.enabled, learner.open_streak);
        encode_all!(out, learner.evidence_gate, learner.adapter_gate);
        learner.journal.runs.first_number().encode(out);
        out.write_count(learner.journal.runs.len());
        for run in learner.journal.runs.iter() {
            encode_run(out, run);
        }
        out.write_count(learner.evidence.uses.len());
        for (record, runs) in learner.evidence.uses.iter() {
            encode_all!(out, *record, *runs);
        }
        learner.adapter.weights().encode(out);
        self.run_tracker.open.encode(out);
        out.write_list(learner.pattern_bank.iter());
        std::mem::take(out)
    }
}

/// Returns the weights of the settings as they are stored, bit for bit.
fn weight_bits(settings: LearnSettings) -> [u32; 2] {
    [settings.exogenous_weight(), settings.implicit_weight()].map(f32::to_bits)
}

fn decode_learner(r: &mut ByteReader<'_>, learner: &mut Learner) -> Option<()> {
    (learner.enabled, learner.open_streak) = (r.read_value()?, r.read_value()?);
    (learner.evidence_gate, learner.adapter_gate) = (r.read_value()?, r.read_value()?);
    let first = r.read_u64()?;
    learner.journal.runs = CowQueue::starting_at(u32::try_from(first).ok()?.into());
    for _ in 0..r.read_count()? {
        let run = decode_run(r, learner.dimensions)?;
        learner.journal.restore(run);
    }
    for _ in 0..r.read_count()? {
        learner
            .evidence
            .uses
            .insert(r.read_value()?, r.read_value()?);
    }
    learner.adapter = Adapter::new(learner.dimensions, r.read_value()?);
    Some(())
}

impl_binary_codec! {
    PredictionGate { runs, moments }
}

fn encode_run(out: &mut ByteWriter, run: &FinishedRun) {
    encode_all!(out, run.id, run.at_ms, run.query.scale());
    out.write_items(run.query.numbers().iter());
    let revision = run.revision.map_or(0, Revision::number);
    encode_all!(out, run.used, run.chain, run.scored, revision);
    encode_all!(
        out,
        run.quality,
        run.weight,
        run.baseline,
        run.evidence,
        run.adapter,
        run.adapter_step.unwrap_or_default()
    );
}

fn decode_run(r: &mut ByteReader<'_>, dimensions: usize) -> Option<FinishedRun> {
    let (id, at_ms, scale) = (r.read_value()?, r.read_value()?, r.read_value()?);
    let numbers = (0..dimensions)
        .map(|_| r.read_i16())
        .collect::<Option<_>>()?;
    Some(FinishedRun {
        id,
        at_ms,
        query: QuantizedVector::from_parts(scale, numbers),
        used: r.read_value()?,
        chain: r.read_value()?,
        scored: r.read_value()?,
        revision: match r.read_u8()? {
            0 => None,
            number => Some(Revision::from_number(number)?),
        },
        quality: r.read_value()?,
        weight: r.read_value()?,
        baseline: r.read_value()?,
        evidence: r.read_value()?,
        adapter: r.read_value()?,
        adapter_step: Some(r.read_value()?).filter(|by: &[f32; 2]| by.iter().any(|by| *by != 0.0)),
    })
}

impl BinaryCodec for OpenRun {
    fn encode(&self, out: &mut ByteWriter) {
        let recall = self.recall_id.map_or(0, RecallId::to_u128);
        encode_all!(
            out,
            self.last_event_at,
            self.query,
            recall,
            self.steps as u32
        );
        encode_all!(out, self.used, self.chain, self.use_is_inferred);
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            last_event_at: r.read_value()?,
            query: r.read_value()?,
            recall_id: Some(r.read_u128()?)
                .filter(|id| *id != 0)
                .map(RecallId::from_u128),
            steps: r.read_u32()? as usize,
            used: r.read_value()?,
            chain: r.read_value()?,
            use_is_inferred: r.read_value()?,
        })
    }
}
