//! The serialised learner: the part stored in a checkpoint, so that an open need not fold the whole
//! log, and the digest that identifies a state.
//!
//! Little-endian, versioned; where a part cannot be read in full, the log is folded again.

use std::sync::Arc;

use reprise_types::{ByteReader, ByteWriter, RecallId, Revision, Wire, put_all, sha256_hex, wire};

use crate::adapter::Adapter;
use crate::code::Code;
use crate::cow::CowRow;
use crate::gate::Gate;
use crate::journal::Run;
use crate::learner::Learner;
use crate::learning::Learning;
use crate::settings::LearnSettings;
use crate::trajectories::OpenRun;

/// First bytes of a part; the last is the version.
const MAGIC: [u8; 8] = *b"RPLEARN\x05";

impl Learning {
    /// The part for a checkpoint.
    pub fn to_part(&self) -> Vec<u8> {
        let mut out = self.truth();
        out.all(self.trajectories.receipts.iter());
        out.bytes
    }

    /// The state of a part; `None` where it is damaged or of another version, dimension or
    /// settings.
    pub fn from_part(dimensions: usize, settings: LearnSettings, part: &[u8]) -> Option<Self> {
        let r = &mut ByteReader::fixed(part.strip_prefix(&MAGIC)?);
        let mut learning = Self::with_settings(dimensions, settings);
        if r.u32()? as usize != dimensions || [r.u32()?, r.u32()?] != weights_of(settings) {
            return None;
        }
        let mut learner = Learner::new(dimensions, settings);
        read_learner(r, &mut learner)?;
        for _ in 0..r.count()? {
            learning.trajectories.open.insert(r.get()?, r.get()?);
        }
        learner.bank = Vec::take(r)?.into();
        for _ in 0..r.count()? {
            learning.trajectories.remember(r.get()?);
        }
        let first = learner.journal.runs.first();
        for (run, number) in learner.journal.runs.iter().zip(first..) {
            let run_id = run.id.clone();
            learning.trajectories.ended.insert(run_id, number);
        }
        learning.learner = Arc::new(learner);
        r.is_empty().then_some(learning)
    }

    /// SHA-256 of the learned state, in hex. Receipts of unused recalls, and what follows from
    /// weights and vectors, are not included.
    pub fn digest(&self) -> String {
        sha256_hex(&self.truth().bytes)
    }

    fn truth(&self) -> ByteWriter {
        let out = &mut ByteWriter::fixed(MAGIC.to_vec());
        let learner = &self.learner;
        let [exogenous, implicit] = weights_of(learner.settings);
        put_all!(out, learner.dimensions as u32, exogenous, implicit);
        put_all!(out, learner.on, learner.sustained);
        put_all!(out, learner.evidence_gate, learner.adapter_gate);
        learner.journal.runs.first().put(out);
        out.count(learner.journal.runs.len());
        for run in learner.journal.runs.iter() {
            put_run(out, run);
        }
        out.count(learner.evidence.uses.len());
        for (record, runs) in learner.evidence.uses.iter() {
            put_all!(out, *record, *runs);
        }
        learner.adapter.weights().put(out);
        self.trajectories.open.put(out);
        out.all(learner.bank.iter());
        std::mem::take(out)
    }
}

/// The settings as the part holds them, bit for bit.
fn weights_of(settings: LearnSettings) -> [u32; 2] {
    [settings.exogenous_weight(), settings.implicit_weight()].map(f32::to_bits)
}

fn read_learner(r: &mut ByteReader<'_>, learner: &mut Learner) -> Option<()> {
    (learner.on, learner.sustained) = (r.get()?, r.get()?);
    (learner.evidence_gate, learner.adapter_gate) = (r.get()?, r.get()?);
    learner.journal.runs = CowRow::starting_at(r.get()?);
    for _ in 0..r.count()? {
        let run = read_run(r, learner.dimensions)?;
        learner.journal.restore(run);
    }
    for _ in 0..r.count()? {
        learner.evidence.uses.insert(r.get()?, r.get()?);
    }
    learner.adapter = Adapter::new(learner.dimensions, r.get()?);
    Some(())
}

wire! {
    Gate { runs, moments }
}

fn put_run(out: &mut ByteWriter, run: &Run) {
    put_all!(out, run.id, run.at_ms, run.query.scale());
    out.each(run.query.numbers().iter());
    let revised = run.revised.map_or(0, Revision::number);
    put_all!(out, run.used, run.chain, run.scored, revised);
    put_all!(
        out,
        run.quality,
        run.weight,
        run.baseline,
        run.evidence,
        run.adapter,
        run.turned.unwrap_or_default()
    );
}

fn read_run(r: &mut ByteReader<'_>, dimensions: usize) -> Option<Run> {
    let (id, at_ms, scale) = (r.get()?, r.get()?, r.get()?);
    let numbers = (0..dimensions).map(|_| r.i16()).collect::<Option<_>>()?;
    Some(Run {
        id,
        at_ms,
        query: Code::from_parts(scale, numbers),
        used: r.get()?,
        chain: r.get()?,
        scored: r.get()?,
        revised: match r.u8()? {
            0 => None,
            number => Some(Revision::from_number(number)?),
        },
        quality: r.get()?,
        weight: r.get()?,
        baseline: r.get()?,
        evidence: r.get()?,
        adapter: r.get()?,
        turned: Some(r.get()?).filter(|by: &[f32; 2]| by.iter().any(|by| *by != 0.0)),
    })
}

impl Wire for OpenRun {
    fn put(&self, out: &mut ByteWriter) {
        let recall = self.recall_id.map_or(0, RecallId::to_u128);
        put_all!(out, self.last, self.query, recall, self.steps as u32);
        put_all!(out, self.used, self.chain, self.overheard);
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            last: r.get()?,
            query: r.get()?,
            recall_id: Some(r.u128()?)
                .filter(|id| *id != 0)
                .map(RecallId::from_u128),
            steps: r.u32()? as usize,
            used: r.get()?,
            chain: r.get()?,
            overheard: r.get()?,
        })
    }
}
