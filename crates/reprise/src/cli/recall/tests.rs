//! What stands on the page, without its colours.

use reprise_types::{
    MemoryKind, MemorySource, RankSignal, RecallId, RecordId, RecordType, SearchTier, Why,
    parse_timestamp,
};

use super::*;

fn hit(text: &str, words: &[&str]) -> Hit {
    Hit {
        scope: None,
        author: None,
        version: None,
        quality: None,
        id: RecordId::from_u128(7),
        about: About {
            record_type: RecordType::Lesson,
            by: Some("Ada".to_owned()),
            project: None,
        },
        external_id: Some("note-7".to_owned()),
        session_id: "mon".to_owned(),
        text: text.to_owned(),
        score: 0.62,
        sona_score: 0.62,
        shown: true,
        kind: MemoryKind::Finding,
        source: MemorySource::WorkerResult,
        timestamp: parse_timestamp("2026-02-10T09:00:00Z").unwrap(),
        corrected_at: None,
        tags: vec!["project:shop".to_owned()],
        lesson: None,
        reason: "same words: prices, cents \u{b7} close in meaning".to_owned(),
        why: Why {
            matched_words: words.iter().map(|word| (*word).to_owned()).collect(),
            ..Why::default()
        },
    }
}

fn shown(results: Vec<Hit>, page: Page) -> String {
    let answer = Answer {
        query_id: None,
        recall_id: RecallId::from_u128(1),
        degraded: Vec::new(),
        notes: Vec::new(),
        elapsed_ms: 1.0,
        nothing_relevant: false,
        verdict: Verdict::Relevant,
        considered: 1,
        tier: SearchTier::None,
        results,
    };
    let now = parse_timestamp("2026-02-13T09:30:00Z").unwrap();
    let mut out = Vec::new();
    print(&mut out, &answer, now, page, false).unwrap();
    let text = String::from_utf8(out).unwrap();
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn a_hit_says_what_it_is_and_why_it_is_here() {
    let text = shown(
        vec![hit("The page shows prices in cents", &["price"])],
        Page::of(100),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with(" 1  ") && lines[0].ends_with("0.62  The page shows prices in cents")
    );
    assert!(
        lines[1].starts_with("    3 days ago (2026-02-10 "),
        "{text}"
    );
    assert!(
        lines[1].ends_with("lesson by Ada in shop \u{b7} session mon \u{b7} note-7"),
        "{text}"
    );
    assert_eq!(
        lines[2],
        "    why: same words: prices, cents \u{b7} close in meaning"
    );
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_long_text_is_shown_around_what_matched_and_under_its_title() {
    let filler = "Nothing here is of any interest to anybody at all. ".repeat(20);
    let text = format!("Shop notes\n\n{filler}The page shows prices in cents. {filler}");
    for columns in [30, 60, 100, 200] {
        let shown = shown(vec![hit(&text, &["prices"])], Page::of(columns));
        assert!(shown.contains("Shop notes\n"), "{shown}");
        assert!(shown.contains("prices"), "{shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
    let untitled = format!("{filler}The page shows prices in cents. {filler}");
    let text = shown(vec![hit(&untitled, &["prices"])], Page::of(60));
    assert!(text.contains("prices in cents"), "{text}");
}

#[test]
fn what_rounds_to_nothing_is_no_part_of_a_score() {
    let mut found = hit("a", &[]);
    found.why.signals = [("words", 0.2), ("doubt", -0.0004)]
        .map(|(name, contribution)| RankSignal {
            name: name.to_owned(),
            value: 1.0,
            weight: contribution,
            contribution,
        })
        .into();
    let mut out = Vec::new();
    signals(&mut out, &found).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("words") && !text.contains("doubt"), "{text}");
}

#[test]
fn a_title_that_matched_stands_alone() {
    let text = shown(
        vec![hit(
            "Prices in cents\n\nThe body says something else.",
            &["prices"],
        )],
        Page::of(80),
    );
    assert!(
        text.contains("Prices in cents") && !text.contains("something else"),
        "{text}"
    );
}

#[test]
fn what_is_only_related_is_folded_and_what_is_unlikely_is_not_there() {
    let mut related = hit("The receipt shows prices too", &["prices"]);
    let mut unlikely = hit("A walk in the park", &[]);
    (related.shown, related.score) = (false, 0.1);
    (unlikely.shown, unlikely.score) = (false, 0.01);
    let first = hit("The page shows prices in cents", &["price"]);
    let text = shown(
        vec![first, related.clone(), unlikely.clone()],
        Page::of(100),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[3], "related, not likely to answer:");
    assert_eq!(
        lines[4],
        "2. lesson, 3 days ago: The receipt shows prices too"
    );
    assert_eq!(lines.len(), 5, "{text}");
    // Where nothing would go into a prompt, what is related stands whole.
    let text = shown(vec![related, unlikely], Page::of(100));
    assert_eq!(text.lines().count(), 3, "{text}");
}
