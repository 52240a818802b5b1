//! Proof that forgotten texts are gone: from the memory's file, byte by byte, and from what is made
//! of it and known: branches, backups, exports, what was published, the files that other programs
//! read.
//!
//! Looking into files.

mod search;

use reprise_files::{Access, open_path};
use reprise_store::{CommitSeq, Entry, Log};

use super::super::copies::Form;
use super::super::store::open_log;
use super::super::{global, rebuild};
use crate::cli::prelude::*;
use crate::env::MEMORY;
use search::{Needles, Sought};

/// What was forgotten: its texts as far as they could still be read, each with its records.
pub(super) struct Gone {
    ids: HashSet<RecordId>,
    texts: BTreeMap<String, Vec<RecordId>>,
}

/// A copy of the memory, or a file made of it, that still holds something of what was forgotten, or
/// may.
#[derive(Serialize)]
pub(super) struct KnownCopy {
    pub(super) file: PathBuf,
    pub(super) kind: CopyKind,
    /// How many forgotten records; `None` where it cannot be read.
    pub(super) records: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CopyKind {
    /// A branch, a backup, or what stands beside the memory's file.
    Memory,
    Published,
    Export,
    Projection,
}

impl CopyKind {
    /// What rids a copy of it.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::Memory => "forget there too, or remove it",
            Self::Published => "take it back by `reprise unpublish`",
            Self::Export => "remove it, or export anew",
            Self::Projection => "no rebuild clears it: edit or remove it",
        }
    }
}

/// What the memory itself still holds.
pub(super) struct Traces {
    /// Texts that can still be found in its file.
    pub(super) found: usize,
    /// Records that say one of the texts too, or hold it as a part.
    pub(super) said_by: BTreeSet<RecordId>,
}

/// Levels of folders that a projection or an export has.
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
        let (mut texts, mut found) = (BTreeMap::<String, Vec<RecordId>>::new(), HashSet::new());
        for log in pinned {
            if found.len() < ids.len() {
                each_record(log, |id, text| {
                    if ids.contains(&id) && found.insert(id) {
                        texts.entry(text.to_owned()).or_default().push(id);
                    }
                })?;
            }
        }
        Ok(Self { ids, texts })
    }

    /// The whole of some memories.
    fn whole(context: &Context, users: &[&UserId]) -> anyhow::Result<Self> {
        let (mut ids, mut texts) = (HashSet::new(), BTreeMap::<String, Vec<RecordId>>::new());
        for user in users {
            each_record(&open_log(&context.places.file_of(user))?, |id, text| {
                ids.insert(id);
                texts.entry(text.to_owned()).or_default().push(id);
            })?;
        }
        Ok(Self { ids, texts })
    }

    /// What of the texts can still be found in a file: as a record that should be gone, or anywhere
    /// in its bytes. What another record says is no trace, and that record is named.
    pub(super) fn traces(&self, path: &Path) -> anyhow::Result<Traces> {
        let log = open_log(path)?;
        let needles = Needles::new(self.texts.keys().map(String::as_str));
        let (mut found, mut said, mut said_by) = (0, BTreeSet::new(), BTreeSet::new());
        each_record(&log, |id, text| {
            if self.ids.contains(&id) {
                found += 1;
                return;
            }
            let mut held = needles.held_by(text.as_bytes());
            held.extend(
                self.texts
                    .get_key_value(text)
                    .map(|(text, _)| text.as_str()),
            );
            if !held.is_empty() {
                said_by.insert(id);
            }
            said.extend(held);
        })?;
        let raw = needles.find_in(&mut open_path(path, Access::Read)?)?;
        found += raw.iter().filter(|text| !said.contains(*text)).count();
        Ok(Traces { found, said_by })
    }

    /// The copies of a memory that still hold forgotten records.
    pub(super) fn copies(&self, context: &Context, user: &UserId) -> Vec<KnownCopy> {
        let sought = self.sought(&context.places.file_of(user)).ok();
        let needles = sought.as_ref().map(Sought::needles);
        let known = known_copies(context, user).into_iter();
        let looked_into = known.map(|(file, kind)| {
            let records = match kind {
                CopyKind::Memory | CopyKind::Published => self.held_by(&file).ok(),
                CopyKind::Export | CopyKind::Projection => {
                    let all = sought.as_ref().zip(needles.as_ref());
                    let all = all.zip(open_path(&file, Access::Read).ok());
                    all.and_then(|((sought, needles), mut bytes)| {
                        sought.count_in(needles, &mut bytes).ok()
                    })
                }
            };
            KnownCopy {
                file,
                kind,
                records,
            }
        });
        looked_into.filter(|copy| copy.records != Some(0)).collect()
    }

    /// What is looked for in files of other forms: what no record of the memory says.
    fn sought(&self, path: &Path) -> anyhow::Result<Sought> {
        let mut sought = Sought::of(&self.texts);
        let needles = sought.needles();
        let mut said = BTreeSet::new();
        each_record(&open_log(path)?, |id, text| {
            if !self.ids.contains(&id) {
                let found = needles.held_by(text.as_bytes()).into_iter();
                said.extend(found.map(str::to_owned));
            }
        })?;
        drop(needles);
        sought.leave_out(&said);
        Ok(sought)
    }

    fn held_by(&self, file: &Path) -> anyhow::Result<usize> {
        let mut held = 0;
        each_record(&open_log(file)?, |id, text| {
            held += usize::from(self.ids.contains(&id) || self.texts.contains_key(text));
        })?;
        Ok(held)
    }
}

