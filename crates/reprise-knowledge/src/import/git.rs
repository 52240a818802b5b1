//! Reads the history of a git repository: a record for each commit, with its author, its files and
//! the commit that it reverts. Nothing is written to the repository.

use crate::git_repository::{GitCommit, GitObjects, GitRepository};
use crate::prelude::*;
use crate::project::Project;

/// Text that `git revert` writes before the id of the reverted commit.
const REVERTS: &str = "This reverts commit ";
/// Every commit of every branch, parents first, so that a reverted commit is kept before the one
/// that reverts it. A repository without a commit has no `HEAD`, and nothing to give.
const WHOLE_HISTORY: [&str; 5] = [
    "--topo-order",
    "--reverse",
    "--ignore-missing",
    "--branches",
    "HEAD",
];

pub(super) fn read(path: &Path, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
    let repository = GitRepository::open(path).ok_or_else(|| ImportError::Git {
        path: path.to_owned(),
        why: "there is no repository that git reads".to_owned(),
    })?;
    let started = repository.log(&WHOLE_HISTORY);
    let mut log = started.map_err(|source| ImportError::NoGit {
        path: path.to_owned(),
        source,
    })?;
    let mut objects = GitObjects::new(repository);
    let project = Project::of(path).map(|project| project.tag());
    for commit in &mut log {
        let place = format!("commit {}", commit.id);
        let read = commit_record(&mut objects, &commit, project.as_ref());
        if let Ok(record) = &read
            && let Some(reverted) = find_reverted_commit(&record.text)
        {
            let ids = (commit_external_id(&commit.id), commit_external_id(reverted));
            sink.hold_link(&place, ids.0, ids.1, "reverts");
        }
        sink.emit_result(&place, read)?;
    }
    if log.is_whole() {
        return Ok(());
    }
    let why = "git does not list it to its end; `git fsck` says why";
    sink.refuse("history", why)
}

fn commit_external_id(id: &str) -> ExternalId {
    ExternalId::new(ExternalId::GIT, id.to_owned())
}

fn find_reverted_commit(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once(REVERTS)?;
    let end = rest
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(rest.len());
    (end == 40).then(|| &rest[..end])
}

fn commit_record(
    objects: &mut GitObjects,
    commit: &GitCommit,
    project: Option<&String>,
) -> Result<NewRecord, String> {
    let message = commit.message.trim();
    if message.is_empty() {
        return Err("the commit has no message".to_owned());
    }
    let (kind, source) = (MemoryKind::Episode, MemorySource::WorkerResult);
    let mut record = NewRecord::new(message, source, kind);
    record.external_ids = vec![commit_external_id(&commit.id)];
    record.tags = ["commit"]
        .into_iter()
        .map(str::to_owned)
        .chain(project.cloned())
        .collect();
    let by = &commit.author;
    record.provenance.actor_id = (!by.is_empty()).then(|| by.clone());
    record.timestamp = DateTime::from_timestamp(commit.authored_at, 0);
    let files = list_changed_paths(objects, commit)?;
    let count = files.len();
    let changes = files.into_iter().take(LIST_ITEMS_MAX);
    let (paths, changes): (Vec<String>, Vec<Value>) = changes
        .map(|(path, change)| (path.clone(), json!({ "path": path, "change": change })))
        .unzip();
    record.provenance.source_refs = paths;
    let mut details = json!({
        "type": "commit",
        "author": by,
        "email": commit.email,
        "parents": commit.parents,
        "files_count": count,
        "files": changes,
    });
    if commit.committer != commit.author {
        details["committer"] = json!(commit.committer);
    }
    record.details = Some(details);
    Ok(record)
}

/// Lists the paths that a commit changed against its first parent, each with a word for the change.
fn list_changed_paths(
    objects: &mut GitObjects,
    commit: &GitCommit,
) -> Result<Vec<(String, &'static str)>, String> {
    // The changes of a merge belong to the commits that it merges.
    if commit.parents.len() > 1 {
        return Ok(Vec::new());
    }
    // The first one, and the first that a shallow clone has, have no parent to be read.
    let parent = commit.parents.first().map(|id| format!("{id}^{{tree}}"));
    let before = parent.and_then(|parent| objects.find(&parent)?.ok());
    let found = objects.list_changes(before.map(|tree| tree.id), Some(commit.tree.clone()));
    let found = found.ok_or("its files cannot be read")?;
    let named = found.into_iter().map(|change| {
        let word = match (&change.before, &change.after) {
            (Some(_), Some(_)) => "modified",
            (None, _) => "added",
            (_, None) => "deleted",
        };
        (String::from_utf8_lossy(&change.path).into_owned(), word)
    });
    let mut named: Vec<_> = named.collect();
    named.sort();
    Ok(named)
}
