//! The engine's suite with replaced parts: vectors held in memory or by rvf-runtime, and another
//! learner.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use reprise_rvf::RvfVectors;
use reprise_types::{
    ContributingRun, Credit, EndedRun, HelperError, LearningEngine, RunBeginning, RunEnding,
    RunStep, VectorStore, dot,
};

use super::*;
use crate::{ForgetSelector, OpenVectors, RunAction};

/// What every engine does, whatever its parts. With a second store of vectors no graph grows, and
/// a reader of an earlier moment does not find by meaning what was forgotten since.
const SUITE: &[fn()] = &[
    answering::a_prompt_is_no_answer_and_leads_to_what_followed_it,
    answering::a_question_asked_before_is_no_rival_of_its_answer,
    answering::a_prompt_that_repeats_a_word_is_no_answer_to_itself,
    answering::what_others_published_has_a_place_beside_four_lines_of_ones_own,
    answering::a_line_that_stands_in_another_is_shown_once,
    answering::a_turn_that_asks_and_tells_may_answer_and_one_that_only_asks_does_not,
    answering::a_prompt_that_tells_may_answer,
    answering::nothing_is_shown_where_nothing_is_likely_and_little_where_one_thing_is_certain,
    answering::near_in_words_alone_is_related_and_not_likely,
    answering::a_time_that_is_named_is_a_filter,
    answering::what_is_over_answers_no_more_tended_or_not,
    answering::a_number_of_an_issue_is_certain_whatever_is_asked_of_it,
    answering::use_is_shown_by_what_is_said_after,
    answering::a_run_that_tells_no_step_crowds_neither_answers_nor_lists,
    answering::what_is_plainly_asked_for_comes_before_what_is_as_near,
    answering::a_filter_of_types_admits_what_a_person_calls_so,
    answering::a_near_miss_is_related_and_not_likely,
    answering::what_a_run_left_answers_where_any_of_its_records_does,
    asking::each_part_of_a_prompt_has_its_best_answer_once,
    asking::what_was_forgotten_is_answered_by_nothing_else,
    asking::a_word_that_no_record_has_must_be_in_what_an_answer_means,
    asking::half_an_answer_is_never_called_relevant,
    asking::the_cause_stands_above_the_prompt_that_asked_for_it,
    asking::what_came_of_a_task_stands_with_the_prompt_that_gave_it,
    asking::a_prompt_gains_as_the_persons_words_only_where_those_are_asked_for,
    asking::a_prompt_that_came_in_without_its_mark_is_one,
    asking::a_fact_stated_in_a_prompt_is_found_by_a_word_of_it,
    asking::a_word_that_only_a_prompt_has_is_named_with_how_to_see_the_prompt,
    correcting::a_correction_takes_the_names_over_and_the_first_text_stays_known,
    correcting::an_update_replaces_what_it_does_not_say_and_nothing_else,
    correcting::a_bare_text_that_was_learned_is_not_kept_again,
    correcting::a_merge_carries_corrections_and_vectors_and_is_done_once,
    exchanges::what_came_of_a_complaint_comes_before_it_though_it_has_none_of_its_words,
    exchanges::a_complaint_to_which_nothing_was_said_is_no_answer,
    exchanges::what_a_prompt_tells_stands_above_an_answer_that_takes_note_of_it,
    exchanges::a_step_that_is_named_or_asked_for_stands_above_the_answer,
    exchanges::what_came_of_a_turn_is_found_by_a_test_of_it_that_failed,
    keeping::what_resonates_comes_first_and_says_why,
    keeping::other_words_are_doubted_by_meaning_alone,
    keeping::the_only_record_is_an_answer_where_it_is_near_alone,
    keeping::a_chat_does_not_bury_the_lesson_that_answers,
    keeping::stats_say_what_form_the_records_have,
    keeping::a_second_copy_is_a_duplicate_and_changes_nothing,
    keeping::a_bad_record_is_refused_alone,
    keeping::without_a_query_vector_words_answer_and_say_so,
    keeping::unembedded_records_are_found_by_words_and_embedded_later,
    keeping::the_forgotten_never_answer_and_never_come_back,
    keeping::a_correction_replaces_what_it_corrects,
    keeping::an_answer_about_the_past_is_the_answer_of_the_past,
    keeping::the_forgotten_do_not_answer_about_the_past_either,
    keeping::filters_and_limits_hold,
    keeping::one_telling_of_a_thing_is_enough,
    keeping::a_reason_is_one_plain_line_of_what_speaks_for_a_record,
    annotating::a_tag_filter_admits_what_has_every_tag_now_or_had_it_then,
    annotating::a_receipt_answers_to_its_tag_and_its_id_alone,
    annotating::what_is_said_survives_every_way_to_start_and_goes_with_the_forgotten,
    annotating::a_correction_takes_the_links_over_even_when_what_it_corrects_is_forgotten,
    annotating::links_are_made_once_and_taken_back,
    annotating::one_tag_is_merged_into_another_on_every_live_record_that_has_it,
    contradicting::of_two_that_contradict_each_other_the_newer_stands_directly_above_the_older,
    contradicting::the_newest_of_several_stands_first_and_what_was_said_of_a_pair_ends_with_it,
    contradicting::of_one_record_eight_newer_ones_are_noted_and_in_one_call_no_more,
    contradicting::who_says_that_two_are_different_is_heeded_at_once_and_later,
    contradicting::what_contradicts_an_answer_pushes_nothing_out_of_the_first_ten,
    lookups::what_is_named_letter_by_letter_comes_first_and_says_where_it_stands,
    lookups::a_name_alone_is_answered_with_certainty_and_one_that_is_not_there_with_none,
    lookups::ordinary_questions_are_ranked_as_before,
    lookups::a_time_in_a_question_counts_and_alone_it_decides,
    lookups::an_event_of_the_store_is_a_time,
    lookups::odd_questions_are_answered_and_say_how_they_were_taken,
    lookups::a_date_that_no_record_is_from_is_what_is_told,
    lookups::names_are_certain_in_any_sentence,
    retiring::what_is_put_behind_another_answers_no_more_and_comes_back,
    retiring::a_correction_is_not_taken_back_by_a_restoration,
    retiring::forgetting_takes_along_what_was_put_behind,
    retiring::forgetting_a_source_forgets_its_summary_and_the_other_sources_answer_again,
    retiring::forgetting_a_summary_itself_forgets_what_stands_behind_it,
    retiring::what_was_set_apart_stays_so_and_shows_in_no_walk,
    retiring::what_had_its_time_is_away_can_come_back_and_is_forgotten_when_told,
    branches::a_branch_begins_as_its_parent_was_and_neither_sees_the_other,
    branches::what_was_forgotten_is_in_no_branch_not_even_of_the_past,
    branches::a_merge_brings_what_is_new_once,
    branches::a_difference_found_before_the_writers_turn_merges_as_far_as_it_still_holds,
    branches::what_a_merge_is_refused_is_told_apart_from_what_was_known,
    branches::only_an_empty_memory_becomes_a_branch,
    branches::a_clone_is_a_branch_without_a_byte_copied_unless_something_forgotten_is_in_the_file,
    restarts::every_way_to_start_gives_the_same_answers,
    restarts::nothing_is_made_anew_for_what_is_written_and_all_for_damage_and_another_version,
    restarts::cursors_move_with_the_records_and_only_forwards,
    restarts::a_clock_that_goes_backwards_changes_no_order,
    restarts::readers_share_the_file_with_a_writer,
    restarts::damaged_codes_are_left_out_and_then_made_anew,
    restarts::a_quiet_memory_is_checkpointed_for_what_is_worth_it_alone,
    restarts::a_memory_that_is_never_quiet_is_due_for_a_rewrite_which_leaves_a_checkpoint,
    restarts::a_memory_that_every_command_closes_stays_small,
    restarts::closing_after_a_small_write_appends_little_and_opens_the_same,
    writing::a_batch_is_on_disk_whole_or_not_at_all,
    writing::a_run_leaves_all_of_its_records_however_many_came_in_between,
    writing::what_is_distilled_or_stands_for_others_is_one_commit_with_its_links,
    writing::a_link_between_two_that_are_corrected_at_once_leads_between_their_corrections,
    writing::what_is_refused_of_a_run_holds_up_nothing_else_of_its_batch,
    listing::pages_go_by_when_it_happened_and_survive_what_is_written_between_them,
    listing::every_part_of_a_filter_narrows_and_says_when_it_leaves_nothing,
];

