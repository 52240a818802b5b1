//! Proof that forgotten texts are erased: from the memory's file, byte by byte, and from its known
//! copies: branches, backups, exports, publications, and files for other programs.

mod search;
mod transcripts;

use reprise_files::{OpenMode, open_path};
use reprise_server::CopyForm;
use reprise_store::{CommitSeq, Log, StoreEntry};

use super::super::store::{open_log, torn_tails};
use super::super::{global, rebuild};
use crate::args::calendar;
use crate::cli::prelude::*;
use crate::env::MEMORY;
use search::{Needles, SearchedTexts};

/// Forgotten records and those of their texts that could still be read.
pub(super) struct ForgottenTexts {
    ids: HashSet<RecordId>,
    texts: BTreeMap<String, Vec<RecordId>>,
    /// The sessions in which they were said.
    sessions: BTreeSet<String>,
}

/// Copy of the memory, or a file made from it, that contains or may contain forgotten records.
#[derive(Serialize)]
pub(super) struct KnownCopy {
    pub(super) file: PathBuf,
    pub(super) kind: CopyKind,
    /// Number of forgotten records; `None` if the file cannot be read.
    pub(super) records: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CopyKind {
    /// A branch, a backup, or a file next to the memory's file.
    Memory,
    /// The end of a commit that was cut off the memory's file.
    Tail,
    Published,
    Export,
    Projection,
}

impl CopyKind {
    /// Says what a copy is, when it was made, and where it is.
    pub(super) fn describe(self, file: &Path) -> String {
        let what = match self {
            Self::Memory if file.file_name().is_some_and(|name| name == MEMORY) => "the branch",
            Self::Memory => "the backup",
            Self::Tail => "the end of an incomplete commit",
            Self::Published => "the publication",
            Self::Export => "the export",
            Self::Projection => "the file for another program",
        };
        let made = fs_err::metadata(file).and_then(|found| found.modified());
        let made = made.map_or_else(
            |_| String::new(),
            |at| format!(" of {}", calendar().format_to_minute(at.into())),
        );
        format!("{what}{made}, {}", file.display())
    }

    /// Returns how to remove the records from such a copy in this file.
    pub(super) fn remedy(self, file: &Path) -> &'static str {
        match self {
            Self::Memory if file.file_name().is_some_and(|name| name == MEMORY) => {
                "forget it there too, or drop the branch"
            }
            Self::Memory => "delete it; a backup that is made now does not have them",
            Self::Tail => "delete it",
            Self::Published => "take it back by `reprise share unpublish`",
            Self::Export => "delete it, or export again",
            Self::Projection => "a rebuild does not remove it: edit or delete it",
        }
    }
}

/// Traces of forgotten texts in the memory itself.
pub(super) struct ErasureTraces {
    /// Texts that can still be found in its file.
    pub(super) found: usize,
    /// Other records that contain one of the texts.
    pub(super) said_by: BTreeSet<RecordId>,
}

/// Deepest level of folders in a projection or an export.
const DEPTH_MAX: usize = 6;

/// Visits every record of a log whose text still exists, forgotten or not.
fn visit_each_record(log: &Log, mut visit: impl FnMut(RecordId, &str)) -> anyhow::Result<()> {
    visit_each_record_with_session(log, |id, text, _| visit(id, text))
}

fn visit_each_record_with_session(
    log: &Log,
    mut visit: impl FnMut(RecordId, &str, &str),
) -> anyhow::Result<()> {
    log.replay(CommitSeq(0), &mut |_, entry| {
        if let StoreEntry::Record(record) = &entry {
            visit(record.id, &record.text, &record.session_id);
        }
    })?;
    Ok(())
}

