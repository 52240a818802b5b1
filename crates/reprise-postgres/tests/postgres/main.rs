//! The PostgreSQL store on a real server: the suite that every store passes, with statements and
//! policies and with policies alone, and what is its own.
//!
//! The server comes by pip (`reprise-tests`) and runs on a socket of its own.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails by panicking")]

mod bad;
mod faults;
mod house;
mod operate;
mod plans;
mod quotas;
mod reviews;
mod role;
mod sizes;
mod tls;

use std::time::Duration;

use house::{House, database, options};
use reprise_conformance::{
    an_import_is_for_its_readers, bad_vectors, document, member, user,
    vectors_that_cannot_be_kept_cost_meaning_alone,
};
use reprise_global::{GlobalQuery, GlobalStore, UsageReport, Version};
use reprise_postgres::PostgresStore;
use reprise_tests::{seen_if, wait_for_async};
use reprise_types::RecordId;
use serde_json::{Value, json};
use uuid::Uuid;

mod statements_and_policies {
    use super::*;

    async fn store() -> (PostgresStore, ()) {
        (
            PostgresStore::open(options(&database().await))
                .await
                .unwrap(),
            (),
        )
    }

    reprise_conformance::conformance_suite!(store, with operators);
}

mod policies_alone {
    use super::*;

    async fn store() -> (PostgresStore, ()) {
        let mut options = options(&database().await);
        options.policies_alone = true;
        (PostgresStore::open(options).await.unwrap(), ())
    }

