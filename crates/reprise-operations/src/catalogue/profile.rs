//! Profiles of MCP: which tools a client sees. A program adds profiles with its operations.

use super::Catalogue;
use crate::prelude::*;

/// Which tools a client of MCP sees: each costs its context. `Catalogue::find_profile` finds one by
/// its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Profile {
    /// What memory is useless without.
    Lean,
    /// What most agents need.
    #[default]
    Default,
    /// All of memory, with aliases, rare arguments and administration.
    Full,
    /// What most agents need, and tools that a program adds.
    Added(AddedProfile),
}

/// A profile that a program adds with its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddedProfile {
    /// What clients choose it by.
    pub name: &'static str,
    /// What its tools are of, as descriptions say it.
    pub subject: &'static str,
}

impl Profile {
    /// Whether a client with this profile sees what is shown from `least` on.
    #[must_use]
    pub fn shows(self, least: Self) -> bool {
        match (self, least) {
            (Self::Added(own), Self::Added(other)) => own == other,
            (Self::Added(_), Self::Full) => false,
            (_, least) => least <= self,
        }
    }

    /// What clients choose it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lean => "lean",
            Self::Default => "default",
            Self::Full => "full",
            Self::Added(added) => added.name,
        }
    }
}

impl Catalogue {
    /// The profiles that a client can choose.
    pub fn list_profiles(&self) -> impl Iterator<Item = Profile> {
        let own = [Profile::Lean, Profile::Default, Profile::Full];
        own.into_iter()
            .chain(self.list_added_profiles().into_iter().map(Profile::Added))
    }

    /// The profiles that programs added.
    #[must_use]
    pub fn list_added_profiles(&self) -> BTreeSet<AddedProfile> {
        let tools = self.entries().filter_map(|entry| entry.spec.tool);
        let added = tools.filter_map(|tool| match tool.profile {
            Profile::Added(added) => Some(added),
            _ => None,
        });
        added.collect()
    }

    /// The profile of this name; the error is a sentence that lists them.
    pub fn find_profile(&self, name: &str) -> Result<Profile, String> {
        let found = self.list_profiles().find(|profile| profile.name() == name);
        found.ok_or_else(|| {
            let mut names: Vec<&str> = self.list_profiles().map(Profile::name).collect();
            let last = names.pop().unwrap_or_default();
            format!("the profiles are {} and {last}", names.join(", "))
        })
    }
}
