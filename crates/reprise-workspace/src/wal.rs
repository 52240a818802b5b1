//! The write-ahead log: `begin`, then `commit` or `abort`, each synced.
//!
//! Transactions end under one lock, so at most the last line is a loose end.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use reprise_files::OpenMode;
use serde::{Deserialize, Serialize};

use crate::error::{Result, WorkspaceError};
use crate::files::{self, OpenedFile};
use crate::git::Tag;

pub(crate) const WAL: &str = ".sdlc_ide/logs/wal.jsonl";
/// Beyond this the log is begun anew, once nothing in it is open.
const WAL_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Most bytes of the end that are read to see whether it is a loose one.
const TAIL_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Longest log that is read whole: what is longer was written by nobody here.
const READ_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WalAction {
    #[default]
    Begin,
    Commit,
    Abort,
}

/// A file's content before and after, as git's hash of a blob; `None` where there is no file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hashes {
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WalEntry {
    pub(crate) action: WalAction,
    pub(crate) tx_id: String,
    #[serde(default)]
    pub(crate) files: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) hashes: BTreeMap<String, Hashes>,
    /// The commit that makes it so; where none is named the files alone are the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    /// The branch that it goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    /// What is announced at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<serde_json::Value>,
    /// What is announced before that: of commits by plain git, of kinds that a merge has brought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) events: Vec<serde_json::Value>,
    /// What the log of conflicts is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) conflicts: Vec<serde_json::Value>,
    /// The tag that a commit gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<Tag>,
}

impl WalEntry {
    /// Returns the entry that ends this transaction.
    pub(crate) fn to_end_entry(&self, action: WalAction) -> Self {
        Self {
            action,
            tx_id: self.tx_id.clone(),
            files: self.files.clone(),
            commit: self.commit.clone(),
            ..Self::default()
        }
    }
}

/// Appends an entry; on return it is on disk.
pub(crate) fn append(root: &Path, entry: &WalEntry) -> Result<()> {
    files::append_lines(root, WAL, &encode_line(entry))?.sync()
}

