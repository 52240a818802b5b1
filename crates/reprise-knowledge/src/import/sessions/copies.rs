//! Recognises conversations that are in several files: forks that begin with copied rows, and
//! sessions that one program imported from another.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::SystemTime;

use super::{LINES_LOOKED_AT, open_lines, read_whole};
use crate::prelude::*;

/// File in Codex' own folder that lists the sessions which it imported from other programs.
const TAKEN_OVER: &str = "external_agent_session_imports.json";
/// Most folders above the imported one that are searched for that list.
const ABOVE_MAX: usize = 5;

/// The rows of the files that were read, by their hashes.
#[derive(Debug, Default)]
pub(super) struct CopiedRows {
    file: u32,
    /// The file in which a row of Claude Code came first.
    first_files: HashMap<u64, u32>,
    /// The items of each session of Codex.
    items: HashMap<String, HashSet<u64>>,
    /// The session that the file was forked from, while its copied items last.
    forked_from: Option<String>,
}

impl CopiedRows {
    /// Notes that the rows that follow are of another file.
    pub(super) fn begin_file(&mut self) {
        self.file += 1;
        self.forked_from = None;
    }

    /// Whether a row was read in another file already; notes it if it was not.
    pub(super) fn is_copy(&mut self, session: &str, row: &Value) -> bool {
        if let Some(uuid) = row["uuid"].as_str() {
            let row = row_key(uuid, &row["message"]);
            return *self.first_files.entry(row).or_insert(self.file) != self.file;
        }
        let payload = &row["payload"];
        if row["type"] == "session_meta" {
            if let Some(original) = payload["forked_from_id"].as_str() {
                self.forked_from = Some(original.to_owned());
            }
            return false;
        }
        if row["type"] != "response_item" {
            return false;
        }
        let hash = hash_of(&payload.to_string());
        let original = self.forked_from.as_ref();
        let is_copy = original
            .and_then(|original| self.items.get(original))
            .is_some_and(|items| items.contains(&hash));
        if !is_copy {
            // The copied items come first.
            self.forked_from = None;
        }
        self.items
            .entry(session.to_owned())
            .or_default()
            .insert(hash);
        is_copy
    }
}

/// Returns the key of a row of Claude Code: its name and what it says.
fn row_key(uuid: &str, message: &Value) -> u64 {
    hash_of(&format!("{uuid}\n{message}"))
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Puts, of files that begin with the same row, the one that was written last behind the others: it
/// is the fork. The other files keep their order.
pub(super) fn put_originals_first(files: &mut Vec<PathBuf>) {
    let mut groups: HashMap<u64, usize> = HashMap::new();
    let keyed = std::mem::take(files).into_iter().enumerate();
    let mut keyed: Vec<(usize, Option<SystemTime>, PathBuf)> = keyed
        .map(|(place, file)| {
            let group = first_row(&file).map(|row| *groups.entry(row).or_insert(place));
            let written = group.and_then(|_| fs_err::metadata(&file).ok()?.modified().ok());
            (group.unwrap_or(place), written, file)
        })
        .collect();
    keyed.sort();
    files.extend(keyed.into_iter().map(|(.., file)| file));
}

/// Returns the key of the first row of a transcript that has a name.
fn first_row(file: &Path) -> Option<u64> {
    let lines = open_lines(file).ok()?.take(LINES_LOOKED_AT);
    let mut rows = lines.filter_map(|line| Some(parse_json_line(&line.ok()?.1.ok()?).objects));
    let key = |row: &Map<String, Value>| {
        let message = row.get("message").unwrap_or(&Value::Null);
        Some(row_key(non_blank_text(row, "uuid")?, message))
    };
    rows.find_map(|rows| rows.iter().find_map(key))
}

/// Returns the ids of the rollouts that Codex made of sessions of other programs which are still
/// there.
pub(super) fn find_imported_elsewhere(folder: &Path) -> HashSet<String> {
    let lists = folder
        .ancestors()
        .take(ABOVE_MAX)
        .map(|above| above.join(TAKEN_OVER));
    let list = lists
        .filter(|path| path.is_file())
        .find_map(|path| read_whole(&path).ok());
    let list: Value = list
        .and_then(|list| serde_json::from_slice(&list).ok())
        .unwrap_or_default();
    let mut ids = HashSet::new();
    collect_imported(&list, &mut ids);
    ids
}

/// Collects the ids of a list, however deep its entries are.
fn collect_imported(list: &Value, ids: &mut HashSet<String>) {
    let source = list["source_path"].as_str();
    let is_there = source.is_some_and(|source| Path::new(source).exists());
    if let Some(id) = list["imported_thread_id"]
        .as_str()
        .filter(|id| is_there && !id.is_empty())
    {
        ids.insert(id.to_owned());
    }
    let entries = list.as_array().into_iter().flatten();
    let fields = list.as_object().into_iter().flat_map(Map::values);
    for inner in entries.chain(fields) {
        collect_imported(inner, ids);
    }
}
