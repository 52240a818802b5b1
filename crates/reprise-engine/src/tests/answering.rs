//! Which results of an answer are shown: no questions, nothing unlikely, only records of a named
//! time, and no expired records.

use reprise_types::{
    Calendar, ListRequest, MemoryFilter, MemoryRecord, NewRecord, PublicationOrigin, RecordType,
    RelevanceVerdict, Zone,
};
use serde_json::json;

use super::*;

pub(super) fn prompt_record(external: &str, text: &str, session: &str) -> NewRecord {
    let mut prompt = record(external, text, 0, session);
    prompt.details = Some(json!({"type": "prompt"}));
    prompt
}

fn answer_record(external: &str, text: &str, session: &str) -> NewRecord {
    let mut answer = record(external, text, 0, session);
    answer.source = MemorySource::WorkerResult;
    answer
}

/// Inserts records about other things, which no question here is about.
pub(super) fn insert_unrelated_records(bench: &mut EngineBench) {
    let insert_unrelated_records = (0..40).map(|n| {
        let text = format!("note {n} on the garden, the roof and the {n}th window");
        record(&format!("other-{n}"), &text, 3 + (n % 4), "wiki")
    });
    bench.insert(insert_unrelated_records.collect());
}

fn request_with_times(question: &str) -> RecallRequest {
    RecallRequest::new(question).with_times_from_query(&Calendar {
        now: parse_timestamp("2026-02-18T12:00:00Z").unwrap(),
        zone: Zone::Utc,
    })
}

#[test]
pub(super) fn a_prompt_is_no_answer_and_leads_to_what_followed_it() {
    let question = "why is the checkout total wrong with a coupon";
    let said = "The sum counted each coupon once per line of the cart, so it came off twice.";
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    bench.insert(vec![
        prompt_record("asked", question, "one"),
        answer_record("told", said, "one"),
    ]);
    let recall = bench.ask(question, 0);
    assert!(!EngineBench::ids(&recall).contains(&"asked"));
    let best = &recall.results[0];
    assert_eq!(EngineBench::ids(&recall)[0], "told", "{recall:?}");
    assert!(best.why.answered.is_some() && best.shown, "{best:?}");
    assert!(best.why.reason.contains("followed when this was asked on "));
    let sum: f32 = best.why.signals.iter().map(|part| part.contribution).sum();
    assert!((1.0 / (1.0 + (-sum).exp()) - best.score).abs() < 1e-4);
    assert!(
        recall
            .notes
            .iter()
            .any(|note| note.starts_with("asked before on "))
    );

    // A question is answered with earlier questions, and a list has all of them.
    let recall = bench.ask("what did I ask about the coupon", 0);
    assert!(EngineBench::ids(&recall).contains(&"asked"), "{recall:?}");
    let listed = bench.engine().snapshot().list(&ListRequest::default());
    assert!(listed.records.iter().any(|one| one.text == question));
}

#[test]
pub(super) fn a_question_asked_before_is_no_rival_of_its_answer() {
    let question = "which port does the staging proxy use";
    let fact = record("fact", "The staging proxy listens on port 8443", 0, "notes");
    let alone = |prompts: usize| {
        let mut bench = EngineBench::new();
        insert_unrelated_records(&mut bench);
        bench.insert(vec![fact.clone()]);
        for n in 0..prompts {
            bench.insert(vec![prompt_record(
                &format!("asked-{n}"),
                question,
                &format!("s{n}"),
            )]);
        }
        let recall = bench.ask(question, 0);
        assert_eq!(EngineBench::ids(&recall)[0], "fact");
        assert!(recall.results[0].shown);
        recall.results[0].score
    };
    // Twelve nearer rivals would make it the thirteenth, and words that thirteen records hold say
    // little: leads take part in nothing.
    let (first, again) = (alone(0), alone(12));
    assert!((again - first).abs() < 1e-5, "{first} {again}");
}

#[test]
pub(super) fn a_prompt_that_repeats_a_word_is_no_answer_to_itself() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    let text = "The parser is the old parser: a parser that has no parser tests, the parser \
                grammar and the parser tokens are the parser's own, fix the parser";
    // The record has another axis than the question, so that only its words count.
    let mut told = prompt_record("told", text, "one");
    told.embedding = Some(Embedding::new(space(), vector(3, 0.0)));
    bench.insert(vec![told]);
    let recall = bench.ask(text, 0);
    assert!(!EngineBench::ids(&recall).contains(&"told"), "{recall:?}");
}

