//! What is known of a block of postings without decoding it.
//!
//! ```text
//! u32 last ordinal | u16 bytes | u8 bits of a gap | u8 most in a head | u8 shortest head
//! ```
//! The last two bound what any of its documents scores, whatever the store's average is by then.

use super::Posting;

/// Documents of a block.
pub(super) const BLOCK: usize = 128;
pub(super) const ROW_BYTES: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) last: u32,
    pub(super) bytes: u16,
    pub(super) bits: u8,
    /// Most occurrences in a head.
    pub(crate) most: u8,
    /// Terms of the shortest head.
    pub(crate) shortest: u8,
}

impl Row {
    pub(super) fn of(block: &[Posting; BLOCK], bytes: u16, bits: u8) -> Self {
        let heads = block.iter().map(|posting| posting.head);
        let lengths = block.iter().map(|posting| posting.length);
        Self {
            last: block[BLOCK - 1].ordinal,
            bytes,
            bits,
            most: heads.max().unwrap_or(0),
            shortest: lengths.min().unwrap_or(0),
        }
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend(self.last.to_le_bytes());
        out.extend(self.bytes.to_le_bytes());
        out.extend([self.bits, self.most, self.shortest]);
    }

    /// The inverse of [`Self::write`]; `None` of fewer bytes.
    pub(super) fn read(row: &[u8]) -> Option<Self> {
        let &[a, b, c, d, bytes, more, bits, most, shortest] = row.first_chunk()?;
        Some(Self {
            last: u32::from_le_bytes([a, b, c, d]),
            bytes: u16::from_le_bytes([bytes, more]),
            bits: bits.min(32),
            most,
            shortest,
        })
    }
}

/// Appends numbers in as few bits each as all of them need; returns how many. The bits of a number
/// stand in the order of their worth, the numbers one behind the other from the lowest bit on.
pub(super) fn pack(out: &mut Vec<u8>, numbers: &[u32; BLOCK]) -> u8 {
    let all = numbers.iter().fold(0, |all, number| all | number);
    let bits = 32 - all.leading_zeros();
    let (mut held, mut count) = (0_u64, 0);
    for number in numbers {
        held |= u64::from(*number) << count;
        count += bits;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    bits as u8
}

/// The inverse of [`pack`]: fills `out`; returns the bytes read, or `None` of too few. What stands
/// behind them has eight bytes at least.
pub(super) fn unpack(packed: &[u8], bits: u8, out: &mut [u32; BLOCK]) -> Option<usize> {
    let bits = usize::from(bits);
    let bytes = bits * BLOCK / 8;
    let packed = packed.get(..bytes + 8)?;
    let mask = (1_u64 << bits) - 1;
    for (number, out) in out.iter_mut().enumerate() {
        let at = number * bits;
        let eight = packed.get(at / 8..)?.first_chunk()?;
        *out = (u64::from_le_bytes(*eight) >> (at % 8) & mask) as u32;
    }
    Some(bytes)
}
