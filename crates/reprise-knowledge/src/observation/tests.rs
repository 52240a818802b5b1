//! Observations against the original's table, and frames there and back.

use reprise_types::{RecordId, Zone};

use super::*;
use crate::record_for_tests::record_from_new;

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
    let record = record_from_new(observation.to_record("s"), 1);
    let tags = ["error", "importance:10", "auth", "source:task-1"];
    assert_eq!(record.tags, tags);
    assert_eq!(Observation::of(&record), Some(observation.clone()));
    // As a frame it goes out and comes in with all that its writer said.
    let out = build_frame(&record);
    let (back, _) = parse_frame(out.as_object().unwrap().clone(), Zone::Utc).unwrap();
    let back = Observation::of(&record_from_new(back, 2)).unwrap();
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
        let (record, _) = parse_frame(object, Zone::Utc).unwrap();
        let back = build_frame(&record_from_new(record, lines));
        assert_eq!(back, original);
        lines += 1;
    }
    assert_eq!(lines, 6);
}

fn read_fixture() -> Observations {
    let file = include_str!("../../tests/fixtures/ralph_memory.jsonl");
    let frames = file.lines().zip(1..).map(|(line, number)| {
        let object = serde_json::from_str::<Value>(line).unwrap();
        record_from_new(
            parse_frame(object.as_object().unwrap().clone(), Zone::Utc)
                .unwrap()
                .0,
            number,
        )
    });
    Observations::select_from(frames)
}

fn named_ids<'a>(records: impl IntoIterator<Item = &'a MemoryRecord>) -> Vec<String> {
    let mut ids: Vec<String> = records
        .into_iter()
        .map(|record| {
            record
                .find_external_id(ExternalId::FRAMES)
                .unwrap()
                .to_owned()
        })
        .collect();
    ids.sort();
    ids
}

fn expected_ids(name: &str) -> Vec<String> {
    let golden: Value =
        serde_json::from_str(include_str!("../../tests/fixtures/expected.json")).unwrap();
    let mut ids: Vec<String> = serde_json::from_value(golden["ralph"][name].clone()).unwrap();
    ids.sort();
    ids
}

#[test]
fn queries_answer_as_the_fixture_says() {
    let store = read_fixture();
    let at = reprise_types::parse_timestamp("2026-01-10T12:00:00Z").unwrap();
    let known = Observations::select_known_at(store.records().to_vec(), at);
    assert_eq!(
        named_ids(known.records()),
        expected_ids("knowledge_at_2026-01-10T12:00:00Z_inclusive")
    );
    let instant = |text: &str| reprise_types::parse_timestamp(text).ok();
    let range = ObservationQuery {
        since: instant("2026-01-10T13:30:00+02:00"),
        until: instant("2026-01-10T12:00:00Z"),
        ..ObservationQuery::default()
    };
    assert_eq!(named_ids(store.find_matching(range)), ["d-1", "e-1", "l-1"]);
    let high = ObservationQuery {
        min_importance: 7,
        ..ObservationQuery::default()
    };
    assert_eq!(
        named_ids(store.find_matching(high)),
        expected_ids("high_importance_min7")
    );
    let errors = ObservationQuery {
        types: &[ObservationType::Error, ObservationType::Decision],
        ..ObservationQuery::default()
    };
    assert_eq!(
        named_ids(store.find_matching(errors)),
        expected_ids("preserved_by_type")
    );
    let first = store
        .records()
        .iter()
        .find(|record| record.find_external_id("ralph") == Some("e-1"));
    let first = first.unwrap();
    assert_eq!(
        named_ids(store.find_related(first, &[])),
        expected_ids("related_to_e-1")
    );
    let other = store
        .records()
        .iter()
        .find(|record| record.find_external_id("ralph") == Some("l-1"));
    assert!(named_ids(store.find_related(other.unwrap(), &[])).contains(&"e-1".to_owned()));
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
        store.find_matching(query).count()
    };
    assert!(tag(false) > 0);
    assert_eq!(tag(true), 0);
    assert_eq!(store.count_by_type()["error"], 2);
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
        record_from_new(
            parse_frame(object.as_object().unwrap().clone(), Zone::Utc)
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
    let plan = plan_frame_compaction(&records, &rules);
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
        let mut new = one.observation.to_record(&one.session);
        new.timestamp = Some(one.at);
        records.push(record_from_new(new, number));
    }
    let again = plan_frame_compaction(
        &records,
        &FrameRules {
            threshold_frames: 1,
            ..rules.clone()
        },
    );
    assert_eq!(again.summaries, []);
    // Few frames are left alone, and each session is its own.
    assert_eq!(
        plan_frame_compaction(&long_session()[..40], &rules).summaries,
        []
    );
}
