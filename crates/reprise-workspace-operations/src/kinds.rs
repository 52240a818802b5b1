//! What the arguments of these operations are, besides the kinds that all operations have.

use reprise_operations::declaring::{TextKind, TextRule};

/// Who acts: an agent by its name, or a person.
const ACTOR: &str = "^(?:human:[A-Za-z0-9][A-Za-z0-9._-]{0,57}|[A-Za-z0-9][A-Za-z0-9._-]{0,63})$";

/// A person, with or without the prefix.
const HUMAN: &str = "^(?:human:)?[A-Za-z0-9][A-Za-z0-9._-]{0,57}$";

/// The branch of an agent, or its name.
const AGENTS_BRANCH: &str = "^(?:agent/)?[A-Za-z0-9][A-Za-z0-9._-]{0,57}$";

/// Short paths; what a path may not have, the workspace itself refuses.
const TREE_PATH: &str = "^(?:[^/\\\\\\x00-\\x1f\\x7f-\\x9f]{0,62}\
    [^/\\\\\\x00-\\x1f\\x7f-\\x9f. ]/){0,3}[^/\\\\\\x00-\\x1f\\x7f-\\x9f]{0,62}\
    [^/\\\\\\x00-\\x1f\\x7f-\\x9f. ]$";

/// Who acts: an agent or a person.
#[derive(Debug)]
pub(crate) enum ActorName {}

impl TextKind for ActorName {
    const RULE: TextRule = TextRule::of_chosen_names(|| ACTOR.to_owned());
}

/// A person.
#[derive(Debug)]
pub(crate) enum HumanName {}

impl TextKind for HumanName {
    const RULE: TextRule = TextRule::of_chosen_names(|| HUMAN.to_owned());
}

/// An agent's branch, whose tree is meant in place of the shared one.
#[derive(Debug)]
pub(crate) enum BranchName {}

impl TextKind for BranchName {
    const RULE: TextRule = TextRule::of_chosen_names(|| AGENTS_BRANCH.to_owned());
}

/// A path in the tree.
#[derive(Debug)]
pub(crate) enum TreePath {}

impl TextKind for TreePath {
    const RULE: TextRule = TextRule::of_lines(|| TREE_PATH.to_owned());
}
