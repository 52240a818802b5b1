//! The history of a git repository: a record for each commit, with its author, its files and what
//! it reverts. Nothing is written to the repository.

use git2::{Commit, ObjectType, Oid, Repository, Sort, Tree};

use crate::prelude::*;
use crate::project::Project;

/// What `git revert` writes before the commit that it takes back.
const REVERTS: &str = "This reverts commit ";
/// Entries of trees that are looked at for the files of a commit, and the longest path.
const ENTRIES_MAX: usize = 100_000;
const PATH_BYTES_MAX: usize = 1_024;

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    let failed = |error: git2::Error| ImportError::Git {
        path: path.to_owned(),
        why: error.message().to_owned(),
    };
    let repository = Repository::open(path).map_err(failed)?;
    let project = Project::of(path).map(|project| project.tag());
    let mut walk = repository.revwalk().map_err(failed)?;
    // Parents first: what a commit takes back was kept before it.
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)
        .map_err(failed)?;
    let heads = walk
        .push_glob("refs/heads/*")
        .and_then(|()| match walk.push_head() {
            // A repository without a commit has nothing to give.
            Err(_) if repository.is_empty().unwrap_or_default() => Ok(()),
            pushed => pushed,
        });
    heads.map_err(failed)?;
    for id in walk {
        let id = match id {
            Ok(id) => id,
            Err(error) => return giver.refuse("history", error.message()),
        };
        let place = format!("commit {id}");
        let read = repository
            .find_commit(id)
            .map_err(|error| error.message().to_owned());
        let read = read.and_then(|commit| record(&repository, &commit, project.as_ref()));
        if let Ok(record) = &read
            && let Some(reverted) = reverted(&record.text)
        {
            giver.link(&place, name(id), name(reverted), "reverts");
        }
        giver.result(&place, read)?;
    }
    Ok(())
}

fn name(id: Oid) -> ExternalId {
    ExternalId::new(ExternalId::GIT, id.to_string())
}

fn reverted(message: &str) -> Option<Oid> {
    let (_, rest) = message.split_once(REVERTS)?;
    let end = rest
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(rest.len());
    (end == 40)
        .then(|| Oid::from_str(&rest[..end]).ok())
        .flatten()
}

fn record(
    repository: &Repository,
    commit: &Commit<'_>,
    project: Option<&String>,
) -> Result<NewRecord, String> {
    let message = String::from_utf8_lossy(commit.message_bytes());
    let message = message.trim();
    if message.is_empty() {
        return Err("the commit has no message".to_owned());
    }
    let (kind, source) = (MemoryKind::Episode, MemorySource::WorkerResult);
    let mut record = NewRecord::new(message, source, kind);
    record.external_ids = vec![name(commit.id())];
    record.tags = ["commit"]
        .into_iter()
        .map(str::to_owned)
        .chain(project.cloned())
        .collect();
    let author = commit.author();
    let spoken = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let by = spoken(author.name_bytes());
    record.provenance.actor_id = (!by.trim().is_empty()).then(|| by.clone());
    record.timestamp = DateTime::from_timestamp(author.when().seconds(), 0);
    let files = files(repository, commit).map_err(|error| error.message().to_owned())?;
    let count = files.len();
    let told = files.into_iter().take(LIST_ITEMS_MAX);
    let (paths, told): (Vec<String>, Vec<Value>) = told
        .map(|(path, change)| (path.clone(), json!({ "path": path, "change": change })))
        .unzip();
    record.provenance.source_refs = paths;
    let committer = commit.committer();
    let mut details = json!({
        "type": "commit",
        "author": by,
        "email": spoken(author.email_bytes()),
        "parents": commit.parent_ids().map(|id| id.to_string()).collect::<Vec<_>>(),
        "files_count": count,
        "files": told,
    });
    if committer.name_bytes() != author.name_bytes() {
        details["committer"] = json!(spoken(committer.name_bytes()));
    }
    record.details = Some(details);
    Ok(record)
}

/// Paths, each with what became of it.
type Files = Vec<(String, &'static str)>;

/// What a commit changed against its first parent, with a word for how.
fn files(repository: &Repository, commit: &Commit<'_>) -> Result<Files, git2::Error> {
    // What a merge brings stands in the commits that it merges.
    if commit.parent_count() > 1 {
        return Ok(Vec::new());
    }
    let before = match commit.parent(0) {
        Ok(parent) => Some(parent.tree()?),
        // The first one, or the first that a shallow clone has.
        Err(_) => None,
    };
    let mut changes = Changes {
        repository,
        looked_at: 0,
        found: Vec::new(),
    };
    changes.between(before.as_ref(), Some(&commit.tree()?), &mut Vec::new());
    changes.found.sort();
    Ok(changes.found)
}

/// The differences of two trees. A few objects can name more files than any disk has, so that no
/// more than so many entries are looked at.
struct Changes<'a> {
    repository: &'a Repository,
    looked_at: usize,
    found: Files,
}

impl Changes<'_> {
    fn between(
        &mut self,
        before: Option<&Tree<'_>>,
        after: Option<&Tree<'_>>,
        folder: &mut Vec<u8>,
    ) {
        let named = |tree: Option<&Tree<'_>>, name: &[u8]| {
            let entry = tree.and_then(|tree| tree.get_name_bytes(name));
            entry.map(|entry| (entry.id(), entry.filemode(), entry.kind()))
        };
        let gone = before.into_iter().flat_map(Tree::iter);
        let gone = gone.filter(|entry| named(after, entry.name_bytes()).is_none());
        for entry in after.into_iter().flat_map(Tree::iter).chain(gone) {
            self.looked_at += 1;
            if self.looked_at > ENTRIES_MAX {
                break;
            }
            let name = entry.name_bytes();
            let (was, is) = (named(before, name), named(after, name));
            if was == is {
                continue;
            }
            let length = folder.len();
            folder.extend_from_slice(name);
            let of = |entry: Option<(Oid, i32, Option<ObjectType>)>, kind| {
                entry.filter(|entry| entry.2 == Some(kind))
            };
            let file = |entry| of(entry, ObjectType::Blob).is_some();
            let change = match (file(was), file(is)) {
                (true, true) => Some("modified"),
                (false, true) => Some("added"),
                (true, false) => Some("deleted"),
                (false, false) => None,
            };
            let path = || String::from_utf8_lossy(folder).into_owned();
            self.found.extend(change.map(|change| (path(), change)));
            let folder_of = |entry| {
                let (id, ..) = of(entry, ObjectType::Tree)?;
                self.repository.find_tree(id).ok()
            };
            let (was, is) = (folder_of(was), folder_of(is));
            if (was.is_some() || is.is_some()) && folder.len() < PATH_BYTES_MAX {
                folder.push(b'/');
                self.between(was.as_ref(), is.as_ref(), folder);
            }
            folder.truncate(length);
        }
    }
}
