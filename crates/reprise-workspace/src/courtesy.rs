//! People beside agents. git ends a person's command where the index is locked or the branch moves
//! under it, and never tries again: so once somebody's git was here transactions leave it room.

use std::io::Write;
use std::time::Duration;

use reprise_files::{Access, Stamp};
use serde::{Deserialize, Serialize};

use crate::error::{Result, WorkspaceError};
use crate::files;
use crate::git::Git;
use crate::workspace::Workspace;

/// What the last transaction knew; under the workspace's lock.
const SEEN: &str = ".sdlc_ide/tmp/index.seen";
const SEEN_BYTES_MAX: u64 = 4096;
/// A person who was here is still at work for so long.
const PRESENCE_MS: i64 = 5_000;
/// The room between two transactions meanwhile.
pub(crate) const GAP_MS: i64 = 250;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// The index as a transaction left it: device, inode, size, seconds and nanoseconds.
    index: Option<(u64, u64, u64, i64, i64)>,
    /// When somebody else's git was last seen at it.
    person_ms: i64,
    /// When a transaction last ended.
    ours_ms: i64,
}

fn plain(stamp: Stamp) -> (u64, u64, u64, i64, i64) {
    let (seconds, nanoseconds) = stamp.modified;
    (
        stamp.device,
        stamp.inode,
        stamp.size_bytes,
        seconds,
        nanoseconds,
    )
}

impl Workspace {
    /// Waits its turn where somebody's git is at work in this tree.
    pub(crate) fn give_way(&self, git: &Git) -> Result<Seen> {
        let bytes = files::read_in(self.root(), SEEN, SEEN_BYTES_MAX)?.unwrap_or_default();
        let mut seen: Seen = serde_json::from_slice(&bytes).unwrap_or_default();
        let now = self.now().timestamp_millis();
        let index = git.index_stamp()?.map(plain);
        let is_locked = files::look(&git.index_lock_path())?.is_some();
        if is_locked || (seen.index.is_some() && seen.index != index) {
            seen.person_ms = now;
        }
        if (0..PRESENCE_MS).contains(&(now - seen.person_ms)) {
            let rest = GAP_MS - (now - seen.ours_ms).clamp(0, GAP_MS);
            std::thread::sleep(Duration::from_millis(rest.unsigned_abs()));
        }
        Ok(seen)
    }

    /// Notes how the transaction leaves the index. Without it the next one takes that for a
    /// person's.
    pub(crate) fn leave(&self, git: &Git, mut seen: Seen) -> Result<()> {
        seen.index = git.index_stamp()?.map(plain);
        seen.ours_ms = self.now().timestamp_millis();
        let Some(mut opened) = files::open_in(self.root(), SEEN, Access::Append)? else {
            return Ok(());
        };
        let bytes = crate::wal::line(&seen);
        let written = opened
            .file
            .set_len(0)
            .and_then(|()| opened.file.write_all(&bytes));
        written.map_err(WorkspaceError::io("cannot write", &opened.path))
    }
}
