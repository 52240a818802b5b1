//! Observations against the original's table, and frames there and back.

use reprise_types::{RecordId, Zone};

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
    observation.related_ids = vec!["o-1".to_owned()];
    observation.tags = vec!["auth".to_owned()];
    observation
        .metadata
        .insert("content".to_owned(), json!("other"));
    observation
        .metadata
        .insert("iteration".to_owned(), json!(3));
    let own = json!({"content": "of the metadata itself"});
    observation
        .metadata
        .insert("metadata".to_owned(), own.clone());
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
    assert_eq!(
        dict["metadata"]["metadata"], own,
        "nothing of the writer's is written over"
    );
    let record = kept(observation.record("s"), 1);
    let tags = ["error", "importance:10", "auth", "source:task-1"];
    assert_eq!(record.tags, tags);
    assert_eq!(Observation::of(&record), Some(observation.clone()));
    // As a frame it goes out and comes in with all that its writer said.
    let out = frame_of(&record);
    let (back, _) = frame(out.as_object().unwrap().clone(), Zone::Utc).unwrap();
    let back = Observation::of(&kept(back, 2)).unwrap();
    assert_eq!(back.metadata, observation.metadata);
    assert_eq!(back.related_ids, observation.related_ids);
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

fn fixture() -> Observations {
    let file = include_str!("../../tests/fixtures/ralph_memory.jsonl");
    let frames = file.lines().zip(1..).map(|(line, number)| {
        let object = serde_json::from_str::<Value>(line).unwrap();
        kept(
            frame(object.as_object().unwrap().clone(), Zone::Utc)
                .unwrap()
                .0,
            number,
        )
    });
    Observations::of(frames)
}

