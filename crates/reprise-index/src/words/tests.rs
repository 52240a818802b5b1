//! What the analyser makes of text.

use super::*;

fn stems(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    Analyser::default().terms(text, |stem, _| all.push(stem.to_owned()));
    all
}

#[test]
fn english_is_stemmed_and_loses_its_stop_words() {
    assert_eq!(
        stems("The races were racing, and I fixed the race conditions"),
        ["race", "race", "fix", "race", "condit"]
    );
}

#[test]
fn contractions_leave_no_crumbs() {
    assert_eq!(
        stems("I'm sure it\u{2019}s Bob's, they'd don't"),
        ["sure", "bob", "don"]
    );
    // The same letters standing alone are words.
    assert_eq!(stems("plan d t"), ["plan", "d", "t"]);
}

#[test]
fn identifiers_are_found_by_their_parts_and_as_a_whole() {
    assert_eq!(stems("session_manager.rs"), ["session", "manag", "rs"]);
    assert_eq!(stems("HTTPServer"), ["http", "server", "httpserver"]);
    assert_eq!(stems("iPhone"), ["phone", "iphon"]);
    assert_eq!(stems("SHA256 D1:17"), ["sha256", "d1", "17"]);
    assert_eq!(stems("NASA Maria"), ["nasa", "maria"]);
}

#[test]
fn other_scripts_are_findable() {
    assert_eq!(
        stems("\u{732b}\u{5728}Kyoto"),
        ["\u{732b}", "\u{5728}", "kyoto"]
    );
    assert_eq!(
        stems("\u{41f}\u{420}\u{418}\u{412}\u{415}\u{422}"),
        ["\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}"]
    );
    // Composed and decomposed accents differ only in the accent.
    assert_eq!(stems("cafe\u{301}"), ["cafe"]);
    assert!(stems("\u{1f600}\u{1f680} !!").is_empty());
}

#[test]
fn blobs_are_cut_not_exploded() {
    let blob = "aB".repeat(5_000);
    let terms = stems(&blob);
    assert_eq!(terms.len(), 1);
    assert_eq!(terms[0].len(), TERM_BYTES_MAX);
}

#[test]
fn a_question_counts_its_repetitions_and_keeps_its_spelling() {
    let query = Analyser::default().query("Running, ran; runs the RACE");
    let seen: Vec<_> = query
        .terms
        .iter()
        .map(|t| (t.stem.as_str(), t.surface.as_str(), t.count))
        .collect();
    assert_eq!(seen, [("run", "Running", 3), ("race", "RACE", 1)]);
}

#[test]
fn an_endless_question_is_cut() {
    let query = Analyser::default().query(&"\u{e9}tude ".repeat(100_000));
    assert_eq!(query.terms.len(), 2);
    let bytes: usize = query.terms.iter().map(|t| t.count as usize * 7).sum();
    assert!(bytes <= QUERY_BYTES_MAX + 7, "{bytes}");
}

#[test]
fn words_are_found_in_every_form_and_identifiers_whole_or_in_part() {
    let text = "It races; the authModule raced on caf\u{e9} RACE day.";
    let found = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ranges = word_ranges(text, &words);
        ranges.into_iter().map(|r| &text[r]).collect::<Vec<_>>()
    };
    assert_eq!(found(&["racing"]), ["races", "raced", "RACE"]);
    assert_eq!(found(&["auth"]), ["auth"]);
    assert_eq!(found(&["authModule", "module"]), ["authModule"]);
    assert_eq!(found(&["caf\u{e9}", "the"]), ["caf\u{e9}"]);
    assert!(found(&[]).is_empty());
}
