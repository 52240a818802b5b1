//! The database ends as in a power cut, again and again, under many who publish.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reprise_conformance::{document, user};
use reprise_global::{GlobalError, GlobalQuery, GlobalStore};
use reprise_postgres::PostgresStore;
use reprise_tests::{Postgres, seen_if, wait_for_async};
use reprise_types::{ErrorKind, RecordId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use super::house::{House, SharedList, create_database_on, database, furnish, options};

/// Who publish at the same time.
const CLIENTS: u32 = 50;
/// Power cuts.
const CUTS: u32 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_killed_database_loses_nothing_acknowledged_and_doubles_nothing() {
    let start = || Postgres::start(&[]).unwrap();
    let mut server = tokio::task::spawn_blocking(start).await.unwrap();
    furnish(&server).await;
    let url = create_database_on(&server, "base").await;
    let mut given = options(&url);
    given.connections = 20;
    let store = PostgresStore::open(given).await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let acknowledged: SharedList<(String, RecordId)> = SharedList::default();
    let refused: SharedList<ErrorKind> = SharedList::default();
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let (store, is_over) = (store.clone(), Arc::clone(&is_over));
        let (acknowledged, refused) = (acknowledged.clone(), refused.clone());
        clients.push(tokio::spawn(async move {
            let author = user(&format!("author-{client}"));
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let title = format!("Thing {client} {number}");
                let thing = document(&title, &format!("Content of {title}."));
                // As a client does: until there is an answer.
                loop {
                    match store.publish(&author, thing.clone()).await {
                        Ok(done) => {
                            acknowledged.add((title, done.id));
                            break;
                        }
                        Err(error) => {
                            refused.add(error.kind());
                            tokio::task::yield_now().await;
                            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                        }
                    }
                }
            }
        }));
    }
    for cut in 1..=CUTS {
        acknowledged.wait_for_more(200).await;
        let cycle = move || {
            server.kill().unwrap();
            server.restart().unwrap();
            server
        };
        server = tokio::task::spawn_blocking(cycle).await.unwrap();
        // It goes on by itself.
        acknowledged.wait_for_more(100).await;
        assert!(cut <= CUTS);
    }
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    assert!(refused.all().iter().all(|kind| *kind == ErrorKind::Retry));
    let mut standing: BTreeMap<String, RecordId> = BTreeMap::new();
    for client in 0..CLIENTS {
        let author = user(&format!("author-{client}"));
        for record in store.list_all_own_published(&author).await.unwrap() {
            let title = record.publication.title.clone();
            assert_eq!(record.version.0, 1, "{title} was published once");
            let before = standing.insert(title.clone(), record.id);
            assert!(before.is_none(), "{title} is there twice");
        }
    }
    let acknowledged = acknowledged.all();
    for (title, id) in &acknowledged {
        assert_eq!(standing.get(title), Some(id), "{title} was acknowledged");
    }
    assert_eq!(
        standing.len(),
        acknowledged.len(),
        "and nothing else is there"
    );
    let query = GlobalQuery::new("content thing 7", 5);
    let hits = store.query(&user("reader"), &query).await.unwrap().hits;
    assert_eq!(hits.len(), 5);
}

/// A store whose questions have little time, with so many things that what is known of their shelf
/// is asked once; and a question that finds five.
async fn make_crowded_store(url: &str) -> (PostgresStore, GlobalQuery) {
    let mut given = options(url);
    given.question_time = std::time::Duration::from_millis(250);
    let store = PostgresStore::open(given).await.unwrap();
    let thing = |number: u32| document(&format!("Thing {number}"), "Alpha beta.");
    let all = (0..300).map(thing).collect();
    store.import(&user("ann"), all).await.unwrap();
    (store, GlobalQuery::new("alpha thing", 5))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_says_so_whichever_of_two_answers_first() {
    let url = database().await;
    let (store, query) = make_crowded_store(&url).await;
    assert_eq!(count_hits(&store, &query).await, 5);
    let _admin = House::connect_and_lock_table(&url, "search").await;
    for _ in 0..8 {
        let refused = store.query(&user("bob"), &query).await.unwrap_err();
        assert!(matches!(refused, GlobalError::Busy { .. }), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shelf_that_no_question_has_time_to_look_at_is_looked_at_beside_them() {
    let url = database().await;
    let (store, query) = make_crowded_store(&url).await;
    let admin = House::connect_and_lock_table(&url, "shelf_size").await;
    // Each question is over, and its shelves are looked at all the same, once and for longer. A
    // transaction that has seen the connections sees no newer ones.
    let watching = House::admin(&url).await;
    wait_for_async(
        "a shelf that is read while questions are asked",
        async || {
            let refused = store.query(&user("bob"), &query).await.unwrap_err();
            assert!(matches!(refused, GlobalError::Busy { .. }), "{refused}");
            let waits = "SELECT count(*) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'";
            let waiting: i64 = watching.query_one(waits, &[]).await.unwrap().get(0);
            seen_if(waiting == 1, waiting)
        },
    )
    .await;
    let refused = store.query(&user("bob"), &query).await.unwrap_err();
    assert!(matches!(refused, GlobalError::Busy { .. }), "{refused}");
    admin.batch_execute("COMMIT").await.unwrap();
    assert_eq!(count_hits(&store, &query).await, 5);
}

/// How many answer, once a store whose questions have little time has the machine to itself.
async fn count_hits(store: &PostgresStore, query: &GlobalQuery) -> usize {
    let answer = wait_for_async("an answer in time", async || {
        store.query(&user("bob"), query).await
    });
    answer.await.hits.len()
}

/// Passes on what is said to a socket and by it, unless it is frozen.
async fn forward_unless_frozen(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut is_frozen: tokio::sync::watch::Receiver<bool>,
) {
    let mut bytes = [0; 4_096];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let thawed = is_frozen.wait_for(|is_frozen| !is_frozen).await.is_ok();
        if !thawed || to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_says_nothing_ends_no_request_and_is_found_again() {
    let url = database().await;
    let folder = tempfile::tempdir().unwrap();
    let socket = House::server().folder().join(".s.PGSQL.5432");
    let door = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let (freeze, is_frozen) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        while let Ok((client, _)) = door.accept().await {
            let server = UnixStream::connect(&socket).await.unwrap();
            let ((hears, says), (answers, asks)) = (client.into_split(), server.into_split());
            tokio::spawn(forward_unless_frozen(hears, asks, is_frozen.clone()));
            tokio::spawn(forward_unless_frozen(answers, says, is_frozen.clone()));
        }
    });
    let whose = House::server().folder().display().to_string();
    let url = url.replace(&whose, &folder.path().display().to_string());
    let mut given = options(&url);
    given.question_time = std::time::Duration::from_millis(250);
    let store = PostgresStore::open(given).await.unwrap();
    store
        .publish(&user("ann"), document("Otters", "They hold hands."))
        .await
        .unwrap();
    let query = GlobalQuery::new("otters", 5);
    let ask = async || store.query(&user("bob"), &query).await;
    assert_eq!(count_hits(&store, &query).await, 1);
    freeze.send(true).unwrap();
    // On the connection that has just been used, and on those that have rested.
    for _ in 0..2 {
        let answered = tokio::time::timeout(std::time::Duration::from_mins(1), ask()).await;
        let refused = answered.expect("it ends").unwrap_err();
        assert!(
            matches!(refused, GlobalError::Unavailable { .. }),
            "{refused}"
        );
    }
    freeze.send(false).unwrap();
    assert_eq!(count_hits(&store, &query).await, 1);
}
