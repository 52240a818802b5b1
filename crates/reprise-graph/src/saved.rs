//! The graph as bytes: neighbours as differences, in LEB128, with a restart every 64 nodes.

use alloc::vec::Vec;

use crate::graph::{Graph, M, M0};

const RESTART: u32 = 64;
/// Entry point of an empty graph.
const NOWHERE: u32 = u32::MAX;
/// The highest layer that a 64-bit hash can give.
const LAYER_MAX: u64 = 16;

/// Why bytes are no graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAGraph(pub &'static str);

impl Graph {
    /// u32 low | u32 high | u32 entry | u32 top layer | u32 loose, ordinal each | u32 restarts, u32
    /// offset each | nodes. A node: layers, then per layer the number of its links, the first as
    /// zigzag difference to the node, each further one as difference to the one before, less 1.
    pub fn save(&self, bytes: &mut Vec<u8>) {
        let mut nodes = Vec::new();
        let mut restarts = Vec::new();
        for ordinal in self.covered() {
            if (ordinal - self.low).is_multiple_of(RESTART) {
                restarts.push(nodes.len() as u32);
            }
            let layers = self.layers(ordinal);
            put_varint(&mut nodes, layers as u64);
            for layer in 0..layers {
                put_links(&mut nodes, ordinal, self.links(ordinal, layer));
            }
        }
        let (entry, top) = self.entry.unwrap_or((NOWHERE, 0));
        for number in [self.low, self.high, entry, top as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for list in [self.loose.iter().collect(), restarts] {
            bytes.extend_from_slice(&(list.len() as u32).to_le_bytes());
            bytes.extend(list.iter().flat_map(|number| number.to_le_bytes()));
        }
        bytes.extend_from_slice(&nodes);
    }

    /// The inverse of [`Self::save`], for an index of `len` documents.
    pub fn read(bytes: &[u8], len: u32) -> Result<Self, NotAGraph> {
        let mut rest = bytes;
        let early = NotAGraph("it ends early");
        let mut next = || take_u32(&mut rest).ok_or(early);
        let [low, high, entry, top] = [next()?, next()?, next()?, next()?];
        let loose = list(&mut rest).ok_or(early)?;
        let restarts = list(&mut rest).ok_or(early)?;
        let covered = low..high;
        let within = |id: &u32| covered.contains(id);
        if high > len || low > high || u64::from(top) > LAYER_MAX {
            return Err(NotAGraph("its range is none"));
        }
        if !(entry == NOWHERE || within(&entry)) || !loose.iter().all(within) {
            return Err(NotAGraph("it names a document that it does not cover"));
        }
        let mut graph = Self {
            entry: (entry != NOWHERE).then_some((entry, top as usize)),
            low,
            high,
            ..Self::default()
        };
        for ordinal in loose {
            graph.moved(ordinal);
        }
        let nodes = graph.take_nodes(rest, &restarts);
        nodes.ok_or(NotAGraph("its nodes make no sense"))?;
        Ok(graph)
    }

    fn take_nodes(&mut self, nodes: &[u8], restarts: &[u32]) -> Option<()> {
        let covered = self.covered();
        let mut rest = nodes;
        let mut ids = Vec::with_capacity(M0);
        for ordinal in covered.clone() {
            let index = ordinal - self.low;
            if index.is_multiple_of(RESTART) {
                let at = restarts.get((index / RESTART) as usize)?;
                (*at as usize == nodes.len() - rest.len()).then_some(())?;
            }
            let layers = take_varint(&mut rest).filter(|l| (1..=1 + LAYER_MAX).contains(l))?;
            for layer in 0..layers as usize {
                let most = if layer == 0 { M0 } else { M };
                take_links(&mut rest, ordinal, most, &mut ids)?;
                ids.iter().all(|id| covered.contains(id)).then_some(())?;
                self.set_links(ordinal, layer, &ids);
            }
        }
        rest.is_empty().then_some(())
    }
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

fn list(bytes: &mut &[u8]) -> Option<Vec<u32>> {
    let count = (take_u32(bytes)? as usize).checked_mul(4)?;
    let (numbers, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    let (numbers, _) = numbers.as_chunks::<4>();
    Some(numbers.iter().map(|n| u32::from_le_bytes(*n)).collect())
}

fn put_links(bytes: &mut Vec<u8>, node: u32, ids: &[u32]) {
    put_varint(bytes, ids.len() as u64);
    let Some((first, rest)) = ids.split_first() else {
        return;
    };
    let difference = i64::from(*first) - i64::from(node);
    put_varint(
        bytes,
        ((difference << 1) ^ (difference >> 63)).cast_unsigned(),
    );
    let mut before = *first;
    for id in rest {
        put_varint(bytes, u64::from(id - before - 1));
        before = *id;
    }
}

fn take_links(bytes: &mut &[u8], node: u32, most: usize, ids: &mut Vec<u32>) -> Option<()> {
    ids.clear();
    let count = take_varint(bytes).filter(|count| *count <= most as u64)?;
    for _ in 0..count {
        let number = take_varint(bytes)?;
        let id = match ids.last() {
            None => {
                let difference = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
                i64::from(node).checked_add(difference)?
            }
            Some(before) => i64::try_from(number)
                .ok()?
                .checked_add(i64::from(*before) + 1)?,
        };
        ids.push(u32::try_from(id).ok()?);
    }
    Some(())
}

/// Appends a number, seven bits to a byte.
pub fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads one number from the front; `None` where the bytes end or it is too long.
#[inline]
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    for shift in (7..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back_and_torn_ones_do_not() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 62] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(take_varint(&mut &bytes[..]), Some(value));
            assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(take_varint(&mut &[0xff; 12][..]), None);
    }
}
