//! Proof that forgotten texts are gone: from the memory's file, byte by byte, and from the copies
//! of it that are known.
//!
//! Looking into files.

mod search;

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use reprise_store::{CommitSeq, Entry, Log};
use reprise_types::{RecordId, UserId};

use super::super::store::open_log;
use super::super::{Context, backup};
use search::Needles;

/// What was forgotten: its ids, and its texts as far as they could still be read.
pub(super) struct Gone {
    ids: HashSet<RecordId>,
    texts: BTreeSet<String>,
}

/// A copy of the memory that still holds something of what was forgotten, or may.
pub(super) struct KnownCopy {
    pub(super) file: PathBuf,
    /// How many forgotten records; `None` where it cannot be read.
    pub(super) records: Option<usize>,
}

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
        let looked_at = known.into_iter().map(|file| {
            let records = self.held_by(&file).ok();
            KnownCopy { file, records }
        });
        looked_at.filter(|copy| copy.records != Some(0)).collect()
    }

    fn held_by(&self, file: &Path) -> anyhow::Result<usize> {
        let mut held = 0;
        each_record(&open_log(file)?, |id, text| {
            held += usize::from(self.ids.contains(&id) || self.texts.contains(text));
        })?;
        Ok(held)
    }
}

/// Branches, what stands beside the memory's file (put aside by a restore, or saved when it was
/// replaced), and backups that were made from here.
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
    copies.retain(|copy| copy.is_file());
    copies.into_iter().collect()
}
