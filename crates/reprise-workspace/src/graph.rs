//! The DAG of artifacts: which one is made from which, by the ids that their JSON names.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use reprise_types::sha256_hex;
use reprise_workspace_types::{ArtifactNode, Class, RepoPath};
use serde::Serialize;
use serde_json::Value;

use crate::error::{Result, invalid_error};
use crate::git::Git;

/// The folders whose artifacts have ids.
pub(crate) const FOLDERS: [&str; 4] = ["core/prd", "core/tsd", "core/adr", "core/kb"];
/// Fields that name one artifact above this one.
const ONE_ABOVE: [&str; 4] = ["prd_id", "prd", "tsd_id", "derived_from"];
const MANY_ABOVE: [&str; 2] = ["depends_on", "derived_from"];

/// What a TSD says of its PRD, against what is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Upstream {
    pub(crate) named: bool,
    /// Those named that are not there.
    pub(crate) missing: Vec<String>,
    /// Those named with a hash that is no longer theirs.
    pub(crate) stale: Vec<String>,
}

/// Reads an artifact. What is no JSON object has no edges.
pub(crate) fn parse_artifact(path: &RepoPath, bytes: &[u8]) -> ArtifactNode {
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |field: &str| document.get(field).and_then(Value::as_str);
    let mut above: BTreeSet<String> = ONE_ABOVE
        .iter()
        .filter_map(|field| text(field).map(str::to_owned))
        .collect();
    for field in MANY_ABOVE {
        let listed = document.get(field).and_then(Value::as_array);
        above.extend(
            listed
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
    }
    ArtifactNode {
        id: text("id").unwrap_or(path.stem()).to_owned(),
        path: path.clone(),
        above: above.into_iter().collect(),
        prd_hash: text("prd_hash").map(str::to_owned),
    }
}

/// Returns the ids that an artifact is made from: those that it names, and the PRD of a TSD.
pub(crate) fn source_ids(node: &ArtifactNode) -> Vec<String> {
    let mut sources = node.above.clone();
    if node.path.class() == Class::Tsd {
        sources.extend(find_prd(node).filter(|id| !node.above.contains(id)));
    }
    sources
}

/// Returns the PRD that a TSD is for: the one it names, or the one that shares its number.
fn find_prd(node: &ArtifactNode) -> Option<String> {
    let named = node.above.iter().find(|id| !id.starts_with("TSD-"));
    named.cloned().or_else(|| {
        let number = node.path.stem().strip_prefix("TSD-")?;
        Some(format!("PRD-{number}"))
    })
}

/// A view of the artifacts: a tree in git with changes on top that are not yet committed.
pub(crate) struct Artifacts<'a> {
    pub(crate) git: &'a Git,
    pub(crate) tree: Option<Oid>,
    pub(crate) changes: &'a BTreeMap<RepoPath, Option<Vec<u8>>>,
}

/// Nothing on top of what is committed.
static NONE: BTreeMap<RepoPath, Option<Vec<u8>>> = BTreeMap::new();

impl<'a> Artifacts<'a> {
    pub(crate) fn committed(git: &'a Git, tree: Option<Oid>) -> Self {
        let changes = &NONE;
        Self { git, tree, changes }
    }

    pub(crate) fn content(&self, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        match self.changes.get(path) {
            Some(content) => Ok(content.clone()),
            None => self.git.content_at(self.tree, path),
        }
    }

    /// Returns the artifact with this id: a file of that name, in the folder that is its kind's.
    pub(crate) fn find(&self, id: &str) -> Result<Option<(ArtifactNode, Vec<u8>)>> {
        for folder in FOLDERS {
            for end in ["json", "md"] {
                let Ok(path) = RepoPath::new(&format!("{folder}/{id}.{end}")) else {
                    return Ok(None);
                };
                if let Some(bytes) = self.content(&path)? {
                    return Ok(Some((parse_artifact(&path, &bytes), bytes)));
                }
            }
        }
        Ok(None)
    }

