//! The part of the protobuf wire format that ONNX needs: varints, 32-bit floats, byte strings.
//!
//! The caller chooses the field numbers; this module does not depend on ONNX.

use reprise_types::{ByteReader, append_varint};

/// Wire types of the protobuf encoding.
const VARINT: u64 = 0;
const LENGTH_DELIMITED: u64 = 2;
const FIXED_32: u64 = 5;

/// A protobuf message under construction.
#[derive(Debug, Clone, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Adds an integer; negative ones take ten bytes, as protobuf's `int64` does.
    pub(super) fn add_int(self, field: u64, value: i64) -> Self {
        self.add_size(field, value.cast_unsigned())
    }

    /// Adds a size: an integer that is never negative.
    pub(super) fn add_size(mut self, field: u64, value: u64) -> Self {
        append_varint(&mut self.0, field << 3 | VARINT);
        append_varint(&mut self.0, value);
        self
    }

    /// Adds a 32-bit float.
    pub(super) fn add_float(mut self, field: u64, value: f32) -> Self {
        append_varint(&mut self.0, field << 3 | FIXED_32);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds raw bytes.
    pub(super) fn add_bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        append_varint(&mut self.0, field << 3 | LENGTH_DELIMITED);
        append_varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn add_string(self, field: u64, text: &str) -> Self {
        self.add_bytes(field, text.as_bytes())
    }

    /// Adds a message inside this one.
    pub(super) fn add_message(self, field: u64, inner: &Self) -> Self {
        self.add_bytes(field, &inner.0)
    }

    /// Returns the encoded bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// One field of an encoded message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Field<'a> {
    /// A field number and an unsigned integer.
    Int(u64, u64),
    /// A field number and a string, bytes or a message.
    Bytes(u64, &'a [u8]),
    Other,
}

impl<'a> Field<'a> {
    pub(super) fn as_message(self, number: u64) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(own, bytes) if own == number => Some(bytes),
            _ => None,
        }
    }
}

/// Iterates over the fields of a message, up to its end or to the first invalid field.
pub(super) fn read_fields(message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut message = ByteReader::new(message);
    std::iter::from_fn(move || {
        let tag = message.read_varint()?;
        let (number, wire_type) = (tag >> 3, tag & 7);
        Some(match wire_type {
            VARINT => Field::Int(number, message.read_varint()?),
            LENGTH_DELIMITED => {
                let length = usize::try_from(message.read_varint()?).ok()?;
                Field::Bytes(number, message.read_raw(length)?)
            }
            FIXED_32 => {
                message.read_raw(4)?;
                Field::Other
            }
            _ => return None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_documents_own_examples_come_out_byte_for_byte() {
        // https://protobuf.dev/programming-guides/encoding: field 1 = 150, field 2 = "testing".
        let message = Message::default().add_int(1, 150).add_string(2, "testing");
        assert_eq!(message.into_bytes(), b"\x08\x96\x01\x12\x07testing");
        let nested = Message::default().add_message(3, &Message::default().add_int(1, 150));
        assert_eq!(nested.into_bytes(), b"\x1a\x03\x08\x96\x01");
        let negative = Message::default().add_int(1, -1).into_bytes();
        assert_eq!(negative, b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        let float = Message::default().add_float(2, 1.0).into_bytes();
        assert_eq!(float, b"\x15\x00\x00\x80\x3f");
    }

    #[test]
    fn fields_are_read_up_to_the_first_that_is_cut() {
        let message = Message::default()
            .add_int(1, -1)
            .add_float(2, 1.0)
            .add_string(3, "testing");
        let bytes = message.into_bytes();
        let read: Vec<_> = read_fields(&bytes).collect();
        let expected = [
            Field::Int(1, u64::MAX),
            Field::Other,
            Field::Bytes(3, b"testing"),
        ];
        assert_eq!(read, expected);
        let cut: Vec<_> = read_fields(&bytes[..bytes.len() - 1]).collect();
        assert_eq!(cut, expected[..2]);
    }
}
