//! Records of memory in the tree: what may be seen there, and nothing else.

use std::fs;

use reprise_types::{
    MemoryKind, MemoryRecord, MemorySource, RecordBody, RecordId, Visibility, parse_timestamp,
};

use super::{assert_at_rest, run_git, workspace};

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
    body.into_record(RecordId::from_parts(1, number), at)
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
    let all = run_git(root, &["log", "-p", "--all"]);
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

#[test]
fn each_subject_has_a_log_of_its_own_that_a_clone_has_too() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let logs = [
        ("contradiction", "memory/contradiction_history.jsonl"),
        ("drift", "memory/long_term/drift_history.jsonl"),
        ("risk", "memory/long_term/risk_profiles.jsonl"),
        ("lineage", "memory/long_term/lineage_history.jsonl"),
        ("port", "memory/long_term/records.jsonl"),
    ];
    let kept = (1..).zip(logs).map(|(number, (tag, _))| {
        let text = format!("what is told of the {tag}");
        record(number, &text, &[tag], Visibility::Workspace)
    });
    let kept: Vec<MemoryRecord> = kept.collect();
    assert_eq!(workspace.project(kept.iter()).unwrap().written, 5);
    // They only grow.
    let more = record(
        9,
        "what is told later of the risk",
        &["risk"],
        Visibility::Workspace,
    );
    workspace.project([more].iter()).unwrap();
    let clone = tempfile::tempdir().unwrap();
    let to = clone.path().to_string_lossy();
    run_git(root, &["clone", "-q", ".", &to]);
    for (tag, path) in logs {
        let told = fs::read_to_string(clone.path().join(path)).unwrap();
        let told: Vec<&str> = told.lines().collect();
        assert_eq!(told.len(), 1 + usize::from(tag == "risk"), "{path}");
        assert!(told[0].contains(&format!("told of the {tag}")), "{told:?}");
    }
    assert_at_rest(root);
}

#[test]
fn a_contradiction_is_projected_in_its_form() {
    let (_folder, workspace) = workspace();
    let mut told = record(
        1,
        "it wants both",
        &["contradiction"],
        Visibility::Workspace,
    );
    told.metadata.insert("prd_id".to_owned(), "PRD-42".into());
    let bare = record(
        2,
        "something contradicts",
        &["contradiction"],
        Visibility::Workspace,
    );
    workspace.project([told, bare].iter()).unwrap();
    let history = workspace.root().join("memory/contradiction_history.jsonl");
    let history = fs::read_to_string(history).unwrap();
    let lines: Vec<serde_json::Value> = history
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["prd_id"], &lines[0]["conflict"]),
        (&"PRD-42".into(), &"it wants both".into())
    );
    assert!(lines[0]["ts"].is_string() && lines[1].get("prd_id").is_none());
    assert_at_rest(workspace.root());
}
