//! List of the copies of memories outside their folders, kept in the data directory, so that
//! `forget --verify` knows where to look.

use reprise_operations::ConfiguredProjection;
use reprise_server::{BACKUP_LIST_FILE, CopyEntry, CopyForm, CopyStamp};

use crate::cli::prelude::*;

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
            stamp: temporary.and_then(CopyStamp::from_path),
        };
        if read_entries(context).any(|known| known == made) {
            return Ok(());
        }
        let own = Folder::open_or_create_no_follow(&context.places.own_folder())?;
        Ok(made.append_to_list(&own)?)
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
        stamp: CopyStamp::from_path(to),
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
        Some(own) => CopyEntry::read_list(&own),
        None => Ok(Vec::new()),
    });
    let list = found.unwrap_or_else(|error| {
        tell!("warning: {error}; what was written elsewhere is not known");
        Vec::new()
    });
    list.into_iter()
}
