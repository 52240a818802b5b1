//! Little-endian bytes: appending to a `Vec<u8>` and reading from an untrusted slice.

/// Appends the low 7 bits first, the high bit of each byte saying that more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number so that small magnitudes stay short.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what the functions above wrote. Every method answers `None` instead of reading past the
/// end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }

    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn varint_u32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.varint()?).ok()?;
        self.take(count)
    }

    pub(crate) fn string(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn numbers_come_back(value: u64, signed: i64, text: String) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            put_signed(&mut out, signed);
            put_bytes(&mut out, text.as_bytes());
            let mut reader = ByteReader::new(&out);
            prop_assert_eq!(reader.varint(), Some(value));
            prop_assert_eq!(reader.signed(), Some(signed));
            prop_assert_eq!(reader.string(), Some(text));
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let mut reader = ByteReader::new(&bytes);
            let before = reader.remaining();
            let _ = (reader.varint(), reader.string(), reader.u128(), reader.signed());
            prop_assert!(reader.remaining() <= before);
        }
    }

    #[test]
    fn a_varint_of_more_than_64_bits_is_refused() {
        let mut bytes = vec![0xff; 9];
        bytes.push(0x02);
        assert_eq!(ByteReader::new(&bytes).varint(), None);
    }
}
