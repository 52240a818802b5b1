//! The audit trail (W22): who changed what, when, under which rule; one line for each transaction,
//! in the same commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Result, WorkspaceError};
use crate::files;
use crate::git::Git;
use crate::path::RepoPath;

pub(crate) const AUDIT: &str = ".sdlc_ide/logs/audit_trail.jsonl";
/// Where its earlier parts are, once it has grown long.
pub(crate) const ARCHIVE: &str = "memory/long_term/audit";
/// Beyond this the trail is begun anew and what it held goes to the archive: every commit stores
/// the present part again.
pub(crate) const AUDIT_BYTES_MAX: usize = 1024 * 1024;

/// Longest part of the trail that is read: what is longer was written by nobody here.
pub(crate) const PART_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Init,
    Write,
    Merge,
    Rollback,
    /// A person approved a branch as it stood.
    Approve,
    /// A person declined a branch as it stood.
    Decline,
    Violation,
    /// A commit came by plain git.
    Git,
    /// A snapshot was taken or brought back.
    Snapshot,
    /// Snapshots or old events were put away by policy.
    Prune,
    /// Lines of the trail had gone, outside of any transaction.
    Rewritten,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    /// The transaction's ULID; the event and the WAL's entries have the same.
    pub event_id: String,
    /// When.
    pub ts: DateTime<Utc>,
    pub action: Action,
    pub actor: String,
    /// Who stands behind a person's name, by what the machine knows: git's identity here, or whose
    /// token the daemon was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(default)]
    pub rules: Vec<String>,
    #[serde(default)]
    pub paths: Vec<String>,
    #[serde(default)]
    pub branch: String,
    /// In the actor's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What else is known, by kind of action.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// Which lines are asked for.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    pub actor: Option<String>,
    /// That touched this path, or something below it.
    pub path: Option<String>,
    pub action: Option<Action>,
    pub since: Option<DateTime<Utc>>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

