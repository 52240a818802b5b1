//! What is otherwise since: moved, on another day, no longer allowed.

use super::*;

#[test]
fn what_is_otherwise_now_stands_against_what_was_so() {
    let contrary = [
        (
            "The quarterly review is on Thursday 26 November",
            "The quarterly review is on Friday 27 November",
        ),
        ("Olga works in Berlin", "Olga works in Hamburg since May"),
        (
            "Deploys are allowed until noon",
            "Deploys are not allowed since the March outage",
        ),
        (
            "The audit report is due by end of June",
            "The audit report was moved to July",
        ),
        (
            "The summer party is in Potsdam",
            "The summer party moved to Leipzig",
        ),
        (
            "We build the shop with npm",
            "We build the shop with pnpm instead of npm",
        ),
    ];
    let both_hold = [
        (
            "We met Ann on Thursday 26 November",
            "We met Ann on Friday 27 November",
        ),
        ("Olga works in Berlin", "Marek works in Hamburg since May"),
        (
            "Deploys are allowed until noon",
            "Rollbacks are not allowed since the March outage",
        ),
        (
            "The audit report is due by end of June",
            "The garden fence was moved to July",
        ),
        (
            "The audit report is due by end of June",
            "The audit report was moved to the archive",
        ),
        (
            "The export is slow",
            "The export is not used since it is slow",
        ),
    ];
    let cases = contrary.map(|case| (case, true)).into_iter();
    let wrong =
        cases
            .chain(both_hold.map(|case| (case, false)))
            .filter(|((one, other), expected)| {
                let is_contrary = |a, b| matches!(judge_texts(a, b), Judgement::Contradiction(_));
                is_contrary(one, other) != *expected || is_contrary(other, one) != *expected
            });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
