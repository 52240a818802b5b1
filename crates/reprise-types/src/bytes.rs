//! The encoding of stored values: a reader of untrusted bytes, a writer, and [`BinaryCodec`], which
//! a type gets by naming its fields once (`impl_binary_codec!`, `impl_tagged_codec!`).
//!
//! Numbers are short (LEB128, zigzag), but of a fixed width in the rows of a column. Both are
//! little-endian. A change of what is written here is a new version of the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::cow::CowVec;
use crate::embedding::{Embedding, EmbeddingSpace};
use crate::id::{RecallId, RecordId};
use crate::kind::{MemoryKind, MemorySource};
use crate::record::{ContentHash, ExternalId, Provenance, RecordBody};
use crate::run::{
    AdapterFit, AdapterWeights, ChainStep, EndedRun, OutcomePrediction, RecallReceipt, RunPattern,
};

/// Appends a number as LEB128: the low 7 bits first, the high bit of each byte set if more follow.
pub fn append_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number as zigzag LEB128, so that small magnitudes are short.
pub fn append_signed(out: &mut Vec<u8>, value: i64) {
    append_varint(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// A writer of encoded values to a buffer.
#[derive(Debug, Default)]
pub struct ByteWriter {
    pub bytes: Vec<u8>,
    fixed: bool,
}

impl ByteWriter {
    /// Builds a writer of the fixed layout that appends to `bytes`; [`Self::default`] has the short
    /// layout.
    pub fn with_fixed_layout(bytes: Vec<u8>) -> Self {
        Self { bytes, fixed: true }
    }

    pub fn write_raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes the number of items that follow.
    pub fn write_count(&mut self, count: usize) {
        if self.fixed {
            (count as u32).encode(self);
        } else {
            append_varint(&mut self.bytes, count as u64);
        }
    }

    /// Writes a count, then the items.
    pub fn write_list<'a, T: BinaryCodec + 'a>(
        &mut self,
        items: impl ExactSizeIterator<Item = &'a T>,
    ) {
        self.write_count(items.len());
        self.write_items(items);
    }

    /// Writes the items without a count.
    pub fn write_items<'a, T: BinaryCodec + 'a>(&mut self, items: impl Iterator<Item = &'a T>) {
        for item in items {
            item.encode(self);
        }
    }

    /// Writes a count, then the bytes.
    pub fn write_bytes(&mut self, text: &[u8]) {
        self.write_count(text.len());
        self.write_raw(text);
    }
}

/// A reader of untrusted bytes: every method returns `None` instead of reading past the end.
#[derive(Debug, Clone, Copy)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
    fixed: bool,
}

macro_rules! numbers {
    ($($name:ident: $read:ident;)*) => {
        impl ByteReader<'_> {
            $(#[inline]
            pub fn $read(&mut self) -> Option<$name> {
                self.read_array().map($name::from_le_bytes)
            })*
        }
    };
}

numbers! {
    u8: read_u8;
    i8: read_i8;
    u16: read_u16;
    i16: read_i16;
    u32: read_u32;
    u64: read_u64;
    i64: read_i64;
    u128: read_u128;
    f32: read_f32;
    f64: read_f64;
}

impl<'a> ByteReader<'a> {
    /// Builds a reader of the short layout.
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest, fixed: false }
    }

    pub fn with_fixed_layout(rest: &'a [u8]) -> Self {
        Self { rest, fixed: true }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub fn read_raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn read_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    pub fn read_varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.read_u8()?;
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

    pub fn read_varint_u32(&mut self) -> Option<u32> {
        u32::try_from(self.read_varint()?).ok()
    }

    pub fn read_signed(&mut self) -> Option<i64> {
        let raw = self.read_varint()?;
        Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    /// Reads what [`ByteWriter::write_count`] wrote, for items of at least one byte. A count beyond
    /// the remaining bytes is refused, so that a forged one does not allocate.
    pub fn read_count(&mut self) -> Option<usize> {
        let read_count = if self.fixed {
            self.read_u32()?.into()
        } else {
            self.read_varint()?
        };
        usize::try_from(read_count)
            .ok()
            .filter(|count| *count <= self.rest.len())
    }

    /// Reads what [`ByteWriter::write_bytes`] wrote.
    pub fn read_bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.read_count()?;
        self.read_raw(count)
    }

    /// Decodes the next value, of the inferred type.
    pub fn read_value<T: BinaryCodec>(&mut self) -> Option<T> {
        T::decode(self)
    }
}

