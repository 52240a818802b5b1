//! The serialised learner, which a checkpoint stores so that an open need not replay the whole log,
//! and the digest that identifies a state.
//!
//! If the bytes cannot be decoded in full, the log is replayed.

use std::sync::Arc;

use reprise_types::{BinaryCodec as _, ByteReader, ByteWriter, encode_all, sha256_hex};

use crate::adapter::Adapter;
use crate::cow::CowQueue;
use crate::journal::FinishedRun;
use crate::learner::Learner;
use crate::learning::OutcomeLearning;
use crate::settings::LearnSettings;

const VERSION: u8 = 6;

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
        let r = &mut ByteReader::new(part);
        if r.read_u8()? != VERSION || r.read_value() != Some(collect_basis(dimensions, settings)) {
            return None;
        }
        let mut learning = Self::with_settings(dimensions, settings);
        let mut learner = Learner::new(dimensions, settings);
        (learner.enabled, learner.open_streak) = r.read_value()?;
        (learner.evidence_gate, learner.adapter_gate) = r.read_value()?;
        learner.journal.runs = CowQueue::starting_at(r.read_varint_u32()?.into());
        let tracker = &mut learning.run_tracker;
        for number in (learner.journal.runs.first_number()..).take(r.read_count()?) {
            let run: FinishedRun = r.read_value()?;
            (run.query.numbers().len() == dimensions).then_some(())?;
            tracker.ended.insert(run.id.clone(), number);
            for record in &run.used {
                learner.evidence.uses.entry_or_default(*record);
            }
            learner.journal.restore(run);
        }
        for _ in 0..r.read_count()? {
            let (record, runs) = r.read_value()?;
            learner.evidence.uses.insert(record, runs);
        }
        learner.adapter = Adapter::new(dimensions, r.read_value()?);
        (tracker.open, learner.pattern_bank) = r.read_value()?;
        for _ in 0..r.read_count()? {
            tracker.store_receipt(r.read_value()?);
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
        let mut writer = ByteWriter::default();
        let (out, learner) = (&mut writer, &self.learner);
        encode_all!(
            out,
            VERSION,
            collect_basis(learner.dimensions, learner.settings)
        );
        encode_all!(out, learner.enabled, learner.open_streak);
        encode_all!(out, learner.evidence_gate, learner.adapter_gate);
        learner.journal.runs.first_number().encode(out);
        out.write_count(learner.journal.runs.len());
        out.write_items(learner.journal.runs.iter().map(|run| &**run));
        out.write_count(learner.evidence.iter_used().count());
        for (record, runs) in learner.evidence.iter_used() {
            encode_all!(out, *record, *runs);
        }
        learner.adapter.weights().encode(out);
        self.run_tracker.open.encode(out);
        out.write_list(learner.pattern_bank.iter());
        writer
    }
}

/// Returns what a state must agree in: the width of the vectors, and the settings bit for bit.
fn collect_basis(dimensions: usize, settings: LearnSettings) -> (usize, u32, u32) {
    let [exogenous, implicit] =
        [settings.exogenous_weight(), settings.implicit_weight()].map(f32::to_bits);
    (dimensions, exogenous, implicit)
}