#[test]
pub(super) fn what_others_published_has_a_place_beside_four_lines_of_ones_own() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    let told = (0..5).map(|n| {
        let text = format!("The staging proxy listens on port 844{n} of host {n}");
        record(&format!("told-{n}"), &text, 0, "notes")
    });
    bench.insert(told.collect());
    let mut recall = bench.ask("which port does the staging proxy listen on", 0);
    for one in &mut recall.results {
        one.sona_score = if one.record.session_id == "notes" {
            0.7
        } else {
            0.001
        };
    }
    let shown = |recall: &RecallResponse| -> Vec<usize> {
        let places = recall.results.iter().enumerate();
        places
            .filter(|(_, one)| one.shown)
            .map(|(at, _)| at)
            .collect()
    };
    crate::decide_shown(&mut recall);
    assert_eq!(shown(&recall), [0, 1, 2, 3]);
    recall.results[4].published = Some(PublicationOrigin {
        author: "ada".parse().unwrap(),
        version: "1".to_owned(),
        quality: 0.5,
    });
    crate::decide_shown(&mut recall);
    assert_eq!(shown(&recall), [0, 1, 2, 4]);
    // A published line that is not good enough by itself takes no place.
    recall.results[4].sona_score = 0.02;
    recall.results[4].why.raw_distance = Some(0.9);
    crate::decide_shown(&mut recall);
    assert_eq!(shown(&recall), [0, 1, 2, 3]);
}

#[test]
pub(super) fn a_line_that_stands_in_another_is_shown_once() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    let short = "The staging proxy listens on port 8441";
    let long = format!("Kept in mind: {short}, since Monday");
    bench.insert(vec![
        record("long", &long, 0, "notes"),
        record("short", short, 0, "chat"),
    ]);
    let mut recall = bench.ask("which port does the staging proxy listen on", 0);
    let long_first = |one: &reprise_types::RetrievedMemory| one.record.body.text != long;
    recall.results.sort_by_key(long_first);
    for one in &mut recall.results {
        (one.score, one.sona_score) = (0.7, 0.7);
    }
    crate::decide_shown(&mut recall);
    let shown: Vec<_> = recall.results.iter().map(|one| one.shown).collect();
    assert_eq!(shown[..2], [true, false]);
}

#[test]
pub(super) fn a_turn_that_asks_and_tells_may_answer_and_one_that_only_asks_does_not() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    bench.insert(vec![
        record("asks", "Why did we leave Heroku?", 0, "chat"),
        answer_record(
            "told",
            "Its dynos slept, and the invoices were late each Monday.",
            "chat",
        ),
        record(
            "both",
            "I am on Flask 2.3.1, how do I add a route for carts?",
            1,
            "other",
        ),
    ]);
    let recall = bench.ask("why did we leave heroku", 0);
    assert!(!EngineBench::ids(&recall).contains(&"asks"));
    assert_eq!(EngineBench::ids(&recall)[0], "told");
    let recall = bench.ask("which version of Flask am I on", 1);
    assert_eq!(EngineBench::ids(&recall)[0], "both");
}

#[test]
pub(super) fn a_prompt_that_tells_may_answer() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    bench.insert(vec![prompt_record(
        "told",
        "We use pnpm here, never npm. Fix the build",
        "one",
    )]);
    let mut recall = bench.ask("which package manager do we use, pnpm or npm", 2);
    assert_eq!(EngineBench::ids(&recall)[0], "told");
    // Another prompt gets the line if it is likely by itself.
    for (score, shown) in [(0.5, false), (0.7, true)] {
        (recall.results[0].score, recall.results[0].sona_score) = (score, score);
        crate::decide_shown(&mut recall);
        assert_eq!(recall.results[0].shown, shown, "{score}");
    }
    // Repeated word for word, it is no answer to itself.
    let recall = bench.ask("We use pnpm here, never npm. Fix the build", 0);
    assert!(!EngineBench::ids(&recall).contains(&"told"));
}

