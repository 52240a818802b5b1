//! The rulebook and the arithmetic that every store shares, for a store in a crate of its own.

pub use crate::coordination::{
    CANDIDATE_RESERVE, RETRIEVED_AFTER, Reputation, Reputations, RetrievalCounter, USES_MAX,
    contributor_id,
};
pub use crate::lent::run_on_lent_thread;
pub use crate::quota::find_organisation_holder;
pub use crate::review::{
    ReviewCause, check_reviewer, check_submission_count, organisation_shelf, refused_before_error,
    submission_changed_error,
};
pub use crate::rules::{
    DraftState, Drafting, ImportPlan, PatternFilter, PublishedState, Publishing,
    build_published_report, choose_overlaps, decide_branch, decide_draft, decide_merge,
    decide_publish, find_common_patterns, plan_import, publication_shelf,
};
pub use crate::store::{
    OVERLAP_FROM, OVERLAPS_MAX, PATTERNS_NEAR, branch_changed_error, check_branch_name,
    check_rating, check_reports, name_taken_error, no_branch_error,
};
pub use crate::takedown::{
    NamedIn, PERSON_VERSIONS_MAX, author_as_caller, erased_name, replace_name,
    too_many_versions_error,
};
