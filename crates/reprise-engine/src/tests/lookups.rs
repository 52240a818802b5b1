//! What a question names letter by letter comes first, whatever meaning and words say; a question
//! that names nothing is ranked as ever.

use chrono::FixedOffset;
use reprise_types::{Calendar, MemoryFilter, NewRecord, RetrievedMemory, Zone};
use serde_json::json;

use super::*;

/// Builds the store of the look-ups: forty records, in which each name occurs once except for
/// `sharkdp`.
fn lookup_bench() -> EngineBench {
    let mut bench = EngineBench::new();
    let mut records: Vec<NewRecord> = (0..30)
        .map(|n| {
            let text = format!("Routine work number {n} on the search and its tests");
            let mut new = record(
                &format!("{:012x}", 0x00aa_0000_0000_u64 + n * 7919),
                &text,
                1,
                "s",
            );
            new.metadata = json!({"author": "sharkdp"}).as_object().unwrap().clone();
            new.timestamp = parse_timestamp(&format!("2019-{:02}-11T12:00:00Z", 1 + n % 12)).ok();
            new
        })
        .collect();
    for (external, text, author) in [
        (
            "21459731eeb2",
            "Fix the colours of the pager, see #1268",
            "David Peter",
        ),
        (
            "8acb30bc415b",
            "Add --hyperlink-format for terminals",
            "Tavian Barnes",
        ),
        (
            "3ee77feddce5",
            "Move code from src/cli/recall.rs to src/cli/list.rs:12",
            "Ann Lee",
        ),
        (
            "490c1ef19207",
            "error[E0382]: borrow of moved value, then ENOSPC",
            "Bo Li",
        ),
        (
            "aab0a2dcfbb1",
            "The download answers HTTP 404 since v1.26.0",
            "Cy Qu",
        ),
        (
            "dddd47e07894",
            "Revert a44e6771f09c because RUST_LOG=debug is slow in v2",
            "Di Xu",
        ),
        (
            "10edb7a8cc15",
            "The search stops at the first match that it finds",
            "Ed Yo",
        ),
        (
            "55ac0a1b0b7f",
            "The match that it finds first stops the search",
            "Fe Za",
        ),
    ] {
        let mut new = record(external, text, 1, "s");
        new.metadata = json!({"author": author, "file": "docs/notes.md", "n": 7})
            .as_object()
            .unwrap()
            .clone();
        new.timestamp = parse_timestamp("2026-02-10T12:00:00Z").ok();
        records.push(new);
    }
    bench.insert(records);
    bench
}

