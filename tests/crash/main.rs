//! The real binary under `kill -9`: what it acknowledged is there afterwards, exactly once.
//!
//! The stores that are tried, and how often. A round and its check are in `round.rs`, what must be
//! true in `ledger.rs`.
#![expect(
    clippy::expect_used,
    reason = "a test that cannot start its processes has to stop"
)]

mod ledger;
mod lines;
mod round;

use round::{Store, Workload};

/// Kills a store has to see; five stores make more than the 200 that the product is held to.
const KILLS: usize = 44;

#[test]
fn a_store_of_words_loses_nothing() {
    let workload = Workload {
        lines: 200,
        vectors: false,
        compactions: 0,
    };
    Store::new("words", 0x5eed_0001, workload).survive(KILLS);
}

#[test]
fn a_store_of_vectors_loses_nothing() {
    let workload = Workload {
        lines: 120,
        vectors: true,
        compactions: 0,
    };
    Store::new("vectors", 0x5eed_0002, workload).survive(KILLS);
}

#[test]
fn a_store_killed_early_and_often_loses_nothing() {
    let workload = Workload {
        lines: 12,
        vectors: true,
        compactions: 0,
    };
    Store::new("early", 0x5eed_0003, workload).survive(KILLS);
}

#[test]
fn a_store_killed_while_it_compacts_loses_nothing() {
    let workload = Workload {
        lines: 200,
        vectors: true,
        compactions: 70,
    };
    Store::new("compaction", 0x5eed_0004, workload).survive(KILLS);
}

#[test]
fn a_store_killed_in_every_way_loses_nothing() {
    let workload = Workload {
        lines: 80,
        vectors: false,
        compactions: 35,
    };
    Store::new("mixed", 0x5eed_0005, workload).survive(KILLS);
}
