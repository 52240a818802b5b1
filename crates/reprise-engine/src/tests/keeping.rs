//! Writing, recalling and forgetting in one process.

use super::*;
use crate::{ForgetSelector, RecallCall};
use reprise_types::{DegradedPart, Embedding, MemoryFilter, RejectReason, RelevanceVerdict};

#[test]
pub(super) fn what_resonates_comes_first_and_says_why() {
    let mut bench = EngineBench::new();
    inserted_ids(&bench.insert(week()));
    let recall = bench.ask("a bug in the auth module", 0);
    let first = &recall.results[0];
    assert_eq!(first.record.find_external_id("batch"), Some("auth-2"));
    assert_eq!(first.why.matched_words, ["auth"]);
    assert!(first.why.raw_distance.unwrap() < 0.1);
    assert_eq!(
        first.score.to_bits(),
        first.sona_score.to_bits(),
        "nothing was learned"
    );
    let logit: f32 = first
        .why
        .signals
        .iter()
        .map(|signal| signal.contribution)
        .sum();
    assert!((first.score - 1.0 / (1.0 + (-logit).exp())).abs() < 1e-5);
    assert!(
        recall
            .results
            .windows(2)
            .all(|pair| pair[0].score >= pair[1].score)
    );
    assert_eq!(recall.considered, 7);
    assert!(recall.degraded.is_empty());
}

#[test]
pub(super) fn other_words_are_doubted_by_meaning_alone() {
    let mut bench = EngineBench::new();
    let others = (0..210).map(|n| {
        let text = format!("Ticket {n} was closed on the same day");
        record(&format!("t{n}"), &text, 2 + n % 5, &format!("s{n}"))
    });
    let mut records: Vec<NewRecord> = others.collect();
    records.push(record("fact", "The boiler loses pressure", 0, "home"));
    inserted_ids(&bench.insert(records));
    let near = in_other_words(&mut bench, 0.7);
    assert_eq!(
        near.results[0].record.find_external_id("batch"),
        Some("fact")
    );
    assert!(near.results[0].why.matched_words.is_empty());
    assert!(!near.nothing_relevant, "{}", near.results[0].score);
    let far = in_other_words(&mut bench, 0.3);
    assert!(far.nothing_relevant, "{}", far.results[0].score);
    let doubt = |recall: &RecallResponse| {
        let mut signals = recall.results[0].why.signals.iter();
        signals
            .find(|signal| signal.name == "doubt")
            .unwrap()
            .contribution
    };
    assert!(doubt(&far) < -5.0 && doubt(&near) > -1.0);
}

#[test]
pub(super) fn the_only_record_is_an_answer_where_it_is_near_alone() {
    let mut bench = EngineBench::new();
    inserted_ids(&bench.insert(vec![record("fact", "The boiler loses pressure", 0, "home")]));
    let verdict = |bench: &mut EngineBench, cosine| in_other_words(bench, cosine).verdict;
    assert_eq!(verdict(&mut bench, 0.7), RelevanceVerdict::Relevant);
    assert_eq!(verdict(&mut bench, 0.45), RelevanceVerdict::Weak);
    assert_ne!(verdict(&mut bench, 0.22), RelevanceVerdict::Relevant);
    assert_eq!(verdict(&mut bench, 0.05), RelevanceVerdict::Nothing);
}

/// Asks without a word of "The boiler loses pressure", at this cosine to it.
fn in_other_words(bench: &mut EngineBench, cosine: f32) -> RecallResponse {
    let mut query = vec![0.0; DIMENSIONS];
    query[0] = cosine;
    query[7] = -(1.0 - cosine * cosine).sqrt();
    let request = RecallRequest::new("why is the heating off");
    let (space, id) = (space(), RecallId::from_u128(1));
    let snapshot = bench.engine().snapshot();
    snapshot.recall(&RecallCall::new(&request, id, &NoLearning).with_vectors(&[(&space, &query)]))
}

