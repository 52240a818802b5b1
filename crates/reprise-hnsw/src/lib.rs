//! A hierarchical navigable small world (HNSW, Malkov and Yashunin 2018): the arithmetic of the
//! vector index, without `std` and without dependencies.
//!
//! Nodes are ordinals. Vectors stay with the caller, who computes how similar two are ([`Metric`]).
//! The encoded bytes have no version and no checksum, which the caller adds, too.
//!
//! # Examples
//!
//! ```
//! use reprise_hnsw::{HnswGraph, GraphScratch, Metric, split_rank_key};
//!
//! struct Angles([f32; 4]);
//! impl Metric for Angles {
//!     fn similarity(&self, a: u32, b: u32) -> f32 {
//!         (self.0[a as usize] - self.0[b as usize]).cos()
//!     }
//! }
//!
//! let (angles, mut graph) = (Angles([0.0, 1.0, 2.0, 3.0]), HnswGraph::default());
//! let mut scratch = GraphScratch::default();
//! while graph.grow(&angles, |_| true, 4, 64, &mut scratch) > 0 {}
//! graph.search(|id| (angles.0[id as usize] - 2.1).cos(), 10, |_| true, &mut scratch);
//! let nearest = scratch.best.iter().max().map(|best| split_rank_key(*best).0);
//! assert_eq!(nearest, Some(2));
//! ```

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod graph;
mod insert;
mod removal;
mod saved;
mod search;

pub use graph::{HnswGraph, Metric};
pub use saved::{GraphDecodeError, append_varint, read_varint};
pub use search::{GraphScratch, rank_key, split_rank_key};

#[cfg(test)]
mod tests;
