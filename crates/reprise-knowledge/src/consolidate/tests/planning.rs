//! A plan after another one: what is new is compared, what was found holds as long as it does.

use std::cell::Cell;

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
