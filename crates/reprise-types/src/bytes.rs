//! The bytes of what is stored: one reader of untrusted bytes, one writer, and [`Wire`], by which a
//! type says once how it is written and read (`wire!`, `wire_kinds!`).
//!
//! Two layouts: the log's is short (LEB128, zigzag), that of checkpointed parts is fixed width.
//! Both are little-endian and never change: what is new is a tail that older entries lack.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::embedding::{Embedding, EmbeddingSpace};
use crate::id::{RecallId, RecordId};
use crate::kind::{Credit, FailKind};
use crate::record::{ContentHash, ExternalId};
use crate::run::{
    AdapterWeights, ChainStep, Consolidation, EndedRun, Expected, Receipt, RunPattern,
};

/// Appends the low 7 bits first, the high bit of each byte saying that more follow.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number so that small magnitudes stay short.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// Bytes in the making.
#[derive(Debug, Default)]
pub struct ByteWriter {
    pub bytes: Vec<u8>,
    fixed: bool,
}

impl ByteWriter {
    /// Of the fixed layout, behind what is there already; [`Self::default`] is of the short one.
    pub fn fixed(bytes: Vec<u8>) -> Self {
        Self { bytes, fixed: true }
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The number of items that follow.
    pub fn count(&mut self, count: usize) {
        if self.fixed {
            (count as u32).put(self);
        } else {
            put_varint(&mut self.bytes, count as u64);
        }
    }

    /// A count, then the items.
    pub fn all<'a, T: Wire + 'a>(&mut self, items: impl ExactSizeIterator<Item = &'a T>) {
        self.count(items.len());
        self.each(items);
    }

    /// The items alone.
    pub fn each<'a, T: Wire + 'a>(&mut self, items: impl Iterator<Item = &'a T>) {
        for item in items {
            item.put(self);
        }
    }

    /// A count, then the bytes.
    pub fn text(&mut self, text: &[u8]) {
        self.count(text.len());
        self.raw(text);
    }
}

/// Reads untrusted bytes: every method answers `None` instead of reading past the end.
#[derive(Debug, Clone, Copy)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
    fixed: bool,
}

macro_rules! numbers {
    ($($name:ident)*) => {
        impl ByteReader<'_> {
            $(#[inline]
            pub fn $name(&mut self) -> Option<$name> {
                self.array().map($name::from_le_bytes)
            })*
        }
    };
}

numbers!(u8 i8 u16 i16 u32 u64 i64 u128 f32 f64);

impl<'a> ByteReader<'a> {
    /// Of the short layout.
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest, fixed: false }
    }

    pub fn fixed(rest: &'a [u8]) -> Self {
        Self { rest, fixed: true }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    pub fn varint(&mut self) -> Option<u64> {
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

    pub fn varint_u32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    pub fn signed(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    /// The inverse of [`ByteWriter::count`], of items of a byte at least: a forged count must not
    /// allocate.
    pub fn count(&mut self) -> Option<usize> {
        let count = if self.fixed {
            self.u32()?.into()
        } else {
            self.varint()?
        };
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.rest.len())
    }

    /// The inverse of [`ByteWriter::text`].
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    /// The next value, of the type that is wanted.
    pub fn get<T: Wire>(&mut self) -> Option<T> {
        T::take(self)
    }
}

/// What is written and read by its type alone.
pub trait Wire: Sized {
    fn put(&self, out: &mut ByteWriter);
    /// The inverse of [`Self::put`]; `None` for malformed bytes.
    fn take(r: &mut ByteReader<'_>) -> Option<Self>;
}

/// What stands at the end of an entry, or does not.
pub trait Tail: Sized {
    fn put_tail(&self, out: &mut ByteWriter);
    fn take_tail(r: &mut ByteReader<'_>) -> Option<Self>;
}

/// Writes values one behind the other.
#[macro_export]
macro_rules! put_all {
    ($out:expr, $($value:expr),+ $(,)?) => {{ $($crate::Wire::put(&$value, $out);)+ }};
}

/// The bytes of structs: their fields in this order, the tail behind a semicolon.
#[macro_export]
macro_rules! wire {
    ($($name:ident { $($field:ident),+ $(; $tail:ident)? })+) => {$(
        impl $crate::Wire for $name {
            fn put(&self, out: &mut $crate::ByteWriter) {
                $($crate::Wire::put(&self.$field, out);)+
                $($crate::Tail::put_tail(&self.$tail, out);)?
            }

            fn take(r: &mut $crate::ByteReader<'_>) -> Option<Self> {
                Some(Self {
                    $($field: r.get()?,)+
                    $($tail: $crate::Tail::take_tail(r)?,)?
                })
            }
        }
    )+};
}

/// The bytes of an enum's variants, each known by a number that never changes.
#[macro_export]
macro_rules! wire_kinds {
    ($name:ident { $($kind:literal => $variant:ident
        $(($inner:ident))? $({ $($field:ident),+ $(; $tail:ident)? })?,)+ }) => {
        impl $name {
            /// Whether a number is that of a kind of these.
            pub fn knows(kind: u8) -> bool {
                [$($kind),+].contains(&kind)
            }

            /// Writes the body; returns the number of its kind.
            pub fn put(&self, out: &mut $crate::ByteWriter) -> u8 {
                match self {
                    $(Self::$variant $(($inner))? $({ $($field),+ $(, $tail)? })? => {
                        $($crate::Wire::put($inner, out);)?
                        $($($crate::Wire::put($field, out);)+
                        $($crate::Tail::put_tail($tail, out);)?)?
                        $kind
                    })+
                }
            }

            /// The inverse of [`Self::put`].
            pub fn take(kind: u8, r: &mut $crate::ByteReader<'_>) -> Option<Self> {
                Some(match kind {
                    $($kind => Self::$variant $(({ let $inner = r.get()?; $inner }))? $({
                        $($field: r.get()?,)+
                        $($tail: $crate::Tail::take_tail(r)?,)?
                    })?,)+
                    _ => return None,
                })
            }
        }
    };
}

macro_rules! fixed_width {
    ($($name:ident)*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut ByteWriter) {
                out.raw(&self.to_le_bytes());
            }

            fn take(r: &mut ByteReader<'_>) -> Option<Self> {
                r.$name()
            }
        }
    )*};
}

