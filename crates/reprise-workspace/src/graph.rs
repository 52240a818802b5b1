//! The DAG of artifacts (W25): who is made from whom, by the ids that their JSON names.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use reprise_types::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Result, invalid};
use crate::git::Git;
use crate::path::{Class, RepoPath};

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

/// An artifact as the graph sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its `id`, or the stem of its file.
    pub id: String,
    pub path: RepoPath,
    /// Ids of the artifacts that it is made from.
    pub above: Vec<String>,
    /// The hash of its PRD that it was checked against, where it says so.
    #[serde(skip)]
    pub(crate) prd_hash: Option<String>,
}

impl Node {
    /// Reads an artifact. What is no JSON object has no edges.
    pub(crate) fn read(path: &RepoPath, bytes: &[u8]) -> Self {
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
        Self {
            id: text("id").unwrap_or(path.stem()).to_owned(),
            path: path.clone(),
            above: above.into_iter().collect(),
            prd_hash: text("prd_hash").map(str::to_owned),
        }
    }

    /// What it is made from: what it names, and the PRD that a TSD is for.
    pub(crate) fn sources(&self) -> Vec<String> {
        let mut sources = self.above.clone();
        if self.path.class() == Class::Tsd {
            sources.extend(self.prd().filter(|id| !self.above.contains(id)));
        }
        sources
    }

    /// The PRD that a TSD is for: the one it names, or the one that shares its number.
    fn prd(&self) -> Option<String> {
        let named = self.above.iter().find(|id| !id.starts_with("TSD-"));
        named.cloned().or_else(|| {
            let number = self.path.stem().strip_prefix("TSD-")?;
            Some(format!("PRD-{number}"))
        })
    }
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

    /// The artifact with this id: a file of that name, in the folder that is its kind's.
    pub(crate) fn find(&self, id: &str) -> Result<Option<(Node, Vec<u8>)>> {
        for folder in FOLDERS {
            for end in ["json", "md"] {
                let Ok(path) = RepoPath::new(&format!("{folder}/{id}.{end}")) else {
                    return Ok(None);
                };
                if let Some(bytes) = self.content(&path)? {
                    return Ok(Some((Node::read(&path, &bytes), bytes)));
                }
            }
        }
        Ok(None)
    }

    /// What a TSD's PRD looks like.
    pub(crate) fn upstream(&self, path: &RepoPath, bytes: &[u8]) -> Result<Upstream> {
        let mut upstream = Upstream::default();
        if path.class() != Class::Tsd || !path.ends_with(".json") {
            // Prose names nothing that could be checked.
            upstream.named = true;
            return Ok(upstream);
        }
        let node = Node::read(path, bytes);
        let Some(id) = node.prd() else {
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
        let start = Node::read(path, bytes);
        let mut ahead = start.above.clone();
        let mut seen = BTreeSet::new();
        while let Some(id) = ahead.pop() {
            if id == start.id {
                let why =
                    format!("`{id}` would be made from itself; take one of the references out");
                return Err(invalid("dag", path.as_str(), why));
            }
            if seen.insert(id.clone())
                && let Some((node, _)) = self.find(&id)?
            {
                ahead.extend(node.above);
            }
        }
        Ok(())
    }

    /// Every artifact of `core/` that is JSON.
    pub(crate) fn nodes(&self) -> Result<Vec<Node>> {
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
                    nodes.push(Node::read(&path, &bytes));
                }
            }
        }
        Ok(nodes)
    }

    /// The ids of the artifacts of `core/` at these paths.
    pub(crate) fn ids_of<'p>(&self, paths: impl Iterator<Item = &'p RepoPath>) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        for path in paths.filter(|path| path.class().is_core()) {
            if let Ok(Some(bytes)) = self.git.content_at(self.tree, path) {
                ids.insert(Node::read(path, &bytes).id);
            }
        }
        ids
    }

    /// What is made from `ids`, directly or not, in the order of the way down.
    pub(crate) fn downstream(&self, ids: &BTreeSet<String>) -> Result<Vec<Node>> {
        let mut rest = self.nodes()?;
        let (mut reached, mut found) = (ids.clone(), Vec::new());
        loop {
            let (next, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|node| {
                !reached.contains(&node.id) && node.sources().iter().any(|id| reached.contains(id))
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

/// Whether `hash` is git's or the SHA-256 of these bytes, whole or a beginning of eight and more.
pub(crate) fn is_hash_of(hash: &str, bytes: &[u8]) -> Result<bool> {
    let hash = hash.strip_prefix("sha256:").unwrap_or(hash);
    let sha256 = sha256_hex(bytes);
    let id = crate::git::blob_id(bytes)?.to_string();
    Ok(hash.len() >= 8 && (sha256.starts_with(hash) || id.starts_with(hash)))
}
