//! The part of the protobuf wire format that ONNX needs: varints, 32-bit floats, byte strings.
//!
//! Field numbers belong to the caller; nothing here knows ONNX.

use reprise_types::{ByteReader, put_varint};

/// Wire types of the protobuf encoding.
const VARINT: u64 = 0;
const LENGTH_DELIMITED: u64 = 2;
const FIXED_32: u64 = 5;

/// A protobuf message under construction.
#[derive(Debug, Clone, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Adds an integer; negative ones take ten bytes, as protobuf's `int64` does.
    pub(super) fn int(self, field: u64, value: i64) -> Self {
        self.size(field, value.cast_unsigned())
    }

    /// Adds a size: an integer that is never negative.
    pub(super) fn size(mut self, field: u64, value: u64) -> Self {
        put_varint(&mut self.0, field << 3 | VARINT);
        put_varint(&mut self.0, value);
        self
    }

    /// Adds a 32-bit float.
    pub(super) fn float(mut self, field: u64, value: f32) -> Self {
        put_varint(&mut self.0, field << 3 | FIXED_32);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds raw bytes.
    pub(super) fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        put_varint(&mut self.0, field << 3 | LENGTH_DELIMITED);
        put_varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn string(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// Adds a message inside this one.
    pub(super) fn message(self, field: u64, inner: &Self) -> Self {
        self.bytes(field, &inner.0)
    }

    /// The encoded bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// One field of an encoded message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Field<'a> {
    /// A number and an integer as it stands there.
    Int(u64, u64),
    /// A number and a string, bytes or a message.
    Bytes(u64, &'a [u8]),
    Other,
}

impl<'a> Field<'a> {
    pub(super) fn message(self, number: u64) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(own, bytes) if own == number => Some(bytes),
            _ => None,
        }
    }
}

/// The fields of a message, up to its end or to the first that is no field.
pub(super) fn fields(message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut message = ByteReader::new(message);
    std::iter::from_fn(move || {
        let tag = message.varint()?;
        let (number, wire_type) = (tag >> 3, tag & 7);
        Some(match wire_type {
            VARINT => Field::Int(number, message.varint()?),
            LENGTH_DELIMITED => {
                let length = usize::try_from(message.varint()?).ok()?;
                Field::Bytes(number, message.take(length)?)
            }
            FIXED_32 => {
                message.take(4)?;
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
        let message = Message::default().int(1, 150).string(2, "testing");
        assert_eq!(message.into_bytes(), b"\x08\x96\x01\x12\x07testing");
        let nested = Message::default().message(3, &Message::default().int(1, 150));
        assert_eq!(nested.into_bytes(), b"\x1a\x03\x08\x96\x01");
        let negative = Message::default().int(1, -1).into_bytes();
        assert_eq!(negative, b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        let float = Message::default().float(2, 1.0).into_bytes();
        assert_eq!(float, b"\x15\x00\x00\x80\x3f");
    }

    #[test]
    fn fields_are_read_up_to_the_first_that_is_cut() {
        let message = Message::default()
            .int(1, -1)
            .float(2, 1.0)
            .string(3, "testing");
        let bytes = message.into_bytes();
        let read: Vec<_> = fields(&bytes).collect();
        let expected = [
            Field::Int(1, u64::MAX),
            Field::Other,
            Field::Bytes(3, b"testing"),
        ];
        assert_eq!(read, expected);
        let cut: Vec<_> = fields(&bytes[..bytes.len() - 1]).collect();
        assert_eq!(cut, expected[..2]);
    }
}