fixed_width!(u8 i8 i16 u128 f32 f64);

/// Numbers that are short in the short layout, each by what writes and what reads it there.
macro_rules! by_layout {
    ($($name:ident: $put:ident, $take:ident;)*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut ByteWriter) {
                if out.fixed {
                    out.raw(&self.to_le_bytes());
                } else {
                    $put(&mut out.bytes, (*self).into());
                }
            }

            fn take(r: &mut ByteReader<'_>) -> Option<Self> {
                if r.fixed { r.$name() } else { r.$take()?.try_into().ok() }
            }
        }
    )*};
}

by_layout! {
    u16: put_varint, varint;
    u32: put_varint, varint;
    u64: put_varint, varint;
    i64: put_signed, signed;
}

/// Types that are written as another one.
macro_rules! written_as {
    ($($name:ty, $value:ident: $inner:ty => $put:expr, $take:expr;)*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut ByteWriter) {
                let $value = self;
                <$inner as Wire>::put(&$put, out);
            }

            fn take(r: &mut ByteReader<'_>) -> Option<Self> {
                let $value: $inner = r.get()?;
                $take
            }
        }
    )*};
}

written_as! {
    bool, x: u8 => u8::from(*x), Some(x != 0);
    usize, x: u64 => *x as u64, x.try_into().ok();
    RecordId, x: u128 => x.to_u128(), Some(Self::from_u128(x));
    RecallId, x: u128 => x.to_u128(), Some(Self::from_u128(x));
    ContentHash, x: u128 => x.0, Some(Self(x));
}

impl Wire for DateTime<Utc> {
    fn put(&self, out: &mut ByteWriter) {
        crate::put_all!(out, self.timestamp(), self.timestamp_subsec_nanos());
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        Self::from_timestamp(r.get()?, r.get()?)
    }
}

impl Wire for String {
    fn put(&self, out: &mut ByteWriter) {
        out.text(self.as_bytes());
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        Self::from_utf8(r.bytes()?.to_vec()).ok()
    }
}

impl Wire for Arc<str> {
    fn put(&self, out: &mut ByteWriter) {
        out.text(self.as_bytes());
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        std::str::from_utf8(r.bytes()?).ok().map(Self::from)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut ByteWriter) {
        out.all(self.iter());
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        (0..r.count()?).map(|_| r.get()).collect()
    }
}

impl<T: Wire + Copy + Default, const N: usize> Wire for [T; N] {
    fn put(&self, out: &mut ByteWriter) {
        out.each(self.iter());
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        let mut all = [T::default(); N];
        for item in &mut all {
            *item = r.get()?;
        }
        Some(all)
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, out: &mut ByteWriter) {
        out.count(self.len());
        for (key, value) in self {
            crate::put_all!(out, *key, *value);
        }
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        (0..r.count()?)
            .map(|_| Some((r.get()?, r.get()?)))
            .collect()
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut ByteWriter) {
        T::put(self, out);
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        r.get().map(Self::new)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut ByteWriter) {
        self.is_some().put(out);
        self.put_tail(out);
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(if r.get()? { Some(r.get()?) } else { None })
    }
}

