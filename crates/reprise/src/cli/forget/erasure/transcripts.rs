//! Transcripts that programs keep of their sessions themselves: what was said there stays in them
//! when it is forgotten here.

use reprise_knowledge::{ImportKind, default_session_locations};

use super::{DEPTH_MAX, list_files};
use crate::cli::prelude::*;

/// Shortest name of a session that no other file has by chance.
const SESSION_BYTES_MIN: usize = 8;

/// Finds the files below a home folder in which programs keep these sessions.
pub(super) fn find_transcripts(home: &Path, sessions: &BTreeSet<String>) -> Vec<PathBuf> {
    let is_distinct = |session: &&String| session.len() >= SESSION_BYTES_MIN;
    let sessions: Vec<&String> = sessions.iter().filter(is_distinct).collect();
    if sessions.is_empty() {
        return Vec::new();
    }
    let is_of_session = |file: &PathBuf| {
        let mut parts = file.iter().filter_map(|part| part.to_str());
        parts.any(|part| {
            let stem = part.split('.').next().unwrap_or_default();
            // A rollout of Codex has its time before the name.
            sessions
                .iter()
                .any(|session| stem.ends_with(session.as_str()))
        })
    };
    let folders = ImportKind::ALL.iter().copied();
    let folders = folders.flat_map(|kind| default_session_locations(kind).iter());
    let folders = folders.map(|place| home.join(place));
    let files = folders.filter(|folder| folder.is_dir());
    let files = files.flat_map(|folder| list_files(&folder, DEPTH_MAX));
    let found: BTreeSet<PathBuf> = files.filter(is_of_session).collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transcript_of_a_session_is_found_by_its_name_in_every_program() {
        let home = tempfile::tempdir().expect("a folder");
        let session = "0f5c9f6e-1d2a-4c77-9a53-0d8d3a9a1b2c";
        let write = |path: &str| {
            let path = home.path().join(path);
            fs_err::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs_err::write(&path, "{}").expect("written");
            path
        };
        let claude = write(&format!(".claude/projects/-home-ada-shop/{session}.jsonl"));
        let codex =
            format!(".codex/sessions/2026/11/30/rollout-2026-11-30T10-00-00-{session}.jsonl");
        let codex = write(&codex);
        write(".claude/projects/-home-ada-shop/another-session.jsonl");
        let of =
            |session: &str| find_transcripts(home.path(), &BTreeSet::from([session.to_owned()]));
        assert_eq!(of(session), [claude, codex]);
        assert!(of("").is_empty() && of("s").is_empty());
    }
}
