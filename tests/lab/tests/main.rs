//! The evaluation from its files to its report.
//!
//! The list of topics.

#![expect(clippy::unwrap_used, reason = "test code")]

mod evaluation;
mod protocol;
mod readers;
