//! What a prompt asks: a stored prompt that asks ranks below what followed it, and each part of a
//! prompt has its best answer.

use reprise_tests::SeededRng;
use reprise_types::{MemorySource, NewRecord, RelevanceVerdict};
use serde_json::json;

use super::answering::{insert_unrelated_records, prompt_record};
use super::*;
use crate::{ForgetSelector, merge_question_answers, merge_thing_answers, split_prompt};

/// A memory with two records that answer a part of a prompt each, and others.
fn memory_of_two_subjects() -> EngineBench {
    let mut bench = EngineBench::new();
    let mut told: Vec<NewRecord> = (0..20)
        .map(|n| {
            record(
                &format!("other-{n}"),
                &format!("note {n} on the roof"),
                4,
                "wiki",
            )
        })
        .collect();
    told.push(record(
        "pods",
        "kube schedules pods by what they request",
        0,
        "a",
    ));
    told.push(record(
        "nodes",
        "the CI pipeline has four spot nodes",
        2,
        "b",
    ));
    bench.insert(told);
    bench
}

fn shown_ids(recall: &RecallResponse) -> Vec<&str> {
    let shown = recall.results.iter().filter(|found| found.shown);
    shown
        .map(|found| found.record.find_external_id("batch").unwrap())
        .collect()
}

#[test]
pub(super) fn each_part_of_a_prompt_has_its_best_answer_once() {
    let mut bench = memory_of_two_subjects();
    let asked = split_prompt("how does kube schedule pods across our CI pipeline nodes?");
    let whole = bench.ask(&asked.question, 6);
    let answers = |bench: &mut EngineBench, parts: &[String]| {
        let axes = [0, 2].into_iter().zip(parts);
        let answers = axes.map(|(axis, part)| (part.clone(), bench.ask(part, axis)));
        answers.collect::<Vec<_>>()
    };
    let things = answers(&mut bench, &asked.things);
    let merged = merge_thing_answers(whole, things, 10);
    let mut shown = shown_ids(&merged);
    shown.sort_unstable();
    assert_eq!(shown, ["nodes", "pods"]);
    let parts = merged.results[..2]
        .iter()
        .map(|found| found.why.answers_part.as_deref());
    assert!(parts.into_iter().all(|part| part.is_some()), "{merged:?}");
    // What the answer to the whole has is not searched again, and the rest is.
    let whole = bench.ask(&asked.question, 0);
    assert_eq!(shown_ids(&whole), ["pods"]);
    let open = asked.list_open_things(&whole);
    assert_eq!(open, ["our CI pipeline nodes"]);
    let things = vec![(open[0].clone(), bench.ask(&open[0], 2))];
    let merged = merge_thing_answers(whole, things, 10);
    let mut shown = shown_ids(&merged);
    shown.sort_unstable();
    assert_eq!(shown, ["nodes", "pods"]);
    assert!(asked.list_open_things(&merged).is_empty());
    let told = split_prompt("kube schedules pods across our CI pipeline nodes");
    let whole = bench.ask(&told.question, 0);
    assert!(told.list_open_things(&whole).is_empty());
    // Two questions in one prompt.
    let asked = split_prompt("How does kube schedule pods? Which nodes has the CI pipeline?");
    let whole = bench.ask(&asked.question, 0);
    let questions = answers(&mut bench, &asked.questions);
    let merged = merge_question_answers(whole, questions, 10);
    let mut first = EngineBench::ids(&merged)[..2].to_vec();
    first.sort_unstable();
    assert_eq!(first, ["nodes", "pods"]);
    assert!(merged.results[..2].iter().all(|found| found.shown));
    // What answers neither thing adds nothing.
    let foreign = split_prompt("how do bees carry pollen across the wide alpine meadows?");
    let whole = bench.ask(&foreign.question, 6);
    let things = foreign.things.iter();
    let things = things.map(|thing| (thing.clone(), bench.ask(thing, 6)));
    let things: Vec<_> = things.collect();
    assert!(shown_ids(&merge_thing_answers(whole, things, 10)).is_empty());
}

