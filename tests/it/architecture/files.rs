//! Which shipped sources open files by themselves; every other one asks `reprise-files`, which
//! follows no link, waits for no pipe and reads no more than it was told.

use reprise_tests::SourceFile;

/// What opens a file, or makes one.
const OPENERS: &[&str] = &[
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
    "fs_err::read(",
    "fs_err::read_to_string(",
    "fs_err::write(",
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions::new(",
    "tokio::fs::",
];

/// Sources, or folders of them, that open what a user has named in the command, what nobody else
/// can have made, or what is below a module that looks first.
pub(super) const MAY_OPEN: &[(&str, &str)] = &[
    ("crates/reprise/src/cli/demo", "its own folder"),
    (
        "crates/reprise/src/cli/input.rs",
        "the file that is named in the command, a pipe too",
    ),
    (
        "crates/reprise/src/cli/learn",
        "the picture that is named in the command",
    ),
    (
        "crates/reprise/src/cli/connect/apply.rs",
        "a new file that must not be there",
    ),
    (
        "crates/reprise/src/cli/atomic_files.rs",
        "a new file that must not be there",
    ),
    (
        "crates/reprise-workspace-cli/src/commands.rs",
        "the files that git names to its merge driver",
    ),
    (
        "crates/reprise/src/cli/backup.rs",
        "its own copy, before it is encrypted",
    ),
    ("crates/reprise/src/cli/store.rs", "/dev/urandom"),
    ("crates/reprise/src/process_limits.rs", "/proc/self/status"),
    (
        "crates/reprise/src/cli/hook.rs",
        "/proc/self/stat, /proc/uptime",
    ),
    (
        "crates/reprise-knowledge/src/export",
        "what is new, or its own temporary file",
    ),
    (
        "crates/reprise-embed/src/provision",
        "downloads, below its own lock",
    ),
    (
        "crates/reprise-embed/src/factory.rs",
        "a model's file whose hash was compared",
    ),
    ("crates/reprise-server/src/daemon/", "/proc"),
    ("crates/reprise-store/src/disk.rs", "/proc"),
    // Its tree has an opener of its own until it has moved to this one.
    ("crates/reprise-workspace/", "it looks at each name first"),
    ("sandbox/", "the demonstration's own folder"),
];

/// Sources that open files and are not listed, and entries of the list that nothing needs.
pub(super) fn openers(sources: &[SourceFile], may_open: &[(&str, &str)]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut idle: Vec<&str> = may_open.iter().map(|(path, _)| *path).collect();
    for source in sources
        .iter()
        .filter(|source| source.path.contains("/src/"))
    {
        let path = source.path.as_str();
        let opener = |line: &str| OPENERS.iter().find(|opener| line.contains(**opener));
        let Some(opener) = source.product_lines().find_map(|(_, line)| opener(line)) else {
            continue;
        };
        idle.retain(|listed| !path.starts_with(listed));
        if !may_open.iter().any(|(listed, _)| path.starts_with(listed)) {
            let opener = opener.trim_end_matches('(');
            complaints.push(format!(
                "{path}: `{opener}` follows links and waits for pipes; open it by reprise-files"
            ));
        }
    }
    let idle = idle.into_iter();
    complaints.extend(idle.map(|path| format!("{path}: it opens nothing; take it off the list")));
    complaints
}
