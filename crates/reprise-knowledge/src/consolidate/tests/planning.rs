//! A plan after another one: what is new is compared, what was found holds as long as it does.

use std::cell::Cell;

use reprise_types::EmbeddingSpace;

use super::*;

/// Pairs that say the same, with a thing of their own each.
fn recurring_records(numbers: std::ops::Range<usize>) -> Vec<NewRecord> {
    let texts = numbers.flat_map(|number| {
        let (thing, other) = THINGS[number % THINGS.len()];
        [
            format!("The {thing} number k{number} reads the {other} at w{number}"),
            format!("the {thing} number k{number} reads the {other} at w{number}!"),
            format!("The timeout of the {thing} k{number} is 30 seconds"),
            format!("The timeout of the {thing} k{number} is 90 seconds"),
        ]
    });
    texts.map(|text| episode(&text)).collect()
}

fn merges_and_contradictions(plan: &Plan) -> (Vec<Merge>, Vec<[RecordId; 2]>) {
    let mut merged = plan.merged.clone();
    merged.sort_by_key(|merge| merge.kept);
    let mut pairs: Vec<[RecordId; 2]> = plan.contradictions.iter().map(|one| one.pair).collect();
    pairs.sort_unstable();
    (merged, pairs)
}

#[test]
fn what_is_new_is_compared_with_all_and_found_like_in_one_go() {
    let mut bench = Bench::new();
    let mut planner = Planner::default();
    let always = || true;
    // Each half is more than what is looked up one by one.
    let mut records = recurring_records(0..264);
    let late = records.split_off(528);
    bench.observe(records);
    let first = planner.plan(&bench.engine.snapshot(), bench.now, &always);
    assert_eq!((first.merged.len(), first.contradictions.len()), (132, 132));
    // Some say again what is there already; the rest is new on both sides.
    let mut again = recurring_records(0..20);
    again.retain(|record| record.text.ends_with('!'));
    bench.observe(again);
    bench.observe(late);
    let memory = bench.engine.snapshot();
    let then = planner.plan(&memory, bench.now, &always);
    let whole = plan_consolidation(&memory, bench.now);
    assert_eq!(whole.merged.len(), 264);
    assert_eq!(
        merges_and_contradictions(&then),
        merges_and_contradictions(&whole)
    );
    // The same, one record at a time.
    let mut stepwise = Planner::resume_from(0);
    assert_eq!(
        merges_and_contradictions(&stepwise.plan(&memory, bench.now, &always)),
        merges_and_contradictions(&whole)
    );
    // What is done is not to be done again, and what was taken back stays so.
    let action = execute_plan(&mut bench.engine, then, bench.now)
        .unwrap()
        .action;
    let memory = bench.engine.snapshot();
    assert_eq!(planner.plan(&memory, bench.now, &always).merged, []);
    undo_action(&mut bench.engine, &action.unwrap(), bench.now).unwrap();
    let memory = bench.engine.snapshot();
    assert_eq!(planner.plan(&memory, bench.now, &always).merged, []);
}

#[test]
fn what_somebody_set_apart_after_a_plan_was_made_stays_apart() {
    let mut bench = Bench::new();
    let ids = bench.observe(recurring_records(0..2));
    let mut plan = plan_consolidation(&bench.engine.snapshot(), bench.now);
    assert_eq!((plan.merged.len(), plan.contradictions.len()), (2, 2));
    plan.purged = vec![ids[3], ids[7]];
    let apart = [[ids[0], ids[1]], [ids[2], ids[3]], [ids[3]; 2]];
    for [one, other] in apart {
        bench.engine.mark_distinct(one, other, bench.now).unwrap();
    }
    execute_plan(&mut bench.engine, plan, bench.now).unwrap();
    let memory = bench.engine.snapshot();
    let away = memory.retirements().into_iter().map(|one| one.retired);
    assert_eq!(away.collect::<Vec<_>>().len(), 2);
    assert!(ids[..4].iter().all(|id| memory.is_live(*id)));
    assert_eq!(memory.contradictions(), []);
}

