//! Proof that forgotten texts are gone: from the memory's file, byte by byte, and from what is made
//! of it and known: branches, backups, what was published, the files that other programs read.
//!
//! Looking into files.

mod search;

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use reprise_store::{CommitSeq, Entry, Log};
use reprise_types::{RecordId, UserId};

use super::super::store::open_log;
use super::super::{Context, backup, global, rebuild};
use search::Needles;
use serde_json::Value;

/// What was forgotten: its ids, and its texts as far as they could still be read.
pub(super) struct Gone {
    ids: HashSet<RecordId>,
    texts: BTreeSet<String>,
}

/// A copy of the memory, or a file made of it, that still holds something of what was forgotten, or
/// may.
pub(super) struct KnownCopy {
    pub(super) file: PathBuf,
    /// How many forgotten records; `None` where it cannot be read.
    pub(super) records: Option<usize>,
}

/// Levels of folders that a projection has.
const DEPTH_MAX: usize = 6;

/// Every record of a log, forgotten or not, as long as its text is there.
fn each_record(log: &Log, mut visit: impl FnMut(RecordId, &str)) -> anyhow::Result<()> {
    log.replay(CommitSeq(0), &mut |_, entry| {
        if let Entry::Record(record) = &entry {
            visit(record.id, &record.text);
        }
    })?;
    Ok(())
}

impl Gone {
    /// Reads the texts of what was forgotten from logs that were pinned before they were removed.
    pub(super) fn read(ids: &[RecordId], pinned: &[Log]) -> anyhow::Result<Self> {
        let ids: HashSet<RecordId> = ids.iter().copied().collect();
        let (mut texts, mut found) = (BTreeSet::new(), HashSet::new());
        for log in pinned {
            if found.len() < ids.len() {
                each_record(log, |id, text| {
                    if ids.contains(&id) && found.insert(id) {
                        texts.insert(text.to_owned());
                    }
                })?;
            }
        }
        Ok(Self { ids, texts })
    }

    /// How many of the texts can still be found in a file: as a record that should be gone, or
    /// anywhere in its bytes. What another record says is no trace.
    pub(super) fn traces(&self, path: &Path) -> anyhow::Result<usize> {
        let log = open_log(path)?;
        let (mut found, mut kept) = (0, HashSet::new());
        each_record(&log, |id, text| {
            if self.ids.contains(&id) {
                found += 1;
            } else if let Some(text) = self.texts.get(text) {
                kept.insert(text.as_str());
            }
        })?;
        let unsaid = self.texts.iter().map(String::as_str);
        let needles = Needles::new(unsaid.filter(|text| !kept.contains(text)));
        let mut raw = needles.find_in(&mut File::open(path)?)?;
        if !raw.is_empty() {
            each_record(&log, |_, text| raw.retain(|gone| !text.contains(gone)))?;
        }
        Ok(found + raw.len())
    }

    /// The copies of a memory that still hold forgotten records.
    pub(super) fn copies(&self, context: &Context, user: &UserId) -> Vec<KnownCopy> {
        let known = known_copies(context, user);
        let logs = known.into_iter().map(|file| {
            let records = self.held_by(&file).ok();
            KnownCopy { file, records }
        });
        let unsaid = self.unsaid(&context.places.file_of(user));
        let files = rebuild::places(context, user, true)
            .into_iter()
            .flat_map(|projection| files_in(&projection.path, DEPTH_MAX));
        let files = files.map(|file| {
            let found = unsaid.as_ref().ok().and_then(|unsaid| {
                let mut bytes = File::open(&file).ok()?;
                held_in(unsaid, &mut bytes).ok()
            });
            let records = found;
            KnownCopy { file, records }
        });
        let all = logs.chain(files);
        all.filter(|copy| copy.records != Some(0)).collect()
    }

    /// The forgotten texts that no record of the memory says, or holds as a part of its own.
    fn unsaid(&self, path: &Path) -> anyhow::Result<BTreeSet<&str>> {
        let mut unsaid: BTreeSet<&str> = self.texts.iter().map(String::as_str).collect();
        each_record(&open_log(path)?, |id, text| {
            if !self.ids.contains(&id) {
                unsaid.retain(|gone| !text.contains(gone));
            }
        })?;
        Ok(unsaid)
    }

    fn held_by(&self, file: &Path) -> anyhow::Result<usize> {
        let mut held = 0;
        each_record(&open_log(file)?, |id, text| {
            held += usize::from(self.ids.contains(&id) || self.texts.contains(text));
        })?;
        Ok(held)
    }
}

/// How many of the texts stand in a file as they are, or as JSON writes them.
fn held_in(texts: &BTreeSet<&str>, file: &mut File) -> anyhow::Result<usize> {
    let quoted: Vec<(&str, String)> = texts
        .iter()
        .map(|text| {
            let json = Value::from(*text).to_string();
            (*text, json.trim_matches('"').to_owned())
        })
        .collect();
    let written = quoted
        .iter()
        .flat_map(|(text, json)| [*text, json.as_str()]);
    let found = Needles::new(written.collect::<BTreeSet<_>>().into_iter()).find_in(file)?;
    let held = quoted
        .iter()
        .filter(|(text, json)| found.contains(text) || found.contains(json.as_str()));
    Ok(held.count())
}

/// The files of a projection.
fn files_in(path: &Path, depth: usize) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs_err::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = match depth.checked_sub(1) {
        Some(left) => entries
            .flat_map(|entry| files_in(&entry.path(), left))
            .collect(),
        None => Vec::new(),
    };
    files.sort_unstable();
    files
}

/// Branches, what stands beside the memory's file (put aside by a restore, or saved when it was
/// replaced), what was published into this data directory, and backups that were made from here.
pub(super) fn known_copies(context: &Context, user: &UserId) -> Vec<PathBuf> {
    let file = context.places.file_of(user);
    let mut copies = BTreeSet::new();
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs_err::read_dir(folder).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.collect()
    };
    if let (Some(folder), Some(name)) = (file.parent(), file.file_name().and_then(|n| n.to_str())) {
        let beside = names(folder);
        let beside = beside.iter().filter(|other| {
            let ending = other.strip_prefix(name);
            ending.is_some_and(|ending| {
                ending.starts_with(".before-") || ending.starts_with(".rescued")
            })
        });
        copies.extend(beside.map(|other| folder.join(other)));
    }
    let prefix = format!("{user}+");
    let branches = names(&context.places.data);
    let branches = branches.iter().filter(|name| name.starts_with(&prefix));
    let branches = branches.filter_map(|name| name.parse::<UserId>().ok());
    copies.extend(branches.map(|branch| context.places.file_of(&branch)));
    copies.extend(backup::made_of(context, user));
    let published = global::folder(context);
    let published = files_in(&published, 1).into_iter();
    copies.extend(published.filter(|file| file.extension().is_some_and(|kind| kind == "rvf")));
    copies.retain(|copy| copy.is_file());
    copies.into_iter().collect()
}
