//! Paths of the tree, checked once, and the class that ADR-008 gives each of them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The audit trail's first part.
pub const TRAIL: &str = ".sdlc_ide/logs/audit_trail.jsonl";
/// Where each transaction's own lines are.
pub const TRAIL_PARTS: &str = ".sdlc_ide/logs/audit";
/// Longest path, in bytes.
const PATH_BYTES_MAX: usize = 1024;
/// Longest component of a path, in bytes: what common file systems take.
const COMPONENT_BYTES_MAX: usize = 255;

/// Why a text is no path of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is no path inside the workspace: {why}")]
pub struct PathError {
    path: String,
    why: &'static str,
}

impl PathError {
    fn of(text: &str, why: &'static str) -> Self {
        let path = text.chars().take(80).collect();
        Self { path, why }
    }
}

/// A path below the root of a workspace, with `/` between its components.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String")]
pub struct RepoPath(String);

impl RepoPath {
    /// Checks a text. Absolute paths, `..`, a component `.git`, control characters and backslashes
    /// are refused, so that joining the result to a root never leaves it.
    pub fn new(text: &str) -> Result<Self, PathError> {
        let refuse = |why| Err(PathError::of(text, why));
        if text.is_empty() {
            return refuse("it is empty");
        }
        if text.len() > PATH_BYTES_MAX {
            return refuse("it is longer than 1024 bytes");
        }
        if text.starts_with('/') {
            return refuse("it is absolute; name it from the root of the workspace");
        }
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return refuse("control characters and backslashes are not portable");
        }
        for component in text.split('/') {
            match component {
                "" | "." => return refuse("it has an empty component or `.`"),
                ".." => return refuse("`..` leads out"),
                name if name.len() > COMPONENT_BYTES_MAX => {
                    return refuse("a component is longer than 255 bytes");
                }
                name if is_reserved_by_git(name) => return refuse("`.git` belongs to git alone"),
                name if name.ends_with(['.', ' ']) => {
                    return refuse("a component ends with a dot or a space, which is not portable");
                }
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// Creates a path from a name in git, which may be odd but never leads out of the root.
    pub fn from_git(bytes: &[u8]) -> Result<Self, PathError> {
        let text = String::from_utf8_lossy(bytes);
        let refuse = |why| Err(PathError::of(&text, why));
        if std::str::from_utf8(bytes).is_err() {
            return refuse("its name is no UTF-8; rename it with git");
        }
        let leads_out = |name: &str| matches!(name, "" | "." | "..") || is_reserved_by_git(name);
        if text.contains('\0') || text.split('/').any(leads_out) {
            return refuse("it leads out of the tree");
        }
        Ok(Self(text.into_owned()))
    }

    /// Creates a path from a text that is known to be good.
    pub fn trusted(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last component.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the last component up to its first dot: `PRD-001` of `core/prd/PRD-001.json`.
    pub fn stem(&self) -> &str {
        let name = self.name();
        name.split('.')
            .find(|part| !part.is_empty())
            .unwrap_or(name)
    }

    /// Returns whether the name ends so, in any case.
    pub fn ends_with(&self, suffix: &str) -> bool {
        let (path, suffix) = (self.0.as_bytes(), suffix.as_bytes());
        path.len() >= suffix.len() && path[path.len() - suffix.len()..].eq_ignore_ascii_case(suffix)
    }

    /// Returns the class that ADR-008 gives this path. A file that steers git itself is a rule of
    /// the project in every folder: it hides files, or gives them other contents.
    pub fn class(&self) -> Class {
        let class = self.folder_class();
        let steers = |name: &&str| self.name().eq_ignore_ascii_case(name);
        let steers_git = [".gitignore", ".gitattributes", ".gitmodules"]
            .iter()
            .any(steers);
        match class {
            Class::Logs if steers_git => Class::Internal,
            class if class.is_versioned() && steers_git => Class::Rules,
            class => class,
        }
    }

    /// Returns whether it is a part of the audit trail: the one ledger that git keeps.
    pub fn is_trail(&self) -> bool {
        self.0 == TRAIL || self.is_trail_part()
    }

    /// Returns whether it is one of the files that transactions add to the trail.
    pub fn is_trail_part(&self) -> bool {
        let below = self.0.strip_prefix(TRAIL_PARTS);
        below.is_some_and(|below| below.starts_with('/')) && self.ends_with(".jsonl")
    }

    /// Returns whether git keeps the file at this path.
    pub fn is_in_git(&self) -> bool {
        self.class().is_versioned() || self.is_trail()
    }

    /// Returns whether it is one of the policies and schemas of `extensions/`.
    pub fn is_policy(&self) -> bool {
        self.folder_class() == Class::Rules
    }

    fn folder_class(&self) -> Class {
        let mut parts = self.0.split('/');
        let first = parts.next().unwrap_or_default();
        let second = parts.next().unwrap_or_default();
        let third = parts.next();
        let is_file_here = third.is_none();
        match (first, second) {
            (".sdlc_ide", "logs") => match (third, self.name()) {
                (Some("audit" | "pending"), _)
                | (
                    _,
                    "wal.jsonl" | "audit_trail.jsonl" | "merge_conflicts.jsonl" | "events.jsonl",
                ) => Class::Ledger,
                _ => Class::Logs,
            },
            (".sdlc_ide", _) => Class::Internal,
            ("core", "prd") if !is_file_here => Class::Prd,
            ("core", "tsd") if !is_file_here => Class::Tsd,
            ("core", "adr") if !is_file_here => Class::Adr,
            ("core", "kb") if !is_file_here => Class::Kb,
            ("extensions", "policy" | "schemas") => Class::Rules,
            ("extensions", name) if !name.is_empty() => Class::Extensions,
            ("memory", "episodic") => Class::Episodic,
            ("memory", "agent_state") => Class::AgentState,
            ("memory", name) if !name.is_empty() => Class::LongTerm,
            ("embeddings", "index") if !is_file_here => Class::EmbeddingsIndex,
            ("embeddings", "vectors") => Class::EmbeddingsVectors,
            ("cache", name) if !name.is_empty() => Class::Cache,
            _ => Class::Other,
        }
    }

    /// Returns how two changes to this path are combined.
    pub fn merge_rule(&self) -> MergeRule {
        match self.class() {
            Class::AgentState if self.ends_with(".json") || self.ends_with(".checkpoint") => {
                MergeRule::Checkpoint
            }
            Class::LongTerm | Class::AgentState if self.ends_with(".jsonl") => MergeRule::Lines,
            Class::Ledger if self.is_trail() => MergeRule::Lines,
            Class::EmbeddingsIndex if self.ends_with(".json") => MergeRule::Manifest,
            _ => MergeRule::Text,
        }
    }
}

/// Returns whether a file system could take this name for `.git`: NTFS by its short name and
/// streams, HFS+ by characters that it passes over.
fn is_reserved_by_git(name: &str) -> bool {
    let unseen = |c: &char| {
        let marks = '\u{200c}'..='\u{200f}';
        let overrides = '\u{202a}'..='\u{202e}';
        let shapes = '\u{206a}'..='\u{206f}';
        *c == '\u{feff}'
            || [marks, overrides, shapes]
                .iter()
                .any(|range| range.contains(c))
    };
    let seen: String = name.chars().filter(|c| !unseen(c)).collect();
    let stem = seen
        .split(':')
        .next()
        .unwrap_or_default()
        .trim_end_matches(['.', ' ']);
    stem.eq_ignore_ascii_case(".git") || stem.eq_ignore_ascii_case("git~1")
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RepoPath {
    type Error = PathError;

    /// Takes what a workspace answered: a name in git may be odd.
    fn try_from(text: String) -> Result<Self, PathError> {
        Self::from_git(text.as_bytes())
    }
}

impl std::str::FromStr for RepoPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::new(text)
    }
}

/// The classes of paths.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Product requirements in `core/prd/`.
    Prd,
    /// Technical specifications in `core/tsd/`.
    Tsd,
    /// Decisions in `core/adr/`.
    Adr,
    /// Knowledge in `core/kb/`.
    Kb,
    /// Files of `extensions/`, without the project's own rules.
    Extensions,
    /// The project's own rules: `extensions/policy/`, `extensions/schemas/`, and `.gitignore`,
    /// `.gitattributes` and `.gitmodules` in every folder.
    Rules,
    /// Files of `memory/`, without `episodic/` and `agent_state/`.
    LongTerm,
    /// Checkpoints of agents in `memory/agent_state/`.
    AgentState,
    /// Scratch in `memory/episodic/`.
    Episodic,
    /// Manifests in `embeddings/index/`.
    EmbeddingsIndex,
    /// Vectors in `embeddings/vectors/`.
    EmbeddingsVectors,
    /// Files of `cache/`.
    Cache,
    /// Logs in `.sdlc_ide/logs/`, without the Orchestrator's own.
    Logs,
    /// The Orchestrator's own logs: WAL, audit trail, merge conflicts and events.
    Ledger,
    /// All other files of `.sdlc_ide/`.
    Internal,
    /// All other files that people keep in the repository.
    Other,
}

impl Class {
    /// Returns whether git keeps files of this class. The audit trail is the one ledger that it
    /// keeps.
    pub fn is_versioned(self) -> bool {
        !matches!(
            self,
            Self::Episodic
                | Self::EmbeddingsVectors
                | Self::Cache
                | Self::Logs
                | Self::Ledger
                | Self::Internal
        )
    }

