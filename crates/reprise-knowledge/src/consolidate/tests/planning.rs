//! A plan after another one: what is new is compared, what was found holds as long as it does.

use std::cell::Cell;

use reprise_types::EmbeddingSpace;

use super::*;

/// Pairs that say the same, with a thing of their own each.
fn alike(numbers: std::ops::Range<usize>) -> Vec<NewRecord> {
    let texts = numbers.flat_map(|number| {
        let (thing, other) = THINGS[number % THINGS.len()];
        [
            format!("The {thing} number k{number} reads the {other} at w{number}"),
            format!("the {thing} number k{number} reads the {other} at w{number}!"),
            format!("The timeout of the {thing} k{number} is 30 seconds"),
            format!("The timeout of the {thing} k{number} is 90 seconds"),
        ]
    });
    texts.map(|text| said(&text)).collect()
}

fn ids(plan: &Plan) -> (Vec<Merge>, Vec<[RecordId; 2]>) {
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
    let mut records = alike(0..300);
    let late = records.split_off(600);
    bench.keep(records);
    let first = planner.plan(&bench.engine.snapshot(), bench.now, &always);
    assert_eq!((first.merged.len(), first.contradictions.len()), (150, 150));
    // Some say again what is there already; the rest is new on both sides.
    let mut again = alike(0..20);
    again.retain(|record| record.text.ends_with('!'));
    bench.keep(again);
    bench.keep(late);
    let memory = bench.engine.snapshot();
    let then = planner.plan(&memory, bench.now, &always);
    let whole = plan(&memory, bench.now);
    assert_eq!(whole.merged.len(), 300);
    assert_eq!(ids(&then), ids(&whole));
    // The same, one record at a time.
    let mut stepwise = Planner::since(0);
    assert_eq!(
        ids(&stepwise.plan(&memory, bench.now, &always)),
        ids(&whole)
    );
    // What is done is not to be done again, and what was taken back stays so.
    let action = carry_out(&mut bench.engine, then, bench.now)
        .unwrap()
        .action;
    let memory = bench.engine.snapshot();
    assert_eq!(planner.plan(&memory, bench.now, &always).merged, []);
    undo(&mut bench.engine, &action.unwrap(), bench.now).unwrap();
    let memory = bench.engine.snapshot();
    assert_eq!(planner.plan(&memory, bench.now, &always).merged, []);
}

#[test]
fn what_somebody_set_apart_after_a_plan_was_made_stays_apart() {
    let mut bench = Bench::new();
    let ids = bench.keep(alike(0..2));
    let mut plan = plan(&bench.engine.snapshot(), bench.now);
    assert_eq!((plan.merged.len(), plan.contradictions.len()), (2, 2));
    plan.purged = vec![ids[3], ids[7]];
    let apart = [[ids[0], ids[1]], [ids[2], ids[3]], [ids[3]; 2]];
    for [one, other] in apart {
        bench.engine.set_apart(one, other, bench.now).unwrap();
    }
    carry_out(&mut bench.engine, plan, bench.now).unwrap();
    let memory = bench.engine.snapshot();
    let away = memory.retired().into_iter().map(|one| one.gone);
    assert_eq!(away.collect::<Vec<_>>().len(), 2);
    assert!(ids[..4].iter().all(|id| memory.is_live(*id)));
    assert_eq!(memory.contradictions(), []);
}

#[test]
fn a_look_that_is_cut_goes_on_where_it_stopped() {
    let mut bench = Bench::new();
    bench.keep(alike(0..40));
    let memory = bench.engine.snapshot();
    let mut planner = Planner::since(0);
    let (mut looks, mut through) = (0, 0);
    loop {
        let left = Cell::new(30);
        let plan = planner.plan(&memory, bench.now, &|| {
            left.set(left.get() - 1);
            left.get() > 0
        });
        looks += 1;
        assert!(planner.through() > through || !plan.cut, "nothing is lost");
        through = planner.through();
        if !plan.cut {
            assert_eq!((plan.merged.len(), plan.contradictions.len()), (40, 40));
            break;
        }
    }
    assert!(looks > 4, "{looks} looks");
    // Whoever goes on knows only what is new, and it all the same.
    bench.keep(vec![said(
        "The payment service number k0 reads the orders table at w0.",
    )]);
    let memory = bench.engine.snapshot();
    let mut next = Planner::since(through);
    let plan = next.plan(&memory, bench.now, &|| true);
    let gone: usize = plan.merged.iter().map(|merge| merge.gone.len()).sum();
    assert_eq!((gone, plan.contradictions.len()), (2, 0));
    // Another file is looked through from its beginning.
    let mut other = Bench::new();
    other.keep(alike(0..45));
    let plan = next.plan(&other.engine.snapshot(), other.now, &|| true);
    assert_eq!(plan.merged.len(), 45);
}

#[test]
fn what_was_known_before_a_record_came_is_told() {
    let mut bench = Bench::new();
    let ids = bench.keep(vec![
        said("The timeout of the login page is 30 seconds"),
        said("Deploy the search index with make deploy"),
        said("Reviewed PR 260 for the payment service"),
    ]);
    let mut tell = |text: &str| {
        let new = bench.keep(vec![said(text)]);
        let known = known(&bench.engine.snapshot(), new[0]);
        known
            .into_iter()
            .map(|known| (known.id, known.contrary.is_some()))
            .collect::<Vec<_>>()
    };
    let contrary = tell("The timeout of the login page is 90 seconds");
    assert_eq!(contrary, [(ids[0], true)]);
    let same = tell("Note: deploy the search index with `make deploy`.");
    assert_eq!(same, [(ids[1], false)]);
    assert_eq!(tell("Reviewed PR 480 for the payment service"), []);
}

