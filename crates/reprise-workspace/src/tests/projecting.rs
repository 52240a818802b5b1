//! Records of memory in the tree: what may be seen there, and nothing else.

use std::fs;

use reprise_types::{
    MemoryKind, MemoryRecord, MemorySource, RecordBody, RecordId, Visibility, parse_timestamp,
};

use super::{assert_at_rest, git, workspace};

pub(super) fn record(
    number: u128,
    text: &str,
    tags: &[&str],
    visibility: Visibility,
) -> MemoryRecord {
    let at = parse_timestamp("2026-02-16T09:46:08Z").unwrap();
    let mut body = RecordBody::new(text, MemorySource::WorkerResult, MemoryKind::Finding);
    body.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    body.visibility = visibility;
    body.kept(RecordId::from_parts(1, number), at)
}

#[test]
fn only_what_is_visible_in_the_workspace_is_projected_and_each_record_once() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let records = [
        record(
            1,
            "PRD-1 contradicts PRD-2",
            &["contradiction"],
            Visibility::Workspace,
        ),
        record(2, "the port is 8080", &[], Visibility::Workspace),
        record(3, "my salary", &[], Visibility::Private),
        record(4, "their lesson", &[], Visibility::Shared),
        record(5, "their page", &[], Visibility::Published),
        record(
            6,
            "the password is kept there",
            &["sensitive"],
            Visibility::Workspace,
        ),
        record(7, "what ada thinks", &["Private"], Visibility::Workspace),
    ];
    let projection = workspace.project(records.iter()).unwrap();
    assert_eq!(
        (projection.written, projection.known, projection.held_back),
        (2, 0, 5)
    );
    let history = fs::read_to_string(root.join("memory/contradiction_history.jsonl")).unwrap();
    assert_eq!(history.lines().count(), 1);
    // Not one byte of the others is anywhere in git.
    let all = git(root, &["log", "-p", "--all"]);
    for held in [
        "salary",
        "their lesson",
        "their page",
        "password",
        "ada thinks",
    ] {
        assert!(!all.contains(held), "{held}");
    }
    assert!(all.contains("the port is 8080"));
    let again = workspace.project(records.iter()).unwrap();
    assert_eq!((again.written, again.known, again.receipt), (0, 2, None));
    assert_at_rest(root);
}
