//! The bytes of steps and of ended runs.

use super::{BinaryCodec, ByteReader, ByteWriter};
use crate::id::RecordId;
use crate::kind::{Credit, FailKind};
use crate::run::{ChainStep, EndedRun, OutcomePrediction};

/// The result is a list of at most one id; in the fixed layout one id, 0 for none.
impl BinaryCodec for ChainStep {
    fn encode(&self, out: &mut ByteWriter) {
        self.action.encode(out);
        if out.fixed {
            self.result.map_or(0, RecordId::to_u128).encode(out);
        } else {
            out.write_list(self.result.as_slice().iter());
        }
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        let action = r.read_value()?;
        let result = if r.fixed {
            Some(r.read_u128()?)
                .filter(|id| *id != 0)
                .map(RecordId::from_u128)
        } else {
            Vec::decode(r)?.first().copied()
        };
        Some(Self { action, result })
    }
}

/// Bit of an ended run: the caller gave its quality.
const SCORED: u8 = 1;
/// Bit of an ended run: two numbers for the adapter's step follow at the end.
const HAS_PROJECTIONS: u8 = 2;

impl BinaryCodec for EndedRun {
    fn encode(&self, out: &mut ByteWriter) {
        let OutcomePrediction {
            baseline,
            evidence,
            adapter,
            adapter_projections: along,
        } = self.expected;
        let steps = along.iter().any(|number| *number != 0.0);
        let bits = (u8::from(self.scored) * SCORED) | (u8::from(steps) * HAS_PROJECTIONS);
        crate::encode_all!(
            out,
            self.run_id,
            self.at,
            self.recall_id,
            self.query,
            self.used
        );
        crate::encode_all!(
            out,
            self.credit,
            bits,
            self.fail_kind.map_or(0, FailKind::number)
        );
        crate::encode_all!(out, self.quality, baseline, evidence, adapter);
        if steps {
            along.encode(out);
        }
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        let (run_id, at, recall_id) = (r.read_value()?, r.read_value()?, r.read_value()?);
        let (query, used, credit): (_, _, Credit) =
            (r.read_value()?, r.read_value()?, r.read_value()?);
        let (bits, fail) = (r.read_u8()?, r.read_u8()?);
        let fail_kind = FailKind::from_number(fail);
        if fail != 0 && fail_kind.is_none() {
            return None;
        }
        let (quality, baseline, evidence, adapter) =
            (r.read_f32()?, r.read_f32()?, r.read_f32()?, r.read_f32()?);
        let along = match bits & HAS_PROJECTIONS {
            0 => [0.0; 2],
            _ => r.read_value()?,
        };
        Some(Self {
            run_id,
            at,
            recall_id,
            query,
            used,
            credit,
            quality,
            scored: bits & SCORED != 0,
            fail_kind,
            expected: OutcomePrediction {
                baseline,
                evidence,
                adapter,
                adapter_projections: along,
            },
        })
    }
}
