//! The embedded store under the suite that every store passes, and what is its own: several
//! processes, a torn ledger, bytes that are gone.

use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_conformance::{
    DIMENSIONS, an_import_is_for_its_readers, bad_vectors, document, user,
    vectors_that_cannot_be_kept_cost_meaning_alone, word_space, word_vectors,
};
use reprise_engine::Engine;
use reprise_global::{
    CoordinationSettings, EmbeddedOptions, EmbeddedStore, Fate, GlobalQuery, GlobalStore, Hold,
    TakeDown, UsageReport,
};
use reprise_simulation::{DiskCall, ObservedDisk};
use reprise_store::RealDisk;
use reprise_types::{Clock, sha256_hex};
use serde_json::Value;
use tempfile::TempDir;

/// A clock that goes on by a second with each look.
struct Ticking(Mutex<DateTime<Utc>>);

impl Clock for Ticking {
    fn now(&self) -> DateTime<Utc> {
        let mut now = self.0.lock().unwrap();
        *now += TimeDelta::seconds(1);
        *now
    }
}

fn options(folder: &TempDir, hold: Hold) -> EmbeddedOptions {
    let start = DateTime::from_timestamp(1_771_000_000, 0).unwrap();
    EmbeddedOptions {
        folder: folder.path().join(".global"),
        dimensions: DIMENSIONS,
        space: Some(word_space()),
        open: Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
        vectors: word_vectors(),
        clock: Arc::new(Ticking(Mutex::new(start))),
        hold,
        patience: Duration::from_mins(1),
        coordination: CoordinationSettings::default(),
    }
}

mod shared {
    use super::*;

    fn store() -> Ready<(EmbeddedStore, TempDir)> {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::new(options(&folder, Hold::EachWrite));
        ready((store, folder))
    }

    reprise_conformance::conformance_suite!(store);
}

mod held {
    use super::*;

    fn store() -> Ready<(EmbeddedStore, TempDir)> {
        let folder = tempfile::tempdir().unwrap();
        ready((
            EmbeddedStore::new(options(&folder, Hold::UntilIdle)),
            folder,
        ))
    }

    reprise_conformance::conformance_suite!(store);
}

async fn list_titles(store: &EmbeddedStore, text: &str) -> Vec<String> {
    let query = GlobalQuery::new(text, 10);
    let answer = store.query(&user("reader"), &query).await.unwrap();
    let hits = answer.hits.into_iter();
    hits.map(|hit| hit.record.publication.title).collect()
}

/// What readers are given counts, of each ten times at most, over an end of the process; an
/// author's own look and a look at the past count nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_retrieved_is_counted_over_an_end_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let open = || EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let ann = user("ann");
    let mut store = open();
    let thing = document("Otters", "Otters hold hands.");
    let id = store.publish(&ann, thing).await.unwrap().id;
    store.create_snapshot(&ann, "monday").await.unwrap();
    let query = GlobalQuery::new("otters", 3);
    let past = GlobalQuery {
        snapshot: Some("monday".to_owned()),
        ..query.clone()
    };
    let ledger = || std::fs::metadata(folder.path().join(".global/ledger.jsonl")).unwrap();
    let mut whole = 0;
    for (readers, times, counted) in [(4, 1, 0), (5, 1, 9), (5, 30, 50), (5, 30, 50)] {
        for number in 0..readers {
            let reader = user(&format!("reader-{number}"));
            for _ in 0..times {
                store.query(&reader, &query).await.unwrap();
                store.query(&reader, &past).await.unwrap();
                store.query(&ann, &query).await.unwrap();
            }
        }
        store = open();
        let found = store.get(&ann, id, None).await.unwrap();
        let uses = found.quality_metrics.usage_count;
        assert_eq!(uses, counted);
        assert!(counted < 50 || whole == 0 || ledger().len() == whole);
        whole = if counted == 50 { ledger().len() } else { 0 };
    }
}

