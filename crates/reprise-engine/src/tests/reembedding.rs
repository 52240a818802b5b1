//! Another model takes over: what it has not made yet is searched in the space it has, nothing is
//! compared across, and nothing is made twice or lost.

use std::collections::BTreeSet;

use reprise_types::Degraded;

use super::learning::outcome;
use super::spaces::opened_as;
use super::*;
use crate::{ForgetSelector, IndexOrigin};

/// Numbers of a vector of the model before: more than the model in use makes.
const OLD_DIMENSIONS: usize = 12;

/// The space of the model before.
fn old() -> EmbeddingSpace {
    EmbeddingSpace {
        model: "before".into(),
        dimensions: OLD_DIMENSIONS as u16,
        ..space()
    }
}

/// What the model before makes of a topic: nothing like what the model in use makes of it, so that
/// a vector compared across would find another topic.
fn old_vector(axis: usize, nudge: f32) -> Vec<f32> {
    let mut vector = vector(axis + 3, nudge);
    vector.resize(OLD_DIMENSIONS, 0.05);
    normalize(&mut vector);
    vector
}

/// Eighty records of eight topics, with vectors of the model before. Their texts say nothing.
fn kept_by_the_model_before() -> (Bench, Vec<RecordId>) {
    let mut bench = Bench::new();
    drop(bench.engine.take());
    std::fs::remove_file(bench.path()).unwrap();
    opened_as(&mut bench, old());
    assert_eq!(bench.engine().log.dimensions(), OLD_DIMENSIONS as u16);
    let many = (0..80).map(|n| {
        let mut new = record(&format!("n{n}"), &format!("note {n}"), n, &format!("s{n}"));
        let nudge = 0.01 * (n / DIMENSIONS) as f32;
        new.embedding = Some(Embedding::new(old(), old_vector(n, nudge)));
        new
    });
    let ids = inserted(&bench.keep(many.collect()));
    bench.engine().checkpoint().unwrap();
    opened_as(&mut bench, space());
    (bench, ids)
}

/// The model in use makes up to `most` vectors; answers of which records.
fn embed(bench: &mut Bench, most: usize) -> Vec<RecordId> {
    let waiting = bench.engine().unembedded(most);
    let axis_of = |text: &str| text.trim_start_matches("note ").parse::<usize>().unwrap();
    let vectors = waiting.iter().map(|(id, text)| {
        let axis = axis_of(text);
        (
            *id,
            space(),
            vector(axis, 0.01 * (axis / DIMENSIONS) as f32),
        )
    });
    let vectors: Vec<_> = vectors.collect();
    let count = vectors.len();
    assert_eq!(bench.engine().embed_late(vectors).unwrap(), count);
    waiting.into_iter().map(|(id, _)| id).collect()
}

/// A question about a topic by its meaning alone, asked in the spaces that are named.
fn ask(bench: &mut Bench, axis: usize, spaces: &[EmbeddingSpace]) -> Recall {
    let in_space = |space: &EmbeddingSpace| {
        let made = if *space == old() { old_vector } else { vector };
        made(axis, 0.05)
    };
    let vectors: Vec<Vec<f32>> = spaces.iter().map(in_space).collect();
    let vectors = vectors.iter().map(Vec::as_slice);
    let asked: Vec<_> = spaces.iter().zip(vectors).collect();
    let request = RecallRequest {
        top_k: 8,
        ..RecallRequest::new("whatever")
    };
    let id = RecallId::from_u128(1);
    let snapshot = bench.engine().snapshot();
    snapshot.recall_in(&request, &asked, id, &Unlearned)
}

/// The topics of an answer.
fn topics(recall: &Recall) -> BTreeSet<usize> {
    let number = |id: &str| id[1..].parse::<usize>().unwrap() % DIMENSIONS;
    Bench::ids(recall).into_iter().map(number).collect()
}

