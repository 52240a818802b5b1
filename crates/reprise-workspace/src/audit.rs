//! The audit trail: who changed what, when, under which rule.
//!
//! Each commit of a transaction adds a file of its own, so that two branches never change the same
//! one and any forge merges them (ADR 0046). What changes nothing that git keeps (a refusal, a
//! snapshot) waits in `pending/` for the next commit. `audit_trail.jsonl` is the trail's first
//! part, and in a tree of an earlier version all of it, with older parts in
//! `memory/long_term/audit/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git2::Oid;
use reprise_types::sha256_hex;
use reprise_workspace_types::{AuditAction, AuditEntry, AuditQuery, RepoPath, TRAIL, TRAIL_PARTS};

use crate::error::Result;
use crate::files;
use crate::git::{Blob, Git, LINK};
use crate::stage::Changes;

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

/// Returns whether a query asks for this line.
fn matches_query(query: &AuditQuery, line: &AuditEntry) -> bool {
    let below = |wanted: &str, path: &str| {
        let rest = path.strip_prefix(wanted.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    query
        .actor
        .as_ref()
        .is_none_or(|actor| line.actor == *actor)
        && query.action.is_none_or(|action| line.action == action)
        && query.since.is_none_or(|since| line.ts >= since)
        && query
            .path
            .as_ref()
            .is_none_or(|wanted| line.paths.iter().any(|path| below(wanted, path)))
}

/// Returns the lines of a trail that a query asks for, newest last, each id once, and the numbers
/// of lines that are none among those that were read: it is read from its end until there are
/// enough.
pub(crate) fn search(bytes: &[u8], query: &AuditQuery) -> (Vec<AuditEntry>, Vec<usize>) {
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
        if line.is_empty()
            || needle
                .as_ref()
                .is_some_and(|word| !contains_bytes(line, word))
        {
            continue;
        }
        match serde_json::from_slice::<AuditEntry>(line) {
            // Two branches can both have noted a commit of plain git.
            Ok(line) if matches_query(query, &line) && seen.insert(line.event_id.clone()) => {
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

fn contains_bytes(line: &[u8], word: &[u8]) -> bool {
    word.is_empty() || line.windows(word.len()).any(|window| window == word)
}

/// Returns the path of the file with a transaction's entries. The folders are the time of its ULID,
/// so that none of git's trees becomes long: 12 days, then 17 minutes. The name marks a person's
/// verdict, so that verdicts are found without reading the other files.
pub(crate) fn trail_part_path(tx: &str, action: AuditAction) -> RepoPath {
    let word = match action {
        AuditAction::Approve | AuditAction::Decline => WORD,
        _ => "",
    };
    let (days, minutes) = (tx.get(..4).unwrap_or(tx), tx.get(4..6).unwrap_or_default());
    RepoPath::trusted(format!("{TRAIL_PARTS}/{days}/{minutes}/{tx}{word}.jsonl"))
}

/// The part of a file's name that marks a person's verdict.
const WORD: &str = "-word";

/// Returns the path at which an entry waits for a commit.
pub(crate) fn pending_path(tx: &str) -> RepoPath {
    RepoPath::trusted(format!("{PENDING}/{tx}.jsonl"))
}

/// Reads the entries of a branch that wait for a commit, oldest first, each with its file.
pub(crate) fn list_pending(root: &Path, branch: &str) -> Result<Vec<(RepoPath, Vec<AuditEntry>)>> {
    let mut waiting = Vec::new();
    for path in list_logs(root, PENDING)? {
        let bytes = files::read_below(root, &path, PART_BYTES_MAX)?.unwrap_or_default();
        let lines = decode_lines(&bytes);
        if !lines.is_empty() && lines.iter().all(|line| line.branch == branch) {
            waiting.push((RepoPath::trusted(path), lines));
        }
    }
    Ok(waiting)
}

fn decode_lines(bytes: &[u8]) -> Vec<AuditEntry> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// Encodes entries as the lines of a file.
pub(crate) fn encode_lines(lines: &[AuditEntry]) -> Vec<u8> {
    lines.iter().flat_map(crate::wal::encode_line).collect()
}

/// The last approval or refusal by a person of each commit, by the commit's hash.
pub(crate) type ReviewVerdictLines = BTreeMap<String, AuditEntry>;

/// Returns the commits whose last verdict in a tree's trail is an approval; see
/// [`collect_verdicts`].
pub(crate) fn list_approved_commits(git: &Git, tree: Option<Oid>) -> Result<Vec<Oid>> {
    let words = collect_verdicts(git, tree)?.into_iter();
    let approved = words.filter(|(_, line)| line.action == AuditAction::Approve);
    Ok(approved
        .filter_map(|(id, _)| Oid::from_str(&id).ok())
        .collect())
}

/// Collects the verdicts of people that a tree's trail holds.
pub(crate) fn collect_verdicts(git: &Git, tree: Option<Oid>) -> Result<ReviewVerdictLines> {
    let mut bytes = Vec::new();
    for (path, blob) in list_trail_parts(git, tree)? {
        let is_old = !path.is_trail_part();
        if is_old || path.name().contains(WORD) || path.name().contains(PACK) {
            bytes.extend(git.bytes(blob.id)?);
        }
    }
    let mut lines = decode_lines(&bytes);
    lines.retain(|line| {
        let is_word = matches!(line.action, AuditAction::Approve | AuditAction::Decline);
        is_word && line.actor.starts_with("human:")
    });
    lines.sort_by(|one, other| one.event_id.cmp(&other.event_id));
    let of = |line: AuditEntry| Some((line.details.get("commit")?.as_str()?.to_owned(), line));
    Ok(lines.into_iter().filter_map(of).collect())
}

/// Returns the files of a tree's trail, in the order of time.
pub(crate) fn list_trail_parts(git: &Git, tree: Option<Oid>) -> Result<Vec<(RepoPath, Blob)>> {
    let mut parts = git.list(tree, ARCHIVE, 1)?;
    let first = RepoPath::trusted(TRAIL);
    parts.extend(git.blob_at(tree, &first)?.map(|blob| (first, blob)));
    let mut own = git.list(tree, TRAIL_PARTS, DEPTH_MAX)?;
    own.retain(|(path, blob)| path.is_trail_part() && blob.mode != LINK);
    own.sort_unstable_by(|(one, _), (other, _)| one.name().cmp(other.name()));
    parts.extend(own);
    Ok(parts)
}

/// Reads the trail of the working tree in the order of time, pending entries last.
pub(crate) fn read_trail(root: &Path) -> Result<Vec<u8>> {
    let mut parts = list_logs(root, ARCHIVE)?;
    parts.push(TRAIL.to_owned());
    parts.extend(list_logs(root, TRAIL_PARTS)?);
    parts.extend(list_logs(root, PENDING)?);
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend(files::read_below(root, &part, PART_BYTES_MAX)?.unwrap_or_default());
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

/// Lists the logs below a folder of the tree. Their names are the ids of their first lines, which
/// are in the order of time.
fn list_logs(root: &Path, folder: &str) -> Result<Vec<String>> {
    let mut found = files::list_files(root, folder, DEPTH_MAX)?;
    found.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    found.sort_unstable_by(|one, other| (one.file_name(), one).cmp(&(other.file_name(), other)));
    let texts = found.into_iter().map(PathBuf::into_os_string);
    Ok(texts.filter_map(|path| path.into_string().ok()).collect())
}

/// The part of a file's name that marks the lines of many transactions.
const PACK: &str = "-pack-";
/// So many files of single transactions are left as they are.
const LOOSE_MIN: usize = 2_000;

/// Returns the change that packs the files of many transactions before an id into one; it is empty
/// while they are few. The new file's name has the hash of what it holds, so that two branches
/// never disagree about one.
pub(crate) fn plan_packing(git: &Git, tree: Option<Oid>, before: &str) -> Result<Changes> {
    let mut loose = list_trail_parts(git, tree)?;
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
    changes.insert(RepoPath::trusted(name), Some(bytes));
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, actor: &str, path: &str) -> AuditEntry {
        AuditEntry {
            event_id: id.to_owned(),
            ts: reprise_types::parse_timestamp("2026-02-16T09:46:08Z").unwrap(),
            action: AuditAction::Write,
            actor: actor.to_owned(),
            identity: None,
            rules: vec!["core-prd".to_owned()],
            paths: vec![path.to_owned()],
            branch: "main".to_owned(),
            message: String::new(),
            details: serde_json::Value::Null,
        }
    }

    #[test]
    fn a_query_finds_by_actor_and_by_folder_and_names_damage() {
        let lines = [
            line("1", "prm", "core/prd/a.json"),
            line("2", "tsm", "core/prd-old/b"),
        ];
        let mut bytes = encode_lines(&lines);
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
        let bytes = [encode_lines(&lines), encode_lines(&lines[..1])].concat();
        assert_eq!(search(&bytes, &AuditQuery::default()).0.len(), 2);
    }
}
