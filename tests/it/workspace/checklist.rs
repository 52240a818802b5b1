//! The checklist of ADR-008 (W24): what `reprise demo workspace` says of its nine steps, and what
//! each of them left, as git and the files have it.

use std::fs;
use std::path::Path;

use reprise_tests::{finish, reprise};
use serde_json::Value;

use super::{PRD, must, run};

#[test]
fn the_demo_does_nine_of_nine() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let root = folder.path().join("kept");
    let mut command = reprise(folder.path()).expect("reprise is built");
    command.args(["--json", "demo", "workspace", "--keep"]);
    let finished = finish(command.arg(&root)).expect("reprise runs").ended(0);
    let steps = read(&finished.stdout);
    assert_eq!(steps.len(), 9);
    for (number, step) in steps.iter().enumerate() {
        assert_eq!(step["step"], number + 1);
        let evidence = step["evidence"].as_array().expect("a list");
        assert!(!evidence.is_empty(), "{step}");
    }
    is_a_repository_with_the_tree(&root);
    has_a_commit_and_an_event_for_each_change(&root);
    holds_what_was_made_from_what(&root);
    has_all_of_it_in_the_trail(&root);
}

fn read(lines: &str) -> Vec<Value> {
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn text(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).expect(path)
}

/// Steps 1 and 2.
fn is_a_repository_with_the_tree(root: &Path) {
    let folders = ".sdlc_ide/logs .sdlc_ide/snapshots .sdlc_ide/tmp core/prd core/tsd core/adr \
        core/kb extensions memory/long_term memory/episodic memory/agent_state embeddings/index \
        embeddings/vectors cache";
    for folder in folders.split_whitespace() {
        assert!(root.join(folder).is_dir(), "{folder}");
    }
    assert!(text(root, ".gitignore").contains("/memory/episodic/"));
    assert_eq!(must(root, &["status", "--porcelain"]), "");
}

/// Steps 3 to 6, and 8.
fn has_a_commit_and_an_event_for_each_change(root: &Path) {
    let told = must(
        root,
        &[
            "log",
            "--first-parent",
            "--reverse",
            "--format=%an: %s",
            "main",
        ],
    );
    let told: Vec<&str> = told.lines().collect();
    let told = <[&str; 6]>::try_from(told).expect("six commits");
    let [made, prd, tsd, checkpoint, approved, merged] = &told;
    assert_eq!(*made, "orchestrator: Make a workspace (ADR-008)");
    assert_eq!(*prd, "prm: Write core/prd/PRD-001.json");
    assert_eq!(*tsd, "tsm: Write core/tsd/TSD-001.json");
    assert_eq!(
        *checkpoint,
        "tsm: Write memory/agent_state/tsm.checkpoint.json"
    );
    assert!(approved.contains(": Approve sharpen-the-goal at "));
    assert_eq!(*merged, "governor: Merge sharpen-the-goal");

    let events = read(&text(root, ".sdlc_ide/logs/events.jsonl"));
    let topics = events.iter().map(|event| event["topic"].as_str());
    let topics: Vec<&str> = topics.map(|topic| topic.expect("a topic")).collect();
    let expected = "Workspace_Created Policy_Violated PRD_Written Policy_Violated TSD_Written \
        Snapshot_Taken Snapshot_Taken Checkpoint_Saved Policy_Violated Merge_Approved PRD_Written \
        Branch_Merged Snapshot_Taken";
    assert_eq!(topics.join(" "), expected);
    let first = must(root, &["rev-parse", "main~4"]);
    assert_eq!(events[2]["commit"], first.trim());
}

/// Steps 5, 7 and 8.
fn holds_what_was_made_from_what(root: &Path) {
    let blob = |branch: &str| must(root, &["rev-parse", &format!("{branch}:{PRD}")]);
    let (then, now) = (blob("main~4"), blob("main"));
    let tsd: Value = serde_json::from_str(&text(root, "core/tsd/TSD-001.json")).expect("JSON");
    assert_eq!(tsd["prd_hash"], then.trim());
    assert_eq!(blob("sharpen-the-goal"), now, "what the person wrote");
    assert_ne!(then, now);
    let drift = read(&text(root, "memory/long_term/drift_history.jsonl"));
    assert_eq!(drift.len(), 1);
    assert_eq!(drift[0]["prd_hash_now"], now.trim());
}

/// Step 9, refusals too.
fn has_all_of_it_in_the_trail(root: &Path) {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let audit = read(&run(root, &["audit"]).stdout);
    let audit: Vec<String> = audit
        .iter()
        .map(|line| [word(&line["actor"]), word(&line["action"])].join(" "))
        .filter(|line| !line.ends_with("snapshot"))
        .collect();
    let expected = [
        "orchestrator init",
        "researcher violation",
        "prm write",
        "tsm violation",
        "tsm write",
        "tsm write",
        "governor violation",
        "human:ada approve",
        "governor merge",
    ];
    assert_eq!(audit, expected);
}