#[test]
fn a_look_that_is_cut_goes_on_where_it_stopped() {
    let mut bench = Bench::new();
    bench.observe(recurring_records(0..32));
    let memory = bench.engine.snapshot();
    let mut planner = Planner::resume_from(0);
    let (mut looks, mut through) = (0, 0);
    loop {
        let left = Cell::new(30);
        let plan = planner.plan(&memory, bench.now, &|| {
            left.set(left.get() - 1);
            left.get() > 0
        });
        looks += 1;
        assert!(
            planner.compared_through() > through || !plan.cut,
            "nothing is lost"
        );
        through = planner.compared_through();
        if !plan.cut {
            assert_eq!((plan.merged.len(), plan.contradictions.len()), (32, 32));
            break;
        }
    }
    assert!(looks > 4, "{looks} looks");
    // A planner that resumes knows only what is new, but all of that.
    bench.observe(vec![episode(
        "The payment service number k0 reads the orders table at w0.",
    )]);
    let memory = bench.engine.snapshot();
    let mut next = Planner::resume_from(through);
    let plan = next.plan(&memory, bench.now, &|| true);
    let gone: usize = plan.merged.iter().map(|merge| merge.gone.len()).sum();
    assert_eq!((gone, plan.contradictions.len()), (2, 0));
    // Another file is looked through from its beginning.
    let mut other = Bench::new();
    other.observe(recurring_records(0..36));
    let plan = next.plan(&other.engine.snapshot(), other.now, &|| true);
    assert_eq!(plan.merged.len(), 36);
}

#[test]
fn what_was_known_before_a_record_came_is_told() {
    let mut bench = Bench::new();
    let ids = bench.observe(vec![
        episode("The timeout of the login page is 30 seconds"),
        episode("Deploy the search index with make deploy"),
        episode("Reviewed PR 260 for the payment service"),
    ]);
    let mut tell = |text: &str| {
        let new = bench.observe(vec![episode(text)]);
        let known = find_known_matches(&bench.engine.snapshot(), new[0]);
        known
            .into_iter()
            .map(|known| (known.id, known.contrary.is_some(), known.similar.is_some()))
            .collect::<Vec<_>>()
    };
    let contrary = tell("The timeout of the login page is 90 seconds");
    assert_eq!(contrary, [(ids[0], true, false)]);
    let same = tell("Note: deploy the search index with `make deploy`.");
    assert_eq!(same, [(ids[1], false, false)]);
    let similar = tell("The timeout of the login page is 30 seconds, and it is set in nginx");
    assert!(similar.contains(&(ids[0], false, true)), "{similar:?}");
    assert_eq!(tell("Reviewed PR 480 for the payment service"), []);
}

#[test]
fn scratch_ages_by_the_days_on_which_something_was_kept() {
    let mut bench = Bench::new();
    let mut scratch = episode("what the build of today said");
    scratch.retention = Retention::Scratch {
        ttl_seconds: 3 * 24 * 3_600,
    };
    let ids = bench.observe(vec![scratch]);
    let purged = |bench: &Bench| plan_consolidation(&bench.engine.snapshot(), bench.now).purged;
    // A holiday of a month, and two days of work.
    bench.now += Duration::days(30);
    for day in 0..2 {
        assert_eq!(purged(&bench), [], "after {day} days");
        bench.observe(vec![episode(&format!("worked on day {day}"))]);
        bench.now += Duration::days(1);
    }
    assert_eq!(purged(&bench), []);
    bench.observe(vec![episode("worked on a third day")]);
    assert_eq!(purged(&bench), ids);
}

const HALF: &str = "The timeout of the login page is 30 seconds";
const MORE: &str = "The timeout of the login page is 90 seconds";

fn tagged_episode(text: &str, tag: &str) -> NewRecord {
    let mut record = episode(text);
    record.tags = vec![tag.to_owned()];
    record
}

fn contradicting_pairs(plan: &Plan) -> Vec<[RecordId; 2]> {
    merges_and_contradictions(plan).1
}

#[test]
fn what_is_called_back_is_compared_with_what_came_meanwhile() {
    let mut bench = Bench::new();
    let mut planner = Planner::default();
    let always = || true;
    let same = bench.observe(vec![episode(HALF), episode(&[HALF, "!"].concat())]);
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &always);
    let action = execute_plan(&mut bench.engine, plan, bench.now)
        .unwrap()
        .action;
    let new = bench.observe(vec![episode(MORE)])[0];
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &always);
    assert_eq!(contradicting_pairs(&plan), [[same[1], new]]);
    // How far a tender before this one got, which knows no more than that.
    let through = planner.compared_through();
    bench.now += Duration::seconds(1);
    undo_action(&mut bench.engine, &action.unwrap(), bench.now).unwrap();
    let memory = bench.engine.snapshot();
    let plan = planner.plan(&memory, bench.now, &always);
    assert_eq!(contradicting_pairs(&plan), [[same[0], new], [same[1], new]]);
    let mut next = Planner::resume_from(through);
    assert_eq!(
        contradicting_pairs(&next.plan(&memory, bench.now, &always)),
        [[same[0], new]]
    );
}