/// The binary encoding of a type.
pub trait BinaryCodec: Sized {
    fn encode(&self, out: &mut ByteWriter);
    /// Decodes what [`Self::encode`] wrote; `None` for malformed bytes.
    fn decode(r: &mut ByteReader<'_>) -> Option<Self>;
}

/// Encodes values one after the other.
#[macro_export]
macro_rules! encode_all {
    ($out:expr, $($value:expr),+ $(,)?) => {{ $($crate::BinaryCodec::encode(&$value, $out);)+ }};
}

/// A value that takes as many bytes in every row of a column.
pub trait RowCodec: BinaryCodec {
    /// Bytes in the layout of fixed width.
    const WIDTH: usize;
}

/// Returns the width of a field, whose type follows from the function that reads it.
pub const fn field_width<Row, Field: RowCodec>(_read: fn(&Row) -> &Field) -> usize {
    Field::WIDTH
}

/// Implements [`BinaryCodec`] and [`RowCodec`] for structs: their fields in this order.
#[macro_export]
macro_rules! impl_row_codec {
    ($($name:ident { $($field:ident),+ $(,)? })+) => {$(
        $crate::impl_binary_codec! { $name { $($field),+ } }

        impl $crate::RowCodec for $name {
            const WIDTH: usize = 0 $(+ $crate::field_width(|row: &Self| &row.$field))+;
        }
    )+};
}

/// Implements [`BinaryCodec`] for structs: their fields in this order. Fields that are not encoded
/// are decoded as in a value after `..`.
#[macro_export]
macro_rules! impl_binary_codec {
    ($($name:ident { $($field:ident),+ $(,)? $(..$rest:expr)? })+) => {$(
        impl $crate::BinaryCodec for $name {
            fn encode(&self, out: &mut $crate::ByteWriter) {
                $($crate::BinaryCodec::encode(&self.$field, out);)+
            }

            fn decode(r: &mut $crate::ByteReader<'_>) -> Option<Self> {
                Some(Self { $($field: r.read_value()?,)+ $(..$rest)? })
            }
        }
    )+};
}

/// Implements [`BinaryCodec`] for an enum: the number of the variant, which never changes, then its
/// fields.
#[macro_export]
macro_rules! impl_tagged_codec {
    ($name:ident { $($kind:literal => $variant:ident
        $(($inner:ident))? $({ $($field:ident),+ })?,)+ }) => {
        impl $name {
            /// Whether a number is the kind of one of these variants.
            pub fn is_known_kind(kind: u8) -> bool {
                [$($kind),+].contains(&kind)
            }

            /// Encodes the body and returns the number of its kind.
            pub fn encode_body(&self, out: &mut $crate::ByteWriter) -> u8 {
                match self {
                    $(Self::$variant $(($inner))? $({ $($field),+ })? => {
                        $($crate::BinaryCodec::encode($inner, out);)?
                        $($($crate::BinaryCodec::encode($field, out);)+)?
                        $kind
                    })+
                }
            }

            /// Decodes a body of this kind; `None` for malformed bytes or an unknown kind.
            pub fn decode_body(kind: u8, r: &mut $crate::ByteReader<'_>) -> Option<Self> {
                Some(match kind {
                    $($kind => Self::$variant $(({ let $inner = r.read_value()?; $inner }))? $({
                        $($field: r.read_value()?,)+
                    })?,)+
                    _ => return None,
                })
            }
        }

        impl $crate::BinaryCodec for $name {
            fn encode(&self, out: &mut $crate::ByteWriter) {
                let at = out.bytes.len();
                out.bytes.push(0);
                out.bytes[at] = self.encode_body(out);
            }

            fn decode(r: &mut $crate::ByteReader<'_>) -> Option<Self> {
                let kind = r.read_value()?;
                Self::decode_body(kind, r)
            }
        }
    };
}

macro_rules! fixed_width {
    ($($name:ident: $read:ident;)*) => {$(
        impl BinaryCodec for $name {
            fn encode(&self, out: &mut ByteWriter) {
                out.write_raw(&self.to_le_bytes());
            }

            fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
                r.$read()
            }
        }

        impl RowCodec for $name {
            const WIDTH: usize = size_of::<$name>();
        }
    )*};
}

