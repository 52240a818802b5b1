//! Little-endian numbers and texts, written to a vector and read from untrusted bytes.

#[derive(Debug)]
pub(super) struct Writer(pub(super) Vec<u8>);

/// Every method returns `None` instead of reading past the end.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

macro_rules! numbers {
    ($($name:ident)*) => {
        impl Writer {
            $(pub(super) fn $name(&mut self, number: $name) {
                self.0.extend_from_slice(&number.to_le_bytes());
            })*
        }

        impl Reader<'_> {
            $(pub(super) fn $name(&mut self) -> Option<$name> {
                let (bytes, rest) = self.0.split_first_chunk()?;
                self.0 = rest;
                Some($name::from_le_bytes(*bytes))
            })*
        }
    };
}

numbers!(u8 u32 u64 u128 i16 i64 f32 f64);

impl Writer {
    pub(super) fn count(&mut self, count: usize) {
        self.u32(count as u32);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

impl Reader<'_> {
    /// A count of items of at least one byte each, so that a forged count cannot allocate.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = self.u32()? as usize;
        (count <= self.0.len()).then_some(count)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(bytes.to_vec()).ok()
    }
}
