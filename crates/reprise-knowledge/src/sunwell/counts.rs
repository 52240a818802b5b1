//! What the old store counted of itself, as memory has it (S50).

use crate::import::below;
use crate::prelude::*;
use crate::projection::BACKUPS;

/// Folders that are gone down into for the files of a memory.
const DEPTH_MAX: u32 = 8;

/// Counters of the store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreCounts {
    /// Turns of the session that goes on.
    pub hot_turns: usize,
    /// Turns of all sessions.
    pub total_turns: usize,
    /// Files that memory answers from, and how large they are.
    pub warm_files: usize,
    pub warm_size_mb: f64,
    /// Copies beside them that are only kept.
    pub cold_files: usize,
    pub cold_size_mb: f64,
    /// Memories that began with what this one knew.
    pub branches: usize,
}

impl StoreCounts {
    /// Counts the files of a memory's folder.
    pub fn look(&mut self, home: &Path) {
        let copies = home.join(BACKUPS);
        // What cannot be looked at is none.
        drop(below(home, DEPTH_MAX, &mut |path| {
            let (count, size) = if path.starts_with(&copies) {
                (&mut self.cold_files, &mut self.cold_size_mb)
            } else {
                (&mut self.warm_files, &mut self.warm_size_mb)
            };
            if let Ok(found) = fs_err::metadata(path) {
                *count += 1;
                *size += found.len() as f64 / 1e6;
            }
            true
        }));
    }
}

/// Names of the folders that stand beside a memory's own and begin with its name and a plus: those
/// of its branches, and perhaps of others.
pub fn branch_names(home: &Path) -> Vec<String> {
    let own = home.file_name().unwrap_or_default().to_string_lossy();
    let beside = home.parent().map(fs_err::read_dir).into_iter().flatten();
    let names = beside.flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_branch = |name: &String| {
        name.strip_prefix(&*own)
            .is_some_and(|rest| rest.starts_with('+'))
    };
    names.filter(is_branch).collect()
}
