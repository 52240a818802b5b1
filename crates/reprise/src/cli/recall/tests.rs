//! Tests of the printed answer, without colours.

use reprise_types::{
    MemoryKind, MemorySource, RankExplanation, RankSignal, RecallId, RecordId, RecordType,
    SearchRoute, parse_timestamp,
};

use reprise_tests::assert_contains;

use super::signals::print_signals;
use super::*;

fn print_hit(text: &str, words: &[&str]) -> Hit {
    Hit {
        scope: None,
        author: None,
        version: None,
        quality: None,
        id: RecordId::from_u128(7),
        about: RecordByline {
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
        why: RankExplanation {
            matched_words: words.iter().map(|word| (*word).to_owned()).collect(),
            ..RankExplanation::default()
        },
    }
}

fn render_hits(results: Vec<Hit>, page: Page) -> String {
    render_answer(results, RelevanceVerdict::Relevant, page)
}

fn render_answer(results: Vec<Hit>, verdict: RelevanceVerdict, page: Page) -> String {
    let answer = RecallAnswer {
        query_id: None,
        recall_id: RecallId::from_u128(1),
        degraded: Vec::new(),
        notes: Vec::new(),
        elapsed_ms: 1.0,
        nothing_relevant: false,
        verdict,
        considered: 1,
        route: SearchRoute::None,
        results,
    };
    let now = parse_timestamp("2026-02-13T09:30:00Z").unwrap();
    let mut out = Vec::new();
    print_answer(&mut out, &answer, now, page, false).unwrap();
    let text = String::from_utf8(out).unwrap();
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn results_are_numbered_as_they_are_printed() {
    let hit = |text: &str, shown: bool| Hit {
        shown,
        ..print_hit(text, &[])
    };
    let results = vec![
        hit("the first answer", true),
        hit("something related", false),
        hit("the second answer", true),
        hit("more of that", false),
    ];
    let printed = render_hits(results, Page::of(160));
    let place = |text: &str| {
        printed
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {printed}"))
    };
    assert!(place("the second answer") < place("3. "), "{printed}");
    assert!(place("3. ") < place("something related"), "{printed}");
    assert!(place("4. ") < place("more of that"), "{printed}");
}

#[test]
fn a_hit_has_an_id_that_a_person_can_copy() {
    let printed = |external: &str| {
        let named = Hit {
            external_id: Some(external.to_owned()),
            ..print_hit("The page shows prices in cents", &[])
        };
        render_hits(vec![named], Page::of(160))
    };
    let own = RecordId::from_u128(7).to_string();
    assert_contains!(printed("note-7"), "session mon \u{b7} note-7");
    let digest = "aefd379e428272a8";
    assert_contains!(printed(digest), &format!("session mon \u{b7} {own}"));
    let turn = "s2/-work-shop/8cc28c0f-1d2e.jsonl:2/answer";
    assert_contains!(printed(turn), &format!("session mon \u{b7} {own}"));
    assert!(!printed(turn).contains(turn));
}

#[test]
fn a_hit_says_what_it_is_and_why_it_is_here() {
    let text = render_hits(
        vec![print_hit("The page shows prices in cents", &["price"])],
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
        let shown = render_hits(vec![print_hit(&text, &["prices"])], Page::of(columns));
        assert!(shown.contains("Shop notes\n"), "{shown}");
        assert!(shown.contains("prices"), "{shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
    let untitled = format!("{filler}The page shows prices in cents. {filler}");
    let text = render_hits(vec![print_hit(&untitled, &["prices"])], Page::of(60));
    assert!(text.contains("prices in cents"), "{text}");
}

#[test]
fn what_rounds_to_nothing_is_no_part_of_a_score() {
    let mut found = print_hit("a", &[]);
    found.why.signals = [("words", 0.2), ("doubt", -0.0004)]
        .map(|(name, contribution)| RankSignal {
            name: name.to_owned(),
            value: 1.0,
            weight: contribution,
            contribution,
        })
        .into();
    let mut out = Vec::new();
    print_signals(&mut out, &found).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("words") && !text.contains("doubt"), "{text}");
}

#[test]
fn a_title_that_matched_stands_alone() {
    let text = render_hits(
        vec![print_hit(
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
    let mut related = print_hit("The receipt shows prices too", &["prices"]);
    let mut unlikely = print_hit("A walk in the park", &[]);
    (related.shown, related.score) = (false, 0.1);
    (unlikely.shown, unlikely.score) = (false, 0.01);
    let first = print_hit("The page shows prices in cents", &["price"]);
    let text = render_hits(
        vec![first, related.clone(), unlikely.clone()],
        Page::of(100),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[3], "related, may not be an answer:");
    assert_eq!(
        lines[4],
        "2. lesson, 3 days ago: The receipt shows prices too"
    );
    assert_eq!(lines.len(), 5, "{text}");
    // If nothing would go into a prompt, related results are printed in full.
    let text = render_hits(vec![related, unlikely], Page::of(100));
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn where_nothing_is_likely_to_answer_what_is_near_is_marked_as_related() {
    let at = |text: &str, cosine: f32| {
        let mut hit = print_hit(text, &[]);
        (hit.shown, hit.score, hit.why.raw_distance) = (false, 0.01, Some(1.0 - cosine));
        hit
    };
    let near = [0.27, 0.4, 0.3, 0.35].map(|cosine| at("we always use pnpm", cosine));
    let far = at("A walk in the park", 0.1);
    let mut results = vec![far.clone()];
    results.extend(near);
    let text = render_answer(results, RelevanceVerdict::Nothing, Page::of(100));
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].ends_with("related, may not be an answer:"),
        "{text}"
    );
    assert_eq!(lines[1], "1. lesson, 3 days ago: we always use pnpm");
    assert_eq!(lines.len(), 4, "{text}");
    assert!(!text.contains("park"), "{text}");
    // Below what is weakly related, too.
    let mut related = at("we use it in each project", 0.3);
    related.score = 0.2;
    let weak = vec![related, at("we always use pnpm", 0.27), far.clone()];
    let text = render_answer(weak, RelevanceVerdict::Weak, Page::of(100));
    assert_contains!(
        text,
        "related, may not be an answer:\n2. lesson, 3 days ago: we always use"
    );
    assert!(!text.contains("park"), "{text}");
    let text = render_answer(vec![far], RelevanceVerdict::Nothing, Page::of(100));
    assert_eq!(text.lines().count(), 1, "{text}");
}
