//! What every global store must do, as checks that run against any of them: a failed one panics.
//!
//! The checks, and words as vectors for them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "these are the bodies of tests"
)]

mod bad;
mod branches;
mod isolation;
mod operators;
mod suite;

pub use bad::{
    bad_input_is_refused_and_odd_input_is_data, nothing_of_anothers_can_be_forged_or_doubled,
    the_longest_record_can_be_published, vectors_that_cannot_be_kept_cost_meaning_alone,
};
pub use branches::{
    a_branch_is_merged_whole_or_not_at_all, a_branch_that_was_dropped_leaves_nothing,
    what_stands_on_a_branch_is_its_authors_alone_until_it_is_merged,
};
pub use isolation::{an_import_is_for_its_readers, each_operation_admits_its_callers_alone};
pub use operators::{
    a_pattern_of_one_author_is_an_operators_to_take_down, a_person_is_told_whole_and_erased,
    the_content_of_what_was_taken_down_is_refused_from_anybody,
    what_is_nearly_what_was_taken_down_waits_for_a_review,
    what_is_taken_down_is_gone_told_and_put_back,
};
pub use suite::*;