#[test]
pub(super) fn what_was_forgotten_is_answered_by_nothing_else() {
    let mut bench = memory_of_two_subjects();
    let mut tax = record("tax", "paid the tax office in Berlin", 0, "c");
    tax.embedding = Some(Embedding::new(space(), vector(0, 5.0)));
    let lease = record("lease", "the Berlin lease ends in May", 6, "d");
    let ids = inserted_ids(&bench.insert(vec![tax, lease]));
    let before = bench.ask("berlin lease", 6);
    assert_eq!(EngineBench::ids(&before)[0], "lease");
    let now = bench.now;
    let forgotten = ForgetSelector::Id(ids[1]);
    bench.engine().forget(&forgotten, "asked", now).unwrap();
    let after = bench.ask("berlin lease", 6);
    assert_eq!(after.verdict, RelevanceVerdict::Nothing, "{after:?}");
}

/// Asks with the vector of the part of which memory knows the words.
fn ask_with_part(
    bench: &mut EngineBench,
    query: &str,
    [whole, part]: [&[f32]; 2],
) -> RecallResponse {
    let (memory, space) = (bench.engine().snapshot(), space());
    let request = RecallRequest::new(query);
    let id = RecallId::from_u128(1);
    let call = RecallCall::new(&request, id, memory.learning_engine());
    let vectors = [(&space, whole)];
    let known = memory.find_known_part(query);
    let part = known.map(|_| (&space, part));
    memory.recall(&call.with_vectors(&vectors).with_known_part(part))
}

fn scores_of(recall: &RecallResponse) -> Vec<(RecordId, u32)> {
    let results = recall.results.iter();
    let scores = results.map(|found| (found.record.id, found.score.to_bits()));
    scores.collect()
}

#[test]
pub(super) fn a_word_that_no_record_has_must_be_in_what_an_answer_means() {
    let mut bench = memory_of_two_subjects();
    let near = |name: &str, text: &str, axis: usize, nudge: f32| {
        let mut record = record(name, text, axis, "c");
        record.embedding = Some(Embedding::new(space(), vector(axis, nudge)));
        record
    };
    bench.insert(vec![
        near("tax", "paid the tax office in Berlin", 5, 0.8),
        near("contract", "the contract of the bureau ends in May", 8, 0.8),
    ]);
    let snapshot = bench.engine().snapshot();
    let part = |question: &str| snapshot.find_known_part(question);
    assert_eq!(part("berlin lease").as_deref(), Some("berlin"));
    for whole in [
        "berlin office",
        "lease rent",
        "lease",
        "the lease and the rent of the flat in berlin",
    ] {
        assert_eq!(part(whole), None, "{whole}");
    }
    // What is near is about Berlin, and no lease brings it nearer.
    let (whole, berlin) = (vector(6, 0.0), vector(5, 0.3));
    let alone = bench.ask("berlin lease", 6);
    assert_eq!(alone.verdict, RelevanceVerdict::Relevant, "{alone:?}");
    let answer = ask_with_part(&mut bench, "berlin lease", [&whole, &berlin]);
    assert_eq!(scores_of(&answer), scores_of(&alone));
    assert_eq!(answer.verdict, RelevanceVerdict::Weak, "{answer:?}");
    let lacks = answer.results[0].why.lacks.as_deref();
    assert_eq!(lacks, Some("does not mention `lease`"));
    // The lease of the bureau is its contract in other words.
    let (whole, bureau) = (vector(8, 0.3), vector(9, 0.0));
    let answer = ask_with_part(&mut bench, "bureau lease", [&whole, &bureau]);
    assert_eq!(EngineBench::ids(&answer)[0], "contract");
    assert_eq!(answer.verdict, RelevanceVerdict::Relevant, "{answer:?}");
    // What was forgotten is known no more.
    let gone = ForgetSelector::External(ExternalId::new(ExternalId::BATCH, "tax"));
    let now = bench.now;
    bench.engine().forget(&gone, "asked", now).unwrap();
    assert_eq!(
        bench.engine().snapshot().find_known_part("berlin lease"),
        None
    );
}

