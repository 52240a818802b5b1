//! The audit trail (W22): who changed what, when, under which rule.
//!
//! Each commit of a transaction adds a file of its own, so that two branches never change the same
//! one and any forge merges them (ADR 0046). What changes nothing that git keeps (a refusal, a
//! snapshot) waits in `pending/` for the next commit. `audit_trail.jsonl` is the trail's first
//! part, and in a tree of an earlier version all of it, with older parts in
//! `memory/long_term/audit/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use git2::Oid;
use reprise_types::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Result;
use crate::files;
use crate::git::{Blob, Git, LINK};
use crate::path::{RepoPath, TRAIL, TRAIL_PARTS};
use crate::transaction::Changes;

/// Where lines wait for a commit; git does not keep it.
const PENDING: &str = ".sdlc_ide/logs/pending";
/// Where an earlier version put the trail's older parts.
pub(crate) const ARCHIVE: &str = "memory/long_term/audit";
/// Most records that wait: one more brings them all to a commit.
pub(crate) const PENDING_MAX: usize = 256;
/// Deepest folder of the trail that is looked into: `audit/01KB/2C`.
const DEPTH_MAX: usize = 4;

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

/// The lines of a trail that a query asks for, newest last, each id once, and the numbers of lines
/// that are none among those that were read: it is read from its end until there are enough.
pub(crate) fn search(bytes: &[u8], query: &AuditQuery) -> (Vec<AuditLine>, Vec<usize>) {
    let (mut found, mut damaged) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
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
            // Two branches can both have noted a commit of plain git.
            Ok(line) if query.admits(&line) && seen.insert(line.event_id.clone()) => {
                found.push(line);
            }
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

/// The file of a transaction's lines. The folders are the time of its ULID, so that none of git's
/// trees becomes long: 12 days, then 17 minutes. The name tells a person's word, which is looked
/// for alone.
pub(crate) fn part_of(tx: &str, action: Action) -> RepoPath {
    let word = match action {
        Action::Approve | Action::Decline => WORD,
        _ => "",
    };
    let (days, minutes) = (tx.get(..4).unwrap_or(tx), tx.get(4..6).unwrap_or_default());
    RepoPath::known(format!("{TRAIL_PARTS}/{days}/{minutes}/{tx}{word}.jsonl"))
}

/// What the name of a file with a person's word has.
const WORD: &str = "-word";

/// Where a record waits for a commit.
pub(crate) fn pending_of(tx: &str) -> RepoPath {
    RepoPath::known(format!("{PENDING}/{tx}.jsonl"))
}

/// The records of a branch that wait for a commit, oldest first, each with its file.
pub(crate) fn pending(root: &Path, branch: &str) -> Result<Vec<(RepoPath, Vec<AuditLine>)>> {
    let mut waiting = Vec::new();
    for path in listed(root, PENDING)? {
        let bytes = files::read_in(root, &path, PART_BYTES_MAX)?.unwrap_or_default();
        let lines = read_lines(&bytes);
        if !lines.is_empty() && lines.iter().all(|line| line.branch == branch) {
            waiting.push((RepoPath::known(path), lines));
        }
    }
    Ok(waiting)
}

fn read_lines(bytes: &[u8]) -> Vec<AuditLine> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// Lines as a file holds them.
pub(crate) fn written(lines: &[AuditLine]) -> Vec<u8> {
    lines.iter().flat_map(crate::wal::line).collect()
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

/// The words of people that a tree's trail holds.
pub(crate) fn words(git: &Git, tree: Option<Oid>) -> Result<Words> {
    let mut bytes = Vec::new();
    for (path, blob) in parts(git, tree)? {
        let is_old = !path.is_trail_part();
        if is_old || path.name().contains(WORD) || path.name().contains(PACK) {
            bytes.extend(git.bytes(blob.id)?);
        }
    }
    let mut lines = read_lines(&bytes);
    lines.retain(|line| {
        let is_word = matches!(line.action, Action::Approve | Action::Decline);
        is_word && line.actor.starts_with("human:")
    });
    lines.sort_by(|one, other| one.event_id.cmp(&other.event_id));
    let of = |line: AuditLine| Some((line.details.get("commit")?.as_str()?.to_owned(), line));
    Ok(lines.into_iter().filter_map(of).collect())
}

/// The files of a tree's trail, in the order of time.
pub(crate) fn parts(git: &Git, tree: Option<Oid>) -> Result<Vec<(RepoPath, Blob)>> {
    let mut parts = git.list(tree, ARCHIVE, 1)?;
    let first = RepoPath::known(TRAIL);
    parts.extend(git.blob_at(tree, &first)?.map(|blob| (first, blob)));
    let mut own = git.list(tree, TRAIL_PARTS, DEPTH_MAX)?;
    own.retain(|(path, blob)| path.is_trail_part() && blob.mode != LINK);
    own.sort_unstable_by(|(one, _), (other, _)| one.name().cmp(other.name()));
    parts.extend(own);
    Ok(parts)
}

/// The trail as it stands in the working tree, in the order of time; last what waits.
pub(crate) fn read_all(root: &Path) -> Result<Vec<u8>> {
    let mut parts = listed(root, ARCHIVE)?;
    parts.push(TRAIL.to_owned());
    parts.extend(listed(root, TRAIL_PARTS)?);
    parts.extend(listed(root, PENDING)?);
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend(files::read_in(root, &part, PART_BYTES_MAX)?.unwrap_or_default());
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

/// The logs below a folder of the tree. Their names are the ids of their first lines, which are in
/// the order of time.
fn listed(root: &Path, folder: &str) -> Result<Vec<String>> {
    let mut found = files::listed(root, folder, DEPTH_MAX)?;
    found.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    found.sort_unstable_by(|one, other| (one.file_name(), one).cmp(&(other.file_name(), other)));
    let texts = found.into_iter().map(PathBuf::into_os_string);
    Ok(texts.filter_map(|path| path.into_string().ok()).collect())
}

/// What the name of a file with the lines of many transactions has.
const PACK: &str = "-pack-";
/// So many files of single transactions are left as they are.
const LOOSE_MIN: usize = 2_000;

/// The change that makes one file of those of many transactions that ended before an id: none while
/// they are few. Its name has the hash of what it holds, so that two branches never disagree about
/// one.
pub(crate) fn packed(git: &Git, tree: Option<Oid>, before: &str) -> Result<Changes> {
    let mut loose = parts(git, tree)?;
    loose.retain(|(path, _)| {
        path.is_trail_part() && !path.name().contains(PACK) && path.name() < before
    });
    let Some(first) = loose.first().filter(|_| loose.len() >= LOOSE_MIN) else {
        return Ok(Changes::new());
    };
    let mut bytes = Vec::new();
    for (_, blob) in &loose {
        bytes.extend(git.bytes(blob.id)?);
    }
    let hash = sha256_hex(&bytes);
    let name = format!("{TRAIL_PARTS}/{}{PACK}{:.8}.jsonl", first.0.stem(), hash);
    let mut changes: Changes = loose.into_iter().map(|(path, _)| (path, None)).collect();
    changes.insert(RepoPath::known(name), Some(bytes));
    Ok(changes)
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
        let mut bytes = written(&lines);
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
    fn a_line_that_two_branches_noted_is_told_once() {
        let lines = [line("1", "prm", "a"), line("2", "prm", "b")];
        let bytes = [written(&lines), written(&lines[..1])].concat();
        assert_eq!(search(&bytes, &AuditQuery::default()).0.len(), 2);
    }
}