/// Keeps vectors in main memory; its file only says that a memory has it.
#[derive(Debug)]
struct InMemoryVectors {
    dimensions: usize,
    held: Mutex<BTreeMap<u32, Vec<f32>>>,
    asked: Arc<AtomicUsize>,
}

impl VectorStore for InMemoryVectors {
    fn name(&self) -> &'static str {
        "in memory"
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn copy_vector(&self, ordinal: u32, out: &mut [f32]) -> bool {
        let held = self.held.lock().unwrap();
        let vector = held.get(&ordinal);
        vector.map(|vector| out.copy_from_slice(vector)).is_some()
    }

    fn ingest(&self, vectors: &[(u32, &[f32])]) -> Result<(), HelperError> {
        let vectors = vectors.iter().map(|(at, vector)| (*at, vector.to_vec()));
        self.held.lock().unwrap().extend(vectors);
        Ok(())
    }

    fn query(
        &self,
        vector: &[f32],
        k: usize,
        admits: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<(u32, f32)>, HelperError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let held = self.held.lock().unwrap();
        let admitted = held.iter().filter(|(at, _)| admits(**at));
        let mut found: Vec<_> = admitted.map(|(at, own)| (*at, dot(own, vector))).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.truncate(k);
        Ok(found)
    }

    fn delete(&self, ordinals: &[u32]) -> Result<(), HelperError> {
        let mut held = self.held.lock().unwrap();
        held.retain(|at, _| !ordinals.contains(at));
        Ok(())
    }

