//! The fusion's own rules: spread, ties, and that small stores are not over-read.

use super::fuse::*;

#[test]
fn a_signal_that_separates_nothing_weighs_nothing() {
    let flat = Spread::of(&[0.4; 500], (0.1, 0.12), |_| true);
    assert!(flat.standard(0.4).abs() < 0.2);
}

#[test]
fn a_small_store_is_read_with_care() {
    let one = Spread::of(&[0.5], (0.1, 0.12), |_| true);
    let many = Spread::of(
        &[[0.1; 50].as_slice(), &[0.5]].concat(),
        (0.1, 0.12),
        |_| true,
    );
    assert!(one.standard(0.5) > 0.0 && one.standard(0.5) < many.standard(0.5));
    let none = Spread::of(&[], (0.1, 0.12), |_| true);
    assert!((none.standard(0.1)).abs() < 1e-6);
}

#[test]
fn the_best_are_sorted_and_the_newer_wins_a_tie() {
    let mut best = Best::new(3);
    for (ordinal, score) in [(0, 0.2), (1, 0.9), (2, 0.5), (3, 0.9), (4, -1.0)] {
        best.offer(ordinal, score);
    }
    assert_eq!(best.into_sorted(), [3, 1, 2]);
    let mut none = Best::new(0);
    none.offer(1, 1.0);
    assert!(none.into_sorted().is_empty());
}
