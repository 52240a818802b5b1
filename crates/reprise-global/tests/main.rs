//! Every store of published knowledge under the suite that all of them pass.
//!
//! The list of topics.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails by panicking")]

mod coordination;
mod embedded;