#[test]
pub(super) fn half_an_answer_is_never_called_relevant() {
    let mut bench = memory_of_two_subjects();
    let request = RecallRequest::new("what do pods request of kube");
    let whole = bench.ask_with(&request, Some(0));
    assert_eq!(whole.verdict, RelevanceVerdict::Relevant);
    assert_eq!(whole.half_answer(), None);
    let half = bench.ask_with(&request, None);
    assert_eq!(half.verdict, RelevanceVerdict::Weak);
    assert!(half.half_answer().is_some());
    // The question has a vector, and no record has one yet.
    let mut bench = EngineBench::new();
    let mut waiting = week();
    for record in &mut waiting {
        record.embedding = None;
    }
    bench.insert(waiting);
    let half = bench.ask("are users logged out at random", 0);
    assert_eq!(EngineBench::ids(&half)[0], "auth-1");
    assert_eq!(half.verdict, RelevanceVerdict::Weak, "{half:?}");
    assert!(
        half.half_answer()
            .is_some_and(|sentence| sentence.contains("wait for the model"))
    );
}

#[test]
pub(super) fn the_cause_stands_above_the_prompt_that_asked_for_it() {
    let mut bench = EngineBench::new();
    let mut told: Vec<NewRecord> = (0..20)
        .map(|n| {
            record(
                &format!("other-{n}"),
                &format!("note {n} on the roof"),
                3,
                "wiki",
            )
        })
        .collect();
    let asks = "The checkout total is off by one cent for some carts, can you find out why?";
    let mut asked = record("asked", asks, 0, "one");
    asked.details = Some(json!({"type": "prompt"}));
    asked.embedding = Some(Embedding::new(space(), vector(0, 0.7)));
    let said = "The cause: the tax of each line was rounded before the total was summed.";
    let mut cause = record("cause", said, 0, "one");
    cause.source = MemorySource::WorkerResult;
    cause.embedding = Some(Embedding::new(space(), vector(0, 1.2)));
    told.extend([asked, cause]);
    bench.insert(told);
    let answer = bench.ask("the total is off by one cent", 0);
    assert_eq!(EngineBench::ids(&answer), ["cause"], "the prompt only asks");
    assert!(answer.results[0].shown, "{answer:?}");
    // What the prompt tells and nothing else is about comes from the prompt.
    let mut bench = EngineBench::new();
    let mut asked = record("asked", "I am on Flask, how do I add a route?", 0, "one");
    asked.details = Some(json!({"type": "prompt"}));
    asked.embedding = Some(Embedding::new(space(), vector(0, 0.7)));
    let mut route = record("route", "put a decorator above the function", 4, "one");
    route.source = MemorySource::WorkerResult;
    bench.insert(vec![asked, route]);
    let answer = bench.ask("am I on Flask", 0);
    assert_eq!(EngineBench::ids(&answer)[0], "asked");
}

/// A prompt to an agent, and what was said then, at other distances from the question.
fn told_and_answered(prompt: &str, answer: &str, distances: [f32; 2]) -> Vec<NewRecord> {
    let near = |nudge| Some(Embedding::new(space(), vector(0, nudge)));
    let mut asked = record("asked", prompt, 0, "one");
    asked.details = Some(json!({"type": "prompt"}));
    asked.embedding = near(distances[0]);
    let mut told = record("told", answer, 0, "one");
    told.source = MemorySource::WorkerResult;
    told.embedding = near(distances[1]);
    let notes = (0..20).map(|n| {
        let text = format!("note {n} on the roof");
        record(&format!("other-{n}"), &text, 3, "wiki")
    });
    notes.chain([asked, told]).collect()
}

