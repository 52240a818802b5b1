//! The encoding of the graph: neighbours as differences, in LEB128, with a restart every 64 nodes.

use alloc::vec::Vec;

use crate::graph::{HnswGraph, M, M0};

const RESTART: u32 = 64;
/// The encoded entry point of an empty graph.
const NO_ENTRY_POINT: u32 = u32::MAX;
/// The highest layer that a 64-bit hash can give.
const LAYER_MAX: u64 = 16;

/// Why bytes are not a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphDecodeError(pub &'static str);

impl HnswGraph {
    /// Appends the graph to `bytes`: `u32` low, `u32` high, `u32` entry point, `u32` top layer,
    /// `u32` number of stale ordinals and each of them, `u32` number of restarts and the offset of
    /// each, then the nodes. A node is its number of layers, then per layer the number of its
    /// links, the first as zigzag difference to the node, each further one as difference to the one
    /// before, less 1.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let mut nodes = Vec::new();
        let mut restarts = Vec::new();
        for ordinal in self.covered_range() {
            if (ordinal - self.low).is_multiple_of(RESTART) {
                restarts.push(nodes.len() as u32);
            }
            let layers = self.count_layers_of_node(ordinal);
            append_varint(&mut nodes, layers as u64);
            for layer in 0..layers {
                append_links(&mut nodes, ordinal, self.links(ordinal, layer));
            }
        }
        let (entry, top) = self.entry_point.unwrap_or((NO_ENTRY_POINT, 0));
        for number in [self.low, self.high, entry, top as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for list in [self.stale.iter().collect(), restarts] {
            bytes.extend_from_slice(&(list.len() as u32).to_le_bytes());
            bytes.extend(list.iter().flat_map(|number| number.to_le_bytes()));
        }
        bytes.extend_from_slice(&nodes);
    }

    /// Decodes the bytes of [`Self::encode`], for an index of `len` documents.
    pub fn decode(bytes: &[u8], len: u32) -> Result<Self, GraphDecodeError> {
        let mut rest = bytes;
        let ends_early = GraphDecodeError("it ends early");
        let mut next = || read_u32(&mut rest).ok_or(ends_early);
        let [low, high, entry, top] = [next()?, next()?, next()?, next()?];
        let stale = read_list(&mut rest).ok_or(ends_early)?;
        let restarts = read_list(&mut rest).ok_or(ends_early)?;
        let covered = low..high;
        let is_covered = |id: &u32| covered.contains(id);
        if high > len || low > high || u64::from(top) > LAYER_MAX {
            return Err(GraphDecodeError("its range is invalid"));
        }
        if !(entry == NO_ENTRY_POINT || is_covered(&entry)) || !stale.iter().all(is_covered) {
            return Err(GraphDecodeError(
                "it names a document that it does not cover",
            ));
        }
        let mut graph = Self {
            entry_point: (entry != NO_ENTRY_POINT).then_some((entry, top as usize)),
            low,
            high,
            ..Self::default()
        };
        for ordinal in stale {
            graph.mark_stale(ordinal);
        }
        let nodes = graph.decode_nodes(rest, &restarts);
        nodes.ok_or(GraphDecodeError("its nodes are invalid"))?;
        Ok(graph)
    }

    fn decode_nodes(&mut self, nodes: &[u8], restarts: &[u32]) -> Option<()> {
        let covered = self.covered_range();
        let mut rest = nodes;
        let mut ids = Vec::with_capacity(M0);
        for ordinal in covered.clone() {
            let index = ordinal - self.low;
            if index.is_multiple_of(RESTART) {
                let at = restarts.get((index / RESTART) as usize)?;
                (*at as usize == nodes.len() - rest.len()).then_some(())?;
            }
            let layers = read_varint(&mut rest).filter(|l| (1..=1 + LAYER_MAX).contains(l))?;
            for layer in 0..layers as usize {
                let most = if layer == 0 { M0 } else { M };
                read_links(&mut rest, ordinal, most, &mut ids)?;
                ids.iter().all(|id| covered.contains(id)).then_some(())?;
                self.set_links(ordinal, layer, &ids);
            }
        }
        rest.is_empty().then_some(())
    }
}

fn read_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

fn read_list(bytes: &mut &[u8]) -> Option<Vec<u32>> {
    let count = (read_u32(bytes)? as usize).checked_mul(4)?;
    let (numbers, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    let (numbers, _) = numbers.as_chunks::<4>();
    Some(numbers.iter().map(|n| u32::from_le_bytes(*n)).collect())
}

fn append_links(bytes: &mut Vec<u8>, node: u32, ids: &[u32]) {
    append_varint(bytes, ids.len() as u64);
    let Some((first, rest)) = ids.split_first() else {
        return;
    };
    let difference = i64::from(*first) - i64::from(node);
    append_varint(
        bytes,
        ((difference << 1) ^ (difference >> 63)).cast_unsigned(),
    );
    let mut before = *first;
    for id in rest {
        append_varint(bytes, u64::from(id - before - 1));
        before = *id;
    }
}

fn read_links(bytes: &mut &[u8], node: u32, most: usize, ids: &mut Vec<u32>) -> Option<()> {
    ids.clear();
    let count = read_varint(bytes).filter(|count| *count <= most as u64)?;
    for _ in 0..count {
        let number = read_varint(bytes)?;
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

/// Appends a number as LEB128, seven bits to a byte.
pub fn append_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads one LEB128 number from the front; `None` if the bytes end or it is too long.
#[inline]
pub fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
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
            append_varint(&mut bytes, value);
            assert_eq!(read_varint(&mut &bytes[..]), Some(value));
            assert_eq!(read_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(read_varint(&mut &[0xff; 12][..]), None);
    }
}