impl ForgottenTexts {
    /// Reads the texts of what was forgotten from logs that were pinned before they were removed.
    pub(super) fn read(ids: &[RecordId], pinned: &[Log]) -> anyhow::Result<Self> {
        let ids: HashSet<RecordId> = ids.iter().copied().collect();
        let (mut texts, mut found) = (BTreeMap::<String, Vec<RecordId>>::new(), HashSet::new());
        let mut sessions = BTreeSet::new();
        for log in pinned {
            if found.len() < ids.len() {
                visit_each_record_with_session(log, |id, text, session| {
                    if ids.contains(&id) && found.insert(id) {
                        texts.entry(text.to_owned()).or_default().push(id);
                        sessions.insert(session.to_owned());
                    }
                })?;
            }
        }
        Ok(Self {
            ids,
            texts,
            sessions,
        })
    }

    /// Reads every record of some memories.
    fn read_all(context: &Context, users: &[&UserId]) -> anyhow::Result<Self> {
        let (mut ids, mut texts) = (HashSet::new(), BTreeMap::<String, Vec<RecordId>>::new());
        for user in users {
            visit_each_record(
                &open_log(&context.places.memory_file_of(user))?,
                |id, text| {
                    ids.insert(id);
                    texts.entry(text.to_owned()).or_default().push(id);
                },
            )?;
        }
        Ok(Self {
            ids,
            texts,
            sessions: BTreeSet::new(),
        })
    }

    /// Finds the transcripts that programs keep of the sessions in which the texts were said.
    pub(super) fn find_transcripts(&self, home: &Path) -> Vec<PathBuf> {
        transcripts::find_transcripts(home, &self.sessions)
    }

