//! Which branch of a workspace counts.

use crate::git::Git;

/// The configuration key that names the branch which people and agents share.
pub(crate) const MAIN_KEY: &str = "reprise.main";

/// The branch that is shared: as configured at `init`; in a clone `main`, or what git's own
/// default once was.
pub(crate) fn main_of(git: &Git) -> String {
    let configured = git
        .repo
        .config()
        .and_then(|mut config| config.snapshot()?.get_string(MAIN_KEY));
    configured.unwrap_or_else(|_| {
        let has = |name: &str| git.repo.find_branch(name, git2::BranchType::Local).is_ok();
        if !has("main") && has("master") {
            "master".to_owned()
        } else {
            "main".to_owned()
        }
    })
}
