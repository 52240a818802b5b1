//! A node with what it knows without asking.

use std::sync::Arc;

use super::node::Node;
use super::shelves::Shelves;
use super::voices::Voices;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) node: Arc<Node>,
    pub(super) shelves: Arc<Shelves>,
    pub(super) voices: Voices,
}
