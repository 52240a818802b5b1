//! Says once what was cut off the end of a memory's file, and where those bytes are kept.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use reprise_engine::OpenReport;
use reprise_store::{Disk, LockAttempt, SUFFIX_TORN};

use crate::cli::prelude::*;
use crate::env::MEMORY;

/// Most users whose folders are looked into after a command; `doctor` looks into all.
const USERS_MAX: usize = 64;
/// Rights of a kept tail that a person was told of: nobody writes there any more.
const TOLD: u32 = 0o400;

/// Bytes that were cut off the end of a memory's file.
pub(in crate::cli) struct KeptTail {
    pub(in crate::cli) path: PathBuf,
    /// What it takes on the disk, which the hole in front of the tail does not.
    bytes: u64,
    is_told: bool,
}

impl KeptTail {
    /// Says what is kept, and how to look at it.
    pub(in crate::cli) fn describe(&self) -> String {
        let (path, bytes) = (self.path.display(), format_size(self.bytes));
        format!(
            "{bytes} of an incomplete commit, cut off its file, are kept in `{path}`; `reprise doctor \
             inspect {path}` shows what is there"
        )
    }
}

/// Returns whether a file next to a memory is one of its kept tails.
pub(in crate::cli) fn is_kept_tail(name: &str) -> bool {
    let ending = name.strip_prefix(MEMORY).unwrap_or_default();
    ending.starts_with(SUFFIX_TORN)
}

/// Lists the kept tails of a user's memory.
pub(in crate::cli) fn list_kept_tails(context: &Context, user: &UserId) -> Vec<KeptTail> {
    let entries = fs_err::read_dir(context.places.home_of(user)).into_iter();
    let entries = entries.flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_kept_tail));
    let tails = ours.filter_map(|entry| {
        let found = entry.metadata().ok()?;
        Some(KeptTail {
            path: entry.path(),
            bytes: found.len().min(found.blocks() * 512),
            is_told: found.mode() & 0o200 == 0,
        })
    });
    let mut tails: Vec<KeptTail> = tails.collect();
    tails.sort_by(|a, b| a.path.cmp(&b.path));
    tails
}

/// Says what was cut off the files of this machine's memories since the last command, each once.
pub(in crate::cli) fn tell_of_new_tails(context: &Context) {
    if context.remote.is_some() {
        return;
    }
    let users = store::list_users(context).unwrap_or_default();
    for user in users.iter().take(USERS_MAX) {
        for tail in list_kept_tails(context, user) {
            if tail.is_told {
                continue;
            }
            let says = tail.describe();
            tell!(
                "warning: {user}: a write was interrupted, or the file was cut short: {says}; if \
                 memories are missing, restore a backup with `reprise backup restore FILE --user \
                 {user} --replace`"
            );
            // If that fails it is only said again.
            drop(fs_err::set_permissions(
                &tail.path,
                Permissions::from_mode(TOLD),
            ));
        }
    }
}

/// Says which bytes at the end of a file a reader leaves out, unless a writer is at work there.
pub(in crate::cli) fn tell_of_unread_tail(user: &UserId, path: &Path, report: &OpenReport) {
    let bytes = report.recovery.torn_bytes;
    if bytes == 0 || report.recovery.kept_tail.is_some() {
        return;
    }
    if let Ok(LockAttempt::Held(lock)) = RealDisk.try_lock(path) {
        drop(lock);
        let bytes = format_size(bytes);
        tell!(
            "warning: {user}: the last {bytes} of its file are an incomplete commit and are not \
             read: a write was interrupted, or the file was cut short; the next write cuts them off \
             and keeps them in a file next to it; if memories are missing, restore a backup with \
             `reprise backup restore FILE --user {user} --replace`"
        );
    }
}
