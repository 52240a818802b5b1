//! Every operation that this program offers, put together: those of a memory, and those that act on
//! governed workspaces.

use reprise_operations::{Catalogue, Profile};
use reprise_workspace_operations::GovernedWorkspaces;

/// Puts the catalogue together, with operations that reach these workspaces.
pub(crate) fn assemble_catalogue(governed: &GovernedWorkspaces) -> Catalogue {
    Catalogue::default().with_operations(governed.list_operations())
}

/// Finds a profile of tools by its name.
pub(super) fn find_profile(name: &str) -> Result<Profile, String> {
    assemble_catalogue(&GovernedWorkspaces::default()).find_profile(name)
}
