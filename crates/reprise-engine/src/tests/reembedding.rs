//! A change of model: records without a new vector are searched in their old space, nothing is
//! compared across spaces, and nothing is embedded twice or lost.

use std::collections::BTreeSet;

use reprise_types::DegradedPart;

use super::learning::run_outcome;
use super::spaces::open_with_space;
use super::*;
use crate::{ForgetSelector, IndexOrigin, RecallCall};

/// Length of the old model's vectors, which is more than the new model's.
const OLD_DIMENSIONS: usize = 12;

/// Returns the space of the old model.
fn old_space() -> EmbeddingSpace {
    EmbeddingSpace {
        model: "before".into(),
        dimensions: OLD_DIMENSIONS as u16,
        ..space()
    }
}

/// Returns the old model's vector of a topic, which differs so much from the new model's that a
/// vector compared across would find another topic.
fn old_vector(axis: usize, nudge: f32) -> Vec<f32> {
    let mut vector = vector(axis + 3, nudge);
    vector.resize(OLD_DIMENSIONS, 0.05);
    normalize(&mut vector);
    vector
}

/// Builds eighty records of eight topics, with vectors of the old model. Their texts say nothing.
fn memory_of_old_model() -> (EngineBench, Vec<RecordId>) {
    let mut bench = EngineBench::new();
    drop(bench.engine.take());
    std::fs::remove_file(bench.path()).unwrap();
    open_with_space(&mut bench, old_space());
    assert_eq!(bench.engine().log.dimensions(), OLD_DIMENSIONS as u16);
    let many = (0..80).map(|n| {
        let mut new = record(&format!("n{n}"), &format!("note {n}"), n, &format!("s{n}"));
        let nudge = 0.01 * (n / DIMENSIONS) as f32;
        new.embedding = Some(Embedding::new(old_space(), old_vector(n, nudge)));
        new
    });
    let ids = inserted_ids(&bench.insert(many.collect()));
    bench.engine().checkpoint().unwrap();
    open_with_space(&mut bench, space());
    (bench, ids)
}

/// Inserts up to `most` vectors of the new model; returns the records.
fn embed_waiting(bench: &mut EngineBench, most: usize) -> Vec<RecordId> {
    let waiting = bench.engine().unembedded_records(most);
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
    assert_eq!(bench.engine().insert_late_vectors(vectors).unwrap(), count);
    waiting.into_iter().map(|(id, _)| id).collect()
}

/// Asks about a topic by its meaning alone, in these spaces.
fn ask_in_spaces(
    bench: &mut EngineBench,
    axis: usize,
    spaces: &[EmbeddingSpace],
) -> RecallResponse {
    let in_space = |space: &EmbeddingSpace| {
        let made = if *space == old_space() {
            old_vector
        } else {
            vector
        };
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
    snapshot.recall(&RecallCall::new(&request, id, &NoLearning).with_vectors(&asked))
}

/// Returns the topics of an answer.
fn topics(recall: &RecallResponse) -> BTreeSet<usize> {
    let number = |id: &str| id[1..].parse::<usize>().unwrap() % DIMENSIONS;
    EngineBench::ids(recall).into_iter().map(number).collect()
}

fn assert_sound(bench: &mut EngineBench) {
    let report = bench.engine().check().unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

#[test]
fn both_spaces_are_searched_until_everything_is_made_anew_and_never_mixed() {
    let (mut bench, ids) = memory_of_old_model();
    let both = [space(), old_space()];
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
            let answer = ask_in_spaces(&mut bench, axis, &both);
            // Ten records are about it, whichever model embedded them; eight are asked for.
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
            let one = ask_in_spaces(&mut bench, 2, &[space()]);
            assert_eq!(one.degraded, [DegradedPart::UnembeddedRecords]);
            let made: BTreeSet<_> = ids[..done].iter().copied().collect();
            let near = one
                .results
                .iter()
                .filter(|found| found.why.raw_distance.is_some());
            assert!(near.clone().all(|found| made.contains(&found.record.id)));
            assert!(near.count() > 0);
        }
        embed_waiting(&mut bench, if done == 64 { 16 } else { 32 });
        assert_sound(&mut bench);
    }
    assert!(bench.engine().snapshot().other_spaces().next().is_none());
}

#[test]
fn the_model_before_answers_alone_while_the_one_in_use_is_missing() {
    let (mut bench, _) = memory_of_old_model();
    let answer = ask_in_spaces(&mut bench, 5, &[old_space()]);
    assert_eq!(
        (topics(&answer), &*answer.degraded),
        (BTreeSet::from([5]), &[][..])
    );
    embed_waiting(&mut bench, 8);
    let answer = ask_in_spaces(&mut bench, 5, &[old_space()]);
    assert!(
        answer.degraded.contains(&DegradedPart::NoQueryVector),
        "{answer:?}"
    );
    let neither = ask_in_spaces(&mut bench, 5, &[]);
    assert_eq!(neither.degraded, [DegradedPart::NoQueryVector]);
}