    fn compact(&self) -> Result<(), HelperError> {
        Ok(())
    }

    fn adopt(&self, count: u32, read: &dyn Fn(u32, &mut [f32]) -> bool) -> Result<(), HelperError> {
        let mut vector = vec![0.0; self.dimensions];
        for at in 0..count {
            if read(at, &mut vector) {
                self.held.lock().unwrap().insert(at, vector.clone());
            }
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), HelperError> {
        Ok(())
    }
}

/// A learner of its own, which notes what it hears.
#[derive(Default)]
struct HearingLearner {
    /// Whether it raises what a good run used.
    raises: bool,
    asked: AtomicUsize,
    heard: Mutex<Vec<String>>,
    helped: Mutex<Vec<RecordId>>,
}

impl LearningEngine for HearingLearner {
    fn begin(&self, run_id: &str, query: Option<&Embedding>) {
        let heard = format!("begin {run_id}, asked: {}", query.is_some());
        self.heard.lock().unwrap().push(heard);
    }

    fn step(&self, step: &RunStep) {
        let heard = format!("step {}: {}", step.run_id, step.action);
        self.heard.lock().unwrap().push(heard);
    }

    fn end(&self, run: &EndedRun) {
        let heard = format!("end {}: {}", run.run_id, run.quality);
        self.heard.lock().unwrap().push(heard);
        if self.raises && run.quality > 0.5 {
            self.helped.lock().unwrap().extend(&run.used);
        }
    }

    fn consolidate(&self) {
        self.heard.lock().unwrap().push("consolidate".into());
    }

    fn adjust(&self, _query: Option<&[f32]>, records: &[RecordId]) -> Vec<f32> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let helped = self.helped.lock().unwrap();
        let gain = |record| if helped.contains(record) { 0.05 } else { 0.0 };
        records.iter().map(gain).collect()
    }

    /// Returns the cap of a learner without a run, which some of the suite compares with.
    fn adjustment_cap(&self) -> f32 {
        0.05
    }

    fn contributing_runs(&self, _query: Option<&[f32]>, _record: RecordId) -> Vec<ContributingRun> {
        Vec::new()
    }
}

/// Opens stores in main memory, which count the questions in `asked`.
fn open_in_memory(asked: &Arc<AtomicUsize>) -> OpenVectors {
    let asked = Arc::clone(asked);
    Arc::new(move |path, dimensions, _| {
        std::fs::write(path, "in memory").unwrap();
        Ok(Arc::new(InMemoryVectors {
            dimensions: usize::from(dimensions),
            held: Mutex::default(),
            asked: Arc::clone(&asked),
        }))
    })
}

/// Opens stores of rvf-runtime that write each vector by itself, so that it answers for all.
fn open_of_rvf_runtime() -> OpenVectors {
    Arc::new(|path, dimensions, is_read_only| {
        let mut store = RvfVectors::open(path, dimensions, is_read_only)?;
        store.set_batch(1);
        Ok(Arc::new(store))
    })
}

fn run_suite(parts: EnginePorts) {
    PARTS.set(parts);
    for test in SUITE {
        test();
    }
    PARTS.set(EnginePorts::default());
}

#[test]
fn the_suite_holds_over_other_vectors_and_another_learner() {
    let asked = Arc::new(AtomicUsize::new(0));
    let learner = Arc::new(HearingLearner::default());
    run_suite(EnginePorts {
        vectors: Some(open_in_memory(&asked)),
        vectors_for_new: true,
        learning: Some(Arc::clone(&learner) as _),
        ..EnginePorts::default()
    });
    let counts = [&asked, &learner.asked].map(|count| count.load(Ordering::SeqCst));
    assert!(
        counts.iter().all(|count| *count > 0),
        "they are in use: {counts:?}"
    );
}

#[test]
fn the_suite_holds_over_rvf_runtime() {
    run_suite(EnginePorts {
        vectors: Some(open_of_rvf_runtime()),
        vectors_for_new: true,
        learning: None,
        ..EnginePorts::default()
    });
}