#[test]
pub(super) fn a_chat_does_not_bury_the_lesson_that_answers() {
    let lesson = |text: &str, axis| {
        let mut lesson = record(text, text, axis, "lessons");
        lesson.kind = MemoryKind::Finding;
        lesson.source = MemorySource::WorkerResult;
        lesson
    };
    let mut bench = EngineBench::new();
    inserted_ids(&bench.insert(vec![
        lesson("the staging database is reset every night", 0),
        lesson("payments are retried with an idempotency key", 2),
        lesson("web pods need 512 MB", 4),
    ]));
    let alone = bench.ask("when is staging wiped", 0);
    let turns = [
        "The staging cluster is called heron",
        "Noted: staging is heron",
        "We looked at staging before lunch",
        "Yes, staging was looked at by eleven",
    ];
    let turn = |text: &str| record(text, text, 7, "chat");
    let mut chat = turns.map(turn);
    for (place, turn) in chat.iter_mut().enumerate() {
        turn.embedding = Some(Embedding::new(space(), vector(7, 0.6)));
        if place % 2 == 1 {
            turn.source = MemorySource::WorkerResult;
        }
    }
    inserted_ids(&bench.insert(chat.into()));
    let beside = bench.ask("when is staging wiped", 0);
    let [before, after] = [&alone, &beside].map(|recall| &recall.results[0]);
    assert_eq!(
        after.record.id,
        before.record.id,
        "{:?}",
        EngineBench::ids(&beside)
    );
    assert!(
        after.score > 0.5 * before.score,
        "{} {}",
        after.score,
        before.score
    );
    let logit: f32 = after.why.signals.iter().map(|s| s.contribution).sum();
    assert!((after.score - 1.0 / (1.0 + (-logit).exp())).abs() < 1e-5);
}

#[test]
pub(super) fn stats_say_what_form_the_records_have() {
    let mut bench = EngineBench::new();
    let mut records: Vec<NewRecord> = (0..4)
        .map(|n| record(&format!("c{n}"), "two words", 1, "chat"))
        .collect();
    for answer in records.iter_mut().skip(1).step_by(2) {
        answer.source = MemorySource::WorkerResult;
    }
    records.push(record(
        "alone",
        "six words of a longer text alone",
        2,
        "log",
    ));
    inserted_ids(&bench.insert(records));
    let stats = bench.engine().stats();
    // Four of five are among answers, the fifth has no neighbour.
    assert!((stats.dialogue - 0.8).abs() < 1e-6, "{}", stats.dialogue);
    assert!(
        (2.0..3.0).contains(&stats.words_mean),
        "{}",
        stats.words_mean
    );
}

#[test]
pub(super) fn a_second_copy_is_a_duplicate_and_changes_nothing() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let bytes = std::fs::metadata(bench.path()).unwrap().len();
    let again = bench.insert(week());
    let expected: Vec<_> = ids
        .iter()
        .map(|id| WriteOutcome::Duplicate {
            of: *id,
            differs: false,
        })
        .collect();
    assert_eq!(again, expected);
    assert_eq!(std::fs::metadata(bench.path()).unwrap().len(), bytes);
    let twice = vec![record("x", "one", 1, "s"), record("x", "two", 1, "s")];
    assert!(matches!(
        bench.insert(twice).as_slice(),
        [WriteOutcome::Inserted { id }, WriteOutcome::Duplicate { of, differs: true }] if id == of
    ));
}

#[test]
pub(super) fn a_bad_record_is_refused_alone() {
    let mut bench = EngineBench::new();
    let mut bad = record("bad", "text", 0, "s");
    bad.embedding = Some(Embedding::new(space(), vec![f32::NAN; DIMENSIONS]));
    let mut wide = record("wide", "text", 0, "s");
    wide.embedding = Some(Embedding::new(
        EmbeddingSpace {
            dimensions: 3,
            ..space()
        },
        vec![1.0, 0.0, 0.0],
    ));
    let mut orphan = record("orphan", "text", 0, "s");
    orphan.supersedes = Some(RecordId::from_u128(7));
    let outcomes = bench.insert(vec![bad, record("good", "text", 0, "s"), wide, orphan]);
    assert!(matches!(
        &outcomes[0],
        WriteOutcome::Rejected {
            why: RejectReason::Vector { .. }
        }
    ));
    assert!(matches!(&outcomes[1], WriteOutcome::Inserted { .. }));
    assert!(matches!(
        &outcomes[2],
        WriteOutcome::Rejected {
            why: RejectReason::Vector { .. }
        }
    ));
    assert!(matches!(
        &outcomes[3],
        WriteOutcome::Rejected {
            why: RejectReason::UnknownSuperseded { .. }
        }
    ));
    assert_eq!(bench.engine().stats().live, 1);
}

