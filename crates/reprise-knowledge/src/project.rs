//! Names a folder's project, so that its worktrees, its clones and other machines have one name,
//! and two folders of the same name do not.

use std::path::Component;

use crate::git_repository::GitRepository;
use crate::prelude::*;

/// Most clones of clones on one machine that are followed.
const CLONES_MAX: usize = 4;

/// A project: `github.com/acme/api` by its remote; without one, `api-1f2e3d4c` by the folder of its
/// repository and its first commit, or by its path on this machine if it has no commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
    name: String,
}

/// The oldest commit that was reached in each repository without a remote, by the folder of its
/// objects. It is a cache: without it a repository is walked again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryWalkCache(BTreeMap<PathBuf, String>);

/// Most repositories in the cache; with more, it is cleared.
const WALKS_MAX: usize = 1_000;

/// The first commit of a repository was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its repository has no remote, and its first commit was not reached within {commits} commits; \
     add a remote, or ask again: what was walked is remembered"
)]
pub struct HistoryTooLongError {
    commits: usize,
}

/// Returns the root that the notes of a folder of no project are recorded with.
pub(crate) fn root_of_folder(folder: &Path) -> String {
    format!("folder:{}", hex_id(&[&folder.to_string_lossy()]))
}

impl Project {
    /// Finds the project that a folder belongs to; `None` outside of any repository.
    pub fn of(folder: &Path) -> Option<Self> {
        Self::find_within_commits(folder, usize::MAX, &mut HistoryWalkCache::default())?.ok()
    }

    /// Finds the project that a folder belongs to, walking back over at most `commits` commits from
    /// where the last walk ended; `None` outside of any repository.
    pub fn find_within_commits(
        folder: &Path,
        commits: usize,
        walks: &mut HistoryWalkCache,
    ) -> Option<Result<Self, HistoryTooLongError>> {
        let repository = GitRepository::discover(folder)?;
        let root = repository.root().to_owned();
        let name = project_name(&repository, CLONES_MAX, commits, walks);
        Some(name.map(|name| Self { root, name }))
    }

    /// Returns the root of this checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns its name, which is the same on every machine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tag of its records.
    pub fn tag(&self) -> String {
        let tag = ["project:", &self.name].concat();
        normalize_tag(&tag).unwrap_or(tag)
    }

    /// Returns a file's path relative to the root of this checkout; `None` for a file elsewhere.
    pub fn relative_path(&self, file: &Path) -> Option<PathBuf> {
        let file = fs_err::canonicalize(file).ok()?;
        let root = fs_err::canonicalize(&self.root).ok()?;
        file.strip_prefix(root).ok().map(Path::to_owned)
    }
}

