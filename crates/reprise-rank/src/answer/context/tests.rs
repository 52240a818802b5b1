//! Tests the block: never over budget, in order, cut where a reader would.

use proptest::prelude::*;
use reprise_tests::{hostile_text, parse_quoted_lines};
use reprise_types::{
    DegradedPart, MemoryKind, MemorySource, RankExplanation, RecallId, RecallResponse, RecordBody,
    RecordId, RelevanceVerdict, RetrievedMemory, SearchRoute, parse_timestamp,
};

use super::*;

fn memory(number: u128, session: &str, at: &str, text: &str, score: f32) -> RetrievedMemory {
    let at = parse_timestamp(at).unwrap();
    let mut body = RecordBody::new(text, MemorySource::UserInput, MemoryKind::Episode);
    session.clone_into(&mut body.session_id);
    RetrievedMemory {
        record: body.into_record(RecordId::from_u128(number), at),
        score,
        sona_score: score,
        why: RankExplanation {
            raw_distance: Some(0.3),
            ..RankExplanation::default()
        },
        shown: true,
        published: None,
    }
}

fn recall(results: Vec<RetrievedMemory>) -> RecallResponse {
    RecallResponse {
        recall_id: RecallId::from_u128(7),
        results,
        degraded: Vec::new(),
        route: SearchRoute::None,
        considered: 0,
        nothing_relevant: false,
        verdict: RelevanceVerdict::Relevant,
        notes: Vec::new(),
        only_times: Vec::new(),
    }
}

fn block(results: Vec<RetrievedMemory>, budget: usize) -> ContextBlock {
    build_context_block(&recall(results), budget, 7)
}

#[test]
fn what_is_sensitive_is_in_no_prompt() {
    let mut found = three();
    found[0].record.body.tags = vec!["sensitive".to_owned()];
    let secret = found[0].record.id;
    let part = block(found, 400);
    assert!(!part.text.contains("refresh()"), "{}", part.text);
    assert_eq!((part.records.len(), part.left_out), (2, 1));
    assert!(!part.records.contains(&secret));
}

#[test]
fn what_is_sensitive_gives_no_verdict() {
    let mut found = three();
    found[0].record.body.tags = vec!["sensitive".to_owned()];
    assert_eq!(
        block(found.clone(), 400).verdict,
        RelevanceVerdict::Relevant
    );
    found.truncate(1);
    let part = block(found, 400);
    assert_eq!((part.text.as_str(), part.left_out), ("", 1));
    assert_eq!(part.verdict, RelevanceVerdict::Nothing);
    assert!(part.nothing_relevant);
}

fn three() -> Vec<RetrievedMemory> {
    vec![
        memory(
            3,
            "monday",
            "2026-02-16T10:00:00Z",
            "The race is in refresh().",
            0.9,
        ),
        memory(
            1,
            "friday",
            "2026-02-13T09:00:00Z",
            "A test failed on Friday.",
            0.7,
        ),
        memory(
            2,
            "monday",
            "2026-02-16T09:00:00Z",
            "Look at the auth module.",
            0.4,
        ),
    ]
}

#[test]
fn the_best_session_comes_first_and_its_oldest_memory_before_the_others() {
    let block = block(three(), 1_000);
    let id = |n| RecordId::from_u128(n);
    assert_eq!(block.records, [id(2), id(3), id(1)]);
    assert_eq!(block.recall_id, RecallId::from_u128(7));
    let line = |at: &str, n, text: &str| format!("- {at} [{}; note] {text}", id(n));
    let expected = [
        "Session monday".to_owned(),
        line("2026-02-16 09:00", 2, "Look at the auth module."),
        line("2026-02-16 10:00", 3, "The race is in refresh()."),
        "Session friday".to_owned(),
        line("2026-02-13 09:00", 1, "A test failed on Friday."),
    ];
    assert_eq!(parse_quoted_lines(&block.text).unwrap(), expected);
    assert_eq!(block.tokens, block.text.len().div_ceil(4));
    assert_eq!(block.left_out, 0);
}

#[test]
fn a_memory_stands_with_its_plain_reason() {
    let mut one = three().remove(0);
    one.why.reason = "same words: race".to_owned();
    let text = block(vec![one], 1_000).text;
    assert!(text.contains("; same words: race] The race is"), "{text}");
}