    reprise_conformance::conformance_suite!(store, with operators);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_import_is_for_the_readers_of_each_policy() {
        let (store, ()) = store().await;
        let import = async |caller, all| Ok(store.import(&caller, all).await?.published);
        an_import_is_for_its_readers(&store, import).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_is_for_the_readers_of_each_policy() {
    let store = PostgresStore::open(options(&database().await)).await;
    let store = store.unwrap();
    let import = async |caller, all| Ok(store.import(&caller, all).await?.published);
    an_import_is_for_its_readers(&store, import).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vectors_of_another_space_or_not_finite_are_not_kept() {
    for vectors in bad_vectors() {
        let mut options = options(&database().await);
        options.vectors = vectors;
        let store = PostgresStore::open(options).await.unwrap();
        vectors_that_cannot_be_kept_cost_meaning_alone(&store).await;
    }
}

async fn list_titles(store: &PostgresStore, text: &str) -> Vec<String> {
    let query = GlobalQuery::new(text, 10);
    let answer = store.query(&user("reader"), &query).await.unwrap();
    let hits = answer.hits.into_iter();
    hits.map(|hit| hit.record.publication.title).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_sees_at_once_what_another_published_and_took_back() {
    let url = database().await;
    let one = PostgresStore::open(options(&url)).await.unwrap();
    let two = PostgresStore::open(options(&url)).await.unwrap();
    let ann = user("ann");
    let thing = document("Otters", "Otters hold hands.");
    let id = one.publish(&ann, thing).await.unwrap().id;
    assert_eq!(list_titles(&two, "otters").await, ["Otters"]);
    for number in 0..40 {
        let reader = user(&format!("reader-{number}"));
        let query = GlobalQuery::new("otters", 3);
        one.query(&reader, &query).await.unwrap();
        let report = UsageReport {
            id,
            score: 1.0,
            count: 1,
        };
        one.report_usage(&reader, &[report]).await.unwrap();
    }
    let heard = two.get(&ann, id, None).await.unwrap().quality_metrics;
    assert_eq!(heard.usage_count, 40);
    one.unpublish(&ann, id).await.unwrap();
    assert!(list_titles(&two, "otters").await.is_empty());
    assert!(two.get(&ann, id, None).await.is_err());
}

/// A use beyond the bound is not written: each node would read the row again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_reader_was_given_often_enough_is_written_no_more() {
    let url = database().await;
    let store = PostgresStore::open(options(&url)).await.unwrap();
    let bob = user("bob");
    let thing = document("Otters", "Otters hold hands.");
    store.publish(&user("ann"), thing).await.unwrap();
    let admin = House::admin(&url).await;
    let mut written = Vec::new();
    for _ in 0..2 {
        for _ in 0..12 {
            let query = GlobalQuery::new("otters", 3);
            store.query(&bob, &query).await.unwrap();
        }
        // With the next word of anybody.
        store.report_usage(&bob, &[]).await.unwrap();
        let row = "SELECT uses, at::text FROM reprise_global.retrieved";
        let row = admin.query_one(row, &[]).await.unwrap();
        written.push((row.get::<_, i32>(0), row.get::<_, String>(1)));
    }
    assert!(written[0].0 >= 10, "{written:?}");
    assert_eq!(written[0], written[1]);
}

/// What a store tells of a thing, the last bit included.
async fn read_figures(store: &PostgresStore, id: RecordId) -> (u64, u32) {
    let metrics = store.get(&user("reader"), id, None).await.unwrap();
    let metrics = metrics.quality_metrics;
    (metrics.usage_count, metrics.quality().to_bits())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_tells_the_same_figure_also_once_another_took_back_what_it_had_heard_of() {
    let url = database().await;
    let one = PostgresStore::open(options(&url)).await.unwrap();
    let two = PostgresStore::open(options(&url)).await.unwrap();
    let ann = user("ann");
    let helps = one.publish(&ann, document("Otters", "Otters hold hands."));
    let helps = helps.await.unwrap().id;
    let gone = one.publish(&ann, document("Newts", "Newts do not."));
    let gone = gone.await.unwrap().id;
    for number in 0..5 {
        let reader = user(&format!("reader-{number}"));
        let said = [helps, gone].map(|id| UsageReport {
            id,
            score: 1.0,
            count: 1,
        });
        two.report_usage(&reader, &said).await.unwrap();
    }
    let before = read_figures(&two, helps).await;
    assert_eq!(before, read_figures(&one, helps).await);
    one.unpublish(&ann, gone).await.unwrap();
    let fresh = PostgresStore::open(options(&url)).await.unwrap();
    let after = read_figures(&fresh, helps).await;
    assert_ne!(before, after, "the voices on the other thing counted");
    assert_eq!(read_figures(&one, helps).await, after);
    assert_eq!(read_figures(&two, helps).await, after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_thing_published_at_the_same_time_is_one_thing_and_no_word_is_lost() {
    let url = database().await;
    let store = PostgresStore::open(options(&url)).await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..24_u32 {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let text = format!("Content {}", number % 3);
            let done = store.publish(&user("ann"), document("Thing", &text)).await;
            done.unwrap().id
        }));
    }
    let mut ids = Vec::new();
    for task in tasks {
        ids.push(task.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "one origin is one thing");
    let versions = store.list_all_versions(&user("bob"), ids[0]).await.unwrap();
    let numbers: Vec<u32> = versions.iter().map(|one| one.version.0).collect();
    let expected: Vec<u32> = (1..=numbers.len() as u32).rev().collect();
    assert_eq!(numbers, expected, "no version is missing or doubled");
    let live = list_titles(&store, "content").await;
    assert_eq!(live, ["Thing"], "only the newest answers");
    let mut tasks = Vec::new();
    for _ in 0..20 {
        let (store, id) = (store.clone(), ids[0]);
        tasks.push(tokio::spawn(async move {
            let report = UsageReport {
                id,
                score: 0.5,
                count: 1,
            };
            store
                .report_usage(&user("bob"), &[report, report])
                .await
                .unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let said = House::admin(&url).await;
    let row = said.query_one("SELECT uses FROM reprise_global.voice", &[]);
    assert_eq!(row.await.unwrap().get::<_, i32>(0), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_back_leaves_no_row_and_the_audit_names_authors_alone() {
    let url = database().await;
    let store = PostgresStore::open(options(&url)).await.unwrap();
    let ann = member("ann", "acme");
    let word = "xylophonequartz";
    let mut thing = document("A title", &format!("About {word}."));
    thing.access_policy = reprise_global::AccessPolicy::Org;
    let id = store.publish(&ann, thing.clone()).await.unwrap().id;
    thing.content.push_str(" More.");
    store.publish(&ann, thing.clone()).await.unwrap();
    store.open_branch(&ann, "next").await.unwrap();
    let mut tried = thing.clone();
    tried.content.push_str(" And more.");
    store.publish_on_branch(&ann, "next", tried).await.unwrap();
    let mia = member("zacharias", "acme");
    store.rate(&mia, id, 0.5).await.unwrap();
    let told = UsageReport {
        id,
        score: 0.75,
        count: 3,
    };
    store.report_usage(&mia, &[told]).await.unwrap();
    let admin = House::admin(&url).await;
    let voice = "SELECT (to_jsonb(v) - 'at' - 'id')::text FROM reprise_global.voice v";
    let voice: String = admin.query_one(voice, &[]).await.unwrap().get(0);
    let mut voice: Value = serde_json::from_str(&voice).unwrap();
    // By a hash, which is nobody's name; score and count, and no more.
    let by = voice["contributor"].take();
    assert!(by.as_str().unwrap().parse::<Uuid>().is_ok(), "{by}");
    let kept = json!({ "contributor": null, "score": 0.75, "uses": 3 });
    assert_eq!(voice, kept);
    let gone = store.unpublish(&ann, id).await.unwrap();
    assert!(gone.verified && gone.versions == 2);
    for table in [
        "thing", "search", "posting", "authored", "voice", "rating", "draft",
    ] {
        let count = format!("SELECT count(*) FROM reprise_global.{table}");
        let row = admin.query_one(&count, &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 0, "{table}");
    }
    let lines = admin
        .query(
            "SELECT a::text FROM reprise_global.audit a ORDER BY number",
            &[],
        )
        .await
        .unwrap();
    let lines: Vec<String> = lines.iter().map(|row| row.get(0)).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    let all = lines.join("\n");
    assert!(all.contains("ann") && all.contains("unpublish"), "{all}");
    assert!(!all.contains("zacharias") && !all.contains(word), "{all}");
    let told = store.list_audit_lines(&ann, 10).await.unwrap();
    assert_eq!(told.first().unwrap().what, "unpublish");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_is_found_like_what_was_published_and_passes_over_what_stands() {
    let store = PostgresStore::open(options(&database().await))
        .await
        .unwrap();
    let ann = user("ann");
    let mut things: Vec<_> = (0..1_200)
        .map(|number| document(&format!("Guide {number}"), &format!("About topic{number}.")))
        .collect();
    assert_eq!(
        store.import(&ann, things.clone()).await.unwrap().published,
        1_200
    );
    let first = list_titles(&store, "topic777").await.into_iter().next();
    assert_eq!(first.as_deref(), Some("Guide 777"));
    things.push(document("Guide 1200", "About topic1200."));
    assert_eq!(store.import(&ann, things).await.unwrap().published, 1);
    let again = document("Guide 5", "About topic5.");
    let again = store.publish(&ann, again).await.unwrap();
    assert!(again.unchanged && again.version == Version(1));
    let near = document("Guide 5 again", "About topic5.");
    let near = store.publish(&user("bob"), near).await.unwrap();
    assert_eq!(near.overlaps.first().map(|one| one.id), Some(again.id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exhausted_pool_refuses_at_once_and_says_that_it_is_busy() {
    let url = database().await;
    let mut options = options(&url);
    options.connections = 2;
    options.patience = Duration::ZERO;
    let store = PostgresStore::open(options).await.unwrap();
    // Two that publish wait for this lock, with both connections.
    let admin = House::connect_and_lock_table(&url, "authored").await;
    let mut waiting = Vec::new();
    for number in 0..2 {
        let store = store.clone();
        waiting.push(tokio::spawn(async move {
            let thing = document(&format!("Thing {number}"), "Content");
            store.publish(&user("ann"), thing).await
        }));
    }
    wait_for_async("both connections are in use", async || {
        let used = store.connections().0;
        seen_if(used == 2, used)
    })
    .await;
    let refused = store
        .query(&user("bob"), &GlobalQuery::new("thing", 3))
        .await;
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused, reprise_global::GlobalError::Busy { .. }),
        "{refused}"
    );
    admin.batch_execute("COMMIT").await.unwrap();
    for one in waiting {
        one.await.unwrap().unwrap();
    }
    assert_eq!(list_titles(&store, "thing").await.len(), 2);
}
