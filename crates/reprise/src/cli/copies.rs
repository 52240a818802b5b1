//! What this program wrote of memories outside of their folders: a list in the data directory, so
//! that `forget --verify` knows where to look.

use std::os::unix::fs::MetadataExt;

use reprise_operations::Projection;
use reprise_server::{COPIES, COPIES_BYTES_MAX};

use crate::cli::prelude::*;

/// Something that was made of a memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Made {
    pub(super) user: UserId,
    /// Or a folder.
    pub(super) file: PathBuf,
    #[serde(default, skip_serializing_if = "Form::is_backup")]
    pub(super) form: Form,
    /// As it was when it was written, where only that is written over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<Stamp>,
}

/// By what a file is known as the one that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
}

impl Stamp {
    /// `None` of what is no file.
    fn of(path: &Path) -> Option<Self> {
        let found = fs_err::symlink_metadata(path).ok()?;
        found.is_file().then(|| Self {
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        })
    }
}

/// What stands in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
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

impl Form {
    fn is_backup(&self) -> bool {
        *self == Self::Backup
    }
}

/// Where the list stands.
pub(super) fn list(context: &Context) -> PathBuf {
    context.places.own().join(COPIES)
}

/// Notes where something of a user's memory is written to. Where it is a file that stands `beside`
/// its place and is about to be put there, the next one may take its place then, come what may.
pub(super) fn note(context: &Context, user: &UserId, to: &Path, form: Form, beside: Option<&Path>) {
    let noted = std::path::absolute(to).and_then(|file| {
        let made = Made {
            user: user.clone(),
            file,
            form,
            stamp: beside.and_then(Stamp::of),
        };
        if all(context).any(|known| known == made) {
            return Ok(());
        }
        // One write, so that two processes do not mix their lines.
        let line = serde_json::to_vec(&made)?;
        Ok(Folder::make_own(&context.places.own())?.append_line(COPIES, &line)?)
    });
    if let Err(error) = noted {
        tell!(
            "warning: {error}; `forget --verify` will not know of `{}`",
            to.display()
        );
    }
}

/// Whether something of a user's memory may be written to a place: nothing stands there, or what
/// the same command wrote of the same memory, or the person said so.
pub(super) fn may_write(
    context: &Context,
    user: &UserId,
    to: &Path,
    form: &Form,
    is_forced: bool,
) -> anyhow::Result<()> {
    let made = Made {
        user: user.clone(),
        file: std::path::absolute(to)?,
        form: form.clone(),
        stamp: Stamp::of(to),
    };
    let is_own = || made.stamp.is_some() && all(context).any(|known| known == made);
    if !to.is_dir() && (is_forced || is_own()) {
        return Ok(());
    }
    whole::is_free(to)
}

/// The same of projections, which may leave the configuration one day.
pub(super) fn note_projections(context: &Context, projections: &[Projection]) {
    for own in projections {
        let form = Form::Projection {
            kind: own.kind.name().to_owned(),
            project: own.project.clone(),
        };
        note(context, &own.user, &own.path, form, None);
    }
}

/// What was written of a user's memory, and of the user's branches.
pub(super) fn of(context: &Context, user: &UserId) -> BTreeSet<Made> {
    let branch = format!("{user}+");
    let is_own = |made: &Made| made.user == *user || made.user.as_str().starts_with(&branch);
    let unstamped = |made| Made {
        stamp: None,
        ..made
    };
    all(context).filter(is_own).map(unstamped).collect()
}

fn all(context: &Context) -> impl Iterator<Item = Made> + use<> {
    let found = Folder::find_own(&context.places.own()).and_then(|own| match own {
        Some(own) => own.read_text(COPIES, COPIES_BYTES_MAX),
        None => Ok(None),
    });
    let list = found.unwrap_or_else(|error| {
        tell!("warning: {error}; what was written elsewhere is not known");
        None
    });
    let list = list.unwrap_or_default();
    let lines: Vec<Made> = list
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    lines.into_iter()
}
