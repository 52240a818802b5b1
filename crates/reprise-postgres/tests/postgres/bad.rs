//! Databases that cannot be used, each refused with one sentence that says what to do.

use reprise_conformance::{DIMENSIONS, document, user};
use reprise_global::GlobalStore;
use reprise_postgres::PostgresStore;
use reprise_tests::{assert_contains, assert_lacks};
use reprise_types::EmbeddingSpace;

use super::house::{House, ROLE, create_database_on, database, options};

/// What the store says of a database, which must be one sentence.
async fn open_and_expect_refusal(url: &str) -> String {
    let refused = PostgresStore::open(options(url)).await.unwrap_err();
    let refused = refused.to_string();
    assert!(!refused.contains('\n') && refused.len() < 400, "{refused}");
    refused
}

/// A database that an administrator has changed.
async fn refusal_after_change(url: &str, statements: &str) -> String {
    let admin = House::admin(url).await;
    admin.batch_execute(statements).await.unwrap();
    open_and_expect_refusal(url).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_without_pgvector_or_with_an_old_one() {
    drop(database().await);
    let bare = create_database_on(House::server(), "template1").await;
    let refused = open_and_expect_refusal(&bare).await;
    assert_contains!(refused, "CREATE EXTENSION vector");
    let old = database().await;
    let age = "UPDATE pg_extension SET extversion = '0.8.0' WHERE extname = 'vector'";
    let refused = refusal_after_change(&old, age).await;
    assert_contains!(refused, "0.8.0", "ALTER EXTENSION");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_without_rights_and_one_above_the_policies() {
    let url = database().await;
    let name = url.rsplit('=').next().unwrap();
    let refused = refusal_after_change(
        &url,
        &format!("REVOKE CREATE ON DATABASE {name} FROM {ROLE}"),
    )
    .await;
    assert_contains!(refused, "give it CREATE");
    let made = "SELECT to_regnamespace('reprise_global') IS NULL";
    let made = House::admin(&url).await.query_one(made, &[]).await.unwrap();
    assert!(made.get::<_, bool>(0), "nothing is half made");
    let above = url.replace(&format!("user={ROLE}"), "user=postgres");
    let refused = open_and_expect_refusal(&above).await;
    assert_contains!(refused, "BYPASSRLS");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_are_newer_half_made_or_half_gone() {
    for (statements, said) in [
        (
            "INSERT INTO reprise_global.schema_version \
             SELECT max(version) + 1 FROM reprise_global.schema_version",
            "newer Reprise",
        ),
        ("DROP TABLE reprise_global.voice", "`voice` is missing"),
        ("DROP TABLE reprise_global.draft", "`draft` is missing"),
        (
            "DELETE FROM reprise_global.schema_version WHERE version = 1",
            "half migrated",
        ),
        ("DROP TABLE reprise_global.schema_version", "half migrated"),
        (
            "DELETE FROM reprise_global.schema_version WHERE version > 1",
            "half migrated",
        ),
        ("DELETE FROM reprise_global.schema_version", "half migrated"),
        (
            "ALTER TABLE reprise_global.search DISABLE ROW LEVEL SECURITY",
            "`search` is open",
        ),
        (
            "ALTER TABLE reprise_global.draft NO FORCE ROW LEVEL SECURITY",
            "`draft` is open",
        ),
    ] {
        let url = database().await;
        drop(PostgresStore::open(options(&url)).await.unwrap());
        let refused = refusal_after_change(&url, statements).await;
        assert!(refused.contains(said), "{statements}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_another_model_and_nodes_that_start_together() {
    let url = database().await;
    let mut starts = Vec::new();
    for _ in 0..4 {
        let url = url.clone();
        starts.push(tokio::spawn(async move {
            PostgresStore::open(options(&url)).await.map(drop)
        }));
    }
    for start in starts {
        start.await.unwrap().unwrap();
    }
    let mut other = options(&url);
    other.space = other.space.map(|space| EmbeddingSpace {
        model: "another".to_owned(),
        ..space
    });
    let refused = PostgresStore::open(other).await.unwrap_err().to_string();
    assert_contains!(refused, "`another 1 384`", "same model");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_that_cannot_be_used_say_no_password() {
    for url in [
        "postgresql://ann:hunter2@127.0.0.1:1/x",
        "postgresql://ann:hunter2@127.0.0.1:1/x?sslmode=maybe",
        "host=/nowhere user=ann password=hunter2",
    ] {
        let refused = open_and_expect_refusal(url).await;
        assert_lacks!(refused, "hunter2");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_the_first_version_come_forward_whole_or_stay() {
    let url = database().await;
    let first = include_str!("../../src/migrations/0001.sql");
    let first = first.replace("{dimensions}", &DIMENSIONS.to_string());
    House::client(&url)
        .await
        .batch_execute(&format!(
            "CREATE SCHEMA reprise_global; CREATE TABLE reprise_global.schema_version \
             (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()); {first} \
             INSERT INTO reprise_global.schema_version (version) VALUES (1)"
        ))
        .await
        .unwrap();
    // Something of that name is there already: the migration does not end, and leaves nothing.
    let said = refusal_after_change(&url, "CREATE VIEW reprise_global.draft AS SELECT 1").await;
    assert_contains!(said, "\"draft\" already exists");
    let admin = House::admin(&url).await;
    let standing = "SELECT max(version), to_regclass('reprise_global.branch') IS NULL \
         FROM reprise_global.schema_version";
    let standing = admin.query_one(standing, &[]).await.unwrap();
    assert_eq!((standing.get(0), standing.get(1)), (1, true));
    admin
        .batch_execute("DROP VIEW reprise_global.draft")
        .await
        .unwrap();
    let store = PostgresStore::open(options(&url)).await.unwrap();
    let ann = user("ann");
    store.open_branch(&ann, "next").await.unwrap();
    let thing = document("Otters", "Otters hold hands.");
    store.publish_on_branch(&ann, "next", thing).await.unwrap();
    assert_eq!(store.merge_branch(&ann, "next").await.unwrap().len(), 1);
}