/// Returns the folders of a path of Windows below its drive or share, which other machines read in
/// the sessions of that one; `None` for another path.
fn split_windows_path(path: &str) -> Option<Vec<&str>> {
    let below = match path.as_bytes() {
        [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic() => &path[3..],
        [b'\\', b'\\', ..] => path[2..].split_once('\\').map_or("", |(_, share)| share),
        _ => return None,
    };
    let parts = below.split(['\\', '/']);
    Some(parts.filter(|part| !part.is_empty()).collect())
}

/// Names the project of a folder outside of any repository: `src-1f2e3d4c` by its path on this
/// machine, for many folders are called `src`. `None` for the root of all folders.
/// One folder has one name, whether a program names it by a link to it or not.
pub fn name_plain_folder(folder: &Path) -> Option<String> {
    let folder = resolve_folder(folder);
    let path = folder.to_string_lossy();
    let name = match split_windows_path(&path) {
        Some(parts) => parts.into_iter().next_back()?.into(),
        None => folder.file_name()?.to_string_lossy(),
    };
    Some(format!(
        "{name}-{}",
        &hex_id(&[path.trim_end_matches('/')])[..8]
    ))
}

/// Returns the path of a folder without links, or at least without `.` and `..` if it is not here.
fn resolve_folder(folder: &Path) -> PathBuf {
    if !folder.is_absolute() {
        return folder.to_owned();
    }
    fs_err::canonicalize(folder).unwrap_or_else(|_| {
        folder.components().fold(PathBuf::new(), |mut path, part| {
            match part {
                Component::ParentDir => drop(path.pop()),
                part => path.push(part),
            }
            path
        })
    })
}

fn project_name(
    repository: &GitRepository,
    clones: usize,
    commits: usize,
    walks: &mut HistoryWalkCache,
) -> Result<String, HistoryTooLongError> {
    // A worktree has the folder of the repository that it belongs to.
    let common = repository.common_dir();
    let folder = match common.file_name() {
        Some(name) if name == ".git" => common.parent().unwrap_or(common),
        _ => common,
    };
    if let Some(url) = repository.remote_url() {
        if let Some(name) = parse_remote_host_and_path(&url) {
            return Ok(name);
        }
        // A repository of this machine.
        let path = url.strip_prefix("file://").unwrap_or(&url);
        if clones > 0
            && let Some(origin) = GitRepository::open(&repository.root().join(path))
        {
            return project_name(&origin, clones - 1, commits, walks);
        }
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".git");
    // Without a commit, the path identifies the repository.
    let first = walks.first_commit(repository, commits)?;
    let seed = first.unwrap_or_else(|| hex_id(&[&folder.to_string_lossy()]));
    Ok(format!("{name}-{}", &seed[..8]))
}

/// Returns `host/path` of a remote on a server, regardless of protocol, user and case.
fn parse_remote_host_and_path(url: &str) -> Option<String> {
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

impl HistoryWalkCache {
    /// Finds the first commit of the first-parent line of HEAD; `None` if nothing is committed.
    fn first_commit(
        &mut self,
        repository: &GitRepository,
        commits: usize,
    ) -> Result<Option<String>, HistoryTooLongError> {
        let place = repository.common_dir().to_owned();
        // A missing commit belongs to another history.
        let reached = self.0.get(&place);
        let walked = reached.and_then(|id| walk_back(repository, id, commits));
        let Some((id, is_first)) = walked.or_else(|| walk_back(repository, "HEAD", commits)) else {
            return Ok(None);
        };
        if self.0.len() >= WALKS_MAX {
            self.0.clear();
        }
        self.0.insert(place, id.clone());
        if is_first {
            return Ok(Some(id));
        }
        Err(HistoryTooLongError { commits })
    }
}

/// Walks back over at most `commits` commits by first parents, and returns where that ends and
/// whether it is the first commit; `None` where there is no such commit.
fn walk_back(repository: &GitRepository, from: &str, commits: usize) -> Option<(String, bool)> {
    let mut arguments = vec!["rev-list", "--first-parent"];
    // The one it begins with, and one more, which tells that there is more.
    let most = commits
        .checked_add(2)
        .map(|most| format!("--max-count={most}"));
    arguments.extend(most.as_deref());
    arguments.extend([from, "--"]);
    let listed = repository.run(&arguments)?;
    let ids: Vec<&str> = listed.lines().collect();
    let last = ids.get(commits).or(ids.last())?;
    Some(((*last).to_owned(), ids.len() <= commits.saturating_add(1)))
}

/// Whether a file at this path would get into a commit: it is in a checkout that does not ignore
/// it.
pub fn may_be_committed(path: &Path) -> bool {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.ancestors().skip(1).find(|above| above.is_dir());
    let Some(repository) = folder.and_then(GitRepository::discover) else {
        return false;
    };
    let mut git = repository.git();
    git.args(["check-ignore", "--no-index", "--quiet", "--"]);
    let ignored = git.arg(&whole).status();
    let is_ignored = ignored.is_ok_and(|status| status.success());
    repository.work_tree().is_some() && !is_ignored
}

#[cfg(test)]
mod tests;
