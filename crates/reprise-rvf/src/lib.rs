//! A second store of a memory's vectors, in a file of `rvf-runtime` next to its log.
//!
//! What the package cannot do is done here: each of its writes copies every vector and lists every
//! segment, so vectors are written in batches; its graph is built within the first question, so the
//! exact scan is asked; its own compaction can lose vectors, so the file is written anew.
//! ```
//! use reprise_rvf::RvfVectors;
//! use reprise_types::VectorStore;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let store = RvfVectors::open(&folder.path().join("memory.vectors.rvf"), 2, false)?;
//! store.ingest(&[(0, &[1.0, 0.0]), (1, &[0.0, 1.0])])?;
//! assert_eq!(store.query(&[0.6, 0.8], 1, &|_| true)?, [(1, 0.8)]);
//! # Ok(())
//! # }
//! ```

mod vectors;

pub use vectors::RvfVectors;