/// Operators and quotas are the service's; what an older version wrote of them costs nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_a_folder_says_that_it_has_no_operators() {
    let folder = tempfile::tempdir().unwrap();
    let open = || EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let (ann, store) = (user("ann"), open());
    let thing = document("Otters", "Otters hold hands.");
    let id = store.publish(&ann, thing).await.unwrap().id;
    let order = TakeDown {
        reason: "it names a customer".to_owned(),
        leaked: false,
    };
    let refused = [
        store.take_down(&ann, id, &order).await.err(),
        store.put_back(&ann, id).await.err(),
        store.list_person_lines(&ann).await.err(),
        store.erase_person(&ann).await.err(),
    ];
    for error in refused {
        let said = error.unwrap().to_string();
        assert!(said.contains("PostgreSQL"), "{said}");
    }
    assert!(store.list_own_taken_down(&ann).await.unwrap().is_empty());
    let ledger = folder.path().join(".global/ledger.jsonl");
    let mut text = std::fs::read_to_string(&ledger).unwrap();
    text.push_str("{\"what\":\"erased\",\"at\":\"2026-01-01T00:00:00Z\",\"who\":\"bob\"}\n");
    std::fs::write(&ledger, text).unwrap();
    for number in 0..5 {
        let reader = user(&format!("reader-{number}"));
        store.rate(&reader, id, 1.0).await.unwrap();
    }
    let record = open().get(&ann, id, None).await.unwrap();
    assert_eq!(record.quality_metrics.user_rating, Some(1.0));
    let audit = store.list_audit_lines(&ann, 9).await.unwrap();
    let told: Vec<&str> = audit.iter().map(|line| line.what.as_str()).collect();
    assert_eq!(told, ["publish"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_sees_what_was_published_and_taken_back_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let one = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let two = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    assert!(list_titles(&two, "otters").await.is_empty());
    let published = one
        .publish(&user("ann"), document("Otters", "Otters hold hands."))
        .await
        .unwrap();
    assert_eq!(list_titles(&two, "otters").await, ["Otters"]);
    two.publish(
        &user("bob"),
        document("More otters", "Otters sleep afloat."),
    )
    .await
    .unwrap();
    assert_eq!(list_titles(&one, "otters").await.len(), 2);
    one.unpublish(&user("ann"), published.id).await.unwrap();
    assert_eq!(list_titles(&two, "otters").await, ["More otters"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn beside_a_service_others_write_in_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let service = EmbeddedStore::new(options(&folder, Hold::UntilIdle));
    let command = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let (ann, bob) = (user("ann"), user("bob"));
    for turn in 0..2 {
        let own = document(&format!("Otters {turn}"), "Otters hold hands.");
        let made = service.publish(&ann, own).await.unwrap();
        let more = document(&format!("More otters {turn}"), "Otters sleep afloat.");
        let other = command.publish(&bob, more);
        // A reader does not wait for a writer that waits for its turn.
        let (other, asked) = tokio::join!(other, service.get(&bob, made.id, None));
        assert_eq!(asked.unwrap().author_id, ann.user);
        other.unwrap();
        assert_eq!(list_titles(&service, "otters").await.len(), 2 * (turn + 1));
    }
    service.close().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_the_same_time_lose_and_double_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let stores: Vec<_> = (0..4)
        .map(|_| EmbeddedStore::new(options(&folder, Hold::EachWrite)))
        .collect();
    let mut tasks = Vec::new();
    for (number, store) in stores.iter().enumerate() {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            for thing in 0..5 {
                // Each thing is published by two of them, as by a client that asks again.
                let title = format!("Thing {} {thing}", number / 2);
                let content = format!("Content {} {thing}", number / 2);
                store
                    .publish(&user("ann"), document(&title, &content))
                    .await
                    .unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let own = stores[0]
        .list_all_own_published(&user("ann"))
        .await
        .unwrap();
    let mut found: Vec<_> = own
        .iter()
        .map(|record| (record.publication.title.clone(), record.version.0))
        .collect();
    found.sort();
    let expected: Vec<_> = (0..2)
        .flat_map(|who| (0..5).map(move |thing| (format!("Thing {who} {thing}"), 1)))
        .collect();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_back_is_in_none_of_the_stores_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let secret = "xylophonequartz";
    let published = store
        .publish(
            &user("ann"),
            document("A title", &format!("About {secret}.")),
        )
        .await
        .unwrap();
    store
        .publish(&user("ann"), document("Stays", "About the weather."))
        .await
        .unwrap();
    store.unpublish(&user("ann"), published.id).await.unwrap();
    for entry in std::fs::read_dir(folder.path().join(".global")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
        assert!(!found, "{}", path.display());
    }
    assert_eq!(list_titles(&store, "weather").await, ["Stays"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_line_of_the_ledger_costs_that_line_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let ann = user("ann");
    let id = store
        .publish(&ann, document("Otters", "Otters hold hands."))
        .await
        .unwrap()
        .id;
    let ledger = folder.path().join(".global/ledger.jsonl");
    let mut text = std::fs::read_to_string(&ledger).unwrap();
    text.push_str("{\"what\":\"rep");
    std::fs::write(&ledger, text).unwrap();
    for number in 0..5 {
        let reader = user(&format!("reader-{number}"));
        store.rate(&reader, id, 1.0).await.unwrap();
    }
    let fresh = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let record = fresh.get(&ann, id, None).await.unwrap();
    assert_eq!(record.quality_metrics.user_rating, Some(1.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_names_authors_and_no_reader() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let published = store
        .publish(&user("ann"), document("Otters", "Otters hold hands."))
        .await
        .unwrap();
    store
        .rate(&user("zacharias"), published.id, 0.5)
        .await
        .unwrap();
    let told = UsageReport {
        id: published.id,
        score: 0.75,
        count: 3,
    };
    let fates = store
        .report_usage(&user("zacharias"), &[told])
        .await
        .unwrap();
    assert_eq!(fates, [Fate::Counted]);
    let ledger = std::fs::read_to_string(folder.path().join(".global/ledger.jsonl")).unwrap();
    assert!(
        ledger.contains("ann") && !ledger.contains("zacharias"),
        "{ledger}"
    );
    assert!(!ledger.contains("hold hands"), "{ledger}");
    // Of a run go up id, score and count, and stand here by a hash that nobody can make of a name.
    let sent = serde_json::to_value(told).unwrap();
    assert_eq!(list_field_names(&sent), ["count", "id", "score"]);
    let lines = ledger.lines().map(serde_json::from_str::<Value>);
    let reported = lines.map(Result::unwrap);
    let reported: Vec<Value> = reported.filter(|line| line["what"] == "reported").collect();
    let [line] = reported.as_slice() else {
        panic!("{ledger}")
    };
    assert_eq!(
        list_field_names(line),
        ["at", "by", "count", "id", "score", "what"]
    );
    let by = line["by"].as_str().unwrap();
    assert_eq!(by.len(), 32);
    assert!(!sha256_hex(b"zacharias").starts_with(by), "{by}");
}

/// The names of an object, sorted.
fn list_field_names(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object
        .as_object()
        .unwrap()
        .keys()
        .map(|name| &**name)
        .collect();
    names.sort_unstable();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_is_for_the_readers_of_each_policy() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let import = async |caller, all| store.import(&caller, all).await;
    an_import_is_for_its_readers(&store, import).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vectors_of_another_space_or_not_finite_are_not_kept() {
    for vectors in bad_vectors() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(&folder, Hold::EachWrite);
        options.vectors = vectors;
        let store = EmbeddedStore::new(options);
        vectors_that_cannot_be_kept_cost_meaning_alone(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_tried_out_and_dropped_is_in_none_of_the_stores_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::new(options(&folder, Hold::EachWrite));
    let (ann, secret) = (user("ann"), "xylophonequartz");
    store.open_branch(&ann, "next").await.unwrap();
    for number in 0..2 {
        let content = format!("About {secret}, {number}.");
        let thing = document("A title", &content);
        store.publish_on_branch(&ann, "next", thing).await.unwrap();
    }
    store.drop_branch(&ann, "next").await.unwrap();
    for entry in std::fs::read_dir(folder.path().join(".global")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

/// A model may take seconds, and others wait for the one that holds the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_is_embedded_while_the_store_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(&folder, Hold::EachWrite);
    let (lock, made) = (options.folder.join("writer.lock"), word_vectors());
    options.vectors = Arc::new(move |text| {
        if let Ok(lock) = std::fs::File::open(&lock) {
            lock.try_lock().unwrap();
        }
        made(text)
    });
    let store = EmbeddedStore::new(options);
    let ann = user("ann");
    let thing = |content: &str| document("Otters", content);
    store.publish(&ann, thing("Hold hands.")).await.unwrap();
    store
        .import(&ann, vec![document("Seals", "Sing.")])
        .await
        .unwrap();
    store.open_branch(&ann, "next").await.unwrap();
    store
        .publish_on_branch(&ann, "next", thing("Sleep afloat."))
        .await
        .unwrap();
    assert_eq!(store.merge_branch(&ann, "next").await.unwrap().len(), 1);
    let found = list_titles(&store, "afloat").await;
    assert_eq!(found, ["Otters"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_reads_does_not_wait_for_whoever_writes() {
    for hold in [Hold::EachWrite, Hold::UntilIdle] {
        let (folder, gate) = (tempfile::tempdir().unwrap(), Arc::new(Mutex::new(())));
        // Files are synced when they may be.
        let syncs = Arc::clone(&gate);
        let disk = ObservedDisk::new(move |heard| {
            if heard == DiskCall::Sync {
                drop(syncs.lock().unwrap());
            }
        });
        let store = EmbeddedStore::new(EmbeddedOptions {
            open: Arc::new(move |path, options| {
                Engine::open(Arc::new(disk.clone()), path, options)
            }),
            ..options(&folder, hold)
        });
        let ann = user("ann");
        let first = document("Otters", "otters swim");
        let first = store.publish(&ann, first).await.unwrap();
        // The lock is waited for on a thread of its own, and given back there.
        let (close, closing) = std::sync::mpsc::channel::<()>();
        let (closed, is_closed) = std::sync::mpsc::channel();
        let shut = Arc::clone(&gate);
        let holder = std::thread::spawn(move || {
            let _shut = shut.lock().unwrap();
            closed.send(()).unwrap();
            let _asked = closing.recv();
        });
        is_closed.recv().unwrap();
        let writer = store.clone();
        let writing = tokio::spawn(async move {
            let second = document("More otters", "otters float");
            writer.publish(&user("ann"), second).await
        });
        let asked = async {
            for _ in 0..20 {
                assert_eq!(list_titles(&store, "otters").await, ["Otters"]);
                store.get(&ann, first.id, None).await.unwrap();
                assert_eq!(store.list_all_own_published(&ann).await.unwrap().len(), 1);
                assert_eq!(store.list_audit_lines(&ann, 9).await.unwrap().len(), 1);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let asked = tokio::time::timeout(Duration::from_secs(20), asked).await;
        let is_writing = !writing.is_finished();
        close.send(()).unwrap();
        holder.join().unwrap();
        writing.await.unwrap().unwrap();
        assert!(asked.is_ok(), "{hold:?}: readers waited");
        assert!(is_writing, "{hold:?}: nothing was written meanwhile");
        assert_eq!(list_titles(&store, "otters").await.len(), 2);
    }
}