#[test]
pub(super) fn without_a_query_vector_words_answer_and_say_so() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let recall = bench.ask_with(&RecallRequest::new("Lisbon hotels"), None);
    assert_eq!(EngineBench::ids(&recall)[0], "trip-1");
    assert_eq!(recall.degraded, [DegradedPart::NoQueryVector]);
    let other = EmbeddingSpace {
        version: "2".into(),
        ..space()
    };
    let query = vector(4, 0.0);
    let request = RecallRequest::new("Lisbon hotels");
    let snapshot = bench.engine().snapshot();
    let id = RecallId::from_u128(1);
    let mixed = snapshot
        .recall(&RecallCall::new(&request, id, &NoLearning).with_vectors(&[(&other, &query)]));
    assert_eq!(
        mixed.degraded,
        [DegradedPart::NoQueryVector],
        "spaces never mix"
    );
}

#[test]
pub(super) fn unembedded_records_are_found_by_words_and_embedded_later() {
    let mut bench = EngineBench::new();
    let mut bare = record("bare", "the tangerine protocol", 5, "s");
    bare.embedding = None;
    let id = inserted_ids(&bench.insert(vec![bare]))[0];
    bench.insert(week());
    let recall = bench.ask("tangerine", 1);
    assert_eq!(EngineBench::ids(&recall)[0], "bare");
    assert_eq!(recall.degraded, [DegradedPart::UnembeddedRecords]);
    assert_eq!(
        bench.engine().unembedded_records(10),
        [(id, "the tangerine protocol".to_owned())]
    );
    let late = vec![
        (id, space(), vector(5, 0.1)),
        (RecordId::from_u128(9), space(), vector(5, 0.1)),
    ];
    assert_eq!(bench.engine().insert_late_vectors(late.clone()).unwrap(), 1);
    assert_eq!(
        bench.engine().insert_late_vectors(late).unwrap(),
        0,
        "already embedded"
    );
    assert!(bench.engine().unembedded_records(10).is_empty());
    let recall = bench.ask("a citrus fruit", 5);
    assert_eq!(EngineBench::ids(&recall)[0], "bare");
    assert!(recall.degraded.is_empty());
}

#[test]
pub(super) fn the_forgotten_never_answer_and_never_come_back() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let now = bench.now;
    let by_session = ForgetSelector::Session("tue".into());
    assert_eq!(
        bench
            .engine()
            .forget(&by_session, "asked", now)
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        bench
            .engine()
            .forget(&by_session, "asked", now)
            .unwrap()
            .len(),
        0
    );
    let external = ForgetSelector::External(ExternalId::new("batch", "trip-1"));
    assert_eq!(
        bench
            .engine()
            .forget(&external, "asked", now)
            .unwrap()
            .len(),
        1
    );
    let recall = bench.ask("auth race condition", 0);
    assert!(
        !EngineBench::ids(&recall)
            .iter()
            .any(|id| id.starts_with("auth"))
    );
    assert!(matches!(
        bench.insert(week())[1],
        WriteOutcome::Duplicate { .. }
    ));
    for _ in 0..2 {
        bench.engine().compact().unwrap();
        assert!(matches!(
            bench.insert(week())[1],
            WriteOutcome::Duplicate { .. }
        ));
        assert_eq!(bench.engine().stats().live, 3);
        assert_eq!(
            EngineBench::ids(&bench.ask("charged twice", 2))[0],
            "bill-1"
        );
        bench.reopen();
    }
    let bytes = std::fs::read(bench.path()).unwrap();
    assert!(!bytes.windows(12).any(|window| window == b"logged out a"));
}

#[test]
pub(super) fn a_correction_replaces_what_it_corrects() {
    let mut bench = EngineBench::new();
    let old = inserted_ids(&bench.insert(vec![record("old", "the port is 8080", 3, "s")]))[0];
    let before = bench.now;
    let mut new = record("new", "the port is 9090", 3, "s");
    new.supersedes = Some(old);
    bench.insert(vec![new]);
    let recall = bench.ask("which port", 3);
    assert_eq!(EngineBench::ids(&recall), ["new"]);
    let mut request = RecallRequest::new("which port");
    request.as_of = Some(before);
    assert_eq!(
        EngineBench::ids(&bench.ask_with(&request, Some(3))),
        ["old"]
    );
}

#[test]
pub(super) fn an_answer_about_the_past_is_the_answer_of_the_past() {
    let mut bench = EngineBench::new();
    let mut answers = Vec::new();
    for record in week() {
        bench.insert(vec![record]);
        let recall = bench.ask("auth race condition mutex", 0);
        answers.push((bench.now, recall.results));
    }
    let mut request = RecallRequest::new("auth race condition mutex");
    for (at, results) in &answers {
        request.as_of = Some(*at);
        assert_eq!(&bench.ask_with(&request, Some(0)).results, results);
    }
    request.as_of = Some(parse_timestamp("2001-01-01").unwrap());
    assert!(bench.ask_with(&request, Some(0)).results.is_empty());
}

