//! What the tests that cross crates share: the workspace as text, and the binary as a process.
//!
//! The tree of sources and manifests; `reprise` and git run; a PostgreSQL server; numbers by seed;
//! texts that try to leave their frame, and a reader of frames; what a text has to hold.

mod postgres;
mod process;
mod quoted;
mod said;
mod seeded;
mod tree;

pub use postgres::Postgres;
pub use process::{Finished, finish, git, reprise, reprise_binary, try_git};
pub use quoted::{hostile_text, quoted_lines};
pub use seeded::Seeded;
pub use tree::{Manifest, Source, Tree, workspace_root};
