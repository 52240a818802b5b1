//! What a tool answers as text: no stored text leaves the frame that it is quoted in.

use reprise_tests::{hostile_text, parse_quoted_lines};
use reprise_types::{RankExplanation, RecordId, RetrievedMemory};
use serde_json::{Value, json};

use super::lessons::{Learn, LessonReport, Novelty};
use super::links::{NeighbourRecord, Neighbours, Related};
use super::maintenance::Undo;
use super::recall::brief::render_brief_for_test;
use super::records::KnownRecord;
use super::records::list::{List, ListedRecords};
use super::records::{Get, GotRecords};
use super::tags::AlikeTags;
use super::tags::{MergeTags, NameMergeReport};
use super::tags::{TagCount, Tagged, Tags};
use crate::catalogue::Operation;
use crate::testing::Ada;
use crate::wire::UndoneReport;

const TEXTS: u64 = 10_000;
const AT: &str = "2026-02-13T09:00:00Z";

/// Returns the lines of the frame in `said`, between the face's own words.
fn framed<'a>(said: &'a str, before: &str, after: &str) -> Option<Vec<&'a str>> {
    parse_quoted_lines(said.strip_prefix(before)?.strip_suffix(after)?)
}

fn retrieved(text: &str, other: &str) -> RetrievedMemory {
    let record = json!({
        "id": RecordId::from_u128(1), "text": text, "source": "user_input", "kind": "episode",
        "quality_score": 0.5, "session_id": other, "timestamp": AT, "known_at": AT,
        "metadata": {}, "embedding_space": null, "external_ids": [],
        "content_hash": "00".repeat(32), "tags": [other], "confidence": 0.9,
        "evidence": null, "visibility": "private", "retention": "normal", "supersedes": null,
        "provenance": {},
        "details": {"type": "lesson", "title": other, "contexts": [other, text],
            "anti_contexts": [text]},
    });
    RetrievedMemory {
        record: serde_json::from_value(record).unwrap(),
        score: 0.9,
        sona_score: 0.9,
        why: RankExplanation {
            matched_words: vec![other.to_owned()],
            reason: format!("same words: {other}"),
            ..RankExplanation::default()
        },
        shown: true,
        published: None,
    }
}

#[test]
fn no_memory_leaves_the_frame_of_a_recall() {
    for seed in 0..TEXTS {
        let [text, other] = [seed, seed + TEXTS].map(hostile_text);
        let most = [None, Some(60), Some(200)][usize::try_from(seed % 3).unwrap()];
        for full in [most.is_none(), false] {
            let said =
                render_brief_for_test(vec![retrieved(&format!("a {text}"), &other)], most, full);
            let (_, frame) = said.split_once('\n').unwrap();
            assert!(parse_quoted_lines(frame).is_some(), "{seed}: {said}");
        }
    }
}