#[test]
pub(super) fn nothing_is_shown_where_nothing_is_likely_and_little_where_one_thing_is_certain() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    bench.insert(vec![record(
        "key",
        "The spare key hangs behind the blue cabinet",
        0,
        "n",
    )]);
    let recall = bench.ask("how do lifetimes work in rust", 2);
    assert_eq!(recall.verdict, RelevanceVerdict::Nothing);
    assert!(recall.results.iter().all(|one| !one.shown));
    let recall = bench.ask("where does the spare key hang", 0);
    let shown: Vec<bool> = recall.results.iter().map(|one| one.shown).collect();
    assert_eq!(shown.iter().filter(|shown| **shown).count(), 1);
    assert!(shown[0]);
    assert_eq!(recall.verdict, RelevanceVerdict::Relevant);
    // A title that is repeated word for word is certain.
    let recall = bench.ask("the spare key hangs behind the blue cabinet.", 2);
    assert_eq!(EngineBench::ids(&recall)[0], "key");
    assert!(recall.results[0].why.is_certain && recall.results[0].shown);
}

#[test]
pub(super) fn near_in_words_alone_is_related_and_not_likely() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    let mut olga = record("olga", "Olga moved to the search team", 0, "n");
    // Between the axis of the question and another: a cosine of about .5.
    let mut between = vector(0, 0.0);
    between[5] = 2.2;
    normalize(&mut between);
    olga.embedding = Some(Embedding::new(space(), between));
    bench.insert(vec![olga]);
    let recall = bench.ask("what is the last name of Olga", 0);
    assert_eq!(EngineBench::ids(&recall)[0], "olga");
    assert_eq!(
        recall.verdict,
        RelevanceVerdict::Weak,
        "{:?}",
        recall.results[0]
    );
}

#[test]
pub(super) fn a_time_that_is_named_is_a_filter() {
    let mut bench = EngineBench::new();
    let mut on = |external: &str, text: &str, day: &str| {
        let mut new = record(external, text, 0, "n");
        new.timestamp = parse_timestamp(&format!("{day}T12:00:00Z")).ok();
        bench.insert(vec![new]);
    };
    on(
        "cents",
        "Decided to store money as integer cents",
        "2025-11-02",
    );
    on("tent", "Lent the tent to Farid", "2025-11-03");
    on(
        "ie",
        "Decided to drop IE support in the admin panel",
        "2025-10-06",
    );
    on("release", "Version 2.8 is out", "2025-11-20");
    on(
        "due",
        "The certificate ends on 4 December, renew it",
        "2025-09-21",
    );
    on("cake", "Baked a cake", "2025-12-04");
    let mut ids = |question: &str| {
        let recall = bench.ask_with(&request_with_times(question), Some(0));
        assert_ne!(recall.verdict, RelevanceVerdict::Nothing, "{question}");
        assert!(
            recall.results[0].shown,
            "{question}: {:?}",
            recall.results[0]
        );
        let ids = EngineBench::ids(&recall);
        ids.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ids("what did we decide on november 2nd"), ["cents"]);
    assert_eq!(ids("what did we decide on 02.11.2025"), ["cents"]);
    assert_eq!(ids("which decision was made in early october"), ["ie"]);
    assert_eq!(
        ids("what was decided between 1 and 10 november")[0],
        "cents"
    );
    // A question about all of a time lists the oldest first.
    assert_eq!(
        ids("what happened in november"),
        ["cents", "tent", "release"]
    );
    // A date may be that of what a record describes.
    assert_eq!(ids("what ends on 4 december")[0], "due");
    // If the question is also about something else, a time alone puts no line into a prompt.
    let recall = bench.ask_with(
        &request_with_times("what did Johanna paint in september 2025"),
        Some(3),
    );
    assert_eq!(EngineBench::ids(&recall), ["due"]);
    assert!(recall.verdict != RelevanceVerdict::Nothing && !recall.results[0].shown);
}

#[test]
pub(super) fn what_is_over_answers_no_more_tended_or_not() {
    let mut bench = EngineBench::new();
    let mut offer = record("offer", "The hotel offer costs 80 euros a night", 0, "n");
    offer.details = Some(json!({"type": "note", "expires_at": "2026-02-18T11:00:00Z"}));
    let mut pass = record("pass", "The hotel pass is valid for 80 nights", 0, "n");
    pass.metadata
        .insert("expires_at".into(), json!("2026-02-18T13:00:00Z"));
    bench.insert(vec![offer, pass]);
    let recall = bench.ask_with(
        &request_with_times("what does the hotel cost a night"),
        Some(0),
    );
    assert_eq!(EngineBench::ids(&recall), ["pass"]);
}

