//! A navigable small world (Malkov and Yashunin 2018): the arithmetic of the vector index, without
//! `std` and without dependencies (M22).
//!
//! Nodes are ordinals. Vectors stay with the caller, who answers how alike two are ([`Metric`]);
//! saved bytes carry no version and no checksum, which are the caller's, too.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod graph;
mod insert;
mod rank;
mod removal;
mod saved;
mod search;
mod varint;

pub use graph::{Graph, Metric};
pub use rank::{key, key_parts};
pub use saved::NotAGraph;
pub use search::GraphScratch;
pub use varint::{put_varint, take_varint};

#[cfg(test)]
mod tests;