fn named_ids<'a>(records: impl IntoIterator<Item = &'a MemoryRecord>) -> Vec<String> {
    let mut ids: Vec<String> = records
        .into_iter()
        .map(|record| record.external_id(ExternalId::FRAMES).unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

fn golden(name: &str) -> Vec<String> {
    let golden: Value =
        serde_json::from_str(include_str!("../../tests/fixtures/expected.json")).unwrap();
    let mut ids: Vec<String> = serde_json::from_value(golden["ralph"][name].clone()).unwrap();
    ids.sort();
    ids
}

#[test]
fn queries_answer_as_the_fixture_says() {
    let store = fixture();
    let at = reprise_types::parse_timestamp("2026-01-10T12:00:00Z").unwrap();
    let known = Observations::known(store.records().to_vec(), at);
    assert_eq!(
        named_ids(known.records()),
        golden("knowledge_at_2026-01-10T12:00:00Z_inclusive")
    );
    let instant = |text: &str| reprise_types::parse_timestamp(text).ok();
    let range = ObservationQuery {
        since: instant("2026-01-10T13:30:00+02:00"),
        until: instant("2026-01-10T12:00:00Z"),
        ..ObservationQuery::default()
    };
    assert_eq!(named_ids(store.query(range)), ["d-1", "e-1", "l-1"]);
    let high = ObservationQuery {
        min_importance: 7,
        ..ObservationQuery::default()
    };
    assert_eq!(named_ids(store.query(high)), golden("high_importance_min7"));
    let errors = ObservationQuery {
        types: &[ObservationType::Error, ObservationType::Decision],
        ..ObservationQuery::default()
    };
    assert_eq!(named_ids(store.query(errors)), golden("preserved_by_type"));
    let first = store
        .records()
        .iter()
        .find(|record| record.external_id("ralph") == Some("e-1"));
    let first = first.unwrap();
    assert_eq!(
        named_ids(store.related(first, &[])),
        golden("related_to_e-1")
    );
    let other = store
        .records()
        .iter()
        .find(|record| record.external_id("ralph") == Some("l-1"));
    assert!(named_ids(store.related(other.unwrap(), &[])).contains(&"e-1".to_owned()));
    assert!(
        store
            .records()
            .is_sorted_by(|a, b| a.timestamp >= b.timestamp),
        "newest first"
    );
    let tag = |all: bool| {
        let tags = ["error".to_owned(), "learning".to_owned()];
        let query = ObservationQuery {
            tags: &tags,
            match_all_tags: all,
            ..ObservationQuery::default()
        };
        store.query(query).count()
    };
    assert!(tag(false) > 0);
    assert_eq!(tag(true), 0);
    assert_eq!(store.counts()["error"], 2);
}

fn long_session() -> Vec<MemoryRecord> {
    let types = [
        "context",
        "iteration_result",
        "iteration_result",
        "success",
        "preference",
        "iteration_result",
        "learning",
        "git_commit",
        "iteration_result",
        "error",
        "context",
        "decision",
    ];
    let frames = (0..120_u32).map(|number| {
        let kind = types[number as usize % types.len()];
        let mut object = json!({
            "id": format!("f-{number}"),
            "content": format!(
                "Iteration {number} of the importer went on with table {}. It read the rows and \
                 wrote them again. The cache stayed warm for {number} minutes.", number % 7),
            "frame_type": kind,
            "session_id": "s",
            "timestamp": format!("2026-01-10T{:02}:{:02}:00Z", number / 60, number % 60),
            "metadata": {},
            "tags": [kind],
        });
        if !["iteration_result", "git_commit"].contains(&kind) {
            object["metadata"]["observation_type"] = json!(kind);
        }
        kept(
            frame(object.as_object().unwrap().clone(), Zone::Utc)
                .unwrap()
                .0,
            number,
        )
    });
    frames.collect()
}

#[test]
fn a_long_session_is_halved_and_what_matters_stays() {
    let rules = FrameRules::default();
    let mut records = long_session();
    let plan = plan_frames(&records, &rules);
    assert!(
        plan.reduction_percentage() >= 50.0,
        "{}",
        plan.reduction_percentage()
    );
    assert_eq!(plan.summaries.len(), 2);
    let gone: Vec<RecordId> = plan
        .summaries
        .iter()
        .flat_map(|one| one.originals.clone())
        .collect();
    assert_eq!(
        (gone.len(), plan.frames_preserved),
        (plan.frames_compacted, 120 - gone.len())
    );
    let of = |id: &RecordId| records.iter().find(|record| record.id == *id).unwrap();
    let types: Vec<&str> = gone.iter().map(|id| frame_type(of(id))).collect();
    for stays in ["error", "decision", "git_commit"] {
        assert!(!types.contains(&stays), "{types:?}");
    }
    // What was learned stays in middle age, and is summarised when it is old.
    let medium: Vec<&str> = plan.summaries[0]
        .originals
        .iter()
        .map(|id| frame_type(of(id)))
        .collect();
    for kept_longer in ["learning", "preference"] {
        assert!(!medium.contains(&kept_longer), "{medium:?}");
        assert!(types.contains(&kept_longer), "{types:?}");
    }
    let newest: Vec<RecordId> = records
        .iter()
        .rev()
        .take(10)
        .map(|record| record.id)
        .collect();
    assert!(newest.iter().all(|id| !gone.contains(id)));
    let said: String = records.iter().map(|record| record.text.as_str()).collect();
    for line in plan.summaries[1].observation.content.lines().skip(1) {
        assert!(said.contains(line), "{line}");
    }
    // Done once more it does nothing.
    for (number, one) in (500..).zip(&plan.summaries) {
        records.retain(|record| !one.originals.contains(&record.id));
        let mut new = one.observation.record(&one.session);
        new.timestamp = Some(one.at);
        records.push(kept(new, number));
    }
    let again = plan_frames(
        &records,
        &FrameRules {
            threshold_frames: 1,
            ..rules.clone()
        },
    );
    assert_eq!(again.summaries, []);
    // Few frames are left alone, and each session is its own.
    assert_eq!(plan_frames(&long_session()[..40], &rules).summaries, []);
}