#[test]
fn half_an_answer_begins_with_that_sentence() {
    let mut half = recall(three());
    half.degraded = vec![DegradedPart::NoQueryVector];
    let sentence = half.half_answer().unwrap();
    let part = build_context_block(&half, 400, 7);
    let lines: Vec<&str> = part.text.lines().collect();
    assert_eq!(lines[2], sentence, "{}", part.text);
    for budget in 0..120 {
        let part = build_context_block(&half, budget, 7);
        assert!(estimate_tokens(part.text.len()) <= budget, "{budget}");
        assert!(part.text.is_empty() || part.text.contains(sentence));
    }
}

#[test]
fn what_repeats_a_better_memory_is_left_out() {
    let mut found = three();
    found.push(memory(
        4,
        "x",
        "2026-02-17",
        "the RACE  is in refresh().",
        0.3,
    ));
    found.push(memory(5, "x", "2026-02-17", "auth module", 0.2));
    let block = block(found, 1_000);
    assert_eq!((block.records.len(), block.left_out), (3, 2));
}

#[test]
fn better_memories_choose_first_and_short_ones_fill_the_rest() {
    let long = format!("Secret plan. {}", "Filler of no use at all. ".repeat(40));
    let mut found = three();
    found.insert(1, memory(9, "thursday", "2026-02-12", &long, 0.8));
    let block = block(found, 130);
    assert!(block.tokens <= 130);
    assert!(block.records.contains(&RecordId::from_u128(3)));
    assert!(block.text.contains("Secret plan."), "{}", block.text);
    assert!(block.text.contains(" ...\n"), "{}", block.text);
}

#[test]
fn nothing_found_no_budget_and_too_little_give_an_empty_block() {
    for block in [
        block(Vec::new(), 1_000),
        block(three(), 0),
        block(three(), 3),
    ] {
        assert_eq!((block.text.as_str(), block.tokens), ("", 0));
        assert!(block.records.is_empty());
    }
    assert_eq!(block(three(), 0).left_out, 3);
}

#[test]
fn one_enormous_record_alone_uses_the_whole_budget_but_no_more() {
    let sentence = "The migration ran for an hour and then the disk was full. ";
    let mut huge = memory(1, "s", "2026-02-13", &sentence.repeat(1_100), 0.9);
    huge.why.matched_words = vec!["disk".to_owned()];
    let block = block(vec![huge], 500);
    assert!((450..=500).contains(&block.tokens), "{}", block.tokens);
    assert!(
        block.text.contains("the disk was full. ...\n"),
        "{}",
        block.text
    );
}

#[test]
fn no_stored_text_leaves_the_frame() {
    for seed in 0..10_000 {
        let [text, session, word] = [0, 10_000, 20_000].map(|more| hostile_text(seed + more));
        let mut hostile = memory(1, &session, "2026-02-13", &format!("a {text}"), 0.9);
        hostile.why.matched_words = vec![word];
        let plain = memory(2, "monday", "2026-02-13", "A test failed.", 0.5);
        let block = block(vec![hostile, plain], 4_000);
        let lines = parse_quoted_lines(&block.text).map(|lines| lines.len());
        // A line for each session and each memory.
        assert_eq!(lines, Some(4), "{seed}: {}", block.text);
    }
}

#[test]
fn as_many_are_looked_for_as_could_fit() {
    assert_eq!(
        [0, 320, 1_000_000].map(context_candidate_count),
        [5, 10, 100]
    );
}

proptest! {
    #[test]
    fn no_block_is_over_its_budget(
        texts in prop::collection::vec(("[a-c .!?\n]{0,200}", 0_u8..3, 0.0_f32..1.0), 0..12),
        budget in 0_usize..300,
    ) {
        let found: Vec<RetrievedMemory> = (1_u128..)
            .zip(&texts)
            .map(|(n, (text, session, score))| {
                memory(n, &session.to_string(), "2026-02-13", text, *score)
            })
            .collect();
        let total = found.len();
        let block = block(found, budget);
        let tokens = block.text.len().div_ceil(4);
        prop_assert!(tokens <= budget);
        prop_assert_eq!((block.tokens, block.counted_by), (tokens, TokenUnit::BytesOverFour));
        prop_assert_eq!(block.records.len() + block.left_out, total);
        let mut distinct = block.records.clone();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), block.records.len());
    }
}
