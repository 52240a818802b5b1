//! What is told of a workspace: differences, events as they come, snapshots at set points and
//! manifests.

use std::fs;

use reprise_types::{EmbeddingSpace, MemoryRecord, UserId, Visibility};

use super::projecting::record;
use super::{PRD, assert_at_rest, run_git, workspace, write, write_all};
use crate::event::EventCursor;
use crate::{Actor, EmbeddingSpaces};

const TSD: &str = "core/tsd/TSD-001.json";

#[test]
fn a_difference_is_told_file_by_file() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    assert_eq!(workspace.diff(None, None).unwrap(), []);
    let first = write(&workspace, "prm", "core/kb/a.md", "one\ntwo\n").unwrap();
    let second = [
        ("core/kb/a.md", Some("one\nthree\n")),
        ("core/kb/b.md", Some("new\n")),
    ];
    let second = write_all(&workspace, "prm", &second).unwrap();
    write_all(&workspace, "prm", &[("core/kb/a.md", None)]).unwrap();
    let told = |changes: Vec<crate::FileChange>| {
        let each = changes.iter().map(|change| {
            let counts = (change.lines_added, change.lines_removed);
            format!("{} {} {counts:?}", change.how, change.path)
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let of_second = workspace.diff_commit(&second.tx).unwrap();
    assert!(
        of_second[0].patch.contains("-two\n+three\n"),
        "{}",
        of_second[0].patch
    );
    assert_eq!(
        told(of_second),
        "changed core/kb/a.md (1, 1), added core/kb/b.md (1, 0)"
    );
    assert_eq!(
        told(workspace.diff(Some(&first.tx), Some("main")).unwrap()),
        "removed core/kb/a.md (0, 2), added core/kb/b.md (1, 0)"
    );
    // Without names: what people have not committed.
    fs::write(root.join("core/kb/b.md"), "new\nmine\n").unwrap();
    fs::write(root.join("core/kb/c.bin"), [0, 1, 2]).unwrap();
    let open = workspace.diff(None, None).unwrap();
    assert!(open[1].is_binary);
    assert_eq!(
        told(open),
        "changed core/kb/b.md (1, 0), added core/kb/c.bin (0, 0)"
    );
    let error = workspace.diff(Some("nowhere"), None).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn a_validated_tsd_and_a_merge_leave_a_snapshot_of_that_commit() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    assert_eq!(
        write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}")
            .unwrap()
            .snapshot,
        None
    );
    let text = |n: usize| format!("{{\"prd_id\":\"PRD-001\",\"n\":{n}}}");
    let receipt = write(&workspace, "tsm", TSD, &text(0)).unwrap();
    let taken = workspace.snapshots().unwrap();
    assert_eq!(receipt.snapshot.as_ref(), Some(&taken[0].id));
    assert_eq!(receipt.commit.as_ref(), Some(&taken[0].commit));
    assert_eq!(taken[0].point.as_deref(), Some("TSD_Written"));
    assert!(taken[0].files.contains_key(TSD));
    // The same again is no point, and neither is a branch.
    assert_eq!(
        write(&workspace, "tsm", TSD, &text(0)).unwrap().snapshot,
        None
    );
    run_git(root, &["switch", "-qc", "edit"]);
    assert_eq!(
        write(&workspace, "tsm", TSD, &text(1)).unwrap().snapshot,
        None
    );
    run_git(root, &["switch", "-q", "main"]);
    let governor = Actor::new("governor").unwrap();
    let merged = workspace.merge(&governor, "edit", None).unwrap();
    assert!(merged.snapshot.is_some());
    // The oldest go; what somebody asked for stays.
    let asked = workspace.snapshot(&governor, false).unwrap();
    run_git(root, &["config", "reprise.snapshots", "2"]);
    let last = write(&workspace, "tsm", TSD, &text(2)).unwrap();
    let ids = |one: &crate::SnapshotManifest| one.id.clone();
    let left: Vec<_> = workspace.snapshots().unwrap().iter().map(ids).collect();
    let expected = [merged.snapshot.unwrap(), asked.id, last.snapshot.unwrap()];
    assert_eq!(left, expected);
    run_git(root, &["config", "reprise.snapshots", "0"]);
    let none = write(&workspace, "tsm", TSD, &text(3)).unwrap();
    assert_eq!((none.snapshot, none.snapshot_failed), (None, None));
    assert_at_rest(root);
}

#[test]
fn a_reader_of_events_hears_each_once_and_begins_anew_with_the_file() {
    let (_folder, workspace) = workspace();
    let mut cursor = EventCursor::default();
    let mut heard = |limit: usize| {
        let events = cursor.read(workspace.root(), limit).unwrap();
        events
            .into_iter()
            .map(|event| event.sentence())
            .collect::<Vec<_>>()
    };
    assert_eq!(heard(10), ["workspace created by orchestrator: .gitignore"]);
    write(&workspace, "prm", "core/kb/a.md", "one").unwrap();
    write(&workspace, "prm", PRD, "{\"id\":\"PRD-001\"}").unwrap();
    assert_eq!(heard(1), ["kb written by prm: core/kb/a.md"]);
    assert_eq!(heard(10), [format!("prd written by prm: {PRD}")]);
    assert!(heard(10).is_empty());
    // Half a line waits for its end; a file that was replaced is read from its beginning.
    let path = workspace.root().join(".sdlc_ide/logs/events.jsonl");
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    let new = path.with_extension("new");
    fs::write(&new, &whole[last..whole.len() - 5]).unwrap();
    fs::rename(&new, &path).unwrap();
    assert!(heard(10).is_empty());
    fs::write(&path, &whole[last..]).unwrap();
    assert_eq!(heard(10), [format!("prd written by prm: {PRD}")]);
}

#[test]
fn a_manifest_may_name_a_store_elsewhere_and_no_blob_gets_into_git() {
    let (_folder, workspace) = workspace();
    let root = workspace.root();
    let path = "embeddings/index/artifact_vectors.manifest.json";
    let named = r#"{"store":{"kind":"qdrant","url":"https://vectors.example","collection":"sdlc"},
"artifacts":[{"artifact_id":"PRD-42","vec_id":"vec-abc123","model_version":"1"}]}
"#;
    let blob = ("embeddings/vectors/PRD-42.bin", Some("a blob"));
    write_all(&workspace, "vectorizer", &[(path, Some(named)), blob]).unwrap();
    assert_eq!(run_git(root, &["show", &format!("HEAD:{path}")]), named);
    assert_eq!(fs::read_to_string(root.join(blob.0)).unwrap(), "a blob");
    let held = run_git(root, &["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(held.contains(path) && !held.contains(blob.0), "{held}");
    assert_at_rest(root);
}

#[test]
fn a_manifest_says_what_each_space_of_a_store_holds() {
    let (_folder, workspace) = workspace();
    let user = "ada".parse::<UserId>().unwrap();
    let plain = |number| record(number, "text", &[], Visibility::Private);
    let embedded = |number, version: &str, first: f32| {
        let mut record = plain(number);
        record.embedding = vec![first, 0.0, 1.0];
        record.embedding_space = Some(EmbeddingSpace {
            model: "mini".to_owned(),
            version: version.to_owned(),
            dimensions: 3,
        });
        record
    };
    let records = [
        embedded(1, "1", 0.5),
        embedded(2, "1", 0.25),
        embedded(3, "2", 0.5),
    ];
    let spaces = |records: &[MemoryRecord]| {
        let mut spaces = EmbeddingSpaces::default();
        for record in records {
            spaces.add(record);
        }
        spaces.add(&plain(4));
        spaces
    };
    let receipt = workspace.write_manifest(&user, &spaces(&records)).unwrap();
    assert_eq!(receipt.rules, ["embeddings-vectorizer"]);
    let path = "embeddings/index/memory-ada.json";
    let manifest = run_git(workspace.root(), &["show", &format!("HEAD:{path}")]);
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    // The vectors are in the memory of this user, which is no part of the tree.
    assert_eq!(manifest["owner"], "ada");
    let entry = &manifest["artifacts"][0];
    assert_eq!(entry["artifact_id"], "memory/ada");
    assert_eq!(entry["vec_id"], "mini/1/3");
    assert_eq!(entry["re_embed"], serde_json::Value::Null);
    assert_eq!(
        (&entry["count"], &entry["dimensions"]),
        (&2.into(), &3.into())
    );
    let rest = &manifest["artifacts"][1];
    assert_eq!(rest["artifact_id"], "memory/ada#mini/2/3");
    assert_eq!(
        (&rest["model_version"], &rest["re_embed"]),
        (&"2".into(), &true.into())
    );
    // The same store is no change; another vector is.
    let again = workspace.write_manifest(&user, &spaces(&records)).unwrap();
    assert_eq!(again.event, None);
    let mut other = records;
    other[0].embedding[0] = 0.125;
    let moved = workspace.write_manifest(&user, &spaces(&other)).unwrap();
    assert!(moved.event.is_some());
    assert_at_rest(workspace.root());
}