#[test]
pub(super) fn a_number_of_an_issue_is_certain_whatever_is_asked_of_it() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    bench.insert(vec![record(
        "fix",
        "Close the pager on SIGPIPE, see #1268",
        1,
        "n",
    )]);
    for question in ["what was fixed in #1268", "why did we merge #1268"] {
        let recall = bench.ask(question, 2);
        assert_eq!(EngineBench::ids(&recall)[0], "fix");
        assert!(
            recall.results[0].shown && recall.verdict == RelevanceVerdict::Relevant,
            "{question}"
        );
    }
}

#[test]
pub(super) fn use_is_shown_by_what_is_said_after() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    let text = "The checkout total is wrong where a coupon is counted per line, see rounding.rs";
    let ids = inserted_ids(&bench.insert(vec![record("told", text, 0, "n")]));
    let memory = bench.engine().snapshot();
    let question = "why is the checkout total wrong";
    let shows = |said: &str| memory.has_evidence_of_use(ids[0], question, said);
    assert!(shows(&format!("as {} says", ids[0])));
    assert!(shows("I have changed src/rounding.rs"));
    assert!(shows("the coupon was counted twice"));
    assert!(!shows("the checkout total was wrong; it is right now"));
    assert!(!shows("done"));
}

#[test]
pub(super) fn a_run_that_tells_no_step_crowds_neither_answers_nor_lists() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    let question = "how was the coupon rounding put right";
    let run = |name: &str, steps: &[&str]| {
        let text = format!("{question}\nworked in 1 run\n{}", steps.join("\n"));
        let mut run = record(name, &text, 0, "");
        (run.source, run.kind) = (MemorySource::TrajectoryOutcome, MemoryKind::Strategy);
        run.details = Some(json!({"type": "outcome", "question": question, "steps": steps}));
        run
    };
    bench.insert(vec![record(
        "fact",
        "The coupon is rounded once per cart",
        0,
        "n",
    )]);
    for number in 0..20 {
        bench.insert(vec![run(&format!("bare-{number}"), &[])]);
    }
    bench.insert(vec![run("told", &["1. round per cart"])]);
    let recall = bench.ask(question, 0);
    let ids = EngineBench::ids(&recall);
    assert!(ids.contains(&"fact") && ids.contains(&"told"), "{ids:?}");
    assert!(!ids.iter().any(|id| id.starts_with("bare")), "{ids:?}");
    // A filter for runs gets them.
    let runs = |filter: MemoryFilter| ListRequest {
        filter,
        ..ListRequest::default()
    };
    let only = MemoryFilter {
        types: Some(vec![RecordType::Run]),
        ..MemoryFilter::default()
    };
    let snapshot = bench.engine().snapshot();
    assert_eq!(snapshot.list(&runs(only.clone())).considered, 21);
    let listed = snapshot.list(&runs(MemoryFilter::default()));
    let bare = |one: &MemoryRecord| one.is_run_without_steps();
    assert!(!listed.records.iter().any(bare));
    assert!(
        listed.notes[0].contains("20 runs without any step"),
        "{:?}",
        listed.notes
    );
    let mut request = RecallRequest::new(question);
    request.filter = only;
    let recall = bench.ask_with(&request, Some(0));
    assert!(
        EngineBench::ids(&recall)
            .iter()
            .any(|id| id.starts_with("bare"))
    );
}

#[test]
pub(super) fn what_is_plainly_asked_for_comes_before_what_is_as_near() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    let told = "The backup of the cart database goes to the second disk each night";
    let mut note = record("note", told, 0, "n");
    note.embedding = Some(Embedding::new(space(), vector(0, 0.0)));
    let mut decided = record(
        "decided",
        "The cart database stays on its machine for another year, and so does the nightly backup",
        0,
        "n",
    );
    decided.details = Some(json!({"type": "decision"}));
    bench.insert(vec![note, decided]);
    let recall = bench.ask(
        "where does the backup of the cart database go each night",
        0,
    );
    assert_eq!(EngineBench::ids(&recall)[0], "note");
    let recall = bench.ask("what did we decide on the backup of the cart database", 0);
    assert_eq!(
        EngineBench::ids(&recall)[0],
        "decided",
        "{:?}",
        recall.results[0]
    );
    let why = &recall.results[0].why;
    assert!(why.signals.iter().any(|part| part.name == "asked_type"));
    let sum: f32 = why.signals.iter().map(|part| part.contribution).sum();
    assert!((1.0 / (1.0 + (-sum).exp()) - recall.results[0].score).abs() < 1e-4);
}

