//! What a folder's project is called, so that its worktrees, its clones and other machines mean the
//! same, and two folders of one name do not.

use git2::{Oid, Repository};

use crate::prelude::*;

/// Clones of clones on one machine.
const CLONES_MAX: usize = 4;

/// A project: `github.com/acme/api` by its remote; where it has none, `api-1f2e3d4c` by the folder
/// of its repository and its first commit, or by its place on this machine while it has no commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
    name: String,
}

/// How far back towards their first commit repositories without a remote were walked: from the
/// folder that each keeps its objects in to the oldest commit that was reached. It saves the way,
/// and nothing else: without it a repository is walked anew.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walks(BTreeMap<PathBuf, String>);

/// Repositories whose walks are kept; of more, all are walked anew.
const WALKS_MAX: usize = 1_000;

/// A history that goes further back than was walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its repository has no remote, and its first commit was not reached within {commits} commits; \
     add a remote, or ask again: what was walked is remembered"
)]
pub struct TooFar {
    commits: usize,
}

impl Project {
    /// The project that a folder belongs to; `None` outside of any repository.
    pub fn of(folder: &Path) -> Option<Self> {
        Self::within(folder, usize::MAX, &mut Walks::default())?.ok()
    }

    /// The same, walking back over at most so many commits, from where the last walk ended.
    pub fn within(
        folder: &Path,
        commits: usize,
        walks: &mut Walks,
    ) -> Option<Result<Self, TooFar>> {
        let repository = Repository::discover(folder).ok()?;
        let root = repository.workdir().unwrap_or(repository.path()).to_owned();
        let name = identity(&repository, CLONES_MAX, commits, walks);
        Some(name.map(|name| Self { root, name }))
    }

    /// Where this checkout is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What it is called everywhere.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tag of what belongs to it.
    pub fn tag(&self) -> String {
        let tag = ["project:", &self.name].concat();
        normal_tag(&tag).unwrap_or(tag)
    }

    /// A file's path from the root of this checkout on; `None` for one elsewhere.
    pub fn inside(&self, file: &Path) -> Option<PathBuf> {
        let file = fs_err::canonicalize(file).ok()?;
        let root = fs_err::canonicalize(&self.root).ok()?;
        file.strip_prefix(root).ok().map(Path::to_owned)
    }
}

fn identity(
    repository: &Repository,
    clones: usize,
    commits: usize,
    walks: &mut Walks,
) -> Result<String, TooFar> {
    // A worktree has the folder of the repository that it belongs to.
    let common = repository.commondir();
    let folder = match common.file_name() {
        Some(name) if name == ".git" => common.parent().unwrap_or(common),
        _ => common,
    };
    if let Some(url) = remote(repository) {
        if let Some(name) = server(&url) {
            return Ok(name);
        }
        // A repository of this machine.
        let path = url.strip_prefix("file://").unwrap_or(&url);
        let base = repository.workdir().unwrap_or(repository.path());
        if clones > 0
            && let Ok(origin) = Repository::open(base.join(path))
        {
            return identity(&origin, clones - 1, commits, walks);
        }
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".git");
    // Where nothing is committed yet, the place has to do.
    let first = walks.first_commit(repository, commits)?;
    let seed = first.unwrap_or_else(|| hex_id(&[&folder.to_string_lossy()]));
    Ok(format!("{name}-{}", &seed[..8]))
}

fn remote(repository: &Repository) -> Option<String> {
    let url = |name: &str| {
        let remote = repository.find_remote(name).ok()?;
        remote.url().ok().map(str::to_owned)
    };
    url("origin").or_else(|| {
        let names = repository.remotes().ok()?;
        let mut names = names.iter().flatten().flatten();
        names.find_map(url)
    })
}

/// `host/path` of a remote on a server, whatever the protocol, the user and the spelling.
fn server(url: &str) -> Option<String> {
    let (host, path) = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?,
        // `user@host:path`, but not `C:\path` and not a path with a colon in it.
        None => {
            let (host, path) = url.split_once(':')?;
            if host.contains(['/', '\\']) || host.len() < 2 {
                return None;
            }
            (host, path)
        }
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split(':').next()?;
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let whole = format!("{host}/{path}").to_lowercase();
    (!host.is_empty() && !path.is_empty()).then_some(whole)
}

impl Walks {
    /// The first commit of the line that leads to HEAD; `None` where nothing is committed.
    fn first_commit(
        &mut self,
        repository: &Repository,
        commits: usize,
    ) -> Result<Option<String>, TooFar> {
        let head = repository.head().and_then(|head| head.peel_to_commit());
        let Ok(mut commit) = head else {
            return Ok(None);
        };
        let place = repository.commondir().to_owned();
        let reached = self.0.get(&place).and_then(|id| Oid::from_str(id).ok());
        // One that is gone was another history's.
        if let Some(known) = reached.and_then(|id| repository.find_commit(id).ok()) {
            commit = known;
        }
        let mut walked = 0;
        let is_first = loop {
            match commit.parent(0) {
                Err(_) => break true,
                Ok(_) if walked == commits => break false,
                Ok(parent) => commit = parent,
            }
            walked += 1;
        };
        let id = commit.id().to_string();
        if self.0.len() >= WALKS_MAX {
            self.0.clear();
        }
        self.0.insert(place, id.clone());
        if is_first {
            return Ok(Some(id));
        }
        Err(TooFar { commits })
    }
}

/// Whether a file there would go into the next commit of a repository: it stands in a checkout that
/// does not ignore it (A35).
pub fn may_be_committed(path: &Path) -> bool {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.ancestors().skip(1).find(|above| above.is_dir());
    let found = folder.and_then(|folder| Repository::discover(folder).ok());
    found.is_some_and(|repository| {
        !repository.is_bare() && !repository.is_path_ignored(&whole).unwrap_or(true)
    })
}

#[cfg(test)]
mod tests;