fn sound(bench: &mut Bench) {
    let report = bench.engine().check().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

#[test]
fn both_spaces_are_searched_until_everything_is_made_anew_and_never_mixed() {
    let (mut bench, ids) = kept_by_the_model_before();
    let both = [space(), old()];
    for done in [0_usize, 32, 64, 80] {
        let stats = bench.engine().stats();
        assert_eq!(
            (stats.embedded, stats.foreign_vectors),
            (done as u32, 80 - done as u32)
        );
        let left = stats.other_spaces.iter().map(|other| other.records);
        assert_eq!(left.sum::<u32>(), 80 - done as u32);
        let percent = (done < 80).then_some(done as u32 * 100 / 80);
        assert_eq!(stats.re_embedded_percent(), percent);
        for axis in 0..DIMENSIONS {
            let answer = ask(&mut bench, axis, &both);
            // Ten records are about it, whichever model saw them; eight are asked for.
            assert_eq!(
                topics(&answer),
                BTreeSet::from([axis]),
                "{done}: {answer:?}"
            );
            assert_eq!(answer.results.len(), 8);
            assert_eq!(answer.degraded, [], "{done}");
            let said = answer
                .notes
                .iter()
                .find(|note| note.contains("re-embedding"));
            assert_eq!(said.is_some(), done < 80, "{:?}", answer.notes);
        }
        if done > 0 && done < 80 {
            let one = ask(&mut bench, 2, &[space()]);
            assert_eq!(one.degraded, [Degraded::UnembeddedRecords]);
            let made: BTreeSet<_> = ids[..done].iter().copied().collect();
            let near = one
                .results
                .iter()
                .filter(|found| found.why.raw_distance.is_some());
            assert!(near.clone().all(|found| made.contains(&found.record.id)));
            assert!(near.count() > 0);
        }
        embed(&mut bench, if done == 64 { 16 } else { 32 });
        sound(&mut bench);
    }
    assert!(bench.engine().snapshot().other_spaces().next().is_none());
}

#[test]
fn the_model_before_answers_alone_while_the_one_in_use_is_missing() {
    let (mut bench, _) = kept_by_the_model_before();
    let answer = ask(&mut bench, 5, &[old()]);
    assert_eq!(
        (topics(&answer), &*answer.degraded),
        (BTreeSet::from([5]), &[][..])
    );
    embed(&mut bench, 8);
    let answer = ask(&mut bench, 5, &[old()]);
    assert!(
        answer.degraded.contains(&Degraded::NoQueryVector),
        "{answer:?}"
    );
    let neither = ask(&mut bench, 5, &[]);
    assert_eq!(neither.degraded, [Degraded::NoQueryVector]);
}

#[test]
fn three_models_of_three_widths_answer_from_one_file_and_the_last_one_gives_it_its_width() {
    let (mut bench, ids) = kept_by_the_model_before();
    embed(&mut bench, 30);
    let wide = EmbeddingSpace {
        model: "third".into(),
        dimensions: 16,
        ..space()
    };
    let third = |axis: usize| {
        let mut numbers = vec![0.0; 16];
        numbers[(axis + 5) % DIMENSIONS] = 1.0;
        numbers
    };
    let mut made = 0;
    while made < 80 {
        opened_as(&mut bench, wide.clone());
        let spaces = bench.engine().stats().spaces;
        let widths = spaces[1..].iter().map(|space| space.width).collect();
        let left = match made {
            0..30 => BTreeSet::from([8_u16, 12]),
            _ => BTreeSet::from([12]),
        };
        assert_eq!(left, widths, "{made}");
        for axis in 0..DIMENSIONS {
            let (own, old_numbers, numbers) =
                (vector(axis, 0.05), old_vector(axis, 0.05), third(axis));
            let asked: [(&EmbeddingSpace, &[f32]); 3] =
                [(&wide, &numbers), (&old(), &old_numbers), (&space(), &own)];
            let request = RecallRequest {
                top_k: 8,
                ..RecallRequest::new("whatever")
            };
            let snapshot = bench.engine().snapshot();
            let answer = snapshot.recall_in(&request, &asked, RecallId::from_u128(1), &Unlearned);
            assert_eq!(
                topics(&answer),
                BTreeSet::from([axis]),
                "{made}: {answer:?}"
            );
            assert_eq!(answer.degraded, [], "{made}");
        }
        if made == 20 {
            bench.engine().compact().unwrap();
            sound(&mut bench);
        }
        let late = ids[made..made + 20].iter().zip(made..);
        let late = late
            .map(|(id, axis)| (*id, wide.clone(), third(axis)))
            .collect();
        assert_eq!(bench.engine().embed_late(late).unwrap(), 20);
        made += 20;
        // Dropped as it is, as a killed process leaves it.
    }
    assert_eq!(bench.engine().log.dimensions(), OLD_DIMENSIONS as u16);
    assert!(
        bench.engine().is_compaction_due(),
        "its width is nobody's any more"
    );
    bench.engine().compact().unwrap();
    assert!(!bench.engine().is_compaction_due());
    assert_eq!(bench.engine().log.dimensions(), 16);
    assert_eq!(opened_as(&mut bench, wide.clone()), IndexOrigin::Checkpoint);
    assert!(!bench.engine().snapshot().log().has_other_spaces(&wide));
    assert_eq!(bench.engine().snapshot().vector(ids[7]), Some(third(7)));
    sound(&mut bench);
}

#[test]
fn a_file_made_without_a_model_takes_the_width_of_the_first_one() {
    let mut bench = Bench::new();
    let mut bare = week();
    for new in &mut bare {
        new.embedding = None;
    }
    let ids = inserted(&bench.keep(bare));
    let late = ids
        .iter()
        .enumerate()
        .map(|(axis, id)| (*id, old(), old_vector(axis, 0.0)));
    assert_eq!(bench.engine().embed_late(late.collect()).unwrap(), 7);
    assert_eq!(bench.engine().snapshot().space(), Some(&old()));
    assert_eq!(
        bench.engine().snapshot().vector(ids[2]),
        Some(old_vector(2, 0.0))
    );
    bench.engine().checkpoint().unwrap();
    bench.reopen();
    assert_eq!(bench.engine().stats().embedded, 7);
    sound(&mut bench);
}

#[test]
fn a_crash_in_the_middle_goes_on_where_it_was_and_makes_nothing_twice() {
    let (mut bench, ids) = kept_by_the_model_before();
    let mut made = Vec::new();
    for round in 0.. {
        let some = embed(&mut bench, 7);
        if some.is_empty() {
            break;
        }
        made.extend(some);
        if round % 3 == 0 {
            bench.engine().checkpoint().unwrap();
        }
        // Dropped as it is, as a killed process leaves it.
        opened_as(&mut bench, space());
        let answer = ask(&mut bench, 1, &[space(), old()]);
        assert_eq!(topics(&answer), BTreeSet::from([1]), "{round}");
    }
    assert_eq!(made, ids, "each once, in order");
    sound(&mut bench);
}

#[test]
fn what_was_made_meanwhile_is_the_records_only_vector_for_whoever_opens_it() {
    let (mut bench, _) = kept_by_the_model_before();
    embed(&mut bench, 30);
    // Nobody says which model is in use: the space of most vectors is, and the others stay apart.
    bench.reopen();
    assert_eq!(bench.engine().snapshot().space(), Some(&old()));
    let stats = bench.engine().stats();
    assert_eq!((stats.embedded, stats.foreign_vectors), (50, 30));
    let answer = ask(&mut bench, 6, &[space(), old()]);
    assert_eq!(topics(&answer), BTreeSet::from([6]));
    sound(&mut bench);
}

#[test]
fn a_checkpoint_of_the_model_before_keeps_no_codes_of_what_was_made_anew() {
    let (mut bench, ids) = kept_by_the_model_before();
    opened_as(&mut bench, old());
    let mut late = record("late", "note 80", 0, "s80");
    late.embedding = None;
    bench.keep(vec![late]);
    bench.engine().checkpoint().unwrap();
    opened_as(&mut bench, space());
    embed(&mut bench, 30);
    assert_eq!(opened_as(&mut bench, old()), IndexOrigin::Checkpoint);
    let stats = bench.engine().stats();
    assert_eq!((stats.embedded, stats.foreign_vectors), (50, 30));
    assert!(bench.engine().snapshot().vector(ids[0]).is_none());
    assert!(bench.engine().snapshot().vector(ids[79]).is_some());
    sound(&mut bench);
}

#[test]
fn compaction_gives_back_the_room_of_what_was_made_anew_and_keeps_the_rest() {
    let (mut bench, _) = kept_by_the_model_before();
    embed(&mut bench, 40);
    let dead = bench.engine().stats().reclaimable_bytes;
    assert!(dead >= 40 * 4 * DIMENSIONS as u64, "{dead}");
    for _ in 0..2 {
        bench.engine().compact().unwrap();
        opened_as(&mut bench, space());
        let answer = ask(&mut bench, 4, &[space(), old()]);
        assert_eq!(topics(&answer), BTreeSet::from([4]));
        sound(&mut bench);
        embed(&mut bench, 100);
    }
    bench.engine().compact().unwrap();
    let memory = bench.engine().snapshot();
    assert!((0..80).all(|ordinal| memory.log().space(ordinal) == Some(&space())));
    assert_eq!(bench.engine().stats().reclaimable_bytes, 0);
}

#[test]
fn a_branch_and_what_is_forgotten_or_corrected_in_the_middle_are_as_they_should_be() {
    let (mut bench, ids) = kept_by_the_model_before();
    embed(&mut bench, 20);
    let now = bench.now + Duration::seconds(1);
    let gone = ForgetSelector::All(vec![ids[70], ids[3]]);
    bench.engine().forget(&gone, "asked to", now).unwrap();
    let mut new = record("corrected", "note 71", 71, "s71");
    new.supersedes = Some(ids[71]);
    bench.keep(vec![new]);
    let mut branch = Bench::new();
    bench
        .engine()
        .fork_into(branch.engine(), "fork/ada", None)
        .unwrap();
    for bench in [&mut branch, &mut bench] {
        let answer = ask(bench, 6, &[space(), old()]);
        assert_eq!(topics(&answer), BTreeSet::from([6]), "{answer:?}");
        assert!(
            answer
                .results
                .iter()
                .all(|found| found.record.id != ids[70])
        );
        // The one that was corrected is made anew too: questions about the past ask for it.
        assert_eq!(embed(bench, 100).len(), 59);
        assert!(bench.engine().snapshot().other_spaces().next().is_none());
        sound(bench);
    }
}

#[test]
fn runs_of_the_model_before_teach_nothing_about_questions_in_the_new_space() {
    let mut bench = Bench::new();
    let ids = inserted(&bench.keep(week()));
    let teach = |bench: &mut Bench, first: usize, asked: &EmbeddingSpace| {
        for run in first..first + 40 {
            bench.now += Duration::seconds(30);
            let (now, used) = (bench.now, run % 3);
            let quality = if used == 1 { 0.9 } else { 0.2 };
            let mut said = outcome(run, &ids[used..=used], quality);
            let query = said.begin.query.as_mut().unwrap();
            query.space = asked.clone();
            query.vector.resize(usize::from(asked.dimensions), 0.0);
            bench.engine().outcome(&said, now).unwrap();
        }
    };
    let moved = |bench: &mut Bench| {
        let mut query = vector(0, 0.0);
        query.resize(
            usize::from(bench.engine().snapshot().space().unwrap().dimensions),
            0.0,
        );
        bench.engine().explain_learning(&query, ids[1]).adjustment
    };
    teach(&mut bench, 0, &space());
    assert!(moved(&mut bench) > 0.0);
    opened_as(&mut bench, old());
    assert!(moved(&mut bench).abs() < f32::EPSILON, "it is like no run");
    assert!(bench.engine().start_consolidation().is_none());
    sound(&mut bench);
    teach(&mut bench, 40, &old());
    assert!(moved(&mut bench) > 0.0);
    // Back again: what was learned in each space is there for it.
    bench.engine().checkpoint().unwrap();
    opened_as(&mut bench, space());
    assert!(moved(&mut bench) > 0.0);
    sound(&mut bench);
}