impl AuditQuery {
    fn admits(&self, line: &AuditLine) -> bool {
        let below = |asked: &str, path: &str| {
            let rest = path.strip_prefix(asked.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.actor.as_ref().is_none_or(|actor| line.actor == *actor)
            && self.action.is_none_or(|action| line.action == action)
            && self.since.is_none_or(|since| line.ts >= since)
            && self
                .path
                .as_ref()
                .is_none_or(|asked| line.paths.iter().any(|path| below(asked, path)))
    }
}

/// The lines of a trail that a query asks for, newest last, and the numbers of lines that are none
/// among those that were read: it is read from its end until there are enough.
pub(crate) fn search(bytes: &[u8], query: &AuditQuery) -> (Vec<AuditLine>, Vec<usize>) {
    let (mut found, mut damaged) = (Vec::new(), Vec::new());
    // A word that every line asked for must have: most others are passed over unread.
    let needle = query.actor.as_ref().or(query.path.as_ref()).map(|word| {
        let quoted = serde_json::to_string(word.trim_end_matches('/')).unwrap_or_default();
        quoted.trim_matches('"').as_bytes().to_vec()
    });
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    // From the newest on: the last few of a long trail are asked for most.
    for (index, line) in lines.into_iter().enumerate().rev() {
        if query.limit.is_some_and(|limit| found.len() >= limit) {
            break;
        }
        if line.is_empty() || needle.as_ref().is_some_and(|word| !contains(line, word)) {
            continue;
        }
        match serde_json::from_slice::<AuditLine>(line) {
            Ok(line) if query.admits(&line) => found.push(line),
            Ok(_) => {}
            Err(_) => damaged.push(index + 1),
        }
    }
    found.reverse();
    damaged.reverse();
    (found, damaged)
}

fn contains(line: &[u8], word: &[u8]) -> bool {
    word.is_empty() || line.windows(word.len()).any(|window| window == word)
}

/// What people said of a commit last, by its hash: the line of an approval or a refusal.
pub(crate) type Words = BTreeMap<String, AuditLine>;

/// The commits whose last word in a tree's trail is an approval; see [`words`].
pub(crate) fn approved(git: &Git, tree: Option<Oid>) -> Result<Vec<Oid>> {
    let words = words(git, tree)?.into_iter();
    let approved = words.filter(|(_, line)| line.action == Action::Approve);
    Ok(approved
        .filter_map(|(id, _)| Oid::from_str(&id).ok())
        .collect())
}

/// The words of people that a tree's trail holds; those of its newest archived part, too, since
/// the trail may have been begun anew after one.
pub(crate) fn words(git: &Git, tree: Option<Oid>) -> Result<Words> {
    let mut bytes = Vec::new();
    if let Some((_, newest)) = git.list(tree, ARCHIVE)?.pop() {
        bytes = git.bytes(newest.id)?;
    }
    let present = git.content_at(tree, &RepoPath::known(AUDIT))?;
    bytes.extend(present.unwrap_or_default());
    let query = |action| AuditQuery {
        action: Some(action),
        ..AuditQuery::default()
    };
    let (mut lines, _) = search(&bytes, &query(Action::Approve));
    lines.extend(search(&bytes, &query(Action::Decline)).0);
    lines.retain(|line| line.actor.starts_with("human:"));
    lines.sort_by(|one, other| one.event_id.cmp(&other.event_id));
    let of = |line: AuditLine| Some((line.details.get("commit")?.as_str()?.to_owned(), line));
    Ok(lines.into_iter().filter_map(of).collect())
}

/// The trail, its archived parts first.
pub(crate) fn read_all(root: &Path) -> Result<Vec<u8>> {
    files::refuse_detours_to(root, ARCHIVE, ARCHIVE)?;
    let archive = root.join(ARCHIVE);
    let mut parts = Vec::new();
    match std::fs::read_dir(&archive) {
        Ok(entries) => parts.extend(entries.flatten().map(|entry| entry.path())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(WorkspaceError::io("cannot list", &archive)(error)),
    }
    parts.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let name = |path: PathBuf| Some(format!("{ARCHIVE}/{}", path.file_name()?.to_str()?));
    let mut parts: Vec<String> = parts.into_iter().filter_map(name).collect();
    // Their names are the ids of their first lines, which are in the order of time.
    parts.sort_unstable();
    parts.push(AUDIT.to_owned());
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend(files::read_in(root, &part, PART_BYTES_MAX)?.unwrap_or_default());
    }
    Ok(bytes)
}

/// The trail with lines added, and the part to put away where it has grown too long.
pub(crate) fn extended(
    present: Vec<u8>,
    lines: &[AuditLine],
    bytes_max: usize,
) -> (Vec<u8>, Option<(RepoPath, Vec<u8>)>) {
    let mut added = Vec::new();
    for line in lines {
        added.extend(crate::wal::line(line));
    }
    let first: Option<AuditLine> = present
        .split(|b| *b == b'\n')
        .next()
        .and_then(|line| serde_json::from_slice(line).ok());
    if let Some(first) = first
        && present.len() + added.len() > bytes_max
    {
        let path = RepoPath::known(format!("{ARCHIVE}/{}.jsonl", first.event_id));
        return (added, Some((path, present)));
    }
    let mut bytes = present;
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    bytes.extend(added);
    (bytes, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, actor: &str, path: &str) -> AuditLine {
        AuditLine {
            event_id: id.to_owned(),
            ts: reprise_types::parse_timestamp("2026-02-16T09:46:08Z").unwrap(),
            action: Action::Write,
            actor: actor.to_owned(),
            identity: None,
            rules: vec!["core-prd".to_owned()],
            paths: vec![path.to_owned()],
            branch: "main".to_owned(),
            message: String::new(),
            details: Value::Null,
        }
    }

    #[test]
    fn a_query_finds_by_actor_and_by_folder_and_names_damage() {
        let lines = [
            line("1", "prm", "core/prd/a.json"),
            line("2", "tsm", "core/prd-old/b"),
        ];
        let (mut bytes, _) = extended(Vec::new(), &lines, AUDIT_BYTES_MAX);
        bytes.extend(b"nonsense\n");
        let ids = |query: &AuditQuery| {
            let (found, damaged) = search(&bytes, query);
            let ids: Vec<_> = found.into_iter().map(|line| line.event_id).collect();
            (ids.join(","), damaged)
        };
        let by = |actor: Option<&str>, path: Option<&str>| AuditQuery {
            actor: actor.map(str::to_owned),
            path: path.map(str::to_owned),
            ..AuditQuery::default()
        };
        assert_eq!(ids(&by(None, None)), ("1,2".to_owned(), vec![3]));
        assert_eq!(ids(&by(Some("tsm"), None)).0, "2");
        assert_eq!(ids(&by(None, Some("core/prd/"))).0, "1");
        assert_eq!(ids(&by(Some("ts"), None)).0, "");
        let newest = AuditQuery {
            limit: Some(1),
            ..AuditQuery::default()
        };
        assert_eq!(ids(&newest), ("2".to_owned(), vec![3]));
    }

    #[test]
    fn a_long_trail_goes_to_the_archive_whole() {
        let (first, none) = extended(Vec::new(), &[line("1", "prm", "a")], 10);
        assert!(none.is_none(), "nothing to put away");
        let (second, archived) = extended(first.clone(), &[line("2", "prm", "b")], 10);
        let (path, bytes) = archived.unwrap();
        assert_eq!(path.as_str(), "memory/long_term/audit/1.jsonl");
        assert_eq!(bytes, first);
        assert!(
            String::from_utf8(second)
                .unwrap()
                .contains("\"event_id\":\"2\"")
        );
    }
}
