//! What the tests that cross crates share: the workspace as text, and the binary as a process.
//!
//! The tree of sources and manifests, runners of `reprise` and git, a PostgreSQL server, seeded
//! random numbers, hostile texts with a strict parser of frames, assertion macros, and waiting
//! for what another process makes.

mod postgres;
mod process;
mod quoted;
mod said;
mod seeded;
mod tree;
mod waiting;

pub use postgres::Postgres;
pub use process::{
    RunOutput, find_reprise_binary, reprise_command, run_git, run_to_end, try_run_git,
};
pub use quoted::{hostile_text, parse_quoted_lines};
pub use seeded::SeededRng;
pub use tree::{PackageManifest, SourceFile, WorkspaceTree, workspace_root};
pub use waiting::{PATIENCE, seen_if, wait_for, wait_for_async};