#[test]
fn the_text_of_five_results_is_short_however_much_they_say() {
    let long = "The checkout total is wrong with a coupon since the rounding changed. ".repeat(9);
    let results = vec![retrieved(&long, "the coupon"); 5];
    let said = render_brief_for_test(results.clone(), None, false);
    assert!(said.chars().count() <= 1_200, "{}: {said}", said.len());
    let line = "[00000000000000000000000001] (lesson in session the coupon, ";
    assert_eq!(said.matches(line).count(), 5, "{said}");
    assert_eq!(
        said.matches("The checkout total is wrong").count(),
        5,
        "{said}"
    );
    // One alone says why it is here and where it holds.
    let one = retrieved("The checkout total is wrong with a coupon", "the coupon");
    let said = render_brief_for_test(vec![one], None, false);
    for part in ["why: same words", "holds for: ", "NOT for: "] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn no_record_leaves_the_frame_of_a_list_or_of_get() {
    for seed in 0..TEXTS {
        let text = format!("a{}", hostile_text(seed));
        let other = hostile_text(seed + TEXTS);
        let record = json!({"id": RecordId::from_u128(1), "timestamp": AT, "text": text,
            "type": "note", "by": other, "tags": [format!("project:{text}")],
            "metadata": {other: text}});
        let records = vec![record.clone(), record];
        let got = GotRecords {
            records,
            missing: Vec::new(),
        };
        let said = Get::render_text(&got);
        assert!(framed(&said, "", "").is_some(), "{seed}: {said}");
        let page = ListedRecords {
            records: got.records,
            next: None,
            considered: 7,
            damaged: 0,
            notes: Vec::new(),
        };
        let said = List::render_text(&page);
        let lines = framed(&said, "2 of 7 memories\n", "").map(|lines| lines.len());
        assert_eq!(lines, Some(2), "{seed}: {said}");
    }
}

#[test]
fn no_title_relation_or_tag_leaves_its_frame() {
    for seed in 0..TEXTS {
        let [one, two] = [seed, seed + TEXTS].map(hostile_text);
        let related = vec![NeighbourRecord {
            id: RecordId::from_u128(1),
            title: one.clone(),
            relation: two.clone(),
            outgoing: true,
            depth: 1,
            via: RecordId::from_u128(2),
            record_type: None,
        }];
        let found = Neighbours {
            related,
            incoming: None,
        };
        let said = Related::render_text(&found);
        let lines = framed(&said, "1 related\n", "").map(|lines| lines.len());
        assert_eq!(lines, Some(1), "{seed}: {said}");
        let learned = LessonReport {
            id: RecordId::from_u128(1),
            outcome: Novelty::Inserted,
            project: None,
            warnings: vec![format!("`{one}` is new here; is `{two}` meant?")],
            evidence: None,
            known: vec![KnownRecord {
                id: RecordId::from_u128(2),
                contrary: Some(two.clone()),
                similar: None,
                text: one.clone(),
            }],
        };
        let (said, id) = (Learn::render_text(&learned), learned.id);
        let hint = "\nBoth are kept; decide with `reprise doctor review`.";
        let lines = framed(
            &said,
            &format!("remembered as {id} for all projects\n"),
            hint,
        )
        .map(|lines| lines.len());
        assert_eq!(lines, Some(2), "{seed}: {said}");
        let tags = [&one, &two].map(|tag| TagCount {
            tag: tag.clone(),
            count: 2,
        });
        let mut tagged = Tagged {
            tags: tags.into(),
            projects: Vec::new(),
            relations: Vec::new(),
            alike: None,
        };
        let said = Tags::render_text(&tagged);
        let lines = framed(&said, "2 tags\n", "").map(|lines| lines.len());
        assert_eq!(lines, Some(1), "{seed}: {said}");
        tagged.alike = Some(vec![AlikeTags {
            tag: one,
            into: two,
        }]);
        let said = Tags::render_text(&tagged);
        let lines = framed(&said, "", "").map(|lines| lines.len());
        assert_eq!(lines, Some(1), "{seed}: {said}");
    }
}

#[test]
fn a_resource_is_json_without_a_bracket() {
    for seed in 0..TEXTS {
        let text = hostile_text(seed);
        let said = super::records::plain_json(&json!({"text": text}));
        assert!(!said.contains(['<', '>', '&', '\n']), "{seed}: {said}");
        let read: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(read["text"], text);
    }
}

#[test]
fn one_record_is_told_as_one() {
    let tags = NameMergeReport {
        merged: 1,
        from: "kube".to_owned(),
        into: "k8s".to_owned(),
    };
    assert_eq!(
        MergeTags::render_text(&tags),
        "1 memory with `k8s` instead of `kube` now"
    );
    let undone = UndoneReport {
        restored: vec!["a".to_owned()],
        contradictions: vec![["a".to_owned(), "b".to_owned()]],
        ..UndoneReport::default()
    };
    let said = Undo::render_text(&undone);
    assert_eq!(
        said,
        "undone: restored memory `a`; 1 pair no longer marked as a contradiction"
    );
}

#[tokio::test]
async fn a_session_is_looked_for_by_the_beginning_of_its_name() {
    let ada = Ada::new().await;
    let (whole, beginning) = ("0123abcd-0000-4000-8000-000000000000", "0123abcd");
    let texts = [(whole, "the gateway was slow"), ("other", "tea at noon")];
    for (session, text) in texts {
        let record = json!({ "text": text, "session_id": session });
        ada.call("observe", json!({ "records": [record] })).await;
    }
    let listed = ada.call("list", json!({ "session": beginning })).await;
    assert_eq!(listed["considered"], 1, "{listed}");
    let asked = json!({ "query": "gateway", "session_id": beginning });
    let found = ada.call("recall", asked).await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    let asked = json!({ "view": "stats", "session": beginning });
    let stats = ada.call("knowledge", asked).await;
    assert_eq!(stats["sessionId"], whole, "{stats}");
}
