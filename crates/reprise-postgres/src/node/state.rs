//! A node with what it knows without asking.

use std::sync::Arc;

use super::super::reputations::Voices;
use super::super::shelves::Shelves;
use super::Node;

/// A node with what it knows without asking.
#[derive(Debug)]
pub(in super::super) struct NodeState {
    pub(in super::super) node: Arc<Node>,
    pub(in super::super) shelves: Arc<Shelves>,
    pub(in super::super) voices: Voices,
}
