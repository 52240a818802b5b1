//! The checklist of ADR-008: its nine steps through the real binary and plain git, and what each of
//! them left, as git and the files have it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{PRD, must, run, run_json, workspace, write};

const TSD: &str = "core/tsd/TSD-001.json";
const BRANCH: &str = "sharpen-the-goal";

#[test]
fn the_checklist_is_done_in_nine_steps() {
    let folder = workspace();
    let root = folder.path();
    is_a_repository_with_the_tree(root);
    write_prd_and_tsd(root);
    save_a_checkpoint(root);
    let read_back = run_json(root, &["state", "tsm"]);
    assert_eq!(read_back["checkpoint"]["last_prd_id"], "PRD-001");
    change_the_prd_on_a_branch(root);
    merge_after_a_review(root);
    has_a_commit_and_an_event_for_each_change(root);
    holds_what_was_made_from_what(root);
    has_all_of_it_in_the_trail(root);
    assert_eq!(must(root, &["status", "--porcelain"]), "");
}

/// Steps 3 to 5: only the agents that may write an artifact do, and a TSD needs its PRD.
fn write_prd_and_tsd(root: &Path) {
    let prd = json!({ "id": "PRD-001", "goals": ["recall"] }).to_string();
    write(root, "researcher", PRD, prd.as_bytes()).expect_code(1);
    write(root, "prm", PRD, prd.as_bytes()).expect_code(0);
    let stray = json!({ "id": "TSD-001", "prd_id": "PRD-404" }).to_string();
    write(root, "tsm", TSD, stray.as_bytes()).expect_code(1);
    let hash = must(root, &["rev-parse", &format!("HEAD:{PRD}")]);
    let tsd = json!({ "id": "TSD-001", "prd_id": "PRD-001", "prd_hash": hash.trim(),
        "components": ["store", "index"] });
    write(root, "tsm", TSD, tsd.to_string().as_bytes()).expect_code(0);
    run_json(root, &["snapshot", "--actor", "orchestrator"]);
}

/// Step 6.
fn save_a_checkpoint(root: &Path) {
    let hash = must(root, &["rev-parse", &format!("HEAD:{PRD}")]);
    let state = json!({ "agent_id": "TSM-001", "last_prd_hash": hash.trim(),
        "last_prd_id": "PRD-001", "sync_status": "compliant", "sync_log": [],
        "next_action": "monitor_for_changes" });
    let file = root.join(".git/in/state");
    fs::write(&file, state.to_string()).expect("a file");
    let file = file.to_string_lossy();
    run_json(root, &["checkpoint", "--actor", "tsm", "--file", &file]);
}

/// Step 7, with plain git.
fn change_the_prd_on_a_branch(root: &Path) {
    must(root, &["switch", "-q", "-c", BRANCH]);
    let prd = json!({ "id": "PRD-001", "goals": ["recall", "governed workspaces"] });
    fs::write(root.join(PRD), prd.to_string()).expect("written");
    must(root, &["commit", "-q", "-a", "-m", "Sharpen the goal"]);
    must(root, &["switch", "-q", "main"]);
}

/// Step 8: nothing is merged that no person reviewed.
fn merge_after_a_review(root: &Path) {
    let merge = ["merge", "--actor", "governor", BRANCH];
    run(root, &merge).expect_code(1);
    run_json(root, &["approve", "--human", "ada", BRANCH]);
    run_json(root, &merge);
    assert!(text(root, PRD).contains("governed workspaces"));
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
