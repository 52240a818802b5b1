//! How much is on a shelf is kept and not counted, a large shelf without its index is told of, and
//! what was said is read anew in the background.

use std::time::Duration;

use reprise_conformance::{document, member, user};
use reprise_global::{AccessPolicy, GlobalQuery, GlobalStore, Publication, TakeDown, UsageReport};
use reprise_postgres::PostgresStore;
use reprise_tests::{seen_if, wait_for_async};
use reprise_types::DegradedPart;
use tokio_postgres::Client;

use super::house::{House, database, options};

/// Shelves with their newest versions and the length of their heads.
type Sizes = Vec<(String, i64, i64)>;

async fn read_sizes(admin: &Client, statement: &str) -> Sizes {
    let rows = admin.query(statement, &[]).await.unwrap();
    let rows = rows.iter();
    rows.map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

/// Checks that the sizes that are kept are those that a count finds, and returns them.
async fn check_sizes(admin: &Client, after: &str) -> Sizes {
    let kept = "SELECT shelf, sum(things)::int8, sum(heads)::int8 \
         FROM reprise_global.shelf_size GROUP BY shelf HAVING sum(things) <> 0 ORDER BY shelf";
    let counted = "SELECT shelf, count(*), sum(head)::int8 FROM reprise_global.search \
         WHERE until IS NULL AND shelf NOT LIKE 'branch:%' GROUP BY shelf ORDER BY shelf";
    let kept = read_sizes(admin, kept).await;
    assert_eq!(kept, read_sizes(admin, counted).await, "after {after}");
    kept
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_size_of_a_shelf_is_kept_with_every_change() {
    let url = database().await;
    let store = PostgresStore::open(options(&url)).await.unwrap();
    let admin = House::admin(&url).await;
    let (ann, olga) = (member("ann", "acme"), member("olga", "acme"));
    let thing = |number: usize, policy| Publication {
        access_policy: policy,
        ..document(
            &format!("Otters {number}"),
            &format!("They hold {number} hands."),
        )
    };
    let id = store
        .publish(&ann, thing(1, AccessPolicy::Public))
        .await
        .unwrap()
        .id;
    store
        .publish(&ann, thing(2, AccessPolicy::Org))
        .await
        .unwrap();
    let sizes = check_sizes(&admin, "two publications").await;
    assert_eq!(sizes.iter().map(|one| one.1).collect::<Vec<_>>(), [1, 1]);
    let longer = Publication {
        content: "They hold hands and float down the river.".to_owned(),
        ..thing(1, AccessPolicy::Public)
    };
    store.publish(&ann, longer).await.unwrap();
    check_sizes(&admin, "a new version").await;
    store.open_branch(&ann, "next").await.unwrap();
    let draft = thing(3, AccessPolicy::Public);
    store.publish_on_branch(&ann, "next", draft).await.unwrap();
    check_sizes(&admin, "a draft").await;
    store.merge_branch(&ann, "next").await.unwrap();
    check_sizes(&admin, "a merge").await;
    let many = (10..40).map(|number| thing(number, AccessPolicy::Public));
    store.import(&ann, many.collect()).await.unwrap();
    let sizes = check_sizes(&admin, "an import").await;
    assert_eq!(sizes.last().map(|one| one.1), Some(32), "{sizes:?}");
    store.unpublish(&ann, id).await.unwrap();
    check_sizes(&admin, "a withdrawal").await;
    let listed = store.list_all_own_published(&ann).await.unwrap();
    let order = TakeDown {
        reason: "it names somebody".to_owned(),
        leaked: false,
    };
    store.take_down(&olga, listed[0].id, &order).await.unwrap();
    check_sizes(&admin, "a take-down").await;
    store.put_back(&olga, listed[0].id).await.unwrap();
    let before = check_sizes(&admin, "a put-back").await;
    store.maintain().await.unwrap();
    assert_eq!(check_sizes(&admin, "summing up").await, before);
    let rows = "SELECT count(*) FROM reprise_global.shelf_size";
    let rows: i64 = admin.query_one(rows, &[]).await.unwrap().get(0);
    let shelves = i64::try_from(before.len()).unwrap();
    assert_eq!(rows, shelves, "one row is left of each shelf");
    store.erase_person(&ann).await.unwrap();
    assert!(check_sizes(&admin, "an erasure").await.is_empty());
}

async fn read_metric(store: &PostgresStore, name: &str) -> u64 {
    let all = store.list_metrics().await.unwrap();
    let found = all.iter().find(|one| one.name == name);
    assert!(found.is_some(), "{name}: {all:?}");
    found.unwrap().value
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_very_large_shelf_without_its_index_is_answered_from_words_and_told() {
    let mut given = options(&database().await);
    given.unindexed_max = given.exact_max;
    let store = PostgresStore::open(given).await.unwrap();
    let thing = |number: u32| document(&format!("Thing {number}"), &format!("topic{number}"));
    let all = (0..4_200).map(thing).collect();
    store.import(&user("ann"), all).await.unwrap();
    let query = GlobalQuery::new("topic77", 3);
    for (missing, degraded) in [(1, &[DegradedPart::NoVectorIndex][..]), (0, &[])] {
        let answer = store.query(&user("bob"), &query).await.unwrap();
        assert_eq!(answer.hits[0].record.publication.title, "Thing 77");
        assert_eq!(answer.degraded, degraded);
        assert_eq!(read_metric(&store, "shelves_without_index").await, missing);
        assert_eq!(read_metric(&store, "vector_indexes").await, 1 - missing);
        assert_eq!(
            read_metric(&store, "largest_shelf_publications").await,
            4_200
        );
        store.maintain().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_restored_database_does_not_say_any_more_is_forgotten_beside_the_questions() {
    let url = database().await;
    let mut given = options(&url);
    given.voices_anew = Duration::ZERO;
    let store = PostgresStore::open(given).await.unwrap();
    let ann = user("ann");
    let thing = document("Otters", "Otters hold hands.");
    let id = store.publish(&ann, thing).await.unwrap().id;
    for number in 0..8 {
        let reader = user(&format!("reader-{number}"));
        let query = GlobalQuery::new("otters", 3);
        store.query(&reader, &query).await.unwrap();
        let report = UsageReport {
            id,
            score: 1.0,
            count: 1,
        };
        store.report_usage(&reader, &[report]).await.unwrap();
    }
    let count_uses = async || {
        let record = store.get(&ann, id, None).await.unwrap();
        record.quality_metrics.usage_count
    };
    assert_eq!(count_uses().await, 8);
    assert_eq!(read_metric(&store, "voices").await, 8);
    // As a database from before all of this.
    let admin = House::admin(&url).await;
    let gone = "DELETE FROM reprise_global.retrieved; DELETE FROM reprise_global.voice";
    admin.batch_execute(gone).await.unwrap();
    wait_for_async("what was said to be read anew", async || {
        let uses = count_uses().await;
        seen_if(uses == 0, uses)
    })
    .await;
    assert_eq!(read_metric(&store, "voices").await, 0);
}