fixed_width! {
    u8: read_u8;
    i8: read_i8;
    i16: read_i16;
    u128: read_u128;
    f32: read_f32;
    f64: read_f64;
}

/// Implements [`BinaryCodec`] for numbers that the short layout encodes as varints.
macro_rules! by_layout {
    ($($name:ident: $read:ident, $append_short:ident, $read_short:ident;)*) => {$(
        impl BinaryCodec for $name {
            fn encode(&self, out: &mut ByteWriter) {
                if out.fixed {
                    out.write_raw(&self.to_le_bytes());
                } else {
                    $append_short(&mut out.bytes, (*self).into());
                }
            }

            fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
                if r.fixed { r.$read() } else { r.$read_short()?.try_into().ok() }
            }
        }

        impl RowCodec for $name {
            const WIDTH: usize = size_of::<$name>();
        }
    )*};
}

by_layout! {
    u16: read_u16, append_varint, read_varint;
    u32: read_u32, append_varint, read_varint;
    u64: read_u64, append_varint, read_varint;
    i64: read_i64, append_signed, read_signed;
}

/// Implements [`BinaryCodec`] for types that are encoded as another type.
macro_rules! encoded_as {
    ($($name:ty, $value:ident: $inner:ty => $encoded:expr, $decoded:expr;)*) => {$(
        impl BinaryCodec for $name {
            fn encode(&self, out: &mut ByteWriter) {
                let $value = self;
                <$inner as BinaryCodec>::encode(&$encoded, out);
            }

            fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
                let $value: $inner = r.read_value()?;
                $decoded
            }
        }

        impl RowCodec for $name {
            const WIDTH: usize = <$inner>::WIDTH;
        }
    )*};
}

encoded_as! {
    bool, x: u8 => u8::from(*x), Some(x != 0);
    usize, x: u64 => *x as u64, x.try_into().ok();
    RecordId, x: u128 => x.to_u128(), Some(Self::from_u128(x));
    RecallId, x: u128 => x.to_u128(), Some(Self::from_u128(x));
    ContentHash, x: u128 => x.0, Some(Self(x));
}

impl RowCodec for MemoryKind {
    const WIDTH: usize = 1;
}

impl RowCodec for MemorySource {
    const WIDTH: usize = 1;
}

impl BinaryCodec for DateTime<Utc> {
    fn encode(&self, out: &mut ByteWriter) {
        crate::encode_all!(out, self.timestamp(), self.timestamp_subsec_nanos());
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        Self::from_timestamp(r.read_value()?, r.read_value()?)
    }
}

impl BinaryCodec for String {
    fn encode(&self, out: &mut ByteWriter) {
        out.write_bytes(self.as_bytes());
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        Self::from_utf8(r.read_bytes()?.to_vec()).ok()
    }
}

impl BinaryCodec for Arc<str> {
    fn encode(&self, out: &mut ByteWriter) {
        out.write_bytes(self.as_bytes());
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        std::str::from_utf8(r.read_bytes()?).ok().map(Self::from)
    }
}

impl<T: BinaryCodec> BinaryCodec for Vec<T> {
    fn encode(&self, out: &mut ByteWriter) {
        out.write_list(self.iter());
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        (0..r.read_count()?).map(|_| r.read_value()).collect()
    }
}

impl<T: BinaryCodec, const CHUNK: usize, const PAGE: usize> BinaryCodec for CowVec<T, CHUNK, PAGE> {
    fn encode(&self, out: &mut ByteWriter) {
        out.write_count(self.len());
        out.write_items(self.iter());
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        Vec::decode(r).map(|all| all.into_iter().collect())
    }
}