    /// Returns whether it is one of `core/`.
    pub fn is_core(self) -> bool {
        matches!(self, Self::Prd | Self::Tsd | Self::Adr | Self::Kb)
    }
}

/// How two sides of a merge are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeRule {
    /// Three-way; a structural conflict is for a person.
    Text,
    /// Lines concatenated, each event once.
    Lines,
    /// The newer checkpoint wins, the other goes into the log.
    Checkpoint,
    /// One entry per artifact; where the model differs it is marked for embedding again.
    Manifest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_of_the_tree_is_refused() {
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "core/../../x",
            "core//x",
            "core/./x",
            "./core",
            ".git/config",
            "core/.GIT/hooks/x",
            "GIT~1/hooks/x",
            ".git::$INDEX_ALLOCATION/x",
            ".g\u{200c}it/config",
            ".git /config",
            "a\\b",
            "core/prd/x\n",
            "core/prd/",
            "core/prd/x.",
            "core/prd/\0",
        ] {
            assert!(RepoPath::new(bad).is_err(), "{bad:?}");
        }
        for odd in ["a\\b", "core/prd/x\n", "core/prd/x.", " x"] {
            assert!(RepoPath::from_git(odd.as_bytes()).is_ok(), "{odd:?}");
            // It comes through an answer, too.
            assert!(RepoPath::try_from(odd.to_owned()).is_ok(), "{odd:?}");
        }
        for bad in ["", "/x", "a//b", "../x", ".git/x", "a/.GIT", "\0"] {
            assert!(RepoPath::from_git(bad.as_bytes()).is_err(), "{bad:?}");
            assert!(RepoPath::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
        assert!(RepoPath::from_git(b"\xff").is_err());
        assert!(RepoPath::new(&"a/".repeat(600)).is_err());
        assert!(RepoPath::new(&"a".repeat(256)).is_err());
        assert!(RepoPath::new("core/prd/.gitkeep").is_ok());
    }

    #[test]
    fn every_place_of_the_tree_has_its_class() {
        for (path, class, versioned) in [
            ("core/prd/PRD-001.json", Class::Prd, true),
            ("core/tsd/a/b.json", Class::Tsd, true),
            ("core/prd", Class::Other, true),
            ("extensions/policy/x.rego", Class::Rules, true),
            ("extensions/x", Class::Extensions, true),
            ("memory/contradiction_history.jsonl", Class::LongTerm, true),
            ("memory/long_term/x.jsonl", Class::LongTerm, true),
            (
                "memory/agent_state/tsm.checkpoint.json",
                Class::AgentState,
                true,
            ),
            ("memory/episodic/x", Class::Episodic, false),
            (
                "embeddings/index/manifest.json",
                Class::EmbeddingsIndex,
                true,
            ),
            ("embeddings/vectors/x", Class::EmbeddingsVectors, false),
            ("cache/x", Class::Cache, false),
            (".sdlc_ide/logs/agent.jsonl", Class::Logs, false),
            (".sdlc_ide/logs/wal.jsonl", Class::Ledger, false),
            (".sdlc_ide/logs/audit/01KB/2C/x.jsonl", Class::Ledger, false),
            (".sdlc_ide/logs/pending/x.jsonl", Class::Ledger, false),
            (".sdlc_ide/tmp/x", Class::Internal, false),
            ("README.md", Class::Other, true),
            (".gitignore", Class::Rules, true),
            ("core/kb/.GitAttributes", Class::Rules, true),
            ("memory/long_term/x/.gitmodules", Class::Rules, true),
            ("cache/.gitignore", Class::Cache, false),
            (".sdlc_ide/logs/.gitignore", Class::Internal, false),
        ] {
            let class_of = RepoPath::new(path).unwrap().class();
            assert_eq!(
                (class_of, class_of.is_versioned()),
                (class, versioned),
                "{path}"
            );
        }
    }

    #[test]
    fn each_class_merges_by_its_rule() {
        for (path, rule) in [
            ("core/kb/log.jsonl", MergeRule::Text),
            ("memory/contradiction_history.jsonl", MergeRule::Lines),
            (".sdlc_ide/logs/audit_trail.jsonl", MergeRule::Lines),
            (".sdlc_ide/logs/audit/01KB/2C/x.jsonl", MergeRule::Lines),
            (
                "memory/agent_state/tsd_manager.checkpoint",
                MergeRule::Checkpoint,
            ),
            (
                "memory/agent_state/tsm.checkpoint.json",
                MergeRule::Checkpoint,
            ),
            ("memory/agent_state/tsm.log.jsonl", MergeRule::Lines),
            ("embeddings/index/manifest.json", MergeRule::Manifest),
        ] {
            assert_eq!(RepoPath::new(path).unwrap().merge_rule(), rule, "{path}");
        }
    }
}
