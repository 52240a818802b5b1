//! A navigable small world (Malkov and Yashunin 2018): the arithmetic of the vector index, without
//! `std` and without dependencies (M22).
//!
//! Nodes are ordinals. Vectors stay with the caller, who answers how alike two are ([`Metric`]);
//! saved bytes carry no version and no checksum, which are the caller's, too.
//!
//! # Examples
//!
//! ```
//! use reprise_graph::{Graph, GraphScratch, Metric, key_parts};
//!
//! struct Angles([f32; 4]);
//! impl Metric for Angles {
//!     fn similarity(&self, a: u32, b: u32) -> f32 {
//!         (self.0[a as usize] - self.0[b as usize]).cos()
//!     }
//! }
//!
//! let (angles, mut graph) = (Angles([0.0, 1.0, 2.0, 3.0]), Graph::default());
//! let mut scratch = GraphScratch::default();
//! while graph.advance(&angles, |_| true, 4, 64, &mut scratch) > 0 {}
//! graph.search(|id| (angles.0[id as usize] - 2.1).cos(), 10, |_| true, &mut scratch);
//! let nearest = scratch.best.iter().max().map(|best| key_parts(*best).0);
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

pub use graph::{Graph, Metric};
pub use saved::{NotAGraph, put_varint, take_varint};
pub use search::{GraphScratch, key, key_parts};

#[cfg(test)]
mod tests;