#[test]
pub(super) fn the_forgotten_do_not_answer_about_the_past_either() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let before = bench.now;
    bench.now += Duration::seconds(1);
    let now = bench.now;
    bench
        .engine()
        .forget(&ForgetSelector::Session("mon".into()), "asked", now)
        .unwrap();
    let mut request = RecallRequest::new("customers are charged twice in Lisbon");
    request.as_of = Some(before);
    let recall = bench.ask_with(&request, Some(2));
    assert!(!recall.results.is_empty() && recall.degraded.is_empty());
    assert!(
        !EngineBench::ids(&recall)
            .iter()
            .any(|id| id.starts_with("bill"))
    );
}

#[test]
pub(super) fn filters_and_limits_hold() {
    let mut bench = EngineBench::new();
    bench.insert(week());
    let mut request = RecallRequest::new("auth");
    request.filter = MemoryFilter {
        session_id: Some("thu".into()),
        ..MemoryFilter::default()
    };
    let recall = bench.ask_with(&request, Some(4));
    assert_eq!(recall.considered, 2);
    assert!(
        EngineBench::ids(&recall)
            .iter()
            .all(|id| id.starts_with("trip"))
    );
    request.filter = MemoryFilter {
        kinds: Some(vec![]),
        ..MemoryFilter::default()
    };
    assert!(bench.ask_with(&request, Some(0)).results.is_empty());
    request.filter = MemoryFilter {
        kinds: Some(vec![MemoryKind::Episode; 10_000]),
        sources: Some(vec![MemorySource::UserInput; 10_000]),
        tags: Some(vec![String::new(); 10_000]),
        ..MemoryFilter::default()
    };
    assert_eq!(bench.ask_with(&request, Some(0)).considered, 0);
    request.filter.tags = None;
    assert_eq!(bench.ask_with(&request, Some(0)).considered, 7);
    let mut all = RecallRequest::new("auth");
    all.top_k = 0;
    assert!(bench.ask_with(&all, Some(0)).results.is_empty());
    all.top_k = usize::MAX;
    assert!(bench.ask_with(&all, Some(0)).results.len() <= 7);
    for query in ["", "the of and", "\u{1f600}\u{1f600}", "x"] {
        bench.ask_with(&RecallRequest::new(query), Some(0));
    }
    let long = "auth ".repeat(20_000);
    assert_eq!(EngineBench::ids(&bench.ask(&long, 0))[0], "auth-2");
}

#[test]
pub(super) fn one_telling_of_a_thing_is_enough() {
    let mut bench = EngineBench::new();
    bench.insert(vec![
        record("a", "deploy to staging", 1, "s"),
        record("b", "deploy to staging", 1, "t"),
        record("c", "deploy to production", 1, "u"),
    ]);
    assert_eq!(bench.ask("deploy", 1).results.len(), 2);
}

#[test]
pub(super) fn a_reason_is_one_plain_line_of_what_speaks_for_a_record() {
    let mut bench = EngineBench::new();
    let mut told = week();
    told.push(record(
        "flag",
        "which flag does the musl build need",
        3,
        "fri",
    ));
    // A neighbour explains a record if it has another speaker.
    let mut answer = record("answer", "jemalloc, it works on musl", 3, "fri");
    answer.source = MemorySource::WorkerResult;
    told.push(answer);
    inserted_ids(&bench.insert(told));
    let request = RecallRequest {
        top_k: 9,
        ..RecallRequest::new("the jemalloc flag on musl")
    };
    let recall = bench.ask_with(&request, Some(3));
    let reason = |external: &str| {
        let found = recall.results.iter();
        let mut found = found.filter(|hit| hit.record.find_external_id("batch") == Some(external));
        found.next().unwrap().why.reason.as_str()
    };
    let answer = reason("answer");
    assert!(answer.starts_with("same words: jemalloc, musl"), "{answer}");
    assert!(answer.contains(" in meaning"), "{answer}");
    assert!(
        answer.contains("the previous memory contains: flag"),
        "{answer}"
    );
    for hit in &recall.results {
        assert!(!hit.why.reason.is_empty() && !hit.why.reason.contains('\n'));
    }
    let other = recall
        .results
        .iter()
        .find(|hit| hit.why.matched_words.is_empty());
    assert!(other.is_none_or(|hit| !hit.why.reason.contains("same words")));
}

