//! Tests that cross rooms and need no process of their own: the rules about the code itself.
//!
//! The list of topics.
#![expect(
    clippy::expect_used,
    reason = "a test that cannot read the tree has to stop"
)]

mod architecture;
mod away;
mod backup;
mod before;
mod branch;
mod care;
mod cli;
mod demo;
mod deploy;
mod evaluation;
mod faces;
mod forgetting;
mod global;
mod guards;
mod history;
mod home;
mod import;
mod knowledge;
mod lessons;
mod long_texts;
mod machines;
mod models;
mod moving_in;
mod notes;
mod observations;
#[cfg(target_os = "linux")]
mod offline;
mod page;
mod pages;
mod people;
mod printed;
mod projections;
mod records;
mod redacted;
mod reembedding;
mod repository;
mod requirements;
mod scale;
mod sessions;
mod tending;
mod tidy;
mod together;
mod traces;
mod tutorial;
mod wall;
mod wayward;
mod workspace;