impl<T: BinaryCodec> BinaryCodec for Arc<[T]> {
    fn encode(&self, out: &mut ByteWriter) {
        out.write_list(self.iter());
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        Vec::decode(r).map(Self::from)
    }
}

impl<T: BinaryCodec + Copy + Default, const N: usize> BinaryCodec for [T; N] {
    fn encode(&self, out: &mut ByteWriter) {
        out.write_items(self.iter());
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        let mut all = [T::default(); N];
        for item in &mut all {
            *item = r.read_value()?;
        }
        Some(all)
    }
}

impl<T: RowCodec + Copy + Default, const N: usize> RowCodec for [T; N] {
    const WIDTH: usize = N * T::WIDTH;
}

impl<K: BinaryCodec + Ord, V: BinaryCodec> BinaryCodec for BTreeMap<K, V> {
    fn encode(&self, out: &mut ByteWriter) {
        out.write_count(self.len());
        for (key, value) in self {
            crate::encode_all!(out, *key, *value);
        }
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        (0..r.read_count()?).map(|_| r.read_value()).collect()
    }
}

impl<T: BinaryCodec> BinaryCodec for Box<T> {
    fn encode(&self, out: &mut ByteWriter) {
        T::encode(self, out);
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        r.read_value().map(Self::new)
    }
}

impl<T: BinaryCodec> BinaryCodec for Option<T> {
    fn encode(&self, out: &mut ByteWriter) {
        self.is_some().encode(out);
        if let Some(value) = self {
            value.encode(out);
        }
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(if r.read_value()? {
            Some(r.read_value()?)
        } else {
            None
        })
    }
}

/// Implements [`BinaryCodec`] for tuples: their parts in this order.
macro_rules! tuples {
    ($(($($part:ident),+))+) => {$(
        impl<$($part: BinaryCodec),+> BinaryCodec for ($($part,)+) {
            #[expect(non_snake_case, reason = "each part has the name of its type")]
            fn encode(&self, out: &mut ByteWriter) {
                let ($($part,)+) = self;
                $($part.encode(out);)+
            }

            fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
                Some(($($part::decode(r)?,)+))
            }
        }

        impl<$($part: RowCodec),+> RowCodec for ($($part,)+) {
            const WIDTH: usize = 0 $(+ $part::WIDTH)+;
        }
    )+};
}

tuples! { (A, B) (A, B, C) (A, B, C, D, E) }

/// JSON of any shape is one text.
impl BinaryCodec for Value {
    fn encode(&self, out: &mut ByteWriter) {
        self.to_string().encode(out);
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        serde_json::from_slice(r.read_bytes()?).ok()
    }
}

/// A JSON object is one text, which is empty if the object is.
impl BinaryCodec for Map<String, Value> {
    fn encode(&self, out: &mut ByteWriter) {
        let text = serde_json::to_string(self).unwrap_or_default();
        out.write_bytes(if self.is_empty() {
            b""
        } else {
            text.as_bytes()
        });
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        match r.read_bytes()? {
            [] => Some(Self::new()),
            text => serde_json::from_slice(text).ok(),
        }
    }
}

crate::impl_binary_codec! {
    EmbeddingSpace { model, version, dimensions }
    Embedding { space, vector }
    ExternalId { namespace, id }
    Provenance { run_id, actor_id, source_refs }
    RecordBody {
        text, source, kind, visibility, retention, external_ids, quality_score, confidence,
        evidence, supersedes, metadata, details, session_id, provenance, tags
    }
    RecallReceipt { recall_id, at, query, records }
    ChainStep { action, result }
    OutcomePrediction { baseline, evidence, adapter, adapter_projections }
    EndedRun {
        run_id, at, recall_id, query, used, credit, quality, scored, fail_kind, expected
    }
    AdapterWeights { runs, down, up, fisher }
    RunPattern { example_run, runs, quality, records, chain, centre }
    AdapterFit { weights, patterns }
}

#[cfg(test)]
mod tests;
