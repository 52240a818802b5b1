//! The real binary under `kill -9`: what it acknowledged is there afterwards, exactly once.
//!
//! The stores that are tried, and how often. A round and its check are in `round.rs`, what must be
//! true in `ledger.rs`.

mod ledger;
mod lines;
mod round;

use round::{StoreUnderTest, Workload};

/// Kills a store has to see; five stores make more than the 200 that the product is held to.
const KILLS: usize = 44;

#[test]
fn a_store_of_words_loses_nothing() {
    let workload = Workload {
        lines: 130,
        vectors: false,
        compactions: 0,
    };
    StoreUnderTest::new("words", 0x5eed_0001, workload).run_rounds(KILLS);
}

#[test]
fn a_store_of_vectors_loses_nothing() {
    let workload = Workload {
        lines: 120,
        vectors: true,
        compactions: 0,
    };
    StoreUnderTest::new("vectors", 0x5eed_0002, workload).run_rounds(KILLS);
}

#[test]
fn a_store_killed_early_and_often_loses_nothing() {
    let workload = Workload {
        lines: 12,
        vectors: true,
        compactions: 0,
    };
    StoreUnderTest::new("early", 0x5eed_0003, workload).run_rounds(KILLS);
}

#[test]
fn a_store_killed_while_it_compacts_loses_nothing() {
    let workload = Workload {
        lines: 130,
        vectors: true,
        compactions: 70,
    };
    StoreUnderTest::new("compaction", 0x5eed_0004, workload).run_rounds(KILLS);
}

#[test]
fn a_store_killed_in_every_way_loses_nothing() {
    let workload = Workload {
        lines: 80,
        vectors: false,
        compactions: 35,
    };
    StoreUnderTest::new("mixed", 0x5eed_0005, workload).run_rounds(KILLS);
}