#[test]
fn three_models_of_three_widths_answer_from_one_file_and_the_last_one_gives_it_its_width() {
    let (mut bench, ids) = memory_of_old_model();
    embed_waiting(&mut bench, 30);
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
        open_with_space(&mut bench, wide.clone());
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
            let asked: [(&EmbeddingSpace, &[f32]); 3] = [
                (&wide, &numbers),
                (&old_space(), &old_numbers),
                (&space(), &own),
            ];
            let request = RecallRequest {
                top_k: 8,
                ..RecallRequest::new("whatever")
            };
            let snapshot = bench.engine().snapshot();
            let call = RecallCall::new(&request, RecallId::from_u128(1), &NoLearning);
            let answer = snapshot.recall(&call.with_vectors(&asked));
            assert_eq!(
                topics(&answer),
                BTreeSet::from([axis]),
                "{made}: {answer:?}"
            );
            assert_eq!(answer.degraded, [], "{made}");
        }
        if made == 20 {
            bench.engine().compact().unwrap();
            assert_sound(&mut bench);
        }
        let late = ids[made..made + 20].iter().zip(made..);
        let late = late
            .map(|(id, axis)| (*id, wide.clone(), third(axis)))
            .collect();
        assert_eq!(bench.engine().insert_late_vectors(late).unwrap(), 20);
        made += 20;
        // The engine is dropped as it is, as a killed process leaves it.
    }
    assert_eq!(bench.engine().log.dimensions(), OLD_DIMENSIONS as u16);
    assert!(
        bench.engine().is_compaction_due(),
        "its width is nobody's any more"
    );
    bench.engine().compact().unwrap();
    assert!(!bench.engine().is_compaction_due());
    assert_eq!(bench.engine().log.dimensions(), 16);
    assert_eq!(
        open_with_space(&mut bench, wide.clone()),
        IndexOrigin::Checkpoint
    );
    assert!(
        !bench
            .engine()
            .snapshot()
            .log_reader()
            .has_other_spaces(&wide)
    );
    assert_eq!(bench.engine().snapshot().vector(ids[7]), Some(third(7)));
    assert_sound(&mut bench);
}

#[test]
fn a_file_made_without_a_model_takes_the_width_of_the_first_one() {
    let mut bench = EngineBench::new();
    let mut bare = week();
    for new in &mut bare {
        new.embedding = None;
    }
    let ids = inserted_ids(&bench.insert(bare));
    let late = ids
        .iter()
        .enumerate()
        .map(|(axis, id)| (*id, old_space(), old_vector(axis, 0.0)));
    assert_eq!(
        bench.engine().insert_late_vectors(late.collect()).unwrap(),
        7
    );
    assert_eq!(bench.engine().snapshot().space(), Some(&old_space()));
    assert_eq!(
        bench.engine().snapshot().vector(ids[2]),
        Some(old_vector(2, 0.0))
    );
    bench.engine().checkpoint().unwrap();
    bench.reopen();
    assert_eq!(bench.engine().stats().embedded, 7);
    assert_sound(&mut bench);
}

#[test]
fn a_crash_in_the_middle_goes_on_where_it_was_and_makes_nothing_twice() {
    let (mut bench, ids) = memory_of_old_model();
    let mut made = Vec::new();
    for round in 0.. {
        let some = embed_waiting(&mut bench, 7);
        if some.is_empty() {
            break;
        }
        made.extend(some);
        if round % 3 == 0 {
            bench.engine().checkpoint().unwrap();
        }
        // The engine is dropped as it is, as a killed process leaves it.
        open_with_space(&mut bench, space());
        let answer = ask_in_spaces(&mut bench, 1, &[space(), old_space()]);
        assert_eq!(topics(&answer), BTreeSet::from([1]), "{round}");
    }
    assert_eq!(made, ids, "each once, in order");
    assert_sound(&mut bench);
}

#[test]
fn what_was_made_meanwhile_is_the_records_only_vector_for_whoever_opens_it() {
    let (mut bench, _) = memory_of_old_model();
    embed_waiting(&mut bench, 30);
    // Without a configured model the space of most vectors is in use, and the others stay apart.
    bench.reopen();
    assert_eq!(bench.engine().snapshot().space(), Some(&old_space()));
    let stats = bench.engine().stats();
    assert_eq!((stats.embedded, stats.foreign_vectors), (50, 30));
    let answer = ask_in_spaces(&mut bench, 6, &[space(), old_space()]);
    assert_eq!(topics(&answer), BTreeSet::from([6]));
    assert_sound(&mut bench);
}