    /// Checks the PRD that a TSD names against the one that is there.
    pub(crate) fn upstream(&self, path: &RepoPath, bytes: &[u8]) -> Result<Upstream> {
        let mut upstream = Upstream::default();
        if path.class() != Class::Tsd || !path.ends_with(".json") {
            // Prose names nothing that could be checked.
            upstream.named = true;
            return Ok(upstream);
        }
        let node = parse_artifact(path, bytes);
        let Some(id) = find_prd(&node) else {
            return Ok(upstream);
        };
        upstream.named = true;
        match self.find(&id)? {
            None => upstream.missing.push(id),
            Some((prd, bytes)) => {
                if let Some(hash) = &node.prd_hash
                    && !is_hash_of(hash, &bytes)?
                {
                    upstream.stale.push(prd.id);
                }
            }
        }
        Ok(upstream)
    }

    /// Refuses an artifact that is made from itself, however long the way.
    pub(crate) fn refuse_cycle(&self, path: &RepoPath, bytes: &[u8]) -> Result<()> {
        let start = parse_artifact(path, bytes);
        let mut ahead = start.above.clone();
        let mut seen = BTreeSet::new();
        while let Some(id) = ahead.pop() {
            if id == start.id {
                let why =
                    format!("`{id}` would be made from itself; take one of the references out");
                return Err(invalid_error("dag", path.as_str(), why));
            }
            if seen.insert(id.clone())
                && let Some((node, _)) = self.find(&id)?
            {
                ahead.extend(node.above);
            }
        }
        Ok(())
    }

    /// Returns every artifact of `core/` that is JSON.
    pub(crate) fn nodes(&self) -> Result<Vec<ArtifactNode>> {
        let mut nodes = Vec::new();
        for folder in FOLDERS {
            let there = self.git.list(self.tree, folder, 1)?.into_iter();
            let mut paths: BTreeSet<RepoPath> = there.map(|(path, _)| path).collect();
            let below = format!("{folder}/");
            let new = self
                .changes
                .keys()
                .filter(|path| path.as_str().starts_with(&below));
            paths.extend(new.cloned());
            for path in paths {
                if let Some(bytes) = self.content(&path)? {
                    nodes.push(parse_artifact(&path, &bytes));
                }
            }
        }
        Ok(nodes)
    }

    /// Returns the ids of the artifacts of `core/` at these paths.
    pub(crate) fn ids_of<'p>(&self, paths: impl Iterator<Item = &'p RepoPath>) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        for path in paths.filter(|path| path.class().is_core()) {
            if let Ok(Some(bytes)) = self.git.content_at(self.tree, path) {
                ids.insert(parse_artifact(path, &bytes).id);
            }
        }
        ids
    }

    /// Lists what is made from `ids`, directly or not, nearest first.
    pub(crate) fn list_downstream(&self, ids: &BTreeSet<String>) -> Result<Vec<ArtifactNode>> {
        let mut rest = self.nodes()?;
        let (mut reached, mut found) = (ids.clone(), Vec::new());
        loop {
            let (next, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|node| {
                !reached.contains(&node.id)
                    && source_ids(node).iter().any(|id| reached.contains(id))
            });
            if next.is_empty() {
                return Ok(found);
            }
            reached.extend(next.iter().map(|node| node.id.clone()));
            found.extend(next);
            rest = others;
        }
    }
}

/// Returns whether `hash` is git's or the SHA-256 of these bytes, whole or a beginning of eight and
/// more.
pub(crate) fn is_hash_of(hash: &str, bytes: &[u8]) -> Result<bool> {
    let hash = hash.strip_prefix("sha256:").unwrap_or(hash);
    let sha256 = sha256_hex(bytes);
    let id = crate::git::blob_id(bytes)?.to_string();
    Ok(hash.len() >= 8 && (sha256.starts_with(hash) || id.starts_with(hash)))
}
