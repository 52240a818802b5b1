//! What is known of shelves, without a database.

use std::time::Duration;

use reprise_types::SystemClock;

use super::*;
use crate::PostgresOptions;
use crate::connect::build_pool;

/// A shelf on which so many things stand.
fn make_facts(things: u32) -> ShelfFacts {
    ShelfFacts {
        things,
        ..ShelfFacts::default()
    }
}

#[test]
fn a_large_shelf_is_known_however_many_small_ones_are_asked_for() {
    let shelves = Shelves::default();
    shelves.keep("public", make_facts(5_000));
    for number in 0..3 * SHELVES_MAX {
        shelves.keep(&format!("org:{number}"), make_facts(300));
        assert!(shelves.lock_facts().len() <= SHELVES_MAX);
    }
    assert!(shelves.lock_facts().contains_key("public"));
    // What is known already takes no room.
    let before = shelves.lock_facts().len();
    shelves.keep("public", make_facts(5_001));
    assert_eq!(shelves.lock_facts().len(), before);
    let mut all: Vec<usize> = Vec::new();
    for number in 0..2 * SHELVES_MAX {
        shelves.keep(&format!("large:{number}"), make_facts(5_000));
        all.push(shelves.lock_facts().len());
    }
    assert_eq!(all.into_iter().max(), Some(SHELVES_MAX));
}

#[tokio::test]
async fn what_is_known_outlives_a_look_that_fails() {
    let url = "host=127.0.0.1 port=9 user=nobody dbname=none sslmode=disable";
    let vectors: reprise_global::TextVectors = Arc::new(|_| None);
    let mut options = PostgresOptions::new(url, 8, None, vectors, Arc::new(SystemClock));
    options.patience = Duration::from_secs(30);
    let node = Arc::new(Node {
        pool: build_pool(&options, None, 1).unwrap(),
        keeper: None,
        options,
        salt: String::new(),
    });
    let shelves = Arc::<Shelves>::default();
    shelves.keep("public", make_facts(5_000));
    spawn_facts_refresh(
        &shelves,
        &node,
        &Caller::new("bob".parse().unwrap()),
        "public",
    );
    assert!(shelves.lock_looking().contains("public"));
    while shelves.lock_looking().contains("public") {
        tokio::task::yield_now().await;
    }
    assert_eq!(shelves.lock_facts()["public"].things, 5_000);
}