/// Encodes a value as one line of JSON.
pub(crate) fn encode_line(value: &impl Serialize) -> Vec<u8> {
    // Our own types have string keys only, so writing them cannot fail.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Encodes a value as a JSON document that people can read.
pub(crate) fn encode_document(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// What a whole reading of the log finds.
#[derive(Debug, Default)]
pub(crate) struct WalContents {
    /// Every `begin` without its end, oldest first.
    pub(crate) open: Vec<WalEntry>,
    /// Numbers of lines that are no entries. What they ended is looked at again, which is harmless.
    pub(crate) damaged: Vec<usize>,
}

/// Reads the whole log and cuts a torn last line.
pub(crate) fn read(root: &Path) -> Result<WalContents> {
    let Some(mut bytes) = files::read_below(root, WAL, READ_BYTES_MAX)? else {
        return Ok(WalContents::default());
    };
    let whole = bytes
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    if whole < bytes.len() {
        // The write of a line was cut short: nothing was done on the strength of it.
        truncate(root, whole as u64)?;
        bytes.truncate(whole);
    }
    Ok(parse_entries(&bytes))
}

fn truncate(root: &Path, bytes: u64) -> Result<()> {
    let Some(log) = files::open_below(root, WAL, OpenMode::Write)? else {
        return Ok(());
    };
    let cut = log.file.set_len(bytes).and_then(|()| log.file.sync_all());
    cut.map_err(WorkspaceError::io("cannot cut", &log.path))
}

fn parse_entries(bytes: &[u8]) -> WalContents {
    let mut reading = WalContents::default();
    for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let Ok(entry) = serde_json::from_slice::<WalEntry>(line) else {
            reading.damaged.push(index + 1);
            continue;
        };
        match entry.action {
            WalAction::Begin => reading.open.push(entry),
            WalAction::Commit | WalAction::Abort => {
                reading.open.retain(|begun| begun.tx_id != entry.tx_id);
            }
        }
    }
    reading
}

/// Lists the open transactions without changing anything.
pub(crate) fn list_open_transactions(root: &Path) -> Result<Vec<String>> {
    if !has_open_end(root)? {
        return Ok(Vec::new());
    }
    let bytes = files::read_below(root, WAL, READ_BYTES_MAX)?.unwrap_or_default();
    let reading = parse_entries(&bytes);
    Ok(reading.open.into_iter().map(|entry| entry.tx_id).collect())
}

/// Returns whether the last line is a `begin` or torn, by reading the end alone.
pub(crate) fn has_open_end(root: &Path) -> Result<bool> {
    let Some(OpenedFile { mut file, path }) = files::open_below(root, WAL, OpenMode::Read)? else {
        return Ok(false);
    };
    let io = || WorkspaceError::io("cannot read", &path);
    let size = file.metadata().map_err(io())?.len();
    let mut window = 4096;
    loop {
        let from = size.saturating_sub(window);
        file.seek(SeekFrom::Start(from)).map_err(io())?;
        let mut tail = Vec::new();
        let mut limited = Read::take(&mut file, window);
        limited.read_to_end(&mut tail).map_err(io())?;
        let Some(body) = tail.strip_suffix(b"\n") else {
            return Ok(size > 0);
        };
        match body.iter().rposition(|b| *b == b'\n') {
            None if from > 0 && window < TAIL_BYTES_MAX => window *= 8,
            start => {
                let last = &body[start.map_or(0, |at| at + 1)..];
                let entry: Option<WalEntry> = serde_json::from_slice(last).ok();
                return Ok(entry.is_none_or(|entry| entry.action == WalAction::Begin));
            }
        }
    }
}

/// Clears the log if it has grown long. No transaction may be open.
pub(crate) fn clear_if_long(root: &Path) -> Result<()> {
    if files::find_metadata(&root.join(WAL))?.is_some_and(|found| found.len() > WAL_BYTES_MAX) {
        truncate(root, 0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_root_with_log(text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join(".sdlc_ide/logs")).unwrap();
        std::fs::write(root.path().join(WAL), text).unwrap();
        root
    }

    #[test]
    fn what_was_begun_and_not_ended_is_a_loose_end() {
        let root = make_root_with_log(concat!(
            "{\"action\": \"begin\", \"tx_id\": \"t1\", \"files\": [\"core/prd/PRD-001.json\"]}\n",
            "{\"action\": \"commit\", \"tx_id\": \"t1\", \"files\": [\"core/prd/PRD-001.json\"]}\n",
            "{\"action\": \"begin\", \"tx_id\": \"t2\", \"files\": [\"core/tsd/TSD-001.json\"]}\n",
        ));
        assert!(has_open_end(root.path()).unwrap());
        let open = read(root.path()).unwrap().open;
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].tx_id, "t2");
        append(root.path(), &open[0].to_end_entry(WalAction::Abort)).unwrap();
        assert!(!has_open_end(root.path()).unwrap());
        assert!(read(root.path()).unwrap().open.is_empty());
    }

    #[test]
    fn a_torn_line_is_cut_and_a_damaged_one_is_passed_over() {
        let root =
            make_root_with_log("{\"action\":\"commit\",\"tx_id\":\"t1\"}\n{\"action\":\"beg");
        assert!(has_open_end(root.path()).unwrap());
        assert!(read(root.path()).unwrap().open.is_empty());
        assert!(!has_open_end(root.path()).unwrap());

        let root = make_root_with_log("nonsense\n{\"action\":\"begin\",\"tx_id\":\"t1\"}\n");
        let reading = read(root.path()).unwrap();
        assert_eq!((reading.open.len(), reading.damaged), (1, vec![1]));
    }

    #[test]
    fn the_end_is_seen_however_long_its_line() {
        let files: Vec<String> = (0..3_000)
            .map(|n| format!("\"core/kb/{n:0>40}\""))
            .collect();
        let long = format!(
            "{{\"action\":\"abort\",\"tx_id\":\"t0\"}}\n\
             {{\"action\":\"begin\",\"tx_id\":\"t1\",\"files\":[{}]}}\n",
            files.join(",")
        );
        assert!(has_open_end(make_root_with_log(&long).path()).unwrap());
        assert!(
            !has_open_end(make_root_with_log(&long.replace("begin", "commit")).path()).unwrap()
        );
        assert!(!has_open_end(make_root_with_log("").path()).unwrap());
    }
}