    /// Finds the texts in a file: as a forgotten record, or anywhere in its bytes. A text that
    /// another record contains is no trace; that record is returned.
    pub(super) fn find_traces(&self, path: &Path) -> anyhow::Result<ErasureTraces> {
        let log = open_log(path)?;
        let needles = Needles::new(self.texts.keys().map(String::as_str));
        let (mut found, mut said, mut said_by) = (0, BTreeSet::new(), BTreeSet::new());
        visit_each_record(&log, |id, text| {
            if self.ids.contains(&id) {
                found += 1;
                return;
            }
            let mut held = needles.find_in_bytes(text.as_bytes());
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
        let raw = needles.find_in(&mut open_path(path, OpenMode::Read)?)?;
        found += raw.iter().filter(|text| !said.contains(*text)).count();
        Ok(ErasureTraces { found, said_by })
    }

    /// Finds the copies of a memory that still contain forgotten records.
    pub(super) fn find_copies(&self, context: &Context, user: &UserId) -> Vec<KnownCopy> {
        let sought = self
            .texts_to_search(&context.places.memory_file_of(user))
            .ok();
        let needles = sought.as_ref().map(SearchedTexts::build_needles);
        let known = list_known_copies(context, user).into_iter();
        let looked_into = known.map(|(file, kind)| {
            let records = match kind {
                CopyKind::Memory | CopyKind::Published => self.count_in_memory_file(&file).ok(),
                // What is in an incomplete commit cannot be read.
                CopyKind::Tail => None,
                CopyKind::Export | CopyKind::Projection => {
                    let all = sought.as_ref().zip(needles.as_ref());
                    let all = all.zip(open_path(&file, OpenMode::Read).ok());
                    all.and_then(|((sought, needles), mut bytes)| {
                        sought.count_records_in(needles, &mut bytes).ok()
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

    /// Returns the texts to search in other files: those that no remaining record contains.
    fn texts_to_search(&self, path: &Path) -> anyhow::Result<SearchedTexts> {
        let mut texts_to_search = SearchedTexts::from_texts(&self.texts);
        let needles = texts_to_search.build_needles();
        let mut said = BTreeSet::new();
        visit_each_record(&open_log(path)?, |id, text| {
            if !self.ids.contains(&id) {
                let found = needles.find_in_bytes(text.as_bytes()).into_iter();
                said.extend(found.map(str::to_owned));
            }
        })?;
        drop(needles);
        texts_to_search.remove_texts(&said);
        Ok(texts_to_search)
    }

    fn count_in_memory_file(&self, file: &Path) -> anyhow::Result<usize> {
        let mut held = 0;
        visit_each_record(&open_log(file)?, |id, text| {
            held += usize::from(self.ids.contains(&id) || self.texts.contains_key(text));
        })?;
        Ok(held)
    }
}

/// Lists the files of a projection or an export, also of an interrupted run.
fn list_files(path: &Path, depth: usize) -> Vec<PathBuf> {
    let is_link = fs_err::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if !path.is_dir() || (is_link && depth < DEPTH_MAX) {
        // Nothing was written here behind a link.
        return vec![path.to_owned()];
    }
    let entries = fs_err::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = match depth.checked_sub(1) {
        Some(left) => entries
            .flat_map(|entry| list_files(&entry.path(), left))
            .collect(),
        None => Vec::new(),
    };
    files.sort_unstable();
    files
}

/// Lists the known copies of a memory: branches, files next to its own (from a restore or a
/// replacement), backups and exports, files for other programs, and publications in this data
/// directory.
pub(super) fn list_known_copies(context: &Context, user: &UserId) -> Vec<(PathBuf, CopyKind)> {
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
    let tails = torn_tails::list_kept_tails(context, user).into_iter();
    copies.extend(tails.map(|tail| (tail.path, CopyKind::Tail)));
    let prefix = format!("{user}+");
    let branches = names(&context.places.data);
    let branches = branches.iter().filter(|name| name.starts_with(&prefix));
    let branches = branches.filter_map(|name| name.parse::<UserId>().ok());
    copies
        .extend(branches.map(|branch| (context.places.memory_file_of(&branch), CopyKind::Memory)));
    let published = list_files(&global::folder(context), 1).into_iter();
    let published = published.filter(|file| file.extension().is_some_and(|kind| kind == "rvf"));
    copies.extend(published.map(|file| (file, CopyKind::Published)));
    for made in copies::list_copies(context, user) {
        match made.form {
            CopyForm::Backup => {
                copies.insert(made.file, CopyKind::Memory);
            }
            CopyForm::Export => {
                let unfinished = atomic_files::unfinished_path(&made.file);
                let unfinished = Some(unfinished).filter(|left| left.exists());
                let files = unfinished.into_iter().chain([made.file]);
                let files = files.flat_map(|file| list_files(&file, DEPTH_MAX));
                copies.extend(files.map(|file| (file, CopyKind::Export)));
            }
            CopyForm::Projection { .. } => {}
        }
    }
    for projection in rebuild::list_written_projections(context, user) {
        let root = projection.kind.files_folder(&projection.path);
        let files = list_files(&root, DEPTH_MAX).into_iter();
        copies.extend(files.map(|file| (file, CopyKind::Projection)));
    }
    // A removed file is no copy; one on a missing disk may be.
    copies.retain(|copy, _| copy.is_file() || is_unreachable(copy));
    copies.into_iter().collect()
}

/// Lists the copies of a memory and all its branches. Publications count only if they contain its
/// records, because other users publish into this data directory, too.
pub(super) fn list_copies_with_branches(
    context: &Context,
    user: &UserId,
    branches: &[UserId],
) -> Vec<(PathBuf, CopyKind)> {
    let mut copies = list_known_copies(context, user);
    let is_published = |kind: CopyKind| kind == CopyKind::Published;
    if copies.iter().any(|(_, kind)| is_published(*kind)) {
        let users: Vec<&UserId> = branches.iter().chain([user]).collect();
        // A memory that cannot be read completely can still be removed.
        if let Ok(all) = ForgottenTexts::read_all(context, &users) {
            copies.retain(|(file, kind)| {
                !is_published(*kind) || all.count_in_memory_file(file).ok() != Some(0)
            });
        }
    }
    copies
}

/// Returns whether the folder of a copy is missing, too.
pub(super) fn is_unreachable(copy: &Path) -> bool {
    copy.parent().is_some_and(|folder| !folder.exists())
}