#[test]
fn scratch_ages_by_the_days_on_which_something_was_kept() {
    let mut bench = Bench::new();
    let mut scratch = said("what the build of today said");
    scratch.retention = Retention::Scratch {
        ttl_seconds: 3 * 24 * 3_600,
    };
    let ids = bench.keep(vec![scratch]);
    let purged = |bench: &Bench| plan(&bench.engine.snapshot(), bench.now).purged;
    // A holiday of a month, and two days of work.
    bench.now += Duration::days(30);
    for day in 0..2 {
        assert_eq!(purged(&bench), [], "after {day} days");
        bench.keep(vec![said(&format!("worked on day {day}"))]);
        bench.now += Duration::days(1);
    }
    assert_eq!(purged(&bench), []);
    bench.keep(vec![said("worked on a third day")]);
    assert_eq!(purged(&bench), ids);
}

const HALF: &str = "The timeout of the login page is 30 seconds";
const MORE: &str = "The timeout of the login page is 90 seconds";

fn tagged(text: &str, tag: &str) -> NewRecord {
    let mut record = said(text);
    record.tags = vec![tag.to_owned()];
    record
}

fn pair(plan: &Plan) -> Vec<[RecordId; 2]> {
    ids(plan).1
}

#[test]
fn what_is_called_back_is_compared_with_what_came_meanwhile() {
    let mut bench = Bench::new();
    let mut planner = Planner::default();
    let always = || true;
    let same = bench.keep(vec![said(HALF), said(&[HALF, "!"].concat())]);
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &always);
    let action = carry_out(&mut bench.engine, plan, bench.now)
        .unwrap()
        .action;
    let new = bench.keep(vec![said(MORE)])[0];
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &always);
    assert_eq!(pair(&plan), [[same[1], new]]);
    // How far a tender before this one got, which knows no more than that.
    let through = planner.through();
    bench.now += Duration::seconds(1);
    undo(&mut bench.engine, &action.unwrap(), bench.now).unwrap();
    let memory = bench.engine.snapshot();
    let plan = planner.plan(&memory, bench.now, &always);
    assert_eq!(pair(&plan), [[same[0], new], [same[1], new]]);
    let mut next = Planner::since(through);
    assert_eq!(
        pair(&next.plan(&memory, bench.now, &always)),
        [[same[0], new]]
    );
}

#[test]
fn a_contradiction_of_a_copy_is_one_of_the_record_that_stays() {
    for many in [0, 150] {
        let mut bench = Bench::new();
        let mut planner = Planner::default();
        bench.keep(alike(0..many));
        let ids = bench.keep(vec![said(HALF), said(MORE), tagged(HALF, "ops")]);
        let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
        let of_it = |plan: &Plan| {
            let mut pairs = pair(plan);
            pairs.retain(|pair| pair.contains(&ids[1]));
            pairs
        };
        // The one with a tag stays.
        let merge = plan.merged.iter().find(|merge| merge.kept == ids[2]);
        assert_eq!(merge.map(|merge| &merge.gone[..]), Some(&ids[..1]));
        assert_eq!(of_it(&plan), [[ids[1], ids[2]]], "of {many} others");
        carry_out(&mut bench.engine, plan, bench.now).unwrap();
        let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
        assert_eq!(of_it(&plan), [[ids[1], ids[2]]], "after it was done");
    }
}

#[test]
fn what_was_found_is_looked_at_again_where_a_tag_changed() {
    let mut bench = Bench::new();
    let mut planner = Planner::default();
    let ids = bench.keep(vec![
        tagged(HALF, "a"),
        tagged(HALF, "b"),
        tagged(MORE, "project:other"),
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
        bench.engine.tag(id, &tags, bench.now).unwrap();
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
    let ids = bench.keep(vec![said(HALF), said(&[HALF, "!"].concat())]);
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
        bench.engine.embed_late(late.collect()).unwrap();
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
        let numbers = 1_000..1_300;
        let texts = numbers.map(|number| form.replace("<n>", &number.to_string()));
        texts.map(|text| said(&text)).collect()
    };
    let doubts = bench.keep(texts("Reviewed PR <n> for the payment service"));
    let contrary = bench.keep(texts("The timeout of the login page is <n> seconds"));
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
    let listed = (plan.review.len(), plan.contradictions.len());
    assert_eq!(listed, (1_000, 20_000));
    let more = (plan.review_more, plan.contradictions_more);
    assert!(more.0 > 19_000 && more.1 > 100, "{more:?}");
    // A pair that comes to be in doubt is one more.
    let cats = bench.keep(vec![tagged("The cat sleeps on the router", "a"); 2]);
    let plan = planner.plan(&bench.engine.snapshot(), bench.now, &|| true);
    assert_eq!((plan.merged.len(), plan.review_more), (1, more.0));
    bench.now += Duration::seconds(1);
    bench
        .engine
        .tag(cats[1], &["b".to_owned()], bench.now)
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
