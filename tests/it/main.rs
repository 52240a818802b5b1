//! Tests that cross rooms: the rules about the code itself, and the real binary from outside.
//!
//! The list of topics.
#![expect(
    clippy::expect_used,
    reason = "a test that cannot read the tree has to stop"
)]

mod architecture;
mod away;
mod backup;
mod batch;
mod before;
mod belonging;
mod branch;
mod care;
mod cli;
mod cold;
mod crash;
mod demo;
mod deploy;
mod edges;
mod faces;
mod forgetting;
mod global;
mod guards;
mod history;
mod home;
mod import;
mod knowledge;
mod left;
mod lessons;
mod long_texts;
mod machines;
mod messages;
mod models;
mod moving_in;
mod notes;
mod observations;
#[cfg(target_os = "linux")]
mod offline;
mod page;
mod pages;
mod people;
mod plain;
mod plugins;
mod printed;
mod projections;
mod records;
mod redacted;
mod reembedding;
mod repository;
mod requirements;
mod scale;
mod sessions;
mod setup;
mod tending;
mod tidy;
mod together;
mod traces;
mod tutorial;
mod ulimits;
mod wall;
mod wayward;
mod workspace;
