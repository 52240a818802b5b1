//! What a checkpoint says of the store as a whole, in front of its keys: the last instant that it
//! gave out, and the space in force.
//!
//! The bytes.

use chrono::{DateTime, Utc};
use reprise_types::EmbeddingSpace;

/// Bytes of the instant, of the dimensions and of the two lengths.
const FIXED: usize = 8 + 3 * 2;

/// The head of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// `None` where nothing was written yet, or by a version that did not say.
    pub(crate) known_at: Option<DateTime<Utc>>,
    /// The space that was asked for, where one was.
    pub(crate) space: Option<EmbeddingSpace>,
}

impl Head {
    /// `micros i64, i64::MIN for none | dimensions u16, 0 for none | model u16 | version u16 |
    /// model's bytes | version's bytes`, little-endian.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let micros = self.known_at.map_or(i64::MIN, |at| at.timestamp_micros());
        out.extend_from_slice(&micros.to_le_bytes());
        let (dimensions, model, version) = match &self.space {
            Some(space) => (space.dimensions, &*space.model, &*space.version),
            None => (0, "", ""),
        };
        let lengths = [model.len() as u16, version.len() as u16];
        for number in [dimensions, lengths[0], lengths[1]] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&model.as_bytes()[..usize::from(lengths[0])]);
        out.extend_from_slice(&version.as_bytes()[..usize::from(lengths[1])]);
    }

    /// The head and its length; `None` for any other bytes.
    pub(crate) fn take(bytes: &[u8]) -> Option<(Self, usize)> {
        let micros = i64::from_le_bytes(*bytes.first_chunk()?);
        let number = |at: usize| -> Option<u16> {
            let bytes = bytes.get(8 + at * 2..)?.first_chunk()?;
            Some(u16::from_le_bytes(*bytes))
        };
        let (dimensions, model, version) = (number(0)?, number(1)?, number(2)?);
        let (middle, end) = {
            let middle = FIXED + usize::from(model);
            (middle, middle + usize::from(version))
        };
        let text = |from: usize, to: usize| String::from_utf8(bytes.get(from..to)?.to_vec()).ok();
        let (model, version) = (text(FIXED, middle)?, text(middle, end)?);
        let head = Self {
            known_at: DateTime::from_timestamp_micros(micros).filter(|_| micros != i64::MIN),
            space: (dimensions > 0).then_some(EmbeddingSpace {
                model,
                version,
                dimensions,
            }),
        };
        Some((head, end))
    }
}
