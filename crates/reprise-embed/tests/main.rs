//! The embedder on real files: one binary, so that what it needs is provisioned once.
//!
//! The list of topics; a library that spoils its process has a binary of its own.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails by panicking")]

mod embedding;
mod golden;
mod models;
mod provisioning;
