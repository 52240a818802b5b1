//! The engine's suite over other parts than its own (M13): vectors held in memory, and a learner
//! that is not ours.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use reprise_store::LogReader;
use reprise_types::{LearningEngine, TaughtBy, VectorStore};

use super::*;

/// What every engine does, whatever parts it has.
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
    correcting::a_correction_takes_the_names_over_and_the_first_text_stays_known,
    correcting::an_update_replaces_what_it_does_not_say_and_nothing_else,
    correcting::a_bare_text_that_was_learned_is_not_kept_again,
    correcting::a_merge_carries_corrections_and_vectors_and_is_done_once,
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
    restarts::a_graph_grows_is_kept_and_changes_no_answer,
    restarts::cursors_move_with_the_records_and_only_forwards,
    restarts::a_clock_that_goes_backwards_changes_no_order,
    restarts::a_reader_keeps_its_moment_through_writes_and_compaction,
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

/// Vectors as they were read the first time.
struct InMemory {
    reader: LogReader,
    held: Mutex<HashMap<u32, Option<Vec<f32>>>>,
    asked: Arc<AtomicUsize>,
}

impl VectorStore for InMemory {
    fn dimensions(&self) -> usize {
        self.reader.dimensions()
    }

    fn vector(&self, ordinal: u32, out: &mut [f32]) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut held = self.held.lock().unwrap();
        let vector = held.entry(ordinal).or_insert_with(|| {
            let mut read = vec![0.0; out.len()];
            self.reader.vector(ordinal, &mut read).then_some(read)
        });
        if let Some(vector) = vector {
            out.copy_from_slice(vector);
        }
        vector.is_some()
    }
}

/// A learner that has seen nothing worth a move, and counts who asks it.
struct Watching(Arc<AtomicUsize>);

impl LearningEngine for Watching {
    fn evidence(&self, _query: Option<&[f32]>, records: &[RecordId]) -> Vec<f32> {
        self.0.fetch_add(1, Ordering::SeqCst);
        records.iter().map(|_| 0.0).collect()
    }

    /// That of a learner without a run, which some of the suite compares with.
    fn cap(&self) -> f32 {
        0.05
    }

    fn taught_by(&self, _query: Option<&[f32]>, _record: RecordId) -> Vec<TaughtBy> {
        Vec::new()
    }
}

#[test]
fn the_suite_holds_over_other_vectors_and_another_learner() {
    let (read, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&read);
    PARTS.set(Parts {
        vectors: Some(Arc::new(move |reader| {
            Arc::new(InMemory {
                reader,
                held: Mutex::default(),
                asked: Arc::clone(&counted),
            })
        })),
        learning: Some(Arc::new(Watching(Arc::clone(&asked)))),
    });
    for test in SUITE {
        test();
    }
    PARTS.set(Parts::default());
    let counts = [read, asked].map(|count| count.load(Ordering::SeqCst));
    assert!(
        counts.iter().all(|count| *count > 0),
        "they are in use: {counts:?}"
    );
}
