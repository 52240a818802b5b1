//! How many files a folder may have: one with more needs folders that say what theirs share.

use std::collections::BTreeMap;

use reprise_tests::SourceFile;

/// Most files of product code in one folder.
const FILES_MAX: usize = 12;

/// Folders that have more, and how many they may have; lower it when one is put in order.
const CROWDED: &[(&str, usize)] = &[
    ("crates/reprise-agent/src", 20),
    ("crates/reprise-embed/src", 18),
    ("crates/reprise-global/src", 21),
    ("crates/reprise-index/src", 25),
    ("crates/reprise-knowledge/src", 26),
    ("crates/reprise-knowledge/src/consolidate", 14),
    ("crates/reprise-knowledge/src/import", 15),
    ("crates/reprise-learn/src", 16),
    ("crates/reprise-page/src", 19),
    ("crates/reprise-page/src/pages", 25),
    ("crates/reprise-postgres/src", 24),
    ("crates/reprise-redact/src", 14),
    ("crates/reprise-server/src", 14),
    ("crates/reprise-store/src", 21),
    ("crates/reprise-types/src", 31),
    ("crates/reprise-workspace/src", 32),
    ("crates/reprise/src", 15),
    ("crates/reprise/src/cli", 42),
    ("sandbox/src", 13),
    ("sandbox/src/actors", 14),
];

/// Returns a complaint for each folder with more files than it may have.
pub(super) fn crowded_folders(sources: &[SourceFile]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let folder = source.path.rsplit_once('/').unwrap_or_default().0;
        *counts.entry(folder).or_default() += 1;
    }
    let most = |folder: &str| {
        let known = CROWDED.iter().find(|(known, _)| *known == folder);
        known.map_or(FILES_MAX, |(_, most)| *most)
    };
    let crowded = counts
        .into_iter()
        .filter(|(folder, count)| *count > most(folder));
    crowded
        .map(|(folder, count)| format!("{folder} has {count} files: it may have {}", most(folder)))
        .collect()
}

#[test]
fn a_folder_of_thirteen_files_is_noticed_and_its_tests_are_not_counted() {
    let files = |folder: &str, count: usize| -> Vec<SourceFile> {
        let path = |at: usize| format!("{folder}/f{at}.rs");
        (0..count)
            .map(|at| SourceFile::new(&path(at), ""))
            .collect()
    };
    let folder = "crates/reprise-attic/src";
    assert!(crowded_folders(&files(folder, 12)).is_empty());
    assert_eq!(crowded_folders(&files(folder, 13)).len(), 1);
    assert!(crowded_folders(&files(&[folder, "/tests"].concat(), 13)).is_empty());
    let (folder, most) = CROWDED[0];
    assert!(crowded_folders(&files(folder, most)).is_empty());
    assert_eq!(crowded_folders(&files(folder, most + 1)).len(), 1);
}