impl Tail for bool {
    fn put_tail(&self, out: &mut ByteWriter) {
        self.then_some(true).put_tail(out);
    }

    fn take_tail(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(Option::take_tail(r)?.unwrap_or_default())
    }
}

impl<T: Wire> Tail for Option<T> {
    fn put_tail(&self, out: &mut ByteWriter) {
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take_tail(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(if r.is_empty() { None } else { Some(r.get()?) })
    }
}

impl<T: Wire> Tail for Vec<T> {
    fn put_tail(&self, out: &mut ByteWriter) {
        if !self.is_empty() {
            self.put(out);
        }
    }

    fn take_tail(r: &mut ByteReader<'_>) -> Option<Self> {
        Some(Option::take_tail(r)?.unwrap_or_default())
    }
}

crate::wire! {
    EmbeddingSpace { model, version, dimensions }
    ExternalId { namespace, id }
    Receipt { recall_id, at, query, records }
    AdapterWeights { runs, down, up, fisher }
    RunPattern { example_run, runs, quality, records, chain, centre }
    Consolidation { weights; patterns }
}

/// In fixed width the dimensions are those of the vector.
impl Wire for Embedding {
    fn put(&self, out: &mut ByteWriter) {
        let EmbeddingSpace {
            model,
            version,
            dimensions,
        } = &self.space;
        crate::put_all!(out, *model, *version);
        if !out.fixed {
            dimensions.put(out);
        }
        self.vector.put(out);
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        let (model, version) = (r.get()?, r.get()?);
        let told: Option<u16> = if r.fixed { None } else { Some(r.get()?) };
        let vector: Vec<f32> = r.get()?;
        let dimensions = told.or_else(|| vector.len().try_into().ok())?;
        let space = EmbeddingSpace {
            model,
            version,
            dimensions,
        };
        Some(Self { space, vector })
    }
}

/// A list of its result, or in fixed width its result, 0 for none.
impl Wire for ChainStep {
    fn put(&self, out: &mut ByteWriter) {
        self.action.put(out);
        if out.fixed {
            self.result.map_or(0, RecordId::to_u128).put(out);
        } else {
            out.all(self.result.as_slice().iter());
        }
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        let action = r.get()?;
        let result = if r.fixed {
            Some(r.u128()?)
                .filter(|id| *id != 0)
                .map(RecordId::from_u128)
        } else {
            Vec::take(r)?.first().copied()
        };
        Some(Self { action, result })
    }
}

/// Bits of an ended run: its quality was given, and
const SCORED: u8 = 1;
/// two numbers for the adapter's step follow at the end.
const ALONG: u8 = 2;

impl Wire for EndedRun {
    fn put(&self, out: &mut ByteWriter) {
        let Expected {
            baseline,
            evidence,
            adapter,
            along,
        } = self.expected;
        let steps = along.iter().any(|number| *number != 0.0);
        let bits = (u8::from(self.scored) * SCORED) | (u8::from(steps) * ALONG);
        crate::put_all!(
            out,
            self.run_id,
            self.at,
            self.recall_id,
            self.query,
            self.used
        );
        crate::put_all!(
            out,
            self.credit,
            bits,
            self.fail_kind.map_or(0, FailKind::number)
        );
        crate::put_all!(out, self.quality, baseline, evidence, adapter);
        if steps {
            along.put(out);
        }
    }

    fn take(r: &mut ByteReader<'_>) -> Option<Self> {
        let (run_id, at, recall_id) = (r.get()?, r.get()?, r.get()?);
        let (query, used, credit): (_, _, Credit) = (r.get()?, r.get()?, r.get()?);
        let (bits, fail) = (r.u8()?, r.u8()?);
        let fail_kind = FailKind::from_number(fail);
        if fail != 0 && fail_kind.is_none() {
            return None;
        }
        let (quality, baseline, evidence, adapter) = (r.f32()?, r.f32()?, r.f32()?, r.f32()?);
        let along = match bits & ALONG {
            0 => [0.0; 2],
            _ => r.get()?,
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
            expected: Expected {
                baseline,
                evidence,
                adapter,
                along,
            },
        })
    }
}

#[cfg(test)]
mod tests;
