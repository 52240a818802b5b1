//! Who acts: an agent by its name, or a person as `human:NAME`.

use std::fmt;

use serde::Serialize;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// A text that names nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no actor: write a name of letters, digits, `-`, `_` and `.` (`tsm`, `TSM-001`), or \
     `human:NAME` for a person"
)]
pub struct ActorError(String);

/// Who asks for a change. The name is the caller's word, as an author's is with git.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Actor(String);

impl Actor {
    pub fn new(text: &str) -> Result<Self, ActorError> {
        let name = text.strip_prefix("human:").unwrap_or(text);
        let is_good = !name.is_empty()
            && text.len() <= NAME_BYTES_MAX
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if is_good {
            Ok(Self(text.to_owned()))
        } else {
            Err(ActorError(text.chars().take(80).collect()))
        }
    }

    /// Creates a person from a name with or without the prefix.
    pub fn human(name: &str) -> Result<Self, ActorError> {
        let name = name.strip_prefix("human:").unwrap_or(name);
        Self::new(&format!("human:{name}"))
    }

    /// Returns the Orchestrator, in whose name the workspace itself acts.
    pub fn orchestrator() -> Self {
        Self("orchestrator".to_owned())
    }

    /// Returns the Governor, in whose name refusals are recorded.
    pub fn governor() -> Self {
        Self("governor".to_owned())
    }

    /// Returns the name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is a person.
    pub fn is_human(&self) -> bool {
        self.role() == "human"
    }

    /// Returns whether it is a person, the Governor or the Orchestrator.
    pub fn may_govern(&self) -> bool {
        matches!(self.role().as_str(), "human" | "governor" | "orchestrator")
    }

    /// Returns the role that ADR-008 speaks of: `TSM-001`, `tsm` and `tsd_manager` are all `tsm`.
    pub fn role(&self) -> String {
        if self.0.starts_with("human:") {
            return "human".to_owned();
        }
        let lower = self.0.to_ascii_lowercase().replace('-', "_");
        let base = lower
            .rsplit_once('_')
            .filter(|(_, tail)| tail.bytes().all(|b| b.is_ascii_digit()))
            .map_or(lower.as_str(), |(base, _)| base);
        match base {
            "prd_manager" => "prm",
            "tsd_manager" => "tsm",
            other => other,
        }
        .to_owned()
    }

    /// Returns whether this actor is the agent that goes by `name`. An instance (`TSM-002`) is not
    /// another instance (`TSM-001`); a role is each of its instances.
    pub fn owns(&self, name: &str) -> bool {
        let Ok(other) = Self::new(name) else {
            return false;
        };
        let instance = |actor: &Self| actor.0.bytes().any(|b| b.is_ascii_digit());
        !self.is_human()
            && self.role() == other.role()
            && (!instance(self) || !instance(&other) || self.0.eq_ignore_ascii_case(&other.0))
    }

    /// Returns the name in the form of a file's stem.
    pub fn file_stem(&self) -> String {
        self.0.to_ascii_lowercase().replace([':', '.'], "_")
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Actor {
    type Err = ActorError;

    fn from_str(text: &str) -> Result<Self, ActorError> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_many_names() {
        for (name, role) in [
            ("tsm", "tsm"),
            ("TSM-001", "tsm"),
            ("tsd_manager", "tsm"),
            ("PRM", "prm"),
            ("prd-manager", "prm"),
            ("human:ada", "human"),
            ("human", "human"),
            ("contradiction-fixer", "contradiction_fixer"),
        ] {
            assert_eq!(Actor::new(name).unwrap().role(), role, "{name}");
        }
    }

    #[test]
    fn an_instance_owns_its_own_and_not_its_sibling() {
        let owns = |actor: &str, name: &str| Actor::new(actor).unwrap().owns(name);
        assert!(owns("tsm", "TSM-001"));
        assert!(owns("TSM-001", "tsd_manager"));
        assert!(!owns("TSM-002", "TSM-001"));
        assert!(!owns("prm", "TSM-001"));
        assert!(!owns("human:tsm", "tsm"));
    }

    #[test]
    fn names_that_could_break_a_commit_or_a_file_are_refused() {
        for bad in [
            "",
            "human:",
            "a b",
            "a<b>",
            "../x",
            "a\nb",
            ".x",
            "human:human:x",
        ] {
            assert!(Actor::new(bad).is_err(), "{bad:?}");
        }
    }
}