fn best_result(bench: &mut EngineBench, question: &str) -> RetrievedMemory {
    // The vector points away from every record: meaning counts for none.
    let recall = bench.ask(question, 5);
    assert!(!recall.results.is_empty(), "{question}");
    let scores: Vec<f32> = recall.results.iter().map(|found| found.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{question}: {scores:?}");
    recall.results.into_iter().next().unwrap()
}

/// Question, the record that it names, and the field that has it.
const NAMED: [(&str, &str, &str); 26] = [
    ("21459731eeb2", "21459731eeb2", "external_id"),
    ("2145973", "21459731eeb2", "external_id"),
    ("commit 21459", "21459731eeb2", "external_id"),
    (
        "21459731eeb2c0ffee00c0ffee00c0ffee00c0ff",
        "21459731eeb2",
        "external_id",
    ),
    ("a44e677", "dddd47e07894", "text"),
    ("#1268", "21459731eeb2", "text"),
    ("issue 1268", "21459731eeb2", "text"),
    ("GH-1268", "21459731eeb2", "text"),
    ("--hyperlink-format", "8acb30bc415b", "text"),
    (
        "why was --hyperlink-format added to the search tests",
        "8acb30bc415b",
        "text",
    ),
    ("src/cli/recall.rs", "3ee77feddce5", "text"),
    ("recall.rs", "3ee77feddce5", "text"),
    ("cli/recall", "3ee77feddce5", "text"),
    ("/home/me/src/cli/recall.rs:4", "3ee77feddce5", "text"),
    ("what is E0382?", "490c1ef19207", "text"),
    ("enospc", "490c1ef19207", "text"),
    ("HTTP 404", "aab0a2dcfbb1", "text"),
    ("status 404", "aab0a2dcfbb1", "text"),
    ("1.26.0", "aab0a2dcfbb1", "text"),
    ("RUST_LOG=debug", "dddd47e07894", "text"),
    ("author=david peter", "21459731eeb2", "metadata.author"),
    (
        "changes by Tavian Barnes",
        "8acb30bc415b",
        "metadata.author",
    ),
    (
        "what did Tavian Barnes do about routine work on tests",
        "8acb30bc415b",
        "metadata.author",
    ),
    ("tavian", "8acb30bc415b", "metadata.author"),
    ("\"match that it finds first\"", "55ac0a1b0b7f", "text"),
    (
        "\u{201c}stops at the  FIRST match\u{201d}",
        "10edb7a8cc15",
        "text",
    ),
];

#[test]
pub(super) fn what_is_named_letter_by_letter_comes_first_and_says_where_it_stands() {
    let mut bench = lookup_bench();
    for round in 0..2 {
        for (question, external, field) in NAMED {
            let found = best_result(&mut bench, question);
            assert_eq!(
                found.record.find_external_id("batch"),
                Some(external),
                "{question}"
            );
            let matched = found.why.matched_identifiers.first();
            assert_eq!(matched.map(|m| m.field.as_str()), Some(field), "{question}");
            let logit: f32 = found
                .why
                .signals
                .iter()
                .map(|signal| signal.contribution)
                .sum();
            assert!(
                (found.score - 1.0 / (1.0 + (-logit).exp())).abs() < 1e-4,
                "{question}"
            );
            assert!(
                found
                    .why
                    .signals
                    .iter()
                    .any(|signal| signal.name == "named")
            );
        }
        // The answer is the same from a checkpoint.
        if round == 0 {
            bench.engine().checkpoint().unwrap();
            bench.reopen();
        }
    }
}

#[test]
pub(super) fn a_name_alone_is_answered_with_certainty_and_one_that_is_not_there_with_none() {
    let mut bench = lookup_bench();
    let recall = bench.ask("#1268", 5);
    assert!(!recall.nothing_relevant && recall.results[0].score >= 0.9);
    for unknown in ["#99999", "commit deadbeef00", "E0599"] {
        let mut recall = bench.ask(unknown, 1);
        assert!(recall.nothing_relevant, "{unknown}");
        // Whatever it scores when it is decided again.
        for one in &mut recall.results {
            (one.score, one.sona_score) = (0.9, 0.9);
        }
        crate::decide_shown(&mut recall);
        assert!(recall.nothing_relevant, "{unknown}");
        assert!(
            recall.notes[0].starts_with("no record has"),
            "{:?}",
            recall.notes
        );
    }
    // All of a common name's records come first if nothing else is asked.
    let recall = bench.ask("author=sharkdp", 5);
    let by_him = |found: &RetrievedMemory| found.record.metadata["author"] == "sharkdp";
    assert!(recall.results.iter().all(by_him) && !recall.nothing_relevant);
    // They count for little if something else is asked.
    let recall = bench.ask("what did sharkdp say about the colours of the pager", 5);
    let signals = recall.results.iter().flat_map(|found| &found.why.signals);
    assert!(signals.into_iter().all(|signal| signal.name != "named"));
    // Forgotten, filtered and past records have no names.
    let mut request = RecallRequest::new("#1268");
    request.filter = MemoryFilter {
        author: Some("Ann Lee".into()),
        ..MemoryFilter::default()
    };
    let recall = bench.ask_with(&request, Some(5));
    assert!(
        recall
            .results
            .iter()
            .all(|r| r.why.matched_identifiers.is_empty())
    );
}

#[test]
pub(super) fn ordinary_questions_are_ranked_as_before() {
    let mut bench = lookup_bench();
    for question in [
        "routine work on the search and its tests",
        "don't stop at the first match, e.g. in 9 of 10 tests",
        "the 7 and the 404",
        "reduced from 3 to 2 calls in routine work and its tests",
    ] {
        let recall = bench.ask(question, 1);
        for found in &recall.results {
            assert!(found.why.matched_identifiers.is_empty(), "{question}");
            assert!(
                !found
                    .why
                    .signals
                    .iter()
                    .any(|signal| signal.name == "named")
            );
        }
        assert!(recall.notes.is_empty(), "{:?}", recall.notes);
    }
}

#[test]
pub(super) fn a_time_in_a_question_counts_and_alone_it_decides() {
    let mut bench = lookup_bench();
    let calendar = Calendar {
        now: parse_timestamp("2026-02-18T12:00:00Z").unwrap(),
        zone: Zone::Fixed(FixedOffset::east_opt(3600).unwrap()),
    };
    let mut ask = |question: &str| {
        let request = RecallRequest::new(question).with_times_from_query(&calendar);
        bench.ask_with(&request, Some(5))
    };
    let recall = ask("what happened in april 2019");
    let april =
        |found: &RetrievedMemory| found.record.timestamp.to_rfc3339().starts_with("2019-04");
    assert!(april(&recall.results[0]) && april(&recall.results[1]));
    assert_eq!(
        recall.results[0].why.matched_identifiers[0].field,
        "timestamp"
    );
    assert!(!recall.nothing_relevant);
    let recall = ask("work on the tests of the search last week");
    assert!(recall.results[0].record.timestamp >= parse_timestamp("2026-02-09").unwrap());
    let recall = ask("routine work yesterday");
    assert_eq!(recall.notes, ["no memory is from the time of `yesterday`"]);
    let recall = ask("routine work on 2026-02-30");
    assert!(
        recall.notes[0].contains("no calendar has the day"),
        "{:?}",
        recall.notes
    );
}

fn fields(found: &RetrievedMemory) -> impl Iterator<Item = &str> {
    let named = found.why.matched_identifiers.iter();
    named.map(|named| named.field.as_str())
}

#[test]
pub(super) fn an_event_of_the_store_is_a_time() {
    let mut bench = lookup_bench();
    let mut release = record("release", "Release of version 3", 1, "s");
    release.timestamp = parse_timestamp("2019-06-20T12:00:00Z").ok();
    let mut mention = record(
        "plan",
        "Before the release everybody rests for a day",
        1,
        "s",
    );
    mention.timestamp = parse_timestamp("2026-02-11T12:00:00Z").ok();
    bench.insert(vec![release, mention]);
    let calendar = Calendar {
        now: parse_timestamp("2026-02-18T12:00:00Z").unwrap(),
        zone: Zone::Utc,
    };
    let mut ask = |question: &str| {
        let request = RecallRequest::new(question).with_times_from_query(&calendar);
        bench.ask_with(&request, Some(5))
    };
    let day = |found: &RetrievedMemory| found.record.timestamp;
    let release = parse_timestamp("2019-06-20T12:00:00Z").unwrap();

    let before = ask("which routine work on the tests came before the release?");
    let note = &before.notes[0];
    assert!(
        note.starts_with("`before the release` was read as before 2019-06-20 12:00"),
        "{note}"
    );
    // Something else is asked: records on that side of the event are preferred, and the reason says
    // so.
    for found in &before.results {
        let told: Vec<&str> = fields(found).collect();
        assert_eq!(
            told.contains(&"timestamp"),
            day(found) < release,
            "{told:?}"
        );
    }
    // Nothing else is asked: the records on that side answer, and for `since` the event itself.
    let since = ask("what happened since the release");
    assert!(since.results.iter().all(|found| day(found) >= release));
    assert!(!since.nothing_relevant);
    let before = ask("what happened before the release");
    assert!(before.results.iter().all(|found| day(found) < release));
    // The latest event is meant anyway, and a version needs no article.
    for question in [
        "work since the last release",
        "changes since version 3",
        "was seit dem Release",
    ] {
        let since = ask(question);
        assert!(
            since.notes[0].contains("read as since 2019-06-20"),
            "{question}"
        );
    }
    // No record describes it, or none is on that side: the words are ordinary words.
    assert!(ask("routine work before the wedding").notes.is_empty());
}

#[test]
pub(super) fn odd_questions_are_answered_and_say_how_they_were_taken() {
    let mut bench = lookup_bench();
    let mut notes = |question: &str, axis: Option<usize>| {
        let recall = bench.ask_with(&RecallRequest::new(question), axis);
        recall.notes.join("; ")
    };
    assert!(notes(&"search ".repeat(150_000), Some(1)).contains("only the first 16384"));
    assert!(notes("the", None).contains("no word to look up by; use words"));
    assert!(notes("?! ...", Some(1)).contains("its meaning alone"));
    assert_eq!(notes("\u{641c}\u{7d22}\u{6d4b}\u{8bd5}", Some(1)), "");
    assert!(notes("the \"first match", Some(1)).contains("a quote is not closed"));
    assert!(notes("\"match of the first\"", Some(1)).contains("word by word"));
    for odd in [
        "\"\"",
        "\"the\"",
        "\"",
        "#",
        "=",
        "--",
        "\u{201c}\u{201d}",
        "a=\u{0}",
        "/../",
    ] {
        notes(odd, Some(1));
    }
    let mut request = RecallRequest::new("search");
    request.filter.tags = Some(vec!["none-such".into()]);
    let recall = bench.ask_with(&request, Some(1));
    assert_eq!(
        recall.notes,
        ["no memory is tagged `none-such`; change the filter, or leave it out"]
    );
    assert!(
        RecallRequest::new(" \n")
            .validate()
            .unwrap_err()
            .to_string()
            .contains("reprise list")
    );
}

/// A date is that of a record, or that of what it describes; the numbers of a date are no words.
#[test]
pub(super) fn a_date_that_no_record_is_from_is_what_is_told() {
    let mut bench = lookup_bench();
    let mut told = record("told", "The dentist is on the 2nd of November", 1, "s");
    let mut version = record(
        "version",
        "Release 2.8 of november, routine work on 2 things",
        1,
        "s",
    );
    for one in [&mut told, &mut version] {
        one.timestamp = parse_timestamp("2026-02-01T12:00:00Z").ok();
    }
    bench.insert(vec![told, version]);
    let calendar = Calendar {
        now: parse_timestamp("2026-02-18T12:00:00Z").unwrap(),
        zone: Zone::Utc,
    };
    for question in [
        "what is on 2 november",
        "november 2nd",
        "routine work on 2 november",
    ] {
        let request = RecallRequest::new(question).with_times_from_query(&calendar);
        let recall = bench.ask_with(&request, Some(5));
        let first = &recall.results[0];
        if !question.contains("work") {
            assert_eq!(
                first.record.find_external_id("batch"),
                Some("told"),
                "{question}"
            );
            assert_eq!(fields(first).next(), Some("text"), "{question}");
        }
        let words = recall
            .results
            .iter()
            .flat_map(|found| &found.why.matched_words);
        assert!(words.into_iter().all(|word| word != "2"), "{question}");
    }
}

/// What is named comes first whatever else is asked: an author in small letters, an issue in a long
/// sentence, a word in capitals, a rare word, a title.
#[test]
pub(super) fn names_are_certain_in_any_sentence() {
    let mut bench = lookup_bench();
    let mut more: Vec<NewRecord> = (0..24)
        .map(|n| {
            record(
                &format!("todo{n}"),
                &format!("A todo of the tests, number {n}"),
                1,
                "s",
            )
        })
        .collect();
    more.push(record(
        "shout",
        "The parser has a TODO in its tests",
        1,
        "s",
    ));
    more.push(record(
        "title",
        "# Routine work on the search.\nAll of it.",
        1,
        "s",
    ));
    more.push(record(
        "rare",
        "The kestrel broke its disk in the tests",
        1,
        "s",
    ));
    bench.insert(more);
    for (question, external) in [
        ("TODO", "shout"),
        ("what mentions TODO", "shout"),
        ("kestrel", "rare"),
        ("anything about kestrel?", "rare"),
        ("Routine work on the search", "title"),
        ("what was fixed in #1268", "21459731eeb2"),
        (
            "which colours were wrong when the tests of #1268 failed in winter",
            "21459731eeb2",
        ),
        (
            "commits by tavian barnes about the search and routine work on its tests",
            "8acb30bc415b",
        ),
    ] {
        let recall = bench.ask(question, 5);
        let first = &recall.results[0];
        assert_eq!(
            first.record.find_external_id("batch"),
            Some(external),
            "{question}"
        );
        assert!(!recall.nothing_relevant, "{question}");
    }
    // Most records are his: those about the pager come first among them.
    let recall = bench.ask("commits by sharkdp about work number 17", 5);
    let his = |found: &RetrievedMemory| found.record.metadata["author"] == "sharkdp";
    assert!(recall.results.iter().all(his));
    assert!(recall.results[0].record.text.contains("number 17"));
    // A word that asks something about a thing is no look-up.
    assert!(bench.ask("where is kestrel", 5).results[0].score < 0.9);
    let snapshot = bench.engine().snapshot();
    assert_eq!(snapshot.find_by_external_hash_prefix("2145973").len(), 1);
    assert!(snapshot.find_by_external_hash_prefix("00aa").len() > 1);
    assert!(
        snapshot.find_by_external_hash_prefix("what").is_empty()
            && snapshot.find_by_external_hash_prefix("21").is_empty()
    );
}

/// A UUID is found by its first characters, like a hash, in a text and as a name; and a record by
/// those of its own id.
#[test]
pub(super) fn a_long_name_is_found_by_its_first_characters() {
    let mut bench = lookup_bench();
    let uuid = "3f2504e0-4f89-11d3-9a0c-0305e82c3301";
    bench.insert(vec![
        record("uuid", &format!("The job {uuid} broke the tests"), 1, "s"),
        record(
            "7c9e6679-7425-40de-944b-e07fc1f90ae7",
            "A routine search that is called by its UUID",
            1,
            "s",
        ),
        record(
            "a b 0-1-2",
            "A routine search that is called as a file may be",
            1,
            "s",
        ),
    ]);
    for (question, external) in [
        (uuid, "uuid"),
        ("3f2504e0", "uuid"),
        ("what broke in 3F2504E0-4f89?", "uuid"),
        ("7c9e6679", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("a b 0-1-2", "a b 0-1-2"),
        (" A b  0-1-2\n", "a b 0-1-2"),
    ] {
        let recall = bench.ask(question, 3);
        let first = &recall.results[0];
        let found = first.record.find_external_id("batch");
        assert_eq!(found, Some(external), "{question}");
        assert!(!recall.nothing_relevant, "{question}");
    }
    let snapshot = bench.engine().snapshot();
    let named = snapshot.find_by_external_hash_prefix("7c9e6679");
    assert_eq!(
        named,
        snapshot.find_by_external_hash_prefix("7C9E6679-7425")
    );
    let whole = named[0].to_string();
    assert_eq!(snapshot.find_by_id_prefix(&whole), named);
    assert!(snapshot.find_by_id_prefix(&whole[..8]).contains(&named[0]));
    for none in [
        &whole[..7],
        "what",
        "zzzzzzzz",
        "3f2504e0-4f89",
        "\u{fc}".repeat(5).as_str(),
    ] {
        assert!(snapshot.find_by_id_prefix(none).is_empty(), "{none}");
    }
}
