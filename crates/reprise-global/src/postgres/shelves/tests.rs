//! What is known of shelves, without a database.

use std::time::Duration;

use reprise_types::SystemClock;

use super::*;
use crate::postgres::PostgresOptions;
use crate::postgres::connect::pool;

/// A shelf on which so many things stand.
fn of(things: u32) -> Known {
    Known {
        things,
        ..Known::default()
    }
}

#[test]
fn a_large_shelf_is_known_however_many_small_ones_are_asked_for() {
    let shelves = Shelves::default();
    shelves.keep("public", of(5_000));
    for number in 0..3 * SHELVES_MAX {
        shelves.keep(&format!("org:{number}"), of(300));
        assert!(shelves.known().len() <= SHELVES_MAX);
    }
    assert!(shelves.known().contains_key("public"));
    // What is known already takes no room.
    let before = shelves.known().len();
    shelves.keep("public", of(5_001));
    assert_eq!(shelves.known().len(), before);
    let mut all: Vec<usize> = Vec::new();
    for number in 0..2 * SHELVES_MAX {
        shelves.keep(&format!("large:{number}"), of(5_000));
        all.push(shelves.known().len());
    }
    assert_eq!(all.into_iter().max(), Some(SHELVES_MAX));
}

#[tokio::test]
async fn what_is_known_outlives_a_look_that_fails() {
    let url = "host=127.0.0.1 port=9 user=nobody dbname=none sslmode=disable";
    let vectors: crate::store::TextVectors = Arc::new(|_| None);
    let mut options = PostgresOptions::new(url, 8, None, vectors, Arc::new(SystemClock));
    options.patience = Duration::from_secs(30);
    let node = Arc::new(Node {
        pool: pool(&options, None, 1).unwrap(),
        keeper: None,
        options,
        salt: String::new(),
    });
    let shelves = Arc::<Shelves>::default();
    shelves.keep("public", of(5_000));
    look_later(
        &shelves,
        &node,
        &Caller::new("bob".parse().unwrap()),
        "public",
    );
    assert!(shelves.looking().contains("public"));
    while shelves.looking().contains("public") {
        tokio::task::yield_now().await;
    }
    assert_eq!(shelves.known()["public"].things, 5_000);
}
