//! Every temper of memory gives an answer that a host can go on with.

use super::super::testing::{Fake, Temper, lesson, remembered};
use super::*;

fn with(temper: Temper) -> Recollection {
    Recollection::new(Some(Fake::new(temper))).within(Duration::from_millis(50))
}

#[tokio::test]
async fn no_memory_a_slow_one_a_dead_one_and_one_that_panics_answer_nothing() {
    let off = Recollection::new(None);
    assert_eq!(off.budget, Duration::from_millis(500), "the documented box");
    assert_eq!(off.ask("q", 5, &[]).await.asked, Asked::Off);
    assert_eq!(with(Temper::Slow).ask("q", 5, &[]).await.asked, Asked::Late);
    for temper in [Temper::Dead, Temper::Panics] {
        let answer = with(temper).ask("q", 5, &[]).await;
        assert!(matches!(answer.asked, Asked::Failed(_)), "{answer:?}");
        assert!(answer.results().is_empty() && answer.block("Head:").is_none());
    }
}

#[tokio::test]
async fn a_wrong_memory_is_cut_to_size() {
    let answer = with(Temper::Wrong).ask("q", 5, &[]).await;
    assert_eq!(answer.results().len(), 5);
    assert!(answer.results().iter().all(|found| found.sona_score == 0.0));
    let block = answer.block("Relevant history:").unwrap();
    assert_eq!(block.lines().count(), 6, "a memory is one line: {block}");
}

#[test]
fn a_line_is_cut_between_characters() {
    let long = "caf\u{e9} ".repeat(200);
    let block = remembered(vec![lesson(1, &long, "completed", 0.5)]).block("Head:");
    let block = block.unwrap();
    assert!(
        block.starts_with("Head:\n- [2026-02-02 finding 0.50 0"),
        "{block}"
    );
    assert!(block.chars().count() < LINE_CHARACTERS_MAX + 80);
}
