//! The rules on what is labelled, and what a pass costs.
//!
//! The list of topics.

mod cost;
mod labelled_suite;