#[test]
fn a_contradiction_of_a_copy_is_one_of_the_record_that_stays() {
    for many in [0, 150] {
        let mut bench = Bench::new();
        let mut planner = Planner::default();
        bench.observe(recurring_records(0..many));
        let ids = bench.observe(vec![
            episode(HALF),
            episode(MORE),
            tagged_episode(HALF, "ops"),
        ]);
        let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
        let of_it = |plan: &Plan| {
            let mut pairs = contradicting_pairs(plan);
            pairs.retain(|pair| pair.contains(&ids[1]));
            pairs
        };
        // The one with a tag stays.
        let merge = plan.merged.iter().find(|merge| merge.kept == ids[2]);
        assert_eq!(merge.map(|merge| &merge.gone[..]), Some(&ids[..1]));
        assert_eq!(of_it(&plan), [[ids[1], ids[2]]], "of {many} others");
        execute_plan(&mut bench.engine, plan, bench.now).unwrap();
        let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
        assert_eq!(of_it(&plan), [[ids[1], ids[2]]], "after it was done");
    }
}

#[test]
fn what_was_found_is_looked_at_again_where_a_tag_changed() {
    let mut bench = Bench::new();
    let mut planner = Planner::default();
    let ids = bench.observe(vec![
        tagged_episode(HALF, "a"),
        tagged_episode(HALF, "b"),
        tagged_episode(MORE, "project:other"),
    ]);
    let mut look = |bench: &Bench| {
        let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
        let (merged, review) = (plan.merged.len(), plan.review.len());
        (merged, review, plan.contradictions.len())
    };
    assert_eq!(look(&bench), (0, 1, 0));
    let tag = |bench: &mut Bench, id: RecordId, tag: &str| {
        bench.now += Duration::seconds(1);
        let tags = [tag.to_owned()];
        bench.engine.set_tags(id, &tags, bench.now).unwrap();
    };
    tag(&mut bench, ids[1], "a");
    assert_eq!(look(&bench), (1, 0, 0), "they are tagged alike now");
    tag(&mut bench, ids[2], "a");
    assert_eq!(look(&bench), (1, 0, 1), "one project has both now");
    tag(&mut bench, ids[2], "project:other");
    tag(&mut bench, ids[1], "b");
    assert_eq!(look(&bench), (0, 1, 0), "as it was");
}

#[test]
fn what_was_found_is_looked_at_again_where_a_vector_came_late() {
    let mut bench = Bench::new();
    let mut planner = Planner::default();
    let ids = bench.observe(vec![episode(HALF), episode(&[HALF, "!"].concat())]);
    let mut look = |bench: &Bench| {
        let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
        (plan.merged.len(), plan.review.len())
    };
    assert_eq!(look(&bench), (1, 0));
    let vector = |at: usize| {
        (0..8)
            .map(|place| f32::from(u8::from(place == at)))
            .collect()
    };
    let space = |model: &str| EmbeddingSpace {
        model: model.into(),
        version: "1".into(),
        dimensions: 8,
    };
    let embed = |bench: &mut Bench, model: &str, at: [usize; 2]| {
        let late = ids.iter().zip(at);
        let late = late.map(|(id, at)| (*id, space(model), vector(at)));
        bench.engine.insert_late_vectors(late.collect()).unwrap();
    };
    embed(&mut bench, "first", [0, 1]);
    assert_eq!(look(&bench), (0, 1), "their meaning may not agree");
    embed(&mut bench, "second", [2, 2]);
    assert_eq!(look(&bench), (1, 0), "another model says that it does");
}