#[test]
fn a_checkpoint_of_the_model_before_keeps_no_codes_of_what_was_made_anew() {
    let (mut bench, ids) = memory_of_old_model();
    open_with_space(&mut bench, old_space());
    let mut late = record("late", "note 80", 0, "s80");
    late.embedding = None;
    bench.insert(vec![late]);
    bench.engine().checkpoint().unwrap();
    open_with_space(&mut bench, space());
    embed_waiting(&mut bench, 30);
    assert_eq!(
        open_with_space(&mut bench, old_space()),
        IndexOrigin::Checkpoint
    );
    let stats = bench.engine().stats();
    assert_eq!((stats.embedded, stats.foreign_vectors), (50, 30));
    assert!(bench.engine().snapshot().vector(ids[0]).is_none());
    assert!(bench.engine().snapshot().vector(ids[79]).is_some());
    assert_sound(&mut bench);
}

#[test]
fn compaction_gives_back_the_room_of_what_was_made_anew_and_keeps_the_rest() {
    let (mut bench, _) = memory_of_old_model();
    embed_waiting(&mut bench, 40);
    let dead = bench.engine().stats().reclaimable_bytes;
    assert!(dead >= 40 * 4 * DIMENSIONS as u64, "{dead}");
    for _ in 0..2 {
        bench.engine().compact().unwrap();
        open_with_space(&mut bench, space());
        let answer = ask_in_spaces(&mut bench, 4, &[space(), old_space()]);
        assert_eq!(topics(&answer), BTreeSet::from([4]));
        assert_sound(&mut bench);
        embed_waiting(&mut bench, 100);
    }
    bench.engine().compact().unwrap();
    let memory = bench.engine().snapshot();
    assert!((0..80).all(|ordinal| memory.log_reader().space_of(ordinal) == Some(&space())));
    assert_eq!(bench.engine().stats().reclaimable_bytes, 0);
}

#[test]
fn a_branch_and_what_is_forgotten_or_corrected_in_the_middle_are_as_they_should_be() {
    let (mut bench, ids) = memory_of_old_model();
    embed_waiting(&mut bench, 20);
    let now = bench.now + Duration::seconds(1);
    let gone = ForgetSelector::All(vec![ids[70], ids[3]]);
    bench.engine().forget(&gone, "asked to", now).unwrap();
    let mut new = record("corrected", "note 71", 71, "s71");
    new.supersedes = Some(ids[71]);
    bench.insert(vec![new]);
    let mut branch = EngineBench::new();
    bench
        .engine()
        .fork_into(branch.engine(), "fork/ada", None)
        .unwrap();
    for bench in [&mut branch, &mut bench] {
        let answer = ask_in_spaces(bench, 6, &[space(), old_space()]);
        assert_eq!(topics(&answer), BTreeSet::from([6]), "{answer:?}");
        assert!(
            answer
                .results
                .iter()
                .all(|found| found.record.id != ids[70])
        );
        // The corrected record is embedded anew too, because questions about the past need it.
        assert_eq!(embed_waiting(bench, 100).len(), 59);
        assert!(bench.engine().snapshot().other_spaces().next().is_none());
        assert_sound(bench);
    }
}

#[test]
fn runs_of_the_model_before_teach_nothing_about_questions_in_the_new_space() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    let teach = |bench: &mut EngineBench, first: usize, asked: &EmbeddingSpace| {
        for run in first..first + 40 {
            bench.now += Duration::seconds(30);
            let (now, used) = (bench.now, run % 3);
            let quality = if used == 1 { 0.9 } else { 0.2 };
            let mut said = run_outcome(run, &ids[used..=used], quality);
            let query = said.begin.query.as_mut().unwrap();
            query.space = asked.clone();
            query.vector.resize(usize::from(asked.dimensions), 0.0);
            bench.engine().report_outcome(&said, now).unwrap();
        }
    };
    let moved = |bench: &mut EngineBench| {
        let mut query = vector(0, 0.0);
        query.resize(
            usize::from(bench.engine().snapshot().space().unwrap().dimensions),
            0.0,
        );
        bench.engine().explain_learning(&query, ids[1]).adjustment
    };
    teach(&mut bench, 0, &space());
    assert!(moved(&mut bench) > 0.0);
    open_with_space(&mut bench, old_space());
    assert!(moved(&mut bench).abs() < f32::EPSILON, "it is like no run");
    assert!(bench.engine().start_adapter_fit().is_none());
    assert_sound(&mut bench);
    teach(&mut bench, 40, &old_space());
    assert!(moved(&mut bench) > 0.0);
    // The model changes back: what was learned in each space is there for it.
    bench.engine().checkpoint().unwrap();
    open_with_space(&mut bench, space());
    assert!(moved(&mut bench) > 0.0);
    assert_sound(&mut bench);
}
