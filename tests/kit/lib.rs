//! What the tests that cross crates share: reading the workspace as text.
//!
//! Lives here: the tree of sources and manifests, and a lexer that tells code from comments and
//! strings. Must never live here: an assertion, or a rule (rules are in `it/`).

mod masked;
mod tree;

pub use masked::Masked;
pub use tree::{Manifest, Source, Tree, workspace_root};