#[test]
pub(super) fn what_came_of_a_task_stands_with_the_prompt_that_gave_it() {
    let fix = "We run three pods. The rate limiter lets through twice the quota, fix it";
    let task = "We run three pods. Put the rate limiter behind the gateway of the pods";
    let rule = "From now on we keep the rate limiter of the pods in the gateway";
    let came = "The limiter kept its counter in process memory; I moved the counter to Redis.";
    for (prompt, expected) in [
        // Who asks about what went wrong, or was to be done, wants what came of it.
        (fix, &["told", "asked"][..]),
        (task, &["told", "asked"]),
        (rule, &["asked"]),
    ] {
        let mut bench = EngineBench::new();
        bench.insert(told_and_answered(prompt, came, [0.6, 1.3]));
        let answer = bench.ask("rate limiter of the pods", 0);
        let ids = EngineBench::ids(&answer);
        assert_eq!(&ids[..expected.len()], expected, "{prompt}: {answer:?}");
        if let [first, second, ..] = &answer.results[..]
            && expected.len() == 2
        {
            assert!((first.score - second.score).abs() < 0.01, "{prompt}");
        }
    }
}

#[test]
pub(super) fn a_prompt_gains_as_the_persons_words_only_where_those_are_asked_for() {
    let prompt = "We deploy the shop with Argo since May";
    let said_by_person = |question: &str| {
        let mut bench = EngineBench::new();
        bench.insert(told_and_answered(prompt, "It is deployed.", [0.4, 2.0]));
        let answer = bench.ask(question, 0);
        let mut found = answer.results.iter();
        let asked = found.find(|one| one.record.text == prompt).unwrap();
        let mut signals = asked.why.signals.iter();
        let own = signals.find(|signal| signal.name == "own_words").unwrap();
        own.contribution
    };
    for question in [
        "what did I say about deploying the shop",
        "how did I want the shop deployed",
        "what did we tell you about the deploy",
        "what was my decision on deploying the shop",
    ] {
        assert!(said_by_person(question) > 0.0, "{question}");
    }
    for question in [
        "how is the shop deployed",
        "what was the fix for the deploy of the shop",
        "what did you say about the deploy",
    ] {
        assert!(said_by_person(question) <= 0.0, "{question}");
    }
}

#[test]
pub(super) fn a_prompt_that_came_in_without_its_mark_is_one() {
    let question = "fix the staging deploy that hangs at the migration step";
    let told = |namespace: &str, role: &str| {
        let came = "A long query holds a lock on the users table of staging.";
        let mut records = told_and_answered(question, came, [0.0, 0.9]);
        for one in records.iter_mut().filter(|one| one.session_id == "one") {
            if one.details.take().is_some() {
                one.metadata.insert("role".to_owned(), json!(role));
                let name = ExternalId::new(namespace, "one/1/prompt");
                one.external_ids.push(name);
            }
        }
        let mut bench = EngineBench::new();
        bench.insert(records);
        let answer = bench.ask("staging deploy migration", 0);
        EngineBench::ids(&answer)[0].to_owned()
    };
    for program in ExternalId::AGENT_PROGRAMS {
        assert_eq!(told(program, "user"), "told", "{program}");
    }
    // In a chat people tell things, too; and not all that came from a program was said to it.
    assert_eq!(told("chatgpt", "user"), "asked");
    assert_eq!(told("codex", "tool"), "asked");
}