/// The files of a projection or an export, and those of a run that was stopped.
fn files_in(path: &Path, depth: usize) -> Vec<PathBuf> {
    let is_link = fs_err::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if !path.is_dir() || (is_link && depth < DEPTH_MAX) {
        // Of what a link leads to nothing was written here.
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

/// What was made of a memory and is known: branches, what stands beside its file (put aside by a
/// restore, or saved when it was replaced), backups and exports, the files that other programs
/// read, what was published into this data directory.
pub(super) fn known_copies(context: &Context, user: &UserId) -> Vec<(PathBuf, CopyKind)> {
    let folder = context.places.home_of(user);
    let mut copies = BTreeMap::new();
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs_err::read_dir(folder).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.collect()
    };
    let beside = names(&folder);
    let beside = beside.iter().filter(|other| {
        let ending = other.strip_prefix(MEMORY).unwrap_or_default();
        ending.starts_with(".before-") || ending.starts_with(".rescued")
    });
    copies.extend(beside.map(|other| (folder.join(other), CopyKind::Memory)));
    let prefix = format!("{user}+");
    let branches = names(&context.places.data);
    let branches = branches.iter().filter(|name| name.starts_with(&prefix));
    let branches = branches.filter_map(|name| name.parse::<UserId>().ok());
    copies.extend(branches.map(|branch| (context.places.file_of(&branch), CopyKind::Memory)));
    let published = files_in(&global::folder(context), 1).into_iter();
    let published = published.filter(|file| file.extension().is_some_and(|kind| kind == "rvf"));
    copies.extend(published.map(|file| (file, CopyKind::Published)));
    for made in copies::of(context, user) {
        match made.form {
            Form::Backup => {
                copies.insert(made.file, CopyKind::Memory);
            }
            Form::Export => {
                let unfinished = whole::unfinished(&made.file);
                let files = [made.file, unfinished];
                let files = files.iter().flat_map(|file| files_in(file, DEPTH_MAX));
                copies.extend(files.map(|file| (file, CopyKind::Export)));
            }
            Form::Projection { .. } => {}
        }
    }
    for projection in rebuild::written(context, user) {
        let root = projection.kind.root(&projection.path);
        let files = files_in(&root, DEPTH_MAX).into_iter();
        copies.extend(files.map(|file| (file, CopyKind::Projection)));
    }
    // One that was removed is no copy; one whose disk is not there may be.
    copies.retain(|copy, _| copy.is_file() || is_away(copy));
    copies.into_iter().collect()
}

/// The same where the whole memory goes with its branches: others publish into this data
/// directory, too.
pub(super) fn copies_of_all(
    context: &Context,
    user: &UserId,
    branches: &[UserId],
) -> Vec<(PathBuf, CopyKind)> {
    let mut copies = known_copies(context, user);
    let is_published = |kind: CopyKind| kind == CopyKind::Published;
    if copies.iter().any(|(_, kind)| is_published(*kind)) {
        let users: Vec<&UserId> = branches.iter().chain([user]).collect();
        // What cannot be read wholly can be removed all the same.
        if let Ok(all) = Gone::whole(context, &users) {
            copies.retain(|(file, kind)| !is_published(*kind) || all.held_by(file).ok() != Some(0));
        }
    }
    copies
}

/// Whether not even the folder of a copy is there.
pub(super) fn is_away(copy: &Path) -> bool {
    copy.parent().is_some_and(|folder| !folder.exists())
}
