//! The ranking's own rules: spread, ties, and that small stores are not over-read.

use super::ablation::Ablation;
use super::scale::{BM25, COSINES, Scale, unit};
use super::signals::{
    COUNT, COVERAGE, MEANING, SAME_TEXT, SIGNALS, TIME_ASKED, WORDS, is_of_dialogue,
};

#[test]
fn a_signal_that_separates_nothing_weighs_nothing() {
    let flat = Scale::new(COSINES, 0.4, 0.0, 500);
    assert!(flat.standard(0.4).abs() < 0.2);
}

#[test]
fn nothing_has_no_sign() {
    let sum = super::explain::part("doubt", 0.0, -1.0).contribution;
    assert!(sum.is_sign_positive(), "{sum}");
}

#[test]
fn a_small_store_is_read_with_care() {
    let one = Scale::new(COSINES, 0.5, 0.0, 1);
    let many = Scale::new(COSINES, 0.108, 0.056, 51);
    assert!(one.standard(0.5) > 0.0 && one.standard(0.5) < many.standard(0.5));
    let none = Scale::new(COSINES, 0.0, 0.0, 0);
    assert!(none.standard(0.1).abs() < 1e-6);
    assert!(Scale::new(BM25, 0.0, 0.0, 0).standard(0.0).abs() < 1e-6);
}

#[test]
fn every_standard_score_is_a_signal_between_0_and_1() {
    for (standard, expected) in [
        (-9.0, 0.0),
        (-2.0, 0.0),
        (4.0, 0.5),
        (10.0, 1.0),
        (99.0, 1.0),
    ] {
        assert!((unit(standard) - expected).abs() < 1e-6, "{standard}");
    }
}

#[test]
fn the_table_names_the_places_of_what_speaks_outside_any_dialogue() {
    let named = [
        (MEANING, "meaning"),
        (WORDS, "words"),
        (COVERAGE, "coverage"),
        (SAME_TEXT, "same_text"),
        (TIME_ASKED, "time_asked"),
    ];
    for (place, name) in named {
        assert_eq!(SIGNALS[place].name, name);
    }
    let outside: Vec<usize> = (0..COUNT).filter(|place| !is_of_dialogue(*place)).collect();
    assert_eq!(outside, named.map(|(place, _)| place));
}

#[test]
fn signals_are_left_out_by_name_and_by_kind() {
    let all = Ablation::default();
    assert!((0..COUNT).all(|signal| all.takes_part(signal)));
    let some = Ablation::without(["time", "own_words"]).unwrap();
    for (at, signal) in SIGNALS.iter().enumerate() {
        let out = signal.kinds.contains(&"time") || signal.name == "own_words";
        assert_eq!(some.takes_part(at), !out, "{}", signal.name);
    }
    let error = Ablation::without(["tim"]).unwrap_err().to_string();
    assert!(
        error.contains("`tim`") && error.contains("time_asked"),
        "{error}"
    );
}