#[test]
fn of_many_mistyped_words_few_are_looked_up() {
    let mut bench = EngineBench::new();
    let names = [
        "certificate",
        "database",
        "migration",
        "calendar",
        "printer",
    ];
    let records = names.iter().zip(0..);
    let records = records.map(|(name, n)| record(name, &format!("the {name}"), n, "notes"));
    inserted_ids(&bench.insert(records.collect()));
    let request = RecallRequest::new("certifciate databsae migratoin calednar prniter");
    let found = bench.ask_with(&request, None).results.into_iter();
    let by_words = found.filter(|found| !found.why.matched_words.is_empty());
    assert_eq!(by_words.count(), 3);
}

#[test]
fn a_mistyped_word_finds_what_is_spelled_like_it_and_says_so() {
    let mut bench = EngineBench::new();
    let texts = [
        "The coffee machine is descaled every Friday",
        "The nightly export of the ledger goes to the gateway",
        "Anna repairs the printer on the third floor",
        "A configuration is read once, at the start",
        "Der Kaffeeautomat wird nicht mehr entkalkt, weil er kaputt ist",
    ];
    let records = texts.iter().zip(0..);
    let records = records.map(|(text, n)| record(&n.to_string(), text, n, "notes"));
    inserted_ids(&bench.insert(records.collect()));
    let mut first = |question: &str| {
        let request = RecallRequest::new(question);
        let mut found = bench.ask_with(&request, None).results.into_iter();
        let first = found.next();
        first.map_or_else(Default::default, |first| {
            let text = first.record.text.clone();
            (first.why.matched_words, first.why.reason, text)
        })
    };
    for (typed, own, record) in [
        ("cofee machien", "coffee machine", 0),
        ("exprot", "export", 1),
        ("gatewy", "gateway", 1),
        ("prnitres", "printer", 2),
        ("configuratoin", "configuration", 3),
        ("Kafeautomat", "kaffeeautomat", 4),
    ] {
        let (words, reason, text) = first(typed);
        assert_eq!(text, texts[record], "{typed}");
        assert_eq!(words.join(" "), own);
        for (own, typed) in own.split(' ').zip(typed.split(' ')) {
            let said = format!("`{own}` is spelled like `{typed}`");
            assert!(reason.contains(&said), "{reason}");
        }
        assert!(!reason.contains("same words"), "{reason}");
    }
    // Names of things are spelled as they are written, and a word that exists is not respelled.
    for exact in [
        "exprot.rs",
        "exprot_all",
        "EXPROT",
        "--exprot",
        "exprot2",
        "reads",
    ] {
        let (_, reason, _) = first(exact);
        assert!(!reason.contains(", for "), "{exact}: {reason}");
    }
}

#[test]
fn each_language_is_found_in_its_own_forms() {
    let mut bench = EngineBench::new();
    let texts = [
        "Die Sicherungen der Datenbanken werden nachts auf den Speicherger\u{e4}ten abgelegt",
        "La navegaci\u{f3}n fall\u{f3} porque los servidores no ten\u{ed}an memoria",
        "\u{420}\u{435}\u{437}\u{435}\u{440}\u{432}\u{43d}\u{44b}\u{435} \u{43a}\u{43e}\u{43f}\u{438}\u{438} \u{445}\u{440}\u{430}\u{43d}\u{438}\u{43c} \u{432} \u{41a}\u{430}\u{437}\u{430}\u{43d}\u{438}",
        "\u{6570}\u{636e}\u{5e93}\u{6bcf}\u{5929}\u{51cc}\u{6668}\u{5907}\u{4efd}",
        "The deploy went well \u{1f389}",
    ];
    let records = texts.iter().zip(0..);
    let records = records.map(|(text, n)| record(&n.to_string(), text, n, "notes"));
    inserted_ids(&bench.insert(records.collect()));
    for (question, record) in [
        ("Sicherung der Datenbank", 0),
        ("ein Geraet", 0),
        ("navegacion", 1),
        ("un servidor sin memoria", 1),
        ("\u{43a}\u{43e}\u{43f}\u{438}\u{44f}", 2),
        ("\u{5907}\u{4efd}", 3),
        ("\u{1f389}", 4),
        ("deploying", 4),
    ] {
        let request = RecallRequest::new(question);
        let found = bench.ask_with(&request, None).results;
        assert_eq!(found[0].record.text, texts[record], "{question}");
        assert!(!found[0].why.matched_words.is_empty(), "{question}");
    }
    // Texts lack the stop words of their language, phrases do not.
    let phrase = bench.ask_with(&RecallRequest::new("\"die Sicherungen\""), None);
    assert_eq!(
        phrase.results[0].why.matched_identifiers[0].text,
        "\"die Sicherungen\""
    );
}