/// Opens the memory of a bench with these parts, and returns what its store is called.
fn open_with(bench: &mut EngineBench, parts: EnginePorts) -> Result<String, String> {
    drop(bench.engine.take());
    let options = EngineOptions {
        ports: parts,
        ..EngineOptions::new(DIMENSIONS as u16, 42, bench.now)
    };
    let opened = Engine::open(Arc::new(RealDisk), &bench.path(), &options);
    let engine = opened.map_err(|error| error.to_string())?.0;
    let name = engine.stats().vector_store;
    bench.engine = Some(engine);
    Ok(name)
}

#[test]
fn a_memory_keeps_the_store_that_it_was_made_with_and_says_which() {
    let made_with = |vectors_for_new| EnginePorts {
        vectors: Some(open_of_rvf_runtime()),
        vectors_for_new,
        learning: None,
        ..EnginePorts::default()
    };
    let mut bench = EngineBench::new();
    bench.insert(week());
    let own = open_with(&mut bench, made_with(true));
    assert_eq!(own.unwrap(), "log", "it has records");
    PARTS.set(made_with(true));
    let mut bench = EngineBench::new();
    PARTS.set(EnginePorts::default());
    let ids = inserted_ids(&bench.insert(week()));
    let path = bench.path().with_extension("vectors.rvf");
    let near = |bench: &mut EngineBench| {
        let answer = bench.ask("which is it", 2);
        let first = EngineBench::ids(&answer)[0].to_owned();
        assert!(first.starts_with("bill"), "{first}");
    };
    near(&mut bench);
    // The package's own file answers: without the vectors in it, meaning finds nothing.
    let snapshot = bench.engine().snapshot();
    let second = snapshot.second_store.as_ref().unwrap();
    let found = second.query(&vector(2, 0.0), 2, &|_| true).unwrap();
    assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), [3, 4]);
    drop(snapshot);
    let kept = open_with(&mut bench, made_with(false));
    assert_eq!(
        kept.unwrap(),
        "rvf-runtime",
        "whatever is chosen for new ones"
    );
    near(&mut bench);
    let now = bench.now;
    let forgotten = ForgetSelector::Id(ids[3]);
    bench.engine().forget(&forgotten, "asked", now).unwrap();
    bench.engine().compact().unwrap();
    let held = RvfVectors::open(&path, DIMENSIONS as u16, true).unwrap();
    let held: Vec<bool> = (2..5)
        .map(|at| held.copy_vector(at, &mut [0.0; 8]))
        .collect();
    assert_eq!(held, [true, false, true], "what is forgotten left its file");
    let refused = open_with(&mut bench, EnginePorts::default()).unwrap_err();
    assert!(
        refused.contains("memory.vectors.rvf") && refused.contains("has no such store"),
        "{refused}"
    );
    std::fs::remove_file(&path).unwrap();
    let own = open_with(&mut bench, made_with(true));
    assert_eq!(own.unwrap(), "log", "the memory itself has every vector");
    near(&mut bench);
}

#[test]
fn a_learner_of_a_host_hears_of_each_run_and_its_word_counts() {
    let learner = Arc::new(HearingLearner {
        raises: true,
        ..HearingLearner::default()
    });
    let mut bench = EngineBench::new();
    let parts = EnginePorts {
        learning: Some(Arc::clone(&learner) as _),
        ..EnginePorts::default()
    };
    open_with(&mut bench, parts).unwrap();
    let ids = inserted_ids(&bench.insert(week()));
    let ask = |bench: &mut EngineBench| {
        let answer = bench.ask("what now", 0);
        let place = |id: &str| EngineBench::ids(&answer).iter().position(|one| *one == id);
        place("auth-1") < place("auth-3")
    };
    assert!(!ask(&mut bench), "of equally near ones the newest leads");
    let now = bench.now;
    let begin = RunBeginning {
        run_id: "r".into(),
        query: Some(Embedding::new(space(), vector(0, 0.0))),
        recall_id: None,
    };
    let end = RunEnding {
        run_id: "r".into(),
        used: vec![ids[0]],
        credit: Credit::Explicit,
        quality: Some(0.75),
        fail_kind: None,
    };
    let step = RunAction::Step {
        step: RunStep {
            run_id: "r".into(),
            action: "edit".into(),
            ..RunStep::default()
        },
        result: None,
    };
    bench.engine().begin_run(&begin, now).unwrap();
    bench.engine().write_run_action(step, now).unwrap();
    bench.engine().end_run(&end, now).unwrap();
    assert!(ask(&mut bench), "what helped is above");
    for run in 0..40 {
        let said = learning::run_outcome(run, &ids[..1], 0.5);
        bench.engine().report_outcome(&said, now).unwrap();
    }
    let fit = bench.engine().start_adapter_fit().unwrap();
    fit.run();
    let heard = learner.heard.lock().unwrap();
    assert_eq!(
        heard[..3],
        ["begin r, asked: true", "step r: edit", "end r: 0.75"]
    );
    assert_eq!(heard.last().unwrap(), "consolidate");
}
