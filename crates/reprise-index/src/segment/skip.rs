//! How a block of postings is packed, and what its row says of it: `u16 bytes | u8 bits of a gap`.

/// Documents of a block.
pub(super) const BLOCK: usize = 128;
pub(super) const ROW_BYTES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) bytes: u16,
    pub(super) bits: u8,
}

impl Row {
    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend(self.bytes.to_le_bytes());
        out.push(self.bits);
    }

    /// The inverse of [`Self::write`]; `None` of fewer bytes.
    pub(super) fn read(row: &[u8]) -> Option<Self> {
        let &[bytes, more, bits] = row.first_chunk()?;
        Some(Self {
            bytes: u16::from_le_bytes([bytes, more]),
            bits: bits.min(32),
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