#[test]
fn more_pairs_than_are_kept_in_mind_are_counted_for_as_long_as_they_are_there() {
    let mut bench = Bench::new();
    let mut planner = Planner::default();
    let texts = |form: &str| -> Vec<NewRecord> {
        let numbers = 1_000..1_260;
        let texts = numbers.map(|number| form.replace("<n>", &number.to_string()));
        texts.map(|text| episode(&text)).collect()
    };
    let doubts = bench.observe(texts("Reviewed PR <n> for the payment service"));
    let contrary = bench.observe(texts("The timeout of the login page is <n> seconds"));
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
    let listed = (plan.review.len(), plan.contradictions.len());
    assert_eq!(listed, (1_000, 20_000));
    let more = (plan.review_more, plan.contradictions_more);
    assert!(more.0 > 19_000 && more.1 > 100, "{more:?}");
    // A pair that comes to be in doubt is one more.
    let cats = bench.observe(vec![tagged_episode("The cat sleeps on the router", "a"); 2]);
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
    assert_eq!((plan.merged.len(), plan.review_more), (1, more.0));
    bench.now += Duration::seconds(1);
    bench
        .engine
        .set_tags(cats[1], &["b".to_owned()], bench.now)
        .unwrap();
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
    assert_eq!((plan.merged.len(), plan.review_more), (0, more.0 + 1));
    let gone = [&doubts[2..], &contrary[2..], &cats].concat();
    let gone = reprise_engine::ForgetSelector::All(gone);
    bench.engine.forget(&gone, "asked", bench.now).unwrap();
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
    let left = (plan.review.len(), plan.contradictions.len());
    assert_eq!(left, (1, 1));
    assert_eq!((plan.review_more, plan.contradictions_more), (0, 0));
}

#[test]
fn nobody_is_asked_which_of_two_results_of_a_test_is_true() {
    let mut bench = Bench::new();
    let result = |text: &str, kind: Option<&str>| {
        let mut record = episode(text);
        record.details = kind.map(|kind| json!({ "type": kind }));
        record
    };
    let (failed, passed) = ("`npm test` failed", "`npm test` passed");
    bench.observe(vec![
        result(failed, Some("test")),
        result(passed, Some("test")),
    ]);
    let asked = |bench: &Bench| {
        let plan = plan_consolidation(&bench.engine.snapshot(), bench.now);
        plan.review.len() + plan.contradictions.len()
    };
    assert_eq!(asked(&bench), 0);
    bench.observe(vec![result(failed, None), result(passed, None)]);
    assert_eq!(asked(&bench), 1, "what a person says of it is a statement");
}

#[test]
fn nobody_is_asked_to_decide_about_requests_and_outputs_of_commands() {
    for pair in [
        [
            "Write the changelog entry for dark mode flashes white at start",
            "dark mode flashes white at start",
        ],
        [
            "deploy version 0.4 to staging again",
            "deploy version 0.4 to production",
        ],
        [
            "$ cargo test -p pay\n31 passed; 0 failed",
            "$ cargo test -p basket\n58 passed; 0 failed",
        ],
        [
            "Please set the upload limit of the gateway to 20 MB",
            "Please set the upload limit of the gateway to 50 MB",
        ],
        [
            "Is the upload limit of the gateway 20 MB?",
            "Is the upload limit of the gateway 50 MB?",
        ],
    ] {
        let mut bench = Bench::new();
        let said = pair.map(|text| {
            let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
            record.session_id = "s".to_owned();
            record
        });
        bench.observe(said.to_vec());
        let plan = plan_consolidation(&bench.engine.snapshot(), bench.now);
        assert_eq!(
            (plan.review, plan.contradictions),
            (vec![], vec![]),
            "{pair:?}"
        );
    }
}

#[test]
fn rules_and_what_a_person_says_of_the_world_are_still_decided() {
    for pair in [
        [
            "Run the long tests of the gateway before every merge",
            "Never run the long tests of the gateway before a merge",
        ],
        [
            "The upload limit of the gateway is 20 MB",
            "The upload limit of the gateway is 50 MB",
        ],
    ] {
        let mut bench = Bench::new();
        let said =
            pair.map(|text| NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode));
        bench.observe(said.to_vec());
        let plan = plan_consolidation(&bench.engine.snapshot(), bench.now);
        assert_eq!(plan.review.len() + plan.contradictions.len(), 1, "{pair:?}");
    }
}

#[test]
fn what_is_asked_for_in_many_sessions_is_no_lesson() {
    let mut bench = Bench::new();
    let asked = [
        "can you fix the login?",
        "please run the tests again",
        "benenne das alles um",
    ];
    for text in asked {
        let said = ["mon", "tue", "wed"].map(|session| {
            let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
            record.session_id = session.to_owned();
            record.metadata.insert("role".to_owned(), json!("user"));
            record
        });
        bench.observe(said.into());
    }
    assert!(bench.consolidate().distilled.is_empty());
}
