//! What the tests that cross crates share: the workspace as text, and the binary as a process.
//!
//! Lives here: the tree of sources and manifests with a lexer that tells code from comments and
//! strings; `reprise` built and run; numbers by seed. Must never live here: an assertion, or a
//! rule.

mod masked;
mod process;
mod seeded;
mod tree;

pub use masked::Masked;
pub use process::{Finished, finish, reprise, reprise_binary};
pub use seeded::Seeded;
pub use tree::{Manifest, Source, Tree, workspace_root};
