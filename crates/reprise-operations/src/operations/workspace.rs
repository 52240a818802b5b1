//! A governed workspace (`guide/workspace.md`): each operation by its name in `reprise workspace`.

pub mod abandon;
pub mod approve;
pub mod audit;
pub mod checkpoint;
pub mod decline;
pub mod diff;
pub mod events;
pub mod graph;
pub mod log;
pub mod merge;
pub mod propose;
pub mod read;
pub mod recover;
pub mod restore;
pub mod review;
pub mod rollback;
pub mod snapshot;
pub mod snapshots;
pub mod state;
pub mod status;
pub mod write;

use reprise_workspace::{Actor, WorkspaceError};

use crate::memories::{Asked, Memory};
use crate::problem::Problem;

/// A person, with or without the prefix, where the caller may be that one.
fn human(memory: &Memory, asked: &Asked, name: &str) -> Result<Actor, Problem> {
    let human = Actor::human(name).map_err(WorkspaceError::from)?;
    memory.actor(asked, human.as_str())
}
