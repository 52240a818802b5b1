//! Observations against the original's table, and frames there and back.

use reprise_types::Zone;

use super::*;
use crate::record_for_tests::kept;

#[test]
fn importance_is_cut_as_the_original_cuts_it() {
    for (name, expected) in [
        ("error", [9, 9, 8, 5]),
        ("decision", [8, 8, 7, 4]),
        ("learning", [7, 7, 6, 4]),
        ("preference", [6, 6, 5, 3]),
        ("success", [4, 4, 4, 2]),
        ("summary", [3, 3, 3, 2]),
        ("context", [2, 2, 2, 1]),
    ] {
        let observed = ObservationType::of(name).unwrap();
        let found = [0.95, 0.9, 0.8, 0.5].map(|confidence| {
            let observation = Observation {
                confidence,
                ..Observation::new("x", observed)
            };
            observation.importance()
        });
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(ObservationType::of("gossip"), None);
}

#[test]
fn the_core_wins_over_metadata_and_nothing_is_lost() {
    let mut observation = Observation::new("API timeout", ObservationType::Error);
    observation.source = Some("task-1".to_owned());
    observation
        .metadata
        .insert("content".to_owned(), json!("other"));
    observation
        .metadata
        .insert("iteration".to_owned(), json!(3));
    let dict = serde_json::to_string(&observation.to_dict()).unwrap();
    let order = [
        "content",
        "observation_type",
        "source",
        "confidence",
        "related_ids",
        "tags",
        "importance",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|key| dict.find(&format!("\"{key}\":")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{dict}");
    let dict: Value = serde_json::from_str(&dict).unwrap();
    assert_eq!(dict["content"], "API timeout");
    assert_eq!(
        (&dict["metadata"]["content"], &dict["iteration"]),
        (&json!("other"), &json!(3))
    );
    let record = kept(observation.record("s"), 1);
    assert_eq!(record.tags, ["error", "importance:10", "source:task-1"]);
    assert_eq!(Observation::of(&record), Some(observation));
}

#[test]
fn every_frame_goes_out_as_it_came() {
    let file = include_str!("../../tests/fixtures/ralph_memory.jsonl");
    let mut lines = 0;
    for line in file.lines() {
        let original: Value = serde_json::from_str(line).unwrap();
        let object = original.as_object().unwrap().clone();
        let (record, _) = frame(object, Zone::Utc).unwrap();
        let back = frame_of(&kept(record, lines));
        assert_eq!(back, original);
        lines += 1;
    }
    assert_eq!(lines, 6);
}