#[test]
pub(super) fn a_filter_of_types_admits_what_a_person_calls_so() {
    let mut bench = EngineBench::new();
    bench.insert(vec![
        record("note", "The deploy needs a key", 0, ""),
        prompt_record("asked", "why did the deploy fail", "s"),
        answer_record("told", "The deploy failed for want of a key.", "s"),
    ]);
    let snapshot = bench.engine().snapshot();
    for (types, expected) in [
        (vec![RecordType::Note], vec!["note"]),
        (vec![RecordType::Prompt], vec!["asked"]),
        (
            vec![RecordType::Answer, RecordType::Note],
            vec!["note", "told"],
        ),
        (vec![RecordType::Commit], vec![]),
    ] {
        let listed = snapshot.list(&ListRequest {
            filter: MemoryFilter {
                types: Some(types.clone()),
                ..MemoryFilter::default()
            },
            ..ListRequest::default()
        });
        let names = listed
            .records
            .iter()
            .map(|one| one.external_ids[0].id.as_str());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{types:?}");
        assert_eq!(listed.notes.is_empty(), !expected.is_empty());
    }
}

/// Near the question, and no answer: about somebody else, or without the number asked for.
#[test]
pub(super) fn a_near_miss_is_related_and_not_likely() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    bench.insert(vec![record(
        "olga",
        "Olga plays chess at the club",
        0,
        "notes",
    )]);
    for (question, verdict, lacks) in [
        (
            "does Olga play chess at the club",
            RelevanceVerdict::Relevant,
            None,
        ),
        (
            "how old is Olga who plays chess",
            RelevanceVerdict::Weak,
            Some("has no number"),
        ),
        (
            "does our Marek play chess at the club",
            RelevanceVerdict::Weak,
            Some("does not name marek"),
        ),
    ] {
        let recall = bench.ask(question, 0);
        assert_eq!(recall.verdict, verdict, "{question}");
        let why = &recall.results[0].why;
        assert_eq!(why.lacks.as_deref(), lacks);
        assert!(
            lacks.is_none_or(|lacks| why.reason.ends_with(lacks)),
            "{why:?}"
        );
    }
}

#[test]
pub(super) fn what_a_run_left_answers_where_any_of_its_records_does() {
    let question = "fix the bug in the auth module";
    let score = |run: Option<&str>| {
        let mut bench = EngineBench::new();
        insert_unrelated_records(&mut bench);
        let one = |name: &str, text: &str, source: MemorySource| {
            let mut one = record(name, text, 0, "");
            (one.source, one.kind) = (source, MemoryKind::Strategy);
            one.provenance.run_id = run.map(str::to_owned);
            let mut near = vector(0, 0.0);
            near[5] = 2.2;
            normalize(&mut near);
            one.embedding = Some(Embedding {
                space: space(),
                vector: near,
            });
            one
        };
        let step = "the auth tests pass since a mutex holds each refresh";
        let left = format!("fix the race of the logins\nworked\n1. {step}");
        bench.insert(vec![
            one("told", "the auth race is gone", MemorySource::WorkerResult),
            one("step", step, MemorySource::WorkerResult),
            one("left", &left, MemorySource::TrajectoryOutcome),
        ]);
        let recall = bench.ask(question, 0);
        let found = recall.results.iter();
        let mut found = found.filter(|one| one.record.external_ids[0].id == "left");
        let left = found.next().expect("it is found").clone();
        let sum: f32 = left.why.signals.iter().map(|part| part.contribution).sum();
        assert!((1.0 / (1.0 + (-sum).exp()) - left.score).abs() < 1e-4);
        (EngineBench::ids(&recall)[0].to_owned(), left.score)
    };
    let ((first, together), (_, apart)) = (score(Some("r-7")), score(None));
    assert_eq!(first, "left");
    assert!(together > apart + 0.1, "{together} {apart}");
}
