//! List of the copies of memories outside their folders, kept in the data directory, so that
//! `forget --verify` knows where to look.

use std::os::unix::fs::MetadataExt;

use reprise_operations::ConfiguredProjection;
use reprise_server::{BACKUP_LIST_BYTES_MAX, BACKUP_LIST_FILE};

use crate::cli::prelude::*;

/// One copy of something in a memory, as a line of the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct CopyEntry {
    pub(super) user: UserId,
    /// File or folder.
    pub(super) file: PathBuf,
    #[serde(default, skip_serializing_if = "CopyForm::is_backup")]
    pub(super) form: CopyForm,
    /// Stamp of the file when it was written, if only an unchanged file may be overwritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<FileStamp>,
}

/// Size and time by which a written file is recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct FileStamp {
    bytes: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
}

impl FileStamp {
    /// Returns the stamp of a file; `None` for anything else.
    fn from_path(path: &Path) -> Option<Self> {
        let found = fs_err::symlink_metadata(path).ok()?;
        found.is_file().then(|| Self {
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        })
    }
}

/// Contents of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CopyForm {
    /// A memory's file as it was.
    #[default]
    Backup,
    /// What `export` wrote.
    Export,
    /// What another program reads, and `rebuild` writes anew.
    Projection {
        kind: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    },
}

impl CopyForm {
    fn is_backup(&self) -> bool {
        *self == Self::Backup
    }
}

/// Returns the path of the list.
pub(super) fn copies_list_path(context: &Context) -> PathBuf {
    context.places.own_folder().join(BACKUP_LIST_FILE)
}

/// Records that something of a user's memory is written to a path. `temporary` is the finished
/// temporary file of the copy: with its stamp, the next copy may overwrite this one.
pub(super) fn record_copy(
    context: &Context,
    user: &UserId,
    to: &Path,
    form: CopyForm,
    temporary: Option<&Path>,
) {
    let noted = std::path::absolute(to).and_then(|file| {
        let made = CopyEntry {
            user: user.clone(),
            file,
            form,
            stamp: temporary.and_then(FileStamp::from_path),
        };
        if read_entries(context).any(|known| known == made) {
            return Ok(());
        }
        // One write, so that two processes do not mix their lines.
        let line = serde_json::to_vec(&made)?;
        Ok(
            Folder::open_or_create_no_follow(&context.places.own_folder())?
                .append_line(BACKUP_LIST_FILE, &line)?,
        )
    });
    if let Err(error) = noted {
        tell!(
            "warning: {error}; `forget --verify` will not check `{}`",
            to.display()
        );
    }
}

/// Refuses to overwrite a path, unless it is free, holds an unchanged copy that the same command
/// wrote of the same memory, or the person forces it.
pub(super) fn ensure_may_write(
    context: &Context,
    user: &UserId,
    to: &Path,
    form: &CopyForm,
    is_forced: bool,
) -> anyhow::Result<()> {
    let made = CopyEntry {
        user: user.clone(),
        file: std::path::absolute(to)?,
        form: form.clone(),
        stamp: FileStamp::from_path(to),
    };
    let is_own = || made.stamp.is_some() && read_entries(context).any(|known| known == made);
    if !to.is_dir() && (is_forced || is_own()) {
        return Ok(());
    }
    atomic_files::ensure_free(to)
}

/// Records the paths of projections, which may be removed from the configuration one day.
pub(super) fn record_projections(context: &Context, projections: &[ConfiguredProjection]) {
    for own in projections {
        let form = CopyForm::Projection {
            kind: own.kind.name().to_owned(),
            project: own.project.clone(),
        };
        record_copy(context, &own.user, &own.path, form, None);
    }
}

/// Lists the copies of a user's memory and of the user's branches.
pub(super) fn list_copies(context: &Context, user: &UserId) -> BTreeSet<CopyEntry> {
    let branch = format!("{user}+");
    let is_own = |made: &CopyEntry| made.user == *user || made.user.as_str().starts_with(&branch);
    let unstamped = |made| CopyEntry {
        stamp: None,
        ..made
    };
    read_entries(context)
        .filter(is_own)
        .map(unstamped)
        .collect()
}

fn read_entries(context: &Context) -> impl Iterator<Item = CopyEntry> + use<> {
    let found = Folder::find_no_follow(&context.places.own_folder()).and_then(|own| match own {
        Some(own) => own.read_text(BACKUP_LIST_FILE, BACKUP_LIST_BYTES_MAX),
        None => Ok(None),
    });
    let list = found.unwrap_or_else(|error| {
        tell!("warning: {error}; what was written elsewhere is not known");
        None
    });
    let list = list.unwrap_or_default();
    let lines: Vec<CopyEntry> = list
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    lines.into_iter()
}
