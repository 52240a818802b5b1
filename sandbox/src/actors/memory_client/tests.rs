//! Every misbehaviour of memory gives an answer that a host can use.

use reprise_tests::{hostile_text, parse_quoted_lines};

use super::super::testing::{FakeMemory, MemoryBehaviour, new_answer, new_lesson};
use super::*;
use crate::actors::{Repertoire, RepertoirePlanner};
use crate::supervisor::WorkersConfig;

fn new_client(temper: MemoryBehaviour) -> MemoryClient {
    MemoryClient::new(Some(FakeMemory::new(temper)), Duration::from_millis(50))
}

#[tokio::test]
async fn no_memory_a_slow_one_a_dead_one_and_one_that_panics_answer_nothing() {
    let gateway = Arc::new(RepertoirePlanner::new(Repertoire::load_builtin().unwrap()));
    let budget = WorkersConfig::new(PathBuf::new(), gateway).memory_budget;
    assert_eq!(budget, Duration::from_millis(500), "the documented box");
    let off = MemoryClient::new(None, budget);
    assert_eq!(off.recall("q", 5, &[]).await.status, RecallStatus::Off);
    assert_eq!(
        new_client(MemoryBehaviour::Slow)
            .recall("q", 5, &[])
            .await
            .status,
        RecallStatus::Late
    );
    for temper in [MemoryBehaviour::Dead, MemoryBehaviour::Panics] {
        let answer = new_client(temper).recall("q", 5, &[]).await;
        assert!(
            matches!(answer.status, RecallStatus::Failed(_)),
            "{answer:?}"
        );
        assert!(answer.results().is_empty() && answer.render_block("Head:").is_none());
    }
}

#[tokio::test]
async fn a_wrong_memory_is_cut_to_size() {
    let answer = new_client(MemoryBehaviour::Wrong).recall("q", 5, &[]).await;
    assert_eq!(answer.results().len(), 5);
    assert!(answer.results().iter().all(|found| found.sona_score == 0.0));
    let block = answer.render_block("Relevant history:").unwrap();
    let frame = block.strip_prefix("Relevant history:\n").unwrap();
    let lines = parse_quoted_lines(frame).unwrap();
    assert_eq!(lines.len(), 5, "a memory is one line: {block}");
    assert_eq!(answer.render_block("Relevant history:"), Some(block));
    let other = new_client(MemoryBehaviour::Wrong).recall("q", 5, &[]).await;
    assert_ne!(
        other.nonce, answer.nonce,
        "each answer has a frame of its own"
    );
}

#[test]
fn a_line_is_cut_between_characters() {
    let long = "caf\u{e9} ".repeat(200);
    let block = new_answer(vec![new_lesson(1, &long, "completed", 0.5)]).render_block("Head:");
    let block = block.unwrap();
    let lines = parse_quoted_lines(block.strip_prefix("Head:\n").unwrap()).unwrap();
    assert!(
        lines[0].starts_with("- 2026-02-02 0.50 [0") && lines[0].contains("] (finding) caf\u{e9}"),
        "{block}"
    );
    assert!(lines[0].chars().count() < LINE_CHARACTERS_MAX + 80);
}

#[test]
fn no_memory_leaves_the_frame_of_a_prompt() {
    for seed in 0..10_000 {
        let stored = new_lesson(1, &hostile_text(seed), "completed", 0.5);
        let plain = new_lesson(2, "by `the right way`", "failed", 0.4);
        let block = new_answer(vec![stored, plain])
            .render_block("Head:")
            .unwrap();
        let lines = parse_quoted_lines(block.strip_prefix("Head:\n").unwrap());
        assert_eq!(lines.map(|lines| lines.len()), Some(2), "{seed}: {block}");
    }
}
