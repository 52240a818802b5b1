//! Tests the ranking's own rules: spread, ties, and care with small stores.

use reprise_index::Spread;

use crate::explain::rank_signal;
use crate::signals::ablation::Ablation;
use crate::signals::scale::{Scale, to_signal};
use crate::signals::weights::COUNT;
use crate::signals::{
    COVERAGE, MEANING, SAME_TEXT, SIGNALS, TIME_ASKED, WORDS, is_dialogue_signal,
};

fn spread(mean: f32, deviation: f32, count: u32) -> Spread {
    Spread {
        mean,
        deviation,
        count,
    }
}

#[test]
fn a_signal_that_separates_nothing_weighs_nothing() {
    let flat = Scale::of_cosines(spread(0.4, 0.0, 500));
    assert!(flat.standard_score(0.4).abs() < 0.2);
}

#[test]
fn nothing_has_no_sign() {
    let sum = rank_signal("doubt", 0.0, -1.0).contribution;
    assert!(sum.is_sign_positive(), "{sum}");
}

#[test]
fn a_small_store_is_read_with_care() {
    let one = Scale::of_cosines(spread(0.5, 0.0, 1));
    let many = Scale::of_cosines(spread(0.108, 0.056, 51));
    assert!(one.standard_score(0.5) > 0.0 && one.standard_score(0.5) < many.standard_score(0.5));
    let none = Scale::of_cosines(spread(0.0, 0.0, 0));
    assert!(none.standard_score(0.1).abs() < 1e-6);
    assert!(
        Scale::of_words(spread(0.0, 0.0, 0))
            .standard_score(0.0)
            .abs()
            < 1e-6
    );
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
        assert!((to_signal(standard) - expected).abs() < 1e-6, "{standard}");
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
    let outside: Vec<usize> = (0..COUNT)
        .filter(|place| !is_dialogue_signal(*place))
        .collect();
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