/// What is found must not vanish because more is asked for.
#[test]
pub(super) fn the_first_results_of_a_larger_limit_are_those_of_a_smaller_one() {
    const WORDS: [&str; 16] = [
        "login", "cookie", "retry", "queue", "deploy", "cache", "roof", "lease", "coupon", "tax",
        "signal", "mutex", "backup", "index", "port", "proxy",
    ];
    let mut rng = SeededRng::new(11);
    let mut draw = |bound: usize| usize::try_from(rng.draw_below(bound as u64)).unwrap();
    for _ in 0..4 {
        let mut bench = EngineBench::new();
        let told = (0..60).map(|number| {
            let words: Vec<&str> = (0..2 + draw(6)).map(|_| WORDS[draw(WORDS.len())]).collect();
            let text = format!("{number} {}", words.join(" "));
            let (axis, session) = (draw(DIMENSIONS), format!("s{}", draw(9)));
            let mut told = record(&format!("r{number}"), &text, axis, &session);
            if draw(5) == 0 {
                told.details = Some(json!({ "type": "prompt" }));
            }
            told
        });
        let told: Vec<NewRecord> = told.collect();
        bench.insert(told);
        for _ in 0..12 {
            let words: Vec<&str> = (0..=draw(4)).map(|_| WORDS[draw(WORDS.len())]).collect();
            let strange = ["", "what about ", "zanzibar ", "is there a "][draw(4)];
            let request = RecallRequest::new([strange, &words.join(" "), "?"].concat());
            let axis = Some(draw(DIMENSIONS)).filter(|axis| *axis > 0);
            let (mut before, mut verdict) = (Vec::new(), RelevanceVerdict::Nothing);
            for limit in 1..=20 {
                let request = RecallRequest {
                    top_k: limit,
                    ..request.clone()
                };
                let answer = bench.ask_with(&request, axis);
                let ids: Vec<String> = EngineBench::ids(&answer)
                    .into_iter()
                    .map(str::to_owned)
                    .collect();
                assert!(ids.starts_with(&before), "{request:?}: {before:?} {ids:?}");
                assert!(answer.verdict >= verdict, "{request:?}");
                let shows = answer.results.iter().any(|found| found.shown);
                let pays = answer.verdict != RelevanceVerdict::Nothing;
                assert!(pays || !shows, "{request:?}");
                (before, verdict) = (ids, answer.verdict);
            }
        }
    }
}

#[test]
pub(super) fn a_fact_stated_in_a_prompt_is_found_by_a_word_of_it() {
    let told = [
        (
            "ftp",
            "nice, remember that the ftp user of the warehouse is teeimport",
            "teeimport",
        ),
        (
            "tax",
            "Merke dir: die Steuerberaterin ist Frau Yilmaz.",
            "Yilmaz",
        ),
        (
            "cents",
            "prices must always be stored as integers in cents",
            "how are prices stored",
        ),
    ];
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    for (id, text, _) in told {
        bench.insert(vec![prompt_record(id, text, id)]);
    }
    for (id, _, question) in told {
        let recall = bench.ask_with(&RecallRequest::new(question), None);
        assert_eq!(EngineBench::ids(&recall).first(), Some(&id), "{recall:?}");
        // Few words and no meaning make it likely, and perhaps not certain.
        assert_ne!(recall.verdict, RelevanceVerdict::Nothing, "{recall:?}");
    }
}

#[test]
pub(super) fn a_word_that_only_a_prompt_has_is_named_with_how_to_see_the_prompt() {
    let mut bench = EngineBench::new();
    insert_unrelated_records(&mut bench);
    bench.insert(vec![prompt_record(
        "asked",
        "fix the zeppelin exporter",
        "one",
    )]);
    let notes = |bench: &mut EngineBench, question: &str| {
        let recall = bench.ask_with(&RecallRequest::new(question), None);
        let notes = recall.notes.into_iter();
        let mut notes = notes.filter(|note| note.contains("--type prompt"));
        notes.next()
    };
    let said = "1 prompt that only asks has the word `zeppelin`: \
                `reprise recall zeppelin --type prompt`";
    assert_eq!(
        notes(&mut bench, "where is the zeppelin").as_deref(),
        Some(said)
    );
    assert_eq!(notes(&mut bench, "where is the airship"), None);
    // Another memory has it, too.
    bench.insert(vec![record(
        "hall",
        "the zeppelin is in the hall",
        7,
        "wiki",
    )]);
    assert_eq!(notes(&mut bench, "where is the zeppelin"), None);
}
